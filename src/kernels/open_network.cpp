#include "open_network.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "node_sets.hpp"

namespace tanager {

namespace {

void part_nodes(NodeSets &sets, int u, int v) {
    sets.remove(u, v);
    sets.remove(v, u);
}

// Which pairs are joined, in the order in which they were; and by what the others were separated.
class OpenSkeleton {
  public:
    OpenSkeleton(Separation &tests, const std::vector<NodePair> &required)
        : tests_(tests), required_(required), n_(int(tests.nodes.size())), weight_(std::size_t(n_) * n_, 0.0),
          cut_(std::size_t(n_) * n_), joined(std::size_t(n_)) {
        tests_.known.learn_pairs(tests.nodes, tests.given, tests.test.kind == IndependenceTest::Kind::pearson);
        for (int a = 0; a < n_; ++a)
            for (int b = a + 1; b < n_; ++b) {
                const Information own = tests_.ask(a, b, {});
                weight_[at(a, b)] = weight_[at(b, a)] = own.value;
                if (tests_.test.independent(own)) cut_[at(a, b)].emplace();
                else if (tests_.allowed[a][b] || tests_.allowed[b][a]) dependent_.emplace_back(a, b);
            }
        std::sort(dependent_.begin(), dependent_.end(),
                  [&](const NodePair &one, const NodePair &other) { return stronger(one, other); });
    }

    void learn() {
        thicken(draft());
        thin();
        thin_more();
    }

    double weight(int a, int b) const { return weight_[at(a, b)]; }
    // The stronger dependence first, and the smaller nodes of equals.
    bool stronger(const NodePair &one, const NodePair &other) const {
        const double ours = weight(one.first, one.second), theirs = weight(other.first, other.second);
        return ours != theirs ? ours > theirs : one < other;
    }
    // What separated a < b, if anything did.
    const std::optional<std::vector<int>> &cut(int a, int b) const { return cut_[at(a, b)]; }

  private:
    std::size_t at(int a, int b) const { return std::size_t(a) * std::size_t(n_) + std::size_t(b); }

    void join(int a, int b) {
        edges_.emplace_back(a, b);
        joined.add(a, b);
        joined.add(b, a);
        tests_.graph.join(a, b);
    }

    std::vector<NodePair> draft() {
        for (const auto &[u, v] : required_) join(std::min(u, v), std::max(u, v));
        std::vector<int> part(std::size_t(n_), 0);  // of the graph that a node is in
        std::iota(part.begin(), part.end(), 0);
        const auto unite = [&](int a, int b) {
            const int from = part[std::size_t(b)], to = part[std::size_t(a)];
            std::replace(part.begin(), part.end(), from, to);
        };
        for (const auto &[a, b] : edges_) unite(a, b);
        std::vector<NodePair> later;
        for (const auto &[a, b] : dependent_) {
            if (part[std::size_t(a)] == part[std::size_t(b)]) {
                if (!joined.has(a, b)) later.emplace_back(a, b);
                continue;
            }
            join(a, b);
            unite(a, b);
        }
        return later;
    }

    void thicken(const std::vector<NodePair> &later) {
        for (const auto &[a, b] : later)
            if (!separates(a, b, tests_.by_neighbours(a, b, tests_.graph.between(a, b)))) join(a, b);
    }

    void thin() {
        for (const auto &[a, b] : removable()) {
            const std::vector<char> between = tests_.graph.between(a, b);
            if (any(between) && separates(a, b, tests_.by_neighbours(a, b, between))) remove(a, b);
        }
    }

    void thin_more() {
        for (const auto &[a, b] : removable()) {
            if (std::max(joined.size(a), joined.size(b)) <= 3) continue;
            const std::vector<char> between = tests_.graph.between(a, b);
            if (any(between) && separates(a, b, tests_.widely(a, b, between))) remove(a, b);
        }
    }

    static bool any(const std::vector<char> &flags) { return std::find(flags.begin(), flags.end(), 1) != flags.end(); }

    bool separates(int a, int b, Attempt attempt) {
        if (!attempt.separated || attempt.too_many) return false;
        cut_[at(std::min(a, b), std::max(a, b))] = std::move(attempt.given);
        return true;
    }

    std::vector<NodePair> removable() const {
        std::vector<NodePair> found;
        for (const auto &[a, b] : edges_) {
            const auto same = [a = a, b = b](const NodePair &arc) {
                return arc == NodePair{a, b} || arc == NodePair{b, a};
            };
            if (std::none_of(required_.begin(), required_.end(), same)) found.emplace_back(a, b);
        }
        return found;
    }

    void remove(int a, int b) {
        edges_.erase(std::find(edges_.begin(), edges_.end(), NodePair{a, b}));
        part_nodes(joined, a, b);
        tests_.graph.part(a, b);
    }

    Separation &tests_;
    const std::vector<NodePair> &required_;
    int n_;
    std::vector<double> weight_;
    std::vector<std::optional<std::vector<int>>> cut_;
    std::vector<NodePair> dependent_, edges_;

  public:
    NodeSets joined;
};

// Directs edges one by one; no arc is ever reversed, and none closes a cycle.
class OpenOrientation {
  public:
    OpenOrientation(const Separation &tests, const OpenSkeleton &skeleton, const std::vector<NodePair> &required)
        : parents(tests.nodes.size()), tests_(tests), skeleton_(skeleton), required_(required),
          n_(int(tests.nodes.size())), joined_(skeleton.joined), free_(skeleton.joined), above_(tests.nodes.size()) {}

    // By constraints, colliders and what these imply; returns the edges that are left, strongest first.
    std::vector<NodePair> direct() {
        force();
        colliders();
        follow();
        std::vector<NodePair> left;
        for (int u = 0; u < n_; ++u)
            for (const int v : free_.list(u))
                if (u < v) left.emplace_back(u, v);
        sort_by_strength(left);
        return left;
    }

    void extend(const std::vector<NodePair> &left, bool by_order) {
        const std::optional<NodeSets> whole = by_order ? std::nullopt : extension();
        for (const auto &[u, v] : left) {
            if (whole ? whole->has(v, u) : !leads(v, u)) set(u, v);
            else set(v, u);
        }
    }

    void limit(std::size_t max_parents) {
        for (int v = 0; v < n_; ++v) {
            std::vector<int> spare = parents.list(v);
            if (spare.size() <= max_parents) continue;
            const std::size_t n_spare = spare.size() - max_parents;
            std::erase_if(spare, [&](int u) {
                return std::find(required_.begin(), required_.end(), NodePair{u, v}) != required_.end();
            });
            std::sort(spare.begin(), spare.end(), [&](int u, int other) {
                const double ours = skeleton_.weight(u, v), theirs = skeleton_.weight(other, v);
                return ours != theirs ? ours < theirs : u > other;
            });
            for (std::size_t k = 0; k < std::min(n_spare, spare.size()); ++k) parents.remove(v, spare[k]);
        }
    }

    NodeSets parents;

  private:
    struct Collider {
        double strength;
        int z, x, y;
        bool second;  // whether it is about the arc from y
        // The stronger first.
        bool operator<(const Collider &other) const {
            return std::tuple(-strength, z, x, y, second) <
                   std::tuple(-other.strength, other.z, other.x, other.y, other.second);
        }
    };

    void sort_by_strength(std::vector<NodePair> &edges) const {
        std::sort(edges.begin(), edges.end(),
                  [&](const NodePair &one, const NodePair &other) { return skeleton_.stronger(one, other); });
    }

    // Required arcs first, then edges with one allowed direction; an edge that has none is dropped.
    void force() {
        for (const auto &[u, v] : required_) set(u, v);
        std::vector<NodePair> one_way;
        for (int u = 0; u < n_; ++u)
            for (const int v : free_.list(u))
                if (!allowed(v, u)) one_way.emplace_back(u, v);
        sort_by_strength(one_way);
        for (const auto &[u, v] : one_way) {
            if (set(u, v)) continue;
            part_nodes(free_, u, v);
            part_nodes(joined_, u, v);
        }
    }

    // x -> z <- y if x and y are not joined and were separated by a set without z; strong dependences first. What sets
    // an arc, or refuses it, does so for good: of all colliders with an arc only the first is looked at.
    void colliders() {
        std::vector<Collider> found, first(static_cast<std::size_t>(n_));
        for (int z = 0; z < n_; ++z) {
            const std::vector<int> near = joined_.list(z);
            for (const int x : near) first[std::size_t(x)] = {-1.0, z, x, x, false};
            for (const int x : near)
                joined_.visit_without(z, joined_, x, [&](int y) {
                    if (y <= x) return;
                    const auto &cut = skeleton_.cut(x, y);
                    if (!cut || std::find(cut->begin(), cut->end(), z) != cut->end()) return;
                    const double strength = std::min(skeleton_.weight(x, z), skeleton_.weight(y, z));
                    for (const bool second : {false, true}) {
                        const Collider own{strength, z, x, y, second};
                        if (own < first[std::size_t(second ? y : x)]) first[std::size_t(second ? y : x)] = own;
                    }
                });
            for (const int x : near)
                if (first[std::size_t(x)].strength >= 0.0) found.push_back(first[std::size_t(x)]);
        }
        std::sort(found.begin(), found.end());
        for (const Collider &own : found) set(own.second ? own.y : own.x, own.z);
    }

    void follow() {
        std::size_t before = 0;
        for (bool first = true; first || before != free_.total(); first = false) {
            before = free_.total();
            for (int z = 0; z < n_; ++z)
                for (const int y : free_.list(z)) imply(z, y);
        }
    }

    void imply(int z, int y) {
        if (leads(z, y) || (!leads(y, z) && (!parents.within(z, joined_, y) || meet_apart(z, y)))) set(z, y);
    }

    // Whether two nodes that are not joined have an edge without direction to z and an arc to y.
    bool meet_apart(int z, int y) const {
        const std::vector<int> both = free_.common(z, parents, y);
        for (std::size_t one = 0; one < both.size(); ++one)
            for (std::size_t other = one + 1; other < both.size(); ++other)
                if (!joined_.has(both[one], both[other])) return true;
        return false;
    }

    bool allowed(int u, int v) const { return tests_.allowed[std::size_t(u)][std::size_t(v)]; }
    bool leads(int u, int v) const { return above_.has(v, u); }

    // u -> v, unless it has the other direction already, is not allowed, or would close a cycle.
    bool set(int u, int v) {
        if (parents.has(v, u)) return true;
        if (parents.has(u, v) || !allowed(u, v) || leads(v, u)) return false;
        part_nodes(free_, u, v);
        parents.add(v, u);
        if (leads(u, v)) return true;  // all that is above u is above v and its descendants already
        for (int w = 0; w < n_; ++w)   // u and its ancestors are now above v and all its descendants
            if (w == v || leads(v, w)) {
                above_.add_all(w, above_, u);
                above_.add(w, u);
            }
        return true;
    }

    // Dor and Tarsi: parents that keep all arcs, direct all other edges and make no new collider, if there are such. A
    // sink whose undirected neighbours are joined to all its neighbours goes, the largest first.
    std::optional<NodeSets> extension() const {
        NodeSets whole = parents, joined = free_, children(static_cast<std::size_t>(n_));
        for (int v = 0; v < n_; ++v)
            for (const int u : parents.list(v)) {
                joined.add(u, v);
                joined.add(v, u);
                children.add(u, v);
            }
        std::vector<char> gone(std::size_t(n_), 0);
        for (int left = n_; left > 0; --left) {
            int sink = n_ - 1;
            while (sink >= 0 && (gone[std::size_t(sink)] || !children.empty(sink) || !can_go(sink, joined))) --sink;
            if (sink < 0) return std::nullopt;
            gone[std::size_t(sink)] = 1;
            for (const int other : joined.common(sink, free_, sink)) whole.add(sink, other);
            for (const int other : joined.list(sink)) {
                joined.remove(other, sink);
                children.remove(other, sink);
            }
        }
        return whole;
    }

    bool can_go(int node, const NodeSets &joined) const {
        for (const int v : joined.common(node, free_, node))
            for (const int other : joined.list(node))
                if (other != v && !joined.has(v, other)) return false;
        return true;
    }

    const Separation &tests_;
    const OpenSkeleton &skeleton_;
    const std::vector<NodePair> &required_;
    const int n_;
    NodeSets joined_, free_, above_;  // free: by edges without a direction; above: the ancestors
};

}  // namespace

OpenNetwork learn_open_network(Separation &tests, const std::vector<NodePair> &required, bool extend_by_order,
                               std::size_t max_parents) {
    OpenSkeleton skeleton(tests, required);
    skeleton.learn();
    OpenOrientation orientation(tests, skeleton, required);
    const std::vector<NodePair> left = orientation.direct();
    orientation.extend(left, extend_by_order);
    orientation.limit(max_parents);
    OpenNetwork found;
    for (std::size_t v = 0; v < tests.nodes.size(); ++v) found.parents.push_back(orientation.parents.list(int(v)));
    for (const auto &[u, v] : left) {
        if (orientation.parents.has(v, u)) found.undirected.emplace_back(u, v);
        else if (orientation.parents.has(u, v)) found.undirected.emplace_back(v, u);
    }
    return found;
}

}  // namespace tanager
