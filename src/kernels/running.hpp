// A cell of exact sums that is followed in doubles from row to row, between two readings.
//
// Its sums are of d = x - centre, which is rounded relative to itself. Let u be 2^-53, P the largest sum of w d² and Q
// the largest weight since the reading. A step is wrong by at most 5 u P in the sum of w d², by 3 u √(Q P) in that of w
// d, and by u Q in the weight. While an eighth of P and Q is left, the variance is thus off by 8 · 30 u of itself per
// step, and deviation and mean by less than 1e-12 deviations after 64. Where less is left, where squares are too large
// or too small for doubles, or after so many steps, it says so, and the exact sums are to be read.
#pragma once
#include <algorithm>
#include <cmath>

#include "exact_sums.hpp"

namespace tanager::exact {

class Running {
  public:
    Running() = default;
    explicit Running(const Cell &cell) : weight_(cell.weight), centre_(cell.mean), first_(cell.weight * cell.rest) {
        second_ = weight_ * cell.deviation * cell.deviation + first_ * cell.rest;
        most_weight_ = weight_, most_second_ = second_;
        varied_ = cell.deviation > 0;
    }

    void add(double x, double weight) {
        if (weight_ == 0) centre_ = x;  // the first row
        const double d = x - centre_, wd = weight * d;
        weight_ += weight, first_ += wd, second_ += wd * d;
        most_weight_ = std::max(most_weight_, weight_), most_second_ = std::max(most_second_, second_);
        varied_ |= d != 0;
        ++steps_;
    }

    void remove(double x, double weight) {
        const double d = x - centre_, wd = weight * d;
        weight_ -= weight, first_ -= wd, second_ -= wd * d;
        varied_ |= d != 0;
        ++steps_;
    }

    // What the sums say; whether it is to be trusted is told.
    bool read(Cell &cell) const {
        const double inverse = 1 / weight_, shift = first_ * inverse, squares = second_ - first_ * shift;
        cell = {weight_, centre_ + shift, varied_ ? std::sqrt(squares * inverse) : 0};
        cell.rest = shift - (cell.mean - centre_);
        const bool ordinary = squares >= most_second_ * left && squares > smallest && second_ < largest;
        return steps_ <= most_steps && weight_ >= most_weight_ * left && weight_ > 0 && weight_ < largest &&
               (ordinary || !varied_);
    }

    double weight() const { return weight_; }
    void distrust() { steps_ = most_steps + 1; }

  private:
    static constexpr int most_steps = 64;
    static constexpr double left = 0.125, smallest = 0x1p-900, largest = 0x1p1000;
    double weight_ = 0, centre_ = 0, first_ = 0, second_ = 0, most_weight_ = 0, most_second_ = 0;
    int steps_ = 0;
    bool varied_ = false;
};

}  // namespace tanager::exact
