// The window of an evolving model: rows come, and leave again from whatever their pseudo-classes have become.
#include <algorithm>
#include <cmath>
#include <utility>

#include "evolving.hpp"

namespace tanager {

namespace {

constexpr double no_weight = 1e-9;  // a weight that is only rounding
constexpr double cancelled = 1e-3;  // of squares or weights: where less is left, rounding has too large a part in it

void forget(double &x, double w) { x = x - w > no_weight ? x - w : 0; }

void add_weight(double &x, double w) { x = std::max(0.0, x + w); }

// Moments of the rows that are looked at, by Welford's rule.
struct Running {
    double weight = 0, mean = 0, squares = 0;
    void add(double x, double w) {
        weight += w;
        const double d = x - mean;
        mean += w / weight * d;
        squares += w * d * (x - mean);
    }
};

}  // namespace

void Evolving::keep(const Row &row, double weight, int target, int hidden) {
    const std::size_t q = std::size_t(n_columns()), n = std::size_t(n_);
    weigh(weight, class_of_[target], target, hidden);
    if (kept_ < options_.window) {
        kept_numbers_.insert(kept_numbers_.end(), row.numbers, row.numbers + n);
        kept_values_.insert(kept_values_.end(), row.values, row.values + q);
        kept_weights_.push_back(weight);
        kept_target_.push_back(target);
        kept_hidden_.push_back(hidden);
        kept_label_.push_back(class_of_[target]);
        ++kept_;
        return;
    }
    const std::size_t r = std::size_t(oldest_);
    const auto numbers = kept_numbers_.begin() + std::int64_t(r * n);
    const auto values = kept_values_.begin() + std::int64_t(r * q);
    const std::vector<double> old_numbers(numbers, numbers + std::int64_t(n));
    const std::vector<int> old_values(values, values + std::int64_t(q));
    const Row old{old_numbers.data(), old_values.data()};
    std::copy_n(row.numbers, n, numbers);
    std::copy_n(row.values, q, values);
    const double gone = std::exchange(kept_weights_[r], weight);
    const int from = std::exchange(kept_target_[r], target), also = std::exchange(kept_hidden_[r], hidden);
    const int c = std::exchange(kept_label_[r], class_of_[target]);
    oldest_ = (oldest_ + 1) % options_.window;
    if (c >= 0) weigh(-gone, c, from, also);
    remove_base(old, gone);  // the rows that are kept are those of the window by now
    if (from >= 0) remove(from, old, gone);
    if (also >= 0) remove(also, old, gone);
}

// The largest squares since they were last learned from rows; forgotten where slots or columns have moved.
std::vector<double> &Evolving::most(std::vector<double> &squares, std::size_t n) {
    if (squares.size() != n) squares.assign(n, 0);
    return squares;
}

void Evolving::remove(int slot, const Row &row, double weight) {
    for (int i = 0; i < n_; ++i) {
        const double x = row.numbers[i];
        if (!usable(x)) continue;
        const std::size_t cell = at(slot, n_) + std::size_t(i);
        const double left = weight_[cell] - weight;
        // No row is left, and what it began with, long ago perhaps, is not the base of now: it is fresh again.
        if (left <= first_weight_[cell] + no_weight * std::max(1.0, weight)) {
            weight_[cell] = squares_[cell] = first_weight_[cell] = 0;
            ++fresh_[slot];
            set_base(slot, i);
            continue;
        }
        const double d = x - mean_[cell], before = squares_[cell];
        mean_[cell] -= weight * d / left;
        squares_[cell] -= weight * d * (x - mean_[cell]);
        weight_[cell] = left;
        double &largest = most(most_, weight_.size())[cell];
        keep_largest(largest, before);
        if (squares_[cell] < cancelled * largest) {
            relearn(slot, i);
            largest = squares_[cell];
        }
        set_variance(slot, i);
    }
    for (int i = 0; i < n_columns(); ++i) {
        if (row.values[i] < 0) continue;
        forget(counts_[at(slot, offsets_.back()) + std::size_t(offsets_[i] + row.values[i])], weight);
        forget(totals_[at(slot, n_columns()) + std::size_t(i)], weight);
    }
    set_norm(slot);
    if (options_.minimum) set_peaks(slot);
    forget(seen_[slot], weight);
}

void Evolving::remove_base(const Row &row, double weight) {
    for (int i = 0; i < n_; ++i) {
        const double x = row.numbers[i];
        if (!usable(x)) continue;
        const double left = base_weight_[i] - weight;
        if (left <= no_weight) {
            base_weight_[i] = base_mean_[i] = base_squares_[i] = 0;
            continue;
        }
        const double d = x - base_mean_[i], before = base_squares_[i];
        base_mean_[i] -= weight * d / left;
        base_squares_[i] -= weight * d * (x - base_mean_[i]);
        base_weight_[i] = left;
        double &largest = most(base_most_, base_weight_.size())[std::size_t(i)];
        keep_largest(largest, before);
        if (base_squares_[i] < cancelled * largest) {
            const auto [own, mean, squares] = of_window(-1, i);
            if (own > 0) base_mean_[i] = mean;
            base_squares_[i] = squares;
            largest = squares;
        }
    }
    for (int i = 0; i < n_; ++i) set_deviation(i);
}

// The moments of a column in the rows of the window, of one pseudo-class or (-1) of all.
std::tuple<double, double, double> Evolving::of_window(int slot, int i) const {
    Running running;
    for (std::int64_t j = 0; j < kept_; ++j) {
        const std::size_t r = std::size_t((oldest_ + j) % kept_);
        const double x = kept_numbers_[r * std::size_t(n_) + std::size_t(i)];
        if (!usable(x)) continue;
        if (slot < 0 || kept_target_[r] == slot) running.add(x, kept_weights_[r]);
        if (slot >= 0 && kept_hidden_[r] == slot) running.add(x, kept_weights_[r]);
    }
    return {running.weight, running.mean, running.squares};
}

// Values have left that nearly all the squares were of: what is left of them is rounding. The rows of the window say
// what they are, beside the pseudo-observations.
void Evolving::relearn(int slot, int i) {
    const std::size_t cell = at(slot, n_) + std::size_t(i);
    const auto [own, mean, squares] = of_window(slot, i);
    Running running{own, mean, squares};
    if (first_weight_[cell] > 0) {
        running.add(first_mean_[cell], first_weight_[cell]);
        running.squares += first_squares_[cell];
    }
    mean_[cell] = running.mean;
    squares_[cell] = running.squares;
}

// --- priors --------------------------------------------------------------------------------------------------------

// Adds a row of a class that two pseudo-classes may have learned, or (a weight below 0) takes it away.
void Evolving::weigh(double weight, int c, int target, int hidden) {
    add_weight(class_mass_[std::size_t(c)], weight);
    if (target >= 0) add_weight(mass_[std::size_t(target)], weight);
    if (hidden >= 0) add_weight(mass_[std::size_t(hidden)], weight);
    clock_ += weight;
    heaviest_ = std::max(heaviest_, clock_);
    if (clock_ < cancelled * heaviest_) weigh_window();
}

// Weighs the rows one by one: heavy ones have left, and what they have rounded away is here again.
void Evolving::weigh_window() {
    std::fill(class_mass_.begin(), class_mass_.end(), 0.0);
    std::fill(mass_.begin(), mass_.end(), 0.0);
    clock_ = double(std::count(known_.begin(), known_.end(), 1));
    for (std::int64_t j = 0; j < kept_; ++j) {
        const std::size_t r = std::size_t((oldest_ + j) % kept_);
        if (kept_label_[r] < 0) continue;
        class_mass_[std::size_t(kept_label_[r])] += kept_weights_[r];
        for (const int slot : {kept_target_[r], kept_hidden_[r]})
            if (slot >= 0) mass_[std::size_t(slot)] += kept_weights_[r];
        clock_ += kept_weights_[r];
    }
    heaviest_ = clock_;
}

void Evolving::set_window_priors() {
    const double per_weight = clock_ > 0 ? 1 / clock_ : 0;
    for (int c = 0; c < k_; ++c) {
        prior_[hidden_[c]] = mass_[hidden_[c]] * per_weight;
        if (!known_[c]) continue;
        const std::vector<int> &slots = active_[c];
        double own = 0;
        for (const int slot : slots) own += start_[slot] + mass_[slot];
        const double share = (1 + class_mass_[c]) * per_weight / own;
        for (const int slot : slots) prior_[slot] = share * (start_[slot] + mass_[slot]);
    }
}

// The start of a pseudo-class that goes belongs to the others of its class, in proportion to what they have.
void Evolving::share_start(int slot, const std::vector<int> &others) {
    double own = 0;
    for (const int other : others) own += start_[other] + mass_[other];
    for (const int other : others)
        start_[other] += start_[slot] * (own > 0 ? (start_[other] + mass_[other]) / own : 1 / double(others.size()));
}

}  // namespace tanager
