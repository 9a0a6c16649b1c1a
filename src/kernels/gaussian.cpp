#include "gaussian.hpp"

#include <algorithm>
#include <cmath>

namespace tanager {

namespace {
constexpr double nothing = 1e-9;     // less weight than this is rounding
constexpr double too_large = 1e150;  // of the scale of raw weights
constexpr double log_two_pi = 1.8378770664093454836;
}  // namespace

void Moments::add(const double *row, int y, double w) {
    for (int i = 0; i < n; ++i) {
        const double x = row[i];
        if (!std::isfinite(x)) continue;
        low[i] = std::min(low[i], x);
        high[i] = std::max(high[i], x);
        const std::size_t at = std::size_t(y) * n + i;
        const double total = weight[at] + w;
        if (total <= 0) continue;
        const double away = x - mean[at];
        mean[at] += away * (w / total);
        squares[at] += w * away * (x - mean[at]);
        weight[at] = total;
    }
}

void Moments::remove(const double *row, int y, double w) {
    for (int i = 0; i < n; ++i) {
        const double x = row[i];
        if (!std::isfinite(x)) continue;
        const std::size_t at = std::size_t(y) * n + i;
        const double left = weight[at] - w;
        if (left <= nothing) {
            weight[at] = mean[at] = squares[at] = 0;
            continue;
        }
        const double away = x - mean[at];
        mean[at] -= w * away / left;
        squares[at] = std::max(0.0, squares[at] - w * away * (x - mean[at]));
        weight[at] = left;
    }
}

void Moments::fade(int y, double factor) {
    const std::size_t begin = y < 0 ? 0 : std::size_t(y) * n, end = y < 0 ? std::size_t(k) * n : begin + n;
    for (std::size_t at = begin; at < end; ++at) {
        weight[at] *= factor;
        squares[at] *= factor;
    }
}

void Moments::log_density(const double *row, double *out) const {
    std::fill_n(out, k, 0.0);
    for (int i = 0; i < n; ++i) {
        const double x = row[i];
        if (!std::isfinite(x)) continue;
        const double range = high[i] > low[i] ? 1e-3 * (high[i] - low[i]) : 0;
        const double floor = std::max(1e-9, range * range);
        double total = 0, pooled_mean = 0, pooled_variance = 1;
        bool all = true;
        for (int c = 0; c < k; ++c) all = all && weight[std::size_t(c) * n + i] > nothing;
        if (!all) {
            for (int c = 0; c < k; ++c) {
                total += weight[std::size_t(c) * n + i];
                pooled_mean += weight[std::size_t(c) * n + i] * mean[std::size_t(c) * n + i];
            }
            if (total > 0) {
                pooled_mean /= total;
                pooled_variance = 0;
                for (int c = 0; c < k; ++c) {
                    const std::size_t at = std::size_t(c) * n + i;
                    const double apart = mean[at] - pooled_mean;
                    pooled_variance += (squares[at] + weight[at] * apart * apart) / total;
                }
            }
        }
        for (int c = 0; c < k; ++c) {
            const std::size_t at = std::size_t(c) * n + i;
            const bool known = weight[at] > nothing;
            const double variance = std::max(floor, known ? squares[at] / weight[at] : pooled_variance);
            const double away = x - (known ? mean[at] : pooled_mean);
            out[c] -= 0.5 * (log_two_pi + std::log(variance) + away * away / variance);
        }
    }
}

void stream(Moments &moments, const GaussianBlock &block, Queue *queue, double *out) {
    const std::size_t n = std::size_t(moments.n);
    double scale = 1;
    std::size_t front = 0;
    const std::size_t before = queue ? queue->raw.size() - std::size_t(block.n_rows) : 0;
    for (std::int64_t r = 0; r < block.n_rows; ++r) {
        moments.log_density(block.asked + std::size_t(r) * n, out + r * moments.k);
        const int y = block.labels[std::size_t(r)];
        if (block.fade) {
            moments.fade(block.per_class ? y : -1, block.fade[r]);
            if (!block.per_class) scale /= block.fade[r];
        }
        if (queue && scale > too_large) {
            for (double &raw : queue->raw) raw /= scale;
            scale = 1;
        }
        const double w = block.weights ? block.weights[r] : 1;
        if (y >= 0) moments.add(block.rows + std::size_t(r) * n, y, w);
        if (!queue) continue;
        queue->raw[before + std::size_t(r)] = w * scale;
        for (std::int64_t g = 0; g < queue->gone[r]; ++g, ++front)
            moments.remove(queue->rows + front * n, queue->labels[front], queue->raw[front] / scale);
    }
}

}  // namespace tanager
