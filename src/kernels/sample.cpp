#include "sample.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "shared_bits.hpp"

namespace tanager {

namespace {

constexpr std::size_t kMostSliced = 16;     // values; slices of more take more memory than they save time
constexpr std::size_t kMostMasks = 4096;    // configurations of the base that are kept as bits
constexpr std::size_t kMaskVectors = 4096;  // memory for these masks: 256 KB, within the second-level cache
constexpr std::size_t kIndexRows = 4096;    // rows whose cells are computed together
constexpr std::size_t kSpreadCells = 2048;  // up to here increments go to four tables in turn
constexpr std::size_t kSpread = 4;
constexpr std::uint64_t kMissing = ~std::uint64_t{0};

// --- increments --------------------------------------------------------------------------------------------------

// cell = cell * n_values + code
template <class Code, class Index>
[[gnu::always_inline]] inline void fold_in(const Code *codes, std::size_t n_rows, Index n_values, Index *cell) {
    for (std::size_t r = 0; r < n_rows; ++r)
        cell[r] = static_cast<Index>(static_cast<std::uint32_t>(cell[r]) * n_values + codes[r]);
}

// All bits of `missing` are set where a code is no value: is `first_gap` or more.
template <class Code, class Index>
[[gnu::always_inline]] inline void note_gaps(const Code *codes, std::size_t n_rows, Code first_gap, Index *missing) {
    for (std::size_t r = 0; r < n_rows; ++r)
        missing[r] = static_cast<Index>(missing[r] | (codes[r] >= first_gap ? static_cast<Index>(-1) : Index{0}));
}

// Rows that lack something go to the cell after the last.
template <class Index>
[[gnu::always_inline]] inline void move_gaps(const Index *missing, std::size_t n_rows, Index dump, Index *cell) {
    for (std::size_t r = 0; r < n_rows; ++r)
        cell[r] = static_cast<Index>((cell[r] & ~missing[r]) | (dump & missing[r]));
}

template <class Code, class Index>
struct Folding {
    void (*fold)(const Code *, std::size_t, Index, Index *);
    void (*note_gaps)(const Code *, std::size_t, Code, Index *);
    void (*move_gaps)(const Index *, std::size_t, Index, Index *);
};

#define TANAGER_FOLDING(name, target)                                                                \
    template <class Code, class Index>                                                               \
    target void fold_##name(const Code *codes, std::size_t n, Index n_values, Index *cell) {         \
        fold_in(codes, n, n_values, cell);                                                           \
    }                                                                                                \
    template <class Code, class Index>                                                               \
    target void note_gaps_##name(const Code *codes, std::size_t n, Code first_gap, Index *missing) { \
        note_gaps(codes, n, first_gap, missing);                                                     \
    }                                                                                                \
    template <class Index>                                                                           \
    target void move_gaps_##name(const Index *missing, std::size_t n, Index dump, Index *cell) {     \
        move_gaps(missing, n, dump, cell);                                                           \
    }

TANAGER_FOLDING(plain, )
#if defined(__x86_64__)
TANAGER_FOLDING(avx2, __attribute__((target("avx2"))))
TANAGER_FOLDING(avx512, __attribute__((target("avx512f,avx512bw,avx512vl"))))
#endif
#undef TANAGER_FOLDING

template <class Code, class Index>
Folding<Code, Index> folding() {
#if defined(__x86_64__)
    const CpuLevel level = chosen_cpu_level();
    if (level == CpuLevel::avx512)
        return {fold_avx512<Code, Index>, note_gaps_avx512<Code, Index>, move_gaps_avx512<Index>};
    if (level == CpuLevel::avx2) return {fold_avx2<Code, Index>, note_gaps_avx2<Code, Index>, move_gaps_avx2<Index>};
#endif
    return {fold_plain<Code, Index>, note_gaps_plain<Code, Index>, move_gaps_plain<Index>};
}

// One row in every `spread` goes to each of the tables, so that rows of the same cell need not wait for each other.
template <class Index, class Cell>
void add_rows(const Index *cell, std::size_t n_rows, const double *weights, Cell *cells, std::size_t step) {
    const auto add = [&](std::size_t r, std::size_t t) {
        if constexpr (std::is_same_v<Cell, double>) cells[t * step + cell[r]] += weights[r];
        else ++cells[t * step + cell[r]];
    };
    std::size_t r = 0;
    if (step > 0)
        for (; r + kSpread <= n_rows; r += kSpread)
            for (std::size_t t = 0; t < kSpread; ++t) add(r + t, t);
    for (; r < n_rows; ++r) add(r, 0);
}

// --- groups ------------------------------------------------------------------------------------------------------

// Numbers equal keys 0, 1, ... by first appearance; missing stays missing. Returns how many there are.
std::size_t number(std::vector<std::uint64_t> &keys) {
    constexpr std::uint32_t empty = ~std::uint32_t{0};
    std::size_t n_slots = 1024;
    while (n_slots < 2 * keys.size()) n_slots *= 2;
    std::vector<std::uint32_t> slots(n_slots, empty);
    std::vector<std::uint64_t> known;  // the key of every number
    for (std::uint64_t &key : keys) {
        if (key == kMissing) continue;
        std::size_t at = (key * 0x9E3779B97F4A7C15u >> 20) & (n_slots - 1);
        while (slots[at] != empty && known[slots[at]] != key) at = (at + 1) & (n_slots - 1);
        if (slots[at] == empty) {
            slots[at] = static_cast<std::uint32_t>(known.size());
            known.push_back(key);
        }
        key = slots[at];
    }
    return known.size();
}

}  // namespace

Sample::Sample(const std::byte *codes, std::size_t code_size, std::size_t n_rows, std::vector<std::size_t> n_values,
               const double *weights)
    : codes_(codes), code_size_(code_size), n_rows_(n_rows), n_values_(std::move(n_values)), weights_(weights),
      slices_(n_values_.size()) {}

double Sample::n_cells(const Variables &variables) const {
    double cells = 1.0;
    for (const std::size_t i : variables) cells *= static_cast<double>(n_values_[i]);
    return cells;
}

// --- the choice --------------------------------------------------------------------------------------------------

bool Sample::may_slice(const Variables &base, const Variables &others) const {
    if (weights_ != nullptr || n_cells(base) > kMostMasks) return false;
    const auto few = [this](std::size_t i) { return n_values_[i] <= kMostSliced; };
    return std::all_of(base.begin(), base.end(), few) && std::all_of(others.begin(), others.end(), few);
}

// Costs are rough, in cycles.
double Sample::bits_cost(const Variables &base, const Variables &others) const {
    const BitCosts &costs = bits_at(chosen_cpu_level()).costs;
    double masks = 1.0, cost = 0.0, n_slices = 0.0;
    for (const std::size_t i : base) {
        masks *= static_cast<double>(n_values_[i]);
        cost += costs.mask * masks;
    }
    for (const std::size_t i : others) n_slices += static_cast<double>(n_values_[i]);
    const bool single = others.size() == 1 && n_slices <= 2.0;  // mostly one slice, that is counted by itself
    cost += costs.conjunction * (masks + 2.0) * (single ? 1.5 : n_slices + 2.0);
    return cost * static_cast<double>(vectors_of(n_rows_));
}

double Sample::increments_cost(const Variables &base, const Variables &others) const {
    const double masks = n_cells(base);
    double per_row = 0.0;
    for (const std::size_t i : base) per_row += may_lack<std::uint16_t>(i) ? 0.3 : 0.1;
    for (const std::size_t i : others) {
        const double cells = masks * static_cast<double>(n_values_[i]);
        per_row += cells <= kSpreadCells ? 1.6 : cells <= 3e5 ? 3.0 : cells <= 3e7 ? 10.0 : 30.0;
    }
    return per_row * static_cast<double>(n_rows_);
}

SampleMethod Sample::choose(const Variables &base, const Variables &others) const {
    const double bits = may_slice(base, others) ? bits_cost(base, others) : std::numeric_limits<double>::infinity();
    const double increments = increments_cost(base, others);
    double sweep = 0.0;  // every cell of a table is looked at once it is counted
    for (const std::size_t i : others) sweep += 10.0 * n_cells(base) * static_cast<double>(n_values_[i]);
    const double hash = 80.0 * static_cast<double>(n_rows_ * others.size());
    if (hash < std::min(bits, increments) + sweep) return SampleMethod::hash;
    return bits < increments ? SampleMethod::bits : SampleMethod::increments;
}

// --- bits --------------------------------------------------------------------------------------------------------

const Sample::Slices &Sample::slices(std::size_t i) const {
    const std::lock_guard<std::mutex> lock(cutting_);
    if (slices_[i] == nullptr) {
        auto made = std::make_unique<Slices>();
        cut(i, *made);
        slices_[i] = std::move(made);
    }
    return *slices_[i];
}

template <class Code>
bool Sample::may_lack(std::size_t i) const {
    if (n_values_[i] > std::numeric_limits<Code>::max()) return false;
    const std::lock_guard<std::mutex> lock(cutting_);
    return slices_[i] == nullptr || !slices_[i]->complete;
}

bool Sample::complete(std::size_t i) const { return n_values_[i] <= kMostSliced && slices(i).complete; }

void Sample::cut(std::size_t i, Slices &made) const {
    const BitFunctions &bits = bits_at(chosen_cpu_level());
    const std::size_t n = n_values_[i];
    // One vector more than needed, lest equal places of all slices fall into the same set of the cache.
    made.bits.resize(n * (vectors_of(n_rows_) + 1));
    std::uint8_t values[kMostSliced], narrow[kIndexRows];
    std::uint64_t *outs[kMostSliced];
    for (std::size_t start = 0; start < n_rows_; start += kIndexRows) {
        const std::size_t rows = std::min(kIndexRows, n_rows_ - start);
        for (std::size_t v = 0; v < n; ++v) {
            values[v] = static_cast<std::uint8_t>(v);
            outs[v] = made.bits[v * (vectors_of(n_rows_) + 1)].words + start / 64;
        }
        const std::uint8_t *codes = narrow;
        if (code_size_ == 1) codes = column<std::uint8_t>(i) + start;
        else
            for (std::size_t r = 0; r < rows; ++r) narrow[r] = static_cast<std::uint8_t>(code(start + r, i));
        bits.slice(codes, rows, values, n, outs);
    }
    double present = 0.0;
    for (std::size_t v = 0; v < n; ++v) {
        made.ones.push_back(static_cast<double>(bits.ones(slice(made, v), vectors_of(n_rows_))));
        present += made.ones.back();
    }
    made.complete = n > 0 && present == static_cast<double>(n_rows_);
}

namespace {

// The configurations of the base that occur in a block of rows, each with the bits of its rows.
struct Masks {
    std::vector<std::size_t> configuration;
    std::vector<const std::uint64_t *> bits;
    std::vector<double> ones;
    void clear() {
        configuration.clear();
        bits.clear();
        ones.clear();
    }
    void add(std::size_t which, const std::uint64_t *words, std::uint64_t n) {
        configuration.push_back(which);
        bits.push_back(words);
        ones.push_back(static_cast<double>(n));
    }
};

// One value of one of the other variables: its slice, and where its counts go.
struct Counted {
    const std::uint64_t *bits;
    double *cells;
    std::size_t step;  // from one configuration of the base to the next
};

template <class Item, class Pick>
void four_of(const std::vector<Item> &items, std::size_t k, std::size_t word, const Pick &pick,
             const std::uint64_t **four) {
    for (std::size_t a = 0; a < kTile; ++a) four[a] = pick(items[std::min(k + a, items.size() - 1)]) + word;
}

// The popcounts of every mask with every slice, sixteen at a time. The masks begin with the block, the slices at
// `word`.
void add_conjunctions(const BitFunctions &bits, const Masks &masks, const std::vector<Counted> &counted,
                      std::size_t word, std::size_t n_vectors) {
    const std::uint64_t *xs[kTile], *ys[kTile];
    std::uint32_t tile[kTile * kTile];
    for (std::size_t x = 0; x < masks.bits.size(); x += kTile) {
        four_of(masks.bits, x, 0, [](const std::uint64_t *words) { return words; }, xs);
        for (std::size_t y = 0; y < counted.size(); y += kTile) {
            four_of(counted, y, word, [](const Counted &one) { return one.bits; }, ys);
            bits.tile(xs, ys, n_vectors, tile);
            for (std::size_t a = 0; a < std::min(kTile, masks.bits.size() - x); ++a)
                for (std::size_t b = 0; b < std::min(kTile, counted.size() - y); ++b) {
                    const Counted &to = counted[y + b];
                    to.cells[masks.configuration[x + a] * to.step] += tile[a * kTile + b];
                }
        }
    }
}

// The same for one slice, and masks that lie one behind the other.
void add_single(const Masks &masks, const Counted &to, std::size_t word, std::size_t n_vectors) {
    const std::size_t n_words = n_vectors * kVectorWords;
    std::vector<double> ones(masks.bits.size());
    shared_bits_at(chosen_cpu_level())
        .count(to.bits + word, masks.bits[0], n_words, int(ones.size()), std::int64_t(n_words), ones.data());
    for (std::size_t x = 0; x < ones.size(); ++x) to.cells[masks.configuration[x] * to.step] += ones[x];
}

}  // namespace

// Of a variable that no row lacks, the last value needs no popcount: it has what the others leave of the base.
void Sample::extend_by_bits(const Variables &base, const Variables &others, const std::vector<double *> &tables) const {
    const BitFunctions &bits = bits_at(chosen_cpu_level());
    const auto n_masks = static_cast<std::size_t>(n_cells(base));
    std::vector<Counted> counted;
    for (std::size_t k = 0; k < others.size(); ++k) {
        const Slices &own = slices(others[k]);
        const std::size_t n = n_values_[others[k]];
        std::fill_n(tables[k], n_masks * n, 0.0);
        if (base.empty()) std::copy(own.ones.begin(), own.ones.end(), tables[k]);
        else
            for (std::size_t v = 0; v + own.complete < n; ++v) counted.push_back({slice(own, v), tables[k] + v, n});
    }
    if (base.empty() || n_masks == 0) return;

    std::vector<const Slices *> of_base;
    for (const std::size_t i : base) of_base.push_back(&slices(i));
    const std::size_t all = vectors_of(n_rows_);
    const std::size_t block = std::min(all, std::clamp<std::size_t>(kMaskVectors / n_masks, 4, 64));
    std::unique_ptr<BitVector[]> room[2];  // for the masks of one variable more than those they are made from
    for (auto &half : room) half = std::make_unique_for_overwrite<BitVector[]>(base.size() > 1 ? n_masks * block : 0);
    std::vector<double> totals(n_masks, 0.0);
    Masks masks, next;
    for (std::size_t start = 0; start < all; start += block) {
        const std::size_t n_vectors = std::min(block, all - start), word = start * kVectorWords;
        masks.clear();
        for (std::size_t v = 0; v < n_values_[base[0]]; ++v) {
            const std::uint64_t *own = slice(*of_base[0], v) + word;
            if (const std::uint64_t n = bits.ones(own, n_vectors); n > 0) masks.add(v, own, n);
        }
        for (std::size_t d = 1; d < base.size(); ++d) {
            next.clear();
            std::uint64_t *out = room[d % 2].get()->words;
            for (std::size_t x = 0; x < masks.bits.size(); ++x)
                for (std::size_t v = 0; v < n_values_[base[d]]; ++v) {
                    const std::uint64_t n = bits.mask(masks.bits[x], slice(*of_base[d], v) + word, n_vectors, out);
                    if (n == 0) continue;
                    next.add(masks.configuration[x] * n_values_[base[d]] + v, out, n);
                    out += n_vectors * kVectorWords;
                }
            std::swap(masks, next);
        }
        for (std::size_t x = 0; x < masks.bits.size(); ++x) totals[masks.configuration[x]] += masks.ones[x];
        if (masks.bits.empty()) continue;
        if (counted.size() == 1 && base.size() > 1) add_single(masks, counted[0], word, n_vectors);
        else add_conjunctions(bits, masks, counted, word, n_vectors);
    }
    for (std::size_t k = 0; k < others.size(); ++k) {
        const std::size_t n = n_values_[others[k]];
        if (!slices(others[k]).complete) continue;
        for (std::size_t x = 0; x < n_masks; ++x) {
            double *cells = tables[k] + x * n;
            cells[n - 1] = totals[x];
            for (std::size_t v = 0; v + 1 < n; ++v) cells[n - 1] -= cells[v];
        }
    }
}

// --- increments --------------------------------------------------------------------------------------------------

template <class Code, class Index, class Cell>
void Sample::increment(const Variables &base, const Variables &others, const std::vector<double *> &tables) const {
    const Folding<Code, Index> functions = folding<Code, Index>();
    const auto n_base = static_cast<std::size_t>(n_cells(base));
    std::vector<std::vector<Cell>> cells(others.size());
    std::vector<std::size_t> n(others.size()), steps(others.size());
    for (std::size_t k = 0; k < others.size(); ++k) {
        n[k] = n_base * n_values_[others[k]];
        steps[k] = n[k] <= kSpreadCells ? n[k] + 1 : 0;
        cells[k].resize((n[k] + 1) * (steps[k] > 0 ? kSpread : 1));
    }
    Variables gaps;  // those of the base that rows may lack
    std::copy_if(base.begin(), base.end(), std::back_inserter(gaps), [&](std::size_t i) { return may_lack<Code>(i); });
    const std::size_t most = std::min(kIndexRows, n_rows_);
    std::vector<Index> cell(most), missing(most), out(most), lost(most);
    for (std::size_t start = 0; start < n_rows_; start += kIndexRows) {
        const std::size_t rows = std::min(kIndexRows, n_rows_ - start);
        const auto fold = [&](std::size_t i, std::vector<Index> &to) {
            functions.fold(column<Code>(i) + start, rows, static_cast<Index>(n_values_[i]), to.data());
        };
        const auto note_gaps = [&](std::size_t i, std::vector<Index> &to) {
            functions.note_gaps(column<Code>(i) + start, rows, static_cast<Code>(n_values_[i]), to.data());
        };
        std::fill_n(cell.begin(), rows, Index{0});
        for (const std::size_t i : base) fold(i, cell);
        if (!gaps.empty()) std::fill_n(missing.begin(), rows, Index{0});
        for (const std::size_t i : gaps) note_gaps(i, missing);
        for (std::size_t k = 0; k < others.size(); ++k) {
            const std::size_t i = others[k];
            std::vector<Index> &own = k + 1 < others.size() ? out : cell;  // the last may use up what is there
            if (&own == &out) std::copy_n(cell.begin(), rows, out.begin());
            fold(i, own);
            if (may_lack<Code>(i)) {
                if (gaps.empty()) std::fill_n(lost.begin(), rows, Index{0});
                else std::copy_n(missing.begin(), rows, lost.begin());
                note_gaps(i, lost);
                functions.move_gaps(lost.data(), rows, static_cast<Index>(n[k]), own.data());
            } else if (!gaps.empty()) {
                functions.move_gaps(missing.data(), rows, static_cast<Index>(n[k]), own.data());
            }
            add_rows(own.data(), rows, weights_ == nullptr ? nullptr : weights_ + start, cells[k].data(), steps[k]);
        }
    }
    for (std::size_t k = 0; k < others.size(); ++k)
        for (std::size_t at = 0; at < n[k]; ++at) {
            Cell sum = cells[k][at];
            for (std::size_t t = 1; steps[k] > 0 && t < kSpread; ++t) sum += cells[k][t * steps[k] + at];
            tables[k][at] = static_cast<double>(sum);
        }
}

template <class Code, class Index>
void Sample::extend_by_increments(const Variables &base, const Variables &others,
                                  const std::vector<double *> &tables) const {
    if (weights_ != nullptr) increment<Code, Index, double>(base, others, tables);
    else increment<Code, Index, std::uint32_t>(base, others, tables);
}

void Sample::extend(const Variables &base, const Variables &others, const std::vector<double *> &tables,
                    SampleMethod method) const {
    if (method == SampleMethod::automatic) method = choose(base, others);
    if (method == SampleMethod::bits && may_slice(base, others)) return extend_by_bits(base, others, tables);
    double widest = 0.0;
    for (const std::size_t i : others) widest = std::max(widest, n_cells(base) * static_cast<double>(n_values_[i]));
    const bool small = widest < 65536.0;
    if (code_size_ == 1) {
        if (small) extend_by_increments<std::uint8_t, std::uint16_t>(base, others, tables);
        else extend_by_increments<std::uint8_t, std::uint32_t>(base, others, tables);
    } else {
        if (small) extend_by_increments<std::uint16_t, std::uint16_t>(base, others, tables);
        else extend_by_increments<std::uint16_t, std::uint32_t>(base, others, tables);
    }
}

// --- groups ------------------------------------------------------------------------------------------------------

// keys = keys * (configurations of the variables) + configuration
template <class Code>
void Sample::add_to_keys(const Variables &variables, std::vector<std::uint64_t> &keys) const {
    const Folding<Code, std::uint32_t> functions = folding<Code, std::uint32_t>();
    const auto n = static_cast<std::uint64_t>(n_cells(variables));
    const std::size_t most = std::min(kIndexRows, n_rows_);
    std::vector<std::uint32_t> cell(most), missing(most);
    for (std::size_t start = 0; start < n_rows_; start += kIndexRows) {
        const std::size_t rows = std::min(kIndexRows, n_rows_ - start);
        std::fill_n(cell.begin(), rows, 0);
        std::fill_n(missing.begin(), rows, 0);
        for (const std::size_t i : variables) {
            const Code *codes = column<Code>(i) + start;
            functions.fold(codes, rows, static_cast<std::uint32_t>(n_values_[i]), cell.data());
            if (may_lack<Code>(i)) functions.note_gaps(codes, rows, static_cast<Code>(n_values_[i]), missing.data());
        }
        for (std::size_t r = 0; r < rows; ++r) {
            std::uint64_t &key = keys[start + r];
            key = key == kMissing || missing[r] != 0 ? kMissing : key * n + cell[r];
        }
    }
}

Groups Sample::group(const Variables &variables) const {
    std::vector<std::uint64_t> keys(n_rows_, 0);
    std::uint64_t n_keys = 1;
    for (std::size_t from = 0, to = 0; from < variables.size(); from = to) {
        Variables some;  // as many as 32 bits can number
        for (; to < variables.size(); ++to) {
            some.push_back(variables[to]);
            if (n_cells(some) < 4294967296.0) continue;
            some.pop_back();
            break;
        }
        const auto n = static_cast<std::uint64_t>(n_cells(some));
        if (n_keys > kMissing / (n + 1)) n_keys = number(keys);
        if (code_size_ == 1) add_to_keys<std::uint8_t>(some, keys);
        else add_to_keys<std::uint16_t>(some, keys);
        n_keys *= n;
    }
    Groups groups;
    groups.starts.assign(number(keys) + 1, 0);
    for (const std::uint64_t key : keys)
        if (key != kMissing) ++groups.starts[key + 1];
    for (std::size_t g = 1; g < groups.starts.size(); ++g) groups.starts[g] += groups.starts[g - 1];
    groups.rows.resize(groups.starts.back());
    std::vector<std::size_t> next(groups.starts.begin(), groups.starts.end() - 1);
    for (std::size_t r = 0; r < n_rows_; ++r)
        if (keys[r] != kMissing) groups.rows[next[keys[r]]++] = static_cast<std::uint32_t>(r);
    return groups;
}

}  // namespace tanager
