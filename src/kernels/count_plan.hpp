// What one call of count() will do, decided before the first row: which attributes are cut into bit slices, which pairs
// are counted by conjunctions of slices and which by increments, and where each number goes in a worker's cells.
//
// Inside a call attribute i has slots 0 .. n_values[i]; the last is "missing" (spare room in the store is skipped).
// Slot 0 is never sliced: its counts follow from the totals. Slices are numbered: the value slices of all sliced
// attributes (fewest first), one "missing" slice per sliced attribute, one slice of slot 0 per anchor.
//
// Cells of a worker, uint32 (double for weighted rows):
//   class counts | singles [slot, c] of the unsliced attributes | per pair table its contexts and increment blocks |
//   families
// A context is a class, or a slot of the anchor with a class: (total, ones of each value slice, ones of each missing
// slice, then the conjunctions: value x value, value x missing, missing x missing).
// An increment block is [slot_i, slot_j, context], repeated `copies` times and used in turn, so that rows with the same
// cell do not wait for each other's store.
#pragma once
#include "bits.hpp"
#include "count.hpp"

namespace tanager {

struct Block {
    std::size_t start = 0, cells = 0, copies = 1;
};

struct IncrementPair {
    std::size_t i = 0, j = 0;
    Block block;
};

// All pairs of some attributes under one class column: the class itself, or the class together with an anchor.
struct PairTable {
    bool anchored = false;
    std::size_t anchor = 0, first = 0;
    double *cells = nullptr;
    std::size_t n_contexts = 0;

    // Pairs by bits. Members are sliced attributes, fewest slices first, so the members that member p is counted with
    // by bits are q < limit[p], and each row of conjunctions is one range.
    std::vector<std::size_t> members;      // attributes
    std::vector<std::size_t> limit;        // per member
    std::vector<std::size_t> value_begin;  // per member and the end: its value slices, numbered within the table
    std::vector<std::size_t> slices;       // per value slice: its number in the plan
    std::vector<std::size_t> owner;        // per value slice: its member
    std::vector<std::size_t> value_row, missing_row;  // per value slice: cell of (x, y) is value_row[x] + y
    std::vector<std::size_t> both_missing_row;        // per member
    std::size_t start = 0, context_cells = 0;

    std::vector<IncrementPair> increments;

    std::size_t n_value_slices() const { return slices.size(); }
    std::size_t values_from(std::size_t x) const { return value_begin[owner[x] + 1]; }
    std::size_t values_to(std::size_t x) const {
        return limit[owner[x]] > owner[x] ? value_begin[limit[owner[x]]] : values_from(x);
    }
};

struct FamilyTable {
    const Family *family = nullptr;
    Block block;
};

struct CountingPlan {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    const Store &store;
    const BitFunctions &bits;
    std::size_t n_classes;
    double sign;
    bool grouped = false;  // rows are put in class order before slicing; else slices are masked by class
    std::size_t block_rows = 0;
    std::vector<std::size_t> slots;                        // per attribute: n_values + 1
    std::vector<std::size_t> sliced;                       // attributes, fewest slices first
    std::vector<std::size_t> value_slices;                 // per attribute: number of its first value slice, or none
    std::vector<std::size_t> missing_slice, anchor_slice;  // per attribute, or none
    std::size_t n_slices = 0;
    std::vector<PairTable> tables;  // the first without anchor; its contexts also give the singles of sliced attributes
    std::vector<Block> singles;     // per attribute, for the unsliced
    std::vector<FamilyTable> families;
    // One worker counts all rows in one block: a family goes to the store before the next is counted, in the same
    // cells.
    bool one_block = false;
    std::size_t n_cells = 0;

    CountingPlan(const Store &store, const Batch &rows, Method method, double sign, std::size_t n_workers);

    bool is_sliced(std::size_t i) const { return value_slices[i] != none; }
    std::size_t n_value_slices(std::size_t i) const { return slots[i] > 2 ? slots[i] - 2 : 0; }

  private:
    void expect_slices(const Batch &rows);
    void choose_slices(const Batch &rows, Method method);
    double gain_of_slicing(bool by_group, bool may_drop, std::vector<std::size_t> &attributes) const;
    double conjunction_cost(bool by_group) const;
    void number_slices();
    std::size_t usual_block(bool by_group, std::size_t n_slices_cut, const Batch &rows) const;
    void choose_block_rows(const Batch &rows);
    void lay_out(PairTable &table, Method method);
    void lay_out_bits(PairTable &table);
    Block take(std::size_t cells);

    std::vector<double> expected_slices_;   // per attribute: value slices, and one for missing if that seems likely
    std::size_t expected_group_block_ = 0;  // rows of a block, should they be grouped by class
};

}  // namespace tanager
