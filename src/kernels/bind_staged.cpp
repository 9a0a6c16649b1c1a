#include "bind_staged.hpp"

namespace staged_bindings {
using namespace tanager::scoring;
using namespace arrays;

namespace {

Mix mix_of(const std::string &mix) {
    if (mix == "joint") return Mix::joint;
    if (mix == "posterior") return Mix::posterior;
    expect(mix == "replace", "members are mixed as joint, posterior or replace");
    return Mix::replace;
}

bool is_naive(const ScoringPlan &p) {
    bool naive = !p.sum_of_products && p.class_parents.empty() && int(p.groups.size()) == p.store.n;
    for (const Group &g : p.groups) naive = naive && g.terms.empty() && g.classes.empty() && g.base_weight == 1;
    return naive;
}

bool alike(const Estimate &a, const Estimate &b) {
    return a.kind == b.kind && a.strength == b.strength && a.first == b.first && a.learned == b.learned;
}

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

void check_limits(int limit, double margin) {
    expect(limit >= -1, "a limit is a number of members, or -1 for all");
    expect(margin >= 0, "a margin is a difference of logs, at least 0");
}

}  // namespace

bool few_super_parents(const ScoringPlan &plan) {
    const auto few = [](const Member &m) { return m.attributes.size() <= 2; };
    return std::all_of(plan.members.begin(), plan.members.end(), few) &&
           (!plan.otherwise || few_super_parents(*plan.otherwise));
}

void stage(ScoringPlan &plan, std::shared_ptr<ScoringPlan> naive, const std::string &mix, int limit, double margin) {
    check_limits(limit, margin);
    expect(plan.sum_of_products, "only the members of a sum can be staged");
    expect(few_super_parents(plan), kFewSuperParents);
    expect(std::all_of(plan.is_child.begin(), plan.is_child.end(), [](char child) { return child; }),
           "a staged sum has all columns as children");
    expect(is_naive(*naive) && alike(naive->estimate, plan.estimate) && naive->slots.limit == plan.slots.limit,
           "the plan to begin with must be naive Bayes over all columns, with the same smoothing");
    naive->rescale(plan.estimate.unit);
    plan.staging = std::make_shared<Staging>(Staging{std::move(naive), mix_of(mix), limit, margin});
}

PyRun make_run(std::shared_ptr<void> store, std::shared_ptr<ScoringPlan> plan, const AnyArray &codes_,
               const std::optional<Tables> &tables, std::optional<int> limit, std::optional<double> margin) {
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
    return {std::move(store), std::make_unique<Run>(std::move(plan), staging, codes, both.first, both.second)};
}

double *as_member_scores(const ScoringPlan &plan, const Doubles &scores) {
    expect(plan.staging != nullptr, "this plan is not staged");
    expect(scores.ndim() == 2 && scores.shape(0) == 6 && scores.shape(1) == plan.members.size() + 1,
           "member scores must have six rows, and one column more than members");
    return scores.data();
}

Judged as_judged(const std::string &lines) {
    if (lines == "alone") return Judged::alone;
    if (lines == "together") return Judged::together;
    expect(lines == "both", "members are judged alone, together or both");
    return Judged::both;
}

}  // namespace staged_bindings

void bind_staged(nb::module_ &m) {
    using namespace staged_bindings;
    nb::class_<KeptJoints>(m, "KeptJoints", "Joints of members, from the pass that judges them alone to the next.")
        .def(nb::init<std::size_t>(), nb::arg("most_bytes"));
    nb::class_<PyRun>(m, "Run", "Rows that are scored by one member after the other.")
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
}
