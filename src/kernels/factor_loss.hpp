// log P(class) as a weighted sum of many factors: its loss over labelled rows, and the slope of that in the weights.
#pragma once
#include <cstdint>
#include <vector>

namespace tanager {

// What each factor says about each class of each row, in steps of `unit`, block of rows after block: (blocks, factors,
// sides, rows of a block). With two classes one side is enough, that of the second class: the other is its negative.
// What stands after the last row is not looked at.
struct FactorTerms {
    static constexpr int block = 64;  // rows
    const std::int8_t *steps = nullptr;
    std::int64_t n_factors = 0, n_rows = 0;
    int n_classes = 0;
    float unit = 1;
    const std::uint16_t *labels = nullptr;
    const float *weights = nullptr;

    static int sides(int n_classes) { return n_classes == 2 ? 1 : n_classes; }
    static std::int64_t blocks(std::int64_t n_rows) { return (n_rows + block - 1) / block; }
};

// The weighted log loss of the rows; `factors` are the weights of the factors, `fixed` (classes) is added to the logs
// of every row. Slopes, one for each factor and then one for each class of `fixed`, unless nullptr; the loss of every
// row, unless nullptr.
double factor_loss(const FactorTerms &terms, const double *factors, const double *fixed, double *slopes,
                   double *losses);

}  // namespace tanager
