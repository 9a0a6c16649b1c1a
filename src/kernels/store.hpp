// The count store as the kernels see it: borrowed arrays of float64 cells, the class always innermost.
//
// Attribute i owns the global slots offsets[i] .. offsets[i+1]-1, that is rooms[i] of them. The first n_values[i] are
// its values; the last is the missing slot; any in between are spare and hold zeros.
//
//   classes (K)            N(y)
//   singles (A, K)         N(x_i, y)
//   pairs   (A, A, K)      N(x_i, x_j, y), both triangles, own blocks zero
//   triples of anchor s    (A', A', rooms[s], K) over the attributes >= first: N(x_s, x_j, x_l, y), both triangles
//   families               (rooms[p1], ..., rooms[pd], rooms[child], K)
//
// Missing slots are counted like values. So N(pa, x missing) is a cell, and summing out all slots of a variable
// gives the counts without it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace tanager::scoring {

struct Triple {
    int anchor, first;
    double *cells;
    std::int64_t width;  // slots of the attributes >= first
};

struct Family {
    std::vector<int> attributes;        // parents in order, then the child
    std::vector<std::int64_t> strides;  // in cells, one per attribute
    double *cells;
};

struct Store {
    int n = 0, k = 0;
    std::int64_t width = 0;  // A, all slots
    std::vector<std::int64_t> offsets;
    std::vector<int> n_values, rooms;
    double *classes = nullptr, *singles = nullptr, *pairs = nullptr;
    std::vector<Triple> triples;
    std::vector<Family> families;

    int missing_slot(int i) const { return rooms[i] - 1; }
    std::int64_t missing_cell(int i) const { return (offsets[i + 1] - 1) * k; }
};

// Where N(x_child, parents, y) lives: a cell is base + sum slot[p] * stride[p] + slot[child] * child_stride.
struct Place {
    double *cells = nullptr;
    std::int64_t base = 0, child_stride = 0;
    std::vector<std::int64_t> strides;  // one per parent
};

inline bool locate_triple(const Store &s, const std::vector<int> &parents, int child, Place &place) {
    const int a[3] = {parents[0], parents[1], child};
    for (const Triple &t : s.triples) {
        int at = -1;
        for (int q = 0; q < 3; ++q)
            if (a[q] == t.anchor) at = q;
        if (at < 0) continue;
        const int u = at == 0 ? 1 : 0, v = at == 2 ? 1 : 2;  // positions of the other two
        if (a[u] < t.first || a[v] < t.first) continue;
        const std::int64_t inner = std::int64_t(s.rooms[t.anchor]) * s.k, row = t.width * inner;
        std::int64_t stride[3];
        stride[at] = s.k;
        stride[u] = row;
        stride[v] = inner;
        const std::int64_t start = s.offsets[t.first];
        place.cells = t.cells;
        place.base = (s.offsets[a[u]] - start) * row + (s.offsets[a[v]] - start) * inner;
        place.strides = {stride[0], stride[1]};
        place.child_stride = stride[2];
        return true;
    }
    return false;
}

inline bool locate_family(const Store &s, const std::vector<int> &parents, int child, Place &place) {
    for (const Family &f : s.families) {
        if (f.attributes.size() != parents.size() + 1) continue;
        const auto stride_of = [&f](int i) -> std::int64_t {  // a family serves whichever of its members is the child
            for (std::size_t q = 0; q < f.attributes.size(); ++q)
                if (f.attributes[q] == i) return f.strides[q];
            return 0;
        };
        place.strides.clear();
        for (int p : parents)
            if (stride_of(p)) place.strides.push_back(stride_of(p));
        if (place.strides.size() != parents.size() || !stride_of(child)) continue;
        place.cells = f.cells;
        place.base = 0;
        place.child_stride = stride_of(child);
        return true;
    }
    return false;
}

// Finds the table that holds a family; throws where the store has not counted it.
inline Place locate(const Store &s, const std::vector<int> &parents, int child) {
    Place place;
    if (parents.empty()) {
        place.cells = s.singles;
        place.base = s.offsets[child] * s.k;
        place.child_stride = s.k;
        return place;
    }
    if (parents.size() == 1 && s.pairs) {
        const std::int64_t row = s.width * s.k;
        place.cells = s.pairs;
        place.base = s.offsets[parents[0]] * row + s.offsets[child] * s.k;
        place.strides = {row};
        place.child_stride = s.k;
        return place;
    }
    if (parents.size() == 2 && locate_triple(s, parents, child, place)) return place;
    if (locate_family(s, parents, child, place)) return place;
    std::string names;
    for (int p : parents) names += (names.empty() ? "" : ", ") + std::to_string(p);
    throw std::invalid_argument("these counts hold no joint counts of attribute " + std::to_string(child) +
                                " with parents " + names);
}

// Turns the codes of one row into slots: a value keeps its code, everything else is missing. With `smooth` the code
// n_values (an unseen value) keeps its own slot, a spare one that holds zeros.
struct Slots {
    std::vector<int> limit, missing;
    Slots() = default;
    Slots(const Store &s, bool smooth) {
        for (int i = 0; i < s.n; ++i) {
            limit.push_back(smooth ? s.n_values[i] + 1 : s.n_values[i]);
            missing.push_back(s.missing_slot(i));
        }
    }
    // False where some code is neither a value nor the marker of its type.
    template <class Code>
    bool read(const Code *codes, std::int64_t step, int *slot) const {
        const int n = int(limit.size());
        bool known = true;
        for (int i = 0; i < n; ++i) {
            const int code = codes[i * step];
            const bool value = code < limit[i];
            slot[i] = value ? code : missing[i];
            known &= value | (code == std::numeric_limits<Code>::max());
        }
        return known;
    }
};

// The door to one batch of codes, of either type and any layout; steps are in elements.
struct Codes {
    const void *data = nullptr;
    bool wide = false;  // uint16 rather than uint8
    std::int64_t n_rows = 0, row_step = 0, column_step = 0;
    int marker() const { return wide ? 65535 : 255; }
    bool read(std::int64_t r, const Slots &slots, int *slot) const {
        if (wide) return slots.read(static_cast<const std::uint16_t *>(data) + r * row_step, column_step, slot);
        return slots.read(static_cast<const std::uint8_t *>(data) + r * row_step, column_step, slot);
    }
    int at(std::int64_t r, int i) const {
        const std::int64_t where = r * row_step + i * column_step;
        return wide ? static_cast<const std::uint16_t *>(data)[where] : static_cast<const std::uint8_t *>(data)[where];
    }
};

// Copies the lower triangle of the pairs, N(x_i, x_j, y) with j < i, to the upper one.
inline void mirror_pairs(Store &s) {
    const std::int64_t k = s.k, row = s.width * k;
    for (int i = 1; i < s.n; ++i)
        for (std::int64_t g = s.offsets[i]; g < s.offsets[i + 1]; ++g)
            for (std::int64_t h = 0; h < s.offsets[i]; ++h)
                std::copy_n(s.pairs + g * row + h * k, k, s.pairs + h * row + g * k);
}

// Calls change(number) for the cells of one row in every table of the store, and puts what it returns there. `cell` is
// room for n numbers. With `half` only the lower triangle of the pairs is kept; the caller mirrors it later.
template <class Change>
inline void change_row(Store &s, const int *slot, int y, const Change &change, std::int64_t *cell, bool half) {
    const int n = s.n, k = s.k;
    s.classes[y] = change(s.classes[y]);
    for (int i = 0; i < n; ++i) {
        cell[i] = (s.offsets[i] + slot[i]) * k;
        double &single = s.singles[cell[i] + y];
        single = change(single);
    }
    if (s.pairs) {
        double *pairs = s.pairs + y;
        for (int i = 1; i < n; ++i) {
            double *row = pairs + cell[i] * s.width, *column = pairs + cell[i];
            if (half) {
#pragma GCC unroll 4
                for (int j = 0; j < i; ++j) row[cell[j]] = change(row[cell[j]]);
            } else {  // both triangles hold the same number: one is read, both are written
#pragma GCC unroll 4
                for (int j = 0; j < i; ++j) column[cell[j] * s.width] = row[cell[j]] = change(row[cell[j]]);
            }
        }
    }
    for (const Triple &t : s.triples) {
        const std::int64_t inner = std::int64_t(s.rooms[t.anchor]) * k, row = t.width * inner;
        const std::int64_t start = s.offsets[t.first];
        double *anchored = t.cells + slot[t.anchor] * k + y;
        for (int i = t.first; i < n; ++i) {
            if (i == t.anchor) continue;
            double *cells = anchored + (s.offsets[i] - start + slot[i]) * row;
            for (int j = t.first; j < n; ++j) {
                if (j == i || j == t.anchor) continue;
                double &triple = cells[(s.offsets[j] - start + slot[j]) * inner];
                triple = change(triple);
            }
        }
    }
    for (const Family &f : s.families) {
        std::int64_t cell = y;
        for (std::size_t q = 0; q < f.attributes.size(); ++q) cell += slot[f.attributes[q]] * f.strides[q];
        f.cells[cell] = change(f.cells[cell]);
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

}  // namespace tanager::scoring
