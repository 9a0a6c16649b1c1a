#include "factor_loss.hpp"

#include <algorithm>
#include <cmath>

#include "cpu.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tanager {

namespace {

constexpr int block = FactorTerms::block, lanes = 16;

// Sums of sixteen lanes, always in the same order, so that every processor gives the same.
inline double total(float *sums) {
    for (int half = lanes / 2; half > 0; half /= 2)
        for (int j = 0; j < half; ++j) sums[j] += sums[j + half];
    return double(sums[0]);
}

// logs (line) += the weighted terms of a block of rows, four factors at a time, so that sums are read and written once
// for all; a line is a block for every side. How many factors there are is a multiple of four.
void add_terms_plain(const std::int8_t *steps, std::int64_t n_factors, std::int64_t line, const float *factors,
                     float *logs) {
    for (std::int64_t f = 0; f < n_factors; f += 4, steps += 4 * line) {
        const float a = factors[f], b = factors[f + 1], c = factors[f + 2], d = factors[f + 3];
        const std::int8_t *t0 = steps, *t1 = t0 + line, *t2 = t1 + line, *t3 = t2 + line;
        for (std::int64_t i = 0; i < line; ++i)
            logs[i] += (a * float(t0[i]) + b * float(t1[i])) + (c * float(t2[i]) + d * float(t3[i]));
    }
}

// slopes += the sum over a block of rows of terms times gaps.
void add_slopes_plain(const std::int8_t *steps, std::int64_t n_factors, std::int64_t line, const float *gaps,
                      double *slopes) {
    for (std::int64_t f = 0; f < n_factors; ++f, steps += line) {
        float sums[lanes] = {};
        for (std::int64_t i = 0; i < line; i += lanes)
            for (int j = 0; j < lanes; ++j) sums[j] += float(steps[i + j]) * gaps[i + j];
        slopes[f] += total(sums);
    }
}

#if defined(__x86_64__)
#define TANAGER_AVX2 __attribute__((target("avx2")))

TANAGER_AVX2 inline __m256 eight(const std::int8_t *steps) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(steps))));
}

TANAGER_AVX2 void add_terms_avx2(const std::int8_t *steps, std::int64_t n_factors, std::int64_t line,
                                 const float *factors, float *logs) {
    for (std::int64_t f = 0; f < n_factors; f += 4, steps += 4 * line) {
        const __m256 a = _mm256_set1_ps(factors[f]), b = _mm256_set1_ps(factors[f + 1]),
                     c = _mm256_set1_ps(factors[f + 2]), d = _mm256_set1_ps(factors[f + 3]);
        for (std::int64_t i = 0; i < line; i += 8) {
            const __m256 ab =
                _mm256_add_ps(_mm256_mul_ps(a, eight(steps + i)), _mm256_mul_ps(b, eight(steps + line + i)));
            const __m256 cd = _mm256_add_ps(_mm256_mul_ps(c, eight(steps + 2 * line + i)),
                                            _mm256_mul_ps(d, eight(steps + 3 * line + i)));
            _mm256_storeu_ps(logs + i, _mm256_add_ps(_mm256_loadu_ps(logs + i), _mm256_add_ps(ab, cd)));
        }
    }
}

TANAGER_AVX2 void add_slopes_avx2(const std::int8_t *steps, std::int64_t n_factors, std::int64_t line,
                                  const float *gaps, double *slopes) {
    for (std::int64_t f = 0; f < n_factors; f += 4, steps += 4 * line) {  // four at a time: gaps are read once
        __m256 low[4], high[4];
        for (int t = 0; t < 4; ++t) low[t] = high[t] = _mm256_setzero_ps();
        for (std::int64_t i = 0; i < line; i += lanes) {
            const __m256 gap = _mm256_loadu_ps(gaps + i), next = _mm256_loadu_ps(gaps + i + 8);
            for (int t = 0; t < 4; ++t) {
                low[t] = _mm256_add_ps(low[t], _mm256_mul_ps(eight(steps + t * line + i), gap));
                high[t] = _mm256_add_ps(high[t], _mm256_mul_ps(eight(steps + t * line + i + 8), next));
            }
        }
        for (int t = 0; t < 4; ++t) {
            const __m256 both = _mm256_add_ps(low[t], high[t]);
            __m128 four = _mm_add_ps(_mm256_castps256_ps128(both), _mm256_extractf128_ps(both, 1));
            four = _mm_add_ps(four, _mm_movehl_ps(four, four));
            slopes[f + t] += double(_mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1))));
        }
    }
}

// The same with sixteen lanes at once, which are added up in the same order.
#define TANAGER_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

TANAGER_AVX512 inline __m512 sixteen(const std::int8_t *steps) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(steps))));
}

TANAGER_AVX512 void add_terms_avx512(const std::int8_t *steps, std::int64_t n_factors, std::int64_t line,
                                     const float *factors, float *logs) {
    for (std::int64_t f = 0; f < n_factors; f += 4, steps += 4 * line) {
        const __m512 a = _mm512_set1_ps(factors[f]), b = _mm512_set1_ps(factors[f + 1]),
                     c = _mm512_set1_ps(factors[f + 2]), d = _mm512_set1_ps(factors[f + 3]);
        for (std::int64_t i = 0; i < line; i += lanes) {
            const __m512 ab =
                _mm512_add_ps(_mm512_mul_ps(a, sixteen(steps + i)), _mm512_mul_ps(b, sixteen(steps + line + i)));
            const __m512 cd = _mm512_add_ps(_mm512_mul_ps(c, sixteen(steps + 2 * line + i)),
                                            _mm512_mul_ps(d, sixteen(steps + 3 * line + i)));
            _mm512_storeu_ps(logs + i, _mm512_add_ps(_mm512_loadu_ps(logs + i), _mm512_add_ps(ab, cd)));
        }
    }
}

TANAGER_AVX512 void add_slopes_avx512(const std::int8_t *steps, std::int64_t n_factors, std::int64_t line,
                                      const float *gaps, double *slopes) {
    for (std::int64_t f = 0; f < n_factors; f += 4, steps += 4 * line) {
        __m512 sums[4];
        for (int t = 0; t < 4; ++t) sums[t] = _mm512_setzero_ps();
        for (std::int64_t i = 0; i < line; i += lanes) {
            const __m512 gap = _mm512_loadu_ps(gaps + i);
            for (int t = 0; t < 4; ++t)
                sums[t] = _mm512_add_ps(sums[t], _mm512_mul_ps(sixteen(steps + t * line + i), gap));
        }
        for (int t = 0; t < 4; ++t) {
            float own[lanes];
            _mm512_storeu_ps(own, sums[t]);
            slopes[f + t] += total(own);
        }
    }
}
#endif

struct Passes {
    decltype(&add_terms_plain) add_terms;
    decltype(&add_slopes_plain) add_slopes;
};

Passes best_passes() {
#if defined(__x86_64__)
    if (chosen_cpu_level() == CpuLevel::avx512) return {add_terms_avx512, add_slopes_avx512};
    if (chosen_cpu_level() != CpuLevel::plain) return {add_terms_avx2, add_slopes_avx2};
#endif
    return {add_terms_plain, add_slopes_plain};
}

// Logs of a block become gaps: probability less what was seen, times the weight of the row; none where there is no row.
// Returns the weighted loss.
double close(const FactorTerms &terms, std::int64_t begin, const double *fixed, float *logs, double *slopes,
             double *losses) {
    const int c = terms.n_classes, n = int(std::min<std::int64_t>(block, terms.n_rows - begin));
    double loss_of_all = 0;
    std::vector<double> own(std::size_t(c), 0.0);
    for (int r = 0; r < block; ++r) {
        if (r >= n) {
            for (int s = 0; s < FactorTerms::sides(c); ++s) logs[s * block + r] = 0.0f;
            continue;
        }
        if (c == 2) {
            own[0] = fixed[0] - double(logs[r]);
            own[1] = fixed[1] + double(logs[r]);
        } else {
            for (int y = 0; y < c; ++y) own[std::size_t(y)] = fixed[y] + double(logs[y * block + r]);
        }
        const double top = *std::max_element(own.begin(), own.end());
        const int label = terms.labels[begin + r];
        const double mine = own[std::size_t(label)] - top, weight = double(terms.weights[begin + r]);
        double sum = 0;
        for (double &x : own) sum += x = std::exp(x - top);
        const double loss = std::log(sum) - mine;
        if (losses) losses[begin + r] = loss;
        loss_of_all += weight * loss;
        for (int y = 0; y < c; ++y) {
            own[std::size_t(y)] = weight * (own[std::size_t(y)] / sum - (y == label ? 1.0 : 0.0));
            if (slopes) slopes[terms.n_factors + y] += own[std::size_t(y)];
        }
        if (c == 2) {
            logs[r] = float(own[1] - own[0]);
        } else {
            for (int y = 0; y < c; ++y) logs[y * block + r] = float(own[std::size_t(y)]);
        }
    }
    return loss_of_all;
}

}  // namespace

double factor_loss(const FactorTerms &terms, const double *factors, const double *fixed, double *slopes,
                   double *losses) {
    const std::int64_t n = terms.n_factors, fours = n / 4 * 4, line = FactorTerms::sides(terms.n_classes) * block;
    const Passes passes = best_passes();
    std::vector<float> own(static_cast<std::size_t>(n)), logs(static_cast<std::size_t>(line));
    for (std::int64_t f = 0; f < n; ++f) own[std::size_t(f)] = float(factors[f]) * terms.unit;
    if (slopes) std::fill_n(slopes, n + terms.n_classes, 0.0);
    double loss = 0;
    const std::int8_t *steps = terms.steps;
    for (std::int64_t begin = 0; begin < terms.n_rows; begin += block, steps += n * line) {
        std::fill(logs.begin(), logs.end(), 0.0f);
        passes.add_terms(steps, fours, line, own.data(), logs.data());
        for (std::int64_t f = fours; f < n; ++f)
            for (std::int64_t i = 0; i < line; ++i)
                logs[std::size_t(i)] += own[std::size_t(f)] * float(steps[f * line + i]);
        loss += close(terms, begin, fixed, logs.data(), slopes, losses);
        if (!slopes) continue;
        passes.add_slopes(steps, fours, line, logs.data(), slopes);
        add_slopes_plain(steps + fours * line, n - fours, line, logs.data(), slopes + fours);
    }
    if (slopes)
        for (std::int64_t f = 0; f < n; ++f) slopes[f] *= double(terms.unit);
    return loss;
}

}  // namespace tanager
