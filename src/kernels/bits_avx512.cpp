// Bit slices with AVX-512: 64 codes per comparison, VPOPCNTDQ for the conjunctions, VPCOMPRESSB to group rows by class.
#include "bits.hpp"

#if defined(__x86_64__)
// gcc 12 takes the undefined vectors of its own header for a mistake of ours (gcc bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#define TANAGER_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,avx512vpopcntdq,popcnt,bmi2")))

namespace tanager {

namespace {

TANAGER_AVX512 Glance glance(const std::uint8_t *codes, std::size_t n_rows, const std::uint8_t *upcoming) {
    const __m512i one = _mm512_set1_epi8(1);
    __m512i most = _mm512_setzero_si512(), least = _mm512_set1_epi8(-1);
    std::size_t r = 0;
    for (; r + 64 <= n_rows; r += 64) {
        // The hardware's own prefetching stops at each page and knows nothing of the jump to the next column.
        _mm_prefetch(reinterpret_cast<const char *>(upcoming + r), _MM_HINT_T1);
        const __m512i next = _mm512_add_epi8(_mm512_loadu_si512(codes + r), one);
        most = _mm512_max_epu8(most, next);
        least = _mm512_min_epu8(least, next);
    }
    alignas(64) std::uint8_t mosts[64], leasts[64];
    _mm512_store_si512(mosts, most);
    _mm512_store_si512(leasts, least);
    Glance all = glance_at(codes + r, n_rows - r);
    for (std::size_t k = 0; r > 0 && k < 64; ++k) {
        all.n_values = mosts[k] > all.n_values ? mosts[k] : all.n_values;
        all.missing |= leasts[k] == 0;
    }
    return all;
}

TANAGER_AVX512 Glance glance16(const std::uint16_t *codes, std::size_t n_rows) { return glance_at(codes, n_rows); }

// Words outside, slices inside, four at a time: a vector of codes is loaded once for the values in hand.
template <std::size_t N>
TANAGER_AVX512 inline void slice_some(const std::uint8_t *codes, std::size_t n_rows, const std::uint8_t *values,
                                      std::uint64_t *const *slices) {
    const std::size_t whole = n_rows / 64, rest = n_rows % 64, n_words = vectors_of(n_rows) * kVectorWords;
    __m512i patterns[N];
    std::uint64_t *outs[N];
    for (std::size_t k = 0; k < N; ++k) {
        patterns[k] = _mm512_set1_epi8(static_cast<char>(values[k]));
        outs[k] = slices[k];
    }
    for (std::size_t word = 0; word < whole; ++word) {
        const __m512i here = _mm512_loadu_si512(codes + word * 64);
        for (std::size_t k = 0; k < N; ++k) outs[k][word] = _mm512_cmpeq_epi8_mask(here, patterns[k]);
    }
    const __mmask64 rows = (std::uint64_t{1} << rest) - 1;
    const __m512i last = _mm512_maskz_loadu_epi8(rows, codes + whole * 64);
    for (std::size_t k = 0; k < N; ++k) {
        for (std::size_t word = whole; word < n_words; ++word) outs[k][word] = 0;
        if (rest > 0) outs[k][whole] = _mm512_mask_cmpeq_epi8_mask(rows, last, patterns[k]);
    }
}

TANAGER_AVX512 void slice(const std::uint8_t *codes, std::size_t n_rows, const std::uint8_t *values,
                          std::size_t n_slices, std::uint64_t *const *slices) {
    for (; n_slices >= 4; n_slices -= 4, values += 4, slices += 4) slice_some<4>(codes, n_rows, values, slices);
    if (n_slices == 3) slice_some<3>(codes, n_rows, values, slices);
    if (n_slices == 2) slice_some<2>(codes, n_rows, values, slices);
    if (n_slices == 1) slice_some<1>(codes, n_rows, values, slices);
}

// Whole vectors are stored, the surplus overwritten by the next: a masked store costs more than the 64 spare bytes.
TANAGER_AVX512 void compress(const std::uint8_t *codes, std::size_t n_rows, const std::uint64_t *bits,
                             std::uint8_t *out) {
    const std::size_t whole = n_rows / 64, rest = n_rows % 64;
    for (std::size_t word = 0; word < whole; ++word) {
        _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(bits[word], _mm512_loadu_si512(codes + word * 64)));
        out += _mm_popcnt_u64(bits[word]);
    }
    if (rest > 0) {
        const __m512i last = _mm512_maskz_loadu_epi8((std::uint64_t{1} << rest) - 1, codes + whole * 64);
        _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(bits[whole], last));
    }
}

TANAGER_AVX512 std::uint64_t ones(const std::uint64_t *slice, std::size_t n_vectors) {
    __m512i sum = _mm512_setzero_si512();
    for (std::size_t k = 0; k < n_vectors; ++k)
        sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_loadu_si512(slice + k * kVectorWords)));
    return static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sum));
}

TANAGER_AVX512 std::uint64_t mask(const std::uint64_t *slice, const std::uint64_t *by, std::size_t n_vectors,
                                  std::uint64_t *out) {
    __m512i sum = _mm512_setzero_si512();
    for (std::size_t word = 0; word < n_vectors * kVectorWords; word += kVectorWords) {
        const __m512i bits = _mm512_and_si512(_mm512_loadu_si512(slice + word), _mm512_loadu_si512(by + word));
        _mm512_storeu_si512(out + word, bits);
        sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(bits));
    }
    return static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sum));
}

// Two counts per 64-bit lane: a in the low half, b in the high. Both stay far below 2^32.
TANAGER_AVX512 inline __m512i pack(__m512i a, __m512i b) { return _mm512_or_si512(a, _mm512_slli_epi64(b, 32)); }

// Sums neighbouring 64-bit lanes, those of p to the even and those of q to the odd places of each quarter.
TANAGER_AVX512 inline __m512i fold_halves(__m512i p, __m512i q) {
    return _mm512_add_epi32(_mm512_unpacklo_epi64(p, q), _mm512_unpackhi_epi64(p, q));
}

// Sums quarters: 0 + 1 and 2 + 3 of u, then of v.
TANAGER_AVX512 inline __m512i fold_quarters(__m512i u, __m512i v) {
    return _mm512_add_epi32(_mm512_shuffle_i32x4(u, v, 0x88), _mm512_shuffle_i32x4(u, v, 0xDD));
}

// Sixteen accumulators stay in registers, so each of the eight loads feeds four conjunctions and the second-level
// cache keeps up. All sixteen are summed across their lanes together, in 37 instructions.
TANAGER_AVX512 void tile(const std::uint64_t *const *xs, const std::uint64_t *const *ys, std::size_t n_vectors,
                         std::uint32_t *out) {
    __m512i sums[kTile][kTile];
    for (auto &row : sums)
        for (auto &sum : row) sum = _mm512_setzero_si512();
    const std::uint64_t *const x0 = xs[0], *const x1 = xs[1], *const x2 = xs[2], *const x3 = xs[3];
    const std::uint64_t *const y0 = ys[0], *const y1 = ys[1], *const y2 = ys[2], *const y3 = ys[3];
    for (std::size_t word = 0; word < n_vectors * kVectorWords; word += kVectorWords) {
        const __m512i x[kTile] = {_mm512_loadu_si512(x0 + word), _mm512_loadu_si512(x1 + word),
                                  _mm512_loadu_si512(x2 + word), _mm512_loadu_si512(x3 + word)};
        const __m512i y[kTile] = {_mm512_loadu_si512(y0 + word), _mm512_loadu_si512(y1 + word),
                                  _mm512_loadu_si512(y2 + word), _mm512_loadu_si512(y3 + word)};
#pragma GCC unroll 4
        for (std::size_t b = 0; b < kTile; ++b) {
#pragma GCC unroll 4
            for (std::size_t a = 0; a < kTile; ++a)
                sums[a][b] = _mm512_add_epi64(sums[a][b], _mm512_popcnt_epi64(_mm512_and_si512(x[a], y[b])));
        }
    }
    __m512i rows[kTile];
#pragma GCC unroll 4
    for (std::size_t a = 0; a < kTile; ++a)
        rows[a] = fold_halves(pack(sums[a][0], sums[a][1]), pack(sums[a][2], sums[a][3]));
    _mm512_storeu_si512(out, fold_quarters(fold_quarters(rows[0], rows[1]), fold_quarters(rows[2], rows[3])));
}

}  // namespace

const BitFunctions avx512_bits = {glance, glance16, slice, compress, ones, mask, tile, {1.6, 1.5, 3.0, 3.0}};

}  // namespace tanager
#pragma GCC diagnostic pop
#endif
