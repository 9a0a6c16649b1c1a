#include "pool.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tanager::pool {

namespace {

constexpr double some_rows = 1;  // added to the squares, so that the first rows do not move the weights at will

class Row {
  public:
    explicit Row(const Pool &pool)
        : pool_(pool), logs_(std::size_t(pool.n_members) * pool.n_classes), own_(pool.n_classes),
          gradient_(pool.n_members) {}

    void answer(const double *members, double *out) {
        if (pool_.logarithmic) {
            take_logs(members);
            mix_logs(out);
        } else {
            mix_shares(members, out);
        }
    }
    // Moves the weights by a row of class y. `out` is what the pool says of it where that is known, else null.
    void learn(Pool &pool, const double *members, int y, double weight, const double *out) {
        if (!pool_.logarithmic) return share(pool, members, y);
        if (!out) {
            answer(members, own_.data());
            out = own_.data();
        }
        const int k = pool.n_classes;
        double square = 0;
        for (int m = 0; m < pool.n_members; ++m) {
            const double *logs = &logs_[std::size_t(m) * k];
            double mean = 0;
            for (int c = 0; c < k; ++c) mean += out[c] * logs[c];
            gradient_[m] = weight * (mean - logs[y]);
            square += gradient_[m] * gradient_[m];
        }
        *pool.square = pool.keep * *pool.square + square;
        const double step = pool.step / std::sqrt(*pool.square + some_rows);
        for (int m = 0; m < pool.n_members; ++m) pool.weights[m] -= step * gradient_[m];
    }

  private:
    const Pool &pool_;
    std::vector<double> logs_, own_, gradient_;  // logs_: of the members' answers, of the row answered last

    void take_logs(const double *members) {
        for (std::size_t q = 0; q < logs_.size(); ++q) logs_[q] = std::log(std::max(members[q], pool_.least));
    }
    void mix_logs(double *out) const {
        const int k = pool_.n_classes;
        std::fill_n(out, k, 0.0);
        for (int m = 0; m < pool_.n_members; ++m)
            for (int c = 0; c < k; ++c) out[c] += pool_.weights[m] * logs_[std::size_t(m) * k + c];
        const double top = *std::max_element(out, out + k);
        double all = 0;
        for (int c = 0; c < k; ++c) all += out[c] = std::exp(out[c] - top);
        for (int c = 0; c < k; ++c) out[c] /= all;
    }
    void mix_shares(const double *members, double *out) const {
        const int k = pool_.n_classes;
        std::fill_n(out, k, 0.0);
        for (int m = 0; m < pool_.n_members; ++m)
            for (int c = 0; c < k; ++c) out[c] += pool_.weights[m] * members[std::size_t(m) * k + c];
    }
    static void share(Pool &pool, const double *members, int y) {
        double all = 0;
        for (int m = 0; m < pool.n_members; ++m)
            all += pool.weights[m] *= std::max(members[std::size_t(m) * pool.n_classes + y], pool.least);
        for (int m = 0; m < pool.n_members; ++m)
            pool.weights[m] = (1 - pool.share) * pool.weights[m] / all + pool.share / pool.n_members;
    }
};

}  // namespace

void mix(const Pool &pool, const double *answers, std::int64_t n_rows, double *out) {
    Row row(pool);
    const std::int64_t size = std::int64_t(pool.n_members) * pool.n_classes;
    for (std::int64_t r = 0; r < n_rows; ++r) row.answer(answers + r * size, out + r * pool.n_classes);
}

void learn(Pool &pool, const double *answers, const double *judged, const Codes &labels, const Weights &row_weights,
           double *out, double *trace) {
    Row row(pool);
    const std::int64_t size = std::int64_t(pool.n_members) * pool.n_classes;
    for (std::int64_t r = 0; r < labels.n_rows; ++r) {
        double *own = out + r * pool.n_classes;
        row.answer(answers + r * size, own);
        const int y = labels.at(r);
        if (y < pool.n_classes && row_weights[r] > 0)  // a row without weight teaches nothing
            row.learn(pool, judged + r * size, y, row_weights[r], answers == judged ? own : nullptr);
        if (trace) std::copy_n(pool.weights, pool.n_members, trace + r * pool.n_members);
    }
}

}  // namespace tanager::pool
