#include "compiled.hpp"

#include "lanes.hpp"

namespace tanager::scoring {

namespace {

int padded(int k) { return k <= 2 ? 2 : k <= 4 ? 4 : (k + 7) / 8 * 8; }

int slots_of(const Plan &p, int i) { return p.slots.limit[i] + 1; }

// The slot of the store behind a compiled slot: the last one is missing.
int stored(const Plan &p, int i, int v) { return v < p.slots.limit[i] ? v : p.slots.missing[i]; }

// Calls visit(configuration number) for every combination of slots of the attributes, set in `slot`.
template <class Visit>
void for_each_configuration(const Plan &p, const std::vector<int> &attributes, std::vector<int> &slot, Visit visit) {
    std::vector<int> at(attributes.size(), 0);
    for (std::int64_t number = 0;; ++number) {
        for (std::size_t q = 0; q < at.size(); ++q) slot[attributes[q]] = stored(p, attributes[q], at[q]);
        visit(number);
        int q = int(at.size()) - 1;
        while (q >= 0 && ++at[q] == slots_of(p, attributes[q])) at[q--] = 0;
        if (q < 0) return;
    }
}

std::vector<std::int64_t> strides_of(const Plan &p, const std::vector<int> &attributes, std::int64_t inner) {
    std::vector<std::int64_t> strides(attributes.size());
    for (int q = int(attributes.size()) - 1; q >= 0; --q) {
        strides[q] = inner;
        inner *= slots_of(p, attributes[q]);
    }
    return strides;
}

double configurations(const Plan &p, const std::vector<int> &attributes) {
    double size = 1;
    for (int i : attributes) size *= slots_of(p, i);
    return size;
}

}  // namespace

double Compiled::n_cells(const Plan &p) {
    double cells = 0, width = 0;
    for (int i = 0; i < p.store.n; ++i) width += slots_of(p, i);
    for (const Member &m : p.members) cells += configurations(p, m.attributes) * width;
    for (const Group &g : p.groups) {
        cells += slots_of(p, g.child);
        for (int t : g.terms) cells += configurations(p, p.terms[t].parents) * slots_of(p, g.child);
    }
    return cells * padded(p.store.k);
}

Compiled::Compiled(const Plan &p) : n(p.store.n), k(p.store.k), stride(padded(k)) {
    sum_of_products = p.sum_of_products;
    offsets.push_back(0);
    for (int i = 0; i < n; ++i) {
        n_slots.push_back(slots_of(p, i));
        offsets.push_back(offsets.back() + n_slots[i]);
    }
    start.resize(k);
    class_prior(p.store, p.estimate, nullptr, start.data());
    if (!p.priors.empty() || !p.class_factor.empty()) {
        for (int c = 0; c < k; ++c) {
            factor.push_back(1);
            if (!p.priors.empty()) factor[c] = start[c] > 0 ? p.priors[c] / start[c] : 0;
            if (!p.class_factor.empty()) factor[c] *= p.class_factor[c];
        }
    }
    tables.reserve(std::size_t(n_cells(p)));
    if (sum_of_products) compile_sum(p);
    else compile_product(p);
    // How many factors can be multiplied before the exponent needs a look: a factor is at least the smallest entry
    // above zero and at most the number of terms times the largest.
    double least = 1, most = 1;
    for (double x : tables) {
        if (x > 0) least = std::min(least, x);
        most = std::max(most, x);
    }
    const double bits = std::max({-std::log2(least), std::log2(most * (double(terms.size()) + 1)), 1.0});
    calm = std::max(1, int(700 / bits));
}

void Compiled::compile_product(const Plan &p) {
    std::vector<int> slot(n, 0);
    std::vector<double> value(k);
    const auto add_table = [&](int t, double weight, bool carries, bool alone) {
        const Term &term = p.terms[t];
        const int missing = p.store.missing_slot(term.child);
        CompiledTerm out;
        out.table = std::int64_t(tables.size());
        const auto strides = strides_of(p, term.parents, std::int64_t(n_slots[term.child]) * stride);
        if (term.parents.size() == 1) {
            out.parent = term.parents[0];
            out.stride = strides[0];
        } else {
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
            while (use >= 0 && !term_value(p.store, p.estimate, p.terms, p.terms[use], slot.data(), nullptr, 0,
                                           value.data()))
                use = alone ? p.terms[use].prefix : -1;
            for (int c = 0; c < k && use >= 0; ++c) tables[at + c] = weight * value[c];
        });
        return out;
    };
    for (const Group &g : p.groups) {
        CompiledGroup group;
        group.child = g.child;
        group.first = int(terms.size());
        const bool has_base = g.base_weight > 0;
        const bool alone = !has_base && g.terms.size() == 1;
        if (has_base || g.terms.empty()) terms.push_back(add_table(g.base, has_base ? g.base_weight : 1, true, true));
        for (const bool wide : {false, true}) {
            for (std::size_t t = 0; t < g.terms.size(); ++t)
                if ((p.terms[g.terms[t]].parents.size() > 1) == wide)
                    terms.push_back(add_table(g.terms[t], g.weights[t], alone, alone));
            if (!wide) group.pairs = int(terms.size());
        }
        group.last = int(terms.size());
        if (!has_base && g.terms.size() > 1) group.base = add_table(g.base, 1, true, true).table;
        groups.push_back(group);
    }
}

void Compiled::compile_sum(const Plan &p) {
    std::vector<int> slot(n, 0);
    std::vector<double> value(k);
    const std::int64_t row = offsets[n] * stride;
    // Back-off needs the shorter families; they are made on demand in a plan of our own.
    Plan families(p.store, p.estimate, false);
    families.slots = p.slots;
    for (const Member &m : p.members) {
        CompiledMember out;
        out.attributes = m.attributes;
        out.strides = strides_of(p, m.attributes, 1);
        out.table = std::int64_t(tables.size());
        out.configuration = std::int64_t(qualified.size());
        out.weight = m.weight;
        tables.resize(tables.size() + std::size_t(configurations(p, m.attributes)) * row, 1.0);
        std::vector<int> children;
        for (int i = 0; i < n; ++i)
            if (std::find(m.attributes.begin(), m.attributes.end(), i) == m.attributes.end())
                children.push_back(families.add_term(i, m.attributes));
        for_each_configuration(p, m.attributes, slot, [&](std::int64_t number) {
            double *cells = tables.data() + out.table + number * row;
            const std::vector<double> none(k, 0.0);
            const bool ok = joint_value(p, m, slot.data(), none.data(), 0, start.data(), value.data());
            qualified.push_back(ok);
            double *own = cells + offsets[m.attributes[0]] * stride;
            for (int v = 0; v < n_slots[m.attributes[0]]; ++v)
                for (int c = 0; c < stride; ++c) own[v * stride + c] = ok && c < k ? m.weight * value[c] : 0;
            if (!ok) return;
            for (int t : children) {
                const Term &term = families.terms[t];
                for (int v = 0; v < p.slots.limit[term.child]; ++v) {
                    slot[term.child] = v;
                    if (term_value(p.store, p.estimate, families.terms, term, slot.data(), nullptr, 0, value.data()))
                        std::copy(value.begin(), value.end(), cells + (offsets[term.child] + v) * stride);
                }
            }
        });
        members.push_back(out);
    }
}

namespace {

// Working memory of one thread.
struct Work {
    std::vector<int> slot;
    std::vector<std::int64_t> cell;
    std::vector<const double *> rows;
    std::vector<double> m, e, value, power;
    explicit Work(const Compiled &t)
        : slot(t.n), cell(t.n), rows(t.members.size()), m(t.stride), e(t.stride), value(t.stride), power(t.stride) {}
};

// One row of a product of sums; w.m starts as P(y).
template <int Fixed>
inline void product_row(const Compiled &t, Work &w) {
    const int width = Fixed ? Fixed : t.stride;
    double fixed_sum[Fixed ? Fixed : 1];
    double *sum = Fixed ? fixed_sum : w.value.data(), *m = w.m.data();
    const int *slot = w.slot.data();
    const double *tables = t.tables.data();
    int since = 0;
    for (const CompiledGroup &g : t.groups) {
        const std::int64_t own = std::int64_t(slot[g.child]) * width;
        const CompiledTerm *term = t.terms.data() + g.first, *pairs = t.terms.data() + g.pairs;
        if constexpr (Fixed > 0) {
            Lanes<Fixed> total = Lanes<Fixed>::all(0);
            for (; term < pairs; ++term)  // no attribute parent, or one
                total = total + Lanes<Fixed>::load(tables + term->table + own + slot[term->parent] * term->stride);
            total.store(sum);
        } else {
            for (int c = 0; c < width; ++c) sum[c] = 0;
            for (; term < pairs; ++term) {
                const double *cells = tables + term->table + own + slot[term->parent] * term->stride;
                for (int c = 0; c < width; ++c) sum[c] += cells[c];
            }
        }
        for (int q = g.pairs; q < g.last; ++q) {
            const CompiledTerm &term = t.terms[q];
            std::int64_t at = term.table + own;
            for (std::size_t d = 0; d < term.parents.size(); ++d) at += slot[term.parents[d]] * term.strides[d];
            for (int c = 0; c < width; ++c) sum[c] += tables[at + c];
        }
        if (g.base >= 0) {
            bool any = false;
            for (int c = 0; c < t.k; ++c) any = any || sum[c] > 0;
            if (!any) std::copy_n(tables + g.base + own, width, sum);
        }
        for (int c = 0; c < width; ++c) m[c] *= sum[c];
        if (++since == t.calm) {
            steady(m, w.e.data(), t.k);
            since = 0;
        }
    }
}

// One row of a sum of products, several members side by side.
template <int Fixed>
inline double sum_row(const Compiled &t, Work &w) {
    const int width = Fixed ? Fixed : t.stride, n = t.n;
    const std::int64_t row = t.offsets[n] * width;
    const std::int64_t *cell = w.cell.data();
    double total = 0;
    std::size_t n_rows = 0;
    for (int i = 0; i < n; ++i) w.cell[i] = (t.offsets[i] + w.slot[i]) * width;
    for (const CompiledMember &s : t.members) {
        std::int64_t number = 0;
        for (std::size_t q = 0; q < s.attributes.size(); ++q) number += w.slot[s.attributes[q]] * s.strides[q];
        if (!t.qualified[s.configuration + number]) continue;
        total += s.weight;
        w.rows[n_rows++] = t.tables.data() + s.table + number * row;
    }
    std::size_t q = 0;
    if constexpr (Fixed > 0) {
        if (n <= t.calm) {  // no exponent to look after
            constexpr int Side = 4;
            for (; q + Side <= n_rows; q += Side) {
                using L = Lanes<Fixed>;
                const double *const *row = &w.rows[q];
                L a = L::load(row[0] + cell[0]), b = L::load(row[1] + cell[0]);
                L c = L::load(row[2] + cell[0]), d = L::load(row[3] + cell[0]);
                for (int i = 1; i < n; ++i) {
                    const std::int64_t at = cell[i];
                    a = a * L::load(row[0] + at);
                    b = b * L::load(row[1] + at);
                    c = c * L::load(row[2] + at);
                    d = d * L::load(row[3] + at);
                }
                (L::load(w.m.data()) + ((a + b) + (c + d))).store(w.m.data());
            }
        }
    }
    for (; q < n_rows; ++q) {
        std::fill(w.value.begin(), w.value.end(), 1.0);
        std::fill(w.power.begin(), w.power.end(), 0.0);
        int since = 0;
        for (int i = 0; i < n; ++i) {
            const double *own = w.rows[q] + cell[i];
            for (int c = 0; c < width; ++c) w.value[c] *= own[c];
            if (++since == t.calm) {
                steady(w.value.data(), w.power.data(), t.k);
                since = 0;
            }
        }
        add_scaled(w.value.data(), w.power.data(), t.k, w.m.data(), w.e.data());
    }
    return total;
}

template <int Fixed>
void score_rows(const Compiled &t, const Codes &codes, std::int64_t begin, std::int64_t end, bool log_joint,
                double *out) {
    Slots slots;
    for (int i = 0; i < t.n; ++i) {
        slots.limit.push_back(t.n_slots[i] - 1);
        slots.missing.push_back(t.n_slots[i] - 1);
    }
    Work w(t);
    for (std::int64_t r = begin; r < end; ++r) {
        codes.read(r, slots, w.slot.data());
        double total = 1;
        std::fill(w.e.begin(), w.e.end(), 0.0);
        if (t.sum_of_products) {
            std::fill(w.m.begin(), w.m.end(), 0.0);
            total = sum_row<Fixed>(t, w);
        } else {
            std::copy(t.start.begin(), t.start.end(), w.m.begin());
            product_row<Fixed>(t, w);
        }
        if (!t.factor.empty())
            for (int c = 0; c < t.k; ++c) w.m[c] *= t.factor[c];
        finish(w.m.data(), w.e.data(), t.k, total, log_joint, out + r * t.k);
    }
}

}  // namespace

void Compiled::score(const Codes &codes, std::int64_t begin, std::int64_t end, bool log_joint, double *out) const {
    switch (stride) {
        case 2: score_rows<2>(*this, codes, begin, end, log_joint, out); break;
        case 4: score_rows<4>(*this, codes, begin, end, log_joint, out); break;
        case 8: score_rows<8>(*this, codes, begin, end, log_joint, out); break;
        default: score_rows<0>(*this, codes, begin, end, log_joint, out);
    }
}

}  // namespace tanager::scoring
