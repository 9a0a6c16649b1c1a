// Ctrl-C during long work. A kernel calls check_interrupt() where nothing is half done, every few microseconds or more;
// where the user wants to stop, the exception ends the call and all its threads.
//
// Bindings open a `Call` around kernels that may be ended so. Kernels that change what Python sees as they go are
// called without one: there check_interrupt() does nothing.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>

namespace tanager {

// Thrown in the other threads of a call that is ended.
struct Interrupted : std::exception {
    const char *what() const noexcept override { return "interrupted"; }
};

class Call {
  public:
    static constexpr std::chrono::milliseconds interval{50};  // between two questions

    // `question` throws where the user wants to stop; null: nobody is asked.
    explicit Call(void (*question)()) : ask_(question), before_(current()) { current() = this; }
    ~Call() { current() = before_; }
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    // The call that this thread works for, or null.
    static Call *&current() {
        static thread_local Call *call = nullptr;
        return call;
    }
    // How often check_interrupt() was called on the thread that asks; for tests, which do not look at the clock.
    static inline std::atomic<std::int64_t> own_checks = 0, *n_checks = &own_checks;

    // On the thread that was called: asks, unless that was only just done.
    void ask() {
        if (ask_ == nullptr) return;
        // Not one step: calls of two threads may count as one, which is no harm, and costs nothing.
        n_checks->store(n_checks->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < interval) return;
        last_ = now;
        try {
            ask_();
        } catch (...) {
            stopped_ = true;
            throw;
        }
    }
    void check_helper() const {
        if (stopped_.load(std::memory_order_relaxed)) throw Interrupted();
    }

  private:
    void (*ask_)();
    Call *before_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::atomic<bool> stopped_ = false;
};

// A thread that works for the call of another one.
class Helper {
  public:
    explicit Helper(const Call *call) { current() = call; }
    ~Helper() { current() = nullptr; }
    Helper(const Helper &) = delete;
    Helper &operator=(const Helper &) = delete;

    static const Call *&current() {
        static thread_local const Call *call = nullptr;
        return call;
    }
};

// While this lives, check_interrupt() does nothing: for work that changes what Python sees, where that cannot be
// undone.
class Undisturbed {
  public:
    explicit Undisturbed(bool undisturbed = true) : call_(Call::current()), other_(Helper::current()) {
        if (!undisturbed) return;
        Call::current() = nullptr;
        Helper::current() = nullptr;
    }
    ~Undisturbed() {
        Call::current() = call_;
        Helper::current() = other_;
    }
    Undisturbed(const Undisturbed &) = delete;
    Undisturbed &operator=(const Undisturbed &) = delete;

  private:
    Call *call_;
    const Call *other_;
};

inline void check_interrupt() {
    if (Call *call = Call::current()) call->ask();
    else if (const Call *other = Helper::current()) other->check_helper();
}

// The same in a loop over rows that take less than the question itself.
inline void check_interrupt(std::int64_t row) {
    if (row % 64 == 0) check_interrupt();
}

}  // namespace tanager
