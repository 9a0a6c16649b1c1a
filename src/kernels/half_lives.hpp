// AODE with several half-lives at once: counts that fade at different rates side by side, so that a row finds the
// cells of all of them with one look-up.
//
// The store has K * M lanes where others have K classes: lane c * M + m is class c in the counts of member m. Only the
// lower triangle of its pairs is kept; whoever reads the upper one mirrors it first (mirror_pairs). Cells of member m
// are its true counts times units[m], and fading makes the unit grow, as everywhere (see stream.hpp).
//
// Column i has slots for more values than have come: the first n_values[i] have, and the others wait for their first
// row. So a new value costs no more than any other: nothing moves, and how many values there are is a number that
// grows.
#pragma once
#include <optional>

#include "slots.hpp"

namespace tanager::half_lives {

struct Members {
    Store &store;
    std::int64_t *n_values;  // of each column, those that have come
    int n_members;           // M
    double *units;           // one per member
    double pseudo;           // pseudo-count of every cell, positive
    double min_count;        // a value serves as a super-parent from this weight on

    int n_classes() const { return store.k / n_members; }
};

// Posteriors of all rows by every member: (rows, M, K).
void answer(const Members &members, const Codes &codes, double *out);

struct Stream {
    Batch rows;
    const double *fade;             // (M, rows): before row r is learned, the counts of member m fade by fade[m, r]
    std::optional<Codes> answered;  // rows that are answered in place of those that are learned
    double
        *judged;  // (rows, M, K): what members say of the rows that are learned, before they are; null: known already
    double *answers;       // (rows, M, K): of the others, where there are any
    std::int64_t *halved;  // per member: how many times its cells were halved because the unit was too large
};

// Row after row is answered and then learned; returns the rows before one with a class or a value that has no slot.
std::int64_t test_then_train(Members &members, Stream &stream);

}  // namespace tanager::half_lives
