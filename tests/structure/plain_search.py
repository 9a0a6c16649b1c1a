"""The slow, obvious twins of the searches: every move tried, every family scored anew from a table of counts."""

import itertools
import math
from graphlib import CycleError, TopologicalSorter

import numpy as np


def family_score(sample, kind, child, parents, ess=1.0):
    """The score of a family as the formulas print it, with loops over all configurations."""
    table = sample.count(*parents, child).reshape(-1, int(sample.n_values[child]))
    q, r = table.shape
    total = 0.0
    for row in table:
        n = row.sum()
        if kind == "k2":
            total += math.lgamma(r) - math.lgamma(n + r) + sum(math.lgamma(cell + 1) for cell in row)
        elif kind == "bdeu":
            total += math.lgamma(ess / q) - math.lgamma(n + ess / q)
            total += sum(math.lgamma(cell + ess / (r * q)) - math.lgamma(ess / (r * q)) for cell in row)
        else:
            total += sum(cell * math.log(cell / n) for cell in row if cell > 0)
    penalty = {"aic": 1.0, "bic": 0.5 * math.log(max(table.sum(), 1))}.get(kind, 0.0)
    return total - penalty * (r - 1) * q


def network_score(sample, kind, parents, given=(), ess=1.0):
    return sum(family_score(sample, kind, v, (*sorted(own), *given), ess) for v, own in parents.items())


def is_acyclic(parents):
    try:
        TopologicalSorter(parents).prepare()
    except CycleError:
        return False
    return True


def moves(parents):
    """All networks one move away, by the kind of move and its arc, in the order in which ties are broken."""
    nodes = sorted(parents)
    arcs = {(u, v) for v, own in parents.items() for u in own}
    found = {}
    for u, v in itertools.product(nodes, nodes):
        if u != v and (u, v) not in arcs:
            found["add", u, v] = {**parents, v: parents[v] | {u}}
    for u, v in sorted(arcs):
        found["remove", u, v] = {**parents, v: parents[v] - {u}}
    for u, v in sorted(arcs):
        found["reverse", u, v] = {**parents, v: parents[v] - {u}, u: parents[u] | {v}}
    return found


def undoing(move):
    kind, u, v = move
    return {"add": ("remove", u, v), "remove": ("add", u, v), "reverse": ("reverse", v, u)}[kind]


def plain_hill_climb(sample, kind, max_parents, *, given=(), tabu=0, patience=10):
    """Take the move that gains most until none gains or, with tabu, until there was no new best for a while."""
    nodes = [i for i in range(len(sample.names)) if i not in given]
    parents = {i: frozenset() for i in nodes}
    score = network_score(sample, kind, parents, given)
    best, best_score, recent, idle = parents, score, [], 0
    while idle < patience:
        options = {}
        for move, option in moves(parents).items():
            if max(map(len, option.values())) <= max_parents and is_acyclic(option):
                new = network_score(sample, kind, option, given)
                if move not in recent or new > best_score + 1e-8:
                    options[move] = (option, new)
        top = max((new for _, new in options.values()), default=-math.inf)
        if top == -math.inf or (not tabu and top <= score + 1e-8):
            break
        made = next(move for move, (_, new) in options.items() if new >= top - 1e-8)
        parents, score = options[made]
        recent = [*recent, undoing(made)][-tabu:] if tabu else []
        idle += 1
        if score > best_score + 1e-8:
            best, best_score, idle = parents, score, 0
    return best, best_score


def plain_k2(sample, kind, order, max_parents, ess=1.0):
    """Every node in turn takes the best earlier one, as long as that gains."""
    parents = {}
    for at, child in enumerate(order):
        own, score = frozenset(), family_score(sample, kind, child, (), ess)
        while len(own) < max_parents:
            options = [own | {u} for u in sorted(order[:at]) if u not in own]
            scores = np.array([family_score(sample, kind, child, sorted(option), ess) for option in options])
            if not len(scores) or scores.max() <= score + 1e-8:
                break
            at_best = int(np.argmax(scores >= scores.max() - 1e-8))
            own, score = options[at_best], scores[at_best]
        parents[child] = own
    return parents
