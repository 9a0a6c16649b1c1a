#include "forest.hpp"

#include <cmath>
#include <utility>

#include "cpu.hpp"
#include "forest_levels.hpp"
#include "interrupt.hpp"

namespace tanager::forest {

namespace {

[[gnu::always_inline]] inline void deepen_all(std::uint32_t *index, std::size_t n, const std::uint8_t *groups,
                                              std::uint32_t radix) {
    for (std::size_t r = 0; r < n; ++r) index[r] = index[r] * radix + groups[r];
}

void deepen_plain(std::uint32_t *index, std::size_t n, const std::uint8_t *groups, std::uint32_t radix) {
    deepen_all(index, n, groups, radix);
}

#if defined(__x86_64__)
// SSE2 has no product of four such numbers, AVX2 one of eight.
__attribute__((target("avx2"))) void deepen_avx2(std::uint32_t *index, std::size_t n, const std::uint8_t *groups,
                                                 std::uint32_t radix) {
    deepen_all(index, n, groups, radix);
}
#endif

}  // namespace

void deepen(std::uint32_t *index, std::size_t n, const std::uint8_t *groups, int radix) {
    auto *own = deepen_plain;
#if defined(__x86_64__)
    if (chosen_cpu_level() != CpuLevel::plain) own = deepen_avx2;
#endif
    own(index, n, groups, std::uint32_t(radix));
}

namespace {

// The loops over all cells of a table, for the registers that a processor has.
[[gnu::always_inline]] inline void smooth_lines(const float *count, const float *total, const float *prior,
                                                float strength, std::int64_t n, float *to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = (count[i] + strength * prior[i]) / (total[i] + strength);
}

[[gnu::always_inline]] inline void weighted_logs(float *x, std::int64_t n_cells, int c, float weight, float clip) {
    for (std::int64_t i = 0; i < n_cells * c; ++i) x[i] = quick_log(x[i]);
    for (std::int64_t cell = 0; cell < n_cells; ++cell, x += c) {
        float mean = 0;
        for (int y = 0; y < c; ++y) mean += x[y];
        mean /= float(c);
        for (int y = 0; y < c; ++y) x[y] = weight * clipped(x[y] - mean, clip);
    }
}

struct TableLoops {
    void (*smooth)(const float *count, const float *total, const float *prior, float strength, std::int64_t n,
                   float *to);
    // Probabilities (cells, classes) become logs, centred over the classes, clipped and weighted.
    void (*logs)(float *x, std::int64_t n_cells, int c, float weight, float clip);
};

#define TANAGER_TABLE_LOOPS(level, attribute)                                                                 \
    attribute void smooth_##level(const float *count, const float *total, const float *prior, float strength, \
                                  std::int64_t n, float *to) {                                                \
        smooth_lines(count, total, prior, strength, n, to);                                                   \
    }                                                                                                         \
    attribute void logs_##level(float *x, std::int64_t n_cells, int c, float weight, float clip) {            \
        if (c == 2) return weighted_logs(x, n_cells, 2, weight, clip);                                        \
        weighted_logs(x, n_cells, c, weight, clip);                                                           \
    }                                                                                                         \
    constexpr TableLoops table_loops_##level{smooth_##level, logs_##level};

TANAGER_TABLE_LOOPS(plain, )
#if defined(__x86_64__)
TANAGER_TABLE_LOOPS(avx2, __attribute__((target("avx2"))))
#endif

const TableLoops &best_table_loops() {
#if defined(__x86_64__)
    if (chosen_cpu_level() != CpuLevel::plain) return table_loops_avx2;
#endif
    return table_loops_plain;
}

// The table of one family after another.
class TableMaker {
  public:
    explicit TableMaker(int n_classes) : c_(n_classes), loops_(best_table_loops()) {}

    void make(const Family &family, const Contexts &contexts, const Levels &levels, const float *strengths,
              float weight, float clip, Table &to) {
        const int line = family.n_groups * c_, last = family.n_parents;
        zeros_.assign(std::size_t(line), 0.0f);
        above_.resize(std::size_t(line));
        for (int v = 0; v < family.n_groups; ++v) std::fill_n(above_.begin() + v * c_, c_, levels.marginal(v, 0.0f));
        shared_.clear();
        for (int l = 0; l <= last; ++l) {
            const int radix = l ? family.radix[l - 1] : 1;
            if (contexts.some(l)) find_shared(contexts, l, radix);
            const std::size_t n = std::size_t(contexts.at(l)) + shared_.size();
            if (l == last) {
                to.n_lines = std::int64_t(n);
                to.cells = std::make_unique_for_overwrite<float[]>(n * std::size_t(line));
                fill(family, contexts, levels, l, radix, strengths[l], to.cells.get());
            } else {
                cells_.resize(n * std::size_t(line));
                fill(family, contexts, levels, l, radix, strengths[l], cells_.data());
                above_.swap(cells_);
            }
        }
        loops_.logs(to.cells.get(), to.n_lines * family.n_groups, c_, weight, clip);
        for (std::int64_t u = 1; u <= to.n_lines; ++u)
            std::fill_n(to.cells.get() + u * line - c_, c_, 0.0f);  // missing: says nothing
        if (contexts.some(last)) to.lines = nodes_;
    }

  private:
    // Contexts that no row has below a line of the level above share one, after those of the others: which line that
    // is. And the line of every context of this level, whether or not a row has it.
    void find_shared(const Contexts &contexts, int l, int radix) {
        const std::size_t n_above = std::size_t(contexts.at(l - 1)), seen = std::size_t(contexts.at(l));
        if (!contexts.some(l - 1)) {
            nodes_.resize(n_above);
            for (std::size_t u = 0; u < n_above; ++u) nodes_[u] = std::uint32_t(u);
        }
        below_.assign((n_above + shared_.size()) * std::size_t(radix), none);
        for (std::size_t u = 0; u < seen; ++u) below_[contexts.keys(l)[u]] = std::uint32_t(u);
        shared_.clear();
        for (std::size_t at = 0; at < below_.size(); at += std::size_t(radix)) {
            const auto begin = below_.begin() + std::int64_t(at), end = begin + radix;
            if (std::find(begin, end, none) == end) continue;
            std::replace(begin, end, none, std::uint32_t(seen + shared_.size()));
            shared_.push_back(std::uint32_t(at / std::size_t(radix)));
        }
        deeper_.clear();
        for (const std::uint32_t u : nodes_)
            deeper_.insert(deeper_.end(), below_.begin() + std::int64_t(u) * radix,
                           below_.begin() + (std::int64_t(u) + 1) * radix);
        nodes_.swap(deeper_);
    }

    // The lines of a level, from those of the level above.
    void fill(const Family &family, const Contexts &contexts, const Levels &levels, int l, int radix, float strength,
              float *to) {
        const std::int64_t line = family.n_groups * c_, n = contexts.at(l);
        const float *count = levels.cells[std::size_t(l)].data(), *total = levels.totals[std::size_t(l)].data();
        totals_.resize(std::size_t(line));
        for (std::int64_t u = 0; u < n; ++u, count += line, total += c_, to += line) {
            const std::int64_t key = contexts.some(l) ? contexts.keys(l)[std::size_t(u)] : u;
            for (int v = 0; v < family.n_groups; ++v) std::copy_n(total, c_, totals_.begin() + v * c_);
            loops_.smooth(count, totals_.data(), above_.data() + key / radix * line, strength, line, to);
        }
        for (std::size_t u = 0; contexts.some(l) && u < shared_.size(); ++u, to += line)
            loops_.smooth(zeros_.data(), zeros_.data(), above_.data() + shared_[u] * line, strength, line, to);
    }

    static constexpr std::uint32_t none = 0xffffffffu;
    int c_;
    const TableLoops &loops_;
    Floats cells_, above_, totals_, zeros_;
    std::vector<std::uint32_t> shared_;                  // the line above each line that contexts share
    std::vector<std::uint32_t> nodes_, deeper_, below_;  // the line of every context; of all that is below each line
};

}  // namespace

std::vector<Table> make_tables(const Plan &plan, const Rows &rows, const float *strengths, const float *weights,
                               const Bounds &bounds, int n_jobs) {
    std::vector<Table> tables(plan.families.size());
    each_member(plan, n_jobs, [&] {
        return [&, groups = Groups(), contexts = Contexts(), levels = Levels(), maker = TableMaker(rows.n_classes)](
                   std::size_t first, std::size_t last) mutable {
            group_rows(plan, first, last, rows, 0, rows.n_rows, groups);
            for (std::size_t f = first; f < last; ++f) {
                const Family &family = plan.families[f];
                contexts.of_rows(family, groups, rows.n_rows, rows.n_classes);
                levels.count(family, contexts, rows, groups, 0, rows.n_rows);
                maker.make(family, contexts, levels, strengths + f * depth, weights[f], bounds.clip, tables[f]);
            }
        };
    });
    return tables;
}

void add_tables(const Plan &plan, const Rows &queries, const std::vector<Table> &tables, int child, int n_jobs,
                double *out) {
    const int c = queries.n_classes;
    // Tables are read family after family for many rows at once: they are larger than the caches, the rows are not.
    constexpr std::int64_t block = 8192;
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
                check_interrupt();
                const Family &family = plan.families[f];
                if (f == 0 || family.member != plan.families[f - 1].member) {
                    std::size_t last = f;
                    while (last < plan.families.size() && plan.families[last].member == family.member) ++last;
                    group_rows(plan, f, last, queries, begin, end, groups);
                }
                if (child != every_child && child != family.child) continue;
                contexts_of(family, groups, n, 0, n, index);
                if (!tables[f].lines.empty())
                    for (std::uint32_t &u : index) u = tables[f].lines[u];
                deepen(index, groups.data() + family.child * n, family.n_groups);
                const float *table = tables[f].cells.get();
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

void add_tables_of_row(const Plan &plan, const std::uint16_t *slots, const std::vector<Table> &tables, int n_classes,
                       float *sums) {
    // A row reads one cell of each table, and few of them are in the caches: so they are asked for some families ahead.
    constexpr std::size_t ahead = 32;
    const float *cells[ahead];
    const std::size_t n = plan.families.size();
    std::fill_n(sums, n_classes, 0.0f);
    for (std::size_t f = 0; f < n + ahead; ++f) {
        if (f >= ahead && f - ahead < n)
            for (int y = 0; y < n_classes; ++y) sums[y] += cells[f % ahead][y];
        if (f >= n) continue;
        const Family &family = plan.families[f];
        std::int64_t at = 0;
        for (int p = 0; p < family.n_parents; ++p) {
            const int parent = family.parents[p];
            at = at * family.radix[p] + plan.groups_of(family.member, parent)[slots[parent]];
        }
        if (!tables[f].lines.empty()) at = tables[f].lines[std::size_t(at)];
        at = at * family.n_groups + plan.groups_of(family.member, family.child)[slots[family.child]];
        cells[f % ahead] = tables[f].cells.get() + at * n_classes;
        __builtin_prefetch(cells[f % ahead]);
    }
}

}  // namespace tanager::forest
