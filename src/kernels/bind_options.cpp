// What options of classifiers ask for, beyond plain answers: missing values summed out, strengths of a learned
// back-off, subsumption.
#include <cmath>

#include "back_off.hpp"
#include "bind_left_out.hpp"
#include "bind_plan.hpp"
#include "marginal.hpp"
#include "subsumption.hpp"

namespace option_bindings {
using namespace tanager;
using namespace tanager::scoring;
using namespace arrays;
using plan_bindings::PyPlan;

namespace {

void sum_out_missing(PyPlan &self, const AnyArray &codes_, const Doubles &out_, bool log_joint,
                     const std::optional<AnyArray> &labels, const std::optional<WeightArray> &weights, double unit,
                     int n_jobs) {
    bool single_network = !self.plan.sum_of_products;
    for (const Group &g : self.plan.groups)
        single_network = single_network && g.terms.size() + (g.base_weight > 0) <= 1;
    expect(single_network, "missing values are summed out of single networks only");
    self.check_ready();
    const Codes codes = as_codes(codes_, self.plan.store.n);
    double *out = as_output(out_, codes.n_rows, self.plan.store.k);
    const LeftOut left_out = as_left_out(labels, weights, unit, codes.n_rows);
    if (!self.marginal) self.marginal = std::make_shared<Marginal>(self.plan);
    const Released release;
    score_marginal(self.plan, *self.marginal, codes, left_out, log_joint, n_jobs, out);
}

void learn_all_strengths(PyPlan &self) {
    self.check_ready();
    expect(self.plan.estimate.learned, "strengths are learned of a learned back-off alone");
    self.marginal.reset();
    const Released release;
    learn_strengths(self.plan);
}

// The strengths of one family from tables of its levels, (groups, values of the parents ..., values of the child).
std::vector<double> back_off_strengths(const std::vector<AnyArray> &tables, double start, int n_fixed, double prior) {
    expect(!tables.empty() && tables[0].ndim() == 2, "the first level is a table of groups and values");
    expect(start >= 0 && std::isfinite(start), "a strength is a finite number of at least 0");
    expect(prior >= 0 && std::isfinite(prior), "a prior is a finite number of at least 0");
    expect(n_fixed >= 0 && std::size_t(n_fixed) <= tables.size(), "there are fewer levels than are to be fixed");
    std::vector<std::int64_t> shape{std::int64_t(tables[0].shape(0)), std::int64_t(tables[0].shape(1))};
    expect(shape[0] < 65536 && shape[1] < 65536, "there are too many values");
    std::vector<int> sizes;
    for (std::size_t l = 0; l < tables.size(); ++l) {
        expect(tables[l].ndim() == l + 2, "every level has one parent more than the one before");
        if (l > 0) {
            sizes.push_back(int(std::min<std::size_t>(tables[l].shape(l), 65536)));
            expect(sizes.back() < 65536, "there are too many values");
            shape.insert(shape.end() - 1, sizes.back());
        }
        check_table(tables[l], shape, "a level");
    }
    const int r = int(shape.back()), groups = int(shape[0]);
    const auto fill = [&](int level, const int *slot, double *out) {
        std::int64_t size = 1, at = 0;
        for (int q = 0; q < level; ++q) {
            at = at * sizes[q] + slot[q];
            size *= sizes[q];
        }
        const double *cells = static_cast<const double *>(tables[level].data());
        for (int v = 0; v < r; ++v)
            for (int y = 0; y < groups; ++y) *out++ = cells[(y * size + at) * r + v];
        return true;
    };
    return learn_strengths(gather_back_off(sizes, r, groups, 1.0, fill), start, prior, n_fixed);
}

void resolve(PyStore &self, const AnyArray &codes_, const TableArray &out_, double least, double unit,
             const std::optional<WeightArray> &left_out_, int n_jobs, bool gaps_differ) {
    const Store &s = self.store;
    expect(s.pairs != nullptr, "subsumption resolution needs pair counts");
    const Codes codes = as_codes(codes_, s.n);
    const Weights left_out = as_weights(left_out_, codes.n_rows);
    expect(out_.ndim() == 2 && std::int64_t(out_.shape(0)) == codes.n_rows && std::int64_t(out_.shape(1)) == s.n &&
               out_.dtype() == codes_.dtype(),
           "the output must have the shape and type of the codes");
    const auto size = std::ptrdiff_t(codes.code_size());
    const CodesOut out{static_cast<std::byte *>(out_.data()), out_.stride(0) * size, out_.stride(1) * size};
    const Released release;
    resolve_subsumption(s, codes, out, least, unit, left_out, n_jobs, gaps_differ);
}

}  // namespace
}  // namespace option_bindings

void bind_options(nb::module_ &m) {
    using namespace option_bindings;
    m.def("score_marginal", &sum_out_missing, nb::arg("plan"), nb::arg("codes"), nb::arg("out").noconvert(),
          nb::arg("log_joint") = false, nb::arg("labels").none() = nb::none(), nb::arg("weights").none() = nb::none(),
          nb::arg("unit") = 1.0, nb::arg("n_jobs") = 1);
    m.def("learn_strengths", &learn_all_strengths, nb::arg("plan"));
    m.def("back_off_strengths", &back_off_strengths, nb::arg("tables"), nb::arg("start") = 1.0, nb::arg("n_fixed") = 0,
          nb::arg("prior") = 0.0);
    m.def("resolve_subsumption", &resolve, nb::arg("store"), nb::arg("codes"), nb::arg("out").noconvert(),
          nb::arg("least"), nb::arg("unit") = 1.0, nb::arg("left_out").none() = nb::none(), nb::arg("n_jobs") = 1,
          nb::arg("gaps_differ") = false);
}
