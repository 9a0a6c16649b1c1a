// The answer of one row of a staged plan, all its steps at once.
#pragma once
#include "count_reader.hpp"
#include "triple_sweep.hpp"

namespace tanager::scoring {

// The memory of one thread.
struct StagedScratch {
    CountReader reader;
    std::unique_ptr<TripleSweep> sweep;  // where all pairs of attributes are members
    Progress progress;
    std::vector<double> total, power, value, value_power;
    std::vector<double> naive, answer, members;  // for validation: answers, and the joints of all members
    explicit StagedScratch(const ScoringPlan &plan);
};

void score_staged(const ScoringPlan &plan, const int *slot, int left_out_class, double left_out, bool log_joint,
                  double *out, Scratch &w);

// The posterior, or log joint, of a row that has come so far; the class prior where no class has a chance. `sub` is
// what is left out of the counts of each class, or null.
void staged_answer(const ScoringPlan &p, const Progress &at, const double *total, const double *power,
                   const double *sub, bool log_joint, double *out);

}  // namespace tanager::scoring
