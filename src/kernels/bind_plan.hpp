// A scoring plan as an object of Python, with the counts that it reads.
#pragma once
#include <memory>

#include "bind_store.hpp"
#include "scoring_plan.hpp"

namespace tanager::scoring {
class Marginal;  // of another module
}

namespace plan_bindings {

using Sets = std::vector<std::vector<int>>;
using Tally = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct PyPlan {
    std::shared_ptr<PyStore> store;
    std::shared_ptr<tanager::scoring::ScoringPlan> shared;
    tanager::scoring::ScoringPlan &plan;
    bool has_form = false, ready = false;                  // product or sum was called; and has come to its end
    std::unique_ptr<tanager::scoring::Scratch> single;     // for `one`, which keeps the GIL
    std::vector<double> proba;                             // likewise
    std::shared_ptr<tanager::scoring::Marginal> marginal;  // for `score_marginal`
    nb::object tally_object;                               // the array that `learn_judged` added to last,
    Tally tally;                                           // and where its numbers are

    PyPlan(std::shared_ptr<PyStore> s, const std::string &kind, double strength, double unit, bool smooth_unseen,
           bool fast, double first, double prior)
        : store(std::move(s)), shared(std::make_shared<tanager::scoring::ScoringPlan>(
                                   store->store,
                                   tanager::scoring::Estimate{arrays::smoothing_named(kind), strength, unit,
                                                              first < 0 ? strength : first, kind == "learned", prior},
                                   smooth_unseen)),
          plan(*shared) {
        plan.fast = plan.fast && fast;
        check_spare(plan.store, smooth_unseen);
    }

    void check_set(const std::vector<int> &set, int child) const {
        for (std::size_t q = 0; q < set.size(); ++q) {
            arrays::expect(set[q] >= 0 && set[q] < plan.store.n && set[q] != child,
                           "a parent set names an impossible attribute");
            for (std::size_t u = 0; u < q; ++u)
                arrays::expect(set[u] != set[q], "a parent set names an attribute twice");
        }
    }
    void check_family(int child, const std::vector<int> &parents) const {
        arrays::expect(child >= 0 && child < plan.store.n, "a parent set belongs to an unknown attribute");
        check_set(parents, child);
    }
    void check_product(const std::vector<int> &child, const Sets &parents, const std::vector<double> &weight,
                       const Sets &only, const Sets &joined) const {
        arrays::expect(child.size() == parents.size() && child.size() == weight.size(), "one weight per parent set");
        arrays::expect(only.empty() || only.size() == child.size(),
                       "one set of classes per parent set, or none at all");
        for (std::size_t t = 0; t < child.size(); ++t) check_family(child[t], parents[t]);
        for (const auto &classes : only)
            for (int c : classes)
                arrays::expect(c >= 0 && c < plan.store.k, "a parent set applies to an unknown class");
        for (const auto &block : joined) check_set(block, -1);
    }
    // Working memory, compiled tables and runs are sized by the form, so that it cannot change under them. A form that
    // was refused half-way, as counts lack a family, leaves a plan that is not ready.
    template <class Set>
    void set_form(const Set &set) {
        arrays::expect(!has_form, "this plan is a product or a sum already");
        has_form = true;
        set();
        ready = true;
    }
    void check_ready() const { arrays::expect(ready, "this plan is neither a product nor a sum yet"); }
};

}  // namespace plan_bindings

// The plan behind an object; refused where it is none, or has no form yet.
inline tanager::scoring::ScoringPlan &plan_of(nb::handle object) {
    const auto &plan = nb::cast<const plan_bindings::PyPlan &>(object);
    plan.check_ready();
    return plan.plan;
}
