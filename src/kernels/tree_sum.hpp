// The sum over all spanning trees of a graph of the product of their edge weights, in O(n^3).
//
// By the matrix-tree theorem this is a determinant. Nodes are taken out one by one (star-mesh): node u with the edges
// w_uv and their sum d gives the factor d, and every two of its neighbours get the edge w_uv w_ut / d on top of their
// own. Nothing is ever subtracted, so the result is exact to a few rounding errors whatever the weights are; a
// determinant by rows and columns would lose all digits where weights differ by more than 2^53.
//
// Edges come as a packed lower triangle: the edge of nodes v < u is number u (u - 1) / 2 + v.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

namespace tanager::trees {

constexpr std::size_t edge(std::size_t u, std::size_t v) { return u * (u - 1) / 2 + v; }

// Weights of one graph: m times 2^(512 e), with 2^-256 <= m < 2^256 once settled. Bayes factors of many rows are far
// beyond the range of a double.
struct WideWeights {
    std::vector<double> m, e;
};

// What happens when a node is taken out: the log of d, and the share w_uv / d of every node v that is left.
struct Elimination {
    std::vector<double> log_sum;  // of node u; 0 for the last one that is left
    std::vector<double> share;    // packed as the edges are
};

// A product of many positive numbers: m times 2^power.
struct Product {
    double m = 1, power = 0;

    void multiply(double x) {
        int a, b;
        m = std::frexp(m * std::frexp(x, &a), &b);
        power += a + b;
    }
    // The log, less that of 2^shared: powers are whole numbers, so that large ones cancel exactly.
    double log(double shared = 0) const { return std::log(m) + (power - shared) * 0.69314718055994530942; }
};

// The sum over trees of n nodes; the weights are used up. Plain weights must be positive and differ by at most 2^1000,
// so that no edge that matters falls to zero.
Product tree_sum(double *weights, std::size_t n, double *memory);
Product tree_sum(WideWeights &weights, std::size_t n, WideWeights &memory, Elimination *steps = nullptr);

// m into its range, e with it.
inline void settle(double &m, double &e) {
    const bool up = m >= 0x1p256, down = m < 0x1p-256;
    m *= up ? 0x1p-512 : down ? 0x1p512 : 1.0;
    e += up ? 1.0 : down ? -1.0 : 0.0;
}

}  // namespace tanager::trees
