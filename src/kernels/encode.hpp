// From table cells to small integer codes. Free of Python; the caller has checked shapes and ranges.
// Everywhere the largest value of the code type means "missing". Codes are uint8 or uint16.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tanager {

// limits[i] = 1 + largest code in column i, missing codes left out.
// Column-major: cell (r, i) is at codes[i * stride + r].
template <class Code>
void code_limits_columns(const Code *codes, std::size_t n_rows, std::size_t n_features, std::ptrdiff_t stride,
                         Code *limits);

// The same for rows: cell (r, i) is at codes[r * n_features + i].
template <class Code>
void code_limits_rows(const Code *codes, std::size_t n_rows, std::size_t n_features, Code *limits);

// out[r * stride] = table[index[r]]; the last cell of the table serves index -1.
template <class Code>
void recode(const std::int32_t *index, std::size_t n_rows, const Code *table, std::size_t n_table, Code *out,
            std::ptrdiff_t stride);

// out = number of cut points below the value; NaN is missing.
template <class Code>
void cut(const double *values, std::size_t n_rows, std::ptrdiff_t value_stride, const double *cuts, std::size_t n_cuts,
         Code *out, std::ptrdiff_t out_stride);

// Whole numbers, at least one, in a small range: the distances from the smallest number that occur, in ascending order;
// empty when one is too large for a code. out[r] = place of row r's distance among them. Numbers are of 8 to 64 bits.
template <class Number, class Code>
std::vector<std::uint32_t> index_whole(const Number *numbers, std::size_t n_rows, Code *out);

// Whether a number is no whole one, infinite, or beyond 2^53, where floats skip integers; NaN is missing.
bool has_fractions(const double *numbers, std::size_t n_rows, std::ptrdiff_t stride);

}  // namespace tanager
