// The one place where arrays from Python are checked, before a kernel sees them: types, shapes, ranges and contiguity.
// Kernels trust what comes from here, and read and write nothing beyond it. Codes and labels need no look at every
// number: kernels compare each with the layout as they read it.
#pragma once
#include "batch.hpp"
#include "bindings.hpp"
#include "estimate.hpp"
#include "store.hpp"

namespace arrays {

using tanager::Batch;
using tanager::Codes;
using tanager::Layout;
using tanager::SparseTable;
using tanager::Store;
using tanager::Weights;

// Read, of any type and layout; their types are checked here, so that nothing is converted without a word.
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
// Written in place. An argument of this type is bound with noconvert(): what is written to a copy is lost.
using TableArray = nb::ndarray<nb::device::cpu>;
using Doubles = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
// Read, and converted where need be.
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WeightArray = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

[[noreturn]] void refuse(const std::string &sentence);
// The sentence is made to text only where it is needed: single rows come through here.
inline void expect(bool ok, const char *sentence) {
    if (!ok) [[unlikely]]
        refuse(sentence);
}

// An argument that may be anything; `name` is what the error calls it.
AnyArray any_array(nb::handle object, const char *name);

Codes as_codes(const AnyArray &array, int n_columns);
Codes as_row(const AnyArray &array, int n_columns);  // a single row
// A single row: an array, or bytes with a code for each column, 255 where it is missing. Bytes are read in a tenth of
// the time that it takes to look at an array.
class RowOfCodes {
  public:
    RowOfCodes(nb::handle object, int n_columns);
    operator const Codes &() const { return codes_; }

  private:
    AnyArray array_;  // what the codes point into, where they are no bytes
    Codes codes_;
};
Codes as_labels(const AnyArray &array, std::int64_t n_rows);
Weights as_weights(const AnyArray &array, std::int64_t n_rows);
Weights as_weights(const std::optional<WeightArray> &array, std::int64_t n_rows);
Batch as_batch(const AnyArray &codes, const AnyArray &labels, const std::optional<WeightArray> &weights, int n_columns);
double *as_output(const Doubles &out, std::int64_t n_rows, int n_classes);  // (rows, classes)
void check_dimensions(const AnyArray &array, std::size_t ndim, const char *name);
// float64, of this shape, C-contiguous; Array is AnyArray or TableArray.
template <class Array>
void check_table(const Array &array, const std::vector<std::int64_t> &shape, const std::string &name);

// The kind of an estimate, by the name that Python calls it.
tanager::scoring::Smoothing smoothing_named(const std::string &kind);

// The arrays of a JointCounts, as the kernels see them.
struct HeldStore {
    Store store;
    std::vector<TableArray> arrays;  // what the store points into
    std::vector<nb::object> sparse;  // and the sparse tables
};
Layout read_layout(nb::handle offsets, nb::handle n_values);
HeldStore read_store(nb::handle offsets, nb::handle n_values, nb::handle classes, nb::handle singles, nb::handle pairs,
                     nb::handle triples, nb::handle families);

}  // namespace arrays
