// How good the members of a staged plan are: every row, left out of the counts, is answered by each member alone and by
// each number of members together, and the answers are compared with its class.
#pragma once
#include "batch.hpp"
#include "staged_score.hpp"
#include "ties.hpp"

namespace tanager::scoring {

// An answer next to the class that was true.
struct Judgement {
    bool wrong = false;
    double share = 0;  // of the probability, that the true class has
};

// Of answers in proportion to probabilities. The decision is that of `decide` in Python: ties go to the class with more
// rows, then to the smaller code.
inline Judgement judged(const double *chances, int k, const double *class_counts, int y) {
    double sum = 0, best = 0;
    for (int c = 0; c < k; ++c) {
        sum += chances[c];
        best = std::max(best, chances[c]);
    }
    const double tie = best - 1e-12 * sum;
    int chosen = -1;
    for (int c = 0; c < k; ++c)
        if (chances[c] >= tie && (chosen < 0 || first_digits(class_counts[c]) > first_digits(class_counts[chosen])))
            chosen = c;
    return {chosen != y, chances[y] / sum};
}

// Adds a judgement to three lines of scores, `size` numbers apart.
inline void add_judgement(double *at, std::size_t size, Judgement found, double weight) {
    if (found.wrong) at[0] += weight;
    at[size] += weight * found.share;
    at[2 * size] += weight;
}

// All members, without an early stop.
Staging unlimited(const ScoringPlan &plan);

// Whether these numbers are in proportion to the probabilities as they are. Almost all are, and to compare and divide
// once is cheaper than to normalise.
inline bool are_proportions(const double *m, const double *e, int k) {
    return any_positive(m, k) && std::all_of(e, e + k, [](double x) { return x == 0; });
}

// Adds rows to `scores`, of shape (6, M + 1) with M members. Three lines (the weight of wrong answers, of the
// probability of the true class, and of all rows) for naive Bayes and each member alone; three more for the first 0 to
// M members of the row. Where a member is not eligible for a row, naive Bayes stands in for it.
class MemberValidation {
  public:
    MemberValidation(const ScoringPlan &plan, Scratch &work, double *scores);
    // The row is of class y; with leave_out its weight in the counts, left_out, is taken off first. The plan's answer,
    // by its limit and whatever its margin, into `out` where there is one: a stream then needs no second pass.
    void row(const int *slot, int y, bool leave_out, double left_out, double weight, double *out = nullptr);

  private:
    enum Line { alone = 0, prefix = 3 };

    const ScoringPlan &plan_;
    Scratch &work_;
    StagedScratch &t_;
    double *scores_;
    const int k_, n_members_, limit_;
    const Mixer mixer_;  // for all members, without an early stop
    // of the row in hand
    int y_ = 0;
    double weight_ = 1, *out_ = nullptr;
    const double *chances_ = nullptr;  // of the classes after the last step, in proportion

    bool read_all_members(const int *slot, bool leave_out, double left_out);
    bool sweep_all_members(const int *slot, bool leave_out, double left_out);
    void add_member(int q, bool read_already);
    void add_prefix();
    void add_answer(Line line, int place, const double *chances);
    void write_answer(double *out) const;
};

}  // namespace tanager::scoring
