// From the codes of a row to slots of the store.
#pragma once
#include <limits>
#include <type_traits>

#include "batch.hpp"
#include "store.hpp"

namespace tanager {

// A value keeps its code, everything else is missing. With `smooth` the code n_values (an unseen value) keeps its own
// slot, a spare one that holds zeros. So whatever the codes are, slots lie within the layout.
struct Slots {
    std::vector<int> limit, missing;

    Slots() = default;
    Slots(const Layout &layout, bool smooth) {
        for (int i = 0; i < layout.n; ++i) {
            limit.push_back(smooth ? layout.n_values[i] + 1 : layout.n_values[i]);
            missing.push_back(layout.missing_slot(i));
        }
    }
    // The slots of row r. False where some code is neither a value nor the marker of its type.
    bool read(const Codes &codes, std::int64_t r, int *slot) const {
        return codes.wide ? read_as<std::uint16_t>(codes, r, slot) : read_as<std::uint8_t>(codes, r, slot);
    }

  private:
    template <class Code>
    bool read_as(const Codes &codes, std::int64_t r, int *slot) const {
        // The usual layout with a step that the compiler knows: it takes several codes at a time then.
        constexpr std::ptrdiff_t size = sizeof(Code);
        const std::byte *row = codes.cell(r);
        if (codes.column_step == size) return read_row<Code>(row, std::integral_constant<std::ptrdiff_t, size>(), slot);
        return read_row<Code>(row, codes.column_step, slot);
    }
    template <class Code, class Step>
    bool read_row(const std::byte *row, Step step, int *__restrict slot) const {
        const int n = int(limit.size()), *most = limit.data(), *none = missing.data();
        bool known = true;
        for (int i = 0; i < n; ++i) {
            const int code = load<Code>(row + i * step);
            const bool value = code < most[i];
            slot[i] = value ? code : none[i];
            known &= value | (code == std::numeric_limits<Code>::max());
        }
        return known;
    }
};

}  // namespace tanager
