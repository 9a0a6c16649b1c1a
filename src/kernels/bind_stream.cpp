// Streams for Python: every row is answered, and then learned.
#include <cmath>

#include "bind_plan.hpp"
#include "bind_staging.hpp"
#include "stream.hpp"

namespace stream_bindings {
using namespace tanager::scoring;
using namespace arrays;
using plan_bindings::PyPlan;

namespace {

Weights as_fade(const std::optional<WeightArray> &fade, std::int64_t n_rows) {
    if (!fade) return {};
    expect(std::int64_t(fade->shape(0)) == n_rows, "there must be one factor to fade by per row");
    for (std::int64_t r = 0; r < n_rows; ++r)
        expect((*fade)(r) > 0 && (*fade)(r) <= 1, "a factor to fade by is above 0 and at most 1");
    return as_weights(fade, n_rows);
}

// Codes, labels and raw weights of rows that can leave a stream; the raw weights are written, too.
using Queue = std::tuple<AnyArray, AnyArray, TableArray>;

LeavingRows as_leaving(const std::optional<Queue> &queue, const std::optional<Integers> &n_leaving, std::int64_t n_rows,
                       int n_columns) {
    expect(queue.has_value() == n_leaving.has_value(), "a queue and the rows that leave it go together");
    if (!queue) return {};
    const auto &[codes_, labels_, raw] = *queue;
    const Codes codes = as_codes(codes_, n_columns), labels = as_labels(labels_, codes.n_rows);
    expect(raw.ndim() == 1 && std::int64_t(raw.shape(0)) == codes.n_rows && raw.dtype() == nb::dtype<double>() &&
               (codes.n_rows < 2 || raw.stride(0) == 1),
           "the queue must have one weight per row, float64 without gaps: they are written, too");
    const std::int64_t older = codes.n_rows - n_rows;
    expect(older >= 0, "the queue must end with the rows of the stream");
    expect(std::int64_t(n_leaving->shape(0)) == n_rows, "there must be one number of leaving rows per row");
    const std::int64_t *leaving = n_leaving->data();
    for (std::int64_t r = 0, left = older; r < n_rows; ++r) {
        expect(leaving[r] >= 0 && leaving[r] <= left + 1, "more rows leave the queue than were learned");
        left += 1 - leaving[r];
    }
    return {codes, labels, static_cast<double *>(raw.data()), leaving, n_rows};
}

std::tuple<std::int64_t, double, int, bool> stream(PyPlan &self, const AnyArray &codes, const AnyArray &labels,
                                                   const std::optional<WeightArray> &weights, const Doubles &out_,
                                                   double unit, const std::optional<AnyArray> &answered,
                                                   const std::optional<WeightArray> &fade,
                                                   const std::optional<Queue> &queue,
                                                   const std::optional<Integers> &n_leaving,
                                                   const std::optional<Doubles> &member_scores, double keep,
                                                   const std::optional<Doubles> &judged, bool keeps_half, bool stale) {
    self.check_ready();
    const int n = self.plan.store.n;
    Stream stream;
    stream.keeps_half = keeps_half, stream.stale = stale;
    stream.rows = as_batch(codes, labels, weights, n);
    const std::int64_t n_rows = stream.rows.n_rows();
    double *out = as_output(out_, n_rows, self.plan.store.k);
    if (answered) stream.answered = as_codes(*answered, n);
    expect(!answered || stream.answered->n_rows == n_rows, "as many rows are answered as are learned");
    stream.fade = as_fade(fade, n_rows);
    stream.leaving = as_leaving(queue, n_leaving, n_rows, n);
    if (member_scores) stream.member_scores = as_member_scores(self.plan, *member_scores);
    expect(keep > 0 && keep <= 1, "member scores are kept by a factor above 0 and at most 1");
    stream.keep = keep;
    if (judged) stream.judged = as_output(*judged, n_rows, self.plan.store.k);
    expect(unit > 0 && std::isfinite(unit), "the unit must be positive");
    stream.unit = unit;
    nb::gil_scoped_release release;
    const StreamEnd end = test_then_train(self.plan, stream, out);
    return {end.n_done, end.unit, end.halved, end.stale};
}

}  // namespace
}  // namespace stream_bindings

void bind_stream(nb::module_ &m) {
    using namespace stream_bindings;
    m.def("stream", &stream, nb::arg("plan"), nb::arg("codes"), nb::arg("labels"), nb::arg("weights").none(),
          nb::arg("out").noconvert(), nb::arg("unit") = 1.0, nb::arg("answered").none() = nb::none(),
          nb::arg("fade").noconvert().none() = nb::none(), nb::arg("queue").noconvert().none() = nb::none(),
          nb::arg("gone").noconvert().none() = nb::none(), nb::arg("member_scores").noconvert().none() = nb::none(),
          nb::arg("keep") = 1.0, nb::arg("judged").noconvert().none() = nb::none(), nb::arg("keeps_half") = false,
          nb::arg("stale") = false);
}
