// What structure learning asks a sample: how much two variables tell about each other given others, and how well a
// family of a child and its parents fits.
#pragma once
#include <string>
#include <vector>

#include "sample.hpp"

namespace tanager {

struct Information {
    double value = 0.0;     // I(X; Z | C) in nats, never negative, rounded to 12 decimals
    double rows = 0.0;      // M, the weight of the rows in which all variables are present
    double df = 0.0;        // sum over the configurations of C that occur of (r_x - 1)(r_z - 1), r counting what occurs
    double naive_df = 0.0;  // (a_x - 1)(a_z - 1) times all configurations of C
    double pearson = 0.0;   // X^2 = sum (O - E)^2 / E over cells with E > 0
};

Information information(const Sample &sample, std::size_t x, std::size_t z, const Variables &given,
                        SampleMethod method);

enum class ScoreKind { ll, aic, bic, k2, bdeu };

// out[k] = the score of the child with parents[k], over the rows in which all of them are present. Families that differ
// in one parent share the counting of the rest.
void family_scores(const Sample &sample, ScoreKind kind, std::size_t child, const std::vector<Variables> &parents,
                   double strength, SampleMethod method, double *out);

}  // namespace tanager
