// Numbers for rows, by which they are dealt out, for Python: all arrays are checked here.
#include "bind_arrays.hpp"
#include "mixed_rows.hpp"

namespace mixed_rows_bindings {
using namespace arrays;
using namespace tanager;

namespace {

nb::object mixed_rows(const AnyArray &codes_, const Integers &n_values, const Integers &ranks, std::uint64_t seed) {
    const Codes codes = as_codes(codes_, int(n_values.size()));
    std::int64_t n_ranks = 0;
    for (std::size_t i = 0; i < n_values.size(); ++i) {
        expect(n_values.data()[i] >= 0, "a column has no negative number of values");
        n_ranks += n_values.data()[i] + 1;
    }
    expect(std::int64_t(ranks.size()) == n_ranks, "there must be one rank per value, and one more per column");
    auto *kept = new std::vector<std::uint64_t>(std::size_t(codes.n_rows));
    nb::capsule owner(kept, [](void *data) noexcept { delete static_cast<std::vector<std::uint64_t> *>(data); });
    mix_rows(codes, int(n_values.size()), n_values.data(), ranks.data(), seed, kept->data());
    const std::size_t n_rows = kept->size();
    return nb::cast(nb::ndarray<nb::numpy, std::uint64_t>(kept->data(), 1, &n_rows, owner));
}

}  // namespace
}  // namespace mixed_rows_bindings

void bind_mixed_rows(nb::module_ &m) {
    using nb::arg;
    m.def("mixed_rows", &mixed_rows_bindings::mixed_rows, arg("codes"), arg("n_values"), arg("ranks"), arg("seed"),
          "A number for every row, as if drawn at random; ranks are those of the values of all columns and of gaps.");
}
