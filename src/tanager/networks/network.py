"""Network: arcs over named variables, and the tables that make them a distribution."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tanager.errors import DataError, SchemaMismatch, check_option, nearest
from tanager.networks import estimation, graph, inference, likelihood, sampling
from tanager.networks.values import values_from_plain, values_to_plain

Arc = tuple[str, str]  # parent, child


class Pattern(NamedTuple):
    """What all networks that no data can tell apart have in common: arcs, and edges that may point either way."""

    arcs: tuple[Arc, ...]
    edges: tuple[Arc, ...]


class Network:
    """A Bayesian network: variables with their values, arcs without a cycle, and tables where they are known.

    A network is a value: it never changes, and editing gives a new one, in which all families that were not touched
    keep their tables. Two networks are equal where their variables, values, arcs and tables are; the order of variables
    and parents does not matter, that of values does.

    Parameters
    ----------
    variables : mapping from name to values
        In the order in which they are shown.
    arcs : iterable of (parent, child)
        No cycle.
    tables : mapping from name to array, default=None
        P(variable | parents): one axis per parent, in the order of ``parents(name)``, then the variable's own, along
        which it sums to one. Some or all variables; ``estimate`` makes them from data.

    Examples
    --------
    >>> from tanager import Network
    >>> network = Network({"rain": ("no", "yes"), "grass": ("dry", "wet")}, [("rain", "grass")])
    >>> network = network.with_tables({"rain": [0.75, 0.25], "grass": [[0.8, 0.2], [0.1, 0.9]]})
    >>> network
    <Network of 2 variables, with tables: rain -> grass>
    >>> network.posterior("rain", {"grass": "wet"}).round(4)
    array([0.4, 0.6])
    >>> network.add("grass", "rain")
    Traceback (most recent call last):
    tanager.errors.DataError: adding grass -> rain would close the cycle rain -> grass -> rain.
    """

    def __init__(
        self,
        variables: Mapping[str, Sequence[object]],
        arcs: Iterable[Arc] = (),
        tables: Mapping[str, Any] | None = None,
    ) -> None:
        self._values = {name: _checked_values(name, values) for name, values in variables.items()}
        self._places = {name: i for i, name in enumerate(self._values)}
        self._parents: tuple[tuple[int, ...], ...] = self._read_arcs(arcs)
        self._tables: dict[str, np.ndarray] = {}
        self._take_tables(tables or {})

    def _read_arcs(self, arcs: Iterable[Arc]) -> tuple[tuple[int, ...], ...]:
        parents: list[list[int]] = [[] for _ in self._places]
        for parent, child in arcs:
            u, v = self.index(parent), self.index(child)
            if u in parents[v]:
                raise DataError(f"the arc {parent} -> {child} is given twice. Leave one out.")
            parents[v].append(u)
        circle = graph.cycle(parents) if graph.topological(parents) is None else None
        if circle:
            raise DataError(f"the arcs close the cycle {self._chain(circle)}. Leave one of them out, or turn it.")
        return tuple(tuple(own) for own in parents)

    def _take_tables(self, tables: Mapping[str, Any]) -> None:
        self._tables |= {name: self.checked_table(name, table) for name, table in tables.items()}

    def checked_table(self, name: str, table: Any) -> np.ndarray:
        """A table of a variable as an array of its own; refused where it does not fit."""
        expected, family = self.shape(name), self.family(name)
        try:
            cells = np.array(table, dtype=float)
        except (TypeError, ValueError):
            raise DataError(f"the table of {family} must be an array of numbers of the shape {expected}.") from None
        if cells.shape != expected:
            axes = " x ".join(
                f"{size} ({axis})" for axis, size in zip([*self.parents(name), name], expected, strict=True)
            )
            raise DataError(f"the table of {family} has the shape {cells.shape}, expected {expected}: {axes}.")
        sums = cells.sum(axis=-1)
        if cells.size and not (cells.min() >= 0 and np.abs(sums - 1).max() <= 1e-6):
            worst = np.unravel_index(np.argmax(np.abs(sums - 1)), sums.shape)
            given = ", ".join(f"{p} = {self.values(p)[v]}" for p, v in zip(self.parents(name), worst, strict=True))
            found = f"{cells.min():g} is below 0" if cells.min() < 0 else f"they sum to {sums[worst]:.9g}"
            at = f" given {given}" if given and not cells.min() < 0 else ""
            raise DataError(
                f"the table of {family} must hold probabilities that sum to 1 along its last axis; {found}{at}."
            )
        cells.flags.writeable = False
        return cells

    # --- what it is made of -----------------------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return tuple(self._values)

    def index(self, name: str) -> int:
        """The position of a variable; refused where there is none of this name."""
        if name not in self._places:
            raise SchemaMismatch(f"there is no variable {name!r}.{nearest(name, self._places)}")
        return self._places[name]

    def values(self, name: str) -> tuple[object, ...]:
        """The values of a variable."""
        self.index(name)
        return self._values[name]

    def code(self, name: str, value: object) -> int:
        """The position of a value among those of its variable; text will do for a number, as files have text alone."""
        values = self.values(name)
        if value in values:
            return values.index(value)
        texts = [str(v) for v in values]
        if str(value) in texts:
            return texts.index(str(value))
        listed = ", ".join(repr(v) for v in values[:8]) + (", ..." if len(values) > 8 else "")
        raise DataError(f"variable {name!r} has no value {value!r}; it has {listed}.{nearest(value, values)}")

    def parents(self, name: str) -> tuple[str, ...]:
        """The parents of a variable, in the order of the axes of its table."""
        return self._named(self._parents[self.index(name)])

    def children(self, name: str) -> tuple[str, ...]:
        """The children of a variable, in the order of the variables."""
        return self._named(self._children[self.index(name)])

    @property
    def arcs(self) -> list[Arc]:
        """All arcs as (parent, child), by child in the order of the variables."""
        return [(parent, child) for child in self._values for parent in self.parents(child)]

    @property
    def tables(self) -> Mapping[str, np.ndarray]:
        """P(variable | parents) of the variables whose table is known: one axis per parent, then the variable's own."""
        return MappingProxyType(self._tables)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a variable's table, there or not."""
        return tuple(len(self._values[other]) for other in (*self.parents(name), name))

    def family(self, name: str) -> str:
        """``P(child | parents)`` as text, to name a table."""
        parents = self.parents(name)
        return f"P({name} | {', '.join(parents)})" if parents else f"P({name})"

    @property
    def n_parameters(self) -> int:
        """How many free numbers all tables have together."""
        return sum((shape[-1] - 1) * int(np.prod(shape[:-1])) for shape in map(self.shape, self._values))

    @cached_property
    def _children(self) -> list[list[int]]:
        return graph.turned(self._parents)

    def _named(self, places: Iterable[int]) -> tuple[str, ...]:
        names = self.names
        return tuple(names[i] for i in places)

    def _chain(self, places: Iterable[int]) -> str:
        return " -> ".join(self._named(places))

    # --- the graph --------------------------------------------------------------------------------------------------

    def order(self) -> tuple[str, ...]:
        """The variables, each after its parents; where there is a choice, in their own order."""
        order = graph.topological(self._parents)
        assert order is not None
        return self._named(order)

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Parents, their parents and so on, in the order of the variables."""
        return self._around(self._parents, name)

    def descendants(self, name: str) -> tuple[str, ...]:
        """Children, their children and so on, in the order of the variables."""
        return self._around(self._children, name)

    def _around(self, lists: graph.Lists, name: str) -> tuple[str, ...]:
        start = self.index(name)
        return self._named(sorted(graph.reachable(lists, [start]) - {start}))

    def markov_blanket(self, name: str) -> tuple[str, ...]:
        """Parents, children and parents of children: given these, nothing else tells about the variable."""
        own = self.index(name)
        return self._named(sorted(graph.moral(self._parents)[own]))

    def separated(self, a: str, b: str, given: Iterable[str] = ()) -> bool:
        """Whether a and b must be independent given others, whatever the tables are (d-separation)."""
        known = [given] if isinstance(given, str) else given
        return not graph.d_connected(self._parents, self.index(a), self.index(b), {self.index(c) for c in known})

    def moral(self) -> list[Arc]:
        """The edges of the moral graph: parents of a common child are joined, and directions forgotten."""
        return self._edges(graph.moral(self._parents))

    def cpdag(self) -> Pattern:
        """The arcs that every network of the same independences has, and the edges that can be turned."""
        partial = graph.cpdag(self._parents)
        names = self.names
        arcs = tuple((names[u], names[v]) for v, own in enumerate(partial.parents) for u in sorted(own))
        return Pattern(arcs, tuple(self._edges(partial.neighbours)))

    def _edges(self, neighbours: graph.Lists) -> list[Arc]:
        names = self.names
        return [(names[u], names[v]) for u, own in enumerate(neighbours) for v in sorted(own) if u < v]

    def distance(self, other: Network) -> int:
        """Structural Hamming distance: pairs of variables that the two patterns (``cpdag``) join differently.

        Each pair counts once, be it joined in one of them alone, the other way round, or open in one alone. So networks
        that no data can tell apart have the distance 0.
        """
        if set(self.names) != set(other.names):
            odd = sorted(set(self.names) ^ set(other.names))
            raise SchemaMismatch(
                f"only networks of the same variables have a distance; {odd[0]!r} is in one of them alone."
            )
        theirs = Network(self._values, other.arcs)
        return graph.hamming(graph.cpdag(self._parents), graph.cpdag(theirs._parents))

    # --- editing ----------------------------------------------------------------------------------------------------

    def add(self, parent: str, child: str) -> Network:
        """The network with one more arc; the child loses its table."""
        u, v = self.index(parent), self.index(child)
        if u in self._parents[v]:
            raise DataError(f"the arc {parent} -> {child} is there already.")
        self._refuse_cycle("adding", u, v)
        return self._with_arcs([*self.arcs, (parent, child)], {child})

    def remove(self, parent: str, child: str) -> Network:
        """The network without an arc; the child loses its table."""
        self._find(parent, child)
        return self._with_arcs([arc for arc in self.arcs if arc != (parent, child)], {child})

    def reverse(self, parent: str, child: str) -> Network:
        """The network with an arc turned round; both ends lose their tables."""
        u, v = self._find(parent, child)
        without = self.remove(parent, child)
        without._refuse_cycle("turning", v, u)
        return self._with_arcs([*without.arcs, (child, parent)], {parent, child})

    def keep(self, names: Iterable[str]) -> Network:
        """The network of some variables and the arcs among them; a family that lost a parent loses its table."""
        places = {self.index(name) for name in names}
        kept = self._named(sorted(places))
        arcs = [(u, v) for u, v in self.arcs if u in kept and v in kept]
        whole = {name for name in kept if places.issuperset(self._parents[self._places[name]])}
        return Network({name: self._values[name] for name in kept}, arcs)._with_checked(self._tables, whole)

    def with_tables(self, tables: Mapping[str, Any]) -> Network:
        """The network with these tables in place of, or besides, its own."""
        same = Network(self._values, self.arcs)._with_checked(self._tables, self._tables)
        same._take_tables(tables)
        return same

    def _find(self, parent: str, child: str) -> tuple[int, int]:
        u, v = self.index(parent), self.index(child)
        if u not in self._parents[v]:
            turned = f" {child} -> {parent} is." if v in self._parents[u] else ""
            raise DataError(f"the arc {parent} -> {child} is not in the network.{turned}")
        return u, v

    def _refuse_cycle(self, doing: str, u: int, v: int) -> None:
        way = [v] if u == v else graph.path(self._children, v, u)
        if way is not None:
            arc = self._chain([u, v] if doing == "adding" else [v, u])
            raise DataError(f"{doing} {arc} would close the cycle {self._chain([*way, v])}.")

    def _with_arcs(self, arcs: Iterable[Arc], touched: Collection[str]) -> Network:
        return Network(self._values, arcs)._with_checked(self._tables, self._tables.keys() - touched)

    def _with_checked(self, tables: Mapping[str, np.ndarray], names: Collection[str]) -> Network:
        """This new network, with some tables of another one that fit its families."""
        self._tables = {name: table for name, table in tables.items() if name in names}
        return self

    # --- tables and what follows from them --------------------------------------------------------------------------

    def estimate(self, data: Any, smoothing: Any = 1.0, *, target: str | None = None) -> Network:
        """The network with all tables made from data.

        Parameters
        ----------
        data : table, Sample or JointCounts
            A table (a frame, a dict of columns, rows as dicts) has the variables as columns and their values as cells.
            Missing cells are left out: each table rests on the rows in which its whole family is present.
        smoothing : float or a smoothing rule, default=1.0
            A number is Lidstone's pseudo-count; 0 trusts the data alone.
        target : str, default=None
            The class. With JointCounts, which variable their class is ("class" by default). ``BackOff`` drops parents
            from the last on, but never the class.
        """
        return self.with_tables(estimation.tables(self, data, smoothing, target))

    def log_likelihood(self, data: Any, *, target: str | None = None) -> float:
        """log P(data), natural; of a row with gaps, the families that are present in whole."""
        self._require(self.names)
        return likelihood.log_likelihood(self, data, target)

    def conditional_log_likelihood(self, data: Any, target: str) -> float:
        """The sum over rows of log P(target | all other variables), natural; factors with a gap are left out."""
        self._require([target, *self.children(target)])
        return likelihood.conditional_log_likelihood(self, data, target)

    def posterior(self, variables: str | Sequence[str], evidence: Mapping[str, object] | None = None) -> np.ndarray:
        """P(variables | evidence), exact: one axis per variable, in the order asked for.

        Evidence that says nothing about the variables is not looked at. The work grows with the largest table on the
        way, not with the number of variables; beyond ten million cells it is refused.

        Parameters
        ----------
        variables : str or sequence of str
            What to ask for.
        evidence : mapping from name to value, default=None
            What is known.
        """
        asked = [variables] if isinstance(variables, str) else list(variables)
        known = {self.index(name): self.code(name, value) for name, value in (evidence or {}).items()}
        return inference.posterior(self, [self.index(name) for name in asked], known)

    def sample(self, n: int, random_state: Any = None, as_: str = "table") -> Any:
        """Rows drawn at random.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, numpy.random.Generator or None
            The same number gives the same rows.
        as_ : {"table", "codes", "sample"}
            *table*: a dict from name to an array of values, which every classifier and every frame takes. *codes*: an
            array (n, n_variables) of positions in ``values``. *sample*: a ``Sample``, for structure learners.
        """
        check_option("as_", as_, ("table", "codes", "sample"))
        self._require(self.names)
        return sampling.draw(self, n, random_state, as_)

    def _require(self, names: Iterable[str]) -> None:
        """Refuse where one of these variables has no table, or nothing to put in it."""
        for name in names:
            if name not in self._tables:
                raise DataError(
                    f"{self.family(name)} has no table. Make tables from data with estimate(data), or give them."
                )
            if 0 in self.shape(name):
                empty = next(other for other in (*self.parents(name), name) if not self._values[other])
                raise DataError(f"variable {empty!r} has no values. Leave it out, with keep(names) of the others.")

    # --- as plain data and files ------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: variables with their values, parents and, where it is known, the table."""
        return {"variables": [self._variable(name) for name in self._values]}

    def _variable(self, name: str) -> dict[str, Any]:
        values = values_to_plain(self._values[name])
        data: dict[str, Any] = {"name": name, "values": values, "parents": list(self.parents(name))}
        return data | ({"table": self._tables[name].tolist()} if name in self._tables else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Network:
        """The network that ``to_dict`` wrote."""
        variables = data["variables"]
        values = {v["name"]: values_from_plain(v["values"]) for v in variables}
        if len(values) < len(variables):
            raise DataError("two variables have the same name.")
        arcs = [(parent, v["name"]) for v in variables for parent in v["parents"]]
        return cls(values, arcs, {v["name"]: v["table"] for v in variables if "table" in v})

    # --- as a value -------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return (
            self._values == other._values
            and set(self.arcs) == set(other.arcs)
            and self._tables.keys() == other._tables.keys()
            and all(
                np.array_equal(table, other._table_in(name, self.parents(name))) for name, table in self._tables.items()
            )
        )

    def _table_in(self, name: str, parents: Sequence[str]) -> np.ndarray:
        """The table with its axes in another order of the same parents."""
        own = self.parents(name)
        return self._tables[name].transpose([*(own.index(parent) for parent in parents), len(own)])

    def __hash__(self) -> int:
        return hash((frozenset(self._values.items()), frozenset(self.arcs)))

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __repr__(self) -> str:
        arcs = [f"{parent} -> {child}" for parent, child in self.arcs]
        shown = ", ".join(arcs[:5] + [f"... ({len(arcs)} arcs)"] * (len(arcs) > 5)) or "no arcs"
        n = len(self._tables)
        tables = "" if n == 0 else ", with tables" if n == len(self) else f", with {n} tables"
        return f"<Network of {len(self)} variable{'s' * (len(self) != 1)}{tables}: {shown}>"

    def plot(self, path: Any = None, **options: Any) -> Any:
        """Draw it; see ``tanager.plot_network``."""
        import tanager  # the door, where all layers are known

        return tanager.plot_network(self, path, **options)

    def text(self, **options: Any) -> str:
        """Draw it with characters, for a terminal; see ``tanager.network_text``."""
        import tanager

        return tanager.network_text(self, **options)


def _checked_values(name: str, values: Sequence[object]) -> tuple[object, ...]:
    """The values as Python's own objects, all of them different."""
    if not isinstance(name, str):
        raise DataError(f"variables have text as names; {name!r} is a {type(name).__name__}. Use {str(name)!r}.")
    if isinstance(values, str):
        raise DataError(f"variable {name!r}: its values are given as one text {values!r}. Give a list of values.")
    own = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    twice = [value for i, value in enumerate(own) if value in own[:i]]
    if twice:
        raise DataError(f"variable {name!r}: the value {twice[0]!r} is given twice.")
    return own
