// Lazy Bayesian rules: which values of a row are worth conditioning naive Bayes on.
//
// A rule is a set of tests, each a value of the row. Naive Bayes answers from the rows that pass all of them, over the
// columns that are not tested. Tests are added greedily: the one after which fewest learned rows are answered wrongly,
// each left out in turn, among those that are significantly better by a sign test over the rows that pass.
//
// Whether a row is answered wrongly depends on the set of tests alone. So sets that were looked at once are cached,
// with the rows answered wrongly; those used longest ago leave when the cache is full.
//
// Rows that come one after the other hardly change an estimate. So sets follow them (`append`): all estimates that a
// set answers with are made again, and how far the log-odds of any row can have moved by that is added up (`drift`). A
// row whose margin was larger than all since it was answered last is answered as it was; only the few others are
// answered again. That is exact, not approximate.
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

    // Let in rows that were learned after all others; false, and nothing has changed, where sets cannot follow: weights
    // are not whole, or estimates of other classes depend on the row that is left out.
    bool append(const Batch &rows);

    // tested(q, i) = 1 where the value of column i is a test of the rule for row q, else 0.
    void find(const Codes &queries, std::uint8_t *tested, int n_jobs);
    // The places, in `first`, of the rows that pass the tests: values[i] of column i, where it is not negative.
    std::vector<std::uint32_t> passing(const std::vector<int> &values);
    // The same of the rows that were appended, from one on: their places among all rows ever given.
    std::vector<std::int64_t> passing_since(const std::vector<int> &values, std::int64_t since);

    int n_columns() const { return n_; }
    int n_classes() const { return k_; }
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
    // What naive Bayes over some rows answers with: N(y) and N(slot, y), and logs: of a slot and class, the same of the
    // class of a row that is left out, and of the classes.
    struct Tables {
        std::vector<double> classes, counts, table, own, prior, minus;
        std::vector<double> den;  // N(present, y) of a column and class
        std::size_t n_bytes() const;
    };
    // A set of tests. Rows are there once it is looked at whether further tests are worth adding, or rows are appended.
    struct Node {
        Tests tests;
        std::vector<std::uint32_t> rows;
        std::vector<std::uint8_t> wrong;  // of the rows that pass, in their order
        double errors = 0;                // their weight
        std::unordered_map<Test, Trial> trials;
        std::size_t seen = 0, tried = 0;  // appended rows that are among its rows, and that the trials know
        // Where it follows appended rows: how far log-odds have moved at most, and until where `wrong` of a row stands.
        Tables tables;
        double drift = 0;
        std::vector<double> safe;
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
    Trial evaluate(const Node &node, const std::uint8_t *wrong, Test test, std::shared_ptr<Node> &child,
                   Scratch &w) const;
    void work_out(Node &node, Scratch &w) const;
    void follow(Node &node, Scratch &w) const;
    bool passes(std::uint32_t row, const Tests &tests) const;
    bool can_follow(const Node &node) const;
    double moved(const Tables &before, const Tables &now, Scratch &w) const;
    void try_all(Node &node, const std::vector<Test> &tests, int n_jobs);
    std::vector<std::uint32_t> pass(const std::vector<std::uint32_t> &rows, Test test) const;
    void count(const Node &node, Scratch &w) const;
    void answer(Node &node, const Tables &t, const Scratch &w) const;
    template <int K>
    void answer_from_tables(Node &node, const Tables &t, const Scratch &w) const;
    void answer_directly(Node &node, const Tables &t, const Scratch &w) const;
    void choose_columns(const Tests &tests, Scratch &w) const;
    void make_tables(Tables &t, const Scratch &w) const;
    bool is_wrong(const double *score, int y, double minus, const double *classes) const;

    std::shared_ptr<Node> find_cached(const Tests &tests);
    void remember(const std::shared_ptr<Node> &node);
    std::uint32_t add_row(const Batch &rows, std::int64_t r, bool by_weight);
    void make_logs(double up_to);
    Tests tests_of(const std::vector<int> &values) const;

    int n_, k_;
    std::vector<int> n_values_, column_of_;  // column_of_: of a slot
    std::vector<Test> offset_;               // first slot of each column; its last slot is for missing
    scoring::Estimate estimate_;
    Options options_;
    bool tables_ = false, unit_ = true;  // whether estimates can be tabled; whether rows have whole weights
    std::vector<Test> slots_;            // (rows, columns)
    std::vector<std::vector<Test>> by_column_;
    std::vector<std::uint16_t> labels_;
    std::vector<double> each_;          // what leaves with a row: of one of weight two, which is two rows, one of them
    std::vector<double> cell_, total_;  // pseudo-counts of each column
    double class_cell_ = 0;
    std::unordered_map<double, std::vector<double>> logs_;  // of whole numbers plus a pseudo-count
    std::vector<const double *> log_cell_, log_total_;      // of each column, or null

    std::unordered_map<std::string, std::uint32_t> known_;  // rows by all that they are
    std::string key_;
    std::vector<Test> row_;
    double rows_weight_ = 0, logs_up_to_ = 0;
    std::int64_t n_given_ = 0, n_first_ = 0;  // rows; n_first_ of them before any was appended
    struct Appended {
        std::uint32_t row;
        double weight;
    };
    std::vector<Appended> appended_;
    bool follows_ = false;             // whether rows were appended
    std::vector<std::uint8_t> wrong_;  // of all rows, by what the node says whose tests are tried
    double hair_;                      // log-odds that differ by less may be the same but for rounding

    std::mutex mutex_;
    std::shared_ptr<Node> root_;
    std::list<Cached> recent_;  // the front was used last
    std::unordered_map<Tests, std::list<Cached>::iterator, Hash> cache_;
    std::int64_t cached_bytes_ = 0, n_evaluated_ = 0;
};

}  // namespace tanager
