// Bit slices with AVX2: 32 codes per comparison, popcounts by looking up the sixteen nibbles.
#include "bits.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define TANAGER_AVX2 __attribute__((target("avx2")))

namespace tanager {

namespace {

TANAGER_AVX2 Glance glance(const std::uint8_t *codes, std::size_t n_rows, const std::uint8_t *) {
    return glance_at(codes, n_rows);
}
TANAGER_AVX2 Glance glance16(const std::uint16_t *codes, std::size_t n_rows) { return glance_at(codes, n_rows); }

TANAGER_AVX2 inline std::uint64_t equal_bits(__m256i low, __m256i high, std::uint8_t value) {
    const __m256i pattern = _mm256_set1_epi8(static_cast<char>(value));
    const auto first = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, pattern)));
    const auto second = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, pattern)));
    return first | static_cast<std::uint64_t>(second) << 32;
}

TANAGER_AVX2 void slice_word(const std::uint8_t *codes, std::size_t word, std::uint64_t rows,
                             const std::uint8_t *values, std::size_t n_slices, std::uint64_t *const *slices) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(codes));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(codes + 32));
    for (std::size_t k = 0; k < n_slices; ++k) slices[k][word] = equal_bits(low, high, values[k]) & rows;
}

TANAGER_AVX2 void slice(const std::uint8_t *codes, std::size_t n_rows, const std::uint8_t *values, std::size_t n_slices,
                        std::uint64_t *const *slices) {
    const std::size_t whole = n_rows / 64, rest = n_rows % 64, n_words = vectors_of(n_rows) * kVectorWords;
    for (std::size_t word = 0; word < whole; ++word)
        slice_word(codes + word * 64, word, ~std::uint64_t{0}, values, n_slices, slices);
    for (std::size_t k = 0; k < n_slices; ++k) std::fill(slices[k] + whole, slices[k] + n_words, 0);
    if (rest > 0) {
        std::uint8_t tail[64] = {};
        std::memcpy(tail, codes + whole * 64, rest);
        slice_word(tail, whole, (std::uint64_t{1} << rest) - 1, values, n_slices, slices);
    }
}

// The ones of each byte, 0 .. 8.
TANAGER_AVX2 inline __m256i byte_ones(__m256i bits) {
    const __m256i ones_of = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                             0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i nibble = _mm256_set1_epi8(0x0F);
    const __m256i low = _mm256_shuffle_epi8(ones_of, _mm256_and_si256(bits, nibble));
    const __m256i high = _mm256_shuffle_epi8(ones_of, _mm256_and_si256(_mm256_srli_epi16(bits, 4), nibble));
    return _mm256_add_epi8(low, high);
}

TANAGER_AVX2 inline std::uint64_t total(__m256i four) {
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(two)) +
           static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(two, two)));
}

constexpr std::size_t kBytesHold = 31;  // sums of at most 8 that fit into a byte

TANAGER_AVX2 std::uint64_t ones(const std::uint64_t *slice, std::size_t n_vectors) {
    __m256i sum = _mm256_setzero_si256();
    for (std::size_t k = 0; k < n_vectors * 2; ++k) {
        const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(slice) + k);
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(byte_ones(bits), _mm256_setzero_si256()));
    }
    return total(sum);
}

TANAGER_AVX2 std::uint64_t mask(const std::uint64_t *slice, const std::uint64_t *by, std::size_t n_vectors,
                                std::uint64_t *out) {
    __m256i sum = _mm256_setzero_si256();
    for (std::size_t k = 0; k < n_vectors * 2; ++k) {
        const __m256i bits = _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(slice) + k),
                                              _mm256_loadu_si256(reinterpret_cast<const __m256i *>(by) + k));
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(out) + k, bits);
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(byte_ones(bits), _mm256_setzero_si256()));
    }
    return total(sum);
}

// One x against four y: eight more accumulators would not fit the sixteen registers.
TANAGER_AVX2 void tile_row(const std::uint64_t *x, const std::uint64_t *const *ys, std::size_t n_vectors,
                           std::uint32_t *out) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i sums[kTile] = {zero, zero, zero, zero};
    const auto *const x4 = reinterpret_cast<const __m256i *>(x);
    for (std::size_t begin = 0; begin < n_vectors * 2; begin += kBytesHold) {
        const std::size_t end = std::min(begin + kBytesHold, n_vectors * 2);
        __m256i bytes[kTile] = {zero, zero, zero, zero};
        for (std::size_t k = begin; k < end; ++k) {
            const __m256i held = _mm256_loadu_si256(x4 + k);
            for (std::size_t b = 0; b < kTile; ++b) {
                const __m256i other = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(ys[b]) + k);
                bytes[b] = _mm256_add_epi8(bytes[b], byte_ones(_mm256_and_si256(held, other)));
            }
        }
        for (std::size_t b = 0; b < kTile; ++b) sums[b] = _mm256_add_epi64(sums[b], _mm256_sad_epu8(bytes[b], zero));
    }
    for (std::size_t b = 0; b < kTile; ++b) out[b] = static_cast<std::uint32_t>(total(sums[b]));
}

TANAGER_AVX2 void tile(const std::uint64_t *const *xs, const std::uint64_t *const *ys, std::size_t n_vectors,
                       std::uint32_t *out) {
    for (std::size_t a = 0; a < kTile; ++a) tile_row(xs[a], ys, n_vectors, out + a * kTile);
}

}  // namespace

const BitFunctions avx2_bits = {glance, glance16, slice, nullptr, ones, mask, tile, {6.0, 3.0, 8.0, 0.0}};

}  // namespace tanager
#endif
