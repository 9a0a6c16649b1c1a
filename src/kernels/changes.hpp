// Wrapper search over products: how well learned rows are answered when the joint probability of every row is
// multiplied by some factors. (What is divided by is a factor, too.)
//
// A factor has one line of logarithms (one number per class) for every row, in a table that rows with the same values
// share. Nothing is changed by looking: a search asks for many changes and then makes the best.
#pragma once
#include <cstdint>
#include <vector>

#include "batch.hpp"

namespace tanager {

struct Factor {
    const std::int32_t *line;  // of every row
    const double *table;       // (lines, classes)
};

struct AnsweredRows {
    std::int64_t n_rows;
    int k;
    const double *joint;      // (rows, classes): log P(y, x) before any change
    std::vector<int> labels;  // of known classes
    Weights weights;
    std::vector<int> preference;  // classes, the one that wins a tie first
};

struct ChangeScore {
    double wrong = 0, probability = 0, log_probability = 0;  // sums over rows, weighted; the last two of the true class
};

// Logs of the joint that are closer than this are a tie: a change that is made and unmade leaves rounding behind.
constexpr double kTie = 1e-9;

// Without `probabilities` only `wrong` is worked out, which needs no exponentials.
ChangeScore score_change(const AnsweredRows &rows, const std::vector<Factor> &factors, bool probabilities);

}  // namespace tanager
