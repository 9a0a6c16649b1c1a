#include "sample_measures.hpp"

#include <algorithm>
#include <bit>

#include "information_sum.hpp"

namespace tanager {

namespace {

constexpr double kMostCells = 1e8;                        // beyond this no table is made: rows are grouped
constexpr std::size_t kKeptCells = std::size_t{1} << 14;  // of two variables, which are kept for the next test

// In a wide table most layers are empty; looking at bits is cheaper than adding.
bool all_zero(const double *cells, std::size_t n) {
    std::uint64_t any = 0;
    for (std::size_t k = 0; k < n; ++k) any |= std::bit_cast<std::uint64_t>(cells[k]);
    return any == 0;
}

// Searches ask many thousand times: each has its cells from the one before it.
LayerCells<double> &layer_at_hand() {
    thread_local LayerCells<double> layer;
    return layer;
}

bool by_hash(const Sample &sample, const Variables &base, std::size_t other, SampleMethod method) {
    const double n_cells = sample.n_cells(base) * static_cast<double>(sample.n_values(other));
    if (n_cells > kMostCells || method == SampleMethod::hash) return true;
    return method == SampleMethod::automatic && sample.choose(base, {other}) == SampleMethod::hash;
}

}  // namespace

Information information(const Sample &sample, std::size_t x, std::size_t z, const Variables &given, SampleMethod method,
                        bool with_pearson) {
    const std::size_t n_x = sample.n_values(x), n_z = sample.n_values(z);
    const double n_layers = sample.n_cells(given);
    LayerCells<double> wide;
    LayerCells<double> &layer = n_x * n_z <= kKeptCells ? layer_at_hand() : wide;
    layer.start(n_x, n_z, with_pearson);
    LayerFigures sum;
    Variables base = given;
    base.push_back(x);
    if (by_hash(sample, base, z, method)) {
        const Groups groups = sample.group(given);
        for (std::size_t g = 0; g < groups.size(); ++g) {
            for (std::size_t at = groups.starts[g]; at < groups.starts[g + 1]; ++at) {
                const std::uint32_t r = groups.rows[at];
                const std::size_t v = sample.code(r, x), w = sample.code(r, z);
                if (v < n_x && w < n_z && sample.weight(r) > 0.0)
                    layer.take({static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(w), sample.weight(r)});
            }
            sum.add(layer.finish());
        }
        return sum.information(n_x, n_z, n_layers, with_pearson);
    }
    std::vector<double> cells(static_cast<std::size_t>(n_layers) * n_x * n_z);
    sample.extend(base, {z}, {cells.data()}, method);
    for (std::size_t at = 0; at < cells.size(); at += n_x * n_z) {
        if (all_zero(cells.data() + at, n_x * n_z)) continue;
        for (std::uint32_t v = 0; v < n_x; ++v)
            for (std::uint32_t w = 0; w < n_z; ++w)
                if (const double n = cells[at + v * n_z + w]; n > 0.0) layer.take({v, w, n});
        sum.add(layer.finish());
    }
    return sum.information(n_x, n_z, n_layers, with_pearson);
}

}  // namespace tanager
