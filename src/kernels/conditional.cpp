#include "conditional.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "interrupt.hpp"

namespace tanager {

namespace {

constexpr std::size_t kBlock = 1024;  // rows whose lines are found together
constexpr std::size_t kTogether = CodedRows::together;

// line = line * n_values + code
void fold_in(const CodedRows &rows, std::size_t variable, std::size_t begin, std::size_t n, std::uint32_t *line) {
    const std::uint16_t *code = rows.codes + variable * rows.n_rows + begin;
    const auto n_values = std::uint32_t(rows.n_values[variable]);
    for (std::size_t r = 0; r < n; ++r) line[r] = line[r] * n_values + code[r];
}

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

// The product of sixteen totals of two classes, two rows at a time.
double product_of_two_classes(const double *ratio, const double *cells, const std::uint32_t *line) {
    typedef double Pair __attribute__((vector_size(16)));
    const auto load = [](const double *from) {
        Pair pair;
        std::memcpy(&pair, from, sizeof pair);
        return pair;
    };
    Pair product[2] = {{1, 1}, {1, 1}};
    for (std::size_t q = 0; q < kTogether; q += 2) {
        const Pair a = load(ratio + 2 * q) * load(cells + 2 * std::size_t(line[q]));
        const Pair b = load(ratio + 2 * q + 2) * load(cells + 2 * std::size_t(line[q + 1]));
        product[q / 2 % 2] *= Pair{a[0], b[0]} + Pair{a[1], b[1]};
    }
    const Pair all = product[0] * product[1];
    return all[0] * all[1];
}

using FamilyVariables = std::vector<std::size_t>;

bool differ_in_last(const FamilyVariables &a, const FamilyVariables &b) {
    return a.size() == b.size() && !a.empty() && std::equal(a.begin(), a.end() - 1, b.begin());
}

template <std::size_t Fixed>
void add_log_totals(const CodedRows &rows, std::size_t begin, std::size_t n, const double *ratio, std::size_t k,
                    const std::vector<ConditionalTable> &tables, double *out) {
    std::uint32_t base[kBlock], line[kBlock];  // without the last variable of a family, and with it
    double total[kTogether];
    for (std::size_t f = 0; f < tables.size(); ++f) {
        const FamilyVariables &family = tables[f].variables;
        const bool has_last = !family.empty();
        if (f == 0 || !differ_in_last(family, tables[f - 1].variables))
            find_lines(rows, {family.begin(), family.end() - has_last}, begin, n, base);
        std::copy_n(base, n, line);
        if (has_last) fold_in(rows, family.back(), begin, n, line);
        const double *cells = tables[f].cells, *own = ratio + begin * k;
        double running = 1;  // totals that have not been taken the logarithm of: one takes as long as ten rows
        for (std::size_t r = 0; r < n; r += kTogether) {
            const std::size_t few = std::min(kTogether, n - r);
            if (Fixed == 2 && few == kTogether && rows.all_one[(begin + r) / kTogether]) {
                const double product = product_of_two_classes(own, cells, line + r);
                if (product > 1e-140 && product < 1e140) {
                    running *= product;
                    if (!(running > 1e-140 && running < 1e140)) {
                        out[f] += std::log(running);
                        running = 1;
                    }
                    own += few * k;
                    continue;
                }
            }
            for (std::size_t q = 0; q < few; ++q, own += k) total[q] = dot<Fixed>(own, cells + line[r + q] * k, k);
            out[f] += log_of_product(total, rows.weights + begin + r, few);
        }
        if (running != 1) out[f] += std::log(running);
    }
}

}  // namespace

CodedRows::CodedRows(const std::uint16_t *codes_, std::size_t n_rows_, std::vector<std::size_t> n_values_,
                     const double *weights_)
    : codes(codes_), n_rows(n_rows_), n_values(std::move(n_values_)), weights(weights_) {
    for (std::size_t r = 0; r < n_rows; r += together)
        all_one.push_back(std::all_of(weights + r, weights + std::min(r + together, n_rows),
                                      [](double weight) { return weight == 1; }));
}

void find_lines(const CodedRows &rows, const std::vector<std::size_t> &variables, std::size_t begin, std::size_t n,
                std::uint32_t *line) {
    std::fill_n(line, n, 0u);
    for (const std::size_t i : variables) fold_in(rows, i, begin, n, line);
}

void log_totals(const CodedRows &rows, const double *ratio, std::size_t k, const std::vector<ConditionalTable> &tables,
                double *out) {
    std::fill_n(out, tables.size(), 0.0);
    for (std::size_t begin = 0; begin < rows.n_rows; begin += kBlock) {
        check_interrupt();
        const std::size_t n = std::min(kBlock, rows.n_rows - begin);
        if (k == 2) add_log_totals<2>(rows, begin, n, ratio, k, tables, out);
        else if (k == 3) add_log_totals<3>(rows, begin, n, ratio, k, tables, out);
        else add_log_totals<0>(rows, begin, n, ratio, k, tables, out);
    }
}

}  // namespace tanager
