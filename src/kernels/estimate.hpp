// From counts to probabilities: one family of counts, one smoothing rule, one row (or the row left out).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>

#include "place.hpp"

namespace tanager::scoring {

enum class Smoothing { lidstone, m_estimate, bdeu, prior_counts, back_off };

// `strength` is alpha, M, ess or N0; `first` is M where back-off has no attribute parents. Where back-off is `learned`,
// every term has strengths of its own, and these two are those of the class and of what was not learned; `prior` is how
// firmly the learned ones are held to `strength`, see back_off.hpp. Decayed stores hold true counts times `unit`;
// whoever adds a pseudo-count to one of their cells multiplies it by `unit` first.
struct Estimate {
    Smoothing kind = Smoothing::lidstone;
    double strength = 1, unit = 1, first = 1;
    bool learned = false;
    double prior = 0;
    bool constant() const { return kind != Smoothing::prior_counts && kind != Smoothing::back_off; }
    // Pseudo-count of one of r outcomes in one of q contexts (constant kinds; the uniform start of the others).
    double cell(double r, double q) const {
        if (kind == Smoothing::lidstone) return strength;
        if (kind == Smoothing::bdeu) return r > 0 ? strength / (r * q) : 0;
        return r > 0 ? (kind == Smoothing::back_off ? first : strength) / r : 0;
    }
};

// A family: child, parents in order of importance, where its counts and those of its parents live.
struct Term {
    int child = 0;
    std::vector<int> parents;
    double weight = 1;
    Place counts, context;          // context: N(parents, y); not used beyond two parents
    double cell = 0, total = 0;     // pseudo-counts of constant kinds, before the unit
    int prefix = -1;                // the same child without its last parent
    bool free = false;              // P(x_child | parents), the class summed out
    std::vector<double> strengths;  // of a learned back-off: with the first 0, 1, ... parents
};

inline double at_least_zero(double x) { return x > 0 ? x : 0; }

// N(x_i, any class), less the weight of the row that is left out.
inline double frequency(const Store &s, int i, int slot, double left_out) {
    double sum = 0;
    const double *cells = s.singles + (s.offsets[i] + slot) * s.k;
    for (int c = 0; c < s.k; ++c) sum += cells[c];
    return at_least_zero(sum - left_out);
}

// The marginal p0(x_i = slot): raw, or by Laplace's rule where a value never occurs.
inline double marginal(const Store &s, const Estimate &e, int i, const int *slot, double left_out) {
    double total = 0, own = 0;
    bool all = slot[i] < s.n_values[i];
    for (int v = 0; v < s.n_values[i]; ++v) {
        const double f = frequency(s, i, v, v == slot[i] ? left_out : 0);
        total += f;
        if (f <= 0) all = false;
        if (v == slot[i]) own = f;
    }
    if (all) return own / total;
    return s.n_values[i] ? (own + e.unit) / (total + s.n_values[i] * e.unit) : 1;
}

// P(y) for all classes. `sub` holds, per class, the weight of the row that is left out, or is null.
inline void class_prior(const Store &s, const Estimate &e, const double *sub, double *out) {
    double total = 0;
    bool all = true;
    for (int c = 0; c < s.k; ++c) {
        out[c] = at_least_zero(s.classes[c] - (sub ? sub[c] : 0));
        total += out[c];
        all = all && out[c] > 0;
    }
    double cell = e.unit * e.cell(s.k, 1);
    if (e.kind == Smoothing::prior_counts) cell = all ? 0 : e.unit;
    for (int c = 0; c < s.k; ++c) out[c] = total + cell * s.k > 0 ? (out[c] + cell) / (total + cell * s.k) : 1.0 / s.k;
}

// Computes P(x_child | y, parents) into out for every class; false where the child or a parent is missing. `absent`
// says which attributes were missing when the row that is left out was counted, though they have a value now.
// `strengths` are those of the longer term that backs off to this one.
inline bool term_value(const Store &s, const Estimate &e, const std::vector<Term> &terms, const Term &t,
                       const int *slot, const double *sub, double left_out, double *out, const char *absent = nullptr,
                       const double *strengths = nullptr) {
    const int i = t.child, k = s.k;
    if (slot[i] == s.missing_slot(i)) return false;
    bool counted = sub && !(absent && absent[i]);  // whether the row that is left out is in this family
    const double own_left_out = absent && absent[i] ? 0 : left_out;
    for (int p : t.parents) {
        if (slot[p] == s.missing_slot(p)) return false;
        if (absent && absent[p]) counted = false;
    }
    const double *cells = t.counts.context([&](std::size_t q) { return slot[t.parents[q]]; });
    const double *own = cells + slot[i] * t.counts.child_stride;
    const double *lost = cells + s.missing_slot(i) * t.counts.child_stride;
    const double *context = nullptr;
    if (t.parents.empty()) context = s.classes;
    else if (t.context.cells) {
        std::int64_t at = t.context.base + slot[t.parents.back()] * t.context.child_stride;
        for (std::size_t q = 0; q + 1 < t.parents.size(); ++q) at += slot[t.parents[q]] * t.context.strides[q];
        context = t.context.cells + at;
    }
    if (!strengths && !t.strengths.empty()) strengths = t.strengths.data();
    const double strength = e.unit * (strengths ? strengths[t.parents.size()] : e.strength);
    double pseudo = e.unit * t.cell, total = e.unit * t.total;
    bool own_prior = false;
    if (e.kind == Smoothing::prior_counts) {
        pseudo = strength * marginal(s, e, i, slot, own_left_out);
        total = strength;
    } else if (e.kind == Smoothing::back_off) {
        total = t.parents.empty() && !strengths ? e.unit * e.first : strength;
        pseudo = s.n_values[i] ? total / s.n_values[i] : 0;
        own_prior =
            t.prefix >= 0 && term_value(s, e, terms, terms[t.prefix], slot, sub, left_out, out, absent, strengths);
    }
    const auto seen = [&](int c) {  // N(parents, y) over the rows with the child present
        if (context) return context[c] - lost[c];
        double sum = 0;
        for (int v = 0; v < s.n_values[i]; ++v) sum += cells[v * t.counts.child_stride + c];
        return sum;
    };
    const auto ratio = [&](double num, double den, double minus, double shorter) {
        den = at_least_zero(den - minus) + total;
        num = at_least_zero(num - minus) + (own_prior ? strength * shorter : pseudo);
        return den > 0 ? num / den : (s.n_values[i] ? 1.0 / s.n_values[i] : 1);
    };
    if (t.free) {
        double num = 0, den = 0;
        for (int c = 0; c < k; ++c) {
            num += own[c];
            den += seen(c);
        }
        std::fill_n(out, k, ratio(num, den, counted ? left_out : 0, out[0]));
        return true;
    }
    for (int c = 0; c < k; ++c) out[c] = ratio(own[c], seen(c), counted ? sub[c] : 0, out[c]);
    return true;
}

// A vector of positive numbers as mantissas and powers of two, so that products of any length neither under- nor
// overflow. `steady` is called after every few factors.
inline void steady(double *m, double *e, int k) {
    for (int c = 0; c < k; ++c) {
        if (m[c] == 0 || (m[c] > 0x1p-300 && m[c] < 0x1p300)) continue;
        int power;
        m[c] = std::frexp(m[c], &power);
        e[c] += power;
    }
}

}  // namespace tanager::scoring
