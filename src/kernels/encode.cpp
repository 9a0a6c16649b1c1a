#include "encode.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace tanager {

// Adding one turns "missing" into 0.
template <class Code>
void code_limits_columns(const Code *codes, std::size_t n_rows, std::size_t n_features, std::ptrdiff_t stride,
                         Code *limits) {
    for (std::size_t i = 0; i < n_features; ++i) {
        const Code *column = codes + static_cast<std::ptrdiff_t>(i) * stride;
        Code limit = 0;
        for (std::size_t r = 0; r < n_rows; ++r) limit = std::max(limit, static_cast<Code>(column[r] + 1));
        limits[i] = limit;
    }
}

// Many rows at once form one long lane of maxima, because a loop over a handful of features is too short for vector
// registers.
template <class Code>
void code_limits_rows(const Code *codes, std::size_t n_rows, std::size_t n_features, Code *limits) {
    if (n_features == 0) return;
    const std::size_t rows_per_lane = std::max<std::size_t>(1, 1024 / n_features);
    std::vector<Code> lane(rows_per_lane * n_features, 0);
    const std::size_t n_cells = n_rows * n_features;
    for (std::size_t start = 0; start < n_cells; start += lane.size()) {
        const std::size_t width = std::min(lane.size(), n_cells - start);
        for (std::size_t p = 0; p < width; ++p) lane[p] = std::max(lane[p], static_cast<Code>(codes[start + p] + 1));
    }
    std::fill(limits, limits + n_features, Code{0});
    for (std::size_t p = 0; p < lane.size(); ++p) limits[p % n_features] = std::max(limits[p % n_features], lane[p]);
}

template <class Code>
void recode(const std::int32_t *index, std::size_t n_rows, const Code *table, std::size_t n_table, Code *out,
            std::ptrdiff_t stride) {
    const auto last = static_cast<std::uint32_t>(n_table - 1);
    for (std::size_t r = 0; r < n_rows; ++r)
        out[static_cast<std::ptrdiff_t>(r) * stride] = table[std::min(static_cast<std::uint32_t>(index[r]), last)];
}

// Few cuts: compare with all of them, without a branch.
template <class Code>
void cut(const double *values, std::size_t n_rows, std::ptrdiff_t value_stride, const double *cuts, std::size_t n_cuts,
         Code *out, std::ptrdiff_t out_stride) {
    constexpr Code missing = std::numeric_limits<Code>::max();
    constexpr std::size_t block = 512, few = 24;
    double x[block];
    std::int64_t below[block];
    for (std::size_t start = 0; start < n_rows; start += block) {
        const std::size_t width = std::min(block, n_rows - start);
        for (std::size_t b = 0; b < width; ++b) x[b] = values[static_cast<std::ptrdiff_t>(start + b) * value_stride];
        if (n_cuts <= few) {
            std::fill(below, below + width, 0);
            for (std::size_t j = 0; j < n_cuts; ++j)
                for (std::size_t b = 0; b < width; ++b) below[b] += x[b] > cuts[j];
        } else {
            for (std::size_t b = 0; b < width; ++b) below[b] = std::lower_bound(cuts, cuts + n_cuts, x[b]) - cuts;
        }
        for (std::size_t b = 0; b < width; ++b)
            out[static_cast<std::ptrdiff_t>(start + b) * out_stride] =
                std::isnan(x[b]) ? missing : static_cast<Code>(below[b]);
    }
}

namespace {

// From distances to places among those that were seen; returns these.
template <class Code>
std::vector<std::uint32_t> ranked(const std::vector<std::uint8_t> &seen, std::size_t n_rows, Code *out) {
    std::vector<std::uint32_t> distances;
    std::vector<Code> place(seen.size());
    for (std::uint32_t d = 0; d < seen.size(); ++d) {
        if (!seen[d]) continue;
        place[d] = static_cast<Code>(distances.size());
        distances.push_back(d);
    }
    if (distances.size() <= distances.back()) {
        const Code *places = place.data();
        for (std::size_t r = 0; r < n_rows; ++r) out[r] = places[out[r]];
    }
    return distances;
}

// The smallest number, its bits read without a sign.
template <class Number>
std::make_unsigned_t<Number> smallest(const Number *numbers, std::size_t n) {
    Number low = numbers[0];
    for (std::size_t r = 0; r < n; ++r) low = numbers[r] < low ? numbers[r] : low;
    return static_cast<std::make_unsigned_t<Number>>(low);
}

// Whole numbers in a small range: which ones occur, and the place of each row's number among them.
// Distances are unsigned and wrap around, so a number below `low` shows as a distance too large for a code: whether
// numbers have a sign matters to nobody but `smallest`.
template <class Unsigned, class Code>
class WholeIndex {
  public:
    // False where a distance from `low` is too large for a code.
    bool pass(const Unsigned *numbers, std::size_t n_rows, Unsigned low, Code *out) {
        seen_.assign(n_codes, 0);
        std::uint8_t *seen = seen_.data();  // a byte store may alias the vector itself, so keep its address at hand
        for (std::size_t start = 0; start < n_rows; start += block) {
            const std::size_t n = std::min(block, n_rows - start);
            Unsigned bits = 0;
            for (std::size_t b = 0; b < n; ++b) {
                const auto distance = static_cast<Unsigned>(numbers[start + b] - low);
                bits = static_cast<Unsigned>(bits | distance);
                out[start + b] = static_cast<Code>(distance);
            }
            if (bits > std::numeric_limits<Code>::max()) return false;
            for (std::size_t b = 0; b < n; ++b) seen[out[start + b]] = 1;
        }
        return true;
    }
    std::vector<std::uint32_t> places(std::size_t n_rows, Code *out) const { return ranked(seen_, n_rows, out); }

    static constexpr std::size_t block = 8192;

  private:
    static constexpr std::size_t n_codes = std::size_t{std::numeric_limits<Code>::max()} + 1;
    std::vector<std::uint8_t> seen_;
};

}  // namespace

// One pass when the first rows hold the smallest number; else one look at all rows and a second pass.
template <class Number, class Code>
std::vector<std::uint32_t> index_whole(const Number *numbers, std::size_t n_rows, Code *out) {
    using Unsigned = std::make_unsigned_t<Number>;
    using Index = WholeIndex<Unsigned, Code>;
    const auto *from = reinterpret_cast<const Unsigned *>(numbers);
    Index index;
    bool fits = false;
    if constexpr (sizeof(Number) > sizeof(Code))
        fits = index.pass(from, n_rows, smallest(numbers, std::min<std::size_t>(n_rows, Index::block)), out);
    if (!fits && !index.pass(from, n_rows, smallest(numbers, n_rows), out)) return {};
    return index.places(n_rows, out);
}

bool has_fractions(const double *numbers, std::size_t n_rows, std::ptrdiff_t stride) {
    constexpr double most = 9007199254740992.0;
    for (std::size_t r = 0; r < n_rows; ++r) {
        const double x = numbers[static_cast<std::ptrdiff_t>(r) * stride];
        if (x == x && (std::abs(x) > most || x != std::rint(x))) return true;
    }
    return false;
}

template void code_limits_columns(const std::uint8_t *, std::size_t, std::size_t, std::ptrdiff_t, std::uint8_t *);
template void code_limits_rows(const std::uint8_t *, std::size_t, std::size_t, std::uint8_t *);
template void recode(const std::int32_t *, std::size_t, const std::uint8_t *, std::size_t, std::uint8_t *,
                     std::ptrdiff_t);
template void cut(const double *, std::size_t, std::ptrdiff_t, const double *, std::size_t, std::uint8_t *,
                  std::ptrdiff_t);
template std::vector<std::uint32_t> index_whole(const std::int64_t *, std::size_t, std::uint8_t *);
template std::vector<std::uint32_t> index_whole(const std::int32_t *, std::size_t, std::uint8_t *);
template std::vector<std::uint32_t> index_whole(const std::int16_t *, std::size_t, std::uint8_t *);
template std::vector<std::uint32_t> index_whole(const std::int8_t *, std::size_t, std::uint8_t *);
template std::vector<std::uint32_t> index_whole(const std::uint64_t *, std::size_t, std::uint8_t *);
template std::vector<std::uint32_t> index_whole(const std::uint32_t *, std::size_t, std::uint8_t *);
template std::vector<std::uint32_t> index_whole(const std::uint16_t *, std::size_t, std::uint8_t *);
template std::vector<std::uint32_t> index_whole(const std::uint8_t *, std::size_t, std::uint8_t *);
template void code_limits_columns(const std::uint16_t *, std::size_t, std::size_t, std::ptrdiff_t, std::uint16_t *);
template void code_limits_rows(const std::uint16_t *, std::size_t, std::size_t, std::uint16_t *);
template void recode(const std::int32_t *, std::size_t, const std::uint16_t *, std::size_t, std::uint16_t *,
                     std::ptrdiff_t);
template void cut(const double *, std::size_t, std::ptrdiff_t, const double *, std::size_t, std::uint16_t *,
                  std::ptrdiff_t);
template std::vector<std::uint32_t> index_whole(const std::int64_t *, std::size_t, std::uint16_t *);
template std::vector<std::uint32_t> index_whole(const std::int32_t *, std::size_t, std::uint16_t *);
template std::vector<std::uint32_t> index_whole(const std::int16_t *, std::size_t, std::uint16_t *);
template std::vector<std::uint32_t> index_whole(const std::int8_t *, std::size_t, std::uint16_t *);
template std::vector<std::uint32_t> index_whole(const std::uint64_t *, std::size_t, std::uint16_t *);
template std::vector<std::uint32_t> index_whole(const std::uint32_t *, std::size_t, std::uint16_t *);
template std::vector<std::uint32_t> index_whole(const std::uint16_t *, std::size_t, std::uint16_t *);
template std::vector<std::uint32_t> index_whole(const std::uint8_t *, std::size_t, std::uint16_t *);

}  // namespace tanager
