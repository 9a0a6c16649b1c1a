// Counting with bit slices, and what the counts do to rows of products; see sum_over_rows.hpp. One build for each level
// of the processor, all with the same results to the last bit.
#pragma once
#include <cstddef>
#include <cstdint>

#include "cpu.hpp"

namespace tanager {

// The rows of one class that have the values of the first z columns of a set (its prefix), and the products of all sets
// with these columns. Columns are named by their place, from `from` to `end` - 1; slices and counts begin with `from`.
struct ClassSlices {
    const std::uint64_t *bits;  // which of these rows have the value of each column
    std::size_t stride;
    std::int64_t n_words;
    int from, end, z;
    const double *counts;     // how many that are; columns of none are passed over
    double left_out;          // to be taken off every count
    const double *by;         // one over the pseudo-count of each column, by place
    const double *prefix_by;  // of the z columns
    double *products;         // of the class
    std::int64_t row;         // products[row + j]: that of the set with column j
    // products[starts[j] + rank_without[q] * (end - 1 - j) + l]: of the set of the prefix without its column q, of j,
    // and of l, which is behind j
    const std::int64_t *starts, *rank_without;
};

constexpr int kSpare = 4;

struct SharedBits {
    // out[l] = the number of bits that x shares with slice l of n; with null for x, all its bits.
    void (*count)(const std::uint64_t *x, const std::uint64_t *slices, std::size_t stride, int n, std::int64_t n_words,
                  double *out);
    // For all pairs of columns j < l: the count N of the set with both serves z + 2 sets with a column beside them;
    // each product is multiplied by 1 + N / pseudo-count of that column. `shared` is memory for as many numbers as
    // there are columns, and kSpare more; so much is there behind the products and `by`, too.
    void (*raise)(const ClassSlices &slices, double *shared);
    // Moves the bits of each slice together where the mask is set; null where that takes longer than it saves. Slices
    // of n_words words become some of at most as many.
    void (*pack)(const std::uint64_t *from, const std::uint64_t *mask, std::int64_t n_words, std::uint64_t *to);
};

const SharedBits &shared_bits_at(CpuLevel level);

}  // namespace tanager
