// A few threads for one call: started, joined, and gone before it returns, so a later fork finds nothing half alive.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace tanager {

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
    std::vector<std::thread> threads;
    threads.reserve(n);
    std::size_t started = 1;
    try {
        for (; started < n; ++started) threads.emplace_back(guarded, started);
    } catch (const std::exception &) {
        // The system refused a thread: its share is done here, after our own.
    }
    if (n > 0) guarded(0);
    for (std::size_t t = started; t < n; ++t) guarded(t);
    for (auto &thread : threads) thread.join();
    for (const auto &error : errors)
        if (error) std::rethrow_exception(error);
}

// Calls work(begin, end) on up to n_jobs ranges of rows; batches below `least` rows a thread stay together.
template <class Work>
void parallel_rows(std::int64_t n_rows, int n_jobs, const Work &work, std::int64_t least = 4096) {
    const std::int64_t parts = std::max<std::int64_t>(1, std::min<std::int64_t>(n_jobs, n_rows / least));
    run_threads(std::size_t(parts),
                [&](std::size_t t) { work(n_rows * std::int64_t(t) / parts, n_rows * (std::int64_t(t) + 1) / parts); });
}

}  // namespace tanager
