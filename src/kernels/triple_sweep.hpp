// The members of a sum whose super-parents are all pairs of attributes (A2DE), for one row straight from the counts of
// triples. N(x_s, x_t, x_i, y) is a factor of three members, {s, t}, {s, i} and {t, i}; with hundreds of attributes
// these counts are far from the cache, so each is fetched once, for all three.
#pragma once
#include "scoring_plan.hpp"

namespace tanager::scoring {

class TripleSweep {
  public:
    // Whether a plan, staged or not, can be read in this way: all pairs are members, all triples were counted, and
    // pseudo-counts are the same for all parents and positive.
    static bool suits(const ScoringPlan &p);

    explicit TripleSweep(const ScoringPlan &plan);
    // Adds the joint of every eligible member to m * 2^e, one number per class, and returns their weight. The row is
    // left out of the counts of class y with this weight; y < 0: it is not.
    double add(const int *slot, int y, double left_out, double *m, double *e);
    // The same in two steps: all triples of a row, and then any of the members, whose joint times its weight goes into
    // m and e. False where it is not eligible.
    void read(const int *slot, int y, double left_out);
    bool member(int q, double *m, double *e);

  private:
    struct Scaled {                              // m * 2^e
        double m = 0, e = 0, inverse_power = 0;  // the last: 2^-e, or 0 where that is no plain number
    };
    // A member, one behind the other in memory: those of the plan have vectors of their own.
    struct Pair {
        const double *counts = nullptr;       // N(x_i, x_j, y) is at counts + slot[i] * step_i + slot[j] * step_j
        std::int64_t step_i = 0, step_j = 0;  // of its attributes i < j
        int q = 0;
        double weight = 0, cell = 0, total = 0;  // as in the plan
    };
    static constexpr std::size_t kKnownAtFirst = 1024, kKnownMost = 8192;
    const ScoringPlan &plan_;
    const int n_, k_, width_;   // width: the classes, padded
    std::vector<Pair> pairs_;   // by their attributes: all pairs are here
    std::vector<int> pair_of_;  // of a member
    double most_total_ = 1;
    int calm_totals_ = 1;  // denominators to multiply between two looks at the exponent
    // of the row in hand
    const int *slot_ = nullptr;
    int size_ = 0, calm_ = 1;
    double left_out_ = 0, rows_ = 0;
    bool leave_out_ = false, short_ = false;  // short: no product leaves the numbers that there are
    double least_seen_ = 0;
    double scale_ = 0, scale_of_weight_ = 0, scale_of_total_ = 0;  // of the member before, over all rows
    std::vector<int> place_;                                       // of an attribute in here_
    std::vector<int> here_;                                        // the attributes present, in order
    std::vector<int> n_safe_;         // of those that never were missing: how many have each total
    std::vector<int> n_safe_before_;  // of the row before, with the unit that it was read with
    double unit_before_ = 0;
    std::vector<Scaled> known_;    // denominators of whole counts, for the same attributes and unit; 0 where not known
    std::vector<double> sub_;      // padded with zeros, as all that follows
    std::vector<double> product_;  // of the numerators of each pair of attributes present, as mantissas
    std::vector<double> power_;    // and powers of two
    std::vector<std::int64_t> step_;
    std::vector<double> pseudo_, total_;       // of the attributes present, times the unit
    std::vector<double> value_, value_power_;  // of a member, one number per class

    double *product(int a, int b) { return &product_[pair(a, b) * width_]; }
    std::size_t pair(int a, int b) const { return pair(a, b, size_); }  // of places in here_, a < b
    static std::size_t pair(int a, int b, int n) {                      // of two numbers below n, a < b
        return std::size_t(a) * (2 * n - a - 1) / 2 + (b - a - 1);
    }
    void start(const int *slot, int y, double left_out);
    void steady_all();
    template <int Lane, bool LeaveOut, bool Same>
    void multiply_numerators();
    template <int Lane, bool LeaveOut, bool Same>
    void multiply_children(const double *row, const double *next, int a, int b, int from, int to, int c);
    void divide_by_careful(int child);
    const double *cells(int a, int b, int child, int child_slot) const;
    Scaled work_out_denominator(double seen) const;
    Scaled denominator(double seen);
    template <int Few>
    double add_members(double *m, double *e);
    template <int Few>
    bool add_plain_member(int a, int b, const Pair &member, double *m, const double *e);
    bool member_value(int a, int b, const Pair &member, double *m, double *e);
    double scale_of(const Pair &member, bool complete);
};

}  // namespace tanager::scoring
