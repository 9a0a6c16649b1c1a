// The rows of a sample in layers, one for each configuration of some given variables that occurs, to test two others.
//
// What a layer contributes to the information is kept with it. So a test that gives up one of the given variables looks
// at rows only where that brings layers together, and never at the sample again.
#pragma once
#include <memory>
#include <mutex>

#include "information_sum.hpp"
#include "sample.hpp"

namespace tanager {

// Numbers 0, 1, ... of keys by first appearance: a hash table, or a place for every key where these are small.
class KeyNumbers {
  public:
    // For `n` keys of at most `most`.
    void start(std::size_t n, std::uint64_t most);
    std::uint32_t of(std::uint64_t key) {
        std::uint32_t *slots = slots_.data();
        if (direct_) {
            if (slots[key] == none) slots[key] = size_++;
            return slots[key];
        }
        std::size_t at = key * 0x9E3779B97F4A7C15u >> shift_;
        while (slots[at] != none && keys_[slots[at]] != key) at = (at + 1) & (slots_.size() - 1);
        if (slots[at] == none) {
            keys_[size_] = key;
            slots[at] = size_++;
        }
        return slots[at];
    }
    std::uint32_t size() const { return size_; }

  private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    std::vector<std::uint32_t> slots_;
    std::vector<std::uint64_t> keys_;  // of every number, and room for more
    std::uint32_t size_ = 0;
    bool direct_ = false;
    int shift_ = 0;
};

// All rows of a sample, by their configuration of some variables.
struct RowPartition {
    // A configuration is a number with a field of bits for each variable, in which n_values means missing.
    struct Field {
        std::size_t variable, n_values;
        int shift;
        std::uint64_t mask;
    };
    std::vector<Field> fields;
    std::vector<std::uint64_t> keys;     // of every part, in the order in which they first appear
    std::vector<std::uint32_t> missing;  // one flag per field
    std::vector<std::uint32_t> ends;     // in `rows`; a part begins where the one before it ends
    std::vector<std::uint32_t> rows;

    // Whether a configuration of these variables fits into one number.
    static bool fits(const Sample &sample, const Variables &variables);
    // The variables must fit.
    RowPartition(const Sample &sample, const Variables &variables);
};

// The partitions that were last asked for: tests of many pairs have the same conditions. For several threads.
class RecentPartitions {
  public:
    explicit RecentPartitions(const Sample &sample);
    // The variables, in any order, must fit; fields come in ascending order of theirs.
    std::shared_ptr<const RowPartition> of(Variables variables);

  private:
    struct Kept {
        Variables variables;
        std::shared_ptr<const RowPartition> made;
    };
    const Sample &sample_;
    std::mutex looking_;
    std::size_t most_, next_ = 0;
    std::vector<Kept> kept_;
};

template <class Count>  // double where rows have weights
class Layers {
  public:
    // x and z must not be among the variables of the partition.
    void read(const Sample &sample, std::size_t x, std::size_t z, const RowPartition &given, bool with_pearson);
    // Gives up those of the variables that are not among these.
    void narrow(const Variables &given);
    std::size_t n_given() const { return fields_.size(); }
    // I(X; Z | given), or given all but one of them; without Pearson's X^2 (which is NaN) unless it was asked for.
    Information information() const;
    Information without(std::size_t variable);

  private:
    using Row = typename LayerCells<Count>::Row;
    using Field = RowPartition::Field;
    struct Layer {
        std::uint64_t key;
        std::uint32_t missing;     // one flag per field
        std::uint32_t begin, end;  // among the rows
        std::uint32_t x, z;        // their one value, or kMixed
        LayerFigures figures;
    };
    // Layers that come together, from the first to the last.
    struct Chain {
        std::uint32_t first, last;
        std::uint32_t x, z;  // as for a layer
        double rows;
    };

    template <class Code>
    void read_layers(const Sample &sample, std::size_t x, std::size_t z, const RowPartition &given);
    void chain_layers(std::uint64_t mask, std::uint32_t needed);
    std::uint32_t flag(const Field &field) const { return std::uint32_t{1} << (&field - fields_.data()); }

    std::size_t n_x_ = 0, n_z_ = 0;
    bool with_pearson_ = true;
    std::vector<Field> fields_;
    std::vector<Layer> layers_, merged_;
    std::vector<Row> rows_, merged_rows_;  // layer after layer, equal ones merged
    LayerCells<Count> cells_;

    KeyNumbers numbers_;
    std::vector<Chain> chains_;
    std::vector<std::uint32_t> next_;  // after each layer, in its chain
};

}  // namespace tanager
