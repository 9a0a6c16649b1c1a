// Batches of rows scored straight from the counts.
#pragma once
#include <optional>

#include "batch.hpp"
#include "interrupt.hpp"
#include "scoring_plan.hpp"
#include "threads.hpp"

namespace tanager::scoring {

// Rows that are left out of the counts while they are answered: their classes and weights. Without labels, or where a
// label is none of the classes, a row is answered from all counts.
struct LeftOut {
    std::optional<Codes> labels;
    Weights weights;
    double unit = 1;

    int class_of(std::int64_t r, int k) const {
        const int y = labels ? labels->at(r) : -1;
        return y < k ? y : -1;
    }
    double weight(std::int64_t r) const { return unit * weights[r]; }
};

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
            check_interrupt(r);
            plan.slots.read(codes, r, slot.data());
            const int y = left_out.class_of(r, k);
            score(slot.data(), y, y < 0 ? 0 : left_out.weight(r), out + r * k);
        }
    };
    parallel_rows(codes.n_rows, n_jobs, rows, 256);
}

// Posteriors, or log joints, of all rows.
void score_rows(ScoringPlan &plan, const Codes &codes, const LeftOut &left_out, bool log_joint, int n_jobs,
                double *out);
// Whether so many rows are read together, by what they have in common, and no tables of probabilities beat that.
bool beats_tables(const ScoringPlan &plan, std::int64_t n_rows, bool left_out);
// P(x_child | y, parents) of one term for every row; NaN where one of them is missing.
void term_values(const ScoringPlan &plan, const Term &term, const Codes &codes, const LeftOut &left_out, double *out);

}  // namespace tanager::scoring
