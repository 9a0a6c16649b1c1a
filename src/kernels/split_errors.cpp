// One naive Bayes for every value of every column. Most cells of a row hold the most common value of their column, its
// mode; so what a row is worth is the worth of the row of modes, and for every cell that departs from it the
// difference, a line of numbers with one for each part of the rows that a split makes. Lines are added up as floats.
// Where the sum says that two classes are nearly as probable, the answer is worked out as fold_right does it, to the
// bit.
#include "split_errors.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "cpu.hpp"
#include "interrupt.hpp"
#include "ties.hpp"

namespace tanager {

namespace {

constexpr std::size_t kManyColumns = 100;
constexpr std::size_t kSome = 128;    // parts that are looked at together
constexpr double kMostCounts = 64e6;  // numbers in the tables of pairs

// Adds up some lines of n numbers each.
[[gnu::always_inline]] inline void add_lines(float *sum, const float *lines, const std::uint32_t *which,
                                             std::size_t n_lines, std::size_t n) {
    // By name and not by `auto`, which forgets that they need no alignment.
    typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));
    constexpr std::size_t lane = 32;
    std::size_t from = 0;
    for (; from + lane <= n; from += lane) {
        Eight *out = reinterpret_cast<Eight *>(sum + from);
        Eight a = out[0], b = out[1], c = out[2], e = out[3];
        for (std::size_t d = 0; d < n_lines; ++d) {
            const Eight *line = reinterpret_cast<const Eight *>(lines + which[d] * n + from);
            a += line[0];
            b += line[1];
            c += line[2];
            e += line[3];
        }
        out[0] = a;
        out[1] = b;
        out[2] = c;
        out[3] = e;
    }
    for (std::size_t d = 0; d < n_lines; ++d)
        for (std::size_t t = from; t < n; ++t) sum[t] += lines[which[d] * n + t];
}
using AddLines = void (*)(float *, const float *, const std::uint32_t *, std::size_t, std::size_t);
void add_plain(float *sum, const float *lines, const std::uint32_t *which, std::size_t n_lines, std::size_t n) {
    add_lines(sum, lines, which, n_lines, n);
}
#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_avx2(float *sum, const float *lines, const std::uint32_t *which, std::size_t n_lines,
                                      std::size_t n) {
    add_lines(sum, lines, which, n_lines, n);
}
#endif

AddLines adder() {
#if defined(__x86_64__)
    if (chosen_cpu_level().load() >= CpuLevel::avx2) return &add_avx2;
#endif
    return &add_plain;
}

class AllSplits {
  public:
    AllSplits(const FoldedRows &rows, const FoldedColumns &columns, const std::vector<char> &wanted)
        : columns_(columns), n_(columns.n_values.size()), k_(std::size_t(columns.n_classes)),
          m_(std::size_t(rows.codes.n_rows)), folds_(std::size_t(rows.n_folds)), asked_(std::size_t(rows.n_asked)) {
        plain_ = n_ > kManyColumns && k_ > 1 && read(rows);
        if (plain_) number_cells(wanted);
    }
    // Whether this way is open at all, and its tables are not too large.
    bool fits() const {
        if (!plain_) return false;
        const double lines = double(n_lines_), width = double(n_wanted_cells_);
        for (std::size_t g = 0; g < folds_ * k_; ++g)
            if (groups_[g].size() > 0xffff) return false;
        return lines * width * double(folds_ * k_) < kMostCounts;
    }
    void run(double *right) {
        count_pairs();
        make_logs();
        sums_.resize(kSome * (k_ - 1));
        sum_ = sums_.data();
        for (const std::size_t s : wanted_) right[s] = 0;
        right[n_] = 0;
        for (std::size_t b = 0; b < asked_; ++b) {
            check_interrupt();
            take_out(b);
            make_lines();
            answer(right);
        }
    }

  private:
    using Counts = std::vector<std::int32_t>;

    // Codes row by row, and rows by fold and class; false where rows are not plain.
    bool read(const FoldedRows &rows) {
        codes_.resize(m_ * n_);
        groups_.resize(folds_ * k_);
        if (*std::min_element(columns_.n_values.begin(), columns_.n_values.end()) < 1) return false;
        const std::vector<std::uint16_t> limit(columns_.n_values.begin(), columns_.n_values.end());
        const bool bytes = !rows.codes.wide && rows.codes.column_step == 1;
        for (std::size_t r = 0; r < m_; ++r) {
            std::uint16_t *own = codes_.data() + r * n_;
            if (bytes) {
                const std::byte *code = rows.codes.cell(std::int64_t(r));
                for (std::size_t i = 0; i < n_; ++i) own[i] = std::uint16_t(code[i]);
            } else {
                for (std::size_t i = 0; i < n_; ++i)
                    own[i] = std::uint16_t(rows.codes.at(std::int64_t(r), std::int64_t(i)));
            }
            bool gap = false;
            for (std::size_t i = 0; i < n_; ++i) gap |= own[i] >= limit[i];
            if (gap) return false;
        }
        for (std::size_t r = 0; r < m_; ++r) {
            std::size_t own = folds_;
            for (std::size_t b = 0; b < folds_; ++b) {
                const double weight = rows.dealt[b * m_ + r];
                if (weight == 0.0) continue;
                if (weight != 1.0 || own < folds_) return false;
                own = b;
            }
            if (own == folds_) return false;
            labels_.push_back(std::size_t(rows.labels.at(std::int64_t(r))));
            groups_[own * k_ + labels_.back()].push_back(std::uint32_t(r));
        }
        return true;
    }

    // Cells that occur and are no modes are lines; those of wanted columns come first and are parts as well. The modes
    // of wanted columns are the next parts, and the last one is all rows.
    void number_cells(const std::vector<char> &wanted) {
        first_cell_.assign(n_ + 1, 0);
        for (std::size_t i = 0; i < n_; ++i) first_cell_[i + 1] = first_cell_[i] + std::size_t(columns_.n_values[i]);
        std::vector<std::uint32_t> seen(first_cell_[n_]);
        for (std::size_t r = 0; r < m_; ++r)
            for (std::size_t i = 0; i < n_; ++i) ++seen[first_cell_[i] + codes_[r * n_ + i]];
        line_of_.assign(first_cell_[n_], -1);
        lines_from_.assign(n_, 0);
        lines_to_.assign(n_, 0);
        mode_part_.assign(n_, -1);
        for (const bool first : {true, false}) {
            for (std::size_t i = 0; i < n_; ++i) {
                if (bool(wanted[i]) != first) continue;
                const auto from = seen.begin() + std::ptrdiff_t(first_cell_[i]);
                const auto mode = std::max_element(from, from + std::ptrdiff_t(columns_.n_values[i])) - seen.begin();
                lines_from_[i] = n_lines_;
                for (std::size_t cell = first_cell_[i]; cell < first_cell_[i + 1]; ++cell)
                    if (std::ptrdiff_t(cell) != mode && seen[cell] > 0) line_of_[cell] = int(n_lines_++);
                lines_to_[i] = n_lines_;
                order_.push_back(i);
            }
            if (first) {
                n_wanted_cells_ = n_lines_;
                wanted_ = order_;
            }
        }
        for (std::size_t q = 0; q < wanted_.size(); ++q) mode_part_[wanted_[q]] = int(n_wanted_cells_ + q);
        n_parts_ = n_wanted_cells_ + wanted_.size() + 1;
        const auto is_binary = [&](std::size_t i) { return lines_to_[i] == lines_from_[i] + 1; };
        all_binary_ = std::all_of(wanted_.begin(), wanted_.end(), is_binary);
        column_of_.resize(n_lines_);
        for (std::size_t i = 0; i < n_; ++i)
            for (std::size_t u = lines_from_[i]; u < lines_to_[i]; ++u) column_of_[u] = i;
        find_departures();
    }
    int line_of(std::size_t r, std::size_t i) const { return line_of_[first_cell_[i] + codes_[r * n_ + i]]; }
    void find_departures() {
        departs_from_.reserve(m_ + 1);
        for (std::size_t r = 0; r < m_; ++r) {
            departs_from_.push_back(departures_.size());
            for (const std::size_t i : order_)  // which is that of the lines
                if (const int u = line_of(r, i); u >= 0) departures_.push_back(std::uint32_t(u));
        }
        departs_from_.push_back(departures_.size());
    }

    // N(line, part, y) of every fold, for parts that are no modes; and N(line, y), N(part, y).
    void count_pairs() {
        const std::size_t lines = n_lines_, width = n_wanted_cells_;
        pairs_.assign(folds_ * k_ * lines * width, 0);
        singles_.assign(folds_ * k_ * lines, 0);
        for (std::size_t g = 0; g < folds_ * k_; ++g) {
            std::uint16_t *own = pairs_.data() + g * lines * width;
            for (const std::uint32_t r : groups_[g]) {
                const std::uint32_t *from = &departures_[0] + departs_from_[r],
                                    *to = &departures_[0] + departs_from_[r + 1];
                const std::uint32_t *last = std::lower_bound(from, to, std::uint32_t(width));
                for (const std::uint32_t *u = from; u < to; ++u) {
                    ++singles_[g * lines + *u];
                    std::uint16_t *line = own + *u * width;
                    for (const std::uint32_t *t = from; t < last; ++t) ++line[*t];
                }
            }
        }
        all_pairs_.assign(k_ * lines * width, 0);
        for (std::size_t g = 0; g < folds_ * k_; ++g) {
            std::int32_t *all = all_pairs_.data() + g % k_ * lines * width;
            const std::uint16_t *own = pairs_.data() + g * lines * width;
            for (std::size_t q = 0; q < lines * width; ++q) all[q] += own[q];
        }
    }

    // log(N + pseudo) for every N that there can be; columns with the same pseudo-counts share them.
    void make_logs() {
        std::map<double, std::size_t> known;
        const auto logs_of = [&](double pseudo) {
            const auto [found, is_new] = known.emplace(pseudo, logs_.size());
            if (is_new) {
                logs_.emplace_back();
                for (std::size_t q = 0; q <= m_; ++q) logs_.back().push_back(float(std::log(double(q) + pseudo)));
            }
            return found->second;
        };
        for (std::size_t i = 0; i < n_; ++i) {
            logs_of_cell_.push_back(logs_of(columns_.pseudo[i]));
            ++n_with_total_[logs_of(columns_.pseudo[i] * double(columns_.n_values[i]))];
        }
        logs_of_class_ = logs_of(columns_.class_pseudo);
        for (const auto &logs : logs_) largest_log_ = std::max(largest_log_, largest(logs));
    }

    // Counts without fold b: of lines and parts by class; `pair` gives those of both.
    void take_out(std::size_t b) {
        fold_ = b;
        const std::size_t lines = n_lines_;
        line_count_.assign(k_ * lines, 0);
        class_count_.assign(k_, 0);
        part_count_.assign(k_ * n_parts_, 0);
        for (std::size_t g = 0; g < folds_ * k_; ++g) {
            if (g / k_ == b) continue;
            const std::size_t c = g % k_;
            class_count_[c] += std::int32_t(groups_[g].size());
            for (std::size_t u = 0; u < lines; ++u) line_count_[c * lines + u] += singles_[g * lines + u];
        }
        for (std::size_t c = 0; c < k_; ++c) {
            std::int32_t *part = part_count_.data() + c * n_parts_;
            std::copy_n(line_count_.data() + c * lines, n_wanted_cells_, part);
            for (const std::size_t i : wanted_) {
                part[mode_part_[i]] = class_count_[c];
                for (std::size_t u = lines_from_[i]; u < lines_to_[i]; ++u) part[mode_part_[i]] -= part[u];
            }
            part[n_parts_ - 1] = class_count_[c];
        }
    }
    // N(line u, part t, y = c) for all parts t.
    void pairs_of(std::size_t u, std::size_t c, std::int32_t *out) const {
        const std::size_t lines = n_lines_, width = n_wanted_cells_;
        const std::int32_t *all = all_pairs_.data() + (c * lines + u) * width;
        const std::uint16_t *less = pairs_.data() + ((fold_ * k_ + c) * lines + u) * width;
        for (std::size_t t = 0; t < width; ++t) out[t] = all[t] - less[t];
        const std::int32_t seen = line_count_[c * lines + u];
        for (std::size_t q = 0; all_binary_ && q < width; ++q) out[width + q] = seen - out[q];
        for (std::size_t q = 0; !all_binary_ && q < wanted_.size(); ++q) {
            std::int32_t rest = seen;
            for (std::size_t t = lines_from_[wanted_[q]]; t < lines_to_[wanted_[q]]; ++t) rest -= out[t];
            out[width + q] = rest;
        }
        out[n_parts_ - 1] = seen;
    }
    std::int32_t pair(std::size_t u, std::size_t t, std::size_t c) const {
        const std::size_t lines = n_lines_, width = n_wanted_cells_;
        const auto at = [&](std::size_t cell) {
            return all_pairs_[(c * lines + u) * width + cell] - pairs_[((fold_ * k_ + c) * lines + u) * width + cell];
        };
        if (t < width) return at(t);
        std::int32_t rest = line_count_[c * lines + u];
        if (t + 1 == n_parts_) return rest;
        const std::size_t s = wanted_[t - width];
        for (std::size_t cell = lines_from_[s]; cell < lines_to_[s]; ++cell) rest -= at(cell);
        return rest;
    }

    // What the row of modes is worth in every part, and by what departing from it changes that: log-odds of every class
    // against the first one.
    void make_lines() {
        const std::size_t size = (k_ - 1) * n_parts_;
        std::vector<double> base(size);
        logs_of_mode_.resize(n_parts_);
        for (std::size_t c = 0; c < k_; ++c) {
            for (std::size_t t = 0; t < n_parts_; ++t) {
                const auto seen = std::size_t(part_count_[c * n_parts_ + t]);
                logs_of_mode_[t] = double(logs_[logs_of_class_][seen]);
                for (const auto &[which, times] : n_with_total_)
                    logs_of_mode_[t] -= double(times) * double(logs_[which][seen]);
            }
            put_all(base.data(), c, logs_of_mode_.data());
        }
        lines_.resize(n_lines_ * size);
        std::vector<std::int32_t> own, rest(n_parts_);
        std::vector<double> first;
        for (std::size_t j = 0; j < n_; ++j) {
            const float *logs = logs_[logs_of_cell_[j]].data();
            const std::size_t n_own = lines_to_[j] - lines_from_[j];
            if (k_ == 2 && n_own == 1) {
                make_line_of_two(lines_from_[j], logs, base.data());
                continue;
            }
            own.resize(n_own * n_parts_);
            first.resize(n_own * n_parts_);
            for (std::size_t c = 0; c < k_; ++c) {
                std::copy_n(part_count_.data() + c * n_parts_, n_parts_, rest.data());
                for (std::size_t q = 0; q < n_own; ++q) {
                    std::int32_t *counts = own.data() + q * n_parts_;
                    pairs_of(lines_from_[j] + q, c, counts);
                    for (std::size_t t = 0; t < n_parts_; ++t) rest[t] -= counts[t];
                }
                for (std::size_t t = 0; t < n_parts_; ++t) logs_of_mode_[t] = double(logs[rest[t]]);
                put_all(base.data(), c, logs_of_mode_.data());
                for (std::size_t q = 0; q < n_own; ++q) {
                    const std::int32_t *counts = own.data() + q * n_parts_;
                    double *of_first = first.data() + q * n_parts_;
                    if (c == 0) {
                        for (std::size_t t = 0; t < n_parts_; ++t)
                            of_first[t] = double(logs[counts[t]]) - logs_of_mode_[t];
                    } else {
                        odds_.resize(n_parts_);
                        for (std::size_t t = 0; t < n_parts_; ++t)
                            odds_[t] = float(double(logs[counts[t]]) - logs_of_mode_[t] - of_first[t]);
                        store(lines_from_[j] + q, c, odds_.data());
                    }
                }
            }
        }
        base_.assign(base.begin(), base.end());
        largest_base_ = largest(base_);
        largest_line_ = largest(lines_);
    }
    // The same for two classes and a single line.
    void make_line_of_two(std::size_t u, const float *logs, double *base) {
        counts_.resize(2 * n_parts_);
        odds_.resize(n_parts_);
        const std::int32_t *a = counts_.data(), *b = a + n_parts_, *all_a = part_count_.data(),
                           *all_b = all_a + n_parts_;
        pairs_of(u, 0, counts_.data());
        pairs_of(u, 1, counts_.data() + n_parts_);
        for (std::size_t t = 0; t < n_parts_; ++t) {
            const float mode_a = logs[all_a[t] - a[t]], mode_b = logs[all_b[t] - b[t]], mode = mode_b - mode_a;
            base[t] += double(mode);
            odds_[t] = logs[b[t]] - logs[a[t]] - mode;
        }
        store(u, 1, odds_.data());
    }
    // Some parts of all lines lie together, as many as fit into the cache.
    void store(std::size_t u, std::size_t c, const float *odds) {
        for (std::size_t from = 0; from < n_parts_; from += kSome) {
            const std::size_t n = std::min(kSome, n_parts_ - from);
            std::copy_n(odds + from, n, lines_.data() + from * (k_ - 1) * n_lines_ + (u * (k_ - 1) + c - 1) * n);
        }
    }
    void put_all(double *odds, std::size_t c, const double *logs) const {
        for (std::size_t d = c > 0 ? c - 1 : 0; d < (c > 0 ? c : k_ - 1); ++d) {
            double *out = odds + d * n_parts_;
            if (c > 0)
                for (std::size_t t = 0; t < n_parts_; ++t) out[t] += logs[t];
            else
                for (std::size_t t = 0; t < n_parts_; ++t) out[t] -= logs[t];
        }
    }
    static double largest(const std::vector<float> &numbers) {
        float most = 0;
        for (const float x : numbers) most = std::max(most, std::fabs(x));
        return double(most);
    }

    // Adds the rows of the fold to all columns whose split answers them correctly, and to that of all rows.
    void answer(double *right) {
        for (std::size_t from = 0; from < n_parts_; from += kSome) {
            const std::size_t to = std::min(from + kSome, n_parts_);
            for (std::size_t c = 0; c < k_; ++c)
                for (const std::uint32_t r : groups_[fold_ * k_ + c]) answer_some(r, from, to, right);
        }
    }
    void answer_some(std::size_t r, std::size_t from, std::size_t to, double *right) {
        const std::size_t n = to - from, size = n * (k_ - 1);
        for (std::size_t c = 0; c + 1 < k_; ++c) std::copy_n(base_.data() + c * n_parts_ + from, n, sum_ + c * n);
        const float *lines = lines_.data() + from * (k_ - 1) * n_lines_;
        const std::uint32_t *first = departures_.data() + departs_from_[r];
        const std::uint32_t *last = departures_.data() + departs_from_[r + 1];
        add_(sum_, lines, first, std::size_t(last - first), size);
        // Rounding of every sum on the way, and of every logarithm.
        const double steps = double(last - first) + 2;
        const double tie =
            1.2e-7 * (steps * (largest_base_ + steps * largest_line_) + 4 * (steps + double(n_)) * largest_log_);
        const auto look = [&](std::size_t t, std::size_t column) {
            if (answer_is_right(r, t, n, t - from, tie)) right[column] += 1.0;
        };
        const std::size_t modes = n_wanted_cells_ + wanted_.size();
        if (from < n_wanted_cells_)
            for (const std::uint32_t *u = std::lower_bound(first, last, std::uint32_t(from));
                 u < last && *u < std::min(to, n_wanted_cells_); ++u)
                look(*u, column_of_[*u]);
        for (std::size_t t = std::max(from, n_wanted_cells_); t < std::min(to, modes); ++t)
            if (const std::size_t s = wanted_[t - n_wanted_cells_]; line_of(r, s) < 0) look(t, s);
        if (to == n_parts_) look(n_parts_ - 1, n_);
    }
    bool answer_is_right(std::size_t r, std::size_t t, std::size_t n, std::size_t place, double tie) {
        double best = 0, second = -std::numeric_limits<double>::infinity();
        std::size_t who = 0;
        for (std::size_t c = 1; c < k_; ++c) {
            const auto odds = double(sum_[(c - 1) * n + place]);
            if (odds > best) {
                second = best;
                best = odds;
                who = c;
            } else {
                second = std::max(second, odds);
            }
        }
        return (best - second > 2 * tie ? who : exact(r, t)) == labels_[r];
    }

    // As FoldedNaiveBayes has it, in the same order.
    std::size_t exact(std::size_t r, std::size_t t) {
        std::vector<double> prior(k_), p(k_);
        double sum = 0.0;
        const auto seen = [&](std::size_t c) { return double(part_count_[c * n_parts_ + t]); };
        for (std::size_t c = 0; c < k_; ++c) sum += seen(c) + columns_.class_pseudo;
        for (std::size_t c = 0; c < k_; ++c) p[c] = prior[c] = (seen(c) + columns_.class_pseudo) / sum;
        for (std::size_t i = 0; i < n_; ++i) {
            const int u = line_of(r, i);
            const double extra = columns_.pseudo[i] * double(columns_.n_values[i]);
            for (std::size_t c = 0; c < k_; ++c) {
                std::int32_t count = part_count_[c * n_parts_ + t];
                if (u >= 0) count = pair(std::size_t(u), t, c);
                else
                    for (std::size_t other = lines_from_[i]; other < lines_to_[i]; ++other) count -= pair(other, t, c);
                p[c] *= (double(count) + columns_.pseudo[i]) * (1.0 / (seen(c) + extra));
            }
            if (i % 8 == 7) {
                const double most = *std::max_element(p.begin(), p.end());
                if (most > 0.0 && most < 1e-100)
                    for (double &x : p) x *= 1e100;
            }
        }
        std::vector<std::size_t> order(k_);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](auto c, auto d) { return prior[c] > prior[d]; });
        const double best = *std::max_element(p.begin(), p.end()), all = std::accumulate(p.begin(), p.end(), 0.0);
        for (const std::size_t c : order)
            if (p[c] >= best - kSameProbability * all) return c;
        return order[0];
    }

    const FoldedColumns &columns_;
    std::size_t n_, k_, m_, folds_, asked_;
    bool plain_ = false;
    std::vector<std::uint16_t> codes_;                // (rows, columns)
    std::vector<std::size_t> labels_;                 // of rows
    std::vector<std::vector<std::uint32_t>> groups_;  // rows of every fold and class
    std::vector<std::size_t> wanted_;                 // columns
    std::vector<std::size_t> first_cell_;             // of every column
    std::vector<int> line_of_;                        // of every cell; -1 for the mode
    std::vector<std::size_t> lines_from_, lines_to_;  // of every column
    std::vector<std::size_t> order_;                  // columns, as their lines are numbered: the wanted ones first
    std::vector<std::size_t> column_of_;              // of a line
    std::vector<int> mode_part_;                      // of a wanted column
    bool all_binary_ = false;                         // the wanted columns have one line each
    std::size_t n_lines_ = 0, n_wanted_cells_ = 0, n_parts_ = 0;
    std::vector<std::size_t> departs_from_;  // where the departures of each row begin
    std::vector<std::uint32_t> departures_;  // lines
    std::vector<std::uint16_t> pairs_;       // (folds, classes, lines, parts that are no modes)
    Counts all_pairs_;                       // the same of all folds together
    Counts singles_;                         // (folds, classes, lines)
    std::vector<std::vector<float>> logs_;
    std::vector<std::size_t> logs_of_cell_;
    std::map<std::size_t, std::size_t> n_with_total_;  // columns with each denominator
    std::size_t logs_of_class_ = 0;
    // Without one fold:
    std::size_t fold_ = 0;
    Counts line_count_, class_count_, part_count_;
    std::vector<float> base_, lines_;  // (classes - 1, parts); lines_: one of them for every line
    double largest_base_ = 0, largest_line_ = 0, largest_log_ = 0;
    std::vector<float> sums_, odds_;
    Counts counts_;
    float *sum_ = nullptr;  // of a row, for some parts
    std::vector<double> logs_of_mode_;
    AddLines add_ = adder();
};

}  // namespace

bool right_of_all_splits(const FoldedRows &rows, const FoldedColumns &columns, const std::vector<char> &wanted,
                         double *right) {
    AllSplits splits(rows, columns, wanted);
    if (!splits.fits()) return false;
    splits.run(right);
    return true;
}

}  // namespace tanager
