#include "changes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

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

template <int Fixed>
ChangeScore score_rows(const AnsweredRows &rows, const std::vector<Factor> &factors, bool probabilities) {
    const int k = Fixed ? Fixed : rows.k;
    ChangeScore score;
    std::vector<double> many(Fixed ? 0 : static_cast<std::size_t>(k));
    double few[Fixed ? Fixed : 1];
    double *value = Fixed ? few : many.data();
    for (std::int64_t r = 0; r < rows.n_rows; ++r) {
        const double *joint = rows.joint + r * k;
        for (int c = 0; c < k; ++c) value[c] = joint[c];
        for (const Factor &factor : factors) {
            const double *line = factor.table + std::int64_t(factor.line[r]) * k;
            for (int c = 0; c < k; ++c) value[c] += line[c];
        }
        double best = value[0];
        for (int c = 1; c < k; ++c) best = std::max(best, value[c]);
        const int label = rows.labels[std::size_t(r)];
        const double weight = rows.weights[r];
        if (!wins(value, k, best, label, rows.preference)) score.wrong += weight;
        if (!probabilities) continue;
        double sum = 0;
        for (int c = 0; c < k; ++c) sum += std::exp(value[c] - best);
        const double own = value[label] - best;
        score.probability += weight * std::exp(own) / sum;
        score.log_probability += weight * (own - std::log(sum));
    }
    return score;
}

// Of two classes only the difference of their logs matters, and the winner is found without a branch.
double wrong_of_two(const AnsweredRows &rows, const std::vector<Factor> &factors) {
    const double least = rows.preference.front() == 1 ? -kTie : kTie;  // from here on the second class wins
    const Factor *factor = factors.data();
    const std::size_t n_factors = factors.size();
    double wrong = 0;
    for (std::int64_t r = 0; r < rows.n_rows; ++r) {
        double ahead = rows.joint[2 * r + 1] - rows.joint[2 * r];
        for (std::size_t f = 0; f < n_factors; ++f) {
            const double *line = factor[f].table + 2 * std::int64_t(factor[f].line[r]);
            ahead += line[1] - line[0];
        }
        wrong += rows.weights[r] * double(int(ahead > least) != rows.labels[std::size_t(r)]);
    }
    return wrong;
}

}  // namespace

ChangeScore score_change(const AnsweredRows &rows, const std::vector<Factor> &factors, bool probabilities) {
    if (rows.k == 2 && !probabilities) return {wrong_of_two(rows, factors), 0, 0};
    switch (rows.k) {
        case 2: return score_rows<2>(rows, factors, probabilities);
        case 3: return score_rows<3>(rows, factors, probabilities);
        case 4: return score_rows<4>(rows, factors, probabilities);
        default: return score_rows<0>(rows, factors, probabilities);
    }
}

RowsByLead::RowsByLead(const AnsweredRows &rows) {
    const int k = rows.k;
    const std::size_t n = std::size_t(rows.n_rows);
    std::vector<double> ahead(n);
    std::vector<char> fails(n);
    for (std::size_t r = 0; r < n; ++r) {
        const double *value = rows.joint + std::int64_t(r) * k;
        double best = value[0], next = -std::numeric_limits<double>::infinity();
        for (int c = 1; c < k; ++c) {
            next = std::max(next, std::min(best, value[c]));
            best = std::max(best, value[c]);
        }
        ahead[r] = best - next;
        fails[r] = !wins(value, k, best, rows.labels[r], rows.preference);
    }
    row.resize(n);
    std::iota(row.begin(), row.end(), 0);
    std::sort(row.begin(), row.end(), [&](int a, int b) { return ahead[std::size_t(a)] < ahead[std::size_t(b)]; });
    lead.resize(n);
    wrong.assign(n + 1, 0.0);
    for (std::size_t at = n; at-- > 0;) {
        lead[at] = ahead[std::size_t(row[at])];
        wrong[at] = wrong[at + 1] + fails[std::size_t(row[at])];
    }
}

double count_wrong(const AnsweredRows &rows, const RowsByLead &by_lead, const std::vector<Factor> &factors) {
    double spread = 4 * kTie;
    for (const Factor &factor : factors) spread += factor.spread;
    const auto end = std::upper_bound(by_lead.lead.begin(), by_lead.lead.end(), spread) - by_lead.lead.begin();
    if (2 * end > rows.n_rows) return score_change(rows, factors, false).wrong;  // one row after the other is quicker
    const int k = rows.k;
    std::vector<double> value(static_cast<std::size_t>(k));
    double wrong = by_lead.wrong[std::size_t(end)];
    for (std::ptrdiff_t at = 0; at < end; ++at) {
        const std::int64_t r = by_lead.row[std::size_t(at)];
        const double *joint = rows.joint + r * k;
        for (int c = 0; c < k; ++c) value[std::size_t(c)] = joint[c];
        for (const Factor &factor : factors) {
            const double *line = factor.table + std::int64_t(factor.line[r]) * k;
            for (int c = 0; c < k; ++c) value[std::size_t(c)] += line[c];
        }
        const double best = *std::max_element(value.begin(), value.end());
        wrong += !wins(value.data(), k, best, rows.labels[std::size_t(r)], rows.preference);
    }
    return wrong;
}

}  // namespace tanager
