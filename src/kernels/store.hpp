// The store of joint counts: one description of its layout and cells, for counting, merging, scoring and streams.
//
// Attribute i owns the global slots offsets[i] .. offsets[i + 1] - 1, that is n_slots[i] of them. The first n_values[i]
// are its values; the last is the missing slot; any in between are spare and hold zeros. Cells are float64, the class
// always innermost. With A all slots and K classes:
//
//   classes (K)            N(y)
//   singles (A, K)         N(x_i, y)
//   pairs   (A, A, K)      N(x_i, x_j, y), both triangles; the blocks of an attribute with itself stay 0
//   triples of anchor s    (A', A', n_slots[s], K) over the A' slots of the attributes >= first: N(x_s, x_j, x_l, y),
//   both
//                          triangles; the blocks of s stay 0
//   families               (n_slots[p1], ..., n_slots[pd], n_slots[child], K), or the contexts of p1, ..., pd that have
//                          occurred (sparse_table.hpp)
//
// Missing slots are counted like values. So N(pa, x missing) is a cell, and summing out all slots of a variable gives
// the counts without it.
//
// The arrays are Python's: a Store borrows them, and whoever makes one (bind_arrays.cpp) has checked every shape and
// keeps the arrays alive.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "sparse_table.hpp"

namespace tanager {

// Which slots there are, without cells.
struct Layout {
    int n = 0, k = 0;                   // attributes, classes
    std::int64_t width = 0;             // A, all slots
    std::vector<std::int64_t> offsets;  // n + 1
    std::vector<int> n_values, n_slots;

    int missing_slot(int i) const { return n_slots[i] - 1; }
    std::int64_t missing_cell(int i) const { return (offsets[i + 1] - 1) * k; }
};

struct Triples {
    int anchor, first;
    double *cells;
    std::int64_t width;  // slots of the attributes >= first
};

struct Family {
    std::vector<int> attributes;        // parents in order, then the child
    std::vector<std::int64_t> strides;  // in cells, one per attribute; of a sparse table: of parents, in keys
    double *cells;                      // or null, and:
    SparseTable *sparse;

    double *cell(const int *slot, int y) const {
        const std::size_t last = attributes.size() - 1;
        std::int64_t at = 0;
        for (std::size_t q = 0; q < last; ++q) at += slot[attributes[q]] * strides[q];
        double *context = sparse ? sparse->at(at) : cells + at;
        return context + slot[attributes[last]] * strides[last] + y;
    }
};

struct Store : Layout {
    // Null where they are not counted; classes and singles are there together or not at all.
    double *classes = nullptr, *singles = nullptr, *pairs = nullptr;
    std::vector<Triples> triples;
    std::vector<Family> families;
    // Where a set of attributes was counted: in ascending order, and for a sparse table the child behind a -1.
    std::map<std::vector<int>, std::size_t> family_of;

    static std::vector<int> sparse_name(std::vector<int> parents, int child) {
        std::sort(parents.begin(), parents.end());
        parents.insert(parents.end(), {-1, child});
        return parents;
    }
    void index_families() {
        for (std::size_t f = 0; f < families.size(); ++f) {
            std::vector<int> set = families[f].attributes;
            if (families[f].sparse) set = sparse_name({set.begin(), set.end() - 1}, set.back());
            else std::sort(set.begin(), set.end());
            family_of.emplace(std::move(set), f);
        }
    }
};

// Calls visit(cells, how many) for every table.
template <class Visit>
inline void each_table(const Store &s, const Visit &visit) {
    const std::int64_t k = s.k;
    if (s.classes) visit(s.classes, k);
    if (s.singles) visit(s.singles, s.width * k);
    if (s.pairs) visit(s.pairs, s.width * s.width * k);
    for (const Triples &t : s.triples) visit(t.cells, t.width * t.width * s.n_slots[t.anchor] * k);
    for (const Family &f : s.families) {
        if (f.sparse) visit(f.sparse->cells().data(), std::int64_t(f.sparse->cells().size()));
        else visit(f.cells, f.strides[0] * s.n_slots[f.attributes[0]]);
    }
}

// Copies the lower triangle of the pairs, N(x_i, x_j, y) with j < i, to the upper one.
inline void mirror_pairs(Store &s) {
    const std::int64_t k = s.k, row = s.width * k;
    for (int i = 1; i < s.n; ++i)
        for (std::int64_t g = s.offsets[i]; g < s.offsets[i + 1]; ++g)
            for (std::int64_t h = 0; h < s.offsets[i]; ++h)
                std::copy_n(s.pairs + g * row + h * k, k, s.pairs + h * row + g * k);
}

// Where the triples of a row are: from what is returned, which belongs to its class and its value of the anchor, the
// pair (i, j) is at cell[i] * width + cell[j]. `cell` is memory for n numbers.
inline double *triple_cells(const Store &s, const Triples &t, const int *slot, int y, std::int64_t *cell) {
    const std::int64_t inner = std::int64_t(s.n_slots[t.anchor]) * s.k, start = s.offsets[t.first];
    for (int i = t.first; i < s.n; ++i) cell[i] = (s.offsets[i] - start + slot[i]) * inner;
    return t.cells + slot[t.anchor] * s.k + y;
}

// The pairs of attribute i, which is not the anchor, with all others; see change_row.
template <class Change>
inline void change_triples_of(const Store &s, const Triples &t, int i, double *anchored, Change change,
                              const std::int64_t *cell) {
    double *row = anchored + cell[i] * t.width;
    const auto change_cells = [&](int from, int to) {
#pragma GCC unroll 4
        for (int j = from; j < to; ++j) row[cell[j]] = change(row[cell[j]]);
    };
    // All others but the anchor, as three ranges: no question about any cell.
    const int low = std::min(i, t.anchor), high = std::max(i, t.anchor);
    change_cells(t.first, low);
    change_cells(std::max(t.first, low + 1), high);
    change_cells(std::max(t.first, high + 1), s.n);
}

// As pairs of the compound class (x_s, y); see change_row.
template <class Change>
inline void change_triples(const Store &s, const Triples &t, const int *slot, int y, Change change,
                           std::int64_t *cell) {
    double *anchored = triple_cells(s, t, slot, y, cell);
    for (int i = t.first; i < s.n; ++i)
        if (i != t.anchor) change_triples_of(s, t, i, anchored, change, cell);
}

// Calls change(number) for the cells of one row in every table of the store, and puts what it returns there. `cell` is
// memory for n numbers. With `half` only the lower triangle of the pairs is kept, which halves the writes (each to a
// cache line of its own); the caller mirrors it later.
template <class Change>
inline void change_row(Store &s, const int *slot, int y, Change change, std::int64_t *cell, bool half) {
    const int n = s.n, k = s.k;
    for (int i = 0; i < n; ++i) cell[i] = (s.offsets[i] + slot[i]) * k;
    if (s.classes) {
        s.classes[y] = change(s.classes[y]);
        for (int i = 0; i < n; ++i) s.singles[cell[i] + y] = change(s.singles[cell[i] + y]);
    }
    if (s.pairs) {
        double *pairs = s.pairs + y;
        for (int i = 1; i < n; ++i) {
            double *row = pairs + cell[i] * s.width, *column = pairs + cell[i];
            // Unrolled: the updates of one row do not depend on each other.
            if (half) {
#pragma GCC unroll 4
                for (int j = 0; j < i; ++j) row[cell[j]] = change(row[cell[j]]);
            } else {  // both triangles hold the same number: one is read, both are written
#pragma GCC unroll 4
                for (int j = 0; j < i; ++j) column[cell[j] * s.width] = row[cell[j]] = change(row[cell[j]]);
            }
        }
    }
    for (const Triples &t : s.triples) change_triples(s, t, slot, y, change, cell);
    for (const Family &f : s.families) {
        double *count = f.cell(slot, y);
        *count = change(*count);
    }
}

// Adds one row of weight w.
inline void learn_row(Store &s, const int *slot, int y, double w, std::int64_t *cell, bool half = false) {
    change_row(s, slot, y, [w](double x) { return x + w; }, cell, half);
}

// Takes out a row that was added with weight w. What is left of a cell by rounding alone, on either side of zero, goes.
inline void forget_row(Store &s, const int *slot, int y, double w, std::int64_t *cell, bool half = false) {
    const double least = 1e-9 * w;
    change_row(s, slot, y, [w, least](double x) { return x - w > least ? x - w : 0; }, cell, half);
}

}  // namespace tanager
