// One call of count(): which tables are worth a pass in blocks and which are filled row by row, the threads, and the
// promise that rows which do not fit change nothing.
#include "count.hpp"

#include <algorithm>
#include <atomic>

#include "count_bits.hpp"
#include "count_increments.hpp"
#include "count_merge.hpp"
#include "interrupt.hpp"
#include "threads.hpp"

namespace tanager {

namespace {

constexpr std::int64_t kMostRows = 0xFFFFFFFF;  // what a worker's uint32 cells can hold, all rows in one cell
constexpr std::size_t kMostFamilyCells = std::size_t{1} << 31;
constexpr double kSetUp = 8000;               // increments that cost as much as preparing a pass in blocks
constexpr std::size_t kRowsPerThread = 8192;  // fewer are not worth a thread
constexpr std::size_t kCellsPerCheck = 1 << 20;

// A worker counts a range of rows, block by block, into cells of its own.
template <class Cell>
class Worker {
  public:
    Worker(const CountingPlan &plan, const Batch &rows)
        : needed(plan.store), cells(plan.n_cells), plan_(plan), columns_(plan, rows), increments_(plan) {
        if constexpr (std::is_same_v<Cell, std::uint32_t>)
            if (!plan.sliced.empty()) bits_.emplace_back(plan);
        by_increments_ = plan.sliced.size() < plan.slots.size() || plan.slots.empty() || !plan.families.empty();
        for (const PairTable &table : plan.tables) by_increments_ |= !table.increments.empty();
    }

    // Once any worker has met a code that does not fit, the rest of the rows is only looked at.
    void run(std::size_t begin, std::size_t end, std::atomic<bool> &exceeded) {
        for (; begin < end; begin += plan_.block_rows) {
            check_interrupt();  // these cells are its own: nothing was added to the tables yet
            const std::size_t n = std::min(plan_.block_rows, end - begin);
            columns_.load(begin, n, needed);
            if (needed.exceeded) exceeded = true;
            const bool with_bits = !bits_.empty() && !exceeded;
            if (with_bits) bits_.front().begin(columns_.byte_labels(), columns_.n_rows());
            for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
                const Column &column = columns_.read(i, needed);
                if (with_bits && !needed.exceeded && plan_.is_sliced(i)) bits_.front().cut(i, column);
            }
            if (needed.exceeded) exceeded = true;
            if (exceeded) continue;
            if constexpr (std::is_same_v<Cell, std::uint32_t>)
                if (with_bits) bits_.front().add(cells.data());
            if (by_increments_) increments_.add(columns_, cells.data(), bits_.empty());
        }
    }

    Needed needed;
    std::vector<Cell> cells;

  private:
    const CountingPlan &plan_;
    Columns columns_;
    std::vector<BitCounter> bits_;  // one, or none when nothing is sliced
    IncrementCounter<Cell> increments_;
    bool by_increments_ = false;
};

template <class Cell>
Needed count_blocks(const Batch &rows, const Store &store, double sign, std::size_t n_jobs, Method method, bool fresh) {
    const auto n_rows = std::size_t(rows.n_rows());
    const std::size_t n_workers = std::clamp<std::size_t>(n_rows / kRowsPerThread, 1, n_jobs);
    const CountingPlan plan(store, rows, method, sign, n_workers);
    const std::size_t share = vectors_of((n_rows + n_workers - 1) / n_workers) * kVectorRows;
    std::vector<std::vector<Cell>> cells(n_workers);
    std::vector<Needed> needed(n_workers, Needed(store));
    std::atomic<bool> exceeded = false;
    run_threads(n_workers, [&](std::size_t t) {
        Worker<Cell> worker(plan, rows);  // made here, so that its memory is close to its thread
        const Undisturbed undisturbed(plan.one_block && !fresh);  // families of a single block go to the store at once
        worker.run(std::min(t * share, n_rows), std::min((t + 1) * share, n_rows), exceeded);
        needed[t] = std::move(worker.needed);
        cells[t] = std::move(worker.cells);
    });
    for (std::size_t t = 1; t < n_workers; ++t) needed[0].merge(needed[t]);
    if (needed[0].exceeded) return needed[0];
    for (std::size_t t = 1; t < n_workers; ++t)
        for (std::size_t k = 0; k < plan.n_cells; ++k) {
            if (k % kCellsPerCheck == 0) check_interrupt();
            cells[0][k] += cells[t][k];
        }
    const Undisturbed undisturbed(!fresh);  // what was counted before could not be told apart
    add_to_store(plan, cells[0]);
    return needed[0];
}

// Moves to `by_row` the tables with more cells than the rows would touch: a worker's copy of them would cost more to
// clear and merge than to do without.
void split(const Batch &rows, Method method, Store &blocked, Store &by_row) {
    const double n = double(blocked.n), m = double(rows.n_rows());
    const double k = double(blocked.k);
    const bool forced = method != Method::automatic;
    const auto pays = [&](double increments, double cells, double shared = 1) {
        return forced || (increments > cells && increments * shared > kSetUp);
    };
    const auto half_square = [](double slots) { return slots * slots / 2; };
    by_row = blocked;
    if (blocked.pairs != nullptr) {
        const bool pay = pays(m * n * n / 2, half_square(double(blocked.width)) * k);
        (pay ? by_row : blocked).pairs = nullptr;
    }
    by_row.triples.clear();
    std::erase_if(blocked.triples, [&](const Triples &triples) {
        const double others = n - static_cast<double>(triples.first);
        const double depth = double(blocked.n_slots[triples.anchor]) * k;
        if (pays(m * others * others / 2, half_square(double(triples.width)) * depth)) return false;
        by_row.triples.push_back(triples);
        return true;
    });
    by_row.families.clear();
    const auto n_families = double(blocked.families.size());  // one pass serves all of them
    std::erase_if(blocked.families, [&](const Family &family) {
        if (family.sparse) {
            by_row.families.push_back(family);
            return true;
        }
        double cells = k;
        for (const int i : family.attributes) cells *= double(blocked.n_slots[i]);
        if (pays(m, cells, n_families) && cells <= static_cast<double>(kMostFamilyCells)) return false;
        by_row.families.push_back(family);
        return true;
    });
    const bool tables = blocked.pairs != nullptr || !blocked.triples.empty() || !blocked.families.empty();
    Store &margins_elsewhere = tables || pays(m * n, 0) ? by_row : blocked;
    margins_elsewhere.classes = margins_elsewhere.singles = nullptr;
}

bool is_empty(const Store &store) {
    return store.classes == nullptr && store.pairs == nullptr && store.triples.empty() && store.families.empty();
}

bool has_counted(const Store &store) {
    return store.classes == nullptr ||
           std::any_of(store.classes, store.classes + store.k, [](double x) { return x != 0; });
}

// Zeros in all cells. Cells that are zero are read alone: of a large table, many have never been written.
void clear(const Store &store) {
    each_table(store, [](double *cells, std::int64_t n) {
        for (std::int64_t cell = 0; cell < n; ++cell)
            if (cells[cell] != 0) cells[cell] = 0;
    });
    for (const Family &family : store.families)
        if (family.sparse) family.sparse->drop_empty();
}

// More rows than a worker's cells can hold: look at all of them first, then count them in parts.
Needed count_in_parts(const Batch &rows, const Store &store, double sign, std::size_t n_jobs, Method method) {
    Needed needed(store);
    check_rows(rows, needed);
    const Undisturbed undisturbed;  // parts that were counted already would stay
    for (std::int64_t begin = 0; begin < rows.n_rows() && !needed.exceeded; begin += kMostRows)
        count(rows.from(begin, std::min(kMostRows, rows.n_rows() - begin)), store, sign, n_jobs, method);
    return needed;
}

}  // namespace

Needed count(const Batch &rows, const Store &store, double sign, std::size_t n_jobs, Method method) {
    if (rows.n_rows() > kMostRows) return count_in_parts(rows, store, sign, n_jobs, method);
    Store blocked = store, by_row;
    split(rows, method, blocked, by_row);
    const bool fresh = !has_counted(store);
    Needed needed(store);
    try {
        if (is_empty(blocked)) check_rows(rows, needed);
        else if (rows.weights) needed = count_blocks<double>(rows, blocked, sign, n_jobs, method, fresh);
        else needed = count_blocks<std::uint32_t>(rows, blocked, sign, n_jobs, method, fresh);
        const Undisturbed undisturbed(!fresh);
        if (!needed.exceeded && !is_empty(by_row)) add_rows(rows, by_row, sign);
    } catch (...) {
        if (fresh) clear(store);
        throw;
    }
    return needed;
}

}  // namespace tanager
