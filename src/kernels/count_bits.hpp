// Counting one block by bit slices: cut the sliced columns, then go through the contexts of every pair table.
#pragma once
#include "count_columns.hpp"

namespace tanager {

class BitCounter {
  public:
    explicit BitCounter(const Plan &plan);

    // A block: begin it with the labels, hand over each sliced column, then add all counts to the worker's cells.
    void begin(const std::uint8_t *labels, std::size_t n_rows);
    void cut(std::size_t i, const Column &column);
    void add(std::uint32_t *cells);

  private:
    // Rows of the block that lie together: all of them, or one class.
    struct Region {
        std::size_t row = 0, n_rows = 0;
        std::size_t word() const { return row / 64; }
        std::size_t n_vectors() const { return vectors_of(n_rows); }
    };
    using Slices = std::vector<const std::uint64_t *>;

    std::uint64_t *slice(std::size_t k) { return slices_.data()->words + k * step_; }
    std::uint64_t *class_slice(std::size_t c) { return class_slices_.data()->words + c * step_; }
    const std::uint8_t *in_class_order(const std::uint8_t *codes);
    void add_table(const PairTable &table, std::uint32_t *cells);
    void add_context(const PairTable &table, const Region &region, const std::uint64_t *mask, std::uint64_t total,
                     std::uint32_t *cells);
    void add_value_pairs(const PairTable &table, std::size_t n_vectors, std::uint32_t *cells);
    void add_missing_pairs(const PairTable &table, std::size_t n_vectors, std::uint32_t *cells);

    const Plan &plan_;
    const BitFunctions &bits_;
    std::size_t step_;                      // words per slice
    std::vector<BitVector> slices_;         // by number of the plan
    std::vector<BitVector> class_slices_;   // by class; only where rows are masked or compressed
    std::vector<BitVector> masked_, mask_;  // slices of one context; its mask
    std::vector<bool> has_missing_;         // per attribute, in this block
    std::vector<Region> regions_;
    std::vector<std::size_t> class_rows_;
    std::vector<std::uint32_t> order_;  // rows in class order, each class starting at its region
    std::vector<std::uint8_t> sorted_;
    std::size_t n_rows_ = 0;
    bool compresses_;
    // Of the context in hand: value slices, and the members with missing values and their slices. The xs are masked.
    Slices value_xs_, value_ys_, missing_xs_, missing_ys_;
    std::vector<std::size_t> missing_members_;
};

}  // namespace tanager
