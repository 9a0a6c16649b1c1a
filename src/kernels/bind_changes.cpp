// Changes of a product for Python: all arrays are checked here.
#include <algorithm>

#include "bind_arrays.hpp"
#include "changes.hpp"
#include "threads.hpp"

using namespace arrays;
using namespace tanager;

namespace {

using Floats = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Lines = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sets = std::vector<std::vector<int>>;

Factor as_factor(const Lines &line, const Floats &table, std::int64_t n_rows, std::int64_t k) {
    expect(std::int64_t(line.shape(0)) == n_rows, "a factor needs one line number per row");
    expect(std::int64_t(table.shape(1)) == k, "a factor needs one number per class in each line");
    const std::int32_t n_lines = std::int32_t(table.shape(0)), *numbers = line.data();
    for (std::int64_t r = 0; r < n_rows; ++r)
        expect(numbers[r] >= 0 && numbers[r] < n_lines, "a factor has no such line");
    double spread = 0;
    for (std::int64_t q = 0; q < n_lines; ++q) {
        const auto [least, most] = std::minmax_element(table.data() + q * k, table.data() + (q + 1) * k);
        spread = std::max(spread, *most - *least);
    }
    return {numbers, table.data(), spread};
}

void score_changes(const Floats &joint, const AnyArray &labels_, const std::optional<WeightArray> &weights,
                   const std::vector<int> &preference, const std::vector<std::pair<Lines, Floats>> &given,
                   const Sets &changes, const Doubles &out_, bool probabilities, int n_jobs) {
    const std::int64_t n_rows = std::int64_t(joint.shape(0)), k = std::int64_t(joint.shape(1));
    expect(k > 0 && k < 65536, "there must be classes");
    const Codes labels = as_labels(labels_, n_rows);
    AnsweredRows rows{n_rows, int(k), joint.data(), {}, as_weights(weights, n_rows), preference};
    for (std::int64_t r = 0; r < n_rows; ++r) {
        rows.labels.push_back(labels.at(r));
        expect(rows.labels.back() < k, "a label is none of the classes");
    }
    std::vector<char> seen(std::size_t(k), 0);
    for (const int c : preference) {
        expect(c >= 0 && c < k && !seen[std::size_t(c)], "the preference must name every class once");
        seen[std::size_t(c)] = 1;
    }
    expect(std::int64_t(preference.size()) == k, "the preference must name every class once");
    std::vector<Factor> factors;
    for (const auto &[line, table] : given) factors.push_back(as_factor(line, table, n_rows, k));
    for (const auto &change : changes)
        for (const int f : change)
            expect(f >= 0 && std::size_t(f) < factors.size(), "a change names an unknown factor");
    double *out = as_output(out_, std::int64_t(changes.size()), 3);
    nb::gil_scoped_release release;
    std::optional<RowsByLead> by_lead;
    if (!probabilities && !rows.weights && changes.size() > 1) by_lead.emplace(rows);
    const std::size_t n = changes.size(), n_threads = std::max(1, std::min(n_jobs, int(n)));
    run_threads(n_threads, [&](std::size_t t) {
        for (std::size_t q = t; q < n; q += n_threads) {
            std::vector<Factor> own;
            for (const int f : changes[q]) own.push_back(factors[std::size_t(f)]);
            const ChangeScore score =
                by_lead ? ChangeScore{count_wrong(rows, *by_lead, own), 0, 0} : score_change(rows, own, probabilities);
            out[3 * q] = score.wrong;
            out[3 * q + 1] = score.probability;
            out[3 * q + 2] = score.log_probability;
        }
    });
}

}  // namespace

void bind_changes(nb::module_ &m) {
    m.def("score_changes", &score_changes, nb::arg("joint"), nb::arg("labels"), nb::arg("weights").none(),
          nb::arg("preference"), nb::arg("factors"), nb::arg("changes"), nb::arg("out").noconvert(),
          nb::arg("probabilities") = true, nb::arg("n_jobs") = 1);
}
