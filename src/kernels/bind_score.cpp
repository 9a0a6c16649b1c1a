// Store, Plan and Compiled for Python. All shapes are checked here, once, when an object is made; the kernels trust it.
#include <memory>

#include "bind_anytime.hpp"
#include "compiled.hpp"
#include "marginal.hpp"
#include "threads.hpp"

using namespace tanager::scoring;
using namespace arrays;
using tanager::parallel_rows;

namespace {

constexpr int most_bits = 332;  // of a unit: some 1e100

struct PyStore {
    Store store;
    std::vector<Doubles> keep;  // the arrays behind the pointers
    Slots values;               // for single rows, as are the two below; used with the GIL held
    std::vector<int> slot;
    std::vector<std::int64_t> cell;

    // Divides all cells by a power of two, which is exact; true counts are cells over another unit then.
    void halve(int times) {
        expect(times >= 0, "cells are halved, not doubled");
        const double factor = std::ldexp(1.0, -times);
        for (const Doubles &table : keep)
            for (double *x = table.data(), *end = x + table.size(); x < end; ++x) *x *= factor;
    }

    double *take(const Doubles &a, const std::vector<std::int64_t> &shape, const char *name) {
        bool ok = a.ndim() == shape.size();
        for (std::size_t d = 0; ok && d < shape.size(); ++d) ok = std::int64_t(a.shape(d)) == shape[d];
        expect(ok, std::string("the array of ") + name + " has another shape than the layout says");
        keep.push_back(a);
        return a.data();
    }

    PyStore(const Integers &offsets, const Integers &n_values, const Doubles &classes, const Doubles &singles,
            const std::optional<Doubles> &pairs, const std::vector<std::tuple<int, int, Doubles>> &triples,
            const std::vector<std::pair<std::vector<int>, Doubles>> &families) {
        Store &s = store;
        s.n = int(n_values.shape(0));
        expect(std::int64_t(offsets.shape(0)) == s.n + 1 && offsets(0) == 0, "offsets must be n + 1 numbers from 0");
        expect(classes.ndim() == 1, "class counts must be one row");
        s.k = int(classes.shape(0));
        for (int i = 0; i < s.n; ++i) {
            const std::int64_t room = offsets(i + 1) - offsets(i);
            expect(n_values(i) >= 0 && room >= n_values(i) + 1 && room < (std::int64_t(1) << 24),
                   "attribute " + std::to_string(i) + " has less room than values and the missing slot need");
            s.n_values.push_back(int(n_values(i)));
            s.rooms.push_back(int(room));
        }
        s.offsets.assign(offsets.data(), offsets.data() + s.n + 1);
        s.width = s.offsets[s.n];
        s.classes = take(classes, {s.k}, "class counts");
        s.singles = take(singles, {s.width, s.k}, "single counts");
        if (pairs) s.pairs = take(*pairs, {s.width, s.width, s.k}, "pair counts");
        for (const auto &[anchor, first, cells] : triples) {
            expect(anchor >= 0 && anchor < s.n && first >= 0 && first < s.n, "a triple names an unknown attribute");
            const std::int64_t width = s.width - s.offsets[first];
            s.triples.push_back(
                {anchor, first, take(cells, {width, width, std::int64_t(s.rooms[anchor]) * s.k}, "triples"), width});
        }
        for (const auto &[attributes, cells] : families) {
            std::vector<std::int64_t> shape, strides(attributes.size());
            for (int i : attributes) {
                expect(i >= 0 && i < s.n, "a family names an unknown attribute");
                shape.push_back(s.rooms[i]);
            }
            shape.push_back(s.k);
            std::int64_t stride = s.k;
            for (int q = int(attributes.size()) - 1; q >= 0; --q) {
                strides[q] = stride;
                stride *= s.rooms[attributes[q]];
            }
            s.families.push_back({attributes, strides, take(cells, shape, "a family")});
        }
        values = Slots(s, false);
        slot.resize(s.n);
        cell.resize(s.n);
    }
};

// Learns row after row, straight into the tables. Stops at the first row with a value or class that the layout does not
// know, and says how many rows were done. A missing label skips its row.
std::int64_t learn(PyStore &self, const AnyArray &codes_, const AnyArray &labels_, std::optional<Weights> weights_,
                   double unit) {
    Store &s = self.store;
    const Codes codes = as_codes(codes_, s.n), labels = as_labels(labels_, codes.n_rows);
    const double *weights = as_weights(weights_, codes.n_rows);
    const Slots slots(s, false);
    std::vector<int> slot(s.n);
    std::vector<std::int64_t> cell(s.n);
    nb::gil_scoped_release release;
    for (std::int64_t r = 0; r < codes.n_rows; ++r) {
        const int y = labels.at(r, 0);
        if (y == labels.marker()) continue;
        if (y >= s.k || !codes.read(r, slots, slot.data())) return r;
        learn_row(s, slot.data(), y, unit * (weights ? weights[r] : 1), cell.data());
    }
    return codes.n_rows;
}

// The same for a single row: false, and nothing learned, where something is not known.
bool learn_one(PyStore &self, const AnyArray &codes_, int y, double weight) {
    Store &s = self.store;
    const Codes codes = as_row(codes_, s.n);
    if (y < 0 || y >= s.k || !codes.read(0, self.values, self.slot.data())) return false;
    learn_row(s, self.slot.data(), y, weight, self.cell.data());
    return true;
}

// Takes rows out again, each by the weight that it was added with, times its unit. Stops like learn.
std::int64_t forget(PyStore &self, const AnyArray &codes_, const AnyArray &labels_, const Weights &raw_) {
    Store &s = self.store;
    const Codes codes = as_codes(codes_, s.n), labels = as_labels(labels_, codes.n_rows);
    const double *raw = as_weights(raw_, codes.n_rows);
    const Slots slots(s, false);
    std::vector<int> slot(s.n);
    std::vector<std::int64_t> cell(s.n);
    nb::gil_scoped_release release;
    for (std::int64_t r = 0; r < codes.n_rows; ++r) {
        const int y = labels.at(r, 0);
        if (y == labels.marker()) continue;
        if (y >= s.k || !codes.read(r, slots, slot.data())) return r;
        forget_row(s, slot.data(), y, raw[r], cell.data());
    }
    return codes.n_rows;
}

// The same for a single row: false, and nothing taken out, where something is not known.
bool forget_one(PyStore &self, const AnyArray &codes_, int y, double raw) {
    Store &s = self.store;
    const Codes codes = as_row(codes_, s.n);
    if (y < 0 || y >= s.k || !codes.read(0, self.values, self.slot.data())) return false;
    forget_row(s, self.slot.data(), y, raw, self.cell.data());
    return true;
}

// The rows that leave a stream: those counted earlier, oldest first, and those of the stream itself, last. `raw` is the
// weight that each was added with, times its unit; `gone` says how many leave after each row of the stream.
using Queue = std::tuple<AnyArray, AnyArray, nb::ndarray<nb::device::cpu>>;

struct Leaving {
    Codes codes, labels;
    double *raw = nullptr;
    const std::int64_t *gone = nullptr;
    std::int64_t front = 0, before = 0;  // the next to leave; how many rows are older than the stream

    Leaving(const std::optional<Queue> &queue, const std::optional<Integers> &gone_, std::int64_t n_rows, int n) {
        expect(queue.has_value() == gone_.has_value(), "a queue and the rows that leave it go together");
        if (!queue) return;
        const auto &[codes_, labels_, raw_] = *queue;
        codes = as_codes(codes_, n);
        labels = as_labels(labels_, codes.n_rows);
        expect(raw_.ndim() == 1 && std::int64_t(raw_.shape(0)) == codes.n_rows && raw_.dtype() == nb::dtype<double>() &&
                   (codes.n_rows < 2 || raw_.stride(0) == 1),
               "the queue must have one weight per row, float64 without gaps: they are written, too");
        raw = static_cast<double *>(raw_.data());
        before = codes.n_rows - n_rows;
        expect(before >= 0, "the queue must end with the rows of the stream");
        expect(std::int64_t(gone_->shape(0)) == n_rows, "there must be one number of leaving rows per row");
        gone = gone_->data();
        for (std::int64_t r = 0, left = before; r < n_rows; ++r) {
            expect(gone[r] >= 0 && gone[r] <= left + 1, "more rows leave the queue than were learned");
            left += 1 - gone[r];
        }
    }
    void note(std::int64_t r, double weight) {
        if (raw) raw[before + r] = weight;
    }
    // After row r: takes out of the counts what leaves.
    void leave(Store &s, std::int64_t r, const Slots &slots, Scratch &w, bool half) {
        for (std::int64_t end = gone ? front + gone[r] : front; front < end; ++front) {
            const int y = labels.at(front, 0);
            if (y >= s.k) continue;  // without a label it was not counted
            codes.read(front, slots, w.slot.data());
            forget_row(s, w.slot.data(), y, raw[front], w.cell.data(), half);
        }
    }
    void halve(std::int64_t r, int times) {
        for (double *x = raw + front, *end = raw + before + r; raw && x < end; ++x) *x = std::ldexp(*x, -times);
    }
};

const double *as_fade(const std::optional<Weights> &fade, std::int64_t n_rows) {
    if (!fade) return nullptr;
    expect(std::int64_t(fade->shape(0)) == n_rows, "there must be one factor to fade by per row");
    for (std::int64_t r = 0; r < n_rows; ++r)
        expect((*fade)(r) > 0 && (*fade)(r) <= 1, "a factor to fade by is above 0 and at most 1");
    return fade->data();
}

// Marks as missing, in `out`, every value that only repeats a more special one of the same row: x_i where some x_j was
// seen more than `least` times and never without x_i. Of two equivalent values the later is dropped.
void resolve(PyStore &self, const AnyArray &codes_, nb::ndarray<nb::device::cpu> out_, double least, double unit,
             std::optional<Weights> left_out_, int n_jobs) {
    const Store &s = self.store;
    expect(s.pairs != nullptr, "subsumption resolution needs pair counts");
    const Codes codes = as_codes(codes_, s.n);
    const double *left_out = as_weights(left_out_, codes.n_rows);
    expect(out_.ndim() == 2 && std::int64_t(out_.shape(0)) == codes.n_rows && std::int64_t(out_.shape(1)) == s.n &&
               out_.dtype() == codes_.dtype(),
           "the output must have the shape and type of the codes");
    const std::int64_t row_step = out_.stride(0), column_step = out_.stride(1);
    void *out = out_.data();
    const Slots slots(s, false);
    nb::gil_scoped_release release;
    parallel_rows(codes.n_rows, n_jobs, [&](std::int64_t begin, std::int64_t end) {
        const int n = s.n, k = s.k;
        std::vector<int> slot(n);
        const auto total = [k](const double *cells) {
            double sum = 0;
            for (int c = 0; c < k; ++c) sum += cells[c];
            return sum;
        };
        for (std::int64_t r = begin; r < end; ++r) {
            codes.read(r, slots, slot.data());
            const double minus = left_out ? left_out[r] : 0;
            for (int i = 0; i < n; ++i) {
                bool drop = false;
                for (int j = 0; j < n && !drop && slot[i] != s.missing_slot(i); ++j) {
                    if (j == i || slot[j] == s.missing_slot(j)) continue;
                    const double *row_i = s.pairs + (s.offsets[i] + slot[i]) * s.width * k;
                    const double *row_j = s.pairs + (s.offsets[j] + slot[j]) * s.width * k;
                    const double both = total(row_i + (s.offsets[j] + slot[j]) * k);
                    const double of_j =
                        total(s.singles + (s.offsets[j] + slot[j]) * k) - total(row_j + s.missing_cell(i));
                    const double of_i =
                        total(s.singles + (s.offsets[i] + slot[i]) * k) - total(row_i + s.missing_cell(j));
                    if (of_j - minus <= least || both < of_j - 1e-9 * unit) continue;
                    drop = both < of_i - 1e-9 * unit || j < i;
                }
                const std::int64_t where = r * row_step + i * column_step;
                const int code = drop ? codes.marker() : codes.at(r, i);
                if (codes.wide) static_cast<std::uint16_t *>(out)[where] = std::uint16_t(code);
                else static_cast<std::uint8_t *>(out)[where] = std::uint8_t(code);
            }
        }
    });
}

struct PyPlan {
    std::shared_ptr<PyStore> store;
    std::shared_ptr<Plan> shared;
    Plan &plan;
    std::unique_ptr<Scratch> single;  // for `one`, which keeps the GIL
    std::unique_ptr<Marginal> marginal;

    PyPlan(std::shared_ptr<PyStore> s, const std::string &kind, double strength, double unit, bool smooth_unseen,
           bool fast, double first)
        : store(std::move(s)),
          shared(std::make_shared<Plan>(
              store->store, Estimate{kind_of(kind), strength, unit, first < 0 ? strength : first}, smooth_unseen)),
          plan(*shared) {
        plan.fast = fast;
        for (int i = 0; i < plan.store.n; ++i)
            expect(plan.slots.limit[i] < plan.store.rooms[i],
                   "smoothing unseen values needs a spare slot for attribute " + std::to_string(i));
    }
    static Smoothing kind_of(const std::string &kind) {
        if (kind == "lidstone") return Smoothing::lidstone;
        if (kind == "m") return Smoothing::m_estimate;
        if (kind == "bdeu") return Smoothing::bdeu;
        if (kind == "prior") return Smoothing::prior_counts;
        expect(kind == "backoff", "unknown kind of smoothing");
        return Smoothing::back_off;
    }
    void check_set(const std::vector<int> &set, int child) const {
        for (std::size_t q = 0; q < set.size(); ++q) {
            expect(set[q] >= 0 && set[q] < plan.store.n && set[q] != child,
                   "a parent set names an impossible attribute");
            for (std::size_t u = 0; u < q; ++u) expect(set[u] != set[q], "a parent set names an attribute twice");
        }
    }
    void check_family(int child, const std::vector<int> &parents) const {
        expect(child >= 0 && child < plan.store.n, "a parent set belongs to an unknown attribute");
        check_set(parents, child);
    }
    void product(const std::vector<int> &child, const std::vector<std::vector<int>> &parents,
                 const std::vector<double> &weight, const std::vector<int> &class_parents,
                 const std::vector<std::vector<int>> &only, const std::vector<std::pair<int, std::vector<int>>> &free) {
        expect(child.size() == parents.size() && child.size() == weight.size(), "one weight per parent set");
        expect(only.empty() || only.size() == child.size(), "one set of classes per parent set, or none at all");
        for (std::size_t t = 0; t < child.size(); ++t) check_family(child[t], parents[t]);
        for (const auto &classes : only)
            for (int c : classes) expect(c >= 0 && c < plan.store.k, "a parent set applies to an unknown class");
        check_set(class_parents, -1);
        for (const auto &[i, set] : free) check_family(i, set);
        plan.set_class_parents(class_parents);
        plan.set_product(child, parents, weight, only);
        plan.free = free;
    }
    void sum(const std::vector<std::vector<int>> &sets, const std::vector<double> &weight, double min_count) {
        expect(sets.size() == weight.size(), "one weight per member");
        for (const auto &set : sets) {
            expect(set.size() == 1 || set.size() == 2, "a member has one or two super-parents");
            check_set(set, -1);
        }
        expect(plan.store.pairs || plan.store.n < 2, "a sum of products needs pair counts");
        plan.set_sum(sets, weight, min_count);
    }
    void otherwise(const PyPlan &other) {
        expect(other.store == store && &other != this, "the plan to fall back on must read the same counts");
        plan.otherwise = other.shared;
        single.reset();
    }
    // Naive Bayes first, then member after member.
    void staged(const PyPlan &naive, const std::string &mix, int limit, double margin) {
        expect(naive.store == store, "the plan to begin with must read the same counts");
        set_in_turn(plan, naive.shared, mix, limit, margin);
        single.reset();
    }
    PyRun run(const AnyArray &codes, const std::optional<Tables> &tables, std::optional<int> limit,
              std::optional<double> margin) const {
        return make_run(store, shared, codes, tables, limit, margin);
    }
    std::int64_t validate_members(const AnyArray &codes, const AnyArray &labels, std::optional<Weights> weights,
                                  const Doubles &judged, bool leave_out, double unit, std::int64_t begin,
                                  std::int64_t nanoseconds, int n_jobs) {
        return judge_rows(plan, codes, labels, weights, judged, leave_out, unit, begin, nanoseconds, n_jobs);
    }
    void classes(const std::vector<double> &priors, const std::vector<double> &factor) {
        const std::size_t k = plan.store.k;
        expect((priors.empty() || priors.size() == k) && (factor.empty() || factor.size() == k),
               "one number per class");
        plan.priors = priors;
        plan.class_factor = factor;
        single.reset();
    }
    // Calls score(slots, own class or -1, weight to leave out, answer) for every row; `make` makes one for each thread.
    template <class Make>
    void each_row(const AnyArray &codes_, const Doubles &out_, const std::optional<AnyArray> &labels_,
                  const std::optional<Weights> &weights_, double unit, int n_jobs, const Make &make) {
        const Store &s = plan.store;
        const Codes codes = as_codes(codes_, s.n);
        double *out = as_output(out_, codes.n_rows, s.k);
        Codes labels;
        if (labels_) labels = as_labels(*labels_, codes.n_rows);
        const double *weights = as_weights(weights_, codes.n_rows);
        nb::gil_scoped_release release;
        plan.refresh_missing();
        parallel_rows(
            codes.n_rows, n_jobs,
            [&](std::int64_t begin, std::int64_t end) {
                auto score = make();
                std::vector<int> slot(s.n);
                for (std::int64_t r = begin; r < end; ++r) {
                    codes.read(r, plan.slots, slot.data());
                    int y = labels.data ? labels.at(r, 0) : -1;
                    if (y >= s.k) y = -1;
                    score(slot.data(), y, y < 0 ? 0 : unit * (weights ? weights[r] : 1), out + r * s.k);
                }
            },
            256);
    }
    void score(const AnyArray &codes, const Doubles &out, bool log_joint, std::optional<AnyArray> labels,
               std::optional<Weights> weights, double unit, int n_jobs) {
        each_row(codes, out, labels, weights, unit, n_jobs, [&] {
            return [&, w = Scratch(plan)](const int *slot, int y, double left_out, double *answer) mutable {
                plan.score(slot, y, left_out, log_joint, answer, w);
            };
        });
    }
    // The same with missing values summed out; NaN in rows where that is too much work.
    void score_marginal(const AnyArray &codes, const Doubles &out, bool log_joint, std::optional<AnyArray> labels,
                        std::optional<Weights> weights, double unit, int n_jobs) {
        bool single = !plan.sum_of_products;
        for (const Group &g : plan.groups) single = single && g.terms.size() + (g.base_weight > 0) <= 1;
        expect(single, "missing values are summed out of single networks only");
        if (!marginal) marginal = std::make_unique<Marginal>(plan);
        each_row(codes, out, labels, weights, unit, n_jobs, [&] {
            return [&, w = Marginal::Work(*marginal)](const int *slot, int y, double left_out, double *answer) mutable {
                if (!marginal->score(slot, y, left_out, log_joint, answer, w))
                    std::fill_n(answer, plan.store.k, std::numeric_limits<double>::quiet_NaN());
            };
        });
    }
    // The posterior of a single row.
    nb::list one(const AnyArray &codes_) {
        const Codes codes = as_row(codes_, plan.store.n);
        if (!single) single = std::make_unique<Scratch>(plan);
        plan.refresh_missing();
        codes.read(0, plan.slots, single->slot.data());
        double few[16];
        std::vector<double> many(plan.store.k > 16 ? plan.store.k : 0);
        double *out = plan.store.k > 16 ? many.data() : few;
        plan.score(single->slot.data(), -1, 0, false, out, *single);
        nb::list answer;
        for (int c = 0; c < plan.store.k; ++c) answer.append(out[c]);
        return answer;
    }
    void rescale(double unit) {
        expect(unit > 0 && std::isfinite(unit), "the unit must be positive");
        plan.rescale(unit);
    }
    // Before row r all counts fade by a factor: the unit grows. Where it would grow too large, all cells and the raw
    // weights of rows still to leave are halved; says how many times.
    int fade_all(double factor, double &unit, Leaving &leaving, std::int64_t r) {
        const int size = std::ilogb(unit), shrink = std::ilogb(factor), bits = size - shrink;
        if (bits > most_bits) {
            store->halve(bits);
            leaving.halve(r, bits);
            unit = std::ldexp(unit, -size) / std::ldexp(factor, -shrink);
        } else {
            unit /= factor;
        }
        plan.rescale(unit);
        return bits > most_bits ? bits : 0;
    }
    // Test, then train: the posterior of each row (or of another one in its place) from the rows before it; then all
    // counts fade, the row is learned, and the oldest rows leave. With turns, members are judged by the row before it
    // is learned, and what was judged before fades by `keep`. Stops like learn. Says how many rows were done, the unit
    // at the end, and how many times all cells were halved.
    std::tuple<std::int64_t, double, int> stream(const AnyArray &codes_, const AnyArray &labels_,
                                                 std::optional<Weights> weights_, const Doubles &out_, double unit,
                                                 std::optional<AnyArray> answered_, std::optional<Weights> fade_,
                                                 std::optional<Queue> queue_, std::optional<Integers> gone_,
                                                 std::optional<Doubles> judged_, double keep) {
        Store &s = plan.store;
        const Codes codes = as_codes(codes_, s.n), labels = as_labels(labels_, codes.n_rows);
        const double *weights = as_weights(weights_, codes.n_rows), *fade = as_fade(fade_, codes.n_rows);
        double *out = as_output(out_, codes.n_rows, s.k);
        Codes answered;
        if (answered_) answered = as_codes(*answered_, s.n);
        expect(!answered_ || answered.n_rows == codes.n_rows, "as many rows are answered as are learned");
        double *judged = judged_ ? as_judged(plan, *judged_) : nullptr;
        expect(keep > 0 && keep <= 1, "member scores are kept by a factor above 0 and at most 1");
        Leaving leaving(queue_, gone_, codes.n_rows, s.n);
        rescale(unit);
        nb::gil_scoped_release release;
        plan.refresh_missing();
        const Slots values(s, false);  // an unseen value cannot be learned here
        // Half of the pairs is enough as long as nothing is missing; worth it where the rows outweigh one mirroring.
        struct Half {
            Store &s;
            bool on;
            void end() {
                if (on) mirror_pairs(s);
                on = false;
            }
            ~Half() { end(); }
        } half{s, s.pairs && plan.reads_half() && double(codes.n_rows) * s.n * s.n > 4.0 * s.width * s.width};
        Scratch w(plan);
        std::vector<int> other(answered_ ? s.n : 0);  // slots of the row that is answered
        int halved = 0;
        for (std::int64_t r = 0; r < codes.n_rows; ++r) {
            const int y = labels.at(r, 0);
            if ((y >= s.k && y != labels.marker()) || !codes.read(r, values, w.slot.data())) return {r, unit, halved};
            if (answered_) answered.read(r, plan.slots, other.data());
            if (w.turn) w.turn->reader.half = half.on;
            const bool judges = judged && y != labels.marker();
            const bool told =
                judges && !answered_ && !std::isfinite(plan.turn->margin);  // judging finds the answer too
            if (judges) {
                for (double *x = judged, *end = judged + judged_->size(); keep < 1 && x < end; ++x) *x *= keep;
                Judge{plan, w, judged}.row(w.slot.data(), y, false, 0, weights ? weights[r] : 1,
                                           told ? out + r * s.k : nullptr);
            }
            if (!told) plan.score(answered_ ? other.data() : w.slot.data(), -1, 0, false, out + r * s.k, w);
            if (fade && fade[r] < 1) halved += fade_all(fade[r], unit, leaving, r);
            const double weight = y == labels.marker() ? 0 : unit * (weights ? weights[r] : 1);
            leaving.note(r, weight);
            if (y != labels.marker()) {
                const bool news = plan.note_missing(w.slot.data());
                learn_row(s, w.slot.data(), y, weight, w.cell.data(), half.on);
                if (news && !plan.reads_half()) half.end();
            }
            leaving.leave(s, r, values, w, half.on);
        }
        return {codes.n_rows, unit, halved};
    }
    void parts(const AnyArray &codes_, const Doubles &out_) {
        const Codes codes = as_codes(codes_, plan.store.n);
        expect(codes.n_rows == 1, "parts are told for one row");
        std::vector<int> slot(plan.store.n);
        std::vector<double> values;
        codes.read(0, plan.slots, slot.data());
        plan.parts(slot.data(), values);
        expect(out_.size() == values.size(), "the output must have one row per member and term");
        std::copy(values.begin(), values.end(), out_.data());
    }
    // P(x_child | y, parents) of one term for every row, less the row itself where labels are given; NaN where missing.
    void term(int number, const AnyArray &codes_, const Doubles &out_, std::optional<AnyArray> labels_,
              std::optional<Weights> weights_, double unit) {
        const Store &s = plan.store;
        const Codes codes = as_codes(codes_, s.n);
        double *out = as_output(out_, codes.n_rows, s.k);
        expect(number >= 0 && number < int(plan.terms.size()), "there is no such term");
        Codes labels;
        if (labels_) labels = as_labels(*labels_, codes.n_rows);
        const double *weights = as_weights(weights_, codes.n_rows);
        const Term &term = plan.terms[number];
        std::vector<int> slot(s.n), members = term.parents;  // no other column is looked at
        members.push_back(term.child);
        std::vector<double> sub(s.k, 0.0);
        nb::gil_scoped_release release;
        for (std::int64_t r = 0; r < codes.n_rows; ++r) {
            const int y = labels.data && labels.at(r, 0) < s.k ? labels.at(r, 0) : -1;
            const double left_out = y < 0 ? 0 : unit * (weights ? weights[r] : 1);
            if (y >= 0) sub[y] = left_out;
            for (int i : members) {
                const int code = codes.at(r, i);
                slot[i] = code < plan.slots.limit[i] ? code : plan.slots.missing[i];
            }
            if (!term_value(s, plan.estimate, plan.terms, term, slot.data(), sub.data(), left_out, out + r * s.k))
                std::fill_n(out + r * s.k, s.k, std::numeric_limits<double>::quiet_NaN());
            if (y >= 0) sub[y] = 0;
        }
    }
    std::vector<std::pair<int, std::vector<int>>> terms() const {
        std::vector<std::pair<int, std::vector<int>>> out;
        for (const Term &t : plan.terms) out.emplace_back(t.child, t.parents);
        return out;
    }
};

Compiled compile(const PyPlan &self, bool leave_out) {
    const Plan &p = self.plan;
    expect(!leave_out || (p.estimate.constant() && p.estimate.strength > 0 && p.priors.empty()),
           "to leave rows out, pseudo-counts must be constant and positive, and no priors given");
    return Compiled(p, leave_out ? p.estimate.unit : 0);
}

void compiled_score(const Compiled &self, const AnyArray &codes_, const Doubles &out_, bool log_joint, int n_jobs,
                    std::optional<AnyArray> labels_) {
    const Codes codes = as_codes(codes_, self.n);
    double *out = as_output(out_, codes.n_rows, self.answers);
    Codes labels;
    expect(labels_.has_value() == (self.left_out > 0), "labels go with tables that leave rows out, and only with them");
    if (labels_) labels = as_labels(*labels_, codes.n_rows);
    for (std::int64_t r = 0; r < codes.n_rows && labels_; ++r)
        expect(labels.at(r, 0) < self.answers, "a label is none of the classes");
    nb::gil_scoped_release release;
    parallel_rows(codes.n_rows, n_jobs, [&](std::int64_t begin, std::int64_t end) {
        self.score(codes, labels_ ? &labels : nullptr, begin, end, log_joint, out);
    });
}

}  // namespace

void bind_score(nb::module_ &m) {
    nb::class_<PyStore>(m, "Store", "The arrays of a JointCounts, checked once.")
        .def(nb::init<const Integers &, const Integers &, const Doubles &, const Doubles &,
                      const std::optional<Doubles> &, const std::vector<std::tuple<int, int, Doubles>> &,
                      const std::vector<std::pair<std::vector<int>, Doubles>> &>(),
             nb::arg("offsets"), nb::arg("n_values"), nb::arg("classes"), nb::arg("singles"), nb::arg("pairs").none(),
             nb::arg("triples"), nb::arg("families"))
        .def("learn", &learn, nb::arg("codes"), nb::arg("labels"), nb::arg("weights").none(), nb::arg("unit") = 1.0)
        .def("learn_one", &learn_one, nb::arg("codes"), nb::arg("label"), nb::arg("weight") = 1.0)
        .def("forget", &forget, nb::arg("codes"), nb::arg("labels"), nb::arg("raw"))
        .def("forget_one", &forget_one, nb::arg("codes"), nb::arg("label"), nb::arg("raw"))
        .def("halve", &PyStore::halve, nb::arg("times"))
        .def("resolve", &resolve, nb::arg("codes"), nb::arg("out"), nb::arg("least"), nb::arg("unit") = 1.0,
             nb::arg("left_out").none() = nb::none(), nb::arg("n_jobs") = 1);
    nb::class_<PyPlan>(m, "ScoringPlan", "How a classifier reads the counts of a Store.")
        .def(nb::init<std::shared_ptr<PyStore>, const std::string &, double, double, bool, bool, double>(),
             nb::arg("store"), nb::arg("kind"), nb::arg("strength"), nb::arg("unit") = 1.0,
             nb::arg("smooth_unseen") = false, nb::arg("fast") = true, nb::arg("first") = -1.0)
        .def("product", &PyPlan::product, nb::arg("child"), nb::arg("parents"), nb::arg("weight"),
             nb::arg("class_parents") = std::vector<int>{}, nb::arg("only") = std::vector<std::vector<int>>{},
             nb::arg("free") = std::vector<std::pair<int, std::vector<int>>>{})
        .def("sum", &PyPlan::sum, nb::arg("sets"), nb::arg("weight"), nb::arg("min_count"))
        .def("otherwise", &PyPlan::otherwise, nb::arg("plan"))
        .def("staged", &PyPlan::staged, nb::arg("naive"), nb::arg("mix"), nb::arg("limit") = -1,
             nb::arg("margin") = std::numeric_limits<double>::infinity())
        .def("run", &PyPlan::run, nb::arg("codes"), nb::arg("tables").none() = nb::none(),
             nb::arg("limit").none() = nb::none(), nb::arg("margin").none() = nb::none())
        .def("validate_members", &PyPlan::validate_members, nb::arg("codes"), nb::arg("labels"),
             nb::arg("weights").none(), nb::arg("member_scores").noconvert(), nb::arg("leave_out"),
             nb::arg("unit") = 1.0, nb::arg("begin") = 0, nb::arg("nanoseconds") = -1, nb::arg("n_jobs") = 1)
        .def("classes", &PyPlan::classes, nb::arg("priors"), nb::arg("factor"))
        .def("score", &PyPlan::score, nb::arg("codes"), nb::arg("out"), nb::arg("log_joint") = false,
             nb::arg("labels").none() = nb::none(), nb::arg("weights").none() = nb::none(), nb::arg("unit") = 1.0,
             nb::arg("n_jobs") = 1)
        .def("score_marginal", &PyPlan::score_marginal, nb::arg("codes"), nb::arg("out"), nb::arg("log_joint") = false,
             nb::arg("labels").none() = nb::none(), nb::arg("weights").none() = nb::none(), nb::arg("unit") = 1.0,
             nb::arg("n_jobs") = 1)
        .def("one", &PyPlan::one, nb::arg("codes"))
        .def("stream", &PyPlan::stream, nb::arg("codes"), nb::arg("labels"), nb::arg("weights").none(),
             nb::arg("out").noconvert(), nb::arg("unit") = 1.0, nb::arg("answered").none() = nb::none(),
             nb::arg("fade").noconvert().none() = nb::none(), nb::arg("queue").noconvert().none() = nb::none(),
             nb::arg("gone").noconvert().none() = nb::none(), nb::arg("member_scores").noconvert().none() = nb::none(),
             nb::arg("keep") = 1.0)
        .def("rescale", &PyPlan::rescale, nb::arg("unit"))
        .def("parts", &PyPlan::parts, nb::arg("codes"), nb::arg("out"))
        .def("term", &PyPlan::term, nb::arg("number"), nb::arg("codes"), nb::arg("out"),
             nb::arg("labels").none() = nb::none(), nb::arg("weights").none() = nb::none(), nb::arg("unit") = 1.0)
        .def("terms", &PyPlan::terms)
        .def(
            "n_cells", [](const PyPlan &p, bool leave_out) { return Compiled::n_cells(p.plan, leave_out); },
            nb::arg("leave_out") = false)
        .def("n_reads", [](const PyPlan &p) { return Compiled::n_reads(p.plan); })
        .def("compile", &compile, nb::arg("leave_out") = false, nb::call_guard<nb::gil_scoped_release>());
    nb::class_<Compiled>(m, "Compiled", "A plan with every probability worked out.")
        .def("score", &compiled_score, nb::arg("codes"), nb::arg("out"), nb::arg("log_joint") = false,
             nb::arg("n_jobs") = 1, nb::arg("labels").none() = nb::none())
        .def_prop_ro("nbytes", [](const Compiled &c) { return c.tables.size() * sizeof(double); });
    bind_run(m);
}
