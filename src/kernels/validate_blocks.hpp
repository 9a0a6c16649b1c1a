// Members of a staged plan validated by blocks of rows, member by member: the same as MemberValidation does row by row.
#pragma once
#include "kept_joints.hpp"
#include "member_rows.hpp"
#include "member_validation.hpp"

namespace tanager::scoring {

// Which scores are wanted: of the members alone, of the first so many together, or both.
enum class Judged { both, alone, together };

class BlockValidation {
  public:
    // For plans that MemberRows suits; scores as those of MemberValidation.
    BlockValidation(const ScoringPlan &plan, Scratch &work, double *scores, Judged lines, std::int64_t n_rows,
                    KeptJoints *joints);
    void add(const Batch &rows, std::int64_t begin, std::int64_t end, bool leave_out, double unit);

  private:
    // A row of the block, and how far it has come.
    struct Row {
        int y = 0;
        bool plain = false;  // the powers of its total are all zero
        double weight = 1, left_out = 0;
        Progress progress;
        Judgement naive;  // naive Bayes stands in for members that are not eligible
    };

    const ScoringPlan &plan_;
    StagedScratch &t_;
    const int k_, n_members_;
    const std::size_t size_;  // of a line of scores
    double *alone_, *prefix_;
    const bool judges_alone_, judges_prefix_;
    const LaneFunctions &lanes_;
    const Mixer mixer_;
    MemberRows members_;
    std::vector<int> slot_;
    std::vector<Row> rows_;
    std::vector<int> labels_;
    LaneMemory total_;                            // one vector of classes per row, as wide as those of the members
    std::vector<double> power_, naive_, factor_;  // one vector of classes per row
    std::vector<double> no_power_;
    KeptJoints *const joints_;
    std::vector<int> kept_places_;  // of the members, in what was kept
    std::vector<int> in_order_;     // 0, 1, 2, ...
    double *kept_ = nullptr;        // joints of the block: where they are written to, or
    double *found_ = nullptr;       // where they are read from
    bool all_plain_ = true;         // the powers of all totals are zero
    Verdicts verdicts_;

    double *total(int r) { return &total_[std::size_t(r) * members_.width()]; }
    double *power(int r) { return &power_[std::size_t(r) * k_]; }
    void begin_row(const int *slot, int y, bool leave_out, double left_out, double weight);
    void end_row(int r, bool leave_out);
    void open_kept(std::int64_t begin);
    double *kept(double *from, int place) { return from + std::size_t(place) * members_.size() * members_.width(); }
    void add_member(int q);
    void add_kept(int q);
    void take(int q, const MemberRows::Joints &some);
    void judge_alone(const MemberRows::Joints &some, double *scores);
    void judge_alone(int r, const double *value, const double *value_power, double *scores);
    void mix(const MemberRows::Joints &some, double weight);
    void mix(int r, double *value, double *value_power, double weight);
    void judge_prefix(int r);
    void note(int r);
    const double *chances(int r);
};

// Rows from `begin` on, until all are done or (nanoseconds >= 0) the time is up, and at least one. A row without a
// label adds nothing. Returns the row to go on with. Each thread sums for itself, so that sums of floats differ in
// their last bits between numbers of threads, but not from call to call.
// What is not asked for by `lines` may be left as it is. Members that are judged alone leave their joints in `joints`,
// where there is one, for those that are judged together by the same rows and counts.
std::int64_t validate_members(const ScoringPlan &plan, const Batch &rows, double *scores, bool leave_out, double unit,
                              std::int64_t begin, std::int64_t nanoseconds, int n_jobs, Judged lines = Judged::both,
                              KeptJoints *joints = nullptr);

}  // namespace tanager::scoring
