#include "exact_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tanager::exact {

namespace {

using Wide = unsigned __int128;

constexpr std::int64_t digit_bits = 32;
constexpr std::int64_t digit_mask = 0xffffffff;
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

// The product without its lowest bits, so many that its last place is that of the first one left.
Product cut_off(Product a, std::int64_t bits) {
    for (; bits >= 64; bits -= 64, a.exponent += 64) a = {{a.words[1], a.words[2], 0}, a.exponent};
    if (bits == 0) return a;
    const auto joined = [bits](std::uint64_t low, std::uint64_t high) { return low >> bits | high << (64 - bits); };
    return {{joined(a.words[0], a.words[1]), joined(a.words[1], a.words[2]), a.words[2] >> bits},
            a.exponent + int(bits)};
}

int length(std::uint64_t x) { return 64 - std::countl_zero(x); }

// Adds the digits of ± product to a sum, whose window has room for them, but perhaps not for zeros above them. Digits
// below the window are cut off: sums that have faded have lost those, too.
void put(const Product &product, bool negative, const Part &part, std::int64_t *line) {
    const int shift = product.exponent & 31;
    const std::int64_t sign = -std::int64_t(negative), place = (product.exponent >> 5) - part.low;
    std::int64_t *to = line + part.begin + place;
    const auto next = [&](std::uint64_t digit) { *to++ += (std::int64_t(digit) ^ sign) - sign; };
    const auto low_half = [](std::uint64_t word) { return word & std::uint64_t(digit_mask); };
    const int n_words = product.words[2] ? 3 : product.words[1] ? 2 : 1;
    if (place < 0) {
        put(cut_off(product, std::int64_t(-32) * place - shift), negative, part, line);
        return;
    }
    Wide rest = Wide(product.words[0]) << shift;
    for (int j = 1; j < n_words; ++j) {
        next(low_half(std::uint64_t(rest)));
        next(std::uint64_t(rest) >> digit_bits);
        rest = (rest >> 64) + (Wide(product.words[j]) << shift);
    }
    if (place + 2 * n_words < part.size) {  // the usual case; where digits end cannot be foretold
        next(low_half(std::uint64_t(rest)));
        next(std::uint64_t(rest) >> digit_bits);
        next(std::uint64_t(rest >> 64));
    } else {
        for (; rest != 0; rest >>= digit_bits) next(low_half(std::uint64_t(rest)));
    }
}

// The same of a whole number below 2^64 or (`wide`) 2^128, times 2^exponent: what a row of weight 1 brings.
template <bool wide>
inline void put_whole(Wide number, int exponent, bool negative, const Part &part, std::int64_t *line) {
    const int shift = exponent & 31;
    const std::int64_t sign = -std::int64_t(negative), place = (exponent >> 5) - part.low;
    if (place < 0 || place + (wide ? 5 : 3) > part.size) {
        put({{std::uint64_t(number), std::uint64_t(number >> 64), 0}, exponent}, negative, part, line);
        return;
    }
    std::int64_t *to = line + part.begin + place;
    const auto add = [=](int j, std::uint64_t digit) { to[j] += (std::int64_t(digit) ^ sign) - sign; };
    const Wide low = Wide(std::uint64_t(number)) << shift;
    add(0, std::uint64_t(low) & std::uint64_t(digit_mask));
    add(1, std::uint64_t(low) >> digit_bits);
    if constexpr (wide) {
        const Wide high = (Wide(std::uint64_t(number >> 64)) << shift) + (low >> 64);
        add(2, std::uint64_t(high) & std::uint64_t(digit_mask));
        add(3, std::uint64_t(high) >> digit_bits);
        add(4, std::uint64_t(high >> 64));
    } else {
        add(2, std::uint64_t(low >> 64));
    }
}

void add_number(const Part *parts, const Odd &weight, double number, bool subtract, std::int64_t *line) {
    const Odd x = odd(number);
    if (weight.mantissa == 1) {
        const std::int64_t place = (weight.exponent >> 5) - parts[0].low, one = std::int64_t(1)
                                                                                << (weight.exponent & 31);
        if (place >= 0) line[parts[0].begin + place] += subtract ? -one : one;
        if (x.mantissa == 0) return;
        put_whole<false>(x.mantissa, weight.exponent + x.exponent, x.negative != subtract, parts[1], line);
        put_whole<true>(Wide(x.mantissa) * x.mantissa, weight.exponent + 2 * x.exponent, subtract, parts[2], line);
        return;
    }
    put({{weight.mantissa, 0, 0}, weight.exponent}, subtract, parts[0], line);
    if (x.mantissa == 0) return;
    const Product first = times(weight, x);
    put(first, x.negative != subtract, parts[1], line);
    put(times(first, x), subtract, parts[2], line);
}

// --- reading -------------------------------------------------------------------------------------------------------

// A whole number times 2^(64 place), in words, without zeros at either end; `size` is 0 for 0.
struct Magnitude {
    const std::uint64_t *words;
    std::int64_t size, place;
    bool negative;
};

std::uint64_t *room_for(std::vector<std::uint64_t> &room, std::int64_t size) {
    if (std::int64_t(room.size()) < size) room.resize(std::size_t(2 * size));
    return room.data();
}

Magnitude trimmed(const std::uint64_t *words, std::int64_t size, std::int64_t place, bool negative) {
    while (size > 0 && words[size - 1] == 0) --size;
    while (size > 0 && *words == 0) ++words, ++place, --size;
    return {words, size, place, negative};
}

Magnitude magnitude(const Part &part, const std::int64_t *line, std::vector<std::uint64_t> &room) {
    if (part.size == 0) return {nullptr, 0, 0, false};
    const std::int64_t *from = line + part.begin;
    const bool negative = from[part.size - 1] < 0;
    const std::int64_t size = ((part.low & 1) + part.size + 2) / 2;
    std::uint64_t *words = room_for(room, size), low = 0;
    std::int64_t at = part.low & 1, carry = 0;  // digits of an odd place are the upper half of a word
    for (std::int64_t j = 0; j <= part.size; ++j, ++at) {
        if (j < part.size) carry += negative ? -from[j] : from[j];
        const auto digit = std::uint64_t(carry & digit_mask);
        carry >>= digit_bits;
        if (at & 1) words[at >> 1] = low | digit << digit_bits, low = 0;
        else low = digit;
    }
    if (at & 1) words[at >> 1] = low;
    return trimmed(words, (at + 1) >> 1, part.low >> 1, negative);
}

Magnitude product(const Magnitude &a, const Magnitude &b, std::vector<std::uint64_t> &room) {
    std::uint64_t *out = room_for(room, a.size + b.size);
    std::fill_n(out, b.size, 0);
    for (std::int64_t i = 0; i < a.size; ++i) {
        std::uint64_t carry = 0;
        for (std::int64_t j = 0; j < b.size; ++j) {
            const Wide sum = Wide(a.words[i]) * b.words[j] + out[i + j] + carry;
            out[i + j] = std::uint64_t(sum);
            carry = std::uint64_t(sum >> 64);
        }
        out[i + b.size] = carry;
    }
    return trimmed(out, a.size + b.size, a.place + b.place, false);
}

// a - b, or nothing where that is below 0.
Magnitude difference(const Magnitude &a, const Magnitude &b, std::vector<std::uint64_t> &room) {
    if (b.size == 0) return a;
    if (a.size == 0 || a.place + a.size < b.place + b.size) return {nullptr, 0, 0, false};
    const std::int64_t low = std::min(a.place, b.place), size = a.place + a.size - low, first = b.place - low;
    std::uint64_t *out = room_for(room, size);
    std::fill_n(out, size, 0);
    std::copy_n(a.words, a.size, out + (a.place - low));
    bool borrow = false;
    for (std::int64_t j = first; j < size && (borrow || j < first + b.size); ++j) {
        const Wide less = Wide(j < first + b.size ? b.words[j - first] : 0) + borrow;
        borrow = out[j] < less;
        out[j] -= std::uint64_t(less);
    }
    if (borrow) return {nullptr, 0, 0, false};
    return trimmed(out, size, low, false);
}

// (high + low) 2^exponent, good to 2^-100.
struct Twofold {
    double high, low;
    std::int64_t exponent;
};

// 63 of the bits are a number of their own, whose rounding is known.
Twofold twofold(Wide number, std::int64_t exponent) {
    const int zeros =
        number >> 64 ? std::countl_zero(std::uint64_t(number >> 64)) : 64 + std::countl_zero(std::uint64_t(number));
    number <<= zeros;
    const auto above = std::uint64_t(number >> 65);
    const double high = double(above), below = double(std::uint64_t(number >> 1) >> 1) * 0x1p-63;
    return {high, double(std::int64_t(above - std::uint64_t(high))) + below, exponent - zeros + 65};
}

Twofold twofold(const Magnitude &m) {
    const auto word = [&](std::int64_t j) { return j <= m.size ? m.words[m.size - j] : 0; };
    const int zeros = std::countl_zero(word(1));
    Wide top = (Wide(word(1)) << 64 | word(2)) << zeros;
    if (zeros > 0) top |= word(3) >> (64 - zeros);
    return twofold(top, 64 * (m.place + m.size - 2) - zeros);
}

// The highest digits of a sum, at least 94 bits where there are so many; they do not depend on its window. 0 for 0.
Twofold leading(const Part &part, const std::int64_t *line) {
    constexpr __int128 enough = __int128(1) << 94;
    __int128 sum = 0;
    std::int64_t j = part.size;
    while (j > 0 && sum < enough && sum > -enough) sum = sum * (digit_mask + 1) + line[part.begin + --j];
    if (sum == 0) return {0, 0, 0};
    Twofold out = twofold(sum < 0 ? Wide(-sum) : Wide(sum), digit_bits * (part.low + j));
    if (sum < 0) out.high = -out.high, out.low = -out.low;
    return out;
}

// x 2^exponent, without a call where both are ordinary.
double times_power(double x, std::int64_t exponent) {
    if (exponent > -960 && exponent < 950 && std::abs(x) < 0x1p70 && std::abs(x) > 0x1p-70)
        return x * std::bit_cast<double>(std::uint64_t(exponent + 1023) << 52);
    return std::ldexp(x, int(std::clamp<std::int64_t>(exponent, -100000, 100000)));
}

// `inverse` is that of b.high; what it is wrong by is in the rest.
Twofold quotient(const Twofold &a, const Twofold &b, double inverse) {
    const double q = a.high * inverse;
    const double rest = (std::fma(-q, b.high, a.high) + (a.low - q * b.low)) * inverse;
    const double high = q + rest;
    return {high, rest - (high - q), a.exponent - b.exponent};
}

double as_double(const Twofold &a) { return times_power(a.high + a.low, a.exponent); }

// The root of `square` - mean², or -1 where these are so near that too few of 100 bits are left.
double root_of_difference(const Twofold &square, const Twofold &mean) {
    const std::int64_t shift = 2 * mean.exponent - square.exponent;
    if (shift < -900 || shift > 900) return -1;
    const double unit = times_power(1, shift);
    const double high = mean.high * mean.high * unit;
    const double low = (std::fma(mean.high, mean.high, -mean.high * mean.high) + 2 * mean.high * mean.low) * unit;
    double variance = (square.high - high) + (square.low - low);
    if (!(variance > 0x1p-40 * square.high)) return -1;
    std::int64_t exponent = square.exponent;
    if (exponent & 1) variance *= 2, --exponent;
    return times_power(std::sqrt(variance), exponent / 2);
}

// The root of (W B - A²) / W². This is a whole number over another, so nothing cancels that should not.
double exact_root(const Part *parts, const std::int64_t *line, const Twofold &w, Scratch &scratch) {
    const Magnitude weight = magnitude(parts[0], line, scratch.weight),
                    first = magnitude(parts[1], line, scratch.first),
                    second = magnitude(parts[2], line, scratch.second);
    const Magnitude spread =
        difference(product(weight, second, scratch.left), product(first, first, scratch.right), scratch.second);
    if (spread.size == 0) return 0;
    Twofold v = twofold(spread);
    if (v.exponent & 1) v.high *= 2, --v.exponent;
    return times_power(std::sqrt(v.high) / w.high, v.exponent / 2 - w.exponent);
}

}  // namespace

// --- rows to digits ------------------------------------------------------------------------------------------------

void Extremes::see(const double *row, double weight) {
    const Odd w = odd(weight);
    if (w.mantissa == 0) return;
    weight_.see(w.exponent, length(w.mantissa));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (!std::isfinite(row[i])) continue;
        present_[i] = 1;
        const Odd x = odd(row[i]);
        if (x.mantissa != 0) columns_[i].see(x.exponent, length(x.mantissa));
    }
}

void Extremes::stretch(std::int64_t *bounds) const {
    const auto cover = [](std::int64_t *own, std::int64_t low, std::int64_t high) {
        own[0] = std::min(own[0], low >> 5);
        own[1] = std::max(own[1], ((high - 1) >> 5) + 1);
    };
    for (std::size_t i = 0; i < columns_.size(); ++i, bounds += 6) {
        if (!present_[i]) continue;
        cover(bounds, weight_.low, weight_.high);
        const Range &x = columns_[i];
        if (x.low >= x.high) continue;
        cover(bounds + 2, weight_.low + x.low, weight_.high + x.high);
        cover(bounds + 4, weight_.low + 2 * x.low, weight_.high + 2 * x.high);
    }
}

void spell(const Sums &sums, const double *row, double weight, std::int64_t *out) {
    std::fill_n(out, sums.width, 0);
    add_row(sums, row, weight, false, out);
}

void add_row(const Sums &sums, const double *row, double weight, bool subtract, std::int64_t *line) {
    const Odd w = odd(weight);
    if (w.mantissa == 0) return;
    const Part *parts = sums.parts.data();
    for (int i = 0; i < sums.n; ++i, parts += 3)
        if (std::isfinite(row[i])) add_number(parts, w, row[i], subtract, line);
}

void add(std::int64_t *to, const std::int64_t *row, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) to[j] += row[j];
}

void subtract(std::int64_t *from, const std::int64_t *row, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) from[j] -= row[j];
}

void normalise(const Sums &sums, std::int64_t *line) {
    for (int i = 0; i < sums.n; ++i) normalise(sums, line, i);
}

void normalise(const Sums &sums, std::int64_t *line, int column) {
    for (const Part *part = sums.parts.data() + 3 * column, *end = part + 3; part < end; ++part) {
        std::int64_t *own = line + part->begin, carry = 0;
        for (std::int64_t j = 0; j + 1 < part->size; ++j) {
            carry += own[j];
            own[j] = carry & digit_mask;
            carry >>= digit_bits;
        }
        if (part->size > 0) own[part->size - 1] += carry;
    }
}

void scale(const Sums &sums, std::int64_t *line, std::uint64_t mantissa, int exponent, Scratch &scratch) {
    const int shift = exponent & 31;
    for (const Part &part : sums.parts) {
        const Magnitude old = magnitude(part, line, scratch.first);
        std::int64_t *own = line + part.begin;
        std::fill_n(own, part.size, 0);
        if (old.size == 0) continue;
        const Magnitude scaled = product(old, {&mantissa, 1, 0, false}, scratch.left);
        std::int64_t to = 2 * scaled.place + (exponent >> 5) - part.low;
        const auto put_digit = [&](std::uint64_t digit) {
            const auto d = std::int64_t(digit & std::uint64_t(digit_mask));
            if (to >= 0 && to < part.size) own[to] = old.negative ? -d : d;
            ++to;
        };
        std::uint64_t carry = 0;  // below 2^shift, and what is added to it has that many zeros at its end
        for (std::int64_t j = 0; j < 2 * scaled.size; ++j) {
            const std::uint64_t digit = (scaled.words[j / 2] >> (digit_bits * (j & 1))) & std::uint64_t(digit_mask);
            carry |= digit << shift;
            put_digit(carry);
            carry >>= digit_bits;
        }
        put_digit(carry);
    }
    normalise(sums, line);
}

Cell read(const Sums &sums, const std::int64_t *line, int column, Scratch &scratch) {
    const Part *parts = sums.parts.data() + 3 * column;
    const Twofold w = leading(parts[0], line), first = leading(parts[1], line), second = leading(parts[2], line);
    if (!(w.high > 0)) return {0, 0, 0};
    const double inverse = 1 / w.high;
    const Twofold mean = quotient(first, w, inverse);
    Cell cell{std::min(largest, as_double(w)), std::clamp(as_double(mean), -largest, largest), 0,
              times_power(mean.low, mean.exponent)};
    if (!(second.high > 0)) return cell;  // all are 0
    double deviation = root_of_difference(quotient(second, w, inverse), mean);
    if (deviation < 0) deviation = exact_root(parts, line, w, scratch);
    cell.deviation = beyond_rounding(std::min(deviation, largest), cell.mean);
    if (cell.deviation == 0) cell.rest = 0;  // the mean is the number that all rows have
    return cell;
}

Cell read_without(const Sums &sums, const std::int64_t *line, int column, double x, double weight, Scratch &scratch) {
    const Part *parts = sums.parts.data() + 3 * column;
    const std::int64_t begin = parts[0].begin, end = parts[2].begin + parts[2].size;
    if (std::int64_t(scratch.line.size()) < sums.width) scratch.line.resize(std::size_t(sums.width));
    std::copy(line + begin, line + end, scratch.line.begin() + begin);
    const Odd w = odd(weight);
    if (w.mantissa != 0 && std::isfinite(x)) add_number(parts, w, x, true, scratch.line.data());
    normalise(sums, scratch.line.data(), column);
    return read(sums, scratch.line.data(), column, scratch);
}

}  // namespace tanager::exact
