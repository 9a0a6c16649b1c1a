#include "member_validation.hpp"

#include <chrono>

#include "threads.hpp"
#include "validate_blocks.hpp"

namespace tanager::scoring {

namespace {

constexpr int most_threads = 1024;
constexpr double block_nanoseconds = 4e6;  // work between two looks at the clock
constexpr std::int64_t few_rows = 64;      // that are read sooner row by row, where there is a short cut for a row

}  // namespace

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

// The joints of all members in one pass over the pairs, where that can be done: each pair is read once and serves both
// of its attributes.
bool MemberValidation::read_all_members(const int *slot, bool leave_out, double left_out) {
    if (!plan_.fast) return false;
    if (leave_out) work_.sub[y_] = left_out;
    const bool done = pairwise_members(plan_, slot, leave_out, leave_out ? left_out : 0, work_, t_.members.data());
    work_.sub[y_] = 0;
    return done;
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

namespace {

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
    const bool in_blocks = MemberRows::pays(plan) && (!plan.fast || n_rows - begin >= few_rows);
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
