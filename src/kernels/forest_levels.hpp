// What learning a forest and answering with it share: rows as a member groups them, and counts of one family.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "forest.hpp"
#include "threads.hpp"

namespace tanager::forest {

using Floats = std::vector<float>;
using Groups = std::vector<std::uint8_t>;  // (n_columns, n_rows)

constexpr int depth = most_parents + 1;

// The log of a positive float in plain arithmetic, so that loops over it become vector code; good to 1e-6.
[[gnu::always_inline]] inline float quick_log(float x) {
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

[[gnu::always_inline]] inline float clipped(float x, float most) { return std::min(most, std::max(-most, x)); }

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
        for (std::size_t e = t; e < n; e += jobs) {
            check_interrupt();
            mine(firsts[e], firsts[e + 1]);
        }
    });
}

// The columns that some families look at, as their member groups them.
inline void group_rows(const Plan &plan, std::size_t first, std::size_t last, const Rows &rows, std::int64_t begin,
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
void deepen(std::uint32_t *index, std::size_t n, const std::uint8_t *groups, int radix);

inline void deepen(std::vector<std::uint32_t> &index, const std::uint8_t *groups, int radix) {
    deepen(index.data(), index.size(), groups, radix);
}

// The contexts of rows [begin, end) of n_rows among all that there can be.
inline void contexts_of(const Family &family, const Groups &groups, std::int64_t n_rows, std::int64_t begin,
                        std::int64_t end, std::vector<std::uint32_t> &index) {
    index.assign(std::size_t(end - begin), 0);
    for (int p = 0; p < family.n_parents; ++p)
        deepen(index, groups.data() + family.parents[p] * n_rows + begin, family.radix[p]);
}

// The contexts of a family at every level: level l knows the class and the first l parents. With many classes a family
// has many more cells than there are rows. So levels of more cells than rows may leave out contexts that no row has;
// the others are numbered in the same order.
class Contexts {
  public:
    // All contexts that there can be.
    void all(const Family &family) {
        n_.assign(1, 1);
        for (int l = 1; l <= family.n_parents; ++l) n_.push_back(n_.back() * family.radix[l - 1]);
        first_short_ = family.n_parents + 1;
    }

    // Those of these rows, where that spares more than it takes to find them.
    void of_rows(const Family &family, const Groups &groups, std::int64_t n_rows, int n_classes) {
        all(family);
        const auto worth_it = [&](int l) {
            const std::int64_t cells = n_[std::size_t(l)] * family.n_groups;
            return cells > n_rows && cells * n_classes > 8 * n_rows;
        };
        while (first_short_ > 1 && worth_it(first_short_ - 1)) --first_short_;
        if (first_short_ > family.n_parents) return;
        rows_.resize(std::size_t(family.n_parents) + 1);
        keys_.resize(std::size_t(family.n_parents) + 1);
        index_.assign(std::size_t(n_rows), 0);
        for (int l = 1; l <= family.n_parents; ++l) {
            forest::deepen(index_, groups.data() + family.parents[l - 1] * n_rows, family.radix[l - 1]);
            if (l >= first_short_) number(l, family.radix[l - 1]);
        }
    }

    // How many there are at a level.
    std::int64_t at(int level) const { return n_[std::size_t(level)]; }

    // The contexts of rows [begin, begin + n) at level l > 0, from those at the level above.
    void deepen(std::uint32_t *index, std::size_t n, const Family &family, const Groups &groups, std::int64_t n_rows,
                std::int64_t begin, int l) const {
        if (l >= first_short_) std::copy_n(rows_[std::size_t(l)].begin() + begin, n, index);
        else forest::deepen(index, n, groups.data() + family.parents[l - 1] * n_rows + begin, family.radix[l - 1]);
    }

    // The cells of rows [begin, end), without the class.
    void cells_of(const Family &family, const Groups &groups, std::int64_t n_rows, std::int64_t begin, std::int64_t end,
                  std::vector<std::uint32_t> &index) const {
        if (some(family.n_parents)) {
            const std::vector<std::uint32_t> &own = rows_[std::size_t(family.n_parents)];
            index.assign(own.begin() + begin, own.begin() + end);
        } else contexts_of(family, groups, n_rows, begin, end, index);
        forest::deepen(index, groups.data() + family.child * n_rows + begin, family.n_groups);
    }

    // Whether contexts are left out at a level.
    bool some(int level) const { return level >= first_short_; }

    // The places of those that are not among all below the contexts of the level above, `radix` for each.
    const std::vector<std::uint32_t> &keys(int level) const { return keys_[std::size_t(level)]; }

  private:
    // Number the contexts of a level that rows have.
    void number(int l, int radix) {
        const std::size_t n = std::size_t(n_[std::size_t(l) - 1] * radix);
        numbers_.assign(n, 0);
        for (const std::uint32_t u : index_) numbers_[u] = 1;
        std::vector<std::uint32_t> &keys = keys_[std::size_t(l)];
        keys.clear();
        for (std::size_t u = 0; u < n; ++u)
            if (numbers_[u]) {
                numbers_[u] = std::uint32_t(keys.size());
                keys.push_back(std::uint32_t(u));
            }
        for (std::uint32_t &u : index_) u = numbers_[u];
        rows_[std::size_t(l)] = index_;
        n_[std::size_t(l)] = std::int64_t(keys.size());
    }

    int first_short_ = 1;          // the first level that leaves contexts out
    std::vector<std::int64_t> n_;  // contexts of each level
    std::vector<std::vector<std::uint32_t>> rows_, keys_;
    std::vector<std::uint32_t> index_, numbers_;
};

// Counts of one family at every level.
struct Levels {
    std::vector<Floats> cells, totals;  // (contexts, groups, classes) and (contexts, classes)
    Floats base;                        // (groups): over all classes
    float base_total = 0;
    std::vector<std::uint32_t> index;

    // Of rows [begin, end).
    void count(const Family &family, const Contexts &contexts, const Rows &rows, const Groups &groups,
               std::int64_t begin, std::int64_t end) {
        const int k = family.n_parents, c = rows.n_classes, line = family.n_groups * c;
        cells.resize(std::size_t(k) + 1);
        totals.resize(std::size_t(k) + 1);
        contexts.cells_of(family, groups, rows.n_rows, begin, end, index);
        Floats &deepest = cells[std::size_t(k)];
        deepest.assign(std::size_t(contexts.at(k) * line), 0.0f);
        for (std::int64_t r = begin; r < end; ++r)
            deepest[std::size_t(index[std::size_t(r - begin)]) * std::size_t(c) + rows.labels[r]] +=
                rows.weights ? rows.weights[r] : 1.0f;
        for (std::int64_t u = 1; u <= contexts.at(k); ++u)  // rows without a value of the child tell nothing
            std::fill_n(deepest.begin() + (u * line - c), c, 0.0f);
        for (int l = k; l >= 0; --l) {
            add_up(cells[std::size_t(l)], contexts.at(l), family.n_groups, c, totals[std::size_t(l)]);
            if (l > 0) add_to_above(family, contexts, l, line, cells[std::size_t(l)], cells[std::size_t(l) - 1]);
        }
        add_up(cells[0], family.n_groups, c, 1, base);
        base_total = 0;
        for (const float n : base) base_total += n;
    }

    // to (contexts of level l - 1, line) = the sums of from (contexts of level l, line).
    static void add_to_above(const Family &family, const Contexts &contexts, int l, int line, const Floats &from,
                             Floats &to) {
        if (!contexts.some(l)) return add_up(from, contexts.at(l - 1), family.radix[l - 1], line, to);
        to.assign(std::size_t(contexts.at(l - 1) * line), 0.0f);
        const float *own = from.data();
        for (std::int64_t u = 0; u < contexts.at(l); ++u, own += line) {
            float *sums = to.data() + std::int64_t(contexts.keys(l)[std::size_t(u)]) / family.radix[l - 1] * line;
            for (int i = 0; i < line; ++i) sums[i] += own[i];
        }
    }

    // The counts of two sets of rows together.
    void add(const Levels &a, const Levels &b) {
        cells.resize(a.cells.size());
        totals.resize(a.totals.size());
        for (std::size_t l = 0; l < cells.size(); ++l) {
            sum(a.cells[l], b.cells[l], cells[l]);
            sum(a.totals[l], b.totals[l], totals[l]);
        }
        sum(a.base, b.base, base);
        base_total = a.base_total + b.base_total;
    }

    static void sum(const Floats &a, const Floats &b, Floats &to) {
        to.resize(a.size());
        for (std::size_t i = 0; i < a.size(); ++i) to[i] = a[i] + b[i];
    }

    // to (outer, inner) = the sum over the middle axis of from (outer, middle, inner).
    static void add_up(const Floats &from, std::int64_t outer, int middle, int inner, Floats &to) {
        to.assign(std::size_t(outer * inner), 0.0f);
        switch (inner) {  // loops of few steps are quick where the compiler knows how many
            case 2: return add_lines<2>(from.data(), outer, middle, inner, to.data());
            case 3: return add_lines<3>(from.data(), outer, middle, inner, to.data());
            default: return add_lines<0>(from.data(), outer, middle, inner, to.data());
        }
    }

    template <int Inner>
    static void add_lines(const float *from, std::int64_t outer, int middle, int inner, float *to) {
        const int n = Inner ? Inner : inner;
        for (std::int64_t u = 0; u < outer; ++u, to += n)
            for (int g = 0; g < middle; ++g, from += n)
                for (int i = 0; i < n; ++i) to[i] += from[i];
    }

    float marginal(int group, float less) const {
        return (std::max(0.0f, base[std::size_t(group)] - less) + 1.0f) /
               (std::max(0.0f, base_total - less) + float(base.size() - 1));
    }
};

}  // namespace tanager::forest
