#include "staged_run.hpp"

#include <atomic>

#include "staged_score.hpp"
#include "table_reader.hpp"
#include "threads.hpp"

namespace tanager::scoring {

namespace {

constexpr int members_at_once = 4;  // that a row may get at one visit, under a clock or from large tables
constexpr int no_limit = std::numeric_limits<int>::max();

// Tables that do not fit into the cache: each is used for several rows before the next one is fetched.
bool is_large(const CountReader &) { return false; }
template <int Fixed>
bool is_large(const TableReader<Fixed> &reader) {
    return reader.large();
}

// As many members of a row side by side as can be; the others follow one by one.
void add_side_by_side(CountReader &, const Mixer &, Progress &, double *, double *, int) {}
template <int Fixed>
void add_side_by_side(TableReader<Fixed> &reader, const Mixer &mixer, Progress &p, double *total, double *power,
                      int until) {
    reader.side_by_side(mixer, p, total, power, until);
}

}  // namespace

// Looks at the clock now and then: about every ten microseconds, and more often where less is left. A look before every
// step would take as long as the step where tables are small.
struct Run::Watch {
    bool on = false;
    Clock::time_point end{}, last{};
    int waiting = 1, waited = 0;  // steps until the next look, and since the last

    bool up() {
        if (!on || --waiting > 0) return false;
        constexpr double often = 1e-5;
        const auto now = Clock::now();
        const double left = std::chrono::duration<double>(end - now).count();
        const double step = waited ? std::chrono::duration<double>(now - last).count() / waited : 0;
        last = now;
        waiting = waited = step > 0 ? std::clamp(int(std::min(often, left / 2) / step), 1, 1000) : 1;
        return left <= step;
    }
};

Run::Run(std::shared_ptr<ScoringPlan> plan, const Staging &staging, const Codes &codes,
         std::shared_ptr<const Compiled> tables, std::shared_ptr<const Compiled> naive)
    : n_rows(codes.n_rows), n_classes(plan->store.k), plan_(std::move(plan)), staging_(staging),
      tables_(std::move(tables)), naive_(std::move(naive)) {
    const std::size_t n = plan_->store.n, size = std::size_t(n_rows) * n_classes;
    slot_.reset(new int[std::size_t(n_rows) * n]);
    total_.reset(new double[size]);
    power_.reset(new double[size]);
    progress_.reset(new Progress[n_rows]);
    Slots slots = plan_->slots;
    if (tables_) slots.missing = slots.limit;  // tables have no spare slots
    for (std::int64_t r = 0; r < n_rows; ++r) slots.read(codes, r, slot(r));
}

// The rows of one thread, and how they go on.
template <class Reader>
class Run::Part {
  public:
    Part(Run &run, Reader &reader, std::int64_t begin, std::int64_t end, const Watch &watch)
        : run_(run), reader_(reader), begin_(begin), end_(end), watch_(watch), mixer_(run.staging_, run.n_classes),
          value_(run.n_classes), value_power_(run.n_classes) {}

    // True while some row could get another member.
    bool go_on(std::int64_t steps) {
        // Under a clock all rows get naive Bayes before any gets a member: whatever happens, each has an answer.
        // Without one, a row is begun and ended while its values are in the cache.
        if (watch_.on && !run_.begun_)
            for (std::int64_t r = begin_; r < end_; ++r) begin_row(r);
        int reached = 0;
        if (run_.begun_ || watch_.on) {
            reached = least_used();
            if (reached == no_limit) return false;
        }
        const int last = steps < 0 || steps > no_limit - reached ? no_limit : reached + int(steps);
        if (watch_.on) add_in_time(reached, last);
        else add_all(reached, last);
        return least_used() < no_limit;
    }

  private:
    Run &run_;
    Reader &reader_;
    const std::int64_t begin_, end_;
    Watch watch_;
    const Mixer mixer_;
    std::vector<double> value_, value_power_;
    std::int64_t current_ = -1;  // the row that the reader has

    Progress &progress(std::int64_t r) { return run_.progress_[r]; }
    bool is_open(std::int64_t r, int until) { return progress(r).next >= 0 && progress(r).used < until; }
    void read(std::int64_t r) {
        if (r != current_) reader_.start(run_.slot(r));
        current_ = r;
    }
    void begin_row(std::int64_t r) {
        read(r);
        mixer_.first(reader_, progress(r), run_.total(r), run_.power(r));
    }
    // How many members all rows that are not done have at least; no_limit where all are done.
    int least_used() {
        int least = no_limit;
        for (std::int64_t r = begin_; r < end_; ++r)
            if (progress(r).next >= 0) least = std::min(least, progress(r).used);
        return least;
    }
    // Adds members to some rows until each has so many. False where there is nothing left to do, or no time.
    bool round(std::int64_t from, std::int64_t to, int until) {
        bool left = false;
        for (std::int64_t r = from; r < to; ++r) {
            if (is_open(r, until)) {
                if (watch_.up()) return false;
                read(r);
                add_side_by_side(reader_, mixer_, progress(r), run_.total(r), run_.power(r), until);
            }
            while (is_open(r, until))
                mixer_.step(reader_, progress(r), run_.total(r), run_.power(r), value_.data(), value_power_.data());
            left = left || progress(r).next >= 0;
        }
        return left;
    }
    // Rounds over all rows until the time is up, so that no row is far ahead of the others.
    void add_in_time(int reached, int last) {
        watch_.end -= run_.answering(begin_, end_);
        auto before = Clock::now();
        for (int by = 1; reached < last;) {
            const int until = std::min(last, reached + by);
            if (!round(begin_, end_, until)) break;
            // Several members at a visit take less time than as many visits. But when the time is up in such a round,
            // rows differ by as many members: so only while there is time for at least six members more.
            const auto now = Clock::now();
            by = 6 * ((now - before) / (until - reached)) < watch_.end - now ? members_at_once : 1;
            before = now;
            reached = until;
        }
    }
    // Row after row to its end; from large tables 32 rows at a time, some members each, so that what was fetched of a
    // table serves all of them.
    void add_all(int reached, int last) {
        const bool large = is_large(reader_);
        const std::int64_t block = large ? 32 : 1;
        for (std::int64_t from = begin_; from < end_; from += block) {
            check_interrupt(from - begin_);
            const std::int64_t to = std::min(end_, from + block);
            for (std::int64_t r = from; r < to && !run_.begun_; ++r) begin_row(r);
            int until = large ? reached : last;
            while (round(from, to, until) && until < last) until += std::min(members_at_once, last - until);
        }
    }
};

bool Run::advance(std::int64_t steps, std::int64_t nanoseconds, int n_jobs) {
    const auto began = Clock::now();
    plan_->refresh_missing();
    Watch watch;
    watch.on = nanoseconds >= 0;
    constexpr std::int64_t years = std::int64_t(1) << 60;
    if (watch.on) watch.end = began + std::chrono::nanoseconds(std::min(nanoseconds, years));
    std::atomic<bool> more{false};
    const auto work = [&](auto &reader, std::int64_t begin, std::int64_t end) {
        Part part(*this, reader, begin, end, watch);
        if (part.go_on(steps)) more = true;
    };
    tanager::parallel_rows(
        n_rows, n_jobs,
        [&](std::int64_t begin, std::int64_t end) {
            if (!tables_) {
                CountReader reader(*plan_);
                return work(reader, begin, end);
            }
            const auto read = [&](auto reader) { work(reader, begin, end); };
            switch (tables_->stride) {
                case 2: return read(TableReader<2>(*plan_, *tables_, *naive_));
                case 4: return read(TableReader<4>(*plan_, *tables_, *naive_));
                case 8: return read(TableReader<8>(*plan_, *tables_, *naive_));
                default: return read(TableReader<0>(*plan_, *tables_, *naive_));
            }
        },
        1024);
    begun_ = true;
    return more;
}

// How long it will take to write the answers, measured on some of them: twice, as other work may come between.
Run::Clock::duration Run::answering(std::int64_t begin, std::int64_t end) const {
    const std::int64_t some = std::min<std::int64_t>(end - begin, 32);
    std::vector<double> out(n_classes);
    auto least = Clock::duration::max();
    for (int time = 0; time < 2; ++time) {
        const auto began = Clock::now();
        for (std::int64_t r = begin; r < begin + some; ++r) answer_row(r, false, out.data());
        least = std::min(least, Clock::now() - began);
    }
    return least * n_rows / std::max<std::int64_t>(some, 1);
}

void Run::answer_row(std::int64_t r, bool log_joint, double *out) const {
    staged_answer(*plan_, progress_[r], total(r), power(r), nullptr, log_joint, out);
}

void Run::answer(bool log_joint, double *out) const {
    for (std::int64_t r = 0; r < n_rows; ++r) answer_row(r, log_joint, out + r * n_classes);
}

}  // namespace tanager::scoring
