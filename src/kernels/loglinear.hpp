// Log-linear tables over families: the posterior of a row, and how the conditional likelihood of many rows changes with
// every cell.
//
//   log P(y, x) = prior[y] + sum over terms of cells[place of (x_child, x_parents), y]
//
// Term t owns a block of (slots of parent 1, ..., slots of parent d, values of the child) places, in this order. A
// parent has one slot more than values, the last, for missing; a row whose child is missing reads nothing of the term.
#pragma once
#include <cstdint>
#include <vector>

#include "slots.hpp"

namespace tanager::scoring {

struct LogLinear {
    struct Term {
        int child;
        std::int64_t base;
        std::vector<int> parents;
        std::vector<std::int64_t> strides;  // in places, one per parent
    };
    int k;
    Slots slots;  // value or missing, of each column
    std::vector<Term> terms;
    std::int64_t n_places = 0;

    // limits[i]: how many codes of column i are values.
    LogLinear(const std::vector<int> &limits, const std::vector<int> &child,
              const std::vector<std::vector<int>> &parents, int n_classes);

    // First cells (place times k) of the terms whose column is present in a row; returns how many are.
    int find(const int *slot, std::uint32_t *first) const;

    // Posteriors, or log joints, of rows begin..end. Where every class is impossible, all are alike.
    void score(const Codes &codes, std::int64_t begin, std::int64_t end, const double *prior, const double *cells,
               bool log_joint, double *out) const;
};

// Labelled rows as the cells they read. Rows that are alike are kept once, with their weights added.
struct LabelledRows {
    int k;
    std::int64_t n_cells;
    std::vector<std::uint32_t> first;  // all rows one after the other
    std::vector<std::int64_t> begins;  // where row r begins in `first`; one more at the end
    std::vector<std::uint16_t> labels;
    std::vector<double> weights;

    LabelledRows(const LogLinear &model, const Batch &rows);

    std::int64_t n_rows() const { return std::int64_t(labels.size()); }
    // sum_r w log P(y_r | x_r); its derivatives are written to d_prior (k) and d_cells (places, k).
    double gradient(const double *prior, const double *cells, double *d_prior, double *d_cells, int n_jobs) const;
};

}  // namespace tanager::scoring
