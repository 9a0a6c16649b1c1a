// Densities of numbers given their contexts: sums over parent sets, and products over numbers.
//
// Normal distributions are (lines, n) arrays: mean, inverse of the deviation, and the log of the density at the mean.
// The k classes of a context are k lines one after the other; `lines` holds the first of them for every row and set, or
// a negative number where a parent is missing. NaN is a missing number.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tanager {

constexpr double most_deviations = 1e150;  // so far from the mean the square is still finite

struct Normals {
    int k, n;
    const double *mean, *inverse, *top;

    double log_density(std::int64_t line, int g, double x) const {
        const std::int64_t at = line * n + g;
        const double away = std::min(std::abs((x - mean[at]) * inverse[at]), most_deviations);
        return top[at] - 0.5 * away * away;
    }
};

struct Contexts {
    std::int64_t n_rows;
    int n_sets;
    const double *values;       // (rows, n)
    const std::int64_t *lines;  // (rows, sets)
};

struct Terms {
    std::int64_t n_terms;
    const std::int64_t *set, *child;
    const double *log_weight;
};

// log sum_t w_t N(x_child; context of set t) into out (rows, k, n), for every child over its terms whose parents are
// present; minus infinity where there is none, 0 where the number is missing.
void log_density_sums(const Normals &normals, const Contexts &rows, const Terms &terms, double *out, int n_jobs);

// Adds sum_g log N(x_g; context of one set) over all numbers but `skip` to out (rows, k), where its parents are there.
void add_log_densities(const Normals &normals, const Contexts &rows, int set, int skip, double *out, int n_jobs);

}  // namespace tanager
