// The joints of all members for rows that were judged by each member alone, kept for the pass that judges the members
// together, in their new order: to read a number is quicker than to work it out again.
#pragma once
#include <cstdlib>
#include <memory>
#include <mutex>

#include "scoring_plan.hpp"

namespace tanager::scoring {

class KeptJoints {
  public:
    // No more than so many bytes; what is beyond is worked out again.
    explicit KeptJoints(std::size_t most_bytes) : left_(most_bytes) {}

    // Memory for (members, rows, width) numbers of the rows from `begin` on, or null where it does not fit in any more.
    // The first number of a row is NaN where the member is not eligible for it.
    double *keep(const ScoringPlan &plan, std::int64_t begin, int n_rows, int width);
    // What was kept of just these rows, or null.
    double *find(std::int64_t begin, int n_rows, int width) const;
    // Where the members of a plan stand in what was kept; empty where one is not there, or had another weight.
    std::vector<int> places(const ScoringPlan &plan) const;

  private:
    struct Free {
        void operator()(double *values) const { std::free(values); }
    };
    struct Kept {
        int n_rows, width;
        std::unique_ptr<double, Free> values;
    };
    mutable std::mutex mutex_;
    std::size_t left_;
    std::map<std::int64_t, Kept> blocks_;                         // by the first row
    std::map<std::vector<int>, std::pair<int, double>> members_;  // place and weight, by super-parents
};

}  // namespace tanager::scoring
