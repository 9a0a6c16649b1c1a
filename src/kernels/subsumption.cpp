#include "subsumption.hpp"

#include "slots.hpp"
#include "threads.hpp"

namespace tanager {

namespace {

double total(const double *cells, int k) {
    double sum = 0;
    for (int c = 0; c < k; ++c) sum += cells[c];
    return sum;
}

// Whether x_i only repeats another value of the row. Counts may have been faded or taken out again, so that equal ones
// can differ by rounding: a thousand millionth of a row is no row.
bool is_repeated(const Store &s, const int *slot, int i, double least, double unit, double left_out, bool gaps_differ) {
    if (slot[i] == s.missing_slot(i)) return false;
    const int k = s.k;
    const double rounding = 1e-9 * unit;
    const double *row_i = s.pairs + (s.offsets[i] + slot[i]) * s.width * k;
    for (int j = 0; j < s.n; ++j) {
        if (j == i || slot[j] == s.missing_slot(j)) continue;
        // N(x_i, x_j), and N of each, over the rows in which the other is present unless gaps differ
        const double *row_j = s.pairs + (s.offsets[j] + slot[j]) * s.width * k;
        const double both = total(row_i + (s.offsets[j] + slot[j]) * k, k);
        double of_j = total(s.singles + (s.offsets[j] + slot[j]) * k, k);
        double of_i = total(s.singles + (s.offsets[i] + slot[i]) * k, k);
        if (!gaps_differ) {
            of_j -= total(row_j + s.missing_cell(i), k);
            of_i -= total(row_i + s.missing_cell(j), k);
        }
        if (of_j - left_out <= least || both < of_j - rounding) continue;
        const bool more_special = both < of_i - rounding;  // else the two are equivalent
        if (more_special || j < i) return true;
    }
    return false;
}

}  // namespace

void resolve_subsumption(const Store &s, const Codes &codes, const CodesOut &out, double least, double unit,
                         const Weights &left_out, int n_jobs, bool gaps_differ) {
    const Slots slots(s, false);
    const std::size_t size = codes.code_size();
    const std::uint16_t marker = 0xFFFF;  // in either type
    parallel_rows(codes.n_rows, n_jobs, [&](std::int64_t begin, std::int64_t end) {
        std::vector<int> slot(s.n);
        for (std::int64_t r = begin; r < end; ++r) {
            check_interrupt(r);
            slots.read(codes, r, slot.data());
            const double minus = left_out ? left_out[r] : 0;
            for (int i = 0; i < s.n; ++i) {
                const bool drop = is_repeated(s, slot.data(), i, least, unit, minus, gaps_differ);
                const void *from = drop ? static_cast<const void *>(&marker) : codes.cell(r, i);
                std::memcpy(out.data + r * out.row_step + i * out.column_step, from, size);
            }
        }
    });
}

}  // namespace tanager
