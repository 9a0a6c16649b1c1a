// Rows that are dealt out to folds, as Python hands them over.
#pragma once
#include "bind_arrays.hpp"
#include "fold_errors.hpp"

using DealtRows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // (folds, rows)

namespace arrays {

tanager::FoldedRows as_folded(const AnyArray &codes, const AnyArray &labels, const DealtRows &dealt, int n_columns,
                              int n_classes);

}  // namespace arrays
