#include "scoring_plan.hpp"

#include <algorithm>
#include <numeric>

#include "staged_score.hpp"
#include "triple_sweep.hpp"

namespace tanager::scoring {

namespace {

// The counts of rows in which some of these attributes are missing, for every such set of them; see Member::absent.
std::vector<std::pair<double, const double *>> absent_counts(const Store &s, const std::vector<int> &attributes) {
    std::vector<std::pair<double, const double *>> out;
    for (std::size_t some = 1; some < std::size_t(1) << attributes.size(); ++some) {
        std::vector<int> missing;
        for (std::size_t q = 0; q < attributes.size(); ++q)
            if (some >> q & 1) missing.push_back(attributes[q]);
        const int last = missing.back();
        missing.pop_back();
        const Place place = locate(s, missing, last);
        std::int64_t at = place.base + s.missing_slot(last) * place.child_stride;
        for (std::size_t q = 0; q < missing.size(); ++q) at += s.missing_slot(missing[q]) * place.strides[q];
        out.emplace_back(missing.size() % 2 == 0 ? -1.0 : 1.0, place.cells + at);
    }
    return out;
}

}  // namespace

ScoringPlan::~ScoringPlan() = default;

Scratch::Scratch(const ScoringPlan &p) {
    const std::size_t n = p.store.n, k = p.store.k;
    slot.resize(n);
    here.reserve(n);
    place.resize(n);
    n_with_total.resize(p.totals.size());
    cell.resize(n);
    here_cell.resize(n);
    for (auto *v : {&sub, &prior, &once, &m, &e}) v->resize(k);
    value.resize(2 * k);
    for (auto *v : {&base, &pseudo, &count}) v->resize(n * k);
    reciprocal.resize(n * k * std::max<std::size_t>(1, p.totals.size()));
    staged = staged_scratch(p);
    sweep = triple_sweep(p);
    if (!sweep) reader = member_reader(p);
}

Scratch::Scratch(Scratch &&) noexcept = default;
Scratch::~Scratch() = default;

int *ScoringPlan::known_at_once(int child, const std::vector<int> &parents, bool classless) {
    constexpr std::size_t most = 1 << 14;
    const std::size_t n = std::size_t(store.n) * (std::size_t(store.n) + 1);
    if (classless || parents.size() > 1 || n > most) return nullptr;
    known_with_one_.resize(n, -1);
    return &known_with_one_[std::size_t(child) * (store.n + 1) + (parents.empty() ? store.n : parents[0])];
}

int ScoringPlan::add_term(int child, const std::vector<int> &parents, bool classless) {
    int *known = known_at_once(child, parents, classless);
    if (known && *known >= 0) return *known;
    if (!known)
        if (const auto found = known_.find({child, parents, classless}); found != known_.end()) return found->second;
    Term t;
    if (!parents.empty()) t.prefix = add_term(child, {parents.begin(), parents.end() - 1}, classless);
    t.child = child;
    t.parents = parents;
    t.free = classless;
    t.counts = locate(store, parents, child);
    if (parents.size() == 1) t.context = locate(store, {}, parents[0]);
    if (parents.size() == 2 && store.pairs) t.context = locate(store, {parents[0]}, parents[1]);
    if (parents.size() == 3) locate_triple(store, {parents[0], parents[1]}, parents[2], t.context);
    double q = classless ? 1 : store.k;
    for (int p : parents) q *= std::max(1, store.n_values[p]);
    t.cell = estimate.cell(store.n_values[child], q) * joined_share(child, parents);
    t.total = t.cell * store.n_values[child];
    const int place = int(terms.size());
    terms.push_back(std::move(t));
    if (known) *known = place;
    else known_.emplace(std::make_tuple(child, parents, classless), place);
    return place;
}

std::vector<double> ScoringPlan::strengths() const {
    std::vector<double> all;
    for (const Term &term : terms) all.insert(all.end(), term.strengths.begin(), term.strengths.end());
    all.insert(all.end(), class_strengths.begin(), class_strengths.end());
    return all;
}

bool ScoringPlan::set_strengths(const std::vector<double> &all) {
    std::size_t needed = class_parents.size();
    for (const Term &term : terms) needed += term.parents.size() + 1;
    if (all.size() != needed) return false;
    auto at = all.begin();
    for (Term &term : terms) {
        term.strengths.assign(at, at + std::ptrdiff_t(term.parents.size()) + 1);
        at += std::ptrdiff_t(term.strengths.size());
    }
    class_strengths.assign(at, all.end());
    return true;
}

// Columns a, b, c that are joined are read as P(a | y) P(b | y, a) P(c | y, a, b), which must be P(a, b, c | y) of one
// column with |a| |b| |c| values. So a pseudo-count of one combination is as many as there are combinations beside the
// values that are known already; and where M is shared out over all combinations, the values before have taken theirs.
double ScoringPlan::joined_share(int child, const std::vector<int> &parents) const {
    const auto has = [](const std::vector<int> &set, int i) {
        return std::find(set.begin(), set.end(), i) != set.end();
    };
    double share = 1;
    for (const auto &block : joined) {
        if (!has(block, child)) continue;
        for (int i : block) {
            const double n_values = std::max(1, store.n_values[i]);
            if (estimate.kind == Smoothing::lidstone && i != child && !has(parents, i)) share *= n_values;
            if (estimate.kind == Smoothing::m_estimate && has(parents, i)) share /= n_values;
        }
    }
    return share;
}

void ScoringPlan::set_class_parents(const std::vector<int> &parents) {
    class_parents = parents;
    double q = 1;
    for (auto p = parents.begin(); p != parents.end(); ++p) {
        class_places.push_back(locate(store, {parents.begin(), p}, *p));
        q *= std::max(1, store.n_values[*p]);
        class_cells.push_back(estimate.cell(store.k, q));
        class_strengths.push_back(estimate.strength);
    }
}

void ScoringPlan::set_product(const std::vector<int> &child, const std::vector<std::vector<int>> &parents,
                              const std::vector<double> &weight, const std::vector<std::vector<int>> &only) {
    std::vector<std::vector<int>> sets(store.n);  // of each attribute
    terms.reserve(child.size() + std::size_t(store.n));
    std::vector<std::size_t> n_sets(store.n);
    for (int i : child) ++n_sets[i];
    for (int i = 0; i < store.n; ++i) sets[i].reserve(n_sets[i]);
    for (std::size_t t = 0; t < child.size(); ++t) sets[child[t]].push_back(int(t));
    const auto applies = [&](int t, int c) {
        return only.empty() || only[t].empty() || std::find(only[t].begin(), only[t].end(), c) != only[t].end();
    };
    for (int i = 0; i < store.n; ++i) {
        if (only.empty() && !sets[i].empty()) add_group(i, sets[i], parents, weight, {});
        std::map<std::vector<int>, std::vector<char>> classes_of;  // the sets, and the classes that they apply to
        for (int c = 0; c < store.k && !only.empty(); ++c) {
            std::vector<int> mine;
            std::copy_if(sets[i].begin(), sets[i].end(), std::back_inserter(mine),
                         [&](int t) { return applies(t, c); });
            if (mine.empty()) continue;
            auto &classes = classes_of[mine];
            classes.resize(store.k);
            classes[c] = 1;
        }
        for (const auto &[mine, classes] : classes_of) {
            const bool all = std::find(classes.begin(), classes.end(), 0) == classes.end();
            add_group(i, mine, parents, weight, all ? std::vector<char>{} : classes);
        }
    }
    if (!joined.empty()) fast = false;
    for (const Group &g : groups) {
        // The short cut reads pairs; a pair may also have been counted as a family, without them.
        if (!g.classes.empty() || (!g.terms.empty() && !store.pairs)) fast = false;
        for (int t : g.terms) fast = fast && terms[t].parents.size() == 1;
    }
    prepare_fast();
    if (!fast)
        for (Group &g : groups) shorten(g);
}

bool ScoringPlan::short_term(const Term &t, double weight, ShortTerm &out) const {
    const std::size_t n = t.parents.size();
    if (n > 2 || t.free || t.counts.sparse || t.total <= 0 || weight <= 0) return false;
    if (n > 0 && (!t.context.cells || t.context.sparse)) return false;
    out.cells = t.counts.cells + t.counts.base;
    out.child_stride = t.counts.child_stride;
    out.context = n == 0 ? store.classes : t.context.cells + t.context.base;
    for (std::size_t q = 0; q < n; ++q) {
        out.parent[q] = t.parents[q];
        out.stride[q] = t.counts.strides[q];
        out.context_stride[q] = q + 1 < n ? t.context.strides[q] : t.context.child_stride;
    }
    out.cell = t.cell;
    out.total = t.total;
    out.weight = weight;
    return true;
}

void ScoringPlan::shorten(Group &g) const {
    if (!estimate.constant() || store.n_values[g.child] == 0) return;
    std::vector<ShortTerm> found(g.terms.size() + (g.base_weight > 0));
    std::size_t at = 0;
    if (g.base_weight > 0 && !short_term(terms[g.base], g.base_weight, found[at++])) return;
    for (std::size_t t = 0; t < g.terms.size(); ++t)
        if (!short_term(terms[g.terms[t]], g.weights[t], found[at++])) return;
    g.short_terms = std::move(found);
}

void ScoringPlan::add_group(int child, const std::vector<int> &sets, const std::vector<std::vector<int>> &parents,
                            const std::vector<double> &weight, std::vector<char> classes) {
    Group g;
    g.child = child;
    g.classes = std::move(classes);
    g.base = add_term(child, {});
    std::vector<int> order;
    order.reserve(sets.size());
    for (int t : sets) {
        if (parents[t].empty()) g.base_weight += weight[t];
        else if (weight[t] != 0) order.push_back(t);
    }
    const auto middle = std::stable_partition(order.begin(), order.end(), [&](int t) { return parents[t][0] < child; });
    g.n_before = int(middle - order.begin());
    g.terms.reserve(order.size());
    g.parents.reserve(order.size());
    g.weights.reserve(order.size());
    for (int t : order) {
        g.in_order = g.in_order && parents[t][0] == int(g.terms.size());
        g.uniform = g.uniform && weight[t] == 1;
        g.terms.push_back(add_term(child, parents[t]));
        g.parents.push_back(parents[t][0]);
        g.weights.push_back(weight[t]);
    }
    g.fallback = g.terms.size() == 1 && g.base_weight == 0 ? terms[g.terms[0]].prefix : g.base;
    groups.push_back(std::move(g));
}

bool ScoringPlan::child_of(int i, const Member &m) const {
    return is_child[i] && std::find(m.attributes.begin(), m.attributes.end(), i) == m.attributes.end();
}

int ScoringPlan::place_of(int i, const Member &m) const {
    int place = n_children_before[i];
    for (int j : m.attributes) place -= is_child[j] && j < i;
    return place;
}

void ScoringPlan::set_sum(const std::vector<std::vector<int>> &sets, const std::vector<double> &weight,
                          double frequency_, std::vector<char> children) {
    const bool in_terms = !fast;  // every factor is asked for as a term of its own
    sum_of_products = true;
    min_count = frequency_;
    is_child = std::move(children);
    n_children_before.assign(is_child.size(), 0);
    for (std::size_t i = 1; i < is_child.size(); ++i) n_children_before[i] = n_children_before[i - 1] + is_child[i - 1];
    fast = fast && std::all_of(is_child.begin(), is_child.end(), [](char child) { return child; });
    members.reserve(sets.size());
    for (std::size_t t = 0; t < sets.size(); ++t) {
        Member m;
        m.attributes = sets[t];
        m.weight = weight[t];
        m.counts = locate(store, {sets[t].begin(), sets[t].end() - 1}, sets[t].back());
        if (m.counts.sparse) throw std::invalid_argument("the members of a sum are not read from sparse tables");
        double r = store.k;
        for (int i : sets[t]) r *= store.n_values[i];
        m.cell = estimate.cell(r, 1);
        m.total = m.cell * r;
        if (sets[t].size() > 2) m.absent = absent_counts(store, sets[t]);
        fast = fast && sets[t].size() == 1 && store.pairs;  // the short cut reads pairs
        members.push_back(std::move(m));
    }
    if (!fast) {
        find_children();
        // There may be hundreds of thousands of terms, and to make them takes longer than many an answer.
        const bool places_do = !in_terms && !member_children.empty() && constant_and_positive();
        for (const Member &m : members) {
            if (places_do) break;
            member_terms.emplace_back();
            for (int i = 0; i < store.n; ++i)
                if (child_of(i, m)) member_terms.back().push_back(add_term(i, m.attributes));
        }
    }
    for (int i = 0; i < store.n; ++i) add_term(i, {});
    for (Member &m : members) {
        const auto first = m.attributes.begin();
        for (auto i = first; i != m.attributes.end() && estimate.kind == Smoothing::back_off; ++i)
            m.chain.push_back(add_term(*i, {first, i}));
    }
    prepare_fast();
}

void ScoringPlan::find_children() {
    for (const Member &m : members)
        if (m.attributes.size() > ChildPlace::most) return;
    member_children.reserve(members.size());
    Place from;
    for (const Member &m : members) {
        auto &children = member_children.emplace_back();
        children.reserve(std::size_t(store.n));
        for (int i = 0; i < store.n; ++i) {
            if (!child_of(i, m)) continue;
            if (m.attributes.size() != 2 || !locate_triple(store, m.attributes, i, from))
                from = locate(store, m.attributes, i);
            if (from.sparse) throw std::invalid_argument("the members of a sum are not read from sparse tables");
            ChildPlace to{from.cells + from.base, from.child_stride};
            std::copy(from.strides.begin(), from.strides.end(), to.strides);
            children.push_back(to);
        }
    }
}

// Whether pseudo-counts are the same for all parents, and positive: then counts alone are read, and no term.
bool ScoringPlan::constant_and_positive() const {
    if (!estimate.constant() || estimate.kind == Smoothing::bdeu || estimate.strength <= 0) return false;
    return std::all_of(store.n_values.begin(), store.n_values.end(), [](int r) { return r > 0; });
}

void ScoringPlan::prepare_fast() {
    for (int i = 0; i < store.n; ++i) {
        const double r = store.n_values[i];
        cells.push_back(estimate.cell(r, store.k));
        const double total = estimate.constant() ? cells[i] * r : estimate.strength;
        auto found = std::find(totals.begin(), totals.end(), total);
        total_of.push_back(int(found - totals.begin()));
        if (found == totals.end()) totals.push_back(total);
        most_total = std::max(most_total, total);
        parent_factor.push_back(estimate.kind == Smoothing::bdeu && r > 0 ? 1 / r : 1);
        if (total <= 0 || estimate.kind == Smoothing::bdeu) shared_totals = false;
        if (cells[i] != cells[0]) same_cells = false;
    }
    is_parent.assign(store.n, 0);
    for (const Member &m : members)
        for (int i : m.attributes) is_parent[i] = 1;
    for (const Group &g : groups)
        for (int i : g.parents) is_parent[i] = 1;
    is_read = is_parent;
    if (sum_of_products) is_read.assign(store.n, 1);
    for (const Group &g : groups) is_read[g.child] = 1;
    refresh_missing();
}

void ScoringPlan::rescale(double unit) {
    estimate.unit = unit;
    if (otherwise) otherwise->rescale(unit);
    if (staging) staging->naive->rescale(unit);
}

void ScoringPlan::refresh_missing() {
    ever_missing.resize(store.n);
    for (int i = 0; i < store.n; ++i) {
        const double *gaps = store.singles + store.missing_cell(i);
        const char now = std::any_of(gaps, gaps + store.k, [](double x) { return x > 0; });
        if (ever_missing[i] != now) ever_missing[i] = now;  // threads that only read counts must not write here
    }
    if (otherwise) otherwise->refresh_missing();
    if (staging) staging->naive->refresh_missing();
}

bool ScoringPlan::reads_half() const {
    return fast && class_parents.size() < 2 && shared_totals && estimate.constant() &&
           (!otherwise || otherwise->reads_half()) &&
           std::none_of(ever_missing.begin(), ever_missing.end(), [](char missing) { return missing; });
}

bool ScoringPlan::note_missing(const int *slot) {
    bool news = false;
    for (int i = 0; i < store.n; ++i)
        if (slot[i] == store.missing_slot(i) && !ever_missing[i]) {
            ever_missing[i] = 1;
            news = true;
        }
    if (otherwise && news) otherwise->note_missing(slot);
    if (staging && news) staging->naive->note_missing(slot);
    return news;
}

int ScoringPlan::n_class_parents(const int *slot) const {
    int known = 0;
    for (int p : class_parents) {
        if (slot[p] == store.missing_slot(p)) break;
        ++known;
    }
    return known;
}

const double *ScoringPlan::class_counts(int n_parents, const int *slot) const {
    if (n_parents == 0) return store.classes;
    const Place &place = class_places[n_parents - 1];
    const double *context = place.context([&](std::size_t q) { return slot[class_parents[q]]; });
    return context + slot[class_parents[n_parents - 1]] * place.child_stride;
}

void ScoringPlan::class_value(const int *slot, const double *sub, const double *prior, double *out,
                              const char *absent) const {
    const int k = store.k, known = n_class_parents(slot);
    std::copy_n(prior, k, out);
    for (int q = 1; q <= known; ++q) {
        if (absent && absent[class_parents[q - 1]]) sub = nullptr;
        if (q < known && estimate.kind != Smoothing::back_off) continue;
        const double *own = class_counts(q, slot);
        const double *before = estimate.kind == Smoothing::back_off ? out : prior;
        const auto seen = [&](int c) { return at_least_zero(own[c] - (sub ? sub[c] : 0)); };
        const double cell = estimate.unit * class_cells[q - 1];
        const double strength = estimate.unit * (estimate.learned ? class_strengths[q - 1] : estimate.strength);
        double total = estimate.constant() ? cell * k : strength;
        for (int c = 0; c < k; ++c) total += seen(c);
        for (int c = 0; c < k; ++c) {
            const double pseudo = estimate.constant() ? cell : strength * before[c];
            out[c] = total > 0 ? (seen(c) + pseudo) / total : 1.0 / k;
        }
    }
}

double present_weight(const Store &s, const Member &m, double left_out) {
    const std::vector<int> &attributes = m.attributes;
    double total = 0;
    if (attributes.size() > 2) {
        total = std::accumulate(s.classes, s.classes + s.k, 0.0);
        for (const auto &[sign, cells] : m.absent) total += sign * std::accumulate(cells, cells + s.k, 0.0);
        return at_least_zero(total - left_out);
    }
    for (int c = 0; c < s.k; ++c) {
        total += s.classes[c];
        for (int i : attributes) total -= s.singles[s.missing_cell(i) + c];
        if (attributes.size() == 2) {
            const Place &at = m.counts;
            total += at.cells[at.base + s.missing_slot(attributes[0]) * at.strides[0] +
                              s.missing_slot(attributes[1]) * at.child_stride + c];
        }
    }
    return at_least_zero(total - left_out);
}

const double *member_counts(const ScoringPlan &p, const Member &m, const int *slot, double left_out) {
    const Store &s = p.store;
    if (m.weight <= 0) return nullptr;
    std::int64_t where = m.counts.base + slot[m.attributes.back()] * m.counts.child_stride;
    for (std::size_t q = 0; q + 1 < m.attributes.size(); ++q) where += slot[m.attributes[q]] * m.counts.strides[q];
    for (int i : m.attributes)
        if (slot[i] == s.missing_slot(i)) return nullptr;
    const double *cells = m.counts.cells + where;
    double seen = 0;
    for (int c = 0; c < s.k; ++c) seen += cells[c];
    return at_least_zero(seen - left_out) < p.least_seen() ? nullptr : cells;
}

bool joint_value(const ScoringPlan &p, const Member &m, const int *slot, const double *sub, double left_out,
                 const double *prior, double *out) {
    const Store &s = p.store;
    const double *cells = member_counts(p, m, slot, left_out);
    if (!cells) return false;
    const double total = present_weight(s, m, left_out);
    if (p.estimate.constant()) {
        const double cell = p.estimate.unit * m.cell, all = total + p.estimate.unit * m.total;
        for (int c = 0; c < s.k; ++c) out[c] = all > 0 ? (at_least_zero(cells[c] - sub[c]) + cell) / all : 0;
    } else if (p.estimate.kind == Smoothing::prior_counts) {
        const double strength = p.estimate.unit * p.estimate.strength;
        double p0 = strength;
        for (int i : m.attributes) p0 *= marginal(s, p.estimate, i, slot, left_out);
        for (int c = 0; c < s.k; ++c) out[c] = (at_least_zero(cells[c] - sub[c]) + p0 * prior[c]) / (total + strength);
    } else {  // back-off: the chain P(y) P(x_1 | y) P(x_2 | y, x_1) ...
        for (int c = 0; c < s.k; ++c) out[c] = prior[c];
        double few[32];
        std::vector<double> many(s.k > 32 ? s.k : 0);  // adding a member should not allocate
        double *factor = s.k > 32 ? many.data() : few;
        for (int t : m.chain) {
            term_value(s, p.estimate, p.terms, p.terms[t], slot, sub, left_out, factor);
            for (int c = 0; c < s.k; ++c) out[c] *= factor[c];
        }
    }
    return true;
}

void add_scaled(const double *m, const double *e, int k, double *total, double *total_e) {
    bool plain = true;
    for (int c = 0; c < k; ++c) plain = plain && e[c] == 0 && total_e[c] == 0;
    if (plain) {
        for (int c = 0; c < k; ++c) total[c] += m[c];
        return;
    }
    double top = -std::numeric_limits<double>::infinity();
    for (int c = 0; c < k; ++c) {
        if (m[c] > 0) top = std::max(top, e[c] + std::ilogb(m[c]));
        if (total[c] > 0) top = std::max(top, total_e[c] + std::ilogb(total[c]));
    }
    if (!std::isfinite(top)) return;
    const auto shifted = [top](double x, double power) {
        return std::ldexp(x, int(std::clamp(power - top, -4000.0, 4000.0)));
    };
    for (int c = 0; c < k; ++c) {
        total[c] = shifted(total[c], total_e[c]) + shifted(m[c], e[c]);
        total_e[c] = top;
    }
}

namespace {

// Adds the short terms of a group that are available; the numbers are those of `term_value`. False where none is.
bool add_short_terms(const ScoringPlan &p, const Group &g, const int *slot, const double *sub, double *sum) {
    const Store &s = p.store;
    const int k = s.k;
    const std::int64_t here = slot[g.child], gone = s.missing_slot(g.child);
    if (here == gone) return false;
    const double unit = p.estimate.unit;
    bool any = false;
    for (const ShortTerm &t : g.short_terms) {
        std::int64_t at = 0, context_at = 0;
        bool missing = false;
        for (int q = 0; q < 2 && t.parent[q] >= 0; ++q) {
            const int v = slot[t.parent[q]];
            missing = missing || v == s.missing_slot(t.parent[q]);
            at += v * t.stride[q];
            context_at += v * t.context_stride[q];
        }
        if (missing) continue;
        any = true;
        const double *cells = t.cells + at, *context = t.context + context_at;
        const double *own = cells + here * t.child_stride, *lost = cells + gone * t.child_stride;
        const double cell = unit * t.cell, total = unit * t.total;
        for (int c = 0; c < k; ++c) {
            const double den = at_least_zero(context[c] - lost[c] - sub[c]) + total;
            sum[c] += t.weight * ((at_least_zero(own[c] - sub[c]) + cell) / den);
        }
    }
    return any;
}

void plain_product(const ScoringPlan &p, const int *slot, const double *sub, double left_out, Scratch &w) {
    const int k = p.store.k;
    int since = 0;
    for (const Group &g : p.groups) {
        double *sum = w.value.data();
        bool any = false;
        std::fill(sum, sum + k, 0.0);
        if (!g.short_terms.empty()) any = add_short_terms(p, g, slot, sub, sum);
        auto add = [&](int t, double weight) {
            if (weight <= 0 ||
                !term_value(p.store, p.estimate, p.terms, p.terms[t], slot, sub, left_out, w.once.data()))
                return;
            any = true;
            for (int c = 0; c < k; ++c) sum[c] += weight * w.once[c];
        };
        if (g.short_terms.empty()) {
            add(g.base, g.base_weight);
            for (std::size_t t = 0; t < g.terms.size(); ++t) add(g.terms[t], g.weights[t]);
        }
        for (int t = g.fallback; !any && t >= 0; t = p.terms[t].prefix) add(t, 1);
        if (!any) continue;
        for (int c = 0; c < k; ++c)
            if (g.classes.empty() || g.classes[c]) w.m[c] *= sum[c];
        if (++since % 4 == 0) steady(w.m.data(), w.e.data(), k);
    }
}

// The class of the row that is left out, or -1.
int left_out_class(const double *sub, int k) {
    const double *found = std::find_if(sub, sub + k, [](double x) { return x > 0; });
    return found < sub + k ? int(found - sub) : -1;
}

// The same by a reader that shares the denominators of a member.
double read_sum(const ScoringPlan &p, const int *slot, const double *sub, double left_out, Scratch &w) {
    const int k = p.store.k, y = left_out_class(sub, k);
    double qualified = 0;
    double *value = w.value.data(), *power = value + k;
    w.reader->start(slot, y, left_out);
    for (int q = w.reader->next(0, 0); q >= 0; q = w.reader->next(0, q + 1)) {
        w.reader->member(0, q, value, power);
        qualified += p.members[q].weight;
        add_scaled(value, power, k, w.m.data(), w.e.data());
    }
    return qualified;
}

double plain_sum(const ScoringPlan &p, const int *slot, const double *sub, double left_out, Scratch &w) {
    if (w.sweep) return w.sweep->add(slot, left_out_class(sub, p.store.k), left_out, w.m.data(), w.e.data());
    if (w.reader) return read_sum(p, slot, sub, left_out, w);
    const int k = p.store.k;
    double qualified = 0;
    double *value = w.value.data(), *power = value + k;
    for (std::size_t q = 0; q < p.members.size(); ++q) {
        const Member &m = p.members[q];
        if (!joint_value(p, m, slot, sub, left_out, w.prior.data(), value)) continue;
        qualified += m.weight;
        for (int c = 0; c < k; ++c) {
            value[c] *= m.weight;
            power[c] = 0;
        }
        int since = 0;
        for (int t : p.member_terms[q]) {
            if (!term_value(p.store, p.estimate, p.terms, p.terms[t], slot, sub, left_out, w.once.data())) continue;
            for (int c = 0; c < k; ++c) value[c] *= w.once[c];
            if (++since % 4 == 0) steady(value, power, k);
        }
        add_scaled(value, power, k, w.m.data(), w.e.data());
    }
    return qualified;
}

}  // namespace

void ScoringPlan::score(const int *slot, int left_out_class, double left_out, bool log_joint, double *out,
                        Scratch &w) const {
    if (staging) return score_staged(*this, slot, left_out_class, left_out, log_joint, out, w);
    if (left_out_class >= 0) w.sub[left_out_class] = left_out;
    const double qualified = joint(slot, left_out_class >= 0, left_out, w);
    const bool answered = answer(qualified, log_joint, out, w);
    if (!answered && otherwise) {
        Scratch own(*otherwise);
        otherwise->score(slot, left_out_class, left_out, log_joint, out, own);
    }
    if (left_out_class >= 0) w.sub[left_out_class] = 0;
}

double ScoringPlan::joint(const int *slot, bool leave_out, double left_out, Scratch &w) const {
    const double *sub = w.sub.data();
    std::fill(w.e.begin(), w.e.end(), 0.0);
    if (!sum_of_products || !priors.empty() || !estimate.constant()) class_prior(store, estimate, sub, w.prior.data());
    if (sum_of_products) std::fill(w.m.begin(), w.m.end(), 0.0);
    else class_value(slot, sub, w.prior.data(), w.m.data());
    if (fast) return score_pairwise(*this, slot, leave_out, left_out, w);
    if (sum_of_products) return plain_sum(*this, slot, sub, left_out, w);
    plain_product(*this, slot, sub, left_out, w);
    return 1;
}

bool ScoringPlan::answer(double qualified, bool log_joint, double *out, Scratch &w) const {
    for (int c = 0; c < store.k; ++c) {
        if (!priors.empty()) w.m[c] = w.prior[c] > 0 ? w.m[c] * priors[c] / w.prior[c] : 0;
        if (!class_factor.empty()) w.m[c] *= class_factor[c];
    }
    if (finish(w.m.data(), w.e.data(), store.k, qualified, log_joint, out)) return true;
    class_prior(store, {Smoothing::lidstone, 1, estimate.unit}, w.sub.data(), out);
    for (int c = 0; c < store.k && log_joint; ++c) out[c] = std::log(out[c]);
    return false;
}

bool finish(const double *m, const double *e, int k, double qualified, bool log_joint, double *out) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    bool plain = true, any = false;
    for (int c = 0; c < k; ++c) {
        plain = plain && e[c] == 0;
        if (!(m[c] > 0)) continue;
        any = true;
        top = std::max(top, e[c]);
    }
    if (!any || !(qualified > 0)) {
        std::fill(out, out + k, std::numeric_limits<double>::quiet_NaN());
        return false;
    }
    if (log_joint) {
        for (int c = 0; c < k; ++c) out[c] = std::log(m[c] / qualified) + e[c] * 0.69314718055994530942;
        return true;
    }
    for (int c = 0; c < k; ++c) {
        out[c] = plain ? m[c] : std::ldexp(m[c], int(std::clamp(e[c] - top, -4000.0, 0.0)));
        sum += out[c];
    }
    for (int c = 0; c < k; ++c) out[c] /= sum;
    return true;
}

std::size_t ScoringPlan::n_parts() const { return (members.size() + terms.size()) * std::size_t(store.k); }

// The values of one term for rows (`slots` of each), every `step` numbers. A combination of values is worked out once
// where there are fewer of them than rows.
static void term_of_rows(const ScoringPlan &p, const Term &term, const std::vector<int> &slots, std::size_t step,
                         double *out) {
    const Store &s = p.store;
    const int k = s.k;
    const std::size_t n_rows = slots.size() / std::max(1, s.n);
    std::size_t n_cells = std::size_t(s.n_slots[term.child]);
    for (int i : term.parents) n_cells = std::min(n_cells * std::size_t(s.n_slots[i]), n_rows + 1);
    std::vector<const double *> known(n_cells <= n_rows ? n_cells : 0, nullptr);
    for (std::size_t r = 0; r < n_rows; ++r, out += step) {
        const int *slot = slots.data() + r * std::size_t(s.n);
        std::size_t cell = std::size_t(slot[term.child]);
        for (int i : term.parents) cell = cell * std::size_t(s.n_slots[i]) + std::size_t(slot[i]);
        if (!known.empty() && known[cell]) std::copy_n(known[cell], k, out);
        else if (!term_value(s, p.estimate, p.terms, term, slot, nullptr, 0, out))
            std::fill_n(out, k, std::numeric_limits<double>::quiet_NaN());
        if (!known.empty()) known[cell] = out;
    }
}

void ScoringPlan::parts(const Codes &codes, double *out) const {
    const int k = store.k;
    const std::vector<double> none(k, 0.0);
    std::vector<double> prior(k);
    std::vector<int> slot(std::size_t(codes.n_rows) * std::size_t(store.n));
    class_prior(store, estimate, nullptr, prior.data());
    for (std::int64_t r = 0; r < codes.n_rows; ++r) {
        int *own = slot.data() + r * store.n;
        double *value = out + std::size_t(r) * n_parts();
        slots.read(codes, r, own);
        for (const Member &member : members) {
            if (!joint_value(*this, member, own, none.data(), 0, prior.data(), value))
                std::fill_n(value, k, std::numeric_limits<double>::quiet_NaN());
            value += k;
        }
    }
    out += members.size() * std::size_t(k);
    for (const Term &term : terms) {
        term_of_rows(*this, term, slot, n_parts(), out);
        out += k;
    }
}

}  // namespace tanager::scoring
