// Greedy search for a network: the change of one arc that improves the score of families most, until none does. The
// same as `climb.py` and `pdag_search.py`, which write down every step as well.
#pragma once
#include <utility>
#include <vector>

#include "family_scores.hpp"

namespace tanager {

struct ClimbTask {
    Variables nodes, given;                     // which variables the nodes are; parents in every family
    std::vector<std::vector<char>> allowed;     // [parent][child]
    std::vector<std::pair<int, int>> required;  // arcs that must be there
    std::size_t max_parents;                    // not counting those given
    double rounding;                            // scores that differ by less, as a share of the score, are equal
};

struct Climbed {
    std::vector<std::vector<int>> parents;  // in ascending order
    std::int64_t n_scored = 0;              // families
};

// Adds, removes or reverses an arc; of equal gains, additions come first, then removals, each by parent and child.
Climbed climb(FamilyScores &scores, const ClimbTask &task);

// Adds and removes arcs around a class that is a root: columns join the class, which becomes their parent, and then
// have further parents, up to `max_parents` beside the class; they leave it again only without any. Of equal gains come
// first those that join the class, then arcs to columns that have joined it, then removals likewise, each by child and
// parent. It begins with the empty network, or with all columns that may join it. Nothing may be required.
Climbed climb_around(FamilyScores &scores, const ClimbTask &task, int target, bool all_joined);

}  // namespace tanager
