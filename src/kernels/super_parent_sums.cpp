#include "super_parent_sums.hpp"

#include <atomic>
#include <cstring>
#include <numeric>

#include "cpu.hpp"
#include "lanes.hpp"
#include "scoring_plan.hpp"
#include "threads.hpp"

namespace tanager::scoring {

namespace {

// The rows with a label, and what all super-parents share.
class Shared {
  public:
    const Store &s;
    const Estimate &estimate;
    const std::vector<int> &order;
    const int n, k, width;         // width: classes, padded to two or a multiple of four
    std::vector<int> slot, label;  // slots row by row
    std::vector<double> weight, left_out;
    std::vector<double> pseudo, total;
    // Columns with one value, which no row lacks: as a child it has the same factor in all classes, and as a further
    // parent it changes nothing. Columns of numbers that tell nothing about the class have a single bin.
    std::vector<char> constant;
    std::vector<double> sums;  // per row and column: P(x_i | y) + sum of P(x_i | y, x_j) over the columns before i

    Shared(const Store &store, const Estimate &e, bool smooth_unseen, const std::vector<int> &order_, const Batch &rows,
           bool leave_out)
        : s(store), estimate(e), order(order_), n(store.n), k(store.k),
          width(store.k <= 2 ? 2 : (store.k + 3) / 4 * 4) {
        const Slots slots(store, smooth_unseen);
        std::vector<int> own(n);
        for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
            const int y = rows.labels.at(r);
            if (y >= k) continue;
            slots.read(rows.codes, r, own.data());
            slot.insert(slot.end(), own.begin(), own.end());
            label.push_back(y);
            weight.push_back(rows.weights[r]);
            left_out.push_back(leave_out ? e.unit * rows.weights[r] : 0);
        }
        for (int i = 0; i < n; ++i) {
            pseudo.push_back(e.unit * e.cell(s.n_values[i], k));
            total.push_back(pseudo[i] * s.n_values[i]);
        }
        sums.assign(label.size() * std::size_t(n * width), 0.0);
        for (std::size_t r = 0; r < label.size(); ++r) add_pairs(int(r));
        for (int i = 0; i < n; ++i) constant.push_back(s.n_values[i] == 1 && is_constant(i));
    }

    int n_rows() const { return int(label.size()); }
    bool present(int r, int i) const { return slots(r)[i] != s.missing_slot(i); }
    const int *slots(int r) const { return &slot[std::size_t(r) * n]; }
    const double *sum(int r, int i) const { return &sums[(std::size_t(r) * n + i) * width]; }
    const double *singles(int i, int v) const { return s.singles + (s.offsets[i] + v) * k; }
    const double *pair(int j, int w, int i, int v) const {
        return s.pairs + ((s.offsets[j] + w) * s.width + s.offsets[i] + v) * k;
    }
    // P(x_i | y, context), less the row in its own class; `lost` are the rows of the context without x_i.
    double value(int i, double own, double context, double lost, double less) const {
        return (std::max(own - less, 0.0) + pseudo[i]) / (std::max(context - lost - less, 0.0) + total[i]);
    }
    void add(int i, const double *own, const double *context, const double *lost, int y, double less,
             double *out) const {
        const double kept = out[y];
        for (int c = 0; c < k; ++c) out[c] += value(i, own[c], context[c], lost[c], 0);
        if (less > 0) out[y] = kept + value(i, own[y], context[y], lost[y], less);
    }

  private:
    bool is_constant(int i) const {
        for (int c = 0; c < k; ++c)
            if (singles(i, 0)[c] != s.classes[c]) return false;
        for (int r = 0; r < n_rows(); ++r)
            if (slots(r)[i] != 0) return false;
        return true;
    }
    void add_pairs(int r) {
        const int *v = slots(r), y = label[r];
        for (std::size_t place = 0; place < order.size(); ++place) {
            const int i = order[place];
            if (!present(r, i)) continue;
            double *out = &sums[(std::size_t(r) * n + i) * width];
            add(i, singles(i, v[i]), s.classes, singles(i, s.missing_slot(i)), y, left_out[r], out);
            for (std::size_t q = 0; q < place; ++q) {
                const int j = order[q];
                if (!present(r, j)) continue;
                add(i, pair(j, v[j], i, v[i]), singles(j, v[j]), pair(j, v[j], i, s.missing_slot(i)), y, left_out[r],
                    out);
            }
        }
    }
};

// Adds lines of a table, of `width` doubles each, to the sums from class `c` on; a line is number base[q] + value[q].
struct Lines {
    const double *table;
    std::size_t width;
    const std::int32_t *base, *value;
    int n;

    const double *at(int q) const { return table + std::size_t(base[q] + value[q]) * width; }
};

// Sums side by side: an addition takes longer than it takes to start the next.
template <class Lane, int Side>
[[gnu::always_inline]] inline void add_side_by_side(const Lines &lines, int c, double *sums) {
    Lane sum[Side];
    std::memcpy(&sum[0], sums + c, sizeof(Lane));
    for (int u = 1; u < Side; ++u) sum[u] = Lane{};
    const auto add = [&](int u, int q) {
        Lane own;
        std::memcpy(&own, lines.at(q) + c, sizeof own);
        sum[u] += own;
    };
    int q = 0;
    for (; q + Side <= lines.n; q += Side)
        for (int u = 0; u < Side; ++u) add(u, q + u);
    for (; q < lines.n; ++q) add(0, q);
    for (int u = 1; u < Side; ++u) sum[0] += sum[u];
    std::memcpy(sums + c, &sum[0], sizeof(Lane));
}

typedef double TwoClasses __attribute__((vector_size(16)));
typedef double FourClasses __attribute__((vector_size(32)));

// As many lines at a time as fill the registers, and the same order of additions for every class on any machine: four
// sums side by side where a line has up to four classes, else one.
void add_lines_plain(const Lines &lines, double *sums) {
    const int width = int(lines.width);
    if (width == 2) return add_side_by_side<TwoClasses, 4>(lines, 0, sums);
    if (width == 4) {
        add_side_by_side<TwoClasses, 4>(lines, 0, sums);
        return add_side_by_side<TwoClasses, 4>(lines, 2, sums);
    }
    using L = Lanes<8>;
    int c = 0;
    for (; c + 8 <= width; c += 8) {
        L sum = L::load(sums + c);
        for (int q = 0; q < lines.n; ++q) sum = sum + L::load(lines.at(q) + c);
        sum.store(sums + c);
    }
    for (; c < width; c += 2) add_side_by_side<TwoClasses, 1>(lines, c, sums);
}

#if defined(__x86_64__)
template <int N>
__attribute__((target("avx2"))) void add_fours(const Lines &lines, int c, double *sums) {
    FourClasses sum[N];
    std::memcpy(sum, sums + c, sizeof sum);
    for (int q = 0; q < lines.n; ++q) {
        const double *line = lines.at(q) + c;
        for (int u = 0; u < N; ++u) {
            FourClasses own;
            std::memcpy(&own, line + 4 * u, sizeof own);
            sum[u] += own;
        }
    }
    std::memcpy(sums + c, sum, sizeof sum);
}

__attribute__((target("avx2"))) void add_lines_avx2(const Lines &lines, double *sums) {
    const int width = int(lines.width);
    if (width == 2) return add_lines_plain(lines, sums);
    if (width == 4) {
        FourClasses sum[4] = {};
        std::memcpy(&sum[0], sums, sizeof sum[0]);
        const auto line = [&](int q) __attribute__((target("avx2"))) {
            FourClasses own;
            std::memcpy(&own, lines.at(q), sizeof own);
            return own;
        };
        int q = 0;
        for (; q + 4 <= lines.n; q += 4)
            for (int u = 0; u < 4; ++u) sum[u] += line(q + u);
        for (; q < lines.n; ++q) sum[0] += line(q);
        for (int u = 1; u < 4; ++u) sum[0] += sum[u];
        std::memcpy(sums, &sum[0], sizeof sum[0]);
        return;
    }
    int c = 0;
    for (; c + 24 <= width; c += 16) add_fours<4>(lines, c, sums);
    const int left = (width - c) / 4;
    if (left == 5) add_fours<5>(lines, c, sums);
    else if (left == 4) add_fours<4>(lines, c, sums);
    else if (left == 3) add_fours<3>(lines, c, sums);
    else if (left == 2) add_fours<2>(lines, c, sums);
    else if (left == 1) add_fours<1>(lines, c, sums);
}
#endif

using AddLines = void (*)(const Lines &, double *);

AddLines lines_adder() {
#if defined(__x86_64__)
    if (chosen_cpu_level() != CpuLevel::plain) return add_lines_avx2;
#endif
    return add_lines_plain;
}

// One super-parent after the other. For each of its values there is a table of P(x_i | y, x_s, x_j), as counted, and
// for each class and weight of the rows to leave out another one of that class alone.
class SuperParent {
  public:
    explicit SuperParent(const Shared &rows)
        : t_(rows), n_(rows.n), k_(rows.k), width_(rows.width), by_value_(rows.n_rows()), places_(std::size_t(n_) * n_),
          first_(std::size_t(n_) * n_), begin_(n_), value_(n_), m_(width_), e_(width_), sum_(width_), term_(width_),
          answer_(k_), inverse_(width_) {}

    double sum(int s) {
        s_ = s;
        find_places();
        const auto key = [&](int r) { return t_.slots(r)[s]; };
        std::iota(by_value_.begin(), by_value_.end(), 0);
        std::sort(by_value_.begin(), by_value_.end(), [&](int a, int b) {
            if (key(a) != key(b)) return key(a) < key(b);
            if (t_.label[a] != t_.label[b]) return t_.label[a] < t_.label[b];
            return t_.left_out[a] != t_.left_out[b] ? t_.left_out[a] < t_.left_out[b] : a < b;
        });
        double sum = 0;
        for (std::size_t from = 0; from < by_value_.size();) {
            std::size_t end = from;
            while (end < by_value_.size() && key(by_value_[end]) == key(by_value_[from])) ++end;
            sum += rows_of_value(from, end);
            from = end;
        }
        return sum;
    }

  private:
    static constexpr std::int64_t most_lines = 1 << 24;

    const Shared &t_;
    const int n_, k_, width_;
    int s_ = 0, v_ = 0;
    std::vector<int> by_value_;
    std::vector<ChildPlace> places_;   // of N(x_i, x_s, x_j, y), by i and j
    std::vector<std::int32_t> first_;  // by places of i and j: their first line in the tables, one per slot of i and j
    std::vector<int> begin_;           // by place of i: which of the bases is that of its first slot
    std::vector<std::int32_t> bases_;  // by slot of i and place of j: the line of the first slot of j
    std::int64_t n_lines_ = 0;
    std::vector<double> table_, own_;    // as counted, all classes; less a row, one class
    bool in_table_ = false;              // whether those less a row stand in the table, and what was there in own_
    std::vector<int> columns_;           // all but s and constant ones, in the order
    std::vector<char> after_;            // whether s comes after a column in the order
    std::vector<int> constants_before_;  // by column: how many constant ones come before it, without s
    std::vector<std::int32_t> value_;    // of the row in hand: slots of the columns
    const AddLines add_to_sums_ = lines_adder();
    std::vector<double> m_, e_, sum_, term_, answer_, inverse_, less_;

    void find_places() {
        columns_.clear();
        n_lines_ = 0;
        after_.assign(n_, 1);
        for (auto i = std::find(t_.order.begin(), t_.order.end(), s_); i != t_.order.end(); ++i) after_[*i] = 0;
        constants_before_.assign(n_, 0);
        int n_constant = 0;
        for (int i : t_.order) {
            if (i == s_) continue;
            if (!t_.constant[i]) columns_.push_back(i);
            constants_before_[i] = n_constant;
            n_constant += t_.constant[i];
        }
        bases_.clear();
        for (std::size_t place = 0; place < columns_.size(); ++place) {
            const int i = columns_[place];
            begin_[place] = int(bases_.size() / std::size_t(n_));
            bases_.resize(bases_.size() + std::size_t(t_.s.n_slots[i]) * n_, 0);
            for (std::size_t q = 0; q < place; ++q) {
                const int j = columns_[q];
                const Place from = locate(t_.s, {s_, j}, i);
                places_[std::size_t(i) * n_ + j] = {
                    from.cells + from.base, from.child_stride, {from.strides[0], from.strides[1], 0}};
                first_[place * n_ + q] = std::int32_t(std::min<std::int64_t>(n_lines_, most_lines));
                if (n_lines_ < most_lines)
                    for (int u = 0; u < t_.s.n_slots[i]; ++u)
                        bases_[std::size_t(begin_[place] + u) * n_ + q] = first_[place * n_ + q] + u * t_.s.n_slots[j];
                n_lines_ += std::int64_t(t_.s.n_slots[i]) * t_.s.n_slots[j];
            }
        }
    }

    // Calls visit(i, counts of i with s and j at this slot of j, their step, N(x_s, x_j, y), first line, step of lines)
    // for all pairs of columns and slots of j; without counts where j is missing.
    template <class Visit>
    void each_context(const Visit &visit) {
        for (std::size_t place = 0; place < columns_.size(); ++place) {
            const int i = columns_[place];
            for (std::size_t q = 0; q < place; ++q) {
                const int j = columns_[q];
                const ChildPlace &at = places_[std::size_t(i) * n_ + j];
                for (int w = 0; w < t_.s.n_slots[j]; ++w) {
                    const bool gone = w == t_.s.missing_slot(j);
                    visit(i, gone ? nullptr : cells_of(i, j, w), at.step, t_.pair(s_, v_, j, w),
                          first_[place * n_ + q] + std::int64_t(w), std::int64_t(t_.s.n_slots[j]));
                }
            }
        }
    }
    void make_table() {
        table_.resize(std::size_t(n_lines_) * width_);
        each_context([&](int i, const double *cells, std::int64_t step, const double *context, std::int64_t line,
                         std::int64_t next) {
            const int n_slots = t_.s.missing_slot(i);
            if (!cells) {
                for (int u = 0; u < n_slots; ++u)
                    std::fill_n(&table_[std::size_t(line + u * next) * width_], std::size_t(width_), 0.0);
                return;
            }
            const double *lost = cells + n_slots * step;
            for (int c = 0; c < k_; ++c) inverse_[c] = 1 / (std::max(context[c] - lost[c], 0.0) + t_.total[i]);
            for (int u = 0; u < n_slots; ++u) {
                double *out = &table_[std::size_t(line + u * next) * width_];
                for (int c = 0; c < k_; ++c) out[c] = (cells[u * step + c] + t_.pseudo[i]) * inverse_[c];
            }
        });
    }
    void make_own(int y, double less) {
        own_.resize(std::size_t(n_lines_));
        each_context([&](int i, const double *cells, std::int64_t step, const double *context, std::int64_t line,
                         std::int64_t next) {
            const int n_slots = t_.s.missing_slot(i);
            if (!cells) {
                for (int u = 0; u < n_slots; ++u) own_[std::size_t(line + u * next)] = 0.0;
                return;
            }
            const double lost = cells[n_slots * step + y];
            const double inverse = 1 / (std::max(context[y] - lost - less, 0.0) + t_.total[i]);
            for (int u = 0; u < n_slots; ++u)
                own_[std::size_t(line + u * next)] =
                    (std::max(cells[u * step + y] - less, 0.0) + t_.pseudo[i]) * inverse;
        });
    }

    // Rows with one value of the super-parent. Tables are made where the rows read them often enough.
    double rows_of_value(std::size_t from, std::size_t end) {
        v_ = t_.slots(by_value_[from])[s_];
        const bool missing = v_ == t_.s.missing_slot(s_);
        const auto n_pairs = std::int64_t(columns_.size() * (columns_.size() - 1) / 2);
        const auto worth = [&](std::size_t n_rows) {
            return n_lines_ < most_lines && std::int64_t(n_rows) * n_pairs >= n_lines_;
        };
        const bool tabled = !missing && !t_.constant[s_] && worth(end - from);
        if (tabled) make_table();
        double sum = 0;
        while (from < end) {
            const int first = by_value_[from], y = t_.label[first];
            const double less = t_.left_out[first];
            std::size_t to = from;
            while (to < end && t_.label[by_value_[to]] == y && t_.left_out[by_value_[to]] == less) ++to;
            const bool own = tabled && less > 0 && worth(8 * (to - from));
            if (own) make_own(y, less);
            in_table_ = own && width_ <= 4;  // else the table is too large to be gone through twice
            if (in_table_) swap_class(y);
            for (; from < to; ++from) {
                const int r = by_value_[from];
                sum += t_.weight[r] * share(r, missing, tabled, own);
            }
            if (in_table_) swap_class(y);
            in_table_ = false;
        }
        return sum;
    }

    void swap_class(int y) {
        for (std::size_t line = 0; line < std::size_t(n_lines_); ++line)
            std::swap(table_[line * width_ + y], own_[line]);
    }

    // The probability of the row's own class.
    double share(int r, bool missing, bool tabled, bool own) {
        const int y = t_.label[r], *v = t_.slots(r);
        std::fill(e_.begin(), e_.end(), 0.0);
        start(r, missing);
        for (std::size_t q = 0; q < columns_.size(); ++q) value_[q] = v[columns_[q]];
        int since = 0;
        for (std::size_t place = 0; place < columns_.size(); ++place) {
            const int i = columns_[place];
            if (!t_.present(r, i)) continue;
            std::copy_n(t_.sum(r, i), width_, sum_.data());
            if (!missing) {
                // With s before i the sum has this parent already; with s and a constant column it is the same once
                // more.
                if (const int times = after_[i] + constants_before_[i]; times > 0) add_super_parent(r, i, times);
                if (t_.constant[s_]) add_again(r, i);
                else if (tabled) add_lines(r, place, own);
                else add_directly(r, place);
            }
            for (int c = 0; c < k_; ++c) m_[c] *= sum_[c];
            if (++since % 4 == 0) steady(m_.data(), e_.data(), k_);
        }
        finish(m_.data(), e_.data(), k_, 1, false, answer_.data());
        return answer_[y];
    }
    // P(x_i | y, x_s), so many times.
    void add_super_parent(int r, int i, int times) {
        const int *v = t_.slots(r), y = t_.label[r];
        const double *lost = t_.pair(s_, v_, i, t_.s.missing_slot(i));
        if (times == 1)
            return t_.add(i, t_.pair(s_, v_, i, v[i]), t_.singles(s_, v_), lost, y, t_.left_out[r], sum_.data());
        std::fill(term_.begin(), term_.end(), 0.0);
        t_.add(i, t_.pair(s_, v_, i, v[i]), t_.singles(s_, v_), lost, y, t_.left_out[r], term_.data());
        for (int c = 0; c < k_; ++c) sum_[c] += times * term_[c];
    }
    // The sum of P(x_i | y, x_s, x_j) over the columns j before i that are not constant, where s is: P(x_i | y, x_j).
    // The sum of all parents but s has these, and beside them P(x_i | y), also once for each constant column before i.
    void add_again(int r, int i) {
        const int y = t_.label[r], times = 1 + constants_before_[i] + (after_[i] ? 0 : 1);
        std::fill(term_.begin(), term_.end(), 0.0);
        t_.add(i, t_.singles(i, t_.slots(r)[i]), t_.s.classes, t_.singles(i, t_.s.missing_slot(i)), y, t_.left_out[r],
               term_.data());
        const double *sum = t_.sum(r, i);
        for (int c = 0; c < k_; ++c) sum_[c] += sum[c] - times * term_[c];
    }
    // The sum of P(x_i | y, x_s, x_j) over the columns before i, from the tables.
    void add_lines(int r, std::size_t place, bool own) {
        const int i = columns_[place], y = t_.label[r];
        const double kept = sum_[y];
        const std::int32_t *base = &bases_[std::size_t(begin_[place] + t_.slots(r)[i]) * n_];
        const Lines lines{table_.data(), std::size_t(width_), base, value_.data(), int(place)};
        add_to_sums_(lines, sum_.data());
        if (t_.left_out[r] > 0 && !in_table_) sum_[y] = kept + (own ? own_sum(lines) : own_sum_directly(r, place));
    }
    double own_sum(const Lines &lines) const {
        const double *own = own_.data();
        double sum[4] = {0, 0, 0, 0};
        int q = 0;
        for (; q + 4 <= lines.n; q += 4)
            for (int u = 0; u < 4; ++u) sum[u] += own[lines.base[q + u] + lines.value[q + u]];
        for (; q < lines.n; ++q) sum[0] += own[lines.base[q] + lines.value[q]];
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    double own_sum_directly(int r, std::size_t place) const {
        double sum = 0;
        for (std::size_t q = 0; q < place; ++q)
            if (t_.present(r, columns_[q])) sum += own_value(r, columns_[place], columns_[q]);
        return sum;
    }
    // The same from the counts.
    void add_directly(int r, std::size_t place) {
        const int i = columns_[place], y = t_.label[r], *v = t_.slots(r);
        for (std::size_t q = 0; q < place; ++q) {
            const int j = columns_[q];
            if (!t_.present(r, j)) continue;
            const double *cells = cells_of(i, j, v[j]);
            const std::int64_t step = places_[std::size_t(i) * n_ + j].step;
            t_.add(i, cells + v[i] * step, t_.pair(s_, v_, j, v[j]), cells + t_.s.missing_slot(i) * step, y,
                   t_.left_out[r], sum_.data());
        }
    }
    const double *cells_of(int i, int j, int w) const {
        const ChildPlace &at = places_[std::size_t(i) * n_ + j];
        return at.cells + v_ * at.strides[0] + w * at.strides[1];
    }
    double own_value(int r, int i, int j) const {
        const int y = t_.label[r], *v = t_.slots(r);
        const std::int64_t step = places_[std::size_t(i) * n_ + j].step;
        const double *cells = cells_of(i, j, v[j]);
        return t_.value(i, cells[v[i] * step + y], t_.pair(s_, v_, j, v[j])[y], cells[t_.s.missing_slot(i) * step + y],
                        t_.left_out[r]);
    }
    // P(y) P(x_s | y)
    void start(int r, bool missing) {
        const int y = t_.label[r];
        const double less = t_.left_out[r];
        less_.assign(k_, 0.0);
        less_[y] = less;
        class_prior(t_.s, t_.estimate, less_.data(), m_.data());
        if (missing) return;
        std::fill(sum_.begin(), sum_.end(), 0.0);
        t_.add(s_, t_.singles(s_, v_), t_.s.classes, t_.singles(s_, t_.s.missing_slot(s_)), y, less, sum_.data());
        for (int c = 0; c < k_; ++c) m_[c] *= sum_[c];
    }
};

}  // namespace

void super_parent_sums(const Store &store, const Estimate &estimate, bool smooth_unseen, const std::vector<int> &order,
                       const Batch &rows, bool leave_out, int n_jobs, double *out) {
    const Shared shared(store, estimate, smooth_unseen, order, rows, leave_out);
    std::atomic<int> next = 0;
    run_threads(std::size_t(std::clamp(n_jobs, 1, store.n)), [&](std::size_t) {
        SuperParent choice(shared);
        for (int s = next++; s < store.n; s = next++) out[s] = choice.sum(s);
    });
}

}  // namespace tanager::scoring
