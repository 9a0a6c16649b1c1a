// Counts by other cut points: every slot of a store falls into parts, and slots of another store are sums of parts.
#pragma once
#include "store.hpp"

namespace tanager {

// Part p is in slot from[p] of the old store and in slot to[p] of the new one, in the same column. Parts are in the
// order of columns, and those of one new slot are neighbours. The part has share[p * K + y] of its old slot in class y.
struct Parts {
    std::int64_t n;
    const std::int64_t *from, *to;
    const double *share;
};

// Writes single columns, whose cells are zero before, and, where there are any, pairs: their lower triangle with the
// blocks of the diagonal, as mirror_pairs() takes it.
void move_counts(const Store &old, const Parts &parts, Store &moved);

}  // namespace tanager
