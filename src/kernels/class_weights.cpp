#include "class_weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "interrupt.hpp"

namespace tanager {

namespace {

constexpr double kSame = 1e-9;  // ratios, and sums of weights, that are closer than this are the same
constexpr double kNear = 1e-6;  // in logs; what decides a tie is far below

struct TwoBest {
    int first, second;
};

// The class ahead of all others, and the next; of equals the first.
TwoBest two_best(const double *value, int k) {
    int first = 0;
    for (int c = 1; c < k; ++c)
        if (value[c] > value[first]) first = c;
    int second = first == 0 ? 1 : 0;
    for (int c = second + 1; c < k; ++c)
        if (c != first && value[c] > value[second]) second = c;
    return {first, second};
}

struct Turn {  // class c wins a row against its rival from this ratio on
    double ratio;
    std::int64_t row;
};

// The class that wins a row when `step` is added to class c.
int answer(const WeighedRows &rows, std::int64_t r, int c, double step) {
    const double *value = rows.joint + r * rows.k;
    double best = value[c] + step;
    for (int y = 0; y < rows.k; ++y)
        if (y != c) best = std::max(best, value[y]);
    for (const int y : rows.preference)
        if ((y == c ? value[y] + step : value[y]) >= best - rows.tie) return y;
    return c;
}

// What does not depend on the class whose weight is changed.
struct Standing {
    std::vector<TwoBest> best;
    std::vector<char> wrong;         // as rows are answered now
    std::vector<double> columns;     // (classes, rows): the logs, class by class
    std::vector<double> best_value;  // of the first class
    double n_wrong = 0;              // weight of the wrong answers
    double n_not_first = 0;          // weight of the rows whose class is not the first

    explicit Standing(const WeighedRows &rows) : columns(std::size_t(rows.n_rows) * std::size_t(rows.k)) {
        for (std::int64_t r = 0; r < rows.n_rows; ++r) {
            const double *value = rows.joint + r * rows.k;
            const int label = rows.labels[std::size_t(r)];
            best.push_back(two_best(value, rows.k));
            best_value.push_back(value[best.back().first]);
            wrong.push_back(answer(rows, r, 0, 0) != label);
            n_wrong += rows.weights[r] * wrong.back();
            n_not_first += rows.weights[r] * (label != best.back().first);
            for (int c = 0; c < rows.k; ++c) columns[std::size_t(c * rows.n_rows + r)] = value[c];
        }
    }
};

class Sweep {
  public:
    Sweep(const WeighedRows &rows, const Standing &standing, int c)
        : rows_(rows), best_(standing.best), c_(c), ratio_(std::size_t(rows.n_rows)), errors_(standing.n_not_first) {
        const double *value = standing.columns.data() + std::int64_t(c) * rows.n_rows;
        double last_own = 0, next = std::numeric_limits<double>::infinity();
        for (std::size_t r = 0; r < ratio_.size(); ++r) ratio_[r] = standing.best_value[r] - value[r];
        for (std::int64_t r = 0; r < rows.n_rows; ++r) {
            const TwoBest &two = best_[std::size_t(r)];
            if (two.first == c) {
                ratio_[std::size_t(r)] = rows.joint[r * rows.k + two.second] - value[r];
                errors_ += rows.weights[r] * (double(label(r) != two.second) - double(label(r) != c));
            }
            if (label(r) != c) continue;
            last_own = std::max(last_own, ratio_[std::size_t(r)]);
            to_win_ += rows.weights[r];
        }
        // Beyond the last row of class c errors can only become more: of those rows it matters where the first are.
        for (const double ratio : ratio_)
            if (ratio > last_own) next = std::min(next, ratio);
        for (std::int64_t r = 0; r < rows.n_rows; ++r) {
            const double ratio = ratio_[std::size_t(r)];
            if (ratio <= 0) won_.push_back({ratio, r});
            else if (ratio <= next + kNear) later_.push_back({ratio, r});
        }
    }

    const std::vector<double> &ratio() const { return ratio_; }

    // In the middle between two rows that change their answer. From the rows that class c wins now upwards, until
    // there cannot be fewer errors.
    double run() {
        const auto earlier = [](const Turn &a, const Turn &b) { return a.ratio < b.ratio; };
        std::sort(won_.begin(), won_.end(), earlier);
        std::make_heap(later_.begin(), later_.end(), later);
        double last = std::numeric_limits<double>::quiet_NaN();
        for (std::size_t at = 0;; ++at) {
            const bool more = at < won_.size() || !later_.empty();
            const Turn next = !more ? Turn{0, -1} : at < won_.size() ? won_[at] : later_.front();
            stand_between(at > 0, last, more, next.ratio);
            if (!more || (at >= won_.size() && errors_ - to_win_ > fewest_ + kSame)) break;
            pass(next);
            last = next.ratio;
            if (at >= won_.size()) {
                std::pop_heap(later_.begin(), later_.end(), later);
                later_.pop_back();
            }
        }
        return choice();
    }

  private:
    struct Place {
        double errors, between;
    };

    static bool later(const Turn &a, const Turn &b) { return a.ratio > b.ratio; }
    int label(std::int64_t r) const { return rows_.labels[std::size_t(r)]; }
    int rival(std::int64_t r) const {
        const TwoBest &best = best_[std::size_t(r)];
        return best.first == c_ ? best.second : best.first;
    }

    void stand_between(bool has_last, double last, bool has_next, double next) {
        if (has_last && has_next && !(next - last > kSame)) return;
        const double between = !has_last ? next - 1 : !has_next ? last + 1 : (last + next) / 2;
        if (!std::isfinite(between)) return;
        places_.push_back({errors_, between});
        fewest_ = std::min(fewest_, errors_);
    }
    void pass(const Turn &turn) {
        const double weight = rows_.weights[turn.row];
        errors_ += weight * (label(turn.row) != c_) - weight * (label(turn.row) != rival(turn.row));
        to_win_ -= weight * (label(turn.row) == c_);
    }
    // Of the places with the fewest errors the one that changes the weight least.
    double choice() const {
        double chosen = std::numeric_limits<double>::infinity();
        for (const Place &place : places_)
            if (place.errors <= fewest_ + kSame && std::abs(place.between) < std::abs(chosen)) chosen = place.between;
        return std::isfinite(chosen) ? chosen : 0.0;
    }

    const WeighedRows &rows_;
    const std::vector<TwoBest> &best_;
    int c_;
    std::vector<double> ratio_;  // class c wins a row from here on
    std::vector<Turn> won_, later_;
    std::vector<Place> places_;
    double errors_, to_win_ = 0, fewest_ = std::numeric_limits<double>::infinity();
};

}  // namespace

void best_class_steps(const WeighedRows &rows, double *step, double *errors) {
    const Standing standing(rows);
    for (int c = 0; c < rows.k; ++c) {
        check_interrupt();
        Sweep sweep(rows, standing, c);
        step[c] = sweep.run();
        errors[c] = standing.n_wrong;
        const double reach = std::max(step[c], 0.0) + kNear;  // beyond, it loses to the same class before and after
        for (std::int64_t r = 0; r < rows.n_rows; ++r) {
            if (!(sweep.ratio()[std::size_t(r)] < reach)) continue;
            const bool wrong = answer(rows, r, c, step[c]) != rows.labels[std::size_t(r)];
            errors[c] += rows.weights[r] * (double(wrong) - double(standing.wrong[std::size_t(r)]));
        }
    }
}

}  // namespace tanager
