// Conditional likelihood for Python: all arrays are checked here.
#include <cmath>

#include "bind_arrays.hpp"
#include "conditional.hpp"

namespace conditional_bindings {
using namespace arrays;
using namespace tanager;

namespace {

using Cells = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using RowCodes = nb::ndarray<const std::uint16_t, nb::ndim<2>, nb::f_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Families = std::vector<std::vector<std::size_t>>;

// The kernel's rows, and the arrays they are in.
class KeptRows {
  public:
    KeptRows(RowCodes codes, std::vector<std::size_t> n_values, Numbers weights)
        : codes_(std::move(codes)), weights_(std::move(weights)) {
        const std::size_t m = codes_.shape(0), n = codes_.shape(1);
        expect(n_values.size() == n, "one number of values per column");
        expect(weights_.shape(0) == m, "one weight per row");
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t r = 0; r < m; ++r)
                expect(codes_.data()[i * m + r] < n_values[i], "a code is none of the values");
        rows_.emplace(codes_.data(), m, std::move(n_values), weights_.data());
    }

    void log_totals(const Cells &ratio, const Families &families, const std::vector<Cells> &tables,
                    const Doubles &out) const {
        const std::size_t k = ratio.shape(1);
        expect(ratio.shape(0) == rows_->n_rows, "the ratio needs one line per row");
        expect(families.size() == tables.size() && out.ndim() == 1 && out.shape(0) == families.size(),
               "one table and one number to write per family");
        std::vector<ConditionalTable> found;
        for (std::size_t f = 0; f < families.size(); ++f) found.push_back(checked(families[f], tables[f], k));
        double *sums = out.data();
        const Released release;
        tanager::log_totals(*rows_, ratio.data(), k, found, sums);
    }

    void spread(const std::vector<std::size_t> &family, const Cells &cells, const Doubles &out_) const {
        const std::size_t k = cells.shape(1);
        const ConditionalTable table = checked(family, cells, k);
        double *out = as_output(out_, std::int64_t(rows_->n_rows), int(k));
        std::vector<std::uint32_t> line(rows_->n_rows);
        const Released release;
        find_lines(*rows_, family, 0, rows_->n_rows, line.data());
        for (const std::uint32_t at : line)
            for (std::size_t c = 0; c < k; ++c) *out++ = table.cells[at * k + c];
    }

  private:
    ConditionalTable checked(const std::vector<std::size_t> &family, const Cells &cells, std::size_t k) const {
        double n_lines = 1;
        for (const std::size_t i : family) {
            expect(i < rows_->n_values.size(), "a family names an unknown variable");
            n_lines *= double(rows_->n_values[i]);
        }
        expect(n_lines < 4e9 && double(cells.shape(0)) == n_lines && cells.shape(1) == k,
               "a table needs one line per combination of values, with one number per class");
        return {family, cells.data()};
    }

    RowCodes codes_;
    Numbers weights_;
    std::optional<CodedRows> rows_;
};

}  // namespace
}  // namespace conditional_bindings

void bind_conditional(nb::module_ &m) {
    using namespace conditional_bindings;
    using nb::arg;
    nb::class_<KeptRows>(m, "ConditionalRows", "Rows whose class is told by families of a network.")
        .def(nb::init<RowCodes, std::vector<std::size_t>, Numbers>(), arg("codes").noconvert(), arg("n_values"),
             arg("weights").noconvert())
        .def("log_totals", &KeptRows::log_totals, arg("ratio"), arg("families"), arg("tables"), arg("out").noconvert())
        .def("spread", &KeptRows::spread, arg("family"), arg("table"), arg("out").noconvert());
}
