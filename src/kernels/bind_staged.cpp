// Runs through the members of a staged plan, and their validation, for Python.
#include "bind_plan.hpp"
#include "bind_staging.hpp"
#include "staged_run.hpp"
#include "validate_blocks.hpp"

namespace staged_bindings {
using namespace tanager::scoring;
using namespace arrays;
using plan_bindings::PyPlan;

namespace {

using Tables = std::pair<std::shared_ptr<Compiled>, std::shared_ptr<Compiled>>;

struct PyRun {
    std::shared_ptr<void> store;  // the arrays behind the plan
    std::unique_ptr<Run> run;
};

// Whether tables could have been made of this plan.
bool fits(const Compiled &t, const ScoringPlan &p) {
    bool ok = t.n == p.store.n && t.answers == p.store.k && t.left_out == 0 && t.sum_of_products == p.sum_of_products &&
              t.members.size() == p.members.size() && t.groups.size() == p.groups.size();
    for (int i = 0; ok && i < t.n; ++i) ok = t.n_slots[i] == p.slots.limit[i] + 1;
    for (std::size_t q = 0; ok && q < t.members.size(); ++q) ok = t.members[q].attributes == p.members[q].attributes;
    for (std::size_t g = 0; ok && g < t.groups.size(); ++g)
        ok = t.groups[g].last == t.groups[g].first + 1 && t.terms[g].table == t.offsets[g] * t.stride;
    return ok;
}

void used(const PyRun &self, nb::ndarray<nb::ndim<1>, nb::c_contig, nb::device::cpu> out) {
    expect(std::int64_t(out.shape(0)) == self.run->n_rows, "there must be one number of members per row");
    if (out.dtype() == nb::dtype<std::int64_t>()) return self.run->used(static_cast<std::int64_t *>(out.data()));
    expect(out.dtype() == nb::dtype<std::int32_t>(), "numbers of members must be int32 or int64");
    self.run->used(static_cast<std::int32_t *>(out.data()));
}

void make_run(PyRun *self, const PyPlan &of, const AnyArray &codes_, const std::optional<Tables> &tables,
              std::optional<int> limit, std::optional<double> margin) {
    std::shared_ptr<ScoringPlan> plan = of.shared;
    expect(plan->staging != nullptr, "this plan is not staged");
    const Codes codes = as_codes(codes_, plan->store.n);
    Tables both;
    if (tables) both = *tables;
    expect(!tables || (fits(*both.first, *plan) && fits(*both.second, *plan->staging->naive)),
           "the tables belong to another plan");
    Staging staging = *plan->staging;
    staging.limit = limit.value_or(staging.limit);
    staging.margin = margin.value_or(staging.margin);
    check_limits(staging.limit, staging.margin);
    const Released release;
    auto run = std::make_unique<Run>(std::move(plan), staging, codes, both.first, both.second);
    new (self) PyRun{of.store, std::move(run)};
}

Judged as_judged(const std::string &lines) {
    if (lines == "alone") return Judged::alone;
    if (lines == "together") return Judged::together;
    expect(lines == "both", "members are judged alone, together or both");
    return Judged::both;
}

std::int64_t validate(PyPlan &self, const AnyArray &codes, const AnyArray &labels,
                      const std::optional<WeightArray> &weights, const Doubles &member_scores, bool leave_out,
                      double unit, std::int64_t begin, std::int64_t nanoseconds, int n_jobs, const std::string &judged,
                      KeptJoints *joints) {
    double *scores = as_member_scores(self.plan, member_scores);
    const Batch rows = as_batch(codes, labels, weights, self.plan.store.n);
    expect(begin >= 0 && begin <= rows.n_rows(), "the row to begin with is none of the rows");
    const Judged lines = as_judged(judged);
    const Released release;
    self.plan.refresh_missing();
    return tanager::scoring::validate_members(self.plan, rows, scores, leave_out, unit, begin, nanoseconds, n_jobs,
                                              lines, joints);
}

}  // namespace
}  // namespace staged_bindings

void bind_staged(nb::module_ &m) {
    using namespace staged_bindings;
    nb::class_<KeptJoints>(m, "KeptJoints", "Joints of members, from the pass that judges them alone to the next.")
        .def(nb::init<std::size_t>(), nb::arg("most_bytes"));
    nb::class_<PyRun>(m, "Run", "Rows that are scored by one member after the other.")
        .def("__init__", &make_run, nb::arg("plan"), nb::arg("codes"), nb::arg("tables").none() = nb::none(),
             nb::arg("limit").none() = nb::none(), nb::arg("margin").none() = nb::none())
        .def(
            "advance",
            [](PyRun &self, std::int64_t steps, std::int64_t nanoseconds, int n_jobs) {
                const Released release;
                return self.run->advance(steps, nanoseconds, n_jobs);
            },
            nb::arg("steps") = -1, nb::arg("nanoseconds") = -1, nb::arg("n_jobs") = 1)
        .def(
            "answer",
            [](const PyRun &self, const Doubles &out, bool log_joint) {
                expect(self.run->begun(), "a run has answers once it was advanced");
                double *to = as_output(out, self.run->n_rows, self.run->n_classes);
                const Released release;
                self.run->answer(log_joint, to);
            },
            nb::arg("out").noconvert(), nb::arg("log_joint") = false)
        .def("used", &used, nb::arg("out").noconvert());
    m.def("validate_members", &validate, nb::arg("plan"), nb::arg("codes"), nb::arg("labels"),
          nb::arg("weights").none(), nb::arg("member_scores").noconvert(), nb::arg("leave_out"), nb::arg("unit") = 1.0,
          nb::arg("begin") = 0, nb::arg("nanoseconds") = -1, nb::arg("n_jobs") = 1, nb::arg("judged") = "both",
          nb::arg("joints").none() = nb::none());
}
