// Gaussian columns of naive Bayes: the moments of every class, and answers from them; row after row, each row answered,
// then learned, while old rows fade or leave.
//
// Sums (see exact_sums.hpp) have one line per class. A missing number (NaN) has no part.
#pragma once
#include <cstdint>
#include <vector>

#include "exact_sums.hpp"
#include "running.hpp"

namespace tanager {

// The moments of every class and column, read from the sums, and what answers are made from. Between two readings they
// are followed in doubles.
class Moments {
  public:
    // `ddof` is taken off the weight behind a variance, where there are two rows; `scale` is that of the weights.
    Moments(exact::Sums sums, double ddof, double scale);

    int n_classes() const { return k_; }
    int n_columns() const { return n_; }

    void add(const double *row, int y, double raw) { change(row, y, raw, false); }
    void remove(const double *row, int y, double raw) { change(row, y, raw, true); }
    void set_scale(double scale);
    void halve(int bits);  // all sums are divided by 2^bits
    void normalise();      // the digits, after the last change

    // What every class has less than the one of highest density, in logs and summed over the columns; missing cells
    // add 0. Returns the sum of the highest. See tanager.counts.normals for the rules.
    double log_ratios(const double *row, double *out);
    // The same of a row that was learned, as if it had not been.
    double log_ratios_without(const double *row, int y, double raw, double *out);

  private:
    // A normal distribution of a class, with the deviation of the rule for variances.
    struct Normal {
        double weight, mean, deviation, inverse, log_deviation;
    };
    // All rows: what classes without rows have, and the least deviation.
    struct Every {
        double mean, deviation, least;
    };

    // Of one number: the highest log density of a class, and the largest distance from a mean, in deviations.
    struct Logs {
        double top, farthest;
    };

    std::size_t at(int i, int y) const { return std::size_t(i) * std::size_t(k_) + std::size_t(y); }
    void change(const double *row, int y, double raw, bool remove);
    void normalise(int y);
    void distrust();
    void settle();
    void read(int y, int i);
    void read_every(int i);
    void read_exactly(int i);
    static bool is_light(double weight, double total);
    bool has_light(const exact::Cell *cells, double total) const;
    double corrected(const exact::Cell &cell) const;
    Normal normal(const exact::Cell &cell) const;
    Every every(const exact::Cell &all) const;
    exact::Cell pooled(const exact::Cell *cells) const;
    Logs log_densities(double x, const Every &every, const Normal *normals);

    exact::Sums sums_;
    int k_, n_;
    double ddof_, scale_;
    // Columns, and the classes of each.
    std::vector<exact::Cell> cells_;
    std::vector<exact::Running> running_;
    std::vector<Normal> normals_;
    // Columns.
    std::vector<exact::Running> running_all_;
    std::vector<Every> every_;
    std::vector<double> lightest_;  // no class with rows has less weight
    std::vector<char> followed_;    // whether rows have come or gone since its sums were all read
    // Classes whose cells have changed, and whose digits are not normal; and whether any rows have changed.
    std::vector<char> stale_, spread_out_;
    bool all_stale_ = true;
    std::vector<double> own_;  // log densities of one number
    std::vector<exact::Cell> others_;
    std::vector<Normal> left_;
    exact::Scratch scratch_;
};

// Rows that leave: oldest first, then those of the block, with their weights times the scale when they came.
struct Queue {
    std::int64_t n_old;
    const double *rows;  // the old ones
    std::vector<int> labels;
    std::vector<double> raw;   // also those of the block
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
