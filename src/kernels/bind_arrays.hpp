// Arrays that Python hands over, checked before a kernel sees them: codes, labels, weights and outputs.
#pragma once
#include "bindings.hpp"
#include "store.hpp"

namespace arrays {

using tanager::scoring::Codes;
using Doubles = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
using Weights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline void expect(bool ok, const std::string &sentence) {
    if (!ok) throw nb::value_error(sentence.c_str());
}

inline Codes as_codes(const AnyArray &a, int n) {
    Codes codes;
    expect(a.ndim() == 2, "codes must have rows and columns");
    expect(a.dtype() == nb::dtype<std::uint8_t>() || a.dtype() == nb::dtype<std::uint16_t>(),
           "codes must be uint8 or uint16");
    expect(std::int64_t(a.shape(1)) == n,
           "codes have " + std::to_string(a.shape(1)) + " columns, the counts " + std::to_string(n));
    codes.data = a.data();
    codes.wide = a.dtype() == nb::dtype<std::uint16_t>();
    codes.n_rows = std::int64_t(a.shape(0));
    codes.row_step = a.stride(0);
    codes.column_step = a.stride(1);
    return codes;
}

// The codes of a single row.
inline Codes as_row(const AnyArray &a, int n) {
    Codes codes;
    expect(a.ndim() == 1 && std::int64_t(a.shape(0)) == n, "a row has one code per column");
    expect(a.dtype() == nb::dtype<std::uint8_t>() || a.dtype() == nb::dtype<std::uint16_t>(),
           "codes must be uint8 or uint16");
    codes.data = a.data();
    codes.wide = a.dtype() == nb::dtype<std::uint16_t>();
    codes.n_rows = 1;
    codes.column_step = a.stride(0);
    return codes;
}

// Class codes, read as one column.
inline Codes as_labels(const AnyArray &a, std::int64_t n_rows) {
    Codes labels;
    expect(a.ndim() == 1 && std::int64_t(a.shape(0)) == n_rows, "there must be one label per row");
    expect(a.dtype() == nb::dtype<std::uint8_t>() || a.dtype() == nb::dtype<std::uint16_t>(),
           "labels must be uint8 or uint16");
    labels.data = a.data();
    labels.wide = a.dtype() == nb::dtype<std::uint16_t>();
    labels.n_rows = n_rows;
    labels.row_step = a.stride(0);
    return labels;
}

inline const double *as_weights(const std::optional<Weights> &w, std::int64_t n_rows) {
    if (!w) return nullptr;
    expect(std::int64_t(w->shape(0)) == n_rows, "there must be one weight per row");
    return w->data();
}

inline double *as_output(const Doubles &out, std::int64_t n_rows, int k) {
    expect(out.ndim() == 2 && std::int64_t(out.shape(0)) == n_rows && std::int64_t(out.shape(1)) == k,
           "the output must have one row per row and one column per class");
    return out.data();
}

}  // namespace arrays
