// The options of an evolving model, and all that it has learned, as flat arrays for files.
#pragma once
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace tanager {

// What a number is like within a pseudo-class. All three are determined by their moments.
enum class Density { normal, poisson, exponential };

struct EvolvingOptions {
    double alpha = 0;                      // step of forgetting; 0 remembers everything
    bool constant_step = false;            // every step is alpha from the first row on, eq. (8) to the letter
    std::vector<int> density;              // of the numbers, as in Density; empty: all normal
    bool minimum = false;                  // degrees are joined by their minimum in place of the product of densities
    std::int64_t window = 0;               // rows that are remembered; 0 remembers everything
    double eta = 0.02;                     // least step of the tracked losses
    double max_loss = 0.1;                 // tracked loss above which a class gets a further pseudo-class
    std::int64_t wait = 100;               // rows between promotions
    double min_hidden = 20;                // weight a hidden pseudo-class needs before its promotion
    int max_pseudo = 8;                    // active pseudo-classes of a class
    double prior_weight = 1;               // pseudo-observations of a fresh Gaussian
    std::vector<double> means, variances;  // base of the numbers; empty: as in all rows so far
    int ddof = 0;                          // squares are divided by W - ddof
    double var_floor = 1e-6;               // least variance, as a share of the variance of all rows
    double unlabelled = 0;                 // weight of rows without a label
    double confidence = 0.95;              // posterior that such a row needs
    double p_min = 0.005;                  // prior below which a pseudo-class is removed
    bool test = false;                     // merge by a chi-square test in place of Bhattacharyya's distance
    bool simplify = true;
    bool smooth_unseen = false;  // a value that was never learned has count 0; else it is missing
};

enum class Change : std::int64_t { promoted, merged, removed };

// Everything there is: numbers of pseudo-classes (class by class, the active ones by age, then the hidden one), of
// classes, of number columns, of the rows in the window (oldest first), and of what has changed.
//
// A change was made after `row` rows because `found` crossed `limit`: a loss (promoted), a distance or p-value (merged)
// or a prior (removed). Its weight is that of the hidden pseudo-class, or the prior of the merged one, or the weight
// that the removed one had learned; `active` counts the pseudo-classes of the class afterwards.
struct EvolvingState {
    using Integers = std::vector<std::int64_t>;
    using Doubles = std::vector<double>;
    Integers n_values;
    Integers label, hidden, born, since, last;
    Doubles prior, seen, weight, mean, squares, variance, totals, counts;
    Doubles loss, class_weight;
    Integers promoted, known;
    Doubles base_weight, base_mean, base_squares;
    Doubles clock;      // weight behind the priors
    Integers counters;  // rows until the next promotion, rows learned, pseudo-classes born, changes
    Doubles kept_numbers, kept_weights;
    Integers kept_values, kept_target, kept_hidden, kept_label;
    // What the rows of a window weigh, see Evolving; empty without one, and in files of before.
    Doubles start, mass, class_mass, heaviest, first_weight, first_mean, first_squares;
    Integers change_row, change_kind, change_label, change_active;
    Doubles change_found, change_limit, change_weight;
};

// Calls visit(name, numbers, how many there must be) for every part of a state over so many number columns and
// categorical columns.
template <class State, class Visit>
void each_part(State &s, int n_numbers, int n_columns, Visit &&visit) {
    const std::size_t pseudo = s.label.size(), k = s.loss.size(), kept = s.kept_weights.size();
    const std::size_t n = std::size_t(n_numbers), q = std::size_t(n_columns);
    visit("n_values", s.n_values, q);
    visit("label", s.label, pseudo);
    visit("hidden", s.hidden, pseudo);
    visit("born", s.born, pseudo);
    visit("since", s.since, pseudo);
    visit("last", s.last, pseudo);
    visit("prior", s.prior, pseudo);
    visit("seen", s.seen, pseudo);
    visit("weight", s.weight, pseudo * n);
    visit("mean", s.mean, pseudo * n);
    visit("squares", s.squares, pseudo * n);
    visit("variance", s.variance, pseudo * n);
    visit("totals", s.totals, pseudo * q);
    visit("counts", s.counts,
          pseudo * std::size_t(std::accumulate(s.n_values.begin(), s.n_values.end(), std::int64_t(0))));
    visit("loss", s.loss, k);
    visit("class_weight", s.class_weight, k);
    visit("promoted", s.promoted, k);
    visit("known", s.known, k);
    visit("base_weight", s.base_weight, n);
    visit("base_mean", s.base_mean, n);
    visit("base_squares", s.base_squares, n);
    visit("clock", s.clock, std::size_t(1));
    visit("counters", s.counters, std::size_t(4));
    visit("kept_numbers", s.kept_numbers, kept * n);
    visit("kept_values", s.kept_values, kept * q);
    visit("kept_weights", s.kept_weights, kept);
    visit("kept_target", s.kept_target, kept);
    visit("kept_hidden", s.kept_hidden, kept);
    const bool weighed = !s.heaviest.empty();
    visit("kept_label", s.kept_label, weighed ? kept : 0);
    visit("start", s.start, weighed ? pseudo : 0);
    visit("mass", s.mass, weighed ? pseudo : 0);
    visit("class_mass", s.class_mass, weighed ? k : 0);
    visit("heaviest", s.heaviest, std::size_t(weighed));
    visit("first_weight", s.first_weight, weighed ? pseudo * n : 0);
    visit("first_mean", s.first_mean, weighed ? pseudo * n : 0);
    visit("first_squares", s.first_squares, weighed ? pseudo * n : 0);
    visit("change_row", s.change_row, s.change_row.size());
    visit("change_kind", s.change_kind, s.change_row.size());
    visit("change_label", s.change_label, s.change_row.size());
    visit("change_active", s.change_active, s.change_row.size());
    visit("change_found", s.change_found, s.change_row.size());
    visit("change_limit", s.change_limit, s.change_row.size());
    visit("change_weight", s.change_weight, s.change_row.size());
}

// Whether a state may lack this part: files of before have none of what a window weighs.
inline bool may_be_absent(const std::string &part) {
    for (const char *name :
         {"kept_label", "start", "mass", "class_mass", "heaviest", "first_weight", "first_mean", "first_squares"})
        if (part == name) return true;
    return false;
}

// Whether the numbers of a state, each part of the right length, mean something together. Nothing else is trusted of a
// file: a state that is sound keeps every index of the model within its arrays.
bool is_sound(const EvolvingState &state, std::int64_t window);

}  // namespace tanager
