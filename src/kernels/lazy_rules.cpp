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
constexpr double few_cells = 4096;    // that any set may keep
constexpr double far = 1e3;           // log-odds have moved: sums of drifts would be rounded too much
constexpr double no_row = -std::numeric_limits<double>::infinity();
constexpr std::uint32_t nobody = 0xFFFFFFFF;  // an appended row that does not count
constexpr std::size_t nothing_yet = std::size_t(-1);

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
    std::vector<int> columns;  // that are not tested
    Tables tables;
    std::vector<double> of_table, of_own;  // how far scores of every class have moved
    std::vector<std::uint32_t> rows;
};

std::size_t LazyRules::Hash::operator()(const Tests &tests) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char *>(tests.data()), tests.size() * sizeof(Test)});
}

std::size_t LazyRules::Tables::n_bytes() const {
    std::size_t n = 0;
    for (const auto *cells : {&classes, &counts, &table, &this->own, &prior, &minus, &den}) n += cells->capacity();
    return n * sizeof(double);
}

std::int64_t LazyRules::Node::n_bytes() const {
    return std::int64_t(256 + rows.capacity() * 4 + wrong.capacity() + safe.capacity() * 8 + tests.capacity() * 8 +
                        trials.size() * 64 + tables.n_bytes());
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
    by_column_.resize(std::size_t(n_));
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        check_interrupt(r);
        const double w = rows.weights[r];
        if (!rows.has_label(r) || !(w > 0)) continue;
        add_row(rows, r, true);
        unit_ = unit_ && w == std::floor(w);
    }
    known_.clear();  // rows of other weights are known by other keys when rows are appended
    n_first_ = n_given_ = rows.n_rows();

    class_cell_ = estimate_.cell(k_, 1);
    tables_ = estimate_.constant() || estimate_.kind == Smoothing::back_off;
    tables_ = tables_ && class_cell_ > 0;
    for (int i = 0; i < n_; ++i) {
        const double r = n_values_[std::size_t(i)];
        cell_.push_back(estimate_.cell(r, k_));
        total_.push_back(cell_.back() * r);
    }
    // Sums of n logs of numbers up to some 1e15, each rounded.
    hair_ = 1e-9 + 1e-12 * double(n_) * double(n_);
    make_logs(rows_weight_);
}

// Keep a row that counts, or note that one more like it has come; returns its number. Rows of other weights differ
// where `by_weight` says so.
std::uint32_t LazyRules::add_row(const Batch &rows, std::int64_t r, bool by_weight) {
    const double w = rows.weights[r];
    std::vector<Test> &row = row_;
    row.resize(std::size_t(n_) + 1);
    for (int i = 0; i < n_; ++i) {
        const int code = rows.codes.at(r, i), limit = n_values_[std::size_t(i)];
        row[std::size_t(i)] = offset_[std::size_t(i)] + Test(std::min(code, limit));
    }
    row[std::size_t(n_)] = Test(rows.labels.at(r));
    key_.assign(reinterpret_cast<const char *>(row.data()), row.size() * sizeof(Test));
    if (by_weight) key_.append(reinterpret_cast<const char *>(&w), sizeof w);
    rows_weight_ += w;
    const auto [at, is_new] = known_.try_emplace(key_, std::uint32_t(first.size()));
    if (!is_new) {
        weight[at->second] += w;
        return at->second;
    }
    first.push_back(n_given_ + r);
    weight.push_back(w);
    each_.push_back(std::min(w, 1.0));
    labels_.push_back(std::uint16_t(row.back()));
    slots_.insert(slots_.end(), row.begin(), row.end() - 1);
    for (std::size_t i = 0; i < std::size_t(n_); ++i) by_column_[i].push_back(row[i]);
    return at->second;
}

// Logs of all whole numbers up to one, plus a pseudo-count; where these are not too many.
void LazyRules::make_logs(double up_to) {
    std::vector<double> pseudos{class_cell_};
    pseudos.insert(pseudos.end(), cell_.begin(), cell_.end());
    pseudos.insert(pseudos.end(), total_.begin(), total_.end());
    std::sort(pseudos.begin(), pseudos.end());
    pseudos.erase(std::unique(pseudos.begin(), pseudos.end()), pseudos.end());
    const bool keep = tables_ && unit_ && up_to * double(pseudos.size()) < many_logs;
    const auto logs = [&](double pseudo) -> const double * {
        if (!keep) return nullptr;
        std::vector<double> &own = logs_[pseudo];
        for (double count = double(own.size()); count <= up_to; ++count) own.push_back(std::log(count + pseudo));
        return own.data();
    };
    if (!keep) logs_.clear();
    log_cell_.clear();
    log_total_.clear();
    for (const double cell : cell_) logs(cell);  // all of them before one is pointed to
    for (const double total : total_) logs(total);
    for (const double cell : cell_) log_cell_.push_back(logs(cell));
    for (const double total : total_) log_total_.push_back(logs(total));
    logs_up_to_ = up_to;
}

bool LazyRules::append(const Batch &rows) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!unit_ || !tables_) return false;
    for (std::int64_t r = 0; r < rows.n_rows(); ++r)
        if (const double w = rows.weights[r]; w != std::floor(w) || !(w < 1e15)) return false;
    if (!follows_) {  // sets have no rows and tables so far
        follows_ = true;
        root_.reset();
        cache_.clear();
        recent_.clear();
        cached_bytes_ = 0;
        for (std::size_t at = 0; at < first.size(); ++at) {
            row_.assign(slots_.begin() + std::ptrdiff_t(at * std::size_t(n_)),
                        slots_.begin() + std::ptrdiff_t((at + 1) * std::size_t(n_)));
            row_.push_back(labels_[at]);
            key_.assign(reinterpret_cast<const char *>(row_.data()), row_.size() * sizeof(Test));
            known_.try_emplace(key_, std::uint32_t(at));
        }
    }
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        const bool counts = rows.has_label(r) && rows.weights[r] > 0;
        appended_.push_back({counts ? add_row(rows, r, false) : nobody, counts ? rows.weights[r] : 0.0});
    }
    n_given_ += rows.n_rows();
    n_evaluated_ = 0;
    const std::int64_t per_row = 12 * n_ + 150;  // beside what was left for the cache
    options_.max_bytes = std::max<std::int64_t>(0, options_.max_bytes - rows.n_rows() * per_row);
    if (rows_weight_ > logs_up_to_) make_logs(1.5 * rows_weight_ + 16);
    return true;
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
void LazyRules::make_tables(Tables &t, const Scratch &w) const {
    const std::size_t k = std::size_t(k_);
    double room[2 * 16];
    std::vector<double> more(k > 16 ? 2 * k : 0);
    double *den = k > 16 ? more.data() : room, *den_less = den + k;
    for (const int column : w.columns) {
        const std::size_t i = std::size_t(column), begin = offset_[i], missing = begin + std::size_t(n_values_[i]);
        const double *lc = log_cell_[i], *lt = log_total_[i];
        for (std::size_t c = 0; c < k; ++c) {
            const double present = at_least_zero(t.classes[c] - t.counts[missing * k + c]);
            if (!unit_) t.den[i * k + c] = present;
            den[c] = lt ? lt[std::size_t(present)] : std::log(present + total_[i]);
            const double less = at_least_zero(present - 1);
            if (unit_) den_less[c] = lt ? lt[std::size_t(less)] : std::log(less + total_[i]);
        }
        for (std::size_t slot = begin; slot < missing; ++slot)
            for (std::size_t c = 0; c < k; ++c) {
                const double count = t.counts[slot * k + c];
                t.table[slot * k + c] = (lc ? lc[std::size_t(count)] : std::log(count + cell_[i])) - den[c];
                t.own[slot * k + c] =
                    !unit_ || count < 1
                        ? no_row
                        : (lc ? lc[std::size_t(count) - 1] : std::log(count - 1 + cell_[i])) - den_less[c];
            }
        std::fill_n(t.table.begin() + std::ptrdiff_t(missing * k), k, 0.0);
        std::fill_n(t.own.begin() + std::ptrdiff_t(missing * k), k, 0.0);
    }
    for (std::size_t c = 0; c < k; ++c) {
        t.prior[c] = std::log(t.classes[c] + class_cell_);
        t.minus[c] = std::log(at_least_zero(t.classes[c] - 1) + class_cell_);
    }
}

// Where a node follows appended rows, those that are safe stay as they are.
template <int K>
void LazyRules::answer_from_tables(Node &node, const Tables &t, const Scratch &w) const {
    const std::size_t k = K ? K : std::size_t(k_), n = std::size_t(n_);
    std::vector<double> room(K ? 0 : k);
    double fixed[K ? K : 1];
    double *score = K ? fixed : room.data();
    const bool follows = !node.safe.empty();
    for (std::size_t at = 0; at < node.rows.size(); ++at) {
        if (follows && node.safe[at] > node.drift) continue;
        const std::size_t r = node.rows[at], y = labels_[r];
        const Test *slot = slots_.data() + r * n;
        for (std::size_t c = 0; c < k; ++c) score[c] = t.prior[c];
        double own = 0;
        if (unit_) {
            own = t.minus[y];
            for (const int i : w.columns) {
                const std::size_t place = slot[i] * k;
                const double *cells = t.table.data() + place;
                for (std::size_t c = 0; c < k; ++c) score[c] += cells[c];
                own += t.own[place + y];
            }
        } else {
            double product = at_least_zero(t.classes[y] - each_[r]) + class_cell_;
            for (const int i : w.columns) {
                const std::size_t column = std::size_t(i), place = slot[i] * k;
                const double *cells = t.table.data() + place;
                for (std::size_t c = 0; c < k; ++c) score[c] += cells[c];
                if (slot[i] == offset_[column] + Test(n_values_[column])) continue;
                product *= (at_least_zero(t.counts[place + y] - each_[r]) + cell_[column]) /
                           (at_least_zero(t.den[column * k + y] - each_[r]) + total_[column]);
                if (product > 1e-150 && product < 1e150) continue;
                own += std::log(product);
                product = 1;
            }
            own += std::log(product);
        }
        score[y] = own;
        node.wrong[at] = is_wrong(score, int(y), each_[r], t.classes.data());
        if (!follows) continue;
        double rival = no_row;
        for (std::size_t c = 0; c < k; ++c)
            if (c != y) rival = std::max(rival, score[c]);
        node.safe[at] = node.drift + at_least_zero(std::abs(own - rival) - hair_);
    }
}

// Where an estimate of any class depends on the row that is left out, or may be zero.
void LazyRules::answer_directly(Node &node, const Tables &t, const Scratch &w) const {
    const std::size_t k = std::size_t(k_), n = std::size_t(n_);
    const bool shrinks = estimate_.kind == Smoothing::prior_counts;
    std::vector<double> score(k);
    for (std::size_t at = 0; at < node.rows.size(); ++at) {
        const std::size_t r = node.rows[at], y = labels_[r];
        const double minus = each_[r];
        double least = std::numeric_limits<double>::infinity();
        const auto left = [&](double count, std::size_t c) { return at_least_zero(c == y ? count - minus : count); };
        for (std::size_t c = 0; c < k; ++c) least = std::min(least, left(t.classes[c], c));
        const double cell = shrinks ? (least > 0 ? 0 : 1) : class_cell_;
        for (std::size_t c = 0; c < k; ++c) score[c] = std::log(left(t.classes[c], c) + cell);
        for (const int column : w.columns) {
            const std::size_t i = std::size_t(column), slot = slots_[r * n + i];
            const std::size_t missing = offset_[i] + std::size_t(n_values_[i]);
            if (slot == missing) continue;
            double pseudo = cell_[i], total = total_[i];
            if (shrinks) {
                double own = 0, all = 0, rarest = std::numeric_limits<double>::infinity();
                for (std::size_t v = offset_[i]; v < missing; ++v) {
                    double count = 0;
                    for (std::size_t c = 0; c < k; ++c) count += t.counts[v * k + c];
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
                const double den = left(t.classes[c] - t.counts[missing * k + c], c) + total;
                score[c] += den > 0 ? std::log((left(t.counts[slot * k + c], c) + pseudo) / den)
                                    : -std::log(double(n_values_[i]));
            }
        }
        node.wrong[at] = is_wrong(score.data(), int(y), minus, t.classes.data());
    }
}

void LazyRules::choose_columns(const Tests &tests, Scratch &w) const {
    w.columns.clear();
    for (int i = 0; i < n_; ++i) {
        const bool is_tested = std::any_of(tests.begin(), tests.end(), [&](Test t) { return column_of_[t] == i; });
        if (!is_tested && n_values_[std::size_t(i)] > 0) w.columns.push_back(i);
    }
}

void LazyRules::count(const Node &node, Scratch &w) const {
    const std::size_t k = std::size_t(k_), n = std::size_t(n_), cells = column_of_.size() * k;
    Tables &t = w.tables;
    t.classes.assign(k, 0.0);
    t.counts.assign(cells, 0.0);
    for (std::vector<double> *table : {&t.table, &t.own}) table->resize(cells);
    t.prior.resize(k);
    t.minus.resize(k);
    if (!unit_) t.den.resize(n * k);
    for (const std::uint32_t r : node.rows) {
        const Test *slot = slots_.data() + r * n;
        double *counts = t.counts.data() + labels_[r];
        t.classes[labels_[r]] += weight[r];
        for (const int i : w.columns) counts[slot[i] * k] += weight[r];
    }
}

// Which rows naive Bayes answers wrongly, each left out of the rows of a node, and their weight.
void LazyRules::answer(Node &node, const Tables &t, const Scratch &w) const {
    node.wrong.resize(node.rows.size());
    if (!tables_) answer_directly(node, t, w);
    else if (k_ == 2) answer_from_tables<2>(node, t, w);
    else if (k_ == 3) answer_from_tables<3>(node, t, w);
    else if (k_ == 4) answer_from_tables<4>(node, t, w);
    else answer_from_tables<0>(node, t, w);
    node.errors = 0;
    for (std::size_t at = 0; at < node.rows.size(); ++at)
        if (node.wrong[at]) node.errors += weight[node.rows[at]];
}

// The same from the rows alone.
void LazyRules::work_out(Node &node, Scratch &w) const {
    choose_columns(node.tests, w);
    count(node, w);
    if (tables_) make_tables(w.tables, w);
    node.seen = appended_.size();
    node.safe.clear();
    node.drift = 0;
    if (!can_follow(node)) {
        node.tables = Tables();
        return answer(node, w.tables, w);
    }
    node.safe.assign(node.rows.size(), no_row);
    std::swap(node.tables, w.tables);
    answer(node, node.tables, w);
}

// --- rows that come one after the other ---------------------------------------------------------------------------

// Whether a node keeps its tables: they are no larger than its rows.
bool LazyRules::can_follow(const Node &node) const {
    const double cells = double(column_of_.size()) * k_;
    return follows_ && cells <= std::max(few_cells, double(node.rows.size()) * n_);
}

bool LazyRules::passes(std::uint32_t row, const Tests &tests) const {
    const Test *slots = slots_.data() + std::size_t(row) * std::size_t(n_);
    return std::all_of(tests.begin(), tests.end(), [&](Test test) { return slots[column_of_[test]] == test; });
}

// How far the log-odds of a row that was there before can have moved at most, whatever its values.
double LazyRules::moved(const Tables &before, const Tables &now, Scratch &w) const {
    const std::size_t k = std::size_t(k_);
    w.of_table.resize(k);
    w.of_own.resize(k);
    for (std::size_t c = 0; c < k; ++c) {
        w.of_table[c] = std::abs(now.prior[c] - before.prior[c]);
        w.of_own[c] = std::abs(now.minus[c] - before.minus[c]);
    }
    for (const int column : w.columns) {
        const std::size_t i = std::size_t(column), begin = offset_[i] * k, end = begin + std::size_t(n_values_[i]) * k;
        for (std::size_t c = 0; c < k; ++c) {
            double of_table = 0, of_own = 0;
            for (std::size_t cell = begin + c; cell < end; cell += k) {
                of_table = std::max(of_table, std::abs(now.table[cell] - before.table[cell]));
                if (before.own[cell] != no_row) of_own = std::max(of_own, std::abs(now.own[cell] - before.own[cell]));
            }
            w.of_table[c] += of_table;
            w.of_own[c] += of_own;
        }
    }
    double most = 0;
    for (std::size_t y = 0; y < k; ++y) {
        double rival = 0;
        for (std::size_t c = 0; c < k; ++c)
            if (c != y) rival = std::max(rival, w.of_table[c]);
        most = std::max(most, w.of_own[y] + rival);
    }
    return most;
}

// Let a node know all rows that were appended.
void LazyRules::follow(Node &node, Scratch &w) const {
    if (node.seen == appended_.size()) return;
    const std::size_t k = std::size_t(k_), n = std::size_t(n_);
    const bool has_tables = !node.safe.empty();
    if (has_tables) choose_columns(node.tests, w);
    bool changed = false;
    for (; node.seen < appended_.size(); ++node.seen) {
        const auto [r, own] = appended_[node.seen];
        if (r == nobody || !passes(r, node.tests)) continue;
        changed = true;
        const bool is_new = node.rows.empty() || r > node.rows.back();
        if (is_new) node.rows.push_back(r);
        if (!has_tables) continue;
        if (is_new) node.safe.push_back(no_row);
        const Test *slot = slots_.data() + r * n;
        node.tables.classes[labels_[r]] += own;
        for (const int i : w.columns) node.tables.counts[slot[i] * k + labels_[r]] += own;
    }
    if (!changed) return;
    if (!has_tables || node.drift > far) return work_out(node, w);
    Tables &now = w.tables;
    now = node.tables;
    make_tables(now, w);
    node.drift += moved(node.tables, now, w) * (1 + 1e-12) + hair_;
    std::swap(node.tables, now);
    answer(node, node.tables, w);
}

// --- the search ---------------------------------------------------------------------------------------------------

std::vector<std::uint32_t> LazyRules::pass(const std::vector<std::uint32_t> &rows, Test test) const {
    const Test *slots = by_column_[std::size_t(column_of_[test])].data();
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

// What becomes of the errors of a node when a test is added. `wrong` says of every row whether the node answers it
// wrongly. `child` is the node of the larger set, if it is known; it is worked out where that can make a difference.
LazyRules::Trial LazyRules::evaluate(const Node &node, const std::uint8_t *wrong, Test test,
                                     std::shared_ptr<Node> &child, Scratch &w) const {
    const bool has_rows = child && !child->rows.empty();
    if (has_rows) follow(*child, w);
    else w.rows = pass(node.rows, test);
    const std::vector<std::uint32_t> &rows = has_rows ? child->rows : w.rows;
    if (rows.empty() || rows.size() == node.rows.size()) return {false, 0};
    double errors = 0;
    for (const std::uint32_t r : rows)
        if (wrong[r]) errors += weight[r];
    // If all of these rows were put right and none got worse, would it be significant?
    if (binomial_tail(0, errors) >= options_.significance) return {false, 0};
    if (!child) {
        child = std::make_shared<Node>();
        child->tests = with(node.tests, test);
        child->rows = w.rows;
        work_out(*child, w);
        if (!follows_) child->rows = {};
    }
    double better = 0, worse = 0;
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const bool before = wrong[rows[at]], now = child->wrong[at];
        if (before && !now) better += weight[rows[at]];
        if (!before && now) worse += weight[rows[at]];
    }
    const bool accepted = better > 0 && binomial_tail(worse, better + worse) < options_.significance;
    return {accepted, node.errors - errors + child->errors};
}

// Evaluate these tests at a node, side by side where that is much work.
void LazyRules::try_all(Node &node, const std::vector<Test> &tests, int n_jobs) {
    std::vector<std::shared_ptr<Node>> children;
    std::vector<std::size_t> seen;  // appended rows that a known child has worked out
    for (const Test test : tests) {
        children.push_back(find_cached(with(node.tests, test)));
        seen.push_back(children.back() ? children.back()->seen : nothing_yet);
    }
    wrong_.resize(first.size());  // rows of other nodes are not asked for
    for (std::size_t at = 0; at < node.rows.size(); ++at) wrong_[node.rows[at]] = node.wrong[at];
    std::vector<Trial> found(tests.size());
    std::atomic<std::size_t> next{0};
    const double work = double(tests.size()) * double(node.rows.size()) * n_ * k_;
    // What follows rows costs a small part of that.
    const std::size_t threads =
        work < (follows_ ? 1e8 : 1e6) ? 1 : std::min<std::size_t>(std::size_t(std::max(n_jobs, 1)), tests.size());
    run_threads(threads, [&](std::size_t) {
        Scratch w;
        for (std::size_t t; (t = next++) < tests.size();) {
            check_interrupt();
            found[t] = evaluate(node, wrong_.data(), tests[t], children[t], w);
        }
    });
    for (std::size_t t = 0; t < tests.size(); ++t) {
        node.trials[tests[t]] = found[t];
        if (!children[t] || children[t]->seen == seen[t]) continue;
        ++n_evaluated_;
        remember(children[t]);
    }
}

// The node with one test more, with its rows.
std::shared_ptr<LazyRules::Node> LazyRules::child_of(const Node &node, Test test) {
    std::shared_ptr<Node> child = find_cached(with(node.tests, test));
    if (!child) {  // it has left the cache since
        child = std::make_shared<Node>();
        child->tests = with(node.tests, test);
    }
    Scratch w;
    if (child->rows.empty()) child->rows = pass(node.rows, test);
    if (child->wrong.empty()) {
        work_out(*child, w);
        ++n_evaluated_;
    } else {
        follow(*child, w);
    }
    remember(child);
    return child;
}

// Add tests for some rows that have passed those of the node so far.
void LazyRules::grow(const std::shared_ptr<Node> &node, const std::vector<std::uint32_t> &queries, std::uint8_t *tested,
                     int n_jobs, const std::vector<Test> &slots) {
    if (node->errors < options_.min_errors - same_weight || int(node->tests.size()) >= options_.max_tests) return;
    if (node->tried != appended_.size()) {
        node->trials.clear();
        node->tried = appended_.size();
    }
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
    if (!root_ || root_->seen != appended_.size()) {
        Scratch w;
        if (!root_) {
            root_ = std::make_shared<Node>();
            for (std::uint32_t r = 0; r < first.size(); ++r) root_->rows.push_back(r);
            work_out(*root_, w);
        } else {
            follow(*root_, w);
        }
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

LazyRules::Tests LazyRules::tests_of(const std::vector<int> &values) const {
    Tests tests;
    for (int i = 0; i < n_; ++i)
        if (values[std::size_t(i)] >= 0) tests.push_back(offset_[std::size_t(i)] + Test(values[std::size_t(i)]));
    return tests;
}

std::vector<std::uint32_t> LazyRules::passing(const std::vector<int> &values) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Tests tests = tests_of(values);
    const std::shared_ptr<Node> node = find_cached(tests);
    if (node && !node->rows.empty() && node->seen == appended_.size()) return node->rows;
    std::vector<std::uint32_t> rows(first.size());
    for (std::uint32_t r = 0; r < rows.size(); ++r) rows[r] = r;
    for (const Test test : tests) rows = pass(rows, test);
    return rows;
}

std::vector<std::int64_t> LazyRules::passing_since(const std::vector<int> &values, std::int64_t since) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Tests tests = tests_of(values);
    std::vector<std::int64_t> places;
    for (std::int64_t at = std::max<std::int64_t>(0, since - n_first_); at < std::int64_t(appended_.size()); ++at)
        if (const std::uint32_t r = appended_[std::size_t(at)].row; r != nobody && passes(r, tests))
            places.push_back(n_first_ + at);
    return places;
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
