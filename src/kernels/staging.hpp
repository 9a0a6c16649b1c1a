// Staged answers: naive Bayes first, then the members of a sum of products, one after the other. There is an answer
// after every step.
//
// Step 0 is naive Bayes. Every further step adds the next member that is eligible for the row; the others are passed
// over and cost no step. Where none of the plan's own members gave any class a chance, the members of the sum that it
// falls back on follow, at the next level. How members are mixed:
//
//   joint      (P_nb + sum w P_s) / (1 + sum w), on joint probabilities
//   posterior  the same mean of posteriors; a member that gives no class a chance is left out
//   replace    naive Bayes alone, until there is something to take its place: sum w P_s / sum w
//
// A row is done when all members were added, or `limit` of them, or when after two steps in a row the same class was
// ahead of all others by more than `margin` in log-odds. Two steps: after one, a single odd member could end the row.
#pragma once
#include <memory>

#include "scoring_plan.hpp"

namespace tanager::scoring {

enum class Mix { joint, posterior, replace };

struct Staging {
    std::shared_ptr<ScoringPlan> naive;
    Mix mix = Mix::joint;
    int limit = -1;  // members, -1: all
    double margin = std::numeric_limits<double>::infinity();
};

// How far a row has come.
struct Progress {
    double weight = 1;          // what its total is to be divided by
    double level_weight = 0;    // the weight of the members added at this level
    int level = 0;              // whose members are next: 0 the plan's own, then those of the sums it falls back on
    int next = -1;              // the next eligible member, -1 where the row is done
    int used = 0;               // members added
    int leader = -1;            // the class that was ahead by more than the margin after the last step
    bool any_possible = false;  // a member gave some class a chance
};

inline bool any_positive(const double *m, int k) {
    return std::any_of(m, m + k, [](double x) { return x > 0; });
}

// By the factors of the classes, where there are any.
inline void multiply(double *m, const double *factor, int k) {
    for (int c = 0; factor && c < k; ++c) m[c] *= factor[c];
}

// To a posterior in place; false, and zeros, where no class has a chance.
inline bool normalise(double *m, double *e, int k) {
    const bool possible = finish(m, e, k, 1, false, m);
    if (!possible) std::fill_n(m, k, 0.0);
    std::fill_n(e, k, 0.0);
    return possible;
}

// Adds the steps of a row to its total: mantissas and powers of two, one each per class. A Reader (count_reader.hpp,
// table_reader.hpp) has the row and reads naive Bayes and the members.
struct Mixer {
    Mix mix;
    int limit, k;
    double margin, odds;  // odds: of the second class against the first, at the margin

    Mixer(const Staging &staging, int k_)
        : mix(staging.mix), limit(staging.limit), k(k_), margin(staging.margin), odds(std::exp(-staging.margin)) {}

    bool may_stop_early() const { return std::isfinite(margin); }

    // Naive Bayes.
    template <class Reader>
    void first(Reader &reader, Progress &p, double *total, double *power) const {
        p = Progress{};
        reader.naive(total, power);
        multiply(total, reader.factor(), k);
        if (mix == Mix::posterior && !normalise(total, power, k)) p.weight = 0;
        p.next = find(reader, p, 0);
        if (may_stop_early()) compare(p, total, power);
    }
    // The next member; value and value_power are memory for one number per class.
    template <class Reader>
    void step(Reader &reader, Progress &p, double *total, double *power, double *value, double *value_power) const {
        reader.member(p.level, p.next, value, value_power);
        multiply(value, reader.factor(), k);
        add(p, total, power, value, value_power, reader.weight(p.level, p.next));
        ++p.used;
        p.next = find(reader, p, p.next + 1);
        if (may_stop_early()) compare(p, total, power);
    }
    // A member, or the sum of several with the weight of all.
    void add(Progress &p, double *total, double *power, double *value, double *value_power, double weight) const {
        const bool possible = any_positive(value, k);
        p.level_weight += weight;
        if (mix == Mix::posterior) {
            if (!possible) return;
            normalise(value, value_power, k);
            for (int c = 0; c < k; ++c) total[c] += weight * value[c];
            p.weight += weight;
        } else if (mix == Mix::replace && !p.any_possible) {
            if (!possible) return;
            // Members of this level that gave no class a chance still count: the sum is over all their weights.
            std::copy_n(value, k, total);
            std::copy_n(value_power, k, power);
            p.weight = p.level_weight;
        } else {
            add_scaled(value, value_power, k, total, power);
            p.weight += weight;
        }
        p.any_possible = p.any_possible || possible;
    }
    // The next eligible member from `from` on, of this level or, as long as none gave a class a chance, of a later one.
    template <class Reader>
    int find(Reader &reader, Progress &p, int from) const {
        if (limit >= 0 && p.used >= limit) return -1;
        int next = reader.next(p.level, from);
        while (next < 0 && !p.any_possible && p.level + 1 < reader.n_levels()) {
            p.level_weight = 0;
            next = reader.next(++p.level, 0);
        }
        return next;
    }
    // Ends the row where the same class was ahead twice.
    void compare(Progress &p, const double *total, const double *power) const {
        const int before = p.leader;
        p.leader = ahead(total, power);
        if (k == 1 || (p.leader >= 0 && p.leader == before)) p.next = -1;
    }
    // The class that leads by more than the margin, -1 where none does.
    int ahead(const double *m, const double *e) const {
        double top = -std::numeric_limits<double>::infinity();
        for (int c = 0; c < k; ++c)
            if (m[c] > 0) top = std::max(top, e[c]);
        double first = 0, second = 0;
        int leader = -1;
        for (int c = 0; c < k; ++c) {
            // ldexp takes an int, and the difference of two powers may be beyond it; below 2^-4000 all is 0 anyway.
            const double x = e[c] == top ? m[c] : std::ldexp(m[c], int(std::clamp(e[c] - top, -4000.0, 0.0)));
            if (x > first) {
                second = first;
                first = x;
                leader = c;
            } else {
                second = std::max(second, x);
            }
        }
        return second == 0 || second < first * odds ? leader : -1;
    }
};

}  // namespace tanager::scoring
