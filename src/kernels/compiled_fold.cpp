// Terms of a sum that are added up beforehand: how attributes are taken into blocks, and terms into folds.
#include "compiled.hpp"

namespace tanager::scoring {

namespace {

constexpr int kMostBlock = 9;                 // slots of a block: two attributes of two values, or missing
constexpr int kFewTerms = 4;                  // in a sum that is quick as it is
constexpr std::int64_t kMostCells = 1 << 20;  // of all tables, lest they leave the cache
constexpr int kMostLanes = 8;                 // the kernels for more classes read terms only
constexpr int kMostAttributes = 32767;

using Pair = std::pair<int, int>;

std::vector<int> parents_of(const CompiledTerm &term) {
    if (!term.parents.empty() || term.stride == 0) return term.parents;
    return {term.parent};
}

}  // namespace

void Compiled::make_blocks() {
    block_step.assign(n, 1);
    for (int i = 0; i < n; ++i) {
        const bool joins = i > 0 && block_step[i - 1] == 1 && n_slots[i - 1] * n_slots[i] <= kMostBlock;
        if (joins) block_step[i] = n_slots[i - 1];
        else block_size.push_back(1);
        block.push_back(int(block_size.size()) - 1);
        block_size.back() *= n_slots[i];
    }
}

// The terms of a group by the two blocks that hold their parents. Terms with parents in one block join others.
std::map<Pair, std::vector<int>> Compiled::by_blocks(const CompiledGroup &g) const {
    std::map<Pair, std::vector<int>> parts;
    std::vector<std::vector<int>> inside(block_size.size());
    std::vector<Pair> home(block_size.size(), {-1, -1});
    for (int t = g.first; t < g.last; ++t) {
        const auto parents = parents_of(terms[t]);
        const int b = block[parents.empty() ? parents_of(terms[g.last - 1])[0] : parents.front()];
        const int b2 = parents.empty() ? b : block[parents.back()];
        if (b == b2) inside[b].push_back(t);
        else parts[home[b] = home[b2] = std::minmax(b, b2)].push_back(t);
    }
    int waiting = -1;
    for (int b = 0; b < int(inside.size()); ++b) {
        if (inside[b].empty() || home[b].first >= 0) continue;
        home[b] = {b, b};
        const bool joins = waiting >= 0 && block_size[waiting] * block_size[b] <= kMostBlock * kMostBlock;
        if (joins) home[b] = home[waiting] = {waiting, b};
        waiting = joins ? -1 : b;
    }
    for (std::size_t b = 0; b < inside.size(); ++b)
        if (!inside[b].empty()) parts[home[b]].insert(parts[home[b]].end(), inside[b].begin(), inside[b].end());
    return parts;
}

void Compiled::add_up(const std::vector<int> &own, const CompiledFold &fold, int child) {
    const int size = block_size[fold.block], size2 = fold.stride2 ? block_size[fold.block2] : 1;
    const int width = n_slots[child] * stride;
    std::vector<std::int64_t> step(size), step2(size2);
    for (const int t : own) {
        const auto parents = parents_of(terms[t]);
        const std::int64_t strides[] = {terms[t].stride, terms[t].stride2};
        std::fill(step.begin(), step.end(), 0);
        std::fill(step2.begin(), step2.end(), 0);
        for (std::size_t q = 0; q < parents.size(); ++q) {
            const int i = parents[q];
            auto &steps = block[i] == fold.block ? step : step2;
            for (int v = 0; v < int(steps.size()); ++v) steps[v] += v / block_step[i] % n_slots[i] * strides[q];
        }
        double *to = tables.data() + fold.table;
        for (int v = 0; v < size; ++v)
            for (int w = 0; w < size2; ++w, to += width) {
                const double *from = tables.data() + terms[t].table + step[v] + step2[w];
                for (int at = 0; at < width; ++at) to[at] += from[at];
            }
    }
}

void Compiled::fold() {
    if (stride > kMostLanes || n > kMostAttributes) return;
    make_blocks();
    std::int64_t cells = std::int64_t(tables.size());
    std::vector<std::vector<int>> added;  // the terms of every fold
    for (CompiledGroup &g : groups) {
        g.first_fold = g.last_fold = int(folds.size());
        const int n_terms = g.last - g.first;
        if (n_terms < kFewTerms || g.triples < g.last || !g.lanes.empty()) continue;
        const auto parts = by_blocks(g);
        const std::int64_t width = std::int64_t(n_slots[g.child]) * stride;
        std::int64_t more = 0;
        const auto size2 = [&](const Pair &pair) { return pair.first == pair.second ? 1 : block_size[pair.second]; };
        for (const auto &[pair, own] : parts) more += width * block_size[pair.first] * size2(pair);
        if (3 * int(parts.size()) > 2 * n_terms || cells + more > kMostCells) continue;
        for (const auto &[pair, own] : parts) {
            const int step = size2(pair);
            folds.push_back({std::int16_t(pair.first), std::int16_t(pair.second), std::int32_t(cells),
                             std::int32_t(width * step), std::int32_t(step > 1 ? width : 0)});
            added.push_back(own);
            cells += width * block_size[pair.first] * step;
        }
        g.last_fold = int(folds.size());
    }
    tables.resize(std::size_t(cells), 0.0);
    for (const CompiledGroup &g : groups)
        for (int q = g.first_fold; q < g.last_fold; ++q) add_up(added[q], folds[q], g.child);
}

}  // namespace tanager::scoring
