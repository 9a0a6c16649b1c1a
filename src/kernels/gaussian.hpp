// Gaussian columns along a stream: each row is answered from the moments of the rows before it, then learned.
//
// The sums of the rows are exact (exact_sums.hpp), one line per class. NaN cells are missing.
#pragma once
#include <cstdint>
#include <vector>

#include "exact_sums.hpp"

namespace tanager {

// The moments of every class and column, read from the sums, and what answers are made from.
class Moments {
  public:
    // `ddof` is taken off the weight behind a variance, where there are two rows; `scale` is that of the weights.
    Moments(exact::Sums sums, double ddof, double scale);

    int n_classes() const { return k_; }
    int n_columns() const { return sums_.n; }
    double scale = 1;

    void add(const double *row, int y, double raw);
    void remove(const double *row, int y, double raw);
    void halve(int bits);  // all sums are divided by 2^bits
    // What every class has less than the one of highest density, in logs and summed over the columns; missing cells
    // add 0. See tanager.counts.normals for the rules.
    void log_ratios(const double *row, double *out);

  private:
    void read(int y);
    void answer(int i, double x, double *out);

    exact::Sums sums_;
    int k_;
    double ddof_;
    std::vector<exact::Cell> cells_;  // (k, n)
    std::vector<double> log_spread_;  // logs of the deviations
    std::vector<double> own_;         // log densities of one number
    std::vector<std::int64_t> row_;
    exact::Scratch scratch_;
};

// Rows that leave: oldest first, the rows of the block last, with their weights times the scale when they came.
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
    const double *raw, *scales;  // weight of each row times the scale, and the scale
    const std::int64_t *halved;  // by how many bits all sums are divided before a row
};

void stream(Moments &moments, const GaussianBlock &block, Queue *queue, double *out);

// Weights times the scale, along rows before which everything fades by a factor: the steps of JointCounts.decay.
void fading_scales(std::int64_t n, const double *fade, double scale, double *scales, std::int64_t *halved);

}  // namespace tanager
