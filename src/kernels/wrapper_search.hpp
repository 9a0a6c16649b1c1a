// Wrapper searches over products, from the first step to the last: of all changes that are possible, the one after
// which most learned rows are answered correctly, each left out, is made, until none gains enough.
#pragma once
#include <utility>

#include "changes.hpp"
#include "left_out_factors.hpp"

namespace tanager::scoring {

// The criterion is accuracy, and of equals the mean probability of the true class; or the mean of its log.
struct SearchOptions {
    bool log_loss = false;
    double min_gain = 0;  // of a step
    double total = 1;     // weight of all rows
    int n_jobs = 1;
};

// The answers to learned rows, each left out, in the course of a search.
class SearchedAnswers {
  public:
    SearchedAnswers(const AnsweredRows &rows, const SearchOptions &options);
    // The criterion as things stand.
    double criterion() const;
    // The place of the best change, the first of equals, and its criterion. Which of equals is best is not looked into
    // where none is above a number.
    std::pair<std::size_t, double> best(const std::vector<const Factor *> &factors, double above) const;
    // The best of n changes that are given as logs for every row and class; sum(q, thread) makes them, again if need
    // be.
    template <class Sum>
    std::size_t best_sum(std::size_t n, const Sum &sum) const;
    void make(const Factor &factor) { factor.add_to(joint_.data(), 1); }

    const SearchOptions options;

  private:
    double criterion_of(const ChangeScore &score) const;
    template <class Score>
    std::size_t first_best(const std::vector<double> &criterion, double most, const Score &score) const;

    AnsweredRows rows_;
    std::vector<double> joint_;
};

// A tree: the parent of every column, or -1. `promising` are columns that may be a parent, each with the children that
// it may have. Each step looks for the best parent of all its children together, and then for one of these; or, without
// `by_super_parent`, at every arc.
using Promising = std::vector<std::pair<int, std::vector<int>>>;
std::vector<int> search_tree(LeftOutFactors &factors, SearchedAnswers &answers, int n_columns,
                             const Promising &promising, bool by_super_parent);

// Blocks of joined columns. A step adds the one block that was chosen, or leaves it out if it was there, or joins two.
struct JoiningStep {
    std::vector<std::vector<int>> chosen;
    double criterion;
};
struct JoiningOptions {
    bool backward = false;         // begin with all columns, each alone
    std::vector<double> n_cells;   // values of every column that a block is taken to have
    std::size_t most_columns = 1;  // of a block
    double most_cells = 0;         // likewise
    std::size_t cached_bytes = 0;  // of factors that are kept from step to step
};
std::vector<JoiningStep> search_blocks(LeftOutFactors &factors, SearchedAnswers &answers,
                                       const JoiningOptions &options);

}  // namespace tanager::scoring
