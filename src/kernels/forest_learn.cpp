#include <cmath>

#include "cpu.hpp"
#include "factor_loss.hpp"
#include "forest_levels.hpp"
#include "interrupt.hpp"
#include "work_done.hpp"

namespace tanager::forest {

namespace {

constexpr int block = FactorTerms::block, lanes = 16;

// The loops in which the time is spent, for the registers that a processor has.
struct Loops {
    // theta = (a + strength theta) / (b + strength)
    void (*smooth)(const float *a, const float *b, float strength, std::int64_t n, float *theta);
    // Sums over rows: of times (q - r) and of times (r^2 - q^2), q = theta / (a + strength theta), r = 1 / (b +
    // strength)
    void (*slopes)(const float *a, const float *b, const float *theta, const float *times, float strength,
                   std::int64_t n, float *sums);
    void (*logs)(float *x, std::int64_t n);
    // Logs as whole numbers of steps.
    void (*rounded)(const float *x, std::int64_t n, float steps, std::int8_t *to);
};

[[gnu::always_inline]] inline void smooth_all(const float *a, const float *b, float strength, std::int64_t n,
                                              float *theta) {
    for (std::int64_t i = 0; i < n; ++i) theta[i] = (a[i] + strength * theta[i]) / (b[i] + strength);
}

// n is a multiple of `lanes`.
[[gnu::always_inline]] inline void add_up_slopes(const float *a, const float *b, const float *theta, const float *times,
                                                 float strength, std::int64_t n, float *sums) {
    float first[lanes] = {}, second[lanes] = {};
    for (std::int64_t i = 0; i < n; i += lanes)
        for (int j = 0; j < lanes; ++j) {
            const float q = theta[i + j] / (a[i + j] + strength * theta[i + j]), r = 1.0f / (b[i + j] + strength);
            first[j] += times[i + j] * (q - r);
            second[j] += times[i + j] * (r * r - q * q);
        }
    sums[0] = sums[1] = 0;
    for (int j = 0; j < lanes; ++j) {
        sums[0] += first[j];
        sums[1] += second[j];
    }
}

[[gnu::always_inline]] inline void log_all(float *x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = quick_log(x[i]);
}

[[gnu::always_inline]] inline void round_all(const float *x, std::int64_t n, float steps, std::int8_t *to) {
    for (std::int64_t i = 0; i < n; ++i) {
        const float own = std::min(127.0f, std::max(-127.0f, x[i] * steps));
        to[i] = std::int8_t(std::int32_t(own + (own < 0 ? -0.5f : 0.5f)));
    }
}

#define TANAGER_FOREST_LOOPS(level, attribute)                                                                    \
    attribute void smooth_##level(const float *a, const float *b, float strength, std::int64_t n, float *theta) { \
        smooth_all(a, b, strength, n, theta);                                                                     \
    }                                                                                                             \
    attribute void slopes_##level(const float *a, const float *b, const float *theta, const float *times,         \
                                  float strength, std::int64_t n, float *sums) {                                  \
        add_up_slopes(a, b, theta, times, strength, n, sums);                                                     \
    }                                                                                                             \
    attribute void logs_##level(float *x, std::int64_t n) { log_all(x, n); }                                      \
    attribute void rounded_##level(const float *x, std::int64_t n, float steps, std::int8_t *to) {                \
        round_all(x, n, steps, to);                                                                               \
    }                                                                                                             \
    constexpr Loops loops_##level{smooth_##level, slopes_##level, logs_##level, rounded_##level};

TANAGER_FOREST_LOOPS(plain, )
#if defined(__x86_64__)
TANAGER_FOREST_LOOPS(avx2, __attribute__((target("avx2"))))
#endif

const Loops &best_loops() {
#if defined(__x86_64__)
    if (chosen_cpu_level() != CpuLevel::plain) return loops_avx2;
#endif
    return loops_plain;
}

// The strengths of one family, by rows [begin, end) left out of these counts one at a time.
class StrengthLearner {
  public:
    StrengthLearner(const Rows &rows, const Bounds &bounds) : rows_(rows), bounds_(bounds), loops_(best_loops()) {}

    void learn(const Family &family, const Levels &levels, const Groups &groups, std::int64_t begin, std::int64_t end,
               float *strengths) {
        const std::size_t n = std::size_t(end - begin), padded = (n + lanes - 1) / lanes * lanes;
        for (Floats *own : {&a_, &b_, &theta_, &times_}) own->assign(padded, 1.0f);
        context_.assign(n, 0u);
        const std::uint8_t *child = groups.data() + family.child * rows_.n_rows + begin;
        for (std::size_t s = 0; s < n; ++s) theta_[s] = levels.marginal(child[s], one(begin, s));
        for (int l = 0; l <= family.n_parents; ++l) {
            if (l > 0)
                deepen(context_, groups.data() + family.parents[l - 1] * rows_.n_rows + begin, family.radix[l - 1]);
            look_up(family, levels, l, child, begin, n);
            strengths[l] = best();
            loops_.smooth(a_.data(), b_.data(), strengths[l], std::int64_t(n), theta_.data());
        }
    }

  private:
    float weight(std::int64_t r) const { return rows_.weights ? rows_.weights[r] : 1.0f; }
    float one(std::int64_t begin, std::size_t s) const { return std::min(1.0f, weight(begin + std::int64_t(s))); }

    // How many other rows of its class have the context of a row, and how many of these its value.
    void look_up(const Family &family, const Levels &levels, int l, const std::uint8_t *child, std::int64_t begin,
                 std::size_t n) {
        const Floats &cells = levels.cells[std::size_t(l)], &totals = levels.totals[std::size_t(l)];
        const std::int64_t c = rows_.n_classes;
        std::fill(times_.begin(), times_.end(), 0.0f);
        for (std::size_t s = 0; s < n; ++s) {
            const std::int64_t u = context_[s], label = rows_.labels[begin + std::int64_t(s)];
            const float less = one(begin, s);
            a_[s] = std::max(0.0f, cells[std::size_t((u * family.n_groups + child[s]) * c + label)] - less);
            b_[s] = std::max(0.0f, totals[std::size_t(u * c + label)] - less);
            const bool tells = b_[s] >= 1e-6f && child[s] != family.n_groups - 1;  // somebody else is there to tell
            times_[s] = tells ? weight(begin + std::int64_t(s)) : 0.0f;
        }
    }

    // Where the slope in the log of the strength is zero: by Newton's steps inside a bracket. A weak prior lies
    // around 2.
    float best() {
        const float middle = std::log(2.0f);
        float low = std::log(bounds_.weakest), high = std::log(bounds_.strongest);
        float x = std::min(high, std::max(low, middle));
        for (int step = 0; step < 12; ++step) {
            const float strength = std::exp(x);
            float sums[2];
            loops_.slopes(a_.data(), b_.data(), theta_.data(), times_.data(), strength, std::int64_t(times_.size()),
                          sums);
            const float slope = strength * sums[0] - 0.5f * (x - middle);
            const float bend = strength * sums[0] + strength * strength * sums[1] - 0.5f;
            (slope > 0 ? low : high) = x;
            float next = x - slope / bend;
            if (!(bend < 0 && next > low && next < high)) next = 0.5f * (low + high);
            const bool close = std::fabs(next - x) < 0.02f;
            x = next;
            if (close) break;
        }
        return std::exp(x);
    }

    const Rows &rows_;
    const Bounds &bounds_;
    const Loops &loops_;
    Floats a_, b_, theta_, times_;
    std::vector<std::uint32_t> context_;
};

// What one family says about rows that are left out of its counts.
class LeftOutLogs {
  public:
    explicit LeftOutLogs(int n_classes)
        : c_(n_classes), loops_(best_loops()), theta_(std::size_t(block * n_classes)), a_(theta_), b_(theta_),
          steps_(theta_.size()) {}

    // Rows [begin, begin + n) of `rows`, n <= block, each with its weight left out: logs centred over the classes and
    // clipped, (block, classes).
    const float *of(const Family &family, const Levels &levels, const float *strengths, const Rows &rows,
                    const Groups &groups, std::int64_t begin, int n, float clip) {
        // Loops over a number of classes that the compiler knows take a third of the time.
        switch (c_) {
            case 2: return logs<2>(family, levels, strengths, rows, groups, begin, n, clip);
            case 3: return logs<3>(family, levels, strengths, rows, groups, begin, n, clip);
            default: return logs<0>(family, levels, strengths, rows, groups, begin, n, clip);
        }
    }

    // The logs that were found last in steps, (sides, block), and zeros after the last row.
    void in_steps(int n, float steps, std::int8_t *to) {
        loops_.rounded(theta_.data(), std::int64_t(n) * c_, steps, steps_.data());
        for (int y = c_ == 2 ? 1 : 0; y < c_; ++y, to += block) {
            const std::int8_t *own = steps_.data() + y;
            for (int r = 0; r < n; ++r) to[r] = own[r * c_];
            std::fill(to + n, to + block, std::int8_t(0));
        }
    }

  private:
    static float less(const Rows &rows, std::int64_t r) { return rows.weights ? rows.weights[r] : 1.0f; }

    template <int C>
    const float *logs(const Family &family, const Levels &levels, const float *strengths, const Rows &rows,
                      const Groups &groups, std::int64_t begin, int n, float clip) {
        const int c = C ? C : c_;
        const std::uint8_t *child = groups.data() + family.child * rows.n_rows + begin;
        std::uint32_t context[block] = {};
        for (int s = 0; s < n; ++s)
            std::fill_n(&theta_[std::size_t(s * c)], c, levels.marginal(child[s], less(rows, begin + s)));
        for (int l = 0; l <= family.n_parents; ++l) {
            if (l > 0) {
                const std::uint8_t *own = groups.data() + family.parents[l - 1] * rows.n_rows + begin;
                const std::uint32_t radix = std::uint32_t(family.radix[l - 1]);
                for (int s = 0; s < n; ++s) context[s] = context[s] * radix + own[s];
            }
            look_up<C>(family, levels, l, rows, begin, n, child, context);
            loops_.smooth(a_.data(), b_.data(), strengths[l], std::int64_t(n) * c, theta_.data());
        }
        loops_.logs(theta_.data(), std::int64_t(n) * c);
        for (int s = 0; s < n; ++s) {
            float *own = theta_.data() + s * c, mean = 0;
            for (int y = 0; y < c; ++y) mean += own[y];
            mean /= float(c);
            const bool missing = child[s] == family.n_groups - 1;
            for (int y = 0; y < c; ++y) own[y] = missing ? 0.0f : clipped(own[y] - mean, clip);
        }
        return theta_.data();
    }

    template <int C>
    void look_up(const Family &family, const Levels &levels, int l, const Rows &rows, std::int64_t begin, int n,
                 const std::uint8_t *child, const std::uint32_t *context) {
        const int c = C ? C : c_;
        const float *cells = levels.cells[std::size_t(l)].data(), *totals = levels.totals[std::size_t(l)].data();
        float *a = a_.data(), *b = b_.data();
        for (int s = 0; s < n; ++s, a += c, b += c) {
            const std::int64_t u = context[s];
            const float *cell = cells + (u * family.n_groups + child[s]) * c, *total = totals + u * c;
            for (int y = 0; y < c; ++y) {
                a[y] = cell[y];
                b[y] = total[y];
            }
            const int label = rows.labels[begin + s];
            const float own = less(rows, begin + s);
            a[label] = std::max(0.0f, cell[label] - own);
            b[label] = std::max(0.0f, total[label] - own);
        }
    }

    int c_;
    const Loops &loops_;
    Floats theta_, a_, b_;  // (block, classes)
    std::vector<std::int8_t> steps_;
};

}  // namespace

void learn_families(const Plan &plan, const Rows &rows, const Halves &halves, const Bounds &bounds, int n_jobs,
                    float *strengths, std::int8_t *const terms[2]) {
    const int c = rows.n_classes;
    const std::int64_t line = std::int64_t(plan.families.size()) * FactorTerms::sides(c) * block;
    const std::int64_t firsts[3] = {0, halves.half, rows.n_rows};
    Floats ones(std::size_t(rows.n_rows), 1.0f);  // of rows that are the same, one is left out
    for (std::size_t r = 0; rows.weights && r < ones.size(); ++r) ones[r] = std::min(1.0f, rows.weights[r]);
    Rows single = rows;
    single.weights = ones.data();
    const WorkDone work(std::int64_t(plan.families.size()));
    each_member(plan, n_jobs, [&] {
        return [&, groups = Groups(), half = std::vector<Levels>(2), all = Levels(),
                learner = StrengthLearner(rows, bounds),
                logs = LeftOutLogs(c)](std::size_t first, std::size_t last) mutable {
            group_rows(plan, first, last, rows, 0, rows.n_rows, groups);
            for (std::size_t f = first; f < last; ++f) {
                const Family &family = plan.families[f];
                float own[2][depth];
                for (int h = 0; h < 2; ++h) {
                    check_interrupt();
                    half[std::size_t(h)].count(family, rows, groups, firsts[h], firsts[h + 1]);
                    learner.learn(family, half[std::size_t(h)], groups, firsts[h], firsts[h] + halves.few[h], own[h]);
                }
                for (int l = 0; l <= family.n_parents; ++l)
                    strengths[f * depth + std::size_t(l)] = std::sqrt(own[0][l] * own[1][l]);
                all.add(half[0], half[1]);
                for (int h = 0; h < 2; ++h) {
                    std::int8_t *to = terms[h] + std::int64_t(f) * FactorTerms::sides(c) * block;
                    for (std::int64_t r = 0; r < halves.judged[h]; r += block, to += line) {
                        check_interrupt();
                        const int n = int(std::min<std::int64_t>(block, halves.judged[h] - r));
                        logs.of(family, all, own[1 - h], single, groups, firsts[h] + r, n, bounds.clip);
                        logs.in_steps(n, 127.0f / bounds.clip, to);
                    }
                }
                WorkDone::one_more();
            }
        };
    });
}

void left_out_sums(const Plan &plan, const Rows &rows, const Rows &judged, const float *strengths, const float *weights,
                   const Bounds &bounds, int n_jobs, double *out) {
    const std::int64_t n = judged.n_rows, c = rows.n_classes;
    std::fill_n(out, n * c, 0.0);
    const std::size_t jobs = std::size_t(std::max(1, n_jobs));
    // Every thread leaves out rows of its own, so that sums do not depend on how many there are.
    run_threads(jobs, [&](std::size_t t) {
        const std::int64_t begin = n * std::int64_t(t) / std::int64_t(jobs);
        const std::int64_t end = n * std::int64_t(t + 1) / std::int64_t(jobs);
        if (begin == end) return;
        Groups groups, judged_groups;
        Levels levels;
        LeftOutLogs logs{int(c)};
        for (std::size_t f = 0; f < plan.families.size(); ++f) {
            check_interrupt();
            const Family &family = plan.families[f];
            if (f == 0 || family.member != plan.families[f - 1].member) {
                std::size_t last = f;
                while (last < plan.families.size() && plan.families[last].member == family.member) ++last;
                group_rows(plan, f, last, rows, 0, rows.n_rows, groups);
                group_rows(plan, f, last, judged, 0, n, judged_groups);
            }
            if (weights[f] == 0) continue;
            levels.count(family, rows, groups, 0, rows.n_rows);
            for (std::int64_t r = begin; r < end; r += block) {
                const int m = int(std::min<std::int64_t>(block, end - r));
                const float *own =
                    logs.of(family, levels, strengths + f * depth, judged, judged_groups, r, m, bounds.clip);
                for (std::int64_t i = 0; i < m * c; ++i) out[r * c + i] += double(weights[f] * own[i]);
            }
        }
    });
}

}  // namespace tanager::forest
