// Factors of rows that are left out, for Python.
#include "bind_left_out.hpp"
#include "bind_plan.hpp"
#include "left_out_factors.hpp"

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
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_left_out_rows(const PyPlan &self, const Codes &codes, const LeftOut &left_out, const Table &log_prior) {
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
                                             const std::optional<WeightArray> &weights, const Table &log_prior,
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
                                                 const Table &log_prior, double least_log, double unit) {
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

std::vector<std::shared_ptr<Factor>> block_factors(PyPlan &self, const Sets &blocks, const Factors &over,
                                                   const AnyArray &codes_, const AnyArray &labels,
                                                   const Table &log_prior, double least_log) {
    const Codes codes = as_codes(codes_, self.plan.store.n);
    const LeftOut left_out = as_left_out(labels, std::nullopt, 1, codes.n_rows);
    check_left_out_rows(self, codes, left_out, log_prior);
    check_over(self, over, blocks.size(), codes.n_rows);
    expect(self.plan.estimate.constant() && self.plan.estimate.strength > 0,
           "blocks are counted from rows with constant and positive pseudo-counts");
    LeftOutFactors made(self.plan, codes, left_out, log_prior.data(), least_log);
    for (const auto &block : blocks) {
        self.check_set(block, -1);
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
}
