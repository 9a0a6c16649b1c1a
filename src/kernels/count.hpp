// Joint counts of coded rows: the classes, each attribute, each pair, chosen triples and chosen families.
//
// Codes are uint8 or uint16; the largest number of the type marks a missing value. Attribute i owns the global slots
// offsets[i] .. offsets[i + 1] - 1: one per value, some spare, and the last for "missing". The tables, class innermost:
//
//   classes [c]                    N(y = c)
//   singles [g, c]                 g a global slot
//   pairs   [g, h, c]              both triangles; blocks of an attribute with itself stay 0
//   triples [g', h', slot_s, c]    for an anchor s and first attribute f: pairs of the attributes >= f, their slots
//                                  counted from offsets[f], with the compound class (x_s, y); those of s stay 0
//   families[slot_p1, ..., slot_child, c]
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tanager {

inline constexpr std::uint32_t kMissing = 0xFFFFFFFF;

struct Rows {
    const std::byte *codes = nullptr;
    std::ptrdiff_t row_step = 0, column_step = 0;  // in bytes; may be negative
    std::size_t code_size = 1;                     // bytes per code, 1 or 2
    const std::byte *labels = nullptr;
    std::ptrdiff_t label_step = 0;
    std::size_t label_size = 1;
    const std::byte *weights = nullptr;  // float64, or nullptr when every row weighs 1
    std::ptrdiff_t weight_step = 0;
    std::size_t n_rows = 0;

    static std::uint32_t read(const std::byte *at, std::size_t size) {
        if (size == 1) {
            const auto code = std::to_integer<std::uint32_t>(*at);
            return code == 0xFF ? kMissing : code;
        }
        std::uint16_t code;
        std::memcpy(&code, at, sizeof code);
        return code == 0xFFFF ? kMissing : code;
    }
    const std::byte *cell(std::size_t r, std::size_t i) const {
        return codes + static_cast<std::ptrdiff_t>(r) * row_step + static_cast<std::ptrdiff_t>(i) * column_step;
    }
    std::uint32_t code(std::size_t r, std::size_t i) const { return read(cell(r, i), code_size); }
    std::uint32_t label(std::size_t r) const {
        return read(labels + static_cast<std::ptrdiff_t>(r) * label_step, label_size);
    }
    double weight(std::size_t r) const {
        if (weights == nullptr) return 1.0;
        double value;
        std::memcpy(&value, weights + static_cast<std::ptrdiff_t>(r) * weight_step, sizeof value);
        return value;
    }
};

struct Triples {
    std::size_t anchor = 0, first = 0;
    double *cells = nullptr;
};

struct Family {
    std::vector<std::size_t> attributes;  // parents, then the child
    double *cells = nullptr;
};

struct Store {
    std::vector<std::int64_t> offsets;   // n + 1
    std::vector<std::int64_t> n_values;  // n
    std::size_t n_classes = 0;
    double *classes = nullptr;
    double *singles = nullptr;
    double *pairs = nullptr;  // nullptr: not asked for
    std::vector<Triples> triples;
    std::vector<Family> families;

    std::size_t n_attributes() const { return n_values.size(); }
    std::size_t n_slots() const { return static_cast<std::size_t>(offsets.back()); }
    std::size_t offset(std::size_t i) const { return static_cast<std::size_t>(offsets[i]); }
    std::size_t rooms(std::size_t i) const { return offset(i + 1) - offset(i); }
    std::size_t values(std::size_t i) const { return static_cast<std::size_t>(n_values[i]); }
};

// How pairs are counted: by the cost model, or forced (for tests and benchmarks).
enum class Method { automatic, bits, increments };

// The sizes a batch would need: per attribute its largest code + 1, and last the same of the class; at least the given.
struct Needed {
    std::vector<std::int64_t> sizes;
    bool exceeded = false;

    explicit Needed(const Store &store);
    void see(std::size_t i, std::int64_t size) {
        if (size > sizes[i]) {
            sizes[i] = size;
            exceeded = true;
        }
    }
    void merge(const Needed &other) {
        for (std::size_t i = 0; i < sizes.size(); ++i) see(i, other.sizes[i]);
    }
};

// Adds sign times every labelled row to the store; or, when a code or label is too large for it, adds nothing and says
// so in the result.
Needed count(const Rows &rows, const Store &store, double sign, std::size_t n_jobs, Method method);

// The row-by-row way, used for small batches: look at the codes of rows [begin, end), then add them cell by cell.
void check_rows(const Rows &rows, const Store &store, std::size_t begin, std::size_t end, Needed &needed);
void add_rows(const Rows &rows, const Store &store, double sign);

}  // namespace tanager
