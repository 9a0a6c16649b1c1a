// A network from independence tests without an order of the variables: the phases of Cheng, Bell and Liu, then
// directions from colliders. The same as `phases.py` and `orient.py`, which write down every step as well.
#pragma once
#include <utility>
#include <vector>

#include "separation.hpp"

namespace tanager {

using NodePair = std::pair<int, int>;

struct OpenNetwork {
    std::vector<std::vector<int>> parents;  // in ascending order
    std::vector<NodePair> undirected;       // arcs whose direction the tests leave open, strongest first
};

// `tests` begins without edges. `required` are arcs that must be there; beyond `max_parents` the weakest go. Edges that
// are left without a direction get one such that no new collider arises, or by the order of the nodes.
OpenNetwork learn_open_network(Separation &tests, const std::vector<NodePair> &required, bool extend_by_order,
                               std::size_t max_parents);

}  // namespace tanager
