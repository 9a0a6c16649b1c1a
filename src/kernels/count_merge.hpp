// From a worker's cells to the store: what was left out is derived, both triangles are written.
#pragma once
#include "count_plan.hpp"

namespace tanager {

// Adds sign times the cells (layout: count_plan.hpp) to the tables of plan.store.
template <class Cell>
void add_to_store(const Plan &plan, const std::vector<Cell> &cells, double sign);

}  // namespace tanager
