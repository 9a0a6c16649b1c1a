// log x!, and the log of the gamma function for threads.
#pragma once
#include <cmath>

namespace tanager {

// lgamma writes a global sign; this form does not.
inline double log_gamma(double x) {
    int sign = 0;
    return lgamma_r(x, &sign);
}

inline double log_factorial(double x) { return log_gamma(x + 1); }

}  // namespace tanager
