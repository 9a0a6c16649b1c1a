// Pseudo-classes come and go: a class that goes on failing gets another one; in a class that does well the weakest are
// removed and those that are alike are merged.
#include <algorithm>
#include <cmath>

#include "chi_square.hpp"
#include "evolving.hpp"

namespace tanager {

namespace {

constexpr double alike = 0.05;        // Bhattacharyya's distance per column, and the level of the test
constexpr std::int64_t patience = 5;  // times `wait` rows without a promotion before a class is simplified
constexpr std::size_t log_length = 10000;

}  // namespace

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
    if (options_.window > 0) set_window_priors();
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
    if (options_.window > 0) set_window_priors();
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
    share_start(slot, own);
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
        const double sa = std::sqrt(va), sb = std::sqrt(vb);
        switch (density_[std::size_t(i)]) {
            case Density::normal: sum += 0.25 * d * d / (va + vb) + 0.5 * std::log((va + vb) / (2 * sa * sb)); break;
            case Density::poisson: sum += 0.5 * (sa - sb) * (sa - sb); break;  // the variance is the mean
            case Density::exponential: sum += std::log((sa + sb) / (2 * std::sqrt(sa) * std::sqrt(sb))); break;
        }
    }
    for (int i = 0; i < n_columns(); ++i) {
        double overlap = 0;
        for (int v = 0; v < n_values_[i]; ++v) overlap += std::sqrt(probability(a, i, v) * probability(b, i, v));
        if (overlap > 0) sum -= std::log(overlap);
    }
    return sum;
}

// How often two samples of one distribution would differ as much: means and spreads of numbers (where the mean is all
// there is, that), counts of values.
double Evolving::p_value(int a, int b) const {
    double sum = 0;
    int df = 0;
    for (int i = 0; i < n_; ++i) {
        const std::size_t ca = at(a, n_) + std::size_t(i), cb = at(b, n_) + std::size_t(i);
        const double wa = weight_[ca], wb = weight_[cb], va = variance_[ca], vb = variance_[cb];
        if (wa == 0 || wb == 0) continue;
        const double d = mean_[ca] - mean_[cb], ratio = std::log(va / vb);
        const double means = d * d / (va / wa + vb / wb), spreads = ratio * ratio / (2 / wa + 2 / wb);
        switch (density_[std::size_t(i)]) {
            case Density::normal: sum += means + spreads, df += 2; break;
            case Density::poisson: sum += means, ++df; break;
            case Density::exponential: sum += 0.5 * spreads, ++df; break;  // log mean has variance 1 / W
        }
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
    return sum < 1e300 ? chi_square_tail(sum, df) : 0;
}

void Evolving::merge(int from, int into) {
    for (int i = 0; i < n_; ++i) {
        const std::size_t a = at(into, n_) + std::size_t(i), b = at(from, n_) + std::size_t(i);
        if (weight_[b] == 0) continue;
        if (weight_[a] == 0) --fresh_[into];
        const double total = weight_[a] + weight_[b];
        const double shift = weight_[a] == 0 ? 0 : mean_[b] - mean_[a];
        if (weight_[a] == 0) mean_[a] = mean_[b], first_weight_[a] = first_mean_[a] = first_squares_[a] = 0;
        mean_[a] += shift * weight_[b] / total;
        squares_[a] += squares_[b] + shift * shift * weight_[a] * weight_[b] / total;
        weight_[a] = total;
        set_variance(into, i);
        const double first = first_weight_[a] + first_weight_[b], apart = first_mean_[b] - first_mean_[a];
        if (first_weight_[b] == 0) continue;
        first_mean_[a] += apart * first_weight_[b] / first;
        first_squares_[a] += first_squares_[b] + apart * apart * first_weight_[a] * first_weight_[b] / first;
        first_weight_[a] = first;
    }
    const std::size_t width = std::size_t(offsets_.back()), q = std::size_t(n_columns());
    for (std::size_t j = 0; j < width; ++j)
        counts_[std::size_t(into) * width + j] += counts_[std::size_t(from) * width + j];
    for (std::size_t j = 0; j < q; ++j) totals_[std::size_t(into) * q + j] += totals_[std::size_t(from) * q + j];
    set_norm(into);
    if (options_.minimum) set_peaks(into);
    start_[into] += start_[from];
    mass_[into] += mass_[from];
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

}  // namespace tanager
