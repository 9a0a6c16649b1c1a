#include "compiled.hpp"

#include <numeric>

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

double Compiled::n_cells(const Plan &p, bool leaves_out) {
    double cells = 0, width = 0;
    for (int i = 0; i < p.store.n; ++i) width += slots_of(p, i);
    for (const Member &m : p.members) cells += configurations(p, m.attributes) * width;
    if (!p.class_parents.empty()) cells += configurations(p, p.class_parents);
    for (const Group &g : p.groups) {
        cells += slots_of(p, g.child);
        for (int t : g.terms) cells += configurations(p, p.terms[t].parents) * slots_of(p, g.child);
    }
    return cells * padded(leaves_out ? 2 * p.store.k : p.store.k);
}

double Compiled::n_reads(const Plan &p) {
    double reads = double(p.members.size()) * p.store.n;
    for (const Group &g : p.groups) reads += double(g.terms.size()) + (g.base_weight > 0);
    return reads * padded(p.store.k);
}

Compiled::Compiled(const Plan &p, double left_out_)
    : n(p.store.n), answers(p.store.k), k(left_out_ > 0 ? 2 * answers : answers), stride(padded(k)),
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

std::vector<double> Compiled::class_lanes(const Plan &p, const int *slot) const {
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

void Compiled::compile_class(const Plan &p) {
    std::vector<int> slot(n, 0);
    class_parents = p.class_parents;
    class_strides = strides_of(p, class_parents, k);
    for_each_configuration(p, class_parents, slot, [&](std::int64_t) {
        const auto lanes = class_lanes(p, slot.data());
        start.insert(start.end(), lanes.begin(), lanes.end());
    });
}

bool Compiled::term_lanes(const Plan &p, const std::vector<Term> &all, const Term &term, const int *slot,
                          double *value) const {
    if (!term_value(p.store, p.estimate, all, term, slot, nullptr, 0, value)) return false;
    if (left_out > 0) term_value(p.store, p.estimate, all, term, slot, less_.data(), left_out, value + answers);
    return true;
}

bool Compiled::joint_lanes(const Plan &p, const Member &m, const int *slot, double *value) const {
    const std::vector<double> none(answers, 0.0);
    if (!joint_value(p, m, slot, none.data(), left_out, prior_.data(), value)) return false;
    if (left_out > 0) joint_value(p, m, slot, less_.data(), left_out, prior_.data(), value + answers);
    return true;
}

void Compiled::compile_product(const Plan &p) {
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
            const bool ok = joint_lanes(p, m, slot.data(), value.data());
            qualified.push_back(ok);
            double *own = cells + offsets[m.attributes[0]] * stride;
            for (int v = 0; v < n_slots[m.attributes[0]]; ++v)
                for (int c = 0; c < stride; ++c) own[v * stride + c] = ok && c < k ? m.weight * value[c] : 0;
            if (!ok) return;
            for (int t : children) {
                const Term &term = families.terms[t];
                for (int v = 0; v < p.slots.limit[term.child]; ++v) {
                    slot[term.child] = v;
                    if (term_lanes(p, families.terms, term, slot.data(), value.data()))
                        std::copy(value.begin(), value.end(), cells + (offsets[term.child] + v) * stride);
                }
            }
        });
        members.push_back(out);
    }
}

namespace {

// Working memory of one thread, for a few rows at a time.
struct Work {
    int n_rows;  // at most
    std::vector<int> slot, block;
    std::vector<std::int64_t> cell;
    std::vector<const double *> members;
    std::vector<double> m, e, total, value, power;

    // Small tables stay in the cache while rows pass by one by one. Of large ones each part is used for several rows.
    explicit Work(const Compiled &t) : n_rows(t.tables.size() * sizeof(double) <= (1 << 20) ? 1 : 32) {
        slot.resize(std::size_t(n_rows) * t.n);
        block.resize(std::size_t(n_rows) * t.block_size.size());
        cell.resize(std::size_t(n_rows) * t.n);
        members.resize(t.members.size());
        m.resize(std::size_t(n_rows) * t.stride);
        e.resize(std::size_t(n_rows) * t.stride);
        total.resize(n_rows);
        value.resize(t.stride);
        power.resize(t.stride);
    }
};

// Where a row is in every block.
inline void read_blocks(const Compiled &t, const int *slot, int *block) {
    for (int i = 0; i < t.n; ++i) {
        const int here = slot[i] * t.block_step[i];
        block[t.block[i]] = t.block_step[i] == 1 ? here : block[t.block[i]] + here;
    }
}

// Whether the child and all parents of some term are present. A sum of zeros is an answer only then.
bool speaks(const Compiled &t, const CompiledGroup &g, const int *slot) {
    const auto here = [&](int i) { return slot[i] < t.n_slots[i] - 1; };
    if (!here(g.child)) return false;
    for (int q = g.first; q < g.pairs; ++q)
        if (here(t.terms[q].parent)) return true;
    for (int q = g.pairs; q < g.last; ++q) {
        const auto &parents = t.terms[q].parents;
        if (std::all_of(parents.begin(), parents.end(), here)) return true;
    }
    return false;
}

// The factor of one attribute in the careful way: any number of classes, parents and zeros.
void any_group_sum(const Compiled &t, const CompiledGroup &g, const int *slot, double *sum) {
    const int width = t.stride;
    const double *tables = t.tables.data();
    const std::int64_t own = std::int64_t(slot[g.child]) * width;
    std::fill_n(sum, width, 0.0);
    for (int q = g.first; q < g.last; ++q) {
        const CompiledTerm &term = t.terms[q];
        std::int64_t at = term.table + own;
        if (q < g.pairs) at += slot[term.parent] * term.stride;
        for (std::size_t d = 0; d < term.parents.size(); ++d) at += slot[term.parents[d]] * term.strides[d];
        for (int c = 0; c < width; ++c) sum[c] += tables[at + c];
    }
    if (g.base >= 0) {
        bool any = false;
        for (int c = 0; c < t.k; ++c) any = any || (sum[c] > 0 && (g.lanes.empty() || g.lanes[c]));
        if (!any && !speaks(t, g, slot)) std::copy_n(tables + g.base + own, width, sum);
    }
    for (std::size_t c = 0; c < g.lanes.size(); ++c)
        if (!g.lanes[c]) sum[c] = 1;
}

// The same with the classes in registers.
template <int Fixed>
inline Lanes<Fixed> group_sum(const Compiled &t, const CompiledGroup &g, const int *slot, const int *block,
                              double *room) {
    using L = Lanes<Fixed>;
    const double *own = t.tables.data() + std::int64_t(slot[g.child]) * Fixed;
    const CompiledTerm *terms = t.terms.data();
    const auto cells = [&](int q) {  // no attribute parent, or one
        return L::load(own + terms[q].table + slot[terms[q].parent] * terms[q].stride);
    };
    const auto wider = [&](int q) {  // two
        return L::load(own + terms[q].table + slot[terms[q].parent] * terms[q].stride +
                       slot[terms[q].parent2] * terms[q].stride2);
    };
    const auto folded = [&](int q) {
        const CompiledFold &f = t.folds[q];
        return L::load(own + f.table + block[f.block] * f.stride + block[f.block2] * f.stride2);
    };
    const auto carefully = [&] {
        any_group_sum(t, g, slot, room);
        return L::load(room);
    };
    if (g.last - g.first == 1) {  // one network: nothing to sum
        if (g.pairs > g.first) return cells(g.first);
        if (g.triples > g.first) return wider(g.first);
        const CompiledTerm &term = terms[g.first];
        const double *at = own + term.table;
        for (std::size_t d = 0; d < term.parents.size(); ++d) at += slot[term.parents[d]] * term.strides[d];
        return L::load(at);
    }
    if (g.triples < g.last || !g.lanes.empty()) return carefully();
    // Sums side by side: an addition takes longer than it takes to start the next.
    L a = L::all(0), b = a, c = a, d = a;
    const auto add = [&](int q, int end, const auto &at) {
        for (; q + 4 <= end; q += 4) {
            a = a + at(q);
            b = b + at(q + 1);
            c = c + at(q + 2);
            d = d + at(q + 3);
        }
        for (; q < end; ++q) a = a + at(q);
    };
    if (g.first_fold < g.last_fold) add(g.first_fold, g.last_fold, folded);
    else {
        add(g.first, g.pairs, cells);
        add(g.pairs, g.triples, wider);
    }
    a = (a + b) + (c + d);
    if (g.base >= 0) {  // where all terms are zero, perhaps none was there to speak
        a.store(room);
        if (std::none_of(room, room + t.k, [](double x) { return x > 0; })) return carefully();
    }
    return a;
}

// Some rows of a product of sums; w.m starts as P(y).
template <int Fixed>
inline void product_rows(const Compiled &t, int n_rows, Work &w) {
    const int width = Fixed ? Fixed : t.stride;
    int since = 0;
    if constexpr (Fixed > 0) {
        if (n_rows == 1) {
            using L = Lanes<Fixed>;
            L m = L::load(w.m.data());
            const int *slot = w.slot.data(), *block = w.block.data();
            for (const CompiledGroup &g : t.groups) {
                m = m * group_sum<Fixed>(t, g, slot, block, w.value.data());
                if (++since < t.calm) continue;
                m.store(w.m.data());
                steady(w.m.data(), w.e.data(), t.k);
                m = L::load(w.m.data());
                since = 0;
            }
            m.store(w.m.data());
            return;
        }
    }
    for (const CompiledGroup &g : t.groups) {
        since = since == t.calm ? 1 : since + 1;
        for (int b = 0; b < n_rows; ++b) {
            const int *slot = &w.slot[std::size_t(b) * t.n];
            double *m = &w.m[std::size_t(b) * width];
            if constexpr (Fixed > 0) {
                using L = Lanes<Fixed>;
                const int *block = &w.block[std::size_t(b) * t.block_size.size()];
                (L::load(m) * group_sum<Fixed>(t, g, slot, block, w.value.data())).store(m);
            } else {
                any_group_sum(t, g, slot, w.value.data());
                for (int c = 0; c < width; ++c) m[c] *= w.value[c];
            }
            if (since == t.calm) steady(m, &w.e[std::size_t(b) * width], t.k);
        }
    }
}

// Adds one member to the answer of one row.
template <int Fixed>
inline void add_member(const Compiled &t, const double *table, const std::int64_t *cell, Work &w, double *m,
                       double *e) {
    multiply_cells<Fixed>(t, table, cell, w.value.data(), w.power.data());
    add_scaled(w.value.data(), w.power.data(), t.k, m, e);
}

// One row of a sum of products in small tables, several members side by side.
template <int Fixed>
inline void sum_row(const Compiled &t, Work &w) {
    const int width = Fixed ? Fixed : t.stride, n = t.n;
    const std::int64_t row = t.offsets[n] * width;
    const std::int64_t *cell = w.cell.data();
    std::size_t n_members = 0, q = 0;
    for (const CompiledMember &s : t.members) {
        const double *table = member_table(t, s, w.slot.data(), row);
        if (!table) continue;
        w.total[0] += s.weight;
        w.members[n_members++] = table;
    }
    if constexpr (Fixed > 0) {
        for (; n <= t.calm && q + 4 <= n_members; q += 4) {  // no exponent to look after
            using L = Lanes<Fixed>;
            const double *const *table = &w.members[q];
            L a = L::load(table[0] + cell[0]), b = L::load(table[1] + cell[0]);
            L c = L::load(table[2] + cell[0]), d = L::load(table[3] + cell[0]);
            for (int i = 1; i < n; ++i) {
                const std::int64_t at = cell[i];
                a = a * L::load(table[0] + at);
                b = b * L::load(table[1] + at);
                c = c * L::load(table[2] + at);
                d = d * L::load(table[3] + at);
            }
            (L::load(w.m.data()) + ((a + b) + (c + d))).store(w.m.data());
        }
    }
    for (; q < n_members; ++q) add_member<Fixed>(t, w.members[q], cell, w, w.m.data(), w.e.data());
}

// Some rows of a sum of products; w.m starts as 0.
template <int Fixed>
inline void sum_rows(const Compiled &t, int n_rows, Work &w) {
    const int width = Fixed ? Fixed : t.stride, n = t.n;
    for (int b = 0; b < n_rows; ++b)
        for (int i = 0; i < n; ++i)
            w.cell[std::size_t(b) * n + i] = (t.offsets[i] + w.slot[std::size_t(b) * n + i]) * width;
    if (w.n_rows == 1) return sum_row<Fixed>(t, w);
    for (const CompiledMember &s : t.members) {
        for (int b = 0; b < n_rows; ++b) {
            const double *table = member_table(t, s, &w.slot[std::size_t(b) * n], t.offsets[n] * width);
            if (!table) continue;
            w.total[b] += s.weight;
            const std::size_t at = std::size_t(b) * width;
            add_member<Fixed>(t, table, &w.cell[std::size_t(b) * n], w, &w.m[at], &w.e[at]);
        }
    }
}

template <int Fixed>
void score_rows(const Compiled &t, const Codes &codes, const Codes *labels, std::int64_t begin, std::int64_t end,
                bool log_joint, double *out) {
    Slots slots;
    for (int i = 0; i < t.n; ++i) {
        slots.limit.push_back(t.n_slots[i] - 1);
        slots.missing.push_back(t.n_slots[i] - 1);
    }
    Work w(t);
    const std::size_t n_blocks = t.block_size.size();
    for (std::int64_t start = begin; start < end; start += w.n_rows) {
        const int n_rows = int(std::min<std::int64_t>(w.n_rows, end - start));
        std::fill(w.e.begin(), w.e.end(), 0.0);
        for (int b = 0; b < n_rows; ++b) {
            codes.read(start + b, slots, &w.slot[std::size_t(b) * t.n]);
            if (!t.folds.empty()) read_blocks(t, &w.slot[std::size_t(b) * t.n], &w.block[std::size_t(b) * n_blocks]);
        }
        if (t.sum_of_products) {
            std::fill(w.m.begin(), w.m.end(), 0.0);
            std::fill(w.total.begin(), w.total.end(), 0.0);
            sum_rows<Fixed>(t, n_rows, w);
        } else {
            std::fill(w.total.begin(), w.total.end(), 1.0);
            for (int b = 0; b < n_rows; ++b) {
                const double *from = t.start.data();
                for (std::size_t q = 0; q < t.class_parents.size(); ++q)
                    from += w.slot[std::size_t(b) * t.n + t.class_parents[q]] * t.class_strides[q];
                std::copy_n(from, t.k, &w.m[std::size_t(b) * t.stride]);
            }
            product_rows<Fixed>(t, n_rows, w);
        }
        for (int b = 0; b < n_rows; ++b) {
            double *m = &w.m[std::size_t(b) * t.stride], *e = &w.e[std::size_t(b) * t.stride];
            if (labels) {
                const int y = labels->at(start + b, 0);
                m[y] = m[t.answers + y];
                e[y] = e[t.answers + y];
            }
            for (int c = 0; c < t.answers && !t.factor.empty(); ++c) m[c] *= t.factor[c];
            finish(m, e, t.answers, w.total[b], log_joint, out + (start + b) * t.answers);
        }
    }
}

}  // namespace

void Compiled::score(const Codes &codes, const Codes *labels, std::int64_t begin, std::int64_t end, bool log_joint,
                     double *out) const {
    switch (stride) {
        case 2: score_rows<2>(*this, codes, labels, begin, end, log_joint, out); break;
        case 4: score_rows<4>(*this, codes, labels, begin, end, log_joint, out); break;
        case 8: score_rows<8>(*this, codes, labels, begin, end, log_joint, out); break;
        default: score_rows<0>(*this, codes, labels, begin, end, log_joint, out);
    }
}

}  // namespace tanager::scoring
