// What structure learning asks a sample: how much two variables tell about each other given others, and how well a
// family of a child and its parents fits.
#pragma once
#include <string>
#include <vector>

#include "information_sum.hpp"
#include "sample.hpp"

namespace tanager {

Information information(const Sample &sample, std::size_t x, std::size_t z, const Variables &given, SampleMethod method,
                        bool with_pearson = true);

enum class ScoreKind { ll, aic, bic, k2, bdeu };

// out[k] = the score of the child with parents[k], over the rows in which all of them are present. Families that differ
// in one parent share the counting of the rest.
void family_scores(const Sample &sample, ScoreKind kind, std::size_t child, const std::vector<Variables> &parents,
                   double strength, SampleMethod method, double *out);

}  // namespace tanager
