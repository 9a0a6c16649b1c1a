#include "lazy_rules.hpp"

#include <atomic>
#include <map>
#include <string_view>

#include "threads.hpp"
#include "ties.hpp"

namespace tanager {

using scoring::at_least_zero;
using scoring::Smoothing;

namespace {

constexpr double same_weight = 1e-9;  // weights closer than this are alike
constexpr double many_logs = 4e6;     // numbers whose logarithms are worth keeping

// The continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
    constexpr double tiny = 1e-300;
    const auto sound = [](double v) { return std::abs(v) < tiny ? tiny : v; };
    double c = 1, d = 1 / sound(1 - (a + b) * x / (a + 1)), h = d;
    for (int m = 1; m <= 10000; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / sound(1 + even * d);
        c = sound(1 + even / c);
        h *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / sound(1 + odd * d);
        c = sound(1 + odd / c);
        h *= d * c;
        if (std::abs(d * c - 1) < 1e-15) break;
    }
    return h;
}

// The regularised incomplete beta function at 1/2.
double half_beta(double a, double b) {
    const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) - (a + b) * std::log(2.0));
    // The fraction converges where 1/2 is below the mean of the distribution; else the other tail does.
    return a >= b ? front * beta_fraction(a, b, 0.5) / a : 1 - front * beta_fraction(b, a, 0.5) / b;
}

}  // namespace

double binomial_tail(double x, double n) {
    if (x >= n) return 1;
    if (x == std::floor(x) && n == std::floor(n) && n <= 1000) {  // exact for the few dozen rows that decide mostly
        double term = std::ldexp(1.0, -int(n)), sum = term;
        for (int i = 1; i <= int(x); ++i) sum += term = term * (n - i + 1) / i;
        return sum;
    }
    return half_beta(n - x, x + 1);
}

struct LazyRules::Scratch {
    std::vector<int> columns;                      // that are not tested
    std::vector<double> classes, counts;           // N(y), and N(slot, y)
    std::vector<double> table, own, prior, minus;  // logs: of a slot and class; with the row left out; of the classes
    std::vector<double> den;                       // N(present, y) of a column and class
};

std::size_t LazyRules::Hash::operator()(const Tests &tests) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char *>(tests.data()), tests.size() * sizeof(Test)});
}

std::int64_t LazyRules::Node::n_bytes() const {
    return std::int64_t(256 + rows.capacity() * 4 + wrong.capacity() + tests.capacity() * 8 + trials.size() * 64);
}

LazyRules::LazyRules(const Batch &rows, std::vector<int> n_values, int n_classes, const scoring::Estimate &estimate,
                     const Options &options)
    : n_(int(n_values.size())), k_(n_classes), n_values_(std::move(n_values)), estimate_(estimate), options_(options) {
    Test slot = 0;
    for (int i = 0; i < n_; ++i) {
        offset_.push_back(slot);
        slot += Test(n_values_[std::size_t(i)]) + 1;
        column_of_.insert(column_of_.end(), std::size_t(n_values_[std::size_t(i)]) + 1, i);
    }
    std::vector<Test> row(std::size_t(n_) + 1);
    std::unordered_map<std::string, std::size_t> known;  // rows by all that they are
    std::string key;
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        check_interrupt(r);
        const double w = rows.weights[r];
        const int y = rows.labels.at(r);
        if (!rows.has_label(r) || !(w > 0)) continue;
        for (int i = 0; i < n_; ++i) {
            const int code = rows.codes.at(r, i), limit = n_values_[std::size_t(i)];
            row[std::size_t(i)] = offset_[std::size_t(i)] + Test(std::min(code, limit));
        }
        row[std::size_t(n_)] = Test(y);
        key.assign(reinterpret_cast<const char *>(row.data()), row.size() * sizeof(Test));
        key.append(reinterpret_cast<const char *>(&w), sizeof w);
        const auto [at, is_new] = known.try_emplace(key, first.size());
        if (!is_new) {
            weight[at->second] += w;
            continue;
        }
        first.push_back(r);
        weight.push_back(w);
        each_.push_back(std::min(w, 1.0));
        labels_.push_back(std::uint16_t(y));
        slots_.insert(slots_.end(), row.begin(), row.end() - 1);
        unit_ = unit_ && w == std::floor(w);
    }
    const std::size_t m = first.size(), n = std::size_t(n_);
    by_column_.resize(m * n);
    for (std::size_t r = 0; r < m; ++r)
        for (std::size_t i = 0; i < n; ++i) by_column_[i * m + r] = slots_[r * n + i];

    class_cell_ = estimate_.cell(k_, 1);
    tables_ = estimate_.constant() || estimate_.kind == Smoothing::back_off;
    tables_ = tables_ && class_cell_ > 0;
    double total = 0;
    for (const double w : weight) total += w;
    const auto logs = [&](double pseudo) -> const double * {
        std::vector<double> &own = logs_[pseudo];
        if (own.empty())
            for (double count = 0; count <= total; ++count) own.push_back(std::log(count + pseudo));
        return own.data();
    };
    std::vector<double> pseudos{class_cell_};
    for (int i = 0; i < n_; ++i) {
        const double r = n_values_[std::size_t(i)];
        cell_.push_back(estimate_.cell(r, k_));
        total_.push_back(cell_.back() * r);
        pseudos.push_back(cell_.back());
        pseudos.push_back(total_.back());
    }
    std::sort(pseudos.begin(), pseudos.end());
    pseudos.erase(std::unique(pseudos.begin(), pseudos.end()), pseudos.end());
    const bool keep = tables_ && unit_ && total * double(pseudos.size()) < many_logs;
    for (std::size_t i = 0; i < n; ++i) {
        log_cell_.push_back(keep ? logs(cell_[i]) : nullptr);
        log_total_.push_back(keep ? logs(total_[i]) : nullptr);
    }
}

// --- leaving rows out ---------------------------------------------------------------------------------------------

// Whether a row of class y is answered with another class. Ties go to the class with more rows, then to the smaller.
bool LazyRules::is_wrong(const double *score, int y, double minus, const double *classes) const {
    double best = score[0];
    for (int c = 1; c < k_; ++c) best = std::max(best, score[c]);
    const bool impossible = best == -std::numeric_limits<double>::infinity();
    if (!impossible && score[y] < best - kSameProbability) return true;
    const double own = classes[y] - minus;
    for (int c = 0; c < k_; ++c) {
        if (c == y || (!impossible && score[c] < best - kSameProbability)) continue;
        if (classes[c] > own + same_weight || (classes[c] > own - same_weight && c < y)) return true;
    }
    return false;
}

// Logs of all estimates, and (where rows have whole weights) of the estimates of its own class for a row that is left
// out.
void LazyRules::make_tables(Scratch &w) const {
    const std::size_t k = std::size_t(k_);
    std::vector<double> den(k), den_less(k);
    for (const int column : w.columns) {
        const std::size_t i = std::size_t(column), begin = offset_[i], missing = begin + std::size_t(n_values_[i]);
        const double *lc = log_cell_[i], *lt = log_total_[i];
        for (std::size_t c = 0; c < k; ++c) {
            const double present = w.den[i * k + c] = at_least_zero(w.classes[c] - w.counts[missing * k + c]);
            den[c] = lt ? lt[std::size_t(present)] : std::log(present + total_[i]);
            const double less = at_least_zero(present - 1);
            if (unit_) den_less[c] = lt ? lt[std::size_t(less)] : std::log(less + total_[i]);
        }
        for (std::size_t slot = begin; slot < missing; ++slot)
            for (std::size_t c = 0; c < k; ++c) {
                const double count = w.counts[slot * k + c];
                w.table[slot * k + c] = (lc ? lc[std::size_t(count)] : std::log(count + cell_[i])) - den[c];
                if (!unit_ || count < 1) continue;
                w.own[slot * k + c] = (lc ? lc[std::size_t(count) - 1] : std::log(count - 1 + cell_[i])) - den_less[c];
            }
        std::fill_n(w.table.begin() + std::ptrdiff_t(missing * k), k, 0.0);
        std::fill_n(w.own.begin() + std::ptrdiff_t(missing * k), k, 0.0);
    }
    for (std::size_t c = 0; c < k; ++c) {
        w.prior[c] = std::log(w.classes[c] + class_cell_);
        w.minus[c] = std::log(at_least_zero(w.classes[c] - 1) + class_cell_);
    }
}

template <int K>
void LazyRules::answer_from_tables(const std::vector<std::uint32_t> &rows, std::vector<std::uint8_t> &wrong,
                                   Scratch &w) const {
    const std::size_t k = K ? K : std::size_t(k_), n = std::size_t(n_);
    std::vector<double> room(k);
    double fixed[K ? K : 1];
    double *score = K ? fixed : room.data();
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const std::size_t r = rows[at], y = labels_[r];
        const Test *slot = slots_.data() + r * n;
        for (std::size_t c = 0; c < k; ++c) score[c] = w.prior[c];
        double own = 0;
        if (unit_) {
            own = w.minus[y];
            for (const int i : w.columns) {
                const std::size_t place = slot[i] * k;
                const double *cells = w.table.data() + place;
                for (std::size_t c = 0; c < k; ++c) score[c] += cells[c];
                own += w.own[place + y];
            }
        } else {
            double product = at_least_zero(w.classes[y] - each_[r]) + class_cell_;
            for (const int i : w.columns) {
                const std::size_t column = std::size_t(i), place = slot[i] * k;
                const double *cells = w.table.data() + place;
                for (std::size_t c = 0; c < k; ++c) score[c] += cells[c];
                if (slot[i] == offset_[column] + Test(n_values_[column])) continue;
                product *= (at_least_zero(w.counts[place + y] - each_[r]) + cell_[column]) /
                           (at_least_zero(w.den[column * k + y] - each_[r]) + total_[column]);
                if (product > 1e-150 && product < 1e150) continue;
                own += std::log(product);
                product = 1;
            }
            own += std::log(product);
        }
        score[y] = own;
        wrong[at] = is_wrong(score, int(y), each_[r], w.classes.data());
    }
}

// Where an estimate of any class depends on the row that is left out, or may be zero.
void LazyRules::answer_directly(const std::vector<std::uint32_t> &rows, std::vector<std::uint8_t> &wrong,
                                Scratch &w) const {
    const std::size_t k = std::size_t(k_), n = std::size_t(n_);
    const bool shrinks = estimate_.kind == Smoothing::prior_counts;
    std::vector<double> score(k);
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const std::size_t r = rows[at], y = labels_[r];
        const double minus = each_[r];
        double least = std::numeric_limits<double>::infinity();
        const auto left = [&](double count, std::size_t c) { return at_least_zero(c == y ? count - minus : count); };
        for (std::size_t c = 0; c < k; ++c) least = std::min(least, left(w.classes[c], c));
        const double cell = shrinks ? (least > 0 ? 0 : 1) : class_cell_;
        for (std::size_t c = 0; c < k; ++c) score[c] = std::log(left(w.classes[c], c) + cell);
        for (const int column : w.columns) {
            const std::size_t i = std::size_t(column), slot = slots_[r * n + i];
            const std::size_t missing = offset_[i] + std::size_t(n_values_[i]);
            if (slot == missing) continue;
            double pseudo = cell_[i], total = total_[i];
            if (shrinks) {
                double own = 0, all = 0, rarest = std::numeric_limits<double>::infinity();
                for (std::size_t v = offset_[i]; v < missing; ++v) {
                    double count = 0;
                    for (std::size_t c = 0; c < k; ++c) count += w.counts[v * k + c];
                    count = at_least_zero(v == slot ? count - minus : count);
                    if (v == slot) own = count;
                    all += count;
                    rarest = std::min(rarest, count);
                }
                const double share = rarest > 0 ? own / all : (own + 1) / (all + n_values_[i]);
                pseudo = estimate_.strength * share;
                total = estimate_.strength;
            }
            for (std::size_t c = 0; c < k; ++c) {
                const double den = left(w.classes[c] - w.counts[missing * k + c], c) + total;
                score[c] += den > 0 ? std::log((left(w.counts[slot * k + c], c) + pseudo) / den)
                                    : -std::log(double(n_values_[i]));
            }
        }
        wrong[at] = is_wrong(score.data(), int(y), minus, w.classes.data());
    }
}

// Which rows naive Bayes answers wrongly, each left out of these rows; returns their weight.
double LazyRules::leave_one_out(const std::vector<std::uint32_t> &rows, const Tests &tests,
                                std::vector<std::uint8_t> &wrong, Scratch &w) const {
    const std::size_t k = std::size_t(k_), n = std::size_t(n_), cells = column_of_.size() * k;
    w.columns.clear();
    for (int i = 0; i < n_; ++i) {
        const bool is_tested = std::any_of(tests.begin(), tests.end(), [&](Test t) { return column_of_[t] == i; });
        if (!is_tested && n_values_[std::size_t(i)] > 0) w.columns.push_back(i);
    }
    w.classes.assign(k, 0.0);
    w.counts.assign(cells, 0.0);
    for (std::vector<double> *table : {&w.table, &w.own}) table->resize(cells);
    w.prior.resize(k);
    w.minus.resize(k);
    w.den.resize(n * k);
    for (const std::uint32_t r : rows) {
        const Test *slot = slots_.data() + r * n;
        double *counts = w.counts.data() + labels_[r];
        w.classes[labels_[r]] += weight[r];
        for (const int i : w.columns) counts[slot[i] * k] += weight[r];
    }
    wrong.resize(rows.size());
    if (tables_) {
        make_tables(w);
        if (k == 2) answer_from_tables<2>(rows, wrong, w);
        else if (k == 3) answer_from_tables<3>(rows, wrong, w);
        else if (k == 4) answer_from_tables<4>(rows, wrong, w);
        else answer_from_tables<0>(rows, wrong, w);
    } else {
        answer_directly(rows, wrong, w);
    }
    double errors = 0;
    for (std::size_t at = 0; at < rows.size(); ++at)
        if (wrong[at]) errors += weight[rows[at]];
    return errors;
}

// --- the search ---------------------------------------------------------------------------------------------------

std::vector<std::uint32_t> LazyRules::pass(const std::vector<std::uint32_t> &rows, Test test) const {
    const Test *slots = by_column_.data() + std::size_t(column_of_[test]) * first.size();
    std::vector<std::uint32_t> out;
    for (const std::uint32_t r : rows)
        if (slots[r] == test) out.push_back(r);
    return out;
}

// Sets of tests are sorted.
static std::vector<std::uint32_t> with(std::vector<std::uint32_t> tests, std::uint32_t test) {
    tests.insert(std::upper_bound(tests.begin(), tests.end(), test), test);
    return tests;
}

// What becomes of the errors of a node when a test is added. `made` is the node of the larger set, where it was not
// known and had to be worked out.
LazyRules::Trial LazyRules::evaluate(const Node &node, Test test, const Node *known, std::shared_ptr<Node> &made,
                                     Scratch &w) const {
    const Test *slots = by_column_.data() + std::size_t(column_of_[test]) * first.size();
    std::vector<std::uint32_t> rows;
    std::vector<std::uint8_t> old;
    double errors = 0;
    for (std::size_t at = 0; at < node.rows.size(); ++at) {
        const std::uint32_t r = node.rows[at];
        if (slots[r] != test) continue;
        rows.push_back(r);
        old.push_back(node.wrong[at]);
        if (node.wrong[at]) errors += weight[r];
    }
    if (rows.empty() || rows.size() == node.rows.size()) return {false, 0};
    // If all of these rows were put right and none got worse, would it be significant?
    if (binomial_tail(0, errors) >= options_.significance) return {false, 0};
    if (!known) {
        made = std::make_shared<Node>();
        made->tests = with(node.tests, test);
        made->errors = leave_one_out(rows, made->tests, made->wrong, w);
        known = made.get();
    }
    double better = 0, worse = 0;
    for (std::size_t at = 0; at < rows.size(); ++at) {
        if (old[at] && !known->wrong[at]) better += weight[rows[at]];
        if (!old[at] && known->wrong[at]) worse += weight[rows[at]];
    }
    const bool accepted = better > 0 && binomial_tail(worse, better + worse) < options_.significance;
    return {accepted, node.errors - errors + known->errors};
}

// Evaluate these tests at a node, side by side where that is much work.
void LazyRules::try_all(Node &node, const std::vector<Test> &tests, int n_jobs) {
    std::vector<std::shared_ptr<Node>> known, made(tests.size());
    for (const Test test : tests) known.push_back(find_cached(with(node.tests, test)));
    std::vector<Trial> found(tests.size());
    std::atomic<std::size_t> next{0};
    const double work = double(tests.size()) * double(node.rows.size()) * n_ * k_;
    const std::size_t threads = work < 1e6 ? 1 : std::min<std::size_t>(std::size_t(std::max(n_jobs, 1)), tests.size());
    run_threads(threads, [&](std::size_t) {
        Scratch w;
        for (std::size_t t; (t = next++) < tests.size();) {
            check_interrupt();
            found[t] = evaluate(node, tests[t], known[t].get(), made[t], w);
        }
    });
    for (std::size_t t = 0; t < tests.size(); ++t) {
        node.trials[tests[t]] = found[t];
        if (!made[t]) continue;
        ++n_evaluated_;
        remember(made[t]);
    }
}

// The node with one test more, with its rows.
std::shared_ptr<LazyRules::Node> LazyRules::child_of(const Node &node, Test test) {
    std::shared_ptr<Node> child = find_cached(with(node.tests, test));
    if (!child) {  // it has left the cache since
        child = std::make_shared<Node>();
        child->tests = with(node.tests, test);
    }
    if (child->rows.empty()) child->rows = pass(node.rows, test);
    if (child->wrong.empty()) {
        Scratch w;
        child->errors = leave_one_out(child->rows, child->tests, child->wrong, w);
        ++n_evaluated_;
    }
    remember(child);
    return child;
}

// Add tests for some rows that have passed those of the node so far.
void LazyRules::grow(const std::shared_ptr<Node> &node, const std::vector<std::uint32_t> &queries, std::uint8_t *tested,
                     int n_jobs, const std::vector<Test> &slots) {
    if (node->errors < options_.min_errors - same_weight || int(node->tests.size()) >= options_.max_tests) return;
    const std::size_t n = std::size_t(n_);
    const auto open = [&](std::uint32_t q, std::size_t i) {
        return !tested[q * n + i] && slots[q * n + i] != offset_[i] + Test(n_values_[i]);
    };
    std::vector<Test> fresh;
    for (const std::uint32_t q : queries)
        for (std::size_t i = 0; i < n; ++i)
            if (open(q, i) && !node->trials.contains(slots[q * n + i])) fresh.push_back(slots[q * n + i]);
    std::sort(fresh.begin(), fresh.end());
    fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
    if (!fresh.empty()) {
        try_all(*node, fresh, n_jobs);
        remember(node);
    }
    std::map<Test, std::vector<std::uint32_t>> chosen;
    for (const std::uint32_t q : queries) {
        const Trial *best = nullptr;
        Test test = 0;
        for (std::size_t i = 0; i < n; ++i) {
            if (!open(q, i)) continue;
            const Trial &trial = node->trials.at(slots[q * n + i]);
            if (!trial.accepted || (best && trial.errors >= best->errors - same_weight)) continue;
            best = &trial;
            test = slots[q * n + i];
        }
        if (best) chosen[test].push_back(q);
    }
    for (const auto &[test, own] : chosen) {
        for (const std::uint32_t q : own) tested[q * n + std::size_t(column_of_[test])] = 1;
        grow(child_of(*node, test), own, tested, n_jobs, slots);
    }
}

void LazyRules::find(const Codes &queries, std::uint8_t *tested, int n_jobs) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::size_t n = std::size_t(n_), m = std::size_t(queries.n_rows);
    std::fill_n(tested, m * n, std::uint8_t(0));
    if (!root_) {
        root_ = std::make_shared<Node>();
        for (std::uint32_t r = 0; r < first.size(); ++r) root_->rows.push_back(r);
        Scratch w;
        root_->errors = leave_one_out(root_->rows, {}, root_->wrong, w);
        ++n_evaluated_;
    }
    std::vector<Test> slots(m * n);
    std::vector<std::uint32_t> all(m);
    for (std::size_t q = 0; q < m; ++q) {
        all[q] = std::uint32_t(q);
        for (std::size_t i = 0; i < n; ++i)
            slots[q * n + i] = offset_[i] + Test(std::min(queries.at(std::int64_t(q), std::int64_t(i)), n_values_[i]));
    }
    grow(root_, all, tested, n_jobs, slots);
}

std::vector<std::uint32_t> LazyRules::passing(const std::vector<int> &values) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Tests tests;
    for (int i = 0; i < n_; ++i)
        if (values[std::size_t(i)] >= 0) tests.push_back(offset_[std::size_t(i)] + Test(values[std::size_t(i)]));
    if (const std::shared_ptr<Node> node = find_cached(tests); node && !node->rows.empty()) return node->rows;
    std::vector<std::uint32_t> rows(first.size());
    for (std::uint32_t r = 0; r < rows.size(); ++r) rows[r] = r;
    for (const Test test : tests) rows = pass(rows, test);
    return rows;
}

// --- the cache ----------------------------------------------------------------------------------------------------

std::shared_ptr<LazyRules::Node> LazyRules::find_cached(const Tests &tests) {
    if (tests.empty()) return root_;
    const auto found = cache_.find(tests);
    if (found == cache_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, found->second);
    return found->second->node;
}

// Take a node in, or note that it has grown; those used longest ago leave.
void LazyRules::remember(const std::shared_ptr<Node> &node) {
    if (node->tests.empty()) return;
    const std::int64_t size = node->n_bytes();
    const auto [found, is_new] = cache_.try_emplace(node->tests, recent_.end());
    if (is_new) {
        recent_.push_front({node, size});
        found->second = recent_.begin();
    } else {
        cached_bytes_ -= found->second->n_bytes;
        *found->second = {node, size};
        recent_.splice(recent_.begin(), recent_, found->second);
    }
    cached_bytes_ += size;
    while (cached_bytes_ > options_.max_bytes && !recent_.empty()) {
        cached_bytes_ -= recent_.back().n_bytes;
        cache_.erase(recent_.back().node->tests);
        recent_.pop_back();
    }
}

std::int64_t LazyRules::n_cached() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::int64_t(cache_.size());
}

std::int64_t LazyRules::n_evaluated() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return n_evaluated_;
}

}  // namespace tanager
