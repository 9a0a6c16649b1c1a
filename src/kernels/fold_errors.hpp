// Cross-validation of naive Bayes by unlearning, for a set of rows as a whole and cut apart by the values of each
// column: what a tree of naive Bayes classifiers needs to know before it splits.
#pragma once
#include <cstdint>
#include <vector>

#include "batch.hpp"

namespace tanager {

// Rows that are dealt out to folds. `dealt` holds the weight of each row in each fold, (folds, rows). Those of the
// first `n_asked` folds are answered.
struct FoldedRows {
    Codes codes, labels;
    const double *dealt = nullptr;
    int n_folds = 0, n_asked = 0;
};

// Columns and classes, and what is added to every cell before it is a probability; all of it above 0.
struct FoldedColumns {
    std::vector<std::int64_t> n_values;
    std::vector<double> pseudo;  // per column
    double class_pseudo = 1;
    int n_classes = 0;
};

// The weight of the rows that are answered correctly by naive Bayes over all other folds: for every column i with
// `wanted[i]`, right[i] where each value of the column has a naive Bayes of its own; right[n] with one for all rows.
// A row without a value of the column is in all parts, with its weight shared out by what the others weigh (or in the
// heaviest part alone). Ties go to the class with more rows, then to the smaller code.
void fold_right(const FoldedRows &rows, const FoldedColumns &columns, const std::vector<char> &wanted, bool heaviest,
                int n_jobs, double *right);

// What the rows with every value of every column weigh, the values of all columns one after the other.
void value_weights(const Codes &codes, const std::vector<std::int64_t> &n_values, const Weights &weights, double *out);

}  // namespace tanager
