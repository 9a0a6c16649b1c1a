// Naive Bayes and the members of a sum from compiled tables, one at a time or several side by side.
#pragma once
#include "compiled.hpp"
#include "count_reader.hpp"

namespace tanager::scoring {

// Reads a row from tables. The members of a sum that the plan falls back on are read from the counts.
template <int Fixed>
class TableReader {
  public:
    TableReader(const ScoringPlan &plan, const Compiled &tables, const Compiled &naive)
        : plan_(plan), t_(tables), naive_(naive), counts_(plan), stored_(plan.store.n), cell_(plan.store.n),
          members_(tables.members.size()), value_(tables.stride), power_(tables.stride) {}

    void start(const int *slot) {
        slot_ = slot;
        at_counts_ = false;
        const int width = Fixed ? Fixed : t_.stride;
        for (int i = 0; i < t_.n; ++i) cell_[i] = (t_.offsets[i] + slot[i]) * width;
    }
    int n_levels() const { return counts_.n_levels(); }
    double weight(int level, int q) const { return counts_.weight(level, q); }
    const double *factor() const { return t_.factor.empty() ? nullptr : t_.factor.data(); }
    int next(int level, int from) {
        if (level > 0) return counts().next(level, from);
        for (int q = from; q < int(t_.members.size()); ++q)
            if (table(q)) return q;
        return -1;
    }
    void naive(double *m, double *e) {  // whose tables stand one behind the other, as the parts of a member's do
        multiply_cells<Fixed>(naive_, naive_.tables.data(), cell_.data(), value_.data(), power_.data());
        for (int c = 0; c < t_.k; ++c) m[c] = value_[c] * naive_.start[c];
        std::copy_n(power_.data(), t_.k, e);
    }
    void member(int level, int q, double *m, double *e) {
        if (level > 0) return counts().member(level, q, m, e);
        multiply_cells<Fixed>(t_, table(q), cell_.data(), value_.data(), power_.data());
        std::copy_n(value_.data(), t_.k, m);
        std::copy_n(power_.data(), t_.k, e);
    }
    // Whether tables are so large that each is to be read for several rows before the next one.
    bool large() const { return t_.tables.size() * sizeof(double) > (1 << 20); }
    // Several members side by side, with the classes in registers: those up to `until` in all. False where that cannot
    // be done: there are exponents to look after, or a row may be done earlier.
    bool side_by_side(const Mixer &mixer, Progress &p, double *total, double *power, int until) {
        if constexpr (Fixed == 0) return false;
        else {
            if (t_.n > t_.calm || t_.n == 0 || mixer.may_stop_early() || p.level > 0) return false;
            if (mixer.limit >= 0) until = std::min(until, mixer.limit);
            const int n_members = int(t_.members.size());
            int size = 0, q = p.next;
            for (; q < n_members && p.used + size < until; ++q)
                if (const double *found = table(q)) members_[size++] = {found, t_.members[q].weight};
            if (mixer.mix == Mix::posterior) add_posteriors(p, total, size);
            else mixer.add(p, total, power, value_.data(), power_.data(), sum_members(size));
            p.used += size;
            p.next = mixer.find(*this, p, q);
            return true;
        }
    }

  private:
    const ScoringPlan &plan_;
    const Compiled &t_, &naive_;
    CountReader counts_;
    const int *slot_ = nullptr;
    bool at_counts_ = false;  // whether counts_ has this row
    std::vector<int> stored_;
    std::vector<std::int64_t> cell_;
    std::vector<std::pair<const double *, double>> members_;  // tables and weights of some
    std::vector<double> value_, power_;

    // Four members at a time, and those that are left over one by one: their products, to `take` with their numbers.
    template <class Take>
    void products(int size, const Take &take) const {
        using L = Lanes<Fixed>;
        const std::int64_t *cell = cell_.data();
        const auto *table = members_.data();
        int q = 0;
        for (; q + 4 <= size; q += 4) {
            L v[4];
            for (int u = 0; u < 4; ++u) v[u] = L::load(table[q + u].first + cell[0]);
            for (int i = 1; i < t_.n; ++i)
                for (int u = 0; u < 4; ++u) v[u] = v[u] * L::load(table[q + u].first + cell[i]);
            for (int u = 0; u < 4; ++u) take(q + u, v[u]);
        }
        for (; q < size; ++q) {
            L v = L::load(table[q].first + cell[0]);
            for (int i = 1; i < t_.n; ++i) v = v * L::load(table[q].first + cell[i]);
            take(q, v);
        }
    }
    // Their sum into value_; returns their weight.
    double sum_members(int size) {
        using L = Lanes<Fixed>;
        L sum = L::all(0);
        double weight = 0;
        products(size, [&](int q, L v) {
            sum = sum + v;
            weight += members_[q].second;
        });
        sum.store(value_.data());
        std::fill(power_.begin(), power_.end(), 0.0);
        multiply(value_.data(), factor(), t_.k);
        return weight;
    }
    void add_posteriors(Progress &p, double *total, int size) {
        using L = Lanes<Fixed>;
        L sum = L::all(0), factors = L::all(1);
        if (factor()) {
            std::copy_n(factor(), t_.k, value_.data());
            factors = L::load(value_.data());
        }
        products(size, [&](int q, L v) {  // lanes beyond the classes hold zeros
            if (factor()) v = v * factors;
            double all = 0;
            for (int c = 0; c < Fixed; ++c) all += v[c];
            if (!(all > 0)) return;
            const double weight = members_[q].second;
            sum = sum + v * L::all(weight / all);
            p.weight += weight;
            p.any_possible = true;
        });
        sum.store(value_.data());
        for (int c = 0; c < t_.k; ++c) total[c] += value_[c];
    }
    const double *table(int q) const {
        return member_table(t_, t_.members[q], slot_, t_.offsets[t_.n] * (Fixed ? Fixed : t_.stride));
    }
    CountReader &counts() {
        if (!at_counts_) {
            for (int i = 0; i < t_.n; ++i)
                stored_[i] = slot_[i] < plan_.slots.limit[i] ? slot_[i] : plan_.slots.missing[i];
            counts_.start(stored_.data());
            at_counts_ = true;
        }
        return counts_;
    }
};

}  // namespace tanager::scoring
