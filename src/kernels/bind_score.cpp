// ScoringPlan and Compiled for Python. What a plan is made of is checked here, so that kernels can trust a plan.
#include <algorithm>
#include <memory>
#include <numeric>

#include "bind_left_out.hpp"
#include "bind_plan.hpp"
#include "bind_staging.hpp"
#include "compiled.hpp"
#include "learn_rows.hpp"
#include "score_rows.hpp"
#include "threads.hpp"
#include "ties.hpp"

namespace score_bindings {
using namespace plan_bindings;
using namespace tanager::scoring;
using namespace arrays;

namespace {

using Families = std::vector<std::pair<int, std::vector<int>>>;

// --- what it is -------------------------------------------------------------------------------------------------

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

inline constexpr const char *kFewSuperParents = "a staged member has one or two super-parents";

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

void product(PyPlan &self, const std::vector<int> &child, const Sets &parents, const std::vector<double> &weight,
             const std::vector<int> &class_parents, const Sets &only, const Families &free, const Sets &joined) {
    self.check_product(child, parents, weight, only, joined);
    self.check_set(class_parents, -1);
    for (const auto &[i, set] : free) self.check_family(i, set);
    self.set_form([&] {
        self.plan.joined = joined;
        self.plan.set_class_parents(class_parents);
        self.plan.set_product(child, parents, weight, only);
        self.plan.free = free;
    });
}
void sum(PyPlan &self, const Sets &sets, const std::vector<double> &weight, double min_count,
         const std::optional<std::vector<int>> &children) {
    expect(sets.size() == weight.size(), "one weight per member");
    std::vector<char> is_child(self.plan.store.n, !children);
    if (children) {
        self.check_set(*children, -1);
        for (int i : *children) is_child[i] = 1;
    }
    for (const auto &set : sets) {
        expect(!set.empty() && set.size() < 8, "a member has one to seven super-parents");
        self.check_set(set, -1);
    }
    self.set_form([&] { self.plan.set_sum(sets, weight, min_count, is_child); });
}
void otherwise(PyPlan &self, const PyPlan &other) {
    expect(other.store == self.store, "the plan to fall back on must read the same counts");
    other.check_ready();
    for (const ScoringPlan *p = other.shared.get(); p; p = p->otherwise.get())
        expect(p != self.shared.get(), "a plan cannot fall back on itself");
    expect(!self.plan.staging || few_super_parents(other.plan), kFewSuperParents);
    self.plan.otherwise = other.shared;
    self.single.reset();
}
void staged(PyPlan &self, const PyPlan &naive, const std::string &mix, int limit, double margin) {
    expect(naive.store == self.store, "the plan to begin with must read the same counts");
    self.check_ready();
    naive.check_ready();
    stage(self.plan, naive.shared, mix, limit, margin);
    self.single.reset();
}
void classes(PyPlan &self, const std::vector<double> &priors, const std::vector<double> &factor) {
    const std::size_t k = self.plan.store.k;
    expect((priors.empty() || priors.size() == k) && (factor.empty() || factor.size() == k), "one number per class");
    self.plan.priors = priors;
    self.plan.class_factor = factor;
    self.single.reset();
}
void set_strengths(PyPlan &self, const std::vector<double> &all) {
    self.check_ready();
    expect(self.plan.estimate.learned, "strengths are learned of a learned back-off alone");
    for (double c : all) expect(c >= 0 && std::isfinite(c), "a strength is a finite number of at least 0");
    self.marginal.reset();
    expect(self.plan.set_strengths(all), "there must be one strength per level of every term, then of the class");
}
void rescale(PyPlan &self, double unit) {
    expect(unit > 0 && std::isfinite(unit), "the unit must be positive");
    self.plan.rescale(unit);
}

// --- answers ------------------------------------------------------------------------------------------------

void score(PyPlan &self, const AnyArray &codes_, const Doubles &out_, bool log_joint,
           const std::optional<AnyArray> &labels, const std::optional<WeightArray> &weights, double unit, int n_jobs) {
    self.check_ready();
    const Codes codes = as_codes(codes_, self.plan.store.n);
    double *out = as_output(out_, codes.n_rows, self.plan.store.k);
    const LeftOut left_out = as_left_out(labels, weights, unit, codes.n_rows);
    const Released release;
    score_rows(self.plan, codes, left_out, log_joint, n_jobs, out);
}
// The posterior of a single row, or logs of the joint.
nb::list one(PyPlan &self, nb::handle codes, bool log_joint) {
    self.check_ready();
    const RowOfCodes row(codes, self.plan.store.n);
    if (!self.single) self.single = std::make_unique<Scratch>(self.plan);
    self.plan.refresh_missing();
    self.plan.slots.read(row, 0, self.single->slot.data());
    double few[16];
    std::vector<double> many(self.plan.store.k > 16 ? self.plan.store.k : 0);
    double *out = self.plan.store.k > 16 ? many.data() : few;
    self.plan.score(self.single->slot.data(), -1, 0, log_joint, out, *self.single);
    nb::list answer;
    for (int c = 0; c < self.plan.store.k; ++c) answer.append(out[c]);
    return answer;
}
// The posterior of a single row whose log joint gains what some plans say of it, and loses what others do. Where every
// class is impossible, all are alike.
nb::list one_changed(PyPlan &self, nb::handle codes, const std::vector<PyPlan *> &plus,
                     const std::vector<PyPlan *> &minus) {
    const RowOfCodes row(codes, self.plan.store.n);
    const auto k = std::size_t(self.plan.store.k);
    std::vector<double> joint(k, 0.0), own(k);
    const auto add = [&](PyPlan &other, double sign) {
        other.check_ready();
        expect(&other.plan.store == &self.plan.store, "plans that are added up read the same counts");
        if (!other.single) other.single = std::make_unique<Scratch>(other.plan);
        other.plan.refresh_missing();
        other.plan.slots.read(row, 0, other.single->slot.data());
        other.plan.score(other.single->slot.data(), -1, 0, true, own.data(), *other.single);
        for (std::size_t c = 0; c < k; ++c) joint[c] += sign * own[c];
    };
    add(self, 1);
    for (PyPlan *other : plus) {
        expect(other != nullptr, "a plan that is added is None");
        add(*other, 1);
    }
    for (PyPlan *other : minus) {
        expect(other != nullptr, "a plan that is taken away is None");
        add(*other, -1);
    }
    constexpr double least = -1e300;
    double best = least, sum = 0;
    for (double &x : joint) {
        x = x > least ? x : least;
        best = std::max(best, x);
    }
    for (double &x : joint) sum += x = std::exp(x - best);
    nb::list answer;
    for (const double x : joint) answer.append(x / sum);
    return answer;
}
// Learns row `r`; where its values or class are not known, nothing changes, and the answer is false. Before that the
// weights of `sums` grow: of rows learned, and since the last look, and (with `judge`) of those that the plan, and the
// majority of the rows so far, answer rightly. For counts that do not fade.
bool judge_and_learn(PyPlan &self, const Codes &codes, std::int64_t r, int label, double weight, double *sums,
                     bool judge) {
    PyStore &kept = *self.store;
    const Store &store = self.plan.store;
    if (label < 0 || label >= store.k || !kept.values.read(codes, r, kept.slot.data())) return false;
    if (judge) {
        self.plan.refresh_missing();
        self.plan.slots.read(codes, r, self.single->slot.data());
        self.plan.score(self.single->slot.data(), -1, 0, false, self.proba.data(), *self.single);
        const double *counts = store.classes, *proba = self.proba.data();
        const double rows = std::accumulate(counts, counts + store.k, 0.0) + store.k;
        const double most = (*std::max_element(counts, counts + store.k) + 1) / rows;
        if (proba[label] >= *std::max_element(proba, proba + store.k) - tanager::kSameProbability) sums[2] += weight;
        if ((counts[label] + 1) / rows >= most - tanager::kSameProbability) sums[3] += weight;
    }
    learn_one(kept.store, kept.slot.data(), label, weight, kept.cell.data());
    sums[0] += weight;
    sums[1] += weight;
    return true;
}
double *as_tally(PyPlan &self, nb::handle tally) {
    self.check_ready();
    expect(self.plan.store.classes != nullptr, "rows are learned where classes are counted");
    if (!self.tally_object.is(tally)) {  // single rows come with the same one
        Tally own;
        if (!nb::try_cast(tally, own, false)) refuse("the weights to add to must be a float64 array");
        expect(own.shape(0) == 4, "there are four weights to add to");
        self.tally = own;
        self.tally_object = nb::borrow(tally);
    }
    if (!self.single) self.single = std::make_unique<Scratch>(self.plan);
    self.proba.resize(std::size_t(self.plan.store.k));
    return self.tally.data();
}
// The weight since the last look; below 0 where the row is not learned.
double learn_judged(PyPlan &self, nb::handle codes, int label, double weight, nb::handle tally, bool judge) {
    double *sums = as_tally(self, tally);
    const RowOfCodes row(codes, self.plan.store.n);
    return judge_and_learn(self, row, 0, label, weight, sums, judge) ? sums[1] : -1.0;
}
// The same for rows, one after the other, up to one that is not learned; how many were.
std::int64_t learn_rows_judged(PyPlan &self, const AnyArray &codes, const AnyArray &labels,
                               const std::optional<WeightArray> &weights, nb::handle tally, bool judge) {
    double *sums = as_tally(self, tally);
    const Batch rows = as_batch(codes, labels, weights, self.plan.store.n);
    std::int64_t r = 0;
    while (r < rows.n_rows() && judge_and_learn(self, rows.codes, r, rows.labels.at(r), rows.weights[r], sums, judge))
        ++r;
    return r;
}
void parts(PyPlan &self, const AnyArray &codes_, const Doubles &out) {
    self.check_ready();
    const Codes codes = as_codes(codes_, self.plan.store.n);
    expect(out.size() == std::size_t(codes.n_rows) * self.plan.n_parts(),
           "the output must have one line per row, member and term");
    nb::gil_scoped_release release;
    self.plan.parts(codes, out.data());
}
void term(PyPlan &self, int number, const AnyArray &codes_, const Doubles &out_, const std::optional<AnyArray> &labels,
          const std::optional<WeightArray> &weights, double unit) {
    self.check_ready();
    const Codes codes = as_codes(codes_, self.plan.store.n);
    double *out = as_output(out_, codes.n_rows, self.plan.store.k);
    expect(number >= 0 && number < int(self.plan.terms.size()), "there is no such term");
    const LeftOut left_out = as_left_out(labels, weights, unit, codes.n_rows);
    const Released release;
    term_values(self.plan, self.plan.terms[number], codes, left_out, out);
}
Families terms(const PyPlan &self) {
    Families out;
    for (const Term &t : self.plan.terms) out.emplace_back(t.child, t.parents);
    return out;
}

Compiled compile(const PyPlan &self, bool leave_out) {
    self.check_ready();
    expect(!leave_out || (self.plan.estimate.constant() && self.plan.estimate.strength > 0 && self.plan.priors.empty()),
           "to leave rows out, pseudo-counts must be constant and positive, and no priors given");
    return Compiled(self.plan, leave_out ? self.plan.estimate.unit : 0);
}

void compiled_score(const Compiled &self, const AnyArray &codes_, const Doubles &out_, bool log_joint, int n_jobs,
                    std::optional<AnyArray> labels_) {
    const Codes codes = as_codes(codes_, self.n);
    double *out = as_output(out_, codes.n_rows, self.answers);
    Codes labels;
    expect(labels_.has_value() == (self.left_out > 0), "labels go with tables that leave rows out, and only with them");
    if (labels_) labels = as_labels(*labels_, codes.n_rows);
    for (std::int64_t r = 0; r < codes.n_rows && labels_; ++r)
        expect(labels.at(r) < self.answers, "a label is none of the classes");
    const Released release;
    tanager::parallel_rows(codes.n_rows, n_jobs, [&](std::int64_t begin, std::int64_t end) {
        self.score(codes, labels_ ? &labels : nullptr, begin, end, log_joint, out);
    });
}

}  // namespace
}  // namespace score_bindings

void bind_score(nb::module_ &m) {
    using namespace score_bindings;
    nb::class_<PyPlan>(m, "ScoringPlan", "How a classifier reads the counts of a Store.")
        .def(nb::init<std::shared_ptr<PyStore>, const std::string &, double, double, bool, bool, double, double>(),
             nb::arg("store"), nb::arg("kind"), nb::arg("strength"), nb::arg("unit") = 1.0,
             nb::arg("smooth_unseen") = false, nb::arg("fast") = true, nb::arg("first") = -1.0, nb::arg("prior") = 0.0)
        .def("product", &product, nb::arg("child"), nb::arg("parents"), nb::arg("weight"),
             nb::arg("class_parents") = std::vector<int>{}, nb::arg("only") = Sets{}, nb::arg("free") = Families{},
             nb::arg("joined") = Sets{})
        .def("sum", &sum, nb::arg("sets"), nb::arg("weight"), nb::arg("min_count"),
             nb::arg("children").none() = nb::none())
        .def("otherwise", &otherwise, nb::arg("plan"))
        .def("staged", &staged, nb::arg("naive"), nb::arg("mix"), nb::arg("limit") = -1,
             nb::arg("margin") = std::numeric_limits<double>::infinity())
        .def("classes", &classes, nb::arg("priors"), nb::arg("factor"))
        .def("score", &score, nb::arg("codes"), nb::arg("out").noconvert(), nb::arg("log_joint") = false,
             nb::arg("labels").none() = nb::none(), nb::arg("weights").none() = nb::none(), nb::arg("unit") = 1.0,
             nb::arg("n_jobs") = 1)
        .def("one", &one, nb::arg("codes"), nb::arg("log_joint") = false)
        .def("one_changed", &one_changed, nb::arg("codes"), nb::arg("plus"), nb::arg("minus"))
        .def("learn_judged", &learn_judged, nb::arg("codes"), nb::arg("label"), nb::arg("weight"), nb::arg("tally"),
             nb::arg("judge") = true)
        .def("learn_rows_judged", &learn_rows_judged, nb::arg("codes"), nb::arg("labels"), nb::arg("weights").none(),
             nb::arg("tally"), nb::arg("judge") = true)
        .def("rescale", &rescale, nb::arg("unit"))
        .def("strengths", [](const PyPlan &p) { return p.plan.strengths(); })
        .def("set_strengths", &set_strengths, nb::arg("all"))
        .def("parts", &parts, nb::arg("codes"), nb::arg("out").noconvert())
        .def("term", &term, nb::arg("number"), nb::arg("codes"), nb::arg("out").noconvert(),
             nb::arg("labels").none() = nb::none(), nb::arg("weights").none() = nb::none(), nb::arg("unit") = 1.0)
        .def("terms", &terms)
        .def(
            "n_cells", [](const PyPlan &p, bool leave_out) { return Compiled::n_cells(p.plan, leave_out); },
            nb::arg("leave_out") = false)
        .def(
            "beats_tables",
            [](PyPlan &p, std::int64_t n_rows, bool left_out) {
                p.plan.refresh_missing();
                return beats_tables(p.plan, n_rows, left_out);
            },
            nb::arg("n_rows"), nb::arg("left_out") = false)
        .def("n_reads", [](const PyPlan &p) { return Compiled::n_reads(p.plan); })
        .def("compile", &compile, nb::arg("leave_out") = false, nb::call_guard<Released>());
    nb::class_<Compiled>(m, "Compiled", "A plan with every probability worked out.")
        .def("score", &compiled_score, nb::arg("codes"), nb::arg("out").noconvert(), nb::arg("log_joint") = false,
             nb::arg("n_jobs") = 1, nb::arg("labels").none() = nb::none())
        .def_prop_ro("nbytes", [](const Compiled &c) { return c.tables.size() * sizeof(double); });
}
