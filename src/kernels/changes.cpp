#include "changes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "threads.hpp"

namespace tanager {

namespace {

// Whether the class of a row wins: it is as probable as any, and of those that are it comes first in the order of
// preference.
inline bool wins(const double *value, int k, double best, int label, const std::vector<int> &preference) {
    if (value[label] < best - kTie) return false;
    int tied = 0;
    for (int c = 0; c < k; ++c) tied += value[c] >= best - kTie;
    if (tied == 1) return true;
    for (const int c : preference)
        if (value[c] >= best - kTie) return c == label;
    return false;
}

// The logs of a row after a change.
inline void changed(const AnsweredRows &rows, std::int64_t r, Factors factors, int k, double *value) {
    const double *joint = rows.joint + r * k;
    for (int c = 0; c < k; ++c) value[c] = joint[c];
    for (const Factor *factor : factors) {
        const double *line = factor->line_of(r);
        for (int c = 0; c < k; ++c) value[c] += line[c];
    }
}

// change(r, value) puts the logs of a row after a change into an array.
template <int Fixed, class Change>
ChangeScore score_rows(const AnsweredRows &rows, const Change &change, bool probabilities, bool logs) {
    const int k = Fixed ? Fixed : rows.k;
    ChangeScore score;
    std::vector<double> many(Fixed ? 0 : static_cast<std::size_t>(k));
    double few[Fixed ? Fixed : 1];
    double *value = Fixed ? few : many.data();
    for (std::int64_t r = 0; r < rows.n_rows; ++r) {
        change(r, value);
        const double best = *std::max_element(value, value + k);
        const int label = rows.labels[std::size_t(r)];
        const double weight = rows.weights[r], own = value[label] - best;
        if (!wins(value, k, best, label, rows.preference)) score.wrong += weight;
        if (!probabilities) continue;
        double sum = 0, own_share = 1;
        for (int c = 0; c < k; ++c) {
            const double share = value[c] == best ? 1.0 : std::exp(value[c] - best);
            sum += share;
            if (c == label) own_share = share;
        }
        score.probability += weight * own_share / sum;
        if (logs) score.log_probability += weight * (own - std::log(sum));
    }
    return score;
}

template <class Change>
ChangeScore score_rows(const AnsweredRows &rows, const Change &change, bool probabilities, bool logs) {
    switch (rows.k) {
        case 2: return score_rows<2>(rows, change, probabilities, logs);
        case 3: return score_rows<3>(rows, change, probabilities, logs);
        case 4: return score_rows<4>(rows, change, probabilities, logs);
        default: return score_rows<0>(rows, change, probabilities, logs);
    }
}

}  // namespace

Factor::Factor(std::shared_ptr<const LineNumbers> lines_, std::vector<double> table_, int k_,
               const std::vector<int> &label_of)
    : lines(std::move(lines_)), table(std::move(table_)), reach(table.size() / std::size_t(k_)), k(k_) {
    for (std::size_t q = 0; q < reach.size(); ++q) {
        const double *line = table.data() + q * std::size_t(k);
        if (label_of[q] >= 0 && k == 2) {  // there is one other class: sums have a line for every row
            const double up = line[1 - label_of[q]] - line[label_of[q]];
            reach[q] = {up, -up};
        } else if (label_of[q] < -1) {
            one_label = false;
            const auto [least, most] = std::minmax_element(line, line + k);
            reach[q] = {*most - *least, *most - *least};
        } else if (label_of[q] >= 0 && k > 1) {
            const int own = label_of[q];
            double least = std::numeric_limits<double>::infinity(), most = -least;
            for (int c = 0; c < k; ++c) {
                if (c == own) continue;
                least = std::min(least, line[c]);
                most = std::max(most, line[c]);
            }
            reach[q] = {most - line[own], line[own] - least};
        }
    }
}

void Factor::add_to(double *out, double sign) const {
    lines->read([&](const auto &line) {
        const double *from = table.data();
        if (k == 2) {
            for (std::size_t r = 0; r < line.size(); ++r) {
                const double *own = from + 2 * std::size_t(line[r]);
                out[2 * r] += sign * own[0];
                out[2 * r + 1] += sign * own[1];
            }
            return;
        }
        for (std::size_t r = 0; r < line.size(); ++r, out += k) {
            const double *own = from + std::size_t(line[r]) * std::size_t(k);
            for (int c = 0; c < k; ++c) out[c] += sign * own[c];
        }
    });
}

Factor Factor::negated() const {
    Factor other;
    other.lines = lines;
    other.k = k;
    other.one_label = one_label;
    other.table.reserve(table.size());
    for (const double x : table) other.table.push_back(-x);
    other.reach.reserve(reach.size());
    for (const Reach &own : reach) other.reach.push_back({own.down, own.up});
    return other;
}

ChangeScore score_change(const AnsweredRows &rows, Factors factors, bool probabilities, bool logs) {
    const auto change = [&](std::int64_t r, double *value) { changed(rows, r, factors, rows.k, value); };
    return score_rows(rows, change, probabilities, logs);
}

ChangeScore score_sum(const AnsweredRows &rows, const double *sum, bool probabilities, bool logs) {
    const std::int64_t k = rows.k;
    const auto change = [&](std::int64_t r, double *value) {
        for (std::int64_t c = 0; c < k; ++c) value[c] = rows.joint[r * k + c] + sum[r * k + c];
    };
    return score_rows(rows, change, probabilities, logs);
}

// Most rows are too far ahead, or behind, for any line of a factor: in the order of their margins they need not be
// looked at. Ranges of margins will do, and are found in two passes.
void Rivals::order_rows() {
    const std::size_t m = margin.size();
    const auto [least, most] = std::minmax_element(margin.begin(), margin.end());
    if (m > 0) {
        least_ = *least;
        below_ = double(kRanges) / std::max(kTie - *least, kTie);
        above_ = double(kRanges) / std::max(*most - kTie, kTie);
    }
    first_of_.assign(2 * kRanges + 1, 0);
    std::vector<std::uint8_t> range_of(m);
    static_assert(2 * kRanges <= 0x100);
    for (std::size_t r = 0; r < m; ++r) {
        range_of[r] = std::uint8_t(range(margin[r]));
        ++first_of_[range_of[r] + 1];
    }
    std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
    std::vector<std::uint32_t> next(first_of_.begin(), first_of_.end() - 1);
    by_margin.resize(m);
    margin_of.resize(m);
    for (std::size_t r = 0; r < m; ++r) {
        const std::size_t place = next[range_of[r]]++;
        by_margin[place] = std::int32_t(r);
        margin_of[place] = margin[r];
    }
}

Rivals::Rivals(const AnsweredRows &rows) {
    const std::size_t m = std::size_t(rows.n_rows), k = std::size_t(rows.k);
    margin.reserve(m);
    const auto note_behind = [this](std::size_t r) {
        if (margin.back() < kTie) behind.push_back(std::int32_t(r));
    };
    if (k == 2) {  // a single rival: nothing to sort
        for (std::size_t r = 0; r < m; ++r) {
            const double *value = rows.joint + r * 2;
            const int label = rows.labels[r];
            margin.push_back(value[label] - value[1 - label]);
            note_behind(r);
        }
        order_rows();
        return;
    }
    gap.reserve(m * (k - 1));
    who.reserve(m * (k - 1));
    std::vector<std::pair<double, std::int32_t>> own;
    for (std::size_t r = 0; r < m; ++r) {
        const double *value = rows.joint + r * k;
        const int label = rows.labels[r];
        own.clear();
        for (int c = 0; c < rows.k; ++c)
            if (c != label) own.emplace_back(value[label] - value[c], c);
        std::sort(own.begin(), own.end());
        margin.push_back(own.empty() ? std::numeric_limits<double>::infinity() : own[0].first);
        note_behind(r);
        for (const auto &[ahead, c] : own) {
            gap.push_back(ahead);
            who.push_back(c);
        }
    }
}

namespace {

constexpr double slack = 4 * kTie;  // rows closer to a tie are looked at with all their classes

// Of two classes, one line says all: by how much the other gains on the own class. No branches, as nobody can foresee
// which rows are right. None where rows are so close to a tie that they must be looked at in full.
bool one_line_says_all(const AnsweredRows &rows, Factors factors) {
    return rows.k == 2 && !rows.weights && factors.size() == 1 && factors[0]->one_label;
}

// How far the other class comes up in each line, side by side, in the least line and in the most.
class Ups {
  public:
    explicit Ups(const Factor &factor) {
        double *to = few_;
        if (factor.reach.size() > std::size(few_)) {
            many_.resize(factor.reach.size());
            to = many_.data();
        }
        for (std::size_t q = 0; q < factor.reach.size(); ++q) {
            to[q] = factor.reach[q].up;
            least = std::min(least, to[q]);
            most = std::max(most, to[q]);
        }
    }
    const double *data() const { return many_.empty() ? few_ : many_.data(); }

    double least = std::numeric_limits<double>::infinity(), most = -least;

  private:
    double few_[0x100];
    std::vector<double> many_;
};

// Of the rows from one place to another, in the order of their margins: how many are wrong, and how many so close to a
// tie that they must be looked at in full.
struct Looked {
    std::int64_t wrong = 0, close = 0;
};
Looked look(const Rivals &rivals, const Factor &factor, const Ups &ups, std::size_t from, std::size_t to) {
    const double *up = ups.data(), *margin = rivals.margin_of.data();
    const std::int32_t *row = rivals.by_margin.data();
    std::int64_t wrong = 0, right = 0;
    factor.lines->read([&](const auto &lines) {
        const auto *line = lines.data();
        for (std::size_t q = from; q < to; ++q) {
            const double ahead = margin[q] - up[line[row[q]]];
            wrong += ahead < -slack;
            right += ahead > slack;
        }
    });
    return {wrong, std::int64_t(to - from) - wrong - right};
}

std::optional<double> behind_of_two(const Rivals &rivals, const Factor &factor) {
    const Ups ups(factor);
    const std::size_t n_behind = rivals.behind.size();
    const std::size_t from = std::min(n_behind, rivals.first_from(ups.least - slack));  // surely wrong before
    const Looked found = look(rivals, factor, ups, from, n_behind);
    if (found.close > 0) return std::nullopt;
    return double(from) + double(found.wrong);
}

std::optional<double> rest_of_two(const Rivals &rivals, const Factor &factor, double wrong, double enough) {
    constexpr std::size_t some = 1024;
    const Ups ups(factor);
    const std::size_t n_behind = rivals.behind.size();
    const std::size_t end = rivals.first_above(ups.most + slack);  // surely right from there on
    for (std::size_t from = n_behind; from < end && !(wrong > enough); from += some) {
        const Looked found = look(rivals, factor, ups, from, std::min(end, from + some));
        if (found.close > 0) return std::nullopt;
        wrong += double(found.wrong);
    }
    return wrong;
}

// Row by row, with as few of the rivals as will do.
class RowByRow {
  public:
    RowByRow(const AnsweredRows &rows, const Rivals &rivals, Factors factors)
        : rows_(rows), rivals_(rivals), factors_(factors), value_(std::size_t(rows.k)) {}

    double weight_if_wrong(std::int64_t r) {
        double up = 0, down = 0;
        for (const Factor *factor : factors_) {
            const Reach &own = factor->reach[(*factor->lines)[std::size_t(r)]];
            up += own.up;
            down += own.down;
        }
        const double ahead = rivals_.margin[std::size_t(r)];
        if (ahead - up > slack) return 0.0;
        return ahead + down < -slack || !right(r, up) ? rows_.weights[r] : 0.0;
    }

  private:
    const AnsweredRows &rows_;
    const Rivals &rivals_;
    const Factors factors_;
    std::vector<double> value_;

    bool right(std::int64_t r, double up) {
        const std::size_t n_rivals = std::size_t(rows_.k) - 1;
        const int own = rows_.labels[std::size_t(r)];
        const std::int32_t other = 1 - own;
        const bool single = rows_.k == 2;
        const double *gap = (single ? rivals_.margin : rivals_.gap).data() + std::size_t(r) * n_rivals;
        const std::int32_t *who = single ? &other : rivals_.who.data() + std::size_t(r) * n_rivals;
        for (std::size_t q = 0; q < n_rivals && !(gap[q] - up > slack); ++q) {
            double ahead = gap[q];
            for (const Factor *factor : factors_) {
                const double *line = factor->line_of(r);
                ahead += line[own] - line[who[q]];
            }
            if (ahead < -slack) return false;
            if (!(ahead > slack)) return wins_in_full(r);
        }
        return true;
    }
    bool wins_in_full(std::int64_t r) {
        changed(rows_, r, factors_, rows_.k, value_.data());
        const double best = *std::max_element(value_.begin(), value_.end());
        return wins(value_.data(), rows_.k, best, rows_.labels[std::size_t(r)], rows_.preference);
    }
};

}  // namespace

double count_behind(const AnsweredRows &rows, const Rivals &rivals, Factors factors) {
    if (one_line_says_all(rows, factors))
        if (const auto found = behind_of_two(rivals, *factors[0])) return *found;
    RowByRow each(rows, rivals, factors);
    double wrong = 0;
    for (const std::int32_t r : rivals.behind) wrong += each.weight_if_wrong(r);
    return wrong;
}

double count_rest(const AnsweredRows &rows, const Rivals &rivals, Factors factors, double behind, double enough) {
    if (is_beyond(behind, enough)) return behind;
    if (one_line_says_all(rows, factors))
        if (const auto found = rest_of_two(rivals, *factors[0], behind, enough)) return *found;
    RowByRow each(rows, rivals, factors);
    for (std::int64_t r = 0; r < rows.n_rows; ++r)
        if (!(rivals.margin[std::size_t(r)] < kTie)) behind += each.weight_if_wrong(r);
    return behind;
}

void count_changes(const AnsweredRows &rows, std::size_t n, const ChangeAt &change, bool only_best, int n_jobs,
                   double *wrong) {
    const Rivals rivals(rows);
    in_turn(n, n_jobs, [&](std::size_t, std::size_t q) { wrong[q] = count_behind(rows, rivals, change(q)); });
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (only_best) std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return wrong[a] < wrong[b]; });
    // Of each thread for itself: no answer depends on it.
    std::vector<double> enough(std::size_t(std::max(1, n_jobs)), std::numeric_limits<double>::infinity());
    in_turn(n, n_jobs, [&](std::size_t t, std::size_t place) {
        double &own = wrong[order[place]];
        if (is_beyond(own, enough[t])) return;
        own = count_rest(rows, rivals, change(order[place]), own, enough[t]);
        if (only_best) enough[t] = std::min(enough[t], own);
    });
}

}  // namespace tanager
