// Products of many positive numbers as mantissas and powers of two, two lanes at a time.
#pragma once
#include <cstdint>
#include <limits>

#include "lanes.hpp"

namespace tanager::scoring {

using Two = Lanes<2>;
typedef std::uint64_t TwoOfBits __attribute__((vector_size(16)));

// Brings numbers that are positive and normal into [1, 2), and returns the powers of two that were taken.
inline Two take_powers(Two &x) {
    const TwoOfBits bits = (TwoOfBits)x.v[0], exponent = bits >> 52;
    const std::uint64_t fraction = (std::uint64_t(1) << 52) - 1;
    x.v[0] = (Two::Pair)((bits & fraction) | std::uint64_t(0x3ff) << 52);
    // As the last bits of a number whose unit is one, the exponent becomes a double.
    return Two{(Two::Pair)(exponent | std::uint64_t(0x433) << 52) - (0x1p52 + 1023)};
}

// The same for lanes in memory, whose powers are added to `power`.
inline void take_powers(double *x, double *power) {
    Two m = Two::load(x);
    const Two taken = take_powers(m);
    m.store(x);
    (Two::load(power) + taken).store(power);
}

// 2^power for whole powers up to 0; 0 where that would not be normal.
inline Two power_of_two(Two power) {
    const TwoOfBits there = (TwoOfBits)(power.v[0] >= -1022.0);
    const TwoOfBits exponent = (TwoOfBits)(power.v[0] + (0x1p52 + 1023));
    return Two{(Two::Pair)((exponent << 52) & there)};
}

// The sum of n lines of m * 2^e, as a number and the power of two that it is to be multiplied by: 0 where all m are 0.
inline Two sum_of_powers(const double *m, const double *e, int n, std::int64_t step, Two &power) {
    const auto none = Two::all(-std::numeric_limits<double>::infinity()).v[0];
    auto top = none;
    for (int p = 0; p < n; ++p) {
        const auto own = Two::load(m + p * step).v[0] > 0 ? Two::load(e + p * step).v[0] : none;
        top = own > top ? own : top;
    }
    power = Two{top > none ? top : Two::all(0).v[0]};
    Two sum = Two::all(0);
    for (int p = 0; p < n; ++p) {
        const Two below{Two::load(e + p * step).v[0] - power.v[0]};
        sum = sum + Two::load(m + p * step) * power_of_two(below);
    }
    return sum;
}

}  // namespace tanager::scoring
