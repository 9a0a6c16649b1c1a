// From a worker's cells to the store: what was left out is derived, both triangles are written.
#pragma once
#include "count_plan.hpp"

namespace tanager {

// Adds sign times the cells (layout: count_plan.hpp) to the tables of plan.store.
template <class Cell>
void add_to_store(const CountingPlan &plan, const std::vector<Cell> &cells);
// One family; `add_to_store` adds those of a plan with several blocks.
template <class Cell>
void add_family(const CountingPlan &plan, const FamilyTable &table, const Cell *cells);

}  // namespace tanager
