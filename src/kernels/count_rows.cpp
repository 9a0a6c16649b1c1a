// Counting row by row, straight into the store: nothing to set up and nothing to merge, so the best way when rows are
// few next to the cells of the tables. It is also the plain statement of what the faster ways must give.
#include "count.hpp"

namespace tanager {

Needed::Needed(const Store &store) : sizes(store.n_values) {
    sizes.push_back(static_cast<std::int64_t>(store.n_classes));
}

void check_rows(const Rows &rows, const Store &store, std::size_t begin, std::size_t end, Needed &needed) {
    const std::size_t n = store.n_attributes();
    for (std::size_t r = begin; r < end; ++r) {
        const std::uint32_t label = rows.label(r);
        if (label == kMissing) continue;
        needed.see(n, static_cast<std::int64_t>(label) + 1);
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t code = rows.code(r, i);
            if (code != kMissing) needed.see(i, static_cast<std::int64_t>(code) + 1);
        }
    }
}

namespace {

void add_pairs(const Store &store, const std::vector<std::size_t> &slots, std::size_t c, double weight) {
    const std::size_t n = slots.size(), n_classes = store.n_classes;
    for (std::size_t i = 0; i < n; ++i) {
        double *row = store.pairs + (store.offset(i) + slots[i]) * store.n_slots() * n_classes + c;
        for (std::size_t j = 0; j < n; ++j)
            if (j != i) row[(store.offset(j) + slots[j]) * n_classes] += weight;
    }
}

void add_triples(const Store &store, const Triples &triples, const std::vector<std::size_t> &slots, std::size_t c,
                 double weight) {
    const auto [s, f, cells] = triples;
    const std::size_t n = slots.size(), start = store.offset(f), width = store.n_slots() - start;
    const std::size_t n_compound = store.rooms(s) * store.n_classes;
    for (std::size_t i = f; i < n; ++i) {
        if (i == s) continue;
        const std::size_t g = store.offset(i) - start + slots[i];
        double *row = cells + g * width * n_compound + slots[s] * store.n_classes + c;
        for (std::size_t j = f; j < n; ++j)
            if (j != i && j != s) row[(store.offset(j) - start + slots[j]) * n_compound] += weight;
    }
}

void add_family(const Store &store, const Family &family, const std::vector<std::size_t> &slots, std::size_t c,
                double weight) {
    std::size_t cell = 0;
    for (const std::size_t i : family.attributes) cell = cell * store.rooms(i) + slots[i];
    family.cells[cell * store.n_classes + c] += weight;
}

}  // namespace

void add_rows(const Rows &rows, const Store &store, double sign) {
    const std::size_t n = store.n_attributes();
    std::vector<std::size_t> slots(n);
    for (std::size_t r = 0; r < rows.n_rows; ++r) {
        const std::uint32_t c = rows.label(r);
        if (c == kMissing) continue;
        const double weight = sign * rows.weight(r);
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t code = rows.code(r, i);
            slots[i] = code == kMissing ? store.rooms(i) - 1 : code;
        }
        if (store.classes != nullptr) store.classes[c] += weight;
        if (store.singles != nullptr)
            for (std::size_t i = 0; i < n; ++i)
                store.singles[(store.offset(i) + slots[i]) * store.n_classes + c] += weight;
        if (store.pairs != nullptr) add_pairs(store, slots, c, weight);
        for (const auto &triples : store.triples) add_triples(store, triples, slots, c, weight);
        for (const auto &family : store.families) add_family(store, family, slots, c, weight);
    }
}

}  // namespace tanager
