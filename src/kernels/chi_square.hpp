// The upper tail of the chi-square distribution.
#pragma once
#include <cmath>

namespace tanager {

// P(X > x) with df degrees of freedom: the regularised upper incomplete gamma function Q(df / 2, x / 2), by its series
// where x is small and by its continued fraction (Lentz) elsewhere. Without degrees of freedom nothing can differ: 1.
inline double chi_square_tail(double x, double df) {
    if (df <= 0 || !(x > 0)) return 1;
    const double a = 0.5 * df, z = 0.5 * x;
    const double front = std::exp(a * std::log(z) - z - std::lgamma(a));
    if (z < a + 1) {
        double term = 1 / a, sum = term;
        for (int j = 1; j < 10000 && term > sum * 1e-16; ++j) sum += term *= z / (a + j);
        return 1 - front * sum;
    }
    double b = z + 1 - a, c = 1e300, d = 1 / b, value = d;
    for (int j = 1; j < 10000; ++j) {
        const double factor = -j * (j - a);
        b += 2;
        d = 1 / (b + factor * d);
        c = b + factor / c;
        value *= c * d;
        if (std::abs(c * d - 1) < 1e-15) break;
    }
    return front * value;
}

}  // namespace tanager
