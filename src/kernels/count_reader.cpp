#include "count_reader.hpp"

#include "lanes.hpp"

namespace tanager::scoring {

std::shared_ptr<CountReader> member_reader(const ScoringPlan &p) {
    const bool helps = !p.member_children.empty() && p.shared_totals && p.estimate.constant();
    return helps ? std::make_shared<CountReader>(p) : nullptr;
}

CountReader::CountReader(const ScoringPlan &plan)
    : plan_(plan), naive_(plan.staging ? plan.staging->naive.get() : nullptr) {
    for (const ScoringPlan *p = &plan; p && p->sum_of_products; p = p->otherwise.get()) levels_.push_back(p);
    const std::size_t n = plan.store.n, k = plan.store.k;
    quick_ = plan.shared_totals && plan.estimate.constant();
    for (std::size_t i = 0; i < n; ++i) least_cell_ = std::min(least_cell_, plan.cells[i]);
    for (double total : plan.totals) most_total_ = std::max(most_total_, total);
    safe_.reserve(n);
    careful_.reserve(n);
    cell_.resize(n);
    own_.resize(n);
    child_.resize(n);
    for (auto *v : {&sub_, &count_, &once_, &flat_, &prior_}) v->resize(k);
    reciprocal_.resize(plan.totals.size() * k);
    if (!plan.estimate.constant()) pseudo_.resize(n * k);
    if (!plan.priors.empty() || !plan.class_factor.empty()) factor_.resize(k);
}

void CountReader::start(const int *slot, int left_out_class, double left_out) {
    const Store &s = plan_.store;
    const int k = s.k;
    slot_ = slot;
    found_ = nullptr;
    if (left_out_class_ >= 0) sub_[left_out_class_] = 0;
    left_out_class_ = left_out_class;
    left_out_ = left_out_class < 0 ? 0 : left_out;
    if (left_out_class >= 0) sub_[left_out_class] = left_out;
    rows_ = -left_out_;
    for (int c = 0; c < k; ++c) rows_ += s.classes[c];
    safe_.clear();
    careful_.clear();
    for (int i = 0; i < s.n; ++i) {
        cell_[i] = (s.offsets[i] + slot[i]) * k;
        if (slot[i] != s.missing_slot(i)) (quick_ && !plan_.ever_missing[i] ? safe_ : careful_).push_back(i);
    }
    const double unit = plan_.estimate.unit;
    if (quick_) {  // a factor is at most 1, and at least a pseudo-count over all rows
        const int bits = std::ilogb(at_least_zero(rows_) + unit * most_total_) - std::ilogb(unit * least_cell_) + 2;
        calm_ = std::max(1, 600 / std::max(1, bits));
    }
    if (!plan_.priors.empty() || !plan_.estimate.constant()) class_prior(s, plan_.estimate, sub(), prior_.data());
    if (!plan_.estimate.constant()) prepare_pseudo();
    for (int c = 0; c < k && !factor_.empty(); ++c) {
        factor_[c] = 1;
        if (!plan_.priors.empty()) factor_[c] = prior_[c] > 0 ? plan_.priors[c] / prior_[c] : 0;
        if (!plan_.class_factor.empty()) factor_[c] *= plan_.class_factor[c];
    }
}

// What the estimates of each attribute present lean on where that depends on the row.
void CountReader::prepare_pseudo() {
    const Store &s = plan_.store;
    const double strength = plan_.estimate.unit * plan_.estimate.strength;
    for (int i : careful_) {
        double *out = &pseudo_[std::size_t(i) * s.k];
        if (plan_.estimate.kind == Smoothing::prior_counts) {
            std::fill_n(out, s.k, strength * marginal(s, plan_.estimate, i, slot_, left_out_));
            continue;
        }
        alone(i, out);
        for (int c = 0; c < s.k; ++c) out[c] *= strength;
    }
}

int CountReader::next(int level, int from) {
    const ScoringPlan &p = *levels_[level];
    for (int q = from; q < int(p.members.size()); ++q) {
        found_ = member_counts(p, p.members[q], slot_, left_out_);
        if (found_) return q;
    }
    return -1;
}

// P(x_i | y)
void CountReader::alone(int i, double *out) const {
    const Term &term = naive_->terms[naive_->groups[i].base];
    term_value(plan_.store, naive_->estimate, naive_->terms, term, slot_, sub(), left_out_, out);
}

void CountReader::naive(double *m, double *e) {
    switch (plan_.store.k) {
        case 2: return read_naive<2>(m, e);
        case 3: return read_naive<3>(m, e);
        case 4: return read_naive<4>(m, e);
        default: return read_naive<0>(m, e);
    }
}

// As a member without a super-parent: its counts are those of the classes.
template <int Fixed>
void CountReader::read_naive(double *m, double *e) {
    const Store &s = plan_.store;
    const int k = Fixed ? Fixed : s.k;
    std::fill_n(e, k, 0.0);
    class_prior(s, plan_.estimate, sub(), m);
    for (int c = 0; c < k; ++c) count_[c] = at_least_zero(s.classes[c] - sub_[c]);
    n_found_ = 0;
    for (int i : safe_) {
        child_[n_found_] = i;
        own_[n_found_++] = s.singles + cell_[i];
    }
    multiply_safe<Fixed>(plan_, m, e);
    int since = 0;
    for (int i : careful_) {
        alone(i, once_.data());
        for (int c = 0; c < k; ++c) m[c] *= once_[c];
        if (++since % 4 == 0) steady(m, e, k);
    }
}

void CountReader::member(int level, int q, double *m, double *e) {
    const ScoringPlan &p = *levels_[level];
    switch (p.store.k) {
        case 2: return read_member<2>(p, q, m, e);
        case 3: return read_member<3>(p, q, m, e);
        case 4: return read_member<4>(p, q, m, e);
        default: return read_member<0>(p, q, m, e);
    }
}

template <int Fixed>
void CountReader::read_member(const ScoringPlan &p, int q, double *m, double *e) {
    const Store &s = p.store;
    const Member &member = p.members[q];
    const int k = Fixed ? Fixed : s.k;
    const double unit = p.estimate.unit;
    const double *cells = found_ ? found_ : member_counts(p, member, slot_, left_out_), *minus = sub();
    found_ = nullptr;
    for (int c = 0; c < k; ++c) {
        count_[c] = at_least_zero(cells[c] - minus[c]);
        e[c] = 0;
    }
    int since = 0;
    const auto carefully = [&](int i) {
        careful_child<Fixed>(p, q, i, once_.data());
        for (int c = 0; c < k; ++c) m[c] *= once_[c];
        if (++since % 4 == 0) steady(m, e, k);
    };
    if (quick_ && (p.fast || !p.member_children.empty())) {
        bool complete = true;
        for (int i : member.attributes) complete = complete && !p.ever_missing[i];
        const double present = complete ? at_least_zero(rows_) : present_weight(s, member, left_out_);
        const double scale = member.weight / (present + unit * member.total);
        for (int c = 0; c < k; ++c) m[c] = (count_[c] + unit * member.cell) * scale;
        find_children(p, q);
        multiply_safe<Fixed>(p, m, e);
    } else {
        joint_value(p, member, slot_, minus, left_out_, prior_.data(), m);
        for (int c = 0; c < k; ++c) m[c] *= member.weight;
        for (int i : safe_)
            if (p.child_of(i, member)) carefully(i);
    }
    for (int i : careful_)
        if (p.child_of(i, member)) carefully(i);
}

// Where the counts of a member with each of its children are.
void CountReader::find_children(const ScoringPlan &p, int q) {
    const Store &s = p.store;
    const auto &parents = p.members[q].attributes;
    n_found_ = 0;
    if (parents.size() == 1 && s.pairs) {
        const int parent = parents[0];
        const double *row = s.pairs + cell_[parent] * s.width, *column = s.pairs + cell_[parent];
        for (int i : safe_) {
            if (i == parent || !p.is_child[i]) continue;
            child_[n_found_] = i;
            own_[n_found_++] = half && i > parent ? column + cell_[i] * s.width : row + cell_[i];
        }
        return;
    }
    const ChildPlace *places = p.member_children[q].data();
    for (int i : safe_) {
        if (!p.child_of(i, p.members[q])) continue;
        const ChildPlace &at = places[p.place_of(i, p.members[q])];
        child_[n_found_] = i;
        own_[n_found_++] = child_cells(at, parents) + slot_[i] * at.step;
    }
}

// The counts of a member with one of its children, from the child's first slot on.
const double *CountReader::child_cells(const ChildPlace &at, const std::vector<int> &parents) const {
    const double *cells = at.cells + slot_[parents[0]] * at.strides[0];
    for (std::size_t u = 1; u < parents.size(); ++u) cells += slot_[parents[u]] * at.strides[u];
    return cells;
}

// Multiplies by (N(x_i, x_s, y) + pseudo-count) / (N(x_s, y) + total) for every child that was found; N(x_s, y) is in
// count_.
template <int Fixed>
void CountReader::multiply_safe(const ScoringPlan &p, double *m, double *e) {
    const int k = Fixed ? Fixed : p.store.k;
    for (std::size_t u = 0; u < p.totals.size() && n_found_ > 0; ++u) {
        const double total = p.estimate.unit * p.totals[u];
        for (int c = 0; c < k; ++c) reciprocal_[u * k + c] = 1 / (count_[c] + total);
    }
    if (left_out_class_ >= 0) multiply_safe<Fixed, true>(p, m, e);
    else multiply_safe<Fixed, false>(p, m, e);
}

template <int Fixed, bool LeaveOut>
void CountReader::multiply_safe(const ScoringPlan &p, double *__restrict m, double *__restrict e) {
    const int k = Fixed ? Fixed : p.store.k, size = n_found_;
    const double unit = p.estimate.unit, *minus = sub();
    const double *const *own = own_.data();
    const auto pseudo = [&](int t) { return unit * p.cells[child_[t]]; };
    const auto reciprocal = [&](int t) { return &reciprocal_[std::size_t(p.total_of[child_[t]]) * k]; };
    for (int from = 0; from < size; from += calm_) {
        const int to = std::min(size, from + calm_);
        int t = from;
        if constexpr (Fixed > 0) {
            using L = Lanes<Fixed>;
            const L less = L::load(minus);
            const auto factor = [&](int u, L add, L by) {
                L seen = L::load(own[u]);
                if (LeaveOut) seen = (seen - less).at_least_zero();
                return (seen + add) * by;
            };
            // Products side by side: a multiplication takes longer than it takes to start the next.
            L v[4] = {L::load(m), L::all(1), L::all(1), L::all(1)};
            if (p.same_cells && p.totals.size() == 1) {
                const L add = L::all(unit * p.cells[0]), by = L::load(reciprocal_.data());
                for (; t + 4 <= to; t += 4)
                    for (int u = 0; u < 4; ++u) v[u] = v[u] * factor(t + u, add, by);
            }
            for (; t + 4 <= to; t += 4)
                for (int u = 0; u < 4; ++u)
                    v[u] = v[u] * factor(t + u, L::all(pseudo(t + u)), L::load(reciprocal(t + u)));
            for (; t < to; ++t) v[0] = v[0] * factor(t, L::all(pseudo(t)), L::load(reciprocal(t)));
            ((v[0] * v[1]) * (v[2] * v[3])).store(m);
        } else {
            const auto seen = [minus](const double *cells, int c) {
                return LeaveOut ? at_least_zero(cells[c] - minus[c]) : cells[c];
            };
            for (; t + 2 <= to; t += 2) {
                const double *a = own[t], *b = own[t + 1], *by = reciprocal(t), *by2 = reciprocal(t + 1);
                const double add = pseudo(t), add2 = pseudo(t + 1);
                for (int c = 0; c < k; ++c) m[c] *= ((seen(a, c) + add) * by[c]) * ((seen(b, c) + add2) * by2[c]);
            }
            if (t < to) {
                const double *a = own[t], *by = reciprocal(t), add = pseudo(t);
                for (int c = 0; c < k; ++c) m[c] *= (seen(a, c) + add) * by[c];
            }
        }
        if (to < size || !careful_.empty()) steady(m, e, k);
    }
}

// P(x_i | y, x_s) of a child that was missing at times, or whose pseudo-counts depend on the row or the parent.
template <int Fixed>
void CountReader::careful_child(const ScoringPlan &p, int q, int i, double *out) {
    const Store &s = p.store;
    const auto &parents = p.members[q].attributes;
    if (!p.member_terms.empty() || !p.member_children.empty()) {
        const int place = p.place_of(i, p.members[q]);
        if (!quick_ || p.member_children.empty()) {
            term_value(s, p.estimate, p.terms, p.terms[p.member_terms[q][place]], slot_, sub(), left_out_, out);
            return;
        }
        const ChildPlace &at = p.member_children[q][place];
        const double *cells = child_cells(at, parents), *own = cells + slot_[i] * at.step;
        std::fill(flat_.begin(), flat_.end(), p.estimate.unit * p.cells[i]);
        const double *lost = cells + s.missing_slot(i) * at.step;
        careful<Fixed>(p, i, parents[0], own, lost, count_.data(), flat_.data(), sub(), out);
        return;
    }
    const double *pseudo = flat_.data(), *row = s.pairs + cell_[parents[0]] * s.width;
    if (p.estimate.constant()) std::fill(flat_.begin(), flat_.end(), p.estimate.unit * p.cells[i]);
    else pseudo = &pseudo_[std::size_t(i) * s.k];
    careful<Fixed>(p, i, parents[0], row + cell_[i], row + s.missing_cell(i), count_.data(), pseudo, sub(), out);
}

}  // namespace tanager::scoring
