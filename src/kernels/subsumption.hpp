// Subsumption resolution: values that only repeat a more special value of the same row are left out.
#pragma once
#include "batch.hpp"
#include "store.hpp"

namespace tanager {

// Codes that are written; of the type and shape of those that are read. Steps are in bytes.
struct CodesOut {
    std::byte *data = nullptr;
    std::ptrdiff_t row_step = 0, column_step = 0;
};

// Copies codes into `out`; x_i becomes missing where some x_j of the row was seen more than `least` times and never
// without x_i. Of two equivalent values the later is dropped. The store has pairs. With `gaps_differ` a row with x_j
// that lacks a value of column i is one without x_i, else it is not looked at. `left_out` is the weight of each row in
// the counts, where it is to be left out, times the unit; `least` is times the unit, too.
void resolve_subsumption(const Store &store, const Codes &codes, const CodesOut &out, double least, double unit,
                         const Weights &left_out, int n_jobs, bool gaps_differ);

}  // namespace tanager
