#include "gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tanager {

namespace {
constexpr double least_weight_share = 1e-9;  // less weight than this is rounding
constexpr double no_share = 1e-15;           // of all rows
constexpr double least_share = 1e-2;         // of the deviation of all rows
constexpr double smallest = 0x1p-1022;
constexpr double distance = 0x1p40;  // deviations of all rows; beyond, the answer is that at this distance
constexpr double most_away = 1e150;  // deviations of a class; the square is finite
constexpr double far = 1024;         // deviations of a class; beyond, exact sums are read
constexpr int most_bits = 332;       // of the scale: some 1e100
constexpr double half_log_two_pi = 0.91893853320467274178;
}  // namespace

Moments::Moments(exact::Sums sums, double ddof, double scale)
    : sums_(std::move(sums)), k_(int(sums_.n_lines)), n_(sums_.n), ddof_(ddof), scale_(scale) {
    const std::size_t k = std::size_t(k_), n = std::size_t(n_);
    cells_.resize(k * n);
    running_.resize(k * n);
    normals_.resize(k * n);
    running_all_.resize(n);
    every_.resize(n);
    lightest_.resize(n);
    followed_.resize(n);
    stale_.resize(k);
    spread_out_.resize(k);
    own_.resize(k);
    others_.resize(k);
    left_.resize(k);
    distrust();
}

// --- rows come and go ----------------------------------------------------------------------------------------------

void Moments::change(const double *row, int y, double raw, bool remove) {
    exact::add_row(sums_, row, raw, remove, sums_.line(y));
    for (int i = 0; i < n_; ++i) {
        if (!std::isfinite(row[i])) continue;
        exact::Running &own = running_[at(i, y)], &all = running_all_[std::size_t(i)];
        if (remove) own.remove(row[i], raw), all.remove(row[i], raw);
        else own.add(row[i], raw), all.add(row[i], raw);
        followed_[std::size_t(i)] = true;
        lightest_[std::size_t(i)] = std::min(lightest_[std::size_t(i)], own.weight());
    }
    spread_out_[std::size_t(y)] = stale_[std::size_t(y)] = all_stale_ = true;
}

void Moments::set_scale(double scale) {
    if (scale == scale_) return;
    scale_ = scale;
    if (ddof_ > 0) std::fill(stale_.begin(), stale_.end(), true);
    all_stale_ = true;
}

void Moments::halve(int bits) {
    normalise();
    for (int y = 0; y < k_; ++y) exact::scale(sums_, sums_.line(y), 1, -bits, scratch_);
    distrust();
}

void Moments::distrust() {
    for (exact::Running &cell : running_) cell.distrust();
    for (exact::Running &all : running_all_) all.distrust();
    std::fill(stale_.begin(), stale_.end(), true);
    all_stale_ = true;
}

void Moments::normalise() {
    for (int y = 0; y < k_; ++y) normalise(y);
}

void Moments::normalise(int y) {
    if (std::exchange(spread_out_[std::size_t(y)], false)) exact::normalise(sums_, sums_.line(y));
}

// --- what they say -------------------------------------------------------------------------------------------------

// Cells are read before an answer, and not after every change: where a row comes and another leaves, once.
void Moments::settle() {
    for (int y = 0; y < k_; ++y)
        if (std::exchange(stale_[std::size_t(y)], false))
            for (int i = 0; i < n_; ++i) read(y, i);
    if (std::exchange(all_stale_, false))
        for (int i = 0; i < n_; ++i) read_every(i);
}

void Moments::read(int y, int i) {
    exact::Cell &cell = cells_[at(i, y)];
    exact::Running &running = running_[at(i, y)];
    if (!running.read(cell)) {
        normalise(y);
        cell = exact::read(sums_, sums_.line(y), i, scratch_);
        running = exact::Running(cell);
    }
    cell.deviation = exact::beyond_rounding(cell.deviation, cell.mean);
    normals_[at(i, y)] = normal(cell);
}

// So far from the mean, squares of distances make much of the last digits. Classes with the same rows shall tie.
void Moments::read_exactly(int i) {
    for (int y = 0; y < k_; ++y) {
        running_[at(i, y)].distrust();
        read(y, i);
    }
    running_all_[std::size_t(i)].distrust();
    read_every(i);
    followed_[std::size_t(i)] = false;
}

void Moments::read_every(int i) {
    exact::Running &running = running_all_[std::size_t(i)];
    const exact::Cell *cells = cells_.data() + at(i, 0);
    const bool light = is_light(lightest_[std::size_t(i)], running.weight()) && has_light(cells, running.weight());
    exact::Cell all;
    if (light || !running.read(all)) {
        all = pooled(cells);
        running = exact::Running(all);
        lightest_[std::size_t(i)] = all.weight;
        for (int c = 0; c < k_; ++c)
            if (cells[c].weight > 0) lightest_[std::size_t(i)] = std::min(lightest_[std::size_t(i)], cells[c].weight);
        if (light) running.distrust();  // it lacks rows that may come to count
    }
    every_[std::size_t(i)] = every(all);
}

// Whether a class has so few of all rows that these do not count, or nearly so.
bool Moments::is_light(double weight, double total) { return weight < 2 * no_share * total; }

bool Moments::has_light(const exact::Cell *cells, double total) const {
    return std::any_of(cells, cells + k_,
                       [=](const auto &cell) { return cell.weight > 0 && is_light(cell.weight, total); });
}

double Moments::corrected(const exact::Cell &cell) const {
    if (ddof_ == 0) return cell.deviation;
    const double weight = cell.weight / scale_;
    return weight >= 2 ? cell.deviation * std::sqrt(weight / (weight - ddof_)) : cell.deviation;
}

Moments::Normal Moments::normal(const exact::Cell &cell) const {
    const double deviation = corrected(cell);
    return {cell.weight, cell.mean, deviation, 1 / deviation, std::log(deviation)};
}

Moments::Every Moments::every(const exact::Cell &all) const {
    const double deviation = corrected(all);
    if (!(deviation > 0)) return {all.mean, 1, 1};  // a standard normal, the same in all classes
    return {all.mean, deviation, std::max(least_share * deviation, smallest)};
}

// The moments of all rows, from those of the classes. Means are read as their distance from that of one class: where
// all are the same, or next to each other, nothing is rounded.
exact::Cell Moments::pooled(const exact::Cell *cells) const {
    const exact::Cell &first =
        *std::max_element(cells, cells + k_, [](const auto &a, const auto &b) { return a.weight < b.weight; });
    double total = 0, shift = 0, widest = 0, sum = 0;
    for (int c = 0; c < k_; ++c) total += cells[c].weight;
    if (!(total > 0)) return {0, 0, 0};
    const auto share = [&, part = 1 / total](int c) {
        const double own = cells[c].weight * part;
        return own > no_share ? own : 0;
    };
    const auto beside = [&](int c) { return (cells[c].mean - first.mean) + (cells[c].rest - first.rest); };
    for (int c = 0; c < k_; ++c)
        if (share(c) > 0) shift += share(c) * beside(c);
    for (int c = 0; c < k_; ++c)
        if (share(c) > 0) widest = std::max({widest, cells[c].deviation, std::abs(beside(c) - shift)});
    const double centre = first.mean + shift, rest = shift - (centre - first.mean) + first.rest;
    if (!(widest > 0)) return {total, centre, 0, rest};
    const double inverse = 1 / std::max(widest, smallest);  // squares of ratios stay finite
    for (int c = 0; c < k_; ++c) {
        const double own = cells[c].deviation * inverse, apart = (beside(c) - shift) * inverse;
        if (share(c) > 0) sum += share(c) * (own * own + apart * apart);
    }
    return {total, centre, widest * std::sqrt(sum), rest};
}

// --- answers -------------------------------------------------------------------------------------------------------

double Moments::log_ratios(const double *row, double *out) {
    settle();
    std::fill_n(out, k_, 0.0);
    double highest = 0;
    for (int i = 0; i < n_; ++i) {
        if (!std::isfinite(row[i])) continue;
        const Normal *normals = normals_.data() + at(i, 0);
        Logs logs = log_densities(row[i], every_[std::size_t(i)], normals);
        if (logs.farthest > far && followed_[std::size_t(i)]) {
            read_exactly(i);
            logs = log_densities(row[i], every_[std::size_t(i)], normals);
        }
        for (int c = 0; c < k_; ++c) out[c] += own_[std::size_t(c)] - logs.top;
        highest += logs.top - half_log_two_pi;
    }
    return highest;
}

double Moments::log_ratios_without(const double *row, int y, double raw, double *out) {
    settle();
    std::fill_n(out, k_, 0.0);
    double highest = 0;
    for (int i = 0; i < n_; ++i) {
        if (!std::isfinite(row[i])) continue;
        exact::Running own = running_[at(i, y)], all = running_all_[std::size_t(i)];
        own.remove(row[i], raw), all.remove(row[i], raw);
        exact::Cell cell, pool;
        if (!own.read(cell)) cell = exact::read_without(sums_, sums_.line(y), i, row[i], raw, scratch_);
        cell.deviation = exact::beyond_rounding(cell.deviation, cell.mean);
        std::copy_n(cells_.data() + at(i, 0), k_, others_.data());
        others_[std::size_t(y)] = cell;
        if (has_light(others_.data(), all.weight()) || !all.read(pool)) pool = pooled(others_.data());
        std::copy_n(normals_.data() + at(i, 0), k_, left_.data());
        left_[std::size_t(y)] = normal(cell);
        const Logs logs = log_densities(row[i], every(pool), left_.data());
        for (int c = 0; c < k_; ++c) out[c] += own_[std::size_t(c)] - logs.top;
        highest += logs.top - half_log_two_pi;
    }
    return highest;
}

// The rules of tanager.counts.normals, for one column.
Moments::Logs Moments::log_densities(double x, const Every &every, const Normal *normals) {
    const double reach = distance * every.deviation, least_weight = least_weight_share * scale_;
    x = std::clamp(x, every.mean - reach, every.mean + reach);
    Logs out{-HUGE_VAL, 0};
    for (int c = 0; c < k_; ++c) {
        const Normal &own = normals[c];
        double mean = own.mean, inverse = own.inverse, log_deviation = own.log_deviation;
        const bool known = own.weight > least_weight;
        if (!known || !(own.deviation >= every.least)) {
            const double deviation = known ? every.least : std::max(every.deviation, every.least);
            if (!known) mean = every.mean;
            inverse = 1 / deviation, log_deviation = std::log(deviation);
        }
        const double z = std::min(std::abs(x - mean) * inverse, most_away), log = -0.5 * z * z - log_deviation;
        out = {std::max(out.top, log), std::max(out.farthest, z)};
        own_[std::size_t(c)] = log;
    }
    return out;
}

// --- streams -------------------------------------------------------------------------------------------------------

void stream(Moments &moments, const GaussianBlock &block, Queue *queue, double *out) {
    const std::int64_t n = moments.n_columns();
    std::int64_t front = 0;
    for (std::int64_t r = 0; r < block.n_rows; ++r) {
        moments.log_ratios(block.asked + r * n, out + r * moments.n_classes());
        if (block.halved[r] > 0) {
            moments.halve(int(block.halved[r]));
            for (std::int64_t q = front; queue && q < queue->n_old + r; ++q)
                queue->raw[std::size_t(q)] = std::ldexp(queue->raw[std::size_t(q)], -int(block.halved[r]));
        }
        moments.set_scale(block.scales[r]);
        const int y = block.labels[std::size_t(r)];
        if (y >= 0) moments.add(block.rows + r * n, y, block.raw[r]);
        for (std::int64_t g = 0; queue && g < queue->gone[r]; ++g, ++front) {
            const std::int64_t own = front - queue->n_old;  // where it is in the block
            const double *row = own < 0 ? queue->rows + front * n : block.rows + own * n;
            const int label = own < 0 ? queue->labels[std::size_t(front)] : block.labels[std::size_t(own)];
            if (label >= 0) moments.remove(row, label, queue->raw[std::size_t(front)]);
        }
    }
    moments.normalise();
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
