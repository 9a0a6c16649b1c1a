// One answer from those of several members: a pool whose weights are learned along a stream, each from the rows before.
//
//   logarithmic   P(y) ~ prod_m P_m(y)^w_m   the weights follow the gradient of the log loss; they may be negative, and
//                                            their sum says how sure the pool is
//   linear        P(y) = sum_m w_m P_m(y)    fixed share: weights are multiplied by what members gave to the true
//   class,
//                                            and each row a small share of all of them is dealt out evenly
#pragma once
#include <optional>

#include "batch.hpp"

namespace tanager::pool {

struct Pool {
    bool logarithmic = true;
    int n_members = 0, n_classes = 0;
    double *weights = nullptr;  // one per member
    double *square = nullptr;   // one number: the fading sum of squares of the gradients
    double step = 0, keep = 1;  // logarithmic: weights move by step / sqrt(square), and squares fade by keep
    double share = 0;           // linear
    double least = 0;           // probabilities below count as this
};

// What the pool makes of the answers of its members, (rows, members, classes), into (rows, classes).
void mix(const Pool &pool, const double *answers, std::int64_t n_rows, double *out);

// The same row after row; after each the weights learn from what members had said of a row whose label has come. Rows
// without a label, or with one that is no class, teach nothing. `trace`: the weights after every row, or null.
void learn(Pool &pool, const double *answers, const double *judged, const Codes &labels, const Weights &row_weights,
           double *out, double *trace);

}  // namespace tanager::pool
