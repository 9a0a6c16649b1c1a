// Gaussian columns along a stream and given their parents, for Python: all arrays are checked here.
#include "bind_arrays.hpp"
#include "densities.hpp"
#include "gaussian.hpp"

using namespace arrays;
using namespace tanager;

namespace {

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Contiguous = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<int> checked_labels(const AnyArray &array, std::int64_t n_rows, int k) {
    const Codes labels = as_labels(array, n_rows);
    std::vector<int> out(static_cast<std::size_t>(n_rows));
    for (std::int64_t r = 0; r < n_rows; ++r) {
        const int y = labels.at(r);
        expect(y < k || y == labels.marker(), "a label is none of the classes");
        out[std::size_t(r)] = y < k ? y : -1;
    }
    return out;
}

const double *one_per_row(const std::optional<Contiguous> &array, std::int64_t n_rows) {
    if (!array) return nullptr;
    expect(std::int64_t(array->shape(0)) == n_rows, "there must be one weight per row");
    return array->data();
}

const double *checked_rows(const Rows &rows, std::int64_t n_rows, int n) {
    expect(std::int64_t(rows.shape(0)) == n_rows && std::int64_t(rows.shape(1)) == n,
           "there must be one number per row and column");
    return rows.data();
}

void run(const Rows &rows, const AnyArray &labels, std::optional<Contiguous> weights, const Doubles &weight,
         const Doubles &mean, const Doubles &squares, const Doubles &low, const Doubles &high, const Doubles &out_,
         std::optional<Rows> asked, std::optional<Contiguous> fade, bool per_class,
         std::optional<std::tuple<Rows, AnyArray, Contiguous>> leaving, std::optional<Integers> gone) {
    expect(weight.ndim() == 2, "moments have classes and columns");
    const int k = int(weight.shape(0)), n = int(weight.shape(1));
    for (const Doubles *part : {&weight, &mean, &squares})
        expect(part->ndim() == 2 && int(part->shape(0)) == k && int(part->shape(1)) == n, "moments differ in shape");
    for (const Doubles *part : {&low, &high})
        expect(part->ndim() == 1 && int(part->shape(0)) == n, "there must be one range per column");
    const std::int64_t m = std::int64_t(rows.shape(0));
    double *out = as_output(out_, m, k);
    Moments moments{k, n, weight.data(), mean.data(), squares.data(), low.data(), high.data()};
    GaussianBlock block{m,
                        checked_rows(rows, m, n),
                        nullptr,
                        checked_labels(labels, m, k),
                        one_per_row(weights, m),
                        one_per_row(fade, m),
                        per_class};
    block.asked = asked ? checked_rows(*asked, m, n) : block.rows;
    if (block.fade)
        for (std::int64_t r = 0; r < m; ++r) expect(block.fade[r] > 0 && block.fade[r] <= 1, "fade must be in (0, 1]");
    expect(leaving.has_value() == gone.has_value(), "rows that leave need steps that say when");
    expect(!leaving || !per_class, "rows do not leave where classes fade by themselves");
    std::optional<Queue> queue;
    if (leaving) {
        const auto &[numbers, own, raw] = *leaving;
        const std::int64_t q = std::int64_t(numbers.shape(0));
        expect(q >= m && std::int64_t(raw.shape(0)) == q && std::int64_t(gone->shape(0)) == m,
               "the queue must hold all rows of the block");
        queue =
            Queue{checked_rows(numbers, q, n), checked_labels(own, q, k), {raw.data(), raw.data() + q}, gone->data()};
        for (const int y : queue->labels) expect(y >= 0, "rows without a label cannot leave");
        std::int64_t left = 0;
        for (std::int64_t r = 0; r < m; ++r) {
            expect(gone->data()[r] >= 0 && gone->data()[r] <= q, "fewer than no rows leave, or too many");
            left += gone->data()[r];
            expect(left <= q - m + r + 1, "a row leaves before it has come");
        }
    }
    nb::gil_scoped_release release;
    stream(moments, block, queue ? &*queue : nullptr, out);
}

using Lines = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Normals checked_normals(const Rows &mean, const Rows &scale, const Rows &top, int k) {
    for (const Rows *part : {&scale, &top})
        expect(part->shape(0) == mean.shape(0) && part->shape(1) == mean.shape(1), "distributions differ in shape");
    expect(k > 0 && std::int64_t(mean.shape(0)) % k == 0, "there must be one line per context and class");
    return {k, int(mean.shape(1)), mean.data(), scale.data(), top.data()};
}

Contexts checked_contexts(const Rows &values, const Lines &lines, const Normals &normals, std::int64_t n_lines) {
    const std::int64_t m = std::int64_t(values.shape(0));
    expect(std::int64_t(lines.shape(0)) == m, "there must be one row of lines per row");
    for (std::int64_t at = 0; at < m * std::int64_t(lines.shape(1)); ++at)
        expect(lines.data()[at] <= n_lines - normals.k, "a line is beyond the distributions");
    return {m, int(lines.shape(1)), checked_rows(values, m, normals.n), lines.data()};
}

void sums(const Rows &values, const Lines &lines, const Rows &mean, const Rows &scale, const Rows &top, int k,
          const Integers &set, const Integers &child, const Contiguous &log_weight, const Doubles &out, int n_jobs) {
    const Normals normals = checked_normals(mean, scale, top, k);
    const Contexts rows = checked_contexts(values, lines, normals, std::int64_t(mean.shape(0)));
    const std::int64_t n = std::int64_t(set.shape(0));
    expect(std::int64_t(child.shape(0)) == n && std::int64_t(log_weight.shape(0)) == n, "terms differ in number");
    for (std::int64_t t = 0; t < n; ++t)
        expect(set.data()[t] >= 0 && set.data()[t] < rows.n_sets && child.data()[t] >= 0 && child.data()[t] < normals.n,
               "a term is of no set or column");
    expect(out.ndim() == 3 && std::int64_t(out.shape(0)) == rows.n_rows && int(out.shape(1)) == k &&
               int(out.shape(2)) == normals.n,
           "the output must have rows, classes and columns");
    double *to = out.data();
    nb::gil_scoped_release release;
    log_density_sums(normals, rows, {n, set.data(), child.data(), log_weight.data()}, to, n_jobs);
}

void products(const Rows &values, const Lines &lines, const Rows &mean, const Rows &scale, const Rows &top, int k,
              int set, int skip, const Doubles &out, int n_jobs) {
    const Normals normals = checked_normals(mean, scale, top, k);
    const Contexts rows = checked_contexts(values, lines, normals, std::int64_t(mean.shape(0)));
    expect(set >= 0 && set < rows.n_sets, "there is no such set");
    double *to = as_output(out, rows.n_rows, k);
    nb::gil_scoped_release release;
    add_log_densities(normals, rows, set, skip, to, n_jobs);
}

}  // namespace

void bind_gaussian(nb::module_ &m) {
    m.def("log_density_sums", &sums, nb::arg("values"), nb::arg("lines"), nb::arg("mean"), nb::arg("scale"),
          nb::arg("top"), nb::arg("n_classes"), nb::arg("set"), nb::arg("child"), nb::arg("log_weight"),
          nb::arg("out").noconvert(), nb::arg("n_jobs") = 1);
    m.def("add_log_densities", &products, nb::arg("values"), nb::arg("lines"), nb::arg("mean"), nb::arg("scale"),
          nb::arg("top"), nb::arg("n_classes"), nb::arg("set"), nb::arg("skip"), nb::arg("out").noconvert(),
          nb::arg("n_jobs") = 1);
    m.def("stream_moments", &run, nb::arg("rows"), nb::arg("labels"), nb::arg("weights").none(),
          nb::arg("weight").noconvert(), nb::arg("mean").noconvert(), nb::arg("squares").noconvert(),
          nb::arg("low").noconvert(), nb::arg("high").noconvert(), nb::arg("out").noconvert(),
          nb::arg("asked").none() = nb::none(), nb::arg("fade").none() = nb::none(), nb::arg("per_class") = false,
          nb::arg("leaving").none() = nb::none(), nb::arg("gone").none() = nb::none());
}
