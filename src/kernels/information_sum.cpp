#include "information_sum.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace tanager {

namespace {

std::array<double, kSmallCounts> products_at_hand() {
    std::array<double, kSmallCounts> values{};
    for (std::size_t k = 2; k < kSmallCounts; ++k)
        values[k] = static_cast<double>(k) * std::log(static_cast<double>(k));
    return values;
}

const std::array<double, kSmallCounts> kProducts = products_at_hand();

}  // namespace

const double *const small_n_log_n = kProducts.data();

Information LayerFigures::information(std::size_t n_x, std::size_t n_z, double n_layers, bool with_pearson) const {
    Information out;
    out.rows = rows;
    const double value = rows > 0.0 ? std::nearbyint(sum / rows * 1e12) / 1e12 : 0.0;
    out.value = value > 0.0 ? value : 0.0;  // no minus zero either
    out.df = df;
    const auto free = [](std::size_t n) { return std::max(static_cast<double>(n), 1.0) - 1.0; };
    out.naive_df = free(n_x) * free(n_z) * n_layers;
    out.pearson = with_pearson ? pearson : std::numeric_limits<double>::quiet_NaN();
    return out;
}

}  // namespace tanager
