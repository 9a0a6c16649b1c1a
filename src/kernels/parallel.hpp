// Splits rows over threads that live as long as the call; no pool stays behind, so forking is safe.
#pragma once
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace tanager::scoring {

// Calls work(begin, end) on up to n_jobs ranges of rows; small batches stay on the calling thread.
template <class Work>
void parallel_rows(std::int64_t n_rows, int n_jobs, Work work, std::int64_t least = 4096) {
    const std::int64_t parts = std::max<std::int64_t>(1, std::min<std::int64_t>(n_jobs, n_rows / least));
    if (parts == 1) {
        work(std::int64_t(0), n_rows);
        return;
    }
    std::vector<std::exception_ptr> errors(parts);
    std::vector<std::thread> threads;
    for (std::int64_t part = 0; part < parts; ++part)
        threads.emplace_back([&, part] {
            try {
                work(n_rows * part / parts, n_rows * (part + 1) / parts);
            } catch (...) {
                errors[part] = std::current_exception();
            }
        });
    for (std::thread &thread : threads) thread.join();
    for (const std::exception_ptr &error : errors)
        if (error) std::rethrow_exception(error);
}

}  // namespace tanager::scoring
