#include "conditional.hpp"

#include <algorithm>
#include <cmath>

namespace tanager {

namespace {

constexpr std::size_t kBlock = 1024;   // rows whose lines are found together
constexpr std::size_t kTogether = 16;  // rows with one logarithm for all of them

template <std::size_t Fixed>
inline double dot(const double *a, const double *b, std::size_t k) {
    double sum = 0;
    for (std::size_t c = 0; c < (Fixed ? Fixed : k); ++c) sum += a[c] * b[c];
    return sum;
}

// Rows of weight 1 share a logarithm, that of their product, unless it is too large or too small to be written down.
double log_of_product(const double *total, const double *weight, std::size_t n) {
    double product[4] = {1, 1, 1, 1}, sum = 0;
    for (std::size_t q = 0; q < n; ++q) {
        if (weight[q] == 1) product[q % 4] *= total[q];
        else sum += weight[q] * std::log(total[q]);
    }
    const double all = (product[0] * product[1]) * (product[2] * product[3]);
    if (all > 1e-280 && all < 1e280) return sum + std::log(all);
    for (std::size_t q = 0; q < n; ++q)
        if (weight[q] == 1) sum += std::log(total[q]);
    return sum;
}

template <std::size_t Fixed>
double log_total_of(const CodedRows &rows, const double *ratio, std::size_t k, const FamilyTable &table) {
    std::uint32_t line[kBlock];
    double total[kTogether], sum = 0;
    for (std::size_t begin = 0; begin < rows.n_rows; begin += kBlock) {
        const std::size_t n = std::min(kBlock, rows.n_rows - begin);
        find_lines(rows, table.variables, begin, n, line);
        for (std::size_t r = 0; r < n; r += kTogether) {
            const std::size_t few = std::min(kTogether, n - r);
            for (std::size_t q = 0; q < few; ++q)
                total[q] = dot<Fixed>(ratio + (begin + r + q) * k, table.cells + line[r + q] * k, k);
            sum += log_of_product(total, rows.weights + begin + r, few);
        }
    }
    return sum;
}

}  // namespace

void find_lines(const CodedRows &rows, const std::vector<std::size_t> &variables, std::size_t begin, std::size_t n,
                std::uint32_t *line) {
    std::fill_n(line, n, 0u);
    for (const std::size_t i : variables) {
        const std::uint16_t *code = rows.codes + i * rows.n_rows + begin;
        const auto n_values = std::uint32_t(rows.n_values[i]);
        for (std::size_t r = 0; r < n; ++r) line[r] = line[r] * n_values + code[r];
    }
}

double log_total(const CodedRows &rows, const double *ratio, std::size_t k, const FamilyTable &table) {
    return k == 2   ? log_total_of<2>(rows, ratio, k, table)
           : k == 3 ? log_total_of<3>(rows, ratio, k, table)
                    : log_total_of<0>(rows, ratio, k, table);
}

}  // namespace tanager
