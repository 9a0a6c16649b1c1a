#include "count_merge.hpp"

#include "interrupt.hpp"

namespace tanager {

namespace {

// The slot of the store behind a slot of the plan: the last is "missing" in both, with spare room before it there.
std::size_t store_slot(const CountingPlan &plan, std::size_t i, std::size_t slot) {
    return slot + 1 == plan.slots[i] ? std::size_t(plan.store.n_slots[i]) - 1 : slot;
}

template <class Cell>
double sum_of_copies(const Cell *cells, const Block &block, std::size_t cell) {
    double sum = 0.0;
    for (std::size_t k = 0; k < block.copies; ++k)
        sum += static_cast<double>(cells[block.start + k * block.cells + cell]);
    return sum;
}

// counts: [slot_i, slot_j, context]
void add_pair(const CountingPlan &plan, const PairTable &table, std::size_t i, std::size_t j, const double *counts,
              double sign) {
    const Store &store = plan.store;
    const std::size_t start = std::size_t(store.offsets[table.first]), width = std::size_t(store.width) - start;
    const std::size_t n_classes = plan.n_classes, n_outer = table.n_contexts / n_classes;
    const std::size_t depth = (table.anchored ? std::size_t(store.n_slots[table.anchor]) : 1) * n_classes;
    for (std::size_t v = 0; v < plan.slots[i]; ++v) {
        for (std::size_t w = 0; w < plan.slots[j]; ++w) {
            const std::size_t g = std::size_t(store.offsets[i]) - start + store_slot(plan, i, v);
            const std::size_t h = std::size_t(store.offsets[j]) - start + store_slot(plan, j, w);
            for (std::size_t u = 0; u < n_outer; ++u) {
                const std::size_t at = (table.anchored ? store_slot(plan, table.anchor, u) : 0) * n_classes;
                double *upper = table.cells + (g * width + h) * depth + at;
                double *lower = table.cells + (h * width + g) * depth + at;
                for (std::size_t c = 0; c < n_classes; ++c, ++counts) {
                    upper[c] += sign * *counts;
                    lower[c] += sign * *counts;
                }
            }
        }
    }
}

// The ones of slot v >= 1 of member p, within a context.
std::size_t ones_cell(const CountingPlan &plan, const PairTable &table, std::size_t p, std::size_t v) {
    const bool missing = v + 1 == plan.slots[table.members[p]];
    return 1 + (missing ? table.n_value_slices() + p : table.value_begin[p] + v - 1);
}

// Adds the pairs of a table that were counted by bits. There may be a hundred thousand of them, for few rows: what
// depends on one member alone is looked up once, and slots for missing that no row has are passed over.
class BitPairs {
  public:
    BitPairs(const CountingPlan &plan, const PairTable &table, const std::uint32_t *cells)
        : plan_(plan), table_(table), contexts_(cells + table.start),
          start_(std::size_t(plan.store.offsets[table.first])), width_(std::size_t(plan.store.width) - start_),
          n_outer_(table.n_contexts / plan.n_classes),
          depth_((table.anchored ? std::size_t(plan.store.n_slots[table.anchor]) : 1) * plan.n_classes) {
        for (std::size_t p = 0; p < table.members.size(); ++p) look_up(p);
        for (std::size_t u = 0; u < n_outer_; ++u)
            outer_.push_back((table.anchored ? store_slot(plan, table.anchor, u) : 0) * plan.n_classes);
    }
    void add(double sign) {
        for (std::size_t p = 0; p < members_.size(); ++p) {
            check_interrupt();
            for (std::size_t q = p + 1; q < table_.limit[p]; ++q) {
                check_interrupt(std::int64_t(q));  // the first member touches all pages of a table, which takes long
                add_pair(members_[p], members_[q], sign);
            }
        }
    }

  private:
    struct Member {
        std::size_t at, n_values, n_slots;  // its number; slots with a value, and all that occur
        std::size_t value, line, ones;      // its first value slice; where its lines of the store and its ones begin
    };
    const CountingPlan &plan_;
    const PairTable &table_;
    const std::uint32_t *contexts_;
    const std::size_t start_, width_, n_outer_, depth_;
    std::vector<Member> members_;
    std::vector<std::size_t> lines_, ones_;  // of all slots of all members: line of the store, cell within a context
    std::vector<std::size_t> outer_;         // per slot of the anchor: its cells within those of a pair
    std::vector<double> counts_;             // [slot_p, slot_q, context]

    void look_up(std::size_t p) {
        const std::size_t i = table_.members[p], n_slots = plan_.slots[i];
        members_.push_back({p, n_slots - 1, n_slots, table_.value_begin[p], lines_.size(), ones_.size()});
        for (std::size_t v = 0; v < n_slots; ++v) {
            lines_.push_back(std::size_t(plan_.store.offsets[i]) - start_ + store_slot(plan_, i, v));
            ones_.push_back(v == 0 ? 0 : ones_cell(plan_, table_, p, v));
        }
        if (n_slots > 1 && never(ones_.back())) --members_.back().n_slots;
    }
    bool never(std::size_t cell) const {
        for (std::size_t context = 0; context < table_.n_contexts; ++context)
            if (contexts_[context * table_.context_cells + cell] > 0) return false;
        return true;
    }
    // The conjunction of slot v >= 1 of member p and slot w >= 1 of member q > p, within a context.
    std::size_t both(const Member &p, std::size_t v, const Member &q, std::size_t w) const {
        const std::size_t x = p.value + v - 1, y = q.value + w - 1;
        if (v == p.n_values)
            return w == q.n_values ? table_.both_missing_row[p.at] + q.at : table_.missing_row[y] + p.at;
        return w == q.n_values ? table_.missing_row[x] + q.at : table_.value_row[x] + y;
    }
    // One context of a pair. Slot 0 is what the sliced slots leave of the margins.
    void derive(const Member &p, const Member &q, const std::uint32_t *context, double *counts) const {
        const std::size_t step = table_.n_contexts, b = q.n_slots;
        double rest = context[0];
        for (std::size_t w = 1; w < b; ++w) {
            const double margin = context[ones_[q.ones + w]];
            counts[w * step] = margin;
            rest -= margin;
        }
        for (std::size_t v = 1; v < p.n_slots; ++v) {
            double left = context[ones_[p.ones + v]];
            for (std::size_t w = 1; w < b; ++w) {
                const double together = context[both(p, v, q, w)];
                counts[(v * b + w) * step] = together;
                counts[w * step] -= together;
                left -= together;
            }
            counts[v * b * step] = left;
            rest -= left;
        }
        counts[0] = rest;
    }
    void add_pair(const Member &p, const Member &q, double sign) {
        counts_.resize(p.n_slots * q.n_slots * table_.n_contexts);
        for (std::size_t context = 0; context < table_.n_contexts; ++context)
            derive(p, q, contexts_ + context * table_.context_cells, counts_.data() + context);
        const double *counts = counts_.data();
        const std::size_t n_classes = plan_.n_classes;
        for (std::size_t v = 0; v < p.n_slots; ++v) {
            const std::size_t g = lines_[p.line + v];
            for (std::size_t w = 0; w < q.n_slots; ++w) {
                const std::size_t h = lines_[q.line + w];
                double *upper = table_.cells + (g * width_ + h) * depth_;
                double *lower = table_.cells + (h * width_ + g) * depth_;
                for (const std::size_t at : outer_)
                    for (std::size_t c = at; c < at + n_classes; ++c, ++counts) {
                        upper[c] += sign * *counts;
                        lower[c] += sign * *counts;
                    }
            }
        }
    }
};

void add_bit_singles(const CountingPlan &plan, const std::uint32_t *cells, double sign) {
    const PairTable &table = plan.tables.front();
    for (std::size_t p = 0; p < table.members.size(); ++p) {
        const std::size_t i = table.members[p];
        for (std::size_t c = 0; c < plan.n_classes; ++c) {
            const std::uint32_t *context = cells + table.start + c * table.context_cells;
            double *column = plan.store.singles + std::size_t(plan.store.offsets[i]) * plan.n_classes + c;
            double rest = context[0];
            for (std::size_t v = 1; v < plan.slots[i]; ++v) {
                const double count = context[ones_cell(plan, table, p, v)];
                column[store_slot(plan, i, v) * plan.n_classes] += sign * count;
                rest -= count;
            }
            column[store_slot(plan, i, 0) * plan.n_classes] += sign * rest;
        }
    }
}

}  // namespace

// All attributes but the last are gone through digit by digit; the values of the last stand one behind the other.
template <class Cell>
void add_family(const CountingPlan &plan, const FamilyTable &table, const Cell *cells) {
    const Family &family = *table.family;
    const std::size_t n_before = family.attributes.size() - 1, k = plan.n_classes;
    const auto last = std::size_t(family.attributes.back());
    const std::size_t n_values = (plan.slots[last] - 1) * k;  // cells before those of the missing slot
    const std::size_t gap = (std::size_t(plan.store.n_slots[last]) - 1) * k - n_values;
    const Block &block = table.block;
    std::vector<std::size_t> digit(n_before, 0);
    for (std::size_t from = 0; from < block.cells; from += n_values + k) {
        double *to = family.cells;
        for (std::size_t d = 0; d < n_before; ++d)
            to += std::int64_t(store_slot(plan, std::size_t(family.attributes[d]), digit[d])) * family.strides[d];
        for (std::size_t cell = 0; cell < n_values + k; ++cell)
            to[cell < n_values ? cell : cell + gap] += plan.sign * sum_of_copies(cells, block, from + cell);
        for (std::size_t d = n_before; d-- > 0;) {
            if (++digit[d] < plan.slots[std::size_t(family.attributes[d])]) break;
            digit[d] = 0;
        }
    }
}

template <class Cell>
void add_to_store(const CountingPlan &plan, const std::vector<Cell> &cells) {
    const double sign = plan.sign;
    const Store &store = plan.store;
    for (std::size_t c = 0; c < plan.n_classes; ++c) store.classes[c] += sign * static_cast<double>(cells[c]);
    for (std::size_t i = 0; i < plan.slots.size(); ++i) {
        for (std::size_t cell = 0; cell < plan.singles[i].cells; ++cell) {
            const std::size_t slot = std::size_t(store.offsets[i]) + store_slot(plan, i, cell / plan.n_classes);
            store.singles[slot * plan.n_classes + cell % plan.n_classes] +=
                sign * sum_of_copies(cells.data(), plan.singles[i], cell);
        }
    }
    std::vector<double> counts;
    for (const PairTable &table : plan.tables) {
        for (const auto &[i, j, block] : table.increments) {
            check_interrupt();
            counts.resize(block.cells);
            for (std::size_t cell = 0; cell < block.cells; ++cell)
                counts[cell] = sum_of_copies(cells.data(), block, cell);
            add_pair(plan, table, i, j, counts.data(), sign);
        }
    }
    for (const FamilyTable &table : plan.families) {
        check_interrupt();
        if (!plan.one_block) add_family(plan, table, cells.data());
    }
    if constexpr (std::is_same_v<Cell, std::uint32_t>) {
        add_bit_singles(plan, cells.data(), sign);
        for (const PairTable &table : plan.tables) BitPairs(plan, table, cells.data()).add(sign);
    }
}

template void add_family(const CountingPlan &, const FamilyTable &, const std::uint32_t *);
template void add_family(const CountingPlan &, const FamilyTable &, const double *);
template void add_to_store(const CountingPlan &, const std::vector<std::uint32_t> &);
template void add_to_store(const CountingPlan &, const std::vector<double> &);

}  // namespace tanager
