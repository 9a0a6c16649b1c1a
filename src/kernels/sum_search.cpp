// One row of SumOverRows: the search through the sets of its columns.
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "bits.hpp"
#include "shared_bits.hpp"
#include "sum_over_rows.hpp"
#include "threads.hpp"

namespace tanager {

using scoring::at_least_zero;

namespace {

constexpr double kLeastBits = -900;    // products of more bits are added up as logs
constexpr double kMostKept = 1 << 20;  // numbers of rows up to which a factor is worked out once

}  // namespace

// The words of one class, among those of a level.
struct ClassWords {
    int c;
    std::int64_t begin, end;
    std::int64_t size() const { return end - begin; }
};

// The rows that have the values of the first columns of a set: which of them have those of each further column, too.
// Words without such rows are left out, or their bits moved together.
struct SearchLevel {
    std::vector<ClassWords> classes;
    std::vector<std::int64_t> word;  // its number among all words; where rows have weights, and are never moved
    // A slice for each column that the row has. Behind them, where there are gaps: rows without a value in each of
    // those columns that were missing at times, and in any of these.
    std::vector<std::uint64_t> bits;
    std::size_t stride = 0;
    bool gaps = false;

    const std::uint64_t *slice(int j) const { return bits.data() + std::size_t(j) * stride; }
    std::uint64_t *slice(int j) { return bits.data() + std::size_t(j) * stride; }
    void make_room(int n_slices) { bits.resize(std::max(bits.size(), std::size_t(n_slices) * stride)); }
};

// Working memory of one thread.
struct SumOverRows::Work {
    std::vector<std::pair<std::uint64_t, int>> order;  // how many rows have the value of a column, and the column
    std::vector<int> here, sorted;                     // columns that the row has: by that number, and in their order
    std::vector<int> gaps;                             // places of those that were missing at times
    std::vector<std::uint64_t> slices;
    std::vector<SearchLevel> levels;
    std::vector<int> prefix, set;  // by place
    std::vector<std::int64_t> starts, rank_without;
    std::vector<double> by, total, prefix_by, counts, shared, lost;  // by: one over the pseudo-count
    std::vector<double> products;        // class after class, one for each set of columns that are here
    std::vector<std::uint8_t> eligible;  // of these sets
    std::vector<double> sums, powers;
    // By a number of rows: the product over all columns that are here, once it was needed; and what it was made for.
    std::vector<double> all_factors;
    std::vector<int> made_for;
    bool logs = false;
};

// Depth first through the sets. The rows that have the first values of a set are looked at for all further columns
// together, and where there are none, all these sets are passed over.
//
// Every product starts as if no row had the values of the set and of a further column together, and is multiplied by
// 1 + count / pseudo-count for each such count. A count of size + 1 columns serves size + 1 products.
template <bool Logs>
class SumOverRows::Search {
  public:
    Search(const SumOverRows &rows, const Question &question, Work &work, int own, double left_out,
           const std::vector<double> &complete)
        : rows_(rows), w_(work), bits_(shared_bits_at(chosen_cpu_level())), complete_(complete),
          p_(int(work.here.size())), z_(question.size - 1), k_(rows.k_), own_(own), left_out_(left_out),
          least_(question.min_count * (1 - 1e-9)), n_sets_(rows.choose(p_, question.size)) {}

    // The sums over all eligible sets as mantissas and powers of two; returns how many there are.
    double run() {
        prepare();
        descend(0, 0);
        return add_up();
    }

  private:
    const SumOverRows &rows_;
    Work &w_;
    const SharedBits &bits_;
    const std::vector<double> &complete_;
    const int p_, z_, k_, own_;  // columns, columns of a prefix, classes, the class that a row is left out of
    const double left_out_, least_;
    const std::int64_t n_sets_;

    static double in(double x) { return Logs ? std::log2(x) : x; }
    static double times(double a, double b) { return Logs ? a + b : a * b; }
    double less(int c, double count) const { return c == own_ ? at_least_zero(count - left_out_) : count; }
    int n_gaps() const { return int(w_.gaps.size()); }

    void prepare() {
        w_.products.assign(std::size_t(n_sets_ * k_ + kSpare), in(1));
        w_.eligible.assign(std::size_t(n_sets_), 0);
        w_.prefix.resize(std::size_t(z_));
        w_.set.resize(std::size_t(z_) + 1);
        w_.prefix_by.resize(std::size_t(z_));
        w_.rank_without.resize(std::size_t(z_));
        w_.shared.resize(std::size_t(p_ + kSpare));
        w_.lost.resize(std::size_t(p_));
        w_.by.assign(std::size_t(p_ + kSpare), 0.0);
        w_.total.resize(std::size_t(p_));
        for (std::size_t j = 0; j < std::size_t(p_); ++j) {
            const auto i = std::size_t(w_.here[j]);
            w_.total[j] = rows_.total_[i];
            if (rows_.n_values_[i] > 0) w_.by[j] = 1 / rows_.cell_[i];
        }
        // The sets whose last column but one is j stand together: for each set of columns before it, a row of those
        // with one column more. Rows are named by where column 0 would be.
        w_.starts.clear();
        std::int64_t at = 0;
        for (int j = 0; j < p_; ++j) {
            w_.starts.push_back(at - (j + 1));
            at += rows_.choose(j, z_ - 1) * (p_ - 1 - j);
        }
        if (w_.made_for != w_.sorted || w_.logs != Logs) {
            w_.made_for = w_.sorted;
            w_.logs = Logs;
            w_.all_factors.clear();
        }
    }

    void descend(int depth, int from) {
        if (depth == z_) return sets_after_prefix(from);
        for (int j = from; j < p_ - (z_ - depth); ++j) {
            w_.prefix[std::size_t(depth)] = j;
            if (narrow(w_.levels[std::size_t(depth)], j, w_.levels[std::size_t(depth) + 1]) || least_ <= 0)
                descend(depth + 1, j + 1);
        }
    }

    // To the rows that have the value of column j, too; false where there are none.
    bool narrow(const SearchLevel &from, int j, SearchLevel &to) {
        const std::uint64_t *own = from.slice(j);
        kept_.clear();
        to.classes.clear();
        packed_.clear();
        std::int64_t n_packed = 0;
        for (const ClassWords &part : from.classes) {
            const auto begin = std::int64_t(kept_.size());
            double bits = 0;
            for (std::int64_t w = part.begin; w < part.end; ++w)
                if (own[w]) kept_.push_back(w);
            const auto end = std::int64_t(kept_.size());
            if (begin == end) continue;
            to.classes.push_back({part.c, begin, end});
            if (!bits_.pack || !rows_.unit_) continue;
            bits_.count(nullptr, own + part.begin, 0, 1, part.size(), &bits);
            const std::int64_t n = (std::int64_t(bits) + 63) / 64;
            packed_.push_back({part, n_packed});
            n_packed += n;
        }
        const auto n_kept = std::int64_t(kept_.size());
        const bool packs = n_packed > 0 && 4 * n_packed <= 3 * n_kept;
        to.stride = std::size_t(packs ? n_packed : n_kept);
        to.make_room(p_ + n_gaps() + 1);
        const auto move = [&](int l) {
            if (packs) pack(from.slice(l), own, to.slice(l));
            else pick(from, from.slice(l), own, to.slice(l));
        };
        for (int l = j + 1; l < p_; ++l) move(l);
        to.gaps = false;
        if (from.gaps) {
            const int any = p_ + n_gaps();
            move(any);
            to.gaps =
                std::any_of(to.slice(any), to.slice(any) + to.stride, [](std::uint64_t bits) { return bits > 0; });
            for (int l = p_; l < any && to.gaps; ++l) move(l);
        }
        for (std::size_t q = 0; q < packed_.size() && packs; ++q) {
            const std::int64_t end = q + 1 < packed_.size() ? packed_[q + 1].second : n_packed;
            to.classes[q] = {to.classes[q].c, packed_[q].second, end};
        }
        to.word.clear();
        for (std::size_t u = 0; u < kept_.size() && !rows_.unit_; ++u)
            to.word.push_back(from.word[std::size_t(kept_[u])]);
        return n_kept > 0;
    }
    std::vector<std::int64_t> kept_;                           // words that are not empty
    std::vector<std::pair<ClassWords, std::int64_t>> packed_;  // of each class: its words, and where they go

    void pack(const std::uint64_t *slice, const std::uint64_t *own, std::uint64_t *to) const {
        for (const auto &[part, begin] : packed_)
            bits_.pack(slice + part.begin, own + part.begin, part.size(), to + begin);
    }
    void pick(const SearchLevel &from, const std::uint64_t *slice, const std::uint64_t *own, std::uint64_t *to) const {
        const std::size_t n = kept_.size();
        if (n == std::size_t(from.classes.empty() ? 0 : from.classes.back().end)) {
            for (std::size_t u = 0; u < n; ++u) to[u] = slice[u] & own[u];
            return;
        }
        for (std::size_t u = 0; u < n; ++u) to[u] = slice[kept_[u]] & own[kept_[u]];
    }

    // All sets of the prefix and one column more, and all counts with one more beside these.
    void sets_after_prefix(int from) {
        const SearchLevel &level = w_.levels[std::size_t(z_)];
        const int n = p_ - from;
        for (int q = 0; q < z_; ++q) w_.prefix_by[std::size_t(q)] = w_.by[std::size_t(w_.prefix[std::size_t(q)])];
        const int last = w_.prefix.back();
        const std::int64_t row =
            w_.starts[std::size_t(last)] + rows_.number_of(w_.prefix.data(), z_ - 1) * (p_ - 1 - last);
        w_.counts.assign(std::size_t(k_) * std::size_t(n), 0.0);
        for (const ClassWords &part : level.classes) weigh(level, nullptr, from, n, part, counts_of(part.c, n));
        prepare_prefix();
        for (int j = from; j < p_; ++j) {
            double seen = 0;
            for (const ClassWords &part : level.classes) seen += counts_of(part.c, n)[j - from];
            if (at_least_zero(seen - left_out_) < least_) continue;
            w_.eligible[std::size_t(row + j)] = 1;
            start(level, j, n, from, row + j);
        }
        for (int q = 0; q < z_; ++q) w_.rank_without[std::size_t(q)] = rank_without(q);
        for (const ClassWords &part : level.classes) raise(level, part, from, row);
    }
    double *counts_of(int c, int n) { return w_.counts.data() + c * n; }

    // The weight of the rows of a class in n slices, or what they share with another one.
    void weigh(const SearchLevel &level, const std::uint64_t *own, int first, int n, const ClassWords &part,
               double *out) const {
        const std::uint64_t *x = own ? own + part.begin : nullptr;
        if (rows_.unit_) return bits_.count(x, level.slice(first) + part.begin, level.stride, n, part.size(), out);
        for (int l = 0; l < n; ++l) {
            const std::uint64_t *slice = level.slice(first + l);
            out[l] = 0;
            for (std::int64_t w = part.begin; w < part.end; ++w)
                out[l] += rows_.weigh(own ? own[w] & slice[w] : slice[w], level.word[std::size_t(w)]);
        }
    }

    // What all sets of a prefix have in common: their number of combinations of values, before the last column.
    void prepare_prefix() {
        combinations_ = k_;
        for (const int j : w_.prefix) combinations_ *= rows_.n_values_[std::size_t(w_.here[std::size_t(j)])];
    }
    double combinations_ = 0;

    // P(y, x_s), times all P(x_j | y, x_s) as if x_j had never been seen with x_s.
    void start(const SearchLevel &level, int j, int n, int from, std::int64_t at) {
        const double r = combinations_ * rows_.n_values_[std::size_t(w_.here[std::size_t(j)])];
        const double pseudo = rows_.estimate_.cell(r, 1);
        const double all = at_least_zero(complete_rows(j) - left_out_) + pseudo * r, share = all > 0 ? 1 / all : 0;
        const auto value = [&](double count) {
            double out = times(in((count + pseudo) * share), factors_of_all(count));
            for (const int q : w_.prefix) out = times(out, without(q, count));
            return times(out, without(j, count));
        };
        const double nothing = value(0);
        for (int c = 0; c < k_; ++c) {
            const double count = less(c, w_.counts[std::size_t(c * n + j - from)]);
            double &product = w_.products[std::size_t(c * n_sets_ + at)];
            product = times(product, count > 0 ? value(count) : nothing);
        }
        if (!level.gaps) return;
        for (const ClassWords &part : level.classes)
            leave_out_gaps(level, part, j, less(part.c, w_.counts[std::size_t(part.c * n + j - from)]), at);
    }
    // Takes the factor of a column that is in the set out of the product over all columns again.
    double without(int j, double count) const { return in((count + w_.total[std::size_t(j)]) * w_.by[std::size_t(j)]); }

    // The weight of the rows with a value in each column of the prefix and in column j.
    double complete_rows(int j) {
        if (complete_.empty()) return rows_.all_rows_;
        columns_.clear();
        for (const int q : w_.prefix) columns_.push_back(w_.here[std::size_t(q)]);
        columns_.push_back(w_.here[std::size_t(j)]);
        std::sort(columns_.begin(), columns_.end());
        return complete_[std::size_t(rows_.number_of(columns_.data(), z_ + 1))];
    }
    std::vector<int> columns_;

    // The product over all columns that are here of pseudo-count / (count + total).
    double factors_of_all(double count) {
        const auto place = std::size_t(std::min(count, kMostKept));
        const bool whole = double(place) == count && count < kMostKept;
        if (whole && w_.all_factors.size() <= place) w_.all_factors.resize(place + 1, kUnknown);
        if (whole && !std::isnan(w_.all_factors[place])) return w_.all_factors[place];
        double out = in(1);
        for (const int i : w_.sorted) {  // in the same order for every row, so that no answer depends on those before
            const auto at = std::size_t(i);
            if (rows_.n_values_[at] > 0) out = times(out, in(rows_.cell_[at] / (count + rows_.total_[at])));
        }
        if (whole) w_.all_factors[place] = out;
        return out;
    }

    // Rows without a value of x_j do not count in P(x_j | y, x_s).
    void leave_out_gaps(const SearchLevel &level, const ClassWords &part, int j, double count, std::int64_t at) {
        const std::uint64_t *own = level.slice(j), *any = level.slice(p_ + n_gaps());
        bool some = false;
        for (std::int64_t w = part.begin; w < part.end; ++w) some = some || (own[w] & any[w]);
        if (!some) return;
        weigh(level, own, p_, n_gaps(), part, w_.lost.data());
        double wrong = 1, right = 1;
        for (int g = 0; g < n_gaps(); ++g) {
            const auto l = std::size_t(w_.gaps[std::size_t(g)]);
            const double lost = w_.lost[std::size_t(g)];
            if (!(lost > 0)) continue;
            wrong *= (count + w_.total[l]) * w_.by[l];
            right *= (at_least_zero(count - lost) + w_.total[l]) * w_.by[l];
            if (!Logs) continue;
            double &product = w_.products[std::size_t(part.c * n_sets_ + at)];
            product += std::log2(wrong / right);
            wrong = right = 1;
        }
        double &product = w_.products[std::size_t(part.c * n_sets_ + at)];
        if (!Logs) product *= wrong / right;
    }

    // The number of the prefix without one of its columns, among all sets of so many.
    std::int64_t rank_without(int q) {
        std::copy_n(w_.prefix.data(), q, w_.set.data());
        std::copy(w_.prefix.data() + q + 1, w_.prefix.data() + z_, w_.set.data() + q);
        return rows_.number_of(w_.set.data(), z_ - 1);
    }

    void raise(const SearchLevel &level, const ClassWords &part, int from, std::int64_t row) {
        double *products = w_.products.data() + part.c * n_sets_;
        const double left_out = part.c == own_ ? left_out_ : 0, *counts = counts_of(part.c, p_ - from);
        if (!Logs && rows_.unit_) {
            bits_.raise({level.slice(from) + part.begin, level.stride, part.size(), from, p_, z_, counts, left_out,
                         w_.by.data(), w_.prefix_by.data(), products, row, w_.starts.data(), w_.rank_without.data()},
                        w_.shared.data());
            return;
        }
        const auto raise_one = [](double &product, double by) { product = times(product, in(1 + by)); };
        for (int j = from; j + 1 < p_; ++j) {
            if (!(counts[j - from] > 0)) continue;
            weigh(level, level.slice(j), j + 1, p_ - j - 1, part, w_.shared.data());
            for (int l = j + 1; l < p_; ++l) {
                const double count = at_least_zero(w_.shared[std::size_t(l - j - 1)] - left_out);
                if (!(count > 0)) continue;
                raise_one(products[row + j], count * w_.by[std::size_t(l)]);
                raise_one(products[row + l], count * w_.by[std::size_t(j)]);
                for (std::size_t q = 0; q < std::size_t(z_); ++q) {
                    const std::int64_t other = w_.starts[std::size_t(j)] + w_.rank_without[q] * (p_ - 1 - j);
                    raise_one(products[other + l], count * w_.prefix_by[q]);
                }
            }
        }
    }

    double add_up() {
        const double n_eligible = std::accumulate(w_.eligible.begin(), w_.eligible.end(), 0.0);
        double top = 0;
        if (Logs && n_eligible > 0) {
            top = -std::numeric_limits<double>::infinity();
            for (int c = 0; c < k_; ++c) each_eligible(c, [&top](double value) { top = std::max(top, value); });
            top = std::isfinite(top) ? std::floor(top) : 0;
        }
        std::fill(w_.powers.begin(), w_.powers.end(), top);
        for (int c = 0; c < k_; ++c) {
            double sum = 0;
            each_eligible(c, [&](double value) { sum += Logs ? std::exp2(value - top) : value; });
            w_.sums[std::size_t(c)] = sum;
        }
        return n_eligible;
    }
    template <class Visit>
    void each_eligible(int c, const Visit &visit) const {
        const double *products = w_.products.data() + c * n_sets_;
        for (std::int64_t t = 0; t < n_sets_; ++t)
            if (w_.eligible[std::size_t(t)]) visit(products[t]);
    }
};

// The slices of the row's values; columns of rare values come first, so that few rows are left early.
void SumOverRows::read_row(const Codes &codes, std::int64_t r, Work &w) const {
    const std::int64_t n_words = first_word_.back();
    const std::size_t stride = vectors_of(std::size_t(n_words) * 64) * kVectorWords;
    const SharedBits &bits = shared_bits_at(chosen_cpu_level());
    w.slices.resize(std::size_t(n_) * stride);
    w.order.clear();
    w.here.clear();
    w.sorted.clear();
    w.gaps.clear();
    for (int i = 0; i < n_; ++i) {
        const int code = code_of(codes, r, i);
        if (code < 0) continue;
        std::uint64_t *own = w.slices.data() + std::size_t(i) * stride;
        slice(i, code, own);
        double seen = 0;
        bits.count(nullptr, own, 0, 1, n_words, &seen);
        w.order.emplace_back(std::uint64_t(seen), i);
        w.sorted.push_back(i);
    }
    std::sort(w.order.begin(), w.order.end());
    for (const auto &[seen, i] : w.order) {
        if (n_values_[std::size_t(i)] > 0 && !missing_[std::size_t(i)].empty()) w.gaps.push_back(int(w.here.size()));
        w.here.push_back(i);
    }
}

void SumOverRows::first_level(int size, Work &w) const {
    w.levels.resize(std::size_t(size));
    SearchLevel &all = w.levels[0];
    const std::int64_t n_words = first_word_.back();
    const int p = int(w.here.size()), n_gaps = int(w.gaps.size());
    const std::size_t stride = vectors_of(std::size_t(n_words) * 64) * kVectorWords;
    all.stride = std::size_t(n_words);
    all.make_room(p + n_gaps + 1);
    for (int j = 0; j < p; ++j)
        std::copy_n(w.slices.data() + std::size_t(w.here[std::size_t(j)]) * stride, n_words, all.slice(j));
    std::uint64_t *any = all.slice(p + n_gaps);
    std::fill_n(any, n_words, 0);
    for (int g = 0; g < n_gaps; ++g) {
        const auto &missing = missing_[std::size_t(w.here[std::size_t(w.gaps[std::size_t(g)])])];
        std::copy(missing.begin(), missing.end(), all.slice(p + g));
        for (std::int64_t q = 0; q < n_words; ++q) any[q] |= missing[std::size_t(q)];
    }
    all.gaps = n_gaps > 0;
    all.word.resize(std::size_t(n_words));
    std::iota(all.word.begin(), all.word.end(), 0);
    all.classes.clear();
    for (int c = 0; c < k_; ++c) {
        const std::int64_t begin = first_word_[std::size_t(c)], end = first_word_[std::size_t(c) + 1];
        if (begin < end) all.classes.push_back({c, begin, end});
    }
}

// At most so many bits below 1 are the products of this row.
double SumOverRows::least_bits(int size, const Work &w) const {
    double bits = 0, most = 1;
    for (const int i : w.here) {
        const auto at = std::size_t(i);
        if (n_values_[at] > 0) bits += std::log2(cell_[at] / (all_rows_ + total_[at]));
        most = std::max(most, double(n_values_[at]));
    }
    const double r = k_ * std::pow(most, size), cell = estimate_.cell(r, 1);
    return bits + std::log2(cell / (all_rows_ + cell * r));
}

void SumOverRows::answer_row(const Codes &codes, std::int64_t r, const Question &question,
                             const std::vector<double> &complete, Work &w, double *out) const {
    std::fill_n(out, k_, kUnknown);
    read_row(codes, r, w);
    if (int(w.here.size()) < question.size) return;
    first_level(question.size, w);
    w.sums.resize(std::size_t(k_));
    w.powers.resize(std::size_t(k_));
    const int own = question.left_out.class_of(r, k_);
    const double left_out = own < 0 ? 0 : question.left_out.weight(r);
    const double n_eligible = least_bits(question.size, w) > kLeastBits
                                  ? Search<false>(*this, question, w, own, left_out, complete).run()
                                  : Search<true>(*this, question, w, own, left_out, complete).run();
    const double pseudo = estimate_.cell(k_, 1), rows = at_least_zero(all_rows_ - left_out) + pseudo * k_;
    for (int c = 0; c < k_; ++c) {
        const auto at = std::size_t(c);
        const double prior = (at_least_zero(class_weight_[at] - (c == own ? left_out : 0)) + pseudo) / rows;
        if (!question.priors.empty()) w.sums[at] = prior > 0 ? w.sums[at] * question.priors[at] / prior : 0;
        if (!question.factors.empty()) w.sums[at] *= question.factors[at];
    }
    scoring::finish(w.sums.data(), w.powers.data(), k_, n_eligible, question.log_joint, out);
}

void SumOverRows::score(const Codes &codes, const Question &question, int n_jobs, double *out) {
    const std::vector<double> &complete = complete_rows(question.size);
    const auto rows = [&](std::int64_t begin, std::int64_t end) {
        Work work;
        for (std::int64_t r = begin; r < end; ++r) {
            check_interrupt();
            answer_row(codes, r, question, complete, work, out + r * k_);
        }
    };
    parallel_rows(codes.n_rows, n_jobs, rows, 4);
}

}  // namespace tanager
