#include "joined_lines.hpp"

#include <algorithm>

namespace tanager::scoring {

namespace {

constexpr std::size_t kNearBytes = 32 << 10;  // a larger table would leave the nearest cache
constexpr std::size_t kMakeLine = 2;          // lines that are multiplied while one is made, about
constexpr int kFewestJoined = 8;              // that no lines are made for

}  // namespace

void JoinedLines::start(const RowLines &columns, int n_rows, std::size_t n_lines) {
    const int n = columns.n_columns, width = columns.width;
    pairs_.there = fours_.there = false;
    if (n < 2 || n_rows < kFewestJoined) return;
    std::vector<std::int32_t> rank(n_lines, -1);  // of a line among those of its column
    std::vector<std::vector<std::uint32_t>> places(n);
    columns_.rank.resize(std::size_t(n_rows) * n);
    for (int r = 0; r < n_rows; ++r)
        for (int t = 0; t < n; ++t) {
            const std::size_t at = std::size_t(r) * n + t;
            std::int32_t &known = rank[columns.cells[at] / width];
            if (known < 0) {
                known = std::int32_t(places[t].size());
                places[t].push_back(columns.cells[at]);
            }
            columns_.rank[at] = std::uint32_t(known);
        }
    columns_.first.assign(1, 0);
    columns_.place.clear();
    for (const auto &own : places) {
        columns_.place.insert(columns_.place.end(), own.begin(), own.end());
        columns_.first.push_back(std::uint32_t(columns_.place.size()));
    }
    join(columns_, n_rows, width, 2, pairs_);
    if (pairs_.there && n > 2) join(pairs_.sets, n_rows, width, 1, fours_);
}

void JoinedLines::join(const Sets &of, int n_rows, int width, int lines_for_four, Joined &out) {
    const int n = (of.size() + 1) / 2;
    out.sets.first.assign(1, 0);
    std::size_t n_lines = 0;
    for (int g = 0; g < n; ++g) {
        const bool two = 2 * g + 1 < of.size();
        n_lines += std::size_t(of.n_lines(2 * g)) * (two ? of.n_lines(2 * g + 1) : 1);
        if (n_lines * width * sizeof(double) > kNearBytes) return;
        out.sets.first.push_back(std::uint32_t(n_lines));
    }
    out.factors.clear();
    out.sets.rank.resize(std::size_t(n_rows) * n);
    out.cells.resize(out.sets.rank.size());
    for (int g = 0; g < n; ++g) {
        const int a = 2 * g, b = a + 1;
        const bool two = b < of.size();
        const std::uint32_t n_second = two ? of.n_lines(b) : 1;
        for (std::uint32_t v = of.first[a]; v < of.first[a + 1]; ++v)
            for (std::uint32_t w = 0; w < n_second; ++w) {
                out.factors.push_back(of.place[v]);
                out.factors.push_back(of.place[two ? of.first[b] + w : v]);
            }
        for (int r = 0; r < n_rows; ++r) {
            const std::uint32_t *rank = &of.rank[std::size_t(r) * of.size()];
            const std::uint32_t own = rank[a] * n_second + (two ? rank[b] : 0);
            out.sets.rank[std::size_t(r) * n + g] = own;
            out.cells[std::size_t(r) * n + g] = (out.sets.first[g] + own) * std::uint32_t(width);
        }
    }
    out.sets.place.resize(n_lines);
    for (std::size_t v = 0; v < n_lines; ++v) out.sets.place[v] = std::uint32_t(v) * std::uint32_t(width);
    out.table = LaneMemory(n_lines * width);
    out.lines = {out.table.data(), out.cells.data(), n, width, lines_for_four};
    out.there = true;
}

void JoinedLines::make(const double *of, Joined &out) {
    const int width = out.lines.width;
    double *line = out.table.data();
    const std::uint32_t *factor = out.factors.data(), *end = factor + out.factors.size();
    for (; factor < end; factor += 2, line += width) {
        const double *a = of + factor[0], *b = of + factor[1];
        if (a == b) std::copy_n(a, width, line);  // a column without another one
        else
            for (int c = 0; c < width; ++c) line[c] = a[c] * b[c];
    }
}

const RowLines &JoinedLines::lines(const RowLines &columns, int n_rows) {
    if (!pairs_.there) return columns;
    const auto rows = std::size_t(n_rows);
    const std::size_t make_pairs = kMakeLine * pairs_.n_lines();
    const std::size_t single = rows * columns.n_columns, two = rows * pairs_.lines.n_columns + make_pairs;
    const std::size_t four =
        fours_.there ? rows * fours_.lines.n_columns + make_pairs + kMakeLine * fours_.n_lines() : single;
    if (single <= std::min(two, four)) return columns;
    make(columns.table, pairs_);
    if (two <= four) return pairs_.lines;
    make(pairs_.table.data(), fours_);
    return fours_.lines;
}

}  // namespace tanager::scoring
