#include "marginal.hpp"

#include <algorithm>

#include "back_off.hpp"

namespace tanager::scoring {

namespace {

bool holds(const std::vector<int> &list, int v) { return std::find(list.begin(), list.end(), v) != list.end(); }

}  // namespace

Marginal::Marginal(const ScoringPlan &plan) : plan_(plan), families_(plan.store, plan.estimate, false) {
    families_.slots = plan.slots;
    const Store &s = plan.store;
    std::map<std::vector<int>, std::vector<char>> shared;  // groups of terms, and the classes that they apply to
    for (int c = 0; c < s.k; ++c) {
        std::vector<int> groups;
        for (std::size_t g = 0; g < plan.groups.size(); ++g)
            if (plan.groups[g].classes.empty() || plan.groups[g].classes[c]) groups.push_back(int(g));
        auto &classes = shared[groups];
        classes.resize(s.k);
        classes[c] = 1;
    }
    for (const auto &[groups, classes] : shared) {
        Network network{classes, {}, std::vector<int>(s.n, -1), std::vector<int>(s.n, 0)};
        add_family(network, -1, plan.class_parents, false);
        for (int g : groups) {
            const Group &group = plan.groups[g];
            const int term = group.terms.empty() ? group.base : group.terms[0];
            add_family(network, group.child, plan.terms[term].parents, false);
        }
        for (const auto &[child, parents] : plan.free)
            if (network.family_of[child] < 0) add_family(network, child, parents, true);
        for (int i = 0; i < s.n; ++i)  // a parent without a family stands alone
            if (network.uses[i] > 0 && network.family_of[i] < 0) add_family(network, i, {}, true);
        networks_.push_back(std::move(network));
    }
    if (!plan.estimate.learned) return;
    learn_strengths(families_);
    for (Term &term : families_.terms)  // those that the plan has are as they were learned there
        for (const Term &known : plan.terms)
            if (!term.free && known.child == term.child && known.parents == term.parents)
                term.strengths = known.strengths;
}

// An attribute without a single value is always missing: it is no child, and of the parents those before it are left.
void Marginal::add_family(Network &network, int child, std::vector<int> parents, bool free) {
    if (child >= 0 && !has_values(child)) return;
    parents.erase(std::find_if_not(parents.begin(), parents.end(), [&](int p) { return has_values(p); }),
                  parents.end());
    for (int p : parents) ++network.uses[p];
    Family family{-1, child, parents, free};
    if (child >= 0) {
        family.term = families_.add_term(child, parents, free);
        family.members.push_back(child);
        network.family_of[child] = int(network.families.size());
    }
    network.families.push_back(std::move(family));
}

Marginal::Work::Work(const Marginal &m)
    : row(m.plan_), gap(m.plan_.store.n), slot(m.plan_.store.n), place(m.plan_.store.n), value(m.plan_.store.k),
      power(m.plan_.store.k) {}

Marginal::Table &Marginal::Work::add_table() {
    if (n_tables == tables.size()) tables.emplace_back();
    Table &table = tables[n_tables++];
    table.scope.clear();
    table.used = false;
    return table;
}

bool Marginal::score(const int *slot, int left_out_class, double left_out, bool log_joint, double *out, Work &w) const {
    const Store &s = plan_.store;
    const bool leave_out = left_out_class >= 0;
    std::copy_n(slot, s.n, w.slot.begin());
    for (int i = 0; i < s.n; ++i) w.gap[i] = slot[i] == s.missing_slot(i) && has_values(i);
    if (leave_out) w.row.sub[left_out_class] = left_out;
    class_prior(s, plan_.estimate, w.row.sub.data(), w.row.prior.data());
    std::fill(w.row.m.begin(), w.row.m.end(), 1.0);
    std::fill(w.row.e.begin(), w.row.e.end(), 0.0);
    bool small = true;
    for (const Network &network : networks_) {
        small = small && multiply(network, leave_out, left_out, w);
        for (int c = 0; c < s.k && small; ++c) {
            if (!network.classes[c]) continue;
            w.row.m[c] = w.value[c];
            w.row.e[c] = w.power[c];
        }
    }
    if (small) plan_.answer(1, log_joint, out, w.row);
    if (leave_out) w.row.sub[left_out_class] = 0;
    return small;
}

// All factors of one network into w.value and w.power.
bool Marginal::multiply(const Network &network, bool leave_out, double left_out, Work &w) const {
    const int k = plan_.store.k;
    std::fill(w.value.begin(), w.value.end(), 1.0);
    std::fill(w.power.begin(), w.power.end(), 0.0);
    w.n_tables = 0;
    w.left.clear();
    drop_barren(network, w);
    for (std::size_t f = 0; f < network.families.size(); ++f) {
        const Family &family = network.families[f];
        if (!w.kept[f]) continue;
        if (std::any_of(family.members.begin(), family.members.end(), [&](int i) { return w.gap[i]; })) {
            if (!add_table(family, leave_out, left_out, w)) return false;
            if (family.child >= 0 && w.gap[family.child]) w.left.push_back(family.child);
        } else if (!family.free) {  // what all classes share cancels
            family_value(family, leave_out, left_out, w, w.row.once.data());
            for (int c = 0; c < k; ++c) w.value[c] *= w.row.once[c];
            steady(w.value.data(), w.power.data(), k);
        }
    }
    w.width = w.left.size();
    w.linked.assign(w.width * w.width, 0);
    for (std::size_t q = 0; q < w.width; ++q) w.place[w.left[q]] = int(q);
    for (std::size_t t = 0; t < w.n_tables; ++t)
        for (int a : w.tables[t].scope)
            for (int b : w.tables[t].scope) w.link(a, b) = 1;
    while (!w.left.empty())
        if (!sum_out(next_to_sum_out(w), w)) return false;
    return true;
}

// Missing attributes that no family needs but their own; and so on to their parents.
void Marginal::drop_barren(const Network &network, Work &w) const {
    w.kept.assign(network.families.size(), 1);
    w.uses = network.uses;
    w.at.clear();
    for (int i = 0; i < plan_.store.n; ++i)
        if (w.gap[i] && w.uses[i] == 0 && network.family_of[i] >= 0) w.at.push_back(i);
    while (!w.at.empty()) {
        const int f = network.family_of[w.at.back()];
        w.at.pop_back();
        w.kept[f] = 0;
        for (int p : network.families[f].members)
            if (p != network.families[f].child && --w.uses[p] == 0 && w.gap[p]) w.at.push_back(p);
    }
}

void Marginal::family_value(const Family &family, bool leave_out, double left_out, Work &w, double *out) const {
    const char *absent = leave_out ? w.gap.data() : nullptr;
    const double *sub = w.row.sub.data();
    if (family.term < 0) plan_.class_value(w.slot.data(), sub, w.row.prior.data(), out, absent);
    else
        term_value(plan_.store, plan_.estimate, families_.terms, families_.terms[family.term], w.slot.data(), sub,
                   left_out, out, absent);
}

// A family as a table over its missing members.
bool Marginal::add_table(const Family &family, bool leave_out, double left_out, Work &w) const {
    const Store &s = plan_.store;
    Table &table = w.add_table();
    double size = s.k;
    for (int i : family.members) {
        if (!w.gap[i]) continue;
        table.scope.push_back(i);
        w.slot[i] = 0;
        size *= s.n_values[i];
    }
    std::sort(table.scope.begin(), table.scope.end());
    const bool small = size <= most_cells;
    if (small) table.cells.resize(std::size_t(size));
    for (double *cells = table.cells.data(); small; cells += s.k) {
        family_value(family, leave_out, left_out, w, cells);
        int q = int(table.scope.size()) - 1;
        while (q >= 0 && ++w.slot[table.scope[q]] == s.n_values[table.scope[q]]) w.slot[table.scope[q--]] = 0;
        if (q < 0) break;
    }
    for (int i : table.scope) w.slot[i] = s.missing_slot(i);
    if (small) settle(w);
    return small;
}

// The attribute whose removal links fewest others anew; then the one of the smallest table, then the first.
int Marginal::next_to_sum_out(Work &w) const {
    std::size_t best = 0, best_fill = 0;
    double best_size = 0;
    for (std::size_t q = 0; q < w.left.size(); ++q) {
        const int v = w.left[q];
        w.near.clear();
        double size = plan_.store.n_values[v];
        for (int u : w.left)
            if (u != v && w.link(v, u)) {
                w.near.push_back(u);
                size *= plan_.store.n_values[u];
            }
        std::size_t fill = 0;
        for (std::size_t a = 0; a < w.near.size(); ++a)
            for (std::size_t b = 0; b < a; ++b) fill += !w.link(w.near[a], w.near[b]);
        if (q == 0 || std::tie(fill, size, v) < std::tie(best_fill, best_size, w.left[best])) {
            best = q;
            best_fill = fill;
            best_size = size;
        }
    }
    const int v = w.left[best];
    w.left.erase(w.left.begin() + best);
    for (int a : w.left)
        for (int b : w.left)
            if (w.link(v, a) && w.link(v, b)) w.link(a, b) = 1;
    return v;
}

// Multiplies the tables that know v and sums v out; the result is a new table, or a factor where nothing else is left.
bool Marginal::sum_out(int v, Work &w) const {
    const Store &s = plan_.store;
    const int k = s.k;
    Table &sum = w.add_table();  // first, because it may move the others
    std::vector<Table *> tables;
    double size = k;
    for (std::size_t t = 0; t + 1 < w.n_tables; ++t) {
        Table &table = w.tables[t];
        if (table.used || !holds(table.scope, v)) continue;
        table.used = true;
        tables.push_back(&table);
        for (int i : table.scope) {
            if (i == v || holds(sum.scope, i)) continue;
            sum.scope.push_back(i);
            size *= s.n_values[i];
        }
    }
    if (size * s.n_values[v] > most_cells) return false;
    std::sort(sum.scope.begin(), sum.scope.end());
    const std::size_t depth = sum.scope.size(), width = depth + 1;
    w.from.clear();
    w.strides.assign(tables.size() * width, 0);  // per table: steps of the scope, then of v
    for (std::size_t t = 0; t < tables.size(); ++t) {
        w.from.push_back(tables[t]->cells.data());
        std::int64_t step = k;
        for (auto i = tables[t]->scope.rbegin(); i != tables[t]->scope.rend(); ++i) {
            const auto place = std::find(sum.scope.begin(), sum.scope.end(), *i) - sum.scope.begin();
            w.strides[t * width + std::size_t(place)] = step;  // v itself is not found, so it comes last
            step *= s.n_values[*i];
        }
    }
    sum.cells.assign(std::size_t(size), 0.0);
    w.at.assign(depth, 0);
    for (double *cells = sum.cells.data();; cells += k) {
        for (int x = 0; x < s.n_values[v]; ++x)
            for (int c = 0; c < k; ++c) {
                double product = 1;
                for (std::size_t t = 0; t < tables.size(); ++t)
                    product *= w.from[t][x * w.strides[t * width + depth] + c];
                cells[c] += product;
            }
        int q = int(depth) - 1;
        for (; q >= 0; --q) {
            const int values = s.n_values[sum.scope[q]];
            const bool more = ++w.at[q] < values;
            for (std::size_t t = 0; t < tables.size(); ++t)
                w.from[t] += w.strides[t * width + q] * (more ? 1 : 1 - values);
            if (more) break;
            w.at[q] = 0;
        }
        if (q < 0) break;
    }
    settle(w);
    return true;
}

// Takes in the last table: a single number is a factor, and one over the same attributes as another is multiplied into
// that. So a long product grows step by step, and none leaves the range.
void Marginal::settle(Work &w) const {
    const int k = plan_.store.k;
    Table &last = w.tables[w.n_tables - 1];
    rescale(last, w);
    if (last.scope.empty()) {
        for (int c = 0; c < k; ++c) w.value[c] *= last.cells[c];
        steady(w.value.data(), w.power.data(), k);
        --w.n_tables;
        return;
    }
    for (std::size_t t = 0; t + 1 < w.n_tables; ++t) {
        Table &table = w.tables[t];
        if (table.used || table.scope != last.scope) continue;
        for (std::size_t at = 0; at < table.cells.size(); ++at) table.cells[at] *= last.cells[at];
        rescale(table, w);
        --w.n_tables;
        return;
    }
}

// Keeps products of many tables in the range: powers of two go to w.power.
void Marginal::rescale(Table &table, Work &w) const {
    const std::size_t k = plan_.store.k;
    for (std::size_t c = 0; c < k; ++c) {
        double top = 0;
        for (std::size_t at = c; at < table.cells.size(); at += k) top = std::max(top, table.cells[at]);
        if (top == 0 || top > 0x1p-100) continue;
        const int power = std::ilogb(top);
        for (std::size_t at = c; at < table.cells.size(); at += k)
            table.cells[at] = std::ldexp(table.cells[at], -power);
        w.power[c] += power;
    }
}

void score_marginal(ScoringPlan &plan, const Marginal &marginal, const Codes &codes, const LeftOut &left_out,
                    bool log_joint, int n_jobs, double *out) {
    each_row(plan, codes, left_out, n_jobs, out, [&] {
        return [&, w = Marginal::Work(marginal)](const int *slot, int y, double minus, double *answer) mutable {
            if (!marginal.score(slot, y, minus, log_joint, answer, w))
                std::fill_n(answer, plan.store.k, std::numeric_limits<double>::quiet_NaN());
        };
    });
}

}  // namespace tanager::scoring
