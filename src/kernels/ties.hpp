// When answers are as good as each other.
#pragma once
#include <cmath>

namespace tanager {

// Probabilities, and log-likelihoods, that are closer than this are a tie.
inline constexpr double kSameProbability = 1e-12;

// A tie goes to the class with more rows. Sums of weights in another order differ in their last digits, which decide
// nothing.
inline double first_digits(double weight) {
    int power;
    const double digits = std::frexp(weight, &power);
    return std::ldexp(std::nearbyint(digits * 0x1p40), power - 40);
}

}  // namespace tanager
