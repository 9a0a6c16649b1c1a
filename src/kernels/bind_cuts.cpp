// Counts by other cut points, for Python: all arrays are checked here.
#include "bind_store.hpp"
#include "move_cuts.hpp"

namespace cuts_bindings {
using namespace arrays;
using namespace tanager;

namespace {

using Shares = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void move(const PyStore &old_, const Integers &from, const Integers &to, const Shares &share, PyStore &moved_) {
    const Store &old = old_.store;
    Store &moved = moved_.store;
    const std::int64_t n = std::int64_t(from.shape(0));
    expect(old.n == moved.n && old.k == moved.k, "other cut points leave columns and classes as they are");
    expect(old.singles && moved.singles && !old.pairs == !moved.pairs, "both stores must hold the same tables");
    expect(old.singles != moved.singles, "counts are moved to another store");
    expect(std::int64_t(to.shape(0)) == n && std::int64_t(share.shape(0)) == n && int(share.shape(1)) == old.k,
           "there must be a new slot and a share of every class for each part");
    int i = 0;
    for (std::int64_t p = 0; p < n; ++p) {
        const std::int64_t own = from.data()[p], now = to.data()[p];
        expect(own >= 0 && own < old.width, "a part is in no slot");
        while (own >= old.offsets[i + 1]) ++i;
        expect(own >= old.offsets[i], "parts must be in the order of columns");
        expect(now >= moved.offsets[i] && now < moved.offsets[i + 1], "a part stays in its column");
        expect(p == 0 || now >= to.data()[p - 1], "the parts of a new slot must be neighbours");
    }
    const Parts parts{n, from.data(), to.data(), share.data()};
    nb::gil_scoped_release release;
    move_counts(old, parts, moved);
}

}  // namespace
}  // namespace cuts_bindings

void bind_cuts(nb::module_ &m) {
    using nb::arg;
    m.def("move_cuts", &cuts_bindings::move, arg("old"), arg("parts"), arg("to"), arg("share"), arg("moved"));
}
