#include "count_plan.hpp"

#include <algorithm>
#include <numeric>

namespace tanager {

namespace {

// Cycles per row, measured; see BitCosts for those that depend on the instruction set.
constexpr double kIncrement = 2.2;        // one pair of one row
constexpr double kSingleIncrement = 1.3;  // one attribute of one row
constexpr double kGather = 1.3;           // moving one code of one row to its class
constexpr double kCellOverhead = 5.0;     // one cell of one context in one block: summing lanes, adding to the table

constexpr std::size_t kUsualBlock = 16384, kLargestBlock = 65536, kSmallestBlock = 2048;
constexpr std::int64_t kSample = 128;  // rows looked at to see which attributes have missing values
constexpr std::size_t kCacheBudget = std::size_t{5} << 18;  // 1.25 MB of slices and columns per worker

}  // namespace

CountingPlan::CountingPlan(const Store &to, const Batch &rows, Method method, double added, std::size_t n_workers)
    : store(to), bits(bits_at(chosen_cpu_level())), n_classes(std::size_t(to.k)), sign(added) {
    for (const int values : store.n_values) slots.push_back(std::size_t(values) + 1);
    expect_slices(rows);
    choose_slices(rows, method);
    number_slices();
    choose_block_rows(rows);

    n_cells = n_classes;
    for (std::size_t i = 0; i < slots.size(); ++i)
        singles.push_back(is_sliced(i) ? Block{} : take(slots[i] * n_classes));
    PairTable pairs;
    pairs.cells = store.pairs;
    pairs.n_contexts = n_classes;
    tables.push_back(std::move(pairs));
    for (const Triples &triples : store.triples) {
        PairTable table;
        table.anchored = true;
        table.anchor = std::size_t(triples.anchor);
        table.first = std::size_t(triples.first);
        table.cells = triples.cells;
        table.n_contexts = slots[table.anchor] * n_classes;
        tables.push_back(std::move(table));
    }
    for (auto &table : tables) lay_out(table, method);
    one_block = n_workers == 1 && std::size_t(rows.n_rows()) <= block_rows;
    const std::size_t start = n_cells;
    std::size_t end = start;
    for (const auto &family : store.families) {
        std::size_t cells = n_classes;
        for (const int i : family.attributes) cells *= slots[i];
        if (one_block) n_cells = start;
        families.push_back({&family, take(cells)});
        end = std::max(end, n_cells);
    }
    n_cells = end;
}

Block CountingPlan::take(std::size_t cells) {
    const std::size_t copies = cells <= 1024 ? 4 : cells <= 8192 ? 2 : 1;
    const Block block{n_cells, cells, copies};
    n_cells += cells * copies;
    return block;
}

void CountingPlan::expect_slices(const Batch &rows) {
    const std::int64_t n_sample = std::min(kSample, rows.n_rows());
    for (std::size_t i = 0; i < slots.size(); ++i) {
        bool missing = false;
        for (std::int64_t k = 0; k < n_sample && !missing; ++k)
            missing = rows.codes.at(k * (rows.n_rows() / n_sample), std::int64_t(i)) == rows.codes.marker();
        expected_slices_.push_back(static_cast<double>(n_value_slices(i)) + (missing ? 1.0 : 0.0));
    }
    const double n_expected = std::accumulate(expected_slices_.begin(), expected_slices_.end(), 0.0);
    expected_group_block_ = std::max(kUsualBlock, usual_block(true, static_cast<std::size_t>(n_expected), rows));
}

// Cycles per row for one cell of one pair by bits.
double CountingPlan::conjunction_cost(bool by_group) const {
    const double vector = bits.costs.conjunction / kVectorRows, k = static_cast<double>(n_classes);
    const auto block = static_cast<double>(by_group ? expected_group_block_ : kUsualBlock);
    const double overhead = k * kCellOverhead / block;
    // Groups end in a half-filled vector, on average.
    return by_group ? vector + overhead + k * bits.costs.conjunction / 2 / block : k * vector + overhead;
}

// The cycles per row that slicing the attributes saves over increments. Where it may, it drops those whose slices cost
// more than they save, largest first, and reckons with increments for pairs that are better off with them.
double CountingPlan::gain_of_slicing(bool by_group, bool may_drop, std::vector<std::size_t> &attributes) const {
    const bool with_pairs = store.pairs != nullptr || !store.triples.empty();
    const double cell = conjunction_cost(by_group);
    const double k = static_cast<double>(n_classes);
    double slice = bits.costs.slice / 64;
    slice += by_group ? 0.0 : k * bits.costs.mask / kVectorRows;
    double group = 0.0;
    if (by_group) group = kGather;
    if (by_group && bits.compress != nullptr) group = std::min(group, k * bits.costs.compress / 64);
    double saved = 0.0;
    for (std::size_t p = attributes.size(); p-- > 0;) {
        const double a = expected_slices_[attributes[p]];
        const double price = a * slice + group;
        double gain = kSingleIncrement, counted = 0.0;
        for (std::size_t q = 0; with_pairs && q < attributes.size(); ++q) {
            if (q == p) continue;
            double one = kIncrement - a * expected_slices_[attributes[q]] * cell;
            if (may_drop) one = std::max(0.0, one);
            gain += one;
            if (q < p) counted += one;
        }
        if (may_drop && gain < price) attributes.erase(attributes.begin() + static_cast<std::ptrdiff_t>(p));
        else saved += counted + kSingleIncrement - price;
    }
    return saved;
}

void CountingPlan::choose_slices(const Batch &rows, Method method) {
    // Slices are cut from bytes, and weights cannot be counted by popcount.
    if (method == Method::increments || rows.weights || n_classes > 255) return;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < slots.size(); ++i)
        if (std::size_t(store.n_values[i]) <= 255) all.push_back(i);
    std::stable_sort(all.begin(), all.end(),
                     [&](std::size_t i, std::size_t j) { return n_value_slices(i) < n_value_slices(j); });
    const bool may_drop = method != Method::bits;
    std::vector<std::size_t> masked = all, in_groups = all;
    const double by_mask = gain_of_slicing(false, may_drop, masked);
    const double by_group = gain_of_slicing(true, may_drop, in_groups);
    grouped = n_classes > 1 && by_group > by_mask;
    sliced = grouped ? in_groups : masked;
}

void CountingPlan::number_slices() {
    const std::size_t n = slots.size();
    value_slices.assign(n, none);
    missing_slice.assign(n, none);
    anchor_slice.assign(n, none);
    for (const std::size_t i : sliced) {
        value_slices[i] = n_slices;
        n_slices += n_value_slices(i);
    }
    for (const std::size_t i : sliced) missing_slice[i] = n_slices++;
    for (const Triples &triples : store.triples) {
        const auto anchor = std::size_t(triples.anchor);
        if (is_sliced(anchor) && anchor_slice[anchor] == none) anchor_slice[anchor] = n_slices++;
    }
}

// Rows of a block, where there are enough of them.
std::size_t CountingPlan::usual_block(bool by_group, std::size_t n_slices_cut, const Batch &rows) const {
    const bool in_place = rows.codes.row_step == 1 && !rows.codes.wide;
    const std::size_t bits_per_row = n_slices_cut + (in_place ? 0 : 8 * rows.codes.code_size() * slots.size());
    std::size_t block = kUsualBlock;
    // Many classes make small groups; more rows fill their vectors and spread the cost of adding up.
    while (by_group && block < kLargestBlock && block < n_classes * 8192) block *= 2;
    while (block > kSmallestBlock && block / 8 * bits_per_row > kCacheBudget) block /= 2;
    return block;
}

void CountingPlan::choose_block_rows(const Batch &rows) {
    block_rows = usual_block(grouped, n_slices, rows);
    block_rows = std::min(block_rows, vectors_of(std::max<std::size_t>(std::size_t(rows.n_rows()), 1)) * kVectorRows);
}

void CountingPlan::lay_out(PairTable &table, Method method) {
    const auto takes_part = [&](std::size_t i) { return !table.anchored || (i >= table.first && i != table.anchor); };
    const bool by_bits = !table.anchored || is_sliced(table.anchor);
    for (const std::size_t i : sliced)
        if (by_bits && takes_part(i)) table.members.push_back(i);

    // An anchored table goes through all its pairs once for each slot of the anchor.
    double cell = conjunction_cost(grouped);
    if (table.anchored) cell *= static_cast<double>(slots[table.anchor]);
    const double most = method == Method::bits ? 1e300 : kIncrement / cell;
    const std::size_t n = table.members.size();
    table.limit.assign(n, 0);
    std::size_t to = n;
    for (std::size_t p = 0; p < n && table.cells != nullptr; ++p) {
        const auto a = static_cast<double>(n_value_slices(table.members[p]));
        while (to > 0 && a * static_cast<double>(n_value_slices(table.members[to - 1])) > most) --to;
        table.limit[p] = to;
    }
    lay_out_bits(table);

    if (table.cells == nullptr) return;
    std::vector<std::size_t> member(slots.size(), none);
    for (std::size_t p = 0; p < n; ++p) member[table.members[p]] = p;
    for (std::size_t j = table.first; j < slots.size(); ++j) {
        for (std::size_t i = table.first; i < j; ++i) {
            if (!takes_part(i) || !takes_part(j)) continue;
            const bool both = member[i] != none && member[j] != none;
            if (both && member[j] < table.limit[member[i]]) continue;
            table.increments.push_back({i, j, take(slots[i] * slots[j] * table.n_contexts)});
        }
    }
}

void CountingPlan::lay_out_bits(PairTable &table) {
    const std::size_t n = table.members.size();
    for (std::size_t p = 0; p < n; ++p) {
        const std::size_t i = table.members[p];
        table.value_begin.push_back(table.slices.size());
        for (std::size_t v = 0; v < n_value_slices(i); ++v) {
            table.slices.push_back(value_slices[i] + v);
            table.owner.push_back(p);
        }
    }
    table.value_begin.push_back(table.slices.size());

    std::size_t cell = 1 + table.n_value_slices() + n;  // after the total and the ones
    for (std::size_t x = 0; x < table.n_value_slices(); ++x) {
        table.value_row.push_back(cell - table.values_from(x));
        cell += table.values_to(x) - table.values_from(x);
        table.missing_row.push_back(cell);
        cell += table.limit[table.owner[x]];
    }
    for (std::size_t p = 0; p < n; ++p) {
        table.both_missing_row.push_back(cell - (p + 1));
        if (table.limit[p] > p + 1) cell += table.limit[p] - (p + 1);
    }
    table.start = n_cells;
    table.context_cells = n > 0 ? cell : 0;
    n_cells += table.context_cells * table.n_contexts;
}

}  // namespace tanager
