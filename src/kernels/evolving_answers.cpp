// What an evolving model answers: densities and degrees of a row in every pseudo-class, posteriors and decisions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "evolving.hpp"
#include "log_factorial.hpp"
#include "ties.hpp"

namespace tanager {

namespace {

constexpr double distance_of_limit = 0x1p40;  // deviations of all rows; farther out the answer no longer changes
constexpr double most_widths = 1e140;         // of a pseudo-class; the square is finite
constexpr double most_misfit = 1e280;
constexpr double least_start = 1e-12;  // what always stays of a uniform start: no value has probability 0

}  // namespace

bool Evolving::complete(const Row &row) const {
    bool all = true;
    for (int i = 0; i < n_; ++i) all = all & usable(row.numbers[i]);
    return all;
}

double Evolving::probability(int slot, int i, int v) const {
    const double own = v < n_values_[i] ? counts_[at(slot, offsets_.back()) + std::size_t(offsets_[i] + v)] : 0;
    return probability_of(own, slot, i);
}

// Laplace's rule; or, with steps of alpha from the first row on, what is left of the uniform start: rows fill up a
// weight of 1 / alpha.
double Evolving::probability_of(double count, int slot, int i) const {
    const double total = totals_[at(slot, n_columns()) + std::size_t(i)], values = n_values_[i];
    if (!options_.constant_step) return (count + 1) / (total + values);
    const double start = std::max(1 / options_.alpha - total, least_start / options_.alpha);
    return (count + start / values) / (total + start);
}

// The row with numbers that are brought to where answers still change.
Evolving::Row Evolving::within_reach(const Row &row, Scores &scores) const {
    scores.numbers.assign(row.numbers, row.numbers + n_);
    for (int i = 0; i < n_; ++i) {
        const double reach = distance_of_limit * deviation_[std::size_t(i)], mean = base_mean_[std::size_t(i)];
        if (base_weight_[std::size_t(i)] > 0 && usable(scores.numbers[std::size_t(i)]))
            scores.numbers[std::size_t(i)] = std::clamp(scores.numbers[std::size_t(i)], mean - reach, mean + reach);
    }
    return {scores.numbers.data(), row.values};
}

// -2 log density of a number, up to what depends on the pseudo-class alone (`log_variance_`) or on the number alone.
double Evolving::misfit(int slot, int i, double x) const {
    const std::size_t cell = at(slot, n_) + std::size_t(i);
    if (density_[std::size_t(i)] == Density::poisson) return -2 * x * inverse_[cell];
    if (density_[std::size_t(i)] == Density::exponential) return std::min(2 * x * inverse_[cell], most_misfit);
    const double z = std::min(std::abs((x - mean_[cell]) * inverse_[cell]), most_widths);
    return z * z;
}

// Whether a value says anything: it is there, and was seen or is to be smoothed.
bool Evolving::judges(int i, int v) const {
    return v >= 0 && n_values_[i] > 0 && (v < n_values_[i] || options_.smooth_unseen);
}

// Up to what all pseudo-classes share.
double Evolving::log_likelihood(int slot, const Row &row, bool complete) const {
    const std::size_t first = at(slot, n_);
    double sum = 0;
    if (complete && all_normal_) {
        const double *mean = mean_.data() + first, *inverse = inverse_.data() + first;
        for (int i = 0; i < n_; ++i) {
            const double z = std::min(std::abs((row.numbers[i] - mean[i]) * inverse[i]), most_widths);
            sum += z * z;
        }
        sum += norm_[std::size_t(slot)];
    } else {
        for (int i = 0; i < n_; ++i) {
            if (!usable(row.numbers[i])) continue;
            sum += misfit(slot, i, row.numbers[i]) + log_variance_[first + std::size_t(i)];
        }
    }
    sum *= -0.5;
    for (int i = 0; i < n_columns(); ++i)
        if (judges(i, row.values[i])) sum += std::log(probability(slot, i, row.values[i]));
    return sum;
}

// Log of the density of a number over its peak.
double Evolving::log_degree(int slot, int i, double x) const {
    if (density_[std::size_t(i)] != Density::poisson) return -0.5 * misfit(slot, i, x);
    const std::size_t cell = at(slot, n_) + std::size_t(i);
    const double mode = std::floor(variance_[cell]);
    return (x - mode) * inverse_[cell] - log_factorial(x) + log_factorial(mode);
}

// Log of the least degree to which anything in the row belongs; 0 where nothing is known of it.
double Evolving::log_least_degree(int slot, const Row &row) const {
    double least = 0;
    for (int i = 0; i < n_; ++i)
        if (usable(row.numbers[i])) least = std::min(least, log_degree(slot, i, row.numbers[i]));
    for (int i = 0; i < n_columns(); ++i) {
        if (!judges(i, row.values[i])) continue;
        const double peak = probability_of(peaks_[at(slot, n_columns()) + std::size_t(i)], slot, i);
        least = std::min(least, std::log(probability(slot, i, row.values[i]) / peak));
    }
    return least;
}

void Evolving::answer(const Row &row, Scores &scores) const {
    scores.pseudo.resize(order_.size());
    scores.classes.assign(std::size_t(k_), 1.0 / k_);
    if (order_.empty()) return;
    const bool all = complete(row);
    const Row within = within_reach(row, scores);
    double top = -std::numeric_limits<double>::infinity(), total = 0;
    for (std::size_t a = 0; a < order_.size(); ++a) {
        const int slot = order_[a];
        const double fits = options_.minimum ? log_least_degree(slot, within) : log_likelihood(slot, within, all);
        scores.pseudo[a] = std::log(prior_[std::size_t(slot)]) + fits;
        top = std::max(top, scores.pseudo[a]);
    }
    for (int c = 0; c < k_; ++c) {
        double sum = 0;
        for (int a = begin_[c]; a < begin_[c + 1]; ++a) sum += std::exp(scores.pseudo[std::size_t(a)] - top);
        scores.classes[std::size_t(c)] = sum;
        total += sum;
    }
    for (double &p : scores.classes) p /= total;
}

void Evolving::log_joints(const Scores &scores, double *out) const {
    for (int c = 0; c < k_; ++c) {
        const double *first = scores.pseudo.data() + begin_[c], *last = scores.pseudo.data() + begin_[c + 1];
        const double top = first < last ? *std::max_element(first, last) : -std::numeric_limits<double>::infinity();
        double sum = 0;
        for (const double *s = first; s < last; ++s) sum += std::exp(*s - top);
        out[c] = std::isfinite(top) ? top + std::log(sum) : top;
    }
}

// The most probable class, or that of least expected loss. Ties go to the class with more rows.
int Evolving::decide(Scores &scores) const {
    const double *gain = scores.classes.data();
    if (!costs_.empty()) {
        scores.losses.assign(std::size_t(k_), 0.0);
        for (int t = 0; t < k_; ++t)
            for (int c = 0; c < k_; ++c) scores.losses[c] -= scores.classes[t] * costs_[std::size_t(t) * k_ + c];
        gain = scores.losses.data();
    }
    double most_gain = -std::numeric_limits<double>::infinity();
    for (int c = 0; c < k_; ++c)
        if (known_[c]) most_gain = std::max(most_gain, gain[c]);
    const double enough = most_gain - kSameProbability * highest_cost_;
    int best = -1;
    for (int c = 0; c < k_; ++c)
        if (known_[c] && gain[c] >= enough && (best < 0 || class_weight_[c] > class_weight_[best])) best = c;
    return best;
}

// Where in `order_` the likeliest active pseudo-class of a class is; of equals the oldest.
int Evolving::best_of(int c, const Scores &scores) const {
    const double *first = scores.pseudo.data() + begin_[c], *last = scores.pseudo.data() + begin_[c + 1];
    const double enough = *std::max_element(first, last) - kSameProbability;
    return begin_[c] + int(std::find_if(first, last, [&](double s) { return s >= enough; }) - first);
}

}  // namespace tanager
