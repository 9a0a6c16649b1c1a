#include "factor_loss.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tanager {

namespace {

constexpr int block = FactorTerms::block;

// Sums of products of steps and of numbers that are whole numbers of a unit, so that they are exact, whatever the order
// and the processor. Such a number has two words: high * 2^15 + low, which is as good as a float; the products of
// either are added up in 32 bits, of which `most_products` have room.
constexpr int most_products = 512;  // 512 * 128 * 32767 < 2^31
constexpr double words_apart = 32768;

struct Words {
    explicit Words(std::size_t n) : high(n), low(n) {}
    std::vector<std::int16_t> high, low;
    double unit = 1;  // of the low words
};

// Sums of the products of high words and of those of low words, as units of the latter.
inline std::int64_t both(std::int64_t high, std::int64_t low) { return high * std::int64_t(words_apart) + low; }

// sums (line) += the weighted terms of a block of rows; a line is a block for every side.
void add_terms_plain(const std::int8_t *steps, std::int64_t n_factors, std::int64_t line, const std::int16_t *high,
                     const std::int16_t *low, std::int64_t *sums) {
    for (std::int64_t f = 0; f < n_factors; ++f, steps += line) {
        const std::int64_t weight = both(high[f], low[f]);
        for (std::int64_t i = 0; i < line; ++i) sums[i] += weight * steps[i];
    }
}

// slopes += the sum over a block of rows of terms times gaps; at most `most_products` at a time.
void add_slopes_plain(const std::int8_t *steps, std::int64_t n_factors, std::int64_t line, const Words &gaps,
                      double *slopes) {
    for (std::int64_t begin = 0; begin < line; begin += most_products)
        for (std::int64_t f = 0; f < n_factors; ++f) {
            const std::int64_t end = std::min(line, begin + most_products);
            std::int64_t sum = 0;
            for (std::int64_t i = begin; i < end; ++i)
                sum += both(gaps.high[std::size_t(i)], gaps.low[std::size_t(i)]) * steps[f * line + i];
            slopes[f] += double(sum) * gaps.unit;
        }
}

#if defined(__x86_64__)
#define TANAGER_AVX2 __attribute__((target("avx2")))

TANAGER_AVX2 inline __m256i sixteen(const std::int8_t *steps) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(steps)));
}

TANAGER_AVX2 inline __m256i words_at(const void *from) {
    return _mm256_loadu_si256(static_cast<const __m256i *>(from));
}

// Ask for memory that is read later: terms are larger than the caches, and lines too short for a processor to notice by
// itself what comes next.
TANAGER_AVX2 inline void fetch(const std::int8_t *from) {
    _mm_prefetch(reinterpret_cast<const char *>(from), _MM_HINT_T0);
}

// Two neighbours as one number of 32 bits.
inline std::int32_t pair_of(const std::int16_t *words) {
    return std::int32_t(std::uint32_t(std::uint16_t(words[0])) | std::uint32_t(std::uint16_t(words[1])) << 16);
}

// The same, eight factors at a time. Two factors are interleaved, so that one instruction multiplies both and adds up.
// Of sixteen rows that leaves rows 0-3 and 8-11, then 4-7 and 12-15, in which order they stay until the end.
TANAGER_AVX2 void add_terms_avx2(const std::int8_t *steps, std::int64_t n_factors, std::int64_t line,
                                 const std::int16_t *high, const std::int16_t *low, std::int64_t *sums) {
    constexpr int together = 8, pairs = together / 2;
    std::vector<std::int32_t> high_sums(static_cast<std::size_t>(line)), low_sums(static_cast<std::size_t>(line));
    const std::int64_t whole = n_factors / together * together, ahead = std::max<std::int64_t>(together * line, 2048);
    for (std::int64_t begin = 0; begin < whole; begin += most_products) {
        const std::int64_t end = std::min(whole, begin + most_products);
        std::fill(high_sums.begin(), high_sums.end(), 0);
        std::fill(low_sums.begin(), low_sums.end(), 0);
        for (std::int64_t f = begin; f < end; f += together) {
            const std::int8_t *own = steps + f * line;
            __m256i highs[pairs], lows[pairs];
            for (int p = 0; p < pairs; ++p) {
                highs[p] = _mm256_set1_epi32(pair_of(high + f + 2 * p));
                lows[p] = _mm256_set1_epi32(pair_of(low + f + 2 * p));
            }
            for (std::int64_t i = 0; i < line; i += 16) {
                fetch(own + ahead + together * i);
                fetch(own + ahead + together * i + 64);
                std::int32_t *h = high_sums.data() + i, *l = low_sums.data() + i;
                __m256i h0 = words_at(h), h1 = words_at(h + 8), l0 = words_at(l), l1 = words_at(l + 8);
                for (int p = 0; p < pairs; ++p) {
                    const __m256i a = sixteen(own + 2 * p * line + i), b = sixteen(own + (2 * p + 1) * line + i);
                    const __m256i first = _mm256_unpacklo_epi16(a, b), second = _mm256_unpackhi_epi16(a, b);
                    h0 = _mm256_add_epi32(h0, _mm256_madd_epi16(first, highs[p]));
                    h1 = _mm256_add_epi32(h1, _mm256_madd_epi16(second, highs[p]));
                    l0 = _mm256_add_epi32(l0, _mm256_madd_epi16(first, lows[p]));
                    l1 = _mm256_add_epi32(l1, _mm256_madd_epi16(second, lows[p]));
                }
                _mm256_storeu_si256(reinterpret_cast<__m256i *>(h), h0);
                _mm256_storeu_si256(reinterpret_cast<__m256i *>(h + 8), h1);
                _mm256_storeu_si256(reinterpret_cast<__m256i *>(l), l0);
                _mm256_storeu_si256(reinterpret_cast<__m256i *>(l + 8), l1);
            }
        }
        constexpr int row_of[16] = {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15};
        for (std::int64_t i = 0; i < line; i += 16)
            for (int j = 0; j < 16; ++j)
                sums[i + row_of[j]] += both(high_sums[std::size_t(i + j)], low_sums[std::size_t(i + j)]);
    }
    add_terms_plain(steps + whole * line, n_factors - whole, line, high + whole, low + whole, sums);
}

// Sums of eight numbers each.
TANAGER_AVX2 inline __m128i four_sums(const __m256i *lanes) {
    const __m256i all = _mm256_hadd_epi32(_mm256_hadd_epi32(lanes[0], lanes[1]), _mm256_hadd_epi32(lanes[2], lanes[3]));
    return _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

TANAGER_AVX2 void add_slopes_avx2(const std::int8_t *steps, std::int64_t n_factors, std::int64_t line,
                                  const Words &gaps, double *slopes) {
    constexpr int together = 4;  // gaps are read once for all of them
    const std::int64_t whole = n_factors / together * together;
    const __m256d apart = _mm256_set1_pd(words_apart), unit = _mm256_set1_pd(gaps.unit);
    // From the last to the first: those that were added up last are still in the cache.
    for (std::int64_t f = whole - together; f >= 0; f -= together)
        for (std::int64_t begin = 0; begin < line; begin += most_products) {
            const std::int64_t end = std::min(line, begin + most_products);
            __m256i highs[together], lows[together];
            for (int t = 0; t < together; ++t) highs[t] = lows[t] = _mm256_setzero_si256();
            for (std::int64_t i = begin; i < end; i += 16) {
                fetch(steps + (f - together) * line + together * i);
                const __m256i high = words_at(gaps.high.data() + i), low = words_at(gaps.low.data() + i);
                for (int t = 0; t < together; ++t) {
                    const __m256i own = sixteen(steps + (f + t) * line + i);
                    highs[t] = _mm256_add_epi32(highs[t], _mm256_madd_epi16(own, high));
                    lows[t] = _mm256_add_epi32(lows[t], _mm256_madd_epi16(own, low));
                }
            }
            const __m256d sums = _mm256_add_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(four_sums(highs)), apart),
                                               _mm256_cvtepi32_pd(four_sums(lows)));
            _mm256_storeu_pd(slopes + f, _mm256_add_pd(_mm256_loadu_pd(slopes + f), _mm256_mul_pd(sums, unit)));
        }
    add_slopes_plain(steps + whole * line, n_factors - whole, line, gaps, slopes + whole);
}
#endif

// exp of a number of [-700, 0], in plain arithmetic, so that loops over it become vector code; good to 1e-15.
[[gnu::always_inline]] inline double quick_exp(double x) {
    constexpr double log2_of_e = 1.4426950408889634, high = 0.693147180369123816490, low = 1.90821492927058770002e-10;
    constexpr double rounds = 6755399441055744.0;  // 1.5 * 2^52: what is added to it becomes a whole number
    const double shifted = x * log2_of_e + rounds, k = shifted - rounds, r = (x - k * high) - k * low;
    double series = 1.0 / 6227020800;
    series = series * r + 1.0 / 479001600;
    series = series * r + 1.0 / 39916800;
    series = series * r + 1.0 / 3628800;
    series = series * r + 1.0 / 362880;
    series = series * r + 1.0 / 40320;
    series = series * r + 1.0 / 5040;
    series = series * r + 1.0 / 720;
    series = series * r + 1.0 / 120;
    series = series * r + 1.0 / 24;
    series = series * r + 1.0 / 6;
    series = series * r + 0.5;
    series = series * r + 1.0;
    series = series * r + 1.0;
    std::uint64_t bits, power;
    std::memcpy(&bits, &series, 8);
    std::memcpy(&power, &shifted, 8);
    bits += power << 52;
    std::memcpy(&series, &bits, 8);
    return series;
}

// Numbers as words.
[[gnu::always_inline]] inline void put_into_words(const double *numbers, std::int64_t n, Words &words) {
    constexpr int lanes = 8;
    double tops[lanes] = {}, top = 0;
    for (std::int64_t i = 0; i + lanes <= n; i += lanes)
        for (int j = 0; j < lanes; ++j) tops[j] = std::max(tops[j], std::fabs(numbers[i + j]));
    for (std::int64_t i = n / lanes * lanes; i < n; ++i) top = std::max(top, std::fabs(numbers[i]));
    for (const double own : tops) top = std::max(top, own);
    const double unit = top > 0 && top < 1e300 ? top / 32767 : 1, per_unit = 1 / unit;
    words.unit = unit / words_apart;
    std::int16_t *high = words.high.data(), *low = words.low.data();
    for (std::int64_t i = 0; i < n; ++i) {
        const double own = std::min(32767.0, std::max(-32767.0, numbers[i] * per_unit));  // whatever it is
        const int first = int(own + (own < 0 ? -0.5 : 0.5));
        const double rest = (own - double(first)) * words_apart;
        high[i] = std::int16_t(first);
        low[i] = std::int16_t(int(rest + (rest < 0 ? -0.5 : 0.5)));
    }
}

// What all rows of a block need on the way from logs to gaps.
struct Closing {
    explicit Closing(int n_classes) : own(std::size_t(n_classes) * block) {}
    std::vector<double> own;  // (classes, rows)
    double top[block], sum[block], loss[block];
};

// Logs of a block become gaps: probability less what was seen, times the weight of the row; none where there is no row.
// Returns the weighted loss.
[[gnu::always_inline]] inline double close_block(const FactorTerms &terms, std::int64_t begin, const double *fixed,
                                                 double *logs, double *slopes, double *losses, Closing &closing) {
    const int c = terms.n_classes, n = int(std::min<std::int64_t>(block, terms.n_rows - begin));
    double *own = closing.own.data(), *top = closing.top, *sum = closing.sum;
    if (c == 2)
        for (int r = 0; r < block; ++r) {
            own[r] = fixed[0] - logs[r];
            own[block + r] = fixed[1] + logs[r];
        }
    else
        for (int y = 0; y < c; ++y)
            for (int r = 0; r < block; ++r) own[y * block + r] = fixed[y] + logs[y * block + r];
    for (int r = 0; r < block; ++r) {
        top[r] = own[r];
        sum[r] = 0;
    }
    for (int y = 1; y < c; ++y)
        for (int r = 0; r < block; ++r) top[r] = std::max(top[r], own[y * block + r]);
    for (int r = 0; r < n; ++r) closing.loss[r] = top[r] - own[terms.labels[begin + r] * block + r];
    for (int y = 0; y < c; ++y)
        for (int r = 0; r < block; ++r) own[y * block + r] = std::max(-700.0, own[y * block + r] - top[r]);
    for (int i = 0; i < c * block; ++i) own[i] = quick_exp(own[i]);
    for (int y = 0; y < c; ++y)
        for (int r = 0; r < block; ++r) sum[r] += own[y * block + r];
    double loss_of_all = 0;
    for (int r = 0; r < block; ++r) {
        const double weight = r < n ? double(terms.weights[begin + r]) : 0.0;
        top[r] = weight / sum[r];  // of what a class has of the sum
        if (r >= n) continue;
        const double loss = std::log(sum[r]) + closing.loss[r];
        if (losses) losses[begin + r] = loss;
        loss_of_all += weight * loss;
    }
    if (!slopes) return loss_of_all;
    for (int y = 0; y < c; ++y)
        for (int r = 0; r < block; ++r) own[y * block + r] *= top[r];
    for (int r = 0; r < n; ++r) own[terms.labels[begin + r] * block + r] -= double(terms.weights[begin + r]);
    for (int y = 0; y < c; ++y) {
        double gaps = 0;
        for (int r = 0; r < n; ++r) gaps += own[y * block + r];
        slopes[terms.n_factors + y] += gaps;
    }
    if (c == 2)
        for (int r = 0; r < block; ++r) logs[r] = own[block + r] - own[r];
    else std::copy(closing.own.begin(), closing.own.end(), logs);
    return loss_of_all;
}

struct Passes {
    decltype(&add_terms_plain) add_terms;
    decltype(&add_slopes_plain) add_slopes;
    void (*put)(const double *numbers, std::int64_t n, Words &words);
    double (*close)(const FactorTerms &terms, std::int64_t begin, const double *fixed, double *logs, double *slopes,
                    double *losses, Closing &closing);
};

#define TANAGER_LOSS_LOOPS(level, attribute)                                                                        \
    attribute void put_##level(const double *numbers, std::int64_t n, Words &words) {                               \
        put_into_words(numbers, n, words);                                                                          \
    }                                                                                                               \
    attribute double close_##level(const FactorTerms &terms, std::int64_t begin, const double *fixed, double *logs, \
                                   double *slopes, double *losses, Closing &closing) {                              \
        return close_block(terms, begin, fixed, logs, slopes, losses, closing);                                     \
    }                                                                                                               \
    constexpr Passes passes_##level{add_terms_##level, add_slopes_##level, put_##level, close_##level};

TANAGER_LOSS_LOOPS(plain, )
#if defined(__x86_64__)
TANAGER_LOSS_LOOPS(avx2, __attribute__((target("avx2"))))
#endif

const Passes &best_passes() {
#if defined(__x86_64__)
    if (chosen_cpu_level() != CpuLevel::plain) return passes_avx2;
#endif
    return passes_plain;
}

}  // namespace

double factor_loss(const FactorTerms &terms, const double *factors, const double *fixed, double *slopes,
                   double *losses) {
    const std::int64_t n = terms.n_factors, line = FactorTerms::sides(terms.n_classes) * block;
    const Passes &passes = best_passes();
    Words weights(static_cast<std::size_t>(n)), gaps(static_cast<std::size_t>(line));
    passes.put(factors, n, weights);
    std::vector<std::int64_t> sums(static_cast<std::size_t>(line));
    std::vector<double> logs(static_cast<std::size_t>(line));
    Closing closing(terms.n_classes);
    if (slopes) std::fill_n(slopes, n + terms.n_classes, 0.0);
    const double unit = weights.unit * double(terms.unit);
    double loss = 0;
    const std::int8_t *steps = terms.steps;
    for (std::int64_t begin = 0; begin < terms.n_rows; begin += block, steps += n * line) {
        std::fill(sums.begin(), sums.end(), 0);
        passes.add_terms(steps, n, line, weights.high.data(), weights.low.data(), sums.data());
        for (std::size_t i = 0; i < logs.size(); ++i) logs[i] = double(sums[i]) * unit;
        loss += passes.close(terms, begin, fixed, logs.data(), slopes, losses, closing);
        if (!slopes) continue;
        passes.put(logs.data(), line, gaps);
        passes.add_slopes(steps, n, line, gaps, slopes);
    }
    if (slopes)
        for (std::int64_t f = 0; f < n; ++f) slopes[f] *= double(terms.unit);
    return loss;
}

}  // namespace tanager
