// Many rows of a staged plan that go on step by step, under a clock.
#pragma once
#include <chrono>
#include <memory>

#include "compiled.hpp"
#include "staging.hpp"

namespace tanager::scoring {

// Many rows on their way. Nothing is allocated after it is made, but for threads.
class Run {
  public:
    // Tables of the plan and of naive Bayes, or null: then counts are read.
    Run(std::shared_ptr<ScoringPlan> plan, const Staging &staging, const Codes &codes,
        std::shared_ptr<const Compiled> tables, std::shared_ptr<const Compiled> naive);
    // Naive Bayes for all rows the first time. Then rounds, in which every row that is not done gets its next member,
    // until there were `steps` of them or (steady clock, less what answering takes) the time is up; below 0: no limit.
    // While there is plenty of time, a row gets several members at a visit: the numbers of members may differ by as
    // many when it is up. True while some row could get another member.
    bool advance(std::int64_t steps, std::int64_t nanoseconds, int n_jobs);
    void answer(bool log_joint, double *out) const;
    bool begun() const { return begun_; }  // rows have answers
    template <class Integer>
    void used(Integer *out) const {
        for (std::int64_t r = 0; r < n_rows; ++r) out[r] = Integer(progress_[r].used);
    }

    const std::int64_t n_rows;
    const int n_classes;

  private:
    using Clock = std::chrono::steady_clock;
    struct Watch;
    template <class Reader>
    class Part;
    std::shared_ptr<ScoringPlan> plan_;
    Staging staging_;  // that of the plan, or with another limit and margin
    std::shared_ptr<const Compiled> tables_, naive_;
    std::unique_ptr<int[]> slot_;
    std::unique_ptr<double[]> total_, power_;
    std::unique_ptr<Progress[]> progress_;
    bool begun_ = false;

    double *total(std::int64_t r) const { return &total_[std::size_t(r) * n_classes]; }
    double *power(std::int64_t r) const { return &power_[std::size_t(r) * n_classes]; }
    int *slot(std::int64_t r) const { return &slot_[std::size_t(r) * plan_->store.n]; }
    Clock::duration answering(std::int64_t begin, std::int64_t end) const;
    void answer_row(std::int64_t r, bool log_joint, double *out) const;
};

}  // namespace tanager::scoring
