// Detectors of drift for Python: all arrays are checked here.
#include <algorithm>
#include <cmath>

#include "bind_arrays.hpp"
#include "bind_plan.hpp"
#include "drift.hpp"
#include "watched_blocks.hpp"

namespace drift_bindings {
using namespace arrays;
using namespace tanager::drift;

namespace {

template <class T>
using Dense = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Answers = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Label>
void mark_wrong(const Answers &proba, const Dense<Label> &labels, double tie, const Out &wrong) {
    const std::int64_t n_rows = std::int64_t(proba.shape(0)), k = std::int64_t(proba.shape(1));
    expect(std::int64_t(labels.shape(0)) == n_rows && std::int64_t(wrong.shape(0)) == n_rows, "one label per answer");
    for (std::int64_t r = 0; r < n_rows; ++r) expect(labels.data()[r] < k, "a label is none of the classes");
    wrong_answers(proba.data(), labels.data(), n_rows, k, tie, wrong.data());
}

// Options, then what is remembered: (n, wrong, low, spread, signal); that again, and the gravest signal.
using Options = std::tuple<double, double, double, double>;
using Remembered = std::tuple<std::int64_t, double, double, double, int>;

Ddm as_detector(const Options &options, const Remembered &before) {
    const auto [warning, drift, min_rows, smoothing] = options;
    const auto [n, wrong, low, spread, signal] = before;
    return {warning, drift, min_rows, smoothing, n, wrong, low, spread, Signal(signal)};
}
Remembered remembered(const Ddm &ddm) { return {ddm.n, ddm.wrong, ddm.low, ddm.spread, int(ddm.signal)}; }

std::pair<Remembered, int> hear(const Dense<double> &values, double warning, double drift, double min_rows,
                                double smoothing, const Remembered &before) {
    Ddm ddm = as_detector({warning, drift, min_rows, smoothing}, before);
    Signal gravest = Signal::none;
    for (std::size_t r = 0; r < values.shape(0); ++r) gravest = std::max(gravest, ddm.hear(values.data()[r]));
    return {remembered(ddm), int(gravest)};
}

// How many rows were of a kind, and how many there were, older ones fading: of these again, once more rows have come.
std::pair<double, double> share(const Dense<double> &values, double keep, double count, double of) {
    Share share{keep, count, of};
    for (std::size_t r = 0; r < values.shape(0); ++r) share.add(values.data()[r]);
    return {share.count, share.of};
}

// What a share is by, and what it has come to: keep, count, of. Of a model: its plan, codes of the rows, the unit of
// its counts, whether half of its pairs lags behind, whether it has learned anything, and both shares.
using ShareOf = std::tuple<double, double, double>;
using ModelOf = std::tuple<nb::object, AnyArray, double, bool, bool, ShareOf, ShareOf>;

Share as_share(const ShareOf &share) {
    const auto [keep, count, of] = share;
    return {keep, count, of};
}
std::pair<double, double> shown(const Share &share) { return {share.count, share.of}; }

Watched as_watched(const ModelOf &model, const AnyArray &labels, std::int64_t n_rows) {
    const auto &[plan_, codes, unit, stale, knows, recent, long_run] = model;
    tanager::scoring::ScoringPlan &plan = plan_of(plan_);
    expect(unit > 0 && std::isfinite(unit), "the unit must be positive");
    const Batch rows = as_batch(codes, labels, std::nullopt, plan.store.n);
    expect(rows.n_rows() == n_rows, "there must be codes of every model for each row");
    return {plan, rows, unit, stale, knows, as_share(recent), as_share(long_run)};
}

// How far it went, what was said last; of each model whether half of its pairs lags behind, and its shares; those of
// the duel; what the detector remembers.
using ModelEnd = std::tuple<bool, std::pair<double, double>, std::pair<double, double>>;
ModelEnd end_of(const Watched &model) { return {model.stale, shown(model.recent), shown(model.long_run)}; }

nb::tuple blocks(const AnyArray &labels, const Doubles &out_, std::int64_t every, double tie,
                 const std::vector<ModelOf> &models, const std::pair<ShareOf, ShareOf> &duel_, double clear,
                 const Options &options, const Remembered &before, int quiet_signal, std::int64_t n_rows_left,
                 const std::optional<AnyArray> &answered) {
    expect(every >= 1, "a block has one row at least");
    expect(models.size() == 1 || models.size() == 2, "one model answers, and one more may run beside it");
    expect(labels.ndim() == 1, "labels are one-dimensional");
    const auto n_rows = std::int64_t(labels.shape(0));
    std::vector<Watched> watched;
    for (const ModelOf &model : models) watched.push_back(as_watched(model, labels, n_rows));
    const int k = watched[0].plan.store.k;
    expect(watched.back().plan.store.k == k && watched.back().plan.store.n == watched[0].plan.store.n,
           "all models have the same classes and columns");
    if (answered) watched[0].answered = as_codes(*answered, watched[0].plan.store.n);
    expect(!answered || watched[0].answered->n_rows == n_rows, "as many rows are answered as are learned");
    double *out = as_output(out_, n_rows, k);
    Duel duel{as_share(duel_.first), as_share(duel_.second), clear};
    Ddm detector = as_detector(options, before);
    const Quiet quiet{Signal(quiet_signal), n_rows_left};
    BlocksEnd end{};
    {
        nb::gil_scoped_release release;
        Watched *beside = watched.size() > 1 ? &watched[1] : nullptr;
        end = run_blocks(watched[0], beside, duel, detector, quiet, every, tie, out);
    }
    std::vector<ModelEnd> ends;
    for (const Watched &model : watched) ends.push_back(end_of(model));
    return nb::make_tuple(end.n_rows, int(end.said), ends, shown(duel.won), shown(duel.lost), remembered(detector));
}

}  // namespace
}  // namespace drift_bindings

void bind_drift(nb::module_ &m) {
    using namespace drift_bindings;
    m.def("wrong_answers", &mark_wrong<std::uint8_t>, nb::arg(), nb::arg().noconvert(), nb::arg(),
          nb::arg().noconvert());
    m.def("wrong_answers", &mark_wrong<std::uint16_t>, nb::arg(), nb::arg().noconvert(), nb::arg(),
          nb::arg().noconvert());
    m.def("run_blocks", &blocks, nb::arg("labels"), nb::arg("out").noconvert(), nb::arg("every"), nb::arg("tie"),
          nb::arg("models"), nb::arg("duel"), nb::arg("clear"), nb::arg("options"), nb::arg("before"),
          nb::arg("quiet_signal"), nb::arg("n_rows_left"), nb::arg("answered").none() = nb::none());
    m.def("fading_share", &share, nb::arg("values"), nb::arg("keep"), nb::arg("count"), nb::arg("of"));
    m.def("hear_answers", &hear, nb::arg("values"), nb::arg("warning"), nb::arg("drift"), nb::arg("min_rows"),
          nb::arg("smoothing"), nb::arg("before"));
}
