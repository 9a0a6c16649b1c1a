#include "naive_half_lives.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "estimate.hpp"
#include "interrupt.hpp"
#include "scoring_plan.hpp"

namespace tanager::naive_half_lives {

namespace {

constexpr int most_bits = 332;  // of a unit: some 1e100; products of cells stay far from overflow

// Answers single rows, by the numbers and in the order of a plan that answers for one member (score_pairwise), so that
// a ladder says to the bit what its members say alone.
class RowScorer {
  public:
    explicit RowScorer(const Members &members)
        : members_(members), lanes_(members.lanes()), present_(members.n), learned_(members.n) {
        for (auto *v : {&unit_, &start_, &value_, &power_}) v->resize(lanes_);
        own_.resize(2 * members.n_classes);
        rescale();
    }
    // Units have changed.
    void rescale() {
        for (int l = 0; l < lanes_; ++l) {
            unit_[l] = members_.units[l % members_.n_members];
            start_[l] = unit_[l] * members_.pseudo;
        }
    }
    // Finds the cells of row r: those of values that have come, to answer it, and all of them, to learn it. False where
    // a value has no slot.
    bool read(const Codes &codes, std::int64_t r) {
        return codes.wide ? read_as<std::uint16_t>(codes, r) : read_as<std::uint8_t>(codes, r);
    }
    void score(double *out) {
        prior();
        int since = 0;
        for (int i = 0; i < members_.n; ++i) {
            if (present_[i] < 0) continue;
            multiply(i);
            if (++since % 4 == 0) steady();
        }
        for (int m = 0; m < members_.n_members; ++m) finish(m, out + m * members_.n_classes);
    }
    // Adds the row that was read; values that it is the first to have are there from now on.
    void learn(int y, double weight) {
        const int n_members = members_.n_members;
        double raw[64];
        for (int from = 0; from < n_members; from += 64) {  // mostly once
            const int size = std::min(64, n_members - from), first = y * n_members + from;
            for (int m = 0; m < size; ++m) raw[m] = members_.units[from + m] * weight;
            add(members_.classes + first, raw, size);
            for (std::int64_t slot : learned_) add(members_.singles + slot * lanes_ + first, raw, size);
        }
        for (int i = 0; i < members_.n; ++i) {
            const std::int64_t code = learned_[i] - members_.offsets[i];
            if (learned_[i] < members_.offsets[i + 1] - 1 && code >= members_.n_values[i])
                members_.n_values[i] = code + 1;
        }
    }

  private:
    const Members &members_;
    const int lanes_;
    std::vector<std::int64_t> present_, learned_;  // slots: -1 where the cell is missing or new; that it is counted in
    std::vector<double> unit_, start_, value_, power_;  // per lane
    std::vector<double> own_;                           // of one member: values and powers of two per class

    template <class Code>
    bool read_as(const Codes &codes, std::int64_t r) {
        const std::byte *row = codes.cell(r);
        const std::int64_t *offsets = members_.offsets;
        bool fits = true;
        for (int i = 0; i < members_.n; ++i, row += codes.column_step) {
            const Code code = load<Code>(row);
            const std::int64_t slot = offsets[i] + code, gap = offsets[i + 1] - 1;
            const bool missing = code == std::numeric_limits<Code>::max();
            fits &= missing || slot < gap;
            learned_[i] = missing ? gap : std::min(slot, gap);
            present_[i] = !missing && code < members_.n_values[i] ? slot : -1;
        }
        return fits;
    }
    static void add(double *cells, const double *raw, int size) {
        for (int m = 0; m < size; ++m) cells[m] += raw[m];
    }
    // P(y) of every member; see class_prior.
    void prior() {
        const int n_members = members_.n_members, n_classes = members_.n_classes;
        for (int m = 0; m < n_members; ++m) {
            double total = 0;
            for (int l = m; l < lanes_; l += n_members) total += members_.classes[l];
            const double all = total + start_[m] * n_classes;
            for (int l = m; l < lanes_; l += n_members) value_[l] = (members_.classes[l] + start_[l]) / all;
        }
        std::fill(power_.begin(), power_.end(), 0.0);
    }
    // Times P(x_i | y) over the rows that have the column.
    void multiply(int i) {
        const double *__restrict seen = members_.singles + present_[i] * lanes_;
        const double *__restrict lost = members_.singles + (members_.offsets[i + 1] - 1) * lanes_;
        const double *__restrict rows = members_.classes, *__restrict unit = unit_.data(),
                                 *__restrict start = start_.data();
        double *__restrict value = value_.data();
        const double total = members_.pseudo * double(members_.n_values[i]);
        for (int l = 0; l < lanes_; ++l) {
            const double here = rows[l] - lost[l];
            value[l] *= (seen[l] + start[l]) / ((here > 0 ? here : 0) + unit[l] * total);
        }
    }
    void steady() {
        bool in_range = true;
        for (int l = 0; l < lanes_; ++l) in_range &= value_[l] > 0x1p-300;
        if (!in_range) scoring::steady(value_.data(), power_.data(), lanes_);
    }
    void finish(int m, double *out) {
        const int n_classes = members_.n_classes, n_members = members_.n_members;
        double *value = own_.data(), *power = value + n_classes;
        for (int c = 0; c < n_classes; ++c) {
            value[c] = value_[c * n_members + m];
            power[c] = power_[c * n_members + m];
        }
        scoring::finish(value, power, n_classes, 1, false, out);
    }
};

// All counts of a member fade by a factor: its unit grows, and no cell is touched, unless that would grow too large.
void fade(Members &members, int m, double factor, std::int64_t *halved) {
    double &unit = members.units[m];
    const int size = std::ilogb(unit), shrink = std::ilogb(factor), bits = size - shrink;
    if (bits <= most_bits) {
        unit /= factor;
        return;
    }
    const double less = std::ldexp(1.0, -bits);
    const std::int64_t lanes = members.lanes(), n_slots = members.offsets[members.n];
    for (std::int64_t q = m; q < lanes; q += members.n_members) members.classes[q] *= less;
    for (std::int64_t q = m; q < n_slots * lanes; q += members.n_members) members.singles[q] *= less;
    unit = std::ldexp(unit, -size) / std::ldexp(factor, -shrink);
    halved[m] += bits;
}

}  // namespace

void answer(const Members &members, const Codes &codes, double *out) {
    RowScorer scorer(members);
    for (std::int64_t r = 0; r < codes.n_rows; ++r) {
        scorer.read(codes, r);
        scorer.score(out + r * members.lanes());
    }
}

std::int64_t test_then_train(Members &members, Stream &stream) {
    const Batch &rows = stream.rows;
    const int lanes = members.lanes();
    RowScorer scorer(members);
    const auto began = std::chrono::steady_clock::now();
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        // Now and then Python gets a turn, between two rows: it hears Ctrl-C, and goes on from here.
        if (r % 64 == 63 && std::chrono::steady_clock::now() - began > Call::interval) return r;
        const int y = rows.labels.at(r);
        const bool labelled = rows.has_label(r);
        if (labelled && y >= members.n_classes) return r;
        if (stream.answered) {
            scorer.read(*stream.answered, r);
            scorer.score(stream.answers + r * lanes);
        }
        if (!scorer.read(rows.codes, r)) return r;
        if (stream.judged) scorer.score(stream.judged + r * lanes);
        for (int m = 0; m < members.n_members; ++m)
            if (const double factor = stream.fade[m * rows.n_rows() + r]; factor < 1)
                fade(members, m, factor, stream.halved);
        scorer.rescale();
        if (labelled) scorer.learn(y, rows.weights[r]);
    }
    return rows.n_rows();
}

}  // namespace tanager::naive_half_lives
