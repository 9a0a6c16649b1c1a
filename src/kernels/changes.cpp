#include "changes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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
inline void changed(const AnsweredRows &rows, std::int64_t r, const std::vector<const Factor *> &factors, int k,
                    double *value) {
    const double *joint = rows.joint + r * k;
    for (int c = 0; c < k; ++c) value[c] = joint[c];
    for (const Factor *factor : factors) {
        const double *line = factor->line_of(r);
        for (int c = 0; c < k; ++c) value[c] += line[c];
    }
}

template <int Fixed>
ChangeScore score_rows(const AnsweredRows &rows, const std::vector<const Factor *> &factors, bool probabilities) {
    const int k = Fixed ? Fixed : rows.k;
    ChangeScore score;
    std::vector<double> many(Fixed ? 0 : static_cast<std::size_t>(k));
    double few[Fixed ? Fixed : 1];
    double *value = Fixed ? few : many.data();
    for (std::int64_t r = 0; r < rows.n_rows; ++r) {
        changed(rows, r, factors, k, value);
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
        score.log_probability += weight * (own - std::log(sum));
    }
    return score;
}

}  // namespace

Factor::Factor(std::shared_ptr<const std::vector<std::int32_t>> lines_, std::vector<double> table_, int k_,
               const std::vector<int> &labels)
    : lines(std::move(lines_)), table(std::move(table_)), reach(table.size() / std::size_t(k_)), k(k_) {
    constexpr int unknown = -1, mixed = -2;
    std::vector<int> label_of(reach.size(), unknown);
    for (std::size_t r = 0; r < labels.size(); ++r) {
        int &own = label_of[std::size_t((*lines)[r])];
        own = own == unknown || own == labels[r] ? labels[r] : mixed;
    }
    for (std::size_t q = 0; q < reach.size(); ++q) {
        const double *line = table.data() + q * std::size_t(k);
        if (label_of[q] == mixed) {  // rows of several classes share it
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

Factor Factor::negated() const {
    Factor other;
    other.lines = lines;
    other.k = k;
    other.table.reserve(table.size());
    for (const double x : table) other.table.push_back(-x);
    other.reach.reserve(reach.size());
    for (const Reach &own : reach) other.reach.push_back({own.down, own.up});
    return other;
}

ChangeScore score_change(const AnsweredRows &rows, const std::vector<const Factor *> &factors, bool probabilities) {
    switch (rows.k) {
        case 2: return score_rows<2>(rows, factors, probabilities);
        case 3: return score_rows<3>(rows, factors, probabilities);
        case 4: return score_rows<4>(rows, factors, probabilities);
        default: return score_rows<0>(rows, factors, probabilities);
    }
}

std::vector<double> margins(const AnsweredRows &rows) {
    std::vector<double> margin;
    margin.reserve(std::size_t(rows.n_rows));
    for (std::int64_t r = 0; r < rows.n_rows; ++r) {
        const double *value = rows.joint + r * rows.k;
        const int own = rows.labels[std::size_t(r)];
        double others = -std::numeric_limits<double>::infinity();
        for (int c = 0; c < rows.k; ++c)
            if (c != own) others = std::max(others, value[c]);
        margin.push_back(value[own] - others);
    }
    return margin;
}

double count_wrong(const AnsweredRows &rows, const std::vector<double> &margin,
                   const std::vector<const Factor *> &factors) {
    constexpr double slack = 4 * kTie;  // rows closer to a tie are looked at
    std::vector<double> value(static_cast<std::size_t>(rows.k));
    double wrong = 0;
    const auto look = [&](std::int64_t r, double up, double down) {
        const double ahead = margin[std::size_t(r)];
        if (ahead - up > slack) return;
        if (!(ahead + down < -slack)) {
            changed(rows, r, factors, rows.k, value.data());
            const double best = *std::max_element(value.begin(), value.end());
            if (wins(value.data(), rows.k, best, rows.labels[std::size_t(r)], rows.preference)) return;
        }
        wrong += rows.weights[r];
    };
    if (factors.size() == 1) {
        const std::int32_t *line = factors[0]->lines->data();
        const Reach *reach = factors[0]->reach.data();
        for (std::int64_t r = 0; r < rows.n_rows; ++r) look(r, reach[line[r]].up, reach[line[r]].down);
        return wrong;
    }
    for (std::int64_t r = 0; r < rows.n_rows; ++r) {
        double up = 0, down = 0;
        for (const Factor *factor : factors) {
            const Reach &own = factor->reach[std::size_t((*factor->lines)[std::size_t(r)])];
            up += own.up;
            down += own.down;
        }
        look(r, up, down);
    }
    return wrong;
}

}  // namespace tanager
