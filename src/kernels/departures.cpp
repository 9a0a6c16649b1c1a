#include "departures.hpp"

#include <numeric>

#include "interrupt.hpp"
#include "member_rows.hpp"

namespace tanager::scoring {

namespace {

constexpr std::int64_t kLeastRows = 20;
constexpr int kColumnsAtHand = 64;   // with one super-parent, of which the counts are close at hand
constexpr double kRowsPerTable = 4;  // on average
constexpr std::size_t kTableBytes = std::size_t{1} << 18, kMostTables = 64;  // in the cache at a time
constexpr std::size_t kAhead = 6;  // children whose counts are fetched beforehand
constexpr int kFewRows = 2;        // with the same values: a table does not pay for them

// The value of each column that was seen most often.
std::vector<int> most_common(const Store &s) {
    std::vector<int> common(s.n, 0);
    for (int i = 0; i < s.n; ++i) {
        double most = -1;
        for (int v = 0; v < s.n_values[i]; ++v) {
            const double seen = frequency(s, i, v, 0);
            if (seen > most) {
                most = seen;
                common[i] = v;
            }
        }
    }
    return common;
}

}  // namespace

bool Departures::suits(const ScoringPlan &p) {
    if (!p.sum_of_products || p.staging || p.members.empty() || !p.shared_totals || !p.estimate.constant())
        return false;
    const std::size_t size = p.members[0].attributes.size();
    if (size > 2 || (size == 1 && !p.store.pairs) || (size == 2 && p.member_children.empty())) return false;
    return std::all_of(p.members.begin(), p.members.end(),
                       [size](const Member &m) { return m.attributes.size() == size; }) &&
           std::all_of(p.store.n_values.begin(), p.store.n_values.end(), [](int r) { return r > 0; });
}

bool Departures::pays(const ScoringPlan &p, std::int64_t n_rows) {
    if (n_rows < kLeastRows || !suits(p)) return false;
    const std::size_t n_parents = p.members[0].attributes.size();
    if (n_parents == 1 && p.store.n < kColumnsAtHand) return false;
    const double n_values = std::accumulate(p.store.n_values.begin(), p.store.n_values.end(), 0.0) / p.store.n;
    return double(n_rows) >= kRowsPerTable * std::pow(n_values, n_parents);
}

Departures::Departures(const ScoringPlan &plan, std::int64_t n_rows)
    : most_rows(MemberRows::block_rows(plan, n_rows)), plan_(plan), n_(plan.store.n), k_(plan.store.k),
      width_(twos_or_fours(k_)), common_(most_common(plan.store)), gaps_(n_), begin_{0}, here_(n_),
      inverse_(width_, 1.0), value_(width_), power_(width_) {
    // A ratio is at most a count of all rows over a pseudo-count, and at least its inverse.
    const double unit = plan.estimate.unit, rows = std::accumulate(plan.store.classes, plan.store.classes + k_, 0.0);
    double least = 1, most = 0;
    for (double cell : plan.cells) least = std::min(least, cell);
    for (double total : plan.totals) most = std::max(most, total);
    const int bits = std::ilogb(at_least_zero(rows) + unit * most) - std::ilogb(unit * least) + 2;
    calm_ = std::max(1, 300 / std::max(1, bits));
    slot_.resize(std::size_t(most_rows) * n_);
    by_column_.resize(std::size_t(most_rows) * n_);
    sorted_.resize(most_rows);
    children_.reserve(n_);
    start_.resize(std::size_t(*std::max_element(plan.store.n_slots.begin(), plan.store.n_slots.end())) + 1);
    const std::size_t lines = std::size_t(plan.store.width) * width_;
    groups_.resize(std::clamp<std::size_t>(kTableBytes / (lines * sizeof(double)), 1, kMostTables));
    for (Group &g : groups_) {
        g.base.resize(width_);
        g.power.resize(width_);
        g.inverse.assign(plan.totals.size() * width_, 1.0);
        g.table.assign(lines, 1.0);
    }
}

void Departures::clear() {
    n_rows_ = 0;
    line_.clear();
    begin_.assign(1, 0);
    std::fill(gaps_.begin(), gaps_.end(), 0);
}

void Departures::add(const int *slot) {
    const std::size_t r = std::size_t(n_rows_++);
    for (int i = 0; i < n_; ++i) {
        slot_[std::size_t(i) * most_rows + r] = slot[i];
        gaps_[i] |= slot[i] == plan_.store.missing_slot(i);
        if (slot[i] != common_[i]) line_.push_back(std::uint32_t((plan_.store.offsets[i] + slot[i]) * width_));
    }
    begin_.push_back(line_.size());
}

void Departures::slots(int row, int *slot) const {
    for (int i = 0; i < n_; ++i) slot[i] = slots_of(i)[row];
}

void Departures::sum(double *total, double *power, double *weight) {
    std::iota(sorted_.begin(), sorted_.begin() + n_rows_, 0);
    for (int i = 0; i < n_; ++i) {
        int *out = &by_column_[std::size_t(i) * most_rows];
        sort_by_slot(slots_of(i), plan_.store.n_slots[i], sorted_.data(), n_rows_, start_.data(), out);
    }
    sum_.assign(std::size_t(n_rows_) * width_, 0.0);
    sum_power_.assign(sum_.size(), 0.0);
    scaled_.assign(n_rows_, 0);
    for (std::size_t q = 0; q < plan_.members.size(); ++q) {
        member_ = &plan_.members[q];
        sort_rows();
        find_children(int(q));
        for (int from = 0, to; from < n_rows_; from = to) {
            to = end_of_values(from);
            n_groups_ += start(groups_[n_groups_], from, to);
            if (n_groups_ == int(groups_.size()) || to == n_rows_) {
                check_interrupt();
                make_tables();
                add_rows(weight);
                n_groups_ = 0;
            }
        }
    }
    for (std::size_t r = 0; r < std::size_t(n_rows_); ++r) {
        std::copy_n(&sum_[r * width_], k_, total + r * k_);
        std::copy_n(&sum_power_[r * width_], k_, power + r * k_);
    }
}

// By the values of the super-parents.
void Departures::sort_rows() {
    const auto &s = member_->attributes;
    rows_ = &by_column_[std::size_t(s.back()) * most_rows];
    if (s.size() == 1) return;
    sort_by_slot(slots_of(s[0]), plan_.store.n_slots[s[0]], rows_, n_rows_, start_.data(), sorted_.data());
    rows_ = sorted_.data();
}

void Departures::find_children(int q) {
    const Store &s = plan_.store;
    const auto &parents = member_->attributes;
    children_.clear();
    const ChildPlace *place = parents.size() == 1 ? nullptr : plan_.member_children[q].data();
    for (int i = 0; i < n_; ++i) {
        if (!plan_.child_of(i, *member_)) continue;
        if (place) children_.push_back({i, *place++});
        else {
            const std::int64_t row = s.width * k_, first = s.offsets[parents[0]] * row + s.offsets[i] * k_;
            children_.push_back({i, {s.pairs + first, k_, {row, 0, 0}}});
        }
    }
}

int Departures::end_of_values(int from) const {
    int to = n_rows_;
    for (int i : member_->attributes) {
        const int *slot = slots_of(i), here = slot[rows_[from]];
        int end = from + 1;
        while (end < to && slot[rows_[end]] == here) ++end;
        to = end;
    }
    return to;
}

// Rows with the same values, and P(y, x_s) times the weight of the member; false where a value is missing or they were
// not seen together often enough.
bool Departures::start(Group &g, int from, int to) {
    const auto &parents = member_->attributes;
    const double unit = plan_.estimate.unit;
    for (std::size_t u = 0; u < parents.size(); ++u) {
        g.slot[u] = slots_of(parents[u])[rows_[from]];
        here_[parents[u]] = g.slot[u];
    }
    g.from = from;
    g.to = to;
    g.count = member_counts(plan_, *member_, here_.data(), 0);
    if (!g.count) return false;
    const double scale = member_->weight / (present_weight(plan_.store, *member_, 0) + unit * member_->total);
    for (int c = 0; c < k_; ++c) {
        g.base[c] = (g.count[c] + unit * member_->cell) * scale;
        g.power[c] = 0;
        for (std::size_t u = 0; u < plan_.totals.size(); ++u)
            g.inverse[u * width_ + c] = 1 / (g.count[c] + unit * plan_.totals[u]);
    }
    return true;
}

// 1 / (N(x_s, y) + total), over the rows in which the child is present.
const double *Departures::inverse_of(const Group &g, const Child &child) {
    const int i = child.attribute;
    if (!plan_.ever_missing[i]) return &g.inverse[std::size_t(plan_.total_of[i]) * width_];
    const double total = plan_.estimate.unit * plan_.totals[plan_.total_of[i]];
    const double *lost = child.cells(g) + plan_.store.missing_slot(i) * child.place.step;
    for (int c = 0; c < k_; ++c) inverse_[c] = 1 / (at_least_zero(g.count[c] - lost[c]) + total);
    return inverse_.data();
}

// P(c_i | y, x_s) into the first product, and the ratios of other values to it into the table: those that the rows
// read, or all where that is less work. A missing value has no factor, that is 1.
template <int Lane>
void Departures::fill(Group &g, const Child &child) {
    using L = Lanes<Lane>;
    const int i = child.attribute, limit = plan_.slots.limit[i], missing = plan_.store.missing_slot(i);
    const double *inverse = inverse_of(g, child), *cells = child.cells(g);
    double *lines = &g.table[std::size_t(plan_.store.offsets[i]) * width_];
    const L pseudo = L::all(plan_.estimate.unit * plan_.cells[i]);
    const bool all = g.to - g.from >= limit;
    // Classes beyond the last are read from the cell behind, which is there: that of a missing value is the last.
    for (int c = 0; c < width_; c += Lane) {
        const auto seen = [&](int slot) { return L::load(cells + slot * child.place.step + c) + pseudo; };
        const L common = seen(common_[i]), by = L::load(inverse + c), below = L::all(1) / common;
        (L::load(&g.base[c]) * (common * by)).store(&g.base[c]);
        const auto line = [&](int slot) { (seen(slot) * below).store(lines + std::size_t(slot) * width_ + c); };
        for (int slot = 0; slot < limit && all; ++slot) line(slot);
        for (int at = g.from; at < g.to && !all; ++at)
            if (const int slot = slots_of(i)[rows_[at]]; slot != missing) line(slot);
        if (gaps_[i]) (below / by).store(lines + std::size_t(missing) * width_ + c);
    }
}

void Departures::make_tables() {
    int since = 0;
    // Child by child: the counts of all groups with one child are close together.
    for (std::size_t t = 0; t < children_.size(); ++t) {
        const Child &child = children_[t], &later = children_[std::min(t + kAhead, children_.size() - 1)];
        const bool look = ++since % calm_ == 0;
        for (int u = 0; u < n_groups_; ++u) {
            __builtin_prefetch(later.cells(groups_[u]));
            if (groups_[u].to - groups_[u].from <= kFewRows) continue;
            if (width_ == 2) fill<2>(groups_[u], child);
            else fill<4>(groups_[u], child);
            if (look) steady(groups_[u].base.data(), groups_[u].power.data(), k_);
        }
    }
    for (int u = 0; u < n_groups_; ++u) {
        Group &g = groups_[u];
        steady(g.base.data(), g.power.data(), k_);
        for (int i = 0; i < n_; ++i) {  // what is no child has no factor
            if (plan_.child_of(i, *member_)) continue;
            std::fill_n(&g.table[std::size_t(plan_.store.offsets[i]) * width_],
                        std::size_t(plan_.store.n_slots[i]) * width_, 1.0);
        }
    }
}

// The joint of a row without a table, value by value.
void Departures::multiply_values(const Group &g, int row) {
    std::copy_n(g.base.data(), k_, value_.data());
    std::copy_n(g.power.data(), k_, power_.data());
    int since = 0;
    for (const Child &child : children_) {
        const int i = child.attribute, slot = slots_of(i)[row];
        if (slot == plan_.store.missing_slot(i)) continue;
        const double *inverse = inverse_of(g, child), pseudo = plan_.estimate.unit * plan_.cells[i];
        const double *cells = child.cells(g) + slot * child.place.step;
        for (int c = 0; c < k_; ++c) value_[c] *= (cells[c] + pseudo) * inverse[c];
        if (++since % calm_ == 0) steady(value_.data(), power_.data(), k_);
    }
}

// The joint of a row by its departures, chunk by chunk.
void Departures::multiply_departures(const Group &g, int row) {
    std::copy_n(g.base.data(), width_, value_.data());
    std::copy_n(g.power.data(), width_, power_.data());
    const std::uint32_t *from = line_.data() + begin_[row], *end = line_.data() + begin_[row + 1];
    while (from < end) {
        const std::uint32_t *to = end - from > calm_ ? from + calm_ : end;
        each_class([&]<int Registers, int Side>(int c) {
            Product<Registers> v = product<Registers, Side>(g.table.data() + c, value_.data() + c, from, to);
            for (int t = 0; t < Registers; ++t) v[t].store(&value_[c + 2 * t]);
        });
        if (to < end) steady(value_.data(), power_.data(), k_);
        from = to;
    }
}

// The same of a row with few departures, added to its sum; all powers are zero.
void Departures::add_plain(const Group &g, int row) {
    const std::uint32_t *from = line_.data() + begin_[row], *to = line_.data() + begin_[row + 1];
    double *sum = &sum_[std::size_t(row) * width_];
    each_class([&]<int Registers, int Side>(int c) {
        const Product<Registers> v = product<Registers, Side>(g.table.data() + c, g.base.data() + c, from, to);
        for (int t = 0; t < Registers; ++t) (Lanes<2>::load(sum + c + 2 * t) + v[t]).store(sum + c + 2 * t);
    });
}

// Calls work(first class) for the classes, some at a time.
template <class Work>
void Departures::each_class(const Work &work) const {
    if (width_ == 2) return work.template operator()<1, 4>(0);
    int c = 0;
    for (; c + 8 <= width_; c += 8) work.template operator()<4, 1>(c);
    if (c < width_) work.template operator()<2, 4>(c);
}

// Some classes, two to a register, times the lines of a table. Products side by side, of classes or of departures: one
// takes longer than to start the next.
template <int Registers, int Side>
Departures::Product<Registers> Departures::product(const double *table, const double *base, const std::uint32_t *from,
                                                   const std::uint32_t *to) {
    using L = Lanes<2>;
    L v[Side][Registers];
    for (int u = 0; u < Side; ++u)
        for (int t = 0; t < Registers; ++t) v[u][t] = u > 0 ? L::all(1) : L::load(base + 2 * t);
    for (; from + Side <= to; from += Side)
        for (int u = 0; u < Side; ++u)
            for (int t = 0; t < Registers; ++t) v[u][t] = v[u][t] * L::load(table + from[u] + 2 * t);
    for (; from < to; ++from)
        for (int t = 0; t < Registers; ++t) v[0][t] = v[0][t] * L::load(table + *from + 2 * t);
    Product<Registers> out;
    for (int t = 0; t < Registers; ++t) {
        for (int u = 1; u < Side; ++u) v[0][t] = v[0][t] * v[u][t];
        out[t] = v[0][t];
    }
    return out;
}

void Departures::add_rows(double *weight) {
    const auto none = [](double x) { return x == 0; };
    for (int u = 0; u < n_groups_; ++u) {
        const Group &g = groups_[u];
        const bool few = g.to - g.from <= kFewRows, plain = std::all_of(g.power.begin(), g.power.end(), none);
        for (int at = g.from; at < g.to; ++at) {
            const int row = rows_[at];
            weight[row] += member_->weight;
            if (plain && !few && !scaled_[row] && begin_[row + 1] - begin_[row] <= std::size_t(calm_)) {
                add_plain(g, row);
                continue;
            }
            if (few) multiply_values(g, row);
            else multiply_departures(g, row);
            double *power = &sum_power_[std::size_t(row) * width_];
            add_scaled(value_.data(), power_.data(), k_, &sum_[std::size_t(row) * width_], power);
            scaled_[row] = !std::all_of(power, power + k_, none);
        }
    }
}

}  // namespace tanager::scoring
