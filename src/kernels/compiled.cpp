#include "compiled.hpp"

#include <numeric>

#include "interrupt.hpp"

namespace tanager::scoring {

namespace {

int stride_for(int k) { return k <= 2 ? 2 : k <= 4 ? 4 : (k + 7) / 8 * 8; }

int slots_of(const ScoringPlan &p, int i) { return p.slots.limit[i] + 1; }

// The slot of the store behind a compiled slot: the last one is missing.
int stored(const ScoringPlan &p, int i, int v) { return v < p.slots.limit[i] ? v : p.slots.missing[i]; }

// Calls visit(configuration number) for every combination of slots of the attributes, set in `slot`.
template <class Visit>
void for_each_configuration(const ScoringPlan &p, const std::vector<int> &attributes, std::vector<int> &slot,
                            Visit visit) {
    std::vector<int> at(attributes.size(), 0);
    for (std::int64_t number = 0;; ++number) {
        for (std::size_t q = 0; q < at.size(); ++q) slot[attributes[q]] = stored(p, attributes[q], at[q]);
        check_interrupt(number);
        visit(number);
        int q = int(at.size()) - 1;
        while (q >= 0 && ++at[q] == slots_of(p, attributes[q])) at[q--] = 0;
        if (q < 0) return;
    }
}

std::vector<std::int64_t> strides_of(const ScoringPlan &p, const std::vector<int> &attributes, std::int64_t inner) {
    std::vector<std::int64_t> strides(attributes.size());
    for (int q = int(attributes.size()) - 1; q >= 0; --q) {
        strides[q] = inner;
        inner *= slots_of(p, attributes[q]);
    }
    return strides;
}

double configurations(const ScoringPlan &p, const std::vector<int> &attributes) {
    double size = 1;
    for (int i : attributes) size *= slots_of(p, i);
    return size;
}

}  // namespace

double Compiled::n_cells(const ScoringPlan &p, bool leaves_out) {
    double cells = 0, width = 0;
    for (int i = 0; i < p.store.n; ++i) width += slots_of(p, i);
    for (const Member &m : p.members) cells += configurations(p, m.attributes) * width;
    if (!p.class_parents.empty()) cells += configurations(p, p.class_parents);
    for (const Group &g : p.groups) {
        cells += slots_of(p, g.child);
        for (int t : g.terms) cells += configurations(p, p.terms[t].parents) * slots_of(p, g.child);
    }
    return cells * stride_for(leaves_out ? 2 * p.store.k : p.store.k);
}

double Compiled::n_reads(const ScoringPlan &p) {
    double reads = double(p.members.size()) * p.store.n;
    for (const Group &g : p.groups) reads += double(g.terms.size()) + (g.base_weight > 0);
    return reads * stride_for(p.store.k);
}

Compiled::Compiled(const ScoringPlan &p, double left_out_)
    : n(p.store.n), answers(p.store.k), k(left_out_ > 0 ? 2 * answers : answers), stride(stride_for(k)),
      left_out(left_out_), sum_of_products(p.sum_of_products) {
    offsets.push_back(0);
    for (int i = 0; i < n; ++i) {
        n_slots.push_back(slots_of(p, i));
        offsets.push_back(offsets.back() + n_slots[i]);
    }
    less_.assign(answers, left_out);
    prior_ = class_lanes(p, p.slots.missing.data());
    if (!p.priors.empty() || !p.class_factor.empty()) {
        for (int c = 0; c < answers; ++c) {
            factor.push_back(1);
            if (!p.priors.empty()) factor[c] = prior_[c] > 0 ? p.priors[c] / prior_[c] : 0;
            if (!p.class_factor.empty()) factor[c] *= p.class_factor[c];
        }
    }
    tables.reserve(std::size_t(n_cells(p, left_out > 0)));
    if (sum_of_products) compile_sum(p);
    else {
        compile_class(p);
        compile_product(p);
    }
    // How many factors can be multiplied before the exponent needs a look: a factor is at least the smallest entry
    // above zero and at most the number of terms times the largest.
    double least = 1, most = 1;
    for (double x : tables) {
        if (x > 0) least = std::min(least, x);
        most = std::max(most, x);
    }
    const double bits = std::max({-std::log2(least), std::log2(most * (double(terms.size()) + 1)), 1.0});
    calm = std::max(1, int(700 / bits));
    fold();
}

std::vector<double> Compiled::class_lanes(const ScoringPlan &p, const int *slot) const {
    std::vector<double> out(k);
    if (left_out <= 0) {
        std::vector<double> prior(k);
        class_prior(p.store, p.estimate, nullptr, prior.data());
        p.class_value(slot, nullptr, prior.data(), out.data());
        return out;
    }
    const int known = p.n_class_parents(slot);
    const double *counts = p.class_counts(known, slot);
    const double cell = p.estimate.unit * (known ? p.class_cells[known - 1] : p.estimate.cell(answers, 1));
    const double total = std::accumulate(counts, counts + answers, -left_out);
    for (int c = 0; c < k; ++c) {
        const double seen = counts[c % answers] - (c < answers ? 0 : left_out);
        out[c] = (at_least_zero(seen) + cell) / (at_least_zero(total) + cell * answers);
    }
    return out;
}

void Compiled::compile_class(const ScoringPlan &p) {
    std::vector<int> slot(n, 0);
    class_parents = p.class_parents;
    class_strides = strides_of(p, class_parents, k);
    for_each_configuration(p, class_parents, slot, [&](std::int64_t) {
        const auto lanes = class_lanes(p, slot.data());
        start.insert(start.end(), lanes.begin(), lanes.end());
    });
}

bool Compiled::term_lanes(const ScoringPlan &p, const std::vector<Term> &all, const Term &term, const int *slot,
                          double *value) const {
    if (!term_value(p.store, p.estimate, all, term, slot, nullptr, 0, value)) return false;
    if (left_out > 0) term_value(p.store, p.estimate, all, term, slot, less_.data(), left_out, value + answers);
    return true;
}

bool Compiled::joint_lanes(const ScoringPlan &p, const Member &m, const int *slot, double *value) const {
    const std::vector<double> none(answers, 0.0);
    if (!joint_value(p, m, slot, none.data(), left_out, prior_.data(), value)) return false;
    if (left_out > 0) joint_value(p, m, slot, less_.data(), left_out, prior_.data(), value + answers);
    return true;
}

void Compiled::compile_product(const ScoringPlan &p) {
    std::vector<int> slot(n, 0);
    std::vector<double> value(k);
    // `carries`: a missing child is the factor 1, `alone`: a missing parent leaves the shorter family. Without both, 0.
    const auto add_table = [&](int t, double weight, bool carries, bool alone, const std::vector<char> &classes) {
        const Term &term = p.terms[t];
        const auto silent = [&](int c) { return !classes.empty() && !classes[c % answers]; };
        const int missing = p.store.missing_slot(term.child);
        CompiledTerm out;
        out.table = std::int64_t(tables.size());
        const auto strides = strides_of(p, term.parents, std::int64_t(n_slots[term.child]) * stride);
        if (term.parents.size() == 1 || term.parents.size() == 2) {
            out.parent = term.parents[0];
            out.stride = strides[0];
        }
        if (term.parents.size() == 2) {
            out.parent2 = term.parents[1];
            out.stride2 = strides[1];
        }
        if (term.parents.size() > 1) {
            out.parents = term.parents;
            out.strides = strides;
        }
        std::vector<int> attributes = term.parents;
        attributes.push_back(term.child);
        for_each_configuration(p, attributes, slot, [&](std::int64_t) {
            const std::size_t at = tables.size();
            tables.resize(at + stride, 0.0);
            if (slot[term.child] == missing) {  // a missing child: its factor is 1, once
                if (carries) std::fill(tables.begin() + at, tables.begin() + at + k, 1.0);
                return;
            }
            int use = t;  // a missing parent: alone, the term falls back to a shorter one; in a sum it is dropped
            while (use >= 0 && !term_lanes(p, p.terms, p.terms[use], slot.data(), value.data()))
                use = alone ? p.terms[use].prefix : -1;
            for (int c = 0; c < k && use >= 0; ++c) tables[at + c] = silent(c) ? 1 : (use == t ? weight : 1) * value[c];
        });
        return out;
    };
    for (const Group &g : p.groups) {
        CompiledGroup group;
        group.child = g.child;
        group.first = int(terms.size());
        const bool has_base = g.base_weight > 0;
        const bool alone = !has_base && g.terms.size() == 1;
        const bool sums = int(g.terms.size()) + has_base > 1;
        for (int c = 0; c < k && sums && !g.classes.empty(); ++c) group.lanes.push_back(g.classes[c % answers]);
        const auto classes = sums ? std::vector<char>{} : g.classes;  // in a sum the others are left out at the end
        if (has_base || g.terms.empty())
            terms.push_back(add_table(g.base, has_base ? g.base_weight : 1, true, true, classes));
        for (const std::size_t n_parents : {1, 2, 3}) {
            for (std::size_t t = 0; t < g.terms.size(); ++t)
                if (std::min<std::size_t>(p.terms[g.terms[t]].parents.size(), 3) == n_parents)
                    terms.push_back(add_table(g.terms[t], g.weights[t], alone, alone, classes));
            (n_parents == 1 ? group.pairs : n_parents == 2 ? group.triples : group.last) = int(terms.size());
        }
        if (!has_base && g.terms.size() > 1) group.base = add_table(g.base, 1, true, true, {}).table;
        groups.push_back(group);
    }
}

void Compiled::compile_sum(const ScoringPlan &p) {
    std::vector<int> slot(n, 0);
    std::vector<double> value(k);
    const std::int64_t row = offsets[n] * stride;
    // Back-off needs the shorter families; a plan that reads counts without terms has none, and they are made on demand
    // in a plan of our own.
    const bool in_terms = !p.member_terms.empty();
    ScoringPlan own_families(p.store, p.estimate, false);
    own_families.slots = p.slots;
    const auto &families = in_terms ? p.terms : own_families.terms;
    for (const Member &m : p.members) {
        CompiledMember out;
        out.attributes = m.attributes;
        out.strides = strides_of(p, m.attributes, 1);
        out.table = std::int64_t(tables.size());
        out.configuration = std::int64_t(qualified.size());
        out.weight = m.weight;
        tables.resize(tables.size() + std::size_t(configurations(p, m.attributes)) * row, 1.0);
        std::vector<int> children;
        if (in_terms) children = p.member_terms[std::size_t(&m - p.members.data())];
        for (int i = 0; i < n && !in_terms; ++i)
            if (p.child_of(i, m)) children.push_back(own_families.add_term(i, m.attributes));
        for_each_configuration(p, m.attributes, slot, [&](std::int64_t number) {
            double *cells = tables.data() + out.table + number * row;
            const bool ok = joint_lanes(p, m, slot.data(), value.data());
            qualified.push_back(ok);
            double *own = cells + offsets[m.attributes[0]] * stride;
            for (int v = 0; v < n_slots[m.attributes[0]]; ++v)
                for (int c = 0; c < stride; ++c) own[v * stride + c] = ok && c < k ? m.weight * value[c] : 0;
            if (!ok) return;
            for (int t : children) {
                const Term &term = families[t];
                for (int v = 0; v < p.slots.limit[term.child]; ++v) {
                    slot[term.child] = v;
                    if (term_lanes(p, families, term, slot.data(), value.data()))
                        std::copy(value.begin(), value.end(), cells + (offsets[term.child] + v) * stride);
                }
            }
        });
        members.push_back(out);
    }
}

}  // namespace tanager::scoring
