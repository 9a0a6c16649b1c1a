// What structure learning asks a sample: how much two variables tell about each other given others.
#pragma once
#include <vector>

#include "information_sum.hpp"
#include "sample.hpp"

namespace tanager {

Information information(const Sample &sample, std::size_t x, std::size_t z, const Variables &given, SampleMethod method,
                        bool with_pearson = true);

// out[k] = the information of x and zs[k], the same as that of the two alone; all share the counting of x and what is
// given.
void informations(const Sample &sample, std::size_t x, const Variables &zs, const Variables &given, bool with_pearson,
                  Information *out);

}  // namespace tanager
