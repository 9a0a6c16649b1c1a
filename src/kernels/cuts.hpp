// Cut points of columns of numbers. Free of Python; the caller has checked lengths, labels and order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tanager {

// Fayyad and Irani's cut points of rows in ascending order. `weights` null: every row weighs one. `by_candidates`:
// what a cut costs depends on the places where it could be, not on the rows. With n_bins of at least one, bins with
// many rows are cut further, to about so many bins in all.
std::vector<double> mdl_cuts(const double *values, const std::uint16_t *labels, const double *weights,
                             std::size_t n_rows, std::size_t n_classes, bool by_candidates, double n_bins);

// The same for numbers in any order, each of weight one, with the labels beside them. Missing and infinite ones tell
// nothing. Small columns are cut often (the first rows of a stream), and calls of NumPy would take longer than the
// work. Without n_bins there are as many as leave rows_per_cell rows of each class for every pair of bins, but at most
// so many.
std::vector<double> cuts_of_unsorted(const double *values, const std::uint16_t *labels, std::size_t n_rows,
                                     bool by_candidates, std::optional<double> n_bins, double rows_per_cell,
                                     double most_bins);

// Cuts of rows in ascending order into k bins of about the same weight, each at the nearest place between two values.
std::vector<double> even_cuts(const double *values, const double *weights, std::size_t n_rows, std::size_t k);

}  // namespace tanager
