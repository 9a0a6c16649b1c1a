#include "kept_joints.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tanager::scoring {

namespace {

constexpr std::size_t kPage = std::size_t{1} << 21;

// Not cleared, and in large pages where there are any: the first touch of many small ones takes as long as to work out
// what is written to them.
double *new_memory(std::size_t bytes) {
    void *memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (memory) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return static_cast<double *>(memory);
}

}  // namespace

double *KeptJoints::keep(const ScoringPlan &plan, std::int64_t begin, int n_rows, int width) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (members_.empty())
        for (std::size_t q = 0; q < plan.members.size(); ++q)
            members_.try_emplace(plan.members[q].attributes, int(q), plan.members[q].weight);
    const std::size_t bytes = plan.members.size() * std::size_t(n_rows) * std::size_t(width) * sizeof(double);
    if (n_rows == 0 || bytes > left_ || members_.size() != plan.members.size()) return nullptr;
    std::unique_ptr<double, Free> values(new_memory(bytes));
    if (!values) return nullptr;
    const auto [at, is_new] = blocks_.try_emplace(begin, Kept{n_rows, width, std::move(values)});
    if (!is_new) return nullptr;
    left_ -= bytes;
    return at->second.values.get();
}

double *KeptJoints::find(std::int64_t begin, int n_rows, int width) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = blocks_.find(begin);
    const bool same = at != blocks_.end() && at->second.n_rows == n_rows && at->second.width == width;
    return same ? at->second.values.get() : nullptr;
}

std::vector<int> KeptJoints::places(const ScoringPlan &plan) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<int> places;
    for (const Member &m : plan.members) {
        const auto at = members_.find(m.attributes);
        if (at == members_.end() || at->second.second != m.weight) return {};
        places.push_back(at->second.first);
    }
    return places;
}

}  // namespace tanager::scoring
