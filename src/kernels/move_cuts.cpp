#include "move_cuts.hpp"

namespace tanager {

namespace {

// The first part of a slot is written, not added: memory that was never touched is asked for once then.
template <class Share>
inline void move_cells(const double *cells, double *to, int k, bool first, const Share &share) {
    if (first)
        for (int y = 0; y < k; ++y) to[y] = cells[y] * share(y);
    else
        for (int y = 0; y < k; ++y) to[y] += cells[y] * share(y);
}

}  // namespace

void move_counts(const Store &old, const Parts &parts, Store &moved) {
    const int k = old.k;
    const auto share = [&](std::int64_t p) { return parts.share + p * k; };
    const auto is_first = [&](std::int64_t p) { return p == 0 || parts.to[p] != parts.to[p - 1]; };
    std::vector<char> first(std::size_t(parts.n)), whole(std::size_t(parts.n));
    for (std::int64_t p = 0; p < parts.n; ++p) {
        first[p] = is_first(p);
        whole[p] = std::all_of(share(p), share(p) + k, [](double own) { return own == 1.0; });
        const double *own = share(p);
        move_cells(old.singles + parts.from[p] * k, moved.singles + parts.to[p] * k, k, first[p],
                   [own](int y) { return own[y]; });
    }
    if (!old.pairs) return;
    // Parts that keep their cells and follow each other in both stores are copied together.
    std::vector<std::int64_t> run(std::size_t(parts.n), 0);  // how many such parts begin here
    for (std::int64_t p = parts.n - 1; p >= 0; --p) {
        if (!first[p] || !whole[p]) continue;
        const bool on = p + 1 < parts.n && parts.from[p + 1] == parts.from[p] + 1 && parts.to[p + 1] == parts.to[p] + 1;
        run[p] = on ? run[p + 1] + 1 : 1;
    }
    // What no part falls into is 0: values of one column together, and all of a slot that has no part.
    std::vector<char> there(std::size_t(moved.width), 0);
    for (std::int64_t p = 0; p < parts.n; ++p) there[parts.to[p]] = 1;
    const bool all_there = std::all_of(there.begin(), there.end(), [](char own) { return own; });
    for (int i = 0; i < moved.n; ++i)
        for (std::int64_t g = moved.offsets[i]; g < moved.offsets[i + 1]; ++g) {
            const std::int64_t from = all_there ? moved.offsets[i] : 0;
            std::fill_n(moved.pairs + (g * moved.width + from) * k, (moved.offsets[i + 1] - from) * k, 0.0);
        }
    std::int64_t before = 0;  // parts of earlier columns
    int i = 0;
    for (std::int64_t p = 0; p < parts.n; ++p) {
        while (parts.from[p] >= old.offsets[i + 1]) ++i;
        while (parts.from[before] < old.offsets[i]) ++before;
        const double *row = old.pairs + parts.from[p] * old.width * k, *own = share(p);
        double *to = moved.pairs + parts.to[p] * moved.width * k;
        for (std::int64_t q = 0; q < before;) {
            const double *cells = row + parts.from[q] * k, *other = share(q);
            double *out = to + parts.to[q] * k;
            const std::int64_t size = std::min(run[q], before - q);
            if (first[p] && whole[p] && size > 0) {
                std::copy_n(cells, size * k, out);
                q += size;
            } else {
                move_cells(cells, out, k, first[p] && first[q], [own, other](int y) { return own[y] * other[y]; });
                ++q;
            }
        }
    }
}

}  // namespace tanager
