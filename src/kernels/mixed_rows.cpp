#include "mixed_rows.hpp"

#include <algorithm>

namespace tanager {

void mix_rows(const Codes &codes, int n_columns, const std::int64_t *n_values, const std::int64_t *ranks,
              std::uint64_t seed, std::uint64_t *out) {
    std::fill_n(out, codes.n_rows, seed);
    for (int i = 0; i < n_columns; ranks += n_values[i++] + 1)
        for (std::int64_t r = 0; r < codes.n_rows; ++r) {
            const auto rank = std::uint64_t(ranks[std::min<std::int64_t>(codes.at(r, i), n_values[i])]);
            const std::uint64_t mixed = (out[r] ^ rank) * 0x9E3779B97F4A7C15;
            out[r] = mixed ^ mixed >> 29;
        }
}

}  // namespace tanager
