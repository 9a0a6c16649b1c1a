// Changes of a product for Python: all arrays are checked here.

#include "bind_left_out.hpp"
#include "threads.hpp"

namespace changes_bindings {
using namespace arrays;
using namespace tanager;

namespace {

using Floats = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Lines = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sets = std::vector<std::vector<int>>;

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

void score_changes(const LogJoint &joint, const AnyArray &labels, const std::optional<WeightArray> &weights,
                   const std::vector<int> &preference, const std::vector<const Factor *> &factors,
                   const std::optional<Sets> &changes, const Doubles &out_, bool probabilities, int n_jobs, bool logs,
                   bool only_best) {
    const AnsweredRows rows = as_answered(joint, labels, weights, preference);
    for (const Factor *factor : factors) {
        expect(std::int64_t(factor->lines->size()) == rows.n_rows, "a factor needs one line number per row");
        expect(factor->k == rows.k, "a factor needs one number per class in each line");
    }
    std::vector<std::vector<const Factor *>> sets(changes ? changes->size() : 0);
    for (std::size_t q = 0; q < sets.size(); ++q)
        for (const int f : (*changes)[q]) {
            expect(f >= 0 && std::size_t(f) < factors.size(), "a change names an unknown factor");
            sets[q].push_back(factors[std::size_t(f)]);
        }
    const std::size_t n = changes ? changes->size() : factors.size();
    double *out = as_output(out_, std::int64_t(n), 3);
    const Released release;
    const auto change = [&](std::size_t q) { return changes ? Factors(sets[q]) : Factors(&factors[q], 1); };
    if (!probabilities) {
        std::vector<double> wrong(n);
        count_changes(rows, n, change, only_best, n_jobs, wrong.data());
        for (std::size_t q = 0; q < n; ++q) out[3 * q] = wrong[q];
        return;
    }
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
        .def_prop_ro("nbytes", &Factor::nbytes)
        .def("add_to", &add_factor, nb::arg("out").noconvert(), nb::arg("sign") = 1.0);
    m.def("score_changes", &score_changes, nb::arg("joint"), nb::arg("labels"), nb::arg("weights").none(),
          nb::arg("preference"), nb::arg("factors"), nb::arg("changes").none(), nb::arg("out").noconvert(),
          nb::arg("probabilities") = true, nb::arg("n_jobs") = 1, nb::arg("logs") = true, nb::arg("only_best") = false);
}
