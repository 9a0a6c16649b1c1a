// Staged plans for Python: ScoringPlan hands over what is checked here, and Run is what it gets back.
#pragma once
#include "bind_arrays.hpp"
#include "member_validation.hpp"
#include "staged_run.hpp"

using Tables = std::pair<std::shared_ptr<tanager::scoring::Compiled>, std::shared_ptr<tanager::scoring::Compiled>>;

struct PyRun {
    std::shared_ptr<void> store;  // the arrays behind the plan
    std::unique_ptr<tanager::scoring::Run> run;
};

namespace staged_bindings {

// Members are read one by one with two super-parents at most: whether a plan, and all that it falls back on, has no
// more.
bool few_super_parents(const tanager::scoring::ScoringPlan &plan);
inline constexpr const char *kFewSuperParents = "a staged member has one or two super-parents";

void stage(tanager::scoring::ScoringPlan &plan, std::shared_ptr<tanager::scoring::ScoringPlan> naive,
           const std::string &mix, int limit, double margin);
PyRun make_run(std::shared_ptr<void> store, std::shared_ptr<tanager::scoring::ScoringPlan> plan,
               const arrays::AnyArray &codes, const std::optional<Tables> &tables, std::optional<int> limit,
               std::optional<double> margin);
tanager::scoring::Judged as_judged(const std::string &lines);
double *as_member_scores(const tanager::scoring::ScoringPlan &plan, const arrays::Doubles &scores);

}  // namespace staged_bindings
