// Staged plans, as Python hands them over.
#pragma once
#include "bind_arrays.hpp"
#include "scoring_plan.hpp"
#include "staging.hpp"

namespace arrays {

inline void check_limits(int limit, double margin) {
    expect(limit >= -1, "a limit is a number of members, or -1 for all");
    expect(margin >= 0, "a margin is a difference of logs, at least 0");
}

// Members are read one by one with two super-parents at most: whether a plan, and all that it falls back on, has no
// more.
inline bool few_super_parents(const tanager::scoring::ScoringPlan &plan) {
    const auto few = [](const tanager::scoring::Member &m) { return m.attributes.size() <= 2; };
    return std::all_of(plan.members.begin(), plan.members.end(), few) &&
           (!plan.otherwise || few_super_parents(*plan.otherwise));
}

inline double *as_member_scores(const tanager::scoring::ScoringPlan &plan, const Doubles &scores) {
    expect(plan.staging != nullptr, "this plan is not staged");
    expect(scores.ndim() == 2 && scores.shape(0) == 6 && scores.shape(1) == plan.members.size() + 1,
           "member scores must have six rows, and one column more than members");
    return scores.data();
}

}  // namespace arrays
