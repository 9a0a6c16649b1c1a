// Exact answers of networks to rows with gaps: every missing value is summed out, by variable elimination.
//
// A family without a gap is a factor as always. One with gaps becomes a table over the values of its missing members. A
// missing attribute that is nobody's parent is left out with its family, which sums to one. Then attribute after
// attribute: the tables that know it are multiplied and it is summed out; the one that joins fewest others comes first.
#pragma once
#include "score_rows.hpp"

namespace tanager::scoring {

class Marginal {
  public:
    static constexpr double most_cells = 1e7;  // of one table

    struct Table {               // (values of the scope ..., classes)
        std::vector<int> scope;  // ascending
        std::vector<double> cells;
        bool used = false;  // multiplied into another one
    };
    struct Work {  // of one thread
        Scratch row;
        std::vector<char> gap, kept, linked;                 // linked: by two places
        std::vector<int> slot, uses, left, place, near, at;  // left: to be summed out; place: of these at first
        std::vector<Table> tables;
        std::size_t n_tables = 0, width = 0;  // of the row at hand; width: of `linked`
        std::vector<const double *> from;
        std::vector<std::int64_t> strides;
        std::vector<double> value, power;  // the product of one network, with powers of two
        explicit Work(const Marginal &m);
        Table &add_table();
        char &link(int a, int b) { return linked[place[a] * width + place[b]]; }
    };

    // Of a product with one term for each attribute and class. The plan must outlive it.
    explicit Marginal(const ScoringPlan &plan);
    // As ScoringPlan::score; false, and nothing written, where a table would be too large.
    bool score(const int *slot, int left_out_class, double left_out, bool log_joint, double *out, Work &w) const;

  private:
    struct Family {
        int term = -1, child = -1;  // the term in families_; -1 is the class
        std::vector<int> members;   // all but the class
        bool free = false;
    };
    struct Network {
        std::vector<char> classes;  // that it applies to
        std::vector<Family> families;
        std::vector<int> family_of, uses;  // per attribute: its own family or -1, and how many it is a parent in
    };
    const ScoringPlan &plan_;
    ScoringPlan families_;  // the terms of all families
    std::vector<Network> networks_;

    bool has_values(int i) const { return plan_.store.n_values[i] > 0; }
    void add_family(Network &network, int child, std::vector<int> parents, bool free);
    bool multiply(const Network &network, bool leave_out, double left_out, Work &w) const;
    void drop_barren(const Network &network, Work &w) const;
    void family_value(const Family &family, bool leave_out, double left_out, Work &w, double *out) const;
    bool add_table(const Family &family, bool leave_out, double left_out, Work &w) const;
    int next_to_sum_out(Work &w) const;
    bool sum_out(int v, Work &w) const;
    void settle(Work &w) const;
    void rescale(Table &table, Work &w) const;
};

// Answers of all rows, as score_rows gives them; NaN in rows where that is too much work.
void score_marginal(ScoringPlan &plan, const Marginal &marginal, const Codes &codes, const LeftOut &left_out,
                    bool log_joint, int n_jobs, double *out);

}  // namespace tanager::scoring
