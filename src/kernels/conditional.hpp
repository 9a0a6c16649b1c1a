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
    static constexpr std::size_t together = 16;  // rows with one logarithm for all of them
    std::vector<char> all_one;                   // of every sixteen rows: whether all weights are 1

    CodedRows(const std::uint16_t *codes, std::size_t n_rows, std::vector<std::size_t> n_values, const double *weights);
};

// P(value | other values, y) of a family: a line of one number per class for every combination of its variables, the
// last of which runs fastest.
struct ConditionalTable {
    std::vector<std::size_t> variables;
    const double *cells;
};

// The line of every row from `begin` on.
void find_lines(const CodedRows &rows, const std::vector<std::size_t> &variables, std::size_t begin, std::size_t n,
                std::uint32_t *line);

// For every table the sum over the rows of weight * log sum_y ratio[row, y] * table[line of the row, y]. Families that
// follow each other and differ in their last variable alone share what they have in common.
void log_totals(const CodedRows &rows, const double *ratio, std::size_t k, const std::vector<ConditionalTable> &tables,
                double *out);

}  // namespace tanager
