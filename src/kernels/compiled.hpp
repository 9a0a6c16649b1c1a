// A plan with every probability worked out, for batches: one read per family (or per parent value) and row.
//
// An attribute has n_values slots, one more for unseen values where these are smoothed, and last the missing slot,
// whose entries are neutral: a factor 1, a term 0. So a row needs no test. The k classes are padded to `stride`.
//
//   product: per term a table (parent slots ..., child slots, stride), weights folded in
//   sum:     per member a table (slots of s ..., all slots, stride); at the member's own slot stands P(y, x_s)
#pragma once
#include "plan.hpp"

namespace tanager::scoring {

struct CompiledTerm {
    std::int64_t table = 0, stride = 0;  // with one parent: its step in the table
    int parent = 0;
    std::vector<int> parents;            // with several
    std::vector<std::int64_t> strides;
};

struct CompiledGroup {
    int child = 0, first = 0, pairs = 0, last = 0;  // terms; those from `pairs` on have several parents
    std::int64_t base = -1;              // table for when the terms sum to zero, -1 where they cannot
};

struct CompiledMember {
    std::vector<int> attributes;
    std::vector<std::int64_t> strides;  // in configurations
    std::int64_t table = 0, configuration = 0;
    double weight = 0;
};

struct Compiled {
    int n = 0, k = 0, stride = 0;
    bool sum_of_products = false;
    int calm = 1;                        // factors to multiply between two looks at the exponent
    std::vector<int> n_slots;
    std::vector<std::int64_t> offsets;
    std::vector<double> tables, start;   // start: P(y) of a product
    std::vector<double> factor;          // given priors and class weights, or empty
    std::vector<CompiledTerm> terms;
    std::vector<CompiledGroup> groups;
    std::vector<CompiledMember> members;
    std::vector<char> qualified;         // per configuration of each member

    explicit Compiled(const Plan &plan);
    // Number of table cells that compiling would take.
    static double n_cells(const Plan &plan);
    void score(const Codes &codes, std::int64_t begin, std::int64_t end, bool log_joint, double *out) const;

  private:
    void compile_product(const Plan &plan);
    void compile_sum(const Plan &plan);
};

}  // namespace tanager::scoring
