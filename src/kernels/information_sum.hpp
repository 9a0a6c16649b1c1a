// The conditional mutual information of two variables, added up layer by layer: one for each configuration of what is
// given.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tanager {

struct Information {
    double value = 0.0;     // I(X; Z | C) in nats, never negative, rounded to 12 decimals
    double rows = 0.0;      // M, the weight of the rows in which all variables are present
    double df = 0.0;        // sum over the configurations of C that occur of (r_x - 1)(r_z - 1), r counting what occurs
    double naive_df = 0.0;  // (a_x - 1)(a_z - 1) times all configurations of C
    double pearson = 0.0;   // X^2 = sum (O - E)^2 / E over cells with E > 0
};

// n log n, and 0 for 0. Most cells of a wide table hold a small whole number, whose product is at hand.
constexpr std::size_t kSmallCounts = 8192;
extern const double *const small_n_log_n;

[[gnu::noinline]] inline double large_n_log_n(double n) { return n > 0.0 ? n * std::log(n) : 0.0; }

inline double n_log_n(double n) {
    if (n >= 0.0 && n < static_cast<double>(kSmallCounts)) [[likely]]
        if (const auto k = static_cast<std::uint32_t>(n); static_cast<double>(k) == n) [[likely]]
            return small_n_log_n[k];
    return large_n_log_n(n);
}
inline double n_log_n(std::uint32_t n) {
    return n < kSmallCounts ? small_n_log_n[n] : static_cast<double>(n) * std::log(static_cast<double>(n));
}

constexpr std::uint32_t kMixed = ~std::uint32_t{0};

// What one layer contributes.
struct LayerFigures {
    double sum = 0.0, rows = 0.0, df = 0.0, pearson = 0.0;

    void add(const LayerFigures &other) {
        sum += other.sum;
        rows += other.rows;
        df += other.df;
        pearson += other.pearson;
    }
    // Of all layers, of which there could be so many; Pearson's X^2 is NaN where it was not asked for.
    Information information(std::size_t n_x, std::size_t n_z, double n_layers, bool with_pearson) const;
};

// The cells [x, z] of one layer after the other. Counts are whole numbers where rows have no weights.
template <class Count>
class LayerCells {
  public:
    struct Row {
        std::uint32_t v, w;
        Count n;
    };

    void start(std::size_t n_x, std::size_t n_z, bool with_pearson) {
        n_z_ = n_z;
        with_pearson_ = with_pearson;
        if (x_.size() < n_x) x_.resize(n_x), xs_.resize(n_x + 1);  // all are zero between layers
        if (z_.size() < n_z) z_.resize(n_z), zs_.resize(n_z + 1);
        if (cells_.size() < n_x * n_z) cells_.resize(n_x * n_z);
        n_xs_ = n_zs_ = 0;
    }
    // A row, in which neither is missing, of the layer at hand.
    void take(const Row &row) {
        Count &x = x_[row.v], &z = z_[row.w];
        xs_[n_xs_] = row.v;
        zs_[n_zs_] = row.w;
        n_xs_ += x == 0;  // branches would be missed half of the time
        n_zs_ += z == 0;
        x += row.n;
        z += row.n;
        cells_[row.v * n_z_ + row.w] += row.n;
    }
    // The one value of x, or of z, among these rows; kMixed where there are several, or no rows.
    std::uint32_t only_x() const { return n_xs_ == 1 ? xs_[0] : kMixed; }
    std::uint32_t only_z() const { return n_zs_ == 1 ? zs_[0] : kMixed; }
    // The layer of the rows taken since the last one; visit(row) sees them with equal ones merged. Most layers have few
    // rows, so only what these touched is looked at.
    template <class Visit>
    LayerFigures finish(const Visit &visit) {
        const LayerFigures found = figures();
        for (std::size_t a = 0; a < n_xs_; ++a)
            for (std::size_t b = 0; b < n_zs_; ++b)
                if (Count &cell = cells_[xs_[a] * n_z_ + zs_[b]]; cell != 0) {
                    visit(Row{xs_[a], zs_[b], cell});
                    cell = 0;
                }
        clear_margins();
        return found;
    }
    LayerFigures finish() {
        const LayerFigures found = figures();
        for (std::size_t a = 0; a < n_xs_; ++a)
            for (std::size_t b = 0; b < n_zs_; ++b) cells_[xs_[a] * n_z_ + zs_[b]] = 0;
        clear_margins();
        return found;
    }

  private:
    LayerFigures figures() const {
        LayerFigures own;
        Count rows = 0;
        for (std::size_t a = 0; a < n_xs_; ++a) rows += x_[xs_[a]];
        own.rows = static_cast<double>(rows);
        if (n_xs_ < 2 || n_zs_ < 2) return own;  // a constant tells nothing
        own.df = static_cast<double>((n_xs_ - 1) * (n_zs_ - 1));
        own.sum = n_log_n(rows);
        for (std::size_t a = 0; a < n_xs_; ++a) own.sum -= n_log_n(x_[xs_[a]]);
        for (std::size_t b = 0; b < n_zs_; ++b) own.sum -= n_log_n(z_[zs_[b]]);
        for (std::size_t a = 0; a < n_xs_; ++a)
            for (std::size_t b = 0; b < n_zs_; ++b) own.sum += n_log_n(cells_[xs_[a] * n_z_ + zs_[b]]);
        if (with_pearson_) own.pearson = pearson(own.rows);
        return own;
    }
    // The sum of (O - E)^2 / E with E = x z / N, N^2 times above and below: exact differences, one division.
    double pearson(double rows) const {
        double sum = 0.0;
        for (std::size_t a = 0; a < n_xs_; ++a)
            for (std::size_t b = 0; b < n_zs_; ++b) {
                const double product = static_cast<double>(x_[xs_[a]]) * static_cast<double>(z_[zs_[b]]);
                const double difference = static_cast<double>(cells_[xs_[a] * n_z_ + zs_[b]]) * rows - product;
                sum += difference * difference / (product * rows);
            }
        return sum;
    }
    void clear_margins() {
        for (std::size_t a = 0; a < n_xs_; ++a) x_[xs_[a]] = 0;
        for (std::size_t b = 0; b < n_zs_; ++b) z_[zs_[b]] = 0;
        n_xs_ = n_zs_ = 0;
    }

    std::size_t n_z_ = 0;
    bool with_pearson_ = true;
    std::vector<Count> x_, z_, cells_;          // all zero between layers
    std::vector<std::uint32_t> xs_{0}, zs_{0};  // the values that occur in the layer, and room for one more
    std::size_t n_xs_ = 0, n_zs_ = 0;
};

}  // namespace tanager
