// Encoding for Python: checked arrays in, codes out. Arrays for the results are made by the caller.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "bindings.hpp"
#include "cuts.hpp"
#include "encode.hpp"

namespace encode_bindings {

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>;
template <class T>
using Dense = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::device::cpu>;
template <class T>
using DenseOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Grid = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
using Floats2D = nb::ndarray<double, nb::ndim<2>, nb::f_contig, nb::device::cpu>;

void same_length(std::size_t a, std::size_t b) {
    if (a != b) throw std::invalid_argument("arrays differ in length");
}

template <class Code>
void code_limits(Grid<Code> codes, DenseOut<Code> limits) {
    const std::size_t n_rows = codes.shape(0), n_features = codes.shape(1);
    same_length(n_features, limits.size());
    const auto features = static_cast<std::int64_t>(n_features);
    const bool rows = (n_features <= 1 || codes.stride(1) == 1) && (n_rows <= 1 || codes.stride(0) == features);
    if (!rows && n_rows > 1 && codes.stride(0) != 1)
        throw std::invalid_argument("codes must be contiguous by row or by column");
    nb::gil_scoped_release release;
    if (rows) tanager::code_limits_rows(codes.data(), n_rows, n_features, limits.data());
    else tanager::code_limits_columns(codes.data(), n_rows, n_features, codes.stride(1), limits.data());
}

template <class Code>
void recode(Dense<std::int32_t> index, Dense<Code> table, Out<Code> out) {
    same_length(index.size(), out.size());
    if (table.size() == 0) throw std::invalid_argument("table is empty");
    nb::gil_scoped_release release;
    tanager::recode(index.data(), index.size(), table.data(), table.size(), out.data(), out.stride(0));
}

template <class Code>
void cut(Vector<double> values, Dense<double> cuts, Out<Code> out) {
    same_length(values.size(), out.size());
    nb::gil_scoped_release release;
    tanager::cut(values.data(), values.size(), values.stride(0), cuts.data(), cuts.size(), out.data(), out.stride(0));
}

// Of any type and layout that is checked here: a function of Python for each type takes long to compile.
using WholeNumbers = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using CodesOfRows = nb::ndarray<nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Number>
bool index_as(const WholeNumbers &numbers, const CodesOfRows &out, std::vector<std::uint32_t> &found) {
    if (numbers.dtype() != nb::dtype<Number>()) return false;
    const auto *from = static_cast<const Number *>(numbers.data());
    if (out.dtype() == nb::dtype<std::uint8_t>())
        found = tanager::index_whole(from, numbers.size(), static_cast<std::uint8_t *>(out.data()));
    else found = tanager::index_whole(from, numbers.size(), static_cast<std::uint16_t *>(out.data()));
    return true;
}

template <class... Number>
bool index_as_any(const WholeNumbers &numbers, const CodesOfRows &out, std::vector<std::uint32_t> &found) {
    return (index_as<Number>(numbers, out, found) || ...);
}

std::vector<std::uint32_t> index_whole(const WholeNumbers &numbers, const CodesOfRows &out) {
    same_length(numbers.size(), out.size());
    if (numbers.size() == 0) throw std::invalid_argument("no numbers");
    if (out.dtype() != nb::dtype<std::uint8_t>() && out.dtype() != nb::dtype<std::uint16_t>())
        throw std::invalid_argument("codes must be uint8 or uint16");
    std::vector<std::uint32_t> found;
    nb::gil_scoped_release release;
    if (!index_as_any<std::int64_t, std::int32_t, std::int16_t, std::int8_t, std::uint64_t, std::uint32_t,
                      std::uint16_t, std::uint8_t>(numbers, out, found))
        throw std::invalid_argument("numbers must be integers");
    return found;
}

std::vector<double> mdl_cuts(Dense<double> values, Dense<std::uint16_t> labels, std::optional<Dense<double>> weights,
                             std::size_t n_classes, bool by_candidates, double n_bins) {
    same_length(values.size(), labels.size());
    if (weights) same_length(values.size(), weights->size());
    for (std::size_t r = 0; r < labels.size(); ++r)
        if (labels.data()[r] >= n_classes) throw std::invalid_argument("a label is not below n_classes");
    nb::gil_scoped_release release;
    return tanager::mdl_cuts(values.data(), labels.data(), weights ? weights->data() : nullptr, values.size(),
                             n_classes, by_candidates, n_bins);
}

std::vector<double> cuts_of_unsorted(Dense<double> values, Dense<std::uint16_t> labels, bool by_candidates,
                                     std::optional<double> n_bins, double rows_per_cell, double most_bins) {
    same_length(values.size(), labels.size());
    nb::gil_scoped_release release;
    return tanager::cuts_of_unsorted(values.data(), labels.data(), values.size(), by_candidates, n_bins, rows_per_cell,
                                     most_bins);
}

std::vector<double> even_cuts(Dense<double> values, std::optional<Dense<double>> weights, std::size_t n_bins) {
    if (weights) same_length(values.size(), weights->size());
    nb::gil_scoped_release release;
    return tanager::even_cuts(values.data(), weights ? weights->data() : nullptr, values.size(), n_bins);
}

// Cells of a list, a tuple or a strided array of objects.
class Cells {
  public:
    explicit Cells(nb::handle source) {
        if (PyList_Check(source.ptr()) || PyTuple_Check(source.ptr())) {
            first_ = reinterpret_cast<const char *>(PySequence_Fast_ITEMS(source.ptr()));
            size_ = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(source.ptr()));
            return;
        }
        if (PyObject_GetBuffer(source.ptr(), &view_, PyBUF_STRIDES | PyBUF_FORMAT) != 0) throw nb::python_error();
        held_ = true;
        if (view_.ndim != 1 || view_.itemsize != sizeof(PyObject *) || !view_.format || view_.format[0] != 'O') {
            PyBuffer_Release(&view_);
            throw std::invalid_argument("expected a list, a tuple or a 1-D array of objects");
        }
        first_ = static_cast<const char *>(view_.buf);
        size_ = static_cast<std::size_t>(view_.shape[0]);
        stride_ = view_.strides[0];
    }
    ~Cells() {
        if (held_) PyBuffer_Release(&view_);
    }
    Cells(const Cells &) = delete;
    Cells &operator=(const Cells &) = delete;

    std::size_t size() const { return size_; }
    PyObject *operator[](std::size_t r) const {
        PyObject *cell = *reinterpret_cast<PyObject *const *>(first_ + static_cast<std::ptrdiff_t>(r) * stride_);
        return cell ? cell : Py_None;  // NumPy leaves empty object arrays as null pointers
    }

  private:
    Py_buffer view_{};
    bool held_ = false;
    const char *first_ = nullptr;
    std::size_t size_ = 0;
    std::ptrdiff_t stride_ = sizeof(PyObject *);
};

constexpr std::int32_t missing = -1;

// The position of a value in `values`, which grows by new ones. None, NaN and whatever is_missing calls so: missing.
std::int32_t position(PyObject *cell, nb::dict &seen, nb::list &values, const nb::callable &is_missing) {
    if (cell == Py_None) return missing;
    if (PyFloat_Check(cell) && std::isnan(PyFloat_AS_DOUBLE(cell))) return missing;
    if (PyObject *found = PyDict_GetItemWithError(seen.ptr(), cell))
        return static_cast<std::int32_t>(PyLong_AsLong(found));
    if (PyErr_Occurred()) throw nb::python_error();
    if (nb::cast<bool>(is_missing(nb::handle(cell)))) return missing;
    const auto next = static_cast<std::int32_t>(values.size());
    seen[nb::handle(cell)] = next;
    values.append(nb::handle(cell));
    return next;
}

// Columns repeat few objects many times: remembering addresses answers most cells without hashing. The container
// holds its objects while we look, so an address cannot be used twice.
nb::list index_objects(nb::handle source, DenseOut<std::int32_t> out, nb::callable is_missing) {
    struct Remembered {
        PyObject *cell = nullptr;
        std::int32_t position = missing;
    };
    constexpr std::size_t n_slots = 2048;
    const Cells cells(source);
    same_length(cells.size(), out.size());
    std::vector<Remembered> memory(n_slots);
    nb::dict seen;
    nb::list values;
    for (std::size_t r = 0; r < cells.size(); ++r) {
        PyObject *cell = cells[r];
        const auto address = reinterpret_cast<std::uintptr_t>(cell);
        Remembered &slot = memory[((address >> 4) ^ (address >> 15)) % n_slots];
        if (slot.cell != cell) slot = {cell, position(cell, seen, values, is_missing)};
        out.data()[r] = slot.position;
    }
    return values;
}

// Whether a cell is a plain number, and which.
bool plain_number(PyObject *value, double &x) {
    if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value)) return false;
    x = PyFloat_AsDouble(value);
    if (!PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
}

// Floats of rows that are dicts, a column for each name; NaN where a name is absent or None. Returns which columns are
// floats indeed, some of them not missing; the others are left unfinished, for a closer look.
std::vector<bool> float_columns(nb::list rows, nb::list names, Floats2D out) {
    const std::size_t n_rows = rows.size(), n_columns = names.size();
    if (out.shape(0) != n_rows || out.shape(1) != n_columns) throw std::invalid_argument("one cell per row and name");
    std::vector<bool> sound(n_columns, true), present(n_columns, false);
    for (std::size_t r = 0; r < n_rows; ++r) {
        PyObject *row = PyList_GET_ITEM(rows.ptr(), r);
        if (!PyDict_CheckExact(row)) return std::vector<bool>(n_columns, false);
        for (std::size_t i = 0; i < n_columns; ++i) {
            if (!sound[i]) continue;
            PyObject *cell = PyDict_GetItemWithError(row, PyList_GET_ITEM(names.ptr(), i));
            if (cell == nullptr && PyErr_Occurred()) nb::raise_python_error();
            double &number = out(r, i);
            if (cell == nullptr || cell == Py_None) number = std::numeric_limits<double>::quiet_NaN();
            else if (PyFloat_CheckExact(cell)) number = PyFloat_AS_DOUBLE(cell);
            else sound[i] = false;
            if (sound[i] && !std::isnan(number)) present[i] = true;
        }
    }
    for (std::size_t i = 0; i < n_columns; ++i) sound[i] = sound[i] && present[i];
    return sound;
}

bool has_fractions(Vector<double> numbers) {
    return tanager::has_fractions(numbers.data(), numbers.size(), numbers.stride(0));
}

// Codes of single rows: a column is a dict from value to code, or cut points, or True for numbers that have no code, or
// None for what Python must look at.
class RowFinder {
  public:
    RowFinder(const nb::list &names, const nb::list &columns) {
        if (names.size() != columns.size()) throw nb::value_error("one name per column");
        nb::set seen;
        for (std::size_t i = 0; i < names.size(); ++i) {
            Column column{nb::borrow(names[i]), nb::object(), {}};
            if (columns[i].ptr() == Py_True) column.without_code = true;
            else if (nb::isinstance<nb::dict>(columns[i])) column.lookup = nb::borrow(columns[i]);
            else if (!columns[i].is_none()) column.cuts = nb::cast<std::vector<double>>(columns[i]);
            column.numeric = !column.lookup.is_valid() && !columns[i].is_none() && !column.without_code;
            column.again = seen.contains(column.name);
            seen.add(column.name);
            columns_.push_back(std::move(column));
        }
    }

    // The codes of a row as bytes; None where some cell needs a closer look, or a code is no byte. With `alone` also
    // where the row has other names than those of columns.
    nb::object row(nb::dict row, bool alone) const {
        const nb::object codes = nb::steal(PyBytes_FromStringAndSize(nullptr, Py_ssize_t(columns_.size())));
        if (!codes.is_valid()) nb::raise_python_error();
        auto *out = reinterpret_cast<std::uint8_t *>(PyBytes_AS_STRING(codes.ptr()));
        std::size_t names = 0;
        if (!read(row, out, names) || (alone && names < row.size())) return nb::none();
        return codes;
    }

    // Writes the codes of a row; false, with the codes unfinished, where some cell needs a closer look.
    template <class Code>
    bool find(nb::dict row, DenseOut<Code> out) const {
        same_length(columns_.size(), out.size());
        std::size_t names = 0;
        return read(row, out.data(), names);
    }

  private:
    // As `find`; and counts the names of the row that are those of columns.
    template <class Code>
    bool read(nb::dict row, Code *out, std::size_t &names) const {
        bool all = true;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            PyObject *value = PyDict_GetItemWithError(row.ptr(), columns_[i].name.ptr());
            if (value == nullptr && PyErr_Occurred()) nb::raise_python_error();
            names += value != nullptr && !columns_[i].again;
            if (value == nullptr || value == Py_None) {
                out[i] = std::numeric_limits<Code>::max();
                continue;
            }
            if (columns_[i].without_code) {
                double number;
                all = all && plain_number(value, number);
                out[i] = std::numeric_limits<Code>::max();
                continue;
            }
            const long code = columns_[i].code(value);
            if (code < 0 || code >= long(std::numeric_limits<Code>::max())) all = false;
            else out[i] = Code(code);
        }
        return all;
    }

    struct Column {
        nb::object name, lookup;
        std::vector<double> cuts;
        bool numeric = false, without_code = false;
        bool again = false;  // an earlier column reads the same name

        long code(PyObject *value) const {
            if (lookup.is_valid()) {
                PyObject *found = PyDict_GetItemWithError(lookup.ptr(), value);
                if (found == nullptr) PyErr_Clear();  // a cell without a hash is looked at by Python
                return found == nullptr ? -1 : PyLong_AsLong(found);
            }
            if (!numeric || !(PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyBool_Check(value))) return -1;
            const double x = PyFloat_AsDouble(value);
            if (PyErr_Occurred()) PyErr_Clear();
            else if (x == x) return std::lower_bound(cuts.begin(), cuts.end(), x) - cuts.begin();
            return -1;
        }
    };
    std::vector<Column> columns_;
};

// Numbers of some columns of single rows.
class NumberFinder {
  public:
    explicit NumberFinder(const nb::list &names) {
        for (const nb::handle name : names) names_.push_back(nb::borrow(name));
    }

    // Writes the numbers, NaN where one is absent; false where some cell needs a closer look.
    bool find(nb::dict row, DenseOut<double> out) const {
        same_length(names_.size(), out.size());
        for (std::size_t i = 0; i < names_.size(); ++i) {
            PyObject *value = PyDict_GetItemWithError(row.ptr(), names_[i].ptr());
            if (value == nullptr && PyErr_Occurred()) nb::raise_python_error();
            if (value == nullptr || value == Py_None) out.data()[i] = std::numeric_limits<double>::quiet_NaN();
            else if (!plain_number(value, out.data()[i])) return false;
        }
        return true;
    }

  private:
    std::vector<nb::object> names_;
};

}  // namespace
}  // namespace encode_bindings

void bind_encode(nb::module_ &m) {
    using namespace encode_bindings;
    nb::class_<RowFinder>(m, "RowFinder")
        .def(nb::init<const nb::list &, const nb::list &>())
        .def("row", &RowFinder::row)
        .def("find", &RowFinder::find<std::uint8_t>)
        .def("find", &RowFinder::find<std::uint16_t>);
    nb::class_<NumberFinder>(m, "NumberFinder").def(nb::init<const nb::list &>()).def("find", &NumberFinder::find);
    m.def("code_limits", &code_limits<std::uint8_t>);
    m.def("code_limits", &code_limits<std::uint16_t>);
    m.def("recode", &recode<std::uint8_t>);
    m.def("recode", &recode<std::uint16_t>);
    m.def("cut", &cut<std::uint8_t>);
    m.def("cut", &cut<std::uint16_t>);
    m.def("index_whole", &index_whole, nb::arg().noconvert(), nb::arg().noconvert());
    m.def("mdl_cuts", &mdl_cuts, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    m.def("cuts_of_unsorted", &cuts_of_unsorted, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
          nb::arg());
    m.def("float_columns", &float_columns);
    m.def("has_fractions", &has_fractions);
    m.def("even_cuts", &even_cuts, nb::arg(), nb::arg().none(), nb::arg());
    m.def("index_objects", &index_objects);
}
