// Sums over the parents of a child, for many rows: sum_j f(j, x_j) over the columns j before it, where f has a line of
// numbers, one per class, for every value of every column.
//
// Columns are taken in groups with few combinations of values. The lines of a group are added up once for every
// combination, and a row then reads one line for each group rather than one for each column.
#pragma once
#include <cstdint>
#include <vector>

namespace tanager::scoring {

class ParentGroups {
  public:
    struct Column {
        std::vector<int> slots;  // that occur in the rows, ascending; each has a line
        int first_line, group;
        std::int32_t stride;  // from one of its slots to the next, among the entries of its group

        int n_slots() const { return int(slots.size()); }
    };
    struct Group {
        int first, end;  // columns
        std::int32_t first_entry, n_entries;
    };
    std::vector<Column> columns;
    std::vector<Group> groups;
    std::vector<std::int32_t> line;   // (rows, columns): of the row's slot
    std::vector<std::int32_t> entry;  // (columns, rows): of its slots in the group, up to and with this column
    int n_lines = 0, n_entries = 0;

    // Columns in order: the slots of all rows. Groups have at most `most` combinations, but for single columns.
    ParentGroups(const std::vector<const int *> &slots, int n_rows, int most);

    std::size_t n_rows() const { return n_rows_; }
    const std::int32_t *lines_of(int r) const { return &line[std::size_t(r) * columns.size()]; }
    // Lines of the columns before this one; they come first.
    int lines_before(int place) const { return place < int(columns.size()) ? columns[place].first_line : n_lines; }
    // Groups with columns before this one; the last of them may go on beyond it.
    int groups_before(int place) const { return place == 0 ? 0 : columns[place - 1].group + 1; }
    // Entries of each row in a group, over its columns before this one.
    const std::int32_t *entries_of(int group, int place) const {
        const int last = (groups[group].end < place ? groups[group].end : place) - 1;
        return &entry[std::size_t(last) * n_rows_];
    }

  private:
    std::size_t n_rows_;

    void add_column(const int *slot, int most);
};

// Rows to be counted into cells (lines, width).
struct CountedRows {
    const int *rows;
    std::int64_t n_rows;
    const int *label;      // of all rows
    const double *weight;  // of all rows
};

// Counts of one child value with the values of its parents, and what makes them probabilities. Arrays are by line.
struct ParentCounts {
    double *cells;          // (lines, width), which are set to zero
    const double *inverse;  // (lines, full): one over the sums of the contexts, then the same less a row; 0: not there
    double pseudo, less;
};

// What rows with one value of the child do with their sums.
struct SumReader {
    const int *rows;
    std::int64_t n_rows;
    const int *label;     // of all rows
    const double *extra;  // (full): added to every sum
    const double *own;    // of each of these rows: the sum of its own class; NaN where it is in the tables; or null
    const double *base;   // (all rows, width): added to every sum; or null
    double *out;          // (all rows, width)
    bool multiplies;      // `out` by the sum, rather than being set to it
};

// Tables of the parents of one child at a time. A line has `width` numbers, one per class and padded to two or a
// multiple of four, and with `own` as many again: as they are where a row of the class is left out.
class ParentTables {
  public:
    ParentTables(const ParentGroups &groups, int width, bool own);
    int full() const { return full_; }

    // Adds rows to the cells of their values in the columns before `place`.
    void count(int place, const CountedRows &rows, double *cells);

    // The lines of the columns before `place`; added up group by group where so many rows are worth it.
    void make(int place, const ParentCounts &counts, std::int64_t n_rows);
    void read(int place, const SumReader &rows);
    // A sum that was made otherwise, for row r.
    void give(const double *sum, const SumReader &rows, int r) const;

  private:
    const ParentGroups &groups_;
    const int width_, full_;
    const bool wide_;      // registers of four
    bool grouped_ = true;  // rows read a line for each group, rather than one for each column
    std::vector<double> lines_, entries_, counted_;
    std::vector<const std::int32_t *> entries_of_;

    std::int64_t entries_before(int group) const {
        return group < int(groups_.groups.size()) ? groups_.groups[std::size_t(group)].first_entry : groups_.n_entries;
    }
    void count_lines(int place, const CountedRows &rows, double *cells) const;
    void count_groups(int place, const CountedRows &rows, double *cells);
    void sum_out(const ParentGroups::Group &group, int place, double *cells);
    template <class Lane>
    void make_with(int place, const ParentCounts &counts);
    template <class Lane>
    void read_two(int place, const SumReader &rows);
    template <class Lane>
    void read_with(int place, const SumReader &rows);
    void make_avx2(int place, const ParentCounts &counts);
    void read_avx2(int place, const SumReader &rows);
};

}  // namespace tanager::scoring
