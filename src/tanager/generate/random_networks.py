"""Random networks with the structure of classifiers: naive Bayes, TAN and BAN, with random arcs and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np

from tanager.errors import DataError, OptionError
from tanager.generate.networks import NetworkSource
from tanager.generate.sources import MAX_VALUES, check_positive, check_shares, check_whole
from tanager.generate.stream import CLASS, Stream, model_rng, stream_of
from tanager.networks.network import Network


def naive_bayes(
    n_columns: int = 19,
    n_values: int | Sequence[int] = 2,
    n_classes: int = 2,
    dirichlet: float = 1.0,
    prior: Sequence[float] | None = None,
    random_state: int | None = 0,
) -> Stream:
    """A random naive Bayes model: every column depends on the class alone.

    Parameters
    ----------
    n_columns : int, default=19
        How many columns there are.
    n_values : int or sequence of int, default=2
        Of all columns, or of each.
    n_classes : int, default=2
        How many classes there are.
    dirichlet : float, default=1.0
        Every row of a table is drawn from a symmetric Dirichlet distribution: 1 is uniform over all distributions, less
        gives probabilities closer to 0 and 1.
    prior : sequence of float, default=None
        The prior probabilities of the classes. None draws them: of two classes, the first gets 0.3 to 0.7.
    random_state : int, default=0
        Seed of the model and its rows; None draws a new one.

    Returns
    -------
    Stream
        Rows without end.

    Examples
    --------
    >>> from tanager import generate
    >>> stream = generate.naive_bayes(random_state=3)
    >>> len(stream.network.arcs)
    19
    >>> round(stream.accuracy(), 3)
    0.992
    """
    return _stream("naive Bayes", _no_arcs, n_columns, n_values, n_classes, dirichlet, prior, random_state)


def tan(
    n_columns: int = 19,
    n_values: int | Sequence[int] = 2,
    n_classes: int = 2,
    dirichlet: float = 1.0,
    prior: Sequence[float] | None = None,
    random_state: int | None = 0,
) -> Stream:
    """A random TAN model: columns depend on the class and, but for the root, on one other column.

    All trees over the columns are equally likely, and all roots.

    Parameters
    ----------
    n_columns : int, default=19
        How many columns there are.
    n_values : int or sequence of int, default=2
        Of all columns, or of each.
    n_classes : int, default=2
        How many classes there are.
    dirichlet : float, default=1.0
        How tables are drawn, as in ``naive_bayes``.
    prior : sequence of float, default=None
        The prior probabilities of the classes. None draws them, as in ``naive_bayes``.
    random_state : int, default=0
        Seed of the model and its rows; None draws a new one.

    Returns
    -------
    Stream
        Rows without end.

    Examples
    --------
    >>> from tanager import TAN, NaiveBayes, generate
    >>> stream = generate.tan(n_columns=5, random_state=1)
    >>> [arc for arc in stream.network.arcs if "class" not in arc]
    [('x3', 'x1'), ('x5', 'x2'), ('x4', 'x3'), ('x1', 'x5')]
    >>> X, y = stream.take(4000)
    >>> [round(model.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]), 2) for model in (NaiveBayes(), TAN())]
    [0.85, 0.89]
    """
    return _stream("TAN", random_tree, n_columns, n_values, n_classes, dirichlet, prior, random_state)


def ban(
    n_arcs: int = 50,
    max_parents: int = 4,
    n_columns: int = 19,
    n_values: int | Sequence[int] = 2,
    n_classes: int = 2,
    dirichlet: float = 1.0,
    prior: Sequence[float] | None = None,
    random_state: int | None = 0,
) -> Stream:
    """A random BAN model: columns depend on the class and on each other.

    Columns get a random order, and arcs lead from earlier to later ones; all sets of arcs within ``max_parents`` are
    equally probable.

    Parameters
    ----------
    n_arcs : int, default=50
        Arcs in all, those of the class included.
    max_parents : int, default=4
        The largest number of parents of a column besides the class.
    n_columns : int, default=19
        How many columns there are.
    n_values : int or sequence of int, default=2
        Of all columns, or of each.
    n_classes : int, default=2
        How many classes there are.
    dirichlet : float, default=1.0
        How tables are drawn, as in ``naive_bayes``.
    prior : sequence of float, default=None
        The prior probabilities of the classes. None draws them, as in ``naive_bayes``.
    random_state : int, default=0
        Seed of the model and its rows; None draws a new one.

    Returns
    -------
    Stream
        Rows without end.

    Examples
    --------
    >>> from tanager import generate
    >>> stream = generate.ban(n_arcs=9, max_parents=2, n_columns=4)
    >>> for name in stream.names:
    ...     print(name, "has the parents", ", ".join(stream.network.parents(name)))
    x1 has the parents class, x3
    x2 has the parents class, x3, x4
    x3 has the parents class
    x4 has the parents class, x3, x1
    """
    n, most = check_whole("n_columns", n_columns, 1), check_whole("max_parents", max_parents, 0)
    least, top = n, n + sum(min(i, most) for i in range(n))
    if not least <= check_whole("n_arcs", n_arcs, 0) <= top:
        raise OptionError(
            f"n_arcs={n_arcs!r} is not an option: {n} columns with at most {most} parents besides the class have "
            f"{least} to {top} arcs, including the {n} from the class."
        )

    def arcs(n: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        return random_arcs(n, int(n_arcs) - n, most, rng)

    return _stream("BAN", arcs, n_columns, n_values, n_classes, dirichlet, prior, random_state)


def from_network(network: Network, target: str = CLASS, random_state: int | None = 0) -> Stream:
    """Rows of any network with tables.

    Parameters
    ----------
    network : Network
        With tables, and at least one variable besides the target.
    target : str, default="class"
        The variable that is the class; all others are columns.
    random_state : int, default=0
        Seed of the rows; None draws a new one.

    Returns
    -------
    Stream
        Rows without end.

    Examples
    --------
    >>> from tanager import Network, generate
    >>> network = Network({"rain": ("no", "yes"), "grass": ("dry", "wet")}, [("rain", "grass")])
    >>> network = network.with_tables({"rain": [0.75, 0.25], "grass": [[0.8, 0.2], [0.1, 0.9]]})
    >>> stream = generate.from_network(network, "rain")
    >>> next(iter(stream))
    ({'grass': 'wet'}, 'no')
    >>> round(stream.accuracy(), 2)  # 0.75 * 0.8 + 0.25 * 0.9, on the average
    0.83
    """
    source = NetworkSource(network, target)
    if not source.columns:
        raise DataError(f"the network has no variable besides {target!r}. Add at least one, as a column.")
    return stream_of(source, random_state)


def redrawn(stream: Stream, random_state: int | None = 1, dirichlet: float = 1.0) -> Stream:
    """A stream of the same network with new random tables, and the same effects: a model to drift to.

    Parameters
    ----------
    stream : Stream
        Of a single network.
    random_state : int, default=1
        Seed of the tables and the rows; None draws a new one.
    dirichlet : float, default=1.0
        How tables are drawn, as in ``naive_bayes``. The prior probabilities of the classes stay, where the class has no
        parents.

    Returns
    -------
    Stream
        Rows without end.

    Examples
    --------
    >>> from tanager import generate
    >>> a = generate.tan(random_state=1)
    >>> b = generate.redrawn(a, random_state=2)
    >>> a.network.arcs == b.network.arcs, a.network == b.network
    (True, False)
    """
    network = stream.network
    if network is None:
        raise DataError(f"only a stream of a single network can be redrawn, not {stream!r}.")
    seed, rng = model_rng(random_state)
    old = stream.source.source
    assert isinstance(old, NetworkSource)
    root = not network.parents(old.target)
    prior = network.tables[old.target] if root else None
    tables = random_tables(network, check_positive("dirichlet", dirichlet), rng, {old.target: prior} if root else {})
    source = NetworkSource(network.with_tables(tables), old.target, old.text)
    return replace(stream, source=replace(stream.source, source=source), seed=seed)


def _stream(
    text: str,
    arcs: Callable[[int, np.random.Generator], list[tuple[int, int]]],
    n_columns: int,
    n_values: int | Sequence[int],
    n_classes: int,
    dirichlet: float,
    prior: Sequence[float] | None,
    random_state: int | None,
) -> Stream:
    """The stream of a class that is a parent of all columns, and of further arcs (given as numbers of columns)."""
    n, k = check_whole("n_columns", n_columns, 1), check_whole("n_classes", n_classes, 1, MAX_VALUES)
    sizes = _sizes(n_values, n)
    concentration = check_positive("dirichlet", dirichlet)
    seed, rng = model_rng(random_state)
    names = [f"x{i + 1}" for i in range(n)]
    more = [(names[i], names[j]) for i, j in arcs(n, rng)]
    variables = {CLASS: range(k)} | {name: range(size) for name, size in zip(names, sizes, strict=True)}
    network = Network(variables, [*((CLASS, name) for name in names), *more])
    shares = random_prior(k, rng)
    if prior is not None:
        shares = np.array(check_shares("prior", prior, k))
    network = network.with_tables(random_tables(network, concentration, rng, {CLASS: shares}))
    return stream_of(NetworkSource(network, CLASS, text), seed)


def _sizes(n_values: int | Sequence[int], n_columns: int) -> list[int]:
    sizes = list(n_values) if isinstance(n_values, Sequence | np.ndarray) else [n_values] * n_columns
    if len(sizes) != n_columns:
        raise OptionError(
            f"n_values has {len(sizes)} numbers for {n_columns} columns. Give one for each, or one alone."
        )
    return [check_whole("n_values", size, 1, MAX_VALUES) for size in sizes]


def _no_arcs(n: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    return []


def random_tree(n: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Arcs of a tree over 0..n-1, away from a root; all trees and roots are equally probable (Prüfer codes)."""
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for u, v in _edges(rng.integers(0, n, max(n - 2, 0)).tolist(), n):
        neighbours[u].append(v)
        neighbours[v].append(u)
    arcs, reached = [], [int(rng.integers(n))]
    seen = set(reached)
    for u in reached:  # grows on the way
        new = [v for v in neighbours[u] if v not in seen]
        arcs += [(u, v) for v in new]
        reached += new
        seen.update(new)
    return arcs


def _edges(code: list[int], n: int) -> list[tuple[int, int]]:
    """The tree of a Prüfer code: the smallest leaf is joined to the next number of the code and removed."""
    degrees = [1 + code.count(v) for v in range(n)]
    edges = []
    for u in code:
        leaf = degrees.index(1)
        edges.append((leaf, u))
        degrees[leaf] -= 1
        degrees[u] -= 1
    last = [v for v in range(n) if degrees[v] == 1]
    return edges + ([(last[0], last[1])] if n > 1 else [])


def random_arcs(n: int, n_arcs: int, most: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Arcs along a random order of 0..n-1, at most ``most`` into each; all such sets are equally probable."""
    order = rng.permutation(n).tolist()
    return [(order[u], order[v]) for u, v in arcs_in_order(n, n_arcs, most, rng)]


def arcs_in_order(n: int, n_arcs: int, most: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Arcs from smaller to larger numbers.

    Rejection sampling would take forever if the limit is tight. So the number of parents of each node is drawn first,
    from the last node to the first, each number with the share of all sets that have it.
    """
    ways = n_sets(n, n_arcs, most)
    arcs, left = [], n_arcs
    for v in reversed(range(n)):
        numbers = [p for p in range(min(v, most) + 1) if p <= left]
        weights = [comb(v, p) * ways[v][left - p] for p in numbers]
        chances = np.array([weight / sum(weights) for weight in weights])
        n_parents = int(rng.choice(numbers, p=chances / chances.sum()))
        arcs += [(u, v) for u in sorted(rng.choice(v, n_parents, replace=False).tolist() if n_parents else [])]
        left -= n_parents
    return arcs


def n_sets(n: int, n_arcs: int, most: int) -> list[list[int]]:
    """[i][a]: how many sets of a arcs there are among the first i of an order."""
    ways = [[1] + [0] * n_arcs]
    for v in range(n):
        parents = range(min(v, most) + 1)
        ways.append([sum(comb(v, p) * ways[-1][a - p] for p in parents if p <= a) for a in range(n_arcs + 1)])
    return ways


def random_prior(n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """Prior probabilities, none of them small: of two classes, the first gets 0.3 to 0.7; more in such proportions."""
    draws = rng.uniform(0.3, 0.7, n_classes)
    return np.array([draws[0], 1 - draws[0]]) if n_classes == 2 else draws / draws.sum()


def random_tables(
    network: Network, dirichlet: float, rng: np.random.Generator, given: dict[str, Any]
) -> dict[str, np.ndarray]:
    """A table for every variable, with rows from a symmetric Dirichlet distribution; some may be given."""
    tables = {}
    for name in network:
        *contexts, n_values = network.shape(name)
        tables[name] = given[name] if name in given else rng.dirichlet([dirichlet] * n_values, contexts)
    return tables
