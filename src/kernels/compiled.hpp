// A plan with every probability worked out, for batches: one read per family (or per parent value) and row.
//
// An attribute has n_values slots, one more for unseen values where these are smoothed, and last the missing slot,
// whose entries are neutral: a factor 1, a term 0. So a row needs no test. The k classes are padded to `stride`.
//
// Where rows are to be left out, there are twice as many lanes as classes: as counted, then less one row of the class.
// For every class but a row's own the first is right, for its own the second.
//
//   product: per term a table (parent slots ..., child slots, stride), weights folded in; and one of the class,
//            (slots of its parents ..., stride)
//   sum:     per member a table (slots of s ..., all slots, stride); at the member's own slot stands P(y, x_s)
//
// Collections sum many small terms. Attributes with few values are taken two by two into blocks, and all terms whose
// parents lie in the same two blocks are added up beforehand, into a fold: (slots of both blocks, child slots, stride).
#pragma once
#include <map>

#include "lanes.hpp"
#include "scoring_plan.hpp"

namespace tanager::scoring {

struct CompiledTerm {
    std::int64_t table = 0, stride = 0, stride2 = 0;  // with one parent or two: their steps in the table
    int parent = 0, parent2 = 0;
    std::vector<int> parents;  // with two or more
    std::vector<std::int64_t> strides;
};

struct CompiledFold {                    // small, as a row goes through all of them
    std::int16_t block = 0, block2 = 0;  // the same where one holds all parents
    std::int32_t table = 0, stride = 0, stride2 = 0;
};

struct CompiledGroup {
    int child = 0, first = 0, pairs = 0, triples = 0, last = 0;  // terms: at most one parent, two parents, more
    int first_fold = 0, last_fold = 0;                           // the same sum with fewer reads, where there is one
    std::int64_t base = -1;   // table for when the terms sum to zero, -1 where they cannot
    std::vector<char> lanes;  // of a sum for some classes only: which; else empty
};

struct CompiledMember {
    std::vector<int> attributes;
    std::vector<std::int64_t> strides;  // in configurations
    std::int64_t table = 0, configuration = 0;
    double weight = 0;
};

struct Compiled {
    int n = 0, answers = 0, k = 0, stride = 0;  // answers: the classes; k: lanes
    double left_out = 0;                        // weight of a row that is left out, 0 where none is
    bool sum_of_products = false;
    int calm = 1;  // factors to multiply between two looks at the exponent
    std::vector<int> n_slots;
    std::vector<std::int64_t> offsets;
    std::vector<double> tables, start;  // start: P(y | parents of the class) of a product
    std::vector<int> class_parents;
    std::vector<std::int64_t> class_strides;
    std::vector<double> factor;  // given priors and class weights, or empty; one per class
    std::vector<CompiledTerm> terms;
    std::vector<CompiledGroup> groups;
    std::vector<int> block, block_step, block_size;  // the block of an attribute, and what its slot counts there
    std::vector<CompiledFold> folds;
    std::vector<CompiledMember> members;
    std::vector<char> qualified;  // per configuration of each member

    // To leave rows out, pseudo-counts must be constant and positive, and no priors given.
    explicit Compiled(const ScoringPlan &plan, double left_out = 0);
    // Number of table cells that compiling would take.
    static double n_cells(const ScoringPlan &plan, bool leaves_out = false);
    // Number of table cells that the answer of one row reads.
    static double n_reads(const ScoringPlan &plan);
    // With labels every row is left out, and its label must be a class.
    void score(const Codes &codes, const Codes *labels, std::int64_t begin, std::int64_t end, bool log_joint,
               double *out) const;

  private:
    std::vector<double> less_;   // per class, what is taken off in the lanes behind
    std::vector<double> prior_;  // P(y)
    std::vector<double> class_lanes(const ScoringPlan &plan,
                                    const int *slot) const;  // of the class; its parents in slot
    void compile_class(const ScoringPlan &plan);
    bool term_lanes(const ScoringPlan &plan, const std::vector<Term> &terms, const Term &term, const int *slot,
                    double *value) const;
    bool joint_lanes(const ScoringPlan &plan, const Member &member, const int *slot, double *value) const;
    void compile_product(const ScoringPlan &plan);
    void compile_sum(const ScoringPlan &plan);
    void fold();
    void make_blocks();
    std::map<std::pair<int, int>, std::vector<int>> by_blocks(const CompiledGroup &group) const;
    void add_up(const std::vector<int> &own, const CompiledFold &fold, int child);
};

// The table of a member for one row, or null where the member is not eligible. `row` is the size of a configuration.
inline const double *member_table(const Compiled &t, const CompiledMember &s, const int *slot, std::int64_t row) {
    std::int64_t number = 0;
    for (std::size_t q = 0; q < s.attributes.size(); ++q) number += slot[s.attributes[q]] * s.strides[q];
    return t.qualified[s.configuration + number] ? t.tables.data() + s.table + number * row : nullptr;
}

// The product of the entries of a table at one cell per attribute, into value and power, `stride` numbers each.
template <int Fixed>
inline void multiply_cells(const Compiled &t, const double *table, const std::int64_t *cell, double *value,
                           double *power) {
    const int width = Fixed ? Fixed : t.stride;
    for (int c = 0; c < width; ++c) {
        value[c] = 1;
        power[c] = 0;
    }
    for (int from = 0; from < t.n; from += t.calm) {
        const int to = std::min(t.n, from + t.calm);
        int i = from;
        if constexpr (Fixed > 0) {
            using L = Lanes<Fixed>;
            L v[4] = {L::load(value), L::all(1), L::all(1), L::all(1)};
            for (; i + 4 <= to; i += 4)
                for (int u = 0; u < 4; ++u) v[u] = v[u] * L::load(table + cell[i + u]);
            for (; i < to; ++i) v[0] = v[0] * L::load(table + cell[i]);
            ((v[0] * v[1]) * (v[2] * v[3])).store(value);
        }
        for (; i < to; ++i)
            for (int c = 0; c < width; ++c) value[c] *= table[cell[i] + c];
        if (to < t.n) steady(value, power, t.k);
    }
}

}  // namespace tanager::scoring
