// Rows as Python hands them over: codes, labels and weights, of any layout. Steps are in bytes; they may be zero or
// negative. Every read copies its bytes (one instruction, all the same): arrays need not be aligned.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tanager {

template <class T>
inline T load(const std::byte *from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// A table of uint8 or uint16; the largest number of the type marks what is missing. Labels are a table of one column.
struct Codes {
    const std::byte *data = nullptr;
    bool wide = false;  // uint16 rather than uint8
    std::int64_t n_rows = 0;
    std::ptrdiff_t row_step = 0, column_step = 0;

    int marker() const { return wide ? 0xFFFF : 0xFF; }
    std::size_t code_size() const { return wide ? 2 : 1; }
    const std::byte *cell(std::int64_t r, std::int64_t i = 0) const { return data + r * row_step + i * column_step; }
    int at(std::int64_t r, std::int64_t i = 0) const {
        return wide ? int(load<std::uint16_t>(cell(r, i))) : int(load<std::uint8_t>(cell(r, i)));
    }
    Codes from(std::int64_t begin, std::int64_t n) const {
        Codes part = *this;
        part.data = cell(begin);
        part.n_rows = n;
        return part;
    }
};

// One float64 per row; where there are none, every row weighs 1.
struct Weights {
    const std::byte *data = nullptr;
    std::ptrdiff_t step = 0;

    explicit operator bool() const { return data != nullptr; }
    double operator[](std::int64_t r) const { return data ? load<double>(data + r * step) : 1.0; }
};

// Rows to learn from. Who builds one has checked that all parts have as many rows as the codes.
struct Batch {
    Codes codes, labels;
    Weights weights;

    std::int64_t n_rows() const { return codes.n_rows; }
    bool has_label(std::int64_t r) const { return labels.at(r) != labels.marker(); }
    Batch from(std::int64_t begin, std::int64_t n) const {
        Batch part{codes.from(begin, n), labels.from(begin, n), weights};
        if (weights) part.weights.data += begin * weights.step;
        return part;
    }
};

}  // namespace tanager
