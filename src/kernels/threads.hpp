// A few threads for one call: started, joined, and gone before it returns, so a later fork finds nothing half alive.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "interrupt.hpp"

namespace tanager {

// How many threads have not ended yet; whoever waits for them goes on asking whether the user wants to stop.
class ThreadsAtWork {
  public:
    void begin() {
        const std::lock_guard held(mutex_);
        ++n_;
    }
    void end() {
        const std::lock_guard held(mutex_);
        --n_;
        changed_.notify_one();
    }
    void wait() {
        std::unique_lock held(mutex_);
        while (!changed_.wait_for(held, Call::interval, [&] { return n_ == 0; })) {
            held.unlock();
            check_interrupt();
            held.lock();
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t n_ = 0;
};

// Calls work(0), ..., work(n - 1) side by side, the first on the calling thread. An exception inside a thread would end
// the process; it is kept and thrown again here once all have joined.
template <class Work>
void run_threads(std::size_t n, const Work &work) {
    std::vector<std::exception_ptr> errors(n);
    const auto guarded = [&](std::size_t t) noexcept {
        try {
            work(t);
        } catch (...) {
            errors[t] = std::current_exception();
        }
    };
    const Call *call = Call::current() ? Call::current() : Helper::current();
    ThreadsAtWork at_work;
    const auto helping = [&](std::size_t t) noexcept {
        const Helper helper(call);
        guarded(t);
        at_work.end();
    };
    std::vector<std::thread> threads;
    threads.reserve(n);
    std::size_t started = 1;
    try {
        for (; started < n; ++started) {
            at_work.begin();
            threads.emplace_back(helping, started);
        }
    } catch (const std::exception &) {
        at_work.end();  // the system refused a thread: its share is done here, after our own
    }
    if (n > 0) guarded(0);
    for (std::size_t t = started; t < n; ++t) guarded(t);
    try {
        at_work.wait();
    } catch (...) {
        errors[0] = std::current_exception();
    }
    for (auto &thread : threads) thread.join();
    for (const auto &error : errors)
        if (error) std::rethrow_exception(error);
}

// Calls work(thread, q) for all q below n, on up to n_jobs threads.
template <class Work>
void in_turn(std::size_t n, int n_jobs, const Work &work) {
    const std::size_t n_threads = std::size_t(std::max(1, std::min(n_jobs, int(n))));
    run_threads(n_threads, [&](std::size_t t) {
        for (std::size_t q = t; q < n; q += n_threads) {
            check_interrupt();
            work(t, q);
        }
    });
}

// Calls work(begin, end) on up to n_jobs ranges of rows; batches below `least` rows a thread stay together.
template <class Work>
void parallel_rows(std::int64_t n_rows, int n_jobs, const Work &work, std::int64_t least = 4096) {
    const std::int64_t parts = std::max<std::int64_t>(1, std::min<std::int64_t>(n_jobs, n_rows / least));
    run_threads(std::size_t(parts),
                [&](std::size_t t) { work(n_rows * std::int64_t(t) / parts, n_rows * (std::int64_t(t) + 1) / parts); });
}

}  // namespace tanager
