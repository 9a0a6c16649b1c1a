// Changes of a product for Python: all arrays are checked here.
#include <algorithm>
#include <limits>
#include <numeric>

#include "bind_arrays.hpp"
#include "changes.hpp"
#include "threads.hpp"

namespace changes_bindings {
using namespace arrays;
using namespace tanager;

namespace {

using Floats = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Lines = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sets = std::vector<std::vector<int>>;

std::vector<int> as_classes(const AnyArray &labels_, std::int64_t n_rows, std::int64_t k) {
    const Codes labels = as_labels(labels_, n_rows);
    std::vector<int> classes;
    classes.reserve(std::size_t(n_rows));
    for (std::int64_t r = 0; r < n_rows; ++r) {
        classes.push_back(labels.at(r));
        expect(classes.back() < k, "a label is none of the classes");
    }
    return classes;
}

Factor new_factor(const Lines &line, const Floats &table, const AnyArray &labels) {
    const std::int64_t n_rows = std::int64_t(line.shape(0)), k = std::int64_t(table.shape(1));
    const std::int32_t n_lines = std::int32_t(table.shape(0)), *numbers = line.data();
    expect(k > 0 && k < 65536, "there must be classes");
    for (std::int64_t r = 0; r < n_rows; ++r)
        expect(numbers[r] >= 0 && numbers[r] < n_lines, "a factor has no such line");
    constexpr int unknown = -1, mixed = -2;
    const std::vector<int> classes = as_classes(labels, n_rows, k);
    std::vector<int> label_of(table.shape(0), unknown);
    for (std::int64_t r = 0; r < n_rows; ++r) {
        int &own = label_of[std::size_t(numbers[r])];
        own = own == unknown || own == classes[std::size_t(r)] ? classes[std::size_t(r)] : mixed;
    }
    const auto number = [numbers](std::size_t r) { return numbers[r]; };
    return Factor(std::make_shared<LineNumbers>(std::size_t(n_rows), table.shape(0), number),
                  std::vector<double>(table.data(), table.data() + table.size()), int(k), label_of);
}

// out += sign * the factor, in every row and class.
void add_factor(const Factor &factor, const Doubles &out_, double sign) {
    const std::int64_t n_rows = std::int64_t(factor.lines->size());
    factor.add_to(as_output(out_, n_rows, factor.k), sign);
}

// The sum of some factors less others, going on from a sum that is known.
Factor sum_of_factors(const Factor *known, const std::vector<const Factor *> &plus,
                      const std::vector<const Factor *> &minus, const AnyArray &labels_, int k) {
    expect(k > 0 && k < 65536, "there must be classes");
    expect(labels_.ndim() == 1, "labels must have one dimension");
    const std::int64_t n_rows = std::int64_t(labels_.shape(0));
    const std::vector<int> labels = as_classes(labels_, n_rows, k);
    const auto check = [&](const Factor *factor) {
        expect(factor && std::int64_t(factor->lines->size()) == n_rows && factor->k == k,
               "a factor to add up has other rows or classes");
    };
    if (known) {
        check(known);
        expect(known->is_sum, "what is known is no sum of factors");
    }
    for (const Factor *factor : plus) check(factor);
    for (const Factor *factor : minus) check(factor);
    const Released release;
    return Factor::sum(known, plus, minus, labels, k);
}

// Calls work(thread, q) for all q below n.
template <class Work>
void in_turn(std::size_t n, int n_jobs, const Work &work) {
    const std::size_t n_threads = std::size_t(std::max(1, std::min(n_jobs, int(n))));
    run_threads(n_threads, [&](std::size_t t) {
        for (std::size_t q = t; q < n; q += n_threads) {
            check_interrupt();
            work(t, q);
        }
    });
}

// The weight of the rows that each change would leave wrong. With `only_best` those are counted in full first that
// leave fewest of the rows that are wrong now, and most of the others not at all: what they cannot mend is too much
// already.
template <class Changes>
void count_all(const AnsweredRows &rows, const Changes &change, std::size_t n, bool only_best, int n_jobs,
               double *out) {
    const Rivals rivals(rows, n);
    in_turn(n, n_jobs, [&](std::size_t, std::size_t q) { out[3 * q] = count_behind(rows, rivals, change(q)); });
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (only_best)
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return out[3 * a] < out[3 * b]; });
    // Of each thread for itself: no answer depends on it.
    std::vector<double> enough(std::size_t(std::max(1, n_jobs)), std::numeric_limits<double>::infinity());
    in_turn(n, n_jobs, [&](std::size_t t, std::size_t place) {
        double &wrong = out[3 * order[place]];
        if (is_beyond(wrong, enough[t])) return;
        wrong = count_rest(rows, rivals, change(order[place]), wrong, enough[t]);
        if (only_best) enough[t] = std::min(enough[t], wrong);
    });
}

void score_changes(const Floats &joint, const AnyArray &labels, const std::optional<WeightArray> &weights,
                   const std::vector<int> &preference, const std::vector<const Factor *> &factors,
                   const std::optional<Sets> &changes, const Doubles &out_, bool probabilities, int n_jobs, bool logs,
                   bool only_best) {
    const std::int64_t n_rows = std::int64_t(joint.shape(0)), k = std::int64_t(joint.shape(1));
    expect(k > 0 && k < 65536, "there must be classes");
    const AnsweredRows rows{n_rows,    int(k), joint.data(), as_classes(labels, n_rows, k), as_weights(weights, n_rows),
                            preference};
    std::vector<char> seen(std::size_t(k), 0);
    for (const int c : preference) {
        expect(c >= 0 && c < k && !seen[std::size_t(c)], "the preference must name every class once");
        seen[std::size_t(c)] = 1;
    }
    expect(std::int64_t(preference.size()) == k, "the preference must name every class once");
    for (const Factor *factor : factors) {
        expect(std::int64_t(factor->lines->size()) == n_rows, "a factor needs one line number per row");
        expect(factor->k == k, "a factor needs one number per class in each line");
    }
    if (changes)
        for (const auto &change : *changes)
            for (const int f : change)
                expect(f >= 0 && std::size_t(f) < factors.size(), "a change names an unknown factor");
    const std::size_t n = changes ? changes->size() : factors.size();
    double *out = as_output(out_, std::int64_t(n), 3);
    const Released release;
    const auto change = [&](std::size_t q) {
        std::vector<const Factor *> own;
        if (!changes) own.push_back(factors[q]);
        else
            for (const int f : (*changes)[q]) own.push_back(factors[std::size_t(f)]);
        return own;
    };
    if (!probabilities) return count_all(rows, change, n, only_best, n_jobs, out);
    in_turn(n, n_jobs, [&](std::size_t, std::size_t q) {
        const ChangeScore score = score_change(rows, change(q), true, logs);
        out[3 * q] = score.wrong;
        out[3 * q + 1] = score.probability;
        out[3 * q + 2] = score.log_probability;
    });
}

}  // namespace
}  // namespace changes_bindings

void bind_changes(nb::module_ &m) {
    using namespace changes_bindings;
    nb::class_<Factor>(m, "Factor", "What multiplies the joint probability of every row, as logs.")
        .def(
            "__init__",
            [](Factor *self, const Lines &lines, const Floats &table, const AnyArray &labels) {
                new (self) Factor(new_factor(lines, table, labels));
            },
            nb::arg("lines"), nb::arg("table"), nb::arg("labels"))
        .def("__neg__", &Factor::negated)
        .def_prop_ro("nbytes",
                     [](const Factor &factor) { return factor.lines->nbytes() + factor.table.size() * sizeof(double); })
        .def("add_to", &add_factor, nb::arg("out").noconvert(), nb::arg("sign") = 1.0);
    m.def("sum_of_factors", &sum_of_factors, nb::arg("known").none(), nb::arg("plus"), nb::arg("minus"),
          nb::arg("labels"), nb::arg("n_classes"));
    m.def("score_changes", &score_changes, nb::arg("joint"), nb::arg("labels"), nb::arg("weights").none(),
          nb::arg("preference"), nb::arg("factors"), nb::arg("changes").none(), nb::arg("out").noconvert(),
          nb::arg("probabilities") = true, nb::arg("n_jobs") = 1, nb::arg("logs") = true, nb::arg("only_best") = false);
}
