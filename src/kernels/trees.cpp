#include "trees.hpp"

#include "threads.hpp"
#include "tree_sum.hpp"

namespace tanager::trees {

namespace {

using scoring::at_least_zero;

constexpr double step_log = 354.89135644669199842;  // the log of 2^512
constexpr double plain_range = 550;                 // of log W, in which lifts of up to 1e30 leave room in a double

// The log of the gamma function for x > 0: Stirling's series, for small x by way of larger ones.
double stirling_log_gamma(double x) {
    double product = 1;
    for (; x < 8; x += 1) product *= x;
    const double r = 1 / x, r2 = r * r;
    const double series =
        r * (1. / 12 - r2 * (1. / 360 - r2 * (1. / 1260 - r2 * (1. / 1680 - r2 * (1. / 1188 - r2 * 691 / 360360)))));
    return (x - 0.5) * std::log(x) - x + 0.91893853320467274178 + series - std::log(product);
}

// Pseudo-counts, before the unit.
struct Pseudo {
    double of_class;
    std::vector<double> of_value;  // per column

    Pseudo(const Store &s, double ess) : of_class(ess / s.k) {
        for (int i = 0; i < s.n; ++i) of_value.push_back(of_class / std::max(1, s.n_values[i]));
    }
    double of_pair(int u, int v) const { return of_value[u] * of_value[v] / of_class; }
};

// lnGamma(count + pseudo) - lnGamma(pseudo), the log of what count rows of one outcome give to a marginal likelihood.
struct Rising {
    double pseudo, start;
    explicit Rising(double pseudo_) : pseudo(pseudo_), start(stirling_log_gamma(pseudo_)) {}
    double operator()(double count) const { return count > 0 ? stirling_log_gamma(count + pseudo) - start : 0; }
};

// How that changes where rows of this weight are taken out and a count of `rest` is left.
double fall(double pseudo, double rest, double weight) {
    return weight == 1 ? -std::log(rest + pseudo)
                       : stirling_log_gamma(rest + pseudo) - stirling_log_gamma(rest + weight + pseudo);
}

double log_weight(const Store &s, const Pseudo &pseudo, double unit, int u, int v, std::vector<double> &sums) {
    const int k = s.k, n_v = s.n_values[v];
    const Rising cell(pseudo.of_pair(u, v)), of_u(pseudo.of_value[u]), of_v(pseudo.of_value[v]), all(pseudo.of_class);
    sums.assign(std::size_t(n_v + 2) * k, 0.0);  // of each value of v, then of u, then of all
    double *row = sums.data() + std::size_t(n_v) * k, *whole = row + k, total = 0;
    for (int a = 0; a < s.n_values[u]; ++a) {
        const double *cells = s.pairs + ((s.offsets[u] + a) * s.width + s.offsets[v]) * k;
        std::fill_n(row, k, 0.0);
        for (int at = 0; at < n_v * k; ++at) {
            if (cells[at] <= 0) continue;
            const double count = cells[at] / unit;
            total += cell(count);
            sums[at] += count;
            row[at % k] += count;
        }
        for (int c = 0; c < k; ++c) {
            total -= of_u(row[c]);
            whole[c] += row[c];
        }
    }
    for (int at = 0; at < n_v * k; ++at) total -= of_v(sums[at]);
    for (int c = 0; c < k; ++c) total += all(whole[c]);
    return total;
}

// Squeezes logs into a range, where theirs is wider, the largest becoming 0.
void squeeze(std::vector<double> &logs, double most_range) {
    if (logs.empty()) return;
    const auto [low, high] = std::minmax_element(logs.begin(), logs.end());
    const double least = *low, most = *high, by = most - least > most_range ? most_range / (most - least) : 0;
    for (double &x : logs)
        if (by > 0) x = (x - most) * by;
}

// W as numbers: plain ones, up to a factor, where their range allows, else wide ones.
struct Weights {
    bool plain = true;
    WideWeights w;

    void take(const std::vector<double> &logs) {
        w.m.resize(logs.size());
        w.e.assign(logs.size(), 0.0);
        if (logs.empty()) return;
        const auto [low, high] = std::minmax_element(logs.begin(), logs.end());
        plain = *high - *low <= plain_range;
        const double top = plain ? *high : 0;
        for (std::size_t at = 0; at < logs.size(); ++at) {
            if (!plain) w.e[at] = std::nearbyint(logs[at] / step_log);
            w.m[at] = std::exp(logs[at] - top - w.e[at] * step_log);
        }
    }
};

// What all rows share.
struct Shared {
    const Store &s;
    const TreePrior &prior;
    Pseudo pseudo;
    Slots slots;
    std::vector<char> ever_missing;
    std::vector<double> logs;  // log W of all columns, packed; squeezed only in `weights`
    Weights weights;

    Shared(const Store &store, const TreePrior &prior_, const double *log_weights, bool smooth)
        : s(store), prior(prior_), pseudo(store, prior_.ess), slots(store, smooth) {
        for (int i = 0; i < s.n; ++i) {
            const double *cells = s.singles + s.missing_cell(i);
            ever_missing.push_back(std::any_of(cells, cells + s.k, [](double x) { return x > 0; }));
            for (int j = 0; j < i; ++j) logs.push_back(log_weights[std::size_t(i) * s.n + j]);
        }
        std::vector<double> squeezed = logs;
        squeeze(squeezed, prior.most_range);
        weights.take(squeezed);
    }
};

// One row after the other, with memory of its own.
class RowReader {
  public:
    explicit RowReader(const Shared &shared) : g_(shared), s_(shared.s), slot_(s_.n), less_(s_.k), total_(s_.k) {
        const std::size_t n = s_.n, k = s_.k;
        present_.reserve(n);
        for (auto *v : {&count_, &by_}) v->resize(n * k);
        lift_.resize(k);
        graphs_.resize(k);
        for (WideWeights &graph : graphs_) {
            graph.m.resize(edge(n, 0));
            if (!g_.weights.plain) graph.e.resize(edge(n, 0));
        }
        memory_.m.resize(n);
        memory_.e.resize(n);
    }

    // Reads a row, and where it has a label leaves it out: the graphs of all classes.
    void read(const TreeRows &rows, std::int64_t r) {
        g_.slots.read(rows.codes, r, slot_.data());
        const int y = rows.left_out.class_of(r, s_.k);
        const double weight = y < 0 ? 0 : rows.left_out.weights[r];
        std::fill(less_.begin(), less_.end(), 0.0);
        if (y >= 0) less_[y] = weight * g_.prior.unit;
        present_.clear();
        for (int i = 0; i < s_.n; ++i)
            if (slot_[i] != s_.missing_slot(i)) present_.push_back(i);
        read_singles();
        // A row of weight 1 takes its own lift out of W; see make_graphs.
        const bool by_lift = y >= 0 && weight == 1 && !std::isfinite(g_.prior.most_range);
        const bool own = y >= 0 && weight > 0 && !by_lift;
        if (own) make_own_weights(y, weight);
        make_graphs(own ? own_ : g_.weights, by_lift ? y : -1);
    }
    Product sum(int c, Elimination *steps = nullptr) {
        const std::size_t n = present_.size();
        if (n < 2) return {};
        if (used_->plain && !steps) return tree_sum(graphs_[c].m.data(), n, memory_.m.data());
        WideWeights &graph = graphs_[c];
        if (used_->plain) {  // the steps are told by the wide sum alone
            graph.e.assign(graph.m.size(), 0.0);
            for (std::size_t at = 0; at < edge(n, 0); ++at) settle(graph.m[at], graph.e[at]);
        }
        return tree_sum(graph, n, memory_, steps);
    }
    const std::vector<int> &present() const { return present_; }

  private:
    const Shared &g_;
    const Store &s_;
    std::vector<int> slot_, present_;
    std::vector<double> less_, total_;  // per class: weight of the row that is left out, N(y) with its pseudo-count
    std::vector<double> count_,
        by_;  // per column present and class: N(x_u, y), and 1 / (the same and its pseudo-count)
    std::vector<double> lift_, own_logs_;
    Weights own_;                    // W where a row is left out
    const Weights *used_ = nullptr;  // those, or the shared ones
    std::vector<WideWeights> graphs_;
    WideWeights memory_;

    const double *pair(int u, int v) const { return pair(u, slot_[u], v, slot_[v]); }
    const double *pair(int u, int slot_u, int v, int slot_v) const {
        return s_.pairs + ((s_.offsets[u] + slot_u) * s_.width + s_.offsets[v] + slot_v) * s_.k;
    }
    double unit() const { return g_.prior.unit; }

    void read_singles() {
        const int k = s_.k;
        for (int c = 0; c < k; ++c) total_[c] = at_least_zero(s_.classes[c] - less_[c]) + unit() * g_.pseudo.of_class;
        for (int u : present_) {
            const double *cells = s_.singles + (s_.offsets[u] + slot_[u]) * k;
            for (int c = 0; c < k; ++c) {
                const double count = at_least_zero(cells[c] - less_[c]);
                count_[u * k + c] = count;
                by_[u * k + c] = 1 / (count + unit() * g_.pseudo.of_value[u]);
            }
        }
    }
    // N(x_u, y), N(x_v, y) and N(y) over rows with both columns present, the row left out taken off.
    void pair_margins(int u, int v, int c, double &of_u, double &of_v, double &all) const {
        const int k = s_.k, none_u = s_.missing_slot(u), none_v = s_.missing_slot(v);
        of_u = at_least_zero(count_[u * k + c] - pair(u, slot_[u], v, none_v)[c]);
        of_v = at_least_zero(count_[v * k + c] - pair(u, none_u, v, slot_[v])[c]);
        all = s_.classes[c] - less_[c] - s_.singles[s_.missing_cell(u) + c] - s_.singles[s_.missing_cell(v) + c];
        all = at_least_zero(all + pair(u, none_u, v, none_v)[c]);
    }
    void read_lift(int u, int v) {
        const int k = s_.k;
        const double *cells = pair(u, v), cell = unit() * g_.pseudo.of_pair(u, v);
        if (!g_.ever_missing[u] && !g_.ever_missing[v]) {
            const double *by_u = &by_[u * k], *by_v = &by_[v * k];
            for (int c = 0; c < k; ++c)
                lift_[c] = (at_least_zero(cells[c] - less_[c]) + cell) * by_u[c] * (by_v[c] * total_[c]);
            return;
        }
        for (int c = 0; c < k; ++c) {
            double of_u, of_v, all;
            pair_margins(u, v, c, of_u, of_v, all);
            const double both = at_least_zero(cells[c] - less_[c]) + cell;
            lift_[c] = both / (of_u + unit() * g_.pseudo.of_value[u]) *
                       ((all + unit() * g_.pseudo.of_class) / (of_v + unit() * g_.pseudo.of_value[v]));
        }
    }
    // W without the row: of every pair that it has, four counts of its class are less by its weight.
    void make_own_weights(int y, double weight) {
        own_logs_ = g_.logs;
        for (std::size_t a = 1; a < present_.size(); ++a)
            for (std::size_t b = 0; b < a; ++b) {
                const int u = present_[a], v = present_[b];
                double of_u, of_v, all;
                pair_margins(u, v, y, of_u, of_v, all);
                const auto less = [&](double pseudo, double rest) { return fall(pseudo, rest / unit(), weight); };
                const double both = at_least_zero(pair(u, v)[y] - less_[y]);
                own_logs_[edge(u, v)] += less(g_.pseudo.of_pair(u, v), both) - less(g_.pseudo.of_value[u], of_u) -
                                         less(g_.pseudo.of_value[v], of_v) + less(g_.pseudo.of_class, all);
            }
        squeeze(own_logs_, g_.prior.most_range);
        own_.take(own_logs_);
    }
    // W lift of every two columns present. Adding a row of weight 1 multiplies W by the lift that the row had before;
    // so W without it is W over its own lift, and its own class has the graph of W with it.
    void make_graphs(const Weights &weights, int taken_out) {
        used_ = &weights;
        const int k = s_.k;
        for (WideWeights &graph : graphs_)
            if (!weights.plain) graph.e.resize(graph.m.size());
        std::size_t at = 0;
        for (std::size_t a = 1; a < present_.size(); ++a)
            for (std::size_t b = 0; b < a; ++b, ++at) {
                const std::size_t from = edge(present_[a], present_[b]);
                read_lift(present_[a], present_[b]);
                const double w = taken_out < 0 ? weights.w.m[from] : weights.w.m[from] / lift_[taken_out];
                for (int c = 0; c < k; ++c) {
                    double &m = graphs_[c].m[at];
                    m = w * lift_[c];
                    if (weights.plain) continue;
                    graphs_[c].e[at] = weights.w.e[from];
                    settle(m, graphs_[c].e[at]);
                }
            }
    }
};

}  // namespace

void log_weights(const Store &s, const TreePrior &prior, double *out, int n_jobs) {
    const Pseudo pseudo(s, prior.ess);
    const std::size_t n = s.n;
    const std::size_t parts = std::max<std::size_t>(1, std::min<std::size_t>(n_jobs, n / 16));
    run_threads(parts, [&](std::size_t part) {
        std::vector<double> sums;
        for (std::size_t u = part; u < n; u += parts) {  // turn about, as later columns have more pairs
            check_interrupt();
            out[u * n + u] = 0;
            for (std::size_t v = 0; v < u; ++v)
                out[u * n + v] = out[v * n + u] = log_weight(s, pseudo, prior.unit, int(u), int(v), sums);
        }
    });
}

void log_tree_sums(const Store &s, const TreePrior &prior, const double *log_weights_, const TreeRows &rows, int n_jobs,
                   double *out) {
    const Shared shared(s, prior, log_weights_, rows.smooth_unseen);
    const std::int64_t work = std::max<std::int64_t>(1, std::int64_t(s.n) * s.n * (s.n + 60) * s.k);
    parallel_rows(
        rows.codes.n_rows, n_jobs,
        [&](std::int64_t begin, std::int64_t end) {
            RowReader reader(shared);
            std::vector<Product> sums(s.k);
            for (std::int64_t r = begin; r < end; ++r) {
                check_interrupt();
                reader.read(rows, r);
                for (int c = 0; c < s.k; ++c) sums[c] = reader.sum(c);
                for (int c = 0; c < s.k; ++c) out[r * s.k + c] = sums[c].log(sums[0].power);
            }
        },
        std::max<std::int64_t>(1, 1'000'000 / work));
}

void tree_steps(const Store &s, const TreePrior &prior, const double *log_weights_, const TreeRows &row, int c,
                double *log_sum, double *shares) {
    const Shared shared(s, prior, log_weights_, row.smooth_unseen);
    RowReader reader(shared);
    reader.read(row, 0);
    const std::vector<int> &present = reader.present();
    const std::size_t n = s.n, size = present.size();
    Elimination steps{std::vector<double>(size), std::vector<double>(edge(size, 0))};
    std::fill_n(log_sum, n, 0.0);
    std::fill_n(shares, n * n, 0.0);
    reader.sum(c, &steps);
    for (std::size_t a = 1; a < size; ++a) {
        log_sum[present[a]] = steps.log_sum[a];
        for (std::size_t b = 0; b < a; ++b) shares[present[a] * n + present[b]] = steps.share[edge(a, b)];
    }
}

}  // namespace tanager::trees
