// One call of count(): which tables are worth a pass in blocks and which are filled row by row, the threads, and the
// promise that rows which do not fit change nothing.
#include "count.hpp"

#include <algorithm>
#include <atomic>

#include "count_bits.hpp"
#include "count_increments.hpp"
#include "count_merge.hpp"
#include "threads.hpp"

namespace tanager {

namespace {

constexpr std::size_t kMostRows = 0xFFFFFFFF;  // what a worker's uint32 cells can hold, all rows in one cell
constexpr std::size_t kMostFamilyCells = std::size_t{1} << 31;
constexpr double kSetUp = 8000;               // increments that cost as much as preparing a pass in blocks
constexpr std::size_t kRowsPerThread = 8192;  // fewer are not worth a thread

// A worker counts a range of rows, block by block, into cells of its own.
template <class Cell>
class Worker {
  public:
    Worker(const Plan &plan, const Rows &rows)
        : needed(plan.store), cells(plan.n_cells), plan_(plan), columns_(plan, rows), increments_(plan) {
        if constexpr (std::is_same_v<Cell, std::uint32_t>)
            if (!plan.sliced.empty()) bits_.emplace_back(plan);
        by_increments_ = plan.sliced.size() < plan.slots.size() || plan.slots.empty() || !plan.families.empty();
        for (const PairTable &table : plan.tables) by_increments_ |= !table.increments.empty();
    }

    // Once any worker has met a code that does not fit, the rest of the rows is only looked at.
    void run(std::size_t begin, std::size_t end, std::atomic<bool> &exceeded) {
        for (; begin < end; begin += plan_.block_rows) {
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
    const Plan &plan_;
    Columns columns_;
    std::vector<BitCounter> bits_;  // one, or none when nothing is sliced
    IncrementCounter<Cell> increments_;
    bool by_increments_ = false;
};

template <class Cell>
Needed count_blocks(const Rows &rows, const Store &store, double sign, std::size_t n_jobs, Method method) {
    const Plan plan(store, rows, method);
    const std::size_t n_workers = std::clamp<std::size_t>(rows.n_rows / kRowsPerThread, 1, n_jobs);
    const std::size_t share = vectors_of((rows.n_rows + n_workers - 1) / n_workers) * kVectorRows;
    std::vector<std::vector<Cell>> cells(n_workers);
    std::vector<Needed> needed(n_workers, Needed(store));
    std::atomic<bool> exceeded = false;
    run_threads(n_workers, [&](std::size_t t) {
        Worker<Cell> worker(plan, rows);  // made here, so that its memory is close to its thread
        worker.run(std::min(t * share, rows.n_rows), std::min((t + 1) * share, rows.n_rows), exceeded);
        needed[t] = std::move(worker.needed);
        cells[t] = std::move(worker.cells);
    });
    for (std::size_t t = 1; t < n_workers; ++t) needed[0].merge(needed[t]);
    if (needed[0].exceeded) return needed[0];
    for (std::size_t t = 1; t < n_workers; ++t)
        for (std::size_t k = 0; k < plan.n_cells; ++k) cells[0][k] += cells[t][k];
    add_to_store(plan, cells[0], sign);
    return needed[0];
}

// Moves to `by_row` the tables with more cells than the rows would touch: a worker's copy of them would cost more to
// clear and merge than to do without.
void split(const Rows &rows, Method method, Store &blocked, Store &by_row) {
    const auto n = static_cast<double>(blocked.n_attributes()), m = static_cast<double>(rows.n_rows);
    const auto k = static_cast<double>(blocked.n_classes);
    const bool forced = method != Method::automatic;
    const auto pays = [&](double increments, double cells) {
        return forced || (increments > cells && increments > kSetUp);
    };
    const auto half_square = [](double slots) { return slots * slots / 2; };
    by_row = blocked;
    if (blocked.pairs != nullptr) {
        const bool pay = pays(m * n * n / 2, half_square(static_cast<double>(blocked.n_slots())) * k);
        (pay ? by_row : blocked).pairs = nullptr;
    }
    by_row.triples.clear();
    std::erase_if(blocked.triples, [&](const Triples &triples) {
        const double width = static_cast<double>(blocked.n_slots() - blocked.offset(triples.first));
        const double others = n - static_cast<double>(triples.first);
        const double depth = static_cast<double>(blocked.rooms(triples.anchor)) * k;
        if (pays(m * others * others / 2, half_square(width) * depth)) return false;
        by_row.triples.push_back(triples);
        return true;
    });
    by_row.families.clear();
    std::erase_if(blocked.families, [&](const Family &family) {
        double cells = k;
        for (const std::size_t i : family.attributes) cells *= static_cast<double>(blocked.rooms(i));
        if (pays(m, cells) && cells <= static_cast<double>(kMostFamilyCells)) return false;
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

// More rows than a worker's cells can hold: look at all of them first, then count them in parts.
Needed count_in_parts(const Rows &rows, const Store &store, double sign, std::size_t n_jobs, Method method) {
    Needed needed(store);
    check_rows(rows, store, 0, rows.n_rows, needed);
    for (std::size_t begin = 0; begin < rows.n_rows && !needed.exceeded; begin += kMostRows) {
        Rows part = rows;
        part.n_rows = std::min(kMostRows, rows.n_rows - begin);
        part.codes = rows.cell(begin, 0);
        part.labels += static_cast<std::ptrdiff_t>(begin) * rows.label_step;
        if (rows.weights != nullptr) part.weights += static_cast<std::ptrdiff_t>(begin) * rows.weight_step;
        count(part, store, sign, n_jobs, method);
    }
    return needed;
}

}  // namespace

Needed count(const Rows &rows, const Store &store, double sign, std::size_t n_jobs, Method method) {
    if (rows.n_rows > kMostRows) return count_in_parts(rows, store, sign, n_jobs, method);
    Store blocked = store, by_row;
    split(rows, method, blocked, by_row);
    Needed needed(store);
    if (is_empty(blocked)) check_rows(rows, store, 0, rows.n_rows, needed);
    else if (rows.weights != nullptr) needed = count_blocks<double>(rows, blocked, sign, n_jobs, method);
    else needed = count_blocks<std::uint32_t>(rows, blocked, sign, n_jobs, method);
    if (!needed.exceeded && !is_empty(by_row)) add_rows(rows, by_row, sign);
    return needed;
}

}  // namespace tanager
