#include "shared_bits.hpp"

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#define TANAGER_BMI2 __attribute__((target("avx2,popcnt,bmi,bmi2")))
#endif

namespace tanager {

namespace {

// Each way to count has `all`: out[l] = the number of bits that x shares with slice l; with null for x, all its bits.
struct PlainCount {
    [[gnu::always_inline]] static void all(const std::uint64_t *x, const std::uint64_t *slices, std::size_t stride,
                                           int n, std::int64_t n_words, double *out) {
        for (int l = 0; l < n; ++l, slices += stride) {
            const std::uint64_t *by = x ? x : slices;
            std::uint64_t sum = 0;
            for (std::int64_t w = 0; w < n_words; ++w) sum += std::uint64_t(std::popcount(by[w] & slices[w]));
            out[l] = double(sum);
        }
    }
};

// Rows of numbers are gone through in whole vectors of four. Behind the last there are zeros, and a product by
// 1 + 0 stays as it is, whatever it belongs to.
constexpr int kLanes = 4;

[[gnu::always_inline]] inline void raise_row(const double *counts, double by, int n, double *__restrict products) {
    for (int l = 0; l < n; l += kLanes)
        for (int u = 0; u < kLanes; ++u) products[l + u] *= 1 + counts[l + u] * by;
}

[[gnu::always_inline]] inline double product_of(const double *counts, const double *by, int n) {
    double some[kLanes] = {1, 1, 1, 1};
    for (int l = 0; l < n; l += kLanes)
        for (int u = 0; u < kLanes; ++u) some[u] *= 1 + counts[l + u] * by[l + u];
    return (some[0] * some[1]) * (some[2] * some[3]);
}

template <class Count>
[[gnu::always_inline]] inline void raise_all(const ClassSlices &s, double *shared) {
    for (int j = s.from; j + 1 < s.end; ++j) {
        if (!(s.counts[j - s.from] > 0)) continue;
        const int n = s.end - j - 1;
        const std::uint64_t *own = s.bits + std::size_t(j - s.from) * s.stride;
        Count::all(own, own + s.stride, s.stride, n, s.n_words, shared);
        if (s.left_out > 0)
            for (int l = 0; l < n; ++l) shared[l] = shared[l] > s.left_out ? shared[l] - s.left_out : 0;
        for (int l = n; l < n + kLanes - 1; ++l) shared[l] = 0;
        s.products[s.row + j] *= product_of(shared, s.by + j + 1, n);
        raise_row(shared, s.by[j], n, s.products + (s.row + j + 1));
        for (int q = 0; q < s.z; ++q) {
            const std::int64_t row = s.starts[j] + s.rank_without[q] * (s.end - 1 - j);
            raise_row(shared, s.prefix_by[q], n, s.products + (row + j + 1));
        }
    }
}

void count(const std::uint64_t *x, const std::uint64_t *slices, std::size_t stride, int n, std::int64_t n_words,
           double *out) {
    PlainCount::all(x, slices, stride, n, n_words, out);
}
void raise(const ClassSlices &slices, double *shared) { raise_all<PlainCount>(slices, shared); }

constexpr SharedBits plain = {count, raise, nullptr};

#if defined(__x86_64__)

constexpr std::int64_t kVector = 4, kMost = 31;  // words of a vector; vectors whose ones a byte can hold

TANAGER_BMI2 inline __m256i load_vector(const std::uint64_t *from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
}

// The ones of each byte, looked up for its two halves.
TANAGER_BMI2 inline __m256i ones_of_bytes(__m256i bits) {
    const __m256i ones = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                          0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i half = _mm256_set1_epi8(0x0F);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bits, 4), half);
    return _mm256_add_epi8(_mm256_shuffle_epi8(ones, _mm256_and_si256(bits, half)), _mm256_shuffle_epi8(ones, high));
}

// Of a few words.
template <int Words>
struct WordCount {
    TANAGER_BMI2 static void all(const std::uint64_t *x, const std::uint64_t *slices, std::size_t stride, int n,
                                 std::int64_t, double *out) {
        for (int l = 0; l < n; ++l, slices += stride) {
            const std::uint64_t *by = x ? x : slices;
            std::int64_t sum = 0;
            for (int w = 0; w < Words; ++w) sum += std::int64_t(_mm_popcnt_u64(by[w] & slices[w]));
            out[l] = double(sum);
        }
    }
};

// Of many words, four slices at a time: their sums are added up across the vector, and made to doubles, together.
struct VectorCount {
    TANAGER_BMI2 static void all(const std::uint64_t *x, const std::uint64_t *slices, std::size_t stride, int n,
                                 std::int64_t n_words, double *out) {
        const std::int64_t rest = n_words % kVector, whole = n_words - rest;
        const __m256i mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(rest), _mm256_setr_epi64x(0, 1, 2, 3));
        for (int l = 0; l < n; l += 4) {
            // Of fewer than four, the last is counted again.
            const std::uint64_t *a = slices + std::size_t(l) * stride,
                                *b = slices + std::size_t(std::min(l + 1, n - 1)) * stride,
                                *c = slices + std::size_t(std::min(l + 2, n - 1)) * stride,
                                *d = slices + std::size_t(std::min(l + 3, n - 1)) * stride;
            const __m256d four = added_up(ones(x ? x : a, a, whole, mask), ones(x ? x : b, b, whole, mask),
                                          ones(x ? x : c, c, whole, mask), ones(x ? x : d, d, whole, mask));
            if (l + 4 <= n) {
                _mm256_storeu_pd(out + l, four);
            } else {
                alignas(32) double last[4];
                _mm256_store_pd(last, four);
                for (int u = 0; l + u < n; ++u) out[l + u] = last[u];
            }
        }
    }

  private:
    // Four sums of the ones that two slices share, in `whole` words and in those behind them that the mask takes.
    TANAGER_BMI2 static __m256i ones(const std::uint64_t *x, const std::uint64_t *y, std::int64_t whole, __m256i mask) {
        const __m256i zero = _mm256_setzero_si256();
        __m256i sum = zero;
        std::int64_t w = 0;
        for (; w + kMost * kVector < whole;) {
            __m256i bytes = zero;
            for (const std::int64_t end = w + kMost * kVector; w < end; w += kVector)
                bytes = _mm256_add_epi8(bytes, ones_of_bytes(_mm256_and_si256(load_vector(x + w), load_vector(y + w))));
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(bytes, zero));
        }
        const __m256i last = _mm256_and_si256(load_some(x + whole, mask), load_some(y + whole, mask));
        __m256i bytes = ones_of_bytes(last);
        if (whole - w == kMost * kVector) {  // a byte would overflow
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(bytes, zero));
            bytes = zero;
        }
        for (; w < whole; w += kVector)
            bytes = _mm256_add_epi8(bytes, ones_of_bytes(_mm256_and_si256(load_vector(x + w), load_vector(y + w))));
        return _mm256_add_epi64(sum, _mm256_sad_epu8(bytes, zero));
    }
    TANAGER_BMI2 static __m256i load_some(const std::uint64_t *from, __m256i mask) {
        return _mm256_maskload_epi64(reinterpret_cast<const long long *>(from), mask);
    }
    // The total of each of four vectors. Below 2^52, a whole number is the last bits of 2^52 and that number.
    TANAGER_BMI2 static __m256d added_up(__m256i s, __m256i t, __m256i u, __m256i v) {
        const __m256i a = _mm256_add_epi64(_mm256_unpacklo_epi64(s, t), _mm256_unpackhi_epi64(s, t));
        const __m256i b = _mm256_add_epi64(_mm256_unpacklo_epi64(u, v), _mm256_unpackhi_epi64(u, v));
        const __m256i total =
            _mm256_add_epi64(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
        const __m256d base = _mm256_set1_pd(0x1p52);
        return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(total, _mm256_castpd_si256(base))), base);
    }
};

TANAGER_BMI2 void count_bmi2(const std::uint64_t *x, const std::uint64_t *slices, std::size_t stride, int n,
                             std::int64_t n_words, double *out) {
    switch (n_words) {
        case 0: return std::fill_n(out, n, 0.0), void();
        case 1: return WordCount<1>::all(x, slices, stride, n, n_words, out);
        case 2: return WordCount<2>::all(x, slices, stride, n, n_words, out);
        case 3: return WordCount<3>::all(x, slices, stride, n, n_words, out);
        default: return VectorCount::all(x, slices, stride, n, n_words, out);
    }
}
TANAGER_BMI2 void raise_bmi2(const ClassSlices &slices, double *shared) {
    switch (slices.n_words) {
        case 0: return;
        case 1: return raise_all<WordCount<1>>(slices, shared);
        case 2: return raise_all<WordCount<2>>(slices, shared);
        case 3: return raise_all<WordCount<3>>(slices, shared);
        default: return raise_all<VectorCount>(slices, shared);
    }
}
TANAGER_BMI2 void pack_bmi2(const std::uint64_t *from, const std::uint64_t *mask, std::int64_t n_words,
                            std::uint64_t *to) {
    std::uint64_t held = 0, n_held = 0;
    for (std::int64_t w = 0; w < n_words; ++w) {
        const std::uint64_t bits = _pext_u64(from[w], mask[w]), n = std::uint64_t(_mm_popcnt_u64(mask[w]));
        held |= bits << n_held;
        if (n_held + n >= 64) {
            *to++ = held;
            held = n_held > 0 ? bits >> (64 - n_held) : 0;
            n_held += n - 64;
        } else n_held += n;
    }
    if (n_held > 0) *to = held;
}

constexpr SharedBits bmi2 = {count_bmi2, raise_bmi2, pack_bmi2};
constexpr SharedBits bmi2_slow_pack = {count_bmi2, raise_bmi2, nullptr};

// The first two generations of Zen work pext out bit by bit.
const SharedBits &best_bmi2() {
    static const bool slow = __builtin_cpu_is("znver1") || __builtin_cpu_is("znver2") || __builtin_cpu_is("bdver4");
    return slow ? bmi2_slow_pack : bmi2;
}

#endif

}  // namespace

const SharedBits &shared_bits_at(CpuLevel level) {
#if defined(__x86_64__)
    const bool has =
        __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (level != CpuLevel::plain && has) return best_bmi2();
#endif
    (void)level;
    return plain;
}

}  // namespace tanager
