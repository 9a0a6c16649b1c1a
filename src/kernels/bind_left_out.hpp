// Rows that are left out of the counts while they are answered, as Python names them.
#pragma once
#include "bind_arrays.hpp"
#include "score_rows.hpp"

namespace arrays {

inline tanager::scoring::LeftOut as_left_out(const std::optional<AnyArray> &labels,
                                             const std::optional<WeightArray> &weights, double unit,
                                             std::int64_t n_rows) {
    tanager::scoring::LeftOut left_out;
    if (labels) left_out.labels = as_labels(*labels, n_rows);
    left_out.weights = as_weights(weights, n_rows);
    left_out.unit = unit;
    return left_out;
}

}  // namespace arrays
