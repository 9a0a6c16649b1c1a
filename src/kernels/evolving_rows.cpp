#include "evolving_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "threads.hpp"

namespace tanager {

namespace {
constexpr double most_read = 1e90;  // numbers beyond are read as this: their squares times any weight stay finite
}

Evolving::Row EvolvingRows::at(std::int64_t r) {
    const std::byte *from = numbers_ + r * row_step_;
    for (double &x : x_) {
        x = load<double>(from);
        x = std::isfinite(x) ? std::clamp(x, -most_read, most_read) : std::numeric_limits<double>::quiet_NaN();
        from += column_step_;
    }
    for (std::size_t i = 0; i < v_.size(); ++i) {
        const int code = codes_.at(r, std::int64_t(i));
        v_[i] = code == codes_.marker() ? -1 : code;
    }
    return {x_.data(), v_.data()};
}

std::vector<int> EvolvingRows::n_values() {
    std::vector<int> most(v_.size(), 0);
    if (most.empty()) return most;
    for (std::int64_t r = 0; r < n_rows(); ++r) {
        at(r);
        for (std::size_t i = 0; i < v_.size(); ++i) most[i] = std::max(most[i], v_[i] + 1);
    }
    return most;
}

void learn_rows(Evolving &model, EvolvingRows &rows, const Codes &labels, const Weights &weights,
                std::optional<EvolvingRows> &answered, double *out) {
    const int k = model.n_classes();
    model.reserve_values(rows.n_values());  // once for all rows: the counts move where a column grows
    Evolving::Scores scores;
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        if (out && answered) {
            model.answer(answered->at(r), scores);
            std::copy_n(scores.classes.data(), k, out + r * k);
        }
        const Evolving::Row row = rows.at(r);
        model.answer(row, scores);
        if (out && !answered) std::copy_n(scores.classes.data(), k, out + r * k);
        const int label = labels.at(r);
        model.learn(row, label == labels.marker() ? -1 : label, weights[r], scores);
    }
}

void learn_given_rows(Evolving &model, EvolvingRows &rows, const Codes &labels, const std::int64_t *pseudo,
                      const std::vector<int> &n_pseudo, const Weights &weights) {
    model.reserve_values(rows.n_values());
    model.begin_given(n_pseudo);
    std::vector<std::int64_t> own;
    for (std::int64_t r = 0; r < rows.n_rows(); ++r)
        if (labels.at(r) != labels.marker() && weights[r] > 0) own.push_back(r);
    const std::size_t window = std::size_t(model.options().window);
    if (window > 0 && own.size() > window) own.erase(own.begin(), own.end() - std::ptrdiff_t(window));
    for (const std::int64_t r : own) model.look(rows.at(r), weights[r]);
    for (const std::int64_t r : own) model.learn_given(rows.at(r), labels.at(r), int(pseudo[r]), weights[r]);
    model.end_given();
}

void score_rows(const Evolving &model, const EvolvingRows &rows, bool log_joint, int n_jobs, double *out) {
    const int k = model.n_classes();
    parallel_rows(rows.n_rows(), n_jobs, [&](std::int64_t begin, std::int64_t end) {
        EvolvingRows own = rows;  // with a buffer of its own
        Evolving::Scores scores;
        for (std::int64_t r = begin; r < end; ++r) {
            check_interrupt(r);
            model.answer(own.at(r), scores);
            if (log_joint) model.log_joints(scores, out + r * k);
            else std::copy_n(scores.classes.data(), k, out + r * k);
        }
    });
}

}  // namespace tanager
