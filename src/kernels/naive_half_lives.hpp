// Naive Bayes with several half-lives at once: counts that fade at different rates side by side, as in half_lives.hpp.
//
// Lane c * M + m is class c in the counts of member m. Column i has the slots offsets[i] .. offsets[i + 1] - 1, the
// last for missing cells; the first n_values[i] of them are values that have come, and the others wait for their first
// row. So a new value costs no more than any other: nothing moves, and how many values there are is a number that
// grows.
#pragma once
#include <optional>
#include <vector>

#include "batch.hpp"

namespace tanager::naive_half_lives {

struct Members {
    int n, n_classes, n_members;
    const std::int64_t *offsets;  // n + 1
    std::int64_t *n_values;       // n
    double *classes, *singles;    // (lanes), (slots, lanes)
    double *units;                // one per member: cells are true counts times this
    double pseudo;                // pseudo-count of every cell, positive

    int lanes() const { return n_classes * n_members; }
};

// Posteriors of all rows by every member: (rows, M, K).
void answer(const Members &members, const Codes &codes, double *out);

struct Stream {
    Batch rows;
    const double *fade;             // (M, rows): before row r is learned, the counts of member m fade by fade[m, r]
    std::optional<Codes> answered;  // rows that are answered in place of those that are learned
    double *judged;                 // (rows, M, K): what members say of the rows that are learned; null: not asked
    double *answers;                // (rows, M, K): of the others, where there are any
    std::int64_t *halved;           // per member: how many times its cells were halved because the unit was too large
};

// Row after row is answered and then learned; returns the rows before one with a class or a value that has no slot.
std::int64_t test_then_train(Members &members, Stream &stream);

}  // namespace tanager::naive_half_lives
