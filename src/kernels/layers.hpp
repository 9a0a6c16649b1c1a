// The rows of a sample in layers, one for each configuration of some given variables that occurs, to test two others.
//
// What a layer contributes to the information is kept with it. So a test that gives up one of the given variables looks
// at rows only where that brings layers together, and never at the sample again.
#pragma once
#include <limits>
#include <memory>
#include <mutex>
#include <optional>

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
            const bool fresh = slots[key] == none;
            const std::uint32_t own = fresh ? size_ : slots[key];
            slots[key] = own;
            size_ += fresh;
            return own;
        }
        // Whether a key is new is anybody's guess, so there is no branch on it; collisions are rare.
        keys_[size_] = key;
        for (std::size_t at = key * 0x9E3779B97F4A7C15u >> shift_;; at = (at + 1) & (slots_.size() - 1)) {
            const bool fresh = slots[at] == none;
            const std::uint32_t own = fresh ? size_ : slots[at];
            if (keys_[own] != key) continue;
            slots[at] = own;
            size_ += fresh;
            return own;
        }
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
    struct Part {
        std::uint64_t key;
        std::uint32_t missing;  // one flag per field
    };
    struct PlacedRow {
        std::uint32_t row, part;
    };
    std::vector<Field> fields;
    std::vector<Part> parts;      // in the order in which they first appear
    std::vector<PlacedRow> rows;  // part after part

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
        std::uint64_t hash;
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
    // Of the latter only what is needed: nothing where it is more than `most` for certain, rounding set aside.
    std::optional<Information> without(std::size_t variable, double most = std::numeric_limits<double>::infinity());

  private:
    using Row = typename LayerCells<Count>::Row;
    using Field = RowPartition::Field;
    // The values of x and z that occur, as flags; all flags where there are more values than flags.
    struct Values {
        std::uint64_t x = 0, z = 0;
        bool mixed() const { return (x & (x - 1)) != 0 && (z & (z - 1)) != 0; }
    };
    struct Layer {
        std::uint64_t key;
        Values values;
        LayerFigures figures;
        std::uint32_t begin, end;  // among the rows
        std::uint32_t missing;     // one flag per field
    };
    // Layers that come together.
    struct Chain {
        Values values;
        double sum = 0.0;              // of theirs
        std::uint32_t last, size = 0;  // the others are before the last
        // Otherwise their sum is what they tell together: it is one layer, or something is constant, which tells
        // nothing.
        bool mixed() const { return size > 1 && values.mixed(); }
    };

    template <class Code>
    void read_layers(const Sample &sample, std::size_t x, std::size_t z, const RowPartition &given);
    void finish_layer(Layer &layer, std::vector<Row> &rows);
    template <class Key>
    double chain_layers(std::uint64_t most, std::uint32_t needed, const Key &key);
    double chain_without(const Field &field);
    void take_chain(const Chain &chain);
    std::uint32_t flag(const Field &field) const { return std::uint32_t{1} << (&field - fields_.data()); }

    std::size_t n_x_ = 0, n_z_ = 0;
    bool with_pearson_ = true;
    std::vector<Field> fields_;
    std::vector<Layer> layers_, merged_;
    std::vector<Row> rows_, merged_rows_;  // layer after layer, equal ones merged
    LayerCells<Count> cells_;

    KeyNumbers numbers_;
    std::vector<Chain> chains_;
    std::vector<std::uint32_t> before_;   // each layer, in its chain
    std::vector<std::uint32_t> merging_;  // chains
};

}  // namespace tanager
