// Naive Bayes first, then the members of a sum of products, one after the other: there is an answer after every step.
//
// Step 0 is naive Bayes. Every further step adds the next member that speaks for the row; those that do not are passed
// over and cost no step. Where none of the plan's own members had anything to say, the members of the sum that it falls
// back on follow. How what was heard is mixed:
//
//   joint      (P_nb + sum w P_s) / (1 + sum w), on joint probabilities
//   posterior  the same mean of posteriors; a member that gives no class a chance says nothing
//   replace    naive Bayes alone, until there is something to take its place: sum w P_s / sum w
//
// A row is done when all members were heard, or `limit` of them, or when after two steps in a row the same class was
// ahead of all others by more than `margin` in log-odds.
#pragma once
#include <chrono>
#include <memory>

#include "compiled.hpp"

namespace tanager::scoring {

enum class Mix { joint, posterior, replace };

struct Turn {
    std::shared_ptr<Plan> naive;
    Mix mix = Mix::joint;
    int limit = -1;  // members, -1: all
    double margin = std::numeric_limits<double>::infinity();
};

// How far a row has come.
struct Progress {
    double weight = 1;   // what its total is to be divided by
    double spoken = 0;   // the weight of the members heard of its stage
    int stage = 0;       // whose members are next: those of the plan itself, or of a sum that it falls back on
    int next = -1;       // the next member that speaks, -1 where the row is done
    int used = 0;        // members heard
    int leader = -1;     // the class that was ahead by more than the margin after the last step
    bool heard = false;  // a member gave some class a chance
};

// Reads one row straight from the counts: naive Bayes, or one member, as mantissas and powers of two.
class CountReader {
  public:
    bool half = false;  // only the lower triangle of the pairs is kept, as streams do

    explicit CountReader(const Plan &plan);
    // The row, and what is left out of the counts for it. Must be called again where counts have changed.
    void start(const int *slot, int left_out_class = -1, double left_out = 0);
    int next(int stage, int from);  // the first member from there on that speaks, -1 where none does
    double weight(int stage, int q) const { return stages_[stage]->members[q].weight; }
    int n_stages() const { return int(stages_.size()); }
    void naive(double *m, double *e);
    void member(int stage, int q, double *m, double *e);                                 // its joint times its weight
    const double *factor() const { return factor_.empty() ? nullptr : factor_.data(); }  // of the classes, if any
    const double *sub() const { return sub_.data(); }

  private:
    const Plan &plan_, &naive_;
    std::vector<const Plan *> stages_;
    const int *slot_ = nullptr;
    int left_out_class_ = -1;
    double left_out_ = 0, rows_ = 0, least_cell_ = 1, most_total_ = 0;
    bool quick_ = false;               // pseudo-counts are the same for all parents
    int calm_ = 1;                     // factors to multiply between two looks at the exponent
    std::vector<int> safe_, careful_;  // attributes present that never were missing, and the others
    std::vector<std::int64_t> cell_;
    const double *found_ = nullptr;  // counts of the member that was found last, until it is read
    int n_found_ = 0;                // its children, and where their counts are
    std::vector<const double *> own_;
    std::vector<int> child_;
    std::vector<double> sub_, count_, reciprocal_, once_, flat_, pseudo_, prior_, factor_;

    void prepare_pseudo();
    void alone(int i, double *out) const;
    void find_children(const Plan &p, int q);
    template <int Fixed>
    void read_naive(double *m, double *e);
    template <int Fixed>
    void read_member(const Plan &p, int q, double *m, double *e);
    template <int Fixed>
    void multiply_safe(const Plan &p, double *m, double *e);
    template <int Fixed, bool LeaveOut>
    void multiply_safe(const Plan &p, double *m, double *e);
    template <int Fixed>
    void careful_child(const Plan &p, int q, int i, double *out);
};

// The memory of one thread for the turns of one row.
struct TurnWork {
    CountReader reader;
    Progress progress;
    std::vector<double> total, power, value, value_power;
    std::vector<double> alone, mixed, members;  // for judging: answers, and what all members say
    explicit TurnWork(const Plan &plan);
};

void score_in_turn(const Plan &plan, const int *slot, int left_out_class, double left_out, bool log_joint, double *out,
                   Scratch &w);

// Where every member alone and every number of members went wrong: per place (naive Bayes and M members; or 0 to M of
// them) the weight of wrong answers, of the probability of the true class, and of all rows.
struct Judge {
    const Plan &plan;
    Scratch &work;
    double *judged;  // (6, M + 1): three lines for members alone, three for the first t of them
    // The row is of class y. Answers, as limit says and whatever the margin, into `out` where there is one.
    void row(const int *slot, int y, bool leave_out, double left_out, double weight, double *out = nullptr);

  private:
    bool all_members(const int *slot, int y, bool leave_out, double left_out);
    void note(int line, int place, const double *chance, int y, double weight);
};

// Judges the rows from `begin` on, until they are done or (nanoseconds >= 0) the time is up, and at least one. A row
// without a label adds nothing. Returns the row to go on with.
std::int64_t judge(const Plan &plan, const Codes &codes, const Codes &labels, const double *weights, double *judged,
                   bool leave_out, double unit, std::int64_t begin, std::int64_t nanoseconds, int n_jobs);

// Many rows on their way. Nothing is allocated after it is made, but for threads.
class Run {
  public:
    // Tables of the plan and of naive Bayes, or null: then counts are read.
    Run(std::shared_ptr<Plan> plan, const Turn &turn, const Codes &codes, std::shared_ptr<const Compiled> tables,
        std::shared_ptr<const Compiled> naive);
    // Naive Bayes for all rows the first time. Then rounds, in which every row that is not done gets its next member,
    // until there were `steps` of them or (steady clock, less what answering takes) the time is up; below 0: no limit.
    // While there is plenty of time, a row gets several members at a visit: the numbers of members may differ by as
    // many when it is up. True while some row could get another member.
    bool advance(std::int64_t steps, std::int64_t nanoseconds, int n_jobs);
    void answer(bool log_joint, double *out) const;
    template <class Integer>
    void used(Integer *out) const {
        for (std::int64_t r = 0; r < n_rows; ++r) out[r] = Integer(progress_[r].used);
    }

    const std::int64_t n_rows;
    const int n_classes;

  private:
    using Clock = std::chrono::steady_clock;
    struct Watch;
    std::shared_ptr<Plan> plan_;
    Turn turn_;  // that of the plan, or with another limit and margin
    std::shared_ptr<const Compiled> tables_, naive_;
    std::unique_ptr<int[]> slot_;
    std::unique_ptr<double[]> total_, power_;
    std::unique_ptr<Progress[]> progress_;
    bool begun_ = false;

    double *total(std::int64_t r) const { return &total_[std::size_t(r) * n_classes]; }
    double *power(std::int64_t r) const { return &power_[std::size_t(r) * n_classes]; }
    int *slot(std::int64_t r) const { return &slot_[std::size_t(r) * plan_->store.n]; }
    template <class Reader>
    bool go_on(Reader &reader, std::int64_t begin, std::int64_t end, std::int64_t steps, Watch watch);
    Clock::duration answering(std::int64_t begin, std::int64_t end) const;
    void answer_row(std::int64_t r, bool log_joint, double *out) const;
};

}  // namespace tanager::scoring
