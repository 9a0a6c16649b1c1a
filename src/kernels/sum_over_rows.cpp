#include "sum_over_rows.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "bits.hpp"

namespace tanager {

using scoring::at_least_zero;

SumOverRows::SumOverRows(const Batch &rows, std::vector<int> n_values, int n_classes, scoring::Estimate estimate,
                         bool smooth_unseen)
    : n_(int(n_values.size())), k_(n_classes), n_values_(std::move(n_values)), estimate_(estimate),
      smooth_unseen_(smooth_unseen), class_weight_(std::size_t(n_classes)), missing_(n_values_.size()) {
    wide_ = std::any_of(n_values_.begin(), n_values_.end(), [](int r) { return r > 254; });
    for (const int r : n_values_) {
        cell_.push_back(estimate.cell(r, k_));
        total_.push_back(cell_.back() * r);
    }
    for (int i = 0; i <= n_; ++i)
        for (int m = 0; m <= kMostColumns; ++m) {
            const std::int64_t ways = m == 0 ? 1 : i == 0 ? 0 : choose(i - 1, m - 1) + choose(i - 1, m);
            choices_.push_back(std::min(ways, kMostSets));
        }
    std::vector<std::int64_t> n_rows(std::size_t(k_), 0);
    const auto counts = [&](std::int64_t r) { return rows.has_label(r) && rows.weights[r] > 0; };
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        if (!counts(r)) continue;
        ++n_rows[std::size_t(rows.labels.at(r))];
        unit_ = unit_ && rows.weights[r] == 1;
    }
    first_word_.push_back(0);
    for (const std::int64_t m : n_rows) first_word_.push_back(first_word_.back() + (m + 63) / 64);
    const std::int64_t n_words = first_word_.back(), length = n_words * 64;
    if (wide_) wide_codes_.assign(std::size_t(n_ * length), 0xFFFF);
    else narrow_codes_.assign(std::size_t(n_ * length), 0xFF);
    if (!unit_) weight_.assign(std::size_t(length), 0.0);
    std::vector<std::int64_t> next(first_word_.begin(), first_word_.end() - 1);
    for (std::int64_t &place : next) place *= 64;
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        if (!counts(r)) continue;
        const int y = rows.labels.at(r);
        const std::int64_t place = next[std::size_t(y)]++;
        class_weight_[std::size_t(y)] += rows.weights[r];
        if (!unit_) weight_[std::size_t(place)] = rows.weights[r];
        for (int i = 0; i < n_; ++i) {
            const int code = rows.codes.at(r, i);
            if (code < n_values_[std::size_t(i)]) {
                if (wide_) wide_codes_[std::size_t(i * length + place)] = std::uint16_t(code);
                else narrow_codes_[std::size_t(i * length + place)] = std::uint8_t(code);
                continue;
            }
            auto &gaps = missing_[std::size_t(i)];
            gaps.resize(std::size_t(n_words));
            gaps[std::size_t(place / 64)] |= std::uint64_t(1) << (place % 64);
            ever_missing_ = true;
        }
    }
    all_rows_ = std::accumulate(class_weight_.begin(), class_weight_.end(), 0.0);
}

std::int64_t SumOverRows::n_sets(int size) const {
    const std::int64_t sets = choose(n_, size);
    return sets < kMostSets ? sets : -1;
}

std::int64_t SumOverRows::number_of(const int *set, int size) const {
    std::int64_t out = 0;
    for (int q = 0; q < size; ++q) out += choose(set[q], q + 1);
    return out;
}

int SumOverRows::code_of(const Codes &codes, std::int64_t r, int i) const {
    const int code = codes.at(r, i);
    return code < n_values_[std::size_t(i)] + int(smooth_unseen_) ? code : -1;
}

// Which rows have this value in column i. Writes whole vectors.
void SumOverRows::slice(int i, int value, std::uint64_t *out) const {
    const std::int64_t n_words = first_word_.back(), length = n_words * 64;
    if (!wide_) {
        const auto code = std::uint8_t(value);
        bits_at(chosen_cpu_level()).slice(narrow_codes_.data() + i * length, std::size_t(length), &code, 1, &out);
        return;
    }
    const std::uint16_t *codes = wide_codes_.data() + i * length;
    for (std::int64_t w = 0; w < n_words; ++w, codes += 64) {
        std::uint64_t bits = 0;
        for (int b = 0; b < 64; ++b) bits |= std::uint64_t(codes[b] == value) << b;
        out[w] = bits;
    }
}

double SumOverRows::weigh(std::uint64_t bits, std::int64_t word) const {
    if (unit_) return std::popcount(bits);
    double sum = 0;
    for (const double *weight = weight_.data() + word * 64; bits; bits &= bits - 1)
        sum += weight[std::countr_zero(bits)];
    return sum;
}

const std::vector<double> &SumOverRows::complete_rows(int size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (int(complete_.size()) <= size) complete_.resize(std::size_t(size) + 1);
    std::vector<double> &out = complete_[std::size_t(size)];
    if (!ever_missing_ || !out.empty()) return out;
    const auto n_words = std::size_t(first_word_.back());
    out.resize(std::size_t(choose(n_, size)));
    std::vector<int> set(std::size_t(size), 0);
    std::vector<std::uint64_t> gaps(n_words * std::size_t(size));  // in the first columns of the set
    const auto go_on = [&](const auto &self, int at, int from) -> void {
        if (at == size) {
            double gone = 0;
            const std::uint64_t *last = gaps.data() + std::size_t(size - 1) * n_words;
            for (std::size_t w = 0; w < n_words; ++w) gone += weigh(last[w], std::int64_t(w));
            out[std::size_t(number_of(set.data(), size))] = all_rows_ - gone;
            return;
        }
        std::uint64_t *own = gaps.data() + std::size_t(at) * n_words;
        for (int i = from; i < n_; ++i) {
            set[std::size_t(at)] = i;
            const auto &missing = missing_[std::size_t(i)];
            for (std::size_t w = 0; w < n_words; ++w)
                own[w] = (at > 0 ? own[w - n_words] : 0) | (missing.empty() ? 0 : missing[w]);
            self(self, at + 1, i + 1);
        }
    };
    go_on(go_on, 0, 0);
    return out;
}

double SumOverRows::joint_cell(const int *set, int size) const {
    double r = k_;
    for (int q = 0; q < size; ++q) r *= n_values_[std::size_t(set[q])];
    return estimate_.cell(r, 1);
}

double SumOverRows::joint_total(const int *set, int size) const {
    double r = k_;
    for (int q = 0; q < size; ++q) r *= n_values_[std::size_t(set[q])];
    return estimate_.cell(r, 1) * r;
}

// Set by set, and column by column: one row is explained at a time, and this is read more easily than the search.
void SumOverRows::parts(const Codes &row, int size, double min_count, double *out) {
    const std::vector<double> &complete = complete_rows(size);
    const std::int64_t n_words = first_word_.back();
    const std::size_t stride = vectors_of(std::size_t(n_words) * 64) * kVectorWords;
    std::vector<std::uint64_t> slices(std::size_t(n_) * stride), both;
    both.resize(std::size_t(n_words));
    for (int i = 0; i < n_; ++i)
        if (const int code = code_of(row, 0, i); code >= 0) slice(i, code, slices.data() + std::size_t(i) * stride);
    const auto weight = [&](const std::uint64_t *a, const std::uint64_t *b, int c) {
        double sum = 0;
        for (std::int64_t w = first_word_[std::size_t(c)]; w < first_word_[std::size_t(c) + 1]; ++w)
            sum += weigh(a[w] & b[w], w);
        return sum;
    };
    std::fill_n(out, n_sets(size) * (n_ + 1) * k_, kUnknown);
    std::vector<double> count(std::size_t(k_), 0.0);
    std::vector<int> set(std::size_t(size), 0);
    const auto of_set = [&](double *at) {
        std::fill(both.begin(), both.end(), ~std::uint64_t(0));
        for (const int i : set) {
            if (code_of(row, 0, i) < 0) return;
            for (std::int64_t w = 0; w < n_words; ++w)
                both[std::size_t(w)] &= slices[std::size_t(i) * stride + std::size_t(w)];
        }
        double seen = 0;
        for (int c = 0; c < k_; ++c) seen += count[std::size_t(c)] = weight(both.data(), both.data(), c);
        if (seen < min_count * (1 - 1e-9)) return;
        const double rows = complete.empty() ? all_rows_ : complete[std::size_t(number_of(set.data(), size))];
        const double all = rows + joint_total(set.data(), size), pseudo = joint_cell(set.data(), size);
        for (int c = 0; c < k_; ++c) at[n_ * k_ + c] = all > 0 ? (count[std::size_t(c)] + pseudo) / all : 0;
        for (int i = 0; i < n_; ++i) {
            if (code_of(row, 0, i) < 0 || std::find(set.begin(), set.end(), i) != set.end()) continue;
            const auto &missing = missing_[std::size_t(i)];
            for (int c = 0; c < k_; ++c) {
                const double lost = missing.empty() ? 0 : weight(both.data(), missing.data(), c);
                const double den = at_least_zero(count[std::size_t(c)] - lost) + total_[std::size_t(i)];
                const double own = weight(both.data(), slices.data() + std::size_t(i) * stride, c);
                at[i * k_ + c] = n_values_[std::size_t(i)] > 0 ? (own + cell_[std::size_t(i)]) / den : 1;
            }
        }
    };
    const auto go_on = [&](const auto &self, int at, int from) -> void {
        for (int i = from; i < n_; ++i) {
            set[std::size_t(at)] = i;
            if (at + 1 < size) {
                self(self, at + 1, i + 1);
                continue;
            }
            of_set(out);
            out += std::int64_t(n_ + 1) * k_;
        }
    };
    go_on(go_on, 0, 0);
}

}  // namespace tanager
