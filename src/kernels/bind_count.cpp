// Python's door to the counting kernels. The kernels trust their input, so every shape, type and range is checked here.
#include <algorithm>
#include <memory>

#include "bindings.hpp"
#include "count.hpp"
#include "cpu.hpp"
#include "information.hpp"

namespace {

using namespace tanager;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
using TableArray = nb::ndarray<nb::device::cpu>;

[[noreturn]] void refuse(const std::string &sentence) { throw nb::value_error(sentence.c_str()); }

std::string shape_of(const std::vector<std::size_t> &shape) {
    std::string text = "(";
    for (std::size_t d = 0; d < shape.size(); ++d) text += (d ? ", " : "") + std::to_string(shape[d]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

template <class Array>
std::string shape_of(const Array &array) {
    std::vector<std::size_t> shape;
    for (std::size_t d = 0; d < array.ndim(); ++d) shape.push_back(array.shape(d));
    return shape_of(shape);
}

AnyArray any_array(nb::handle object, const char *name) {
    AnyArray array;
    if (!nb::try_cast(object, array, false)) refuse(std::string(name) + " must be a NumPy array.");
    return array;
}

// 1 or 2, the bytes of a code; anything else is refused.
std::size_t code_size(const AnyArray &array, const char *name) {
    if (array.dtype() == nb::dtype<std::uint8_t>()) return 1;
    if (array.dtype() == nb::dtype<std::uint16_t>()) return 2;
    refuse(std::string(name) + " must be uint8 or uint16.");
}

void check_dimensions(const AnyArray &array, std::size_t ndim, const char *name) {
    if (array.ndim() != ndim)
        refuse(std::string(name) + " must have " + std::to_string(ndim) + " dimension(s), its shape is " +
               shape_of(array) + ".");
}

void check_length(const AnyArray &array, std::size_t n_rows, const char *name) {
    check_dimensions(array, 1, name);
    if (array.shape(0) != n_rows)
        refuse(std::string(name) + " has " + std::to_string(array.shape(0)) + " entries, codes has " +
               std::to_string(n_rows) + " rows.");
}

std::ptrdiff_t step(const AnyArray &array, std::size_t d, std::size_t item) {
    return static_cast<std::ptrdiff_t>(array.stride(d)) * static_cast<std::ptrdiff_t>(item);
}

template <class Array>
void check_table(const Array &array, const std::vector<std::size_t> &shape, const std::string &name) {
    if (array.dtype() != nb::dtype<double>()) refuse(name + " must be float64.");
    bool same = array.ndim() == shape.size();
    for (std::size_t d = 0; same && d < shape.size(); ++d) same = array.shape(d) == shape[d];
    if (!same) refuse(name + " must have the shape " + shape_of(shape) + ", it has " + shape_of(array) + ".");
    std::int64_t expected = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
        if (shape[d] > 1 && array.stride(d) != expected) refuse(name + " must be C-contiguous.");
        expected *= static_cast<std::int64_t>(shape[d]);
    }
}

// A table is changed in place, so a silent copy would lose the counts: it must be the caller's own float64 memory.
TableArray table(nb::handle object, const std::vector<std::size_t> &shape, const std::string &name) {
    TableArray array;
    if (!nb::try_cast(object, array, false)) refuse(name + " must be a writable NumPy array.");
    check_table(array, shape, name);
    return array;
}

std::vector<std::int64_t> integers(nb::handle object, const char *name) {
    const AnyArray array = any_array(object, name);
    if (array.dtype() != nb::dtype<std::int64_t>() || array.ndim() != 1)
        refuse(std::string(name) + " must be a 1-D int64 array.");
    std::vector<std::int64_t> values(array.shape(0));
    const auto *data = static_cast<const std::int64_t *>(array.data());
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = data[static_cast<std::ptrdiff_t>(k) * array.stride(0)];
    return values;
}

void check_layout(const std::vector<std::int64_t> &offsets, const std::vector<std::int64_t> &n_values) {
    if (offsets.size() != n_values.size() + 1)
        refuse("offsets has " + std::to_string(offsets.size()) + " entries, it needs one more than n_values (" +
               std::to_string(n_values.size()) + ").");
    if (offsets[0] != 0) refuse("offsets must start at 0, it starts at " + std::to_string(offsets[0]) + ".");
    for (std::size_t i = 0; i < n_values.size(); ++i) {
        const std::string at = " (attribute " + std::to_string(i) + ").";
        if (offsets[i + 1] <= offsets[i]) refuse("offsets must increase" + at);
        if (offsets[i + 1] > std::int64_t{1} << 40) refuse("offsets must stay below 2**40" + at);
        if (n_values[i] < 0 || n_values[i] > 65535) refuse("n_values must lie in 0 .. 65535" + at);
        const std::int64_t rooms = offsets[i + 1] - offsets[i];
        if (n_values[i] > rooms - 1)
            refuse("n_values is " + std::to_string(n_values[i]) + " but there are " + std::to_string(rooms) +
                   " slots, the last of them for missing" + at);
    }
}

std::size_t attribute(nb::handle object, std::size_t n, const std::string &name) {
    std::int64_t id = 0;
    if (!nb::try_cast(object, id, false)) refuse(name + " must be a whole number.");
    if (id < 0 || static_cast<std::size_t>(id) >= n)
        refuse(name + " is " + std::to_string(id) + ", attributes run from 0 to " + std::to_string(n) + " - 1.");
    return static_cast<std::size_t>(id);
}

// The arrays behind the store's pointers, kept alive for the call.
using Kept = std::vector<TableArray>;

double *keep(Kept &kept, TableArray array) {
    kept.push_back(std::move(array));
    return static_cast<double *>(kept.back().data());
}

nb::sequence sequence(nb::handle object, const std::string &name) {
    nb::sequence result;
    if (!nb::try_cast(object, result, false)) refuse(name + " must be a list.");
    return result;
}

void read_triples(nb::handle list, Store &store, Kept &kept) {
    std::size_t k = 0;
    for (nb::handle item : sequence(list, "triples")) {
        const std::string name = "triples[" + std::to_string(k++) + "]";
        if (!nb::isinstance<nb::tuple>(item) || nb::len(item) != 3)
            refuse(name + " must be a tuple (anchor, first attribute, table).");
        const std::size_t n = store.n_attributes();
        const std::size_t s = attribute(item[0], n, "the anchor of " + name);
        const std::size_t f = attribute(item[1], n, "the first attribute of " + name);
        const std::size_t width = store.n_slots() - store.offset(f);
        TableArray cells = table(item[2], {width, width, store.rooms(s) * store.n_classes}, "the table of " + name);
        store.triples.push_back({s, f, keep(kept, std::move(cells))});
    }
}

void read_families(nb::handle list, Store &store, Kept &kept) {
    std::size_t k = 0;
    for (nb::handle item : sequence(list, "families")) {
        const std::string name = "families[" + std::to_string(k++) + "]";
        if (!nb::isinstance<nb::tuple>(item) || nb::len(item) != 2)
            refuse(name + " must be a tuple (attributes, table).");
        Family family;
        std::vector<std::size_t> shape;
        for (nb::handle id : sequence(item[0], "the attributes of " + name)) {
            const std::size_t i = attribute(id, store.n_attributes(), "an attribute of " + name);
            if (std::find(family.attributes.begin(), family.attributes.end(), i) != family.attributes.end())
                refuse(name + " names attribute " + std::to_string(i) + " twice.");
            family.attributes.push_back(i);
            shape.push_back(store.rooms(i));
        }
        if (family.attributes.empty()) refuse(name + " names no attribute.");
        shape.push_back(store.n_classes);
        family.cells = keep(kept, table(item[1], shape, "the table of " + name));
        store.families.push_back(std::move(family));
    }
}

Method method_named(const std::string &name) {
    if (name == "auto") return Method::automatic;
    if (name == "bits") return Method::bits;
    if (name == "increments") return Method::increments;
    refuse("method must be 'auto', 'bits' or 'increments', not '" + name + "'.");
}

nb::object new_int64(const std::vector<std::int64_t> &values) {
    auto copy = std::make_unique<std::int64_t[]>(values.size());
    std::copy(values.begin(), values.end(), copy.get());
    nb::capsule owner(copy.get(), [](void *data) noexcept { delete[] static_cast<std::int64_t *>(data); });
    return nb::cast(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(copy.release(), {values.size()}, owner));
}

nb::object count_rows(nb::handle codes_, nb::handle labels_, nb::handle weights_, nb::handle offsets,
                      nb::handle n_values, nb::handle classes, nb::handle singles, nb::handle pairs, nb::handle triples,
                      nb::handle families, int sign, int n_jobs, const std::string &method_name) {
    const Method method = method_named(method_name);
    if (sign != 1 && sign != -1) refuse("sign must be 1 or -1, not " + std::to_string(sign) + ".");
    if (n_jobs < 1 || n_jobs > 1024) refuse("n_jobs must lie in 1 .. 1024, it is " + std::to_string(n_jobs) + ".");

    Store store;
    store.offsets = integers(offsets, "offsets");
    store.n_values = integers(n_values, "n_values");
    check_layout(store.offsets, store.n_values);
    const std::size_t n = store.n_attributes(), n_slots = store.n_slots();

    const AnyArray codes = any_array(codes_, "codes");
    Rows rows;
    rows.code_size = code_size(codes, "codes");
    check_dimensions(codes, 2, "codes");
    if (codes.shape(1) != n)
        refuse("codes has " + std::to_string(codes.shape(1)) + " columns, n_values has " + std::to_string(n) +
               " entries.");
    rows.n_rows = codes.shape(0);
    rows.codes = static_cast<const std::byte *>(codes.data());
    rows.row_step = step(codes, 0, rows.code_size);
    rows.column_step = step(codes, 1, rows.code_size);

    const AnyArray labels = any_array(labels_, "labels");
    rows.label_size = code_size(labels, "labels");
    check_length(labels, rows.n_rows, "labels");
    rows.labels = static_cast<const std::byte *>(labels.data());
    rows.label_step = step(labels, 0, rows.label_size);

    AnyArray weights;
    if (!weights_.is_none()) {
        weights = any_array(weights_, "weights");
        if (weights.dtype() != nb::dtype<double>()) refuse("weights must be float64.");
        check_length(weights, rows.n_rows, "weights");
        rows.weights = static_cast<const std::byte *>(weights.data());
        rows.weight_step = step(weights, 0, sizeof(double));
        if (rows.n_rows == 0) rows.weights = nullptr;
    }

    const AnyArray class_array = any_array(classes, "classes");
    check_dimensions(class_array, 1, "classes");
    store.n_classes = class_array.shape(0);
    if (store.n_classes < 1 || store.n_classes > 65535)
        refuse("classes must have 1 .. 65535 entries, it has " + std::to_string(store.n_classes) + ".");
    Kept kept;
    store.classes = keep(kept, table(classes, {store.n_classes}, "classes"));
    store.singles = keep(kept, table(singles, {n_slots, store.n_classes}, "singles"));
    if (!pairs.is_none()) store.pairs = keep(kept, table(pairs, {n_slots, n_slots, store.n_classes}, "pairs"));
    read_triples(triples, store, kept);
    read_families(families, store, kept);

    Needed needed(store);
    {
        nb::gil_scoped_release released;
        needed = count(rows, store, sign, static_cast<std::size_t>(n_jobs), method);
    }
    return needed.exceeded ? new_int64(needed.sizes) : nb::none();
}

nb::object sums_of_pairs(nb::handle pairs_, nb::handle offsets_, nb::handle n_values_) {
    const std::vector<std::int64_t> offsets = integers(offsets_, "offsets"), n_values = integers(n_values_, "n_values");
    check_layout(offsets, n_values);
    const auto n_slots = static_cast<std::size_t>(offsets.back());
    const AnyArray pairs = any_array(pairs_, "pairs");
    check_dimensions(pairs, 3, "pairs");
    check_table(pairs, {n_slots, n_slots, pairs.shape(2)}, "pairs");
    const std::size_t n = n_values.size();
    auto sums = std::make_unique<double[]>(n * n * kPairSums);
    {
        nb::gil_scoped_release released;
        pair_sums(static_cast<const double *>(pairs.data()), offsets, n_values, pairs.shape(2), sums.get());
    }
    nb::capsule owner(sums.get(), [](void *data) noexcept { delete[] static_cast<double *>(data); });
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<3>>(sums.release(), {n, n, kPairSums}, owner));
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

void bind_count(nb::module_ &m) {
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
