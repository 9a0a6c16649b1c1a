// Bit slices: one bit per row, set where a column of byte codes equals a given value. The pairs of two columns are then
// counted 512 rows at a time, as popcounts of the slices' conjunctions.
//
// A slice is an array of 64-bit words, row r in bit r % 64 of word r / 64, padded with zeros to whole vectors of
// kVectorRows rows. There is one set of functions per instruction set; all give the same numbers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "cpu.hpp"

namespace tanager {

inline constexpr std::size_t kVectorRows = 512;
inline constexpr std::size_t kVectorWords = kVectorRows / 64;
inline constexpr std::size_t kTile = 4;  // slices per side of a tile of conjunctions

// Memory for slices starts at a cache line: a vector across two lines takes two loads.
struct alignas(64) BitVector {
    std::uint64_t words[kVectorWords];
};

inline std::size_t vectors_of(std::size_t n_rows) { return (n_rows + kVectorRows - 1) / kVectorRows; }

// What a glance over a column shows: the number of values its codes need, and whether a marker is among them.
struct Glance {
    std::uint32_t n_values = 0;
    bool missing = false;
};

// Rough prices in cycles, for the cost model; only their ratios matter.
struct BitCosts {
    double conjunction;  // AND and popcount of one pair of vectors
    double slice;        // one slice of 64 rows
    double mask;         // masking one vector
    double compress;     // picking the rows of one class out of 64; 0 where there is no such function
};

struct BitFunctions {
    // Meanwhile fetches as many codes from `upcoming` (a guess at what is read next; may lie anywhere).
    Glance (*glance)(const std::uint8_t *codes, std::size_t n_rows, const std::uint8_t *upcoming);
    Glance (*glance16)(const std::uint16_t *codes, std::size_t n_rows);
    // slices[k][r] = (codes[r] == values[k]); writes whole vectors.
    void (*slice)(const std::uint8_t *codes, std::size_t n_rows, const std::uint8_t *values, std::size_t n_slices,
                  std::uint64_t *const *slices);
    // Moves the codes whose bit is set together; may write 64 bytes past the last. May be nullptr.
    void (*compress)(const std::uint8_t *codes, std::size_t n_rows, const std::uint64_t *bits, std::uint8_t *out);
    std::uint64_t (*ones)(const std::uint64_t *slice, std::size_t n_vectors);
    // out = slice & mask; returns its ones.
    std::uint64_t (*mask)(const std::uint64_t *slice, const std::uint64_t *mask, std::size_t n_vectors,
                          std::uint64_t *out);
    // out[a * kTile + b] = the number of rows set in both xs[a] and ys[b].
    void (*tile)(const std::uint64_t *const *xs, const std::uint64_t *const *ys, std::size_t n_vectors,
                 std::uint32_t *out);
    BitCosts costs;
};

extern const BitFunctions plain_bits;
#if defined(__x86_64__)
extern const BitFunctions avx2_bits;
extern const BitFunctions avx512_bits;
#endif

inline const BitFunctions &bits_at(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CpuLevel::avx512) return avx512_bits;
    if (level == CpuLevel::avx2) return avx2_bits;
#endif
    (void)level;
    return plain_bits;
}

// The glance of any level: with 1 added the marker wraps round to 0, so one maximum and one minimum tell all.
template <class Code>
[[gnu::always_inline]] inline Glance glance_at(const Code *codes, std::size_t n_rows) {
    Code most = 0, least = static_cast<Code>(-1);
    for (std::size_t r = 0; r < n_rows; ++r) {
        const Code next = static_cast<Code>(codes[r] + 1);
        most = next > most ? next : most;
        least = next < least ? next : least;
    }
    return {most, n_rows > 0 && least == 0};
}

}  // namespace tanager
