// Gaussian columns along a stream and given their parents, for Python: all arrays are checked here.
#include <algorithm>
#include <cmath>

#include "bind_arrays.hpp"
#include "densities.hpp"
#include "gaussian.hpp"
#include "threads.hpp"

namespace gaussian_bindings {
using namespace arrays;
using namespace tanager;

namespace {

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using RowsOut = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
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

// --- exact sums ----------------------------------------------------------------------------------------------------

using Digits = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Windows = nb::ndarray<const std::int64_t, nb::shape<-1, 3, 2>, nb::c_contig, nb::device::cpu>;
using Bounds = nb::ndarray<std::int64_t, nb::shape<-1, 3, 2>, nb::c_contig, nb::device::cpu>;
using Lines = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

exact::Sums checked_sums(const Digits &digits, const Windows &windows) {
    exact::Sums sums{
        int(windows.shape(0)), std::int64_t(digits.shape(0)), std::int64_t(digits.shape(1)), digits.data(), {}};
    std::int64_t begin = 0;
    for (std::size_t part = 0; part < 3 * windows.shape(0); ++part) {
        const std::int64_t low = windows.data()[2 * part], size = windows.data()[2 * part + 1];
        expect(low >= -1024 && low <= 1024 && size >= 0 && size <= 2048, "a window of the sums is out of bounds");
        sums.parts.push_back({low, size, begin});
        begin += size;
    }
    expect(begin == sums.width, "the digits do not fit their windows");
    return sums;
}

constexpr std::int64_t no_place = 1 << 20;
constexpr std::int64_t most_rows = std::int64_t(1) << 30;  // that digits can take before they are made normal

// Rows may be spelled where their digits are inside the windows, and below the highest digit of each.
bool has_room(const exact::Sums &sums, const double *rows, const double *raw, std::int64_t m) {
    exact::Extremes extremes(sums.n);
    for (std::int64_t r = 0; r < m; ++r) extremes.see(rows + r * sums.n, raw[r]);
    std::vector<std::int64_t> bounds(std::size_t(sums.n) * 6);
    for (std::size_t j = 0; j < bounds.size(); j += 2) bounds[j] = no_place, bounds[j + 1] = -no_place;
    extremes.stretch(bounds.data());
    for (std::size_t part = 0; part < sums.parts.size(); ++part) {
        const exact::Part &own = sums.parts[part];
        const bool fits = bounds[2 * part] >= own.low && bounds[2 * part + 1] < own.low + own.size;
        if (bounds[2 * part] != no_place && !fits) return false;
    }
    return true;
}

void expect_room(const exact::Sums &sums, const double *rows, const double *raw, std::int64_t m) {
    expect(has_room(sums, rows, raw, m), "the sums have no room for the digits of a row");
}

const double *checked_raw(const Contiguous &raw, std::int64_t n_rows) {
    expect(std::int64_t(raw.shape(0)) == n_rows, "there must be one weight per row");
    for (std::int64_t r = 0; r < n_rows; ++r)
        expect(std::isfinite(raw.data()[r]) && raw.data()[r] >= 0, "weights must be finite and not negative");
    return raw.data();
}

void exact_bounds(const Rows &rows, const Contiguous &raw, const Bounds &bounds) {
    const int n = int(bounds.shape(0));
    const std::int64_t m = std::int64_t(rows.shape(0));
    const double *values = checked_rows(rows, m, n), *weights = checked_raw(raw, m);
    std::int64_t *out = bounds.data();
    nb::gil_scoped_release release;
    exact::Extremes extremes(n);
    for (std::int64_t r = 0; r < m; ++r) extremes.see(values + r * n, weights[r]);
    extremes.stretch(out);
}

// False, and nothing is done, where there is no room for the digits of the rows.
bool exact_add(const Digits &digits, const Windows &windows, const Rows &rows, const Contiguous &raw,
               const Lines &lines, bool subtract) {
    const exact::Sums sums = checked_sums(digits, windows);
    const std::int64_t m = std::int64_t(rows.shape(0)), n_sets = std::int64_t(lines.shape(1));
    const double *values = checked_rows(rows, m, sums.n), *weights = checked_raw(raw, m);
    expect(std::int64_t(lines.shape(0)) == m && m < most_rows, "there must be one row of lines per row");
    for (std::int64_t at = 0; at < m * n_sets; ++at)
        expect(lines.data()[at] < sums.n_lines, "a line is beyond the sums");
    if (!has_room(sums, values, weights, m)) return false;
    const std::int64_t *to = lines.data();
    nb::gil_scoped_release release;
    std::vector<std::int64_t> row(std::size_t(sums.width));
    for (std::int64_t r = 0; r < m; ++r) {
        exact::spell(sums, values + r * sums.n, weights[r], row.data());
        for (std::int64_t q = 0; q < n_sets; ++q) {
            const std::int64_t at = to[r * n_sets + q];
            if (at < 0) continue;
            if (subtract) exact::subtract(sums.line(at), row.data(), sums.width);
            else exact::add(sums.line(at), row.data(), sums.width);
        }
    }
    if (m * n_sets < sums.n_lines) {
        for (std::int64_t at = 0; at < m * n_sets; ++at)
            if (to[at] >= 0) exact::normalise(sums, sums.line(to[at]));
    } else {
        for (std::int64_t at = 0; at < sums.n_lines; ++at) exact::normalise(sums, sums.line(at));
    }
    return true;
}

// The same for one row and one line, which is normal afterwards. False as well where a number is not usable as it is.
bool exact_add_row(const Digits &digits, const Windows &windows, const Contiguous &row, double raw, std::int64_t line) {
    const exact::Sums sums = checked_sums(digits, windows);
    expect(std::int64_t(row.shape(0)) == sums.n, "there must be one number per column");
    expect(std::isfinite(raw) && raw >= 0, "weights must be finite and not negative");
    expect(line >= 0 && line < sums.n_lines, "a line is beyond the sums");
    for (int i = 0; i < sums.n; ++i)
        if (std::abs(row.data()[i]) > 0x1p1022) return false;
    if (!has_room(sums, row.data(), &raw, 1)) return false;
    exact::add_row(sums, row.data(), raw, false, sums.line(line));
    exact::normalise(sums, sums.line(line));
    return true;
}

void exact_normalise(const Digits &digits, const Windows &windows) {
    const exact::Sums sums = checked_sums(digits, windows);
    nb::gil_scoped_release release;
    for (std::int64_t at = 0; at < sums.n_lines; ++at) exact::normalise(sums, sums.line(at));
}

void exact_scale(const Digits &digits, const Windows &windows, std::int64_t first, std::int64_t step,
                 std::uint64_t mantissa, int exponent) {
    const exact::Sums sums = checked_sums(digits, windows);
    expect(first >= 0 && step > 0 && mantissa > 0 && mantissa < (std::uint64_t(1) << 53) && exponent > -30000 &&
               exponent < 30000,
           "the sums cannot be multiplied by this");
    nb::gil_scoped_release release;
    exact::Scratch scratch;
    for (std::int64_t at = first; at < sums.n_lines; at += step)
        exact::scale(sums, sums.line(at), mantissa, exponent, scratch);
}

struct CellsOut {
    double *weight, *mean, *deviation;

    void put(std::int64_t at, const exact::Cell &cell) const {
        weight[at] = cell.weight, mean[at] = cell.mean, deviation[at] = cell.deviation;
    }
};

CellsOut checked_cells(const Doubles &weight, const Doubles &mean, const Doubles &deviation, std::int64_t m, int n) {
    return {as_output(weight, m, n), as_output(mean, m, n), as_output(deviation, m, n)};
}

void expect_lines(const Integers &lines, const exact::Sums &sums) {
    for (std::size_t at = 0; at < lines.shape(0); ++at)
        expect(lines.data()[at] >= 0 && lines.data()[at] < sums.n_lines, "a line is beyond the sums");
}

void exact_read(const Digits &digits, const Windows &windows, const Integers &lines, const Doubles &weight,
                const Doubles &mean, const Doubles &deviation, int n_jobs) {
    const exact::Sums sums = checked_sums(digits, windows);
    const std::int64_t m = std::int64_t(lines.shape(0));
    expect_lines(lines, sums);
    const CellsOut out = checked_cells(weight, mean, deviation, m, sums.n);
    const std::int64_t *from = lines.data();
    const Released release;
    parallel_rows(m, n_jobs, [&](std::int64_t begin, std::int64_t end) {
        exact::Scratch scratch;
        for (std::int64_t r = begin; r < end; ++r) {
            check_interrupt(r);
            for (int i = 0; i < sums.n; ++i) out.put(r * sums.n + i, exact::read(sums, sums.line(from[r]), i, scratch));
        }
    });
}

void exact_read_without(const Digits &digits, const Windows &windows, const Lines &lines, const Rows &rows,
                        const Contiguous &raw, const Doubles &weight, const Doubles &mean, const Doubles &deviation,
                        int n_jobs) {
    const exact::Sums sums = checked_sums(digits, windows);
    const std::int64_t m = std::int64_t(rows.shape(0)), n_sets = std::int64_t(lines.shape(1));
    const double *values = checked_rows(rows, m, sums.n), *weights = checked_raw(raw, m);
    expect(std::int64_t(lines.shape(0)) == m, "there must be one row of lines per row");
    for (std::int64_t at = 0; at < m * n_sets; ++at)
        expect(lines.data()[at] >= 0 && lines.data()[at] < sums.n_lines, "a line is beyond the sums");
    expect_room(sums, values, weights, m);
    const CellsOut out = checked_cells(weight, mean, deviation, m * n_sets, sums.n);
    const std::int64_t *from = lines.data();
    const Released release;
    // Many rows in few lines: these are read once, and each row is taken off in doubles, where that is good enough.
    std::vector<exact::Cell> cells;
    if (m * n_sets >= 2 * sums.n_lines) {
        cells.resize(std::size_t(sums.n_lines * sums.n));
        parallel_rows(sums.n_lines, n_jobs, [&](std::int64_t begin, std::int64_t end) {
            exact::Scratch scratch;
            for (std::int64_t at = begin * sums.n; at < end * sums.n; ++at)
                cells[std::size_t(at)] = exact::read(sums, sums.line(at / sums.n), int(at % sums.n), scratch);
        });
    }
    parallel_rows(m, n_jobs, [&](std::int64_t begin, std::int64_t end) {
        exact::Scratch scratch;
        const auto without = [&](std::int64_t line, int i, double x, double w) {
            exact::Cell left;
            if (!cells.empty()) {
                const exact::Cell &all = cells[std::size_t(line * sums.n + i)];
                if (!std::isfinite(x)) return all;
                exact::Running running(all);
                running.remove(x, w);
                const bool good = running.read(left);
                left.deviation = exact::beyond_rounding(left.deviation, left.mean);
                if (good) return left;
            }
            return exact::read_without(sums, sums.line(line), i, x, w, scratch);
        };
        for (std::int64_t at = begin * n_sets; at < end * n_sets; ++at) {
            const std::int64_t r = at / n_sets;
            for (int i = 0; i < sums.n; ++i)
                out.put(at * sums.n + i, without(from[at], i, values[r * sums.n + i], weights[r]));
        }
    });
}

void scales(std::optional<Contiguous> fade, double scale, const Doubles &out,
            const nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> &halved) {
    const std::int64_t m = std::int64_t(halved.shape(0));
    expect(out.ndim() == 1 && std::int64_t(out.shape(0)) == m && scale > 0, "there must be one scale per row");
    const double *factors = one_per_row(fade, m);
    for (std::int64_t r = 0; factors && r < m; ++r) expect(factors[r] > 0 && factors[r] <= 1, "fade must be in (0, 1]");
    fading_scales(m, factors, scale, out.data(), halved.data());
}

// The old rows of a queue, and when they and those of the block leave.
Queue checked_queue(const std::tuple<Rows, AnyArray, Contiguous> &old, const Integers &gone, const GaussianBlock &block,
                    int n, int k) {
    const auto &[numbers, labels, weights] = old;
    const std::int64_t q = std::int64_t(numbers.shape(0)), m = block.n_rows;
    const double *raw = checked_raw(weights, q);
    Queue queue{q, checked_rows(numbers, q, n), checked_labels(labels, q, k), {raw, raw + q}, gone.data()};
    queue.raw.insert(queue.raw.end(), block.raw, block.raw + m);
    for (const int y : queue.labels) expect(y >= 0, "rows without a label cannot leave");
    expect(std::int64_t(gone.shape(0)) == m, "there must be a number of rows that leave for every row");
    std::int64_t left = 0;
    for (std::int64_t r = 0; r < m; ++r) {
        expect(gone.data()[r] >= 0 && gone.data()[r] <= q + m, "fewer than no rows leave, or too many");
        left += gone.data()[r];
        expect(left <= q + r + 1, "a row leaves before it has come");
    }
    return queue;
}

// False, and nothing is done, where there is no room for the digits of the rows.
bool run(const Rows &rows, const AnyArray &labels, const Contiguous &raw, const Contiguous &scales_,
         const Integers &halved, const Digits &digits, const Windows &windows, double ddof, double scale,
         const Doubles &out_, std::optional<Rows> asked, std::optional<std::tuple<Rows, AnyArray, Contiguous>> leaving,
         std::optional<Integers> gone) {
    exact::Sums sums = checked_sums(digits, windows);
    const int k = int(sums.n_lines), n = sums.n;
    const std::int64_t m = std::int64_t(rows.shape(0));
    expect(m < most_rows, "there are too many rows");
    double *out = as_output(out_, m, k);
    GaussianBlock block{m,
                        checked_rows(rows, m, n),
                        nullptr,
                        checked_labels(labels, m, k),
                        checked_raw(raw, m),
                        checked_raw(scales_, m),
                        halved.data()};
    block.asked = asked ? checked_rows(*asked, m, n) : block.rows;
    expect(std::int64_t(halved.shape(0)) == m, "there must be one number of halvings per row");
    for (std::int64_t r = 0; r < m; ++r)
        expect(block.scales[r] > 0 && block.halved[r] >= 0 && block.halved[r] < 30000, "a scale is out of bounds");
    expect(scale > 0 && (ddof == 0 || ddof == 1), "ddof is 0 or 1");
    expect(leaving.has_value() == gone.has_value(), "rows that leave need steps that say when");
    std::optional<Queue> queue;
    if (leaving) queue = checked_queue(*leaving, *gone, block, n, k);
    if (!has_room(sums, block.rows, block.raw, m)) return false;
    if (queue && !has_room(sums, queue->rows, queue->raw.data(), queue->n_old)) return false;
    nb::gil_scoped_release release;
    Moments moments(std::move(sums), ddof, scale);
    stream(moments, block, queue ? &*queue : nullptr, out);
    return true;
}

// Answers of naive Bayes; with labels and weights those of rows that are left out of their class. False where there is
// no room for the digits of such a row.
bool ratios(const Digits &digits, const Windows &windows, double ddof, double scale, const Rows &rows,
            const Doubles &out_, const Doubles &highest_, std::optional<AnyArray> labels_,
            std::optional<Contiguous> raw_) {
    exact::Sums sums = checked_sums(digits, windows);
    const int k = int(sums.n_lines), n = sums.n;
    const std::int64_t m = std::int64_t(rows.shape(0));
    const double *values = checked_rows(rows, m, n), *raw = raw_ ? checked_raw(*raw_, m) : nullptr;
    double *out = as_output(out_, m, k), *highest = highest_.data();
    expect(highest_.ndim() == 1 && std::int64_t(highest_.shape(0)) == m, "there must be one number per row");
    expect(scale > 0 && (ddof == 0 || ddof == 1), "ddof is 0 or 1");
    expect(labels_.has_value() == raw_.has_value(), "rows that are left out have labels and weights");
    const std::vector<int> labels = labels_ ? checked_labels(*labels_, m, k) : std::vector<int>();
    for (const int y : labels) expect(y >= 0, "rows without a label cannot be left out");
    if (raw && !has_room(sums, values, raw, m)) return false;
    const Released release;
    Moments moments(std::move(sums), ddof, scale);
    for (std::int64_t r = 0; r < m; ++r, values += n, out += k) {
        check_interrupt(r);
        highest[r] = raw ? moments.log_ratios_without(values, labels[std::size_t(r)], raw[r], out)
                         : moments.log_ratios(values, out);
    }
    return true;
}

// From logs of the joint to probabilities. A row that comes alone is to be answered as in a table, to the last bit: so
// none is left to NumPy, whose exponentials depend on the processor.
void normalise(double *joint, std::size_t k) {
    if (k == 0) return;
    const double top = *std::max_element(joint, joint + k);
    double total = 0;
    for (std::size_t c = 0; c < k; ++c) total += joint[c] = std::exp(joint[c] - top);
    for (std::size_t c = 0; c < k; ++c) joint[c] /= total;
}

void posteriors(const RowsOut &log_joint) {
    nb::gil_scoped_release release;
    const std::size_t k = log_joint.shape(1);
    for (std::size_t r = 0; r < log_joint.shape(0); ++r) normalise(log_joint.data() + r * k, k);
}

// The posterior of one row of naive Bayes, from the log joint of its columns with codes; None where a number is not
// usable as it is.
nb::object posterior(const Digits &digits, const Windows &windows, double ddof, double scale, const Contiguous &row,
                     const std::vector<double> &log_joint) {
    exact::Sums sums = checked_sums(digits, windows);
    const std::size_t k = std::size_t(sums.n_lines);
    expect(std::int64_t(row.shape(0)) == sums.n, "there must be one number per column");
    expect(log_joint.size() == k && k > 0, "there must be one number per class");
    expect(scale > 0 && (ddof == 0 || ddof == 1), "ddof is 0 or 1");
    for (int i = 0; i < sums.n; ++i)
        if (std::abs(row.data()[i]) > 0x1p1022) return nb::none();
    std::vector<double> joint(k);
    Moments(std::move(sums), ddof, scale).log_ratios(row.data(), joint.data());
    for (std::size_t c = 0; c < k; ++c) joint[c] += log_joint[c];
    normalise(joint.data(), k);
    nb::list answer;
    for (const double share : joint) answer.append(share);
    return answer;
}

Normals checked_normals(const Rows &mean, const Rows &inverse, const Rows &top, int k) {
    for (const Rows *part : {&inverse, &top})
        expect(part->shape(0) == mean.shape(0) && part->shape(1) == mean.shape(1), "distributions differ in shape");
    expect(k > 0 && std::int64_t(mean.shape(0)) % k == 0, "there must be one line per context and class");
    return {k, int(mean.shape(1)), mean.data(), inverse.data(), top.data()};
}

Contexts checked_contexts(const Rows &values, const Lines &lines, const Normals &normals, std::int64_t n_lines) {
    const std::int64_t m = std::int64_t(values.shape(0));
    expect(std::int64_t(lines.shape(0)) == m, "there must be one row of lines per row");
    for (std::int64_t at = 0; at < m * std::int64_t(lines.shape(1)); ++at)
        expect(lines.data()[at] <= n_lines - normals.k, "a line is beyond the distributions");
    return {m, int(lines.shape(1)), checked_rows(values, m, normals.n), lines.data()};
}

void sums(const Rows &values, const Lines &lines, const Rows &mean, const Rows &inverse, const Rows &top, int k,
          const Integers &set, const Integers &child, const Contiguous &log_weight, const Doubles &out, int n_jobs) {
    const Normals normals = checked_normals(mean, inverse, top, k);
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
    const Released release;
    log_density_sums(normals, rows, {n, set.data(), child.data(), log_weight.data()}, to, n_jobs);
}

void products(const Rows &values, const Lines &lines, const Rows &mean, const Rows &inverse, const Rows &top, int k,
              int set, int skip, const Doubles &out, int n_jobs) {
    const Normals normals = checked_normals(mean, inverse, top, k);
    const Contexts rows = checked_contexts(values, lines, normals, std::int64_t(mean.shape(0)));
    expect(set >= 0 && set < rows.n_sets, "there is no such set");
    double *to = as_output(out, rows.n_rows, k);
    const Released release;
    add_log_densities(normals, rows, set, skip, to, n_jobs);
}

}  // namespace
}  // namespace gaussian_bindings

void bind_gaussian(nb::module_ &m) {
    using namespace gaussian_bindings;
    m.def("log_density_sums", &sums, nb::arg("values"), nb::arg("lines"), nb::arg("mean"), nb::arg("inverse"),
          nb::arg("top"), nb::arg("n_classes"), nb::arg("set"), nb::arg("child"), nb::arg("log_weight"),
          nb::arg("out").noconvert(), nb::arg("n_jobs") = 1);
    m.def("add_log_densities", &products, nb::arg("values"), nb::arg("lines"), nb::arg("mean"), nb::arg("inverse"),
          nb::arg("top"), nb::arg("n_classes"), nb::arg("set"), nb::arg("skip"), nb::arg("out").noconvert(),
          nb::arg("n_jobs") = 1);
    m.def("exact_bounds", &exact_bounds, nb::arg("values"), nb::arg("raw"), nb::arg("bounds").noconvert());
    m.def("exact_add_row", &exact_add_row, nb::arg("digits").noconvert(), nb::arg("windows"), nb::arg("row"),
          nb::arg("raw"), nb::arg("line"));
    m.def("exact_add", &exact_add, nb::arg("digits").noconvert(), nb::arg("windows"), nb::arg("values"), nb::arg("raw"),
          nb::arg("lines"), nb::arg("subtract") = false);
    m.def("exact_normalise", &exact_normalise, nb::arg("digits").noconvert(), nb::arg("windows"));
    m.def("exact_scale", &exact_scale, nb::arg("digits").noconvert(), nb::arg("windows"), nb::arg("first"),
          nb::arg("step"), nb::arg("mantissa"), nb::arg("exponent"));
    m.def("exact_read", &exact_read, nb::arg("digits").noconvert(), nb::arg("windows"), nb::arg("lines"),
          nb::arg("weight").noconvert(), nb::arg("mean").noconvert(), nb::arg("deviation").noconvert(),
          nb::arg("n_jobs") = 1);
    m.def("exact_read_without", &exact_read_without, nb::arg("digits").noconvert(), nb::arg("windows"),
          nb::arg("lines"), nb::arg("values"), nb::arg("raw"), nb::arg("weight").noconvert(),
          nb::arg("mean").noconvert(), nb::arg("deviation").noconvert(), nb::arg("n_jobs") = 1);
    m.def("fading_scales", &scales, nb::arg("fade").none(), nb::arg("scale"), nb::arg("scales").noconvert(),
          nb::arg("halved").noconvert());
    m.def("moment_ratios", &ratios, nb::arg("digits").noconvert(), nb::arg("windows"), nb::arg("ddof"),
          nb::arg("scale"), nb::arg("values"), nb::arg("ratios").noconvert(), nb::arg("highest").noconvert(),
          nb::arg("labels").none() = nb::none(), nb::arg("raw").none() = nb::none());
    m.def("posteriors", &posteriors, nb::arg("log_joint").noconvert());
    m.def("moment_posterior", &posterior, nb::arg("digits").noconvert(), nb::arg("windows"), nb::arg("ddof"),
          nb::arg("scale"), nb::arg("row"), nb::arg("log_joint"));
    m.def("stream_moments", &run, nb::arg("rows"), nb::arg("labels"), nb::arg("raw"), nb::arg("scales"),
          nb::arg("halved"), nb::arg("digits").noconvert(), nb::arg("windows"), nb::arg("ddof"), nb::arg("scale"),
          nb::arg("out").noconvert(), nb::arg("asked").none() = nb::none(), nb::arg("leaving").none() = nb::none(),
          nb::arg("gone").none() = nb::none());
}
