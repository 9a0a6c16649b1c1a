// The counts of a family too large for a table of all its cells: a block (slots of the child, classes) for each
// context, that is combination of slots of its parents, that has occurred. Contexts are numbered by a key, as cells of
// a table over the parents would be; a hash of open addresses finds their blocks.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace tanager {

class SparseTable {
  public:
    // `sizes`: slots of the parents; `block`: cells of a context.
    SparseTable(std::vector<std::int64_t> sizes, std::int64_t child_slots, std::int64_t n_classes)
        : sizes_(std::move(sizes)), child_slots_(child_slots), n_classes_(n_classes), block_(child_slots * n_classes),
          nothing_(std::size_t(block_), 0.0), index_(kFirst, -1) {}

    const std::vector<std::int64_t> &sizes() const { return sizes_; }
    std::int64_t child_slots() const { return child_slots_; }
    std::int64_t n_classes() const { return n_classes_; }
    std::int64_t block() const { return block_; }
    std::vector<std::int64_t> &keys() { return keys_; }
    std::vector<double> &cells() { return cells_; }

    // The block of a context; zeros where it has never occurred.
    const double *find(std::int64_t key) const {
        const std::int64_t at = index_[place(key)];
        return at < 0 ? nothing_.data() : cells_.data() + at * block_;
    }
    bool has(std::int64_t key) const { return index_[place(key)] >= 0; }
    const double *nothing() const { return nothing_.data(); }
    // The same to write to, made where there is none.
    double *at(std::int64_t key) {
        std::size_t where = place(key);
        if (index_[where] < 0) {
            if (2 * (keys_.size() + 1) > index_.size()) {
                make_room();
                where = place(key);
            }
            index_[where] = std::int64_t(keys_.size());
            keys_.push_back(key);
            cells_.resize(cells_.size() + std::size_t(block_), 0.0);
        }
        return cells_.data() + index_[where] * block_;
    }
    // Lets go of contexts of which nothing is left.
    void drop_empty() {
        std::size_t kept = 0;
        for (std::size_t q = 0; q < keys_.size(); ++q) {
            const auto from = cells_.begin() + std::int64_t(q) * block_;
            if (std::all_of(from, from + block_, [](double x) { return x == 0; })) continue;
            if (kept < q) std::copy_n(from, block_, cells_.begin() + std::int64_t(kept) * block_);
            keys_[kept++] = keys_[q];
        }
        keys_.resize(kept);
        cells_.resize(kept * std::size_t(block_));
        number(index_.size());
    }

  private:
    static constexpr std::size_t kFirst = 16;
    std::vector<std::int64_t> sizes_;
    std::int64_t child_slots_, n_classes_, block_;
    std::vector<double> nothing_;
    std::vector<std::int64_t> keys_;
    std::vector<double> cells_;
    std::vector<std::int64_t> index_;  // a power of two of places, each the number of a context or -1

    std::size_t place(std::int64_t key) const {
        const std::size_t mask = index_.size() - 1;
        std::uint64_t mixed = std::uint64_t(key) * 0x9E3779B97F4A7C15u;
        std::size_t where = std::size_t(mixed ^ (mixed >> 32)) & mask;
        while (index_[where] >= 0 && keys_[std::size_t(index_[where])] != key) where = (where + 1) & mask;
        return where;
    }
    void number(std::size_t size) {
        index_.assign(size, -1);
        for (std::size_t q = 0; q < keys_.size(); ++q) index_[place(keys_[q])] = std::int64_t(q);
    }
    // Rows that leave a window leave contexts behind: these go before more room is taken.
    void make_room() {
        const std::size_t before = keys_.size();
        drop_empty();
        if (2 * keys_.size() > before) number(2 * index_.size());
    }
};

}  // namespace tanager
