// Cut points by how many rows lie between them.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

#include "encode.hpp"

namespace tanager {

// Values in ascending order, each once, and the weight of the rows up to and with each of them.
class EvenCuts {
  public:
    // Rows come sorted by value; `weights` null: every row weighs one.
    EvenCuts(const double *values, const double *weights, std::size_t n_rows) : weighted_(weights != nullptr) {
        values_.reserve(n_rows);
        counts_.reserve(n_rows);
        for (std::size_t r = 0; r < n_rows; ++r) {
            if (r == 0 || values[r] != values[r - 1]) {
                values_.push_back(values[r]);
                counts_.push_back(0);
            }
            counts_.back() += weights ? weights[r] : 1.0;
        }
    }

    // Cuts into k bins of about the same weight, each at the nearest place between two values.
    std::vector<double> into(std::size_t k) const {
        std::vector<double> cuts;
        cut_part(0, values_.size(), k, cuts);
        return cuts;
    }

    // These cut points, and more where bins hold many rows, to about so many bins in all.
    std::vector<double> go_on(std::vector<double> cuts, double n_bins) const {
        const std::size_t n = values_.size();
        if (n < 2) return cuts;
        if (static_cast<double>(n) <= n_bins) {
            cuts.clear();
            for (std::size_t u = 1; u < n; ++u) cuts.push_back(middle(values_[u - 1], values_[u]));
            return cuts;
        }
        const double total = std::accumulate(counts_.begin(), counts_.end(), 0.0);
        const std::size_t n_given = cuts.size();
        for (std::size_t c = 0, first = 0; c <= n_given; ++c) {
            const std::size_t last = c < n_given ? place_above(cuts[c]) : n;
            const double own =
                std::accumulate(counts_.begin() + std::ptrdiff_t(first), counts_.begin() + std::ptrdiff_t(last), 0.0);
            cut_part(first, last, static_cast<std::size_t>(std::floor(own / total * n_bins + 0.5)), cuts);
            first = last;
        }
        std::sort(cuts.begin(), cuts.end());
        return cuts;
    }

  private:
    bool weighted_;
    std::vector<double> values_, counts_;

    // How many values are not above a cut point.
    std::size_t place_above(double cut) const {
        return static_cast<std::size_t>(std::upper_bound(values_.begin(), values_.end(), cut) - values_.begin());
    }

    // Appends cuts of the values first..last-1 into k bins.
    void cut_part(std::size_t first, std::size_t last, std::size_t k, std::vector<double> &cuts) const {
        if (last - first < 2) return;
        std::vector<double> ends;  // the only places where a cut can be: rows up to and with each value but the last
        ends.reserve(last - first - 1);
        double total = 0;
        bool whole = true;
        for (std::size_t u = first; u < last; ++u) {
            if (u > first) ends.push_back(total);
            total += counts_[u];
            if (weighted_) whole = whole && counts_[u] == std::floor(counts_[u]);
        }
        std::size_t above = 0, done = 0;  // places before `done` have a cut already, or lie below one
        for (std::size_t j = 1; j < k; ++j) {
            double target = static_cast<double>(j) * total / static_cast<double>(k);
            if (whole) target = std::floor(target + 0.5);
            while (above + 1 < ends.size() && ends[above] < target) ++above;
            const std::size_t below = above > 0 ? above - 1 : 0;
            const std::size_t nearest = ends[above] - target < target - ends[below] ? above : below;
            if (nearest < done) continue;
            cuts.push_back(middle(values_[first + nearest], values_[first + nearest + 1]));
            done = nearest + 1;
        }
    }
};

}  // namespace tanager
