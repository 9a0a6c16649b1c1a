// Joint counts of coded rows, added to a store: the classes, each attribute, each pair, chosen triples and chosen
// families. The layout is in store.hpp.
#pragma once
#include "batch.hpp"
#include "store.hpp"

namespace tanager {

// How pairs are counted: by the cost model, or forced (for tests and benchmarks).
enum class Method { automatic, bits, increments };

// The sizes a batch would need: per attribute its largest code + 1, and last the same of the class; at least the given.
struct Needed {
    std::vector<std::int64_t> sizes;
    bool exceeded = false;

    explicit Needed(const Layout &layout);
    void see(std::size_t i, std::int64_t size) {
        if (size > sizes[i]) {
            sizes[i] = size;
            exceeded = true;
        }
    }
    void merge(const Needed &other) {
        for (std::size_t i = 0; i < sizes.size(); ++i) see(i, other.sizes[i]);
    }
};

// Adds sign times every labelled row to the store; or, when a code or label is too large for it, adds nothing and says
// so in the result.
Needed count(const Batch &rows, const Store &store, double sign, std::size_t n_jobs, Method method);

// The row-by-row way, used for small batches: look at all codes, then add the rows cell by cell.
void check_rows(const Batch &rows, Needed &needed);
void add_rows(const Batch &rows, Store &store, double sign);

}  // namespace tanager
