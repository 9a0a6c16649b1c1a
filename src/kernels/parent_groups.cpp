#include "parent_groups.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu.hpp"

namespace tanager::scoring {

ParentGroups::ParentGroups(const std::vector<const int *> &slots, int n_rows, int most)
    : line(slots.size() * std::size_t(n_rows)), entry(line.size()), n_rows_(std::size_t(n_rows)) {
    for (const int *slot : slots) add_column(slot, most);
}

void ParentGroups::add_column(const int *slot, int most) {
    const std::size_t q = columns.size(), n = n_rows_ == 0 ? 0 : line.size() / n_rows_;
    std::vector<int> occurring(slot, slot + n_rows_);
    std::sort(occurring.begin(), occurring.end());
    occurring.erase(std::unique(occurring.begin(), occurring.end()), occurring.end());
    const auto n_slots = std::int64_t(occurring.size());
    if (groups.empty() || groups.back().n_entries * n_slots > most)
        groups.push_back({int(q), int(q), std::int32_t(n_entries), 1});
    Group &group = groups.back();
    const std::int32_t stride = group.n_entries;
    std::vector<std::int32_t> number(occurring.empty() ? 0 : std::size_t(occurring.back()) + 1);
    for (std::size_t w = 0; w < occurring.size(); ++w) number[std::size_t(occurring[w])] = std::int32_t(w);
    for (std::size_t r = 0; r < n_rows_; ++r) {
        const std::int32_t own = number[std::size_t(slot[r])];
        line[r * n + q] = n_lines + own;
        entry[q * n_rows_ + r] =
            (group.first == int(q) ? group.first_entry : entry[(q - 1) * n_rows_ + r]) + own * stride;
    }
    columns.push_back({std::move(occurring), n_lines, int(groups.size()) - 1, stride});
    group.end = int(q) + 1;
    group.n_entries *= std::int32_t(n_slots);
    n_lines += int(n_slots);
    n_entries = group.first_entry + group.n_entries;
}

ParentTables::ParentTables(const ParentGroups &groups, int width, bool own)
    : groups_(groups), width_(width), full_(own ? 2 * width : width),
      wide_(chosen_cpu_level() != CpuLevel::plain && full_ % 4 == 0), lines_(std::size_t(groups.n_lines) * full_),
      entries_(std::size_t(groups.n_entries) * full_), counted_(std::size_t(groups.n_entries) * width_),
      entries_of_(groups.groups.size()) {}

namespace {

typedef double TwoOfLine __attribute__((vector_size(16)));
typedef double FourOfLine __attribute__((vector_size(32)));

// All that goes through lines, with two or four numbers at a time: the same additions in the same order.
template <class Lane>
struct LineWork {
    static constexpr int size = int(sizeof(Lane) / sizeof(double));

    // One register after the other: a copy of several is made in halves, and to read one whole waits for both.
    [[gnu::always_inline]] static Lane load(const double *from) {
        Lane out;
        std::memcpy(&out, from, sizeof out);
        return out;
    }
    [[gnu::always_inline]] static void store(const Lane &lane, double *to) { std::memcpy(to, &lane, sizeof lane); }

    [[gnu::always_inline]] static void to_probabilities(const double *cells, const double *inverse, double pseudo,
                                                        double less, int width, double *out) {
        for (int c = 0; c < width; c += size) {
            const Lane rest = load(cells + c) - less;
            store(((rest > 0 ? rest : Lane{}) + pseudo) * load(inverse + c), out + c);
        }
    }
    [[gnu::always_inline]] static void add(const double *a, const double *b, int n, double *out) {
        for (int c = 0; c < n; c += size) store(load(a + c) + load(b + c), out + c);
    }
    // N registers of the sum of a row, from class c on, over lines line(g). With `has_own` that of class y is of the
    // numbers less a row, behind the others. All of it stays in registers: a number that was written to memory by
    // itself holds up whoever reads it as one of four, and all rows behind.
    template <int N, class Line>
    [[gnu::always_inline]] static void sum(const SumReader &rows, std::int64_t p, int n_lines, int width, bool has_own,
                                           int c, const Line &line) {
        const int r = rows.rows[p], y = rows.label[r], cell = width + y;
        Lane total[N], place;
        for (int u = 0; u < N; ++u) total[u] = load(rows.extra + c + u * size);
        double own = has_own ? rows.extra[cell] : 0;
        for (int g = 0; g < n_lines; ++g) {
            const double *at = line(r, g);
            for (int u = 0; u < N; ++u) total[u] += load(at + c + u * size);
            if (has_own) own += at[cell];
        }
        if (rows.own && !std::isnan(rows.own[p])) own = rows.own[p];
        for (int x = 0; x < size; ++x) place[x] = x;
        for (int u = 0; u < N; ++u) {
            const Lane all_own = Lane{} + own;
            if (has_own) total[u] = place == double(y - c - u * size) ? all_own : total[u];
            const std::size_t at = std::size_t(r) * std::size_t(width) + std::size_t(c + u * size);
            if (rows.base) total[u] += load(rows.base + at);
            if (rows.multiplies) total[u] *= load(rows.out + at);
            store(total[u], rows.out + at);
        }
    }
    template <int N, class Line>
    [[gnu::always_inline]] static void sum_rows(const SumReader &rows, int n_lines, int width, bool has_own, int c,
                                                const Line &line) {
        if (has_own)
            for (std::int64_t p = 0; p < rows.n_rows; ++p) sum<N>(rows, p, n_lines, width, true, c, line);
        else
            for (std::int64_t p = 0; p < rows.n_rows; ++p) sum<N>(rows, p, n_lines, width, false, c, line);
    }
    template <class Line>
    [[gnu::always_inline]] static void sum_all(const SumReader &rows, int n_lines, int width, bool has_own,
                                               const Line &line) {
        int c = 0;
        for (; c + 6 * size <= width; c += 4 * size) sum_rows<4>(rows, n_lines, width, has_own, c, line);
        switch ((width - c) / size) {
            case 5: return sum_rows<5>(rows, n_lines, width, has_own, c, line);
            case 4: return sum_rows<4>(rows, n_lines, width, has_own, c, line);
            case 3: return sum_rows<3>(rows, n_lines, width, has_own, c, line);
            case 2: return sum_rows<2>(rows, n_lines, width, has_own, c, line);
            default: return sum_rows<1>(rows, n_lines, width, has_own, c, line);
        }
    }
    [[gnu::always_inline]] static void give(const double *sum, const SumReader &rows, int r, int width) {
        const std::size_t at = std::size_t(r) * width;
        for (int c = 0; c < width; c += size) {
            Lane own = load(sum + c);
            if (rows.base) own += load(rows.base + at + c);
            if (rows.multiplies) own *= load(rows.out + at + c);
            store(own, rows.out + at + c);
        }
    }
};

}  // namespace

template <class Lane>
[[gnu::always_inline]] inline void ParentTables::make_with(int place, const ParentCounts &counts) {
    const int width = width_, full = full_;
    double *lines = lines_.data(), *entries = entries_.data();
    const int n_lines = groups_.lines_before(place);
    const auto to_probabilities = [&](int l, int from, double less) __attribute__((always_inline)) {
        const std::size_t at = std::size_t(l) * full + from;
        const double *cells = counts.cells + std::size_t(l) * width;
        if (width == 2)  // of which there may be an odd number, and no four in a row
            LineWork<TwoOfLine>::to_probabilities(cells, counts.inverse + at, counts.pseudo, less, width, lines + at);
        else LineWork<Lane>::to_probabilities(cells, counts.inverse + at, counts.pseudo, less, width, lines + at);
    };
    for (int l = 0; l < n_lines; ++l) {
        to_probabilities(l, 0, 0.0);
        if (full > width) to_probabilities(l, width, counts.less);
    }
    std::fill_n(counts.cells, std::size_t(n_lines) * width, 0.0);
    const int n_groups = grouped_ ? groups_.groups_before(place) : 0;
    for (int g = 0; g < n_groups; ++g) {
        const ParentGroups::Group &group = groups_.groups[std::size_t(g)];
        double *first = entries + std::size_t(group.first_entry) * full;
        for (int q = group.first; q < std::min(group.end, place); ++q) {
            const ParentGroups::Column &own = groups_.columns[std::size_t(q)];
            const double *line = lines + std::size_t(own.first_line) * full;
            if (q == group.first) {
                std::copy_n(line, std::size_t(own.n_slots()) * full, first);
                continue;
            }
            // The first slot last: from its entries those of all slots are made.
            for (int w = own.n_slots() - 1; w >= 0; --w)
                for (int z = 0; z < own.stride; ++z)
                    LineWork<Lane>::add(first + std::size_t(z) * full, line + std::size_t(w) * full, full,
                                        first + (std::size_t(w) * own.stride + z) * full);
        }
    }
}

// Two classes, whose sums and those of the own class stay in registers.
template <class Lane>
[[gnu::always_inline]] inline void ParentTables::read_two(int place, const SumReader &rows) {
    using Work = LineWork<Lane>;
    constexpr int most = 4 / Work::size;
    const int n_groups = groups_.groups_before(place), n_lanes = full_ / Work::size;
    const std::int32_t **entries_of = entries_of_.data();
    const double *entries = entries_.data();
    for (std::int64_t p = 0; p < rows.n_rows; ++p) {
        const int r = rows.rows[p], y = rows.label[r];
        Lane total[most] = {};
        for (int u = 0; u < n_lanes; ++u) total[u] = Work::load(rows.extra + u * Work::size);
        for (int g = 0; g < n_groups; ++g) {
            const double *line = entries + std::size_t(entries_of[g][r]) * full_;
            for (int u = 0; u < n_lanes; ++u) total[u] += Work::load(line + u * Work::size);
        }
        const auto lane = [&](int c) __attribute__((always_inline)) { return total[c / Work::size][c % Work::size]; };
        double sum[2] = {lane(0), lane(1)};
        if (full_ > 2) {
            double own = y == 0 ? lane(2) : lane(3);
            if (rows.own && !std::isnan(rows.own[p])) own = rows.own[p];
            sum[0] = y == 0 ? own : sum[0];
            sum[1] = y == 0 ? sum[1] : own;
        }
        for (std::size_t c = 0, at = 2 * std::size_t(r); c < 2; ++c) {
            const double value = rows.base ? sum[c] + rows.base[at + c] : sum[c];
            rows.out[at + c] = rows.multiplies ? rows.out[at + c] * value : value;
        }
    }
}

template <class Lane>
[[gnu::always_inline]] inline void ParentTables::read_with(int place, const SumReader &rows) {
    const std::size_t full = std::size_t(full_);
    const bool has_own = full_ > width_;
    if (!grouped_) {
        const double *lines = lines_.data();
        const std::int32_t *of_rows = groups_.line.data();
        const std::size_t n = groups_.columns.size();
        return LineWork<Lane>::sum_all(rows, place, width_, has_own, [=](int r, int q) __attribute__((always_inline)) {
            return lines + std::size_t(of_rows[std::size_t(r) * n + std::size_t(q)]) * full;
        });
    }
    const int n_groups = groups_.groups_before(place);
    const double *entries = entries_.data();
    const std::int32_t **entries_of = entries_of_.data();
    for (int g = 0; g < n_groups; ++g) entries_of[g] = groups_.entries_of(g, place);
    if (width_ == 2) return read_two<Lane>(place, rows);
    LineWork<Lane>::sum_all(rows, n_groups, width_, has_own, [=](int r, int g) __attribute__((always_inline)) {
        return entries + std::size_t(entries_of[g][r]) * full;
    });
}

// A row is counted for every column; or for every group, whose combinations are then added up.
void ParentTables::count(int place, const CountedRows &rows, double *cells) {
    const int n_groups = groups_.groups_before(place);
    if (rows.n_rows * (place - n_groups) > 2 * entries_before(n_groups) * width_) count_groups(place, rows, cells);
    else count_lines(place, rows, cells);
}

void ParentTables::count_lines(int place, const CountedRows &rows, double *cells) const {
    for (std::int64_t p = 0; p < rows.n_rows; ++p) {
        const int r = rows.rows[p];
        const std::int32_t *line = groups_.lines_of(r);
        const double weight = rows.weight[r];
        double *own = cells + rows.label[r];
        for (int q = 0; q < place; ++q) own[std::size_t(line[q]) * width_] += weight;
    }
}

void ParentTables::count_groups(int place, const CountedRows &rows, double *cells) {
    const int n_groups = groups_.groups_before(place);
    for (int g = 0; g < n_groups; ++g) {
        const std::int32_t *entry = groups_.entries_of(g, place);
        for (std::int64_t p = 0; p < rows.n_rows; ++p) {
            const int r = rows.rows[p];
            counted_[std::size_t(entry[r]) * width_ + rows.label[r]] += rows.weight[r];
        }
        sum_out(groups_.groups[std::size_t(g)], place, cells);
    }
}

// From the combinations of a group to its columns, the last first; nothing is left behind.
void ParentTables::sum_out(const ParentGroups::Group &group, int place, double *cells) {
    const std::size_t width = std::size_t(width_);
    double *counted = counted_.data() + std::size_t(group.first_entry) * width;
    for (int q = std::min(group.end, place) - 1; q >= group.first; --q) {
        const ParentGroups::Column &own = groups_.columns[std::size_t(q)];
        const std::size_t block = std::size_t(own.stride) * width;
        for (std::size_t w = 0; w < own.slots.size(); ++w) {
            double *line = cells + (std::size_t(own.first_line) + w) * width, *from = counted + w * block;
            for (std::size_t z = 0; z < block; z += width)
                for (std::size_t c = 0; c < width; ++c) line[c] += from[z + c];
            if (w == 0) continue;
            for (std::size_t z = 0; z < block; ++z) counted[z] += from[z];
            std::fill_n(from, block, 0.0);
        }
    }
    std::fill_n(counted, width, 0.0);
}

void ParentTables::make(int place, const ParentCounts &counts, std::int64_t n_rows) {
    const int n_groups = groups_.groups_before(place);
    // Two classes have two numbers in a line, and rows of single lines would read them one by one.
    grouped_ = width_ == 2 || n_rows * (place - n_groups) > entries_before(n_groups) * (full_ / 4);
#if defined(__x86_64__)
    if (wide_) return make_avx2(place, counts);
#endif
    make_with<TwoOfLine>(place, counts);
}

void ParentTables::read(int place, const SumReader &rows) {
#if defined(__x86_64__)
    if (wide_) return read_avx2(place, rows);
#endif
    read_with<TwoOfLine>(place, rows);
}

void ParentTables::give(const double *sum, const SumReader &rows, int r) const {
    LineWork<TwoOfLine>::give(sum, rows, r, width_);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void ParentTables::make_avx2(int place, const ParentCounts &counts) {
    make_with<FourOfLine>(place, counts);
}

__attribute__((target("avx2"))) void ParentTables::read_avx2(int place, const SumReader &rows) {
    read_with<FourOfLine>(place, rows);
}
#endif

}  // namespace tanager::scoring
