// The store as an object of Python: the arrays of a JointCounts, checked once.
#pragma once
#include "bind_arrays.hpp"
#include "slots.hpp"

struct PyStore {
    arrays::HeldStore held;
    tanager::Store &store;
    // For single rows, used with the GIL held: what would otherwise be allocated for each.
    tanager::Slots values;
    std::vector<int> slot;
    std::vector<std::int64_t> cell;

    explicit PyStore(arrays::HeldStore held_)
        : held(std::move(held_)), store(held.store), values(store, false), slot(store.n), cell(store.n) {}
    PyStore(const PyStore &) = delete;
};
