#include "evolving.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tanager {

namespace {

constexpr double tie = 1e-12;     // probabilities and log-likelihoods closer than this are alike
constexpr double nothing = 1e-9;  // a weight that is only rounding
constexpr double least_variance = 1e-250;
constexpr double distance_of_limit = 0x1p40;  // deviations of all rows; farther out the answer no longer changes
constexpr double most_deviations = 1e140;     // of a pseudo-class; the square is finite
constexpr double cancelled = 1e-3;  // of the squares: where less is left of them, rounding has too large a part in it

inline bool usable(double x) { return std::isfinite(x); }

inline void keep_largest(double &largest, double x) { largest = std::max(largest, x); }

void forget(double &x, double w) { x = x - w > nothing ? x - w : 0; }

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

Evolving::Evolving(const std::vector<int> &n_values, int n_numbers, int n_classes, EvolvingOptions options)
    : options_(std::move(options)), n_(n_numbers), n_values_(n_values), capacity_(n_values), cool_(options_.wait) {
    offsets_.assign(1, 0);
    for (const int cells : capacity_) offsets_.push_back(offsets_.back() + cells);
    base_weight_.assign(std::size_t(n_), 0.0);
    base_mean_ = base_squares_ = base_weight_;
    deviation_.assign(std::size_t(n_), 1.0);
    begin_.assign(1, 0);
    add_classes({}, n_classes);
}

// --- answers -------------------------------------------------------------------------------------------------------

bool Evolving::complete(const Row &row) const {
    bool all = true;
    for (int i = 0; i < n_; ++i) all = all & usable(row.numbers[i]);
    return all;
}

double Evolving::probability(int slot, int i, int v) const {
    const double own = v < n_values_[i] ? counts_[at(slot, offsets_.back()) + std::size_t(offsets_[i] + v)] : 0;
    return (own + 1) / (totals_[at(slot, n_columns()) + std::size_t(i)] + n_values_[i]);
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

// Up to what all pseudo-classes share.
double Evolving::log_likelihood(int slot, const Row &row, bool complete) const {
    const std::size_t first = at(slot, n_);
    const double *mean = mean_.data() + first, *inverse = inverse_.data() + first;
    const auto squared = [&](int i) {
        const double z = std::min(std::abs((row.numbers[i] - mean[i]) * inverse[i]), most_deviations);
        return z * z;
    };
    double sum = 0;
    if (complete) {
        for (int i = 0; i < n_; ++i) sum += squared(i);
        sum += norm_[std::size_t(slot)];
    } else {
        for (int i = 0; i < n_; ++i) {
            if (!usable(row.numbers[i])) continue;
            sum += squared(i) + log_variance_[first + std::size_t(i)];
        }
    }
    sum *= -0.5;
    for (int i = 0; i < n_columns(); ++i) {
        const int v = row.values[i];
        if (v < 0 || n_values_[i] == 0 || (v >= n_values_[i] && !options_.smooth_unseen)) continue;
        sum += std::log(probability(slot, i, v));
    }
    return sum;
}

void Evolving::answer(const Row &row, Scores &scores) const {
    scores.pseudo.resize(order_.size());
    scores.classes.assign(std::size_t(k_), 1.0 / k_);
    if (order_.empty()) return;
    const bool all = complete(row);
    const Row within = within_reach(row, scores);
    double top = -std::numeric_limits<double>::infinity(), total = 0;
    for (std::size_t a = 0; a < order_.size(); ++a) {
        scores.pseudo[a] = std::log(prior_[std::size_t(order_[a])]) + log_likelihood(order_[a], within, all);
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
    const double enough = most_gain - tie * highest_cost_;
    int best = -1;
    for (int c = 0; c < k_; ++c)
        if (known_[c] && gain[c] >= enough && (best < 0 || class_weight_[c] > class_weight_[best])) best = c;
    return best;
}

// Where in `order_` the likeliest active pseudo-class of a class is; of equals the oldest.
int Evolving::best_of(int c, const Scores &scores) const {
    const double *first = scores.pseudo.data() + begin_[c], *last = scores.pseudo.data() + begin_[c + 1];
    const double enough = *std::max_element(first, last) - tie;
    return begin_[c] + int(std::find_if(first, last, [&](double s) { return s >= enough; }) - first);
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

// Adds a row to its pseudo-classes, and takes away the one that leaves the window.
void Evolving::take_in(const Row &row, double weight, int target, int hidden) {
    update_base(row, weight);
    update(target, row, weight);
    if (hidden >= 0) update(hidden, row, weight);
    if (options_.window > 0) keep(row, weight, target, hidden);
    refresh();
}

void Evolving::keep(const Row &row, double weight, int target, int hidden) {
    const std::size_t q = std::size_t(n_columns()), n = std::size_t(n_);
    if (kept_ < options_.window) {
        kept_numbers_.insert(kept_numbers_.end(), row.numbers, row.numbers + n);
        kept_values_.insert(kept_values_.end(), row.values, row.values + q);
        kept_weights_.push_back(weight);
        kept_target_.push_back(target);
        kept_hidden_.push_back(hidden);
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
    oldest_ = (oldest_ + 1) % options_.window;
    remove_base(old, gone);  // the rows that are kept are those of the window by now
    if (from >= 0) remove(from, old, gone);
    if (also >= 0) remove(also, old, gone);
}

// The largest squares since they were last learned from rows; forgotten where slots or columns have moved.
std::vector<double> &Evolving::most(std::vector<double> &squares, std::size_t n) {
    if (squares.size() != n) squares.assign(n, 0);
    return squares;
}

// Moments by Welford's rule, with forgetting on the clock of the cell.
void Evolving::update(int slot, const Row &row, double weight) {
    const double keep = 1 - options_.alpha;
    for (int i = 0; i < n_; ++i) {
        const double x = row.numbers[i];
        if (!usable(x)) continue;
        const std::size_t cell = at(slot, n_) + std::size_t(i);
        if (weight_[cell] == 0) {
            weight_[cell] = options_.prior_weight;
            mean_[cell] = base_mean(i);
            squares_[cell] = options_.prior_weight * base_variance(i);
            --fresh_[slot];
        }
        weight_[cell] = keep * weight_[cell] + weight;
        const double d = x - mean_[cell];
        mean_[cell] += weight / weight_[cell] * d;
        squares_[cell] = keep * squares_[cell] + weight * d * (x - mean_[cell]);
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
    seen_[slot] += weight;
    last_[slot] = rows_;
}

void Evolving::remove(int slot, const Row &row, double weight) {
    for (int i = 0; i < n_; ++i) {
        const double x = row.numbers[i];
        if (!usable(x)) continue;
        const std::size_t cell = at(slot, n_) + std::size_t(i);
        const double left = weight_[cell] - weight;
        if (left <= nothing) {
            weight_[cell] = squares_[cell] = 0;
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
    forget(seen_[slot], weight);
}

void Evolving::update_base(const Row &row, double weight) {
    const double keep = 1 - options_.alpha;
    for (int i = 0; i < n_; ++i) {
        const double x = row.numbers[i];
        if (!usable(x)) continue;
        base_weight_[i] = keep * base_weight_[i] + weight;
        const double d = x - base_mean_[i];
        base_mean_[i] += weight / base_weight_[i] * d;
        base_squares_[i] = keep * base_squares_[i] + weight * d * (x - base_mean_[i]);
        if (options_.window > 0)
            keep_largest(most(base_most_, base_weight_.size())[std::size_t(i)], base_squares_[std::size_t(i)]);
        set_deviation(i);
    }
}

void Evolving::set_deviation(int i) {
    const double variance = spread(i);
    deviation_[std::size_t(i)] = variance > 0 ? std::sqrt(variance) : 1;
}

void Evolving::remove_base(const Row &row, double weight) {
    for (int i = 0; i < n_; ++i) {
        const double x = row.numbers[i];
        if (!usable(x)) continue;
        const double left = base_weight_[i] - weight;
        if (left <= nothing) {
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
// what they are, beside the pseudo-observations, which are of all rows so far.
void Evolving::relearn(int slot, int i) {
    const std::size_t cell = at(slot, n_) + std::size_t(i);
    const auto [own, mean, squares] = of_window(slot, i);
    const double first = std::max(0.0, weight_[cell] - own);
    Running running{own, mean, squares};
    if (first > nothing) {
        running.add(base_mean(i), first);
        running.squares += first * base_variance(i);
    }
    mean_[cell] = running.mean;
    squares_[cell] = running.squares;
}

// The step of a running mean over all rows, the last ones of a window, or with forgetting.
double Evolving::step(double weight) const {
    const double least = options_.window > 0 ? 1.0 / double(options_.window) : options_.alpha;
    return std::min(1.0, weight * std::max(1 / clock_, least));
}

void Evolving::move_priors(double weight, int target, int hidden) {
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

// S / W, or with ddof = 1 S / (W - 1) as in eq. (7), from two rows on: the rule of tanager.counts.normals.
void Evolving::set_variance(int slot, int i) {
    const std::size_t cell = at(slot, n_) + std::size_t(i);
    const double w = weight_[cell], spread = squares_[cell] / (w >= 2 ? w - options_.ddof : w);
    variance_[cell] = std::max(spread, floor(i));
    inverse_[cell] = 1 / std::sqrt(variance_[cell]);
    log_variance_[cell] = std::log(variance_[cell]);
}

void Evolving::set_base(int slot, int i) {
    const std::size_t cell = at(slot, n_) + std::size_t(i);
    mean_[cell] = base_mean(i);
    variance_[cell] = std::max(base_variance(i), floor(i));
    inverse_[cell] = 1 / std::sqrt(variance_[cell]);
    log_variance_[cell] = std::log(variance_[cell]);
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
    prior_.resize(n), seen_.resize(n), norm_.resize(n);
    for (auto *cells : {&weight_, &mean_, &squares_, &variance_, &inverse_, &log_variance_}) cells->resize(numbers);
    counts_.resize(n * std::size_t(offsets_.back()));
    totals_.resize(n * std::size_t(n_columns()));
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
    prior_[slot] = seen_[slot] = 0;
    std::fill_n(weight_.begin() + std::int64_t(at(slot, n_)), n_, 0.0);
    std::fill_n(squares_.begin() + std::int64_t(at(slot, n_)), n_, 0.0);
    std::fill_n(counts_.begin() + std::int64_t(at(slot, offsets_.back())), offsets_.back(), 0.0);
    std::fill_n(totals_.begin() + std::int64_t(at(slot, n_columns())), n_columns(), 0.0);
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
