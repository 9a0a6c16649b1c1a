// Lazy Bayesian rules: which values of a row are worth conditioning naive Bayes on.
//
// A rule is a set of tests, each a value of the row. Naive Bayes answers from the rows that pass all of them, over the
// columns that are not tested. Tests are added greedily: the one after which fewest learned rows are answered wrongly,
// each left out in turn, among those that are significantly better by a sign test over the rows that pass.
//
// Whether a row is answered wrongly depends on the set of tests alone. So sets that were looked at once are cached,
// with the rows answered wrongly; those used longest ago leave when the cache is full.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "batch.hpp"
#include "estimate.hpp"

namespace tanager {

// P(Binomial(n, 1/2) <= x); n and x are weights of rows, and need not be whole.
double binomial_tail(double x, double n);

class LazyRules {
  public:
    struct Options {
        double significance;     // a test must be better at this level
        double min_errors;       // no test is added where less weight is answered wrongly
        int max_tests;           // of a rule
        std::int64_t max_bytes;  // of the cache
    };

    // Rows without a label or weight are left out; rows that are alike are kept once.
    LazyRules(const Batch &rows, std::vector<int> n_values, int n_classes, const scoring::Estimate &estimate,
              const Options &options);

    // tested(q, i) = 1 where the value of column i is a test of the rule for row q, else 0.
    void find(const Codes &queries, std::uint8_t *tested, int n_jobs);
    // The places, in `first`, of the rows that pass the tests: values[i] of column i, where it is not negative.
    std::vector<std::uint32_t> passing(const std::vector<int> &values);

    int n_columns() const { return n_; }
    int n_values(int i) const { return n_values_[std::size_t(i)]; }
    std::int64_t n_cached();
    std::int64_t n_evaluated();  // sets of tests that were worked out so far

    std::vector<std::int64_t> first;  // of rows that are alike, the first
    std::vector<double> weight;       // and what they weigh together

  private:
    using Test = std::uint32_t;  // the slot of a value
    using Tests = std::vector<Test>;
    struct Hash {
        std::size_t operator()(const Tests &tests) const;
    };
    // What a further test would change.
    struct Trial {
        bool accepted;
        double errors;
    };
    // A set of tests. Rows are there once it is looked at whether further tests are worth adding.
    struct Node {
        Tests tests;
        std::vector<std::uint32_t> rows;
        std::vector<std::uint8_t> wrong;  // of the rows that pass, in their order
        double errors = 0;                // their weight
        std::unordered_map<Test, Trial> trials;
        std::int64_t n_bytes() const;
    };
    struct Cached {
        std::shared_ptr<Node> node;
        std::int64_t n_bytes;
    };
    struct Scratch;

    void grow(const std::shared_ptr<Node> &node, const std::vector<std::uint32_t> &queries, std::uint8_t *tested,
              int n_jobs, const std::vector<Test> &slots);
    std::shared_ptr<Node> child_of(const Node &node, Test test);
    Trial evaluate(const Node &node, Test test, const Node *known, std::shared_ptr<Node> &made, Scratch &w) const;
    void try_all(Node &node, const std::vector<Test> &tests, int n_jobs);
    std::vector<std::uint32_t> pass(const std::vector<std::uint32_t> &rows, Test test) const;
    double leave_one_out(const std::vector<std::uint32_t> &rows, const Tests &tests, std::vector<std::uint8_t> &wrong,
                         Scratch &w) const;
    template <int K>
    void answer_from_tables(const std::vector<std::uint32_t> &rows, std::vector<std::uint8_t> &wrong, Scratch &w) const;
    void answer_directly(const std::vector<std::uint32_t> &rows, std::vector<std::uint8_t> &wrong, Scratch &w) const;
    void make_tables(Scratch &w) const;
    bool is_wrong(const double *score, int y, double minus, const double *classes) const;

    std::shared_ptr<Node> find_cached(const Tests &tests);
    void remember(const std::shared_ptr<Node> &node);

    int n_, k_;
    std::vector<int> n_values_, column_of_;  // column_of_: of a slot
    std::vector<Test> offset_;               // first slot of each column; its last slot is for missing
    scoring::Estimate estimate_;
    Options options_;
    bool tables_ = false, unit_ = true;    // whether estimates can be tabled; whether rows have whole weights
    std::vector<Test> slots_, by_column_;  // (rows, columns), and column after column
    std::vector<std::uint16_t> labels_;
    std::vector<double> each_;          // what leaves with a row: of one of weight two, which is two rows, one of them
    std::vector<double> cell_, total_;  // pseudo-counts of each column
    double class_cell_ = 0;
    std::unordered_map<double, std::vector<double>> logs_;  // of whole numbers plus a pseudo-count
    std::vector<const double *> log_cell_, log_total_;      // of each column, or null

    std::mutex mutex_;
    std::shared_ptr<Node> root_;
    std::list<Cached> recent_;  // the front was used last
    std::unordered_map<Tests, std::list<Cached>::iterator, Hash> cache_;
    std::int64_t cached_bytes_ = 0, n_evaluated_ = 0;
};

}  // namespace tanager
