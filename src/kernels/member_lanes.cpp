#include "member_lanes.hpp"

#include <algorithm>
#include <cstring>

#define TANAGER_INLINE inline __attribute__((always_inline))

namespace tanager::scoring {

namespace {

// Vectors of some doubles. They are never handed from function to function but inlined: how that is done depends on the
// instruction set.
typedef double PairOfDoubles __attribute__((vector_size(16)));
typedef double QuadOfDoubles __attribute__((vector_size(32)));

template <class V>
inline constexpr int lanes_of = sizeof(V) / sizeof(double);

template <class V>
TANAGER_INLINE void load(V &v, const double *from) {
    std::memcpy(&v, from, sizeof v);
}
template <class V>
TANAGER_INLINE void store(const V &v, double *to) {
    std::memcpy(to, &v, sizeof v);
}

// The product of some lines of one row, at one register: as (a b) (c d).
template <class V, int Lines>
TANAGER_INLINE void product_of(const double *table, const std::uint32_t *cell, V &out) {
    V other;
    load(out, table + cell[0]);
    if constexpr (Lines > 1) {
        load(other, table + cell[1]);
        out *= other;
    }
    if constexpr (Lines > 2) {
        product_of<V, Lines - 2>(table, cell + 2, other);
        out *= other;
    }
}

// Some registers of one row.
template <class V, int Registers, int Four>
TANAGER_INLINE void multiply_some(const double *table, const std::uint32_t *cell, int n_lines, const double *start,
                                  double *out) {
    V v[Registers], some;
    for (int t = 0; t < Registers; ++t) load(v[t], start + t * lanes_of<V>);
    int i = 0;
    for (; i + Four <= n_lines; i += Four)
        for (int t = 0; t < Registers; ++t) {
            product_of<V, Four>(table + t * lanes_of<V>, cell + i, some);
            v[t] *= some;
        }
    for (int t = 0; t < Registers && i < n_lines; ++t) {
        const double *own = table + t * lanes_of<V>;
        if (Four > 2 && n_lines - i == 3) product_of<V, 3>(own, cell + i, some);
        else if (Four > 2 && n_lines - i == 2) product_of<V, 2>(own, cell + i, some);
        else product_of<V, 1>(own, cell + i, some);
        v[t] *= some;
    }
    for (int t = 0; t < Registers; ++t) store(v[t], out + t * lanes_of<V>);
}

template <class V, int Registers>
TANAGER_INLINE void multiply_rows(const RowLines &lines, const int *rows, int n_rows, int from, int to, int lane,
                                  const double *start, double *out) {
    const double *table = lines.table + lane;
    const auto each = [&]<int Four>() __attribute__((always_inline)) {
        double *own = out + lane;
        for (int at = 0; at < n_rows; ++at, own += lines.width)
            multiply_some<V, Registers, Four>(table, lines.cells + std::size_t(rows[at]) * lines.n_columns + from,
                                              to - from, start ? start + lane : own, own);
    };
    if (lines.lines_for_four == 4) each.template operator()<4>();
    else if (lines.lines_for_four == 2) each.template operator()<2>();
    else each.template operator()<1>();
}

template <class V>
TANAGER_INLINE void multiply_all(const RowLines &lines, const int *rows, int n_rows, int from, int to,
                                 const double *start, double *out) {
    constexpr int n = lanes_of<V>;
    int lane = 0;
    for (; lane + 8 * n <= lines.width; lane += 8 * n)
        multiply_rows<V, 8>(lines, rows, n_rows, from, to, lane, start, out);
    switch ((lines.width - lane) / n) {
        case 1: return multiply_rows<V, 1>(lines, rows, n_rows, from, to, lane, start, out);
        case 2: return multiply_rows<V, 2>(lines, rows, n_rows, from, to, lane, start, out);
        case 3: return multiply_rows<V, 3>(lines, rows, n_rows, from, to, lane, start, out);
        case 4: return multiply_rows<V, 4>(lines, rows, n_rows, from, to, lane, start, out);
        case 5: return multiply_rows<V, 5>(lines, rows, n_rows, from, to, lane, start, out);
        case 6: return multiply_rows<V, 6>(lines, rows, n_rows, from, to, lane, start, out);
        case 7: return multiply_rows<V, 7>(lines, rows, n_rows, from, to, lane, start, out);
        default: return;
    }
}

// Numbers of one row, four lanes at a time: their sum, in the same order for all vectors, and the largest.
template <class V>
struct FourLanes {
    static constexpr int n = 4 / lanes_of<V>;
    V sum[n] = {}, most = {};

    TANAGER_INLINE void see(int u, const V &v) {
        sum[u] += v;
        most = v > most ? v : most;
    }
    TANAGER_INLINE double all() const {
        if constexpr (n == 1) return (sum[0][0] + sum[0][2]) + (sum[0][1] + sum[0][3]);
        else return (sum[0][0] + sum[1][0]) + (sum[0][1] + sum[1][1]);
    }
    TANAGER_INLINE double best() const {
        double out = most[0];
        for (int u = 1; u < lanes_of<V>; ++u) out = std::max(out, most[u]);
        return out;
    }
};

// Whether one number alone is as large as this.
template <class V>
TANAGER_INLINE bool one_reaches(const double *row, int width, double least) {
    V v;
    decltype(v > v) ahead{};
    for (int c = 0; c < width; c += lanes_of<V>) {
        load(v, row + c);
        ahead -= v >= least;
    }
    long long n_ahead = 0;
    for (int u = 0; u < lanes_of<V>; ++u) n_ahead += ahead[u];
    return n_ahead == 1;
}

// Ties as in `judged`: who is ahead of them depends on the class counts, and is asked there.
template <class V>
TANAGER_INLINE void judge_all(const double *values, const int *rows, int n_rows, int width, const int *labels,
                              double *totals, Verdicts &out) {
    constexpr int n = lanes_of<V>;
    for (int at = 0; at < n_rows; ++at, values += width) {
        const double *row = values;
        FourLanes<V> seen;
        V v, more;
        if (totals) {
            double *total = totals + std::size_t(rows[at]) * width;
            for (int c = 0; c < width; c += 4)
                for (int u = 0; u < FourLanes<V>::n; ++u) {
                    load(v, total + c + u * n);
                    load(more, values + c + u * n);
                    v += more;
                    store(v, total + c + u * n);
                    seen.see(u, v);
                }
            row = total;
        } else {
            for (int c = 0; c < width; c += 4)
                for (int u = 0; u < FourLanes<V>::n; ++u) {
                    load(v, row + c + u * n);
                    seen.see(u, v);
                }
        }
        const double all = seen.all(), tie = seen.best() - 1e-12 * all, own = row[labels[rows[at]]];
        out.share[at] = own / all;
        if (own < tie) out.verdict[at] = Verdict::wrong;
        else out.verdict[at] = one_reaches<V>(row, width, tie) ? Verdict::right : Verdict::unclear;
    }
}

TANAGER_INLINE void invert_all(const double *__restrict count, const double *__restrict lost, double total, int k,
                               double *__restrict out) {
    for (int c = 0; c < k; ++c) {
        const double left = count[c] - lost[c];
        out[c] = 1 / ((left > 0 ? left : 0) + total);
    }
}

TANAGER_INLINE void estimate_all(const double *__restrict own, std::int64_t step, int n_slots, int k, double pseudo,
                                 const double *__restrict inverse, int width, double *__restrict out) {
    for (int v = 0; v < n_slots; ++v, own += step, out += width)
        for (int c = 0; c < k; ++c) out[c] = ((own[c] > 0 ? own[c] : 0) + pseudo) * inverse[c];
}

#define TANAGER_LANES(level, Vector, target)                                                                   \
    target void multiply_##level(const RowLines &lines, const int *rows, int n_rows, int from, int to,         \
                                 const double *start, double *out) {                                           \
        multiply_all<Vector>(lines, rows, n_rows, from, to, start, out);                                       \
    }                                                                                                          \
    target void judge_##level(const double *values, const int *rows, int n_rows, int width, const int *labels, \
                              double *totals, Verdicts &out) {                                                 \
        judge_all<Vector>(values, rows, n_rows, width, labels, totals, out);                                   \
    }                                                                                                          \
    target void invert_##level(const double *count, const double *lost, double total, int k, double *out) {    \
        invert_all(count, lost, total, k, out);                                                                \
    }                                                                                                          \
    target void estimate_##level(const double *own, std::int64_t step, int n_slots, int k, double pseudo,      \
                                 const double *inverse, int width, double *out) {                              \
        estimate_all(own, step, n_slots, k, pseudo, inverse, width, out);                                      \
    }                                                                                                          \
    constexpr LaneFunctions level##_lanes{multiply_##level, judge_##level, invert_##level, estimate_##level};

TANAGER_LANES(plain, PairOfDoubles, )
#if defined(__x86_64__)
TANAGER_LANES(avx2, QuadOfDoubles, __attribute__((target("avx2"))))
#endif

}  // namespace

const LaneFunctions &lanes_at(CpuLevel level) {
#if defined(__x86_64__)
    if (level != CpuLevel::plain) return avx2_lanes;
#endif
    (void)level;
    return plain_lanes;
}

}  // namespace tanager::scoring
