// Sums of weights, of numbers and of their squares without rounding: W = sum w, A = sum w x, B = sum w x².
//
// Every product of doubles is a whole number times a power of two, so a sum of them is one as well. It is kept in
// digits of 32 bits, each in a word of 64. Of every column the three sums have a window each: the place of the lowest
// digit (that of digit p is worth 2^(32 p)) and how many digits there are. All lines share the windows, so that a row
// is turned into digits once, and added to any number of lines by plain additions:
//
//   digits (lines, width)    W, A and B of the first column, then those of the second, ...
//   windows (columns, 3, 2)  the place of the lowest digit, and the number of digits
//
// Between calls digits are normal: from 0 to 2^32 - 1, but for the highest, which has the sign of the sum. A row never
// reaches the highest digit, so that it only takes carries, of which it can hold 2^62. Within a call up to 2^30 rows
// may be added before digits are made normal again.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

namespace tanager::exact {

struct Part {
    std::int64_t low, size, begin;  // place of the lowest digit, number of digits, and where they are in a line
};

struct Sums {
    int n;  // columns
    std::int64_t n_lines, width;
    std::int64_t *digits;
    std::vector<Part> parts;  // three for each column

    std::int64_t *line(std::int64_t at) const { return digits + at * width; }
};

// What the sums say: total weight (times the scale of the weights), mean, and the root of sum w (x - mean)² / W. `rest`
// is what rounding has taken from the mean.
struct Cell {
    double weight, mean, deviation, rest = 0;
};

// Sums that have faded are cut below the last digit. A spread so small beside the mean is what that leaves of none: two
// doubles that differ do so by 2^-53 of them at least.
inline double beyond_rounding(double deviation, double mean) {
    return deviation > 0x1p-60 * std::abs(mean) ? deviation : 0;
}

// Room for the reading of a cell; one per thread.
struct Scratch {
    std::vector<std::uint64_t> weight, first, second, left, right;
    std::vector<std::int64_t> line;
};

// The lowest and highest bits of the numbers and weights of some rows, and so the digits that their sums may have.
class Extremes {
  public:
    explicit Extremes(int n) : columns_(std::size_t(n)), present_(std::size_t(n), 0) {}
    void see(const double *row, double weight);
    // Bounds (columns, 3, 2), each the first place and the one after the last, become wide enough for the rows.
    void stretch(std::int64_t *bounds) const;

  private:
    struct Range {
        std::int64_t low = 1 << 20, high = -(1 << 20);
        void see(int exponent, int bits) {
            low = exponent < low ? exponent : low;
            high = exponent + bits > high ? exponent + bits : high;
        }
    };
    Range weight_;
    std::vector<Range> columns_;
    std::vector<char> present_;
};

// The digits of a row, as wide as a line. NaN is missing.
void spell(const Sums &sums, const double *row, double weight, std::int64_t *out);

// Adds a row to a line, or takes it away; digits are not normal then.
void add_row(const Sums &sums, const double *row, double weight, bool subtract, std::int64_t *line);

void add(std::int64_t *to, const std::int64_t *row, std::int64_t width);
void subtract(std::int64_t *from, const std::int64_t *row, std::int64_t width);
void normalise(const Sums &sums, std::int64_t *line);
void normalise(const Sums &sums, std::int64_t *line, int column);

// Multiplies a line by 2^exponent times a whole number below 2^53. Digits below the windows are cut off.
void scale(const Sums &sums, std::int64_t *line, std::uint64_t mantissa, int exponent, Scratch &scratch);

// Of digits that are normal in this column.
Cell read(const Sums &sums, const std::int64_t *line, int column, Scratch &scratch);

// The same without one number, of whatever digits.
Cell read_without(const Sums &sums, const std::int64_t *line, int column, double x, double weight, Scratch &scratch);

}  // namespace tanager::exact
