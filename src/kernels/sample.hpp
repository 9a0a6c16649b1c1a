// Rows of codes in which any set of variables can be counted, as a search over networks asks for them.
//
// One primitive serves all questions: a base of variables is counted together with each of several others, which share
// the work on the base. Three methods give the same counts:
//   bits        the values of every variable as bit slices; a configuration of the base is the conjunction of its
//               slices, its count with a value of another variable the popcount of one more: for few cells
//   increments  the number of the cell, computed column by column for a block of rows, then one increment per row
//   hash        where there are more cells than rows would fill: rows are brought together by configuration
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bits.hpp"

namespace tanager {

using Variables = std::vector<std::size_t>;

constexpr double kMostCells = 1e8;  // beyond this no table is made: rows are grouped

enum class SampleMethod { automatic, bits, increments, hash };

// Rows of equal configuration stand together: those of group g are rows[starts[g]] .. rows[starts[g + 1]].
struct Groups {
    std::vector<std::uint32_t> rows;
    std::vector<std::size_t> starts;
    std::size_t size() const { return starts.size() - 1; }
};

class Sample {
  public:
    // Code r of variable i lies at codes + (i * n_rows + r) * code_size; n_values[i] and above mean missing. Weights
    // may be nullptr. Neither is copied.
    Sample(const std::byte *codes, std::size_t code_size, std::size_t n_rows, std::vector<std::size_t> n_values,
           const double *weights);

    std::size_t n_rows() const { return n_rows_; }
    std::size_t n_variables() const { return n_values_.size(); }
    std::size_t code_size() const { return code_size_; }  // in bytes
    std::size_t n_values(std::size_t i) const { return n_values_[i]; }
    bool weighted() const { return weights_ != nullptr; }
    double weight(std::size_t r) const { return weights_ == nullptr ? 1.0 : weights_[r]; }
    // Whether it is known that no row lacks this variable.
    bool complete(std::size_t i) const;
    // The product of their numbers of values.
    double n_cells(const Variables &variables) const;
    // Which method answers a question about these variables together.
    SampleMethod choose(const Variables &base, const Variables &others) const;

    // tables[k][configuration of the base, v] = weight of the rows with this configuration and others[k] = v; the first
    // of the base is outermost. Rows that lack a variable of base or others[k] are left out of tables[k]. Not by hash.
    void extend(const Variables &base, const Variables &others, const std::vector<double *> &tables,
                SampleMethod method) const;

    // The rows in which all variables are present, in groups.
    Groups group(const Variables &variables) const;

    // The codes of variable i, row after row.
    template <class Code>
    const Code *column(std::size_t i) const {
        return reinterpret_cast<const Code *>(codes_) + i * n_rows_;
    }

    // The code of variable i in row r, or n_values(i) where it is missing.
    std::size_t code(std::size_t r, std::size_t i) const {
        const std::size_t code = code_size_ == 1 ? column<std::uint8_t>(i)[r] : column<std::uint16_t>(i)[r];
        return code < n_values_[i] ? code : n_values_[i];
    }

  private:
    struct Slices {
        std::vector<BitVector> bits;
        std::vector<double> ones;  // of every value
        bool complete = false;     // no row lacks this variable
    };

    bool may_slice(const Variables &base, const Variables &others) const;
    double bits_cost(const Variables &base, const Variables &others) const;
    double increments_cost(const Variables &base, const Variables &others) const;
    const Slices &slices(std::size_t i) const;
    // Whether rows may lack this variable, by what is known already.
    template <class Code>
    bool may_lack(std::size_t i) const;
    void cut(std::size_t i, Slices &slices) const;
    const std::uint64_t *slice(const Slices &slices, std::size_t v) const {
        return slices.bits[v * (vectors_of(n_rows_) + 1)].words;
    }
    void extend_by_bits(const Variables &base, const Variables &others, const std::vector<double *> &tables) const;
    template <class Code, class Index>
    void extend_by_increments(const Variables &base, const Variables &others,
                              const std::vector<double *> &tables) const;
    template <class Code, class Index, class Cell>
    void increment(const Variables &base, const Variables &others, const std::vector<double *> &tables) const;
    template <class Code>
    void add_to_keys(const Variables &variables, std::vector<std::uint64_t> &keys) const;

    const std::byte *codes_;
    std::size_t code_size_, n_rows_;
    std::vector<std::size_t> n_values_;
    const double *weights_;
    // Cut when first needed, by whichever thread comes first.
    mutable std::mutex cutting_;
    mutable std::vector<std::unique_ptr<Slices>> slices_;
};

}  // namespace tanager
