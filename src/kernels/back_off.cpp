#include "back_off.hpp"

#include <cmath>
#include <numeric>

#include "scoring_plan.hpp"

namespace tanager::scoring {

namespace {

using Vector = std::vector<double>;

const double kLow = std::log(kLeastStrength), kHigh = std::log(kMostStrength);
constexpr double kLongestStep = 2.5;         // in log c
constexpr double kFarUp = 6, kFarDown = -3;  // in log c: from there on the bound itself is tried
constexpr double kFlat = 1e-3;               // second derivative below which a bound may be as likely
constexpr double kGrid = 1 << 20;            // strengths are rounded to a millionth, see learn_strengths
constexpr double kEnoughGain = 1e-4;         // of what the gradient promises
constexpr double kLittleLeft = 1e-8;         // of the log likelihood: a step that promises less is the last
constexpr double kRounding = 1e-15;          // per row, of the value
constexpr double kNoSlope = 1e-13;           // per row: rounding as well
constexpr int kMostSteps = 100, kMostHalvings = 30;

double strength_of(double x) { return x <= kLow ? kLeastStrength : x >= kHigh ? kMostStrength : std::exp(x); }

// A value with its gradient and the lower half of its second derivatives, in x = log c.
struct Slopes {
    double value = 0;
    Vector first, second;
    explicit Slopes(std::size_t n) : first(n), second(n * n) {}
    double &at(std::size_t i, std::size_t j) { return second[i * first.size() + j]; }
    double at(std::size_t i, std::size_t j) const { return second[i * first.size() + j]; }
};

// The log likelihood. With m = own / context and p = c / (context + c), a level is theta = m + p (t - m), where t is
// the level below; in x = log c, dp/dx = p (1 - p). Derivatives of the levels below the last go up with the values. The
// last level has by far the most cells: each adds just three sums to the cell below it, by which the derivatives of
// that cell count.
class Likelihood {
  public:
    double n_rows = 0;

    Likelihood(const BackOffCells &cells, double center, double prior)
        : cells_(cells), n_(cells.levels.size()), center_(center), prior_(prior), below_(n_) {
        for (double w : cells.weight) n_rows += w;
        for (std::size_t l = 0; l + 1 < n_; ++l) {
            const std::size_t size = cells.levels[l].own.size();
            below_[l] = {Vector(size), Vector(size * (l + 1)), Vector(size * (l + 1) * (l + 1))};
        }
        if (n_ > 1) sums_.resize(3 * cells.levels[n_ - 2].own.size());
    }

    void operator()(const Vector &x, Slopes &out) {
        for (std::size_t l = 0; l + 1 < n_; ++l) raise(l, strength_of(x[l]));
        std::fill(out.first.begin(), out.first.end(), 0.0);
        std::fill(out.second.begin(), out.second.end(), 0.0);
        top(strength_of(x[n_ - 1]), out);
        for (std::size_t l = 0; l < n_; ++l) {
            out.value -= prior_ / 2 * (x[l] - center_) * (x[l] - center_);
            out.first[l] -= prior_ * (x[l] - center_);
            out.at(l, l) -= prior_;
        }
        if (n_ == 1) return;
        const std::size_t k = n_ - 1;  // the last level
        const Known &known = below_[k - 1];
        for (std::size_t q = 0; q < known.theta.size(); ++q) {
            const double *first = &known.first[q * k], *second = &known.second[q * k * k], *sums = &sums_[3 * q];
            for (std::size_t i = 0; i < k; ++i) {
                out.first[i] += sums[0] * first[i];
                out.at(k, i) += sums[2] * first[i];
                for (std::size_t j = 0; j <= i; ++j)
                    out.at(i, j) += sums[0] * second[i * k + j] - sums[1] * first[i] * first[j];
            }
        }
    }

  private:
    struct Known {
        Vector theta, first, second;  // of every cell; by the strengths up to its level
    };
    const BackOffCells &cells_;
    std::size_t n_;
    double center_, prior_;  // of log c
    std::vector<Known> below_;
    Vector sums_;

    double lower(std::size_t l, std::size_t q) const {
        return l > 0 ? below_[l - 1].theta[cells_.levels[l].below[q]] : cells_.uniform;
    }
    void raise(std::size_t l, double c) {
        const BackOffCells::Level &level = cells_.levels[l];
        Known &own = below_[l];
        const std::size_t n = l + 1;
        for (std::size_t q = 0; q < level.own.size(); ++q) {
            const double t = lower(l, q), share = c / (level.context[q] + c), rest = 1 - share;
            const double theta = own.theta[q] = (level.own[q] + c * t) / (level.context[q] + c);
            double *first = &own.first[q * n], *second = &own.second[q * n * n];
            first[l] = share * (t - theta);  // p (1 - p) (t - m), as theta - m = p (t - m)
            second[l * n + l] = first[l] * (rest - share);
            if (l == 0) continue;
            const std::size_t at = std::size_t(level.below[q]);
            const double *first_below = &below_[l - 1].first[at * l], *second_below = &below_[l - 1].second[at * l * l];
            for (std::size_t i = 0; i < l; ++i) {
                first[i] = share * first_below[i];
                second[l * n + i] = rest * first[i];
                for (std::size_t j = 0; j <= i; ++j) second[i * n + j] = share * second_below[i * l + j];
            }
        }
    }
    void top(double c, Slopes &out) {
        const std::size_t k = n_ - 1;
        const BackOffCells::Level &level = cells_.levels[k];
        std::fill(sums_.begin(), sums_.end(), 0.0);
        double value = 0, first = 0, second = 0;
        for (std::size_t q = 0; q < level.own.size(); ++q) {
            const double t = lower(k, q), each = 1 / (level.context[q] + c), share = c * each;
            const double theta = (level.own[q] + c * t) * each, weight = cells_.weight[q], inverse = 1 / theta;
            const double slope = share * (t - theta) * inverse;  // of log theta
            value += weight * std::log(theta);
            first += weight * slope;
            second += weight * slope * (1 - 2 * share - slope);
            if (k == 0) continue;
            double *sums = &sums_[3 * std::size_t(level.below[q])];
            const double by = weight * share * inverse;
            sums[0] += by;
            sums[1] += by * share * inverse;
            sums[2] += by * (1 - share - slope);
        }
        out.value = value;
        out.first[k] = first;
        out.at(k, k) = second;
    }
};

// Climbs within bounds by Newton's rule; where the surface is not bent downwards, or not enough, it is bent.
class Climb {
  public:
    Climb(Likelihood &likelihood, double start, std::size_t n, int n_fixed)
        : f_(likelihood), n_(n), n_fixed_(std::size_t(n_fixed)), x_(n, std::clamp(std::log(start), kLow, kHigh)),
          next_(n), step_(n), here_(n), there_(n), tried_(n) {
        f_(x_, here_);
    }

    Vector run() {
        climb();
        // Levels with the same counts, as below a parent that follows from the others, are exchangeable. From equal
        // strengths the way leads to a saddle, on which they stay equal.
        for (int rounds = 0; rounds < 3 && leave_saddle(); ++rounds) climb();
        for (std::size_t l = n_fixed_; l < n_; ++l)
            if (here_.at(l, l) > -kFlat) try_bound(l);
        // Near the top each step squares what is left, which by now is less than the rounding of the value.
        if (find_step() <= kLittleLeft)
            for (std::size_t l = 0; l < n_; ++l) x_[l] = std::clamp(x_[l] + step_[l], kLow, kHigh);
        return x_;
    }

  private:
    Likelihood &f_;
    std::size_t n_, n_fixed_;
    Vector x_, next_, step_;
    Slopes here_, there_;
    std::vector<char> tried_;

    void climb() {
        for (int steps = 0; steps < kMostSteps; ++steps) {
            for (std::size_t l = n_fixed_; l < n_; ++l)
                if (!tried_[l] && (here_.first[l] > 0 ? x_[l] > kFarUp : x_[l] < kFarDown)) try_bound(l);
            if (find_step() <= kLittleLeft || !advance()) break;
        }
    }
    std::vector<std::size_t> inside() const {
        std::vector<std::size_t> out;
        for (std::size_t l = n_fixed_; l < n_; ++l)
            if (x_[l] > kLow && x_[l] < kHigh && std::abs(here_.at(l, l)) > kNoSlope * f_.n_rows) out.push_back(l);
        return out;
    }
    // One step along the direction that is bent upwards most; false where none is, or nothing is gained.
    bool leave_saddle() {
        const auto own = inside();
        if (own.size() < 2 || solve(own, 0)) return false;
        const Vector along = most_bent(own);
        const Vector from = x_;
        const double value = here_.value;
        for (const double way : {1.0, -1.0}) {
            next_ = from;
            for (std::size_t i = 0; i < own.size(); ++i)
                next_[own[i]] = std::clamp(from[own[i]] + way * along[i], kLow, kHigh);
            f_(next_, there_);
            if (there_.value <= value + kLittleLeft) continue;
            take();
            return true;
        }
        return false;
    }
    // Powers of the second derivatives, all shifted above zero, turn any vector towards the one of the largest.
    Vector most_bent(const std::vector<std::size_t> &own) const {
        const std::size_t n = own.size();
        const auto bend = [&](std::size_t i, std::size_t j) {
            return here_.at(std::max(own[i], own[j]), std::min(own[i], own[j]));
        };
        double shift = 0;
        Vector v(n), w(n);
        for (std::size_t i = 0; i < n; ++i) {
            double row = 0;
            for (std::size_t j = 0; j < n; ++j) row += std::abs(bend(i, j));
            shift = std::max(shift, row);
            v[i] = i % 2 ? -1.0 / double(i + 1) : 1.0;  // not symmetric in any two
        }
        for (int turns = 0; turns < 100; ++turns) {
            double length = 0;
            for (std::size_t i = 0; i < n; ++i) {
                w[i] = shift * v[i];
                for (std::size_t j = 0; j < n; ++j) w[i] += bend(i, j) * v[j];
                length = std::max(length, std::abs(w[i]));
            }
            for (std::size_t i = 0; i < n && length > 0; ++i) v[i] = w[i] / length;
        }
        return v;
    }
    bool moves(std::size_t l) const {
        const double g = here_.first[l];
        return l >= n_fixed_ && std::abs(g) > kNoSlope * f_.n_rows && !(x_[l] <= kLow && g <= 0) &&
               !(x_[l] >= kHigh && g >= 0);
    }
    // What the step promises: the product of gradient and step.
    double find_step() {
        std::vector<std::size_t> free;
        std::fill(step_.begin(), step_.end(), 0.0);
        for (std::size_t l = 0; l < n_; ++l) {
            const double g = here_.first[l];
            if (!moves(l)) continue;
            // Bent upwards, or by too little for a step within reach: far from the top.
            if (here_.at(l, l) * kLongestStep > -std::abs(g)) step_[l] = g > 0 ? kLongestStep : -kLongestStep;
            else free.push_back(l);
        }
        for (double bent = 0; !free.empty() && !solve(free, bent);) bent = bent > 0 ? 4 * bent : 0.1;
        double longest = 0, promised = 0;
        for (double s : step_) longest = std::max(longest, std::abs(s));
        for (std::size_t l = 0; l < n_; ++l) {
            if (longest > kLongestStep) step_[l] *= kLongestStep / longest;
            promised += step_[l] * here_.first[l];
        }
        return promised;
    }
    // Solves (bent D - second derivatives) step = gradient over the free strengths by Cholesky; false where that is not
    // positive definite. Strengths differ in how much they matter, so D has the size of each.
    bool solve(const std::vector<std::size_t> &free, double bent) {
        const std::size_t n = free.size();
        Vector root(n * n), z(n);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= i; ++j) {
                double sum = -here_.at(free[i], free[j]);
                const double whole = std::abs(sum) + std::abs(here_.first[free[i]]);
                if (i == j) sum += bent * whole;
                for (std::size_t u = 0; u < j; ++u) sum -= root[i * n + u] * root[j * n + u];
                if (i == j && !(sum > 1e-10 * whole)) return false;
                root[i * n + j] = i == j ? std::sqrt(sum) : sum / root[j * n + j];
            }
        for (std::size_t i = 0; i < n; ++i) {
            z[i] = here_.first[free[i]];
            for (std::size_t u = 0; u < i; ++u) z[i] -= root[i * n + u] * z[u];
            z[i] /= root[i * n + i];
        }
        for (std::size_t i = n; i-- > 0;) {
            for (std::size_t u = i + 1; u < n; ++u) z[i] -= root[u * n + i] * z[u];
            z[i] /= root[i * n + i];
            step_[free[i]] = z[i];
        }
        return true;
    }
    bool advance() {
        double share = 1;
        for (int halvings = 0; halvings < kMostHalvings; ++halvings, share /= 2) {
            double promised = 0;
            for (std::size_t l = 0; l < n_; ++l) {
                next_[l] = std::clamp(x_[l] + share * step_[l], kLow, kHigh);
                promised += here_.first[l] * (next_[l] - x_[l]);
            }
            if (next_ == x_) return false;
            f_(next_, there_);
            if (promised > 0 && there_.value >= here_.value + kEnoughGain * promised) {
                take();
                return true;
            }
        }
        return false;
    }
    void take() {
        std::swap(x_, next_);
        std::swap(here_, there_);
    }
    // Far out the likelihood flattens, and steps would take long to reach the bound.
    void try_bound(std::size_t l) {
        const double slope = here_.first[l];
        if (!moves(l)) return;
        tried_[l] = 1;
        next_ = x_;
        next_[l] = slope > 0 ? kHigh : kLow;
        f_(next_, there_);
        if (there_.value >= here_.value - kRounding * f_.n_rows && there_.first[l] * slope >= 0) take();
    }
};

}  // namespace

std::vector<double> learn_strengths(const BackOffCells &cells, double start, double prior, int n_fixed) {
    const std::size_t n = cells.levels.size();
    const double from = std::max(start, kLeastStrength);
    Vector x(n, std::clamp(std::log(from), kLow, kHigh));
    if (!cells.weight.empty()) {
        Likelihood likelihood(cells, std::clamp(std::log(from), kLow, kHigh), prior);
        x = Climb(likelihood, from, n, n_fixed).run();
    }
    // Rounded: sums over the same cells in another order, after a merge or a move of columns, give the same strengths.
    for (double &l : x) l = l <= kLow || l >= kHigh ? l : std::round(l * kGrid) / kGrid;
    for (double &l : x) l = strength_of(l);
    for (int l = 0; l < n_fixed; ++l) x[l] = start;
    return x;
}

void learn_strengths(ScoringPlan &plan) {
    const Store &store = plan.store;
    const Estimate &estimate = plan.estimate;
    const auto sizes = [&](const std::vector<int> &parents) {
        std::vector<int> out;
        for (int p : parents) out.push_back(store.n_values[p]);
        return out;
    };
    for (Term &term : plan.terms) {
        const int r = store.n_values[term.child], n_groups = term.free ? 1 : store.k;
        std::vector<const Term *> levels(term.parents.size() + 1, &term);
        for (std::size_t l = levels.size() - 1; l > 0; --l) levels[l - 1] = &plan.terms[levels[l]->prefix];
        const auto fill = [&](int level, const int *slot, double *out) {
            const Place &place = levels[level]->counts;
            const double *at = place.context([slot](std::size_t q) { return slot[q]; });
            if (place.never(at)) return false;
            for (int v = 0; v < r; ++v, at += place.child_stride, out += n_groups) {
                if (term.free) *out = std::accumulate(at, at + store.k, 0.0);
                else std::copy_n(at, n_groups, out);
            }
            return true;
        };
        const auto counted = gather_back_off(sizes(term.parents), r, n_groups, estimate.unit, fill);
        term.strengths = learn_strengths(counted, estimate.strength, estimate.prior);
    }
    if (plan.class_parents.empty()) return;
    const auto fill = [&](int level, const int *slot, double *out) {
        const double *at = store.classes;
        if (level > 0) {
            const Place &place = plan.class_places[level - 1];
            at = place.context([slot](std::size_t q) { return slot[q]; });
            if (place.never(at)) return false;
            at += slot[level - 1] * place.child_stride;
        }
        std::copy_n(at, store.k, out);
        return true;
    };
    const auto counted = gather_back_off(sizes(plan.class_parents), store.k, 1, estimate.unit, fill);
    const auto learned = learn_strengths(counted, estimate.strength, estimate.prior, 1);
    plan.class_strengths.assign(learned.begin() + 1, learned.end());
}

}  // namespace tanager::scoring
