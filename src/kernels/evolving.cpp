#include "evolving.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tanager {

namespace {

constexpr double least_variance = 1e-250, least_mean = 1e-125;  // the square of the latter is the former

}  // namespace

Evolving::Evolving(const std::vector<int> &n_values, int n_numbers, int n_classes, EvolvingOptions options)
    : options_(std::move(options)), n_(n_numbers), n_values_(n_values), capacity_(n_values), cool_(options_.wait) {
    offsets_.assign(1, 0);
    for (const int cells : capacity_) offsets_.push_back(offsets_.back() + cells);
    base_weight_.assign(std::size_t(n_), 0.0);
    base_mean_ = base_squares_ = base_weight_;
    deviation_.assign(std::size_t(n_), 1.0);
    set_densities();
    begin_.assign(1, 0);
    add_classes({}, n_classes);
}

// --- learning ------------------------------------------------------------------------------------------------------

void Evolving::learn(const Row &row, int label, double weight, Scores &scores) {
    if (weight <= 0) return;
    if (label < 0) {
        if (options_.unlabelled > 0 && !order_.empty()) learn_unlabelled(row, weight, scores);
        return;
    }
    if (!known_[label]) {
        announce(label);
        answer(row, scores);
    }
    for (int i = 0; i < n_columns(); ++i) n_values_[i] = std::max(n_values_[i], row.values[i] + 1);
    ++rows_;
    const int answered = decide(scores);
    const bool correct = answered == label;
    const double loss = costs_.empty() ? double(!correct) : costs_[std::size_t(label) * k_ + answered];
    const int target = correct ? order_[std::size_t(best_of(label, scores))] : active_[label].back();
    const int hidden = correct ? -1 : hidden_[label];
    take_in(row, weight, target, hidden);
    move_priors(weight, target, hidden);
    class_weight_[label] += weight;
    const double eta = std::min(1.0, weight * std::max(options_.eta, 1 / class_weight_[label]));
    loss_[label] += eta * (loss - loss_[label]);
    --cool_;
    if (cool_ <= 0) maybe_promote();
    if (options_.simplify && rows_ % options_.wait == 0)
        for (int c = 0; c < k_; ++c) simplify(c);
}

// A row that is answered with confidence strengthens the pseudo-class that answered it, a little.
void Evolving::learn_unlabelled(const Row &row, double weight, Scores &scores) {
    const auto best = std::max_element(scores.classes.begin(), scores.classes.end());
    if (*best < options_.confidence) return;
    const int a = best_of(int(best - scores.classes.begin()), scores);
    double total = 0;
    for (const double s : scores.pseudo) total += std::exp(s - scores.pseudo[std::size_t(a)]);
    weight *= options_.unlabelled / total;
    if (weight <= 0) return;
    for (int i = 0; i < n_columns(); ++i) n_values_[i] = std::max(n_values_[i], row.values[i] + 1);
    const int target = order_[std::size_t(a)];
    take_in(row, weight, target, -1);
    move_priors(weight, target, -1);
}

// --- given pseudo-classes ------------------------------------------------------------------------------------------

// The row that every class starts with is shared evenly.
void Evolving::begin_given(const std::vector<int> &n_pseudo) {
    for (int c = 0; c < k_; ++c)
        if (n_pseudo[std::size_t(c)] > 0) announce(c);
    for (int c = 0; c < k_; ++c) {
        const int n = n_pseudo[std::size_t(c)];
        for (int p = 1; p < n; ++p) {
            const int slot = new_slot(c);
            active_[c].push_back(slot);
            born_[slot] = next_born_++;
            since_[slot] = rows_;
        }
        const int first = active_[c][0];
        const double prior = prior_[first] / std::max(1, n), start = start_[first] / std::max(1, n);
        for (const int slot : active_[c]) prior_[slot] = prior, start_[slot] = start;
    }
    list_active();
}

void Evolving::learn_given(const Row &row, int label, int pseudo, double weight) {
    for (int i = 0; i < n_columns(); ++i) n_values_[i] = std::max(n_values_[i], row.values[i] + 1);
    ++rows_;
    const int target = active_[label][std::size_t(pseudo)];
    update(target, row, weight);
    if (options_.window > 0) keep(row, weight, target, -1);
    move_priors(weight, target, -1);
    class_weight_[label] += weight;
}

// They are given as much time as promoted ones before any are merged or removed.
void Evolving::end_given() {
    std::fill(promoted_.begin(), promoted_.end(), rows_);
    refresh();
}

// --- rows ----------------------------------------------------------------------------------------------------------

// Adds a row to its pseudo-classes, and takes away the one that leaves the window.
void Evolving::take_in(const Row &row, double weight, int target, int hidden) {
    update_base(row, weight);
    update(target, row, weight);
    if (hidden >= 0) update(hidden, row, weight);
    if (options_.window > 0) keep(row, weight, target, hidden);
    refresh();
}

// Pseudo-observations of the base as it is now.
void Evolving::set_first(std::size_t cell, double weight, int i) {
    first_weight_[cell] = weight;
    first_mean_[cell] = base_mean(i);
    first_squares_[cell] = weight * base_variance(i);
}

// Moments by Welford's rule, with forgetting on the clock of the cell.
void Evolving::update(int slot, const Row &row, double weight) {
    const double keep = 1 - options_.alpha;
    for (int i = 0; i < n_; ++i) {
        const double x = row.numbers[i];
        if (!usable(x)) continue;
        const std::size_t cell = at(slot, n_) + std::size_t(i);
        if (weight_[cell] == 0) {
            set_first(cell, options_.prior_weight, i);
            weight_[cell] = first_weight_[cell], mean_[cell] = first_mean_[cell], squares_[cell] = first_squares_[cell];
            --fresh_[slot];
        }
        weight_[cell] = keep * weight_[cell] + weight;
        const double d = x - mean_[cell];
        mean_[cell] += weight / weight_[cell] * d;
        squares_[cell] = keep * squares_[cell] + weight * std::max(0.0, d * (x - mean_[cell]));  // rounded: < 0
        if (options_.window > 0) keep_largest(most(most_, weight_.size())[cell], squares_[cell]);
        set_variance(slot, i);
    }
    for (int i = 0; i < n_columns(); ++i) {
        if (row.values[i] < 0) continue;
        double *own = counts_.data() + at(slot, offsets_.back()) + offsets_[i];
        double &total = totals_[at(slot, n_columns()) + std::size_t(i)];
        if (options_.alpha > 0)
            for (int v = 0; v < n_values_[i]; ++v) own[v] *= keep;
        own[row.values[i]] += weight;
        total = keep * total + weight;
    }
    set_norm(slot);
    if (options_.minimum) set_peaks(slot);
    seen_[slot] += weight;
    last_[slot] = rows_;
}

void Evolving::update_base(const Row &row, double weight) {
    const double keep = 1 - options_.alpha;
    for (int i = 0; i < n_; ++i) {
        const double x = row.numbers[i];
        if (!usable(x)) continue;
        base_weight_[i] = keep * base_weight_[i] + weight;
        const double d = x - base_mean_[i];
        base_mean_[i] += weight / base_weight_[i] * d;
        base_squares_[i] = keep * base_squares_[i] + weight * std::max(0.0, d * (x - base_mean_[i]));
        if (options_.window > 0)
            keep_largest(most(base_most_, base_weight_.size())[std::size_t(i)], base_squares_[std::size_t(i)]);
        set_deviation(i);
    }
}

void Evolving::set_deviation(int i) {
    const double variance = spread(i);
    deviation_[std::size_t(i)] = variance > 0 ? std::sqrt(variance) : 1;
}

// The step of a running mean over all rows, or with forgetting.
double Evolving::step(double weight) const {
    return std::min(1.0, weight * (options_.constant_step ? options_.alpha : std::max(1 / clock_, options_.alpha)));
}

// Each active prior is the running mean of whether it was the target; with a window they follow its rows.
void Evolving::move_priors(double weight, int target, int hidden) {
    if (options_.window > 0) {
        set_window_priors();
        return;
    }
    clock_ += weight;
    const double g = step(weight);
    for (const int slot : order_) prior_[slot] *= 1 - g;
    for (const int slot : hidden_) prior_[slot] *= 1 - g;
    prior_[target] += g;
    if (hidden >= 0) prior_[hidden] += g;
}

// --- slots ---------------------------------------------------------------------------------------------------------

double Evolving::base_mean(int i) const {
    return options_.means.empty() ? base_mean_[std::size_t(i)] : options_.means[std::size_t(i)];
}

// Of all rows so far; 0 where the column has not varied, or by no more than rounding.
double Evolving::spread(int i) const {
    const double w = base_weight_[std::size_t(i)], mean = base_mean_[std::size_t(i)];
    const double variance = w > 0 ? base_squares_[std::size_t(i)] / w : 0;
    return variance > 1e-24 * mean * mean ? variance : 0;
}

double Evolving::base_variance(int i) const {
    return options_.variances.empty() ? spread(i) : options_.variances[std::size_t(i)];
}

// A column that has not varied yet has the variance of a standard normal: any other says nothing, or too much.
double Evolving::floor(int i) const {
    const double variance = spread(i);
    return variance > 0 ? std::max(options_.var_floor * variance, least_variance) : 1;
}

// The least mean of a Poisson or exponential distribution; 1 while all numbers are 0, which says nothing.
double Evolving::mean_floor(int i) const {
    const double mean = base_mean_[std::size_t(i)];
    return base_weight_[std::size_t(i)] > 0 && mean > 0 ? std::max(options_.var_floor * mean, least_mean) : 1;
}

// S / W, or with ddof = 1 S / (W - 1) as in eq. (7), from two rows on: the rule of tanager.counts.normals.
void Evolving::set_variance(int slot, int i) {
    const std::size_t cell = at(slot, n_) + std::size_t(i);
    const double w = weight_[cell], spread = squares_[cell] / (w >= 2 ? w - options_.ddof : w);
    set_spread(cell, i, spread, mean_[cell]);
}

void Evolving::set_base(int slot, int i) {
    const std::size_t cell = at(slot, n_) + std::size_t(i);
    mean_[cell] = base_mean(i);
    set_spread(cell, i, base_variance(i), mean_[cell]);
}

// The variance in force. A mean alone determines those of other than normal numbers.
void Evolving::set_spread(std::size_t cell, int i, double variance, double mean) {
    const Density density = density_[std::size_t(i)];
    if (density == Density::normal) {
        variance_[cell] = std::max(variance, floor(i));
    } else {
        const double least = std::max(mean, mean_floor(i));
        variance_[cell] = density == Density::poisson ? least : least * least;
    }
    set_forms(cell, i);
}

// What answers are made of, from the variance: log density = -(misfit + log_variance_) / 2, where misfit is
//   normal        ((x - mean) inverse_)^2,  inverse_ = 1 / deviation,  log_variance_ = log variance
//   exponential   2 x inverse_,             inverse_ = 1 / mean,       log_variance_ = 2 log mean
//   Poisson       -2 x inverse_,            inverse_ = log mean,       log_variance_ = 2 mean
void Evolving::set_forms(std::size_t cell, int i) {
    const double variance = variance_[cell];
    const bool poisson = density_[std::size_t(i)] == Density::poisson;
    inverse_[cell] = poisson ? std::log(variance) : 1 / std::sqrt(variance);
    log_variance_[cell] = poisson ? 2 * variance : std::log(variance);
}

void Evolving::set_densities() {
    options_.density.resize(std::size_t(n_), int(Density::normal));
    density_.clear();
    for (const int density : options_.density) density_.push_back(Density(density));
    all_normal_ = std::all_of(density_.begin(), density_.end(), [](Density d) { return d == Density::normal; });
}

void Evolving::set_peaks(int slot) {
    for (int i = 0; i < n_columns(); ++i) {
        const double *own = counts_.data() + at(slot, offsets_.back()) + offsets_[i];
        double &peak = peaks_[at(slot, n_columns()) + std::size_t(i)];
        peak = 0;
        for (int v = 0; v < n_values_[i]; ++v) peak = std::max(peak, own[v]);
    }
}

void Evolving::set_norm(int slot) {
    double sum = 0;
    for (int i = 0; i < n_; ++i) sum += log_variance_[at(slot, n_) + std::size_t(i)];
    norm_[slot] = sum;
}

// Fresh cells of active pseudo-classes follow the base.
void Evolving::refresh() {
    for (const int slot : order_) {
        if (fresh_[slot] == 0) continue;
        for (int i = 0; i < n_; ++i)
            if (weight_[at(slot, n_) + std::size_t(i)] == 0) set_base(slot, i);
        set_norm(slot);
    }
}

void Evolving::resize_slots(std::size_t n) {
    const std::size_t numbers = n * std::size_t(n_);
    class_of_.resize(n), fresh_.resize(n), born_.resize(n), since_.resize(n), last_.resize(n);
    prior_.resize(n), seen_.resize(n), norm_.resize(n), start_.resize(n), mass_.resize(n);
    for (auto *cells : {&weight_, &mean_, &squares_, &variance_, &inverse_, &log_variance_, &first_weight_,
                        &first_mean_, &first_squares_})
        cells->resize(numbers);
    counts_.resize(n * std::size_t(offsets_.back()));
    totals_.resize(n * std::size_t(n_columns()));
    peaks_.resize(totals_.size());
}

int Evolving::new_slot(int c) {
    int slot = int(class_of_.size());
    if (free_.empty()) {
        resize_slots(class_of_.size() + 1);
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    class_of_[slot] = c;
    fresh_[slot] = n_;
    born_[slot] = since_[slot] = last_[slot] = -1;
    prior_[slot] = seen_[slot] = start_[slot] = mass_[slot] = 0;
    std::fill_n(weight_.begin() + std::int64_t(at(slot, n_)), n_, 0.0);
    std::fill_n(squares_.begin() + std::int64_t(at(slot, n_)), n_, 0.0);
    std::fill_n(counts_.begin() + std::int64_t(at(slot, offsets_.back())), offsets_.back(), 0.0);
    std::fill_n(totals_.begin() + std::int64_t(at(slot, n_columns())), n_columns(), 0.0);
    std::fill_n(peaks_.begin() + std::int64_t(at(slot, n_columns())), n_columns(), 0.0);
    for (int i = 0; i < n_; ++i) set_base(slot, i);
    set_norm(slot);
    return slot;
}

void Evolving::free_slot(int slot) { free_.push_back(slot); }

void Evolving::list_active() {
    order_.clear();
    begin_.assign(1, 0);
    for (int c = 0; c < k_; ++c) {
        if (known_[c]) order_.insert(order_.end(), active_[c].begin(), active_[c].end());
        begin_.push_back(int(order_.size()));
    }
}

}  // namespace tanager
