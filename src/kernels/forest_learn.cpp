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
    void (*less_one)(const float *x, std::int64_t n, float *to);  // max(0, x - 1)
    void (*logs)(float *x, std::int64_t n);
    // Logs (classes, block) less their mean over the classes, clipped; 0 where nothing is said.
    void (*centre)(float *x, int c, const float *says, float clip);
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

[[gnu::always_inline]] inline void take_one(const float *x, std::int64_t n, float *to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = std::max(0.0f, x[i] - 1.0f);
}

[[gnu::always_inline]] inline void centre_all(float *x, int c, const float *says, float clip) {
    float mean[block] = {};
    for (int y = 0; y < c; ++y)
        for (int r = 0; r < block; ++r) mean[r] += x[y * block + r];
    for (int r = 0; r < block; ++r) mean[r] /= float(c);
    for (int y = 0; y < c; ++y)
        for (int r = 0; r < block; ++r) x[y * block + r] = says[r] * clipped(x[y * block + r] - mean[r], clip);
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

#define TANAGER_FOREST_LOOPS(level, attribute)                                                                      \
    attribute void smooth_##level(const float *a, const float *b, float strength, std::int64_t n, float *theta) {   \
        smooth_all(a, b, strength, n, theta);                                                                       \
    }                                                                                                               \
    attribute void slopes_##level(const float *a, const float *b, const float *theta, const float *times,           \
                                  float strength, std::int64_t n, float *sums) {                                    \
        add_up_slopes(a, b, theta, times, strength, n, sums);                                                       \
    }                                                                                                               \
    attribute void less_one_##level(const float *x, std::int64_t n, float *to) { take_one(x, n, to); }              \
    attribute void logs_##level(float *x, std::int64_t n) { log_all(x, n); }                                        \
    attribute void centre_##level(float *x, int c, const float *says, float clip) { centre_all(x, c, says, clip); } \
    attribute void rounded_##level(const float *x, std::int64_t n, float steps, std::int8_t *to) {                  \
        round_all(x, n, steps, to);                                                                                 \
    }                                                                                                               \
    constexpr Loops loops_##level{smooth_##level, slopes_##level, less_one_##level,                                 \
                                  logs_##level,   centre_##level, rounded_##level};

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

// The deepest level of a family that has at most so many cells; -1 where there is none.
int deepest_within(const Family &family, std::int64_t most) {
    std::int64_t cells = family.n_groups;
    int level = -1;
    while (level < family.n_parents && cells <= most) {
        ++level;
        if (level < family.n_parents) cells *= family.radix[level];
    }
    return level;
}

// Lines of probabilities (contexts, line) for the contexts of one more parent, which have those of the level above.
void spread_lines(const Floats &above, int radix, int line, Floats &to) {
    to.resize(above.size() * std::size_t(radix));
    float *at = to.data();
    for (auto from = above.begin(); from != above.end(); from += line)
        for (int g = 0; g < radix; ++g, at += line) std::copy_n(from, line, at);
}

template <int C>
void spread_totals(const Floats &totals, int n_groups, int n_classes, float *to) {
    const int c = C ? C : n_classes;
    for (const float *from = totals.data(), *end = from + totals.size(); from != end; from += c)
        for (int v = 0; v < n_groups; ++v)
            for (int y = 0; y < c; ++y) *to++ = from[y];
}

// The totals (contexts, classes) for every cell (contexts, groups, classes).
void spread_totals(const Floats &totals, int n_groups, int c, Floats &to) {
    to.resize(totals.size() * std::size_t(n_groups));
    switch (c) {
        case 2: return spread_totals<2>(totals, n_groups, c, to.data());
        case 3: return spread_totals<3>(totals, n_groups, c, to.data());
        default: return spread_totals<0>(totals, n_groups, c, to.data());
    }
}

// The shares of the values over all classes, for every class: what the first level is smoothed with.
void first_line(const Family &family, const Levels &levels, int c, float less, Floats &to) {
    to.resize(std::size_t(family.n_groups * c));
    for (int v = 0; v < family.n_groups; ++v) std::fill_n(to.begin() + v * c, c, levels.marginal(v, less));
}

// The strengths of one family, by rows [begin, end) left out of these counts one at a time. At a level with fewer cells
// than rows, all rows of a class in a cell are taken together.
class StrengthLearner {
  public:
    StrengthLearner(const Rows &rows, const Bounds &bounds)
        : rows_(rows), bounds_(bounds), loops_(best_loops()),
          whole_(!rows.weights ||
                 std::all_of(rows.weights, rows.weights + rows.n_rows, [](float w) { return w >= 1; })) {}

    void learn(const Family &family, const Contexts &contexts, const Levels &levels, const Groups &groups,
               std::int64_t begin, std::int64_t end, float *strengths) {
        const std::int64_t n = end - begin;
        const auto one_deeper = [&](int l) {
            contexts.deepen(context_.data(), context_.size(), family, groups, rows_.n_rows, begin, l);
        };
        context_.assign(std::size_t(n), 0u);
        const std::uint8_t *child = groups.data() + family.child * rows_.n_rows + begin;
        const int by_cells = whole_ ? deepest_within(family, n / rows_.n_classes) : -1;
        for (int l = 1; l <= by_cells; ++l) one_deeper(l);
        if (by_cells >= 0) learn_by_cells(family, levels, by_cells, child, begin, strengths);
        if (by_cells == family.n_parents) return;
        make_room(std::size_t(n));
        for (std::size_t s = 0; s < std::size_t(n); ++s)
            theta_[s] = by_cells < 0 ? levels.marginal(child[s], one(begin, s)) : cells_[cell(family, child, begin, s)];
        for (int l = by_cells + 1; l <= family.n_parents; ++l) {
            if (l > 0) one_deeper(l);
            look_up(family, levels, l, child, begin, std::size_t(n));
            strengths[l] = best();
            loops_.smooth(a_.data(), b_.data(), strengths[l], n, theta_.data());
        }
    }

  private:
    float weight(std::int64_t r) const { return rows_.weights ? rows_.weights[r] : 1.0f; }
    float one(std::int64_t begin, std::size_t s) const { return std::min(1.0f, weight(begin + std::int64_t(s))); }

    // Where the class of a row is among (contexts, groups, classes).
    std::size_t cell(const Family &family, const std::uint8_t *child, std::int64_t begin, std::size_t s) const {
        const std::size_t own = std::size_t(context_[s]) * std::size_t(family.n_groups) + child[s];
        return own * std::size_t(rows_.n_classes) + rows_.labels[begin + std::int64_t(s)];
    }

    void make_room(std::size_t n) {
        const std::size_t padded = (n + lanes - 1) / lanes * lanes;
        for (Floats *own : {&a_, &b_, &theta_}) own->assign(padded, 1.0f);
        times_.assign(padded, 0.0f);
    }

    // Levels 0 .. last, whose contexts are those of the rows; leaves the probabilities of all cells of the last.
    void learn_by_cells(const Family &family, const Levels &levels, int last, const std::uint8_t *child,
                        std::int64_t begin, float *strengths) {
        const int c = rows_.n_classes, line = family.n_groups * c;
        weights_.resize(std::size_t(last) + 1);
        weights_.back().assign(levels.cells[std::size_t(last)].size(), 0.0f);
        for (std::size_t s = 0; s < context_.size(); ++s)
            if (child[s] != family.n_groups - 1)
                weights_.back()[cell(family, child, begin, s)] += weight(begin + std::int64_t(s));
        for (int l = last; l > 0; --l)
            Levels::add_up(weights_[std::size_t(l)], std::int64_t(levels.totals[std::size_t(l) - 1].size()) / c,
                           family.radix[l - 1], line, weights_[std::size_t(l) - 1]);
        first_line(family, levels, c, 1.0f, cells_);
        for (int l = 0; l <= last; ++l) {
            const Floats &cells = levels.cells[std::size_t(l)], &weights = weights_[std::size_t(l)];
            if (l > 0) {
                spread_lines(cells_, family.radix[l - 1], line, spread_);
                cells_.swap(spread_);
            }
            const std::int64_t n = std::int64_t(cells.size());
            make_room(cells.size());
            spread_totals(levels.totals[std::size_t(l)], family.n_groups, c, spread_);
            loops_.less_one(cells.data(), n, a_.data());
            loops_.less_one(spread_.data(), n, b_.data());
            std::copy(cells_.begin(), cells_.end(), theta_.begin());
            for (std::size_t i = 0; i < cells.size(); ++i) times_[i] = b_[i] >= least_others ? weights[i] : 0.0f;
            strengths[l] = best();
            loops_.smooth(a_.data(), b_.data(), strengths[l], n, cells_.data());
        }
    }

    // How many other rows of its class have the context of a row, and how many of these its value.
    void look_up(const Family &family, const Levels &levels, int l, const std::uint8_t *child, std::int64_t begin,
                 std::size_t n) {
        const Floats &cells = levels.cells[std::size_t(l)], &totals = levels.totals[std::size_t(l)];
        const std::int64_t c = rows_.n_classes;
        for (std::size_t s = 0; s < n; ++s) {
            const std::int64_t u = context_[s], label = rows_.labels[begin + std::int64_t(s)];
            const float less = one(begin, s);
            a_[s] = std::max(0.0f, cells[std::size_t((u * family.n_groups + child[s]) * c + label)] - less);
            b_[s] = std::max(0.0f, totals[std::size_t(u * c + label)] - less);
            const bool tells = b_[s] >= least_others && child[s] != family.n_groups - 1;
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

    static constexpr float least_others = 1e-6f;  // somebody else must be there to tell
    const Rows &rows_;
    const Bounds &bounds_;
    const Loops &loops_;
    bool whole_;  // no row weighs less than one, so that one is left out of all
    Floats a_, b_, theta_, times_;
    Floats cells_, spread_;
    std::vector<Floats> weights_;
    std::vector<std::uint32_t> context_;
};

// What one family says about rows that are left out of its counts. What a row finds at a level depends on its cell
// alone, but for its own class; so levels with fewer cells than rows are worked out for cells, as others and as their
// own class see them.
class LeftOutLogs {
  public:
    explicit LeftOutLogs(int n_classes)
        : c_(n_classes), loops_(best_loops()), theta_(std::size_t(block * n_classes)), a_(theta_), b_(theta_),
          by_class_(theta_) {}

    // A family whose word about so many rows will be asked for.
    void start(const Family &family, const Contexts &contexts, const Levels &levels, const float *strengths,
               std::int64_t n_rows) {
        family_ = &family;
        contexts_ = &contexts;
        levels_ = &levels;
        strengths_ = strengths;
        by_cells_ = deepest_within(family, n_rows);
        if (by_cells_ < 0) return;
        const int line = family.n_groups * c_;
        first_line(family, levels, c_, 1.0f, others_);
        own_ = others_;
        for (int l = 0; l <= by_cells_; ++l) {
            if (l > 0)
                for (Floats *table : {&others_, &own_}) {
                    spread_lines(*table, family.radix[l - 1], line, spread_);
                    table->swap(spread_);
                }
            const Floats &cells = levels.cells[std::size_t(l)];
            const std::int64_t n = std::int64_t(cells.size());
            spread_totals(levels.totals[std::size_t(l)], family.n_groups, c_, totals_);
            loops_.smooth(cells.data(), totals_.data(), strengths[l], n, others_.data());
            spread_.resize(cells.size());
            loops_.less_one(cells.data(), n, spread_.data());
            loops_.less_one(totals_.data(), n, totals_.data());
            loops_.smooth(spread_.data(), totals_.data(), strengths[l], n, own_.data());
        }
        if (by_cells_ == family.n_parents)
            for (Floats *table : {&others_, &own_}) loops_.logs(table->data(), std::int64_t(table->size()));
    }

    // Rows [begin, begin + n) of `rows`, n <= block, each with its weight left out: logs centred over the classes and
    // clipped, (classes, block); zeros after the last row.
    const float *of(const Rows &rows, const Groups &groups, std::int64_t begin, int n, float clip) {
        // Loops over a number of classes that the compiler knows take a third of the time.
        switch (c_) {
            case 2: return logs<2>(rows, groups, begin, n, clip);
            case 3: return logs<3>(rows, groups, begin, n, clip);
            default: return logs<0>(rows, groups, begin, n, clip);
        }
    }

    // The logs that were found last in steps, (sides, block).
    void in_steps(float steps, std::int8_t *to) const {
        const int sides = FactorTerms::sides(c_);
        loops_.rounded(by_class_.data() + (c_ - sides) * block, std::int64_t(sides) * block, steps, to);
    }

  private:
    static float less(const Rows &rows, std::int64_t r) { return rows.weights ? rows.weights[r] : 1.0f; }

    template <int C>
    const float *logs(const Rows &rows, const Groups &groups, std::int64_t begin, int n, float clip) {
        const int c = C ? C : c_, depth_of_all = family_->n_parents;
        const std::uint8_t *child = groups.data() + family_->child * rows.n_rows + begin;
        std::uint32_t context[block] = {};
        const auto one_deeper = [&](int l) {
            contexts_->deepen(context, std::size_t(n), *family_, groups, rows.n_rows, begin, l);
        };
        int done = by_cells_;
        for (int s = 0; s < n; ++s)
            if (less(rows, begin + s) != 1.0f) done = -1;
        for (int l = 1; l <= done; ++l) one_deeper(l);
        for (int s = 0; s < n; ++s) {
            float *to = &theta_[std::size_t(s * c)];
            if (done < 0) {
                std::fill_n(to, c, levels_->marginal(child[s], less(rows, begin + s)));
            } else {
                const std::size_t at =
                    (std::size_t(context[s]) * std::size_t(family_->n_groups) + child[s]) * std::size_t(c);
                std::copy_n(others_.begin() + std::int64_t(at), c, to);
                to[rows.labels[begin + s]] = own_[at + rows.labels[begin + s]];
            }
        }
        for (int l = done + 1; l <= depth_of_all; ++l) {
            if (l > 0) one_deeper(l);
            look_up<C>(l, rows, begin, n, child, context);
            loops_.smooth(a_.data(), b_.data(), strengths_[l], std::int64_t(n) * c, theta_.data());
        }
        if (done < depth_of_all || done < 0) loops_.logs(theta_.data(), std::int64_t(n) * c);
        float says[block] = {};
        for (int s = 0; s < n; ++s) says[s] = child[s] == family_->n_groups - 1 ? 0.0f : 1.0f;
        for (int s = 0; s < n; ++s)
            for (int y = 0; y < c; ++y) by_class_[std::size_t(y * block + s)] = theta_[std::size_t(s * c + y)];
        for (int s = n; s < block; ++s)
            for (int y = 0; y < c; ++y) by_class_[std::size_t(y * block + s)] = 0.0f;
        loops_.centre(by_class_.data(), c, says, clip);
        return by_class_.data();
    }

    template <int C>
    void look_up(int l, const Rows &rows, std::int64_t begin, int n, const std::uint8_t *child,
                 const std::uint32_t *context) {
        const int c = C ? C : c_;
        const float *cells = levels_->cells[std::size_t(l)].data(), *totals = levels_->totals[std::size_t(l)].data();
        float *a = a_.data(), *b = b_.data();
        for (int s = 0; s < n; ++s, a += c, b += c) {
            const std::int64_t u = context[s];
            const float *cell = cells + (u * family_->n_groups + child[s]) * c, *total = totals + u * c;
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
    const Family *family_ = nullptr;
    const Contexts *contexts_ = nullptr;
    const Levels *levels_ = nullptr;
    const float *strengths_ = nullptr;
    int by_cells_ = -1;  // the last level that was worked out for cells
    Floats others_, own_, spread_, totals_;
    Floats theta_, a_, b_;  // (block, classes)
    Floats by_class_;       // (classes, block)
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
        return [&, groups = Groups(), contexts = Contexts(), half = std::vector<Levels>(2), all = Levels(),
                learner = StrengthLearner(rows, bounds),
                logs = LeftOutLogs(c)](std::size_t first, std::size_t last) mutable {
            group_rows(plan, first, last, rows, 0, rows.n_rows, groups);
            for (std::size_t f = first; f < last; ++f) {
                const Family &family = plan.families[f];
                float own[2][depth];
                contexts.of_rows(family, groups, rows.n_rows, c);
                for (int h = 0; h < 2; ++h) {
                    check_interrupt();
                    half[std::size_t(h)].count(family, contexts, rows, groups, firsts[h], firsts[h + 1]);
                    learner.learn(family, contexts, half[std::size_t(h)], groups, firsts[h], firsts[h] + halves.few[h],
                                  own[h]);
                }
                for (int l = 0; l <= family.n_parents; ++l)
                    strengths[f * depth + std::size_t(l)] = std::sqrt(own[0][l] * own[1][l]);
                all.add(half[0], half[1]);
                for (int h = 0; h < 2; ++h) {
                    std::int8_t *to = terms[h] + std::int64_t(f) * FactorTerms::sides(c) * block;
                    logs.start(family, contexts, all, own[1 - h], halves.judged[h]);
                    for (std::int64_t r = 0; r < halves.judged[h]; r += block, to += line) {
                        check_interrupt();
                        const int n = int(std::min<std::int64_t>(block, halves.judged[h] - r));
                        logs.of(single, groups, firsts[h] + r, n, bounds.clip);
                        logs.in_steps(127.0f / bounds.clip, to);
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
        Contexts contexts;
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
            contexts.all(family);
            levels.count(family, contexts, rows, groups, 0, rows.n_rows);
            logs.start(family, contexts, levels, strengths + f * depth, end - begin);
            for (std::int64_t r = begin; r < end; r += block) {
                const int m = int(std::min<std::int64_t>(block, end - r));
                const float *own = logs.of(judged, judged_groups, r, m, bounds.clip);
                for (int s = 0; s < m; ++s)
                    for (std::int64_t y = 0; y < c; ++y)
                        out[(r + s) * c + y] += double(weights[f] * own[y * block + s]);
            }
        }
    });
}

}  // namespace tanager::forest
