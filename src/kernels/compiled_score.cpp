// Rows answered from compiled tables.
#include "compiled.hpp"
#include "interrupt.hpp"

namespace tanager::scoring {

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
bool any_present(const Compiled &t, const CompiledGroup &g, const int *slot) {
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
        if (!any && !any_present(t, g, slot)) std::copy_n(tables + g.base + own, width, sum);
    }
    for (std::size_t c = 0; c < g.lanes.size(); ++c)
        if (!g.lanes[c]) sum[c] = 1;
}

// The same with the classes in registers.
template <int Fixed>
inline Lanes<Fixed> group_sum(const Compiled &t, const CompiledGroup &g, const int *slot, const int *block,
                              double *scratch) {
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
        any_group_sum(t, g, slot, scratch);
        return L::load(scratch);
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
    if (g.base >= 0) {  // where all terms are zero, perhaps none was present
        a.store(scratch);
        if (std::none_of(scratch, scratch + t.k, [](double x) { return x > 0; })) return carefully();
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
        check_interrupt(start - begin);
        const int n_rows = int(std::min<std::int64_t>(w.n_rows, end - start));
        std::fill(w.e.begin(), w.e.end(), 0.0);
        for (int b = 0; b < n_rows; ++b) {
            slots.read(codes, start + b, &w.slot[std::size_t(b) * t.n]);
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
                const int y = labels->at(start + b);
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
