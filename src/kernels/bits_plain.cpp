// Bit slices in plain C++, for processors without the wide instructions.
#include <bit>
#include <cstring>

#include "bits.hpp"

namespace tanager {

namespace {

static_assert(std::endian::native == std::endian::little, "the slices below read eight codes as one word");

Glance glance(const std::uint8_t *codes, std::size_t n_rows, const std::uint8_t *) { return glance_at(codes, n_rows); }
Glance glance16(const std::uint16_t *codes, std::size_t n_rows) { return glance_at(codes, n_rows); }

// Bit k of the result: byte k of the word is zero. The product gathers the top bits of the eight bytes.
std::uint64_t zero_bytes(std::uint64_t word) {
    constexpr std::uint64_t low = 0x7F7F7F7F7F7F7F7F;
    const std::uint64_t top = ~(((word & low) + low) | word | low);
    return ((top >> 7) * 0x0102040810204080) >> 56;
}

std::uint64_t equal_bits(const std::uint8_t *codes, std::uint8_t value) {
    const std::uint64_t pattern = std::uint64_t{0x0101010101010101} * value;
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < 8; ++k) {
        std::uint64_t eight;
        std::memcpy(&eight, codes + 8 * k, sizeof eight);
        bits |= zero_bytes(eight ^ pattern) << (8 * k);
    }
    return bits;
}

void slice(const std::uint8_t *codes, std::size_t n_rows, const std::uint8_t *values, std::size_t n_slices,
           std::uint64_t *const *slices) {
    const std::size_t whole = n_rows / 64, rest = n_rows % 64, n_words = vectors_of(n_rows) * kVectorWords;
    std::uint8_t tail[64] = {};
    if (rest > 0) std::memcpy(tail, codes + whole * 64, rest);
    for (std::size_t k = 0; k < n_slices; ++k) {
        for (std::size_t word = 0; word < whole; ++word) slices[k][word] = equal_bits(codes + word * 64, values[k]);
        for (std::size_t word = whole; word < n_words; ++word) slices[k][word] = 0;
        if (rest > 0) slices[k][whole] = equal_bits(tail, values[k]) & ((std::uint64_t{1} << rest) - 1);
    }
}

std::uint64_t ones(const std::uint64_t *slice, std::size_t n_vectors) {
    std::uint64_t sum = 0;
    for (std::size_t word = 0; word < n_vectors * kVectorWords; ++word)
        sum += static_cast<std::uint64_t>(std::popcount(slice[word]));
    return sum;
}

std::uint64_t mask(const std::uint64_t *slice, const std::uint64_t *by, std::size_t n_vectors, std::uint64_t *out) {
    for (std::size_t word = 0; word < n_vectors * kVectorWords; ++word) out[word] = slice[word] & by[word];
    return ones(out, n_vectors);
}

void tile(const std::uint64_t *const *xs, const std::uint64_t *const *ys, std::size_t n_vectors, std::uint32_t *out) {
    for (std::size_t a = 0; a < kTile; ++a) {
        for (std::size_t b = 0; b < kTile; ++b) {
            std::uint32_t sum = 0;
            for (std::size_t word = 0; word < n_vectors * kVectorWords; ++word)
                sum += static_cast<std::uint32_t>(std::popcount(xs[a][word] & ys[b][word]));
            out[a * kTile + b] = sum;
        }
    }
}

}  // namespace

const BitFunctions plain_bits = {glance, glance16, slice, nullptr, ones, mask, tile, {30.0, 60.0, 35.0, 0.0}};

}  // namespace tanager
