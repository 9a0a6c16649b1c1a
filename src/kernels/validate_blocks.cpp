#include "validate_blocks.hpp"

#include <chrono>
#include <numeric>

#include "interrupt.hpp"
#include "threads.hpp"

namespace tanager::scoring {

BlockValidation::BlockValidation(const ScoringPlan &plan, Scratch &work, double *scores, Judged lines,
                                 std::int64_t n_rows, KeptJoints *joints)
    : plan_(plan), t_(*work.staged), k_(plan.store.k), n_members_(int(plan.members.size())),
      size_(std::size_t(n_members_) + 1), alone_(scores), prefix_(scores + 3 * size_),
      judges_alone_(lines != Judged::together), judges_prefix_(lines != Judged::alone),
      lanes_(lanes_at(chosen_cpu_level())), mixer_(unlimited(plan), k_), members_(plan, n_rows), slot_(plan.store.n),
      rows_(members_.most_rows), labels_(members_.most_rows),
      total_(std::size_t(members_.most_rows) * members_.width()), no_power_(k_), joints_(joints),
      in_order_(members_.most_rows) {
    std::iota(in_order_.begin(), in_order_.end(), 0);
    if (joints_ && lines == Judged::together) kept_places_ = joints_->places(plan_);
    for (auto *v : {&power_, &naive_}) v->resize(std::size_t(members_.most_rows) * k_);
}

void BlockValidation::add(const Batch &rows, std::int64_t begin, std::int64_t end, bool leave_out, double unit) {
    for (std::int64_t from = begin; from < end; from += members_.most_rows) {
        members_.clear();
        all_plain_ = true;
        for (std::int64_t r = from; r < std::min<std::int64_t>(end, from + members_.most_rows); ++r) {
            const int y = rows.labels.at(r);
            if (y >= k_) continue;
            plan_.slots.read(rows.codes, r, slot_.data());
            begin_row(slot_.data(), y, leave_out, unit * std::min(rows.weights[r], 1.0), rows.weights[r]);
        }
        open_kept(from);
        if (!found_) members_.sort();
        for (int q = 0; q < n_members_; ++q) {
            check_interrupt();
            if (found_) add_kept(q);
            else add_member(q);
        }
        for (int r = 0; r < members_.size() && judges_prefix_; ++r) end_row(r, leave_out);
    }
}

// Naive Bayes.
void BlockValidation::begin_row(const int *slot, int y, bool leave_out, double left_out, double weight) {
    const int r = members_.size();
    members_.add(slot, leave_out ? y : -1, left_out);
    Row &row = rows_[r] = Row{};
    labels_[r] = row.y = y;
    row.weight = weight;
    row.left_out = leave_out ? left_out : 0;
    t_.reader.start(slot, leave_out ? y : -1, left_out);
    mixer_.first(t_.reader, row.progress, total(r), power(r));
    row.progress.level = 0;  // where no member is eligible, `end_row` finds the next level
    if (const double *factor = t_.reader.factor()) {
        factor_.resize(std::size_t(members_.most_rows) * k_);
        std::copy_n(factor, k_, &factor_[std::size_t(r) * k_]);
    }
    note(r);
    double *naive = &naive_[std::size_t(r) * k_];
    std::copy_n(chances(r), k_, naive);
    row.naive = judged(naive, k_, plan_.store.classes, y);
    if (judges_alone_) add_judgement(alone_, size_, row.naive, weight);
    if (judges_prefix_) add_judgement(prefix_, size_, row.naive, weight);
}

// Members that are judged alone are kept, if there is room, for those judged together. Powers are not: there are none
// as a rule.
void BlockValidation::open_kept(std::int64_t begin) {
    kept_ = found_ = nullptr;
    if (!joints_ || !members_.plain()) return;
    if (!judges_prefix_) kept_ = joints_->keep(plan_, begin, members_.size(), members_.width());
    else if (!kept_places_.empty()) found_ = joints_->find(begin, members_.size(), members_.width());
}

// Member q alone, then together with those before it, for all rows of the block.
void BlockValidation::add_member(int q) {
    const int width = members_.width();
    const auto pass = [&](int r) {
        if (kept_) kept(kept_, q)[std::size_t(r) * width] = std::numeric_limits<double>::quiet_NaN();
        if (judges_alone_) add_judgement(alone_ + 1 + q, size_, rows_[r].naive, rows_[r].weight);
    };
    const auto keep_and_take = [&](const MemberRows::Joints &some) {
        for (int at = 0; at < some.n_rows && kept_; ++at)
            std::copy_n(some.m + at * width, width, kept(kept_, q) + std::size_t(some.rows[at]) * width);
        take(q, some);
    };
    members_.member(q, keep_and_take, pass);
}

// The same from what was kept.
void BlockValidation::add_kept(int q) {
    const int width = members_.width(), n_rows = members_.size();
    double *values = kept(found_, kept_places_[q]);
    const auto eligible = [&](int r) { return !std::isnan(values[std::size_t(r) * width]); };
    for (int from = 0; from < n_rows;) {
        int to = from;
        while (to < n_rows && to - from < Verdicts::most_rows && eligible(to)) ++to;
        if (to > from) take(q, {&in_order_[from], to - from, values + std::size_t(from) * width, nullptr});
        from = to < n_rows && to - from < Verdicts::most_rows ? to + 1 : to;
    }
}

void BlockValidation::take(int q, const MemberRows::Joints &some) {
    if (!factor_.empty())
        for (int at = 0; at < some.n_rows; ++at)
            multiply(some.m + at * members_.width(), &factor_[std::size_t(some.rows[at]) * k_], k_);
    if (judges_alone_) judge_alone(some, alone_ + 1 + q);
    if (judges_prefix_) mix(some, plan_.members[q].weight);
}

void BlockValidation::judge_alone(const MemberRows::Joints &some, double *scores) {
    const int width = members_.width();
    if (some.e) {
        for (int at = 0; at < some.n_rows; ++at)
            judge_alone(some.rows[at], some.m + at * width, some.e + at * width, scores);
        return;
    }
    lanes_.judge(some.m, some.rows, some.n_rows, width, labels_.data(), nullptr, verdicts_);
    for (int at = 0; at < some.n_rows; ++at) {
        const Judgement found{verdicts_.verdict[at] == Verdict::wrong, verdicts_.share[at]};
        if (verdicts_.verdict[at] == Verdict::unclear)
            judge_alone(some.rows[at], some.m + at * width, no_power_.data(), scores);
        else add_judgement(scores, size_, found, rows_[some.rows[at]].weight);
    }
}

void BlockValidation::judge_alone(int r, const double *value, const double *value_power, double *scores) {
    const Row &row = rows_[r];
    const double *chances = value, *classes = plan_.store.classes;
    bool possible = true;
    if (!are_proportions(value, value_power, k_)) {
        possible = finish(value, value_power, k_, 1, false, t_.answer.data());
        chances = t_.answer.data();
    }
    add_judgement(scores, size_, possible ? judged(chances, k_, classes, row.y) : row.naive, row.weight);
}

// Adds a member to the totals of rows and judges them. The usual sum of joints in few steps; all else as the mixer does
// it.
void BlockValidation::mix(const MemberRows::Joints &some, double weight) {
    const int width = members_.width();
    if (mixer_.mix != Mix::joint || some.e || !all_plain_) {
        for (int at = 0; at < some.n_rows; ++at) {
            std::fill(no_power_.begin(), no_power_.end(), 0.0);  // the mixer may write to it
            mix(some.rows[at], some.m + at * width, some.e ? some.e + at * width : no_power_.data(), weight);
        }
        return;
    }
    lanes_.judge(some.m, some.rows, some.n_rows, width, labels_.data(), total_.data(), verdicts_);
    for (int at = 0; at < some.n_rows; ++at) {
        Row &row = rows_[some.rows[at]];
        row.progress.level_weight += weight;
        row.progress.weight += weight;
        row.progress.any_possible = row.progress.any_possible || any_positive(some.m + at * width, k_);
        ++row.progress.used;
        const Judgement found{verdicts_.verdict[at] == Verdict::wrong, verdicts_.share[at]};
        if (verdicts_.verdict[at] == Verdict::unclear) judge_prefix(some.rows[at]);
        else add_judgement(prefix_ + row.progress.used, size_, found, row.weight);
    }
}

void BlockValidation::mix(int r, double *value, double *value_power, double weight) {
    Row &row = rows_[r];
    mixer_.add(row.progress, total(r), power(r), value, value_power, weight);
    ++row.progress.used;
    note(r);
    judge_prefix(r);
}

void BlockValidation::note(int r) {
    const double *e = power(r);
    rows_[r].plain = std::all_of(e, e + k_, [](double x) { return x == 0; });
    all_plain_ = all_plain_ && rows_[r].plain;
}

// The answer by the members so far.
void BlockValidation::judge_prefix(int r) {
    const Row &row = rows_[r];
    const Judgement found = judged(chances(r), k_, plan_.store.classes, row.y);
    add_judgement(prefix_ + row.progress.used, size_, found, row.weight);
}

// Of the classes after the last step, in proportion.
const double *BlockValidation::chances(int r) {
    if (rows_[r].plain && any_positive(total(r), k_)) return total(r);
    const Row &row = rows_[r];
    std::vector<double> &sub = t_.value;  // what is left out of each class
    std::fill(sub.begin(), sub.end(), 0.0);
    sub[row.y] = row.left_out;
    staged_answer(plan_, row.progress, total(r), power(r), sub.data(), false, t_.answer.data());
    return t_.answer.data();
}

// Where no member gave a class a chance, those of the sum that the plan falls back on lengthen the prefix. A row with
// fewer eligible members than there are has the same answer for all longer prefixes.
void BlockValidation::end_row(int r, bool leave_out) {
    Row &row = rows_[r];
    Progress &at = row.progress;
    if (!at.any_possible) {
        members_.slots(r, slot_.data());
        t_.reader.start(slot_.data(), leave_out ? row.y : -1, row.left_out);
        at.next = mixer_.find(t_.reader, at, n_members_);
        while (at.next >= 0) {
            mixer_.step(t_.reader, at, total(r), power(r), t_.value.data(), t_.value_power.data());
            note(r);
            judge_prefix(r);
        }
    }
    if (at.used >= n_members_) return;
    const Judgement found = judged(chances(r), k_, plan_.store.classes, row.y);
    for (int more = at.used + 1; more <= n_members_; ++more) add_judgement(prefix_ + more, size_, found, row.weight);
}

namespace {

constexpr int most_threads = 1024;
constexpr double block_nanoseconds = 4e6;  // work between two looks at the clock
constexpr std::int64_t few_rows = 64;      // that are read sooner row by row, where there is a short cut for a row

// Row by row.
void validate_rows(const ScoringPlan &plan, Scratch &work, double *scores, const Batch &rows, std::int64_t from,
                   std::int64_t to, bool leave_out, double unit) {
    MemberValidation validation(plan, work, scores);
    std::vector<int> slot(plan.store.n);
    for (std::int64_t r = from; r < to; ++r) {
        check_interrupt(r);
        const int y = rows.labels.at(r);
        if (y >= plan.store.k) continue;
        plan.slots.read(rows.codes, r, slot.data());
        const double weight = rows.weights[r];
        validation.row(slot.data(), y, leave_out, unit * std::min(weight, 1.0), weight);
    }
}

}  // namespace

std::int64_t validate_members(const ScoringPlan &plan, const Batch &rows, double *scores, bool leave_out, double unit,
                              std::int64_t begin, std::int64_t nanoseconds, int n_jobs, Judged lines,
                              KeptJoints *joints) {
    using Clock = std::chrono::steady_clock;
    const std::int64_t n_rows = rows.n_rows();
    const std::size_t size = 6 * (plan.members.size() + 1), n_threads = std::clamp(n_jobs, 1, most_threads);
    const auto began = Clock::now();
    const bool short_cut = plan.fast || TripleSweep::suits(plan);
    const bool in_blocks = MemberRows::pays(plan) && (!short_cut || n_rows - begin >= few_rows);
    std::vector<std::vector<double>> sums(n_threads);
    std::vector<std::unique_ptr<Scratch>> work(n_threads);
    std::vector<std::unique_ptr<BlockValidation>> blocks(n_threads);
    const auto some = [&](std::size_t thread, std::int64_t from, std::int64_t to) {
        if (!work[thread]) {
            work[thread] = std::make_unique<Scratch>(plan);
            sums[thread].resize(size);
            if (in_blocks)
                blocks[thread] = std::make_unique<BlockValidation>(plan, *work[thread], sums[thread].data(), lines,
                                                                   n_rows - begin, joints);
        }
        if (in_blocks) blocks[thread]->add(rows, from, to, leave_out, unit);
        else validate_rows(plan, *work[thread], sums[thread].data(), rows, from, to, leave_out, unit);
    };
    // Under a clock, some rows at a time: a first few, then as many as take a thread some milliseconds.
    std::int64_t at = begin, block = nanoseconds < 0 ? n_rows : std::int64_t(n_threads);
    while (at < n_rows) {
        const std::int64_t size_of_block = std::min(block, n_rows - at);
        const std::int64_t parts = std::clamp<std::int64_t>(size_of_block / 64, 1, std::int64_t(n_threads));
        tanager::run_threads(std::size_t(parts), [&](std::size_t t) {
            const auto share = [&](std::int64_t part) { return at + size_of_block * part / parts; };
            some(t, share(std::int64_t(t)), share(std::int64_t(t) + 1));
        });
        at += size_of_block;
        const double gone = std::chrono::duration<double, std::nano>(Clock::now() - began).count();
        if (nanoseconds >= 0 && gone >= double(nanoseconds)) break;
        const double per_row = gone / double(at - begin), left = double(nanoseconds) - gone;
        block = std::max<std::int64_t>(1, std::int64_t(std::min(block_nanoseconds, left) / per_row));
    }
    for (const auto &part : sums)
        for (std::size_t q = 0; q < part.size(); ++q) scores[q] += part[q];
    return at;
}

}  // namespace tanager::scoring
