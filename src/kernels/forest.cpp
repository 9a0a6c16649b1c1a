#include "forest.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "threads.hpp"

namespace tanager::forest {

namespace {

using Floats = std::vector<float>;
using Groups = std::vector<std::uint8_t>;  // (n_columns, n_rows)

constexpr int depth = most_parents + 1;

// The log of a positive float in plain arithmetic, so that loops over it become vector code; good to 1e-6.
inline float quick_log(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    const std::int32_t e = std::int32_t(bits - 0x3f3504f3u) >> 23;  // leaves a factor between sqrt(1/2) and sqrt(2)
    bits -= std::uint32_t(e) << 23;
    float f;
    std::memcpy(&f, &bits, 4);
    const float z = (f - 1.0f) / (f + 1.0f), zz = z * z;
    const float series = z * (2.0f + zz * (0.66666667f + zz * (0.4f + zz * (0.28571429f + zz * 0.22222222f))));
    return float(e) * 0.69314718f + series;
}

inline float clipped(float x, float most) { return std::min(most, std::max(-most, x)); }

// Runs of families of one member are dealt out to threads: work(first, last) for families [first, last).
template <class Work>
void each_member(const Plan &plan, int n_jobs, const Work &work) {
    std::vector<std::size_t> firsts;
    for (std::size_t f = 0; f < plan.families.size(); ++f)
        if (f == 0 || plan.families[f].member != plan.families[f - 1].member) firsts.push_back(f);
    firsts.push_back(plan.families.size());
    const std::size_t n = firsts.size() - 1, jobs = std::max<std::size_t>(1, std::min(std::size_t(n_jobs), n));
    run_threads(jobs, [&](std::size_t t) {
        auto mine = work();
        for (std::size_t e = t; e < n; e += jobs) mine(firsts[e], firsts[e + 1]);
    });
}

// The columns that some families look at, as their member groups them.
void group_rows(const Plan &plan, std::size_t first, std::size_t last, const Rows &rows, std::int64_t begin,
                std::int64_t end, Groups &to) {
    const std::int64_t n = end - begin;
    to.resize(std::size_t(plan.n_columns * n));
    std::vector<char> done(std::size_t(plan.n_columns), 0);
    const auto fill = [&](int column) {
        if (done[std::size_t(column)]++) return;
        const std::uint8_t *groups = plan.groups_of(plan.families[first].member, column);
        const std::uint16_t *slots = rows.slots + column * rows.n_rows + begin;
        std::uint8_t *own = to.data() + column * n;
        for (std::int64_t r = 0; r < n; ++r) own[r] = groups[slots[r]];
    };
    for (std::size_t f = first; f < last; ++f) {
        fill(plan.families[f].child);
        for (int p = 0; p < plan.families[f].n_parents; ++p) fill(plan.families[f].parents[p]);
    }
}

// index = index * radix + group, for one more column.
void deepen(std::vector<std::uint32_t> &index, const std::uint8_t *groups, int radix) {
    const std::size_t n = index.size();
    for (std::size_t r = 0; r < n; ++r) index[r] = index[r] * std::uint32_t(radix) + groups[r];
}

// The cell of every row, without the class.
void cells_of(const Family &family, const Groups &groups, std::int64_t n_rows, std::vector<std::uint32_t> &index) {
    index.assign(std::size_t(n_rows), 0);
    for (int p = 0; p < family.n_parents; ++p)
        deepen(index, groups.data() + family.parents[p] * n_rows, family.radix[p]);
    deepen(index, groups.data() + family.child * n_rows, family.n_groups);
}

// Counts of one family at every level: level l knows the class and the first l parents.
struct Levels {
    std::vector<Floats> cells, totals;  // (contexts, groups, classes) and (contexts, classes)
    Floats base;                        // (groups): over all classes
    float base_total = 0;
    std::vector<std::uint32_t> index;

    void count(const Family &family, const Rows &rows, const Groups &groups) {
        const int k = family.n_parents, c = rows.n_classes, line = family.n_groups * c;
        cells.resize(std::size_t(k) + 1);
        totals.resize(std::size_t(k) + 1);
        cells_of(family, groups, rows.n_rows, index);
        Floats &deepest = cells[std::size_t(k)];
        deepest.assign(std::size_t(family.n_contexts * line), 0.0f);
        for (std::int64_t r = 0; r < rows.n_rows; ++r)
            deepest[std::size_t(index[std::size_t(r)]) * std::size_t(c) + rows.labels[r]] +=
                rows.weights ? rows.weights[r] : 1.0f;
        std::int64_t contexts = family.n_contexts;
        for (std::int64_t u = 1; u <= contexts; ++u)  // rows without a value of the child tell nothing
            std::fill_n(deepest.begin() + (u * line - c), c, 0.0f);
        for (int l = k; l >= 0; --l) {
            add_up(cells[std::size_t(l)], contexts, family.n_groups, c, totals[std::size_t(l)]);
            if (l == 0) break;
            add_up(cells[std::size_t(l)], contexts / family.radix[l - 1], family.radix[l - 1], line,
                   cells[std::size_t(l) - 1]);
            contexts /= family.radix[l - 1];
        }
        add_up(cells[0], family.n_groups, c, 1, base);
        base_total = 0;
        for (const float n : base) base_total += n;
    }

    // to (outer, inner) = the sum over the middle axis of from (outer, middle, inner).
    static void add_up(const Floats &from, std::int64_t outer, int middle, int inner, Floats &to) {
        to.assign(std::size_t(outer * inner), 0.0f);
        const float *own = from.data();
        for (std::int64_t u = 0; u < outer; ++u)
            for (int g = 0; g < middle; ++g, own += inner)
                for (int i = 0; i < inner; ++i) to[std::size_t(u * inner + i)] += own[i];
    }

    float marginal(int group, float less) const {
        return (std::max(0.0f, base[std::size_t(group)] - less) + 1.0f) /
               (std::max(0.0f, base_total - less) + float(base.size() - 1));
    }
};

// Left-out probabilities of judged rows in one family, from level to level.
class Judge {
  public:
    Judge(const Plan &plan, const Rows &rows, const Rows &judged)
        : plan_(plan), rows_(rows), judged_(judged), n_(judged.n_rows), context_(std::size_t(n_)),
          theta_(std::size_t(n_ * rows.n_classes)), a_(std::size_t(n_)), b_(std::size_t(n_)), own_(std::size_t(n_)),
          times_(std::size_t(n_)) {}

    void start_member(std::size_t first, std::size_t last) {
        group_rows(plan_, first, last, rows_, 0, rows_.n_rows, groups_);
        group_rows(plan_, first, last, judged_, 0, n_, judged_groups_);
    }

    void start_family(const Family &family) {
        levels_.count(family, rows_, groups_);
        std::fill(context_.begin(), context_.end(), 0u);
        child_ = judged_groups_.data() + family.child * n_;
        for (std::int64_t s = 0; s < n_; ++s) {
            const float base = levels_.marginal(child_[s], weight(s));
            for (int y = 0; y < rows_.n_classes; ++y) theta_[std::size_t(y * n_ + s)] = base;
        }
    }

    void start_level(const Family &family, int l) {
        if (l > 0) deepen(context_, judged_groups_.data() + family.parents[l - 1] * n_, family.radix[l - 1]);
    }

    // The strength under which the judged rows are most probable: the root of the slope in its log.
    float best_strength(const Family &family, int l, const Bounds &bounds) {
        const Floats &cells = levels_.cells[std::size_t(l)], &totals = levels_.totals[std::size_t(l)];
        const int c = rows_.n_classes;
        std::size_t n = 0;
        for (std::int64_t s = 0; s < n_; ++s) {
            const std::int64_t u = context_[std::size_t(s)], label = judged_.labels[s];
            const float rest = totals[std::size_t(u * c + label)] - weight(s);
            if (rest < 1e-6f || child_[s] == family.n_groups - 1) continue;  // nobody else is there to tell
            a_[n] = std::max(0.0f, cells[std::size_t((u * family.n_groups + child_[s]) * c + label)] - weight(s));
            b_[n] = rest;
            times_[n] = judged_.repeats ? judged_.repeats[s] : 1.0f;
            own_[n++] = theta_[std::size_t(label * n_ + s)];
        }
        const auto slope = [&](float strength) {
            float sum = 0;
            for (std::size_t s = 0; s < n; ++s)
                sum += times_[s] * (own_[s] / (a_[s] + strength * own_[s]) - 1.0f / (b_[s] + strength));
            return sum * strength - 0.5f * std::log(strength / 2.0f);  // a weak prior around 2
        };
        if (slope(bounds.weakest) <= 0) return bounds.weakest;
        if (slope(bounds.strongest) >= 0) return bounds.strongest;
        float low = std::log(bounds.weakest), high = std::log(bounds.strongest);
        for (int step = 0; step < 9; ++step) {
            const float middle = 0.5f * (low + high);
            (slope(std::exp(middle)) > 0 ? low : high) = middle;
        }
        return std::exp(0.5f * (low + high));
    }

    void use_level(const Family &family, int l, float strength) {
        const Floats &cells = levels_.cells[std::size_t(l)], &totals = levels_.totals[std::size_t(l)];
        const int c = rows_.n_classes;
        for (std::int64_t s = 0; s < n_; ++s) {
            const std::int64_t u = context_[std::size_t(s)];
            const float *cell = cells.data() + (u * family.n_groups + child_[s]) * c, *total = totals.data() + u * c;
            const int label = judged_.labels[s];
            for (int y = 0; y < c; ++y) {
                const float less = y == label ? weight(s) : 0.0f;
                float &theta = theta_[std::size_t(y * n_ + s)];
                theta =
                    (std::max(0.0f, cell[y] - less) + strength * theta) / (std::max(0.0f, total[y] - less) + strength);
            }
        }
    }

    // Logs of what the last level gave, centred over the classes and clipped: (classes, judged rows).
    void logs(const Family &family, float clip, float *to) {
        const int c = rows_.n_classes;
        Floats &mean = own_;
        std::fill(mean.begin(), mean.end(), 0.0f);
        for (int y = 0; y < c; ++y)
            for (std::int64_t s = 0; s < n_; ++s) {
                const float log = quick_log(theta_[std::size_t(y * n_ + s)]);
                to[y * n_ + s] = log;
                mean[std::size_t(s)] += log;
            }
        for (int y = 0; y < c; ++y)
            for (std::int64_t s = 0; s < n_; ++s)
                to[y * n_ + s] = clipped(to[y * n_ + s] - mean[std::size_t(s)] / float(c), clip);
        for (std::int64_t s = 0; s < n_; ++s)
            if (child_[s] == family.n_groups - 1)
                for (int y = 0; y < c; ++y) to[y * n_ + s] = 0.0f;
    }

    void whole_family(const Family &family, const float *strengths, float clip, float *to) {
        start_family(family);
        for (int l = 0; l <= family.n_parents; ++l) {
            start_level(family, l);
            use_level(family, l, strengths[l]);
        }
        logs(family, clip, to);
    }

  private:
    float weight(std::int64_t s) const { return judged_.weights ? judged_.weights[s] : 1.0f; }

    const Plan &plan_;
    const Rows &rows_, &judged_;
    std::int64_t n_;
    Groups groups_, judged_groups_;
    Levels levels_;
    std::vector<std::uint32_t> context_;
    const std::uint8_t *child_ = nullptr;
    Floats theta_;  // (classes, judged rows)
    Floats a_, b_, own_, times_;
};

}  // namespace

void learn_strengths(const Plan &plan, const Rows &rows, const Rows &judged, const Bounds &bounds, int n_jobs,
                     float *strengths) {
    each_member(plan, n_jobs, [&] {
        return [&, judge = Judge(plan, rows, judged)](std::size_t first, std::size_t last) mutable {
            judge.start_member(first, last);
            for (std::size_t f = first; f < last; ++f) {
                const Family &family = plan.families[f];
                judge.start_family(family);
                for (int l = 0; l <= family.n_parents; ++l) {
                    judge.start_level(family, l);
                    strengths[f * depth + std::size_t(l)] = judge.best_strength(family, l, bounds);
                    judge.use_level(family, l, strengths[f * depth + std::size_t(l)]);
                }
            }
        };
    });
}

void left_out_terms(const Plan &plan, const Rows &rows, const Rows &judged, const float *strengths,
                    const Bounds &bounds, int n_jobs, float *terms) {
    const std::size_t size = std::size_t(judged.n_rows) * std::size_t(rows.n_classes);
    each_member(plan, n_jobs, [&] {
        return [&, judge = Judge(plan, rows, judged)](std::size_t first, std::size_t last) mutable {
            judge.start_member(first, last);
            for (std::size_t f = first; f < last; ++f)
                judge.whole_family(plan.families[f], strengths + f * depth, bounds.clip, terms + f * size);
        };
    });
}

void left_out_sums(const Plan &plan, const Rows &rows, const Rows &judged, const float *strengths, const float *weights,
                   const Bounds &bounds, int n_jobs, double *out) {
    const std::int64_t n = judged.n_rows, c = rows.n_classes;
    std::fill_n(out, n * c, 0.0);
    const std::size_t jobs = std::size_t(std::max(1, n_jobs));
    // Every thread leaves out rows of its own, so that sums do not depend on how many there are.
    run_threads(jobs, [&](std::size_t t) {
        const std::int64_t begin = n * std::int64_t(t) / std::int64_t(jobs);
        const std::int64_t end = n * std::int64_t(t + 1) / std::int64_t(jobs), m = end - begin;
        if (m == 0) return;
        std::vector<std::uint16_t> slots(std::size_t(plan.n_columns * m));
        for (int i = 0; i < plan.n_columns; ++i) std::copy_n(judged.slots + i * n + begin, m, slots.begin() + i * m);
        Rows own{slots.data(), judged.labels + begin, nullptr, nullptr, m, judged.n_classes};
        if (judged.weights) own.weights = judged.weights + begin;
        Judge judge(plan, rows, own);
        Floats logs(std::size_t(m * c));
        for (std::size_t f = 0; f < plan.families.size(); ++f) {
            if (f == 0 || plan.families[f].member != plan.families[f - 1].member) {
                std::size_t last = f;
                while (last < plan.families.size() && plan.families[last].member == plan.families[f].member) ++last;
                judge.start_member(f, last);
            }
            if (weights[f] == 0) continue;
            judge.whole_family(plan.families[f], strengths + f * depth, bounds.clip, logs.data());
            for (std::int64_t s = 0; s < m; ++s)
                for (std::int64_t y = 0; y < c; ++y)
                    out[(begin + s) * c + y] += double(weights[f] * logs[std::size_t(y * m + s)]);
        }
    });
}

namespace {

// Probabilities of every cell of a family at its last level: (contexts, groups, classes).
void all_cells(const Family &family, const Levels &levels, int c, const float *strengths, Floats &cells,
               Floats &above) {
    const int line = family.n_groups * c;
    cells.resize(std::size_t(line));
    for (int v = 0; v < family.n_groups; ++v) std::fill_n(cells.begin() + v * c, c, levels.marginal(v, 0.0f));
    std::int64_t contexts = 1;
    for (int l = 0; l <= family.n_parents; ++l) {
        const int radix = l ? family.radix[l - 1] : 1;
        above.swap(cells);
        contexts *= radix;
        cells.resize(std::size_t(contexts * line));
        for (std::int64_t u = 0; u < contexts; ++u) {
            const float *count = levels.cells[std::size_t(l)].data() + u * line;
            const float *total = levels.totals[std::size_t(l)].data() + u * c;
            const float *prior = above.data() + (u / radix) * line;
            float *to = cells.data() + u * line;
            for (int v = 0; v < family.n_groups; ++v)
                for (int y = 0; y < c; ++y)
                    to[v * c + y] = (count[v * c + y] + strengths[l] * prior[v * c + y]) / (total[y] + strengths[l]);
        }
    }
}

void write_table(const Family &family, int c, const Floats &cells, float weight, float clip, float *to) {
    const std::int64_t n = family.n_contexts * family.n_groups;
    for (std::int64_t i = 0; i < n * c; ++i) to[i] = quick_log(cells[std::size_t(i)]);
    for (std::int64_t cell = 0; cell < n; ++cell, to += c) {
        float mean = 0;
        for (int y = 0; y < c; ++y) mean += to[y];
        for (int y = 0; y < c; ++y) to[y] = weight * clipped(to[y] - mean / float(c), clip);
    }
    to -= n * c;
    for (std::int64_t u = 1; u <= family.n_contexts; ++u) std::fill_n(to + (u * family.n_groups - 1) * c, c, 0.0f);
}

}  // namespace

void make_tables(const Plan &plan, const Rows &rows, const float *strengths, const float *weights, const Bounds &bounds,
                 int n_jobs, const std::int64_t *starts, float *tables) {
    each_member(plan, n_jobs, [&] {
        return [&, groups = Groups(), levels = Levels(), cells = Floats(), above = Floats()](std::size_t first,
                                                                                             std::size_t last) mutable {
            group_rows(plan, first, last, rows, 0, rows.n_rows, groups);
            for (std::size_t f = first; f < last; ++f) {
                const Family &family = plan.families[f];
                levels.count(family, rows, groups);
                all_cells(family, levels, rows.n_classes, strengths + f * depth, cells, above);
                write_table(family, rows.n_classes, cells, weights[f], bounds.clip, tables + starts[f]);
            }
        };
    });
}

void add_tables(const Plan &plan, const Rows &queries, const std::int64_t *starts, const float *tables, int n_jobs,
                double *out) {
    const int c = queries.n_classes;
    // Tables are read family after family for many rows at once: they are larger than the caches, the rows are not.
    constexpr std::int64_t block = 2048;
    const std::int64_t n_blocks = (queries.n_rows + block - 1) / block;
    const std::size_t jobs = std::size_t(std::max<std::int64_t>(1, std::min<std::int64_t>(n_jobs, n_blocks)));
    run_threads(jobs, [&](std::size_t t) {
        Groups groups;
        std::vector<std::uint32_t> index;
        Floats sums;
        for (std::int64_t b = std::int64_t(t); b < n_blocks; b += std::int64_t(jobs)) {
            const std::int64_t begin = b * block, end = std::min(queries.n_rows, begin + block), n = end - begin;
            sums.assign(std::size_t(n * c), 0.0f);
            for (std::size_t f = 0; f < plan.families.size(); ++f) {
                if (f == 0 || plan.families[f].member != plan.families[f - 1].member) {
                    std::size_t last = f;
                    while (last < plan.families.size() && plan.families[last].member == plan.families[f].member) ++last;
                    group_rows(plan, f, last, queries, begin, end, groups);
                }
                cells_of(plan.families[f], groups, n, index);
                const float *table = tables + starts[f];
                for (std::int64_t r = 0; r < n; ++r) {
                    const float *from = table + std::int64_t(index[std::size_t(r)]) * c;
                    float *to = sums.data() + r * c;
                    for (int y = 0; y < c; ++y) to[y] += from[y];
                }
            }
            std::copy(sums.begin(), sums.end(), out + begin * c);
        }
    });
}

}  // namespace tanager::forest
