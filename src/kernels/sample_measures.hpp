// What structure learning asks a sample: how much two variables tell about each other given others.
#pragma once
#include <vector>

#include "information_sum.hpp"
#include "sample.hpp"

namespace tanager {

Information information(const Sample &sample, std::size_t x, std::size_t z, const Variables &given, SampleMethod method,
                        bool with_pearson = true);

// From counts [given, x, z]; or [given, z, x], to the same sum.
Information information_in(const double *cells, std::size_t n_layers, std::size_t n_x, std::size_t n_z,
                           bool with_pearson, bool turned = false);

// out[k] = the information of x and zs[k], the smaller of the two first, the same as that of the two alone; all share
// the counting of x and what is given.
void informations(const Sample &sample, std::size_t x, const Variables &zs, const Variables &given, bool with_pearson,
                  Information *out);

}  // namespace tanager
