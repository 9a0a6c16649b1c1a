// Rows that are left out of the counts while they are answered, as Python names them.
#pragma once
#include "bind_arrays.hpp"
#include "changes.hpp"
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

inline std::vector<int> as_classes(const AnyArray &labels_, std::int64_t n_rows, std::int64_t k) {
    const tanager::Codes labels = as_labels(labels_, n_rows);
    std::vector<int> classes;
    classes.reserve(std::size_t(n_rows));
    for (std::int64_t r = 0; r < n_rows; ++r) {
        classes.push_back(labels.at(r));
        expect(classes.back() < k, "a label is none of the classes");
    }
    return classes;
}

// Logs of the joint (rows, classes) of rows with labels and weights.
using LogJoint = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
inline tanager::AnsweredRows as_answered(const LogJoint &joint, const AnyArray &labels,
                                         const std::optional<WeightArray> &weights,
                                         const std::vector<int> &preference) {
    const std::int64_t n_rows = std::int64_t(joint.shape(0)), k = std::int64_t(joint.shape(1));
    expect(k > 0 && k < 65536, "there must be classes");
    std::vector<char> seen(std::size_t(k), 0);
    for (const int c : preference) {
        expect(c >= 0 && c < k && !seen[std::size_t(c)], "the preference must name every class once");
        seen[std::size_t(c)] = 1;
    }
    expect(std::int64_t(preference.size()) == k, "the preference must name every class once");
    return {n_rows, int(k), joint.data(), as_classes(labels, n_rows, k), as_weights(weights, n_rows), preference};
}

}  // namespace arrays
