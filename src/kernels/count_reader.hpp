// Naive Bayes (of a staged plan) and the members of a sum, one at a time, straight from the counts.
#pragma once
#include "staging.hpp"

namespace tanager::scoring {

// Reads one row: naive Bayes, or one member, as mantissas and powers of two. Members of level 0 are those of the plan,
// of level 1 those of the sum that it falls back on, and so on.
class CountReader {
  public:
    bool half = false;  // only the lower triangle of the pairs is kept, as streams do

    explicit CountReader(const ScoringPlan &plan);
    // The row, and what is left out of the counts for it. Must be called again where counts have changed.
    void start(const int *slot, int left_out_class = -1, double left_out = 0);
    int next(int level, int from);  // the first eligible member from there on, -1 where there is none
    double weight(int level, int q) const { return levels_[level]->members[q].weight; }
    int n_levels() const { return int(levels_.size()); }
    void naive(double *m, double *e);
    void member(int level, int q, double *m, double *e);                                 // its joint times its weight
    const double *factor() const { return factor_.empty() ? nullptr : factor_.data(); }  // of the classes, if any
    const double *sub() const { return sub_.data(); }

  private:
    const ScoringPlan &plan_;
    const ScoringPlan *naive_;  // of a staged plan
    std::vector<const ScoringPlan *> levels_;
    const int *slot_ = nullptr;
    int left_out_class_ = -1;
    double left_out_ = 0, rows_ = 0, least_cell_ = 1, most_total_ = 0;
    bool quick_ = false;               // pseudo-counts are the same for all parents
    int calm_ = 1;                     // factors to multiply between two looks at the exponent
    std::vector<int> safe_, careful_;  // attributes present that never were missing, and the others
    std::vector<std::int64_t> cell_;
    const double *found_ = nullptr;  // counts of the member that was found last, until it is read
    int n_found_ = 0;                // its children, and where their counts are
    std::vector<const double *> own_;
    std::vector<int> child_;
    std::vector<double> sub_, count_, reciprocal_, once_, flat_, pseudo_, prior_, factor_;

    void prepare_pseudo();
    void alone(int i, double *out) const;
    void find_children(const ScoringPlan &p, int q);
    const double *child_cells(const ChildPlace &at, const std::vector<int> &parents) const;
    template <int Fixed>
    void read_naive(double *m, double *e);
    template <int Fixed>
    void read_member(const ScoringPlan &p, int q, double *m, double *e);
    template <int Fixed>
    void multiply_safe(const ScoringPlan &p, double *m, double *e);
    template <int Fixed, bool LeaveOut>
    void multiply_safe(const ScoringPlan &p, double *m, double *e);
    template <int Fixed>
    void careful_child(const ScoringPlan &p, int q, int i, double *out);
};

}  // namespace tanager::scoring
