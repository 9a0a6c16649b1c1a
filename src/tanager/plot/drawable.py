"""What is drawn of a network or a classifier: variables, arcs, and the information of each of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from tanager.classifiers.lbr import LBR
from tanager.counts.joint import JointCounts
from tanager.counts.sample import Sample
from tanager.errors import MemoryBudgetError, OptionError, nearest
from tanager.learning.counts_classifier import CountsClassifier
from tanager.networks.network import Arc, Network
from tanager.scoring.forest import ForestScorer
from tanager.scoring.forms import ProductOfSums, form_columns
from tanager.scoring.network_view import as_network
from tanager.scoring.tree_average import TreeAverage
from tanager.structure.learner import LearnedNetwork
from tanager.structure.measures import class_information

Information = Mapping[Arc, float] | Sample | None
Tables = Callable[[Sequence[str]], np.ndarray]  # joint counts or probabilities of some variables, one axis each

FEW = 20  # children of the class, up to which their arcs are drawn one by one
MAX_CELLS = 10**6  # of a table of counts that the sign of an arc is computed from
SAMPLED = 100_000  # rows, if the tables of a network are too wide for exact inference
_BIN = re.compile(r"[(\[].*,.*[)\]]")  # how a schema describes the bins of a number column
# Pairs of values that have an order though they are text, the lower one first.
_NO_AND_YES = (
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("0", "1"),
    ("off", "on"),
    ("low", "high"),
    ("absent", "present"),
    ("negative", "positive"),
)


class Strength(NamedTuple):
    """The strength of an arc: I(parent; child | the other parents) in nats, and whether both rise together.

    The sign is 0 if one of the two has no order.
    """

    value: float
    sign: int


@dataclass(frozen=True)
class DrawableNetwork:
    """One network with all that pictures and text drawings show of it."""

    names: tuple[str, ...]  # the variables, without the class
    target: str | None  # the class, where there is one
    arcs: list[Arc]  # without the implied ones
    implied: tuple[str, ...] = ()  # the children of the class, if these are all variables with an arc
    strengths: dict[Arc, Strength] = field(default_factory=dict)
    class_information: dict[str, float] = field(default_factory=dict)  # I(column; class), if it is known
    faint: frozenset[str] = frozenset()  # outside the Markov blanket of the class
    undirected: frozenset[Arc] = frozenset()  # arcs that may point either way
    heading: str = ""
    remark: str = ""  # what else is to be known of such a network

    @property
    def all_arcs(self) -> list[Arc]:
        """The arcs, those from the class to its implied children among them."""
        return [*self.arcs, *((self.target, child) for child in self.implied if self.target is not None)]


def drawable_networks(what: Any, target: str | None = None, information: Information = None) -> list[DrawableNetwork]:
    """A network, a learned network or a classifier as one drawable network; a multi-net as one per class.

    ``target`` is the variable of a network that is the class, or the name to show for the class of a classifier.
    ``information`` gives the nats of arcs, or rows to compute them from; by default they come from tables or counts.
    """
    if isinstance(what, LearnedNetwork):
        (found,) = drawable_networks(what.network, target, information)
        if any(target in arc for arc in what.undirected):  # a frame around all children would hide their open edges
            found = replace(found, arcs=found.all_arcs, implied=())
        return [replace(found, undirected=frozenset(what.undirected))]
    if isinstance(what, Network):
        if target is not None and target not in what.names:
            raise OptionError(f"the network has no variable {target!r}.{nearest(target, what.names)}")
        return [_from_network(what, target, _strengths(what, information))]
    if isinstance(what, CountsClassifier):
        return _from_model(what, target, information)
    if hasattr(type(what), "tree_"):
        raise _is_a_tree(what)
    raise OptionError(
        f"{type(what).__name__} cannot be drawn. Give a Network, a LearnedNetwork or a fitted classifier."
    )


def _from_network(
    network: Network, target: str | None, strengths: dict[Arc, Strength], names: Sequence[str] | None = None
) -> DrawableNetwork:
    """A network over these names; names that it does not have are drawn without arcs."""
    names = tuple(name for name in names or network.names if name != target)
    if target is None:
        return DrawableNetwork(names, None, network.arcs, (), strengths)
    implied = _implied(network, target, len(names))
    arcs = [arc for arc in network.arcs if not (implied and target in arc)]
    faint = frozenset(names) - set(network.markov_blanket(target))
    return DrawableNetwork(names, target, arcs, implied, strengths, faint=faint)


def _implied(network: Network, target: str, n_names: int) -> tuple[str, ...]:
    """The children of the class if these are all variables with an arc, unless a few arcs are easier to read."""
    children = network.children(target)
    linked = {name for arc in network.arcs for name in arc} - {target}
    n_others = len(network.arcs) - len(children)
    few = len(children) < n_names and len(children) <= FEW and n_others < len(children)
    return () if network.parents(target) or set(children) != linked or few else children


# --- classifiers ------------------------------------------------------------------------------------------------


def one_network(model: CountsClassifier) -> bool:
    """Whether a classifier has one network, or one per class, and is not an average of many."""
    form = model.structure_
    others = isinstance(model.uncalibrated(), TreeAverage | ForestScorer) or hasattr(type(model), "tree_")
    return isinstance(form, ProductOfSums) and form.n_networks == 1 and not others and not _goes_round(form)


def _goes_round(form: ProductOfSums) -> bool:
    """Whether columns are parents of each other: HNB looks at every column from all others."""
    if form.only:
        return False
    rest = {i: set(parents) for i, parents in zip(form.child, form.parents, strict=True)}
    while free := [i for i, parents in rest.items() if not parents & rest.keys()]:
        for i in free:
            del rest[i]
    return bool(rest)


def _from_model(model: CountsClassifier, target: str | None, information: Information) -> list[DrawableNetwork]:
    """The network of a classifier, or its networks, one per class."""
    form, counts, own = model.structure_, model.counts_, model.class_name
    if hasattr(type(model), "tree_"):
        raise _is_a_tree(model)
    if not isinstance(form, ProductOfSums) or not one_network(model):
        raise OptionError(
            f"{type(model).__name__} does not answer with one network, so there is none to draw. A tree over the same "
            f"columns shows what depends on what: {_tree_of(model)}.plot(). For single rows see explain."
        )
    if form.only:
        found = _from_multinet(form, counts, target or own, information)
    else:
        network = as_network(form, counts.schema, counts.classes.tolist(), own)
        strengths = _strengths(network, information, _counted(counts, own))
        found = [_renamed(_from_network(network, own, strengths, counts.schema.names), target or own)]
    information_by_column = dict(zip(counts.schema.names, class_information(counts).tolist(), strict=True))
    heading = _heading(model, len(form_columns(form)))
    remark = _remark(model)
    return [replace(each, class_information=information_by_column, heading=heading, remark=remark) for each in found]


def _tree_of(model: CountsClassifier) -> str:
    """How to have a tree over what a model has learned from, as Python: from its counts, where these hold pairs."""
    return "TAN.from_counts(model.counts_)" if model.counts_.holds(2) else "TAN().fit(X, y)"


def _is_a_tree(model: Any) -> OptionError:
    return OptionError(
        f"{type(model).__name__} is a tree of classifiers, not a network. Draw it with plot_tree, or print its tree_."
    )


def _heading(model: CountsClassifier, n_used: int) -> str:
    chosen = f" {type(model.best_).__name__}" if hasattr(model, "best_") else ""
    n = model.counts_.n_features
    columns = f"{n} columns" if n_used == n else f"{n_used} of {n} columns"
    return f"{type(model).__name__}{chosen}: {model.counts_.n_rows:,.0f} rows, {columns}"


def _remark(model: CountsClassifier) -> str:
    """What a network cannot show: LBR has another one for every row."""
    if not isinstance(model, LBR):
        return ""
    return "Before a row comes: each is answered by the learned rows that share some of its values (see model.rules)."


def _from_multinet(
    form: ProductOfSums, counts: JointCounts, target: str, information: Information
) -> list[DrawableNetwork]:
    """The networks of a multi-net, each headed by its class."""
    names, columns = counts.schema.names, [counts.schema[i] for i in sorted(form_columns(form))]
    values = {column.name: [column.describe(v) for v in range(column.n_values)] for column in columns}
    found = []
    for c, label in enumerate(counts.classes.tolist()):
        arcs = [
            (names[j], names[i])
            for i, parents, only in zip(form.child, form.parents, form.only, strict=True)
            for j in (parents if not only or c in only else ())
        ]
        network = Network(values, arcs)
        strengths = _strengths(network, information, _counted(counts, None, c))
        faint = frozenset(names).difference(values)
        found.append(DrawableNetwork(names, f"{target} = {label}", network.arcs, tuple(values), strengths, faint=faint))
    return found


def _counted(counts: JointCounts, target: str | None, c: int | None = None) -> Tables:
    """Tables from counts: over all classes, the class among the names or not, or for one class."""

    def table(names: Sequence[str]) -> np.ndarray:
        joint = counts.joint(*(name for name in names if name != target))
        if target in names:
            return np.moveaxis(joint, 0, names.index(target))
        return np.asarray(joint.sum(axis=0) if c is None else joint[c])

    return table


def _renamed(drawable: DrawableNetwork, name: str) -> DrawableNetwork:
    """The same with another name for the class."""

    def new(arc: Arc) -> Arc:
        parent, child = (name if end == drawable.target else end for end in arc)
        return parent, child

    strengths = {new(arc): found for arc, found in drawable.strengths.items()}
    return replace(drawable, target=name, arcs=[new(arc) for arc in drawable.arcs], strengths=strengths)


# --- strength ---------------------------------------------------------------------------------------------------


def _strengths(network: Network, information: Information, tables: Tables | None = None) -> dict[Arc, Strength]:
    """The strength of every arc: as given, from rows, or from tables; empty if there is none of these."""
    if isinstance(information, Mapping):
        return {arc: Strength(float(value), 0) for arc, value in information.items()}
    if information is not None:
        return _from_rows(network, information)
    if tables is not None:
        return _from_tables(network, tables)
    if len(network.tables) < len(network.names):
        return {}
    try:
        return _from_tables(network, network.posterior)
    except MemoryBudgetError:  # too wide for exact inference: sample rows and count them
        return _from_rows(network, network.sample(SAMPLED, random_state=0, as_="sample"))


def _from_rows(network: Network, sample: Sample) -> dict[Arc, Strength]:
    """From rows; the sign of an arc is conditioned on as many of the other parents as fit into a table."""
    found = {}
    for parent, child in network.arcs:
        i, j = sample.index(parent), sample.index(child)
        rest = [sample.index(name) for name in network.parents(child) if name != parent]
        value = sample.information(i, j, rest).value
        while rest and np.prod(sample.n_values[[i, j, *rest]], dtype=float) > MAX_CELLS:
            rest.pop()
        table = sample.count(i, j, *rest)
        found[parent, child] = Strength(value, strength(table, network.values(parent), network.values(child)).sign)
    return found


def _from_tables(network: Network, tables: Tables) -> dict[Arc, Strength]:
    found = {}
    for parent, child in network.arcs:
        rest = (name for name in network.parents(child) if name != parent)
        found[parent, child] = strength(tables([parent, child, *rest]), network.values(parent), network.values(child))
    return found


def strength(table: np.ndarray, parent: Sequence[object], child: Sequence[object]) -> Strength:
    """The strength of an arc from a joint table: its axes are the parent, the child, and the other parents.

    >>> strength(np.array([[0.5, 0.0], [0.0, 0.5]]), ["no", "yes"], [0, 1])
    Strength(value=0.6931471805599453, sign=1)
    """
    if table.size == 0:  # a column with normal distributions has no counts
        return Strength(0.0, 0)
    cells = table.reshape(len(parent), len(child), -1)
    cells = cells / (cells.sum() or 1.0)
    rest, own, other = cells.sum((0, 1)), cells.sum(1, keepdims=True), cells.sum(0, keepdims=True)
    expected = own * other / np.where(rest > 0, rest, 1.0)
    some = cells > 0
    value = float((cells[some] * np.log(cells[some] / expected[some])).sum())
    rows, columns = _ordered(parent), _ordered(child)
    if rows is None or columns is None:
        return Strength(max(value, 0.0), 0)
    cells = cells[rows][:, columns]
    together = _concordance(cells) - _concordance(cells[:, ::-1])
    return Strength(max(value, 0.0), int(np.sign(round((together / np.where(rest > 0, rest, 1.0)).sum(), 12))))


def _concordance(cells: np.ndarray) -> np.ndarray:
    """How often, of two draws under the same conditions, the one higher in the first is higher in the second."""
    later = cells[::-1, ::-1].cumsum(0).cumsum(1)[::-1, ::-1]
    return np.asarray((cells[:-1, :-1] * later[1:, 1:]).sum((0, 1)))


def _ordered(values: Sequence[object]) -> list[int] | None:
    """Places of the values from low to high: of numbers, bins, and of yes and no; other text has no order."""
    places = range(len(values))
    numbers = [value for value in values if isinstance(value, int | float)]  # of any size, as they are
    if len(numbers) == len(values):
        return sorted(places, key=numbers.__getitem__)
    if all(isinstance(value, str) and _BIN.fullmatch(value) for value in values):
        return list(places)
    words = [str(value).lower() for value in values]
    low_to_high = next((pair for pair in _NO_AND_YES if set(pair) == set(words)), None)
    return None if low_to_high is None else [words.index(word) for word in low_to_high]
