// The store as an object of Python: the arrays of a JointCounts, checked once.
#pragma once
#include "bind_arrays.hpp"
#include "count.hpp"
#include "slots.hpp"

struct PyStore {
    arrays::HeldStore held;
    tanager::Store &store;
    // For single rows, used with the GIL held: what would otherwise be allocated for each.
    tanager::Slots values;
    std::vector<int> slot;
    std::vector<std::int64_t> cell;

    explicit PyStore(arrays::HeldStore held_)
        : held(std::move(held_)), store(held.store), values(store, false), slot(store.n), cell(store.n) {
        store.index_families();
    }
    PyStore(const PyStore &) = delete;
};

// Unseen values that are smoothed have a slot of their own, a spare one of every column.
inline void check_spare(const tanager::Layout &layout, bool smooth_unseen) {
    for (int i = 0; i < layout.n && smooth_unseen; ++i)
        if (layout.n_values[i] + 1 >= layout.n_slots[i])
            arrays::refuse("smoothing unseen values needs a spare slot for attribute " + std::to_string(i));
}

namespace arrays {

// Counts rows into a store; None, or the sizes that they would need.
nb::object count_into(const tanager::Store &store, nb::handle codes, nb::handle labels, nb::handle weights, int sign,
                      int n_jobs, tanager::Method method);

}  // namespace arrays
