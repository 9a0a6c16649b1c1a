#include "gaussian.hpp"

#include <algorithm>
#include <cmath>

namespace tanager {

namespace {
constexpr double nothing = 1e-9;      // less weight than this is rounding
constexpr double no_share = 1e-15;    // of all rows
constexpr double least_share = 1e-2;  // of the deviation of all rows
constexpr double smallest = 0x1p-1022;
constexpr double distance = 0x1p40;  // deviations of all rows; beyond, the answer is that at this distance
constexpr double most = 1e150;       // deviations of a class; the square is finite
constexpr int most_bits = 332;       // of the scale: some 1e100

double corrected(const exact::Cell &cell, double weight, double ddof) {
    return ddof > 0 && weight >= 2 ? cell.deviation * std::sqrt(weight / (weight - ddof)) : cell.deviation;
}
}  // namespace

Moments::Moments(exact::Sums sums, double ddof, double scale_)
    : scale(scale_), sums_(std::move(sums)), k_(int(sums_.n_lines)), ddof_(ddof) {
    cells_.resize(std::size_t(k_) * std::size_t(sums_.n));
    log_spread_.resize(cells_.size());
    row_.resize(std::size_t(sums_.width));
    own_.resize(std::size_t(k_));
    for (int y = 0; y < k_; ++y) read(y);
}

void Moments::read(int y) {
    for (int i = 0; i < sums_.n; ++i) {
        const std::size_t at = std::size_t(y) * std::size_t(sums_.n) + std::size_t(i);
        cells_[at] = exact::read(sums_, sums_.line(y), i, scratch_);
        log_spread_[at] = cells_[at].deviation > 0 ? std::log(cells_[at].deviation) : 0;
    }
}

void Moments::add(const double *row, int y, double raw) {
    exact::spell(sums_, row, raw, row_.data());
    exact::add(sums_.line(y), row_.data(), sums_.width);
    exact::normalise(sums_, sums_.line(y));
    read(y);
}

void Moments::remove(const double *row, int y, double raw) {
    exact::spell(sums_, row, raw, row_.data());
    exact::subtract(sums_.line(y), row_.data(), sums_.width);
    exact::normalise(sums_, sums_.line(y));
    read(y);
}

void Moments::halve(int bits) {
    for (int y = 0; y < k_; ++y) {
        exact::scale(sums_, sums_.line(y), 1, -bits, scratch_);
        read(y);
    }
}

void Moments::log_ratios(const double *row, double *out) {
    std::fill_n(out, k_, 0.0);
    for (int i = 0; i < sums_.n; ++i)
        if (std::isfinite(row[i])) answer(i, row[i], out);
}

// The rules of tanager.counts.normals, one column at a time.
void Moments::answer(int i, double x, double *out) {
    const std::size_t n = std::size_t(sums_.n);
    const exact::Cell *cells = cells_.data() + i;
    const double *logs = log_spread_.data() + i;
    double total = 0, centre = 0, widest = 0, sum = 0;
    for (int c = 0; c < k_; ++c) total += cells[std::size_t(c) * n].weight;
    const double part = total > 0 ? 1 / total : 0;
    const auto share = [&](int c) {
        const double own = cells[std::size_t(c) * n].weight * part;
        return own > no_share ? own : 0;
    };
    int heaviest = 0;  // deviations from its mean: where all have the same mean, nothing is rounded
    for (int c = 1; c < k_; ++c)
        if (cells[std::size_t(c) * n].weight > cells[std::size_t(heaviest) * n].weight) heaviest = c;
    const double first = cells[std::size_t(heaviest) * n].mean;
    for (int c = 0; c < k_; ++c) centre += share(c) * (cells[std::size_t(c) * n].mean - first);
    centre += first;
    for (int c = 0; c < k_; ++c) {
        const exact::Cell &cell = cells[std::size_t(c) * n];
        if (share(c) > 0) widest = std::max({widest, cell.deviation, std::abs(cell.mean - centre)});
    }
    const double inverse = 1 / std::max(widest, smallest);  // squares of ratios stay finite
    for (int c = 0; c < k_ && widest > 0; ++c) {
        const exact::Cell &cell = cells[std::size_t(c) * n];
        const double own = cell.deviation * inverse, apart = (cell.mean - centre) * inverse;
        if (share(c) > 0) sum += share(c) * (own * own + apart * apart);
    }
    exact::Cell all{total, centre, widest > 0 ? widest * std::sqrt(sum) : 0};
    all.deviation = corrected(all, total / scale, ddof_);
    const bool varied = all.deviation > 0;
    if (!varied) all.deviation = 1;  // a standard normal, the same in all classes
    const double least = varied ? std::max(least_share * all.deviation, smallest) : 1;
    x = std::clamp(x, all.mean - distance * all.deviation, all.mean + distance * all.deviation);
    for (int c = 0; c < k_; ++c) {
        const exact::Cell &cell = cells[std::size_t(c) * n];
        const bool known = cell.weight > nothing * scale;
        double deviation = known ? corrected(cell, cell.weight / scale, ddof_) : all.deviation;
        double log_deviation = known ? logs[std::size_t(c) * n] : std::log(all.deviation);
        if (deviation < least) deviation = least, log_deviation = std::log(least);
        else if (known && deviation != cell.deviation) log_deviation = std::log(deviation);
        const double z = std::clamp((x - (known ? cell.mean : all.mean)) / deviation, -most, most);
        own_[std::size_t(c)] = -0.5 * z * z - log_deviation;
    }
    const double top = *std::max_element(own_.begin(), own_.end());
    for (int c = 0; c < k_; ++c) out[c] += own_[std::size_t(c)] - top;
}

void stream(Moments &moments, const GaussianBlock &block, Queue *queue, double *out) {
    const std::size_t n = std::size_t(moments.n_columns());
    std::size_t front = 0;
    for (std::int64_t r = 0; r < block.n_rows; ++r) {
        moments.log_ratios(block.asked + std::size_t(r) * n, out + r * moments.n_classes());
        if (block.halved[r] > 0) {
            moments.halve(int(block.halved[r]));
            if (queue)
                for (std::size_t q = front; q < queue->raw.size() - std::size_t(block.n_rows - r); ++q)
                    queue->raw[q] = std::ldexp(queue->raw[q], -int(block.halved[r]));
        }
        moments.scale = block.scales[r];
        const int y = block.labels[std::size_t(r)];
        if (y >= 0) moments.add(block.rows + std::size_t(r) * n, y, block.raw[r]);
        if (!queue) continue;
        for (std::int64_t g = 0; g < queue->gone[r]; ++g, ++front)
            moments.remove(queue->rows + front * n, queue->labels[front], queue->raw[front]);
    }
}

void fading_scales(std::int64_t n, const double *fade, double scale, double *scales, std::int64_t *halved) {
    for (std::int64_t r = 0; r < n; ++r) {
        halved[r] = 0;
        if (fade && fade[r] < 1) {
            int power = 0, factor_power = 0;
            const double size = std::frexp(scale, &power), factor = std::frexp(fade[r], &factor_power);
            if (power - factor_power > most_bits) {
                halved[r] = power - factor_power;
                scale = size / factor;
            } else {
                scale /= fade[r];
            }
        }
        scales[r] = scale;
    }
}

}  // namespace tanager
