// Numbers of all classes side by side, for many rows at a time: products of lines of a table, and what the answers of
// rows are next to their classes. There is one set of functions per instruction set; the lanes do not mix but in sums
// over classes, so that all give the same products.
#pragma once
#include <cstdint>
#include <vector>

#include "cpu.hpp"

namespace tanager::scoring {

// Doubles that begin at a cache line: a load across two lines takes twice as long.
class LaneMemory {
  public:
    explicit LaneMemory(std::size_t size = 0, double value = 0)
        : lines_((size + kPerLine - 1) / kPerLine, CacheLine(value)) {}
    double *data() { return lines_.empty() ? nullptr : lines_.front().x; }
    double &operator[](std::size_t at) { return data()[at]; }

  private:
    static constexpr std::size_t kPerLine = 8;
    struct alignas(64) CacheLine {
        double x[kPerLine];
        explicit CacheLine(double value) {
            for (double &one : x) one = value;
        }
    };
    std::vector<CacheLine> lines_;
};

// The lines of a table that belong to rows: of row r those at table + cells[r * n_columns + i]. A line may be that of
// one column, or the product of those of two or four (`JoinedLines`).
struct RowLines {
    const double *table;
    const std::uint32_t *cells;
    int n_columns, width;    // width: numbers in a line, a multiple of four
    int lines_for_four = 4;  // columns: 4, 2 or 1
};

enum class Verdict : std::uint8_t { right, wrong, unclear };

// Rows next to their classes. Unclear: several classes are ahead, or none is.
struct Verdicts {
    static constexpr int most_rows = 64;
    Verdict verdict[most_rows];
    double share[most_rows];  // of the sum over the classes, that the true class has
};

struct LaneFunctions {
    // out[at] = start * the lines from .. to of rows[at]; without a start, what is in `out` is multiplied. Four columns
    // at a time, as (a b) (c d).
    void (*multiply)(const RowLines &lines, const int *rows, int n_rows, int from, int to, const double *start,
                     double *out);
    // Judges `width` numbers per row, in proportion to probabilities, at most Verdicts::most_rows rows. With totals,
    // those of rows[at] are added to first, and judged.
    void (*judge)(const double *values, const int *rows, int n_rows, int width, const int *labels, double *totals,
                  Verdicts &out);
    // out[c] = 1 / (max(count[c] - lost[c], 0) + total) for k classes.
    void (*invert)(const double *count, const double *lost, double total, int k, double *out);
    // out[v * width + c] = (max(own[v * step + c], 0) + pseudo) * inverse[c] for k classes.
    void (*estimate)(const double *own, std::int64_t step, int n_slots, int k, double pseudo, const double *inverse,
                     int width, double *out);
};

const LaneFunctions &lanes_at(CpuLevel level);

}  // namespace tanager::scoring
