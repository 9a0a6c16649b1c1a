// Log-linear tables for Python. Terms and rows are checked once, when an object is made; tables with every call.
#include "bind_arrays.hpp"
#include "loglinear.hpp"
#include "threads.hpp"

namespace loglinear_bindings {
using namespace tanager::scoring;
using namespace arrays;

namespace {

using Floats = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

void check_terms(const std::vector<int> &limits, const std::vector<int> &child,
                 const std::vector<std::vector<int>> &parents, int k) {
    const auto known = [&](int i) { return i >= 0 && i < int(limits.size()); };
    expect(k > 0 && k < 65536, "there must be classes");
    expect(child.size() == parents.size(), "every term has a child and parents");
    double places = 0;
    for (const int limit : limits) expect(limit >= 0 && limit < 65536, "a column has less than no values, or too many");
    for (std::size_t t = 0; t < child.size(); ++t) {
        expect(known(child[t]), "a term belongs to an unknown column");
        double size = limits[std::size_t(child[t])];
        for (const int p : parents[t]) {
            expect(known(p), "a term has an unknown parent");
            size *= limits[std::size_t(p)] + 1;
        }
        places += size;
    }
    expect(places * k < 4294967296.0, "the tables have more cells than can be numbered");
}

template <class Array>
void check_tables(const Array &prior, const Array &cells, int k, std::int64_t n_cells) {
    expect(prior.ndim() == 1 && std::int64_t(prior.shape(0)) == k, "the prior must have one number per class");
    expect(cells.ndim() == 2 && std::int64_t(cells.size()) == n_cells && std::int64_t(cells.shape(1)) == k,
           "the cells must have one row per place and one column per class");
}

void score(const LogLinear &self, const AnyArray &codes_, const Floats &prior, const Floats &cells, const Doubles &out_,
           bool log_joint, int n_jobs) {
    const Codes codes = as_codes(codes_, int(self.slots.limit.size()));
    check_tables(prior, cells, self.k, self.n_places * self.k);
    double *out = as_output(out_, codes.n_rows, self.k);
    const Released release;
    tanager::parallel_rows(codes.n_rows, n_jobs, [&](std::int64_t begin, std::int64_t end) {
        self.score(codes, begin, end, prior.data(), cells.data(), log_joint, out);
    });
}

LabelledRows rows(const LogLinear &self, const AnyArray &codes, const AnyArray &labels,
                  const std::optional<WeightArray> &weights) {
    const Batch rows = as_batch(codes, labels, weights, int(self.slots.limit.size()));
    for (std::int64_t r = 0; r < rows.n_rows(); ++r)
        expect(rows.labels.at(r) < self.k, "a label is none of the classes");
    const Released release;
    return LabelledRows(self, rows);
}

double gradient(const LabelledRows &self, const Floats &prior, const Floats &cells, const Doubles &d_prior,
                const Doubles &d_cells, int n_jobs) {
    check_tables(prior, cells, self.k, self.n_cells);
    check_tables(d_prior, d_cells, self.k, self.n_cells);
    const Released release;
    return self.gradient(prior.data(), cells.data(), d_prior.data(), d_cells.data(), n_jobs);
}

}  // namespace
}  // namespace loglinear_bindings

void bind_loglinear(nb::module_ &m) {
    using namespace loglinear_bindings;
    nb::class_<LabelledRows>(m, "LabelledRows", "Labelled rows as the cells they read; rows that are alike once.")
        .def_prop_ro("n_rows", &LabelledRows::n_rows)
        .def("gradient", &gradient, nb::arg("prior"), nb::arg("cells"), nb::arg("d_prior").noconvert(),
             nb::arg("d_cells").noconvert(), nb::arg("n_jobs") = 1);
    nb::class_<LogLinear>(m, "LogLinear", "Tables over families whose sums are log joints.")
        .def(
            "__init__",
            [](LogLinear *self, const std::vector<int> &limits, const std::vector<int> &child,
               const std::vector<std::vector<int>> &parents, int n_classes) {
                check_terms(limits, child, parents, n_classes);
                new (self) LogLinear(limits, child, parents, n_classes);
            },
            nb::arg("limits"), nb::arg("child"), nb::arg("parents"), nb::arg("n_classes"))
        .def_ro("n_places", &LogLinear::n_places)
        .def("rows", &rows, nb::arg("codes"), nb::arg("labels"), nb::arg("weights").none() = nb::none())
        .def("score", &score, nb::arg("codes"), nb::arg("prior"), nb::arg("cells"), nb::arg("out").noconvert(),
             nb::arg("log_joint") = false, nb::arg("n_jobs") = 1);
}
