// The short cut of a plan whose families have at most one attribute parent: the denominators N(x_j, y) + total are
// worked out once per row and parent, so that a family costs one read, one addition and one multiplication.
#include "lanes.hpp"
#include "scoring_plan.hpp"

namespace tanager::scoring {

namespace {

// 1 / (N(x_i, y) + total) for every total that a child of x_i may have. Those of a missing parent are 0, so its terms
// vanish.
template <int Fixed>
void find_reciprocals(const ScoringPlan &p, const int *slot, Scratch &w) {
    const Store &s = p.store;
    const int k = Fixed ? Fixed : s.k;
    for (std::size_t u = 0; u < p.totals.size(); ++u) {
        const double total = p.estimate.unit * p.totals[u];
        for (int i = 0; i < s.n; ++i) {
            if (!p.is_parent[i]) continue;
            double *reciprocal = &w.reciprocal[(u * s.n + i) * k], *count = &w.count[i * k];
            if (slot[i] == s.missing_slot(i)) {
                std::fill_n(reciprocal, k, 0.0);
            } else if constexpr (Fixed > 0) {
                using L = Lanes<Fixed>;
                (L::all(1) / (L::load(count) + L::all(total))).store(reciprocal);
            } else {
                for (int c = 0; c < k; ++c) reciprocal[c] = 1 / (count[c] + total);
            }
        }
    }
}

// What one row needs once: N(x_i, y), P(x_i | y) and the pseudo-counts of x_i as a child.
template <int Fixed, bool LeaveOut>
void prepare_row(const ScoringPlan &p, const int *slot, double left_out, Scratch &w) {
    const Store &s = p.store;
    const int k = Fixed ? Fixed : s.k, n = s.n;
    const double *sub = w.sub.data();
    const double unit = p.estimate.unit, strength = unit * p.estimate.strength;
    w.here.clear();
    for (int i = 0; i < n; ++i) {
        if (!p.is_read[i]) continue;
        w.cell[i] = (s.offsets[i] + slot[i]) * k;
        if (slot[i] == s.missing_slot(i)) continue;
        w.here.push_back(i);
        const double *cells = s.singles + w.cell[i];
        double *count = &w.count[i * k], *base = &w.base[i * k], *pseudo = &w.pseudo[i * k];
        const bool back_off = p.estimate.kind == Smoothing::back_off;
        const double total = unit * (back_off ? p.estimate.first : p.totals[p.total_of[i]]);
        double start = unit * p.cells[i];
        if (p.estimate.kind == Smoothing::prior_counts) start = strength * marginal(s, p.estimate, i, slot, left_out);
        const bool needs_base = !p.sum_of_products || !p.estimate.constant();
        const bool careful_base = p.ever_missing[i] || !p.shared_totals;
        if constexpr (Fixed > 0) {
            using L = Lanes<Fixed>;
            L seen = L::load(cells);
            if (LeaveOut) seen = (seen - L::load(sub)).at_least_zero();
            seen.store(count);
            if (needs_base && !careful_base) {
                L rows = L::load(s.classes);
                if (LeaveOut) rows = (rows - L::load(sub)).at_least_zero();
                ((seen + L::all(start)) / (rows + L::all(total))).store(base);
            }
        } else {
            for (int c = 0; c < k; ++c) count[c] = LeaveOut ? at_least_zero(cells[c] - sub[c]) : cells[c];
        }
        if (needs_base && (careful_base || !Fixed)) {
            const double *lost = s.singles + s.missing_cell(i);
            for (int c = 0; c < k; ++c) {
                const double den = at_least_zero(s.classes[c] - lost[c] - sub[c]) + total;
                base[c] = den > 0 ? (count[c] + start) / den : (s.n_values[i] ? 1.0 / s.n_values[i] : 1);
            }
        }
        for (int c = 0; c < k; ++c) pseudo[c] = back_off ? strength * base[c] : start;
    }
}

// The careful way, with what was prepared.
template <int Fixed>
inline void careful(const ScoringPlan &p, int i, int j, const Scratch &w, double *out) {
    const int k = Fixed ? Fixed : p.store.k;
    const double *row = p.store.pairs + w.cell[j] * p.store.width;
    careful<Fixed>(p, i, j, row + w.cell[i], row + p.store.missing_cell(i), &w.count[j * k], &w.pseudo[i * k],
                   w.sub.data(), out);
}

// Adds w P(x_i | y, x_j) over the parents x_j of a group, the classes in registers. Nothing is asked about missing
// parents: their reciprocals are 0. Inlined by force, as it is the inner loop of every row.
template <int Fixed, bool LeaveOut>
[[gnu::always_inline]] inline void add_parents_in_lanes(const ScoringPlan &p, const Group &g, const Scratch &w,
                                                        double *sum) {
    using L = Lanes<Fixed>;
    const Store &s = p.store;
    // N(x_i, x_j, y) is read from the lower triangle: our own row for parents before us, theirs for the others. Streams
    // keep no other.
    const std::int64_t *cell = w.cell.data();
    const double *row = s.pairs + cell[g.child] * s.width, *column = s.pairs + cell[g.child];
    const double *reciprocals = &w.reciprocal[std::size_t(p.total_of[g.child]) * s.n * Fixed];
    const int n_parents = int(g.parents.size()), *parents = g.parents.data();
    const L pseudo = L::load(&w.pseudo[g.child * Fixed]), minus = L::load(w.sub.data());
    const auto estimate = [&](int j, const double *own) {
        L seen = L::load(own);
        if (LeaveOut) seen = (seen - minus).at_least_zero();
        return (seen + pseudo) * L::load(reciprocals + std::size_t(j) * Fixed);
    };
    const bool uniform = g.uniform;
    const double *weights = g.weights.data();
    const auto weighted = [&](int t, const double *own) {
        const L value = estimate(parents[t], own);
        return uniform ? value : value * L::all(weights[t]);
    };
    // Four sums side by side: an addition takes longer than it takes to start the next.
    L total[4] = {L::load(sum), L::all(0), L::all(0), L::all(0)};
    int t = 0;
    if (uniform && g.in_order)  // the t-th parent is column t, of weight 1: neither list is read
        for (; t + 4 <= g.n_before; t += 4)
            for (int u = 0; u < 4; ++u) total[u] = total[u] + estimate(t + u, row + cell[t + u]);
    for (; t + 4 <= g.n_before; t += 4)
        for (int u = 0; u < 4; ++u) total[u] = total[u] + weighted(t + u, row + cell[parents[t + u]]);
    for (; t < g.n_before; ++t) total[t & 3] = total[t & 3] + weighted(t, row + cell[parents[t]]);
    for (; t < n_parents; ++t) total[t & 3] = total[t & 3] + weighted(t, column + cell[parents[t]] * s.width);
    ((total[0] + total[1]) + (total[2] + total[3])).store(sum);
}

// The same for one parent, as in a single network: nothing to add up. A function of its own, not inlined: as a branch
// of the loops above it made voted collections 7 % slower.
template <int Fixed, bool LeaveOut>
[[gnu::noinline]] void add_only_parent(const ScoringPlan &p, const Group &g, const Scratch &w, double *sum) {
    using L = Lanes<Fixed>;
    const Store &s = p.store;
    const int i = g.child, j = g.parents[0];
    const std::int64_t *cell = w.cell.data();
    L seen = L::load(s.pairs + (g.n_before ? cell[i] * s.width + cell[j] : cell[j] * s.width + cell[i]));
    if (LeaveOut) seen = (seen - L::load(w.sub.data())).at_least_zero();
    const double *reciprocal = &w.reciprocal[(std::size_t(p.total_of[i]) * s.n + j) * Fixed];
    const L value = (seen + L::load(&w.pseudo[i * Fixed])) * L::load(reciprocal);
    (L::load(sum) + (g.uniform ? value : value * L::all(g.weights[0]))).store(sum);
}

// The same for any number of classes.
template <bool LeaveOut>
inline void add_parents(const ScoringPlan &p, const Group &g, const Scratch &w, double *sum) {
    const Store &s = p.store;
    const int k = s.k;
    const double *row = s.pairs + w.cell[g.child] * s.width, *column = s.pairs + w.cell[g.child];
    const double *reciprocals = &w.reciprocal[std::size_t(p.total_of[g.child]) * s.n * k];
    const double *pseudo = &w.pseudo[g.child * k];
    for (int t = 0; t < int(g.parents.size()); ++t) {
        const int j = g.parents[t];
        const double *own = t < g.n_before ? row + w.cell[j] : column + w.cell[j] * s.width;
        const double *reciprocal = reciprocals + std::size_t(j) * k;
        for (int c = 0; c < k; ++c) {
            const double seen = LeaveOut ? at_least_zero(own[c] - w.sub[c]) : own[c];
            sum[c] += g.weights[t] * ((seen + pseudo[c]) * reciprocal[c]);
        }
    }
}

// The same the careful way; says whether any parent is present.
template <int Fixed>
inline bool add_parents_carefully(const ScoringPlan &p, const Group &g, const int *slot, Scratch &w, double *sum) {
    const int k = Fixed ? Fixed : p.store.k;
    bool any = false;
    for (std::size_t t = 0; t < g.parents.size(); ++t) {
        const int j = g.parents[t];
        if (slot[j] == p.store.missing_slot(j)) continue;
        any = true;
        careful<Fixed>(p, g.child, j, w, w.once.data());
        for (int c = 0; c < k; ++c) sum[c] += g.weights[t] * w.once[c];
    }
    return any;
}

// A product of sums: for each attribute present, the weighted sum over its parents.
template <int Fixed, bool LeaveOut>
void product(const ScoringPlan &p, const int *slot, Scratch &w) {
    const Store &s = p.store;
    const int k = Fixed ? Fixed : s.k;
    double fixed_sum[Fixed ? Fixed : 1];
    double *sum = Fixed ? fixed_sum : w.value.data();
    int since = 0;
    for (const Group &g : p.groups) {
        const int i = g.child;
        if (slot[i] == s.missing_slot(i)) continue;
        const double *base = &w.base[i * k];
        bool any = g.base_weight > 0;  // whether the sum has terms; without any, P(x_i | y) stands in for it
        for (int c = 0; c < k; ++c) sum[c] = g.base_weight * base[c];
        if (p.shared_totals && !p.ever_missing[i] && !g.parents.empty()) {
            if constexpr (Fixed == 0) add_parents<LeaveOut>(p, g, w, sum);
            else if (g.parents.size() == 1) add_only_parent<Fixed, LeaveOut>(p, g, w, sum);
            else add_parents_in_lanes<Fixed, LeaveOut>(p, g, w, sum);
            // Pseudo-counts are positive here: a sum of zeros has no parent that is present.
            if (!any)
                for (int c = 0; c < k; ++c) any = any || sum[c] > 0;
        } else {
            any = add_parents_carefully<Fixed>(p, g, slot, w, sum) || any;
        }
        for (int c = 0; c < k; ++c) w.m[c] *= any ? sum[c] : base[c];
        if (++since % 4 == 0) steady(w.m.data(), w.e.data(), k);  // before it leaves the range of a double
    }
}

// Multiplies into value the factors P(x_i | y, parent) of all attributes present, the parent left out.
template <int Fixed, bool LeaveOut>
inline void multiply_children(const ScoringPlan &p, int parent, Scratch &w, double *value, double *power) {
    const Store &s = p.store;
    const int k = Fixed ? Fixed : s.k, n = s.n;
    const double *row = s.pairs + w.cell[parent] * s.width, *column = s.pairs + w.cell[parent];
    int since = 0;
    for (int i : w.here) {
        if (i == parent) continue;
        if (!p.shared_totals || p.ever_missing[i]) {
            careful<Fixed>(p, i, parent, w, w.once.data());
            for (int c = 0; c < k; ++c) value[c] *= w.once[c];
        } else {
            const double *own = i < parent ? row + w.cell[i] : column + w.cell[i] * s.width;
            const double *pseudo = &w.pseudo[i * k];
            const double *reciprocal = &w.reciprocal[(std::size_t(p.total_of[i]) * n + parent) * k];
            for (int c = 0; c < k; ++c) {
                const double seen = LeaveOut ? at_least_zero(own[c] - w.sub[c]) : own[c];
                value[c] *= (seen + pseudo[c]) * reciprocal[c];
            }
        }
        if (++since % 4 == 0) steady(value, power, k);
    }
}

// For every attribute present the product of its denominators N(x_i, y) + total over all others, times `shrink` each,
// into out, in their order. Others with the same total are one power.
template <int Fixed>
void denominators(const ScoringPlan &p, double shrink, const Scratch &w, double *out) {
    using L = Lanes<Fixed>;
    const int n_totals = int(p.totals.size());
    const double unit = p.estimate.unit;
    for (std::size_t q = 0; q < w.here.size(); ++q) {
        const int i = w.here[q];
        const L count = L::load(&w.count[i * Fixed]);
        L product = L::all(1);
        for (int u = 0; u < n_totals; ++u) {
            L square = (count + L::all(unit * p.totals[u])) * L::all(shrink);
            for (int left = w.n_with_total[u] - (p.total_of[i] == u); left > 0; left >>= 1) {
                if (left & 1) product = product * square;
                if (left > 1) square = square * square;
            }
        }
        product.store(out + q * Fixed);
    }
}

// For every attribute present the product over all others of N(x_i, x_j, y) + pseudo-count, times `shrink` each, into
// out, in their order. Each cell is read once, from the lower triangle, and serves both of its attributes.
template <int Fixed, bool LeaveOut, bool Shrunk>
void numerators(const ScoringPlan &p, double shrink, const Scratch &w, double *out) {
    using L = Lanes<Fixed>;
    constexpr int block = Fixed == 2 ? 4 : 2;  // attributes side by side: as many as the registers hold
    const std::int64_t *cell = w.here_cell.data(), width = p.store.width;
    const int n_here = int(w.here.size());
    const L minus = L::load(w.sub.data()), pseudo = L::all(p.estimate.unit * p.cells[0]), less = L::all(shrink);
    const auto factor = [&](const double *cells) {
        L seen = L::load(cells);
        if (LeaveOut) seen = (seen - minus).at_least_zero();
        return Shrunk ? (seen + pseudo) * less : seen + pseudo;
    };
    const auto multiply = [&](int q, L by) { (L::load(out + q * Fixed) * by).store(out + q * Fixed); };
    int i = 0;
    for (; i + block <= n_here; i += block) {
        const double *row[block];
        L own[block];
        for (int u = 0; u < block; ++u) {
            row[u] = p.store.pairs + cell[i + u] * width;
            own[u] = L::all(1);
        }
        for (int j = 0; j < i; ++j) {
            L f[block];
            for (int u = 0; u < block; ++u) {
                f[u] = factor(row[u] + cell[j]);
                own[u] = own[u] * f[u];
            }
            if constexpr (block == 4) multiply(j, (f[0] * f[1]) * (f[2] * f[3]));
            else multiply(j, f[0] * f[1]);
        }
        for (int u = 1; u < block; ++u)
            for (int v = 0; v < u; ++v) {
                const L f = factor(row[u] + cell[i + v]);
                own[u] = own[u] * f;
                own[v] = own[v] * f;
            }
        for (int u = 0; u < block; ++u) own[u].store(out + (i + u) * Fixed);
    }
    for (; i < n_here; ++i) {
        const double *row = p.store.pairs + cell[i] * width;
        L own = L::all(1);
        for (int j = 0; j < i; ++j) {
            const L f = factor(row + cell[j]);
            own = own * f;
            multiply(j, f);
        }
        own.store(out + i * Fixed);
    }
}

// The common sum: all children have the same pseudo-count, nothing was ever missing, and no product can leave the
// range. So a member is the product of its numerators N + pseudo over that of its denominators. `shrink` is a power of
// two that brings both back to where true counts are, or 1. Calls take(member, its joint times its weight) and returns
// the weight of all that are eligible.
template <int Fixed, bool LeaveOut, class Take>
double simple_members(const ScoringPlan &p, const int *slot, double rows, double shrink, Scratch &w, const Take &take) {
    using L = Lanes<Fixed>;
    const Store &s = p.store;
    const double unit = p.estimate.unit, least = p.least_seen();
    // Pseudo-counts are all alike here, so their place serves for the denominators, and that of the estimates without a
    // parent for the numerators.
    denominators<Fixed>(p, shrink, w, w.pseudo.data());
    if (shrink == 1) numerators<Fixed, LeaveOut, false>(p, shrink, w, w.base.data());
    else numerators<Fixed, LeaveOut, true>(p, shrink, w, w.base.data());
    double qualified = 0, last_total = -1, last_scale = 0;
    for (std::size_t q = 0; q < p.members.size(); ++q) {
        const Member &member = p.members[q];
        const int parent = member.attributes[0];
        if (slot[parent] == s.missing_slot(parent) || member.weight <= 0) continue;
        const double *count = &w.count[parent * Fixed];
        double seen = 0;
        for (int c = 0; c < Fixed; ++c) seen += count[c];
        if (seen < least) continue;
        qualified += member.weight;
        if (member.total != last_total) {
            last_total = member.total;
            last_scale = 1 / (at_least_zero(rows) + unit * member.total);
        }
        const L joint = (L::load(count) + L::all(unit * member.cell)) * L::all(last_scale * member.weight);
        const std::size_t at = std::size_t(w.place[parent]) * Fixed;
        const L children = L::load(&w.base[at]) / L::load(&w.pseudo[at]);
        take(q, joint * children);
    }
    return qualified;
}

// The weight of all rows less the one that is left out.
double all_rows(const Store &s, double left_out) {
    double rows = -left_out;
    for (int c = 0; c < s.k; ++c) rows += s.classes[c];
    return rows;
}

// What simple_members is to shrink by, or 0 where that cannot be done; places are noted for it.
template <int Fixed>
double simple_shrink(const ScoringPlan &p, double rows, Scratch &w) {
    const int n_here = int(w.here.size());
    const double unit = p.estimate.unit;
    bool simple = p.shared_totals && 2 * int(p.members.size()) > n_here && p.estimate.constant() && p.same_cells;
    std::fill(w.n_with_total.begin(), w.n_with_total.end(), 0);
    for (int q = 0; q < n_here && simple; ++q) {
        const int i = w.here[q];
        w.here_cell[q] = w.cell[i];
        w.place[i] = q;
        ++w.n_with_total[p.total_of[i]];
        simple = !p.ever_missing[i];
    }
    if (!simple) return 0;
    // Numerators lie between the pseudo-count and all rows with it, denominators likewise.
    const auto fits = [&](double shrink) {
        const double most = std::max((rows + unit * p.most_total) * shrink, 1.0);
        const double least = std::min(unit * p.cells[0] * shrink, 1.0);
        return n_here * (std::ilogb(most) - std::ilogb(least) + 2) < 900;
    };
    if (fits(1)) return 1;
    const double shrink = std::ldexp(1, -std::ilogb(unit));
    return fits(shrink) ? shrink : 0;
}

template <int Fixed, bool LeaveOut>
double sum(const ScoringPlan &p, const int *slot, double left_out, Scratch &w) {
    const Store &s = p.store;
    const int k = Fixed ? Fixed : s.k;
    const double unit = p.estimate.unit, rows = all_rows(s, left_out);
    double qualified = 0;
    if constexpr (Fixed > 0) {
        using L = Lanes<Fixed>;
        if (const double shrink = simple_shrink<Fixed>(p, rows, w)) {
            L answer = L::all(0);
            const auto add = [&](std::size_t, L value) { answer = answer + value; };
            qualified = simple_members<Fixed, LeaveOut>(p, slot, rows, shrink, w, add);
            answer.store(w.m.data());
            return qualified;
        }
    }
    find_reciprocals<Fixed>(p, slot, w);
    const bool plain = p.shared_totals && p.estimate.constant();
    double fixed_value[Fixed ? 2 * Fixed : 1];
    double *value = Fixed ? fixed_value : w.value.data(), *power = value + k;
    for (const Member &member : p.members) {
        const int parent = member.attributes[0];
        if (plain) {
            if (slot[parent] == s.missing_slot(parent) || member.weight <= 0) continue;
            const double *count = &w.count[parent * k];
            double seen = 0, present = rows;
            for (int c = 0; c < k; ++c) seen += count[c];
            if (seen < p.least_seen()) continue;
            if (p.ever_missing[parent])
                for (int c = 0; c < k; ++c) present -= s.singles[s.missing_cell(parent) + c];
            const double scale = member.weight / (at_least_zero(present) + unit * member.total);
            for (int c = 0; c < k; ++c) value[c] = (count[c] + unit * member.cell) * scale;
        } else {
            if (!joint_value(p, member, slot, w.sub.data(), left_out, w.prior.data(), value)) continue;
            for (int c = 0; c < k; ++c) value[c] *= member.weight;
        }
        qualified += member.weight;
        for (int c = 0; c < k; ++c) power[c] = 0;
        multiply_children<Fixed, LeaveOut>(p, parent, w, value, power);
        add_scaled(value, power, k, w.m.data(), w.e.data());
    }
    return qualified;
}

template <int Fixed, bool LeaveOut>
double score_row(const ScoringPlan &p, const int *slot, double left_out, Scratch &w) {
    prepare_row<Fixed, LeaveOut>(p, slot, left_out, w);
    if (p.sum_of_products) return sum<Fixed, LeaveOut>(p, slot, left_out, w);
    find_reciprocals<Fixed>(p, slot, w);
    product<Fixed, LeaveOut>(p, slot, w);
    return 1;
}

template <int Fixed>
double score_row(const ScoringPlan &p, const int *slot, bool leave_out, double left_out, Scratch &w) {
    return leave_out ? score_row<Fixed, true>(p, slot, left_out, w) : score_row<Fixed, false>(p, slot, left_out, w);
}

template <int Fixed, bool LeaveOut>
bool members_of_row(const ScoringPlan &p, const int *slot, double left_out, Scratch &w, double *values) {
    const double rows = all_rows(p.store, left_out);
    prepare_row<Fixed, LeaveOut>(p, slot, left_out, w);
    const double shrink = simple_shrink<Fixed>(p, rows, w);
    if (shrink == 0) return false;
    std::fill_n(values, p.members.size() * Fixed, std::numeric_limits<double>::quiet_NaN());
    const auto keep = [&](std::size_t q, Lanes<Fixed> value) { value.store(values + q * Fixed); };
    simple_members<Fixed, LeaveOut>(p, slot, rows, shrink, w, keep);
    return true;
}

template <int Fixed>
bool members_of_row(const ScoringPlan &p, const int *slot, bool leave_out, double left_out, Scratch &w,
                    double *values) {
    return leave_out ? members_of_row<Fixed, true>(p, slot, left_out, w, values)
                     : members_of_row<Fixed, false>(p, slot, left_out, w, values);
}

}  // namespace

bool pairwise_members(const ScoringPlan &p, const int *slot, bool leave_out, double left_out, Scratch &w,
                      double *values) {
    switch (p.store.k) {
        case 2: return members_of_row<2>(p, slot, leave_out, left_out, w, values);
        case 3: return members_of_row<3>(p, slot, leave_out, left_out, w, values);
        case 4: return members_of_row<4>(p, slot, leave_out, left_out, w, values);
        default: return false;
    }
}

double score_pairwise(const ScoringPlan &p, const int *slot, bool leave_out, double left_out, Scratch &w) {
    switch (p.store.k) {
        case 2: return score_row<2>(p, slot, leave_out, left_out, w);
        case 3: return score_row<3>(p, slot, leave_out, left_out, w);
        case 4: return score_row<4>(p, slot, leave_out, left_out, w);
        default: return score_row<0>(p, slot, leave_out, left_out, w);
    }
}

}  // namespace tanager::scoring
