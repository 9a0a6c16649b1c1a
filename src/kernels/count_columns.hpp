// One block of rows as contiguous, checked columns, whatever the layout of the codes.
//
// Column-major bytes are used where they lie; row-major bytes are transposed into the block's buffer; everything else
// is copied code by code. Two-byte codes of attributes with at most 255 values become bytes. Rows without a label are
// left out here, so nothing after this sees them.
#pragma once
#include "count_plan.hpp"

namespace tanager {

struct Column {
    const std::uint8_t *bytes = nullptr;  // one of the two
    const std::uint16_t *words = nullptr;
    bool missing = false;  // some code is the marker
};

class Columns {
  public:
    Columns(const Plan &plan, const Rows &rows);

    // Starts the block of rows [begin, begin + n), reading its labels; needed hears of classes that do not fit.
    void load(std::size_t begin, std::size_t n, Needed &needed);
    // Reads and checks column i of the block; to be called once per block, and before slots(i).
    const Column &read(std::size_t i, Needed &needed);
    // Column i with the marker turned into the slot for missing.
    const Column &slots(std::size_t i);

    std::size_t n_rows() const { return n_kept_; }                    // rows with a label
    const std::uint8_t *byte_labels() const { return byte_labels_; }  // when there are at most 255 classes
    std::uint32_t label(std::size_t r) const { return byte_labels_ ? byte_labels_[r] : word_labels_[r]; }
    const double *weights() const { return weights_.data(); }

  private:
    template <class Code>
    const Code *contiguous(const std::byte *from, std::ptrdiff_t step, Code *buffer) const;
    template <class Code>
    void keep_labelled(const Code *from, Code *to) const;

    const Plan &plan_;
    const Rows &rows_;
    bool transposed_;
    std::size_t begin_ = 0, n_read_ = 0, n_kept_ = 0, step_;
    std::vector<std::uint32_t> kept_;  // labelled rows of the block; unused when all are
    const std::uint8_t *byte_labels_ = nullptr;
    const std::uint16_t *word_labels_ = nullptr;
    std::vector<std::uint8_t> label_bytes_;
    std::vector<std::uint16_t> label_words_, words_;
    std::vector<double> weights_;
    std::vector<std::uint8_t> square_;  // the transposed block
    std::vector<std::vector<std::uint8_t>> byte_buffers_;
    std::vector<std::vector<std::uint16_t>> word_buffers_;
    std::vector<Column> columns_;
    std::vector<bool> has_slots_;
};

}  // namespace tanager
