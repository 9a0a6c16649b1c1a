// Evolving extended naive Bayes: classes that are made of pseudo-classes, which appear, grow, merge and fade as
// labelled rows come by.
//
// Every class has active pseudo-classes, which answer, and one hidden one, which only learns the rows that were
// answered wrongly and becomes active where the class goes on failing. Each pseudo-class owns a slot; arrays are slot
// by slot:
//
//   prior (slots)                           active priors sum to one
//   weight, mean, squares (slots, numbers)  moments; weight 0 is fresh, and reads the base
//   variance (slots, numbers)               the variance in force: of the moments, and not below the floor
//   counts (slots, all cells)               N(value) of categorical columns; column i owns capacity[i] cells
//   totals (slots, columns)                 N of categorical columns
//
// The base of a fresh Gaussian is the mean and variance of all rows so far, or given by the options.
//
// With a window, priors are a function of its rows and of the start, which is one row for every known class:
//
//   mass (slots)       weight of the rows in the window that a pseudo-class has learned, also while it was hidden
//   class_mass (k)     weight of those of a class
//   start (slots)      the pseudo-class's part of the row that its class starts with
//   prior of a class   (1 + class_mass) / (known classes + all weights), shared among its active pseudo-classes in
//                      proportion to start + mass, since a row that was answered wrongly has taught two of them
//   prior, hidden      mass / (known classes + all weights)
#pragma once
#include <algorithm>
#include <cmath>
#include <tuple>

#include "evolving_state.hpp"

namespace tanager {

inline bool usable(double x) { return std::isfinite(x); }
inline void keep_largest(double &largest, double x) { largest = std::max(largest, x); }

class Evolving {
  public:
    // n_values: known values of each categorical column; more come with the rows that are learned.
    Evolving(const std::vector<int> &n_values, int n_numbers, int n_classes, EvolvingOptions options);

    // One row: numbers (not finite: missing) and values (negative: missing).
    struct Row {
        const double *numbers;
        const int *values;
    };
    // Memory for the scores of one row; one per thread.
    struct Scores {
        std::vector<double> pseudo, classes, losses, numbers;
    };

    int n_numbers() const { return n_; }
    int n_columns() const { return int(n_values_.size()); }
    int n_classes() const { return k_; }
    // Whether no row was learned and no class announced.
    bool has_no_rows() const { return rows_ == 0 && order_.empty(); }
    const std::vector<int> &n_values() const { return n_values_; }
    const EvolvingOptions &options() const { return options_; }

    // The posteriors of the classes, and the log joints of the active pseudo-classes.
    void answer(const Row &row, Scores &scores) const;
    // Log joints of the classes, from those of their pseudo-classes.
    void log_joints(const Scores &scores, double *out) const;
    // Given pseudo-classes, so many of each class, before the first row; and a row of one of them. Its numbers must
    // have been shown to `look` before, as those of all other rows: where a pseudo-class starts is known by then.
    void begin_given(const std::vector<int> &n_pseudo);
    void look(const Row &row, double weight) { update_base(row, weight); }
    void learn_given(const Row &row, int label, int pseudo, double weight);
    void end_given();
    // Learns one row of a class, or (label -1) without one. The scores are its own, of just now.
    void learn(const Row &row, int label, double weight, Scores &scores);

    // Class c becomes places[c] among n_classes. The others are unknown, and have no part in answers, until they are
    // announced or a row of theirs is learned.
    void add_classes(const std::vector<int> &places, int n_classes);
    void announce(int c);
    // Cells for at least these numbers of values.
    void reserve_values(const std::vector<int> &n_values);
    // A further column of values or of numbers, missing in all rows so far.
    void add_column();
    void add_number(Density density);
    // losses[true * k + predicted], or empty: 0 and 1.
    void set_costs(const std::vector<double> &costs);

    EvolvingState state() const;
    void set_state(const EvolvingState &state);

  private:
    double log_likelihood(int slot, const Row &row, bool complete) const;
    double log_least_degree(int slot, const Row &row) const;
    double log_degree(int slot, int i, double x) const;
    double misfit(int slot, int i, double x) const;
    bool judges(int i, int v) const;
    bool complete(const Row &row) const;
    Row within_reach(const Row &row, Scores &scores) const;
    int decide(Scores &scores) const;
    int best_of(int c, const Scores &scores) const;
    void learn_unlabelled(const Row &row, double weight, Scores &scores);
    void take_in(const Row &row, double weight, int target, int hidden);
    void update(int slot, const Row &row, double weight);
    void remove(int slot, const Row &row, double weight);
    void update_base(const Row &row, double weight);
    void remove_base(const Row &row, double weight);
    std::tuple<double, double, double> of_window(int slot, int i) const;
    void relearn(int slot, int i);
    void set_first(std::size_t cell, double weight, int i);
    static std::vector<double> &most(std::vector<double> &squares, std::size_t n);
    void set_deviation(int i);
    void keep(const Row &row, double weight, int target, int hidden);
    void move_priors(double weight, int target, int hidden);
    void weigh(double weight, int c, int target, int hidden);
    void weigh_window();
    void set_window_priors();
    void set_weights(const EvolvingState &state);
    void share_start(int slot, const std::vector<int> &others);
    void maybe_promote();
    void promote(int c);
    void simplify(int c);
    bool remove_weakest(int c);
    bool merge_closest(int c);
    double distance(int a, int b) const;
    double p_value(int a, int b) const;
    void merge(int from, int into);
    void retarget(int from, int into);
    void record(Change change, int c, double found, double limit, double weight);
    int new_slot(int c);
    void free_slot(int slot);
    void resize_slots(std::size_t n);
    void set_variance(int slot, int i);
    void set_base(int slot, int i);
    void set_spread(std::size_t cell, int i, double variance, double mean);
    void set_forms(std::size_t cell, int i);
    void set_peaks(int slot);
    double mean_floor(int i) const;
    void set_densities();
    void set_norm(int slot);
    void refresh();
    void list_active();
    double step(double weight) const;
    double base_mean(int i) const;
    double base_variance(int i) const;
    double spread(int i) const;
    double floor(int i) const;
    double probability(int slot, int i, int v) const;
    double probability_of(double count, int slot, int i) const;

    // Where the cells of a slot begin, so many for each.
    static std::size_t at(int slot, int width) { return std::size_t(slot) * std::size_t(width); }

    EvolvingOptions options_;
    int n_, k_ = 0;
    std::vector<int> n_values_, capacity_, offsets_;  // offsets_: one more, the cells of all columns
    std::vector<double> costs_;
    double highest_cost_ = 1;

    // slots
    std::vector<int> class_of_, fresh_;  // fresh_: cells of weight 0
    std::vector<std::int64_t> born_, since_, last_;
    std::vector<double> prior_, seen_, norm_;                                          // norm_: sum of log variances
    std::vector<double> weight_, mean_, squares_, variance_, inverse_, log_variance_;  // see set_forms
    std::vector<double> counts_, totals_, peaks_;  // peaks_: largest counts of columns, where degrees are joined
    std::vector<double> start_, mass_;
    std::vector<double> first_weight_, first_mean_, first_squares_;  // moments of the pseudo-observations
    std::vector<int> free_;

    // classes
    std::vector<std::vector<int>> active_;  // slots by age
    std::vector<int> hidden_;
    std::vector<std::int64_t> known_;
    std::vector<double> loss_, class_weight_, class_mass_;
    std::vector<std::int64_t> promoted_;
    std::vector<int> order_, begin_;  // the active slots of known classes, class by class

    // all rows
    std::vector<double> base_weight_, base_mean_, base_squares_, deviation_;
    std::vector<Density> density_;
    bool all_normal_ = true;
    double clock_ = 0;     // weight behind the priors
    double heaviest_ = 0;  // the largest clock since the rows of the window were weighed one by one
    std::int64_t cool_, rows_ = 0, next_born_ = 0;

    // window, a ring
    std::vector<double> most_, base_most_;  // squares, see `most`
    std::vector<double> kept_numbers_, kept_weights_;
    std::vector<int> kept_values_, kept_target_, kept_hidden_, kept_label_;
    std::int64_t kept_ = 0, oldest_ = 0;

    struct ChangeRecord {
        std::int64_t row, kind, label, active;
        double found, limit, weight;
    };
    std::vector<ChangeRecord> changes_;  // the newest
    std::int64_t n_changes_ = 0;
};

}  // namespace tanager
