#include "member_validation.hpp"

namespace tanager::scoring {

Staging unlimited(const ScoringPlan &plan) {
    Staging staging = *plan.staging;
    staging.limit = int(plan.members.size());
    staging.margin = std::numeric_limits<double>::infinity();
    return staging;
}

MemberValidation::MemberValidation(const ScoringPlan &plan, Scratch &work, double *scores)
    : plan_(plan), work_(work), t_(*work.staged), scores_(scores), k_(plan.store.k),
      n_members_(int(plan.members.size())), limit_(plan.staging->limit), mixer_(unlimited(plan), k_) {}

void MemberValidation::row(const int *slot, int y, bool leave_out, double left_out, double weight, double *out) {
    y_ = y;
    weight_ = weight;
    out_ = out;
    t_.reader.start(slot, leave_out ? y : -1, left_out);
    mixer_.first(t_.reader, t_.progress, t_.total.data(), t_.power.data());
    const bool read_already = read_all_members(slot, leave_out, left_out);
    add_prefix();
    std::copy_n(chances_, k_, t_.naive.data());
    add_answer(alone, 0, t_.naive.data());
    for (int q = 0; q < n_members_; ++q) add_member(q, read_already);

    // Where no member of the plan gave a class a chance, those of the sum that it falls back on lengthen the prefix.
    // They are not the plan's own, and have no column of their own.
    if (read_already) t_.progress.next = mixer_.find(t_.reader, t_.progress, n_members_);
    while (t_.progress.next >= 0) {
        mixer_.step(t_.reader, t_.progress, t_.total.data(), t_.power.data(), t_.value.data(), t_.value_power.data());
        add_prefix();
    }
    // A row with fewer eligible members than there are has the same answer for all longer prefixes.
    for (int more = t_.progress.used + 1; more <= n_members_; ++more) add_answer(prefix, more, chances_);
    if (out_ && (limit_ < 0 || t_.progress.used < limit_)) write_answer(out_);
}

// The joints of all members in one pass over the pairs, or triples, where that can be done: each is read once and
// serves all of its attributes.
bool MemberValidation::read_all_members(const int *slot, bool leave_out, double left_out) {
    if (t_.sweep) return sweep_all_members(slot, leave_out, left_out);
    if (!plan_.fast) return false;
    if (leave_out) work_.sub[y_] = left_out;
    const bool done = pairwise_members(plan_, slot, leave_out, leave_out ? left_out : 0, work_, t_.members.data());
    work_.sub[y_] = 0;
    return done;
}

bool MemberValidation::sweep_all_members(const int *slot, bool leave_out, double left_out) {
    const auto is_zero = [](double x) { return x == 0; };
    t_.sweep->read(slot, leave_out ? y_ : -1, leave_out ? left_out : 0);
    for (int q = 0; q < n_members_; ++q) {
        double *value = &t_.members[std::size_t(q) * k_];
        if (!t_.sweep->member(q, value, t_.value_power.data()))
            std::fill_n(value, k_, std::numeric_limits<double>::quiet_NaN());
        else if (!std::all_of(t_.value_power.begin(), t_.value_power.end(), is_zero))
            return false;  // as a rule all are
    }
    return true;
}

// Member q alone, then together with those before it.
void MemberValidation::add_member(int q, bool read_already) {
    Progress &at = t_.progress;
    double *value = read_already ? &t_.members[std::size_t(q) * k_] : t_.value.data();
    double *value_power = t_.value_power.data();
    const bool eligible = read_already ? !std::isnan(value[0]) : at.level == 0 && at.next == q;
    if (!eligible) return add_answer(alone, 1 + q, t_.naive.data());
    if (read_already) std::fill_n(value_power, k_, 0.0);
    else t_.reader.member(0, q, value, value_power);
    multiply(value, t_.reader.factor(), k_);
    if (are_proportions(value, value_power, k_)) {
        add_answer(alone, 1 + q, value);
    } else {
        const bool possible = finish(value, value_power, k_, 1, false, t_.answer.data());
        add_answer(alone, 1 + q, possible ? t_.answer.data() : t_.naive.data());
    }
    // `add` may change value, so that it comes after the member was looked at alone.
    mixer_.add(at, t_.total.data(), t_.power.data(), value, value_power, plan_.members[q].weight);
    ++at.used;
    if (!read_already) at.next = mixer_.find(t_.reader, at, q + 1);
    add_prefix();
}

// The answer by the members so far.
void MemberValidation::add_prefix() {
    if (are_proportions(t_.total.data(), t_.power.data(), k_)) {
        chances_ = t_.total.data();
    } else {
        write_answer(t_.answer.data());
        chances_ = t_.answer.data();
    }
    add_answer(prefix, t_.progress.used, chances_);
    if (out_ && t_.progress.used == limit_) write_answer(out_);
}

void MemberValidation::write_answer(double *out) const {
    staged_answer(plan_, t_.progress, t_.total.data(), t_.power.data(), t_.reader.sub(), false, out);
}

void MemberValidation::add_answer(Line line, int place, const double *chances) {
    const std::size_t size = std::size_t(n_members_) + 1;
    add_judgement(scores_ + line * size + place, size, judged(chances, k_, plan_.store.classes, y_), weight_);
}

}  // namespace tanager::scoring
