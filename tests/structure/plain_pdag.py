"""The slow, obvious twin of the search over partially directed graphs: parents, siblings and children of the class.

A state is (parents of the class, siblings, children with their other parents). Every move is tried, and every network
scored from scratch.
"""

import math

from plain_search import is_acyclic, network_score


def network(state, y, n):
    """Parents of every node if the siblings are children."""
    above, siblings, children = state
    parents = {i: frozenset() for i in range(n)}
    parents[y] = frozenset(above)
    parents |= {i: frozenset([y]) for i in siblings}
    return parents | {c: frozenset([y, *others]) for c, others in children.items()}


def additions(state, y, n, most):
    above, siblings, children = state
    apart = [i for i in range(n) if i not in {y, *above, *siblings, *children}]
    for x in apart:
        if above and len(above) < most:
            yield ("add", x, y), (above | {x}, siblings, children)
        if above:
            yield ("add", y, x), (above, siblings, children | {x: frozenset()})
        else:
            yield ("add", y, x), (above, siblings | {x}, children)
    for x in apart:
        for z in sorted(siblings) if most >= 2 else ():  # x and z meet in the class; the other siblings become children
            others = {i: frozenset() for i in siblings - {z}}
            yield ("add", x, y), (frozenset([x, z]), frozenset(), children | others)
    for c in sorted([*siblings, *children]):
        own = children.get(c, frozenset())
        for x in range(n):
            if x not in {y, c} | own and len(own) < most:
                grown = above, siblings - {c}, children | {c: own | {x}}
                if is_acyclic(network(grown, y, n)):
                    yield ("add", x, c), grown


def removals(state, y, n):
    above, siblings, children = state
    for x in sorted(above):
        if len(above) > 2:
            yield ("remove", x, y), (above - {x}, siblings, children)
        else:  # the other one is a sibling, and so are children without another parent
            lone = {c for c, others in children.items() if not others}
            kept = {c: others for c, others in children.items() if others}
            yield ("remove", x, y), (frozenset(), frozenset(above - {x} | lone), kept)
    for x in sorted([*siblings, *(c for c, others in children.items() if not others)]):
        yield ("remove", y, x), (above, siblings - {x}, {c: own for c, own in children.items() if c != x})
    for c in sorted(children):
        for x in sorted(children[c]):
            rest = children[c] - {x}
            if rest or above:
                yield ("remove", x, c), (above, siblings, children | {c: rest})
            else:
                yield ("remove", x, c), (above, siblings | {c}, {d: own for d, own in children.items() if d != c})


def plain_moves(state, y, n, most):
    return [*additions(state, y, n, most), *removals(state, y, n)]


def legal(state, y, n, forbidden):
    return not any((u, v) in forbidden for v, own in network(state, y, n).items() for u in own)


def plain_pdag_search(sample, kind, y, most, start="empty", forbidden=(), dependent=None):
    """The last state, and the moves that led to it."""
    n = len(sample.names)
    state = (frozenset(), frozenset(), {})
    if start == "naive":
        state = (frozenset(), frozenset(i for i in range(n) if i != y and (y, i) not in forbidden), {})
    made = []
    while True:
        now = network_score(sample, kind, network(state, y, n))
        options = []
        for (action, u, v), option in plain_moves(state, y, n, most):
            if not legal(option, y, n, forbidden):
                continue
            given = network(option, y, n)[v] - {u}
            if action == "add" and dependent and not dependent(u, v, given):
                continue
            options.append(((action, u, v), option, network_score(sample, kind, network(option, y, n)) - now))
        top = max((gain for *_, gain in options), default=-math.inf)
        if top <= 1e-8:
            return state, made
        move, state, gain = next(option for option in options if option[-1] >= top - 1e-8)
        made.append((*move, gain))
