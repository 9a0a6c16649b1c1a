// Counting one block by increments: per pair of columns one small table stays in the first-level cache while the two
// columns stream by. Used for attributes with many values, for weighted rows and for families.
#pragma once
#include <algorithm>
#include <array>

#include "count_columns.hpp"
#include "count_merge.hpp"
#include "interrupt.hpp"

namespace tanager {

template <class Cell>  // uint32 for plain rows, double for weighted ones
class IncrementCounter {
  public:
    explicit IncrementCounter(const CountingPlan &plan)
        : plan_(plan), labels_(plan.block_rows), classes_(plan.block_rows), inner_(plan.block_rows) {}

    void add(Columns &columns, Cell *cells, bool with_classes) {
        n_ = columns.n_rows();
        weights_ = columns.weights();
        for (std::size_t r = 0; r < n_; ++r) labels_[r] = columns.label(r);
        if (with_classes)
            for (std::size_t r = 0; r < n_; ++r) cells[labels_[r]] += weight(r);
        for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
            if (plan_.is_sliced(i)) continue;
            append(columns.slots(i), plan_.n_classes, labels_.data(), inner_.data());
            add_cells(plan_.singles[i], cells);
        }
        for (const PairTable &table : plan_.tables) add_pairs(table, columns, cells);
        made_.clear();
        for (const FamilyTable &family : plan_.families) {
            check_interrupt();
            make_digits(family.family->attributes, columns);
            add_cells(family.block, cells);
            if (!plan_.one_block) continue;
            add_family(plan_, family, cells);
            std::fill_n(cells + family.block.start, family.block.cells * family.block.copies, Cell{});
        }
    }

  private:
    Cell weight(std::size_t r) const {
        if constexpr (std::is_floating_point_v<Cell>) return weights_[r];
        return 1;
    }

    // out[r] = slot[r] * size + digits[r]
    void append(const Column &column, std::size_t size, const std::uint32_t *digits, std::uint32_t *out) const {
        const auto factor = static_cast<std::uint32_t>(size);
        const auto run = [&](const auto *slots) {
            if (digits != nullptr)
                for (std::size_t r = 0; r < n_; ++r) out[r] = slots[r] * factor + digits[r];
            else
                for (std::size_t r = 0; r < n_; ++r) out[r] = slots[r] * factor;
        };
        if (column.bytes != nullptr) run(column.bytes);
        else run(column.words);
    }

    // The cells of a family, into inner_. Families often come with the same attributes but the last; the digits of all
    // before it are kept from one family to the next.
    void make_digits(const std::vector<int> &attributes, Columns &columns) {
        const std::size_t before = attributes.size() - 1;
        const auto end = attributes.begin() + std::ptrdiff_t(before);
        std::size_t same =
            std::size_t(std::mismatch(attributes.begin(), end, made_.begin(), made_.end()).first - attributes.begin());
        if (digits_.size() < before) digits_.resize(before, std::vector<std::uint32_t>(plan_.block_rows));
        for (; same < before; ++same) {
            const std::uint32_t *so_far = same == 0 ? nullptr : digits_[same - 1].data();
            add_digit(columns.slots(attributes[same]), plan_.slots[attributes[same]], so_far, digits_[same].data());
        }
        made_.assign(attributes.begin(), end);
        const std::uint32_t *so_far = before == 0 ? nullptr : digits_[before - 1].data();
        add_digit(columns.slots(attributes[before]), plan_.slots[attributes[before]], so_far, inner_.data());
        const auto n_classes = static_cast<std::uint32_t>(plan_.n_classes);
        for (std::size_t r = 0; r < n_; ++r) inner_[r] = inner_[r] * n_classes + labels_[r];
    }

    // out[r] = so_far[r] * size + slot[r]
    void add_digit(const Column &column, std::size_t size, const std::uint32_t *so_far, std::uint32_t *out) const {
        if (so_far == nullptr) return append(column, 1, nullptr, out);
        const auto factor = static_cast<std::uint32_t>(size);
        const auto run = [&](const auto *slots) {
            for (std::size_t r = 0; r < n_; ++r) out[r] = so_far[r] * factor + slots[r];
        };
        if (column.bytes != nullptr) run(column.bytes);
        else run(column.words);
    }

    std::array<Cell *, 4> copies_of(const Block &block, Cell *cells) const {
        std::array<Cell *, 4> copies;
        for (std::size_t k = 0; k < 4; ++k) copies[k] = cells + block.start + (k % block.copies) * block.cells;
        return copies;
    }

    // ++block[inner[r]]
    void add_cells(const Block &block, Cell *cells) const {
        const auto copies = copies_of(block, cells);
        std::size_t r = 0;
        for (; r + 4 <= n_; r += 4)
            for (std::size_t k = 0; k < 4; ++k) copies[k][inner_[r + k]] += weight(r + k);
        for (; r < n_; ++r) copies[0][inner_[r]] += weight(r);
    }

    // ++block[slots[r] * stride + inner[r]]
    template <class Slot>
    void add_outer(const Block &block, const Slot *slots, std::size_t stride, Cell *cells) const {
        const auto copies = copies_of(block, cells);
        std::size_t r = 0;
        for (; r + 4 <= n_; r += 4)
            for (std::size_t k = 0; k < 4; ++k) copies[k][slots[r + k] * stride + inner_[r + k]] += weight(r + k);
        for (; r < n_; ++r) copies[0][slots[r] * stride + inner_[r]] += weight(r);
    }

    void add_pairs(const PairTable &table, Columns &columns, Cell *cells) {
        if (table.increments.empty()) return;
        const std::uint32_t *classes = labels_.data();
        if (table.anchored) {
            append(columns.slots(table.anchor), plan_.n_classes, labels_.data(), classes_.data());
            classes = classes_.data();
        }
        // Pairs come ordered by j, so its digits are made once for all i.
        std::size_t made = CountingPlan::none;
        for (const auto &[i, j, block] : table.increments) {
            check_interrupt();
            if (j != made) append(columns.slots(j), table.n_contexts, classes, inner_.data());
            made = j;
            const std::size_t stride = plan_.slots[j] * table.n_contexts;
            const Column &outer = columns.slots(i);
            if (outer.bytes != nullptr) add_outer(block, outer.bytes, stride, cells);
            else add_outer(block, outer.words, stride, cells);
        }
    }

    const CountingPlan &plan_;
    std::size_t n_ = 0;
    const double *weights_ = nullptr;
    std::vector<std::uint32_t> labels_, classes_, inner_;  // per row: class, compound class, inner digits of the cell
    std::vector<int> made_;                                // attributes of the family before, without the last
    std::vector<std::vector<std::uint32_t>> digits_;       // per row, of its first attribute, its first two, and so on
};

}  // namespace tanager
