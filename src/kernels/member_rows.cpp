#include "member_rows.hpp"

#include <numeric>

#include "lanes.hpp"

namespace tanager::scoring {

namespace {

constexpr double kCachedCells = 1 << 17;
constexpr int kRowsPerContext = 128, kLeastBlockRows = 2048, kMostBlockRows = 16384;

int whole_fours(int k) { return (k + 3) / 4 * 4; }

// How many rows from the first one on share a property that those behind them lack: runs are long, so steps grow.
template <class Same>
int length_of_run(const int *rows, int n_rows, const Same &same) {
    int inside = 0, step = 1;  // rows[inside] is known to be in the run
    while (inside + step < n_rows && same(rows[inside + step])) {
        inside += step;
        step *= 2;
    }
    for (int outside = std::min(inside + step, n_rows); outside - inside > 1;) {
        const int between = inside + (outside - inside) / 2;
        (same(rows[between]) ? inside : outside) = between;
    }
    return inside + 1;
}

}  // namespace

bool MemberRows::pays(const ScoringPlan &p) {
    if (!suits(p) || !p.fast) return suits(p);
    if (double(p.store.width) * double(p.store.width) * p.store.k > kCachedCells) return true;
    return p.store.k > few_classes ||
           std::any_of(p.ever_missing.begin(), p.ever_missing.end(), [](char c) { return c; });
}

int MemberRows::block_rows(const ScoringPlan &plan, std::int64_t n_rows) {
    double most = 0;
    for (const Member &m : plan.members) {
        double size = 1;
        for (int i : m.attributes) size *= plan.store.n_values[i];
        most = std::max(most, size);
    }
    const auto wanted =
        std::int64_t(std::clamp(kRowsPerContext * most, double(kLeastBlockRows), double(kMostBlockRows)));
    return int(std::max<std::int64_t>(1, std::min(wanted, n_rows)));
}

MemberRows::MemberRows(const ScoringPlan &plan, std::int64_t n_rows)
    : most_rows(block_rows(plan, n_rows)), plan_(plan), lanes_(lanes_at(chosen_cpu_level())), n_(plan.store.n),
      k_(plan.store.k), width_(whole_fours(k_ + 1)), here_(n_), own_(n_), inverse_(plan.totals.size() * k_),
      lost_inverse_(k_), none_(k_), joint_(width_), table_(std::size_t(plan.store.width) * width_, 1.0),
      value_(std::size_t(kBatch) * width_), power_(std::size_t(kBatch) * width_) {
    for (int i = 0; i < n_; ++i)
        if (tells_something(i)) columns_.push_back(i);
    // A factor is at most 1, and at least a pseudo-count over all rows: so many can be multiplied before the exponent
    // needs a look.
    const double unit = plan.estimate.unit, rows = std::accumulate(plan.store.classes, plan.store.classes + k_, 0.0);
    double least = 1, most = 0;
    for (double cell : plan.cells) least = std::min(least, cell);
    for (double total : plan.totals) most = std::max(most, total);
    const int bits = std::ilogb(at_least_zero(rows) + unit * most) - std::ilogb(unit * least) + 2;
    calm_ = std::max(1, 600 / std::max(1, bits));
    if (calm_ >= 4) calm_ -= calm_ % 4;  // columns are multiplied by fours
    cells_.resize(std::size_t(most_rows) * columns_.size());
    slot_.resize(std::size_t(most_rows) * n_);
    by_column_.resize(std::size_t(most_rows) * n_);
    for (auto *rows_ : {&label_, &by_class_, &class_of_}) rows_->resize(most_rows);
    sorted_.resize(2 * std::size_t(most_rows));
    left_out_.resize(most_rows);
    begin_.resize(std::size_t(plan.store.width) + n_);
    next_.resize(std::size_t(*std::max_element(plan.store.n_slots.begin(), plan.store.n_slots.end())));
}

// Its factor is 1 where it is no child, or where it has one value and that has all of the pseudo-counts.
bool MemberRows::tells_something(int i) const {
    const int limit = plan_.slots.limit[i];
    const bool constant = limit == 0 || (limit == 1 && plan_.cells[i] == plan_.totals[plan_.total_of[i]]);
    return plan_.is_child[i] && !constant;
}

void MemberRows::add(const int *slot, int y, double left_out) {
    const std::size_t r = std::size_t(n_rows_++), n_columns = columns_.size();
    for (std::size_t t = 0; t < n_columns; ++t) {
        const int i = columns_[t];
        cells_[r * n_columns + t] = std::uint32_t((plan_.store.offsets[i] + slot[i]) * width_);
    }
    for (int i = 0; i < n_; ++i) slot_[std::size_t(i) * most_rows + r] = slot[i];
    label_[r] = y;
    left_out_[r] = y < 0 ? 0 : left_out;
}

void MemberRows::slots(int row, int *slot) const {
    for (int i = 0; i < n_; ++i) slot[i] = slot_[std::size_t(i) * most_rows + row];
}

void sort_by_slot(const int *slot, int n_slots, const int *rows, int n_rows, int *start, int *out) {
    std::fill_n(start, n_slots + 1, 0);
    for (int at = 0; at < n_rows; ++at) ++start[slot[at] + 1];  // all rows are there, in whatever order
    for (int v = 0; v < n_slots; ++v) start[v + 1] += start[v];
    for (int at = 0; at < n_rows; ++at) out[start[slot[rows[at]]]++] = rows[at];
}

void MemberRows::sort() {
    if (n_rows_ == 0) return;
    std::iota(by_class_.begin(), by_class_.begin() + n_rows_, 0);
    std::stable_sort(by_class_.begin(), by_class_.begin() + n_rows_, [&](int a, int b) {
        return label_[a] != label_[b] ? label_[a] < label_[b] : left_out_[a] < left_out_[b];
    });
    class_of_[by_class_[0]] = 0;
    for (int at = 1, before = by_class_[0]; at < n_rows_; ++at) {
        const int row = by_class_[at];
        const bool same = label_[row] == label_[before] && left_out_[row] == left_out_[before];
        class_of_[row] = class_of_[before] + !same;
        before = row;
    }
    for (int i = 0; i < n_; ++i) {
        const int *slot = &slot_[std::size_t(i) * most_rows];
        int *begin = &begin_[std::size_t(plan_.store.offsets[i]) + std::size_t(i)];
        std::fill_n(begin, plan_.store.n_slots[i] + 1, 0);
        for (int r = 0; r < n_rows_; ++r) ++begin[slot[r] + 1];
        for (int v = 0; v < plan_.store.n_slots[i]; ++v) begin[v + 1] += begin[v];
        sort_by_column(i, by_class_.data(), &by_column_[std::size_t(i) * most_rows]);
    }
    single_ = {table_.data(), cells_.data(), int(columns_.size()), width_};
    joined_.start(single_, calm_ < 4 ? 0 : n_rows_, std::size_t(plan_.store.width));
}

// All rows by their slots in one column, otherwise in the order that they have.
void MemberRows::sort_by_column(int i, const int *__restrict rows, int *__restrict out) {
    const int *slot = &slot_[std::size_t(i) * most_rows], *begin = begin_of(i), n_slots = plan_.store.n_slots[i];
    const int n_rows = n_rows_;
    int first = 0, last = n_slots - 1;
    while (begin[first + 1] == 0) ++first;
    while (begin[last] == n_rows) --last;
    const int n_first = begin[first + 1];
    if (begin[last] > n_first) {
        int *next = next_.data();
        std::copy_n(begin, n_slots, next);
        for (int at = 0; at < n_rows; ++at) out[next[slot[rows[at]]]++] = rows[at];
        return;
    }
    // With two values at most, neither memory has to be waited for nor a branch to be guessed.
    int low = 0;  // rows with the first value so far
    for (int at = 0; at < n_rows; ++at) {
        const int row = rows[at], is_first = slot[row] == first, high = n_first + at - low;
        out[high ^ ((high ^ low) & -is_first)] = row;
        low += is_first;
    }
}

// Of a child of a member; a plan that reads pairs by its short cut has none at hand.
ChildPlace MemberRows::place_of(int q, int i) const {
    if (!plan_.member_children.empty()) return plan_.member_children[q][plan_.place_of(i, *member_)];
    const Store &s = plan_.store;
    const std::int64_t row = s.width * s.k;
    return {s.pairs + s.offsets[member_->attributes[0]] * row + s.offsets[i] * s.k, s.k, {row, 0, 0}};
}

const int *MemberRows::rows_by_values(int q) {
    member_ = &plan_.members[q];
    children_.clear();
    places_.clear();
    for (int i : columns_) {
        if (!plan_.child_of(i, *member_)) continue;
        children_.push_back(i);
        places_.push_back(place_of(q, i));
    }
    present_ = present_weight(plan_.store, *member_, 0);
    const auto &s = member_->attributes;
    const int *rows = &by_column_[std::size_t(s.back()) * most_rows];
    for (int d = int(s.size()) - 2; d >= 0; --d) {
        int *out = &sorted_[std::size_t(d % 2) * most_rows];
        sort_by_column(s[d], rows, out);
        rows = out;
    }
    return rows;
}

// Rows with the same first values are in the order of the next.
int MemberRows::end_of_values(const int *rows, int from) const {
    const auto &parents = member_->attributes;
    int to = begin_of(parents[0])[slot_[std::size_t(parents[0]) * most_rows + rows[from]] + 1];
    for (std::size_t u = 1; u < parents.size(); ++u) {
        const int *slot = &slot_[std::size_t(parents[u]) * most_rows], own = slot[rows[from]];
        to = from + length_of_run(rows + from, to - from, [&](int row) { return slot[row] == own; });
    }
    return to;
}

int MemberRows::end_of_class(const int *rows, int from, int to) const {
    const int own = class_of_[rows[from]];
    return from + length_of_run(rows + from, to - from, [&](int row) { return class_of_[row] == own; });
}

// Makes the table of the values of the super-parents that these rows share, as counted; false where one is missing or
// they were never seen often enough.
bool MemberRows::open(const int *rows, int n_rows) {
    const auto &parents = member_->attributes;
    for (int i : parents) here_[i] = slot_[std::size_t(i) * most_rows + rows[0]];
    count_ = member_counts(plan_, *member_, here_.data(), 0);
    if (!count_) return false;
    seen_ = std::accumulate(count_, count_ + k_, 0.0);
    joint_less_ = -1;
    for (std::size_t t = 0; t < children_.size(); ++t) {
        own_[t] = places_[t].cells;
        for (std::size_t u = 0; u < parents.size(); ++u) own_[t] += here_[parents[u]] * places_[t].strides[u];
    }
    for (int i : parents) std::fill_n(&table_[std::size_t(plan_.store.offsets[i] + here_[i]) * width_], width_, 1.0);
    fill(rows, n_rows);
    return true;
}

// P(y, x_s) less a row of class y, or of none; false where the member is not eligible then.
bool MemberRows::leave_out(int y, double left_out) {
    if (at_least_zero(seen_ - left_out) < plan_.least_seen()) return false;
    const double unit = plan_.estimate.unit, cell = unit * member_->cell;
    const double all = at_least_zero(present_ - left_out) + unit * member_->total;
    const auto joint = [&](double count) {
        return all > 0 ? (at_least_zero(count) + cell) / all * member_->weight : 0;
    };
    if (left_out != joint_less_)  // the other classes are as they were
        for (int c = 0; c < k_; ++c) joint_[c] = joint(count_[c]);
    joint_less_ = left_out;
    joint_[k_] = y < 0 ? 0 : joint(count_[y] - left_out);
    return true;
}

// The entries that these rows read, or all of them where that is less work:
// (N(x_i, x_s, y) + pseudo-count) / (N(x_s, y) + total), where N(x_s, y) is of rows in which x_i is present.
void MemberRows::fill(const int *rows, int n_rows) {
    const double unit = plan_.estimate.unit;
    for (std::size_t u = 0; u < plan_.totals.size(); ++u)
        lanes_.invert(count_, none_.data(), unit * plan_.totals[u], k_, &inverse_[u * k_]);
    for (std::size_t t = 0; t < children_.size(); ++t) {
        const int i = children_[t], limit = plan_.slots.limit[i];
        const double pseudo = unit * plan_.cells[i], *own = own_[t], *inverse = &inverse_[plan_.total_of[i] * k_];
        const std::int64_t step = places_[t].step;
        const double *lost = own + plan_.store.missing_slot(i) * step;
        if (plan_.ever_missing[i] && std::any_of(lost, lost + k_, [](double x) { return x != 0; })) {
            lanes_.invert(count_, lost, unit * plan_.totals[plan_.total_of[i]], k_, lost_inverse_.data());
            inverse = lost_inverse_.data();
        }
        double *out = &table_[std::size_t(plan_.store.offsets[i]) * width_];
        if (n_rows >= limit) {
            lanes_.estimate(own, step, limit, k_, pseudo, inverse, width_, out);
            continue;
        }
        const int *slot = &slot_[std::size_t(i) * most_rows];
        for (int at = 0; at < n_rows; ++at) {
            const int v = slot[rows[at]];
            if (v < limit) lanes_.estimate(own + v * step, 0, 1, k_, pseudo, inverse, width_, out + v * width_);
        }
    }
}

// The same of one class less a row, into the lane behind the classes.
void MemberRows::fill_without(const int *rows, int n_rows, int y, double less) {
    const double unit = plan_.estimate.unit, count = at_least_zero(count_[y] - less);
    for (std::size_t u = 0; u < plan_.totals.size(); ++u) inverse_[u] = 1 / (count + unit * plan_.totals[u]);
    for (std::size_t t = 0; t < children_.size(); ++t) {
        const int i = children_[t], limit = plan_.slots.limit[i];
        const double pseudo = unit * plan_.cells[i], *own = own_[t] + y;
        const std::int64_t step = places_[t].step;
        double inverse = inverse_[plan_.total_of[i]];
        if (plan_.ever_missing[i]) {
            const double lost = own[plan_.store.missing_slot(i) * step];
            if (lost != 0) inverse = 1 / (at_least_zero(count - lost) + unit * plan_.totals[plan_.total_of[i]]);
        }
        double *out = &table_[std::size_t(plan_.store.offsets[i]) * width_ + k_];
        const auto entry = [&](int v) { out[v * width_] = (at_least_zero(own[v * step] - less) + pseudo) * inverse; };
        const int *slot = &slot_[std::size_t(i) * most_rows];
        if (n_rows >= limit)
            for (int v = 0; v < limit; ++v) entry(v);
        else
            for (int at = 0; at < n_rows; ++at)
                if (slot[rows[at]] < limit) entry(slot[rows[at]]);
    }
}

// The joints of rows of class y, from a place of value_ (and power_) on.
void MemberRows::multiply(const int *rows, int n_rows, int y, int place) {
    const int n_lines = lines_->n_columns, calm = std::max(1, calm_ * lines_->lines_for_four / 4);
    double *value = &value_[std::size_t(place) * width_], *power = &power_[std::size_t(place) * width_];
    lanes_.multiply(*lines_, rows, n_rows, 0, std::min(calm, n_lines), joint_.data(), value);
    if (!plain()) {
        const int size = n_rows * width_;
        std::fill_n(power, size, 0.0);
        for (int from = calm; from < n_lines; from += calm) {
            steady(value, power, size);
            lanes_.multiply(*lines_, rows, n_rows, from, std::min(n_lines, from + calm), nullptr, value);
        }
    }
    if (y < 0) return;
    if (k_ == 2 && plain()) {  // as pairs, which whoever adds them up loads at once
        for (int at = 0; at < n_rows; ++at, value += width_) {
            using L = Lanes<2>;
            const double *own = value;
            L::each([&](int c) { return own[c == y ? 2 : c]; }).store(value);
            value[2] = 0;
        }
        return;
    }
    for (int at = 0; at < n_rows; ++at, value += width_, power += width_) {
        value[y] = value[k_];
        value[k_] = 0;
        if (!plain()) power[y] = power[k_];
    }
}

}  // namespace tanager::scoring
