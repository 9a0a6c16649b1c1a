// Sums of N log N over the pair blocks of the store: all that mutual and conditional information needs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tanager {

inline constexpr std::size_t kPairSums = 8;

// sums[i, j] = (M, S_ijy, S_iy, S_jy, S_y, S_ij, S_i, S_j) over the rows where both attributes are present; M is their
// weight and S_z the sum of N log N over the cells of margin z of the pair block. The diagonal is left as it is.
//   pairs [g, h, c]: see count.hpp;  sums [i, j, 8]
void pair_sums(const double *pairs, const std::vector<std::int64_t> &offsets, const std::vector<std::int64_t> &n_values,
               std::size_t n_classes, double *sums);

}  // namespace tanager
