// Wrapper search over products: how well learned rows are answered when the joint probability of every row is
// multiplied by some factors. (What is divided by is a factor, too.)
//
// A factor has one line of logarithms (one number per class) for every row, in a table that rows with the same values
// share. Nothing is changed by looking: a search asks for many changes and then makes the best.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "batch.hpp"

namespace tanager {

// How far the logs of a line can move a row between its own class and the others: by `up` at most the best of the
// others gains on the own class, by `down` at most the own class gains on one of the others.
struct Reach {
    double up = 0, down = 0;
};

struct Factor {
    std::shared_ptr<const std::vector<std::int32_t>> lines;  // of every row; factors of the same columns share them
    std::vector<double> table;                               // (lines, classes)
    std::vector<Reach> reach;                                // of every line, for rows with their labels
    int k = 1;
    bool one_label = true;  // the rows with a line are all of one class

    // label_of: of the rows with each line; none, or several of them, are -1 and -2. All numbers were checked.
    Factor(std::shared_ptr<const std::vector<std::int32_t>> lines, std::vector<double> table, int k,
           const std::vector<int> &label_of);
    Factor negated() const;

    const double *line_of(std::int64_t r) const { return table.data() + std::int64_t((*lines)[std::size_t(r)]) * k; }

  private:
    Factor() = default;
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

// How far the own class of every row is ahead of each of the others, the closest (or the furthest ahead) first.
struct Rivals {
    std::vector<double> margin;        // over the first of them
    std::vector<std::int64_t> behind;  // rows whose own class is behind, or nearly
    std::vector<double> gap;           // (rows, classes - 1), ascending; negative where the own class is behind
    std::vector<std::int32_t> who;     // which class that is
    explicit Rivals(const AnsweredRows &rows);
};

// The weight of the rows that would be answered wrongly: what `score_change` says without probabilities. Most rows are
// decided by their margin and the reach of the factors, and the others by few of their rivals. Beyond `enough` it may
// be less than that, if it is more than `enough`: the rows that are wrong already are looked at first, and a change
// that mends too few of them is out.
double count_wrong(const AnsweredRows &rows, const Rivals &rivals, const std::vector<const Factor *> &factors,
                   double enough = std::numeric_limits<double>::infinity());

// Without `probabilities` only `wrong` is worked out, which needs no exponentials; without `logs` no logarithms.
ChangeScore score_change(const AnsweredRows &rows, const std::vector<const Factor *> &factors, bool probabilities,
                         bool logs);

}  // namespace tanager
