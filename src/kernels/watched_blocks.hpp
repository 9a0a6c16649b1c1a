// A stream in blocks, under watch: a model answers and learns row after row, perhaps with another one beside it that
// may take its place. After each block shares of wrong answers are brought up to date and the detector hears of them.
// Blocks are run one after the other as long as there is nothing to decide.
#pragma once
#include <optional>
#include <vector>

#include "drift.hpp"
#include "stream.hpp"

namespace tanager::drift {

// A model, all rows in its own codes, and how many of its answers are wrong. Every row has a label and weighs 1. With
// `answered` those are answered in place of the rows that are learned, and what it would have said of these is judged.
struct Watched {
    scoring::ScoringPlan &plan;
    Batch rows;
    double unit;  // see Stream, also for `stale`
    bool stale;
    bool knows;  // false: there is nothing yet to answer the first row from
    Share recent, long_run;
    std::optional<Codes> answered = {};
    std::vector<double> wrong = {}, judged = {};  // of the present block
};

// When nothing is to be decided after a block: the detector says just this; or, while a model beside the one that
// answers has so many rows left to become better, it does not say drift and that model has not won.
struct Quiet {
    Signal signal;
    std::int64_t n_rows_left;  // -1: nobody waits
};

struct BlocksEnd {
    std::int64_t n_rows;  // of whole blocks
    Signal said;          // the gravest in the last of them
};

// Writes the answers of `front` to `out` (rows, classes). Ends after a block that there may be something to decide
// after, and before one with a value or a class that one of the models does not know.
BlocksEnd run_blocks(Watched &front, Watched *beside, Duel &duel, Ddm &detector, const Quiet &quiet, std::int64_t every,
                     double tie, double *out);

}  // namespace tanager::drift
