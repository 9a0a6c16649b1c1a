// The short cut of a plan whose families have at most one attribute parent: the denominators N(x_j, y) + total are
// worked out once per row and parent, so that a family costs one read, one addition and one multiplication.
#include "plan.hpp"

namespace tanager::scoring {

namespace {

// What one row needs once: N(x_i, y), P(x_i | y), pseudo-counts of x_i as a child, and 1 / (N(x_i, y) + total) for
// every total that a child of x_i may have. The reciprocals of a missing parent are 0, so its terms vanish.
template <int Fixed, bool LeaveOut>
void prepare_row(const Plan &p, const int *slot, double left_out, Scratch &w) {
    const Store &s = p.store;
    const int k = Fixed ? Fixed : s.k, n = s.n, n_totals = int(p.totals.size());
    const double *sub = w.sub.data();
    w.here.clear();
    for (int i = 0; i < n; ++i) {
        w.cell[i] = (s.offsets[i] + slot[i]) * k;
        if (slot[i] == s.missing_slot(i)) {
            for (int u = 0; u < n_totals; ++u)
                std::fill_n(&w.reciprocal[(std::size_t(u) * n + i) * k], k, 0.0);
            continue;
        }
        w.here.push_back(i);
        const double *cells = s.singles + w.cell[i], *lost = s.singles + s.missing_cell(i);
        double *count = &w.count[i * k], *base = &w.base[i * k], *pseudo = &w.pseudo[i * k];
        const double total = p.totals[p.total_of[i]];
        double start = p.cells[i];
        if (p.estimate.kind == Smoothing::prior_counts)
            start = p.estimate.strength * marginal(s, p.estimate, i, slot, left_out);
        for (int c = 0; c < k; ++c) count[c] = LeaveOut ? at_least_zero(cells[c] - sub[c]) : cells[c];
        if (!p.sum_of_products || !p.estimate.constant()) {
            for (int c = 0; c < k; ++c) {
                const double den = at_least_zero(s.classes[c] - lost[c] - sub[c]) + total;
                base[c] = den > 0 ? (count[c] + start) / den : (s.n_values[i] ? 1.0 / s.n_values[i] : 1);
            }
        }
        for (int c = 0; c < k; ++c)
            pseudo[c] = p.estimate.kind == Smoothing::back_off ? p.estimate.strength * base[c] : start;
        for (int u = 0; u < n_totals; ++u) {
            double *reciprocal = &w.reciprocal[(std::size_t(u) * n + i) * k];
            for (int c = 0; c < k; ++c) reciprocal[c] = 1 / (count[c] + p.totals[u]);
        }
    }
}

// P(x_i | y, x_j) the careful way: x_i was missing at times, totals differ by parent, or there is nothing to divide by.
template <int Fixed>
inline void careful(const Plan &p, int i, int j, const Scratch &w, double *out) {
    const Store &s = p.store;
    const int k = Fixed ? Fixed : s.k;
    const double *row = s.pairs + w.cell[j] * s.width;
    const double *own = row + w.cell[i], *lost = row + s.missing_cell(i);
    const double factor = p.parent_factor[j], total = p.totals[p.total_of[i]] * factor;
    for (int c = 0; c < k; ++c) {
        const double den = at_least_zero(w.count[j * k + c] - lost[c]) + total;
        const double num = at_least_zero(own[c] - w.sub[c]) + w.pseudo[i * k + c] * factor;
        out[c] = den > 0 ? num / den : (s.n_values[i] ? 1.0 / s.n_values[i] : 1);
    }
}

template <int Fixed, bool LeaveOut>
void product(const Plan &p, const int *slot, Scratch &w) {
    const Store &s = p.store;
    const int k = Fixed ? Fixed : s.k, n = s.n;
    double fixed_sum[Fixed ? Fixed : 1], fixed_add[Fixed ? Fixed : 1];
    double *sum = Fixed ? fixed_sum : w.value.data(), *add = Fixed ? fixed_add : w.value.data() + k;
    int since = 0;
    for (int i : w.here) {
        const Group &g = p.groups[i];
        const double *base = &w.base[i * k], *pseudo = &w.pseudo[i * k];
        bool any = g.base_weight > 0;
        for (int c = 0; c < k; ++c) sum[c] = g.base_weight * base[c];
        if (p.shared_totals && !p.ever_missing[i] && !g.parents.empty()) {
            const double *row = s.pairs + w.cell[i] * s.width;
            const double *reciprocals = &w.reciprocal[std::size_t(p.total_of[i]) * n * k];
            for (int c = 0; c < k; ++c) add[c] = pseudo[c];
            const std::size_t n_parents = g.parents.size();
            const int *parents = g.parents.data();
            const double *weights = g.weights.data();
            for (std::size_t t = 0; t < n_parents; ++t) {
                const int j = parents[t];
                const double *own = row + w.cell[j], *reciprocal = reciprocals + std::size_t(j) * k;
                const double weight = weights[t];
                for (int c = 0; c < k; ++c) {
                    const double seen = LeaveOut ? at_least_zero(own[c] - w.sub[c]) : own[c];
                    sum[c] += weight * ((seen + add[c]) * reciprocal[c]);
                }
            }
            if (!any)
                for (int c = 0; c < k; ++c) any = any || sum[c] > 0;
        } else {
            for (std::size_t t = 0; t < g.parents.size(); ++t) {
                const int j = g.parents[t];
                if (slot[j] == s.missing_slot(j)) continue;
                any = true;
                careful<Fixed>(p, i, j, w, w.once.data());
                for (int c = 0; c < k; ++c) sum[c] += g.weights[t] * w.once[c];
            }
        }
        for (int c = 0; c < k; ++c) w.m[c] *= any ? sum[c] : base[c];
        if (++since % 4 == 0) steady(w.m.data(), w.e.data(), k);
    }
}

// Multiplies into value the factors P(x_i | y, parent) of the attributes here[begin..end).
template <int Fixed, bool LeaveOut>
inline void multiply_children(const Plan &p, int parent, int begin, int end, bool simple, Scratch &w, double *value,
                              double *power) {
    const Store &s = p.store;
    const int k = Fixed ? Fixed : s.k, n = s.n;
    const double *row = s.pairs + w.cell[parent] * s.width;
    for (int from = begin; from < end; from += p.stride) {
        const int to = std::min(end, from + p.stride);
        if (simple) {  // one total for all: its reciprocals stay in registers
            const std::int64_t *cell = w.here_cell.data();
            const double *pseudo = w.here_pseudo.data(), *reciprocal = &w.reciprocal[std::size_t(parent) * k];
            const double *sub = w.sub.data();
            double fixed[Fixed ? Fixed : 1];
            double *v = Fixed ? fixed : value;
            if (Fixed) for (int c = 0; c < k; ++c) v[c] = value[c];
            for (int q = from; q < to; ++q) {
                const double *own = row + cell[q];
                for (int c = 0; c < k; ++c) {
                    const double seen = LeaveOut ? at_least_zero(own[c] - sub[c]) : own[c];
                    v[c] *= (seen + pseudo[q * k + c]) * reciprocal[c];
                }
            }
            if (Fixed) for (int c = 0; c < k; ++c) value[c] = v[c];
        } else {
            for (int q = from; q < to; ++q) {
                const int i = w.here[q];
                if (!p.shared_totals || p.ever_missing[i]) {
                    careful<Fixed>(p, i, parent, w, w.once.data());
                    for (int c = 0; c < k; ++c) value[c] *= w.once[c];
                    continue;
                }
                const double *own = row + w.cell[i], *pseudo = &w.pseudo[i * k];
                const double *reciprocal = &w.reciprocal[(std::size_t(p.total_of[i]) * n + parent) * k];
                for (int c = 0; c < k; ++c) {
                    const double seen = LeaveOut ? at_least_zero(own[c] - w.sub[c]) : own[c];
                    value[c] *= (seen + pseudo[c]) * reciprocal[c];
                }
            }
        }
        // Also after a short group: another one may follow on the far side of the parent.
        if (to - from == p.stride || to < int(w.here.size())) steady(value, power, k);
    }
}

template <int Fixed, bool LeaveOut>
double sum(const Plan &p, const int *slot, double left_out, Scratch &w) {
    const Store &s = p.store;
    const int k = Fixed ? Fixed : s.k, n_here = int(w.here.size());
    double rows = -left_out, qualified = 0;
    bool simple = p.shared_totals && p.totals.size() == 1;
    for (int c = 0; c < k; ++c) rows += s.classes[c];
    for (int q = 0; q < n_here; ++q) {
        const int i = w.here[q];
        w.place[i] = q;
        w.here_cell[q] = w.cell[i];
        for (int c = 0; c < k; ++c) w.here_pseudo[q * k + c] = w.pseudo[i * k + c];
        simple = simple && !p.ever_missing[i];
    }
    double fixed_value[Fixed ? 2 * Fixed : 1];
    double *value = Fixed ? fixed_value : w.value.data(), *power = value + k;
    const bool plain = p.shared_totals && p.estimate.constant();
    for (const Member &member : p.members) {
        const int parent = member.attributes[0];
        if (plain) {
            if (slot[parent] == s.missing_slot(parent) || member.weight <= 0) continue;
            const double *count = &w.count[parent * k];
            double seen = 0, present = rows;
            for (int c = 0; c < k; ++c) seen += count[c];
            if (seen < p.min_count) continue;
            if (p.ever_missing[parent])
                for (int c = 0; c < k; ++c) present -= s.singles[s.missing_cell(parent) + c];
            const double scale = member.weight / (at_least_zero(present) + member.total);
            for (int c = 0; c < k; ++c) value[c] = (count[c] + member.cell) * scale;
        } else {
            if (!joint_value(p, member, slot, w.sub.data(), left_out, w.prior.data(), value)) continue;
            for (int c = 0; c < k; ++c) value[c] *= member.weight;
        }
        qualified += member.weight;
        for (int c = 0; c < k; ++c) power[c] = 0;
        multiply_children<Fixed, LeaveOut>(p, parent, 0, w.place[parent], simple, w, value, power);
        multiply_children<Fixed, LeaveOut>(p, parent, w.place[parent] + 1, n_here, simple, w, value, power);
        add_scaled(value, power, k, w.m.data(), w.e.data());
    }
    return qualified;
}

template <int Fixed, bool LeaveOut>
double score_row(const Plan &p, const int *slot, double left_out, Scratch &w) {
    prepare_row<Fixed, LeaveOut>(p, slot, left_out, w);
    if (p.sum_of_products) return sum<Fixed, LeaveOut>(p, slot, left_out, w);
    product<Fixed, LeaveOut>(p, slot, w);
    return 1;
}

template <int Fixed>
double score_row(const Plan &p, const int *slot, bool leave_out, double left_out, Scratch &w) {
    return leave_out ? score_row<Fixed, true>(p, slot, left_out, w) : score_row<Fixed, false>(p, slot, left_out, w);
}

}  // namespace

double score_pairwise(const Plan &p, const int *slot, bool leave_out, double left_out, Scratch &w) {
    switch (p.store.k) {
        case 2: return score_row<2>(p, slot, leave_out, left_out, w);
        case 3: return score_row<3>(p, slot, leave_out, left_out, w);
        case 4: return score_row<4>(p, slot, leave_out, left_out, w);
        default: return score_row<0>(p, slot, leave_out, left_out, w);
    }
}

}  // namespace tanager::scoring
