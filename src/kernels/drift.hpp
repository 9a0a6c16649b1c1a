// Watching the answers of a stream: which of them are wrong, and whether errors have become more.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

namespace tanager::drift {

// wrong[r] = 1 where another class is more probable than the true one, by more than a tie; else 0.
// `proba` is (n_rows, k), row after row.
template <class Label>
void wrong_answers(const double *proba, const Label *labels, std::int64_t n_rows, std::int64_t k, double tie,
                   double *wrong) {
    for (std::int64_t r = 0; r < n_rows; ++r, proba += k) {
        double most = proba[0];
        for (std::int64_t c = 1; c < k; ++c) most = proba[c] > most ? proba[c] : most;
        wrong[r] = proba[labels[r]] < most - tie ? 1.0 : 0.0;
    }
}

enum class Signal : int { none, warning, drift };

// The detector of Gama et al.: it remembers where p + s was smallest, and compares with that.
struct Ddm {
    double warning, drift, min_rows, smoothing;  // options
    std::int64_t n = 0;
    double wrong = 0;
    double low = std::numeric_limits<double>::quiet_NaN(), spread = low;  // p and s there; NaN before the first
    Signal signal = Signal::none;

    // Takes in one answer, and says what it shows; where answers are too few still, nothing.
    Signal hear(double value) {
        if (signal == Signal::drift) *this = Ddm{warning, drift, min_rows, smoothing};
        ++n;
        wrong += value;
        const double m = double(n);
        if (m <= min_rows) return Signal::none;
        const double p = (wrong + smoothing) / (m + 2 * smoothing), s = std::sqrt(p * (1 - p) / m);
        if (std::isnan(low) || p + s <= low + spread) {
            low = p;
            spread = s;
        }
        const double above = p + s - low;
        signal = above > drift * spread ? Signal::drift : above > warning * spread ? Signal::warning : Signal::none;
        return signal;
    }
};

}  // namespace tanager::drift
