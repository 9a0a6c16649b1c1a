// Factors of rows that are left out, for Python.
#include "bind_left_out.hpp"
#include "bind_plan.hpp"
#include "wrapper_search.hpp"

namespace factors_bindings {
using namespace tanager::scoring;
using namespace arrays;
using plan_bindings::PyPlan;
using plan_bindings::Sets;
using tanager::Factor;

namespace {

// child, parents, weight, only, joined
using Product = std::tuple<std::vector<int>, Sets, std::vector<double>, Sets, Sets>;
using Factors = std::vector<std::vector<const Factor *>>;

void check_left_out_rows(const PyPlan &self, const Codes &codes, const LeftOut &left_out, const LogJoint &log_prior) {
    const int k = self.plan.store.k;
    expect(std::int64_t(log_prior.shape(0)) == codes.n_rows && int(log_prior.shape(1)) == k,
           "the prior needs one number per row and class");
    for (std::int64_t r = 0; r < codes.n_rows; ++r)
        expect(left_out.class_of(r, k) >= 0, "a label is none of the classes");
}

void check_over(const PyPlan &self, const Factors &over, std::size_t n, std::int64_t n_rows) {
    expect(over.size() == n, "one list of factors to divide by per product");
    for (const auto &own : over)
        for (const Factor *factor : own)
            expect(std::int64_t(factor->lines->size()) == n_rows && factor->k == self.plan.store.k,
                   "a factor to divide by has other rows or classes");
}

// Factors of products over the same counts, with the same estimates; `over` are factors that each is divided by.
std::vector<std::shared_ptr<Factor>> factors(PyPlan &self, const std::vector<Product> &products, const Factors &over,
                                             const AnyArray &codes_, const AnyArray &labels,
                                             const std::optional<WeightArray> &weights, const LogJoint &log_prior,
                                             double least_log, double unit) {
    const Codes codes = as_codes(codes_, self.plan.store.n);
    const LeftOut left_out = as_left_out(labels, weights, unit, codes.n_rows);
    check_left_out_rows(self, codes, left_out, log_prior);
    check_over(self, over, products.size(), codes.n_rows);
    for (const auto &[child, parents, weight, only, joined] : products)
        self.check_product(child, parents, weight, only, joined);
    std::vector<std::shared_ptr<Factor>> out;
    const Released release;
    LeftOutFactors made(self.plan, codes, left_out, log_prior.data(), least_log);
    for (std::size_t f = 0; f < products.size(); ++f) {
        tanager::check_interrupt();
        const auto &[child, parents, weight, only, joined] = products[f];
        out.push_back(made.make({child, parents, weight, only, joined}, over[f]));
    }
    return out;
}

// P(child | y, parent) in place of P(child | y) for pairs (parent, child); `alone` are the factors P(x_i | y) of all
// columns. As `factors`, in fewer words: a search tries every arc.
std::vector<std::shared_ptr<Factor>> arc_factors(PyPlan &self, const std::vector<std::pair<int, int>> &arcs,
                                                 const std::vector<const Factor *> &alone, const AnyArray &codes_,
                                                 const AnyArray &labels, const std::optional<WeightArray> &weights,
                                                 const LogJoint &log_prior, double least_log, double unit) {
    const Codes codes = as_codes(codes_, self.plan.store.n);
    const LeftOut left_out = as_left_out(labels, weights, unit, codes.n_rows);
    check_left_out_rows(self, codes, left_out, log_prior);
    check_over(self, {alone}, 1, codes.n_rows);
    expect(int(alone.size()) == self.plan.store.n, "one factor for each column alone");
    for (const auto &[parent, child] : arcs) self.check_family(child, {parent});
    std::vector<std::shared_ptr<Factor>> out;
    const Released release;
    LeftOutFactors made(self.plan, codes, left_out, log_prior.data(), least_log);
    for (const auto &[parent, child] : arcs) {
        tanager::check_interrupt();
        out.push_back(made.make({{child}, {{parent}}, {1.0}, {}, {}}, {alone[std::size_t(child)]}));
    }
    return out;
}

void check_counts_blocks(const PyPlan &self) {
    expect(self.plan.estimate.constant() && self.plan.estimate.strength > 0,
           "blocks are counted from rows with constant and positive pseudo-counts");
}

void check_values(LeftOutFactors &made, int column) {
    expect(made.has_values(column), "blocks are counted from rows without missing values");
}

std::vector<std::shared_ptr<Factor>> block_factors(PyPlan &self, const Sets &blocks, const Factors &over,
                                                   const AnyArray &codes_, const AnyArray &labels,
                                                   const LogJoint &log_prior, double least_log) {
    const Codes codes = as_codes(codes_, self.plan.store.n);
    const LeftOut left_out = as_left_out(labels, std::nullopt, 1, codes.n_rows);
    check_left_out_rows(self, codes, left_out, log_prior);
    check_over(self, over, blocks.size(), codes.n_rows);
    check_counts_blocks(self);
    LeftOutFactors made(self.plan, codes, left_out, log_prior.data(), least_log);
    for (const auto &block : blocks) {
        self.check_set(block, -1);
        expect(std::is_sorted(block.begin(), block.end()), "the columns of a block must be in order");
        for (const int i : block) check_values(made, i);
    }
    std::vector<std::shared_ptr<Factor>> out;
    const Released release;
    for (std::size_t f = 0; f < blocks.size(); ++f) {
        tanager::check_interrupt();
        out.push_back(made.make_block(blocks[f], over[f]));
    }
    return out;
}

// What a search is about: answers to learned rows by a product, which it goes on from.
SearchedAnswers as_searched(const LogJoint &joint, const AnyArray &labels, const std::optional<WeightArray> &weights,
                            const std::vector<int> &preference, const SearchOptions &options, const LogJoint &like) {
    expect(joint.shape(0) == like.shape(0) && joint.shape(1) == like.shape(1),
           "the joint needs one number per row and class");
    expect(options.total > 0, "rows must weigh something");
    return SearchedAnswers(as_answered(joint, labels, weights, preference), options);
}

// `once`: the part of the weight of a row that is left out.
std::vector<int> grow_tree(PyPlan &self, const Promising &promising, bool by_super_parent, const AnyArray &codes_,
                           const AnyArray &labels, const std::optional<WeightArray> &once, const LogJoint &log_prior,
                           double least_log, double unit, const LogJoint &joint,
                           const std::optional<WeightArray> &weights, const std::vector<int> &preference, double total,
                           bool log_loss, double min_gain, int n_jobs) {
    const Codes codes = as_codes(codes_, self.plan.store.n);
    const LeftOut left_out = as_left_out(labels, once, unit, codes.n_rows);
    check_left_out_rows(self, codes, left_out, log_prior);
    for (const auto &[parent, children] : promising) {
        for (const int child : children) self.check_family(child, {parent});
        expect(std::is_sorted(children.begin(), children.end()), "children must be in order");
    }
    SearchedAnswers answers =
        as_searched(joint, labels, weights, preference, {log_loss, min_gain, total, n_jobs}, log_prior);
    const Released release;
    LeftOutFactors made(self.plan, codes, left_out, log_prior.data(), least_log);
    return tanager::scoring::search_tree(made, answers, self.plan.store.n, promising, by_super_parent);
}

using Steps = std::vector<std::pair<Sets, double>>;
Steps join_blocks(PyPlan &self, bool backward, const std::vector<double> &n_cells, int most_columns, double most_cells,
                  std::size_t cached_bytes, const AnyArray &codes_, const AnyArray &labels, const LogJoint &log_prior,
                  double least_log, const LogJoint &joint, const std::vector<int> &preference, double total,
                  bool log_loss, double min_gain, int n_jobs) {
    const Codes codes = as_codes(codes_, self.plan.store.n);
    const LeftOut left_out = as_left_out(labels, std::nullopt, 1, codes.n_rows);
    check_left_out_rows(self, codes, left_out, log_prior);
    check_counts_blocks(self);
    expect(int(n_cells.size()) == self.plan.store.n, "one number of cells per column");
    SearchedAnswers answers =
        as_searched(joint, labels, std::nullopt, preference, {log_loss, min_gain, total, n_jobs}, log_prior);
    LeftOutFactors made(self.plan, codes, left_out, log_prior.data(), least_log);
    for (int i = 0; i < self.plan.store.n; ++i) check_values(made, i);
    const Released release;
    Steps steps;
    const JoiningOptions options{backward, n_cells, std::size_t(std::max(0, most_columns)), most_cells, cached_bytes};
    for (auto &step : tanager::scoring::search_blocks(made, answers, options))
        steps.emplace_back(std::move(step.chosen), step.criterion);
    return steps;
}

}  // namespace
}  // namespace factors_bindings

void bind_factors(nb::module_ &m) {
    using namespace factors_bindings;
    using nb::arg;
    m.def("block_factors", &block_factors, arg("plan"), arg("blocks"), arg("over"), arg("codes"), arg("labels"),
          arg("log_prior"), arg("least_log"));
    m.def("arc_factors", &arc_factors, arg("plan"), arg("arcs"), arg("alone"), arg("codes"), arg("labels"),
          arg("weights").none(), arg("log_prior"), arg("least_log"), arg("unit") = 1.0);
    m.def("factors", &factors, arg("plan"), arg("products"), arg("over"), arg("codes"), arg("labels"),
          arg("weights").none(), arg("log_prior"), arg("least_log"), arg("unit") = 1.0);
    m.def("search_tree", &grow_tree, arg("plan"), arg("promising"), arg("by_super_parent"), arg("codes"), arg("labels"),
          arg("once").none(), arg("log_prior"), arg("least_log"), arg("unit"), arg("joint"), arg("weights").none(),
          arg("preference"), arg("total"), arg("log_loss"), arg("min_gain"), arg("n_jobs"));
    m.def("search_blocks", &join_blocks, arg("plan"), arg("backward"), arg("n_cells"), arg("most_columns"),
          arg("most_cells"), arg("cached_bytes"), arg("codes"), arg("labels"), arg("log_prior"), arg("least_log"),
          arg("joint"), arg("preference"), arg("total"), arg("log_loss"), arg("min_gain"), arg("n_jobs"));
}
