// Sums of N log N over the pair blocks of the store: all that mutual and conditional information needs.
#pragma once
#include "store.hpp"

namespace tanager {

inline constexpr std::size_t kPairSums = 8;

// sums[i, j] = (M, S_ijy, S_iy, S_jy, S_y, S_ij, S_i, S_j) over the rows where both attributes are present; M is their
// weight and S_z the sum of N log N over the cells of margin z of the pair block. The diagonal is
// left as it is. The sums are (n, n, 8).
void pair_sums(const Layout &layout, const double *pairs, double *sums);

}  // namespace tanager
