// Cross-validation of any plan by unlearning: what a tree of classifiers needs to know before it splits.
#pragma once
#include "fold_errors.hpp"
#include "scoring_plan.hpp"

namespace tanager::scoring {

// The weight of the rows that a plan answers correctly from the rows of all other folds. Its counts are empty, and are
// again when this is done; in between the rows are learned, and each fold is taken out while it is asked about. Ties go
// to the class with more rows, then to the smaller code. NaN where a row has a value that the counts do not know.
double right_in_folds(ScoringPlan &plan, const FoldedRows &rows, int n_jobs);

}  // namespace tanager::scoring
