// Averages over all trees, for Python.
#include <cmath>

#include "bind_left_out.hpp"
#include "bind_store.hpp"
#include "trees.hpp"

namespace trees_bindings {
using namespace tanager;
using namespace arrays;
using trees::TreePrior;
using trees::TreeRows;

namespace {

// Log weights of every two columns: (n, n), finite.
const double *as_log_weights(const AnyArray &array, const Store &s) {
    check_table(array, {s.n, s.n}, "log_weights");
    const auto *numbers = static_cast<const double *>(array.data());
    for (std::int64_t at = 0; at < std::int64_t(s.n) * s.n; ++at)
        expect(std::isfinite(numbers[at]), "log_weights must be finite");
    return numbers;
}

TreePrior as_prior(const Store &s, double ess, double unit, double most_range) {
    expect(s.pairs != nullptr, "an average over trees needs pair counts");
    expect(ess > 0 && std::isfinite(ess), "the equivalent sample size must be positive");
    expect(unit > 0 && std::isfinite(unit), "the unit must be positive");
    expect(most_range > 0, "the range must be positive");
    return {ess, unit, most_range};
}

void tree_weights(const PyStore &self, const Doubles &out, double ess, double unit, int n_jobs) {
    const Store &s = self.store;
    const TreePrior prior = as_prior(s, ess, unit, 1);
    double *to = as_output(out, s.n, s.n);
    const Released release;
    trees::log_weights(s, prior, to, n_jobs);
}

void tree_sums(const PyStore &self, const AnyArray &log_weights_, const AnyArray &codes, const Doubles &out, double ess,
               double unit, double most_range, bool smooth_unseen, const std::optional<AnyArray> &labels,
               const std::optional<WeightArray> &weights, int n_jobs) {
    const Store &s = self.store;
    const TreePrior prior = as_prior(s, ess, unit, most_range);
    const double *log_weights = as_log_weights(log_weights_, s);
    TreeRows rows{as_codes(codes, s.n), {}, smooth_unseen};
    rows.left_out = as_left_out(labels, weights, unit, rows.codes.n_rows);
    double *to = as_output(out, rows.codes.n_rows, s.k);
    check_spare(s, smooth_unseen);
    const Released release;
    trees::log_tree_sums(s, prior, log_weights, rows, n_jobs, to);
}

void tree_steps(const PyStore &self, const AnyArray &log_weights, const AnyArray &codes, int c, const Doubles &log_sum,
                const Doubles &shares, double ess, double unit, double most_range, bool smooth_unseen) {
    const Store &s = self.store;
    const TreePrior prior = as_prior(s, ess, unit, most_range);
    const TreeRows row{as_codes(codes, s.n), {}, smooth_unseen};
    expect(row.codes.n_rows == 1, "steps are given for one row");
    expect(c >= 0 && c < s.k, "there is no such class");
    check_spare(s, smooth_unseen);
    trees::tree_steps(s, prior, as_log_weights(log_weights, s), row, c, as_output(log_sum, 1, s.n),
                      as_output(shares, s.n, s.n));
}

}  // namespace
}  // namespace trees_bindings

void bind_trees(nb::module_ &m) {
    using namespace trees_bindings;
    using nb::arg;
    m.def("tree_weights", &tree_weights, arg("store"), arg("out").noconvert(), arg("ess"), arg("unit") = 1.0,
          arg("n_jobs") = 1);
    m.def("tree_sums", &tree_sums, arg("store"), arg("log_weights"), arg("codes"), arg("out").noconvert(), arg("ess"),
          arg("unit") = 1.0, arg("most_range") = HUGE_VAL, arg("smooth_unseen") = false,
          arg("labels").none() = nb::none(), arg("weights").none() = nb::none(), arg("n_jobs") = 1);
    m.def("tree_steps", &tree_steps, arg("store"), arg("log_weights"), arg("codes"), arg("c"),
          arg("log_sum").noconvert(), arg("shares").noconvert(), arg("ess"), arg("unit") = 1.0,
          arg("most_range") = HUGE_VAL, arg("smooth_unseen") = false);
}
