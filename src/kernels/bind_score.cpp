// ScoringPlan and Compiled for Python. What a plan is made of is checked here, so that kernels can trust a plan.
#include <memory>

#include "back_off.hpp"
#include "bind_folds.hpp"
#include "bind_left_out.hpp"
#include "bind_plan.hpp"
#include "bind_staged.hpp"
#include "bind_store.hpp"
#include "compiled.hpp"
#include "left_out_factors.hpp"
#include "member_validation.hpp"
#include "plan_folds.hpp"
#include "score_rows.hpp"
#include "stream.hpp"
#include "threads.hpp"

namespace score_bindings {
using namespace staged_bindings;
using namespace tanager::scoring;
using tanager::Factor;
using namespace arrays;

namespace {

using Sets = std::vector<std::vector<int>>;
using Families = std::vector<std::pair<int, std::vector<int>>>;
using Product =
    std::tuple<std::vector<int>, Sets, std::vector<double>, Sets, Sets>;  // child, parents, weight, only, joined
using Factors = std::vector<std::vector<const Factor *>>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

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

struct PyPlan {
    std::shared_ptr<PyStore> store;
    std::shared_ptr<ScoringPlan> shared;
    ScoringPlan &plan;
    bool has_form = false, ready = false;  // product or sum was called; and has come to its end
    std::unique_ptr<Scratch> single;       // for `one`, which keeps the GIL
    std::unique_ptr<Marginal> marginal;

    PyPlan(std::shared_ptr<PyStore> s, const std::string &kind, double strength, double unit, bool smooth_unseen,
           bool fast, double first, double prior)
        : store(std::move(s)),
          shared(std::make_shared<ScoringPlan>(
              store->store,
              Estimate{smoothing_named(kind), strength, unit, first < 0 ? strength : first, kind == "learned", prior},
              smooth_unseen)),
          plan(*shared) {
        plan.fast = plan.fast && fast;
        check_spare(plan.store, smooth_unseen);
    }

    // --- what it is ---------------------------------------------------------------------------------------------

    void check_set(const std::vector<int> &set, int child) const {
        for (std::size_t q = 0; q < set.size(); ++q) {
            expect(set[q] >= 0 && set[q] < plan.store.n && set[q] != child,
                   "a parent set names an impossible attribute");
            for (std::size_t u = 0; u < q; ++u) expect(set[u] != set[q], "a parent set names an attribute twice");
        }
    }
    void check_family(int child, const std::vector<int> &parents) const {
        expect(child >= 0 && child < plan.store.n, "a parent set belongs to an unknown attribute");
        check_set(parents, child);
    }
    void check_product(const std::vector<int> &child, const Sets &parents, const std::vector<double> &weight,
                       const Sets &only, const Sets &joined) const {
        expect(child.size() == parents.size() && child.size() == weight.size(), "one weight per parent set");
        expect(only.empty() || only.size() == child.size(), "one set of classes per parent set, or none at all");
        for (std::size_t t = 0; t < child.size(); ++t) check_family(child[t], parents[t]);
        for (const auto &classes : only)
            for (int c : classes) expect(c >= 0 && c < plan.store.k, "a parent set applies to an unknown class");
        for (const auto &block : joined) check_set(block, -1);
    }
    // Working memory, compiled tables and runs are sized by the form, so that it cannot change under them. A form that
    // was refused half-way, as counts lack a family, leaves a plan that is not ready.
    template <class Set>
    void set_form(const Set &set) {
        expect(!has_form, "this plan is a product or a sum already");
        has_form = true;
        set();
        ready = true;
    }
    void check_ready() const { expect(ready, "this plan is neither a product nor a sum yet"); }
    void product(const std::vector<int> &child, const Sets &parents, const std::vector<double> &weight,
                 const std::vector<int> &class_parents, const Sets &only, const Families &free, const Sets &joined) {
        check_product(child, parents, weight, only, joined);
        check_set(class_parents, -1);
        for (const auto &[i, set] : free) check_family(i, set);
        set_form([&] {
            plan.joined = joined;
            plan.set_class_parents(class_parents);
            plan.set_product(child, parents, weight, only);
            plan.free = free;
        });
    }
    void sum(const Sets &sets, const std::vector<double> &weight, double min_count,
             const std::optional<std::vector<int>> &children) {
        expect(sets.size() == weight.size(), "one weight per member");
        std::vector<char> is_child(plan.store.n, !children);
        if (children) {
            check_set(*children, -1);
            for (int i : *children) is_child[i] = 1;
        }
        for (const auto &set : sets) {
            expect(!set.empty() && set.size() < 8, "a member has one to seven super-parents");
            check_set(set, -1);
        }
        set_form([&] { plan.set_sum(sets, weight, min_count, is_child); });
    }
    void otherwise(const PyPlan &other) {
        expect(other.store == store, "the plan to fall back on must read the same counts");
        other.check_ready();
        for (const ScoringPlan *p = other.shared.get(); p; p = p->otherwise.get())
            expect(p != shared.get(), "a plan cannot fall back on itself");
        expect(!plan.staging || few_super_parents(other.plan), kFewSuperParents);
        plan.otherwise = other.shared;
        single.reset();
    }
    void staged(const PyPlan &naive, const std::string &mix, int limit, double margin) {
        expect(naive.store == store, "the plan to begin with must read the same counts");
        check_ready();
        naive.check_ready();
        stage(plan, naive.shared, mix, limit, margin);
        single.reset();
    }
    void classes(const std::vector<double> &priors, const std::vector<double> &factor) {
        const std::size_t k = plan.store.k;
        expect((priors.empty() || priors.size() == k) && (factor.empty() || factor.size() == k),
               "one number per class");
        plan.priors = priors;
        plan.class_factor = factor;
        single.reset();
    }
    void learn_strengths() {
        check_ready();
        expect(plan.estimate.learned, "strengths are learned of a learned back-off alone");
        marginal.reset();
        const Released release;
        plan.learn_strengths();
    }
    void set_strengths(const std::vector<double> &all) {
        check_ready();
        expect(plan.estimate.learned, "strengths are learned of a learned back-off alone");
        for (double c : all) expect(c >= 0 && std::isfinite(c), "a strength is a finite number of at least 0");
        marginal.reset();
        expect(plan.set_strengths(all), "there must be one strength per level of every term, then of the class");
    }
    void rescale(double unit) {
        expect(unit > 0 && std::isfinite(unit), "the unit must be positive");
        plan.rescale(unit);
    }

    // --- answers ------------------------------------------------------------------------------------------------

    void score(const AnyArray &codes_, const Doubles &out_, bool log_joint, const std::optional<AnyArray> &labels,
               const std::optional<WeightArray> &weights, double unit, int n_jobs) {
        check_ready();
        const Codes codes = as_codes(codes_, plan.store.n);
        double *out = as_output(out_, codes.n_rows, plan.store.k);
        const LeftOut left_out = as_left_out(labels, weights, unit, codes.n_rows);
        const Released release;
        score_rows(plan, codes, left_out, log_joint, n_jobs, out);
    }
    void score_marginal(const AnyArray &codes_, const Doubles &out_, bool log_joint,
                        const std::optional<AnyArray> &labels, const std::optional<WeightArray> &weights, double unit,
                        int n_jobs) {
        bool single_network = !plan.sum_of_products;
        for (const Group &g : plan.groups) single_network = single_network && g.terms.size() + (g.base_weight > 0) <= 1;
        expect(single_network, "missing values are summed out of single networks only");
        check_ready();
        const Codes codes = as_codes(codes_, plan.store.n);
        double *out = as_output(out_, codes.n_rows, plan.store.k);
        const LeftOut left_out = as_left_out(labels, weights, unit, codes.n_rows);
        if (!marginal) marginal = std::make_unique<Marginal>(plan);
        const Released release;
        score_rows(plan, *marginal, codes, left_out, log_joint, n_jobs, out);
    }
    // The posterior of a single row, or logs of the joint.
    nb::list one(const AnyArray &codes, bool log_joint) {
        check_ready();
        const Codes row = as_row(codes, plan.store.n);
        if (!single) single = std::make_unique<Scratch>(plan);
        plan.refresh_missing();
        plan.slots.read(row, 0, single->slot.data());
        double few[16];
        std::vector<double> many(plan.store.k > 16 ? plan.store.k : 0);
        double *out = plan.store.k > 16 ? many.data() : few;
        plan.score(single->slot.data(), -1, 0, log_joint, out, *single);
        nb::list answer;
        for (int c = 0; c < plan.store.k; ++c) answer.append(out[c]);
        return answer;
    }
    std::tuple<std::int64_t, double, int, bool> stream(const AnyArray &codes, const AnyArray &labels,
                                                       const std::optional<WeightArray> &weights, const Doubles &out_,
                                                       double unit, const std::optional<AnyArray> &answered,
                                                       const std::optional<WeightArray> &fade,
                                                       const std::optional<Queue> &queue,
                                                       const std::optional<Integers> &n_leaving,
                                                       const std::optional<Doubles> &member_scores, double keep,
                                                       const std::optional<Doubles> &own, bool keeps_half, bool stale) {
        check_ready();
        const int n = plan.store.n;
        Stream stream;
        stream.keeps_half = keeps_half, stream.stale = stale;
        stream.rows = as_batch(codes, labels, weights, n);
        const std::int64_t n_rows = stream.rows.n_rows();
        double *out = as_output(out_, n_rows, plan.store.k);
        if (answered) stream.answered = as_codes(*answered, n);
        expect(!answered || stream.answered->n_rows == n_rows, "as many rows are answered as are learned");
        stream.fade = as_fade(fade, n_rows);
        stream.leaving = as_leaving(queue, n_leaving, n_rows, n);
        if (member_scores) stream.member_scores = as_member_scores(plan, *member_scores);
        expect(keep > 0 && keep <= 1, "member scores are kept by a factor above 0 and at most 1");
        stream.keep = keep;
        if (own) stream.own = as_output(*own, n_rows, 1);
        expect(unit > 0 && std::isfinite(unit), "the unit must be positive");
        stream.unit = unit;
        nb::gil_scoped_release release;
        const StreamEnd end = test_then_train(plan, stream, out);
        return {end.n_done, end.unit, end.halved, end.stale};
    }
    double right_in_folds(const AnyArray &codes, const AnyArray &labels, const Table &dealt, int n_jobs) {
        check_ready();
        const Store &s = plan.store;
        const tanager::FoldedRows rows = as_folded(codes, labels, dealt, s.n, s.k);
        expect(plan.estimate.unit == 1 && std::all_of(s.classes, s.classes + s.k, [](double x) { return x == 0; }),
               "a plan is cross-validated over counts that are empty");
        const Released release;
        const double right = tanager::scoring::right_in_folds(plan, rows, n_jobs);
        expect(!std::isnan(right), "a row has a value that these counts do not know");
        return right;
    }
    void parts(const AnyArray &codes_, const Doubles &out) {
        check_ready();
        const Codes codes = as_codes(codes_, plan.store.n);
        expect(out.size() == std::size_t(codes.n_rows) * plan.n_parts(),
               "the output must have one line per row, member and term");
        nb::gil_scoped_release release;
        plan.parts(codes, out.data());
    }
    void term(int number, const AnyArray &codes_, const Doubles &out_, const std::optional<AnyArray> &labels,
              const std::optional<WeightArray> &weights, double unit) {
        check_ready();
        const Codes codes = as_codes(codes_, plan.store.n);
        double *out = as_output(out_, codes.n_rows, plan.store.k);
        expect(number >= 0 && number < int(plan.terms.size()), "there is no such term");
        const LeftOut left_out = as_left_out(labels, weights, unit, codes.n_rows);
        const Released release;
        term_values(plan, plan.terms[number], codes, left_out, out);
    }
    // Factors of products over the same counts, with the same estimates; `over` are factors that each is divided by.
    std::vector<std::shared_ptr<Factor>> factors(const std::vector<Product> &products, const Factors &over,
                                                 const AnyArray &codes_, const AnyArray &labels,
                                                 const std::optional<WeightArray> &weights, const Table &log_prior,
                                                 double least_log, double unit) {
        const Codes codes = as_codes(codes_, plan.store.n);
        const LeftOut left_out = as_left_out(labels, weights, unit, codes.n_rows);
        check_left_out_rows(codes, left_out, log_prior);
        check_over(over, products.size(), codes.n_rows);
        for (const auto &[child, parents, weight, only, joined] : products)
            check_product(child, parents, weight, only, joined);
        std::vector<std::shared_ptr<Factor>> out;
        const Released release;
        LeftOutFactors made(plan, codes, left_out, log_prior.data(), least_log);
        for (std::size_t f = 0; f < products.size(); ++f) {
            tanager::check_interrupt();
            const auto &[child, parents, weight, only, joined] = products[f];
            out.push_back(made.make({child, parents, weight, only, joined}, over[f]));
        }
        return out;
    }
    std::vector<std::shared_ptr<Factor>> block_factors(const Sets &blocks, const Factors &over, const AnyArray &codes_,
                                                       const AnyArray &labels, const Table &log_prior,
                                                       double least_log) {
        const Codes codes = as_codes(codes_, plan.store.n);
        const LeftOut left_out = as_left_out(labels, std::nullopt, 1, codes.n_rows);
        check_left_out_rows(codes, left_out, log_prior);
        check_over(over, blocks.size(), codes.n_rows);
        expect(plan.estimate.constant() && plan.estimate.strength > 0,
               "blocks are counted from rows with constant and positive pseudo-counts");
        LeftOutFactors made(plan, codes, left_out, log_prior.data(), least_log);
        for (const auto &block : blocks) {
            check_set(block, -1);
            expect(std::is_sorted(block.begin(), block.end()), "the columns of a block must be in order");
            for (const int i : block) expect(made.has_values(i), "blocks are counted from rows without missing values");
        }
        std::vector<std::shared_ptr<Factor>> out;
        const Released release;
        for (std::size_t f = 0; f < blocks.size(); ++f) {
            tanager::check_interrupt();
            out.push_back(made.make_block(blocks[f], over[f]));
        }
        return out;
    }
    void check_left_out_rows(const Codes &codes, const LeftOut &left_out, const Table &log_prior) const {
        const int k = plan.store.k;
        expect(std::int64_t(log_prior.shape(0)) == codes.n_rows && int(log_prior.shape(1)) == k,
               "the prior needs one number per row and class");
        for (std::int64_t r = 0; r < codes.n_rows; ++r)
            expect(left_out.class_of(r, k) >= 0, "a label is none of the classes");
    }
    void check_over(const Factors &over, std::size_t n, std::int64_t n_rows) const {
        expect(over.size() == n, "one list of factors to divide by per product");
        for (const auto &own : over)
            for (const Factor *factor : own)
                expect(std::int64_t(factor->lines->size()) == n_rows && factor->k == plan.store.k,
                       "a factor to divide by has other rows or classes");
    }
    Families terms() const {
        Families out;
        for (const Term &t : plan.terms) out.emplace_back(t.child, t.parents);
        return out;
    }

    // --- staged -------------------------------------------------------------------------------------------------

    PyRun run(const AnyArray &codes, const std::optional<Tables> &tables, std::optional<int> limit,
              std::optional<double> margin) const {
        return make_run(store, shared, codes, tables, limit, margin);
    }
    std::int64_t validate_members(const AnyArray &codes, const AnyArray &labels,
                                  const std::optional<WeightArray> &weights, const Doubles &member_scores,
                                  bool leave_out, double unit, std::int64_t begin, std::int64_t nanoseconds, int n_jobs,
                                  const std::string &judged, KeptJoints *joints) {
        double *scores = as_member_scores(plan, member_scores);
        const Batch rows = as_batch(codes, labels, weights, plan.store.n);
        expect(begin >= 0 && begin <= rows.n_rows(), "the row to begin with is none of the rows");
        const Judged lines = as_judged(judged);
        const Released release;
        plan.refresh_missing();
        return tanager::scoring::validate_members(plan, rows, scores, leave_out, unit, begin, nanoseconds, n_jobs,
                                                  lines, joints);
    }

    // --- compiled -----------------------------------------------------------------------------------------------

    Compiled compile(bool leave_out) const {
        check_ready();
        expect(!leave_out || (plan.estimate.constant() && plan.estimate.strength > 0 && plan.priors.empty()),
               "to leave rows out, pseudo-counts must be constant and positive, and no priors given");
        return Compiled(plan, leave_out ? plan.estimate.unit : 0);
    }
};

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

tanager::scoring::ScoringPlan &plan_of(nb::handle object) {
    const auto &plan = nb::cast<const score_bindings::PyPlan &>(object);
    plan.check_ready();
    return plan.plan;
}

void bind_score(nb::module_ &m) {
    using namespace score_bindings;
    nb::class_<PyPlan>(m, "ScoringPlan", "How a classifier reads the counts of a Store.")
        .def(nb::init<std::shared_ptr<PyStore>, const std::string &, double, double, bool, bool, double, double>(),
             nb::arg("store"), nb::arg("kind"), nb::arg("strength"), nb::arg("unit") = 1.0,
             nb::arg("smooth_unseen") = false, nb::arg("fast") = true, nb::arg("first") = -1.0, nb::arg("prior") = 0.0)
        .def("product", &PyPlan::product, nb::arg("child"), nb::arg("parents"), nb::arg("weight"),
             nb::arg("class_parents") = std::vector<int>{}, nb::arg("only") = Sets{}, nb::arg("free") = Families{},
             nb::arg("joined") = Sets{})
        .def("sum", &PyPlan::sum, nb::arg("sets"), nb::arg("weight"), nb::arg("min_count"),
             nb::arg("children").none() = nb::none())
        .def("otherwise", &PyPlan::otherwise, nb::arg("plan"))
        .def("staged", &PyPlan::staged, nb::arg("naive"), nb::arg("mix"), nb::arg("limit") = -1,
             nb::arg("margin") = std::numeric_limits<double>::infinity())
        .def("run", &PyPlan::run, nb::arg("codes"), nb::arg("tables").none() = nb::none(),
             nb::arg("limit").none() = nb::none(), nb::arg("margin").none() = nb::none())
        .def("validate_members", &PyPlan::validate_members, nb::arg("codes"), nb::arg("labels"),
             nb::arg("weights").none(), nb::arg("member_scores").noconvert(), nb::arg("leave_out"),
             nb::arg("unit") = 1.0, nb::arg("begin") = 0, nb::arg("nanoseconds") = -1, nb::arg("n_jobs") = 1,
             nb::arg("judged") = "both", nb::arg("joints").none() = nb::none())
        .def("classes", &PyPlan::classes, nb::arg("priors"), nb::arg("factor"))
        .def("score", &PyPlan::score, nb::arg("codes"), nb::arg("out").noconvert(), nb::arg("log_joint") = false,
             nb::arg("labels").none() = nb::none(), nb::arg("weights").none() = nb::none(), nb::arg("unit") = 1.0,
             nb::arg("n_jobs") = 1)
        .def("score_marginal", &PyPlan::score_marginal, nb::arg("codes"), nb::arg("out").noconvert(),
             nb::arg("log_joint") = false, nb::arg("labels").none() = nb::none(),
             nb::arg("weights").none() = nb::none(), nb::arg("unit") = 1.0, nb::arg("n_jobs") = 1)
        .def("one", &PyPlan::one, nb::arg("codes"), nb::arg("log_joint") = false)
        .def("stream", &PyPlan::stream, nb::arg("codes"), nb::arg("labels"), nb::arg("weights").none(),
             nb::arg("out").noconvert(), nb::arg("unit") = 1.0, nb::arg("answered").none() = nb::none(),
             nb::arg("fade").noconvert().none() = nb::none(), nb::arg("queue").noconvert().none() = nb::none(),
             nb::arg("gone").noconvert().none() = nb::none(), nb::arg("member_scores").noconvert().none() = nb::none(),
             nb::arg("keep") = 1.0, nb::arg("own").noconvert().none() = nb::none(), nb::arg("keeps_half") = false,
             nb::arg("stale") = false)
        .def("rescale", &PyPlan::rescale, nb::arg("unit"))
        .def("learn_strengths", &PyPlan::learn_strengths)
        .def("strengths", [](const PyPlan &p) { return p.plan.strengths(); })
        .def("set_strengths", &PyPlan::set_strengths, nb::arg("all"))
        .def("right_in_folds", &PyPlan::right_in_folds, nb::arg("codes"), nb::arg("labels"), nb::arg("dealt"),
             nb::arg("n_jobs") = 1)
        .def("parts", &PyPlan::parts, nb::arg("codes"), nb::arg("out").noconvert())
        .def("term", &PyPlan::term, nb::arg("number"), nb::arg("codes"), nb::arg("out").noconvert(),
             nb::arg("labels").none() = nb::none(), nb::arg("weights").none() = nb::none(), nb::arg("unit") = 1.0)
        .def("terms", &PyPlan::terms)
        .def("block_factors", &PyPlan::block_factors, nb::arg("blocks"), nb::arg("over"), nb::arg("codes"),
             nb::arg("labels"), nb::arg("log_prior"), nb::arg("least_log"))
        .def("factors", &PyPlan::factors, nb::arg("products"), nb::arg("over"), nb::arg("codes"), nb::arg("labels"),
             nb::arg("weights").none(), nb::arg("log_prior"), nb::arg("least_log"), nb::arg("unit") = 1.0)
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
        .def("compile", &PyPlan::compile, nb::arg("leave_out") = false, nb::call_guard<Released>());
    m.def("back_off_strengths", &back_off_strengths, nb::arg("tables"), nb::arg("start") = 1.0, nb::arg("n_fixed") = 0,
          nb::arg("prior") = 0.0);
    nb::class_<Compiled>(m, "Compiled", "A plan with every probability worked out.")
        .def("score", &compiled_score, nb::arg("codes"), nb::arg("out").noconvert(), nb::arg("log_joint") = false,
             nb::arg("n_jobs") = 1, nb::arg("labels").none() = nb::none())
        .def_prop_ro("nbytes", [](const Compiled &c) { return c.tables.size() * sizeof(double); });
}
