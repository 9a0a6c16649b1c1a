// Wrapper search over products: how well learned rows are answered when the joint probability of every row is
// multiplied by some factors. (What is divided by is a factor, too.)
//
// A factor has one line of logarithms (one number per class) for every row, in a table that rows with the same values
// share. Nothing is changed by looking: a search asks for many changes and then makes the best.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "batch.hpp"

namespace tanager {

// How far the logs of a line can move a row between its own class and the others: by `up` at most the best of the
// others gains on the own class, by `down` at most the own class gains on one of the others.
struct Reach {
    double up = 0, down = 0;
};

// The number of a line for every row, in as few bytes as will do: a search goes through those of thousands of factors.
class LineNumbers {
  public:
    explicit LineNumbers(std::vector<std::uint8_t> numbers) : bytes_(std::move(numbers)) {}
    // `number` gives that of a row, which is below `n_lines`.
    template <class Number>
    LineNumbers(std::size_t n_rows, std::size_t n_lines, const Number &number) {
        if (n_lines <= 0x100) fill(bytes_, n_rows, number);
        else if (n_lines <= 0x10000) fill(shorts_, n_rows, number);
        else fill(ints_, n_rows, number);
    }
    // Calls work(numbers) with a vector of one type or another.
    template <class Work>
    [[gnu::always_inline]] auto read(const Work &work) const {
        return !bytes_.empty() ? work(bytes_) : !shorts_.empty() ? work(shorts_) : work(ints_);
    }
    std::size_t size() const {
        return read([](const auto &of) { return of.size(); });
    }
    std::size_t nbytes() const {
        return read([](const auto &of) { return of.size() * sizeof(of[0]); });
    }
    std::size_t operator[](std::size_t r) const {
        return read([r](const auto &of) { return std::size_t(of[r]); });
    }

  private:
    std::vector<std::uint8_t> bytes_;
    std::vector<std::uint16_t> shorts_;
    std::vector<std::int32_t> ints_;

    template <class T, class Number>
    static void fill(std::vector<T> &out, std::size_t n_rows, const Number &number) {
        out.resize(n_rows);
        for (std::size_t r = 0; r < n_rows; ++r) out[r] = T(number(r));
    }
};

struct Factor {
    std::shared_ptr<const LineNumbers> lines;  // of every row; factors of the same columns share them
    std::vector<double> table;                 // (lines, classes)
    std::vector<Reach> reach;                  // of every line, for rows with their labels
    int k = 1;
    bool one_label = true;  // the rows with a line are all of one class

    // label_of: of the rows with each line; none, or several of them, are -1 and -2. All numbers were checked.
    Factor(std::shared_ptr<const LineNumbers> lines, std::vector<double> table, int k,
           const std::vector<int> &label_of);
    Factor negated() const;
    std::size_t nbytes() const { return lines->nbytes() + table.size() * sizeof(double); }
    // out (rows, classes) += sign * the factor
    void add_to(double *out, double sign) const;

    const double *line_of(std::int64_t r) const { return table.data() + (*lines)[std::size_t(r)] * std::size_t(k); }

  private:
    Factor() = default;
};

using Factors = std::span<const Factor *const>;  // of one change

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
    std::vector<std::int32_t> behind;  // rows whose own class is behind, or nearly
    std::vector<double> gap;           // of more than two classes: (rows, classes - 1), ascending; negative where the
    std::vector<std::int32_t> who;     // own class is behind; and which class that is
    std::vector<std::int32_t> by_margin;  // of two classes: rows, those behind first, in ranges of margins
    std::vector<double> margin_of;        // and their margins in that order
    explicit Rivals(const AnsweredRows &rows);

    // Of two classes: rows before this place have a margin below x, and rows from that one on a margin above x.
    std::size_t first_from(double x) const { return first_of_[range(x)]; }
    std::size_t first_above(double x) const { return first_of_[range(x) + 1]; }

  private:
    static constexpr std::size_t kRanges = 128;  // of margins below a tie, and as many of the others
    double least_ = 0, below_ = 0, above_ = 0;   // the least margin, and ranges per unit below a tie and above
    std::vector<std::uint32_t> first_of_;        // row of every range, and the end of the last

    // It never falls as x grows.
    std::size_t range(double x) const {
        const double at = x < kTie ? (x - least_) * below_ : (x - kTie) * above_;
        return (x < kTie ? 0 : kRanges) + (at > 0 ? std::size_t(std::min(at, double(kRanges - 1))) : 0);
    }
    void order_rows();
};

// The weight of the rows that would be answered wrongly: what `score_change` says without probabilities. Most rows are
// decided by their margin and the reach of the factors, and the others by few of their rivals. It comes in two parts.
// `count_behind` looks at the rows that are wrong already, or nearly: a change that mends too few of them is out.
// `count_rest` adds the others; beyond `enough` it may be less than that, if it is more than `enough`.
double count_behind(const AnsweredRows &rows, const Rivals &rivals, Factors factors);
double count_rest(const AnsweredRows &rows, const Rivals &rivals, Factors factors, double behind,
                  double enough = std::numeric_limits<double>::infinity());

// Whether so much is more than `enough`, by more than sums of weights are rounded.
inline bool is_beyond(double wrong, double enough) { return wrong > enough + 1e-9 * (1 + enough); }

// The weight of the rows that each of n changes would leave wrong. With `only_best` those are counted in full first
// that leave fewest of the rows that are wrong now, and most of the others not at all: what they cannot mend is too
// much already.
using ChangeAt = std::function<Factors(std::size_t)>;
void count_changes(const AnsweredRows &rows, std::size_t n, const ChangeAt &change, bool only_best, int n_jobs,
                   double *wrong);

// Without `probabilities` only `wrong` is worked out, which needs no exponentials; without `logs` no logarithms.
ChangeScore score_change(const AnsweredRows &rows, Factors factors, bool probabilities, bool logs);
// The same for a change that is given as logs (rows, classes) to be added.
ChangeScore score_sum(const AnsweredRows &rows, const double *sum, bool probabilities, bool logs);

}  // namespace tanager
