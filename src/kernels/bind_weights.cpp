// Weights of classes for Python: all arrays are checked here.
#include "bind_arrays.hpp"
#include "class_weights.hpp"

namespace weights_bindings {
using namespace arrays;
using namespace tanager;

namespace {

using Joint = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using RowWeights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void best_steps(const Joint &joint, const AnyArray &labels_, const RowWeights &weights,
                const std::vector<int> &preference, double tie, const Doubles &step, const Doubles &errors) {
    const std::int64_t n_rows = std::int64_t(joint.shape(0)), k = std::int64_t(joint.shape(1));
    expect(k > 1 && k < 65536 && n_rows > 0, "there must be rows, and classes to choose between");
    const Codes labels = as_labels(labels_, n_rows);
    WeighedRows rows{n_rows, int(k), joint.data(), {}, weights.data(), preference, tie};
    for (std::int64_t r = 0; r < n_rows; ++r) {
        rows.labels.push_back(labels.at(r));
        expect(rows.labels.back() < k, "a label is none of the classes");
    }
    expect(std::int64_t(weights.shape(0)) == n_rows, "one weight per row");
    std::vector<char> seen(std::size_t(k), 0);
    for (const int c : preference) {
        expect(c >= 0 && c < k && !seen[std::size_t(c)], "the preference must name every class once");
        seen[std::size_t(c)] = 1;
    }
    expect(std::int64_t(preference.size()) == k, "the preference must name every class once");
    expect(step.ndim() == 1 && errors.ndim() == 1 && std::int64_t(step.shape(0)) == k &&
               std::int64_t(errors.shape(0)) == k,
           "one number to write per class");
    const Released release;
    best_class_steps(rows, step.data(), errors.data());
}

}  // namespace
}  // namespace weights_bindings

void bind_class_weights(nb::module_ &m) {
    using namespace weights_bindings;
    m.def("best_class_steps", &best_steps, nb::arg("joint"), nb::arg("labels"), nb::arg("weights"),
          nb::arg("preference"), nb::arg("tie"), nb::arg("step").noconvert(), nb::arg("errors").noconvert());
}
