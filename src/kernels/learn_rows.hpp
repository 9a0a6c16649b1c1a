// Rows enter a store and leave it, one after the other.
#pragma once
#include "slots.hpp"

namespace tanager {

// Both stop at the first row with a value or class that the layout does not know, and return how many rows were done. A
// row without a label is skipped.
std::int64_t learn_rows(Store &store, const Batch &rows, double unit);
// By the weights that rows were added with, times their unit.
std::int64_t forget_rows(Store &store, const Batch &rows);

// One row, by its slots; `cell` is memory for n numbers.
void learn_one(Store &store, const int *slot, int y, double weight, std::int64_t *cell);
void forget_one(Store &store, const int *slot, int y, double raw, std::int64_t *cell);

// Divides all cells by a power of two, which is exact; true counts are cells over another unit then.
void halve_cells(Store &store, int times);

}  // namespace tanager
