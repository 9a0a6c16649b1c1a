#include "member_rows.hpp"

#include <numeric>

namespace tanager::scoring {

namespace {

constexpr int kRowsPerTable = 32, kFewRows = 2048, kManyRows = 16384;

int padded(int k) { return k <= 2 ? 2 : (k + 3) / 4 * 4; }

}  // namespace

int MemberRows::block_rows(const ScoringPlan &plan, std::int64_t n_rows) {
    double most = 0;
    for (const Member &m : plan.members) {
        double size = 1;
        for (int i : m.attributes) size *= plan.store.n_values[i];
        most = std::max(most, size);
    }
    const auto wanted = std::int64_t(std::clamp(kRowsPerTable * most, double(kFewRows), double(kManyRows)));
    return int(std::max<std::int64_t>(1, std::min(wanted, n_rows)));
}

MemberRows::MemberRows(const ScoringPlan &plan, std::int64_t n_rows)
    : most_rows(block_rows(plan, n_rows)), plan_(plan), n_(plan.store.n), k_(plan.store.k), width_(padded(k_)),
      n_lines_(int(plan.store.width)), here_(n_), children_(n_), own_(n_), step_(n_), inverse_(plan.totals.size() * k_),
      lost_inverse_(std::size_t(n_) * k_), table_(std::size_t(n_lines_) * width_, 1.0), value_(width_), power_(width_),
      sub_(k_) {
    // A factor is at most 1, and at least a pseudo-count over all rows: so many can be multiplied before the exponent
    // needs a look.
    const double unit = plan.estimate.unit, rows = std::accumulate(plan.store.classes, plan.store.classes + k_, 0.0);
    double least = 1, most = 0;
    for (double cell : plan.cells) least = std::min(least, cell);
    for (double total : plan.totals) most = std::max(most, total);
    const int bits = std::ilogb(at_least_zero(rows) + unit * most) - std::ilogb(unit * least) + 2;
    calm_ = std::max(1, 600 / std::max(1, bits));
    std::fill(value_.begin(), value_.end(), 1.0);
    cells_.resize(std::size_t(most_rows) * n_);
    slot_.resize(std::size_t(most_rows) * n_);
    by_column_.resize(std::size_t(most_rows) * n_);
    for (auto *rows_ : {&label_, &by_class_}) rows_->resize(most_rows);
    sorted_.resize(2 * std::size_t(most_rows));
    left_out_.resize(most_rows);
    start_.resize(std::size_t(*std::max_element(plan.store.n_slots.begin(), plan.store.n_slots.end())) + 1);
}

void MemberRows::add(const int *slot, int y, double left_out) {
    const std::size_t r = std::size_t(n_rows_++);
    for (int i = 0; i < n_; ++i) {
        cells_[r * n_ + i] = std::uint32_t((plan_.store.offsets[i] + slot[i]) * width_);
        slot_[std::size_t(i) * most_rows + r] = slot[i];
    }
    label_[r] = y;
    left_out_[r] = y < 0 ? 0 : left_out;
}

void MemberRows::slots(int row, int *slot) const {
    for (int i = 0; i < n_; ++i) slot[i] = slot_[std::size_t(i) * most_rows + row];
}

namespace {

// Rows by their slots in one column, otherwise in the order that they have.
void sort_by(const int *slot, int n_slots, const int *rows, int n_rows, int *start, int *out) {
    std::fill_n(start, n_slots + 1, 0);
    for (int at = 0; at < n_rows; ++at) ++start[slot[at] + 1];  // all rows are there, in whatever order
    for (int v = 0; v < n_slots; ++v) start[v + 1] += start[v];
    for (int at = 0; at < n_rows; ++at) out[start[slot[rows[at]]]++] = rows[at];
}

}  // namespace

void MemberRows::sort() {
    std::iota(by_class_.begin(), by_class_.begin() + n_rows_, 0);
    std::stable_sort(by_class_.begin(), by_class_.begin() + n_rows_, [&](int a, int b) {
        return label_[a] != label_[b] ? label_[a] < label_[b] : left_out_[a] < left_out_[b];
    });
    for (int i = 0; i < n_; ++i) {
        const std::size_t at = std::size_t(i) * most_rows;
        sort_by(&slot_[at], plan_.store.n_slots[i], by_class_.data(), n_rows_, start_.data(), &by_column_[at]);
    }
}

const int *MemberRows::rows_by_values(int q) {
    member_ = &plan_.members[q];
    places_ = &plan_.member_children[q];
    const auto &s = member_->attributes;
    const int *rows = &by_column_[std::size_t(s.back()) * most_rows];
    for (int d = int(s.size()) - 2; d >= 0; --d) {
        int *out = &sorted_[std::size_t(d % 2) * most_rows];
        sort_by(&slot_[std::size_t(s[d]) * most_rows], plan_.store.n_slots[s[d]], rows, n_rows_, start_.data(), out);
        rows = out;
    }
    return rows;
}

int MemberRows::end_of_values(const int *rows, int from) const {
    const auto same = [&](int a, int b) {
        for (int i : member_->attributes)
            if (slot_[std::size_t(i) * most_rows + a] != slot_[std::size_t(i) * most_rows + b]) return false;
        return true;
    };
    int to = from + 1;
    while (to < n_rows_ && same(rows[from], rows[to])) ++to;
    return to;
}

int MemberRows::end_of_class(const int *rows, int from, int to) const {
    const int first = rows[from];
    int end = from + 1;
    while (end < to && label_[rows[end]] == label_[first] && left_out_[rows[end]] == left_out_[first]) ++end;
    return end;
}

// Makes the table of the values of the super-parents that these rows share, as counted; false where one is missing or
// they were never seen often enough.
bool MemberRows::open(const int *rows, int n_rows) {
    const Store &s = plan_.store;
    const auto &parents = member_->attributes;
    for (int i : parents) here_[i] = slot_[std::size_t(i) * most_rows + rows[0]];
    count_ = member_counts(plan_, *member_, here_.data(), 0);
    if (!count_) return false;
    const auto &places = *places_;
    children_.clear();
    for (int i = 0; i < n_; ++i) {
        if (!plan_.child_of(i, *member_)) continue;
        const std::size_t t = children_.size();
        const ChildPlace &at = places[t];
        own_[t] = at.cells;
        for (std::size_t u = 0; u < parents.size(); ++u) own_[t] += here_[parents[u]] * at.strides[u];
        step_[t] = at.step;
        children_.push_back(i);
    }
    // Columns that are no children, and the super-parents but the first: a factor of 1.
    for (int i = 0; i < n_; ++i) {
        if (plan_.is_child[i]) continue;
        std::fill_n(&table_[std::size_t(s.offsets[i]) * width_], std::size_t(s.n_slots[i]) * width_, 1.0);
    }
    for (int i : parents) std::fill_n(&table_[std::size_t(s.offsets[i] + here_[i]) * width_], width_, 1.0);
    fill(rows, n_rows, 0, k_, 0);
    return true;
}

// Puts the joint of the super-parents, less the row, into its place; false where the member is not eligible then.
bool MemberRows::leave_out(int y, double left_out) {
    if (y >= 0) sub_[y] = left_out;
    const int first = member_->attributes[0];
    double *out = &table_[std::size_t(plan_.store.offsets[first] + here_[first]) * width_];
    const bool eligible = joint_value(plan_, *member_, here_.data(), sub_.data(), left_out, nullptr, out);
    for (int c = 0; c < k_ && eligible; ++c) out[c] *= member_->weight;
    if (y >= 0) sub_[y] = 0;
    return eligible;
}

// Denominators of the classes from `from` to `to`, less a row.
void MemberRows::make_inverse(int from, int to, double less) {
    const Store &s = plan_.store;
    const double unit = plan_.estimate.unit;
    for (std::size_t u = 0; u < plan_.totals.size(); ++u)
        for (int c = from; c < to; ++c)
            inverse_[u * k_ + c] = 1 / (at_least_zero(count_[c] - less) + unit * plan_.totals[u]);
    for (std::size_t t = 0; t < children_.size(); ++t) {
        const int i = children_[t];
        if (!plan_.ever_missing[i]) continue;
        const double total = unit * plan_.totals[plan_.total_of[i]], *lost = own_[t] + s.missing_slot(i) * step_[t];
        for (int c = from; c < to; ++c)
            lost_inverse_[t * k_ + c] = 1 / (at_least_zero(at_least_zero(count_[c] - less) - lost[c]) + total);
    }
}

namespace {

// The entries of a child at one slot: (N(x_i, x_s, y) + pseudo-count) / (N(x_s, y) + total), of some classes.
struct Line {
    const double *own, *inverse;
    double *out;
    std::int64_t step, width;
    double pseudo, less;

    void all(int n_slots, int from, int to) const {
        if (to - from > 1) {
            for (int v = 0; v < n_slots; ++v) classes(v, from, to);
            return;
        }
        const double by = inverse[from], *cell = own + from;
        double *entry = out + from;
        for (int v = 0; v < n_slots; ++v, cell += step, entry += width) *entry = value(*cell) * by;
    }
    void classes(int slot, int from, int to) const {
        const double *cell = own + slot * step;
        double *entry = out + slot * width;
        for (int c = from; c < to; ++c) entry[c] = value(cell[c]) * inverse[c];
    }
    double value(double count) const { return std::max(count - less, 0.0) + pseudo; }
};

}  // namespace

// The entries that these rows read, or all of them where that is less work.
void MemberRows::fill(const int *rows, int n_rows, int from, int to, double less) {
    make_inverse(from, to, less);
    for (std::size_t t = 0; t < children_.size(); ++t) {
        const int i = children_[t], limit = plan_.slots.limit[i];
        const double *inverse =
            plan_.ever_missing[i] ? &lost_inverse_[t * k_] : &inverse_[std::size_t(plan_.total_of[i]) * k_];
        const Line line{own_[t],  inverse, &table_[std::size_t(plan_.store.offsets[i]) * width_],
                        step_[t], width_,  plan_.estimate.unit * plan_.cells[i],
                        less};
        if (n_rows >= limit) {
            line.all(limit, from, to);
            continue;
        }
        const int *slot = &slot_[std::size_t(i) * most_rows];
        for (int at = 0; at < n_rows; ++at)
            if (slot[rows[at]] < limit) line.classes(slot[rows[at]], from, to);
    }
}

}  // namespace tanager::scoring
