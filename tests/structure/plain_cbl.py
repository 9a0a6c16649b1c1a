"""The slow, obvious twin of CBL: the algorithm as it is printed, with all paths enumerated."""

import itertools


def simple_paths(graph, a, b, seen=()):
    """All paths from a to b that pass no node twice."""
    if a == b:
        yield (*seen, b)
        return
    for c in sorted(graph[a]):
        if c not in seen:
            yield from simple_paths(graph, c, b, (*seen, a))


def on_paths(edges, a, b):
    """Nodes on paths between a and b, without the ends and without the edge between them."""
    graph = neighbours(edges - {frozenset((a, b))})
    return {c for path in simple_paths(graph, a, b) for c in path} - {a, b}


class Neighbours(dict):
    def __missing__(self, key):
        return set()


def neighbours(edges):
    graph = Neighbours()
    for a, b in map(tuple, edges):
        graph.setdefault(a, set()).add(b)
        graph.setdefault(b, set()).add(a)
    return graph


def dependent_pairs(nodes, info, tau):
    pairs = [pair for pair in itertools.combinations(nodes, 2) if info(*pair, ()) > tau]
    return sorted(pairs, key=lambda pair: (-info(*pair, ()), pair))


def ancestors(parents, v):
    return {v}.union(*(ancestors(parents, u) for u in parents[v]))


def descendants(parents, v):
    return {v}.union(*(descendants(parents, w) for w in parents if v in parents[w]))


def plain_open_paths(parents, a, b, given):
    """The paths that are open given others, each as its nodes that would close it: those that are no collider."""
    edges = {frozenset((u, v)) for v in parents for u in parents[v]} - {frozenset((a, b))}
    found = []
    for path in simple_paths(neighbours(edges), a, b):
        steps = list(zip(path, path[1:], path[2:], strict=False))
        colliders = {v for u, v, w in steps if u in parents[v] and w in parents[v]}
        others = {v for _, v, _ in steps} - colliders
        if not others & given and all(descendants(parents, v) & given for v in colliders):
            found.append(others)
    return found


def plain_greedy_cut(parents, a, b):
    """The node that closes most open paths, again and again until none is open."""
    cut = set()
    while paths := plain_open_paths(parents, a, b, cut):
        nodes = sorted(set().union(*paths))
        cut.add(max(nodes, key=lambda node: sum(node in path for path in paths)))  # the first of equals
    return cut


def cbl1(order, info, tau, max_cond, shrink=False):
    """Parents of every node."""
    place = {v: at for at, v in enumerate(order)}
    parents = {v: set() for v in order}

    def edges():
        return {frozenset((u, v)) for v in order for u in parents[v]}

    def needed(a, b):
        cut = {c for c in parents[b] - {a} if c in on_paths(edges(), a, b)}
        if shrink and len(plain_greedy_cut(parents, a, b)) < len(cut):
            cut = plain_greedy_cut(parents, a, b)
        return len(cut) > max_cond or info(a, b, cut) > tau

    pairs = [sorted(pair, key=place.get) for pair in dependent_pairs(sorted(order), info, tau)]
    drafted, later = [], []
    for a, b in pairs:
        if ancestors(parents, a) & ancestors(parents, b):  # the only open paths, given nothing
            later.append((a, b))
        else:
            parents[b].add(a)
            drafted.append((a, b))
    for a, b in later:
        if needed(a, b):
            parents[b].add(a)
            drafted.append((a, b))
    for a, b in drafted:
        if on_paths(edges(), a, b) and not needed(a, b):
            parents[b].remove(a)
    return parents


class Cbl2:
    """Edges, cut sets and directions where no order is known."""

    def __init__(self, nodes, info, tau, max_cond, root=None):
        self.nodes, self.info, self.tau, self.max_cond, self.root = nodes, info, tau, max_cond, root
        self.edges, self.cuts, came = set(), {}, []
        pairs = dependent_pairs(nodes, info, tau)
        for pair in itertools.combinations(nodes, 2):
            if pair not in pairs:
                self.cuts[pair] = set()
        later = []
        for a, b in pairs:
            if any(simple_paths(neighbours(self.edges), a, b)):
                later.append((a, b))
            else:
                self.edges.add(frozenset((a, b)))
                came.append((a, b))
        for a, b in later:
            if self.needed_by_heuristic(a, b):
                self.edges.add(frozenset((a, b)))
                came.append((a, b))
        for a, b in came:
            if on_paths(self.edges, a, b) and not self.needed_by_heuristic(a, b):
                self.edges.remove(frozenset((a, b)))
        for a, b in [pair for pair in came if frozenset(pair) in self.edges]:
            graph = neighbours(self.edges)
            crowded = len(graph[a] - {b}) >= 3 or len(graph[b] - {a}) >= 3
            if crowded and on_paths(self.edges, a, b) and not self.needed(a, b):
                self.edges.remove(frozenset((a, b)))

    def needed_by_heuristic(self, a, b):
        graph, between = neighbours(self.edges), on_paths(self.edges, a, b)
        sides = [graph[end] & between if end != self.root else () for end in (a, b)]
        return not any(self.separated(a, b, side) for side in sides)

    def needed(self, a, b):
        graph, between = neighbours(self.edges), on_paths(self.edges, a, b)

        def wide(end):
            near = graph[end] & between
            return near | {w for v in near for w in graph[v] & between} - {a, b}

        ours, theirs = wide(a), wide(b)
        return not self.separated(a, b, ours if len(ours) < len(theirs) else theirs)

    def separated(self, a, b, cut):
        cut = set(cut)
        if not cut or len(cut) > self.max_cond:
            return False
        s = self.info(a, b, cut)
        if s <= self.tau:
            self.cuts[a, b] = cut
            return True
        while len(cut) > 1:
            lowest, drop = min((self.info(a, b, cut - {c}), c) for c in cut)
            if lowest <= self.tau:
                self.cuts[a, b] = cut - {drop}
                return True
            if lowest > s:
                return False
            cut, s = cut - {drop}, lowest
        return False

    def directed(self):
        """The arcs that colliders and rules give."""
        graph, arcs = neighbours(self.edges), set()

        def weight(x, y):
            return self.info(min(x, y), max(x, y), ())

        def leads(u, v):
            return any((u, w) in arcs and (w == v or leads(w, v)) for w in self.nodes)

        def direct(u, v):
            if (u, v) not in arcs and (v, u) not in arcs and not leads(v, u):
                arcs.add((u, v))

        triples = [
            (-min(weight(x, z), weight(y, z)), z, (x, y))
            for z in self.nodes
            for x, y in itertools.combinations(sorted(graph[z]), 2)
            if y not in graph[x] and (x, y) in self.cuts and z not in self.cuts[x, y]
        ]
        for _, z, (x, y) in sorted(triples):
            direct(x, z)
            direct(y, z)
        before = None
        while before != arcs:
            before = set(arcs)
            for z, y in itertools.product(self.nodes, self.nodes):
                if frozenset((z, y)) not in self.edges or (z, y) in arcs or (y, z) in arcs or leads(y, z):
                    continue
                if leads(z, y) or any((x, z) in arcs and y not in graph[x] for x in self.nodes):
                    direct(z, y)
                between = [
                    v for v in graph[z] & graph[y] if (v, y) in arcs and (z, v) not in arcs and (v, z) not in arcs
                ]
                if any(v not in graph[u] for u, v in itertools.combinations(between, 2)):
                    direct(z, y)
        return arcs
