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

    // (contexts, groups, classes)
    void make(const Family &family, const Levels &levels, const float *strengths, float weight, float clip, float *to) {
        const int line = family.n_groups * c_;
        above_.resize(std::size_t(line));
        for (int v = 0; v < family.n_groups; ++v) std::fill_n(above_.begin() + v * c_, c_, levels.marginal(v, 0.0f));
        std::int64_t contexts = 1;
        for (int l = 0; l < family.n_parents; ++l) {
            const int radix = l ? family.radix[l - 1] : 1;
            contexts *= radix;
            cells_.resize(std::size_t(contexts * line));
            for (std::int64_t u = 0; u < contexts; ++u)
                smooth(family, levels, l, u, radix, strengths[l], cells_.data() + u * line);
            above_.swap(cells_);
        }
        make_last(family, levels, strengths[family.n_parents], weight, clip, to);
        for (std::int64_t u = 1; u <= family.n_contexts; ++u)
            std::fill_n(to + u * line - c_, c_, 0.0f);  // missing: says nothing
    }

  private:
    // The last level, in logs. Contexts that no row has are all alike below the same shorter context, and with many
    // classes they are most of a table: logs are taken for the first of them alone. Short lines are as quickly made.
    void make_last(const Family &family, const Levels &levels, float strength, float weight, float clip, float *to) {
        const int l = family.n_parents, radix = l ? family.radix[l - 1] : 1, line = family.n_groups * c_;
        const float *total = levels.totals[std::size_t(l)].data();
        std::int64_t made = 0, first = -1;  // lines before `made` are logs; the first one like this below its context
        alike_.clear();
        for (std::int64_t u = 0; u < family.n_contexts; ++u, total += c_) {
            if (u % radix == 0) first = -1;
            const bool unseen = line >= least_line && std::all_of(total, total + c_, [](float n) { return n == 0; });
            if (unseen && first >= 0) {
                loops_.logs(to + made * line, (u - made) * family.n_groups, c_, weight, clip);
                made = u + 1;
                alike_.emplace_back(u, first);
                continue;
            }
            smooth(family, levels, l, u, radix, strength, to + u * line);
            if (unseen) first = u;
        }
        loops_.logs(to + made * line, (family.n_contexts - made) * family.n_groups, c_, weight, clip);
        for (const auto &[u, like] : alike_) std::copy_n(to + like * line, line, to + u * line);
    }

    // One context of a level, from the probabilities of the level above it.
    void smooth(const Family &family, const Levels &levels, int l, std::int64_t context, int radix, float strength,
                float *to) {
        const int line = family.n_groups * c_;
        const float *count = levels.cells[std::size_t(l)].data() + context * line;
        const float *total = levels.totals[std::size_t(l)].data() + context * c_;
        totals_.resize(std::size_t(line));
        for (int v = 0; v < family.n_groups; ++v) std::copy_n(total, c_, totals_.begin() + v * c_);
        loops_.smooth(count, totals_.data(), above_.data() + (context / radix) * line, strength, line, to);
    }

    static constexpr int least_line = 16;
    int c_;
    const TableLoops &loops_;
    Floats cells_, above_, totals_;
    std::vector<std::pair<std::int64_t, std::int64_t>> alike_;
};

}  // namespace

void make_tables(const Plan &plan, const Rows &rows, const float *strengths, const float *weights, const Bounds &bounds,
                 int n_jobs, const std::int64_t *starts, float *tables) {
    each_member(plan, n_jobs, [&] {
        return [&, groups = Groups(), contexts = Contexts(), levels = Levels(), maker = TableMaker(rows.n_classes)](
                   std::size_t first, std::size_t last) mutable {
            group_rows(plan, first, last, rows, 0, rows.n_rows, groups);
            for (std::size_t f = first; f < last; ++f) {
                const Family &family = plan.families[f];
                contexts.all(family);
                levels.count(family, contexts, rows, groups, 0, rows.n_rows);
                maker.make(family, levels, strengths + f * depth, weights[f], bounds.clip, tables + starts[f]);
            }
        };
    });
}

void add_tables(const Plan &plan, const Rows &queries, const std::int64_t *starts, const float *tables, int n_jobs,
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
                if (f == 0 || plan.families[f].member != plan.families[f - 1].member) {
                    std::size_t last = f;
                    while (last < plan.families.size() && plan.families[last].member == plan.families[f].member) ++last;
                    group_rows(plan, f, last, queries, begin, end, groups);
                }
                cells_of(plan.families[f], groups, n, 0, n, index);
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
