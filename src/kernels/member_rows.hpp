// The members of a sum with two or three super-parents, one after the other, for a block of rows: rows with the same
// values of the super-parents are read one behind the other, from a table of these values alone. It is small enough
// for the cache, where the counts of all members are not.
//
// The table has one line per slot of every column, with one number per class: P(x_i | y, x_s), and 1 where a value is
// missing. At the slot of the first super-parent stands the weight of the member times P(y, x_s), at those of the
// others 1; so the joint of a member is one product over all columns, and nothing is asked. Rows that are left out come
// class by class and weight by weight: the entries of their class are made without such a row first.
#pragma once
#include "lanes.hpp"
#include "scoring_plan.hpp"

namespace tanager::scoring {

class MemberRows {
  public:
    // Whether the members of a plan can be read in this way: pseudo-counts are the same for all parents, and positive.
    static bool suits(const ScoringPlan &p) {
        return p.sum_of_products && !p.member_children.empty() && p.shared_totals && p.estimate.constant();
    }

    // Blocks of at most so many rows.
    MemberRows(const ScoringPlan &plan, std::int64_t n_rows);
    // How many rows to take at a time: few, so that what is known about them stays in the cache as well; more where
    // super-parents have many values, lest a table is made for each row.
    static int block_rows(const ScoringPlan &plan, std::int64_t n_rows);
    const int most_rows;
    void clear() { n_rows_ = 0; }
    int size() const { return n_rows_; }
    // One more row of the block. It is left out of the counts of class y with this weight; y < 0: it is not.
    void add(const int *slot, int y, double left_out);
    void sort();                           // to be called once when all rows are there
    void slots(int row, int *slot) const;  // those that were given

    // Calls take(row, m, e) with the joint of member q as mantissas and powers of two, one each per class, for every
    // row that it is eligible for, and pass(row) for the others. m and e may be written to. With `plain` all powers are
    // known to be zero.
    template <class Take, class Pass>
    void member(int q, const Take &take, const Pass &pass) {
        if (width_ == 2) read<2>(q, take, pass);
        else read<4>(q, take, pass);
    }
    bool plain() const { return n_ <= calm_; }

  private:
    const ScoringPlan &plan_;
    const int n_, k_, width_;  // width: the classes, padded
    int n_rows_ = 0, n_lines_ = 0, calm_ = 1;
    // of the rows
    std::vector<std::uint32_t> cells_;  // of each row and column: where its line is in the table
    std::vector<int> slot_;             // of each column and row
    std::vector<int> label_;
    std::vector<double> left_out_;
    std::vector<int> by_class_;                    // rows by class and weight
    std::vector<int> by_column_, sorted_, start_;  // the same by the slot of each column; and by those of a member
    // of a member and its values in hand
    const Member *member_ = nullptr;
    const std::vector<ChildPlace> *places_ = nullptr;
    std::vector<int> here_;          // slots of the super-parents, at their columns
    const double *count_ = nullptr;  // N(x_s, y)
    std::vector<int> children_;
    std::vector<const double *> own_;  // of each child: its counts, from its first slot on
    std::vector<std::int64_t> step_;
    std::vector<double> inverse_, lost_inverse_;  // 1 / (N(x_s, y) + total): of each total, of each child with gaps
    std::vector<double> table_, value_, power_, sub_;

    const int *rows_by_values(int q);
    bool open(const int *rows, int n_rows);
    bool leave_out(int y, double left_out);
    void make_inverse(int from, int to, double less);
    void fill(const int *rows, int n_rows, int from, int to, double less);
    int end_of_values(const int *rows, int from) const;
    int end_of_class(const int *rows, int from, int to) const;

    template <int Fixed, class Take, class Pass>
    void read(int q, const Take &take, const Pass &pass) {
        const int *rows = rows_by_values(q);
        for (int from = 0; from < n_rows_;) {
            const int end = end_of_values(rows, from);
            const bool present = open(rows + from, end - from);
            for (; from < end;) {
                const int to = end_of_class(rows, from, end), y = label_[rows[from]];
                const double less = left_out_[rows[from]];
                const bool eligible = present && leave_out(y, less);
                if (eligible && y >= 0) fill(rows + from, to - from, y, y + 1, less);
                for (int at = from; at < to; ++at) {
                    if (!eligible) {
                        pass(rows[at]);
                        continue;
                    }
                    multiply<Fixed>(&cells_[std::size_t(rows[at]) * n_]);
                    take(rows[at], value_.data(), power_.data());
                }
                // Back as counted, for the rows of other classes.
                if (eligible && y >= 0 && to < end) fill(rows + to, end - to, y, y + 1, 0);
                from = to;
            }
        }
    }

    // The product over all columns into value_ and power_.
    template <int Fixed>
    void multiply(const std::uint32_t *cell) {
        double *value = value_.data(), *power = power_.data();
        std::fill_n(power, k_, 0.0);
        for (int from = 0; from < n_; from += calm_) {
            const int to = std::min(n_, from + calm_);
            if constexpr (Fixed == 2) multiply_classes<1, 4>(cell, from, to, 0);
            else {
                int c = 0;
                for (; c + 8 <= width_; c += 8) multiply_classes<4, 1>(cell, from, to, c);
                if (c + 4 <= width_) multiply_classes<2, 2>(cell, from, to, c);
            }
            if (to < n_) steady(value, power, k_);
        }
    }
    // The same for some classes, two to a register, and some columns. Products side by side, of classes or of columns:
    // one takes longer than to start the next.
    template <int Registers, int Side>
    void multiply_classes(const std::uint32_t *cell, int from, int to, int c) {
        using L = Lanes<2>;
        const double *table = table_.data() + c;
        double *value = value_.data() + c;
        L v[Side][Registers];
        for (int u = 0; u < Side; ++u)
            for (int t = 0; t < Registers; ++t) v[u][t] = u > 0 || from == 0 ? L::all(1) : L::load(value + 2 * t);
        int i = from;
        for (; i + Side <= to; i += Side)
            for (int u = 0; u < Side; ++u)
                for (int t = 0; t < Registers; ++t) v[u][t] = v[u][t] * L::load(table + cell[i + u] + 2 * t);
        for (; i < to; ++i)
            for (int t = 0; t < Registers; ++t) v[0][t] = v[0][t] * L::load(table + cell[i] + 2 * t);
        for (int t = 0; t < Registers; ++t) {
            for (int u = 1; u < Side; ++u) v[0][t] = v[0][t] * v[u][t];
            v[0][t].store(value + 2 * t);
        }
    }
};

}  // namespace tanager::scoring
