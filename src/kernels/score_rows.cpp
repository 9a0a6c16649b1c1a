#include "score_rows.hpp"

#include "departures.hpp"
#include "lanes.hpp"
#include "member_rows.hpp"
#include "triple_sweep.hpp"

namespace tanager::scoring {

namespace {

constexpr std::int64_t kBlock = 32;  // rows from which on it pays to go member by member

// A sum of products in blocks of rows, member by member: by `MemberRows`, or where no row is left out by `Departures`.
template <class Members>
class SumInBlocks {
  public:
    SumInBlocks(const ScoringPlan &plan, const Codes &codes, const LeftOut &left_out, bool log_joint,
                std::int64_t n_rows)
        : plan_(plan), codes_(codes), left_out_(left_out), log_joint_(log_joint), k_(plan.store.k),
          members_(plan, n_rows), work_(plan), slot_(plan.store.n), m_(std::size_t(members_.most_rows) * k_),
          e_(m_.size()), weight_(members_.most_rows) {}

    void score(std::int64_t begin, std::int64_t end, double *out) {
        for (std::int64_t from = begin; from < end; from += members_.most_rows) {
            const std::int64_t to = std::min<std::int64_t>(end, from + members_.most_rows);
            check_interrupt();
            add_up(from, to);
            for (std::int64_t r = from; r < to; ++r) answer(r, int(r - from), out + r * k_);
        }
    }

  private:
    const ScoringPlan &plan_;
    const Codes &codes_;
    const LeftOut &left_out_;
    const bool log_joint_;
    const int k_;
    Members members_;
    Scratch work_;
    std::vector<int> slot_;
    std::vector<double> m_, e_, weight_;  // of each row: the sum, and the weight of the members that were eligible

    double weight(std::int64_t r) const { return left_out_.class_of(r, k_) < 0 ? 0 : left_out_.weight(r); }
    void add_up(std::int64_t from, std::int64_t to) {
        members_.clear();
        for (auto *v : {&m_, &e_, &weight_}) std::fill(v->begin(), v->end(), 0.0);
        for (std::int64_t r = from; r < to; ++r) {
            plan_.slots.read(codes_, r, slot_.data());
            if constexpr (std::is_same_v<Members, Departures>) members_.add(slot_.data());
            else members_.add(slot_.data(), left_out_.class_of(r, k_), weight(r));
        }
        if constexpr (std::is_same_v<Members, Departures>) members_.sum(m_.data(), e_.data(), weight_.data());
        else add_members();
    }
    void add_members() {
        members_.sort();
        double of_all = 0;  // whole weights of members, of which nearly all rows have all; the sums are exact
        for (int q = 0; q < int(plan_.members.size()); ++q) {
            check_interrupt();
            const double own = plan_.members[q].weight,
                         whole = own > 0 && own < 0x1p20 && own == std::floor(own) ? own : 0;
            of_all += whole;
            const auto take = [&](const MemberRows::Joints &some) {
                const int k = k_, width = members_.width();
                for (int at = 0; at < some.n_rows; ++at) {
                    const std::size_t r = std::size_t(some.rows[at]), from = std::size_t(at) * width;
                    const double *m = some.m + from;
                    double *sum = &m_[r * k];
                    if (whole == 0) weight_[r] += own;
                    if (some.e) add_scaled(m, some.e + from, k, sum, &e_[r * k]);
                    else if (k == 2) (Lanes<2>::load(sum) + Lanes<2>::load(m)).store(sum);
                    else
                        for (int c = 0; c < k; ++c) sum[c] += m[c];
                }
            };
            members_.member(q, take, [&](int row) { weight_[std::size_t(row)] -= whole; });
        }
        for (double &weight : weight_) weight += of_all;
    }
    void answer(std::int64_t r, int at, double *out) {
        const int y = left_out_.class_of(r, k_);
        if (y >= 0) work_.sub[y] = weight(r);
        std::copy_n(&m_[std::size_t(at) * k_], k_, work_.m.data());
        std::copy_n(&e_[std::size_t(at) * k_], k_, work_.e.data());
        if (!plan_.priors.empty()) class_prior(plan_.store, plan_.estimate, work_.sub.data(), work_.prior.data());
        const bool answered = plan_.answer(weight_[at], log_joint_, out, work_);
        if (y >= 0) work_.sub[y] = 0;
        if (answered || !plan_.otherwise) return;
        members_.slots(at, slot_.data());
        Scratch own(*plan_.otherwise);
        plan_.otherwise->score(slot_.data(), y, weight(r), log_joint_, out, own);
    }
};

}  // namespace

void score_rows(ScoringPlan &plan, const Codes &codes, const LeftOut &left_out, bool log_joint, int n_jobs,
                double *out) {
    plan.refresh_missing();
    const auto in_blocks = [&]<class Members>() {
        const auto rows = [&](std::int64_t begin, std::int64_t end) {
            SumInBlocks<Members>(plan, codes, left_out, log_joint, end - begin).score(begin, end, out);
        };
        parallel_rows(codes.n_rows, n_jobs, rows, 256);
    };
    if (!left_out.labels && Departures::pays(plan, codes.n_rows)) return in_blocks.operator()<Departures>();
    const bool blocks = codes.n_rows >= kBlock && !plan.staging && MemberRows::pays(plan);
    if (blocks && (left_out.labels || !TripleSweep::suits(plan))) return in_blocks.operator()<MemberRows>();
    each_row(plan, codes, left_out, n_jobs, out, [&] {
        return [&, w = Scratch(plan)](const int *slot, int y, double minus, double *answer) mutable {
            plan.score(slot, y, minus, log_joint, answer, w);
        };
    });
}

bool beats_tables(const ScoringPlan &plan, std::int64_t n_rows, bool left_out) {
    if (!left_out && Departures::pays(plan, n_rows)) return true;
    const bool many = plan.store.k > MemberRows::few_classes || left_out;  // few classes are quick to read from tables
    return plan.fast && many && n_rows >= 2 * kBlock && !plan.staging && MemberRows::pays(plan);
}

namespace {

// The first row with the same values of some columns and the same class, where there are few combinations of these.
class FirstAlike {
  public:
    FirstAlike(const Store &s, const std::vector<int> &columns, std::int64_t n_rows, bool weighted)
        : s_(s), columns_(columns) {
        double size = s.k + 1;
        for (int i : columns) size *= s.n_slots[i];
        // What is left of a cell depends on the weight of the row, too.
        if (!weighted && size <= 1024 + 8.0 * double(n_rows)) first_.assign(std::size_t(size), -1);
    }
    // That row, or -1: then it is this one from now on.
    std::int64_t find(const int *slot, int y, std::int64_t r) {
        if (first_.empty()) return -1;
        std::size_t at = std::size_t(y + 1);
        for (int i : columns_) at = at * std::size_t(s_.n_slots[i]) + std::size_t(slot[i]);
        if (first_[at] >= 0) return first_[at];
        first_[at] = r;
        return -1;
    }

  private:
    const Store &s_;
    const std::vector<int> &columns_;
    std::vector<std::int64_t> first_;
};

}  // namespace

void term_values(const ScoringPlan &plan, const Term &term, const Codes &codes, const LeftOut &left_out, double *out) {
    const Store &s = plan.store;
    std::vector<int> slot(s.n), members = term.parents;  // no other column is looked at
    members.push_back(term.child);
    std::vector<double> sub(s.k, 0.0);
    bool weighted = false;
    for (std::int64_t r = 1; r < codes.n_rows && left_out.weights; ++r)
        weighted = weighted || left_out.weights[r] != left_out.weights[0];
    FirstAlike alike(s, members, codes.n_rows, weighted);
    for (std::int64_t r = 0; r < codes.n_rows; ++r) {
        const int y = left_out.class_of(r, s.k);
        for (int i : members) {
            const int code = codes.at(r, i);
            slot[i] = code < plan.slots.limit[i] ? code : plan.slots.missing[i];
        }
        double *own = out + r * s.k;
        if (const std::int64_t same = alike.find(slot.data(), y, r); same >= 0) {
            std::copy_n(out + same * s.k, s.k, own);
            continue;
        }
        const double minus = y < 0 ? 0 : left_out.weight(r);
        if (y >= 0) sub[y] = minus;
        if (!term_value(s, plan.estimate, plan.terms, term, slot.data(), sub.data(), minus, own))
            std::fill_n(own, s.k, std::numeric_limits<double>::quiet_NaN());
        if (y >= 0) sub[y] = 0;
    }
}

}  // namespace tanager::scoring
