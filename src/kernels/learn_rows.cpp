#include "learn_rows.hpp"

#include <cmath>

namespace tanager {

namespace {

template <class Change>
std::int64_t each_row(Store &store, const Batch &rows, const Change &change) {
    const Slots slots(store, false);
    std::vector<int> slot(store.n);
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        if (!rows.has_label(r)) continue;
        const int y = rows.labels.at(r);
        if (y >= store.k || !slots.read(rows.codes, r, slot.data())) return r;
        change(slot.data(), y, rows.weights[r]);
    }
    return rows.n_rows();
}

}  // namespace

std::int64_t learn_rows(Store &store, const Batch &rows, double unit) {
    std::vector<std::int64_t> cell(store.n);
    return each_row(store, rows, [&](const int *slot, int y, double weight) {
        learn_row(store, slot, y, unit * weight, cell.data());
    });
}

std::int64_t forget_rows(Store &store, const Batch &rows) {
    std::vector<std::int64_t> cell(store.n);
    return each_row(store, rows,
                    [&](const int *slot, int y, double raw) { forget_row(store, slot, y, raw, cell.data()); });
}

void learn_one(Store &store, const int *slot, int y, double weight, std::int64_t *cell) {
    learn_row(store, slot, y, weight, cell);
}

void forget_one(Store &store, const int *slot, int y, double raw, std::int64_t *cell) {
    forget_row(store, slot, y, raw, cell);
}

void halve_cells(Store &store, int times) {
    const double factor = std::ldexp(1.0, -times);
    each_table(store, [factor](double *cells, std::int64_t size) {
        for (std::int64_t q = 0; q < size; ++q) cells[q] *= factor;
    });
}

}  // namespace tanager
