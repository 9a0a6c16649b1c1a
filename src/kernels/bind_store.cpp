#include "bind_store.hpp"

#include "learn_rows.hpp"
#include "subsumption.hpp"
#include "super_parent_sums.hpp"

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
bool read_one(PyStore &self, const AnyArray &codes, int label) {
    const Codes row = as_row(codes, self.store.n);
    return label >= 0 && label < self.store.k && self.values.read(row, 0, self.slot.data());
}

bool learn_single(PyStore &self, const AnyArray &codes, int label, double weight) {
    if (!read_one(self, codes, label)) return false;
    learn_one(self.store, self.slot.data(), label, weight, self.cell.data());
    return true;
}

bool forget_single(PyStore &self, const AnyArray &codes, int label, double raw) {
    if (!read_one(self, codes, label)) return false;
    forget_one(self.store, self.slot.data(), label, raw, self.cell.data());
    return true;
}

void halve(PyStore &self, int times) {
    expect(times >= 0, "cells are halved, not doubled");
    halve_cells(self.store, times);
}

void resolve(PyStore &self, const AnyArray &codes_, const TableArray &out_, double least, double unit,
             const std::optional<WeightArray> &left_out_, int n_jobs, bool gaps_differ) {
    const Store &s = self.store;
    expect(s.pairs != nullptr, "subsumption resolution needs pair counts");
    const Codes codes = as_codes(codes_, s.n);
    const Weights left_out = as_weights(left_out_, codes.n_rows);
    expect(out_.ndim() == 2 && std::int64_t(out_.shape(0)) == codes.n_rows && std::int64_t(out_.shape(1)) == s.n &&
               out_.dtype() == codes_.dtype(),
           "the output must have the shape and type of the codes");
    const auto size = std::ptrdiff_t(codes.code_size());
    const CodesOut out{static_cast<std::byte *>(out_.data()), out_.stride(0) * size, out_.stride(1) * size};
    nb::gil_scoped_release release;
    resolve_subsumption(s, codes, out, least, unit, left_out, n_jobs, gaps_differ);
}

void super_parent_sums(PyStore &self, const AnyArray &codes, const AnyArray &labels,
                       const std::optional<WeightArray> &weights, const std::vector<int> &order,
                       const std::string &kind, double strength, double unit, bool smooth_unseen, bool leave_out,
                       int n_jobs, const Doubles &out) {
    const Store &s = self.store;
    const scoring::Estimate estimate{smoothing_named(kind), strength, unit};
    expect(kind == "lidstone" || kind == "m", "pseudo-counts must be the same for all parents");
    expect(strength > 0 && unit > 0, "pseudo-counts and their unit must be positive");
    expect(s.pairs && std::all_of(s.n_values.begin(), s.n_values.end(), [](int r) { return r > 0; }),
           "pairs must be counted, and every column must have a value");
    check_spare(s, smooth_unseen);
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    bool each_once = int(sorted.size()) == s.n;
    for (int i = 0; each_once && i < s.n; ++i) each_once = sorted[i] == i;
    expect(each_once, "the order must name each column once");
    for (int a = 0; a < s.n; ++a)  // refused here, and not on a thread
        for (int b = a + 1; b < s.n; ++b)
            for (int c = b + 1; c < s.n; ++c) locate(s, {a, b}, c);
    expect(out.ndim() == 1 && std::int64_t(out.shape(0)) == s.n, "the output must have one number per column");
    const Batch rows = as_batch(codes, labels, weights, s.n);
    nb::gil_scoped_release release;
    scoring::super_parent_sums(s, estimate, smooth_unseen, order, rows, leave_out, n_jobs, out.data());
}

}  // namespace

void bind_store(nb::module_ &m) {
    using nb::arg;
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
        .def("resolve", &resolve, arg("codes"), arg("out").noconvert(), arg("least"), arg("unit") = 1.0,
             arg("left_out").none() = nb::none(), arg("n_jobs") = 1, arg("gaps_differ") = false)
        .def("super_parent_sums", &super_parent_sums, arg("codes"), arg("labels"), arg("weights").none(), arg("order"),
             arg("kind"), arg("strength"), arg("unit"), arg("smooth_unseen"), arg("leave_out"), arg("n_jobs"),
             arg("out").noconvert());
}
