// Test, then train: every row is answered from the rows before it and then learned; all counts fade, and old rows
// leave.
#pragma once
#include <optional>

#include "batch.hpp"
#include "scoring_plan.hpp"

namespace tanager::scoring {

// The rows that leave a stream: those counted earlier, oldest first, and last those of the stream itself. A row leaves
// with the weight that it was added with times the unit of that time, its raw weight: fading grows the unit and leaves
// cells alone, so that just this is in the cells, whatever has happened since.
class LeavingRows {
  public:
    LeavingRows() = default;
    // `raw` is written for the rows of the stream; n_leaving[r] rows leave after row r, of those that are there.
    LeavingRows(const Codes &codes, const Codes &labels, double *raw, const std::int64_t *n_leaving,
                std::int64_t n_stream_rows)
        : codes_(codes), labels_(labels), raw_(raw), n_leaving_(n_leaving), older_(codes.n_rows - n_stream_rows) {}

    // Row r of the stream is learned with this raw weight.
    void enter(std::int64_t r, double raw) {
        if (raw_) raw_[older_ + r] = raw;
    }
    // After row r: takes out of the counts what leaves.
    void leave(Store &store, std::int64_t r, const Slots &slots, Scratch &w, bool half);
    // Before row r is learned: all cells were halved so many times, and raw weights follow.
    void halve(std::int64_t r, int times);

  private:
    Codes codes_, labels_;
    double *raw_ = nullptr;
    const std::int64_t *n_leaving_ = nullptr;
    std::int64_t front_ = 0, older_ = 0;  // the next to leave; how many rows are older than the stream
};

struct Stream {
    Batch rows;
    std::optional<Codes> answered;  // rows that are answered in place of those that are learned
    Weights fade;                   // before row r is learned, all counts fade by fade[r], above 0 and at most 1
    LeavingRows leaving;
    // Of a staged plan, or null: members are validated by each row before it is learned, and what was there fades by
    // `keep` (see member_validation.hpp).
    double *member_scores = nullptr;
    double keep = 1;
    // (rows, k) or null: what the plan gave to the classes of each row before it was learned; 0 where it has no label.
    double *judged = nullptr;
    double unit = 1;  // cells are true counts times this
    // Whoever calls mirrors the pairs some time: where the plan reads the lower triangle alone, only that is kept.
    bool keeps_half = false;
    bool stale = false;  // the upper triangle lags behind, from an earlier call
};

struct StreamEnd {
    std::int64_t n_done;  // rows before one with an unknown value or class
    double unit;
    int halved;  // how many times all cells were halved because the unit had become too large
    bool stale;  // the upper triangle of the pairs lags behind; never without `keeps_half`
};

StreamEnd test_then_train(ScoringPlan &plan, Stream &stream, double *out);

}  // namespace tanager::scoring
