#include "sample_measures.hpp"

#include <math.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace tanager {

namespace {

constexpr double kMostCells = 1e8;  // beyond this no table is made: rows are grouped
constexpr std::size_t kSmallCounts = 1024;

// Most cells of a wide table hold a small whole number, whose logarithm is at hand.
double n_log_n(double n) {
    static const std::vector<double> small = [] {
        std::vector<double> values(kSmallCounts, 0.0);
        for (std::size_t k = 2; k < kSmallCounts; ++k)
            values[k] = static_cast<double>(k) * std::log(static_cast<double>(k));
        return values;
    }();
    if (!(n > 0.0)) return 0.0;
    if (n < static_cast<double>(kSmallCounts))
        if (const auto k = static_cast<std::size_t>(n); static_cast<double>(k) == n) return small[k];
    return n * std::log(n);
}

// lgamma writes a global sign; this form does not.
double log_gamma(double x) {
    int sign = 0;
    return lgamma_r(x, &sign);
}

// In a wide table most layers are empty; looking at bits is cheaper than adding.
bool all_zero(const double *cells, std::size_t n) {
    std::uint64_t any = 0;
    for (std::size_t k = 0; k < n; ++k) any |= std::bit_cast<std::uint64_t>(cells[k]);
    return any == 0;
}

bool by_hash(const Sample &sample, const Variables &base, std::size_t other, SampleMethod method) {
    const double n_cells = sample.n_cells(base) * static_cast<double>(sample.n_values(other));
    if (n_cells > kMostCells || method == SampleMethod::hash) return true;
    return method == SampleMethod::automatic && sample.choose(base, {other}) == SampleMethod::hash;
}

// Adds up the layers of a table, one per configuration of what is given. Between layers all margins are zero.
class InformationSum {
  public:
    InformationSum(std::size_t n_x, std::size_t n_z) : n_x_(n_x), n_z_(n_z), x_(n_x), z_(n_z) {}

    // A layer from its cells [x, z].
    void add(const double *cells) {
        if (all_zero(cells, n_x_ * n_z_)) return;
        for (std::size_t v = 0; v < n_x_; ++v, cells += n_z_) {
            if (all_zero(cells, n_z_)) continue;
            for (std::size_t w = 0; w < n_z_; ++w) {
                x_[v] += cells[w];
                z_[w] += cells[w];
            }
            xs_.push_back(v);
        }
        cells -= n_x_ * n_z_;
        for (std::size_t w = 0; w < n_z_; ++w)
            if (z_[w] > 0.0) zs_.push_back(w);
        add_present(cells);
    }

    // A layer from its rows; cells [x, z] come as zeros and leave as zeros. Most layers have few rows, so only what
    // they touch is looked at.
    void add(const Sample &sample, std::size_t x, std::size_t z, const std::uint32_t *rows, std::size_t n,
             double *cells) {
        for (std::size_t r = 0; r < n; ++r) {
            const std::size_t v = sample.code(rows[r], x), w = sample.code(rows[r], z);
            const double weight = sample.weight(rows[r]);
            if (v == n_x_ || w == n_z_ || !(weight > 0.0)) continue;
            if (x_[v] == 0.0) xs_.push_back(v);
            if (z_[w] == 0.0) zs_.push_back(w);
            x_[v] += weight;
            z_[w] += weight;
            cells[v * n_z_ + w] += weight;
        }
        touched_x_ = xs_;
        touched_z_ = zs_;
        add_present(cells);
        for (const std::size_t v : touched_x_)
            for (const std::size_t w : touched_z_) cells[v * n_z_ + w] = 0.0;
    }

    Information result(double n_layers) const {
        Information out;
        out.rows = rows_;
        const double value = rows_ > 0.0 ? std::nearbyint(sum_ / rows_ * 1e12) / 1e12 : 0.0;
        out.value = value > 0.0 ? value : 0.0;  // no minus zero either
        out.df = df_;
        out.naive_df = (std::max(static_cast<double>(n_x_), 1.0) - 1.0) *
                       (std::max(static_cast<double>(n_z_), 1.0) - 1.0) * n_layers;
        out.pearson = pearson_;
        return out;
    }

  private:
    // xs_ and zs_ are the values that occur in the layer.
    void add_present(const double *cells) {
        double total = 0.0;
        for (const std::size_t v : xs_) total += x_[v];
        rows_ += total;
        if (xs_.size() > 1 && zs_.size() > 1) {  // a constant tells nothing
            df_ += static_cast<double>((xs_.size() - 1) * (zs_.size() - 1));
            double sum = n_log_n(total);
            for (const std::size_t v : xs_) sum -= n_log_n(x_[v]);
            for (const std::size_t w : zs_) sum -= n_log_n(z_[w]);
            for (const std::size_t v : xs_)
                for (const std::size_t w : zs_) {
                    // (O - E)^2 / E with E = x z / N, N^2 times above and below: exact differences, one division.
                    const double seen = cells[v * n_z_ + w], product = x_[v] * z_[w];
                    const double difference = seen * total - product;
                    sum += n_log_n(seen);
                    pearson_ += difference * difference / (product * total);
                }
            sum_ += sum;
        }
        for (const std::size_t v : xs_) x_[v] = 0.0;
        for (const std::size_t w : zs_) z_[w] = 0.0;
        xs_.clear();
        zs_.clear();
    }

    std::size_t n_x_, n_z_;
    std::vector<double> x_, z_;  // the margins of the layer
    std::vector<std::size_t> xs_, zs_, touched_x_, touched_z_;
    double sum_ = 0.0, rows_ = 0.0, df_ = 0.0, pearson_ = 0.0;
};

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

Information information(const Sample &sample, std::size_t x, std::size_t z, const Variables &given,
                        SampleMethod method) {
    const std::size_t n_x = sample.n_values(x), n_z = sample.n_values(z);
    const double n_layers = sample.n_cells(given);
    InformationSum sum(n_x, n_z);
    Variables base = given;
    base.push_back(x);
    if (by_hash(sample, base, z, method)) {
        const Groups groups = sample.group(given);
        std::vector<double> cells(n_x * n_z, 0.0);
        for (std::size_t g = 0; g < groups.size(); ++g)
            sum.add(sample, x, z, groups.rows.data() + groups.starts[g], groups.starts[g + 1] - groups.starts[g],
                    cells.data());
        return sum.result(n_layers);
    }
    std::vector<double> cells(static_cast<std::size_t>(n_layers) * n_x * n_z);
    sample.extend(base, {z}, {cells.data()}, method);
    for (std::size_t at = 0; at < cells.size(); at += n_x * n_z) sum.add(cells.data() + at);
    return sum.result(n_layers);
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
