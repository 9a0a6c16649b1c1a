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
    double spread = 0;         // the largest difference between two classes in a line
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

// Rows of weight 1 in the order of how far their best class is ahead of the next. A factor that changes no difference
// of classes by as much leaves the answer of a row as it is, so that a change looks only at the rows before it.
struct RowsByLead {
    std::vector<std::int32_t> row;
    std::vector<double> lead;   // of each, ascending
    std::vector<double> wrong;  // how many are answered wrongly now from each place on; one more, 0, at the end
    explicit RowsByLead(const AnsweredRows &rows);
};

// How many rows would be answered wrongly. What `score_change` says without probabilities, for fewer looks at rows.
double count_wrong(const AnsweredRows &rows, const RowsByLead &by_lead, const std::vector<Factor> &factors);

// Without `probabilities` only `wrong` is worked out, which needs no exponentials.
ChangeScore score_change(const AnsweredRows &rows, const std::vector<Factor> &factors, bool probabilities);

}  // namespace tanager
