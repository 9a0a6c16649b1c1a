// The average over all trees that could join the columns, by their posterior probability.
//
// A tree-augmented network is naive Bayes times the lift of every edge of its tree,
//
//   lift_uv(y) = P(x_u, x_v | y) / (P(x_u | y) P(x_v | y)),
//
// and its posterior probability is the product of the Bayes factors W_uv of its edges: how much more probable the rows
// are where u and v depend on each other. So the average over all trees is the sum over trees of the product of W lift.
//
// Pseudo-counts come from one equivalent sample size: ess / k for a class, ess / (k a_u) and ess / (k a_u a_v) for the
// values of one and two columns in it. Of every pair only rows with both values count.
#pragma once
#include <limits>

#include "score_rows.hpp"

namespace tanager::trees {

struct TreePrior {
    double ess, unit = 1;                                         // cells of the store hold true counts times the unit
    double most_range = std::numeric_limits<double>::infinity();  // log W are squeezed into this range where it is less
};

// log W of every two columns: (n, n), symmetric, zeros on the diagonal. The store has pairs.
void log_weights(const Store &store, const TreePrior &prior, double *out, int n_jobs);

// Rows to answer, or to leave out of the counts, and so of W, while they are answered.
struct TreeRows {
    Codes codes;
    scoring::LeftOut left_out;
    bool smooth_unseen = false;
};

// For every row and class the log of the sum over trees of the product of W lift, over the columns present, up to what
// all classes of the row share.
void log_tree_sums(const Store &store, const TreePrior &prior, const double *log_weights, const TreeRows &rows,
                   int n_jobs, double *out);

// How the sum of one row and class comes about: columns are taken out one by one, the last first; log_sum (n) and
// shares (n, n) with the share of column v < u in the sum of column u at [u, v]. Missing columns hold zeros.
void tree_steps(const Store &store, const TreePrior &prior, const double *log_weights, const TreeRows &row, int c,
                double *log_sum, double *shares);

}  // namespace tanager::trees
