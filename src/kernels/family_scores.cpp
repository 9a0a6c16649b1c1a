#include "family_scores.hpp"

#include <math.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "information_sum.hpp"
#include "interrupt.hpp"
#include "log_factorial.hpp"

namespace tanager {

namespace {

constexpr std::size_t kCellsTogether = std::size_t{1} << 20;  // of the tables that are counted in one go
constexpr std::size_t kMostLogGammas = std::size_t{1} << 16;  // whole numbers whose log gamma is kept
constexpr std::size_t kMostPriors = 64;

}  // namespace

LogGammas::LogGammas(double prior, std::size_t n_rows)
    : prior_(prior), known_(std::min(n_rows + 1, kMostLogGammas), std::numeric_limits<double>::quiet_NaN()) {}

double LogGammas::of(double n) {
    if (!(n < static_cast<double>(known_.size()))) return log_gamma(n + prior_);
    const auto k = static_cast<std::size_t>(n);
    if (static_cast<double>(k) != n) return log_gamma(n + prior_);
    if (std::isnan(known_[k])) known_[k] = log_gamma(n + prior_);
    return known_[k];
}

// Adds up what the cells and the parent configurations of a family contribute; empty ones contribute nothing.
struct FamilyScores::Sum {
    ScoreKind kind;
    double n_values, n_configurations;
    double in_cell = 0.0, in_configuration = 0.0;                 // the prior of each
    LogGammas *of_cells = nullptr, *of_configurations = nullptr;  // where they are kept
    double empty_cell = 0.0, empty_configuration = 0.0;
    double sum = 0.0, rows = 0.0;

    void add_cell(double n) {
        if (!(n > 0.0)) return;
        if (likelihood()) sum += n_log_n(n);
        else sum += at(of_cells, n, in_cell) - empty_cell;
    }

    void add_configuration(double n) {
        if (!(n > 0.0)) return;
        rows += n;
        if (likelihood()) sum -= n_log_n(n);
        else sum -= at(of_configurations, n, in_configuration) - empty_configuration;
    }

    double result() const {
        const double free = std::max(n_values - 1.0, 0.0) * n_configurations;
        if (kind == ScoreKind::aic) return sum - free;
        if (kind == ScoreKind::bic) return sum - 0.5 * std::log(std::max(rows, 1.0)) * free;
        return sum;
    }

    bool likelihood() const { return kind != ScoreKind::k2 && kind != ScoreKind::bdeu; }
    static double at(LogGammas *kept, double n, double prior) { return kept ? kept->of(n) : log_gamma(n + prior); }
};

namespace {

// Of the counts [child, rest of the parents, added parent] the configurations are visited in the order of the sorted
// parents, whichever of them was added: the same family has the same score to the last bit.
template <class Sum>
double score_of_table(const double *cells, std::size_t n_child, std::size_t n_before, std::size_t n_added,
                      std::size_t n_after, Sum sum) {
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

FamilyScores::FamilyScores(const Sample &sample, ScoreKind kind, double strength, SampleMethod method)
    : sample_(sample), kind_(kind), strength_(strength), method_(method) {}

LogGammas *FamilyScores::log_gammas(double prior) {
    if (const auto found = log_gammas_.find(prior); found != log_gammas_.end()) return &found->second;
    if (log_gammas_.size() == kMostPriors) return nullptr;
    return &log_gammas_.try_emplace(prior, prior, sample_.n_rows()).first->second;
}

FamilyScores::Sum FamilyScores::new_sum(std::size_t child, double n_configurations) {
    Sum sum{kind_, static_cast<double>(sample_.n_values(child)), n_configurations};
    if (sum.likelihood()) return sum;
    sum.in_cell = kind_ == ScoreKind::k2 ? 1.0 : strength_ / (sum.n_values * n_configurations);
    sum.in_configuration = kind_ == ScoreKind::k2 ? sum.n_values : strength_ / n_configurations;
    sum.of_cells = log_gammas(sum.in_cell);
    sum.of_configurations = log_gammas(sum.in_configuration);
    sum.empty_cell = Sum::at(sum.of_cells, 0.0, sum.in_cell);
    sum.empty_configuration = Sum::at(sum.of_configurations, 0.0, sum.in_configuration);
    return sum;
}

bool FamilyScores::by_hash(const Variables &base, std::size_t other) const {
    if (sample_.n_cells(base) * static_cast<double>(sample_.n_values(other)) > kMostCells) return true;
    if (method_ != SampleMethod::automatic) return method_ == SampleMethod::hash;
    return sample_.choose(base, {other}) == SampleMethod::hash;
}

double FamilyScores::by_groups(std::size_t child, const Variables &parents) {
    Sum sum = new_sum(child, sample_.n_cells(parents));
    const Groups groups = sample_.group(parents);
    const std::size_t n_child = sample_.n_values(child);
    std::vector<double> cells(n_child);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        std::fill(cells.begin(), cells.end(), 0.0);
        double total = 0.0;
        for (std::size_t at = groups.starts[g]; at < groups.starts[g + 1]; ++at) {
            const std::size_t v = sample_.code(groups.rows[at], child);
            if (v == n_child) continue;
            cells[v] += sample_.weight(groups.rows[at]);
            total += sample_.weight(groups.rows[at]);
        }
        for (const double n : cells) sum.add_cell(n);
        sum.add_configuration(total);
    }
    return sum.result();
}

double FamilyScores::of(std::size_t child, const Variables &parents) {
    double score = 0.0;
    if (parents.empty()) {
        std::vector<double> cells(sample_.n_values(child));
        sample_.extend({}, {child}, {cells.data()}, method_);
        return score_of_table(cells.data(), cells.size(), 1, 1, 1, new_sum(child, 1.0));
    }
    with_one_more(child, {parents.begin(), parents.end() - 1}, {parents.back()}, &score);
    return score;
}

void FamilyScores::with_one_more(std::size_t child, const Variables &own, const Variables &added, double *out) {
    Variables base{child}, together;
    base.insert(base.end(), own.begin(), own.end());
    const auto n_base = static_cast<std::size_t>(std::min(sample_.n_cells(base), kMostCells));
    const std::size_t n_child = sample_.n_values(child);
    std::vector<std::size_t> families;
    std::vector<double *> tables;
    std::map<std::size_t, bool> hashed;  // by the values of what is added
    const auto count = [&](std::size_t n_cells) {
        if (cells_.size() < n_cells) cells_.resize(n_cells);
        double *next = cells_.data();
        tables.clear();
        for (const std::size_t i : together) {
            tables.push_back(next);
            next += n_base * sample_.n_values(i);
        }
        sample_.extend(base, together, tables, method_);
        for (std::size_t k = 0; k < families.size(); ++k) {
            const std::size_t i = together[k], n = sample_.n_values(i);
            std::size_t n_before = 1, n_after = 1;
            for (const std::size_t j : own) (j < i ? n_before : n_after) *= sample_.n_values(j);
            const auto n_configurations = static_cast<double>(n_before * n * n_after);
            out[families[k]] =
                score_of_table(tables[k], n_child, n_before, n, n_after, new_sum(child, n_configurations));
        }
        families.clear();
        together.clear();
    };
    std::size_t n_cells = 0;
    for (std::size_t k = 0; k < added.size(); ++k) {
        check_interrupt();
        // Each is measured by itself: how a family is scored must not depend on its company.
        const auto [hash, fresh] = hashed.try_emplace(sample_.n_values(added[k]));
        if (fresh) hash->second = by_hash(base, added[k]);
        if (hash->second) {
            Variables parents = own;
            parents.insert(std::lower_bound(parents.begin(), parents.end(), added[k]), added[k]);
            out[k] = by_groups(child, parents);
            continue;
        }
        families.push_back(k);
        together.push_back(added[k]);
        n_cells += n_base * sample_.n_values(added[k]);
        if (n_cells < kCellsTogether) continue;
        count(n_cells);
        n_cells = 0;
    }
    if (!families.empty()) count(n_cells);
}

void family_scores(const Sample &sample, ScoreKind kind, std::size_t child, const std::vector<Variables> &parents,
                   double strength, SampleMethod method, double *out) {
    FamilyScores scores(sample, kind, strength, method);
    for (std::size_t f = 0; f < parents.size(); ++f)
        if (parents[f].empty()) out[f] = scores.of(child, {});
    std::vector<double> found;
    for (const auto &[rest, shared] : share(parents)) {
        found.resize(shared.added.size());
        scores.with_one_more(child, rest, shared.added, found.data());
        for (std::size_t k = 0; k < found.size(); ++k) out[shared.families[k]] = found[k];
    }
}

}  // namespace tanager
