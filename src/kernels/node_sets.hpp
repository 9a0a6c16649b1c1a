// Sets of the nodes of a graph, as bits.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tanager {

// A set of nodes for every node.
class NodeSets {
  public:
    explicit NodeSets(std::size_t n) : n_(n), n_words_((n + 63) / 64), words_(n * n_words_, 0) {}

    bool has(int of, int node) const { return row(of)[node / 64] >> (node % 64) & 1; }
    void add(int of, int node) { row(of)[node / 64] |= std::uint64_t{1} << (node % 64); }
    void remove(int of, int node) { row(of)[node / 64] &= ~(std::uint64_t{1} << (node % 64)); }
    bool empty(int of) const {
        return std::all_of(row(of), row(of) + n_words_, [](std::uint64_t word) { return word == 0; });
    }
    std::size_t size(int of) const {
        std::size_t n = 0;
        for (std::size_t k = 0; k < n_words_; ++k) n += std::size_t(std::popcount(row(of)[k]));
        return n;
    }
    std::size_t total() const {
        std::size_t n = 0;
        for (std::size_t of = 0; of < n_; ++of) n += size(int(of));
        return n;
    }
    std::vector<int> list(int of) const {
        return list_of([&](std::size_t k) { return row(of)[k]; });
    }
    // The nodes of one set that are in another one as well.
    std::vector<int> common(int of, const NodeSets &others, int other) const {
        return list_of([&](std::size_t k) { return row(of)[k] & others.row(other)[k]; });
    }
    // Whether a set is part of another one.
    bool within(int of, const NodeSets &others, int other) const {
        for (std::size_t k = 0; k < n_words_; ++k)
            if ((row(of)[k] & ~others.row(other)[k]) != 0) return false;
        return true;
    }
    bool same(int of, const NodeSets &others, int other) const {
        return std::equal(row(of), row(of) + n_words_, others.row(other));
    }
    void assign(int of, const NodeSets &others, int other) { std::copy_n(others.row(other), n_words_, row(of)); }
    void clear(int of) { std::fill_n(row(of), n_words_, 0); }
    // The nodes of one set that are not in another one, in ascending order.
    template <class Visit>
    void visit_without(int of, const NodeSets &others, int other, const Visit &visit) const {
        for (std::size_t k = 0; k < n_words_; ++k)
            for (std::uint64_t left = row(of)[k] & ~others.row(other)[k]; left != 0; left &= left - 1)
                visit(int(64 * k) + std::countr_zero(left));
    }
    // The nodes in none of three sets, in ascending order.
    template <class Visit>
    void visit_outside(int of, const NodeSets &more, int other, const NodeSets &further, int last,
                       const Visit &visit) const {
        for (std::size_t k = 0; k < n_words_; ++k) {
            std::uint64_t left = ~(row(of)[k] | more.row(other)[k] | further.row(last)[k]);
            if (k + 1 == n_words_ && n_ % 64 != 0) left &= (std::uint64_t{1} << (n_ % 64)) - 1;
            for (; left != 0; left &= left - 1) visit(int(64 * k) + std::countr_zero(left));
        }
    }
    void add_all(int of, const NodeSets &others, int other) {
        for (std::size_t k = 0; k < n_words_; ++k) row(of)[k] |= others.row(other)[k];
    }

  private:
    template <class Word>
    std::vector<int> list_of(const Word &word) const {
        std::vector<int> found;
        for (std::size_t k = 0; k < n_words_; ++k)
            for (std::uint64_t left = word(k); left != 0; left &= left - 1)
                found.push_back(int(64 * k) + std::countr_zero(left));
        return found;
    }
    const std::uint64_t *row(int of) const { return &words_[std::size_t(of) * n_words_]; }
    std::uint64_t *row(int of) { return &words_[std::size_t(of) * n_words_]; }

    std::size_t n_, n_words_;
    std::vector<std::uint64_t> words_;
};

}  // namespace tanager
