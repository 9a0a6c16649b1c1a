// A number for every row, as if drawn at random, but the same for rows that are the same.
#pragma once
#include "batch.hpp"

namespace tanager {

// `ranks` has for every column those of its values (n_values[i]), and then that of what is missing; a code beyond the
// values is missing. The rows are mixed column by column, so the numbers depend on ranks alone and not on codes.
void mix_rows(const Codes &codes, int n_columns, const std::int64_t *n_values, const std::int64_t *ranks,
              std::uint64_t seed, std::uint64_t *out);

}  // namespace tanager
