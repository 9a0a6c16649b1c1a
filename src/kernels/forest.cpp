#include "forest.hpp"

#include <cmath>

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

void deepen(std::vector<std::uint32_t> &index, const std::uint8_t *groups, int radix) {
    auto *own = deepen_plain;
#if defined(__x86_64__)
    if (chosen_cpu_level() != CpuLevel::plain) own = deepen_avx2;
#endif
    own(index.data(), index.size(), groups, std::uint32_t(radix));
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
                levels.count(family, rows, groups, 0, rows.n_rows);
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
