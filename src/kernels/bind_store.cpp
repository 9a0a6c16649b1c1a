#include "bind_store.hpp"

#include <cmath>
#include <numeric>

#include "learn_rows.hpp"

namespace store_bindings {
using namespace tanager;
using namespace arrays;

namespace {

std::int64_t learn(PyStore &self, const AnyArray &codes, const AnyArray &labels,
                   const std::optional<WeightArray> &weights, double unit) {
    const Batch rows = as_batch(codes, labels, weights, self.store.n);
    nb::gil_scoped_release release;
    return learn_rows(self.store, rows, unit);
}

std::int64_t forget(PyStore &self, const AnyArray &codes, const AnyArray &labels, const WeightArray &raw) {
    const Batch rows = as_batch(codes, labels, raw, self.store.n);
    nb::gil_scoped_release release;
    return forget_rows(self.store, rows);
}

// Whether a single row can be learned, or taken out: its slots are in self.slot then.
bool read_one(PyStore &self, nb::handle codes, int label) {
    const RowOfCodes row(codes, self.store.n);
    return label >= 0 && label < self.store.k && self.values.read(row, 0, self.slot.data());
}

bool learn_single(PyStore &self, nb::handle codes, int label, double weight) {
    if (!read_one(self, codes, label)) return false;
    learn_one(self.store, self.slot.data(), label, weight, self.cell.data());
    return true;
}

bool forget_single(PyStore &self, nb::handle codes, int label, double raw) {
    if (!read_one(self, codes, label)) return false;
    forget_one(self.store, self.slot.data(), label, raw, self.cell.data());
    return true;
}

void mirror(PyStore &store) {
    expect(store.store.pairs, "there are no pairs to mirror");
    nb::gil_scoped_release release;
    mirror_pairs(store.store);
}

void halve(PyStore &self, int times) {
    expect(times >= 0, "cells are halved, not doubled");
    halve_cells(self.store, times);
}

// --- sparse tables ----------------------------------------------------------------------------------------------

void new_sparse(SparseTable *self, std::vector<std::int64_t> sizes, std::int64_t child_slots, std::int64_t n_classes) {
    double n_keys = 1;
    for (const std::int64_t size : sizes) {
        expect(size > 0 && size < std::int64_t{1} << 24, "a parent has no slots, or too many");
        n_keys *= double(size);
    }
    expect(n_keys < 0x1p62, "there are more contexts than can be numbered");
    expect(child_slots > 0 && child_slots < std::int64_t{1} << 24, "the child has no slots, or too many");
    expect(n_classes > 0 && n_classes < 65536, "there must be classes");
    new (self) SparseTable(std::move(sizes), child_slots, n_classes);
}

// Adds counts by class to the cells of so many contexts and slots of the child.
void add_cells(SparseTable &self, const Integers &keys, const Integers &child, const Doubles &cells) {
    const std::size_t n = keys.shape(0), k = std::size_t(self.n_classes());
    expect(child.shape(0) == n && cells.ndim() == 2 && cells.shape(0) == n && cells.shape(1) == k,
           "there must be one slot of the child and one row of counts for every key");
    std::int64_t most = 1;
    for (const std::int64_t size : self.sizes()) most *= size;
    for (std::size_t q = 0; q < n; ++q) {
        const std::int64_t key = keys.data()[q], v = child.data()[q];
        expect(key >= 0 && key < most && v >= 0 && v < self.child_slots(), "a key or a slot is out of range");
        double *to = self.at(key) + v * std::int64_t(k);
        for (std::size_t c = 0; c < k; ++c) to[c] += cells.data()[q * k + c];
    }
}

template <class T>
nb::object owned_array(std::vector<T> values, std::initializer_list<std::size_t> shape) {
    auto *kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void *data) noexcept { delete static_cast<std::vector<T> *>(data); });
    return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape, owner));
}

// The contexts of which something is left, in ascending order, and copies of their blocks.
nb::tuple occupied(SparseTable &self) {
    self.drop_empty();
    const std::size_t n = self.keys().size(), block = std::size_t(self.block());
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return self.keys()[a] < self.keys()[b]; });
    std::vector<std::int64_t> keys;
    std::vector<double> cells;
    keys.reserve(n);
    cells.reserve(n * block);
    for (const std::size_t q : order) {
        keys.push_back(self.keys()[q]);
        const auto from = self.cells().begin() + std::int64_t(q * block);
        cells.insert(cells.end(), from, from + std::int64_t(block));
    }
    return nb::make_tuple(
        owned_array(std::move(keys), {n}),
        owned_array(std::move(cells), {n, std::size_t(self.child_slots()), std::size_t(self.n_classes())}));
}

// How many of these contexts have no block yet; each is to be given once.
std::int64_t n_new(const SparseTable &self, const Integers &keys) {
    return std::count_if(keys.data(), keys.data() + keys.shape(0), [&](std::int64_t key) { return !self.has(key); });
}

double least_cell(SparseTable &self) {
    const auto &cells = self.cells();
    return cells.empty() ? 0.0 : *std::min_element(cells.begin(), cells.end());
}

void clear_below(SparseTable &self, double least) {
    for (double &x : self.cells())
        if (std::abs(x) < least) x = 0;
}

void weigh_classes(SparseTable &self, const std::vector<double> &factors) {
    expect(std::int64_t(factors.size()) == self.n_classes(), "one factor per class");
    std::size_t c = 0;
    for (double &x : self.cells()) {
        x *= factors[c];
        if (++c == factors.size()) c = 0;
    }
}

}  // namespace
}  // namespace store_bindings

void bind_store(nb::module_ &m) {
    using namespace store_bindings;
    using nb::arg;
    nb::class_<SparseTable>(m, "SparseTable", "The counts of a family in the contexts that have occurred.")
        .def("__init__", &new_sparse, arg("sizes"), arg("child_slots"), arg("n_classes"))
        .def("add", &add_cells, arg("keys"), arg("child"), arg("cells"))
        .def("occupied", &occupied)
        .def("n_new", &n_new, arg("keys"))
        .def("least", &least_cell)
        .def("clear_below", &clear_below, arg("least"))
        .def("weigh_classes", &weigh_classes, arg("factors"))
        .def_prop_ro("n_contexts", [](SparseTable &t) { return t.keys().size(); })
        .def_prop_ro("nbytes", [](SparseTable &t) { return 8 * t.cells().size() + 24 * t.keys().size(); });
    nb::class_<PyStore>(m, "Store", "The arrays of a JointCounts, checked once.")
        .def(
            "__init__",
            [](PyStore *self, nb::handle offsets, nb::handle n_values, nb::handle classes, nb::handle singles,
               nb::handle pairs, nb::handle triples, nb::handle families) {
                new (self) PyStore(read_store(offsets, n_values, classes, singles, pairs, triples, families));
            },
            arg("offsets"), arg("n_values"), arg("classes"), arg("singles"), arg("pairs").none(), arg("triples"),
            arg("families"))
        .def(
            "count",
            [](PyStore &self, nb::handle codes, nb::handle labels, nb::handle weights, int sign, int n_jobs) {
                return count_into(self.store, codes, labels, weights, sign, n_jobs, Method::automatic);
            },
            arg("codes"), arg("labels"), arg("weights").none(), arg("sign") = 1, arg("n_jobs") = 1)
        .def("learn", &learn, arg("codes"), arg("labels"), arg("weights").none(), arg("unit") = 1.0)
        .def("learn_one", &learn_single, arg("codes"), arg("label"), arg("weight") = 1.0)
        .def("forget", &forget, arg("codes"), arg("labels"), arg("raw"))
        .def("forget_one", &forget_single, arg("codes"), arg("label"), arg("raw"))
        .def("halve", &halve, arg("times"))
        .def("n_rows", [](const PyStore &self) {
            const double *classes = self.store.classes;
            return classes ? std::accumulate(classes, classes + self.store.k, 0.0) : 0.0;
        });
    m.def("mirror_pairs", &mirror, arg("store"));
}
