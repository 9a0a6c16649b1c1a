// Counting row by row, straight into the store: nothing to set up and nothing to merge, so the best way when rows are
// few next to the cells of the tables. It is also the plain statement of what the faster ways must give.
#include "count.hpp"
#include "interrupt.hpp"
#include "slots.hpp"

namespace tanager {

Needed::Needed(const Layout &layout) : sizes(layout.n_values.begin(), layout.n_values.end()) {
    sizes.push_back(layout.k);
}

void check_rows(const Batch &rows, Needed &needed) {
    const std::size_t n = needed.sizes.size() - 1;
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        check_interrupt(r);
        if (!rows.has_label(r)) continue;
        needed.see(n, rows.labels.at(r) + 1);
        for (std::size_t i = 0; i < n; ++i) {
            const int code = rows.codes.at(r, std::int64_t(i));
            if (code != rows.codes.marker()) needed.see(i, code + 1);
        }
    }
}

namespace {

// Family by family: the cells of one are close together, those of all are far apart.
void add_families(const Batch &rows, const Store &store, double sign) {
    const Slots slots(store, false);
    const auto n = std::size_t(store.n);
    std::vector<int> slot(n);
    std::vector<std::int32_t> columns;  // the slots of all labelled rows, column by column
    std::vector<int> labels;
    std::vector<double> weights;
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        if (!rows.has_label(r)) continue;
        labels.push_back(rows.labels.at(r));
        weights.push_back(sign * rows.weights[r]);
    }
    const std::size_t m = labels.size();
    columns.resize(n * m);
    std::size_t at = 0;
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        check_interrupt(r);
        if (!rows.has_label(r)) continue;
        slots.read(rows.codes, r, slot.data());
        for (std::size_t i = 0; i < n; ++i) columns[i * m + at] = slot[i];
        for (const Family &f : store.families)
            if (f.sparse) *f.cell(slot.data(), labels[at]) += weights[at];
        ++at;
    }
    std::vector<std::int64_t> before(m, 0);  // of each row: its cell by all attributes but the last of a family
    std::vector<int> made;
    for (const Family &f : store.families) {
        if (f.sparse) continue;  // its contexts are looked up row by row, above
        check_interrupt();
        const std::vector<int> first(f.attributes.begin(), f.attributes.end() - 1);
        // The steps of all attributes but the last hold how many slots the last has; that is put in at the end.
        const std::int64_t inner = std::int64_t(store.n_slots[f.attributes.back()]);
        if (made != first) {
            std::fill(before.begin(), before.end(), 0);
            for (std::size_t q = 0; q < first.size(); ++q) {
                const std::int64_t step = f.strides[q] / inner;
                const std::int32_t *own = columns.data() + std::size_t(first[q]) * m;
                for (std::size_t r = 0; r < m; ++r) before[r] += own[r] * step;
            }
            made = first;
        }
        const std::int32_t *own = columns.data() + std::size_t(f.attributes.back()) * m;
        for (std::size_t r = 0; r < m; ++r)
            f.cells[before[r] * inner + own[r] * f.strides.back() + labels[r]] += weights[r];
    }
}

// Anchor by anchor and column by column: what all rows touch between two of them stays in the cache, where the triples
// of one row alone lie all over the store.
void add_triples(const Batch &rows, const Store &store, double sign) {
    constexpr std::size_t kRowsTogether = 4096;
    const Slots slots(store, false);
    const auto n = std::size_t(store.n);
    std::vector<int> slot(n * std::min<std::size_t>(kRowsTogether, std::size_t(rows.n_rows())));
    std::vector<std::int64_t> cell(slot.size());
    std::vector<int> labels;
    std::vector<double> weights;
    std::vector<double *> anchored;  // of each row: where the pairs of its value of the anchor and its class begin
    for (std::int64_t next = 0; next < rows.n_rows();) {
        labels.clear();
        weights.clear();
        for (; next < rows.n_rows() && labels.size() < kRowsTogether; ++next) {
            if (!rows.has_label(next)) continue;
            slots.read(rows.codes, next, &slot[labels.size() * n]);
            labels.push_back(rows.labels.at(next));
            weights.push_back(sign * rows.weights[next]);
        }
        const std::size_t m = labels.size();
        anchored.resize(m);
        for (const Triples &t : store.triples) {
            check_interrupt();
            for (std::size_t r = 0; r < m; ++r)
                anchored[r] = triple_cells(store, t, &slot[r * n], labels[r], &cell[r * n]);
            for (int i = t.first; i < store.n; ++i)
                for (std::size_t r = 0; r < m && i != t.anchor; ++r)
                    change_triples_of(
                        store, t, i, anchored[r], [w = weights[r]](double x) { return x + w; }, &cell[r * n]);
        }
    }
}

}  // namespace

void add_rows(const Batch &rows, Store &store, double sign) {
    if (!store.families.empty()) add_families(rows, store, sign);
    if (!store.triples.empty()) add_triples(rows, store, sign);
    std::vector<Family> families;
    std::vector<Triples> triples;
    std::swap(families, store.families);  // they are done
    std::swap(triples, store.triples);
    const Slots slots(store, false);
    std::vector<int> slot(store.n);
    std::vector<std::int64_t> cell(store.n);
    const bool more = store.classes || store.pairs;
    for (std::int64_t r = 0; r < rows.n_rows() && more; ++r) {
        check_interrupt(r);
        if (!rows.has_label(r)) continue;
        slots.read(rows.codes, r, slot.data());
        learn_row(store, slot.data(), rows.labels.at(r), sign * rows.weights[r], cell.data());
    }
    std::swap(families, store.families);
    std::swap(triples, store.triples);
}

}  // namespace tanager
