// Counting for Python.
#include <algorithm>
#include <memory>

#include "bind_store.hpp"
#include "cpu.hpp"
#include "information.hpp"

namespace count_bindings {

namespace {

using namespace tanager;
using namespace arrays;

Method method_named(const std::string &name) {
    if (name == "auto") return Method::automatic;
    if (name == "bits") return Method::bits;
    if (name == "increments") return Method::increments;
    refuse("method must be 'auto', 'bits' or 'increments', not '" + name + "'.");
}

// A new NumPy array that owns its numbers.
template <class T>
nb::object new_array(std::unique_ptr<T[]> values, std::initializer_list<std::size_t> shape) {
    nb::capsule owner(values.get(), [](void *data) noexcept { delete[] static_cast<T *>(data); });
    return nb::cast(nb::ndarray<nb::numpy, T>(values.release(), shape, owner));
}

nb::object count_rows(nb::handle codes, nb::handle labels, nb::handle weights, nb::handle offsets, nb::handle n_values,
                      nb::handle classes, nb::handle singles, nb::handle pairs, nb::handle triples, nb::handle families,
                      int sign, int n_jobs, const std::string &method) {
    const HeldStore held = read_store(offsets, n_values, classes, singles, pairs, triples, families);
    return count_into(held.store, codes, labels, weights, sign, n_jobs, method_named(method));
}

nb::object sums_of_pairs(nb::handle pairs_, nb::handle offsets, nb::handle n_values) {
    Layout layout = read_layout(offsets, n_values);
    const AnyArray pairs = any_array(pairs_, "pairs");
    check_dimensions(pairs, 3, "pairs");
    check_table(pairs, {layout.width, layout.width, std::int64_t(pairs.shape(2))}, "pairs");
    layout.k = int(pairs.shape(2));
    const auto n = std::size_t(layout.n);
    auto sums = std::make_unique<double[]>(n * n * kPairSums);
    {
        const Released released;
        pair_sums(layout, static_cast<const double *>(pairs.data()), sums.get());
    }
    return new_array(std::move(sums), {n, n, kPairSums});
}

void set_cpu_level(const std::string &name) {
    CpuLevel level = best_cpu_level();
    if (name == "plain") level = CpuLevel::plain;
    else if (name == "avx2") level = CpuLevel::avx2;
    else if (name == "avx512") level = CpuLevel::avx512;
    else if (name != "auto") refuse("the level must be 'auto', 'plain', 'avx2' or 'avx512', not '" + name + "'.");
    if (level > best_cpu_level()) refuse("this processor does not reach the level '" + name + "'.");
    chosen_cpu_level() = level;
}

}  // namespace
}  // namespace count_bindings

nb::object arrays::count_into(const Store &store, nb::handle codes_, nb::handle labels_, nb::handle weights_, int sign,
                              int n_jobs, tanager::Method method) {
    using namespace count_bindings;
    if (sign != 1 && sign != -1) refuse("sign must be 1 or -1, not " + std::to_string(sign) + ".");
    if (n_jobs < 1 || n_jobs > 1024) refuse("n_jobs must lie in 1 .. 1024, it is " + std::to_string(n_jobs) + ".");
    const AnyArray codes = any_array(codes_, "codes"), labels = any_array(labels_, "labels");
    Batch rows;
    rows.codes = as_codes(codes, store.n);
    rows.labels = as_labels(labels, rows.n_rows());
    AnyArray weights;
    if (!weights_.is_none()) {
        weights = any_array(weights_, "weights");
        rows.weights = as_weights(weights, rows.n_rows());
    }
    Needed needed(store);
    {
        const Released released;
        needed = count(rows, store, sign, static_cast<std::size_t>(n_jobs), method);
    }
    if (!needed.exceeded) return nb::none();
    auto sizes = std::make_unique<std::int64_t[]>(needed.sizes.size());
    std::copy(needed.sizes.begin(), needed.sizes.end(), sizes.get());
    return new_array(std::move(sizes), {needed.sizes.size()});
}

void bind_count(nb::module_ &m) {
    using namespace count_bindings;
    using nb::arg;
    m.def("count", &count_rows, arg("codes"), arg("labels"), arg("weights").none(), arg("offsets"), arg("n_values"),
          arg("classes"), arg("singles"), arg("pairs").none(), arg("triples"), arg("families"), arg("sign") = 1,
          arg("n_jobs") = 1, arg("method") = "auto",
          "Add the rows to the tables, or add nothing and return the sizes they would need.");
    m.def("pair_sums", &sums_of_pairs, arg("pairs"), arg("offsets"), arg("n_values"),
          "M and the seven sums of N log N of every pair block, as an array (n, n, 8).");
    m.def("cpu_features", &cpu_features, "The instruction sets of this processor that the kernels look for.");
    m.def("set_cpu_level", &set_cpu_level, arg("level"),
          "Use at most 'plain', 'avx2' or 'avx512'; 'auto' for the best there is.");
}
