// The conditional likelihood of the class: what a change of one family does to P(y | row) of all rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tanager {

// Rows of codes over some variables, column after column, and their weights. Neither is copied.
struct CodedRows {
    const std::uint16_t *codes;
    std::size_t n_rows;
    std::vector<std::size_t> n_values;
    const double *weights;
};

// P(value | other values, y) of a family: a line of one number per class for every combination of its variables, the
// last of which runs fastest.
struct FamilyTable {
    std::vector<std::size_t> variables;
    const double *cells;
};

// The line of every row from `begin` on.
void find_lines(const CodedRows &rows, const std::vector<std::size_t> &variables, std::size_t begin, std::size_t n,
                std::uint32_t *line);

// The sum over the rows of weight * log sum_y ratio[row, y] * table[line of the row, y].
double log_total(const CodedRows &rows, const double *ratio, std::size_t k, const FamilyTable &table);

}  // namespace tanager
