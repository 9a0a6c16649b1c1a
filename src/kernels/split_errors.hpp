// The same as fold_right, for all columns at once: where columns are many and rows are plain.
#pragma once
#include "fold_errors.hpp"

namespace tanager {

// right[i] of every wanted column, and right[n], as fold_right says it. False, and nothing done, where columns are few,
// where a value is missing, or where a row is in several folds or has another weight than 1.
bool right_of_all_splits(const FoldedRows &rows, const FoldedColumns &columns, const std::vector<char> &wanted,
                         double *right);

}  // namespace tanager
