// Gaussian columns along a stream: each row is answered from the moments of the rows before it, then learned.
//
// Moments are (k, n) arrays, class after class: weight W, mean and sum of squared deviations S, kept by Welford's rule.
// low and high are the range of each column so far. NaN cells are missing, infinite ones teach and tell nothing.
#pragma once
#include <cstdint>
#include <vector>

namespace tanager {

struct Moments {
    int k, n;
    double *weight, *mean, *squares, *low, *high;

    void add(const double *row, int y, double w);
    void remove(const double *row, int y, double w);
    void fade(int y, double factor);  // of one class, or of all where y is negative
    // log density of a row for every class: variances at least (0.001 of the range)² and 1e-9, pooled moments for a
    // class without values.
    void log_density(const double *row, double *out) const;
};

// Rows that leave: oldest first, the rows of the block last. `raw` is the weight of a row times the scale when it came.
struct Queue {
    const double *rows;
    std::vector<int> labels;
    std::vector<double> raw;
    const std::int64_t *gone;  // how many leave after each row of the block
};

struct GaussianBlock {
    std::int64_t n_rows;
    const double *rows, *asked;  // to learn, and to answer
    std::vector<int> labels;     // negative: not learned
    const double *weights, *fade;
    bool per_class;
};

void stream(Moments &moments, const GaussianBlock &block, Queue *queue, double *out);

}  // namespace tanager
