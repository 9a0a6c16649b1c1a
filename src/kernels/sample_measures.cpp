#include "sample_measures.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "information_sum.hpp"
#include "log_factorial.hpp"

namespace tanager {

namespace {

constexpr std::size_t kKeptCells = std::size_t{1} << 14;  // of two variables, which are kept for the next test
constexpr double kPairCellsTogether = 1e6;                // of the tables that are counted in one go

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

// From the rows, brought together by what is given.
Information from_groups(const Sample &sample, std::size_t x, std::size_t z, const Variables &given, bool with_pearson) {
    const std::size_t n_x = sample.n_values(x), n_z = sample.n_values(z);
    LayerCells<double> wide;
    LayerCells<double> &layer = n_x * n_z <= kKeptCells ? layer_at_hand() : wide;
    layer.start(n_x, n_z, with_pearson);
    LayerFigures sum;
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
    return sum.information(n_x, n_z, sample.n_cells(given), with_pearson);
}

// The layer of two variables of two values, the same to the last bit as that of LayerCells: the values of z come in the
// order in which they appear.
LayerFigures binary_layer(double n00, double n01, double n10, double n11) {
    LayerFigures own;
    const double x0 = n00 + n01, x1 = n10 + n11;
    own.rows = x0 + x1;
    if (n00 == 0.0) {
        std::swap(n00, n01);
        std::swap(n10, n11);
    }
    const double z0 = n00 + n10, z1 = n01 + n11;
    if (x0 == 0.0 || x1 == 0.0 || z0 == 0.0 || z1 == 0.0) return own;  // a constant tells nothing
    own.df = 1.0;
    own.sum = n_log_n(own.rows) - n_log_n(x0) - n_log_n(x1) - n_log_n(z0) - n_log_n(z1);
    own.sum = own.sum + n_log_n(n00) + n_log_n(n01) + n_log_n(n10) + n_log_n(n11);
    return own;
}

}  // namespace

Information information_in(const double *cells, std::size_t n_layers, std::size_t n_x, std::size_t n_z,
                           bool with_pearson, bool turned) {
    LayerCells<double> wide;
    LayerCells<double> &layer = n_x * n_z <= kKeptCells ? layer_at_hand() : wide;
    layer.start(n_x, n_z, with_pearson);
    LayerFigures sum;
    const std::size_t step_x = turned ? 1 : n_z, step_z = turned ? n_x : 1;
    if (n_x == 2 && n_z == 2 && !with_pearson) {
        for (std::size_t k = 0; k < n_layers; ++k, cells += 4)
            sum.add(binary_layer(cells[0], cells[step_z], cells[step_x], cells[3]));
        return sum.information(n_x, n_z, static_cast<double>(n_layers), with_pearson);
    }
    for (std::size_t k = 0; k < n_layers; ++k, cells += n_x * n_z) {
        if (all_zero(cells, n_x * n_z)) continue;
        for (std::uint32_t v = 0; v < n_x; ++v)
            for (std::uint32_t w = 0; w < n_z; ++w)
                if (const double n = cells[v * step_x + w * step_z]; n > 0.0) layer.take({v, w, n});
        sum.add(layer.finish());
    }
    return sum.information(n_x, n_z, static_cast<double>(n_layers), with_pearson);
}

Information information(const Sample &sample, std::size_t x, std::size_t z, const Variables &given, SampleMethod method,
                        bool with_pearson) {
    Variables base = given;
    base.push_back(x);
    if (by_hash(sample, base, z, method)) return from_groups(sample, x, z, given, with_pearson);
    const auto n_layers = static_cast<std::size_t>(sample.n_cells(given));
    std::vector<double> cells(n_layers * sample.n_values(x) * sample.n_values(z));
    sample.extend(base, {z}, {cells.data()}, method);
    return information_in(cells.data(), n_layers, sample.n_values(x), sample.n_values(z), with_pearson);
}

void informations(const Sample &sample, std::size_t x, const Variables &zs, const Variables &given, bool with_pearson,
                  Information *out) {
    Variables base = given;
    base.push_back(x);
    std::map<std::size_t, bool> hashed;  // by the values of z
    std::vector<std::size_t> places;
    std::vector<double> cells;
    const auto finish = [&] {
        const auto n_layers = static_cast<std::size_t>(sample.n_cells(given)), n_x = sample.n_values(x);
        Variables together;
        std::vector<double *> tables;
        std::size_t n_cells = 0;
        for (const std::size_t k : places) n_cells += n_layers * n_x * sample.n_values(zs[k]);
        cells.resize(n_cells);
        n_cells = 0;
        for (const std::size_t k : places) {
            together.push_back(zs[k]);
            tables.push_back(cells.data() + n_cells);
            n_cells += n_layers * n_x * sample.n_values(zs[k]);
        }
        sample.extend(base, together, tables, SampleMethod::automatic);
        for (std::size_t t = 0; t < places.size(); ++t)
            out[places[t]] =
                together[t] < x
                    ? information_in(tables[t], n_layers, sample.n_values(together[t]), n_x, with_pearson, true)
                    : information_in(tables[t], n_layers, n_x, sample.n_values(together[t]), with_pearson);
        places.clear();
    };
    double n_cells = 0.0;
    for (std::size_t k = 0; k < zs.size(); ++k) {
        const auto [hash, fresh] = hashed.try_emplace(sample.n_values(zs[k]));
        if (fresh) hash->second = by_hash(sample, base, zs[k], SampleMethod::automatic);
        if (hash->second) {
            out[k] = from_groups(sample, std::min(x, zs[k]), std::max(x, zs[k]), given, with_pearson);
            continue;
        }
        places.push_back(k);
        n_cells += sample.n_cells(base) * static_cast<double>(sample.n_values(zs[k]));
        if (n_cells < kPairCellsTogether) continue;
        finish();
        n_cells = 0.0;
    }
    if (!places.empty()) finish();
}

}  // namespace tanager
