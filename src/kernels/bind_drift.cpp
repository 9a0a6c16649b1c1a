// Detectors of drift for Python: all arrays are checked here.
#include <algorithm>

#include "bind_arrays.hpp"
#include "drift.hpp"

namespace drift_bindings {
using namespace arrays;
using namespace tanager::drift;

namespace {

template <class T>
using Dense = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Answers = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Label>
void mark_wrong(const Answers &proba, const Dense<Label> &labels, double tie, const Out &wrong) {
    const std::int64_t n_rows = std::int64_t(proba.shape(0)), k = std::int64_t(proba.shape(1));
    expect(std::int64_t(labels.shape(0)) == n_rows && std::int64_t(wrong.shape(0)) == n_rows, "one label per answer");
    for (std::int64_t r = 0; r < n_rows; ++r) expect(labels.data()[r] < k, "a label is none of the classes");
    wrong_answers(proba.data(), labels.data(), n_rows, k, tie, wrong.data());
}

// Options, then what is remembered: (n, wrong, low, spread, signal); that again, and the gravest signal.
using Remembered = std::tuple<std::int64_t, double, double, double, int>;

std::pair<Remembered, int> hear(const Dense<double> &values, double warning, double drift, double min_rows,
                                double smoothing, const Remembered &before) {
    const auto [n, wrong, low, spread, signal] = before;
    Ddm ddm{warning, drift, min_rows, smoothing, n, wrong, low, spread, Signal(signal)};
    Signal gravest = Signal::none;
    for (std::size_t r = 0; r < values.shape(0); ++r) gravest = std::max(gravest, ddm.hear(values.data()[r]));
    return {{ddm.n, ddm.wrong, ddm.low, ddm.spread, int(ddm.signal)}, int(gravest)};
}

// How many rows were of a kind, and how many there were, older ones fading: of these again, once more rows have come.
std::pair<double, double> share(const Dense<double> &values, double keep, double count, double of) {
    for (std::size_t r = 0; r < values.shape(0); ++r) {
        count = count * keep + values.data()[r];
        of = of * keep + 1;
    }
    return {count, of};
}

}  // namespace
}  // namespace drift_bindings

void bind_drift(nb::module_ &m) {
    using namespace drift_bindings;
    m.def("wrong_answers", &mark_wrong<std::uint8_t>, nb::arg(), nb::arg().noconvert(), nb::arg(),
          nb::arg().noconvert());
    m.def("wrong_answers", &mark_wrong<std::uint16_t>, nb::arg(), nb::arg().noconvert(), nb::arg(),
          nb::arg().noconvert());
    m.def("fading_share", &share, nb::arg("values"), nb::arg("keep"), nb::arg("count"), nb::arg("of"));
    m.def("hear_answers", &hear, nb::arg("values"), nb::arg("warning"), nb::arg("drift"), nb::arg("min_rows"),
          nb::arg("smoothing"), nb::arg("before"));
}
