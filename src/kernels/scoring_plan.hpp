// A scoring plan says how a classifier reads the counts: which families, and which of the two ways to combine them.
//
//   product of sums   P(y, x) = P(y) * prod_i  sum_{pa in PA_i} w * P(x_i | y, pa)
//                     with P(y | x_p ...) for P(y) where the class has parents; a term may apply to some classes only
//   sum of products   P(y, x) = sum_s w * P(y, x_s) * prod_{j not in s} P(x_j | y, x_s),  over s seen min_count times
//
// It answers straight from the counts (rows, streams, leave-one-out). Families with at most one attribute parent
// take a short cut that shares the denominators of one row; `fast = false` switches it off.
#pragma once
#include <map>
#include <memory>
#include <tuple>

#include "estimate.hpp"
#include "slots.hpp"

namespace tanager::scoring {

struct Member {
    std::vector<int> attributes;
    double weight = 1;
    Place counts;                // N(x_s, y)
    double cell = 0, total = 0;  // pseudo-counts of the joint P(y, x_s), before the unit
    std::vector<int> chain;      // the terms P(x_1 | y), P(x_2 | y, x_1), ... behind the joint of a back-off
    // Rows with every attribute of s present are all rows, less those without one, and those without two again, and so
    // on: signs, and the counts by class. Empty for one or two attributes; see present_weight.
    std::vector<std::pair<double, const double *>> absent;
};

// Where N(x_i, x_s, y) of a child i of a member is: at cells + sum_q slot[s_q] * strides[q] + slot[i] * step. Terms say
// the same, but each somewhere else in memory; a row that goes through all members finds these one behind the other.
struct ChildPlace {
    static constexpr std::size_t most = 3;  // super-parents
    const double *cells = nullptr;
    std::int64_t step = 0, strides[most] = {0, 0, 0};
};

// A term with at most two parents and constant pseudo-counts, without a detour: terms are many (n³ / 6 for TC), and
// each of them has its numbers in several places of memory. N(x_i, parents, y) is at cells + slot[parent] * stride ...
// + slot[i] * child_stride, N(parents, y) at context + slot[parent] * context_stride ...; parents that are not there
// have strides of 0.
struct ShortTerm {
    const double *cells = nullptr, *context = nullptr;
    std::int64_t child_stride = 0, stride[2] = {0, 0}, context_stride[2] = {0, 0};
    int parent[2] = {-1, -1};
    double cell = 0, total = 0, weight = 0;
};

struct Group {                  // one attribute of a product of sums, for all classes or for those with one network
    int child = 0, base = -1;   // base: the term P(x_child | y)
    std::vector<char> classes;  // one flag per class, or empty: it applies to all
    double base_weight = 0;
    std::vector<int> terms;    // the other terms
    std::vector<int> parents;  // of terms with one parent each, for the short cut; those before the child first
    int n_before = 0;          // how many parents come before the child in the table
    std::vector<double> weights;
    bool uniform = true;   // all these weights are 1
    bool in_order = true;  // these parents are the columns 0, 1, 2, ...
    int fallback = -1;     // where to look when no term is available; follow `prefix` from there
    std::vector<ShortTerm>
        short_terms;  // the base, where it has a weight, and all terms; empty where they are not short
};

struct Scratch;
struct Staging;        // staging.hpp: how the members of a sum are added one after the other
struct StagedScratch;  // staged_score.hpp: working memory for that
class CountReader;     // count_reader.hpp: reads members one at a time
class TripleSweep;     // triple_sweep.hpp: reads all pairs of super-parents at once

struct ScoringPlan {
    Store &store;
    Estimate estimate;
    bool sum_of_products = false, fast = true;
    double min_count = 1;
    std::vector<double> priors, class_factor;  // given priors (or empty) and weights of the classes (or empty)
    Slots slots;
    std::vector<Term> terms;
    std::vector<Group> groups;
    std::vector<Member> members;
    std::vector<std::vector<int>> member_terms;  // per member, terms of its children; where places do not do
    std::vector<std::vector<ChildPlace>>
        member_children;                 // of the same; empty where members have too many super-parents
    std::vector<char> is_child;          // of a sum: which attributes are children of its members
    std::vector<int> n_children_before;  // of those, before each attribute
    std::vector<int> class_parents;
    std::vector<Place> class_places;                     // N(x_p1, ..., x_pq, y) for q = 1, 2, ...
    std::vector<double> class_cells;                     // their pseudo-counts, before the unit
    std::vector<double> class_strengths;                 // of a learned back-off; one per place
    std::vector<std::pair<int, std::vector<int>>> free;  // families without the class: for missing values alone
    std::vector<std::vector<int>> joined;  // columns that are one column together, with a value per combination
    // For the short cut: pseudo-count totals that occur (before the unit), and which of them attribute i has.
    std::vector<double> totals, cells, parent_factor;
    std::vector<int> total_of;
    double most_total = 0;
    bool shared_totals = true;  // a child's pseudo-counts do not depend on the parent, and are positive
    bool same_cells = true;     // all children have the same pseudo-count
    std::vector<char> ever_missing, is_parent, is_read;
    std::shared_ptr<ScoringPlan> otherwise;  // answers where no member is eligible
    std::shared_ptr<Staging> staging;  // of a sum that begins with naive Bayes and adds member after member, or null

    // Strengths of a learned back-off are numbers of a family: the short cut, which shares those of a column, is off.
    ScoringPlan(Store &s, Estimate e, bool smooth_unseen)
        : store(s), estimate(e), fast(!e.learned), slots(s, smooth_unseen) {}
    ~ScoringPlan();

    int add_term(int child, const std::vector<int> &parents, bool free = false);
    void set_class_parents(const std::vector<int> &parents);
    // What learn_strengths (back_off.hpp) has found: first the terms, in their order, then the class.
    std::vector<double> strengths() const;
    bool set_strengths(const std::vector<double> &all);  // false where there are too many or too few
    double joined_share(int child, const std::vector<int> &parents) const;
    // `only`: per term the classes that it applies to, all where empty.
    void set_product(const std::vector<int> &child, const std::vector<std::vector<int>> &parents,
                     const std::vector<double> &weight, const std::vector<std::vector<int>> &only);
    // `children`: the attributes that depend on the super-parents; others are read as super-parents alone.
    void set_sum(const std::vector<std::vector<int>> &sets, const std::vector<double> &weight, double frequency,
                 std::vector<char> children);
    bool child_of(int i, const Member &m) const;
    int place_of(int i, const Member &m) const;  // of a child, in member_terms and member_children
    void rescale(double unit);                   // the counts are true counts times another number now
    // A member is eligible from this weight of its super-parents on. What was faded, or taken out again, may fall short
    // by rounding.
    double least_seen() const { return min_count * estimate.unit * (1 - 1e-9); }
    void refresh_missing();
    bool note_missing(const int *slot);          // of a row about to be learned; true where that is new
    bool reads_half() const;                     // whether answers read the lower triangle of the pairs alone
    int n_class_parents(const int *slot) const;  // how many parents of the class come before the first missing one
    const double *class_counts(int n_parents, const int *slot) const;  // N(y, the first parents of the class)
    // P(y | its parents up to the first missing one) into out; `prior` is P(y), `absent` as in term_value.
    void class_value(const int *slot, const double *sub, const double *prior, double *out,
                     const char *absent = nullptr) const;

    // Writes the posterior (or the log of the joint) of one row, less the row that is left out if any. Where no member
    // is eligible, or every class has probability zero, `otherwise` answers, or at last the class prior by Laplace's
    // rule.
    void score(const int *slot, int left_out_class, double left_out, bool log_joint, double *out, Scratch &w) const;
    // The first half of that: the joint into w.m and w.e, P(y) into w.prior where it matters; returns the weight of
    // the members that were eligible. w.sub is set already.
    double joint(const int *slot, bool leave_out, double left_out, Scratch &w) const;
    // From w.m, w.e and w.prior to an answer, less w.sub; where every class is impossible, Laplace's rule and false.
    bool answer(double qualified, bool log_joint, double *out, Scratch &w) const;
    // For every row the value of every member, then of every term, for all classes; NaN where not available.
    void parts(const Codes &codes, double *out) const;
    std::size_t n_parts() const;  // numbers of one row

  private:
    std::map<std::tuple<int, std::vector<int>, bool>, int> known_;
    // Of few attributes the terms with one parent or none, child by child (-1: not there), which are found at once.
    std::vector<int> known_with_one_;
    int *known_at_once(int child, const std::vector<int> &parents, bool classless);
    void add_group(int child, const std::vector<int> &terms_, const std::vector<std::vector<int>> &parents,
                   const std::vector<double> &weight, std::vector<char> classes);
    void prepare_fast();
    void shorten(Group &g) const;
    bool short_term(const Term &t, double weight, ShortTerm &out) const;
    void find_children();
    bool constant_and_positive() const;
};

// From mantissas and powers of two to a posterior or a log joint; NaN and false where nothing was added.
bool finish(const double *m, const double *e, int k, double qualified, bool log_joint, double *out);

// Adds the vector m * 2^e to a running total. From then on the exponent of the total is common to all classes.
void add_scaled(const double *m, const double *e, int k, double *total, double *total_e);

// Weight of the rows with every attribute of s present.
double present_weight(const Store &s, const Member &m, double left_out);

// N(x_s, y) of a member that is eligible for the row: all of s is present, was seen often enough, and the member has a
// weight; else null.
const double *member_counts(const ScoringPlan &p, const Member &m, const int *slot, double left_out);

// P(y, x_s) into out; false where s is missing, too rare or has no weight.
bool joint_value(const ScoringPlan &p, const Member &m, const int *slot, const double *sub, double left_out,
                 const double *prior, double *out);

// The short cut for families with at most one attribute parent; multiplies into (or adds to) w.m, w.e and returns the
// weight of the members that were eligible.
double score_pairwise(const ScoringPlan &p, const int *slot, bool leave_out, double left_out, Scratch &w);

// The joint of every member of a fast sum times its weight, at once: one number per member and class, NaN where it is
// not eligible. False where that cannot be done: members must be read one by one.
bool pairwise_members(const ScoringPlan &p, const int *slot, bool leave_out, double left_out, Scratch &w,
                      double *values);

// P(x_i | y, x_j) the careful way: x_i was missing at times, totals differ by parent, or there is nothing to divide by.
// `own` and `lost` are the counts of x_j with x_i and with x_i missing, `count` those of x_j less the row left out.
template <int Fixed>
inline void careful(const ScoringPlan &p, int i, int j, const double *own, const double *lost, const double *count,
                    const double *pseudo, const double *sub, double *out) {
    const Store &s = p.store;
    const int k = Fixed ? Fixed : s.k;
    const double factor = p.parent_factor[j], total = p.estimate.unit * p.totals[p.total_of[i]] * factor;
    for (int c = 0; c < k; ++c) {
        const double den = at_least_zero(count[c] - lost[c]) + total;
        const double num = at_least_zero(own[c] - sub[c]) + pseudo[c] * factor;
        out[c] = den > 0 ? num / den : (s.n_values[i] ? 1.0 / s.n_values[i] : 1);
    }
}

// Working memory for a staged plan, null where it is not staged.
std::shared_ptr<StagedScratch> staged_scratch(const ScoringPlan &p);

// What reads the members of a sum that has no other short cut; null where there is one, or none at all.
std::shared_ptr<CountReader> member_reader(const ScoringPlan &p);

// What reads them all at once where they are all pairs of attributes; null where they are not.
std::shared_ptr<TripleSweep> triple_sweep(const ScoringPlan &p);

// Working memory of one thread: vectors of one number per class, then of one vector per attribute.
struct Scratch {
    std::vector<int> slot, here, place;         // here: the attributes present; place: of an attribute among them
    std::vector<int> n_with_total;              // how many of these have each of the totals
    std::vector<std::int64_t> cell, here_cell;  // first cell of the slot of each attribute, in a row of pairs
    std::vector<double> sub, prior, once, m, e, value;
    std::vector<double> base, pseudo, count, reciprocal;
    std::shared_ptr<StagedScratch> staged;
    std::shared_ptr<CountReader> reader;
    std::shared_ptr<TripleSweep> sweep;
    explicit Scratch(const ScoringPlan &p);
    Scratch(Scratch &&) noexcept;
    ~Scratch();
};

}  // namespace tanager::scoring
