// What products of few columns make of learned rows, each left out: the factors that a wrapper search tries.
#pragma once
#include <map>
#include <memory>
#include <optional>

#include "changes.hpp"
#include "score_rows.hpp"

namespace tanager::scoring {

// A product of sums, as ScoringPlan::set_product and its neighbours take it.
struct SmallProduct {
    std::vector<int> child;
    std::vector<std::vector<int>> parents;
    std::vector<double> weight;
    std::vector<std::vector<int>> only, joined;
};

// Rows that a product cannot tell apart, because they agree in their labels and in the columns that it reads.
struct AlikeRows {
    std::shared_ptr<const LineNumbers> lines;  // which of them each row is
    std::vector<std::int64_t> first;           // a row of each, or -1
    std::vector<int> labels;                   // and their class
};

class LeftOutFactors {
  public:
    // Estimates, priors and slots are those of `like`. log_prior: (rows, classes), what to divide by. Rows have labels.
    LeftOutFactors(const ScoringPlan &like, const Codes &codes, const LeftOut &left_out, const double *log_prior,
                   double least_log);
    // The product over P(y), and over factors that look at some of the same columns.
    std::shared_ptr<Factor> make(const SmallProduct &product, const std::vector<const Factor *> &over);
    // The same for columns that are one column together: P(their values | y), counted from the rows themselves. These
    // are all that was learned, once each, with a value in every column of the block; pseudo-counts are
    // constant and positive.
    std::shared_ptr<Factor> make_block(const std::vector<int> &block, const std::vector<const Factor *> &over);
    bool has_values(int column);
    std::size_t n_rows() const { return labels_.size(); }
    std::size_t n_classes() const { return std::size_t(like_.store.k); }

  private:
    // Rows by their values in some columns: numbers below `size`.
    struct Numbered {
        std::vector<std::uint64_t> value;
        std::uint64_t size = 1;
    };
    struct BlockLines;
    void find_shared(const std::vector<int> &block);
    void fold_in(int column, Numbered &values);
    bool few(std::uint64_t n_values) const;
    BlockLines block_lines(const std::vector<int> &block);
    std::optional<std::vector<std::uint8_t>> block_bytes(const std::vector<int> &block);
    template <class Number>
    void count_lines(const std::vector<Number> &line, std::size_t n_lines, BlockLines &out) const;
    const std::byte *column_of_bytes(int column) const;
    const AlikeRows &alike(const SmallProduct &product);
    std::vector<double> product_table(const SmallProduct &product, const AlikeRows &rows) const;
    bool is_family(const SmallProduct &product) const;
    std::vector<double> family_table(const SmallProduct &product, const AlikeRows &rows);
    void divide(std::vector<double> &table, const AlikeRows &rows, const std::vector<const Factor *> &over) const;
    AlikeRows sort_out(const std::vector<int> &columns);
    std::optional<AlikeRows> in_bytes(const std::vector<int> &columns) const;
    const std::vector<std::uint32_t> &cells(int column);

    const ScoringPlan &like_;
    Codes codes_;
    const LeftOut &left_out_;
    const double *log_prior_;
    double least_log_;
    std::vector<int> labels_;
    std::vector<std::uint8_t> byte_labels_;  // the same, where classes fit into a byte
    std::map<std::vector<int>, AlikeRows> known_;
    std::map<int, std::vector<std::uint32_t>> cells_;  // codes of a column; missing comes last
    std::unique_ptr<ScoringPlan> families_;            // of single families, among many columns
    std::vector<int> slot_;                            // of a row, in columns that are looked at
    std::map<int, bool> has_values_;                   // of a column: in all rows
    // Blocks often come with many columns in common: those of the last two, and the rows by their values there.
    std::vector<int> last_block_, shared_columns_;
    Numbered shared_;
    std::vector<std::uint32_t> shared_numbers_;  // the same values, in fewer bytes
    std::vector<double> class_counts_;           // of the rows
};

}  // namespace tanager::scoring
