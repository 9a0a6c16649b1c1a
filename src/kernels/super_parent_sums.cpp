#include "super_parent_sums.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "parent_groups.hpp"
#include "scoring_plan.hpp"
#include "threads.hpp"

namespace tanager::scoring {

namespace {

// The rows with a label, and what all super-parents share.
struct Shared {
    const Store &s;
    const Estimate &estimate;
    const int n, k, width;  // width: classes, padded to two or a multiple of four
    const bool leave_out;
    std::vector<int> slot, label;  // slots column by column
    std::vector<double> weight;    // of a row in the counts
    std::vector<double> share;     // of a row in the sums
    std::vector<double> leaving;   // of a row in the counts: what leaves, one of two rows where it weighs two
    double usual = 0;              // what leaves of most rows, where they are left out
    std::vector<double> pseudo, total;
    // Columns with one value, which no row lacks: as a child it has the same factor in all classes, and as a further
    // parent it changes nothing. Columns of numbers that tell nothing about the class have a single bin.
    std::vector<char> constant;
    std::vector<int> place;             // of every column in the order
    std::vector<int> columns;           // those that are not constant, in the order
    std::vector<int> constants_before;  // by column: how many constant ones come before it
    std::vector<double> base;  // (columns, rows, width): P(x_i | y) + sum of P(x_i | y, x_j) over the columns before i

    Shared(const Store &store, const Estimate &e, bool smooth_unseen, const std::vector<int> &order, const Batch &rows,
           bool leave_out_)
        : s(store), estimate(e), n(store.n), k(store.k), width(store.k <= 2 ? 2 : (store.k + 3) / 4 * 4),
          leave_out(leave_out_), place(n), constants_before(n) {
        read(rows, smooth_unseen);
        for (int i = 0; i < n; ++i) {
            pseudo.push_back(e.unit * e.cell(s.n_values[i], k));
            total.push_back(pseudo[i] * s.n_values[i]);
            constant.push_back(s.n_values[i] == 1 && is_constant(i));
        }
        int n_constant = 0;
        for (int p = 0; p < n; ++p) {
            const int i = order[p];
            place[i] = p;
            constants_before[i] = n_constant;
            n_constant += constant[i];
            if (!constant[i]) columns.push_back(i);
        }
    }

    int n_rows() const { return int(label.size()); }
    const int *slots(int i) const { return slot.data() + std::size_t(i) * label.size(); }
    const double *singles(int i, int v) const { return s.singles + (s.offsets[i] + v) * k; }
    const double *pair(int j, int w, int i, int v) const {
        return s.pairs + ((s.offsets[j] + w) * s.width + s.offsets[i] + v) * k;
    }
    double less(int r) const { return leave_out ? leaving[std::size_t(r)] : 0; }
    // P(x_i | y, context), less a row; `lost` are the rows of the context without x_i.
    double value(int i, double own, double context, double lost, double less) const {
        return (std::max(own - less, 0.0) + pseudo[i]) / (std::max(context - lost - less, 0.0) + total[i]);
    }

  private:
    void read(const Batch &rows, bool smooth_unseen) {
        const Slots slots(s, smooth_unseen);
        std::vector<std::int64_t> known;
        std::map<double, int> times;
        for (std::int64_t r = 0; r < rows.n_rows(); ++r)
            if (rows.labels.at(r) < k) known.push_back(r);
        slot.resize(known.size() * std::size_t(n));
        std::vector<int> own(n);
        for (std::size_t r = 0; r < known.size(); ++r) {
            slots.read(rows.codes, known[r], own.data());
            for (int i = 0; i < n; ++i) slot[std::size_t(i) * known.size() + r] = own[i];
            label.push_back(rows.labels.at(known[r]));
            share.push_back(rows.weights[known[r]]);
            weight.push_back(estimate.unit * share.back());
            leaving.push_back(estimate.unit * std::min(share.back(), 1.0));
            ++times[leaving.back()];
        }
        int most = 0;
        for (const auto &[own_weight, n_times] : times)
            if (leave_out && n_times > most) {
                most = n_times;
                usual = own_weight;
            }
    }
    bool is_constant(int i) const {
        for (int c = 0; c < k; ++c)
            if (singles(i, 0)[c] != s.classes[c]) return false;
        return std::all_of(slots(i), slots(i) + n_rows(), [](int v) { return v == 0; });
    }
};

// How many combinations of values a group of parents may have: those of few rows are not worth their sums.
int most_combinations(int n_rows) { return std::clamp(n_rows / 32, 8, 64); }

ParentGroups groups_of(const Shared &t) {
    std::vector<const int *> slots;
    for (int i : t.columns) slots.push_back(t.slots(i));
    return ParentGroups(slots, t.n_rows(), most_combinations(t.n_rows()));
}

// What rows have in common: a value of the super-parent, or nothing.
struct CommonValue {
    const Shared &t;
    int s = -1, v = 0;

    const double *singles() const { return s < 0 ? t.s.classes : t.singles(s, v); }
    const double *with(int i, int u) const { return s < 0 ? t.singles(i, u) : t.pair(s, v, i, u); }
};

// Rows by a value.
class Buckets {
  public:
    std::vector<int> rows, begin;  // of each value, and the end of the last

    template <class Row>
    void fill(const Row *row, std::size_t n_rows, const int *value, int n_values) {
        begin.assign(std::size_t(n_values) + 1, 0);
        rows.resize(n_rows);
        for (std::size_t p = 0; p < n_rows; ++p) ++begin[std::size_t(value[row[p]])];
        std::exclusive_scan(begin.begin(), begin.end(), begin.begin(), 0);
        for (std::size_t p = 0; p < n_rows; ++p) rows[std::size_t(begin[std::size_t(value[row[p]])]++)] = row[p];
        for (std::size_t v = std::size_t(n_values); v > 0; --v) begin[v] = begin[v - 1];
        begin[0] = 0;
    }
    const int *of(int v) const { return rows.data() + begin[std::size_t(v)]; }
    int size(int v) const { return begin[std::size_t(v) + 1] - begin[std::size_t(v)]; }
};

// Sums over the parents of one child after the other, for rows that have something in common.
class ChildSums {
  public:
    ChildSums(const Shared &t, const ParentGroups &groups)
        : t_(t), groups_(groups), tables_(groups, t.width, t.leave_out), width_(std::size_t(t.width)),
          full_(std::size_t(tables_.full())), cells_(std::size_t(groups.n_lines) * width_),
          lost_(std::size_t(groups.n_lines) * width_), inverse_(std::size_t(groups.n_lines) * full_), extra_(full_),
          sum_(width_) {}

    // For these rows and the child at `place` among the columns: `times` P(x_i | y, common), and with `parents` the sum
    // of P(x_i | y, common, x_j) over the columns before it, to be set or, with `base`, to be multiplied by.
    void visit(int place, const CommonValue &common, const int *rows, int n_rows, int times, bool parents,
               const double *base, double *out) {
        const int i = t_.columns[std::size_t(place)], missing = t_.s.missing_slot(i);
        parents = parents && place > 0;
        buckets_.fill(rows, std::size_t(n_rows), t_.slots(i), t_.s.n_slots[i]);
        any_lost_ = parents && buckets_.size(missing) > 0;
        if (any_lost_) count(place, buckets_.of(missing), buckets_.size(missing), lost_.data());
        inverted_ = false;
        for (int u = 0; u < missing; ++u) {
            const int size = buckets_.size(u);
            if (size == 0) continue;
            const SumReader reader{buckets_.of(u), size, t_.label.data(), extra_.data(), nullptr,
                                   base,           out,  base != nullptr};
            const Child child{place, i, u, times, common};
            if (parents) count(place, reader.rows, size, cells_.data());
            if (!parents || worth(place, size)) read_tables(child, reader, parents);
            else read_cells(child, reader);
        }
        if (any_lost_) std::fill_n(lost_.data(), lines_before(place) * width_, 0.0);
    }

  private:
    struct Child {
        int place, i, value, times;
        const CommonValue &common;
    };
    const Shared &t_;
    const ParentGroups &groups_;
    ParentTables tables_;
    const std::size_t width_, full_;
    Buckets buckets_;
    std::vector<double> cells_, lost_;  // (lines, width): rows with the values of child and parent, or without a child
    std::vector<double> inverse_;       // (lines, full)
    bool any_lost_ = false, inverted_ = false;
    std::vector<double> extra_, sum_, own_;

    std::size_t lines_before(int place) const { return std::size_t(groups_.lines_before(place)); }

    void count(int place, const int *rows, int n_rows, double *cells) {
        tables_.count(place, {rows, n_rows, t_.label.data(), t_.weight.data()}, cells);
    }
    // Whether so many rows are worth tables of all values of the parents: without, each divides for each parent.
    bool worth(int place, int n_rows) const {
        const int group = groups_.groups_before(place) - 1;
        const std::int64_t entries = groups_.groups[std::size_t(group)].first_entry;
        return 8 * std::int64_t(n_rows) * place >= std::int64_t(lines_before(place)) + entries;
    }

    // The value of `times` P(x_i | y, common) in a class.
    double alone(const Child &at, int c, double less) const {
        const CommonValue &common = at.common;
        const double lost = common.with(at.i, t_.s.missing_slot(at.i))[c];
        return at.times * t_.value(at.i, common.with(at.i, at.value)[c], common.singles()[c], lost, less);
    }
    void read_tables(const Child &at, SumReader reader, bool parents) {
        std::fill(extra_.begin(), extra_.end(), 0.0);
        for (int c = 0; at.times != 0 && c < t_.k; ++c) {
            extra_[std::size_t(c)] = alone(at, c, 0);
            if (t_.leave_out) extra_[width_ + std::size_t(c)] = alone(at, c, t_.usual);
        }
        const bool unusual = find_unusual(at, reader, parents);
        if (unusual) reader.own = own_.data();
        if (parents) {
            if (!inverted_) invert(at);
            inverted_ = true;
            tables_.make(at.place, {cells_.data(), inverse_.data(), t_.pseudo[std::size_t(at.i)], t_.usual},
                         reader.n_rows);
        }
        tables_.read(parents ? at.place : 0, reader);
    }
    // The sums of the own classes of rows that weigh otherwise than most.
    bool find_unusual(const Child &at, const SumReader &reader, bool parents) {
        bool any = false;
        for (std::int64_t p = 0; t_.leave_out && p < reader.n_rows; ++p) {
            const int r = reader.rows[p];
            if (t_.less(r) == t_.usual) continue;
            if (!any) own_.assign(std::size_t(reader.n_rows), std::numeric_limits<double>::quiet_NaN());
            any = true;
            const int y = t_.label[std::size_t(r)];
            double sum = alone(at, y, t_.less(r));
            if (parents) each_parent(at, r, [&](const ParentCell &cell) { sum += value(at.i, cell, y, t_.less(r)); });
            own_[std::size_t(p)] = sum;
        }
        return any;
    }
    // One over the sums of the contexts, as they are and less a row; none where the parent is missing or common.
    void invert(const Child &at) {
        const double total = t_.total[std::size_t(at.i)];
        for (int q = 0; q < at.place; ++q) {
            const int j = t_.columns[std::size_t(q)];
            std::size_t line = std::size_t(groups_.columns[std::size_t(q)].first_line);
            for (int w : groups_.columns[std::size_t(q)].slots) {
                double *out = &inverse_[line * full_];
                const double *lost = &lost_[line++ * width_];
                if (j == at.common.s || w == t_.s.missing_slot(j)) {
                    std::fill_n(out, full_, 0.0);
                    continue;
                }
                const double *context = at.common.with(j, w);
                for (int c = 0; c < t_.k; ++c) out[c] = 1 / (std::max(context[c] - lost[c], 0.0) + total);
                if (!t_.leave_out) continue;
                for (int c = 0; c < t_.k; ++c)
                    out[width_ + std::size_t(c)] = 1 / (std::max(context[c] - lost[c] - t_.usual, 0.0) + total);
            }
        }
    }

    // --- without tables -----------------------------------------------------------------------------------------

    struct ParentCell {
        const double *own, *context, *lost;
    };
    double value(int i, const ParentCell &at, int c, double less) const {
        return t_.value(i, at.own[c], at.context[c], at.lost[c], less);
    }
    template <class Visit>
    void each_parent(const Child &at, int r, const Visit &visit_cell) const {
        const std::int32_t *line = groups_.lines_of(r);
        for (int q = 0; q < at.place; ++q) {
            const int j = t_.columns[std::size_t(q)], w = t_.slots(j)[r];
            if (j == at.common.s || w == t_.s.missing_slot(j)) continue;
            const std::size_t cell = std::size_t(line[q]) * width_;
            visit_cell(ParentCell{&cells_[cell], at.common.with(j, w), &lost_[cell]});
        }
    }
    void read_cells(const Child &at, const SumReader &reader) {
        for (std::int64_t p = 0; p < reader.n_rows; ++p) {
            const int r = reader.rows[p], y = t_.label[std::size_t(r)];
            const double less = t_.less(r);
            for (int c = 0; c < t_.k; ++c) sum_[std::size_t(c)] = alone(at, c, c == y ? less : 0);
            each_parent(at, r, [&](const ParentCell &cell) {
                for (int c = 0; c < t_.k; ++c) sum_[std::size_t(c)] += value(at.i, cell, c, c == y ? less : 0);
            });
            tables_.give(sum_.data(), reader, r);
        }
        for (std::int64_t p = 0; p < reader.n_rows; ++p) {
            const std::int32_t *line = groups_.lines_of(reader.rows[p]);
            for (int q = 0; q < at.place; ++q) std::fill_n(&cells_[std::size_t(line[q]) * width_], width_, 0.0);
        }
    }
};

// One super-parent after the other.
class SuperParent {
  public:
    SuperParent(const Shared &rows, const ParentGroups &groups)
        : t_(rows), sums_(rows, groups), all_(std::size_t(rows.n_rows())), m_(all_.size() * std::size_t(rows.width)),
          e_(m_.size()), less_(std::size_t(rows.k)), answer_(std::size_t(rows.k)) {
        std::iota(all_.begin(), all_.end(), 0);
    }

    // What all of them share.
    void make_base(std::vector<double> &base) {
        base.assign(t_.columns.size() * m_.size(), 0.0);
        for (std::size_t place = 0; place < t_.columns.size(); ++place) {
            const int times = 1 + t_.constants_before[std::size_t(t_.columns[place])];
            sums_.visit(int(place), {t_}, all_.data(), t_.n_rows(), times, true, nullptr,
                        base.data() + place * m_.size());
        }
    }

    // Child after child, of all rows: the base of one child is small enough for the cache.
    double sum(int s) {
        buckets_.fill(all_.data(), all_.size(), t_.slots(s), t_.s.n_slots[s]);
        each_value(s, [&](int v) { start(s, v); });
        int since = 0;
        for (std::size_t place = 0; place < t_.columns.size(); ++place) {
            if (t_.columns[place] == s) continue;
            fetch(t_.base.data() + place * m_.size());
            each_value(s, [&](int v) { multiply(int(place), s, v); });
            if (++since % 4 == 0)
                for (int r = 0; r < t_.n_rows(); ++r) steady(line(m_, r), line(e_, r), t_.k);
        }
        double sum = 0;
        each_value(s, [&](int v) { sum += own_classes(v); });
        return sum;
    }

  private:
    const Shared &t_;
    ChildSums sums_;
    Buckets buckets_;
    std::vector<int> all_;
    std::vector<double> m_, e_;  // (rows, width): mantissas and powers of two
    std::vector<double> less_, answer_;

    template <class Visit>
    void each_value(int s, const Visit &visit) const {
        for (int v = 0; v < t_.s.n_slots[s]; ++v)
            if (buckets_.size(v) > 0) visit(v);
    }
    // Inlined, because a call of a function that does nothing but this is left out by gcc.
    [[gnu::always_inline]] void fetch(const double *base) const {
        for (std::size_t at = 0; at < m_.size(); at += 8) __builtin_prefetch(base + at);
    }
    void start(int s, int v) {
        const bool missing = v == t_.s.missing_slot(s);
        for (int p = 0; p < buckets_.size(v); ++p) start(buckets_.of(v)[p], s, v, missing);
    }
    // By the factors of a child, for the rows with a value of s.
    void multiply(int place, int s, int v) {
        const int i = t_.columns[std::size_t(place)];
        const bool missing = v == t_.s.missing_slot(s), constant = t_.constant[std::size_t(s)];
        // The base has P(x_i | y, x_s) where s comes before i. With s and a constant column it is the same once
        // more. A constant s doubles all sums, once it is taken out of them, which is the same in all classes.
        const bool before = t_.place[std::size_t(s)] < t_.place[std::size_t(i)];
        const int times = constant ? -before : missing ? 0 : !before + t_.constants_before[std::size_t(i)];
        const CommonValue common{t_, constant || missing ? -1 : s, v};
        sums_.visit(place, common, buckets_.of(v), buckets_.size(v), times, !constant && !missing,
                    t_.base.data() + std::size_t(place) * m_.size(), m_.data());
    }
    double own_classes(int v) {
        double sum = 0;
        for (int p = 0; p < buckets_.size(v); ++p) {
            const int r = buckets_.of(v)[p];
            finish(line(m_, r), line(e_, r), t_.k, 1, false, answer_.data());
            sum += t_.share[std::size_t(r)] * answer_[std::size_t(t_.label[std::size_t(r)])];
        }
        return sum;
    }
    double *line(std::vector<double> &of, int r) const { return of.data() + std::size_t(r) * std::size_t(t_.width); }

    // P(y) P(x_s | y)
    void start(int r, int s, int v, bool missing) {
        const int y = t_.label[std::size_t(r)];
        double *m = line(m_, r);
        std::fill_n(line(e_, r), t_.width, 0.0);
        std::fill(less_.begin(), less_.end(), 0.0);
        less_[std::size_t(y)] = t_.less(r);
        class_prior(t_.s, t_.estimate, less_.data(), m);
        if (missing) return;
        const double *own = t_.singles(s, v), *lost = t_.singles(s, t_.s.missing_slot(s));
        for (int c = 0; c < t_.k; ++c) m[c] *= t_.value(s, own[c], t_.s.classes[c], lost[c], less_[std::size_t(c)]);
    }
};

}  // namespace

void super_parent_sums(const Store &store, const Estimate &estimate, bool smooth_unseen, const std::vector<int> &order,
                       const Batch &rows, bool leave_out, int n_jobs, double *out) {
    Shared shared(store, estimate, smooth_unseen, order, rows, leave_out);
    const ParentGroups groups = groups_of(shared);
    {
        std::vector<double> base;
        SuperParent(shared, groups).make_base(base);
        shared.base = std::move(base);
    }
    std::atomic<int> next = 0;
    run_threads(std::size_t(std::clamp(n_jobs, 1, store.n)), [&](std::size_t) {
        SuperParent choice(shared, groups);
        for (int s = next++; s < store.n; s = next++) {
            check_interrupt();
            out[s] = choice.sum(s);
        }
    });
}

}  // namespace tanager::scoring
