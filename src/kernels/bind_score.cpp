// ScoringPlan and Compiled for Python. What a plan is made of is checked here, so that kernels can trust a plan.
#include <algorithm>
#include <memory>
#include <numeric>

#include "back_off.hpp"
#include "bind_left_out.hpp"
#include "bind_plan.hpp"
#include "bind_staging.hpp"
#include "compiled.hpp"
#include "learn_rows.hpp"
#include "score_rows.hpp"
#include "stream.hpp"
#include "threads.hpp"
#include "ties.hpp"

namespace score_bindings {
using namespace plan_bindings;
using namespace tanager::scoring;
using namespace arrays;

namespace {

using Families = std::vector<std::pair<int, std::vector<int>>>;
using Tally = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Weights as_fade(const std::optional<WeightArray> &fade, std::int64_t n_rows) {
    if (!fade) return {};
    expect(std::int64_t(fade->shape(0)) == n_rows, "there must be one factor to fade by per row");
    for (std::int64_t r = 0; r < n_rows; ++r)
        expect((*fade)(r) > 0 && (*fade)(r) <= 1, "a factor to fade by is above 0 and at most 1");
    return as_weights(fade, n_rows);
}

// Codes, labels and raw weights of rows that can leave a stream; the raw weights are written, too.
using Queue = std::tuple<AnyArray, AnyArray, TableArray>;

LeavingRows as_leaving(const std::optional<Queue> &queue, const std::optional<Integers> &n_leaving, std::int64_t n_rows,
                       int n_columns) {
    expect(queue.has_value() == n_leaving.has_value(), "a queue and the rows that leave it go together");
    if (!queue) return {};
    const auto &[codes_, labels_, raw] = *queue;
    const Codes codes = as_codes(codes_, n_columns), labels = as_labels(labels_, codes.n_rows);
    expect(raw.ndim() == 1 && std::int64_t(raw.shape(0)) == codes.n_rows && raw.dtype() == nb::dtype<double>() &&
               (codes.n_rows < 2 || raw.stride(0) == 1),
           "the queue must have one weight per row, float64 without gaps: they are written, too");
    const std::int64_t older = codes.n_rows - n_rows;
    expect(older >= 0, "the queue must end with the rows of the stream");
    expect(std::int64_t(n_leaving->shape(0)) == n_rows, "there must be one number of leaving rows per row");
    const std::int64_t *leaving = n_leaving->data();
    for (std::int64_t r = 0, left = older; r < n_rows; ++r) {
        expect(leaving[r] >= 0 && leaving[r] <= left + 1, "more rows leave the queue than were learned");
        left += 1 - leaving[r];
    }
    return {codes, labels, static_cast<double *>(raw.data()), leaving, n_rows};
}

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
void learn_all_strengths(PyPlan &self) {
    self.check_ready();
    expect(self.plan.estimate.learned, "strengths are learned of a learned back-off alone");
    self.marginal.reset();
    const Released release;
    self.plan.learn_strengths();
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
void score_marginal(PyPlan &self, const AnyArray &codes_, const Doubles &out_, bool log_joint,
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
    if (!self.marginal) self.marginal = std::make_unique<Marginal>(self.plan);
    const Released release;
    score_rows(self.plan, *self.marginal, codes, left_out, log_joint, n_jobs, out);
}
// The posterior of a single row, or logs of the joint.
nb::list one(PyPlan &self, const AnyArray &codes, bool log_joint) {
    self.check_ready();
    const Codes row = as_row(codes, self.plan.store.n);
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
// Learns one row; where its values or class are not known, nothing changes, and the answer is false. Before that the
// weights of `tally` grow: of rows learned, and since the last look, and (with `judge`) of those that the plan, and the
// majority of the rows so far, answer rightly. For counts that do not fade.
bool learn_judged(PyPlan &self, const AnyArray &codes, int label, double weight, const Tally &tally, bool judge) {
    self.check_ready();
    PyStore &kept = *self.store;
    const Store &store = self.plan.store;
    expect(tally.shape(0) == 4, "there are four weights to add to");
    expect(store.classes != nullptr, "rows are learned where classes are counted");
    const Codes row = as_row(codes, store.n);
    if (label < 0 || label >= store.k || !kept.values.read(row, 0, kept.slot.data())) return false;
    double *sums = tally.data();
    if (judge) {
        if (!self.single) self.single = std::make_unique<Scratch>(self.plan);
        self.plan.refresh_missing();
        self.plan.slots.read(row, 0, self.single->slot.data());
        self.proba.resize(std::size_t(store.k));
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
std::tuple<std::int64_t, double, int, bool> stream(PyPlan &self, const AnyArray &codes, const AnyArray &labels,
                                                   const std::optional<WeightArray> &weights, const Doubles &out_,
                                                   double unit, const std::optional<AnyArray> &answered,
                                                   const std::optional<WeightArray> &fade,
                                                   const std::optional<Queue> &queue,
                                                   const std::optional<Integers> &n_leaving,
                                                   const std::optional<Doubles> &member_scores, double keep,
                                                   const std::optional<Doubles> &own, bool keeps_half, bool stale) {
    self.check_ready();
    const int n = self.plan.store.n;
    Stream stream;
    stream.keeps_half = keeps_half, stream.stale = stale;
    stream.rows = as_batch(codes, labels, weights, n);
    const std::int64_t n_rows = stream.rows.n_rows();
    double *out = as_output(out_, n_rows, self.plan.store.k);
    if (answered) stream.answered = as_codes(*answered, n);
    expect(!answered || stream.answered->n_rows == n_rows, "as many rows are answered as are learned");
    stream.fade = as_fade(fade, n_rows);
    stream.leaving = as_leaving(queue, n_leaving, n_rows, n);
    if (member_scores) stream.member_scores = as_member_scores(self.plan, *member_scores);
    expect(keep > 0 && keep <= 1, "member scores are kept by a factor above 0 and at most 1");
    stream.keep = keep;
    if (own) stream.own = as_output(*own, n_rows, 1);
    expect(unit > 0 && std::isfinite(unit), "the unit must be positive");
    stream.unit = unit;
    nb::gil_scoped_release release;
    const StreamEnd end = test_then_train(self.plan, stream, out);
    return {end.n_done, end.unit, end.halved, end.stale};
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
    };
    return learn_strengths(gather_back_off(sizes, r, groups, 1.0, fill), start, prior, n_fixed);
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
        .def("score_marginal", &score_marginal, nb::arg("codes"), nb::arg("out").noconvert(),
             nb::arg("log_joint") = false, nb::arg("labels").none() = nb::none(),
             nb::arg("weights").none() = nb::none(), nb::arg("unit") = 1.0, nb::arg("n_jobs") = 1)
        .def("one", &one, nb::arg("codes"), nb::arg("log_joint") = false)
        .def("learn_judged", &learn_judged, nb::arg("codes"), nb::arg("label"), nb::arg("weight"),
             nb::arg("tally").noconvert(), nb::arg("judge") = true)
        .def("stream", &stream, nb::arg("codes"), nb::arg("labels"), nb::arg("weights").none(),
             nb::arg("out").noconvert(), nb::arg("unit") = 1.0, nb::arg("answered").none() = nb::none(),
             nb::arg("fade").noconvert().none() = nb::none(), nb::arg("queue").noconvert().none() = nb::none(),
             nb::arg("gone").noconvert().none() = nb::none(), nb::arg("member_scores").noconvert().none() = nb::none(),
             nb::arg("keep") = 1.0, nb::arg("own").noconvert().none() = nb::none(), nb::arg("keeps_half") = false,
             nb::arg("stale") = false)
        .def("rescale", &rescale, nb::arg("unit"))
        .def("learn_strengths", &learn_all_strengths)
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
    m.def("back_off_strengths", &back_off_strengths, nb::arg("tables"), nb::arg("start") = 1.0, nb::arg("n_fixed") = 0,
          nb::arg("prior") = 0.0);
    nb::class_<Compiled>(m, "Compiled", "A plan with every probability worked out.")
        .def("score", &compiled_score, nb::arg("codes"), nb::arg("out").noconvert(), nb::arg("log_joint") = false,
             nb::arg("n_jobs") = 1, nb::arg("labels").none() = nb::none())
        .def_prop_ro("nbytes", [](const Compiled &c) { return c.tables.size() * sizeof(double); });
}
