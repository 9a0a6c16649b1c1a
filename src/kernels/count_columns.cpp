#include "count_columns.hpp"

#include <algorithm>

#include "transpose.hpp"

namespace tanager {

namespace {

template <class To, class From>
void narrow(const From *from, std::size_t n, To *to) {
    for (std::size_t r = 0; r < n; ++r) to[r] = static_cast<To>(from[r]);  // the marker stays the marker
}

template <class From, class To>
void fill_missing(const From *from, std::size_t n, To missing_slot, To *to) {
    constexpr From marker = static_cast<From>(-1);
    for (std::size_t r = 0; r < n; ++r) to[r] = from[r] == marker ? missing_slot : from[r];
}

}  // namespace

Columns::Columns(const Plan &plan, const Rows &rows)
    : plan_(plan), rows_(rows), step_(plan.block_rows + 64), byte_buffers_(plan.slots.size()),
      word_buffers_(plan.slots.size()), columns_(plan.slots.size()), has_slots_(plan.slots.size()) {
    transposed_ = rows.code_size == 1 && rows.column_step == 1 && rows.row_step != 1 && plan.slots.size() > 1;
    if (transposed_) square_.resize(plan.slots.size() * step_);
}

// Codes step bytes apart, as an array: the memory itself if it is one, else the buffer.
template <class Code>
const Code *Columns::contiguous(const std::byte *from, std::ptrdiff_t step, Code *buffer) const {
    constexpr std::size_t size = sizeof(Code);
    if (step == static_cast<std::ptrdiff_t>(size) && reinterpret_cast<std::uintptr_t>(from) % size == 0)
        return reinterpret_cast<const Code *>(from);
    for (std::size_t r = 0; r < n_read_; ++r)
        std::memcpy(buffer + r, from + static_cast<std::ptrdiff_t>(r) * step, size);
    return buffer;
}

template <class Code>
void Columns::keep_labelled(const Code *from, Code *to) const {
    for (std::size_t k = 0; k < n_kept_; ++k) to[k] = from[kept_[k]];  // kept_[k] >= k, so in place is fine
}

void Columns::load(std::size_t begin, std::size_t n, Needed &needed) {
    begin_ = begin;
    n_read_ = n_kept_ = n;
    std::fill(has_slots_.begin(), has_slots_.end(), false);
    label_bytes_.resize(plan_.block_rows);
    const std::byte *from = rows_.labels + static_cast<std::ptrdiff_t>(begin) * rows_.label_step;
    Glance seen;
    byte_labels_ = nullptr;
    word_labels_ = nullptr;
    if (rows_.label_size == 1) {
        byte_labels_ = contiguous(from, rows_.label_step, label_bytes_.data());
        seen = plan_.bits.glance(byte_labels_, n, byte_labels_);
    } else {
        label_words_.resize(plan_.block_rows);
        word_labels_ = contiguous(from, rows_.label_step, label_words_.data());
        seen = plan_.bits.glance16(word_labels_, n);
    }
    needed.see(plan_.slots.size(), seen.n_values);
    if (seen.missing) {
        kept_.clear();
        for (std::size_t r = 0; r < n; ++r)
            if (byte_labels_ ? byte_labels_[r] != 0xFF : word_labels_[r] != 0xFFFF)
                kept_.push_back(static_cast<std::uint32_t>(r));
        n_kept_ = kept_.size();
        if (byte_labels_) keep_labelled(byte_labels_, label_bytes_.data());
        else keep_labelled(word_labels_, label_words_.data());
        if (byte_labels_) byte_labels_ = label_bytes_.data();
        else word_labels_ = label_words_.data();
    }
    if (!byte_labels_ && plan_.n_classes <= 255) {
        narrow(word_labels_, n_kept_, label_bytes_.data());
        byte_labels_ = label_bytes_.data();
    }
    if (rows_.weights != nullptr) {
        weights_.resize(plan_.block_rows);
        for (std::size_t k = 0; k < n_kept_; ++k) weights_[k] = rows_.weight(begin + (n_kept_ < n ? kept_[k] : k));
    }
    if (transposed_)
        transpose(reinterpret_cast<const std::uint8_t *>(rows_.cell(begin, 0)), rows_.row_step, n, plan_.slots.size(),
                  square_.data(), step_);
}

const Column &Columns::read(std::size_t i, Needed &needed) {
    Column &column = columns_[i];
    column = {};
    const std::byte *from = rows_.cell(begin_, i);
    auto &bytes = byte_buffers_[i];
    Glance seen;
    if (rows_.code_size == 1) {
        if (transposed_) {
            column.bytes = square_.data() + i * step_;
        } else {
            if (rows_.row_step != 1 || n_kept_ < n_read_) bytes.resize(step_);
            column.bytes = contiguous(from, rows_.row_step, bytes.data());
        }
        if (n_kept_ < n_read_) {
            bytes.resize(step_);
            keep_labelled(column.bytes, bytes.data());
            column.bytes = bytes.data();
        }
        const bool last = i + 1 == plan_.slots.size();
        const std::byte *upcoming = last ? rows_.cell(begin_ + n_read_, 0) : rows_.cell(begin_, i + 1);
        seen = plan_.bits.glance(column.bytes, n_kept_, reinterpret_cast<const std::uint8_t *>(upcoming));
    } else {
        const bool wide = plan_.slots[i] > 256;
        auto &words = wide ? word_buffers_[i] : words_;
        words.resize(step_);
        column.words = contiguous(from, rows_.row_step, words.data());
        if (n_kept_ < n_read_) {
            keep_labelled(column.words, words.data());
            column.words = words.data();
        }
        seen = plan_.bits.glance16(column.words, n_kept_);
        if (!wide) {
            bytes.resize(step_);
            narrow(column.words, n_kept_, bytes.data());
            column = {bytes.data(), nullptr, false};
        }
    }
    column.missing = seen.missing;
    needed.see(i, seen.n_values);
    return column;
}

const Column &Columns::slots(std::size_t i) {
    Column &column = columns_[i];
    if (has_slots_[i] || !column.missing) return column;
    has_slots_[i] = true;
    const std::size_t missing_slot = plan_.slots[i] - 1;
    if (column.bytes != nullptr && missing_slot <= 255) {
        byte_buffers_[i].resize(step_);
        fill_missing(column.bytes, n_kept_, static_cast<std::uint8_t>(missing_slot), byte_buffers_[i].data());
        column.bytes = byte_buffers_[i].data();
    } else {
        auto &words = word_buffers_[i];
        words.resize(step_);
        if (column.bytes) fill_missing(column.bytes, n_kept_, static_cast<std::uint16_t>(missing_slot), words.data());
        else fill_missing(column.words, n_kept_, static_cast<std::uint16_t>(missing_slot), words.data());
        column.bytes = nullptr;
        column.words = words.data();
    }
    return column;
}

}  // namespace tanager
