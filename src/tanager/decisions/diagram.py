"""DecisionNetwork: an influence diagram, that is a Bayesian network with decisions and utilities."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tanager.decisions import plain_data, questions, sensitivity, solving
from tanager.decisions.display import decisions_html
from tanager.decisions.order import decision_order, remembered
from tanager.decisions.policy import Policy, Solution
from tanager.errors import DataError, SchemaMismatch, nearest
from tanager.listed import Listed, names_in
from tanager.networks.network import Arc, Network
from tanager.scoring.decision import check_costs
from tanager.shortcuts import public

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Known = Mapping[str, object]  # evidence: values of chance nodes, options of decisions


class DecisionNetwork(Listed):
    """An influence diagram: chance nodes, decisions with what is known when they are made, and utilities that add up.

    Diagrams are immutable. Editing returns a new one, in which nodes with the same parents as before keep their tables.
    Two diagrams are equal if their nodes, values, arcs, tables and the order of their decisions are; the order in which
    nodes and parents are listed does not matter.

    Parameters
    ----------
    chance : mapping from name to values
        The variables that nobody chooses.
    decisions : mapping from name to options
        The variables that are chosen. Where two options are equally good, the one listed first is taken.
    utilities : iterable of str
        What is to be as large as possible: the sum of all of them. Costs are negative.
    arcs : iterable of (parent, child)
        Into a chance node: what its probabilities depend on. Into a decision: what is known when it is made. Into a
        utility: what its numbers depend on. No arcs leave a utility, and none form a cycle.
    tables : mapping from name to array, default=None
        Of a chance node P(node | parents): one axis per parent, then its own. Of a utility its numbers: one axis per
        parent. In the order of ``parents(name)``.
    order : sequence of str, default=None
        The decisions in the order in which they are made; needed where no path of arcs leads from one to the next.

    Examples
    --------
    An umbrella, and a forecast that is right more often than not:

    >>> from tanager import DecisionNetwork
    >>> diagram = DecisionNetwork(
    ...     {"weather": ("sun", "rain"), "forecast": ("sunny", "rainy")},
    ...     {"umbrella": ("leave", "take")},
    ...     ["comfort"],
    ...     [("weather", "forecast"), ("forecast", "umbrella"), ("weather", "comfort"), ("umbrella", "comfort")],
    ...     {"weather": [0.7, 0.3], "forecast": [[0.8, 0.2], [0.25, 0.75]], "comfort": [[100, 60], [0, 70]]},
    ... )
    >>> solution = diagram.solve()
    >>> round(solution.expected_utility, 6)
    80.15
    >>> print(solution["umbrella"].rules())
    if forecast = sunny: leave
    if forecast = rainy: take
    >>> round(diagram.value_of_information("weather"), 6)
    10.85
    """

    unlisted = names_in("given_order require_tables")

    def __init__(
        self,
        chance: Mapping[str, Sequence[object]],
        decisions: Mapping[str, Sequence[object]],
        utilities: Iterable[str] = (),
        arcs: Iterable[Arc] = (),
        tables: Mapping[str, Any] | None = None,
        order: Sequence[str] | None = None,
    ) -> None:
        if isinstance(utilities, str):
            raise DataError(f"utilities={utilities!r}: give a list of names.")
        names = list(utilities)
        _check_names([*chance, *decisions, *names])
        into_utilities: dict[str, list[str]] = {name: [] for name in names}
        others = []
        for parent, child in arcs:
            if parent in into_utilities:
                raise DataError(f"the arc {parent} -> {child} leaves a utility, which nothing can depend on.")
            if child in into_utilities:
                into_utilities[child].append(parent)
            else:
                others.append((parent, child))
        self._network = Network({**chance, **decisions}, others)
        self._decisions = tuple(decisions)
        self._utilities: dict[str, tuple[str, ...]] = dict.fromkeys(into_utilities, ())
        self._utilities |= {name: self._checked_parents(name, parents) for name, parents in into_utilities.items()}
        self._numbers: dict[str, np.ndarray] = {}
        empty = next((name for name in self._decisions if not self._network.values(name)), None)
        if empty is not None:
            raise DataError(f"the decision {empty!r} has no options. Give it at least one.")
        self._given_order = None if order is None else decision_order(self, tuple(order))
        self._add_tables(tables or {})

    def _checked_parents(self, name: str, parents: Sequence[str]) -> tuple[str, ...]:
        for parent in parents:
            self.index(parent)
        twice = next((parent for i, parent in enumerate(parents) if parent in parents[:i]), None)
        if twice is not None:
            raise DataError(f"the arc {twice} -> {name} is given twice. Leave one out.")
        return tuple(parents)

    def _add_tables(self, tables: Mapping[str, Any]) -> None:
        chance = {}
        for name, table in tables.items():
            if name in self._utilities:
                self._numbers[name] = self._checked_numbers(name, table)
            elif name in self._decisions:
                raise DataError(f"{name!r} is a decision and has no table. See solve() for its policy.")
            else:
                self.index(name)
                chance[name] = table
        self._network = self._network.with_tables(chance)

    def _checked_numbers(self, name: str, table: Any) -> np.ndarray:
        """The numbers of a utility as a read-only array."""
        parents = self._utilities[name]
        expected = tuple(len(self.values(parent)) for parent in parents)
        try:
            cells = np.array(table, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise DataError(f"the utility {name!r} must be an array of numbers of shape {expected}.") from None
        if cells.shape != expected:
            listed = " x ".join(f"{n} ({parent})" for parent, n in zip(parents, expected, strict=True))
            raise DataError(
                f"the utility {name!r} has shape {cells.shape}, expected {expected}{': ' if listed else ''}{listed}."
            )
        bad = np.argwhere(~(np.abs(cells) <= solving.LARGEST))
        if len(bad):
            at = tuple(int(v) for v in bad[0])
            where = self.cell_words(name, at)
            raise DataError(
                f"the utility {name!r} is {cells[at]:g}{f' where {where}' if where else ''}. Give finite numbers of at "
                f"most {solving.LARGEST:g}; what must never happen has a large negative one."
            )
        cells.flags.writeable = False
        return cells

    # --- nodes, arcs and tables ---------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """All nodes: chance nodes, decisions, then utilities."""
        return (*self._network.names, *self._utilities)

    @property
    def chance(self) -> tuple[str, ...]:
        """The chance nodes."""
        return tuple(name for name in self._network.names if name not in self._decisions)

    @property
    def decisions(self) -> tuple[str, ...]:
        """The decisions, as they were listed; ``order`` has them as they are made."""
        return self._decisions

    @property
    def utilities(self) -> tuple[str, ...]:
        """The utilities."""
        return tuple(self._utilities)

    @property
    def network(self) -> Network:
        """The network of chance nodes and decisions; decisions have no tables in it."""
        return self._network

    def kind(self, name: str) -> str:
        """``chance``, ``decision`` or ``utility``.

        Parameters
        ----------
        name : str
            The name of a node.

        Returns
        -------
        str
            One of these words.
        """
        if name in self._utilities:
            return "utility"
        self.index(name)
        return "decision" if name in self._decisions else "chance"

    def index(self, name: str) -> int:
        """The index of a chance node or decision in ``network``; an error if there is none of this name.

        Parameters
        ----------
        name : str
            The name of a node.

        Returns
        -------
        int
            Its place, from 0.
        """
        if name in self._utilities:
            raise SchemaMismatch(f"{name!r} is a utility; a chance node or a decision is needed here.")
        if name not in self._network:
            raise SchemaMismatch(f"there is no node {name!r}.{nearest(name, self._network.names)}")
        return self._network.index(name)

    def values(self, name: str) -> tuple[object, ...]:
        """The values of a chance node, or the options of a decision.

        Parameters
        ----------
        name : str
            The name of a node.

        Returns
        -------
        tuple of object
            Its values or options, in order.
        """
        self.index(name)
        return self._network.values(name)

    def parents(self, name: str) -> tuple[str, ...]:
        """The parents of a node, in the order of the axes of its table.

        Parameters
        ----------
        name : str
            The name of a node.

        Returns
        -------
        tuple of str
            Names of nodes.
        """
        if name in self._utilities:
            return self._utilities[name]
        self.index(name)
        return self._network.parents(name)

    @property
    def arcs(self) -> list[Arc]:
        """All arcs as (parent, child)."""
        return [*self._network.arcs, *((parent, name) for name, own in self._utilities.items() for parent in own)]

    @property
    def tables(self) -> dict[str, np.ndarray]:
        """P(node | parents) of chance nodes and the numbers of utilities, as far as they are known."""
        return {**self._network.tables, **self._numbers}

    @property
    def order(self) -> tuple[str, ...]:
        """The decisions in the order in which they are made; an error where that is not determined."""
        return self._given_order or decision_order(self)

    @property
    def given_order(self) -> tuple[str, ...] | None:
        """The order of decisions that was given; None where it follows from the arcs alone."""
        return self._given_order

    def information(self, decision: str, *, limited_memory: bool = False) -> tuple[str, ...]:
        """What is known when a decision is made: its parents and, unless memory is limited, all that was before.

        Parameters
        ----------
        decision : str
            The name of a decision.
        limited_memory : bool, default=False
            Whether only the parents of a decision are known when it is made, and not all that was known before.

        Returns
        -------
        tuple of str
            Names of nodes.
        """
        self._check_kind(decision, "decision")
        return self.parents(decision) if limited_memory else remembered(self, self.order)[decision]

    def cell_words(self, name: str, cell: Sequence[int]) -> str:
        """The cell of a utility's table in words: ``oil = dry and drill = yes``.

        Parameters
        ----------
        name : str
            The name of a utility.
        cell : sequence of int
            A place on each axis of its table.

        Returns
        -------
        str
            The cell in words.
        """
        pairs = zip(self.parents(name), cell, strict=True)
        return " and ".join(f"{parent} = {self.values(parent)[v]}" for parent, v in pairs)

    def require_tables(self) -> None:
        """Raise if a chance node has no table or a utility no numbers."""
        self._network.require_tables(self.chance)
        missing = next((name for name in self._utilities if name not in self._numbers), None)
        if missing is not None:
            raise DataError(f"the utility {missing!r} has no numbers. Set them: with_tables({{{missing!r}: ...}}).")

    def _check_kind(self, name: str, kind: str) -> None:
        if self.kind(name) != kind:
            raise DataError(f"{name!r} is no {kind}, but a {self.kind(name)}{' node' * (kind == 'decision')}.")

    # --- editing ------------------------------------------------------------------------------------------------------

    def add(self, parent: str, child: str) -> DecisionNetwork:
        """The diagram with one more arc; the child loses its table.

        Parameters
        ----------
        parent : str
            Where the arc begins.
        child : str
            Where the arc ends.

        Returns
        -------
        DecisionNetwork
            A new diagram.
        """
        if child in self._utilities:
            self.index(parent)
            return self._changed(arcs=[*self.arcs, (parent, child)], touched={child})
        return self._changed(network=self._network.add(self._named(parent), self._named(child)))

    def remove(self, parent: str, child: str) -> DecisionNetwork:
        """The diagram without an arc; the child loses its table.

        Parameters
        ----------
        parent : str
            Where the arc begins.
        child : str
            Where the arc ends.

        Returns
        -------
        DecisionNetwork
            A new diagram.
        """
        if child not in self._utilities:
            return self._changed(network=self._network.remove(self._named(parent), self._named(child)))
        if parent not in self._utilities[child]:
            raise DataError(f"the diagram has no arc {parent} -> {child}.")
        return self._changed(arcs=[arc for arc in self.arcs if arc != (parent, child)], touched={child})

    def with_tables(self, tables: Mapping[str, Any]) -> DecisionNetwork:
        """The diagram with these tables, which replace its own.

        Parameters
        ----------
        tables : dict of name to array
            Tables of some nodes.

        Returns
        -------
        DecisionNetwork
            A new diagram.
        """
        changed = self._changed()
        changed._add_tables(tables)
        return changed

    def with_chance(
        self, name: str, values: Sequence[object], parents: Sequence[str] = (), table: ArrayLike | None = None
    ) -> DecisionNetwork:
        """The diagram with one more chance node.

        Parameters
        ----------
        name : str
            The name of a node.
        values : sequence of object
            Its values.
        parents : sequence of str, default=()
            Names of its parents, in the order of the axes of its table.
        table : array, default=None
            Its numbers, with an axis for each parent; last, for a chance node, one for its values. None: not known yet.

        Returns
        -------
        DecisionNetwork
            A new diagram.
        """
        chance = {**{own: self.values(own) for own in self.chance}, name: values}
        return self._with_node(name, parents, table, chance=chance)

    def with_decision(self, name: str, options: Sequence[object], parents: Sequence[str] = ()) -> DecisionNetwork:
        """The diagram with one more decision; an order that was given has to be given again: ``with_order``.

        Parameters
        ----------
        name : str
            The name of a node.
        options : sequence of object
            What can be chosen.
        parents : sequence of str, default=()
            What is known when it is made.

        Returns
        -------
        DecisionNetwork
            A new diagram.
        """
        decisions = {**{own: self.values(own) for own in self._decisions}, name: options}
        return self._with_node(name, parents, None, decisions=decisions, order=None)

    def with_utility(self, name: str, parents: Sequence[str] = (), table: ArrayLike | None = None) -> DecisionNetwork:
        """The diagram with one more utility.

        Parameters
        ----------
        name : str
            The name of a node.
        parents : sequence of str, default=()
            Names of its parents, in the order of the axes of its table.
        table : array, default=None
            Its numbers, with an axis for each parent; last, for a chance node, one for its values. None: not known yet.

        Returns
        -------
        DecisionNetwork
            A new diagram.
        """
        return self._with_node(name, parents, table, utilities=[*self._utilities, name])

    def with_order(self, order: Sequence[str] | None) -> DecisionNetwork:
        """The diagram with this order of its decisions; None: that which follows from the arcs.

        Parameters
        ----------
        order : sequence of str or None
            The decisions, the first one first.

        Returns
        -------
        DecisionNetwork
            A new diagram.
        """
        return self._changed(order=order)

    def without(self, name: str) -> DecisionNetwork:
        """The diagram without a node; its children lose their tables.

        Parameters
        ----------
        name : str
            The name of a node.

        Returns
        -------
        DecisionNetwork
            A new diagram.
        """
        self.kind(name)
        kept = [own for own in self.names if own != name]
        touched = {child for parent, child in self.arcs if parent == name} | {name}
        order = None if self._given_order is None else [own for own in self._given_order if own != name]
        return self._changed(
            chance={own: self.values(own) for own in self.chance if own in kept},
            decisions={own: self.values(own) for own in self._decisions if own in kept},
            utilities=[own for own in self._utilities if own in kept],
            arcs=[arc for arc in self.arcs if name not in arc],
            order=order,
            touched=touched,
        )

    def _named(self, name: str) -> str:
        self.index(name)
        return name

    def _with_node(self, name: str, parents: Sequence[str], table: Any, **parts: Any) -> DecisionNetwork:
        _check_names([*self.names, name])
        arcs = [*self.arcs, *((parent, name) for parent in parents)]
        changed = self._changed(arcs=arcs, **parts)
        if table is not None:
            changed._add_tables({name: table})
        return changed

    def _changed(self, network: Network | None = None, touched: Iterable[str] = (), **parts: Any) -> DecisionNetwork:
        """A diagram with other parts; tables that are not touched are kept."""
        if network is not None:  # only arcs among chance nodes and decisions have changed
            parts["arcs"] = [*network.arcs, *((p, name) for name, own in self._utilities.items() for p in own)]
            touched = set(self._network.tables) - set(network.tables)
        own: dict[str, Any] = {
            "chance": {name: self.values(name) for name in self.chance},
            "decisions": {name: self.values(name) for name in self._decisions},
            "utilities": self._utilities,
            "arcs": self.arcs,
            "order": self._given_order,
        }
        kept = {name: table for name, table in self.tables.items() if name not in set(touched)}
        return DecisionNetwork(**own | parts, tables=kept)

    # --- from and to networks -----------------------------------------------------------------------------------------

    @classmethod
    def from_network(
        cls,
        network: Network,
        decisions: Mapping[str, Sequence[object]] | Iterable[str],
        utilities: Mapping[str, tuple[Sequence[str], Any]],
        information: Mapping[str, Sequence[str]] | None = None,
        order: Sequence[str] | None = None,
    ) -> DecisionNetwork:
        """A diagram over a network.

        Parameters
        ----------
        network : Network
            Its variables become chance nodes, with their tables.
        decisions : mapping from name to options, or names of variables
            New decisions; or variables of the network that are to be chosen, whose parents are then what is known.
        utilities : mapping from name to (parents, numbers)
            What is to be made large, with an axis of numbers for each parent.
        information : mapping from decision to names, default=None
            What is known when each decision is made.
        order : sequence of str, default=None
            The order of the decisions, where it does not follow from the arcs.

        Examples
        --------
        >>> from tanager import DecisionNetwork, Network
        >>> network = Network({"rain": ("no", "yes")}).with_tables({"rain": [0.75, 0.25]})
        >>> utility = (("rain", "umbrella"), [[10, 6], [0, 8]])
        >>> diagram = DecisionNetwork.from_network(network, {"umbrella": ("leave", "take")}, {"comfort": utility})
        >>> diagram.solve().expected_utility
        7.5
        """
        if isinstance(decisions, str):
            raise DataError(f"decisions={decisions!r}: give a list of names, or options by name.")
        odd = next(
            (name for name, own in utilities.items() if not isinstance(own, tuple | list) or len(own) != 2), None
        )
        if odd is not None:
            raise DataError(f"the utility {odd!r} must be a pair of its parents and its numbers.")
        given = dict(decisions) if isinstance(decisions, Mapping) else dict.fromkeys(decisions)
        options = {name: network.values(name) if own is None else own for name, own in given.items()}
        turned = {name for name, own in given.items() if own is None}
        arcs = [*network.arcs, *((p, name) for name, (parents, _) in utilities.items() for p in parents)]
        arcs += [(known, name) for name, own in (information or {}).items() for known in own]
        return cls(
            {name: network.values(name) for name in network if name not in turned},
            options,
            utilities,
            arcs,
            {**{n: t for n, t in network.tables.items() if n not in turned}, **{n: u[1] for n, u in utilities.items()}},
            order,
        )

    @classmethod
    def from_costs(
        cls, network: Network, target: str, cost_matrix: ArrayLike, known: Sequence[str] | None = None
    ) -> DecisionNetwork:
        """Cost-sensitive classification as a diagram: choose an answer for the target, knowing the other variables.

        Parameters
        ----------
        network : Network
            With tables; that of a classifier, for example ``model.network_``.
        target : str
            The class. The decision is called ``answer``, and its options are the classes.
        cost_matrix : array of shape (n_classes, n_classes)
            What an answer costs: one row per true class, one column per answer, as in ``TAN(cost_matrix=)``.
        known : sequence of str, default=None
            What is known before the answer; by default the Markov blanket of the class.

        Examples
        --------
        >>> from tanager import DecisionNetwork, NaiveBayes
        >>> X, y = [["sun"], ["sun"], ["rain"], ["rain"]], ["play", "play", "stay", "play"]
        >>> model = NaiveBayes().fit(X, y)
        >>> diagram = DecisionNetwork.from_costs(model.network_, "class", [[0, 1], [2, 0]])
        >>> print(diagram.solve()["answer"].rules())
        if x0 = sun: play
        if x0 = rain: stay
        """
        classes = np.empty(len(network.values(target)), dtype=object)
        classes[:] = network.values(target)
        costs = check_costs(cost_matrix, classes)
        if costs is None:
            raise DataError("cost_matrix=None: give what every answer costs for every true class.")
        seen = network.markov_blanket(target) if known is None else known
        answer, cost = _free("answer", network), _free("cost", network)
        return cls.from_network(
            network, {answer: network.values(target)}, {cost: ((target, answer), -costs)}, {answer: seen}
        )

    def under(self, policies: Solution | Mapping[str, Policy]) -> Network:
        """The network in which every decision follows its policy: ask for posteriors, draw rows from it.

        Parameters
        ----------
        policies : Solution or dict of name to Policy
            What is done at each decision.

        Returns
        -------
        Network
            A network without decisions.

        Examples
        --------
        >>> from tanager import DecisionNetwork
        >>> diagram = DecisionNetwork({"rain": ("no", "yes")}, {"umbrella": ("leave", "take")}, ["comfort"],
        ...     [("rain", "umbrella"), ("rain", "comfort"), ("umbrella", "comfort")],
        ...     {"rain": [0.75, 0.25], "comfort": [[10, 6], [0, 8]]})
        >>> diagram.under(diagram.solve()).posterior("umbrella")
        array([0.75, 0.25])
        """
        arcs = [arc for arc in self._network.arcs if arc[1] not in self._decisions]
        tables = {name: self._network.tables[name] for name in self.chance}
        for name in self._decisions:
            policy = policies[name]
            arcs += [(known, name) for known in policy.known]
            tables[name] = policy.probabilities_of_options()
        return Network({name: self._network.values(name) for name in self._network}, arcs, tables)

    # --- questions ----------------------------------------------------------------------------------------------------

    def solve(self, *, limited_memory: bool = False, evidence: Known | None = None) -> Solution:
        """The best policy for every decision, and the expected utility of following them.

        Exact, by variable elimination over pairs of probabilities and utilities, last decision first. Everything that
        was known or done before an earlier decision is remembered at a later one. What cannot make a difference
        (by d-separation) is left out of the policies.

        Parameters
        ----------
        limited_memory : bool, default=False
            Only the parents of a decision are known when it is made; nothing else is remembered. Solved by single
            policy updating (Lauritzen and Nilsson 2001). ``Solution.certain`` says whether the optimum is global, as it
            is where the diagram is soluble; otherwise no change of a single policy improves it.
        evidence : mapping from name to value, default=None
            What is known before all decisions: values of chance nodes, and options of decisions that have been made.

        Returns
        -------
        Solution
            The policies, and their expected utility.

        Notes
        -----
        The cost grows with the largest intermediate table. A table of more than ten million cells raises an error.
        """
        return solving.solve(self, limited_memory=limited_memory, evidence=evidence or {})

    def expected_utility(
        self,
        policies: Solution | Mapping[str, Policy] | None = None,
        evidence: Known | None = None,
        *,
        limited_memory: bool = False,
    ) -> float:
        """The expected utility of given policies, or without them of the best ones, given evidence.

        ``expected_utility(evidence={"test": "no"})`` is that of the best policies if there is no test.

        Parameters
        ----------
        policies : Solution or dict of name to Policy, default=None
            What is done at each decision. None: what is best.
        evidence : dict of name to value, default=None
            What is known: values of chance nodes, options of decisions.
        limited_memory : bool, default=False
            Whether only the parents of a decision are known when it is made, and not all that was known before.

        Returns
        -------
        float
            The expected utility.
        """
        if not policies:
            return self.solve(limited_memory=limited_memory, evidence=evidence).expected_utility
        return solving.evaluate(self, policies, evidence or {})

    def value_of_information(
        self, name: str, before: str | None = None, *, evidence: Known | None = None, limited_memory: bool = False
    ) -> float:
        """What it is worth to know a chance node before a decision (by default the first), at no price.

        Of the state of the world itself this is the value of perfect information; of the result of a test, that of
        imperfect information. It is never negative.

        Parameters
        ----------
        name : str
            The name of a chance node.
        before : str, default=None
            The decision before which it is known. None: the first.
        evidence : dict of name to value, default=None
            What is known: values of chance nodes, options of decisions.
        limited_memory : bool, default=False
            Whether only the parents of a decision are known when it is made, and not all that was known before.

        Returns
        -------
        float
            The gain in expected utility.
        """
        return questions.value_of_information(self, name, before, evidence or {}, limited_memory)

    def information_values(
        self, before: str | None = None, *, evidence: Known | None = None, limited_memory: bool = False
    ) -> dict[str, float]:
        """The value of knowing each chance node before a decision (by default the first), the largest first.

        Chance nodes that are known anyway, or that only come to be after the decision, are left out.

        Parameters
        ----------
        before : str, default=None
            The decision before which it is known. None: the first.
        evidence : dict of name to value, default=None
            What is known: values of chance nodes, options of decisions.
        limited_memory : bool, default=False
            Whether only the parents of a decision are known when it is made, and not all that was known before.

        Returns
        -------
        dict of str to float
            The value for each name.
        """
        return questions.information_values(self, before, evidence or {}, limited_memory)

    def compare_tests(
        self,
        prices: Mapping[str, float],
        before: str | None = None,
        *,
        evidence: Known | None = None,
        limited_memory: bool = False,
    ) -> list[questions.PricedTest]:
        """Which test is worth its price: chance nodes with what it costs to learn them, the best first.

        Parameters
        ----------
        prices : dict of name to float
            What it costs to learn each.
        before : str, default=None
            The decision before which it is known. None: the first.
        evidence : dict of name to value, default=None
            What is known: values of chance nodes, options of decisions.
        limited_memory : bool, default=False
            Whether only the parents of a decision are known when it is made, and not all that was known before.

        Returns
        -------
        list of PricedTest
            What each is worth, and what is left of that.
        """
        return questions.compare_tests(self, prices, before, evidence or {}, limited_memory)

    def utility_ranges(
        self, utility: str | None = None, *, evidence: Known | None = None, limited_memory: bool = False
    ) -> list[sensitivity.UtilityRange]:
        """For each number of one utility or of all: the range in which the best policy stays the best.

        Parameters
        ----------
        utility : str, default=None
            The name of a utility. None: all of them.
        evidence : dict of name to value, default=None
            What is known: values of chance nodes, options of decisions.
        limited_memory : bool, default=False
            Whether only the parents of a decision are known when it is made, and not all that was known before.

        Returns
        -------
        list of UtilityRange
            One range for each number.
        """
        return sensitivity.utility_ranges(self, utility, evidence or {}, limited_memory)

    def utility_curve(
        self,
        utility: str,
        cell: Known,
        low: float,
        high: float,
        *,
        evidence: Known | None = None,
        limited_memory: bool = False,
    ) -> list[tuple[float, float]]:
        """The largest expected utility as one number of a utility goes from low to high: (number, expected utility).

        It is convex and linear between the points that are returned; at each point between the ends another policy
        becomes the best. ``cell`` names the number by the values of the utility's parents.

        Parameters
        ----------
        utility : str
            The name of a utility.
        cell : dict of name to value
            Which number of its table.
        low : float
            The least number.
        high : float
            The largest number.
        evidence : dict of name to value, default=None
            What is known: values of chance nodes, options of decisions.
        limited_memory : bool, default=False
            Whether only the parents of a decision are known when it is made, and not all that was known before.

        Returns
        -------
        list of (float, float)
            Pairs of the number and the expected utility, at every bend.
        """
        return sensitivity.utility_curve(self, utility, cell, low, high, evidence or {}, limited_memory)

    def tornado(
        self, swing: float = 0.1, *, evidence: Known | None = None, limited_memory: bool = False
    ) -> list[sensitivity.Swing]:
        """What happens to the expected utility if each number of a utility is a little lower or higher; widest first.

        ``swing`` is a share of the difference between the largest and the smallest number of that utility.

        Parameters
        ----------
        swing : float, default=0.1
            How far a number is lower and higher, as a share of the spread of its table.
        evidence : dict of name to value, default=None
            What is known: values of chance nodes, options of decisions.
        limited_memory : bool, default=False
            Whether only the parents of a decision are known when it is made, and not all that was known before.

        Returns
        -------
        list of Swing
            What each number does, the widest swing first.
        """
        return sensitivity.tornado(self, swing, evidence or {}, limited_memory)

    # --- as plain data, as a value and as a picture -------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: nodes with their kind, values, parents and, if known, the table.

        Returns
        -------
        dict
            Plain data.
        """
        return plain_data.to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DecisionNetwork:
        """The diagram that ``to_dict`` wrote.

        Parameters
        ----------
        data : dict
            What ``to_dict`` gave.

        Returns
        -------
        DecisionNetwork
            The diagram.
        """
        return cls(**plain_data.parts(data))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DecisionNetwork):
            return NotImplemented
        return (
            self._network == other._network
            and set(self._decisions) == set(other._decisions)
            and self._given_order == other._given_order
            and self._utilities.keys() == other._utilities.keys()
            and self._numbers.keys() == other._numbers.keys()
            and all(self._same_utility(other, name) for name in self._utilities)
        )

    def _same_utility(self, other: DecisionNetwork, name: str) -> bool:
        ours, theirs = self._utilities[name], other._utilities[name]
        if set(ours) != set(theirs):
            return False
        if name not in self._numbers:
            return True
        turned = other._numbers[name].transpose([theirs.index(parent) for parent in ours])
        return np.array_equal(self._numbers[name], turned)

    def __hash__(self) -> int:
        return hash((self._network, frozenset(self._decisions), frozenset(self._utilities)))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._network or name in self._utilities

    def __repr__(self) -> str:
        parts = [
            f"{len(names)} {word}{'' if len(names) == 1 else 's'}"
            for names, word in ((self.chance, "chance node"), (self._decisions, "decision"))
        ]
        n = len(self._utilities)
        return f"<DecisionNetwork of {', '.join(parts)} and {n} utilit{'y' if n == 1 else 'ies'}>"

    def _repr_html_(self) -> str:
        return decisions_html(self)

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw it; see ``tanager.plot_decisions``.

        Parameters
        ----------
        path : str or PathLike, default=None
            Where to write it, by its extension. None: nowhere.
        **options : object
            Those of ``plot_decisions``.

        Returns
        -------
        Figure
            Of Matplotlib.
        """
        figure: Figure = public("plot_decisions")(self, path, **options)
        return figure


def _check_names(names: Sequence[str]) -> None:
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise DataError(f"two nodes are called {twice!r}. Rename one of them.")
    odd = next((name for name in names if not isinstance(name, str)), None)
    if odd is not None:
        raise DataError(f"names of nodes must be text; {odd!r} is {type(odd).__name__}. Use {str(odd)!r}.")


def _free(name: str, network: Network) -> str:
    """A name that the network does not have yet."""
    return name if name not in network else _free(f"{name}_", network)
