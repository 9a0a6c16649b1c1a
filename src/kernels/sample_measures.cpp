#include "sample_measures.hpp"

#include <math.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "information_sum.hpp"
#include "log_factorial.hpp"

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

// Adds up what the cells and the parent configurations of a family contribute; empty ones contribute nothing.
class FamilySum {
  public:
    FamilySum(ScoreKind kind, double n_values, double n_configurations, double strength)
        : kind_(kind), n_values_(n_values), n_configurations_(n_configurations) {
        if (kind == ScoreKind::k2) {
            in_cell_ = 1.0;
            in_configuration_ = n_values;
        } else if (kind == ScoreKind::bdeu) {
            in_cell_ = strength / (n_values * n_configurations);
            in_configuration_ = strength / n_configurations;
        }
        if (kind == ScoreKind::k2 || kind == ScoreKind::bdeu) {
            empty_cell_ = log_gamma(in_cell_);
            empty_configuration_ = log_gamma(in_configuration_);
        }
    }

    void add_cell(double n) {
        if (!(n > 0.0)) return;
        if (likelihood()) sum_ += n_log_n(n);
        else sum_ += log_gamma(n + in_cell_) - empty_cell_;
    }

    void add_configuration(double n) {
        if (!(n > 0.0)) return;
        rows_ += n;
        if (likelihood()) sum_ -= n_log_n(n);
        else sum_ -= log_gamma(n + in_configuration_) - empty_configuration_;
    }

    double result() const {
        const double free = std::max(n_values_ - 1.0, 0.0) * n_configurations_;
        if (kind_ == ScoreKind::aic) return sum_ - free;
        if (kind_ == ScoreKind::bic) return sum_ - 0.5 * std::log(std::max(rows_, 1.0)) * free;
        return sum_;
    }

  private:
    bool likelihood() const { return kind_ != ScoreKind::k2 && kind_ != ScoreKind::bdeu; }

    ScoreKind kind_;
    double n_values_, n_configurations_;
    double in_cell_ = 0.0, in_configuration_ = 0.0, empty_cell_ = 0.0, empty_configuration_ = 0.0;
    double sum_ = 0.0, rows_ = 0.0;
};

// Of the counts [child, rest of the parents, added parent] the configurations are visited in the order of the sorted
// parents, whichever of them was added: the same family has the same score to the last bit.
double score_of_table(const double *cells, std::size_t n_child, std::size_t n_before, std::size_t n_added,
                      std::size_t n_after, FamilySum sum) {
    const std::size_t n_configurations = n_before * n_added * n_after;
    for (std::size_t before = 0; before < n_before; ++before)
        for (std::size_t added = 0; added < n_added; ++added)
            for (std::size_t after = 0; after < n_after; ++after) {
                const double *cell = cells + (before * n_after + after) * n_added + added;
                double total = 0.0;
                for (std::size_t v = 0; v < n_child; ++v, cell += n_configurations) {
                    total += *cell;
                    sum.add_cell(*cell);
                }
                sum.add_configuration(total);
            }
    return sum.result();
}

double score_by_groups(const Sample &sample, std::size_t child, const Variables &parents, FamilySum sum) {
    const Groups groups = sample.group(parents);
    const std::size_t n_child = sample.n_values(child);
    std::vector<double> cells(n_child);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        std::fill(cells.begin(), cells.end(), 0.0);
        double total = 0.0;
        for (std::size_t at = groups.starts[g]; at < groups.starts[g + 1]; ++at) {
            const std::size_t v = sample.code(groups.rows[at], child);
            if (v == n_child) continue;
            cells[v] += sample.weight(groups.rows[at]);
            total += sample.weight(groups.rows[at]);
        }
        for (const double n : cells) sum.add_cell(n);
        sum.add_configuration(total);
    }
    return sum.result();
}

// A set of parents less one of them, and the families that have it and which one they add.
struct Shared {
    std::vector<std::size_t> families;
    Variables added;
};

// Every family gives up the parent whose absence leaves what most other families have as well.
std::map<Variables, Shared> share(const std::vector<Variables> &parents) {
    const auto without = [](const Variables &all, std::size_t left_out) {
        Variables rest;
        for (std::size_t k = 0; k < all.size(); ++k)
            if (k != left_out) rest.push_back(all[k]);
        std::sort(rest.begin(), rest.end());
        return rest;
    };
    std::map<Variables, std::size_t> frequency;
    for (const Variables &own : parents)
        for (std::size_t k = 0; k < own.size(); ++k) ++frequency[without(own, k)];
    std::map<Variables, Shared> result;
    for (std::size_t f = 0; f < parents.size(); ++f) {
        const Variables &own = parents[f];
        if (own.empty()) continue;
        std::size_t best = 0;
        for (std::size_t k = 1; k < own.size(); ++k)
            if (frequency[without(own, k)] > frequency[without(own, best)]) best = k;
        Shared &shared = result[without(own, best)];
        shared.families.push_back(f);
        shared.added.push_back(own[best]);
    }
    return result;
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

void family_scores(const Sample &sample, ScoreKind kind, std::size_t child, const std::vector<Variables> &parents,
                   double strength, SampleMethod method, double *out) {
    const std::size_t n_child = sample.n_values(child);
    const auto new_sum = [&](const Variables &own) {
        return FamilySum(kind, static_cast<double>(n_child), sample.n_cells(own), strength);
    };
    for (std::size_t f = 0; f < parents.size(); ++f) {
        if (!parents[f].empty()) continue;
        std::vector<double> cells(n_child);
        sample.extend({}, {child}, {cells.data()}, method);
        out[f] = score_of_table(cells.data(), n_child, 1, 1, 1, new_sum({}));
    }
    for (const auto &[rest, shared] : share(parents)) {
        Variables base{child}, added;
        base.insert(base.end(), rest.begin(), rest.end());
        std::vector<std::size_t> families;
        for (std::size_t k = 0; k < shared.families.size(); ++k) {
            const std::size_t f = shared.families[k], i = shared.added[k];
            // Each is measured by itself: how a family is scored must not depend on its company.
            if (by_hash(sample, base, i, method)) {
                out[f] = score_by_groups(sample, child, parents[f], new_sum(parents[f]));
            } else {
                families.push_back(f);
                added.push_back(i);
            }
        }
        if (families.empty()) continue;
        std::vector<std::vector<double>> tables;
        std::vector<double *> cells;
        for (const std::size_t i : added) {
            tables.emplace_back(static_cast<std::size_t>(sample.n_cells(base)) * sample.n_values(i));
            cells.push_back(tables.back().data());
        }
        sample.extend(base, added, cells, method);
        for (std::size_t k = 0; k < families.size(); ++k) {
            const auto split = std::lower_bound(rest.begin(), rest.end(), added[k]);
            const auto n_before = static_cast<std::size_t>(sample.n_cells({rest.begin(), split}));
            const auto n_after = static_cast<std::size_t>(sample.n_cells({split, rest.end()}));
            out[families[k]] = score_of_table(cells[k], n_child, n_before, sample.n_values(added[k]), n_after,
                                              new_sum(parents[families[k]]));
        }
    }
}

}  // namespace tanager
