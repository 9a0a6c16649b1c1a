// How much of a long call is done, for whoever watches the call; see Released::ask_python.
#pragma once
#include <atomic>
#include <cstdint>

namespace tanager {

// The parts of the work of one call: those that are done, and all of them. Of calls at the same time, one is watched.
class WorkDone {
  public:
    static inline std::atomic<std::int64_t> done = 0, total = 0;

    explicit WorkDone(std::int64_t n) {
        done = 0;
        total = n;
    }
    ~WorkDone() { total = 0; }
    WorkDone(const WorkDone &) = delete;
    WorkDone &operator=(const WorkDone &) = delete;

    static void one_more() { done.fetch_add(1, std::memory_order_relaxed); }
};

}  // namespace tanager
