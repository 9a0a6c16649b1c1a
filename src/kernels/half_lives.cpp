#include "half_lives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cpu.hpp"
#include "interrupt.hpp"
#include "lanes.hpp"
#include "split_powers.hpp"

namespace tanager::half_lives {

namespace {

using scoring::take_powers;
using scoring::Two;

constexpr double most_unit = 0x1p332;  // some 1e100: products of cells stay far from overflow
constexpr int bits_of_range = 900;     // that a product may take without leaving the range of a double
constexpr int bits_of_step = 1000;     // and one that begins at 1, until its power of two is taken
constexpr int few_columns = 16;
constexpr int at_once = 4;  // columns side by side: those before are read and written a fourth as often
constexpr std::int64_t large_table = 1 << 16;  // cells that do not fit into a near cache

// Pairs of the columns in places first to last, each with those in places from to `to` before it, or with all before
// it.
struct Pairs {
    int first, last, from, to;
};

#if defined(__x86_64__)
// `RowScorer::multiply_pairs` for four lanes from `pairs` and `value` on.
[[gnu::target("avx2")]] void multiply_four(const double *pairs, std::int64_t width, const std::int64_t *cell, Pairs of,
                                           const double *inverses, double pseudo_count, double *value,
                                           std::int64_t lanes) {
    const __m256d inverse = _mm256_loadu_pd(inverses), pseudo = _mm256_set1_pd(pseudo_count);
    const __m256d one = _mm256_set1_pd(1);
    for (int p = of.first; p < of.last; p += 4) {
        const int size = std::min(4, of.last - p), to = std::min(p, of.to);
        const double *row[4];
        __m256d own[4], f[4] = {one, one, one, one};
        for (int u = 0; u < 4; ++u) {
            row[u] = pairs + cell[p + std::min(u, size - 1)] * width;
            own[u] = one;
        }
        for (int u = 0; of.from > 0 && u < size; ++u) own[u] = _mm256_loadu_pd(value + (p + u) * lanes);
        for (int q = of.from; q < to; ++q) {
            if (size == 4) {
                for (int u = 0; u < 4; ++u) {
                    const __m256d seen = _mm256_loadu_pd(row[u] + cell[q]);
                    f[u] = _mm256_add_pd(_mm256_mul_pd(seen, inverse), pseudo);
                    own[u] = _mm256_mul_pd(own[u], f[u]);
                }
            } else {
                for (int u = 0; u < size; ++u) {
                    const __m256d seen = _mm256_loadu_pd(row[u] + cell[q]);
                    f[u] = _mm256_add_pd(_mm256_mul_pd(seen, inverse), pseudo);
                    own[u] = _mm256_mul_pd(own[u], f[u]);
                }
            }
            const __m256d all = _mm256_mul_pd(_mm256_mul_pd(f[0], f[1]), _mm256_mul_pd(f[2], f[3]));
            double *at = value + q * lanes;
            _mm256_storeu_pd(at, _mm256_mul_pd(_mm256_loadu_pd(at), all));
        }
        for (int u = 1; to == p && u < size; ++u)
            for (int v = 0; v < u; ++v) {
                const __m256d seen = _mm256_loadu_pd(row[u] + cell[p + v]);
                const __m256d both = _mm256_add_pd(_mm256_mul_pd(seen, inverse), pseudo);
                own[u] = _mm256_mul_pd(own[u], both);
                own[v] = _mm256_mul_pd(own[v], both);
            }
        for (int u = 0; u < size; ++u) _mm256_storeu_pd(value + (p + u) * lanes, own[u]);
    }
}
#endif

// Answers single rows. Arrays have a line of lanes for every column that the row has, in their order.
class RowScorer {
  public:
    explicit RowScorer(const Members &members)
        : members_(members), store_(members.store), n_members_(members.n_members), n_classes_(members.n_classes()),
          lanes_(store_.k), ever_missing_(store_.n) {
        const std::size_t all = std::size_t(store_.n) * lanes_;
        for (auto *v : {&count_, &start_, &value_, &power_, &below_, &below_power_, &joint_, &joint_power_})
            v->resize(all);
        for (auto *v : {&inverse_, &rows_, &once_, &sum_, &top_}) v->resize(lanes_);
        present_.resize(n_members_);
        qualified_.resize(n_members_);
        here_.reserve(store_.n);
        cell_.resize(store_.n);
        total_of_.resize(store_.n);
        for (int i = 0; i < store_.n; ++i) {
            const double *gaps = store_.singles + store_.missing_cell(i);
            ever_missing_[i] = std::any_of(gaps, gaps + store_.k, [](double x) { return x > 0; });
        }
        count_values();
        rescale();
    }
    // There are more values than before.
    void count_values() {
        totals_.clear();
        for (int i = 0; i < store_.n; ++i) {
            const double total = members_.pseudo * double(members_.n_values[i]);
            const auto found = std::find(totals_.begin(), totals_.end(), total);
            total_of_[i] = int(found - totals_.begin());
            if (found == totals_.end()) totals_.push_back(total);
        }
        n_with_total_.resize(totals_.size());
        scale_.resize(totals_.size() * lanes_);
        largest_total_ = totals_.empty() ? 0 : *std::max_element(totals_.begin(), totals_.end());
        const int low = std::ilogb(std::min(members_.pseudo, 1.0)),
                  bits = bits_of_range / std::max(1, store_.n) - 2 + low;
        most_rows_ = (bits > 0 ? std::ldexp(1.0, std::min(bits, 1000)) : 0) - largest_total_;
    }

    // Units have changed.
    void rescale() {
        for (int m = 0; m < n_members_; ++m) inverse_[m] = 1 / members_.units[m];
        for (int l = n_members_; l < lanes_; ++l) inverse_[l] = inverse_[l - n_members_];
    }
    // A row is about to be scored: its cells are on their way while another one is.
    void expect(const int *slot) {
        const std::int64_t bytes = lanes_ * std::int64_t(sizeof(double));
        for (int i = 1; i < store_.n; ++i) {
            const double *row = store_.pairs + (store_.offsets[i] + slot[i]) * lanes_ * store_.width;
            for (int j = 0; j < i; ++j) {
                const auto *cells = reinterpret_cast<const char *>(row + (store_.offsets[j] + slot[j]) * lanes_);
                for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(cells + at, 1, 2);
            }
        }
    }
    void note_missing(const int *slot) {
        for (int i = 0; i < store_.n; ++i)
            if (slot[i] == store_.missing_slot(i)) ever_missing_[i] = 1;
    }
    void score(const int *slot, double *out) {
        find(slot);
        step_ = factors_at_once();
        has_powers_ = step_ < any_number;
        if (step_ == 0) {
            multiply_carefully();
        } else {
            numerators();
            if (!with_gaps_.empty()) divisors_with_gaps();
            if (has_powers_) each_two([&](int l) { add_up_in_steps(l); });
            else each_group([&](auto width, int l) { add_up<width>(l); });
        }
        for (int m = 0; m < n_members_; ++m) {
            if (qualified_[m]) normalise(m, out + m * n_classes_);
            else naive_bayes(m, out + m * n_classes_);
        }
    }

  private:
    const Members &members_;
    const Store &store_;
    const int n_members_, n_classes_, lanes_;
    std::vector<char> ever_missing_, qualified_;
    std::vector<double> totals_;  // pseudo-counts of all values of a column that occur, and which of them each has
    std::vector<int> total_of_, n_with_total_, here_;
    const bool wide_ = chosen_cpu_level() != CpuLevel::plain;
    static constexpr int any_number = std::numeric_limits<int>::max();
    double most_rows_ = 0, largest_total_ = 0;               // up to which products stay in range
    int step_ = any_number;                                  // factors until the power of two of a product is taken
    bool has_powers_ = false;                                // whether values and sums are to be multiplied by 2^power
    std::vector<int> with_gaps_;                             // places of columns here that were missing at times
    std::vector<std::int64_t> cell_;                         // of the columns that are here
    std::vector<double> inverse_, rows_, once_, sum_, top_;  // per lane
    std::vector<double> present_;                            // per member: all rows
    std::vector<double> scale_;                              // per total and lane
    std::vector<double> count_, start_;                      // N(x_i, y) and P(y, x_i)
    std::vector<double> value_, power_;                      // products over all other columns
    std::vector<double> below_, below_power_;                // what they are to be divided by
    std::vector<double> joint_, joint_power_;                // and what comes of them, where powers are taken

    double *line(std::vector<double> &v, int p) { return v.data() + std::size_t(p) * lanes_; }
    // The cell of two columns' slots in the lower triangle.
    const double *pair(int i, std::int64_t cell_i, int j, std::int64_t cell_j) const {
        return store_.pairs + (i > j ? cell_i * store_.width + cell_j : cell_j * store_.width + cell_i);
    }

    // Calls act(lane) for two lanes at a time; of an odd number one is done again.
    template <class Act>
    void each_two(const Act &act) const {
        for (int l = 0; l < lanes_; l += 2) act(std::min(l, lanes_ - 2));
    }
    // The same for four lanes at a time, then two and one: each is done once.
    template <class Act>
    void each_group(const Act &act) const {
        int l = 0;
        for (; l + 4 <= lanes_; l += 4) act(std::integral_constant<int, 4>(), l);
        if (l + 2 <= lanes_) act(std::integral_constant<int, 2>(), l);
        if (lanes_ % 2) act(std::integral_constant<int, 1>(), lanes_ - 1);
    }
    // What is looked up once per row: the columns present, N(x_i, y), and P(y, x_i) with x_i as super-parent, which is
    // 0 where x_i is too rare.
    void find(const int *slot) {
        using L = scoring::Lanes<2>;
        const double pseudo = members_.pseudo;
        here_.clear();
        with_gaps_.clear();
        std::fill(n_with_total_.begin(), n_with_total_.end(), 0);
        std::fill(qualified_.begin(), qualified_.end(), 0);
        find_rows();
        for (int i = 0; i < store_.n; ++i) {
            if (slot[i] >= members_.n_values[i]) continue;  // missing or new
            const int p = int(here_.size()), t = total_of_[i];
            here_.push_back(i);
            if (ever_missing_[i]) with_gaps_.push_back(p);
            else ++n_with_total_[t];
            cell_[p] = (store_.offsets[i] + slot[i]) * lanes_;
            const double *cells = store_.singles + cell_[p], *scale = &scale_[std::size_t(t) * lanes_];
            if (ever_missing_[i]) scale = scale_with_gaps(i);
            double *count = line(count_, p), *start = line(start_, p);
            each_two([&](int l) {
                const L seen = L::load(cells + l) * L::load(&inverse_[l]);
                seen.store(count + l);
                ((seen + L::all(pseudo)) * L::load(scale + l)).store(start + l);
            });
            qualify(count, start);
        }
    }
    // All rows of every lane, and one over all rows of the member with the pseudo-counts of P(y, x_i), for every total.
    void find_rows() {
        using L = scoring::Lanes<2>;
        each_two([&](int l) { (L::load(store_.classes + l) * L::load(&inverse_[l])).store(&rows_[l]); });
        std::fill(present_.begin(), present_.end(), 0.0);
        for (int l = 0; l < lanes_; l += n_members_)
            for (int m = 0; m < n_members_; ++m) present_[m] += rows_[l + m];
        for (std::size_t t = 0; t < totals_.size(); ++t) {
            double *scale = &scale_[t * lanes_];
            for (int m = 0; m < n_members_; ++m) scale[m] = 1 / (present_[m] + n_classes_ * totals_[t]);
            for (int l = n_members_; l < lanes_; ++l) scale[l] = scale[l - n_members_];
        }
    }
    // The same over the rows that have the column.
    const double *scale_with_gaps(int i) {
        const double *gaps = store_.singles + store_.missing_cell(i);
        double *scale = once_.data();
        for (int m = 0; m < n_members_; ++m) {
            double present = present_[m];
            for (int l = m; l < lanes_; l += n_members_) present -= gaps[l] * inverse_[l];
            scale[m] = 1 / (std::max(present, 0.0) + n_classes_ * totals_[total_of_[i]]);
        }
        for (int l = n_members_; l < lanes_; ++l) scale[l] = scale[l - n_members_];
        return scale;
    }
    void qualify(const double *count, double *start) {
        const double least = members_.min_count * (1 - 1e-9);
        for (int m = 0; m < n_members_; ++m) {
            double seen = 0;
            for (int l = m; l < lanes_; l += n_members_) seen += count[l];
            if (seen >= least) qualified_[m] = 1;
            else
                for (int l = m; l < lanes_; l += n_members_) start[l] = 0;
        }
    }
    // Whether products over all columns stay in range: factors lie between the pseudo-count and all rows with it.
    bool fits() const {
        return std::all_of(present_.begin(), present_.end(), [this](double rows) { return rows < most_rows_; });
    }
    // How many factors a product may take until its power of two is taken; 0: not even a few.
    int factors_at_once() const {
        if (fits()) return any_number;
        const double most = *std::max_element(present_.begin(), present_.end()) + largest_total_;
        const int bits = std::max({1, std::ilogb(most) + 1, -std::ilogb(members_.pseudo)});
        return std::max(0,
                        (bits_of_step / bits - at_once) / at_once * at_once);  // and those of a tile among themselves
    }
    // The sum over all super-parents, for some lanes.
    template <int Width>
    void add_up(int lane) {
        using L = scoring::Lanes<Width>;
        L sum = L::all(0);
        for (int p = 0; p < int(here_.size()); ++p) {
            const std::size_t at = std::size_t(p) * lanes_ + lane;
            const L count = L::load(&count_[at]);
            L own = L::load(&value_[at]) * L::load(&start_[at]);
            for (std::size_t t = 0; t < totals_.size(); ++t) {
                int left = children_with(t, p);
                if (left == 0) continue;
                L square = L::all(1) / (count + L::all(totals_[t]));
                for (; left > 0; left >>= 1, square = square * square)
                    if (left & 1) own = own * square;
            }
            sum = sum + (with_gaps_.empty() ? own : own / L::load(&below_[at]));
        }
        sum.store(&sum_[lane]);
    }
    // The same for two lanes, of products whose powers of two are taken now and then.
    void add_up_in_steps(int lane) {
        const int n_here = int(here_.size());
        int portion = 1;
        while (2 * portion <= step_) portion *= 2;
        for (int p = 0; p < n_here; ++p) {
            const std::size_t at = std::size_t(p) * lanes_ + lane;
            const Two count = Two::load(&count_[at]);
            Two own = Two::load(&value_[at]), power = Two::load(&power_[at]);
            const auto settle = [&] { power = power + take_powers(own); };
            if (!with_gaps_.empty()) {
                own = own / Two::load(&below_[at]);
                power = power - Two::load(&below_power_[at]);
            }
            for (std::size_t t = 0; t < totals_.size(); ++t) {
                int left = children_with(t, p);
                if (left == 0) continue;
                Two square = Two::all(1) / (count + Two::all(totals_[t])), rest = Two::all(1);
                int size = 1;
                for (; size < portion; size *= 2, square = square * square)
                    if (left & size) rest = rest * square;
                const Two taken = take_powers(square);
                settle();
                for (left /= portion; left > 0; --left) {
                    own = own * square;
                    power = power + taken;
                    settle();
                }
                own = own * rest;
            }
            settle();
            (own * Two::load(&start_[at])).store(&joint_[at]);
            power.store(&joint_power_[at]);
        }
        Two top;
        scoring::sum_of_powers(&joint_[lane], &joint_power_[lane], n_here, lanes_, top).store(&sum_[lane]);
        top.store(&top_[lane]);
    }
    // How many children that were never missing have this total, beside the super-parent in place p.
    int children_with(std::size_t t, int p) const {
        const int i = here_[p];
        return n_with_total_[t] - (total_of_[i] == int(t) && !ever_missing_[i]);
    }
    // For every column the product of N(x_i, x_j, y) + pseudo-count over all others, each pair looked up once. Cells of
    // four columns with all before them stay in the nearest cache while lanes are read a few at a time; few columns do.
    void numerators() {
        const int n_here = int(here_.size()), block = has_powers_ || n_here > few_columns ? at_once : n_here;
        const auto settle = [&](int from, int to) {
            for (int p = from; p < to && has_powers_; ++p)
                each_two([&](int l) { take_powers(line(value_, p) + l, line(power_, p) + l); });
        };
        if (has_powers_) std::fill_n(power_.begin(), std::size_t(n_here) * lanes_, 0.0);
        for (int p = 0, since = 0; p < n_here; p += block) {
            const int last = std::min(p + block, n_here);
            int from = 0;
            do {
                const int to = last - from > step_ ? from + step_ : last;
                each_group([&](auto width, int l) { multiply_pairs<width>(l, {p, last, from, to}); });
                settle(p, last);
                from = to;
            } while (from < p);
            since += block;
            if (since >= step_) {
                settle(0, p);
                since = 0;
            }
        }
    }
    template <int Width>
    void multiply_pairs(int lane, Pairs of) {
#if defined(__x86_64__)
        if (Width == 4 && wide_)
            return multiply_four(store_.pairs + lane, store_.width, cell_.data(), of, &inverse_[lane], members_.pseudo,
                                 &value_[lane], lanes_);
#endif
        using L = scoring::Lanes<Width>;
        const std::int64_t width = store_.width, *cell = cell_.data();
        const L inverse = L::load(&inverse_[lane]), pseudo = L::all(members_.pseudo);
        double *value = value_.data() + lane;
        const auto at = [&](int p) { return value + std::size_t(p) * lanes_; };
        const auto factor = [&](const double *cells) { return L::load(cells) * inverse + pseudo; };
        for (int p = of.first; p < of.last; p += at_once) {
            const int size = std::min(at_once, of.last - p), to = std::min(p, of.to);
            const double *row[at_once];
            L own[at_once], f[at_once];
            for (int u = 0; u < at_once; ++u) {
                row[u] = store_.pairs + lane + cell[p + std::min(u, size - 1)] * width;
                own[u] = f[u] = L::all(1);
            }
            for (int u = 0; of.from > 0 && u < size; ++u) own[u] = L::load(at(p + u));
            for (int q = of.from; q < to; ++q) {
                if (size == at_once) {
                    for (int u = 0; u < at_once; ++u) {
                        f[u] = factor(row[u] + cell[q]);
                        own[u] = own[u] * f[u];
                    }
                } else {
                    for (int u = 0; u < size; ++u) {
                        f[u] = factor(row[u] + cell[q]);
                        own[u] = own[u] * f[u];
                    }
                }
                (L::load(at(q)) * ((f[0] * f[1]) * (f[2] * f[3]))).store(at(q));
            }
            for (int u = 1; to == p && u < size; ++u)
                for (int v = 0; v < u; ++v) {
                    const L both = factor(row[u] + cell[p + v]);
                    own[u] = own[u] * both;
                    own[v] = own[v] * both;
                }
            for (int u = 0; u < size; ++u) own[u].store(at(p + u));
        }
    }
    // For every super-parent and all lanes the product of what children that were missing at times are divided by: only
    // rows count that have both columns.
    void divisors_with_gaps() {
        const int n_here = int(here_.size());
        std::fill_n(below_.begin(), std::size_t(n_here) * lanes_, 1.0);
        std::fill_n(below_power_.begin(), std::size_t(n_here) * lanes_, 0.0);
        const auto settle = [&] {
            for (int p = 0; p < n_here; ++p)
                each_two([&](int l) { take_powers(line(below_, p) + l, line(below_power_, p) + l); });
        };
        int since = 0;
        for (const int q : with_gaps_) {
            const int child = here_[q];
            const std::int64_t gaps = store_.missing_cell(child);
            const double total = totals_[total_of_[child]], *inverse = inverse_.data();
            for (int p = 0; p < n_here; ++p) {
                if (p == q) continue;
                const double *lost = pair(child, gaps, here_[p], cell_[p]), *count = line(count_, p);
                double *__restrict below = line(below_, p);
                for (int l = 0; l < lanes_; ++l) below[l] *= std::max(count[l] - lost[l] * inverse[l], 0.0) + total;
            }
            if (++since == step_) {
                settle();
                since = 0;
            }
        }
        if (has_powers_) settle();
    }
    // The same factor by factor, where even a few of them may leave the range of a double.
    void multiply_carefully() {
        const int n_here = int(here_.size());
        value_ = start_;
        std::fill(power_.begin(), power_.end(), 0.0);
        for (int p = 0; p < n_here; ++p) {
            double *__restrict value = line(value_, p);
            const double *__restrict count = line(count_, p);
            for (int q = 0; q < n_here; ++q) {
                if (q == p) continue;
                const int child = here_[q], parent = here_[p];
                const double *cells = pair(child, cell_[q], parent, cell_[p]);
                const double *lost = pair(child, store_.missing_cell(child), parent, cell_[p]);
                const double total = totals_[total_of_[child]];
                for (int l = 0; l < lanes_; ++l) {
                    const double all = std::max(count[l] - lost[l] * inverse_[l], 0.0) + total;
                    value[l] *= (cells[l] * inverse_[l] + members_.pseudo) / all;
                }
                steady(p);
            }
        }
        each_two([&](int l) {
            Two top;
            scoring::sum_of_powers(&value_[l], &power_[l], n_here, lanes_, top).store(&sum_[l]);
            top.store(&top_[l]);
        });
    }
    void steady(int p) {
        double *value = line(value_, p), *power = line(power_, p);
        for (int l = 0; l < lanes_; ++l) {
            if (value[l] == 0) continue;
            int own;
            value[l] = std::frexp(value[l], &own);
            power[l] += own;
        }
    }
    static double shifted(double x, double power) {
        return power == 0 ? x : std::ldexp(x, int(std::clamp(power, -4000.0, 4000.0)));
    }
    void normalise(int m, double *out) const {
        double top = -std::numeric_limits<double>::infinity(), all = 0;
        for (int c = 0; c < n_classes_ && has_powers_; ++c)
            if (sum_[c * n_members_ + m] > 0) top = std::max(top, top_[c * n_members_ + m]);
        for (int c = 0; c < n_classes_; ++c) {
            const int l = c * n_members_ + m;
            all += out[c] = has_powers_ ? shifted(sum_[l], top_[l] - top) : sum_[l];
        }
        for (int c = 0; c < n_classes_; ++c) out[c] /= all;
    }
    // Where no value was seen often enough.
    void naive_bayes(int m, double *out) const {
        const double pseudo = members_.pseudo;
        double top = -std::numeric_limits<double>::infinity(), all = 0;
        for (int c = 0; c < n_classes_; ++c) {
            const int l = c * n_members_ + m;
            out[c] = std::log(rows_[l] + pseudo);
            for (std::size_t p = 0; p < here_.size(); ++p) {
                const double gaps = (store_.singles + store_.missing_cell(here_[p]))[l] * inverse_[l];
                const double present = std::max(rows_[l] - gaps, 0.0) + totals_[total_of_[here_[p]]];
                out[c] += std::log((count_[p * lanes_ + l] + pseudo) / present);
            }
            top = std::max(top, out[c]);
        }
        for (int c = 0; c < n_classes_; ++c) all += out[c] = std::exp(out[c] - top);
        for (int c = 0; c < n_classes_; ++c) out[c] /= all;
    }
};

// The slots of a row: those of values that may not have come yet, too.
Slots slots_of(const Members &members) {
    Slots slots(members.store, false);
    slots.limit = slots.missing;
    return slots;
}

// Values that a row is the first to have are there from now on; whether there are any.
bool take_values(Members &members, const int *slot) {
    bool grown = false;
    for (int i = 0; i < members.store.n; ++i)
        if (slot[i] >= members.n_values[i] && slot[i] != members.store.missing_slot(i)) {
            members.n_values[i] = slot[i] + 1;
            grown = true;
        }
    return grown;
}

#if defined(__x86_64__)
// `add_pairs` for four members and more.
[[gnu::target("avx2")]] void add_pairs_of_four(double *row, const std::int64_t *cell, int n, const double *raw,
                                               int n_members) {
    const __m256d four = _mm256_loadu_pd(raw);
    for (int j = 0; j < n; ++j) {
        double *cells = row + cell[j];
        _mm256_storeu_pd(cells, _mm256_add_pd(_mm256_loadu_pd(cells), four));
        for (int m = 4; m < n_members; ++m) cells[m] += raw[m];
    }
}
#endif

// Adds raw weights, one per member, to the cells of a row of pairs.
void add_pairs(double *row, const std::int64_t *cell, int n, const double *raw, int n_members, bool wide) {
#if defined(__x86_64__)
    if (wide && n_members >= 4) return add_pairs_of_four(row, cell, n, raw, n_members);
#endif
    for (int j = 0; j < n; ++j)
        for (int m = 0; m < n_members; ++m) row[cell[j] + m] += raw[m];
}

// Adds one row to the counts of all members.
void learn(Members &members, const int *slot, int y, double weight, std::int64_t *cell, double *raw, bool wide) {
    Store &s = members.store;
    const int n_members = members.n_members, first = y * n_members;
    for (int m = 0; m < n_members; ++m) raw[m] = members.units[m] * weight;
    const auto add = [&](double *cells) {
        for (int m = 0; m < n_members; ++m) cells[m] += raw[m];
    };
    add(s.classes + first);
    for (int i = 0; i < s.n; ++i) {
        cell[i] = (s.offsets[i] + slot[i]) * s.k + first;
        add(s.singles + cell[i]);
        add_pairs(s.pairs + (cell[i] - first) * s.width, cell, i, raw, n_members, wide);
    }
}

// The cells of one member are halved so many times: its unit has grown too large.
void halve(Store &s, int n_members, int m, int times) {
    const double factor = std::ldexp(1.0, -times);
    each_table(s, [=](double *cells, std::int64_t size) {
        for (std::int64_t q = m; q < size; q += n_members) cells[q] *= factor;
    });
}

void fade(Members &members, int m, double factor, std::int64_t *halved) {
    double &unit = members.units[m];
    if (unit / factor < most_unit) {
        unit /= factor;
        return;
    }
    const int size = std::ilogb(unit), shrink = std::ilogb(factor);
    halve(members.store, members.n_members, m, size - shrink);
    halved[m] += size - shrink;
    unit = std::ldexp(unit, -size) / std::ldexp(factor, -shrink);
}

}  // namespace

void answer(const Members &members, const Codes &codes, double *out) {
    RowScorer scorer(members);
    const Slots slots = slots_of(members);
    std::vector<int> slot(members.store.n);
    for (std::int64_t r = 0; r < codes.n_rows; ++r) {
        slots.read(codes, r, slot.data());
        scorer.score(slot.data(), out + r * members.store.k);
    }
}

std::int64_t test_then_train(Members &members, Stream &stream) {
    const Store &s = members.store;
    const Batch &rows = stream.rows;
    const int n_classes = members.n_classes();
    const Slots slots = slots_of(members);
    std::optional<RowScorer>
        scorer;  // not where the answer is known already, as of single rows: to make one takes long
    if (stream.judged || stream.answered) scorer.emplace(members);
    std::vector<int> slot(s.n), other(s.n), next(s.n);
    std::vector<std::int64_t> cell(s.n);
    std::vector<double> raw(members.n_members);
    const bool large = s.width * s.width * s.k > large_table, wide = chosen_cpu_level() != CpuLevel::plain;
    const auto began = std::chrono::steady_clock::now();
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        // Now and then Python gets a turn, between two rows: it hears Ctrl-C, and goes on from here.
        if (r % 64 == 63 && std::chrono::steady_clock::now() - began > Call::interval) return r;
        const int y = rows.labels.at(r);
        const bool labelled = rows.has_label(r);
        if ((labelled && y >= n_classes) || !slots.read(rows.codes, r, slot.data())) return r;
        if (stream.answered) {
            slots.read(*stream.answered, r, other.data());
            scorer->score(other.data(), stream.answers + r * s.k);
        }
        if (large && scorer && r + 1 < rows.n_rows()) {
            slots.read(rows.codes, r + 1, next.data());
            scorer->expect(next.data());
        }
        if (stream.judged) scorer->score(slot.data(), stream.judged + r * s.k);
        if (!labelled) continue;
        for (int m = 0; m < members.n_members; ++m)
            if (const double factor = stream.fade[m * rows.n_rows() + r]; factor < 1)
                fade(members, m, factor, stream.halved);
        if (scorer) {
            scorer->rescale();
            scorer->note_missing(slot.data());
        }
        learn(members, slot.data(), y, rows.weights[r], cell.data(), raw.data(), wide);
        if (take_values(members, slot.data()) && scorer) scorer->count_values();
    }
    return rows.n_rows();
}

}  // namespace tanager::half_lives
