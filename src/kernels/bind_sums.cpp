// Sums that are counted in rows, for Python: over sets of columns of kept rows, where rows are checked once and
// questions with every call; and over the parents of super-parent classifiers.
#include <cmath>

#include "bind_left_out.hpp"
#include "bind_store.hpp"
#include "sum_over_rows.hpp"
#include "super_parent_sums.hpp"

namespace sums_bindings {
using namespace arrays;
using namespace tanager;

namespace {

void make(SumOverRows *self, const AnyArray &codes, const AnyArray &labels, const std::optional<WeightArray> &weights,
          const std::vector<int> &n_values, int n_classes, const std::string &kind, double strength,
          bool smooth_unseen) {
    for (const int values : n_values)
        expect(values >= 0 && values < 65536, "a column has less than no values, or too many");
    expect(n_classes > 0 && n_classes < 65536, "there must be classes");
    const scoring::Smoothing smoothing = smoothing_named(kind);
    expect(smoothing == scoring::Smoothing::lidstone || smoothing == scoring::Smoothing::m_estimate,
           "pseudo-counts must be the same in all contexts");
    expect(strength > 0 && std::isfinite(strength), "pseudo-counts must be positive");
    const Batch rows = as_batch(codes, labels, weights, int(n_values.size()));
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        expect(!rows.has_label(r) || rows.labels.at(r) < n_classes, "a label is none of the classes");
        expect(rows.weights[r] >= 0 && std::isfinite(rows.weights[r]), "a weight must be a number of at least 0");
    }
    const Released release;
    new (self) SumOverRows(rows, n_values, n_classes, {smoothing, strength, 1, strength}, smooth_unseen);
}

void check_question(const SumOverRows &self, int size, double min_count) {
    expect(size >= 2 && size < SumOverRows::kMostColumns, "sets must have 2 to 7 columns");
    expect(self.n_sets(size) >= 0, "there are more sets than can be numbered");
    expect(min_count >= 0, "min_count must be at least 0");
}

void score(SumOverRows &self, const AnyArray &codes_, const Doubles &out_, int size, double min_count, bool log_joint,
           const std::vector<double> &priors, const std::vector<double> &factors, const std::optional<AnyArray> &labels,
           const std::optional<WeightArray> &weights, int n_jobs) {
    check_question(self, size, min_count);
    const auto k = std::size_t(self.n_classes());
    expect(priors.empty() || priors.size() == k, "there must be one prior per class");
    expect(factors.empty() || factors.size() == k, "there must be one factor per class");
    const Codes codes = as_codes(codes_, self.n_columns());
    double *out = as_output(out_, codes.n_rows, self.n_classes());
    const SumOverRows::Question question{
        size, min_count, priors, factors, as_left_out(labels, weights, 1, codes.n_rows), log_joint};
    const Released release;
    self.score(codes, question, n_jobs, out);
}

void parts(SumOverRows &self, const AnyArray &codes_, const Doubles &out, int size, double min_count) {
    check_question(self, size, min_count);
    const Codes codes = as_codes(codes_, self.n_columns());
    expect(codes.n_rows == 1, "one row is taken apart at a time");
    expect(out.ndim() == 3 && std::int64_t(out.shape(0)) == self.n_sets(size) &&
               int(out.shape(1)) == self.n_columns() + 1 && int(out.shape(2)) == self.n_classes(),
           "the output must have one line per set, one column more than there are, and the classes");
    const Released release;
    self.parts(codes, size, min_count, out.data());
}

void super_parent_sums(PyStore &self, const AnyArray &codes, const AnyArray &labels,
                       const std::optional<WeightArray> &weights, const std::vector<int> &order,
                       const std::string &kind, double strength, double unit, bool smooth_unseen, bool leave_out,
                       int n_jobs, const Doubles &out) {
    const Store &s = self.store;
    const scoring::Estimate estimate{smoothing_named(kind), strength, unit};
    expect(kind == "lidstone" || kind == "m", "pseudo-counts must be the same for all parents");
    expect(strength > 0 && unit > 0, "pseudo-counts and their unit must be positive");
    expect(s.pairs != nullptr, "pairs must be counted");
    check_spare(s, smooth_unseen);
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    bool each_once = int(sorted.size()) == s.n;
    for (int i = 0; each_once && i < s.n; ++i) each_once = sorted[i] == i;
    expect(each_once, "the order must name each column once");
    expect(out.ndim() == 1 && std::int64_t(out.shape(0)) == s.n, "the output must have one number per column");
    const Batch rows = as_batch(codes, labels, weights, s.n);
    const Released release;
    scoring::super_parent_sums(s, estimate, smooth_unseen, order, rows, leave_out, n_jobs, out.data());
}

}  // namespace
}  // namespace sums_bindings

void bind_sums(nb::module_ &m) {
    using namespace sums_bindings;
    nb::class_<SumOverRows>(m, "SumOverRows", "Averages over all sets of columns, counted in the learned rows.")
        .def("__init__", &make, nb::arg("codes"), nb::arg("labels"), nb::arg("weights").none(), nb::arg("n_values"),
             nb::arg("n_classes"), nb::arg("kind"), nb::arg("strength"), nb::arg("smooth_unseen"))
        .def("score", &score, nb::arg("codes"), nb::arg("out").noconvert(), nb::arg("size"), nb::arg("min_count"),
             nb::arg("log_joint") = false, nb::arg("priors") = std::vector<double>(),
             nb::arg("factors") = std::vector<double>(), nb::arg("labels").none() = nb::none(),
             nb::arg("weights").none() = nb::none(), nb::arg("n_jobs") = 1)
        .def("parts", &parts, nb::arg("codes"), nb::arg("out").noconvert(), nb::arg("size"), nb::arg("min_count"));
    m.def("super_parent_sums", &super_parent_sums, nb::arg("store"), nb::arg("codes"), nb::arg("labels"),
          nb::arg("weights").none(), nb::arg("order"), nb::arg("kind"), nb::arg("strength"), nb::arg("unit"),
          nb::arg("smooth_unseen"), nb::arg("leave_out"), nb::arg("n_jobs"), nb::arg("out").noconvert());
}
