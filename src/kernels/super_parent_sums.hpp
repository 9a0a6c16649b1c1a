// How well each column would do as the super-parent of a collection (SPC): the sum over the rows of the probability of
// their own class. What all these collections share, the sums over single parents, is worked out once.
//
//   P(y, x) = P(y) P(x_s | y) prod_i [P(x_i | y) + P(x_i | y, x_s) + sum_j P(x_i | y, x_j) + P(x_i | y, x_s, x_j)]
//
// over the columns i other than s, and j before i in the order, other than s.
#pragma once
#include "batch.hpp"
#include "estimate.hpp"

namespace tanager::scoring {

// One sum per column into out. Counts of triples must be there, and pseudo-counts constant, positive and the same for
// all parents. With leave_out each row is taken out of the counts first, once: of a row of weight two, one leaves.
void super_parent_sums(const Store &store, const Estimate &estimate, bool smooth_unseen, const std::vector<int> &order,
                       const Batch &rows, bool leave_out, int n_jobs, double *out);

}  // namespace tanager::scoring
