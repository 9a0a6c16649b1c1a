// The members of a sum with up to three super-parents, one after the other, for a block of rows: rows with the same
// values of the super-parents are read one behind the other, from a table of these values alone. It is small enough
// for the cache, where the counts of all members are not; and what is divided is divided once for all of its rows.
//
// The table has one line per slot of every column, with one number per class: P(x_i | y, x_s), and 1 where a value is
// missing or is that of a super-parent. So the joint of a member is P(y, x_s) times one product over all columns, and
// nothing is asked. Rows that are left out come class by class and weight by weight: what their class would be without
// such a row stands in one lane more, behind the classes, and takes the place of the class when all is multiplied.
//
// Columns with a single value are passed over: the probability of that value is 1. Where many rows have few values,
// lines of several columns are multiplied beforehand (`JoinedLines`).
#pragma once
#include "joined_lines.hpp"
#include "scoring_plan.hpp"

namespace tanager::scoring {

class MemberRows {
  public:
    // Whether the members of a plan can be read in this way: pseudo-counts are the same for all parents, and positive.
    static bool suits(const ScoringPlan &p) {
        const bool known_places = p.fast || !p.member_children.empty();
        return p.sum_of_products && known_places && p.shared_totals && p.estimate.constant();
    }

    // Whether that is quicker, where rows are many, than what there is for a single row: a short cut through the pairs
    // that shares what it divides by, but for columns with gaps, and is at its best with few classes and in the cache.
    static bool pays(const ScoringPlan &p);
    static constexpr int few_classes = 4;
    // Blocks of at most so many rows.
    MemberRows(const ScoringPlan &plan, std::int64_t n_rows);
    // How many rows to take at a time: few, so that what is known about them stays in the cache as well; more where
    // super-parents have many values, lest a table is made for few rows. The counts of all members, far larger than any
    // cache, are read once for each block.
    static int block_rows(const ScoringPlan &plan, std::int64_t n_rows);
    const int most_rows;
    void clear() { n_rows_ = 0; }
    int size() const { return n_rows_; }
    int width() const { return width_; }  // from one row to the next in what `member` gives
    // One more row of the block. It is left out of the counts of class y with this weight; y < 0: it is not.
    void add(const int *slot, int y, double left_out);
    void sort();                           // to be called once when all rows are there
    void slots(int row, int *slot) const;  // those that were given

    // Some rows that a member is eligible for, and their joints as mantissas and powers of two: one number per class,
    // then zeros up to the width. All powers are zero where there are none. Both may be written to.
    struct Joints {
        const int *rows;
        int n_rows;
        double *m, *e;
    };
    // Calls take(joints) until all rows were given that member q is eligible for, and pass(row) for the others.
    template <class Take, class Pass>
    void member(int q, const Take &take, const Pass &pass) {
        const int *rows = rows_by_values(q);
        Joints some{rows, 0, value_.data(), plain() ? nullptr : power_.data()};
        const auto give = [&](int next) {
            if (some.n_rows) take(some);
            some.rows = rows + next;
            some.n_rows = 0;
        };
        for (int from = 0; from < n_rows_;) {
            const int end = end_of_values(rows, from);
            const bool present = open(rows + from, end - from);
            for (; from < end;) {
                const int to = end_of_class(rows, from, end), y = label_[rows[from]];
                const double less = left_out_[rows[from]];
                if (!present || !leave_out(y, less)) {
                    give(to);
                    for (; from < to; ++from) pass(rows[from]);
                    continue;
                }
                if (y >= 0) fill_without(rows + from, to - from, y, less);
                lines_ = &joined_.lines(single_, to - from);
                while (from < to) {
                    const int n = std::min(to - from, kBatch - some.n_rows);
                    multiply(rows + from, n, y, some.n_rows);
                    from += n;
                    some.n_rows += n;
                    if (some.n_rows == kBatch) give(from);
                }
            }
        }
        give(n_rows_);
    }
    bool plain() const { return int(columns_.size()) <= calm_; }

  private:
    static constexpr int kBatch = Verdicts::most_rows;
    const ScoringPlan &plan_;
    const LaneFunctions &lanes_;
    const int n_, k_, width_;  // width: the classes and one lane more, padded
    int n_rows_ = 0, calm_ = 1;
    std::vector<int> columns_;  // those that tell anything
    // of the rows
    std::vector<std::uint32_t> cells_;  // of each row and such column: where its line is in the table
    RowLines single_{};                 // these lines
    JoinedLines joined_;                // and those of several columns
    std::vector<int> slot_;             // of each column and row
    std::vector<int> label_;
    std::vector<double> left_out_;
    std::vector<int> by_class_, class_of_;  // rows by class and weight, and the number of these two of each row
    std::vector<int> begin_;                // of each column and slot: where its rows begin, if they come slot by slot
    std::vector<int> by_column_, sorted_;   // rows by the slot of each column; and by those of a member
    std::vector<int> next_;
    // of a member and its values in hand
    const Member *member_ = nullptr;
    std::vector<int> children_;
    std::vector<ChildPlace> places_;   // of the children
    double present_ = 0;               // weight of the rows with all super-parents present
    std::vector<int> here_;            // slots of the super-parents, at their columns
    const double *count_ = nullptr;    // N(x_s, y)
    double seen_ = 0;                  // its sum
    std::vector<const double *> own_;  // of each child: its counts, from its first slot on
    // 1 / (N(x_s, y) + total): of each total; of a child with gaps; and what is lost where there are none
    std::vector<double> inverse_, lost_inverse_, none_;
    double joint_less_ = -1;  // what was left out when this was made:
    LaneMemory joint_;        // P(y, x_s) times the weight of the member
    LaneMemory table_, value_, power_;
    const RowLines *lines_ = nullptr;  // to multiply

    bool tells_something(int i) const;
    ChildPlace place_of(int q, int i) const;
    const int *rows_by_values(int q);
    const int *begin_of(int i) const { return &begin_[std::size_t(plan_.store.offsets[i]) + std::size_t(i)]; }
    void sort_by_column(int i, const int *rows, int *out);
    int end_of_values(const int *rows, int from) const;
    int end_of_class(const int *rows, int from, int to) const;
    bool open(const int *rows, int n_rows);
    bool leave_out(int y, double left_out);
    void fill(const int *rows, int n_rows);
    void fill_without(const int *rows, int n_rows, int y, double less);
    void multiply(const int *rows, int n_rows, int y, int place);
};

// Rows by their slots in one column, otherwise in the order that they have.
void sort_by_slot(const int *slot, int n_slots, const int *rows, int n_rows, int *start, int *out);

}  // namespace tanager::scoring
