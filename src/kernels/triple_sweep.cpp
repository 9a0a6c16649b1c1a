#include "triple_sweep.hpp"

#include <bit>
#include <numeric>
#include <utility>

#include "lanes.hpp"

namespace tanager::scoring {

namespace {

// x to the power of a whole number.
double power_of(double x, int n) {
    double out = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) out *= x;
    return out;
}

// ilogb and 2^n of plain numbers, without a call; of zero it is -1023, and beyond 1023 of what is not finite.
int exponent_of(double x) { return int(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7FF) - 1023; }
double power_of_two(int n) { return std::bit_cast<double>(std::uint64_t(n + 1023) << 52); }

}  // namespace

bool TripleSweep::suits(const ScoringPlan &p) {
    const Store &s = p.store;
    const auto n = std::size_t(s.n);
    if (!p.sum_of_products || n < 3 || !p.shared_totals || !p.estimate.constant()) return false;
    if (p.members.size() != n * (n - 1) / 2 || !s.pairs || s.triples.size() != n - 2) return false;
    for (std::size_t q = 0; q < s.triples.size(); ++q)
        if (s.triples[q].anchor != int(q) || s.triples[q].first != int(q) + 1) return false;
    if (!std::all_of(p.is_child.begin(), p.is_child.end(), [](char child) { return child; })) return false;
    std::vector<char> there(n * n);  // as many members as pairs are not yet all pairs
    for (const Member &m : p.members) {
        if (m.attributes.size() != 2) return false;
        const auto [i, j] = std::minmax(m.attributes[0], m.attributes[1]);
        if (std::exchange(there[std::size_t(i) * n + std::size_t(j)], 1)) return false;
    }
    return true;
}

std::shared_ptr<TripleSweep> triple_sweep(const ScoringPlan &p) {
    return !p.staging && TripleSweep::suits(p) ? std::make_shared<TripleSweep>(p) : nullptr;
}

TripleSweep::TripleSweep(const ScoringPlan &plan)
    : plan_(plan), n_(plan.store.n), k_(plan.store.k), width_(twos_or_fours(k_)), pairs_(plan.members.size()),
      n_safe_(plan.totals.size()), n_safe_before_(plan.totals.size()), known_(kKnownAtFirst), sub_(width_),
      product_(plan.members.size() * width_), power_(product_.size()), step_(n_), pseudo_(n_), total_(n_),
      value_(width_), value_power_(width_) {
    here_.reserve(n_);
    pair_of_.reserve(plan.members.size());
    place_.resize(n_);
    const auto [least, most] = std::minmax_element(plan.totals.begin(), plan.totals.end());
    most_total_ = *most;
    calm_totals_ = std::max(1, 300 / (2 + std::ilogb(*most / *least)));
    for (std::size_t q = 0; q < plan.members.size(); ++q) {
        const Member &m = plan.members[q];
        const auto [i, j] = std::minmax(m.attributes[0], m.attributes[1]);
        const std::int64_t first = m.counts.strides[0], second = m.counts.child_stride;
        const bool in_order = m.attributes[0] == i;
        pair_of_.push_back(int(pair(i, j, n_)));
        pairs_[pair(i, j, n_)] = {.counts = m.counts.cells + m.counts.base,
                                  .step_i = in_order ? first : second,
                                  .step_j = in_order ? second : first,
                                  .q = int(q),
                                  .weight = m.weight,
                                  .cell = m.cell,
                                  .total = m.total};
    }
}

void TripleSweep::start(const int *slot, int y, double left_out) {
    const Store &s = plan_.store;
    slot_ = slot;
    leave_out_ = y >= 0;
    left_out_ = leave_out_ ? left_out : 0;
    std::fill(sub_.begin(), sub_.end(), 0.0);
    if (leave_out_) sub_[y] = left_out;
    here_.clear();
    std::swap(n_safe_, n_safe_before_);
    std::fill(n_safe_.begin(), n_safe_.end(), 0);
    for (int i = 0; i < n_; ++i) {
        if (slot[i] == s.missing_slot(i)) continue;
        place_[i] = int(here_.size());
        here_.push_back(i);
        if (!plan_.ever_missing[i]) ++n_safe_[plan_.total_of[i]];
    }
    size_ = int(here_.size());
    if (n_safe_ != n_safe_before_ || plan_.estimate.unit != unit_before_) known_.assign(kKnownAtFirst, Scaled{});
    unit_before_ = plan_.estimate.unit;
    const std::size_t used = std::size_t(size_) * (size_ > 0 ? size_ - 1 : 0) / 2 * width_;
    std::fill_n(product_.begin(), used, 1.0);
    std::fill_n(power_.begin(), used, 0.0);
    // A numerator is at least the smallest pseudo-count, and at most that of all rows and the largest.
    const double unit = plan_.estimate.unit;
    rows_ = at_least_zero(std::accumulate(s.classes, s.classes + k_, 0.0) - left_out_);
    double least = 1, most = 1;
    for (double cell : plan_.cells) {
        least = std::min(least, unit * cell);
        most = std::max(most, unit * cell);
    }
    const int bits = std::max({1, std::ilogb(rows_ + left_out_ + most) + 1, 1 - std::ilogb(least)});
    // A product may take so many factors in each of three roles between two looks at its exponent.
    calm_ = std::max(1, 200 / bits);
    // Without a look at all, it takes one factor per attribute, and is divided by one for each that was missing at
    // times.
    const auto n_careful = std::count_if(here_.begin(), here_.end(), [&](int i) { return plan_.ever_missing[i]; });
    const int careful_bits = std::max(bits, std::ilogb(rows_ + left_out_ + unit * most_total_) + 1);
    short_ = size_ * bits + int(n_careful) * careful_bits <= 600;
    if (short_) calm_ = std::max(1, size_);
    for (int i : here_) {
        pseudo_[i] = unit * plan_.cells[i];
        total_[i] = unit * plan_.totals[plan_.total_of[i]];
    }
    least_seen_ = plan_.least_seen();
    scale_ = 0;
}

void TripleSweep::steady_all() {
    const std::size_t used = std::size_t(size_) * (size_ - 1) / 2 * width_;
    steady(product_.data(), power_.data(), int(used));
}

void TripleSweep::read(const int *slot, int y, double left_out) {
    start(slot, y, left_out);
    if (size_ < 2) return;
    const auto multiply = [this]<bool LeaveOut, bool Same>() {
        if (width_ == 2) multiply_numerators<2, LeaveOut, Same>();
        else multiply_numerators<4, LeaveOut, Same>();
    };
    if (leave_out_ && plan_.same_cells) multiply.operator()<true, true>();
    else if (leave_out_) multiply.operator()<true, false>();
    else if (plan_.same_cells) multiply.operator()<false, true>();
    else multiply.operator()<false, false>();
    if (!short_) steady_all();
    int since = 0;
    for (int child : here_) {
        if (!plan_.ever_missing[child]) continue;
        divide_by_careful(child);
        if (!short_ && ++since % calm_ == 0) steady_all();
    }
    if (!short_ && since % calm_ != 0) steady_all();
}

bool TripleSweep::member(int q, double *m, double *e) {
    const Member &member = plan_.members[std::size_t(q)];
    const auto [first, second] = std::minmax(member.attributes[0], member.attributes[1]);
    for (const int i : {first, second})
        if (slot_[i] == plan_.store.missing_slot(i)) return false;
    const Pair &own = pairs_[std::size_t(pair_of_[std::size_t(q)])];
    return member_value(place_[first], place_[second], own, m, e);
}

double TripleSweep::add(const int *slot, int y, double left_out, double *m, double *e) {
    read(slot, y, left_out);
    if (k_ == 2) return add_members<2>(m, e);
    if (k_ == 3) return add_members<3>(m, e);
    if (k_ == 4) return add_members<4>(m, e);
    return add_members<0>(m, e);
}

// Of two to four classes nearly all members are plain numbers, and are added up without a look at exponents.
template <int Few>
double TripleSweep::add_members(double *m, double *e) {
    double qualified = 0;
    for (int a = 0; a < size_; ++a) {
        for (int b = a + 1; b < size_; ++b) {
            const Pair &member = pairs_[pair(here_[a], here_[b], n_)];
            if constexpr (Few > 0)
                if (add_plain_member<Few>(a, b, member, m, e)) {
                    qualified += member.weight;
                    continue;
                }
            if (!member_value(a, b, member, value_.data(), value_power_.data())) continue;
            qualified += member.weight;
            add_scaled(value_.data(), value_power_.data(), k_, m, e);
        }
    }
    return qualified;
}

// Every triple of attributes present, a < b < c: its count and pseudo-count are a factor of all three pairs.
template <int Lane, bool LeaveOut, bool Same>
void TripleSweep::multiply_numerators() {
    const Store &s = plan_.store;
    for (int a = 0; a + 2 < size_; ++a) {
        const Triples &table = s.triples[here_[a]];
        const std::int64_t inner = std::int64_t(s.n_slots[here_[a]]) * k_, first = s.offsets[table.first];
        for (int c = a + 1; c < size_; ++c) step_[c] = (s.offsets[here_[c]] - first + slot_[here_[c]]) * inner;
        const double *anchored = table.cells + slot_[here_[a]] * k_;
        for (int b = a + 1; b + 1 < size_; ++b) {
            const double *row = anchored + step_[b] * table.width, *next = anchored + step_[b + 1] * table.width;
            for (int from = b + 1; from < size_; from += calm_) {
                const int to = std::min(size_, from + calm_);
                for (int c = 0; c < width_; c += Lane)
                    multiply_children<Lane, LeaveOut, Same>(row, next, a, b, from, to, c);
                if (!short_) steady(product(a, b), &power_[pair(a, b) * width_], width_);
            }
            if (!short_ && (b - a) % calm_ == 0) {
                const std::size_t at = pair(a, b + 1) * width_;
                steady(&product_[at], &power_[at], (size_ - b - 1) * width_);
            }
        }
        if (!short_ && (a + 1) % calm_ == 0) steady_all();
    }
}

// Some classes, from c on, of the triples a, b and those from `from` to `to`. A class beyond the last is read from the
// next slot of the attribute a, which is there: it has one for missing values, and here it has a value. `next` is the
// row of the attribute after b, to be fetched meanwhile.
template <int Lane, bool LeaveOut, bool Same>
inline void TripleSweep::multiply_children(const double *row, const double *next, int a, int b, int from, int to,
                                           int c) {
    using L = Lanes<Lane>;
    const auto pseudo = [&](int at) { return L::all(pseudo_[here_[at]]); };
    const std::int64_t *step = step_.data();  // read once: what is stored below is not known to lie elsewhere
    const int width = Lane == 2 ? 2 : width_;
    const L less = L::load(&sub_[c]), add_a = pseudo(a), add_b = pseudo(b);
    double *own = product(a, b) + c, *with_a = product(a, from) + c, *with_b = product(b, from) + c;
    L v = L::load(own);
    for (int at = from; at < to; ++at, with_a += width, with_b += width) {
        if (c == 0) __builtin_prefetch(next + step[at]);
        L seen = L::load(row + step[at] + c);
        if (LeaveOut) seen = (seen - less).at_least_zero();
        const L as_child_a = seen + add_a, as_child_b = Same ? as_child_a : seen + add_b;
        v = v * (Same ? as_child_a : seen + pseudo(at));
        (L::load(with_a) * as_child_b).store(with_a);
        (L::load(with_b) * as_child_a).store(with_b);
    }
    v.store(own);
}

// N(x_a, x_b, the child at some slot, y), of the attributes at two places.
const double *TripleSweep::cells(int a, int b, int child, int child_slot) const {
    const Store &s = plan_.store;
    std::pair<int, int> at[3] = {{here_[a], slot_[here_[a]]}, {here_[b], slot_[here_[b]]}, {child, child_slot}};
    std::sort(at, at + 3);
    const Triples &table = s.triples[at[0].first];
    const std::int64_t first = s.offsets[table.first], inner = std::int64_t(s.n_slots[at[0].first]) * k_;
    const std::int64_t row = s.offsets[at[1].first] - first + at[1].second;
    const std::int64_t column = s.offsets[at[2].first] - first + at[2].second;
    return table.cells + (row * table.width + column) * inner + at[0].second * k_;
}

// The denominators of a child that was missing at times: of each pair, over the rows in which it was not.
void TripleSweep::divide_by_careful(int child) {
    const Store &s = plan_.store;
    const double total = plan_.estimate.unit * plan_.totals[plan_.total_of[child]];
    for (int a = 0; a < size_; ++a) {
        for (int b = a + 1; b < size_; ++b) {
            if (here_[a] == child || here_[b] == child) continue;
            const double *lost = cells(a, b, child, s.missing_slot(child));
            const double *count =
                s.pairs +
                ((s.offsets[here_[a]] + slot_[here_[a]]) * s.width + s.offsets[here_[b]] + slot_[here_[b]]) * k_;
            double *out = product(a, b);
            for (int c = 0; c < k_; ++c) out[c] /= at_least_zero(at_least_zero(count[c] - sub_[c]) - lost[c]) + total;
        }
    }
}

// The product of N(x_s, y) + total over all attributes that never were missing, as m * 2^e.
TripleSweep::Scaled TripleSweep::work_out_denominator(double seen) const {
    const double unit = plan_.estimate.unit;
    // Close to 1 by a power of two, so that some can be multiplied as they are.
    const int shift = std::ilogb(seen + unit * most_total_);
    const double scale = std::ldexp(1.0, -shift);
    Scaled out{1, 0, 1};
    for (std::size_t u = 0; u < n_safe_.size(); ++u) {
        out.e += double(shift) * n_safe_[u];
        for (int left = n_safe_[u]; left > 0; left -= calm_totals_) {
            out.m *= power_of((seen + unit * plan_.totals[u]) * scale, std::min(left, calm_totals_));
            steady(&out.m, &out.e, 1);
        }
    }
    out.inverse_power = std::fabs(out.e) < 1000 ? power_of_two(-int(out.e)) : 0;
    return out;
}

// The same, remembered for whole counts: most are.
TripleSweep::Scaled TripleSweep::denominator(double seen) {
    const auto whole = std::size_t(std::min(seen, double(kKnownMost)));
    if (whole >= kKnownMost || double(whole) != seen) return work_out_denominator(seen);
    if (whole >= known_.size()) known_.resize(std::min(2 * whole, kKnownMost));
    if (known_[whole].m == 0) known_[whole] = work_out_denominator(seen);
    return known_[whole];
}

// The joint of a member times its weight into m and e; false where it is not eligible.
bool TripleSweep::member_value(int a, int b, const Pair &member, double *m, double *e) {
    const int i = here_[a], j = here_[b];
    if (member.weight <= 0) return false;
    const double *count = member.counts + slot_[i] * member.step_i + slot_[j] * member.step_j;
    double all = 0;
    for (int c = 0; c < k_; ++c) all += count[c];
    if (at_least_zero(all - left_out_) < least_seen_) return false;
    const double unit = plan_.estimate.unit, cell = unit * member.cell;
    const bool child_i = !plan_.ever_missing[i], child_j = !plan_.ever_missing[j];
    const double scale = scale_of(member, child_i && child_j);
    const double total_i = total_[i], total_j = total_[j];
    const std::size_t at = pair(a, b) * width_;
    const double *own = &product_[at], *power = &power_[at];
    for (int c = 0; c < k_; ++c) {
        const double seen = at_least_zero(count[c] - sub_[c]);
        const Scaled below = denominator(seen);
        double x = own[c] * (seen + cell) * scale / below.m, bits = power[c] - below.e;
        if (child_i) x *= seen + total_i;  // neither is a child of its own
        if (child_j) x *= seen + total_j;
        // Almost all are plain numbers, which are added up as they are.
        if (std::fabs(bits) < 1000 && std::fabs(bits + exponent_of(x)) < 900) {
            x *= power_of_two(int(bits));
            bits = 0;
        }
        m[c] = x;
        e[c] = bits;
    }
    return true;
}

// Adds such a joint to m, in the same order of operations, where all is plain: whole counts whose denominators are
// known, and numbers of all classes that can be added up as they are. False where it is not, or is not eligible.
template <int Few>
inline bool TripleSweep::add_plain_member(int a, int b, const Pair &member, double *m, const double *e) {
    using L = Lanes<Few>;
    const int i = here_[a], j = here_[b];
    if (!short_ || member.weight <= 0) return false;
    const double *count = member.counts + slot_[i] * member.step_i + slot_[j] * member.step_j;
    const Scaled *below[Few];
    double seen[Few], x[Few], all = 0;
    for (int c = 0; c < Few; ++c) all += count[c];
    if (at_least_zero(all - left_out_) < least_seen_) return false;
    const L counted = (L::load(count) - L::load(sub_.data())).at_least_zero();
    counted.store(seen);
    for (int c = 0; c < Few; ++c) {
        const auto whole = std::size_t(std::min(seen[c], double(known_.size() - 1)));
        below[c] = &known_[whole];
        if (double(whole) != seen[c] || below[c]->m == 0 || e[c] != 0) return false;
    }
    const bool child_i = !plan_.ever_missing[i], child_j = !plan_.ever_missing[j];
    const double cell = plan_.estimate.unit * member.cell;
    L joint = L::load(product(a, b)) * (counted + L::all(cell)) * L::all(scale_of(member, child_i && child_j)) /
              L::each([&](int c) { return below[c]->m; });
    if (child_i) joint = joint * (counted + L::all(total_[i]));
    if (child_j) joint = joint * (counted + L::all(total_[j]));
    (joint * L::each([&](int c) { return below[c]->inverse_power; })).store(x);
    for (int c = 0; c < Few; ++c)
        if (std::abs(exponent_of(x[c])) >= 900) return false;
    (L::load(m) + L::load(x)).store(m);
    return true;
}

// What the joint counts of a member are multiplied by: its weight, by the rows with both attributes present.
double TripleSweep::scale_of(const Pair &member, bool complete) {
    const double total = plan_.estimate.unit * member.total;
    if (!complete)
        return member.weight / (present_weight(plan_.store, plan_.members[std::size_t(member.q)], left_out_) + total);
    if (scale_ > 0 && member.weight == scale_of_weight_ && total == scale_of_total_) return scale_;
    scale_of_weight_ = member.weight;
    scale_of_total_ = total;
    return scale_ = member.weight / (rows_ + total);
}

}  // namespace tanager::scoring
