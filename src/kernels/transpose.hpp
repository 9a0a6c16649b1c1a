// Turning a block of row-major byte codes into columns, 16 x 16 codes at a time in registers.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace tanager {

// columns[i * column_step + r] = rows[r * row_step + i]
inline void transpose_plain(const std::uint8_t *rows, std::ptrdiff_t row_step, std::size_t n_rows,
                            std::size_t n_columns, std::uint8_t *columns, std::size_t column_step) {
    for (std::size_t r = 0; r < n_rows; ++r, rows += row_step)
        for (std::size_t i = 0; i < n_columns; ++i) columns[i * column_step + r] = rows[i];
}

#if defined(__x86_64__)
// Four rounds of interleaving, each pairing row k with row k + 8: after them, register i holds column i.
inline void transpose_16(const std::uint8_t *rows, std::ptrdiff_t row_step, std::uint8_t *columns,
                         std::size_t column_step, std::size_t n_columns) {
    __m128i now[16], next[16];
    for (std::size_t k = 0; k < 16; ++k)
        now[k] = _mm_loadu_si128(reinterpret_cast<const __m128i *>(rows + static_cast<std::ptrdiff_t>(k) * row_step));
#pragma GCC unroll 4
    for (int round = 0; round < 4; ++round) {
#pragma GCC unroll 8
        for (std::size_t k = 0; k < 8; ++k) {
            next[2 * k] = _mm_unpacklo_epi8(now[k], now[k + 8]);
            next[2 * k + 1] = _mm_unpackhi_epi8(now[k], now[k + 8]);
        }
#pragma GCC unroll 16
        for (std::size_t k = 0; k < 16; ++k) now[k] = next[k];
    }
    if (n_columns == 16) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < 16; ++i)
            _mm_storeu_si128(reinterpret_cast<__m128i *>(columns + i * column_step), now[i]);
    } else {
        for (std::size_t i = 0; i < n_columns; ++i)
            _mm_storeu_si128(reinterpret_cast<__m128i *>(columns + i * column_step), now[i]);
    }
}
#endif

inline void transpose(const std::uint8_t *rows, std::ptrdiff_t row_step, std::size_t n_rows, std::size_t n_columns,
                      std::uint8_t *columns, std::size_t column_step) {
    std::size_t done = 0;
#if defined(__x86_64__)
    // Sixteen bytes are read from each row. With fewer columns they reach into the rows after it, so those stay with
    // the plain loop at the end, where there is nothing after.
    std::size_t safe = n_rows;
    if (n_columns < 16) {
        const std::size_t reach = row_step > 0 ? 16 / static_cast<std::size_t>(row_step) + 1 : n_rows;
        safe = n_rows > reach ? n_rows - reach : 0;
    }
    for (; done + 16 <= safe; done += 16) {
        const std::uint8_t *from = rows + static_cast<std::ptrdiff_t>(done) * row_step;
        std::size_t i = 0;
        for (; i + 16 <= n_columns; i += 16)
            transpose_16(from + i, row_step, columns + i * column_step + done, column_step, 16);
        if (i == n_columns) continue;
        // The last columns: the same square moved back, so that it ends with the row.
        if (n_columns > 16)
            transpose_16(from + (n_columns - 16), row_step, columns + (n_columns - 16) * column_step + done,
                         column_step, 16);
        else transpose_16(from, row_step, columns + done, column_step, n_columns);
    }
#endif
    transpose_plain(rows + static_cast<std::ptrdiff_t>(done) * row_step, row_step, n_rows - done, n_columns,
                    columns + done, column_step);
}

}  // namespace tanager
