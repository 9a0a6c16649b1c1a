// An evolving model grows (classes, values, columns), and goes to files and comes back.
#include "evolving_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "evolving.hpp"

namespace tanager {

namespace {

template <class T>
bool within(const std::vector<T> &values, double low, double high) {
    return std::all_of(values.begin(), values.end(), [&](T x) { return double(x) >= low && double(x) <= high; });
}

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

// Whether what a window weighs is sound: the start of every known class is somewhere. Without one there is nothing.
bool is_weighed(const EvolvingState &s, std::int64_t window) {
    constexpr double most = 1e300;
    if (s.heaviest.empty()) return true;
    std::vector<double> start(s.loss.size(), 0.0);
    for (std::size_t p = 0; p < s.label.size(); ++p)
        if (!s.hidden[p]) start[std::size_t(s.label[p])] += s.start[p];
    for (std::size_t c = 0; c < start.size(); ++c)
        if (s.known[c] && !(start[c] > 0 && s.clock[0] > 0)) return false;
    return window > 0 && within(s.kept_label, -1, double(s.loss.size()) - 1) && within(s.start, 0, most) &&
           within(s.mass, 0, most) && within(s.class_mass, 0, most) && within(s.heaviest, 0, most) &&
           within(s.first_weight, 0, most) && within(s.first_mean, -most, most) && within(s.first_squares, 0, most);
}

}  // namespace

// Whether the numbers of a state, each part of the right length, mean something together.
bool is_sound(const EvolvingState &s, std::int64_t window) {
    constexpr double most = 1e300;
    const double k = double(s.loss.size()), pseudo = double(s.label.size());
    if (!within(s.n_values, 0, 65535) || !within(s.label, 0, k - 1) || !within(s.hidden, 0, 1)) return false;
    std::vector<int> hidden(s.loss.size(), 0), active = hidden;
    for (std::size_t p = 0; p < s.label.size(); ++p) {
        ++(s.hidden[p] ? hidden : active)[std::size_t(s.label[p])];
        if ((s.born[p] < 0) != (s.hidden[p] == 1)) return false;
    }
    const auto values = [&](std::size_t j) {
        return s.kept_values[j] >= -1 && s.kept_values[j] < s.n_values[j % s.n_values.size()];
    };
    for (std::size_t j = 0; j < s.kept_values.size(); ++j)
        if (!values(j)) return false;
    return within(hidden, 1, 1) && within(s.known, 0, 1) && within(active, 1, pseudo) && within(s.prior, 0, 1 + 1e-9) &&
           within(s.seen, 0, most) && within(s.weight, 0, most) && within(s.mean, -most, most) &&
           within(s.squares, 0, most) && within(s.variance, 1e-250, most) && within(s.totals, 0, most) &&
           within(s.counts, 0, most) && within(s.loss, 0, most) && within(s.class_weight, 0, most) &&
           within(s.base_weight, 0, most) && within(s.base_mean, -most, most) && within(s.base_squares, 0, most) &&
           within(s.clock, 0, most) && within(s.kept_weights, 0, most) && within(s.kept_target, -1, pseudo - 1) &&
           within(s.kept_hidden, -1, pseudo - 1) && within(s.change_kind, 0, 2) && within(s.change_label, 0, k - 1) &&
           double(s.kept_weights.size()) <= double(window) && is_weighed(s, window);
}

// --- growth --------------------------------------------------------------------------------------------------------

void Evolving::add_classes(const std::vector<int> &places, int n_classes) {
    const std::size_t k = std::size_t(n_classes);
    std::vector<std::vector<int>> active(k);
    std::vector<int> hidden(k, -1);
    std::vector<double> loss(k, 0.0), class_weight(k, 0.0), class_mass(k, 0.0);
    std::vector<std::int64_t> promoted(k, 0), known(k, 0);
    for (int c = 0; c < k_; ++c) {
        const std::size_t place = std::size_t(places[c]);
        active[place] = std::move(active_[c]);
        hidden[place] = hidden_[c];
        loss[place] = loss_[c];
        class_weight[place] = class_weight_[c];
        class_mass[place] = class_mass_[c];
        promoted[place] = promoted_[c];
        known[place] = known_[c];
        for (const int slot : active[place]) class_of_[slot] = int(place);
        class_of_[hidden[place]] = int(place);
    }
    for (ChangeRecord &change : changes_) change.label = places[std::size_t(change.label)];
    for (int &label : kept_label_)
        if (label >= 0) label = places[std::size_t(label)];
    active_ = std::move(active), hidden_ = std::move(hidden), known_ = std::move(known);
    loss_ = std::move(loss), class_weight_ = std::move(class_weight), promoted_ = std::move(promoted);
    class_mass_ = std::move(class_mass);
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
    const int slot = active_[c][0];
    born_[slot] = next_born_++;
    since_[slot] = rows_;
    start_[slot] = 1;
    list_active();
    if (options_.window > 0) {
        heaviest_ = std::max(heaviest_, clock_);
        set_window_priors();
    } else {
        const double g = step(1);
        for (const int other : order_) prior_[other] *= 1 - g;
        for (const int other : hidden_) prior_[other] *= 1 - g;
        prior_[slot] = g;
        if (rows_ == 0)
            for (const int other : order_) prior_[other] = 1.0 / double(order_.size());
    }
    refresh();
}

void Evolving::reserve_values(const std::vector<int> &n_values) {
    std::vector<int> capacity = capacity_;
    bool enough = true;
    for (std::size_t i = 0; i < capacity.size(); ++i)
        if (n_values[i] > capacity[i]) capacity[i] = std::max(n_values[i], 2 * capacity[i]), enough = false;
    if (enough) return;
    std::vector<int> offsets(1, 0);
    for (const int cells : capacity) offsets.push_back(offsets.back() + cells);
    std::vector<double> counts(class_of_.size() * std::size_t(offsets.back()), 0.0);
    for (std::size_t s = 0; s < class_of_.size(); ++s)
        for (std::size_t i = 0; i < capacity.size(); ++i)
            std::copy_n(counts_.data() + s * std::size_t(offsets_.back()) + offsets_[i], capacity_[i],
                        counts.data() + s * std::size_t(offsets.back()) + offsets[i]);
    capacity_ = std::move(capacity), offsets_ = std::move(offsets), counts_ = std::move(counts);
}

void Evolving::add_column() {
    const std::size_t q = std::size_t(n_columns());
    totals_ = widened(totals_, class_of_.size(), q, 0.0);
    peaks_ = widened(peaks_, class_of_.size(), q, 0.0);
    kept_values_ = widened(kept_values_, std::size_t(kept_), q, -1);
    n_values_.push_back(0);
    capacity_.push_back(0);
    offsets_.push_back(offsets_.back());
}

void Evolving::add_number(Density density) {
    const std::size_t n = std::size_t(n_), slots = class_of_.size();
    for (auto *cells : {&weight_, &mean_, &squares_, &variance_, &inverse_, &log_variance_, &first_weight_,
                        &first_mean_, &first_squares_})
        *cells = widened(*cells, slots, n, 0.0);
    kept_numbers_ = widened(kept_numbers_, std::size_t(kept_), n, std::numeric_limits<double>::quiet_NaN());
    for (auto *cells : {&base_weight_, &base_mean_, &base_squares_}) cells->push_back(0);
    deviation_.push_back(1);
    if (!options_.means.empty())
        options_.means.push_back(density == Density::normal ? 0 : 1), options_.variances.push_back(1);
    ++n_;
    options_.density.push_back(int(density));
    set_densities();
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
        if (options_.window > 0) s.start.push_back(start_[slot]), s.mass.push_back(mass_[slot]);
        rows(s.weight, weight_, n_);
        rows(s.mean, mean_, n_);
        rows(s.squares, squares_, n_);
        rows(s.variance, variance_, n_);
        if (options_.window > 0) {
            rows(s.first_weight, first_weight_, n_);
            rows(s.first_mean, first_mean_, n_);
            rows(s.first_squares, first_squares_, n_);
        }
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
        s.kept_label.push_back(kept_label_[r]);
        s.kept_target.push_back(kept_target_[r] < 0 ? -1 : place[std::size_t(kept_target_[r])]);
        s.kept_hidden.push_back(kept_hidden_[r] < 0 ? -1 : place[std::size_t(kept_hidden_[r])]);
    }
    if (options_.window > 0) s.class_mass = class_mass_, s.heaviest = {heaviest_};
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
    capacity_ = n_values_;
    offsets_.assign(1, 0);
    for (const int cells : capacity_) offsets_.push_back(offsets_.back() + cells);
    loss_ = s.loss, class_weight_ = s.class_weight, promoted_ = s.promoted, known_ = s.known;
    k_ = int(loss_.size());
    base_weight_ = s.base_weight, base_mean_ = s.base_mean, base_squares_ = s.base_squares;
    for (int i = 0; i < n_; ++i) set_deviation(i);
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
            set_forms(cell, i);
            fresh_[slot] += weight_[cell] == 0;
        }
        set_norm(slot);
        if (options_.minimum) set_peaks(slot);
    }
    kept_ = std::int64_t(s.kept_weights.size());
    oldest_ = 0;
    kept_numbers_ = s.kept_numbers, kept_weights_ = s.kept_weights;
    kept_values_.assign(s.kept_values.begin(), s.kept_values.end());
    kept_target_.assign(s.kept_target.begin(), s.kept_target.end());
    kept_hidden_.assign(s.kept_hidden.begin(), s.kept_hidden.end());
    set_weights(s);
    changes_.clear();
    for (std::size_t e = 0; e < s.change_row.size(); ++e)
        changes_.push_back({s.change_row[e], s.change_kind[e], s.change_label[e], s.change_active[e], s.change_found[e],
                            s.change_limit[e], s.change_weight[e]});
    list_active();
}

// What the rows of a window weigh. Files of before do not say it: rows are of the class of their pseudo-class, and the
// oldest one of a class has its start; pseudo-observations are as of now. Priors stay what they were until the next
// row.
void Evolving::set_weights(const EvolvingState &s) {
    kept_label_.assign(s.kept_label.begin(), s.kept_label.end());
    start_ = s.start, mass_ = s.mass, class_mass_ = s.class_mass;
    first_weight_ = s.first_weight, first_mean_ = s.first_mean, first_squares_ = s.first_squares;
    for (auto *cells : {&first_weight_, &first_mean_, &first_squares_}) cells->resize(weight_.size());
    start_.resize(class_of_.size()), mass_.resize(class_of_.size()), class_mass_.resize(std::size_t(k_));
    if (!s.heaviest.empty()) heaviest_ = s.heaviest[0];
    if (!s.heaviest.empty() || options_.window == 0) return;
    for (std::int64_t r = 0; r < kept_; ++r) {
        const int slot = kept_target_[r] >= 0 ? kept_target_[r] : kept_hidden_[r];
        kept_label_.push_back(slot < 0 ? -1 : class_of_[slot]);
    }
    for (int c = 0; c < k_; ++c) start_[active_[c][0]] = double(known_[c]);
    weigh_window();
    for (int slot = 0; slot < int(class_of_.size()); ++slot)
        for (int i = 0; i < n_; ++i) {
            const double left = weight_[at(slot, n_) + std::size_t(i)] - std::get<0>(of_window(slot, i));
            set_first(at(slot, n_) + std::size_t(i), std::max(0.0, left), i);
        }
}

}  // namespace tanager
