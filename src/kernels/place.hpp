// Where the counts of a family are in the store.
#pragma once
#include <stdexcept>
#include <string>

#include "store.hpp"

namespace tanager {

// Where N(x_child, parents, y) lives: a cell is base + sum slot[p] * stride[p] + slot[child] * child_stride. Of a
// sparse table the sum over the parents is the key of a context, and only what `context` gives has an address.
struct Place {
    double *cells = nullptr;
    std::int64_t base = 0, child_stride = 0;
    std::vector<std::int64_t> strides;  // one per parent
    const SparseTable *sparse = nullptr;

    // The cells of a context, from the first slot of the child on; `slot_of(q)` is the slot of parent q.
    template <class SlotOf>
    const double *context(const SlotOf &slot_of) const {
        std::int64_t at = base;
        for (std::size_t q = 0; q < strides.size(); ++q) at += slot_of(q) * strides[q];
        return sparse ? sparse->find(at) : cells + at;
    }
    // Whether these cells are of a context that is known to have never occurred.
    bool never(const double *context) const { return sparse && context == sparse->nothing(); }
};

inline bool locate_triple(const Store &s, const std::vector<int> &parents, int child, Place &place) {
    const int a[3] = {parents[0], parents[1], child};
    const auto least = std::size_t(std::min({a[0], a[1], a[2]}));  // the anchor, where all triples were counted
    const bool known = least < s.triples.size() && s.triples[least].anchor == int(least);
    for (auto own = s.triples.begin() + std::ptrdiff_t(known ? least : 0); own != s.triples.end(); ++own) {
        const Triples &t = *own;
        int at = -1;
        for (int q = 0; q < 3; ++q)
            if (a[q] == t.anchor) at = q;
        if (at < 0) continue;
        const int u = at == 0 ? 1 : 0, v = at == 2 ? 1 : 2;  // positions of the other two
        if (a[u] < t.first || a[v] < t.first) continue;
        const std::int64_t inner = std::int64_t(s.n_slots[t.anchor]) * s.k, row = t.width * inner;
        std::int64_t stride[3];
        stride[at] = s.k;
        stride[u] = row;
        stride[v] = inner;
        const std::int64_t start = s.offsets[t.first];
        place.cells = t.cells;
        place.base = (s.offsets[a[u]] - start) * row + (s.offsets[a[v]] - start) * inner;
        place.strides = {stride[0], stride[1]};
        place.sparse = nullptr;
        place.child_stride = stride[2];
        return true;
    }
    return false;
}

// A family serves whichever of its members is the child, unless its table is sparse.
inline bool locate_family(const Store &s, const std::vector<int> &parents, int child, Place &place) {
    std::vector<int> set = parents;
    set.push_back(child);
    std::sort(set.begin(), set.end());
    auto found = s.family_of.find(set);
    if (found == s.family_of.end()) found = s.family_of.find(Store::sparse_name(parents, child));
    if (found == s.family_of.end()) return false;
    const Family &f = s.families[found->second];
    const auto stride_of = [&f](int i) {
        return f.strides[std::find(f.attributes.begin(), f.attributes.end(), i) - f.attributes.begin()];
    };
    place.strides.clear();
    for (int p : parents) place.strides.push_back(stride_of(p));
    place.cells = f.cells;
    place.sparse = f.sparse;
    place.base = 0;
    place.child_stride = stride_of(child);
    return true;
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

}  // namespace tanager
