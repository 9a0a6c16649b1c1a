#include "separation.hpp"

#include <algorithm>

#include "chi_square.hpp"

namespace tanager {

bool IndependenceTest::independent(const Information &information) const {
    if (kind == Kind::threshold) return information.value <= bound;
    const double df = naive ? information.naive_df : information.df;
    if (guard && information.rows < 5 * df) return true;
    const double statistic = kind == Kind::pearson ? information.pearson : 2 * information.rows * information.value;
    return !(df > 0) || chi_square_tail(statistic, df) >= bound;
}

void BlockGraph::join(int a, int b) {
    for (const auto &[u, v] : {std::pair(a, b), std::pair(b, a)}) {
        joined_[std::size_t(u)][std::size_t(v)] = 1;
        std::vector<int> &own = neighbours_[std::size_t(u)];
        own.insert(std::lower_bound(own.begin(), own.end(), v), v);
    }
    if (known_ && shared(a, b) < 0) known_ = false;  // an edge inside a block changes no block
}

void BlockGraph::part(int a, int b) {
    for (const auto &[u, v] : {std::pair(a, b), std::pair(b, a)}) {
        joined_[std::size_t(u)][std::size_t(v)] = 0;
        std::vector<int> &own = neighbours_[std::size_t(u)];
        own.erase(std::find(own.begin(), own.end(), v));
    }
    known_ = false;
}

int BlockGraph::shared(int a, int b) const {
    for (const int block : of_[std::size_t(a)])
        if (std::find(of_[std::size_t(b)].begin(), of_[std::size_t(b)].end(), block) != of_[std::size_t(b)].end())
            return block;
    return -1;
}

void BlockGraph::find_blocks() {
    blocks_.clear();
    of_.assign(size(), {});
    last_ = -1;
    std::vector<int> depth(size(), -1);
    for (std::size_t node = 0; node < size(); ++node)
        if (depth[node] < 0) search(int(node), depth);
    known_ = true;
}

// Depth first; where nothing below a node leads past the node above it, its subtree and that node are a block.
void BlockGraph::search(int root, std::vector<int> &depth) {
    struct Step {
        int node, lowest;         // the smallest depth that its subtree has an edge to
        std::size_t next, start;  // the neighbour to look at, and where its subtree starts among the open nodes
    };
    std::vector<Step> path{{root, 0, 0, 0}};
    std::vector<int> open_nodes;  // below the root, in no block yet
    depth[std::size_t(root)] = 0;
    while (true) {
        Step &step = path.back();
        const std::vector<int> &own = neighbours_[std::size_t(step.node)];
        int fresh = -1;
        while (step.next < own.size() && fresh < 0) {
            const int other = own[step.next++], seen = depth[std::size_t(other)];
            if (seen < 0) fresh = other;
            else step.lowest = std::min(step.lowest, seen);
        }
        if (fresh >= 0) {
            const int above = int(path.size()) - 1;
            depth[std::size_t(fresh)] = above + 1;
            path.push_back({fresh, above, 0, open_nodes.size()});
            open_nodes.push_back(fresh);
            continue;
        }
        const Step done = step;
        path.pop_back();
        if (path.empty()) return;
        path.back().lowest = std::min(path.back().lowest, done.lowest);
        if (done.lowest < int(path.size()) - 1) continue;
        std::vector<int> block(open_nodes.begin() + std::ptrdiff_t(done.start), open_nodes.end());
        block.push_back(path.back().node);
        open_nodes.resize(done.start);
        for (const int node : block) of_[std::size_t(node)].push_back(int(blocks_.size()));
        blocks_.push_back(std::move(block));
    }
}

std::vector<char> BlockGraph::between(int a, int b) {
    if (!known_) find_blocks();
    const int both = shared(a, b);
    if (both >= 0 && both == last_) {
        std::vector<char> found = last_flags_;
        found[std::size_t(a)] = found[std::size_t(b)] = 0;
        return found;
    }
    std::vector<char> found(size(), 0);
    const auto add = [&](int block) {
        for (const int node : blocks_[std::size_t(block)]) found[std::size_t(node)] = 1;
    };
    if (both >= 0) {
        add(both);
        last_ = both;
        last_flags_ = found;
    } else {  // the blocks on the one way from a to b, where there is a way
        constexpr int unseen = -2, first = -1;
        std::vector<int> came(blocks_.size(), unseen), queue;
        for (const int block : of_[std::size_t(a)]) {
            came[std::size_t(block)] = first;
            queue.push_back(block);
        }
        for (std::size_t at = 0; at < queue.size(); ++at) {
            const int block = queue[at];
            const std::vector<int> &nodes = blocks_[std::size_t(block)];
            if (std::find(nodes.begin(), nodes.end(), b) != nodes.end()) {
                for (int back = block; back != first; back = came[std::size_t(back)]) add(back);
                break;
            }
            for (const int node : nodes)
                for (const int other : of_[std::size_t(node)])
                    if (came[std::size_t(other)] == unseen) {
                        came[std::size_t(other)] = block;
                        queue.push_back(other);
                    }
        }
    }
    found[std::size_t(a)] = found[std::size_t(b)] = 0;
    return found;
}

Information Separation::look_up(int a, int b, const std::vector<int> &between) {
    const bool pearson = test.kind == IndependenceTest::Kind::pearson;
    return known.ask(nodes[std::size_t(a)], nodes[std::size_t(b)], places(between), pearson,
                     between.empty() ? nullptr : &searched);
}

Information Separation::ask(int a, int b, const std::vector<int> &between) {
    ++n_tests;
    return look_up(a, b, between);
}

const Variables &Separation::places(const std::vector<int> &some) {
    conditions = given;
    for (const int c : some) conditions.push_back(nodes[std::size_t(c)]);
    return conditions;
}

Attempt Separation::separate(int a, int b, std::vector<int> some) {
    if (some.empty() || some.size() > max_cond) return {false, !some.empty(), false, {}, {}};
    searched.begin(nodes[std::size_t(a)], nodes[std::size_t(b)], places(some));
    Attempt now{false, false, true, std::move(some), {}};
    now.information = ask(a, b, now.given);
    now.separated = test.independent(now.information);
    while (!now.separated && now.given.size() > 1) {
        searched.narrow(places(now.given));
        const bool by_value = test.kind == IndependenceTest::Kind::threshold;
        const LeftOut left_out = by_value ? least_without(a, b, now) : best_without(a, b, now);
        if (left_out.which < 0) return now;
        now.given.erase(now.given.begin() + left_out.which);
        now.information = left_out.information;
        now.separated = test.independent(now.information);
    }
    return now;
}

// Less information is more independent, so what is tried does not depend on the threshold.
LeftOut Separation::least_without(int a, int b, const Attempt &now) {
    n_tests += std::int64_t(now.given.size());
    return known.least_without(nodes[std::size_t(a)], nodes[std::size_t(b)], places(now.given), given.size(),
                               now.information.value, searched);
}

LeftOut Separation::best_without(int a, int b, const Attempt &now) {
    LeftOut best;
    bool best_separated = false;
    std::vector<int> fewer;
    for (std::size_t k = 0; k < now.given.size(); ++k) {
        fewer = now.given;
        fewer.erase(fewer.begin() + std::ptrdiff_t(k));
        const Information information = ask(a, b, fewer);
        const bool separated = test.independent(information);
        const bool better = separated != best_separated ? separated : information.value < best.information.value;
        if (k > 0 && !better) continue;
        best_separated = separated;
        best = {std::int32_t(k), information};
    }
    return best_separated || best.information.value <= now.information.value ? best : LeftOut{};
}

// A set of more than max_cond nodes is as good as any other that is too large: what is gathered stops there.
Attempt Separation::by_neighbours(int a, int b, const std::vector<char> &between) {
    const auto may_be_parents = [&](int end) {
        std::vector<int> found;
        for (const int v : graph.neighbours(end)) {
            if (found.size() > max_cond) break;
            if (between[std::size_t(v)] && allowed[std::size_t(v)][std::size_t(end)]) found.push_back(v);
        }
        return found;
    };
    Attempt ours = separate(a, b, may_be_parents(a));
    if (ours.separated) return ours;
    Attempt theirs = separate(a, b, may_be_parents(b));
    if (!ours.tested && !theirs.tested) return ours;
    for (Attempt *open : {&ours, &theirs})
        if (!open->tested) open->information = look_up(a, b);
    return theirs.separated || theirs.information.value < ours.information.value ? theirs : ours;
}

Attempt Separation::widely(int a, int b, const std::vector<char> &between) {
    const auto wide = [&](int end) {
        std::vector<int> found;
        std::vector<char> near(graph.size(), 0);
        near[std::size_t(end)] = 1;
        const auto add = [&](int v) {
            if (between[std::size_t(v)] && !near[std::size_t(v)]) found.push_back(v);
            near[std::size_t(v)] = 1;
            return found.size() <= max_cond;
        };
        for (const int v : graph.neighbours(end)) {
            if (!between[std::size_t(v)]) continue;
            bool few = add(v);
            for (const int w : graph.neighbours(v))
                if (few) few = add(w);
            if (!few) break;
        }
        std::sort(found.begin(), found.end());
        return found;
    };
    std::vector<int> ours = wide(a), theirs = wide(b);
    return separate(a, b, ours.size() < theirs.size() ? std::move(ours) : std::move(theirs));
}

}  // namespace tanager
