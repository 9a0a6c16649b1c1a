// Counting row by row, straight into the store: nothing to set up and nothing to merge, so the best way when rows are
// few next to the cells of the tables. It is also the plain statement of what the faster ways must give.
#include "count.hpp"
#include "slots.hpp"

namespace tanager {

Needed::Needed(const Layout &layout) : sizes(layout.n_values.begin(), layout.n_values.end()) {
    sizes.push_back(layout.k);
}

void check_rows(const Batch &rows, Needed &needed) {
    const std::size_t n = needed.sizes.size() - 1;
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        if (!rows.has_label(r)) continue;
        needed.see(n, rows.labels.at(r) + 1);
        for (std::size_t i = 0; i < n; ++i) {
            const int code = rows.codes.at(r, std::int64_t(i));
            if (code != rows.codes.marker()) needed.see(i, code + 1);
        }
    }
}

void add_rows(const Batch &rows, Store &store, double sign) {
    const Slots slots(store, false);
    std::vector<int> slot(store.n);
    std::vector<std::int64_t> cell(store.n);
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        if (!rows.has_label(r)) continue;
        slots.read(rows.codes, r, slot.data());
        learn_row(store, slot.data(), rows.labels.at(r), sign * rows.weights[r], cell.data());
    }
}

}  // namespace tanager
