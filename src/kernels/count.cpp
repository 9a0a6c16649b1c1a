#include "count.hpp"

namespace tanager {

Needed count(const Rows& rows, const Store& store, double sign, std::size_t, Method) {
    Needed needed(store);
    check_rows(rows, store, 0, rows.n_rows, needed);
    if (!needed.exceeded) add_rows(rows, store, sign);
    return needed;
}

}  // namespace tanager
