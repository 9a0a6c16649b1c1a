#include "score_rows.hpp"

#include "threads.hpp"

namespace tanager::scoring {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Calls score(slots, own class or -1, weight to leave out, answer) for every row; `make` makes one for each thread.
template <class Make>
void each_row(ScoringPlan &plan, const Codes &codes, const LeftOut &left_out, int n_jobs, double *out,
              const Make &make) {
    const int k = plan.store.k;
    plan.refresh_missing();
    const auto rows = [&](std::int64_t begin, std::int64_t end) {
        auto score = make();
        std::vector<int> slot(plan.store.n);
        for (std::int64_t r = begin; r < end; ++r) {
            plan.slots.read(codes, r, slot.data());
            const int y = left_out.class_of(r, k);
            score(slot.data(), y, y < 0 ? 0 : left_out.weight(r), out + r * k);
        }
    };
    parallel_rows(codes.n_rows, n_jobs, rows, 256);
}

}  // namespace

void score_rows(ScoringPlan &plan, const Codes &codes, const LeftOut &left_out, bool log_joint, int n_jobs,
                double *out) {
    each_row(plan, codes, left_out, n_jobs, out, [&] {
        return [&, w = Scratch(plan)](const int *slot, int y, double minus, double *answer) mutable {
            plan.score(slot, y, minus, log_joint, answer, w);
        };
    });
}

void score_rows(ScoringPlan &plan, const Marginal &marginal, const Codes &codes, const LeftOut &left_out,
                bool log_joint, int n_jobs, double *out) {
    each_row(plan, codes, left_out, n_jobs, out, [&] {
        return [&, w = Marginal::Work(marginal)](const int *slot, int y, double minus, double *answer) mutable {
            if (!marginal.score(slot, y, minus, log_joint, answer, w)) std::fill_n(answer, plan.store.k, nan);
        };
    });
}

void term_values(const ScoringPlan &plan, const Term &term, const Codes &codes, const LeftOut &left_out, double *out) {
    const Store &s = plan.store;
    std::vector<int> slot(s.n), members = term.parents;  // no other column is looked at
    members.push_back(term.child);
    std::vector<double> sub(s.k, 0.0);
    for (std::int64_t r = 0; r < codes.n_rows; ++r, out += s.k) {
        const int y = left_out.class_of(r, s.k);
        const double minus = y < 0 ? 0 : left_out.weight(r);
        if (y >= 0) sub[y] = minus;
        for (int i : members) {
            const int code = codes.at(r, i);
            slot[i] = code < plan.slots.limit[i] ? code : plan.slots.missing[i];
        }
        if (!term_value(s, plan.estimate, plan.terms, term, slot.data(), sub.data(), minus, out))
            std::fill_n(out, s.k, nan);
        if (y >= 0) sub[y] = 0;
    }
}

}  // namespace tanager::scoring
