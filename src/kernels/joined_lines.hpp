// Lines of two or of four columns at a time, for rows that multiply one line of every column: for each combination of
// the values that the rows have, the product of theirs. Where values are few, a row then multiplies a quarter of the
// lines; they are made anew for every table, which pays where enough rows read it.
//
// Products are of four columns each, (a b) (c d), whatever lines they are read from: so no bit depends on the choice.
#pragma once
#include <vector>

#include "member_lanes.hpp"

namespace tanager::scoring {

class JoinedLines {
  public:
    // Which lines of single columns the rows have, in a table of so many; their order is that of `columns`.
    void start(const RowLines &columns, int n_rows, std::size_t n_lines);
    // What so many of the rows are to multiply: the lines of columns, or those made of them as they are now.
    const RowLines &lines(const RowLines &columns, int n_rows);

  private:
    // Sets of columns: the lines of each, one set after the other, and which of them each row has.
    struct Sets {
        std::vector<std::uint32_t> first;  // line of each set; one more at the end
        std::vector<std::uint32_t> place;  // of each line in its table
        std::vector<std::uint32_t> rank;   // of each row and set: its line, counted from the first of the set
        int size() const { return int(first.size()) - 1; }
        std::uint32_t n_lines(int g) const { return first[g + 1] - first[g]; }
    };
    struct Joined {
        Sets sets;
        std::vector<std::uint32_t>
            factors;  // of each line the two places that it is the product of, or one of them twice
        std::vector<std::uint32_t> cells;  // of each row and set: the place of its line
        LaneMemory table;
        RowLines lines{};
        bool there = false;
        std::size_t n_lines() const { return sets.place.size(); }
    };
    Sets columns_;
    Joined pairs_, fours_;

    static void join(const Sets &of, int n_rows, int width, int lines_for_four, Joined &out);
    static void make(const double *of, Joined &out);
};

}  // namespace tanager::scoring
