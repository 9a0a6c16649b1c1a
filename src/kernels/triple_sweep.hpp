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
    struct Scaled {  // m * 2^e
        double m = 0, e = 0;
    };
    const ScoringPlan &plan_;
    const int n_, k_, width_;     // width: the classes, padded
    std::vector<int> member_of_;  // of two attributes, the smaller first
    double most_total_ = 1;
    int calm_totals_ = 1;  // denominators to multiply between two looks at the exponent
    // of the row in hand
    const int *slot_ = nullptr;
    int size_ = 0, calm_ = 1;
    double left_out_ = 0, rows_ = 0;
    bool leave_out_ = false;
    std::vector<int> place_;          // of an attribute in here_
    std::vector<int> here_;           // the attributes present, in order
    std::vector<int> n_safe_;         // of those that never were missing: how many have each total
    std::vector<int> n_safe_before_;  // of the row before, with the unit that it was read with
    double unit_before_ = 0;
    std::vector<Scaled> known_;    // denominators of whole counts, for the same attributes and unit; 0 where not known
    std::vector<double> sub_;      // padded with zeros, as all that follows
    std::vector<double> product_;  // of the numerators of each pair of attributes present, as mantissas
    std::vector<double> power_;    // and powers of two
    std::vector<std::int64_t> step_;
    std::vector<double> value_, value_power_;  // of a member, one number per class

    double *product(int a, int b) { return &product_[pair(a, b) * width_]; }
    std::size_t pair(int a, int b) const {  // of places in here_, a < b
        return std::size_t(a) * (2 * size_ - a - 1) / 2 + (b - a - 1);
    }
    void start(const int *slot, int y, double left_out);
    void steady_all();
    template <int Lane>
    void multiply_numerators();
    template <int Lane, bool LeaveOut, bool Same>
    void multiply_children(const double *row, const double *next, int a, int b, int from, int to, int c);
    void divide_by_careful(int child);
    const double *cells(int a, int b, int child, int child_slot) const;
    Scaled work_out_denominator(double seen) const;
    Scaled denominator(double seen);
    bool member_value(int a, int b, const Member &member, double *m, double *e);
};

}  // namespace tanager::scoring
