#include "exact_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tanager::exact {

namespace {

using Wide = unsigned __int128;

constexpr std::int64_t digit_bits = 32;
constexpr std::int64_t digit_mask = 0xffffffff;
// Sums that have faded are cut below the last digit. A spread so small beside the mean is what that leaves of none: two
// doubles that differ do so by 2^-53 of them at least.
constexpr double rounding = 0x1p-60;
constexpr double largest = 0x1p1022;

// ± mantissa 2^exponent, with an odd mantissa, or 0.
struct Odd {
    std::uint64_t mantissa;
    int exponent;
    bool negative;
};

Odd odd(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    std::uint64_t mantissa = bits & ((std::uint64_t(1) << 52) - 1);
    int exponent = int((bits >> 52) & 0x7ff);
    if (exponent > 0) mantissa |= std::uint64_t(1) << 52;
    else exponent = 1;
    if (mantissa == 0) return {0, 0, false};
    const int zeros = std::countr_zero(mantissa);
    return {mantissa >> zeros, exponent - 1075 + zeros, (bits >> 63) != 0};
}

// A whole number of up to 192 bits times 2^exponent.
struct Product {
    std::uint64_t words[3];
    int exponent;
};

Product times(const Odd &a, const Odd &b) {
    const Wide m = Wide(a.mantissa) * b.mantissa;
    return {{std::uint64_t(m), std::uint64_t(m >> 64), 0}, a.exponent + b.exponent};
}

Product times(const Product &a, const Odd &b) {
    const Wide low = Wide(a.words[0]) * b.mantissa, high = Wide(a.words[1]) * b.mantissa + (low >> 64);
    return {{std::uint64_t(low), std::uint64_t(high), std::uint64_t(high >> 64)}, a.exponent + b.exponent};
}

int length(std::uint64_t x) { return 64 - std::countl_zero(x); }

void stretch(std::int64_t *bounds, std::int64_t exponent, int bits) {
    bounds[0] = std::min(bounds[0], exponent >> 5);
    bounds[1] = std::max(bounds[1], ((exponent + bits - 1) >> 5) + 1);
}

// Digits of a product, which its window has room for.
void put(const Product &product, bool negative, const Part &part, std::int64_t *line) {
    const int shift = product.exponent & 31;
    std::int64_t *to = line + part.begin + ((product.exponent >> 5) - part.low);
    const int n_words = product.words[2] ? 3 : product.words[1] ? 2 : 1;
    Wide rest = 0;
    for (int j = 0; j < n_words; ++j) {
        rest += Wide(product.words[j]) << shift;
        for (int half = 0; half < 2; ++half, ++to, rest >>= digit_bits) {
            const std::int64_t digit = std::int64_t(std::uint64_t(rest) & std::uint64_t(digit_mask));
            if (digit != 0) *to += negative ? -digit : digit;
        }
    }
    if (rest != 0) *to += negative ? -std::int64_t(rest) : std::int64_t(rest);
}

// --- reading -------------------------------------------------------------------------------------------------------

// A whole number times 2^(32 place), without zeros at either end; `size` is 0 for 0.
struct Magnitude {
    const std::uint32_t *digits;
    std::int64_t size, place;
    bool negative;
};

Magnitude trimmed(const std::vector<std::uint32_t> &digits, std::int64_t place, bool negative) {
    std::int64_t end = std::int64_t(digits.size()), begin = 0;
    while (end > 0 && digits[std::size_t(end - 1)] == 0) --end;
    while (begin < end && digits[std::size_t(begin)] == 0) ++begin;
    return {digits.data() + begin, end - begin, place + begin, negative};
}

Magnitude magnitude(const Part &part, const std::int64_t *line, std::vector<std::uint32_t> &room) {
    const std::int64_t *from = line + part.begin;
    const bool negative = part.size > 0 && from[part.size - 1] < 0;
    room.resize(std::size_t(part.size) + 1);
    std::int64_t carry = 0;
    for (std::int64_t j = 0; j < part.size; ++j) {
        carry += negative ? -from[j] : from[j];
        room[std::size_t(j)] = std::uint32_t(carry & digit_mask);
        carry >>= digit_bits;
    }
    room[std::size_t(part.size)] = std::uint32_t(carry);
    return trimmed(room, part.low, negative);
}

void multiply(const Magnitude &a, const Magnitude &b, std::vector<std::uint32_t> &out) {
    out.assign(std::size_t(a.size + b.size), 0);
    for (std::int64_t i = 0; i < a.size; ++i) {
        const std::uint64_t factor = a.digits[i];
        std::uint64_t carry = 0;
        for (std::int64_t j = 0; j < b.size; ++j) {
            std::uint32_t &to = out[std::size_t(i + j)];
            carry += factor * b.digits[j] + to;
            to = std::uint32_t(carry);
            carry >>= digit_bits;
        }
        out[std::size_t(i + b.size)] = std::uint32_t(carry);
    }
}

// a - b, or nothing where that is below 0.
Magnitude difference(const Magnitude &a, const Magnitude &b, std::vector<std::uint32_t> &out) {
    if (b.size == 0) {
        out.assign(a.digits, a.digits + a.size);
        return trimmed(out, a.place, false);
    }
    if (a.size == 0) return {nullptr, 0, 0, false};
    const std::int64_t low = std::min(a.place, b.place), high = std::max(a.place + a.size, b.place + b.size);
    out.assign(std::size_t(high - low), 0);
    std::copy_n(a.digits, a.size, out.begin() + (a.place - low));
    std::int64_t carry = 0;
    for (std::int64_t j = b.place - low; j < high - low && (carry != 0 || j < b.place - low + b.size); ++j) {
        const std::int64_t at = j - (b.place - low);
        carry += std::int64_t(out[std::size_t(j)]) - (at < b.size ? std::int64_t(b.digits[at]) : 0);
        out[std::size_t(j)] = std::uint32_t(carry & digit_mask);
        carry >>= digit_bits;
    }
    if (carry < 0) return {nullptr, 0, 0, false};
    return trimmed(out, low, false);
}

// (high + low) 2^exponent, good to 2^-90.
struct Twofold {
    double high, low;
    std::int64_t exponent;
};

Twofold twofold(const Magnitude &m) {
    Wide top = 0;
    const std::int64_t taken = std::min<std::int64_t>(m.size, 4);
    for (std::int64_t j = 0; j < taken; ++j) top = (top << digit_bits) | m.digits[m.size - 1 - j];
    std::int64_t exponent = digit_bits * (m.place + m.size - taken);
    if (top >> 127) top >>= 1, ++exponent;  // so that rounding stays within the type
    const double high = double(top);
    return {high, double(__int128(top) - __int128(high)), exponent};
}

double quotient(const Twofold &a, const Twofold &b) {
    const double q = a.high / b.high;
    const double rest = std::fma(-q, b.high, a.high) + (a.low - q * b.low);
    return std::ldexp(q + rest / b.high, int(a.exponent - b.exponent));
}

double as_double(const Twofold &a) {
    return a.exponent > 2000 ? largest : std::min(largest, std::ldexp(a.high + a.low, int(a.exponent)));
}

}  // namespace

// --- rows to digits ------------------------------------------------------------------------------------------------

void widen_for(const double *row, double weight, int n, std::int64_t *bounds) {
    const Odd w = odd(weight);
    if (w.mantissa == 0) return;
    const int bits = length(w.mantissa);
    for (int i = 0; i < n; ++i, bounds += 6) {
        if (!std::isfinite(row[i])) continue;
        stretch(bounds, w.exponent, bits);
        const Odd x = odd(row[i]);
        if (x.mantissa == 0) continue;
        const int own = length(x.mantissa);
        stretch(bounds + 2, w.exponent + x.exponent, bits + own);
        stretch(bounds + 4, w.exponent + 2 * x.exponent, bits + 2 * own);
    }
}

void spell(const Sums &sums, const double *row, double weight, std::int64_t *out) {
    std::fill_n(out, sums.width, 0);
    const Odd w = odd(weight);
    if (w.mantissa == 0) return;
    const Part *parts = sums.parts.data();
    for (int i = 0; i < sums.n; ++i, parts += 3) {
        if (!std::isfinite(row[i])) continue;
        put({{w.mantissa, 0, 0}, w.exponent}, false, parts[0], out);
        const Odd x = odd(row[i]);
        if (x.mantissa == 0) continue;
        const Product first = times(w, x);
        put(first, x.negative, parts[1], out);
        put(times(first, x), false, parts[2], out);
    }
}

void add(std::int64_t *to, const std::int64_t *row, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) to[j] += row[j];
}

void subtract(std::int64_t *from, const std::int64_t *row, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) from[j] -= row[j];
}

void normalise(const Sums &sums, std::int64_t *line) {
    for (const Part &part : sums.parts) {
        std::int64_t *own = line + part.begin, carry = 0;
        for (std::int64_t j = 0; j + 1 < part.size; ++j) {
            carry += own[j];
            own[j] = carry & digit_mask;
            carry >>= digit_bits;
        }
        if (part.size > 0) own[part.size - 1] += carry;
    }
}

void scale(const Sums &sums, std::int64_t *line, std::uint64_t mantissa, int exponent, Scratch &scratch) {
    const std::uint32_t factor[2] = {std::uint32_t(mantissa), std::uint32_t(mantissa >> 32)};
    const int shift = exponent & 31;
    for (const Part &part : sums.parts) {
        const Magnitude old = magnitude(part, line, scratch.first);
        std::int64_t *own = line + part.begin;
        std::fill_n(own, part.size, 0);
        if (old.size == 0) continue;
        multiply(old, {factor, 2, 0, false}, scratch.left);
        std::int64_t to = old.place + (exponent >> 5) - part.low;
        std::uint64_t carry = 0;
        scratch.left.push_back(0);
        for (const std::uint32_t digit : scratch.left) {
            carry |= std::uint64_t(digit) << shift;
            const std::int64_t d = std::int64_t(carry & std::uint64_t(digit_mask));
            if (to >= 0 && to < part.size) own[to] = old.negative ? -d : d;
            carry >>= digit_bits;
            ++to;
        }
    }
    normalise(sums, line);
}

Cell read(const Sums &sums, const std::int64_t *line, int column, Scratch &scratch) {
    const Part *parts = sums.parts.data() + 3 * column;
    const Magnitude weight = magnitude(parts[0], line, scratch.weight);
    if (weight.size == 0 || weight.negative) return {0, 0, 0};
    const Magnitude first = magnitude(parts[1], line, scratch.first),
                    second = magnitude(parts[2], line, scratch.second);
    const Twofold w = twofold(weight);
    Cell cell{as_double(w), 0, 0};
    if (first.size > 0) cell.mean = (first.negative ? -1 : 1) * quotient(twofold(first), w);
    cell.mean = std::clamp(cell.mean, -largest, largest);
    if (second.size == 0 || second.negative) return cell;
    // W² times the variance is W B - A²: a whole number, so nothing cancels that should not.
    multiply(weight, second, scratch.left);
    const Magnitude product = trimmed(scratch.left, weight.place + second.place, false);
    multiply(first, first, scratch.right);
    const Magnitude square = trimmed(scratch.right, 2 * first.place, false);
    const Magnitude spread = difference(product, square, scratch.first);
    if (spread.size == 0) return cell;
    Twofold v = twofold(spread);
    if (v.exponent & 1) v.high *= 2, --v.exponent;
    const double root = std::sqrt(v.high) / w.high;
    const double deviation = std::ldexp(root, int(v.exponent / 2 - w.exponent));
    if (deviation > rounding * std::abs(cell.mean)) cell.deviation = std::min(deviation, largest);
    return cell;
}

}  // namespace tanager::exact
