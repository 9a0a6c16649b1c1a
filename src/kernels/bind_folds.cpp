// Rows that are dealt out to folds, for Python.
#include <cmath>

#include "bind_plan.hpp"
#include "fold_errors.hpp"
#include "plan_folds.hpp"

namespace folds_bindings {
using namespace tanager;
using namespace arrays;
using plan_bindings::PyPlan;

namespace {

using DealtRows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // (folds, rows)

FoldedRows as_folded(const AnyArray &codes, const AnyArray &labels, const DealtRows &dealt, int n_columns,
                     int n_classes) {
    FoldedRows rows;
    rows.codes = as_codes(codes, n_columns);
    rows.labels = as_labels(labels, rows.codes.n_rows);
    expect(dealt.shape(0) > 0 && dealt.shape(0) < 65536 && std::int64_t(dealt.shape(1)) == rows.codes.n_rows,
           "the weights must have one line per fold and one column per row");
    rows.dealt = dealt.data();
    rows.n_folds = rows.n_asked = int(dealt.shape(0));
    for (std::int64_t r = 0; r < rows.codes.n_rows; ++r)
        expect(rows.labels.at(r) < n_classes, "a label is none of the classes");
    return rows;
}

void right_of_folds(const AnyArray &codes, const AnyArray &labels, const DealtRows &dealt,
                    const std::vector<std::int64_t> &n_values, const std::vector<double> &pseudo, int n_classes,
                    double class_pseudo, const std::vector<bool> &wanted, const Doubles &right, bool heaviest,
                    int n_jobs, int n_asked) {
    const std::size_t n = n_values.size();
    expect(n_classes > 0 && n_classes < 65536, "there must be classes");
    expect(n_jobs >= 1 && n_jobs <= 1024, "n_jobs must lie in 1 .. 1024");
    expect(n < 65536 && pseudo.size() == n && wanted.size() == n,
           "every column has a pseudo-count and is wanted or not");
    double cells = 0;
    for (const std::int64_t values : n_values) {
        expect(values >= 0 && values < 65536, "a column has less than no values, or too many");
        cells += double(values) * n_classes;
    }
    FoldedRows rows = as_folded(codes, labels, dealt, int(n), n_classes);
    if (n_asked != 0) rows.n_asked = n_asked;
    expect(rows.n_asked > 0 && rows.n_asked <= rows.n_folds, "some of the folds must be asked, or all");
    expect(cells * (rows.n_folds + 1) < 4294967296.0, "the tables have more cells than can be numbered");
    for (const double value : pseudo) expect(value > 0.0, "pseudo-counts must be above 0");
    expect(class_pseudo > 0.0, "pseudo-counts must be above 0");
    expect(right.ndim() == 1 && right.shape(0) == n + 1, "there must be room for every column, and one more");
    const FoldedColumns columns{n_values, pseudo, class_pseudo, n_classes};
    const std::vector<char> asked(wanted.begin(), wanted.end());
    const Released release;
    fold_right(rows, columns, asked, heaviest, n_jobs, right.data());
}

void weights_of_values(const AnyArray &codes_, const WeightArray &weights_, const std::vector<std::int64_t> &n_values,
                       const Doubles &out) {
    const Codes codes = as_codes(codes_, int(n_values.size()));
    const Weights weights = as_weights(weights_, codes.n_rows);
    std::int64_t cells = 0;
    for (const std::int64_t values : n_values) {
        expect(values >= 0 && values < 65536, "a column has less than no values, or too many");
        cells += values;
    }
    expect(out.ndim() == 1 && std::int64_t(out.shape(0)) == cells, "there must be room for every value");
    const Released release;
    value_weights(codes, n_values, weights, out.data());
}

double right_by_plan(PyPlan &self, const AnyArray &codes, const AnyArray &labels, const DealtRows &dealt, int n_jobs) {
    self.check_ready();
    const Store &s = self.plan.store;
    const FoldedRows rows = as_folded(codes, labels, dealt, s.n, s.k);
    expect(self.plan.estimate.unit == 1 && std::all_of(s.classes, s.classes + s.k, [](double x) { return x == 0; }),
           "a plan is cross-validated over counts that are empty");
    const Released release;
    const double right = scoring::right_in_folds(self.plan, rows, n_jobs);
    expect(!std::isnan(right), "a row has a value that these counts do not know");
    return right;
}

}  // namespace
}  // namespace folds_bindings

void bind_folds(nb::module_ &m) {
    using namespace folds_bindings;
    using nb::arg;
    m.def("fold_right", &right_of_folds, arg("codes"), arg("labels"), arg("dealt"), arg("n_values"), arg("pseudo"),
          arg("n_classes"), arg("class_pseudo"), arg("wanted"), arg("right").noconvert(), arg("heaviest") = false,
          arg("n_jobs") = 1, arg("n_asked") = 0,
          "The weight of rows that naive Bayes over the other folds answers correctly, one for each value of every "
          "wanted column; last, one for all rows. Those of the first folds alone where n_asked is not 0.");
    m.def("value_weights", &weights_of_values, arg("codes"), arg("weights"), arg("n_values"), arg("out").noconvert(),
          "Adds what the rows with every value of every column weigh.");
    m.def("right_in_folds", &right_by_plan, arg("plan"), arg("codes"), arg("labels"), arg("dealt"), arg("n_jobs") = 1);
}
