// Turns of a plan for Python: what Plan hands over here is checked, and Run is what it gets back.
#pragma once
#include "anytime.hpp"
#include "bind_arrays.hpp"

using Tables = std::pair<std::shared_ptr<tanager::scoring::Compiled>, std::shared_ptr<tanager::scoring::Compiled>>;

struct PyRun {
    std::shared_ptr<void> store;  // the arrays behind the plan
    std::unique_ptr<tanager::scoring::Run> run;
};

void set_in_turn(tanager::scoring::Plan &plan, std::shared_ptr<tanager::scoring::Plan> naive, const std::string &mix,
                 int limit, double margin);
PyRun make_run(std::shared_ptr<void> store, std::shared_ptr<tanager::scoring::Plan> plan, const arrays::AnyArray &codes,
               const std::optional<Tables> &tables, std::optional<int> limit, std::optional<double> margin);
double *as_judged(const tanager::scoring::Plan &plan, const arrays::Doubles &judged);
std::int64_t judge_rows(tanager::scoring::Plan &plan, const arrays::AnyArray &codes, const arrays::AnyArray &labels,
                        const std::optional<arrays::Weights> &weights, const arrays::Doubles &judged, bool leave_out,
                        double unit, std::int64_t begin, std::int64_t nanoseconds, int n_jobs);
void bind_run(nb::module_ &m);
