#include "fold_errors.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "split_errors.hpp"
#include "threads.hpp"
#include "ties.hpp"

namespace tanager {

namespace {

constexpr std::uint32_t kMissingCell = std::numeric_limits<std::uint32_t>::max();

// The rows, laid out for many passes: numbers of cells row by row, and weights by row and fold.
struct Prepared {
    std::size_t m, n, k, folds, asked, width = 0;
    std::vector<std::uint32_t> cells;
    std::vector<std::size_t> labels;
    std::vector<double> dealt;
    std::vector<std::size_t> begin, fold;  // fold[begin[r]] to fold[begin[r + 1]]: the folds that have some of row r

    Prepared(const FoldedRows &rows, const FoldedColumns &columns)
        : m(std::size_t(rows.codes.n_rows)), n(columns.n_values.size()), k(std::size_t(columns.n_classes)),
          folds(std::size_t(rows.n_folds)), asked(std::size_t(rows.n_asked)), cells(m * n), labels(m),
          dealt(m * folds) {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t r = 0; r < m; ++r) {
                const int code = rows.codes.at(std::int64_t(r), std::int64_t(i));
                cells[r * n + i] = code < columns.n_values[i] ? std::uint32_t(width + std::size_t(code)) : kMissingCell;
            }
            width += std::size_t(columns.n_values[i]);
        }
        for (std::size_t r = 0; r < m; ++r) {
            labels[r] = std::size_t(rows.labels.at(std::int64_t(r)));
            begin.push_back(fold.size());
            for (std::size_t b = 0; b < folds; ++b) {
                dealt[r * folds + b] = rows.dealt[b * m + r];
                if (dealt[r * folds + b] > 0.0) fold.push_back(b);
            }
        }
        begin.push_back(fold.size());
    }
};

// A part of the rows, each with the share of its weight that is in this part.
struct Part {
    std::vector<std::size_t> rows;
    std::vector<double> shares;

    void clear() {
        rows.clear();
        shares.clear();
    }
    void add(std::size_t row, double share) {
        rows.push_back(row);
        shares.push_back(share);
    }
};

// Counts of one part, in all and per fold. Where a part is small, cells are cleared one by one after use.
class FoldedNaiveBayes {
  public:
    FoldedNaiveBayes(const Prepared &rows, const FoldedColumns &columns)
        : rows_(rows), columns_(columns), total_(rows.width * rows.k), fold_(rows.folds * rows.width * rows.k),
          lost_((rows.folds + 1) * rows.n * rows.k), classes_((rows.folds + 1) * rows.k), prior_(rows.folds * rows.k),
          inverse_(rows.folds * rows.n * rows.k), order_(rows.folds * rows.k), gaps_(rows.n), proba_(rows.k) {
        for (std::size_t i = 0; i < rows.n; ++i)
            columns_of_.insert(columns_of_.end(), std::size_t(columns.n_values[i]), i);
    }

    double right(const Part &part) {
        count(part, 1.0);
        // Where rows are many, every factor is worked out once, and not for each of them.
        tables_ = part.rows.size() * rows_.n > rows_.folds * rows_.width;
        if (tables_) factor_.resize(fold_.size());
        for (std::size_t b = 0; b < rows_.asked; ++b) estimate(b);
        const double sum = rows_.k == 2 ? right_of<2>(part) : rows_.k == 3 ? right_of<3>(part) : right_of<0>(part);
        if (tables_) clear();
        else count(part, 0.0);
        return sum;
    }

  private:
    template <std::size_t Fixed>
    double right_of(const Part &part) {
        double sum = 0.0;
        for (std::size_t at = 0; at < part.rows.size(); ++at) {
            const std::size_t r = part.rows[at];
            for (std::size_t f = rows_.begin[r]; f < rows_.begin[r + 1] && rows_.fold[f] < rows_.asked; ++f) {
                const std::size_t b = rows_.fold[f];
                const double weight = rows_.dealt[r * rows_.folds + b] * part.shares[at];
                if (weight > 0.0 && answer<Fixed>(r, b) == rows_.labels[r]) sum += weight;
            }
        }
        return sum;
    }

    void clear() {
        for (std::vector<double> *cells : {&total_, &fold_, &lost_, &classes_})
            std::fill(cells->begin(), cells->end(), 0.0);
        std::fill(gaps_.begin(), gaps_.end(), char(0));
    }

    // Adds the rows of a part to all tables, or (by = 0) sets the cells that they have touched to zero.
    void count(const Part &part, double by) {
        const std::size_t n = rows_.n, k = rows_.k, folds = rows_.folds;
        const bool clear = by == 0.0;
        const auto put = [clear](double &cell, double weight) { cell = clear ? 0.0 : cell + weight; };
        for (std::size_t at = 0; at < part.rows.size(); ++at) {
            const std::size_t r = part.rows[at], y = rows_.labels[r];
            const std::uint32_t *cells = rows_.cells.data() + r * n;
            for (std::size_t f = rows_.begin[r]; f < rows_.begin[r + 1]; ++f) {
                const std::size_t b = rows_.fold[f];
                const double weight = rows_.dealt[r * folds + b] * part.shares[at];
                if (weight <= 0.0) continue;
                put(classes_[b * k + y], weight);
                put(classes_[folds * k + y], weight);
                double *fold = fold_.data() + b * rows_.width * k;
                for (std::size_t i = 0; i < n; ++i) {
                    if (cells[i] != kMissingCell) {
                        put(total_[cells[i] * k + y], weight);
                        put(fold[cells[i] * k + y], weight);
                    } else {
                        put(lost_[(b * n + i) * k + y], weight);
                        put(lost_[(folds * n + i) * k + y], weight);
                        gaps_[i] = !clear;
                    }
                }
            }
        }
    }

    // Priors and denominators without fold b, and the order in which classes win ties.
    void estimate(std::size_t b) {
        const std::size_t n = rows_.n, k = rows_.k, folds = rows_.folds;
        const double *own = classes_.data() + b * k, *all = classes_.data() + folds * k;
        if (std::all_of(own, own + k, [](double weight) { return weight == 0.0; })) return;  // no row to answer
        double *prior = prior_.data() + b * k;
        double sum = 0.0;
        for (std::size_t c = 0; c < k; ++c) sum += all[c] - own[c] + columns_.class_pseudo;
        for (std::size_t c = 0; c < k; ++c) prior[c] = (all[c] - own[c] + columns_.class_pseudo) / sum;
        for (std::size_t i = 0; i < n; ++i) {
            const double extra = columns_.pseudo[i] * double(columns_.n_values[i]);
            double *inverse = inverse_.data() + (b * n + i) * k;
            for (std::size_t c = 0; c < k; ++c) inverse[c] = all[c] - own[c] + extra;
            if (gaps_[i]) {
                const double *lost = lost_.data() + (b * n + i) * k, *lost_all = lost_.data() + (folds * n + i) * k;
                for (std::size_t c = 0; c < k; ++c) inverse[c] -= lost_all[c] - lost[c];
            }
            for (std::size_t c = 0; c < k; ++c) inverse[c] = 1.0 / inverse[c];
        }
        if (tables_) fill_factors(b);
        std::size_t *order = order_.data() + b * k;
        for (std::size_t c = 0; c < k; ++c) order[c] = c;
        std::stable_sort(order, order + k,
                         [&](std::size_t c, std::size_t d) { return first_digits(prior[c]) > first_digits(prior[d]); });
    }

    // P(value | class) of every value, without fold b.
    void fill_factors(std::size_t b) {
        const std::size_t k = rows_.k, from = b * rows_.width * k;
        for (std::size_t cell = 0; cell < rows_.width; ++cell)
            factor_of(b, cell, columns_of_[cell], &factor_[from + cell * k]);
    }
    void factor_of(std::size_t b, std::size_t cell, std::size_t i, double *out) const {
        const std::size_t k = rows_.k;
        const double *in_all = total_.data() + cell * k, *in_fold = fold_.data() + (b * rows_.width + cell) * k;
        const double *inverse = inverse_.data() + (b * rows_.n + i) * k;
        const double pseudo = columns_.pseudo[i];
        for (std::size_t c = 0; c < k; ++c) out[c] = (in_all[c] - in_fold[c] + pseudo) * inverse[c];
    }

    template <std::size_t Fixed>
    std::size_t answer(std::size_t r, std::size_t b) {
        const std::size_t n = rows_.n, k = Fixed ? Fixed : rows_.k;
        const std::uint32_t *cells = rows_.cells.data() + r * n;
        const double *factors = tables_ ? factor_.data() + b * rows_.width * k : nullptr;
        double few[Fixed ? Fixed : 1];  // which stay in registers
        double *p = Fixed ? few : proba_.data();
        std::copy_n(prior_.data() + b * k, k, p);
        for (std::size_t i = 0; i < n; ++i) {
            if (cells[i] == kMissingCell) continue;
            const double *own = factors ? factors + cells[i] * k : once_.data();
            if (!factors) factor_of(b, cells[i], i, once_.data());
            for (std::size_t c = 0; c < k; ++c) p[c] *= own[c];
            if (i % 8 == 7) rescale(p, k);
        }
        double best = 0.0, sum = 0.0;
        for (std::size_t c = 0; c < k; ++c) {
            best = std::max(best, p[c]);
            sum += p[c];
        }
        const std::size_t *order = order_.data() + b * k;
        for (std::size_t at = 0; at < k; ++at)
            if (p[order[at]] >= best - kSameProbability * sum) return order[at];
        return order[0];
    }

    // Products of many small numbers vanish; what counts is how they compare.
    static void rescale(double *p, std::size_t k) {
        double most = p[0];
        for (std::size_t c = 1; c < k; ++c) most = std::max(most, p[c]);
        if (most > 0.0 && most < 1e-100)
            for (std::size_t c = 0; c < k; ++c) p[c] *= 1e100;
    }

    const Prepared &rows_;
    const FoldedColumns &columns_;
    std::vector<double> total_, fold_, lost_, classes_, prior_, inverse_;  // the class is innermost in all of them
    std::vector<std::size_t> order_;
    std::vector<char> gaps_;
    std::vector<double> proba_, once_ = std::vector<double>(rows_.k);
    std::vector<std::size_t> columns_of_;  // of every cell
    std::vector<double> factor_;           // (folds, cells, classes)
    bool tables_ = false;                  // whether factors are there
};

double right_of_split(const Prepared &rows, std::size_t column, std::size_t n_values, std::uint32_t first,
                      bool heaviest, FoldedNaiveBayes &model) {
    std::vector<double> mass(n_values), weights(rows.m);
    std::vector<std::vector<std::size_t>> with(n_values);
    std::vector<std::size_t> without;
    for (std::size_t r = 0; r < rows.m; ++r) {
        for (std::size_t b = 0; b < rows.folds; ++b) weights[r] += rows.dealt[r * rows.folds + b];
        const std::uint32_t cell = rows.cells[r * rows.n + column];
        if (cell == kMissingCell) {
            without.push_back(r);
        } else {
            mass[cell - first] += weights[r];
            with[cell - first].push_back(r);
        }
    }
    double known = 0.0, sum = 0.0;
    for (const double weight : mass) known += weight;
    const auto top = std::size_t(std::max_element(mass.begin(), mass.end()) - mass.begin());
    Part part;
    for (std::size_t v = 0; v < n_values; ++v) {
        if (mass[v] <= 0.0) continue;
        check_interrupt();
        part.clear();
        for (const std::size_t r : with[v]) part.add(r, 1.0);
        const double share = heaviest ? (v == top ? 1.0 : 0.0) : mass[v] / known;
        if (share > 0.0)
            for (const std::size_t r : without) part.add(r, share);
        sum += model.right(part);
    }
    return sum;
}

}  // namespace

void fold_right(const FoldedRows &given, const FoldedColumns &columns, const std::vector<char> &wanted, bool heaviest,
                int n_jobs, double *right) {
    if (right_of_all_splits(given, columns, wanted, right)) return;
    const Prepared rows(given, columns);
    std::vector<std::uint32_t> first(rows.n);
    for (std::size_t i = 1; i < rows.n; ++i) first[i] = first[i - 1] + std::uint32_t(columns.n_values[i - 1]);
    const auto n_threads = std::size_t(std::clamp<std::int64_t>(std::int64_t(rows.m) / 512, 1, n_jobs));
    std::atomic<std::size_t> next{0};
    run_threads(n_threads, [&](std::size_t) {
        FoldedNaiveBayes model(rows, columns);
        for (std::size_t i = next++; i <= rows.n; i = next++) {
            check_interrupt();
            if (i == rows.n) {
                Part all;
                for (std::size_t r = 0; r < rows.m; ++r) all.add(r, 1.0);
                right[i] = model.right(all);
            } else if (wanted[i]) {
                right[i] = right_of_split(rows, i, std::size_t(columns.n_values[i]), first[i], heaviest, model);
            }
        }
    });
}

void value_weights(const Codes &codes, const std::vector<std::int64_t> &n_values, const Weights &weights, double *out) {
    std::vector<std::int64_t> first(1, 0);
    for (const std::int64_t values : n_values) first.push_back(first.back() + values);
    for (std::int64_t r = 0; r < codes.n_rows; ++r) {
        for (std::size_t i = 0; i < n_values.size(); ++i) {
            const int code = codes.at(r, std::int64_t(i));
            if (code < n_values[i]) out[first[i] + code] += weights[r];
        }
    }
}

}  // namespace tanager
