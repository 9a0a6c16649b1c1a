#include "evolving.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "chi_square.hpp"

namespace tanager {

namespace {

constexpr double tie = 1e-12;     // probabilities and log-likelihoods closer than this are alike
constexpr double nothing = 1e-9;  // a weight that is only rounding
constexpr double least_variance = 1e-250;
constexpr double most = 1e100;        // numbers beyond it are missing: their squares must stay finite
constexpr double alike = 0.05;        // Bhattacharyya's distance per column, and the level of the test
constexpr std::int64_t patience = 5;  // times `wait` rows without a promotion before a class is simplified
constexpr std::size_t log_length = 10000;

inline bool usable(double x) { return std::abs(x) < most; }
inline std::size_t at(int slot, int width) { return std::size_t(slot) * std::size_t(width); }

void forget(double &x, double w) { x = x - w > nothing ? x - w : 0; }

// Squares less those of a value that goes; what is left of nearly all of them is rounding.
double lessened(double squares, double by) { return squares - by > 1e-10 * squares ? squares - by : 0; }

// Rows of q cells with a further cell each.
template <class T>
std::vector<T> widened(const std::vector<T> &cells, std::size_t n_rows, std::size_t q, T filler) {
    std::vector<T> out;
    for (std::size_t r = 0; r < n_rows; ++r) {
        out.insert(out.end(), cells.begin() + std::int64_t(r * q), cells.begin() + std::int64_t((r + 1) * q));
        out.push_back(filler);
    }
    return out;
}

}  // namespace

Evolving::Evolving(const std::vector<int> &n_values, int n_numbers, int n_classes, EvolvingOptions options)
    : options_(std::move(options)), n_(n_numbers), n_values_(n_values), rooms_(n_values), cool_(options_.wait) {
    offsets_.assign(1, 0);
    for (const int room : rooms_) offsets_.push_back(offsets_.back() + room);
    base_weight_.assign(std::size_t(n_), 0.0);
    base_mean_ = base_squares_ = base_weight_;
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

// Up to what all pseudo-classes share.
double Evolving::log_likelihood(int slot, const Row &row, bool complete) const {
    const std::size_t first = at(slot, n_);
    const double *mean = mean_.data() + first, *inverse = inverse_.data() + first;
    double sum = 0;
    if (complete) {
        for (int i = 0; i < n_; ++i) {
            const double d = row.numbers[i] - mean[i];
            sum += d * d * inverse[i];
        }
        sum += norm_[std::size_t(slot)];
    } else {
        for (int i = 0; i < n_; ++i) {
            if (!usable(row.numbers[i])) continue;
            const double d = row.numbers[i] - mean[i];
            sum += d * d * inverse[i] + log_variance_[first + std::size_t(i)];
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
    double top = -std::numeric_limits<double>::infinity(), total = 0;
    for (std::size_t a = 0; a < order_.size(); ++a) {
        scores.pseudo[a] = std::log(prior_[std::size_t(order_[a])]) + log_likelihood(order_[a], row, all);
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
    const Row old{kept_numbers_.data() + r * n, kept_values_.data() + r * q};
    remove_base(old, kept_weights_[r]);
    if (kept_target_[r] >= 0) remove(kept_target_[r], old, kept_weights_[r]);
    if (kept_hidden_[r] >= 0) remove(kept_hidden_[r], old, kept_weights_[r]);
    std::copy_n(row.numbers, n, kept_numbers_.begin() + std::int64_t(r * n));
    std::copy_n(row.values, q, kept_values_.begin() + std::int64_t(r * q));
    kept_weights_[r] = weight;
    kept_target_[r] = target;
    kept_hidden_[r] = hidden;
    oldest_ = (oldest_ + 1) % options_.window;
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
        const double d = x - mean_[cell];
        mean_[cell] -= weight * d / left;
        squares_[cell] = lessened(squares_[cell], weight * d * (x - mean_[cell]));
        weight_[cell] = left;
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
    }
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
        const double d = x - base_mean_[i];
        base_mean_[i] -= weight * d / left;
        base_squares_[i] = lessened(base_squares_[i], weight * d * (x - base_mean_[i]));
        base_weight_[i] = left;
    }
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

// --- pseudo-classes come and go ------------------------------------------------------------------------------------

void Evolving::maybe_promote() {
    int worst = -1;
    for (int c = 0; c < k_; ++c) {
        const bool ready = seen_[hidden_[c]] >= options_.min_hidden && prior_[hidden_[c]] > 0 &&
                           int(active_[c].size()) < options_.max_pseudo;
        if (ready && loss_[c] > options_.max_loss && (worst < 0 || loss_[c] > loss_[worst])) worst = c;
    }
    if (worst < 0) return;
    promote(worst);
    cool_ = options_.wait;
}

void Evolving::promote(int c) {
    const int slot = hidden_[c];
    double sum = 0;
    for (const int a : active_[c]) sum += prior_[a];
    const double beta = sum / (sum + prior_[slot]);
    active_[c].push_back(slot);
    for (const int a : active_[c]) prior_[a] *= beta;
    born_[slot] = next_born_++;
    since_[slot] = promoted_[c] = rows_;
    record(Change::promoted, c, loss_[c], options_.max_loss, seen_[slot]);
    hidden_[c] = new_slot(c);
    list_active();
    refresh();
}

void Evolving::simplify(int c) {
    if (active_[c].size() < 2 || loss_[c] > options_.max_loss || rows_ - promoted_[c] < patience * options_.wait)
        return;
    while (remove_weakest(c)) {
    }
    while (merge_closest(c)) {
    }
    list_active();
}

bool Evolving::remove_weakest(int c) {
    std::vector<int> &own = active_[c];
    if (own.size() < 2) return false;
    const auto weakest = std::min_element(own.begin(), own.end(), [&](int a, int b) { return prior_[a] < prior_[b]; });
    const int slot = *weakest;
    const double lost = prior_[slot];
    if (!(lost < options_.p_min)) return false;
    own.erase(weakest);
    double sum = 0;
    for (const int a : own) sum += prior_[a];
    if (sum > 0)
        for (const int a : own) prior_[a] *= (sum + lost) / sum;
    record(Change::removed, c, lost, options_.p_min, seen_[slot]);
    retarget(slot, -1);
    free_slot(slot);
    return true;
}

bool Evolving::merge_closest(int c) {
    std::vector<int> &own = active_[c];
    const double limit = options_.test ? alike : alike * (n_ + n_columns());
    double best = 0;
    std::size_t first = 0, second = 0;
    for (std::size_t a = 0; a < own.size(); ++a)
        for (std::size_t b = a + 1; b < own.size(); ++b) {
            const double found = options_.test ? p_value(own[a], own[b]) : distance(own[a], own[b]);
            if (second == 0 || (options_.test ? found > best : found < best)) best = found, first = a, second = b;
        }
    if (second == 0 || !(options_.test ? best > limit : best < limit)) return false;
    const int from = own[first], into = own[second];
    own.erase(own.begin() + std::int64_t(first));
    merge(from, into);
    record(Change::merged, c, best, limit, prior_[into]);
    retarget(from, into);
    free_slot(from);
    return true;
}

// Bhattacharyya's distance.
double Evolving::distance(int a, int b) const {
    double sum = 0;
    for (int i = 0; i < n_; ++i) {
        const std::size_t ca = at(a, n_) + std::size_t(i), cb = at(b, n_) + std::size_t(i);
        const double d = mean_[ca] - mean_[cb], va = variance_[ca], vb = variance_[cb];
        sum += 0.25 * d * d / (va + vb) + 0.5 * std::log((va + vb) / (2 * std::sqrt(va * vb)));
    }
    for (int i = 0; i < n_columns(); ++i) {
        double overlap = 0;
        for (int v = 0; v < n_values_[i]; ++v) overlap += std::sqrt(probability(a, i, v) * probability(b, i, v));
        if (overlap > 0) sum -= std::log(overlap);
    }
    return sum;
}

// How often two samples of one distribution would differ as much: means and spreads of numbers, counts of values.
double Evolving::p_value(int a, int b) const {
    double sum = 0;
    int df = 0;
    for (int i = 0; i < n_; ++i) {
        const std::size_t ca = at(a, n_) + std::size_t(i), cb = at(b, n_) + std::size_t(i);
        const double wa = weight_[ca], wb = weight_[cb], va = variance_[ca], vb = variance_[cb];
        if (wa == 0 || wb == 0) continue;
        const double d = mean_[ca] - mean_[cb], ratio = std::log(va / vb);
        sum += d * d / (va / wa + vb / wb) + ratio * ratio / (2 / wa + 2 / wb);
        df += 2;
    }
    for (int i = 0; i < n_columns(); ++i) {
        const double na = totals_[at(a, n_columns()) + std::size_t(i)],
                     nb = totals_[at(b, n_columns()) + std::size_t(i)];
        if (na <= 0 || nb <= 0) continue;
        int seen = 0;
        for (int v = 0; v < n_values_[i]; ++v) {
            const std::size_t place = std::size_t(offsets_[i] + v);
            const double oa = counts_[at(a, offsets_.back()) + place], ob = counts_[at(b, offsets_.back()) + place];
            if (oa + ob <= 0) continue;
            const double ea = (oa + ob) * na / (na + nb), eb = (oa + ob) * nb / (na + nb);
            sum += (oa - ea) * (oa - ea) / ea + (ob - eb) * (ob - eb) / eb;
            ++seen;
        }
        df += std::max(0, seen - 1);
    }
    return chi_square_tail(sum, df);
}

void Evolving::merge(int from, int into) {
    for (int i = 0; i < n_; ++i) {
        const std::size_t a = at(into, n_) + std::size_t(i), b = at(from, n_) + std::size_t(i);
        if (weight_[b] == 0) continue;
        if (weight_[a] == 0) --fresh_[into];
        const double total = weight_[a] + weight_[b];
        const double shift = weight_[a] == 0 ? 0 : mean_[b] - mean_[a];
        if (weight_[a] == 0) mean_[a] = mean_[b];
        mean_[a] += shift * weight_[b] / total;
        squares_[a] += squares_[b] + shift * shift * weight_[a] * weight_[b] / total;
        weight_[a] = total;
        set_variance(into, i);
    }
    const std::size_t width = std::size_t(offsets_.back()), q = std::size_t(n_columns());
    for (std::size_t j = 0; j < width; ++j)
        counts_[std::size_t(into) * width + j] += counts_[std::size_t(from) * width + j];
    for (std::size_t j = 0; j < q; ++j) totals_[std::size_t(into) * q + j] += totals_[std::size_t(from) * q + j];
    set_norm(into);
    prior_[into] += prior_[from];
    seen_[into] += seen_[from];
    last_[into] = std::max(last_[into], last_[from]);
}

// Rows of the window follow their pseudo-class.
void Evolving::retarget(int from, int into) {
    std::replace(kept_target_.begin(), kept_target_.end(), from, into);
    std::replace(kept_hidden_.begin(), kept_hidden_.end(), from, into);
}

void Evolving::record(Change change, int c, double found, double limit, double weight) {
    if (changes_.size() == 2 * log_length) changes_.erase(changes_.begin(), changes_.begin() + log_length);
    changes_.push_back({rows_, std::int64_t(change), c, std::int64_t(active_[c].size()), found, limit, weight});
    ++n_changes_;
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

// S / (W - 1) as in eq. (7), S / W with forgetting or where that would be of less than two rows.
void Evolving::set_variance(int slot, int i) {
    const std::size_t cell = at(slot, n_) + std::size_t(i);
    const double w = weight_[cell], spread = squares_[cell] / (options_.alpha == 0 && w >= 2 ? w - 1 : w);
    variance_[cell] = std::max(spread, floor(i));
    inverse_[cell] = 1 / variance_[cell];
    log_variance_[cell] = std::log(variance_[cell]);
}

void Evolving::set_base(int slot, int i) {
    const std::size_t cell = at(slot, n_) + std::size_t(i);
    mean_[cell] = base_mean(i);
    variance_[cell] = std::max(base_variance(i), floor(i));
    inverse_[cell] = 1 / variance_[cell];
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

// --- growth --------------------------------------------------------------------------------------------------------

void Evolving::add_classes(const std::vector<int> &places, int n_classes) {
    const std::size_t k = std::size_t(n_classes);
    std::vector<std::vector<int>> active(k);
    std::vector<int> hidden(k, -1);
    std::vector<double> loss(k, 0.0), class_weight(k, 0.0);
    std::vector<std::int64_t> promoted(k, 0), known(k, 0);
    for (int c = 0; c < k_; ++c) {
        const std::size_t place = std::size_t(places[c]);
        active[place] = std::move(active_[c]);
        hidden[place] = hidden_[c];
        loss[place] = loss_[c];
        class_weight[place] = class_weight_[c];
        promoted[place] = promoted_[c];
        known[place] = known_[c];
        for (const int slot : active[place]) class_of_[slot] = int(place);
        class_of_[hidden[place]] = int(place);
    }
    for (ChangeRecord &change : changes_) change.label = places[std::size_t(change.label)];
    active_ = std::move(active), hidden_ = std::move(hidden), known_ = std::move(known);
    loss_ = std::move(loss), class_weight_ = std::move(class_weight), promoted_ = std::move(promoted);
    k_ = n_classes;
    for (int c = 0; c < k_; ++c) {
        if (hidden_[c] >= 0) continue;
        active_[c] = {new_slot(c)};
        hidden_[c] = new_slot(c);
        born_[active_[c][0]] = 0;
    }
    set_costs({});
    list_active();
}

// The prior of a class that becomes known is that of one row.
void Evolving::announce(int c) {
    if (known_[c]) return;
    known_[c] = 1;
    clock_ += 1;
    const double g = step(1);
    for (const int slot : order_) prior_[slot] *= 1 - g;
    for (const int slot : hidden_) prior_[slot] *= 1 - g;
    const int slot = active_[c][0];
    prior_[slot] = g;
    born_[slot] = next_born_++;
    since_[slot] = rows_;
    list_active();
    if (rows_ == 0)
        for (const int other : order_) prior_[other] = 1.0 / double(order_.size());
    refresh();
}

void Evolving::reserve_values(const std::vector<int> &n_values) {
    std::vector<int> rooms = rooms_;
    bool enough = true;
    for (std::size_t i = 0; i < rooms.size(); ++i)
        if (n_values[i] > rooms[i]) rooms[i] = std::max(n_values[i], 2 * rooms[i]), enough = false;
    if (enough) return;
    std::vector<int> offsets(1, 0);
    for (const int room : rooms) offsets.push_back(offsets.back() + room);
    std::vector<double> counts(class_of_.size() * std::size_t(offsets.back()), 0.0);
    for (std::size_t s = 0; s < class_of_.size(); ++s)
        for (std::size_t i = 0; i < rooms.size(); ++i)
            std::copy_n(counts_.data() + s * std::size_t(offsets_.back()) + offsets_[i], rooms_[i],
                        counts.data() + s * std::size_t(offsets.back()) + offsets[i]);
    rooms_ = std::move(rooms), offsets_ = std::move(offsets), counts_ = std::move(counts);
}

void Evolving::add_column() {
    const std::size_t q = std::size_t(n_columns());
    totals_ = widened(totals_, class_of_.size(), q, 0.0);
    kept_values_ = widened(kept_values_, std::size_t(kept_), q, -1);
    n_values_.push_back(0);
    rooms_.push_back(0);
    offsets_.push_back(offsets_.back());
}

void Evolving::add_number() {
    const std::size_t n = std::size_t(n_), slots = class_of_.size();
    for (auto *cells : {&weight_, &mean_, &squares_, &variance_, &inverse_, &log_variance_})
        *cells = widened(*cells, slots, n, 0.0);
    kept_numbers_ = widened(kept_numbers_, std::size_t(kept_), n, std::numeric_limits<double>::quiet_NaN());
    for (auto *cells : {&base_weight_, &base_mean_, &base_squares_}) cells->push_back(0);
    if (!options_.means.empty()) options_.means.push_back(0), options_.variances.push_back(1);
    ++n_;
    for (int slot = 0; slot < int(slots); ++slot) {
        ++fresh_[slot];
        set_base(slot, n_ - 1);
        set_norm(slot);
    }
}

void Evolving::set_costs(const std::vector<double> &costs) {
    costs_ = costs;
    highest_cost_ = 1;
    for (const double cost : costs) highest_cost_ = std::max(highest_cost_, std::abs(cost));
}

// --- all there is --------------------------------------------------------------------------------------------------

EvolvingState Evolving::state() const {
    EvolvingState s;
    std::vector<int> place(class_of_.size(), -1);  // of a slot among the pseudo-classes
    const auto add = [&](int slot) {
        place[std::size_t(slot)] = int(s.label.size());
        const auto rows = [&](std::vector<double> &to, const std::vector<double> &from, int width) {
            const auto first = from.begin() + std::int64_t(at(slot, width));
            to.insert(to.end(), first, first + width);
        };
        s.label.push_back(class_of_[slot]);
        s.hidden.push_back(born_[slot] < 0);
        s.born.push_back(born_[slot]);
        s.since.push_back(since_[slot]);
        s.last.push_back(last_[slot]);
        s.prior.push_back(prior_[slot]);
        s.seen.push_back(seen_[slot]);
        rows(s.weight, weight_, n_);
        rows(s.mean, mean_, n_);
        rows(s.squares, squares_, n_);
        rows(s.variance, variance_, n_);
        rows(s.totals, totals_, n_columns());
        for (int i = 0; i < n_columns(); ++i) {
            const auto first = counts_.begin() + std::int64_t(at(slot, offsets_.back())) + offsets_[i];
            s.counts.insert(s.counts.end(), first, first + n_values_[i]);
        }
    };
    for (int c = 0; c < k_; ++c) {
        for (const int slot : active_[c]) add(slot);
        add(hidden_[c]);
    }
    s.n_values.assign(n_values_.begin(), n_values_.end());
    s.loss = loss_, s.class_weight = class_weight_, s.promoted = promoted_, s.known = known_;
    s.base_weight = base_weight_, s.base_mean = base_mean_, s.base_squares = base_squares_;
    s.clock = {clock_}, s.counters = {cool_, rows_, next_born_, n_changes_};
    for (std::int64_t j = 0; j < kept_; ++j) {
        const std::int64_t r = (oldest_ + j) % kept_;
        const auto numbers = kept_numbers_.begin() + r * n_;
        const auto values = kept_values_.begin() + r * n_columns();
        s.kept_numbers.insert(s.kept_numbers.end(), numbers, numbers + n_);
        s.kept_values.insert(s.kept_values.end(), values, values + n_columns());
        s.kept_weights.push_back(kept_weights_[r]);
        s.kept_target.push_back(kept_target_[r] < 0 ? -1 : place[std::size_t(kept_target_[r])]);
        s.kept_hidden.push_back(kept_hidden_[r] < 0 ? -1 : place[std::size_t(kept_hidden_[r])]);
    }
    for (const ChangeRecord &change : changes_) {
        s.change_row.push_back(change.row);
        s.change_kind.push_back(change.kind);
        s.change_label.push_back(change.label);
        s.change_active.push_back(change.active);
        s.change_found.push_back(change.found);
        s.change_limit.push_back(change.limit);
        s.change_weight.push_back(change.weight);
    }
    return s;
}

void Evolving::set_state(const EvolvingState &s) {
    n_values_.assign(s.n_values.begin(), s.n_values.end());
    rooms_ = n_values_;
    offsets_.assign(1, 0);
    for (const int room : rooms_) offsets_.push_back(offsets_.back() + room);
    loss_ = s.loss, class_weight_ = s.class_weight, promoted_ = s.promoted, known_ = s.known;
    k_ = int(loss_.size());
    base_weight_ = s.base_weight, base_mean_ = s.base_mean, base_squares_ = s.base_squares;
    clock_ = s.clock[0];
    cool_ = s.counters[0], rows_ = s.counters[1], next_born_ = s.counters[2], n_changes_ = s.counters[3];
    free_.clear();
    resize_slots(s.label.size());
    active_.assign(std::size_t(k_), {});
    hidden_.assign(std::size_t(k_), -1);
    class_of_.assign(s.label.begin(), s.label.end());
    born_ = s.born, since_ = s.since, last_ = s.last, prior_ = s.prior, seen_ = s.seen;
    weight_ = s.weight, mean_ = s.mean, squares_ = s.squares, variance_ = s.variance;
    counts_ = s.counts, totals_ = s.totals;
    for (int slot = 0; slot < int(class_of_.size()); ++slot) {
        if (s.hidden[std::size_t(slot)]) hidden_[class_of_[slot]] = slot;
        else active_[class_of_[slot]].push_back(slot);
        fresh_[slot] = 0;
        for (int i = 0; i < n_; ++i) {
            const std::size_t cell = at(slot, n_) + std::size_t(i);
            inverse_[cell] = 1 / variance_[cell];
            log_variance_[cell] = std::log(variance_[cell]);
            fresh_[slot] += weight_[cell] == 0;
        }
        set_norm(slot);
    }
    kept_ = std::int64_t(s.kept_weights.size());
    oldest_ = 0;
    kept_numbers_ = s.kept_numbers, kept_weights_ = s.kept_weights;
    kept_values_.assign(s.kept_values.begin(), s.kept_values.end());
    kept_target_.assign(s.kept_target.begin(), s.kept_target.end());
    kept_hidden_.assign(s.kept_hidden.begin(), s.kept_hidden.end());
    changes_.clear();
    for (std::size_t e = 0; e < s.change_row.size(); ++e)
        changes_.push_back({s.change_row[e], s.change_kind[e], s.change_label[e], s.change_active[e], s.change_found[e],
                            s.change_limit[e], s.change_weight[e]});
    list_active();
}

}  // namespace tanager
