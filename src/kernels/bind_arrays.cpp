#include "bind_arrays.hpp"

#include <algorithm>

namespace arrays {

namespace {

using tanager::Family;

constexpr const char *one_code_each = "a row has one code per column";

std::string shape_of(const std::vector<std::int64_t> &shape) {
    std::string text = "(";
    for (std::size_t d = 0; d < shape.size(); ++d) text += (d ? ", " : "") + std::to_string(shape[d]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

template <class Array>
std::vector<std::int64_t> shape_of(const Array &array) {
    std::vector<std::int64_t> shape;
    for (std::size_t d = 0; d < array.ndim(); ++d) shape.push_back(std::int64_t(array.shape(d)));
    return shape;
}

void check_length(std::size_t length, std::int64_t n_rows, const char *name, const char *each) {
    if (std::int64_t(length) != n_rows)
        refuse(std::string(name) + " has " + std::to_string(length) + " entries, there must be one " + each +
               " per row: " + std::to_string(n_rows) + ".");
}

// uint8 or uint16, in bytes; anything else is refused.
std::ptrdiff_t code_size(const AnyArray &array, const char *name) {
    if (array.dtype() == nb::dtype<std::uint8_t>()) return 1;
    if (array.dtype() == nb::dtype<std::uint16_t>()) return 2;
    refuse(std::string(name) + " must be uint8 or uint16.");
}

// Strides count elements; a view that steps by other than whole elements does not come through nanobind.
Codes codes_of(const AnyArray &array, const char *name) {
    const std::ptrdiff_t size = code_size(array, name);
    Codes codes;
    codes.data = static_cast<const std::byte *>(array.data());
    codes.wide = size == 2;
    codes.n_rows = std::int64_t(array.shape(0));
    codes.row_step = array.stride(0) * size;
    if (array.ndim() == 2) codes.column_step = array.stride(1) * size;
    return codes;
}

// A table is changed in place, so a silent copy would lose the counts: it must be the caller's own float64 memory.
double *hold(HeldStore &held, nb::handle object, const std::vector<std::int64_t> &shape, const std::string &name) {
    TableArray table;
    if (!nb::try_cast(object, table, false)) refuse(name + " must be a writable NumPy array.");
    check_table(table, shape, name);
    held.arrays.push_back(table);
    return static_cast<double *>(table.data());
}

std::vector<std::int64_t> integers(nb::handle object, const char *name) {
    const AnyArray array = any_array(object, name);
    if (array.dtype() != nb::dtype<std::int64_t>() || array.ndim() != 1)
        refuse(std::string(name) + " must be a 1-D int64 array.");
    std::vector<std::int64_t> values(array.shape(0));
    const auto *data = static_cast<const std::int64_t *>(array.data());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = data[std::ptrdiff_t(i) * array.stride(0)];
    return values;
}

int attribute(nb::handle object, int n, const std::string &name) {
    std::int64_t id = 0;
    if (!nb::try_cast(object, id, false)) refuse(name + " must be a whole number.");
    if (id < 0 || id >= n)
        refuse(name + " is " + std::to_string(id) + ", attributes run from 0 to " + std::to_string(n) + " - 1.");
    return int(id);
}

nb::sequence sequence(nb::handle object, const std::string &name) {
    nb::sequence result;
    if (!nb::try_cast(object, result, false)) refuse(name + " must be a list.");
    return result;
}

void read_triples(nb::handle list, HeldStore &held) {
    Store &s = held.store;
    int number = 0;
    for (nb::handle item : sequence(list, "triples")) {
        const std::string name = "triples[" + std::to_string(number++) + "]";
        if (!nb::isinstance<nb::tuple>(item) || nb::len(item) != 3)
            refuse(name + " must be a tuple (anchor, first attribute, table).");
        const int anchor = attribute(item[0], s.n, "the anchor of " + name);
        const int first = attribute(item[1], s.n, "the first attribute of " + name);
        const std::int64_t width = s.width - s.offsets[first], depth = std::int64_t(s.n_slots[anchor]) * s.k;
        s.triples.push_back({anchor, first, hold(held, item[2], {width, width, depth}, "the table of " + name), width});
    }
}

void read_families(nb::handle list, HeldStore &held) {
    Store &s = held.store;
    int number = 0;
    for (nb::handle item : sequence(list, "families")) {
        const std::string name = "families[" + std::to_string(number++) + "]";
        if (!nb::isinstance<nb::tuple>(item) || nb::len(item) != 2)
            refuse(name + " must be a tuple (attributes, table).");
        Family family{};
        std::vector<std::int64_t> shape;
        for (nb::handle id : sequence(item[0], "the attributes of " + name)) {
            const int i = attribute(id, s.n, "an attribute of " + name);
            if (std::find(family.attributes.begin(), family.attributes.end(), i) != family.attributes.end())
                refuse(name + " names attribute " + std::to_string(i) + " twice.");
            family.attributes.push_back(i);
            shape.push_back(s.n_slots[i]);
        }
        if (family.attributes.empty()) refuse(name + " names no attribute.");
        family.strides.resize(shape.size());
        std::int64_t stride = s.k;
        for (std::size_t q = shape.size(); q-- > 0;) {
            family.strides[q] = stride;
            stride *= shape[q];
        }
        if (nb::isinstance<SparseTable>(item[1])) {
            family.sparse = nb::cast<SparseTable *>(item[1]);
            const std::int64_t child_slots = shape.back();
            shape.pop_back();
            if (family.sparse->sizes() != shape || family.sparse->child_slots() != child_slots ||
                family.sparse->n_classes() != s.k)
                refuse("the sparse table of " + name + " has another layout.");
            for (std::size_t q = 0; q + 1 < family.strides.size(); ++q) family.strides[q] /= child_slots * s.k;
            held.sparse.push_back(nb::borrow(item[1]));
        } else {
            shape.push_back(s.k);
            family.cells = hold(held, item[1], shape, "the table of " + name);
        }
        s.families.push_back(std::move(family));
    }
}

}  // namespace

void refuse(const std::string &sentence) { throw nb::value_error(sentence.c_str()); }

AnyArray any_array(nb::handle object, const char *name) {
    AnyArray array;
    if (!nb::try_cast(object, array, false)) refuse(std::string(name) + " must be a NumPy array.");
    return array;
}

void check_dimensions(const AnyArray &array, std::size_t ndim, const char *name) {
    if (array.ndim() != ndim)
        refuse(std::string(name) + " must have " + std::to_string(ndim) + " dimension(s), its shape is " +
               shape_of(shape_of(array)) + ".");
}

Codes as_codes(const AnyArray &array, int n_columns) {
    check_dimensions(array, 2, "codes");
    if (std::int64_t(array.shape(1)) != n_columns)
        refuse("codes has " + std::to_string(array.shape(1)) + " columns, the counts have " +
               std::to_string(n_columns) + ".");
    return codes_of(array, "codes");
}

Codes as_row(const AnyArray &array, int n_columns) {
    expect(array.ndim() == 1 && std::int64_t(array.shape(0)) == n_columns, one_code_each);
    Codes codes = codes_of(array, "codes");
    codes.n_rows = 1;
    codes.column_step = codes.row_step;
    return codes;
}

RowOfCodes::RowOfCodes(nb::handle object, int n_columns) {
    if (PyBytes_CheckExact(object.ptr())) {
        expect(PyBytes_GET_SIZE(object.ptr()) == n_columns, one_code_each);
        codes_.data = reinterpret_cast<const std::byte *>(PyBytes_AS_STRING(object.ptr()));
        codes_.n_rows = 1;
        codes_.column_step = 1;
        return;
    }
    array_ = any_array(object, "codes");
    codes_ = as_row(array_, n_columns);
}

Codes as_labels(const AnyArray &array, std::int64_t n_rows) {
    check_dimensions(array, 1, "labels");
    check_length(array.shape(0), n_rows, "labels", "label");
    return codes_of(array, "labels");
}

Weights as_weights(const AnyArray &array, std::int64_t n_rows) {
    if (array.dtype() != nb::dtype<double>()) refuse("weights must be float64.");
    check_dimensions(array, 1, "weights");
    check_length(array.shape(0), n_rows, "weights", "weight");
    if (n_rows == 0) return {};
    return {static_cast<const std::byte *>(array.data()), std::ptrdiff_t(array.stride(0) * sizeof(double))};
}

Weights as_weights(const std::optional<WeightArray> &array, std::int64_t n_rows) {
    if (!array) return {};
    check_length(array->shape(0), n_rows, "weights", "weight");
    return {reinterpret_cast<const std::byte *>(array->data()), std::ptrdiff_t(array->stride(0) * sizeof(double))};
}

Batch as_batch(const AnyArray &codes, const AnyArray &labels, const std::optional<WeightArray> &weights,
               int n_columns) {
    Batch rows;
    rows.codes = as_codes(codes, n_columns);
    rows.labels = as_labels(labels, rows.n_rows());
    rows.weights = as_weights(weights, rows.n_rows());
    return rows;
}

double *as_output(const Doubles &out, std::int64_t n_rows, int n_classes) {
    expect(out.ndim() == 2 && std::int64_t(out.shape(0)) == n_rows && std::int64_t(out.shape(1)) == n_classes,
           "the output must have one row per row and one column per class");
    return out.data();
}

template <class Array>
void check_table(const Array &array, const std::vector<std::int64_t> &shape, const std::string &name) {
    if (array.dtype() != nb::dtype<double>()) refuse(name + " must be float64.");
    if (shape_of(array) != shape)
        refuse(name + " must have the shape " + shape_of(shape) + ", it has " + shape_of(shape_of(array)) + ".");
    std::int64_t expected = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
        if (shape[d] > 1 && array.stride(d) != expected) refuse(name + " must be C-contiguous.");
        expected *= shape[d];
    }
}

template void check_table(const AnyArray &, const std::vector<std::int64_t> &, const std::string &);
template void check_table(const TableArray &, const std::vector<std::int64_t> &, const std::string &);

// Bounds on slots keep all products of kernels within 64 bits, and slots within an int.
Layout read_layout(nb::handle offsets, nb::handle n_values_) {
    Layout layout;
    layout.offsets = integers(offsets, "offsets");
    const std::vector<std::int64_t> n_values = integers(n_values_, "n_values");
    if (layout.offsets.size() != n_values.size() + 1)
        refuse("offsets has " + std::to_string(layout.offsets.size()) + " entries, it needs one more than n_values (" +
               std::to_string(n_values.size()) + ").");
    if (layout.offsets[0] != 0)
        refuse("offsets must start at 0, it starts at " + std::to_string(layout.offsets[0]) + ".");
    for (std::size_t i = 0; i < n_values.size(); ++i) {
        const auto refuse_attribute = [i](const std::string &sentence) {
            refuse(sentence + " (attribute " + std::to_string(i) + ").");
        };
        const std::int64_t begin = layout.offsets[i], end = layout.offsets[i + 1];
        if (end <= begin) refuse_attribute("offsets must increase");
        if (end > std::int64_t{1} << 40) refuse_attribute("offsets must stay below 2**40");
        if (end - begin >= std::int64_t{1} << 24) refuse_attribute("there must be less than 2**24 slots");
        if (n_values[i] < 0 || n_values[i] > 65535) refuse_attribute("n_values must lie in 0 .. 65535");
        if (n_values[i] > end - begin - 1)
            refuse_attribute("n_values is " + std::to_string(n_values[i]) + " but there are " +
                             std::to_string(end - begin) + " slots, the last of them for missing");
        layout.n_values.push_back(int(n_values[i]));
        layout.n_slots.push_back(int(end - begin));
    }
    layout.n = int(n_values.size());
    layout.width = layout.offsets.back();
    return layout;
}

HeldStore read_store(nb::handle offsets, nb::handle n_values, nb::handle classes, nb::handle singles, nb::handle pairs,
                     nb::handle triples, nb::handle families) {
    HeldStore held;
    Store &s = held.store;
    static_cast<Layout &>(s) = read_layout(offsets, n_values);
    const AnyArray class_array = any_array(classes, "classes");
    check_dimensions(class_array, 1, "classes");
    if (class_array.shape(0) < 1 || class_array.shape(0) > 65535)
        refuse("classes must have 1 .. 65535 entries, it has " + std::to_string(class_array.shape(0)) + ".");
    s.k = int(class_array.shape(0));
    s.classes = hold(held, classes, {s.k}, "classes");
    s.singles = hold(held, singles, {s.width, s.k}, "singles");
    if (!pairs.is_none()) s.pairs = hold(held, pairs, {s.width, s.width, s.k}, "pairs");
    read_triples(triples, held);
    read_families(families, held);
    return held;
}

tanager::scoring::Smoothing smoothing_named(const std::string &kind) {
    using tanager::scoring::Smoothing;
    if (kind == "lidstone") return Smoothing::lidstone;
    if (kind == "m") return Smoothing::m_estimate;
    if (kind == "bdeu") return Smoothing::bdeu;
    if (kind == "prior") return Smoothing::prior_counts;
    expect(kind == "backoff" || kind == "learned", "unknown kind of smoothing");
    return Smoothing::back_off;
}

}  // namespace arrays
