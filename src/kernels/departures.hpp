// The members of a sum with one or two super-parents for a block of rows, each row by its departures: the columns in
// which it differs from the most common row. With hundreds of columns most values are the most common ones.
//
//   P(y, x_s) prod_i P(x_i | y, x_s)
//       = P(y, x_s) prod_i P(c_i | y, x_s)  *  prod_{i: x_i != c_i} P(x_i | y, x_s) / P(c_i | y, x_s)
//
// The first product is worked out once for all rows with the same values x_s; a row multiplies by its few ratios, from
// a table with one line per slot of every column and one number per class. It is small enough for the cache, where the
// counts of all members are not. Rows are answered from all counts; none is left out.
#pragma once
#include <array>

#include "lanes.hpp"
#include "scoring_plan.hpp"

namespace tanager::scoring {

class Departures {
  public:
    // Whether the members of a plan can be read in this way: pseudo-counts are the same for all parents, and positive.
    static bool suits(const ScoringPlan &p);
    // Whether that is quicker for so many rows than row by row: enough of them share the values of super-parents, and
    // there are enough columns.
    static bool pays(const ScoringPlan &p, std::int64_t n_rows);

    // Blocks of at most so many rows.
    Departures(const ScoringPlan &plan, std::int64_t n_rows);
    const int most_rows;
    void clear();
    void add(const int *slot);             // one more row of the block
    void slots(int row, int *slot) const;  // those that were given
    // The sum over all members into total * 2^power, k numbers a row, and into weight the weight of those that were
    // eligible, which begins with zeros.
    void sum(double *total, double *power, double *weight);

  private:
    // Rows with the same values of the super-parents, and what they share.
    struct Group {
        int from = 0, to = 0;  // of the rows in the order of the member
        const double *count = nullptr;
        std::array<int, 2> slot{};                 // of the super-parents
        std::vector<double> base, power, inverse;  // the first product; 1 / (N(x_s, y) + total) of each total
        std::vector<double> table;
    };
    // Where the counts of a member with one of its children are: see ChildPlace.
    struct Child {
        int attribute;
        ChildPlace place;
        const double *cells(const Group &g) const {
            return place.cells + g.slot[0] * place.strides[0] + g.slot[1] * place.strides[1];
        }
    };
    template <int Registers>
    using Product = std::array<Lanes<2>, Registers>;
    const ScoringPlan &plan_;
    const int n_, k_, width_;  // width: the classes, padded
    int n_rows_ = 0, calm_ = 1;
    std::vector<int> common_;  // the most common slot of each column
    // of the rows
    std::vector<int> slot_;                        // of each column and row
    std::vector<char> gaps_;                       // of each column: whether a row lacks it
    std::vector<std::uint32_t> line_;              // of all departures: where its line is in the table
    std::vector<std::size_t> begin_;               // of each row, its first departure; one more at the end
    std::vector<int> by_column_, sorted_, start_;  // rows by the slot of each column; and by those of a member
    std::vector<double> sum_, sum_power_;          // of the members so far, padded
    std::vector<char> scaled_;                     // of each row: whether some power is not zero
    // of a member in hand
    const Member *member_ = nullptr;
    const int *rows_ = nullptr;
    std::vector<Child> children_;
    std::vector<Group> groups_;  // some at a time, as many as have tables in the cache
    int n_groups_ = 0;
    std::vector<int> here_;  // slots of the super-parents, at their columns
    std::vector<double> inverse_, value_, power_;

    const int *slots_of(int i) const { return &slot_[std::size_t(i) * most_rows]; }
    void sort_rows();
    void find_children(int q);
    int end_of_values(int from) const;
    bool start(Group &g, int from, int to);
    const double *inverse_of(const Group &g, const Child &child);
    template <int Lane>
    void fill(Group &g, const Child &child);
    void make_tables();
    void multiply_values(const Group &g, int row);
    void multiply_departures(const Group &g, int row);
    void add_plain(const Group &g, int row);
    template <class Work>
    void each_class(const Work &work) const;
    template <int Registers, int Side>
    static Product<Registers> product(const double *table, const double *base, const std::uint32_t *from,
                                      const std::uint32_t *to);
    void add_rows(double *weight);
};

}  // namespace tanager::scoring
