"""Network: arcs over named variables, and the tables that make them a distribution."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NotRequired, TypedDict, overload

import numpy as np

from tanager.counts.sample import Sample
from tanager.encoding.typing import Seed, TableLike
from tanager.errors import DataError, SchemaMismatch, check_option, nearest
from tanager.labelled import LabelledTable
from tanager.listed import Listed, names_in
from tanager.networks import estimation, graph, inference, likelihood, most_probable, propagation, questions, sampling
from tanager.networks import sensitivity as sensitivities
from tanager.networks.display import is_quickly_drawn, network_html
from tanager.networks.evidence import Evidence, SoftEvidence
from tanager.networks.tables import LockedRows, checked_table, checked_values
from tanager.networks.values import values_from_plain, values_to_plain
from tanager.shortcuts import public

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tanager.counts.estimates import Estimate
    from tanager.counts.joint import JointCounts

Arc = tuple[str, str]  # parent, child


class Pattern(NamedTuple):
    """An equivalence class of networks: the arcs that all of them have, and the edges that may point either way."""

    arcs: tuple[Arc, ...]
    edges: tuple[Arc, ...]


class VariableDict(TypedDict):
    """A variable as plain data; the table is nested lists, with an axis for each parent and last its own."""

    name: str
    values: list[Any]
    parents: list[str]
    table: NotRequired[list[Any]]


class NetworkDict(TypedDict):
    """A network as plain data."""

    variables: list[VariableDict]


class Network(Listed):
    """A Bayesian network: variables with their values, acyclic arcs, and tables as far as they are known.

    Networks are immutable. Editing returns a new one, in which variables with the same parents as before keep their
    tables. Two networks are equal if their variables, values, arcs and tables are; the order of variables and parents
    does not matter, that of values does.

    Parameters
    ----------
    variables : mapping from name to values
        The names of the variables, each with its values in the order of the axes of tables.
    arcs : iterable of (parent, child)
        Pairs of names. Following arcs must never lead back to where one began.
    tables : mapping from name to array, default=None
        P(variable | parents): one axis per parent, in the order of ``parents(name)``, then that of the variable itself,
        along which it sums to one. For some or all variables; ``estimate`` computes them from data.

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

    unlisted = names_in("""
        checked_rows junction of_parents places require_tables table_in_order
    """)

    def __init__(
        self,
        variables: Mapping[str, Sequence[object]],
        arcs: Iterable[Arc] = (),
        tables: Mapping[str, Any] | None = None,
    ) -> None:
        self._values = {name: checked_values(name, values) for name, values in variables.items()}
        self._places = {name: i for i, name in enumerate(self._values)}
        self._parents: tuple[tuple[int, ...], ...] = self._read_arcs(arcs)
        self._tables: dict[str, np.ndarray] = {}
        self._add_tables(tables or {})

    @classmethod
    def of_parents(cls, variables: Mapping[str, tuple[object, ...]], parents: Iterable[Iterable[int]]) -> Network:
        """A network without tables from the places of all parents, known to be without a cycle: unchecked, thus quick.

        >>> Network.of_parents({"rain": ("no", "yes"), "grass": ("dry", "wet")}, [[], [0]]).arcs
        [('rain', 'grass')]
        """
        own = cls({})
        own._values = dict(variables)
        own._places = {name: i for i, name in enumerate(own._values)}
        own._parents = tuple(map(tuple, parents))
        return own

    def _read_arcs(self, arcs: Iterable[Arc]) -> tuple[tuple[int, ...], ...]:
        parents: list[list[int]] = [[] for _ in self._places]
        for parent, child in arcs:
            u, v = self.index(parent), self.index(child)
            if u in parents[v]:
                raise DataError(f"the arc {parent} -> {child} is given twice. Leave one out.")
            parents[v].append(u)
        circle = graph.cycle(parents) if graph.topological(parents) is None else None
        if circle:
            raise DataError(f"the arcs close the cycle {self._chain(circle)}. Leave one of them out, or reverse it.")
        return tuple(tuple(own) for own in parents)

    def _add_tables(self, tables: Mapping[str, Any]) -> None:
        self._tables |= {name: self._checked_table(name, table) for name, table in tables.items()}

    def _checked_table(self, name: str, table: Any) -> np.ndarray:
        """A table of a variable as a read-only array; an error if it does not fit."""
        axes = {other: self._values[other] for other in (*self.parents(name), name)}
        return checked_table(table, self.family(name), axes)

    # --- variables, arcs and tables -----------------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return tuple(self._values)

    def index(self, name: str) -> int:
        """The index of a variable; an error if there is none of this name.

        Parameters
        ----------
        name : str
            The name of a variable.

        Returns
        -------
        int
            Its place, from 0.
        """
        if name not in self._places:
            raise SchemaMismatch(f"there is no variable {name!r}.{nearest(name, self._places)}")
        return self._places[name]

    def values(self, name: str) -> tuple[object, ...]:
        """The values of a variable.

        Parameters
        ----------
        name : str
            The name of a variable.

        Returns
        -------
        tuple of object
            In the order of their codes.
        """
        self.index(name)
        return self._values[name]

    def code(self, name: str, value: object) -> int:
        """The index of a value of a variable; a number is also found by its text, as files have only text.

        Parameters
        ----------
        name : str
            The name of a variable.
        value : object
            One of its values.

        Returns
        -------
        int
            Its place among the values, from 0.
        """
        values = self.values(name)
        if value in values:
            return values.index(value)
        texts = [str(v) for v in values]
        if str(value) in texts:
            return texts.index(str(value))
        listed = ", ".join(repr(v) for v in values[:8]) + (", ..." if len(values) > 8 else "")
        raise DataError(f"variable {name!r} has no value {value!r}; it has {listed}.{nearest(value, values)}")

    def places(self, name: str, values: Iterable[object]) -> list[int]:
        """Where the network has each of these values of a variable; -1 where it has none of them."""
        own = self.values(name)
        texts = {str(value): place for place, value in enumerate(own)}
        return [own.index(value) if value in own else texts.get(str(value), -1) for value in values]

    def parents(self, name: str) -> tuple[str, ...]:
        """The parents of a variable, in the order of the axes of its table.

        Parameters
        ----------
        name : str
            The name of a variable.

        Returns
        -------
        tuple of str
            Names of variables.
        """
        return self._named(self._parents[self.index(name)])

    def children(self, name: str) -> tuple[str, ...]:
        """The children of a variable, in the order of the variables.

        Parameters
        ----------
        name : str
            The name of a variable.

        Returns
        -------
        tuple of str
            Names of variables.
        """
        return self._named(self._children[self.index(name)])

    @property
    def arcs(self) -> list[Arc]:
        """All arcs as (parent, child), by child in the order of the variables."""
        return [(parent, child) for child in self._values for parent in self.parents(child)]

    @property
    def tables(self) -> Mapping[str, np.ndarray]:
        """P(variable | parents) for each variable with a table: one axis per parent, then that of the variable."""
        return MappingProxyType(self._tables)

    def cpt(self, name: str) -> LabelledTable:
        """P(variable | parents) as a table with labels.

        Parameters
        ----------
        name : str
            The variable.

        Returns
        -------
        LabelledTable
            A line for each combination of values of the parents, and a column for each value of the variable.

        Examples
        --------
        >>> network = Network({"rain": ("no", "yes"), "grass": ("dry", "wet")}, [("rain", "grass")])
        >>> network.with_tables({"grass": [[0.8, 0.2], [0.1, 0.9]]}).cpt("grass")
        P(grass | rain)
              grass
        rain     dry     wet
        no    0.8000  0.2000
        yes   0.1000  0.9000
        """
        self.index(name)
        self.require_tables([name])
        return self._labelled(self._tables[name], (*self.parents(name), name), self.family(name))

    def _labelled(self, numbers: np.ndarray, names: Iterable[str], title: str) -> LabelledTable:
        return LabelledTable(numbers, {name: self._values[name] for name in names}, title)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a variable's table, whether it is known or not.

        Parameters
        ----------
        name : str
            The name of a variable.

        Returns
        -------
        tuple of int
            The number of values of each parent, then its own.
        """
        return tuple(len(self._values[other]) for other in (*self.parents(name), name))

    def family(self, name: str) -> str:
        """``P(child | parents)`` as text, to name a table.

        Parameters
        ----------
        name : str
            The name of a variable.

        Returns
        -------
        str
            The text.
        """
        parents = self.parents(name)
        return f"P({name} | {', '.join(parents)})" if parents else f"P({name})"

    @property
    def n_parameters(self) -> int:
        """The number of free parameters of all tables together."""
        return sum((shape[-1] - 1) * int(np.prod(shape[:-1])) for shape in map(self.shape, self._values))

    @property
    def parent_indices(self) -> tuple[tuple[int, ...], ...]:
        """The indices of the parents of every variable, in the order of the axes of its table."""
        return self._parents

    def table_in_order(self, name: str, parents: Sequence[str]) -> np.ndarray:
        """A table with its axes in another order of the same parents."""
        own = self.parents(name)
        return self._tables[name].transpose([*(own.index(parent) for parent in parents), len(own)])

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
        """A topological order: each variable after its parents; ties in the order of the variables.

        Returns
        -------
        tuple of str
            All names.
        """
        order = graph.topological(self._parents)
        assert order is not None
        return self._named(order)

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Parents, their parents and so on, in the order of the variables.

        Parameters
        ----------
        name : str
            The name of a variable.

        Returns
        -------
        tuple of str
            Names of variables.
        """
        return self._around(self._parents, name)

    def descendants(self, name: str) -> tuple[str, ...]:
        """Children, their children and so on, in the order of the variables.

        Parameters
        ----------
        name : str
            The name of a variable.

        Returns
        -------
        tuple of str
            Names of variables.
        """
        return self._around(self._children, name)

    def _around(self, lists: graph.Lists, name: str) -> tuple[str, ...]:
        start = self.index(name)
        return self._named(sorted(graph.reachable(lists, [start]) - {start}))

    def markov_blanket(self, name: str) -> tuple[str, ...]:
        """Parents, children and parents of children: given these, the variable is independent of all others.

        Parameters
        ----------
        name : str
            The name of a variable.

        Returns
        -------
        tuple of str
            Names of variables.

        Examples
        --------
        >>> from tanager import Network
        >>> network = Network(dict.fromkeys("abcd", (0, 1)), [("a", "c"), ("b", "c"), ("c", "d")])
        >>> network.markov_blanket("a")  # its child, and the other parent of it
        ('b', 'c')
        """
        own = self.index(name)
        return self._named(sorted(graph.moral(self._parents)[own]))

    def separated(self, a: str, b: str, given: Iterable[str] = ()) -> bool:
        """Whether a and b are d-separated by others: independent given these, whatever the tables are.

        Parameters
        ----------
        a : str
            The name of a variable.
        b : str
            The name of another one.
        given : iterable of str, default=()
            Names of variables that are known.

        Returns
        -------
        bool
            True or False.

        Examples
        --------
        >>> from tanager import Network
        >>> arcs = [("rain", "grass"), ("sprinkler", "grass"), ("grass", "shoes")]
        >>> network = Network(dict.fromkeys(["rain", "sprinkler", "grass", "shoes"], ("no", "yes")), arcs)
        >>> network.separated("rain", "shoes"), network.separated("rain", "shoes", given=["grass"])
        (False, True)
        >>> network.separated("rain", "sprinkler"), network.separated("rain", "sprinkler", given=["shoes"])
        (True, False)
        """
        observed = [given] if isinstance(given, str) else given
        return not graph.d_connected(self._parents, self.index(a), self.index(b), {self.index(c) for c in observed})

    def moral(self) -> list[Arc]:
        """The edges of the moral graph: parents of a common child are joined, and directions dropped.

        Returns
        -------
        list of Arc
            Pairs of names.
        """
        return self._edges(graph.moral(self._parents))

    def cpdag(self) -> Pattern:
        """The equivalence class: the arcs that all its networks share, and the edges that can be reversed.

        Returns
        -------
        Pattern
            Arcs and edges.

        Examples
        --------
        >>> from tanager import Network
        >>> chain = Network(dict.fromkeys("abc", (0, 1)), [("a", "b"), ("b", "c")])
        >>> fork = Network(dict.fromkeys("abc", (0, 1)), [("b", "a"), ("b", "c")])
        >>> chain.cpdag() == fork.cpdag()  # no data can tell them apart
        True
        """
        partial = graph.cpdag(self._parents)
        names = self.names
        arcs = tuple((names[u], names[v]) for v, own in enumerate(partial.parents) for u in sorted(own))
        return Pattern(arcs, tuple(self._edges(partial.neighbours)))

    def _edges(self, neighbours: graph.Lists) -> list[Arc]:
        names = self.names
        return [(names[u], names[v]) for u, own in enumerate(neighbours) for v in sorted(own) if u < v]

    def distance(self, other: Network) -> int:
        """Structural Hamming distance between the equivalence classes (``cpdag``) of two networks.

        It counts the pairs of variables that are joined in one of them only, have opposite directions, or a direction
        in one of them only. Equivalent networks have the distance 0.

        Parameters
        ----------
        other : Network
            A network over the same variables.

        Returns
        -------
        int
            How many edges differ.

        Examples
        --------
        >>> from tanager import Network
        >>> chain = Network(dict.fromkeys("abc", (0, 1)), [("a", "b"), ("b", "c")])
        >>> fork = Network(dict.fromkeys("abc", (0, 1)), [("b", "a"), ("b", "c")])
        >>> collider = Network(dict.fromkeys("abc", (0, 1)), [("a", "b"), ("c", "b")])
        >>> chain.distance(fork), chain.distance(collider), chain.distance(chain.remove("a", "b"))
        (0, 2, 1)
        """
        if set(self.names) != set(other.names):
            odd = sorted(set(self.names) ^ set(other.names))
            raise SchemaMismatch(
                f"a distance needs two networks over the same variables; {odd[0]!r} is in one of them only."
            )
        theirs = Network(self._values, other.arcs)
        return graph.hamming(graph.cpdag(self._parents), graph.cpdag(theirs._parents))

    # --- editing ----------------------------------------------------------------------------------------------------

    def add(self, parent: str, child: str) -> Network:
        """The network with one more arc; the child loses its table.

        Parameters
        ----------
        parent : str
            Where the arc begins.
        child : str
            Where the arc ends.

        Returns
        -------
        Network
            A new network.
        """
        u, v = self.index(parent), self.index(child)
        if u in self._parents[v]:
            raise DataError(f"the network already has the arc {parent} -> {child}.")
        self._check_cycle("adding", u, v)
        return self._with_arcs([*self.arcs, (parent, child)], {child})

    def remove(self, parent: str, child: str) -> Network:
        """The network without an arc; the child loses its table.

        Parameters
        ----------
        parent : str
            Where the arc begins.
        child : str
            Where the arc ends.

        Returns
        -------
        Network
            A new network.
        """
        self._find(parent, child)
        return self._with_arcs([arc for arc in self.arcs if arc != (parent, child)], {child})

    def reverse(self, parent: str, child: str) -> Network:
        """The network with an arc reversed; both ends lose their tables.

        Parameters
        ----------
        parent : str
            Where the arc begins.
        child : str
            Where the arc ends.

        Returns
        -------
        Network
            A new network.
        """
        u, v = self._find(parent, child)
        without = self.remove(parent, child)
        without._check_cycle("reversing", v, u)
        return self._with_arcs([*without.arcs, (child, parent)], {parent, child})

    def keep(self, names: Iterable[str]) -> Network:
        """The subnetwork of some variables and the arcs among them; a variable that lost a parent loses its table.

        Parameters
        ----------
        names : iterable of str
            The variables to keep.

        Returns
        -------
        Network
            A new network.
        """
        places = {self.index(name) for name in names}
        kept = self._named(sorted(places))
        arcs = [(u, v) for u, v in self.arcs if u in kept and v in kept]
        whole = {name for name in kept if places.issuperset(self._parents[self._places[name]])}
        return Network({name: self._values[name] for name in kept}, arcs)._with_checked(self._tables, whole)

    def with_tables(self, tables: Mapping[str, Any]) -> Network:
        """The network with these tables, which replace its own.

        Parameters
        ----------
        tables : dict of name to array
            One axis for each parent and, last, one for the variable.

        Returns
        -------
        Network
            A new network.
        """
        same = Network(self._values, self.arcs)._with_checked(self._tables, self._tables)
        same._add_tables(tables)
        return same

    def with_rows(self, rows: LockedRows) -> Network:
        """The network with some rows of its tables replaced by numbers that a person has set.

        Parameters
        ----------
        rows : mapping from name to a mapping from values to probabilities
            For each row the values of all parents of the variable, in the order of ``parents(name)`` (``()`` where it
            has none), and the probabilities of the values of the variable.

        Returns
        -------
        Network
            A new network.

        Examples
        --------
        >>> network = Network({"rain": ("no", "yes"), "grass": ("dry", "wet")}, [("rain", "grass")])
        >>> network = network.with_tables({"rain": [0.75, 0.25], "grass": [[0.8, 0.2], [0.1, 0.9]]})
        >>> network.with_rows({"grass": {("yes",): [0.02, 0.98]}}).tables["grass"]
        array([[0.8 , 0.2 ],
               [0.02, 0.98]])
        """
        checked = self.checked_rows(rows)
        self.require_tables(checked)
        tables = {name: self._tables[name].copy() for name in checked}
        for name, own in checked.items():
            for at, numbers in own:
                tables[name][at] = numbers
        return self.with_tables(tables)

    def checked_rows(self, rows: LockedRows) -> dict[str, list[tuple[tuple[int, ...], np.ndarray]]]:
        """Rows of tables, by the codes of the values of the parents; an error if one does not fit."""
        return {name: [self._checked_row(name, given, own) for given, own in rows[name].items()] for name in rows}

    def _checked_row(self, name: str, given: Any, numbers: Any) -> tuple[tuple[int, ...], np.ndarray]:
        parents = self.parents(name)
        if not isinstance(given, tuple) or len(given) != len(parents):
            wanted = f"one value for each of {', '.join(parents)}, as a tuple" if parents else "()"
            raise DataError(f"a row of {self.family(name)} is given by {given!r}, expected {wanted}.")
        at = tuple(self.code(parent, value) for parent, value in zip(parents, given, strict=True))
        shown = ", ".join(f"{parent} = {value}" for parent, value in zip(parents, given, strict=True))
        return at, checked_table(numbers, f"P({name} | {shown})" if shown else f"P({name})", {name: self.values(name)})

    def _find(self, parent: str, child: str) -> tuple[int, int]:
        u, v = self.index(parent), self.index(child)
        if u not in self._parents[v]:
            hint = f" It has {child} -> {parent}." if v in self._parents[u] else ""
            raise DataError(f"the network has no arc {parent} -> {child}.{hint}")
        return u, v

    def _check_cycle(self, doing: str, u: int, v: int) -> None:
        way = [v] if u == v else graph.path(self._children, v, u)
        if way is not None:
            arc = self._chain([u, v] if doing == "adding" else [v, u])
            raise DataError(f"{doing} {arc} would close the cycle {self._chain([*way, v])}.")

    def _with_arcs(self, arcs: Iterable[Arc], touched: Collection[str]) -> Network:
        return Network(self._values, arcs)._with_checked(self._tables, self._tables.keys() - touched)

    def _with_checked(self, tables: Mapping[str, np.ndarray], names: Collection[str]) -> Network:
        """This new network with some tables of another one, which are known to fit."""
        self._tables = {name: table for name, table in tables.items() if name in names}
        return self

    # --- tables and what follows from them --------------------------------------------------------------------------

    def estimate(
        self, data: TableLike | Sample | JointCounts, smoothing: float | Estimate = 1.0, *, target: str | None = None
    ) -> Network:
        """The network with all tables estimated from data.

        Parameters
        ----------
        data : table, Sample or JointCounts
            A table (a frame, a dict of columns, rows as dicts) with a column for each variable. Missing cells are left
            out: each table is estimated from the rows in which its whole family is present.
        smoothing : float or a smoothing rule, default=1.0
            A number is Lidstone's pseudo-count; 0 gives relative frequencies.
        target : str, default=None
            The class. With JointCounts, the variable that is their class (default: "class"). ``BackOff`` drops parents
            from the last on, but never the class.

        Returns
        -------
        Network
            A new network.

        Examples
        --------
        >>> from tanager import Network
        >>> network = Network({"rain": ("no", "yes"), "grass": ("dry", "wet")}, [("rain", "grass")])
        >>> data = {"rain": ["no", "no", "no", "yes"], "grass": ["dry", "dry", "wet", "wet"]}
        >>> network.estimate(data).tables["grass"]  # each cell with one more row
        array([[0.6       , 0.4       ],
               [0.33333333, 0.66666667]])
        """
        return self.with_tables(estimation.tables(self, data, smoothing, target))

    def log_likelihood(self, data: TableLike | Sample, *, target: str | None = None) -> float:
        """The natural log of P(data). A missing cell leaves out P(variable | parents) of its variable and its children.

        Parameters
        ----------
        data : table or Sample
            Rows with a column for each variable.
        target : str, default=None
            The name of the class.

        Returns
        -------
        float
            A natural log.
        """
        self.require_tables(self.names)
        return likelihood.log_likelihood(self, data, target)

    def conditional_log_likelihood(self, data: TableLike | Sample, target: str) -> float:
        """The sum over rows of log P(target | all other variables); tables that need a missing cell are left out.

        Parameters
        ----------
        data : table or Sample
            Rows with a column for each variable.
        target : str
            The name of the class.

        Returns
        -------
        float
            A natural log.
        """
        self.require_tables([target, *self.children(target)])
        return likelihood.conditional_log_likelihood(self, data, target)

    # --- answers from all tables --------------------------------------------------------------------------------------

    def posterior(
        self,
        variables: str | Sequence[str],
        evidence: Mapping[str, object] | None = None,
        *,
        soft: SoftEvidence | None = None,
    ) -> np.ndarray:
        """P(variables | evidence), exact: one axis per variable, in the order given.

        Evidence that is irrelevant for the variables is ignored. The cost depends on the largest intermediate table,
        not on the number of variables; a table of more than ten million cells raises an error.

        Parameters
        ----------
        variables : str or sequence of str
            The query variables.
        evidence : mapping from name to value, default=None
            The observed values.
        soft : mapping from name to likelihoods, default=None
            Observations that are not certain; see ``marginals``.

        Returns
        -------
        array
            Probabilities, in the order of the values of each variable.

        Examples
        --------
        >>> from tanager import Network
        >>> arcs = [("rain", "wet"), ("sprinkler", "wet")]
        >>> network = Network(dict.fromkeys(["rain", "sprinkler", "wet"], ("no", "yes")), arcs)
        >>> wet = [[[1.0, 0.0], [0.1, 0.9]], [[0.2, 0.8], [0.0, 1.0]]]  # first without rain, then with it
        >>> network = network.with_tables({"rain": [0.7, 0.3], "sprinkler": [0.9, 0.1], "wet": wet})
        >>> network.posterior("rain", {"wet": "yes"}).round(3)
        array([0.204, 0.796])
        >>> network.posterior("rain", {"wet": "yes", "sprinkler": "yes"}).round(3)  # which explains it as well
        array([0.677, 0.323])
        """
        query = self._indices([variables] if isinstance(variables, str) else variables)
        return inference.posterior(self, query, Evidence.read(self, evidence, soft))

    def probabilities(
        self,
        variables: str | Sequence[str],
        evidence: Mapping[str, object] | None = None,
        *,
        soft: SoftEvidence | None = None,
    ) -> LabelledTable:
        """P(variables | evidence) as a table with labels; ``posterior`` has the same as an array.

        Parameters
        ----------
        variables : str or sequence of str
            The query variables.
        evidence : mapping from name to value, default=None
            The observed values.
        soft : mapping from name to likelihoods, default=None
            Observations that are not certain; see ``marginals``.

        Returns
        -------
        LabelledTable
            One axis per variable, in the order given.

        Examples
        --------
        >>> network = Network({"rain": ("no", "yes"), "grass": ("dry", "wet")}, [("rain", "grass")])
        >>> network = network.with_tables({"rain": [0.75, 0.25], "grass": [[0.8, 0.2], [0.1, 0.9]]})
        >>> network.probabilities("rain", {"grass": "wet"})
        P(rain | grass = wet)
            no     yes
        0.4000  0.6000
        """
        names = (variables,) if isinstance(variables, str) else tuple(variables)
        known = [
            *(f"{name} = {value}" for name, value in (evidence or {}).items()),
            *(f"{name}?" for name in soft or ()),
        ]
        title = f"P({', '.join(names)} | {', '.join(known)})" if known else f"P({', '.join(names)})"
        return self._labelled(self.posterior(names, evidence, soft=soft), names, title)

    def marginals(
        self,
        evidence: Mapping[str, object] | None = None,
        *,
        soft: SoftEvidence | None = None,
        names: str | Iterable[str] | None = None,
    ) -> dict[str, np.ndarray]:
        """P(variable | evidence) of all variables at once, exact, by two passes through a junction tree.

        The tree is compiled once for a network; other evidence takes another two passes. Where the tree of the whole
        network is large, one is compiled for what is asked and observed.

        Parameters
        ----------
        evidence : mapping from name to value, default=None
            The observed values.
        soft : mapping from name to likelihoods, default=None
            Observations that are not certain (virtual evidence): P(observation | value), one number of at least 0 for
            each value, as a sequence or a mapping from value to number. Only their ratios matter.
        names : str or iterable of str, default=None
            The variables wanted. Default: all.

        Returns
        -------
        dict of str to array
            One array for each variable, in the order of its values.

        Examples
        --------
        >>> network = Network({"rain": ("no", "yes"), "grass": ("dry", "wet")}, [("rain", "grass")])
        >>> network = network.with_tables({"rain": [0.75, 0.25], "grass": [[0.8, 0.2], [0.1, 0.9]]})
        >>> network.marginals({"grass": "wet"})["rain"].round(4)
        array([0.4, 0.6])
        >>> network.marginals(soft={"grass": {"dry": 1, "wet": 3}})["rain"].round(4)  # it looks wet, rather
        array([0.6, 0.4])
        """
        return propagation.marginals(self, Evidence.read(self, evidence, soft), self._indices(names))

    def log_evidence(self, evidence: Mapping[str, object] | None = None, *, soft: SoftEvidence | None = None) -> float:
        """The natural log of P(evidence); minus infinity if it cannot be. Soft evidence counts by its likelihoods.

        Parameters
        ----------
        evidence : dict of name to value, default=None
            What was observed.
        soft : dict of name to likelihoods, default=None
            Observations that are not certain; see ``marginals``.

        Returns
        -------
        float
            A natural log.

        Examples
        --------
        >>> from tanager import Network
        >>> arcs = [("rain", "wet"), ("sprinkler", "wet")]
        >>> network = Network(dict.fromkeys(["rain", "sprinkler", "wet"], ("no", "yes")), arcs)
        >>> wet = [[[1.0, 0.0], [0.1, 0.9]], [[0.2, 0.8], [0.0, 1.0]]]  # first without rain, then with it
        >>> network = network.with_tables({"rain": [0.7, 0.3], "sprinkler": [0.9, 0.1], "wet": wet})
        >>> import math
        >>> round(math.exp(network.log_evidence({"wet": "yes"})), 4)
        0.309
        >>> network.log_evidence({"rain": "yes", "sprinkler": "yes", "wet": "no"})
        -inf
        """
        return propagation.log_evidence(self, Evidence.read(self, evidence, soft))

    def most_probable(
        self,
        evidence: Mapping[str, object] | None = None,
        *,
        soft: SoftEvidence | None = None,
        names: str | Iterable[str] | None = None,
    ) -> most_probable.MostProbable:
        """The most probable explanation: the values of all other variables that are most probable together, exact.

        These need not be the most probable value of each variable by itself. Of explanations that are equally probable
        it is the first, in the order of the variables and their values.

        Parameters
        ----------
        evidence : dict of name to value, default=None
            What was observed.
        soft : dict of name to likelihoods, default=None
            Observations that are not certain; see ``marginals``.
        names : str or iterable of str, default=None
            The variables to explain; all others are summed out (marginal MAP), which may take larger tables. Default:
            all that are not observed.

        Returns
        -------
        MostProbable
            Its ``values`` is a dict from name to value, ``log_probability`` the natural log of the probability of these
            values and the evidence, ``probability_given_evidence`` that of these values.

        Examples
        --------
        >>> from tanager import Network
        >>> arcs = [("rain", "wet"), ("sprinkler", "wet")]
        >>> network = Network(dict.fromkeys(["rain", "sprinkler", "wet"], ("no", "yes")), arcs)
        >>> wet = [[[1.0, 0.0], [0.1, 0.9]], [[0.2, 0.8], [0.0, 1.0]]]  # first without rain, then with it
        >>> network = network.with_tables({"rain": [0.7, 0.3], "sprinkler": [0.9, 0.1], "wet": wet})
        >>> found = network.most_probable({"wet": "yes"})
        >>> found.values, round(found.probability_given_evidence, 3)
        ({'rain': 'yes', 'sprinkler': 'no'}, 0.699)
        """
        wanted = None if names is None else self._indices(names)
        return most_probable.most_probable(self, Evidence.read(self, evidence, soft), wanted)

    def next_question(
        self,
        target: str,
        evidence: Mapping[str, object] | None = None,
        *,
        soft: SoftEvidence | None = None,
        candidates: str | Iterable[str] | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> list[questions.Question]:
        """Which variable to observe next to learn most about a target, given what is known; the best first.

        Each question has its name, its mutual information with the target given the evidence (``bits``), the
        ``expected_entropy`` of the target once it is answered, its ``price`` and ``bits_per_price``.

        Parameters
        ----------
        target : str
            The variable of interest.
        evidence : dict of name to value, default=None
            What was observed.
        soft : dict of name to likelihoods, default=None
            Observations that are not certain; see ``marginals``.
        candidates : str or iterable of str, default=None
            The variables that can be asked for; those in the evidence are left out. Default: all with several values.
        prices : mapping from name to positive number, default=None
            What it costs to observe a variable, 1 if it has no price here; questions are sorted by bits per price.

        Returns
        -------
        list of Question
            The questions, the best first.

        Examples
        --------
        >>> from tanager import Network
        >>> arcs = [("rain", "wet"), ("sprinkler", "wet")]
        >>> network = Network(dict.fromkeys(["rain", "sprinkler", "wet"], ("no", "yes")), arcs)
        >>> wet = [[[1.0, 0.0], [0.1, 0.9]], [[0.2, 0.8], [0.0, 1.0]]]  # first without rain, then with it
        >>> network = network.with_tables({"rain": [0.7, 0.3], "sprinkler": [0.9, 0.1], "wet": wet})
        >>> best = network.next_question("rain")[0]
        >>> best.name, round(best.bits, 2), round(best.expected_entropy, 2)
        ('wet', 0.38, 0.5)
        """
        wanted = None if candidates is None else self._indices(candidates)
        observed = Evidence.read(self, evidence, soft)
        return questions.next_question(self, self.index(target), observed, wanted, prices)

    def sensitivity(
        self,
        target: str,
        value: object,
        evidence: Mapping[str, object] | None = None,
        *,
        soft: SoftEvidence | None = None,
        top: int | None = None,
    ) -> list[sensitivities.Sensitivity]:
        """Which numbers in which tables move P(target = value | evidence), by the size of the derivative.

        Each entry tells what one number does while the others of its row change in proportion (evenly if they are all
        0): the ``derivative``, the constants of the posterior as a function of the number, (``alpha`` t + ``beta``) /
        (``gamma`` t + ``delta``), and its range from ``low`` to ``high``. ``entry.posterior(t)`` is that function, and
        ``entry.needed(p)`` the number that makes the posterior p. Tables that cannot matter are left out.

        Parameters
        ----------
        target : str
            The variable of interest.
        value : object
            Its value of interest.
        evidence : dict of name to value, default=None
            What was observed.
        soft : dict of name to likelihoods, default=None
            Observations that are not certain; see ``marginals``.
        top : int, default=None
            How many entries. Default: all.

        Returns
        -------
        list of Sensitivity
            The numbers, those first that matter most.

        Examples
        --------
        >>> from tanager import Network
        >>> arcs = [("rain", "wet"), ("sprinkler", "wet")]
        >>> network = Network(dict.fromkeys(["rain", "sprinkler", "wet"], ("no", "yes")), arcs)
        >>> wet = [[[1.0, 0.0], [0.1, 0.9]], [[0.2, 0.8], [0.0, 1.0]]]  # first without rain, then with it
        >>> network = network.with_tables({"rain": [0.7, 0.3], "sprinkler": [0.9, 0.1], "wet": wet})
        >>> entry = network.sensitivity("rain", "yes", {"wet": "yes"}, top=1)[0]
        >>> entry.variable, entry.given  # that nothing else wets the grass is what matters most
        ('wet', {'rain': 'no', 'sprinkler': 'no'})
        >>> round(entry.posterior(0.5), 3)  # P(rain | wet), were this number a half
        0.394
        """
        observed = Evidence.read(self, evidence, soft)
        return sensitivities.sensitivity(self, self.index(target), self.code(target, value), observed, top)

    @cached_property
    def junction(self) -> propagation.Junction | None:
        """The junction tree of all variables; None where it would be large, or a table is missing."""
        return propagation.whole_junction(self)

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles leave out the tree and the drawing, which can be made again."""
        return {name: part for name, part in self.__dict__.items() if name not in ("junction", "_drawing")}

    def _indices(self, names: str | Iterable[str] | None) -> list[int]:
        """The indices of some variables, or of all."""
        return [self.index(name) for name in ([names] if isinstance(names, str) else self if names is None else names)]

    @overload
    def sample(self, n: int, random_state: Seed = None, as_: Literal["table"] = "table") -> dict[str, np.ndarray]: ...
    @overload
    def sample(self, n: int, random_state: Seed = None, *, as_: Literal["codes"]) -> np.ndarray: ...
    @overload
    def sample(self, n: int, random_state: Seed = None, *, as_: Literal["sample"]) -> Sample: ...
    def sample(
        self, n: int, random_state: Seed = None, as_: str = "table"
    ) -> dict[str, np.ndarray] | np.ndarray | Sample:
        """Draw random rows.

        Parameters
        ----------
        n : int
            The number of rows.
        random_state : int, numpy.random.Generator or None
            The same seed gives the same rows.
        as_ : {"table", "codes", "sample"}
            *table*: a dict from name to an array of values, for classifiers and frames. *codes*: an array (n,
            n_variables) of indices into ``values``. *sample*: a ``Sample``, for structure learners.

        Returns
        -------
        dict, array or Sample
            The rows, as ``as_`` says.

        Examples
        --------
        >>> from tanager import Network
        >>> arcs = [("rain", "wet"), ("sprinkler", "wet")]
        >>> network = Network(dict.fromkeys(["rain", "sprinkler", "wet"], ("no", "yes")), arcs)
        >>> wet = [[[1.0, 0.0], [0.1, 0.9]], [[0.2, 0.8], [0.0, 1.0]]]  # first without rain, then with it
        >>> network = network.with_tables({"rain": [0.7, 0.3], "sprinkler": [0.9, 0.1], "wet": wet})
        >>> rows = network.sample(1000, random_state=0)
        >>> list(rows), round(float((rows["rain"] == "yes").mean()), 2)
        (['rain', 'sprinkler', 'wet'], 0.32)
        """
        check_option("as_", as_, ("table", "codes", "sample"))
        self.require_tables(self.names)
        rows: dict[str, np.ndarray] | np.ndarray | Sample = sampling.draw(self, n, random_state, as_)
        return rows

    def require_tables(self, names: Iterable[str]) -> None:
        """Raise if one of these variables has no table, or no values."""
        for name in names:
            if name not in self._tables:
                raise DataError(
                    f"{self.family(name)} has no table. Estimate tables with estimate(data), or set them: with_tables."
                )
            if 0 in self.shape(name):
                empty = next(other for other in (*self.parents(name), name) if not self._values[other])
                raise DataError(f"variable {empty!r} has no values. Leave it out: keep(names) of the others.")

    # --- as plain data and files ------------------------------------------------------------------------------------

    def to_dict(self) -> NetworkDict:
        """Plain data for JSON: variables with their values, parents and, if known, the table.

        Returns
        -------
        dict
            Plain data.
        """
        return {"variables": [self._variable(name) for name in self._values]}

    def _variable(self, name: str) -> VariableDict:
        values = values_to_plain(self._values[name])
        data: VariableDict = {"name": name, "values": values, "parents": list(self.parents(name))}
        if name in self._tables:
            data["table"] = self._tables[name].tolist()
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Network:
        """The network that ``to_dict`` wrote.

        Parameters
        ----------
        data : dict
            What ``to_dict`` gave.

        Returns
        -------
        Network
            The network.
        """
        variables = data["variables"]
        values = {v["name"]: values_from_plain(v["values"]) for v in variables}
        if len(values) < len(variables):
            raise DataError("two variables have the same name. Rename one of them.")
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
                np.array_equal(table, other.table_in_order(name, self.parents(name)))
                for name, table in self._tables.items()
            )
        )

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

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw it; see ``tanager.plot_network``.

        Parameters
        ----------
        path : str or PathLike, default=None
            Where to write it, by its extension. None: nowhere.
        **options : object
            Those of ``plot_network``.

        Returns
        -------
        Figure
            Of Matplotlib.
        """
        figure: Figure = public("plot_network")(self, path, **options)
        return figure

    def widget(self, target: str | None = None, **options: Any) -> Any:
        """Look at it and edit it in a notebook; see ``tanager.network_widget``.

        Parameters
        ----------
        target : str, default=None
            The name of the class.
        **options : object
            Those of ``network_widget``.

        Returns
        -------
        widget
            For a notebook.
        """
        return public("network_widget")(self, target, **options)

    def _repr_html_(self) -> str:
        return network_html(self)

    def _repr_svg_(self) -> str | None:
        """The drawing, where a notebook becomes paper; None where it would take long."""
        return self._drawing

    @cached_property
    def _drawing(self) -> str | None:  # a notebook asks for all kinds of displays
        return public("network_svg")(self) if is_quickly_drawn(self) else None

    def text(self, **options: Any) -> str:
        """Draw it with characters, for a terminal; see ``tanager.network_text``.

        Parameters
        ----------
        **options : object
            Those of ``network_text``.

        Returns
        -------
        str
            The drawing.
        """
        text: str = public("network_text")(self, **options)
        return text
