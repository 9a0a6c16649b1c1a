// Watching the answers of a stream: which of them are wrong, and whether errors have become more.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

namespace tanager::drift {

// 1 where another class is more probable than the true one, by more than a tie; else 0.
inline double is_wrong(const double *proba, std::int64_t label, std::int64_t k, double tie) {
    double most = proba[0];
    for (std::int64_t c = 1; c < k; ++c) most = proba[c] > most ? proba[c] : most;
    return proba[label] < most - tie ? 1.0 : 0.0;
}

// The same for many answers; `proba` is (n_rows, k), row after row.
template <class Label>
void wrong_answers(const double *proba, const Label *labels, std::int64_t n_rows, std::int64_t k, double tie,
                   double *wrong) {
    for (std::int64_t r = 0; r < n_rows; ++r) wrong[r] = is_wrong(proba + r * k, labels[r], k, tie);
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

// How many of the recent rows are of a kind; each weighs `keep` of the one after it.
struct Share {
    double keep, count = 0, of = 0;

    void add(double value) {
        count = count * keep + value;
        of = of * keep + 1;
    }
};

// A challenger and the model that it is compared with, over rows on which just one of them was right: a sign test.
struct Duel {
    Share won, lost;
    double clear;  // standard deviations that the challenger must be ahead

    void add(double challenger, double other) {
        const double ahead = other - challenger;
        won.add(ahead > 0 ? ahead : 0.0);
        lost.add(ahead < 0 ? -ahead : 0.0);
    }
    bool is_won() const { return won.count - lost.count > clear * std::sqrt(won.count + lost.count); }
};

}  // namespace tanager::drift
