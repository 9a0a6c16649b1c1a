#include "cuts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tanager {

namespace {

// Between two neighbouring doubles the middle may round up to the upper one, which would then fall below the cut.
double middle(double a, double b) {
    const double m = 0.5 * a + 0.5 * b;
    return a <= m && m < b ? m : a;
}

// Finite values in ascending order, with their labels.
struct SortedByValue {
    std::vector<double> values;
    std::vector<std::uint16_t> labels;
    std::vector<std::size_t> class_rows;  // how many rows each class has

    SortedByValue(const double *numbers, const std::uint16_t *classes, std::size_t n_rows) {
        std::vector<Row> rows;
        rows.reserve(n_rows);
        for (std::size_t r = 0; r < n_rows; ++r)
            if (std::isfinite(numbers[r])) rows.push_back({numbers[r], classes[r]});
        sort(rows);
        values.reserve(rows.size());
        labels.reserve(rows.size());
        for (const auto &[value, label] : rows) {
            values.push_back(value);
            labels.push_back(label);
            if (label >= class_rows.size()) class_rows.resize(label + std::size_t{1});
            ++class_rows[label];
        }
    }

    std::size_t n_present() const {
        return static_cast<std::size_t>(
            std::count_if(class_rows.begin(), class_rows.end(), [](std::size_t n) { return n > 0; }));
    }

  private:
    struct Row {
        double value;
        std::uint16_t label;
    };

    // Dealt out into as many places between the lowest and the highest; then neighbours change places. Comparisons of
    // numbers in disorder, which nobody can foresee, would take several times as long.
    static void sort(std::vector<Row> &rows) {
        constexpr std::size_t few = 32;
        if (rows.size() > few) deal_out(rows);
        std::size_t n_moves = 0;
        for (std::size_t r = 1; r < rows.size(); ++r) {
            const Row row = rows[r];
            std::size_t at = r;
            for (; at > 0 && row.value < rows[at - 1].value; --at) rows[at] = rows[at - 1];
            rows[at] = row;
            n_moves += r - at;
            if (n_moves > few * rows.size()) {  // most are in one place
                std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) { return a.value < b.value; });
                return;
            }
        }
    }
    static void deal_out(std::vector<Row> &rows) {
        constexpr std::uint32_t digit = 256;
        double low = rows[0].value, high = low;
        for (const Row &row : rows) low = std::min(low, row.value), high = std::max(high, row.value);
        const double scale = (digit * digit - 1) / (high - low);
        if (!(scale > 0 && std::isfinite(scale))) return;  // all alike, or too far apart
        std::vector<std::uint32_t> place(rows.size());
        std::array<std::array<std::uint32_t, digit>, 2> from{};
        for (std::size_t r = 0; r < rows.size(); ++r) {
            place[r] = std::uint32_t((rows[r].value - low) * scale);
            ++from[0][place[r] % digit], ++from[1][place[r] / digit];
        }
        for (auto &digits : from) std::exclusive_scan(digits.begin(), digits.end(), digits.begin(), std::uint32_t{0});
        std::vector<std::uint32_t> order(rows.size());
        for (std::uint32_t r = 0; r < rows.size(); ++r) order[from[0][place[r] % digit]++] = r;
        std::vector<Row> sorted(rows.size());
        for (const std::uint32_t r : order) sorted[from[1][place[r] / digit]++] = rows[r];
        rows.swap(sorted);
    }
};

// Fayyad and Irani's cut points: split where the class entropy falls most, as long as the gain pays for its encoding.
// Rows come sorted by value. Entropies in bits.
class MdlCuts {
  public:
    MdlCuts(const double *values, const std::uint16_t *labels, const double *weights, std::size_t n_rows,
            std::size_t n_classes, bool by_candidates)
        : labels_(labels), weights_(weights), n_classes_(n_classes), by_candidates_(by_candidates), left_(n_classes),
          right_(n_classes), n_right_(n_classes), term_(n_classes) {
        group(values, n_rows);
        if (weights) return;
        for (std::size_t n = kept_.size(); n <= n_rows; ++n) kept_.push_back(compute(static_cast<double>(n)));
        table_ = kept_.data();
        if (n_classes <= few_classes) find_places();
    }

    std::vector<double> run() {
        std::vector<double> cuts;
        std::vector<std::pair<std::size_t, std::size_t>> open;  // ranges of groups still to be split
        if (low_.size() > 1) open.emplace_back(0, low_.size());
        while (!open.empty()) {
            const auto [first, last] = open.back();
            open.pop_back();
            const std::size_t g = split(first, last);
            if (g == none) continue;
            cuts.push_back(middle(low_[g - 1], low_[g]));
            if (g - first > 1) open.emplace_back(first, g);
            if (last - g > 1) open.emplace_back(g, last);
        }
        std::sort(cuts.begin(), cuts.end());
        return cuts;
    }

  private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    static constexpr std::int32_t mixed = -1;
    static constexpr std::size_t few_classes = 4;

    const std::uint16_t *labels_;
    const double *weights_;  // null: every row weighs one
    std::size_t n_classes_;
    bool by_candidates_;
    std::vector<double> low_;          // the distinct values
    std::vector<std::size_t> start_;   // first row of each distinct value, and the number of rows
    std::vector<std::int32_t> class_;  // the class all rows of a distinct value share, or mixed
    std::vector<double> left_, right_, best_left_, best_right_;  // class weights of both sides, and at the best cut
    std::vector<std::size_t> n_right_;                           // rows: weights may not cancel
    std::vector<double> term_;
    // Of few classes without weights: groups that a cut can be before, with the first one and the end, and how many
    // rows of each class lie below.
    std::vector<std::size_t> places_;
    std::vector<std::uint32_t> below_;

    // n log2 n for whole n, when rows are not weighted: logarithms are most of the work. Kept for the next column; its
    // address is at hand, as finding what belongs to a thread takes longer than reading it.
    static inline thread_local std::vector<double> kept_;
    const double *table_ = nullptr;

    static double compute(double x) { return x > 0 ? x * std::log2(x) : 0.0; }
    double x_log_x(double x) const { return table_ ? table_[static_cast<std::size_t>(x)] : compute(x); }

    void group(const double *values, std::size_t n_rows) {
        low_.reserve(n_rows);
        start_.reserve(n_rows + 1);
        class_.reserve(n_rows);
        for (std::size_t r = 0; r < n_rows; ++r) {
            const auto label = static_cast<std::int32_t>(labels_[r]);
            if (r == 0 || values[r] != values[r - 1]) {
                low_.push_back(values[r]);
                start_.push_back(r);
                class_.push_back(label);
            } else if (class_.back() != label) {
                class_.back() = mixed;
            }
        }
        start_.push_back(n_rows);
    }

    // Between groups of one class there is never the best place for a cut.
    bool is_place(std::size_t g) const { return class_[g] == mixed || class_[g] != class_[g - 1]; }

    void find_places() {
        const std::size_t n_groups = low_.size();
        places_.reserve(n_groups + 1);
        below_.reserve((n_groups + 1) * n_classes_);
        std::array<std::uint32_t, few_classes> below{};
        for (std::size_t g = 0, r = 0; g <= n_groups; ++g) {
            for (; r < start_[g]; ++r) ++below[labels_[r]];
            if (g > 0 && g < n_groups && !is_place(g)) continue;
            places_.push_back(g);
            below_.insert(below_.end(), below.begin(), below.begin() + std::ptrdiff_t(n_classes_));
        }
    }
    std::size_t place_of(std::size_t group) const {
        return std::size_t(std::lower_bound(places_.begin(), places_.end(), group) - places_.begin());
    }
    const std::uint32_t *below(std::size_t group) const { return &below_[place_of(group) * n_classes_]; }

    double weight(std::size_t r) const { return weights_ ? weights_[r] : 1.0; }

    // All rows of the groups first..last-1 on the right side; returns their weight.
    double gather(std::size_t first, std::size_t last) {
        std::fill(left_.begin(), left_.end(), 0.0);
        std::fill(right_.begin(), right_.end(), 0.0);
        std::fill(n_right_.begin(), n_right_.end(), 0);
        if (places_.empty()) {
            for (std::size_t r = start_[first]; r < start_[last]; ++r) {
                right_[labels_[r]] += weight(r);
                ++n_right_[labels_[r]];
            }
        } else {
            const std::uint32_t *low = below(first), *high = below(last);
            for (std::size_t c = 0; c < n_classes_; ++c) right_[c] = high[c] - low[c];
        }
        double total = 0;
        for (std::size_t c = 0; c < n_classes_; ++c) {
            total += right_[c];
            term_[c] = x_log_x(right_[c]);
        }
        return total;
    }

    void move_left(std::size_t r) {
        const std::size_t c = labels_[r];
        left_[c] += weight(r);
        right_[c] -= weight(r);
        if (weights_ && --n_right_[c] == 0) right_[c] = 0;
    }

    static std::size_t present(const std::vector<double> &side) {
        return static_cast<std::size_t>(std::count_if(side.begin(), side.end(), [](double w) { return w > 0; }));
    }

    // W * entropy of one side, from its class weights.
    double bits(const std::vector<double> &side) const {
        double total = 0, terms = 0;
        for (double w : side) {
            total += w;
            terms += x_log_x(w);
        }
        return x_log_x(total) - terms;
    }

    // The first group right of the best cut, or none when no cut pays.
    std::size_t split(std::size_t first, std::size_t last) {
        const double total = gather(first, last);
        const auto c = static_cast<double>(present(right_));
        if (total < 2 || c < 2) return none;
        const double entropy = bits(right_) / total;
        const auto [best, expected] = cheapest(first, last, total);
        if (best == none) return none;

        std::swap(left_, best_left_);
        std::swap(right_, best_right_);
        const double left = std::accumulate(left_.begin(), left_.end(), 0.0);
        const double right = std::accumulate(right_.begin(), right_.end(), 0.0);
        const double entropies = c * entropy - static_cast<double>(present(left_)) * bits(left_) / left -
                                 static_cast<double>(present(right_)) * bits(right_) / right;
        const double gain = entropy - expected, delta = log2_of_3_to(c) - entropies;
        // The total weight stands for N in log2(N - 1) as well: a row of weight 2 must equal the row given twice.
        const double choices = by_candidates_ ? static_cast<double>(last - first - 1) : total - 1;
        return gain > 0 && gain > (std::log2(choices) + delta) / total ? best : none;
    }

    // The cut that leaves least entropy, the first one on ties: the group right of it and the entropy left.
    std::pair<std::size_t, double> cheapest(std::size_t first, std::size_t last, double total) {
        if (places_.empty()) return cheapest_of_all(first, last, total);
        switch (n_classes_) {
            case 2: return cheapest_of_few<2>(first, last, total);
            case 3: return cheapest_of_few<3>(first, last, total);
            case 4: return cheapest_of_few<4>(first, last, total);
            default: return {none, 0};  // of one class
        }
    }

    // By the rows of each class below every place.
    template <std::size_t K>
    std::pair<std::size_t, double> cheapest_of_few(std::size_t first, std::size_t last, double total) {
        const std::size_t begin = place_of(first), end = place_of(last);
        const std::uint32_t *low = below(first), *high = below(last);
        const double tie = 1e-12 * total;
        double least = std::numeric_limits<double>::infinity();
        std::size_t best = none;
        const auto rows = std::size_t(total);
        for (std::size_t p = begin + 1; p < end; ++p) {
            const std::uint32_t *here = &below_[p * K];
            std::size_t left = 0;
            double terms = 0;
            for (std::size_t c = 0; c < K; ++c) {
                left += here[c] - low[c];
                terms += table_[here[c] - low[c]] + table_[high[c] - here[c]];
            }
            const double expected = table_[left] + table_[rows - left] - terms;  // times the total
            if (expected < least - tie) {
                least = expected;
                best = p;
            }
        }
        if (best == none) return {none, least};
        for (std::size_t c = 0; c < K; ++c) {
            left_[c] = below_[best * K + c] - low[c];
            right_[c] = high[c] - below_[best * K + c];
        }
        best_left_ = left_;
        best_right_ = right_;
        return {places_[best], least / total};
    }

    std::pair<std::size_t, double> cheapest_of_all(std::size_t first, std::size_t last, double total) {
        std::size_t best = none;
        double least = std::numeric_limits<double>::infinity(), left = 0;
        const double tie = 1e-12 * total;
        for (std::size_t g = first + 1; g < last; ++g) {
            for (std::size_t r = start_[g - 1]; r < start_[g]; ++r) {
                const std::size_t c = labels_[r];
                move_left(r);
                left += weight(r);
                term_[c] = x_log_x(left_[c]) + x_log_x(right_[c]);
            }
            if (!is_place(g)) continue;
            const double terms = std::accumulate(term_.begin(), term_.end(), 0.0);
            const double expected = x_log_x(left) + x_log_x(total - left) - terms;  // times the total
            if (expected < least - tie) {
                least = expected;
                best = g;
                best_left_ = left_;
                best_right_ = right_;
            }
        }
        return {best, least / total};
    }

    // log2(3^c - 2); beyond 600 classes 3^c overflows and the 2 no longer shows.
    static double log2_of_3_to(double c) { return c > 600 ? c * std::log2(3.0) : std::log2(std::pow(3.0, c) - 2); }
};

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

}  // namespace

std::vector<double> mdl_cuts(const double *values, const std::uint16_t *labels, const double *weights,
                             std::size_t n_rows, std::size_t n_classes, bool by_candidates, double n_bins) {
    auto cuts = MdlCuts(values, labels, weights, n_rows, n_classes, by_candidates).run();
    if (n_bins < 1) return cuts;
    return EvenCuts(values, weights, n_rows).go_on(std::move(cuts), n_bins);
}

std::vector<double> cuts_of_unsorted(const double *values, const std::uint16_t *labels, std::size_t n_rows,
                                     bool by_candidates, std::optional<double> n_bins, double rows_per_cell,
                                     double most_bins) {
    const SortedByValue rows(values, labels, n_rows);
    const std::size_t n = rows.values.size(), k = rows.class_rows.size();
    if (n == 0) return {};
    if (!n_bins) n_bins = std::min(most_bins, std::sqrt(double(n) / (double(rows.n_present()) * rows_per_cell)));
    return mdl_cuts(rows.values.data(), rows.labels.data(), nullptr, n, k, by_candidates, *n_bins);
}

std::vector<double> even_cuts(const double *values, const double *weights, std::size_t n_rows, std::size_t k) {
    return EvenCuts(values, weights, n_rows).into(k);
}

}  // namespace tanager
