"""Graph algorithms against slow twins that enumerate paths, orders and orientations."""

from itertools import combinations, pairwise, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.networks import graph
from tanager.networks.graph import Partial


@st.composite
def dags(draw, most=6):
    """Parents of a graph without a cycle whose order is not that of the numbers."""
    n = draw(st.integers(1, most))
    order = draw(st.permutations(range(n)))
    parents = [[] for _ in range(n)]
    for u, v in combinations(order, 2):
        if draw(st.booleans()):
            parents[v].append(u)
    return parents


@st.composite
def undirected(draw, most=7):
    n = draw(st.integers(2, most))
    neighbours = [set() for _ in range(n)]
    for u, v in combinations(range(n), 2):
        if draw(st.integers(0, 2)) == 0:
            neighbours[u].add(v)
            neighbours[v].add(u)
    return neighbours


def simple_paths(neighbours, a, b, so_far=()):
    """All paths that pass no node twice."""
    if a == b:
        yield (*so_far, b)
        return
    for other in neighbours[a]:
        if other not in so_far and other != a:
            yield from simple_paths(neighbours, other, b, (*so_far, a))


def is_open(parents, steps, given):
    """Colliders must have a descendant that is given, other nodes must not be given."""
    children = graph.turned(parents)
    for before, node, after in zip(steps, steps[1:], steps[2:], strict=False):
        collider = before in parents[node] and after in parents[node]
        if collider != bool((graph.reachable(children, [node]) if collider else {node}) & given):
            return False
    return True


def same_class(parents):
    """All networks with the same skeleton and v-structures, by trying all directions."""
    edges = [(u, v) for u, own in enumerate(graph.skeleton(parents)) for v in own if u < v]
    for turned in product([False, True], repeat=len(edges)):
        candidate = [set() for _ in parents]
        for (u, v), back in zip(edges, turned, strict=True):
            candidate[u if back else v].add(v if back else u)
        same = graph.v_structures(candidate) == graph.v_structures(parents)
        if same and graph.topological(candidate) is not None:
            yield candidate


def pattern_of(parents):
    """Arcs that point the same way in all networks of the class, by listing them."""
    members = list(same_class(parents))
    compelled = [set.intersection(*[member[node] for member in members]) for node in range(len(parents))]
    free = [set(own) - fixed for own, fixed in zip(parents, compelled, strict=True)]
    return Partial(compelled, graph.skeleton(free))


@given(dags())
def test_an_order_has_every_node_once_and_after_its_parents(parents):
    order = graph.topological(parents)
    assert sorted(order) == list(range(len(parents)))
    assert all(order.index(u) < order.index(v) for v, own in enumerate(parents) for u in own)


def test_an_order_keeps_the_numbers_where_it_can():
    assert graph.topological([[], [], [], []]) == [0, 1, 2, 3]
    assert graph.topological([[3], [], [], []]) == [1, 2, 3, 0]


def test_a_graph_with_a_cycle_has_no_order_and_the_shortest_cycle_is_found():
    parents = [[], [3], [1], [2, 0], [3]]
    assert graph.topological(parents) is None
    assert graph.cycle(parents) == [1, 2, 3, 1]
    assert graph.cycle([[], [0], [0, 1]]) is None
    assert graph.cycle([[0]]) == [0, 0]
    with pytest.raises(ValueError, match="cycle"):
        graph.cpdag(parents)


@given(dags(), st.data())
def test_a_path_is_there_where_it_can_be_walked(parents, data):
    u, v = (data.draw(st.sampled_from(range(len(parents)))) for _ in range(2))
    children = graph.turned(parents)
    found = graph.path(children, u, v)
    assert graph.has_path(children, u, v) == (found is not None) == (u != v and v in graph.reachable(children, [u]))
    if found is not None:
        assert (found[0], found[-1]) == (u, v)
        assert all(y in children[x] for x, y in pairwise(found))


@given(dags(5))
def test_d_connection_is_an_open_path(parents):
    joined = graph.skeleton(parents)
    for a, b in permutations(range(len(parents)), 2):
        paths = list(simple_paths(joined, a, b))
        others = [node for node in range(len(parents)) if node not in (a, b)]
        for known in (set(some) for size in range(4) for some in combinations(others, size)):
            expected = any(is_open(parents, steps, known) for steps in paths)
            assert graph.d_connected(parents, a, b, known) == expected


def test_a_node_that_is_given_is_connected_with_nothing():
    assert not graph.d_connected([[], [0]], 0, 1, {0})
    assert not graph.d_connected([[], [0]], 0, 1, {1})


@given(undirected(), st.data())
def test_an_edge_inside_a_block_changes_no_block(neighbours, data):
    """Which lets a search keep the blocks of its graph while it joins nodes of one."""
    before = graph.Blocks(neighbours)
    a, b = data.draw(st.permutations(range(len(neighbours))))[:2]
    shared = before.shared(a, b)
    joined = [own | ({b} if node == a else {a} if node == b else set()) for node, own in enumerate(neighbours)]
    after = graph.Blocks(joined)
    if shared is not None:
        assert sorted(map(sorted, after.blocks)) == sorted(map(sorted, before.blocks))
    assert {*map(frozenset, after.blocks)} >= {frozenset({a, b} | before.between(a, b))}


@given(undirected(), st.data())
def test_nodes_between_are_those_on_simple_paths(neighbours, data):
    a, b = data.draw(st.permutations(range(len(neighbours))))[:2]
    expected = {node for steps in simple_paths(neighbours, a, b) for node in steps} - {a, b}
    assert graph.nodes_between(neighbours, a, b) == expected


@given(dags())
def test_the_moral_graph_joins_every_family(parents):
    families = [{child, *own} for child, own in enumerate(parents)]
    expected = [{v for family in families for v in family if u in family and v != u} for u in range(len(parents))]
    assert graph.moral(parents) == expected


@given(dags(5))
def test_compelled_arcs_are_those_that_all_networks_of_the_class_share(parents):
    assert graph.cpdag(parents) == pattern_of(parents)


@given(dags(5), st.data())
def test_an_extension_is_a_network_of_the_class_that_keeps_all_arcs(parents, data):
    partial = graph.cpdag(parents)
    for u, v in [(u, v) for v, own in enumerate(parents) for u in own if u in partial.neighbours[v]]:
        if data.draw(st.booleans()):  # more is known than data can tell
            partial.parents[v].add(u)
            partial.neighbours[v].remove(u)
            partial.neighbours[u].remove(v)
    found = graph.extension(partial)
    assert found in list(same_class(parents))
    assert all(arcs <= own for arcs, own in zip(partial.parents, found, strict=True))


def test_a_ring_of_four_without_directions_has_no_extension():
    ring = [{1, 3}, {0, 2}, {1, 3}, {0, 2}]
    assert graph.extension(Partial([set(), set(), set(), set()], ring)) is None


@given(dags(5), dags(5))
def test_the_distance_is_a_distance_between_classes(ours, theirs):
    n = min(len(ours), len(theirs))
    a, b = (graph.cpdag([[u for u in own if u < n] for own in parents[:n]]) for parents in (ours, theirs))
    assert graph.hamming(a, b) == graph.hamming(b, a)
    assert (graph.hamming(a, b) == 0) == (a == b)


def test_the_distance_counts_every_pair_once():
    chain, collider, empty = (graph.cpdag(parents) for parents in ([[], [0], [1]], [[], [0, 2], []], [[], [], []]))
    assert graph.hamming(chain, collider) == 2  # both edges turn from open to directed
    assert graph.hamming(chain, empty) == 2
