#include "stream.hpp"

#include <algorithm>

#include "learn_rows.hpp"
#include "member_validation.hpp"

namespace tanager::scoring {

namespace {

constexpr int most_bits = 332;  // of a unit: some 1e100; products of cells stay far from overflow

// While nothing is missing and the plan reads the lower triangle of the pairs alone, only that is kept. Mirrored at the
// end, however that comes, unless the caller does it.
class HalfPairs {
  public:
    // Worth it where the writes that are saved outweigh one mirroring.
    HalfPairs(Store &store, const ScoringPlan &plan, const Stream &stream)
        : store_(store), stays_(stream.keeps_half),
          on_(store.pairs && plan.reads_half() &&
              (stays_ ||
               double(stream.rows.n_rows()) * store.n * store.n > 4.0 * double(store.width) * double(store.width))) {
        if (stream.stale && store.pairs && !(on_ && stays_)) mirror_pairs(store_);
    }
    HalfPairs(const HalfPairs &) = delete;
    ~HalfPairs() {
        if (!stays_) end();
    }
    bool stale() const { return on_ && stays_; }
    bool on() const { return on_; }
    void end() {
        if (on_) mirror_pairs(store_);
        on_ = false;
    }

  private:
    Store &store_;
    bool stays_, on_;
};

// All counts fade by a factor: the unit grows, and no cell is touched. Where the unit would grow too large, all cells
// and the raw weights of rows still to leave are halved; returns how many times.
int fade_all(ScoringPlan &plan, Stream &stream, std::int64_t r) {
    const double factor = stream.fade[r];
    const int size = std::ilogb(stream.unit), shrink = std::ilogb(factor), bits = size - shrink;
    const bool too_large = bits > most_bits;
    if (too_large) {
        halve_cells(plan.store, bits);
        stream.leaving.halve(r, bits);
        stream.unit = std::ldexp(stream.unit, -size) / std::ldexp(factor, -shrink);
    } else {
        stream.unit /= factor;
    }
    plan.rescale(stream.unit);
    return too_large ? bits : 0;
}

}  // namespace

void LeavingRows::leave(Store &store, std::int64_t r, const Slots &slots, Scratch &w, bool half) {
    for (std::int64_t end = n_leaving_ ? front_ + n_leaving_[r] : front_; front_ < end; ++front_) {
        const int y = labels_.at(front_);
        if (y >= store.k) continue;  // without a label it was not counted
        slots.read(codes_, front_, w.slot.data());
        forget_row(store, w.slot.data(), y, raw_[front_], w.cell.data(), half);
    }
}

void LeavingRows::halve(std::int64_t r, int times) {
    for (double *x = raw_ + front_, *end = raw_ + older_ + r; raw_ && x < end; ++x) *x = std::ldexp(*x, -times);
}

StreamEnd test_then_train(ScoringPlan &plan, Stream &stream, double *out) {
    Store &s = plan.store;
    const Batch &rows = stream.rows;
    plan.rescale(stream.unit);
    plan.refresh_missing();
    const Slots values(s, false);  // an unseen value cannot be learned here
    HalfPairs half(s, plan, stream);
    Scratch w(plan);
    std::vector<int> answered(stream.answered ? s.n : 0);  // slots of the row that is answered
    const std::size_t n_scores = 6 * (plan.members.size() + 1);
    std::optional<MemberValidation> validation;
    if (stream.member_scores) validation.emplace(plan, w, stream.member_scores);
    // Validation finds the answer of the row too, unless members may be left out by the margin.
    const bool finds_answer = validation && !stream.answered && !std::isfinite(plan.staging->margin);
    int halved = 0;
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        const bool labelled = rows.has_label(r);
        const int y = rows.labels.at(r);
        if ((labelled && y >= s.k) || !values.read(rows.codes, r, w.slot.data()))
            return {r, stream.unit, halved, half.stale()};
        if (stream.answered) plan.slots.read(*stream.answered, r, answered.data());
        if (w.staged) w.staged->reader.half = half.on();
        double *answer = out + r * s.k;
        if (validation && labelled) {
            if (stream.keep < 1)
                for (std::size_t q = 0; q < n_scores; ++q) stream.member_scores[q] *= stream.keep;
            validation->row(w.slot.data(), y, false, 0, rows.weights[r], finds_answer ? answer : nullptr);
        }
        if (!finds_answer || !labelled)
            plan.score(stream.answered ? answered.data() : w.slot.data(), -1, 0, false, answer, w);
        if (stream.judged) {
            double *judged = stream.judged + r * s.k;
            if (!labelled) std::fill(judged, judged + s.k, 0.0);
            else if (stream.answered) plan.score(w.slot.data(), -1, 0, false, judged, w);  // which was not answered
            else std::copy(answer, answer + s.k, judged);
        }
        if (stream.fade[r] < 1) halved += fade_all(plan, stream, r);
        const double raw = labelled ? stream.unit * rows.weights[r] : 0;
        stream.leaving.enter(r, raw);
        if (labelled) {
            const bool news = plan.note_missing(w.slot.data());
            learn_row(s, w.slot.data(), y, raw, w.cell.data(), half.on());
            if (news && !plan.reads_half()) half.end();
        }
        stream.leaving.leave(s, r, values, w, half.on());
    }
    return {rows.n_rows(), stream.unit, halved, half.stale()};
}

}  // namespace tanager::scoring
