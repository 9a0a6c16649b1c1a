// What structure learning asks a sample: how much two variables tell about each other given others.
#pragma once
#include <vector>

#include "information_sum.hpp"
#include "sample.hpp"

namespace tanager {

Information information(const Sample &sample, std::size_t x, std::size_t z, const Variables &given, SampleMethod method,
                        bool with_pearson = true);

}  // namespace tanager
