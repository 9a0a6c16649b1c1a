#include "tree_sum.hpp"

#include <algorithm>

#include "cpu.hpp"

#define TANAGER_INLINE inline __attribute__((always_inline))

namespace tanager::trees {

namespace {

TANAGER_INLINE double sum(const double *x, std::size_t n) {
    double s[4] = {0, 0, 0, 0};  // side by side; the same on every machine
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int q = 0; q < 4; ++q) s[q] += x[i + q];
    for (; i < n; ++i) s[0] += x[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

TANAGER_INLINE Product plain_sum(double *__restrict w, std::size_t n, double *__restrict share) {
    Product product;
    for (std::size_t u = n; u-- > 1;) {
        const double *own = w + edge(u, 0);
        const double d = sum(own, u), by = 1 / d;
        product.multiply(d);
        for (std::size_t v = 0; v < u; ++v) share[v] = own[v] * by;
        for (std::size_t v = 1; v < u; ++v) {
            const double factor = own[v];
            double *__restrict to = w + edge(v, 0);
            for (std::size_t t = 0; t < v; ++t) to[t] += factor * share[t];
        }
    }
    return product;
}

// x moved down by some steps of 2^512. After two of them it is nothing beside a settled number, even where x itself is
// the product of two.
TANAGER_INLINE double moved(double x, double steps) { return x * (steps == 0 ? 1.0 : steps == -1 ? 0x1p-512 : 0.0); }

TANAGER_INLINE Product wide_sum(WideWeights &weights, std::size_t n, WideWeights &memory, Elimination *steps) {
    double *__restrict m = weights.m.data(), *__restrict e = weights.e.data();
    double *__restrict share = memory.m.data(), *__restrict share_e = memory.e.data();
    Product product;
    for (std::size_t u = n; u-- > 1;) {
        const double *own = m + edge(u, 0), *own_e = e + edge(u, 0);
        double top = own_e[0], d = 0;
        for (std::size_t v = 1; v < u; ++v) top = std::max(top, own_e[v]);
        for (std::size_t v = 0; v < u; ++v) d += moved(own[v], own_e[v] - top);
        settle(d, top);
        product.multiply(d);
        product.power += 512 * top;
        for (std::size_t v = 0; v < u; ++v) {
            share[v] = own[v] / d;
            share_e[v] = own_e[v] - top;
            settle(share[v], share_e[v]);
        }
        if (steps) {
            steps->log_sum[u] = Product{d, 512 * top}.log();
            for (std::size_t v = 0; v < u; ++v) steps->share[edge(u, v)] = moved(share[v], share_e[v]);
        }
        for (std::size_t v = 1; v < u; ++v) {
            const double factor = own[v], factor_e = own_e[v];
            double *__restrict to = m + edge(v, 0), *__restrict to_e = e + edge(v, 0);
            for (std::size_t t = 0; t < v; ++t) {
                const double more = factor * share[t], more_e = factor_e + share_e[t];
                double high = std::max(to_e[t], more_e);
                double x = moved(to[t], to_e[t] - high) + moved(more, more_e - high);
                settle(x, high);
                to[t] = x;
                to_e[t] = high;
            }
        }
    }
    return product;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) Product plain_sum_avx2(double *w, std::size_t n, double *share) {
    return plain_sum(w, n, share);
}
__attribute__((target("avx2"))) Product wide_sum_avx2(WideWeights &weights, std::size_t n, WideWeights &memory,
                                                      Elimination *steps) {
    return wide_sum(weights, n, memory, steps);
}
#endif

}  // namespace

Product tree_sum(double *weights, std::size_t n, double *memory) {
#if defined(__x86_64__)
    if (chosen_cpu_level() >= CpuLevel::avx2) return plain_sum_avx2(weights, n, memory);
#endif
    return plain_sum(weights, n, memory);
}

Product tree_sum(WideWeights &weights, std::size_t n, WideWeights &memory, Elimination *steps) {
#if defined(__x86_64__)
    if (chosen_cpu_level() >= CpuLevel::avx2) return wide_sum_avx2(weights, n, memory, steps);
#endif
    return wide_sum(weights, n, memory, steps);
}

}  // namespace tanager::trees
