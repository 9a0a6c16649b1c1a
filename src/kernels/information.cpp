#include "information.hpp"

#include <algorithm>
#include <cmath>

#include "interrupt.hpp"

namespace tanager {

namespace {

// Written so that an empty cell, and one that subtraction left a hair below zero, counts nothing.
double times_own_log(double n) { return n > 0.0 ? n * std::log(n) : 0.0; }

double sum_n_log_n(const std::vector<double> &counts) {
    double sum = 0.0;
    for (const double n : counts) sum += times_own_log(n);
    return sum;
}

}  // namespace

void pair_sums(const Layout &layout, const double *pairs, double *sums) {
    const auto n = std::size_t(layout.n), n_classes = std::size_t(layout.k), row = std::size_t(layout.width);
    std::vector<double> iy, jy, y(n_classes), only_i, only_j;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
            check_interrupt();
            const auto a_i = std::size_t(layout.n_values[i]), a_j = std::size_t(layout.n_values[j]);
            iy.assign(a_i * n_classes, 0.0);
            jy.assign(a_j * n_classes, 0.0);
            y.assign(n_classes, 0.0);
            only_i.assign(a_i, 0.0);
            only_j.assign(a_j, 0.0);
            double s_ijy = 0.0, s_ij = 0.0, total = 0.0;
            for (std::size_t v = 0; v < a_i; ++v) {
                const double *cell =
                    pairs + ((std::size_t(layout.offsets[i]) + v) * row + std::size_t(layout.offsets[j])) * n_classes;
                for (std::size_t w = 0; w < a_j; ++w) {
                    double both = 0.0;
                    for (std::size_t c = 0; c < n_classes; ++c, ++cell) {
                        s_ijy += times_own_log(*cell);
                        iy[v * n_classes + c] += *cell;
                        jy[w * n_classes + c] += *cell;
                        y[c] += *cell;
                        both += *cell;
                    }
                    s_ij += times_own_log(both);
                    only_i[v] += both;
                    only_j[w] += both;
                    total += both;
                }
            }
            const double one[kPairSums] = {total,          s_ijy, sum_n_log_n(iy),     sum_n_log_n(jy),
                                           sum_n_log_n(y), s_ij,  sum_n_log_n(only_i), sum_n_log_n(only_j)};
            const double other[kPairSums] = {one[0], one[1], one[3], one[2], one[4], one[5], one[7], one[6]};
            std::copy_n(one, kPairSums, sums + (i * n + j) * kPairSums);
            std::copy_n(other, kPairSums, sums + (j * n + i) * kPairSums);
        }
    }
}

}  // namespace tanager
