#include "count_bits.hpp"
#include "interrupt.hpp"

#include <algorithm>

namespace tanager {

namespace {

// Beyond this many classes moving codes one by one is cheaper than a pass of compression per class.
constexpr std::size_t kMostCompressed = 24;

// The slices k .. k + 3, the last repeated where there are fewer.
void pick(const std::vector<const std::uint64_t *> &slices, std::size_t k, const std::uint64_t **four) {
    for (std::size_t a = 0; a < kTile; ++a) four[a] = slices[std::min(k + a, slices.size() - 1)];
}

void add_four(const std::uint32_t *from, std::uint32_t *to) {
    for (std::size_t b = 0; b < kTile; ++b) to[b] += from[b];
}

}  // namespace

BitCounter::BitCounter(const CountingPlan &plan) : plan_(plan), bits_(plan.bits), has_missing_(plan.slots.size()) {
    compresses_ = plan.grouped && bits_.compress != nullptr && plan.n_classes <= kMostCompressed;
    // Each class starts at a whole vector and leaves 64 bytes for the surplus of compression.
    const std::size_t padding = plan.grouped ? plan.n_classes * (kVectorRows + 64) : 0;
    const std::size_t capacity = vectors_of(plan.block_rows + padding) * kVectorRows;
    // One vector more than needed, lest equal places of all slices fall into the same set of the cache.
    const std::size_t n_vectors = vectors_of(capacity) + 1;
    step_ = n_vectors * kVectorWords;
    slices_.resize(plan.n_slices * n_vectors);
    if (plan.n_classes > 1 && (!plan.grouped || compresses_)) class_slices_.resize(plan.n_classes * n_vectors);
    if (plan.grouped) sorted_.resize(capacity + 64);
    const bool masks = plan.tables.size() > 1 || (plan.n_classes > 1 && !plan.grouped);
    if (masks) masked_.resize(plan.n_slices * n_vectors);
    if (masks) mask_.resize(n_vectors);
    class_rows_.resize(plan.n_classes);
}

void BitCounter::begin(const std::uint8_t *labels, std::size_t n_rows) {
    const std::size_t n_classes = plan_.n_classes;
    n_rows_ = n_rows;
    std::fill(has_missing_.begin(), has_missing_.end(), false);
    if (!class_slices_.empty()) {
        std::uint8_t values[255];
        std::uint64_t *outs[255];
        for (std::size_t c = 0; c < n_classes; ++c) {
            values[c] = static_cast<std::uint8_t>(c);
            outs[c] = class_slice(c);
        }
        bits_.slice(labels, n_rows, values, n_classes, outs);
        for (std::size_t c = 0; c < n_classes; ++c)
            class_rows_[c] = static_cast<std::size_t>(bits_.ones(outs[c], vectors_of(n_rows)));
    } else {
        std::fill(class_rows_.begin(), class_rows_.end(), 0);
        if (n_classes == 1) class_rows_[0] = n_rows;
        else
            for (std::size_t r = 0; r < n_rows; ++r) ++class_rows_[labels[r]];
    }
    if (!plan_.grouped) {
        regions_.assign(1, {0, n_rows});
        return;
    }
    regions_.clear();
    std::size_t row = 0;
    for (const std::size_t n : class_rows_) {
        regions_.push_back({row, n});
        row += vectors_of(n + 64) * kVectorRows;
    }
    if (compresses_) return;
    std::vector<std::uint32_t> next;
    for (const Region &region : regions_) next.push_back(static_cast<std::uint32_t>(region.row));
    order_.resize(row);
    for (std::size_t r = 0; r < n_rows; ++r) order_[next[labels[r]]++] = static_cast<std::uint32_t>(r);
}

const std::uint8_t *BitCounter::in_class_order(const std::uint8_t *codes) {
    for (std::size_t c = 0; c < regions_.size(); ++c) {
        std::uint8_t *out = sorted_.data() + regions_[c].row;
        if (regions_[c].n_rows == 0) continue;
        if (compresses_) {
            bits_.compress(codes, n_rows_, class_slice(c), out);
        } else {
            const std::uint32_t *from = order_.data() + regions_[c].row;
            for (std::size_t k = 0; k < regions_[c].n_rows; ++k) out[k] = codes[from[k]];
        }
    }
    return sorted_.data();
}

void BitCounter::cut(std::size_t i, const Column &column) {
    const std::uint8_t *codes = plan_.grouped ? in_class_order(column.bytes) : column.bytes;
    std::uint8_t values[257];
    std::uint64_t *outs[257];
    std::size_t n = 0;
    const auto want = [&](std::size_t value, std::size_t number) {
        values[n] = static_cast<std::uint8_t>(value);
        outs[n++] = slice(number);
    };
    for (std::size_t v = 0; v < plan_.n_value_slices(i); ++v) want(v + 1, plan_.value_slices[i] + v);
    // An attribute without any value has "missing" for its slot 0, which needs no slice.
    has_missing_[i] = column.missing && plan_.slots[i] > 1;
    if (has_missing_[i]) want(0xFF, plan_.missing_slice[i]);
    if (plan_.anchor_slice[i] != CountingPlan::none) want(plan_.slots[i] > 1 ? 0 : 0xFF, plan_.anchor_slice[i]);
    std::uint64_t *here[257];
    for (const Region &region : regions_) {
        for (std::size_t k = 0; k < n; ++k) here[k] = outs[k] + region.word();
        bits_.slice(codes + region.row, region.n_rows, values, n, here);
    }
}

void BitCounter::add(std::uint32_t *cells) {
    for (std::size_t c = 0; c < plan_.n_classes; ++c) cells[c] += static_cast<std::uint32_t>(class_rows_[c]);
    for (const PairTable &table : plan_.tables)
        if (!table.members.empty()) add_table(table, cells);
}

void BitCounter::add_table(const PairTable &table, std::uint32_t *cells) {
    missing_members_.clear();
    for (std::size_t p = 0; p < table.members.size(); ++p)
        if (has_missing_[table.members[p]]) missing_members_.push_back(p);

    for (std::size_t c = 0; c < plan_.n_classes; ++c) {
        if (class_rows_[c] == 0) continue;
        const Region &region = regions_[plan_.grouped ? c : 0];
        const bool by_mask = !plan_.grouped && plan_.n_classes > 1;
        const std::uint64_t *class_mask = by_mask ? class_slice(c) : nullptr;
        std::uint32_t *start = cells + table.start;
        if (!table.anchored) {
            add_context(table, region, class_mask, class_rows_[c], start + c * table.context_cells);
            continue;
        }
        const std::size_t s = table.anchor;
        for (std::size_t v = 0; v < plan_.slots[s]; ++v) {
            const bool last = v > 0 && v + 1 == plan_.slots[s];
            if (last && !has_missing_[s]) continue;
            const std::size_t number = v == 0 ? plan_.anchor_slice[s]
                                       : last ? plan_.missing_slice[s]
                                              : plan_.value_slices[s] + v - 1;
            const std::uint64_t *bits = slice(number) + region.word();
            std::uint64_t *mask = mask_.data()->words;
            const std::uint64_t total = bits_.mask(bits, class_mask ? class_mask : bits, region.n_vectors(), mask);
            if (total == 0) continue;
            add_context(table, region, mask, total, start + (v * plan_.n_classes + c) * table.context_cells);
        }
    }
}

// A mask on one side of each conjunction is enough: the xs are masked, the ys as they were cut.
void BitCounter::add_context(const PairTable &table, const Region &region, const std::uint64_t *mask,
                             std::uint64_t total, std::uint32_t *cells) {
    const std::size_t n_vectors = region.n_vectors(), n_values = table.n_value_slices();
    std::uint64_t *out = mask != nullptr ? masked_.data()->words : nullptr;
    const auto prepare = [&](std::size_t number, Slices &xs, Slices &ys, std::uint32_t &ones) {
        const std::uint64_t *bits = slice(number) + region.word();
        ys.push_back(bits);
        if (mask == nullptr) {
            xs.push_back(bits);
            ones += static_cast<std::uint32_t>(bits_.ones(bits, n_vectors));
            return;
        }
        xs.push_back(out);
        ones += static_cast<std::uint32_t>(bits_.mask(bits, mask, n_vectors, out));
        out += n_vectors * kVectorWords;
    };
    for (Slices *slices : {&value_xs_, &value_ys_, &missing_xs_, &missing_ys_}) slices->clear();
    cells[0] += static_cast<std::uint32_t>(total);
    for (std::size_t x = 0; x < n_values; ++x) prepare(table.slices[x], value_xs_, value_ys_, cells[1 + x]);
    for (const std::size_t p : missing_members_)
        prepare(plan_.missing_slice[table.members[p]], missing_xs_, missing_ys_, cells[1 + n_values + p]);
    if (table.cells == nullptr) return;
    add_value_pairs(table, n_vectors, cells);
    if (!missing_members_.empty()) add_missing_pairs(table, n_vectors, cells);
}

void BitCounter::add_value_pairs(const PairTable &table, std::size_t n_vectors, std::uint32_t *cells) {
    const std::uint64_t *xs[kTile], *ys[kTile];
    std::uint32_t tile[kTile * kTile];
    const std::size_t n = value_xs_.size();
    for (std::size_t x = 0; x < n; x += kTile) {
        check_interrupt();
        pick(value_xs_, x, xs);
        // Ranges move right and end earlier as x grows, so the first covers the tile's others.
        for (std::size_t y = table.values_from(x); y < table.values_to(x); y += kTile) {
            pick(value_ys_, y, ys);
            bits_.tile(xs, ys, n_vectors, tile);
            for (std::size_t a = 0; a < std::min(kTile, n - x); ++a) {
                const std::size_t from = std::max(y, table.values_from(x + a));
                const std::size_t to = std::min(y + kTile, table.values_to(x + a));
                std::uint32_t *row = cells + table.value_row[x + a];
                if (to == from + kTile) add_four(tile + a * kTile, row + y);
                else
                    for (std::size_t at = from; at < to; ++at) row[at] += tile[a * kTile + at - y];
            }
        }
    }
}

// The ys are four missing slices; those of neighbouring members fill neighbouring cells.
void BitCounter::add_missing_pairs(const PairTable &table, std::size_t n_vectors, std::uint32_t *cells) {
    const std::uint64_t *xs[kTile], *ys[kTile];
    std::uint32_t tile[kTile * kTile];
    const std::size_t n = value_xs_.size(), n_missing = missing_members_.size();
    for (std::size_t m = 0; m < n_missing; m += kTile) {
        const std::size_t n_here = std::min(kTile, n_missing - m);
        const std::size_t first = missing_members_[m], last = missing_members_[m + n_here - 1];
        const bool neighbours = n_here == kTile && last == first + kTile - 1;
        // Row a of the tile goes to row[q], for the members q in hand with from <= q < to.
        const auto add_row = [&](std::size_t a, std::uint32_t *row, std::size_t from, std::size_t to) {
            if (neighbours && from <= first && last < to) return add_four(tile + a * kTile, row + first);
            for (std::size_t b = 0; b < n_here; ++b)
                if (const std::size_t q = missing_members_[m + b]; from <= q && q < to) row[q] += tile[a * kTile + b];
        };
        pick(missing_ys_, m, ys);
        for (std::size_t x = 0; x < n && first < table.limit[table.owner[x]]; x += kTile) {
            if (x % 64 == 0) check_interrupt();
            pick(value_xs_, x, xs);
            bits_.tile(xs, ys, n_vectors, tile);
            for (std::size_t a = 0; a < std::min(kTile, n - x); ++a)
                add_row(a, cells + table.missing_row[x + a], 0, table.limit[table.owner[x + a]]);
        }
        for (std::size_t l = 0; l <= m; l += kTile) {
            pick(missing_xs_, l, xs);
            bits_.tile(xs, ys, n_vectors, tile);
            for (std::size_t a = 0; a < std::min(kTile, n_missing - l); ++a) {
                const std::size_t p = missing_members_[l + a];
                add_row(a, cells + table.both_missing_row[p], p + 1, table.limit[p]);
            }
        }
    }
}

}  // namespace tanager
