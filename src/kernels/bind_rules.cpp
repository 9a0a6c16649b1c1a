// Lazy Bayesian rules for Python: rows and options are checked once, rows to find rules for with every call.
#include <cmath>

#include "bind_arrays.hpp"
#include "lazy_rules.hpp"

namespace rules_bindings {
using namespace arrays;
using namespace tanager;

namespace {

using Bytes = nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Number>
nb::object new_array(const std::vector<Number> &values) {
    auto *kept = new std::vector<Number>(values);
    nb::capsule owner(kept, [](void *data) noexcept { delete static_cast<std::vector<Number> *>(data); });
    const std::size_t shape[] = {kept->size()};
    return nb::cast(nb::ndarray<nb::numpy, Number>(kept->data(), 1, shape, owner));
}

void make(LazyRules *self, const AnyArray &codes, const AnyArray &labels, const std::optional<WeightArray> &weights,
          const std::vector<int> &n_values, int n_classes, const std::string &kind, double strength, double first,
          double significance, double min_errors, std::optional<int> max_tests, double max_bytes) {
    double slots = 0;
    for (const int values : n_values) {
        expect(values >= 0 && values < 65536, "a column has less than no values, or too many");
        slots += values + 1;
    }
    expect(n_classes > 0 && n_classes < 65536, "there must be classes");
    expect(slots * n_classes < 4294967296.0, "there are more cells than can be numbered");
    expect(strength >= 0 && std::isfinite(strength), "the strength of an estimate must be at least 0");
    expect(significance > 0 && significance <= 1, "the significance must be above 0 and at most 1");
    expect(min_errors >= 0 && max_bytes >= 0 && max_tests.value_or(0) >= 0, "options must not be negative");
    const Batch rows = as_batch(codes, labels, weights, int(n_values.size()));
    expect(rows.n_rows() < 4294967295, "there are more rows than can be numbered");
    for (std::int64_t r = 0; r < rows.n_rows(); ++r)
        expect(!rows.has_label(r) || rows.labels.at(r) < n_classes, "a label is none of the classes");
    const scoring::Estimate estimate{smoothing_named(kind), strength, 1, first < 0 ? strength : first};
    const LazyRules::Options options{significance, min_errors, max_tests.value_or(int(n_values.size())),
                                     std::int64_t(std::min(max_bytes, 9e18))};
    const Released release;
    new (self) LazyRules(rows, n_values, n_classes, estimate, options);
}

bool append(LazyRules &self, const AnyArray &codes, const AnyArray &labels, const std::optional<WeightArray> &weights) {
    const Batch rows = as_batch(codes, labels, weights, self.n_columns());
    expect(double(self.first.size()) + double(rows.n_rows()) < 4294967295.0,
           "there are more rows than can be numbered");
    for (std::int64_t r = 0; r < rows.n_rows(); ++r)
        expect(!rows.has_label(r) || rows.labels.at(r) < self.n_classes(), "a label is none of the classes");
    const Released release;
    return self.append(rows);
}

void find(LazyRules &self, const AnyArray &codes_, const Bytes &tested, int n_jobs) {
    const Codes codes = as_codes(codes_, self.n_columns());
    expect(codes.n_rows < 4294967295 && std::int64_t(tested.shape(0)) == codes.n_rows &&
               int(tested.shape(1)) == self.n_columns(),
           "the output must have one row per row and one column per column");
    const Released release;
    self.find(codes, tested.data(), n_jobs);
}

void check_values(const LazyRules &self, const std::vector<int> &values) {
    expect(int(values.size()) == self.n_columns(), "there must be one value, or -1, per column");
    for (int i = 0; i < self.n_columns(); ++i)
        expect(values[std::size_t(i)] < self.n_values(i), "a value is none of its column");
}

nb::object passing(LazyRules &self, const std::vector<int> &values) {
    check_values(self, values);
    return new_array(self.passing(values));
}

nb::object passing_since(LazyRules &self, const std::vector<int> &values, std::int64_t since) {
    check_values(self, values);
    return new_array(self.passing_since(values, since));
}

}  // namespace
}  // namespace rules_bindings

void bind_rules(nb::module_ &m) {
    using namespace rules_bindings;
    m.def("binomial_tail", &binomial_tail, nb::arg("x"), nb::arg("n"));
    nb::class_<LazyRules>(m, "LazyRules", "The search for lazy Bayesian rules over learned rows.")
        .def("__init__", &make, nb::arg("codes"), nb::arg("labels"), nb::arg("weights").none(), nb::arg("n_values"),
             nb::arg("n_classes"), nb::arg("kind"), nb::arg("strength"), nb::arg("first"), nb::arg("significance"),
             nb::arg("min_errors"), nb::arg("max_tests").none(), nb::arg("max_bytes"))
        .def_prop_ro("first", [](const LazyRules &self) { return new_array(self.first); })
        .def_prop_ro("weights", [](const LazyRules &self) { return new_array(self.weight); })
        .def_prop_ro("n_cached", &LazyRules::n_cached)
        .def_prop_ro("n_evaluated", &LazyRules::n_evaluated)
        .def("find", &find, nb::arg("codes"), nb::arg("tested").noconvert(), nb::arg("n_jobs") = 1)
        .def("append", &append, nb::arg("codes"), nb::arg("labels"), nb::arg("weights").none())
        .def("passing", &passing, nb::arg("values"))
        .def("passing_since", &passing_since, nb::arg("values"), nb::arg("since"));
}
