"""Left-out answers of many networks over the same rows, each edit at the cost of one family."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from tanager.classifiers.network_classifier import NetworkClassifier
from tanager.counts.block import Block
from tanager.counts.estimates import Estimate, as_estimate
from tanager.counts.joint import JointCounts, sparse_families
from tanager.counts.memory import as_bytes
from tanager.counts.sample import Sample
from tanager.encoding.encoder import Encoder
from tanager.encoding.labels import encode_labels
from tanager.encoding.schema import Schema
from tanager.encoding.tables import read_table
from tanager.encoding.validation import check_lengths, column_name, one_dimensional
from tanager.errors import DataError, OptionError, SchemaMismatch, is_number, nearest
from tanager.evaluate.measures import SMALLEST
from tanager.networks.network import Network
from tanager.networks.tables import LockedRows
from tanager.scoring.decision import decide, posterior
from tanager.scoring.forms import ParentSet, ProductOfSums
from tanager.scoring.locked import LockedTables, log_factor
from tanager.scoring.view import View


@dataclass(frozen=True)
class Interval:
    """A mean difference, and how far it may be off.

    Parameters
    ----------
    difference : float
        The mean difference.
    margin : float
        Half the width of the interval around it.

    Examples
    --------
    >>> from tanager.evaluate import Interval
    >>> gain = Interval(difference=0.25, margin=0.125)
    >>> gain.low, gain.high, gain.certain
    (0.125, 0.375, True)
    >>> Interval(difference=0.25, margin=0.5).certain  # it may as well be a loss
    False
    """

    difference: float
    margin: float

    @property
    def low(self) -> float:
        """The lower end."""
        return self.difference - self.margin

    @property
    def high(self) -> float:
        """The upper end."""
        return self.difference + self.margin

    @property
    def certain(self) -> bool:
        """Whether 0 is outside."""
        return abs(self.difference) > self.margin


@dataclass(frozen=True)
class LeftOutDifference:
    """How much better or worse a network answers than another one; made by ``LeftOutFigures.minus``.

    Parameters
    ----------
    accuracy : Interval
        The difference of the accuracies: above 0 if the network is better.
    log_loss : Interval
        The difference of the log losses in nats: below 0 if the network is better.

    Examples
    --------
    >>> from tanager.evaluate import LeftOutNetworks
    >>> X = {"sky": ["sun", "sun", "rain", "rain"] * 5, "coin": ["head", "tail"] * 10}
    >>> rows = LeftOutNetworks.of(X, ["play", "play", "stay", "stay"] * 5)
    >>> one = rows.network([("class", "coin")])  # which says nothing about the class
    >>> both = one.add("class", "sky")
    >>> change = rows.figures(both).minus(rows.figures(one))
    >>> change.accuracy.difference, change.accuracy.certain, round(change.log_loss.difference, 2)
    (1.0, True, -0.74)
    """

    accuracy: Interval
    log_loss: Interval


@dataclass(frozen=True, eq=False)
class LeftOutFigures:
    """The answers of a network to all rows, each as if it alone had not been learned; made by ``LeftOutNetworks``.

    Parameters
    ----------
    proba : array (n_rows, n_classes)
        Probabilities of the classes.
    right : array (n_rows,) of bool
        Whether the most probable class is the true one.
    losses : array (n_rows,)
        -log P(true class), in nats.

    Examples
    --------
    >>> from tanager.evaluate import LeftOutNetworks
    >>> rows = LeftOutNetworks.of({"sky": ["sun", "rain"] * 5}, ["play", "stay"] * 4 + ["play", "play"])
    >>> figures = rows.figures(rows.network([("class", "sky")]))
    >>> figures.accuracy, round(figures.log_loss, 2)
    (0.9, 0.43)
    >>> figures.right.tolist().index(False), figures.proba[-1].round(2)  # it rained, and they played all the same
    (9, array([0.1, 0.9]))
    """

    proba: np.ndarray
    right: np.ndarray
    losses: np.ndarray

    @cached_property
    def accuracy(self) -> float:
        """The share of rows that are answered correctly."""
        return float(self.right.mean())

    @cached_property
    def log_loss(self) -> float:
        """The mean of the losses."""
        return float(self.losses.mean())

    def minus(self, other: LeftOutFigures, level: float = 0.95) -> LeftOutDifference:
        """These figures less those of another network over the same rows, with intervals.

        Differences are paired, row by row; the interval is the mean plus and minus so many standard errors as hold this
        share of a normal distribution. It speaks of rows like these for the two networks as they are. It does not know
        of the way they were found: of the best of many networks it is too hopeful.

        Parameters
        ----------
        other : LeftOutFigures
            Of another network, by the same ``LeftOutNetworks``.
        level : float, default=0.95
            The share.

        Returns
        -------
        LeftOutDifference
            Of accuracy and log loss.
        """
        if len(self.right) != len(other.right):
            raise DataError(f"these are figures of {len(self.right)} rows, the others of {len(other.right)}.")
        if not is_number(level, 0) or not 0 < level < 1:
            raise OptionError(f"level={level!r} must be above 0 and below 1.")
        z = NormalDist().inv_cdf((1 + level) / 2)
        right = self.right.astype(float) - other.right
        return LeftOutDifference(_interval(right, z), _interval(self.losses - other.losses, z))


def _interval(differences: np.ndarray, z: float) -> Interval:
    n = len(differences)
    error = float(differences.std(ddof=1)) / n**0.5 if n > 1 else float("inf")
    return Interval(float(differences.mean()), z * error if error else 0.0)


class LeftOutNetworks:
    """Rows that any network over their columns can be tried on, each row as if it alone had not been learned.

    ``figures(network)`` gives the answers of ``NetworkClassifier(network).leave_one_out``. What each table
    P(variable | parents) says of each row is remembered, so that after an edit only changed tables are worked out: a
    millisecond or so for thousands of rows. May be asked from several threads.

    Parameters
    ----------
    codes, labels : arrays
        The encoded rows and classes.
    schema : Schema
        The columns.
    classes : sequence
        The labels, in the order of their codes.
    target : str, default="class"
        The variable of the networks that is the class.
    smoothing : float, Estimate or None, default=None
        As in ``NetworkClassifier``; not 0.
    max_memory : int or str, default="512 MB"
        For what is remembered. The families that were used last are kept.
    n_jobs : int, default=1
        Threads.

    Examples
    --------
    >>> from tanager import Network
    >>> from tanager.evaluate import LeftOutNetworks
    >>> X = {"sky": ["sun", "sun", "rain", "rain"] * 5, "ground": ["dry", "wet", "dry", "wet"] * 5}
    >>> rows = LeftOutNetworks.of(X, ["play", "stay", "stay", "stay"] * 5, target="plan")
    >>> network = rows.network([("plan", "sky"), ("plan", "ground")])
    >>> before, after = rows.figures(network), rows.figures(network.add("sky", "ground"))
    >>> round(before.log_loss, 4), round(after.log_loss, 4)
    (0.1744, 0.0979)
    >>> change = after.minus(before).log_loss
    >>> round(change.difference, 4), round(change.margin, 4), change.certain
    (-0.0764, 0.033, True)
    """

    def __init__(
        self,
        codes: np.ndarray,
        labels: np.ndarray,
        schema: Schema,
        classes: Iterable[object],
        *,
        target: str = "class",
        smoothing: float | Estimate | None = None,
        max_memory: int | str = "512 MB",
        n_jobs: int = 1,
    ) -> None:
        if target in schema:
            raise SchemaMismatch(f"target={target!r} is a column. Give the class another name.")
        self.schema, self.target, self.classes = schema, target, list(classes)
        self.estimate = NetworkClassifier.default_estimate if smoothing is None else as_estimate(smoothing)
        if self.estimate.strength <= 0:
            raise OptionError("left-out figures need some smoothing: without it every class may be impossible.")
        self._rows = Block(np.asfortranarray(codes), labels)
        self._class_counts = np.bincount(labels, minlength=len(self.classes)).astype(float)
        if len(codes) < 2:
            raise DataError("there must be two rows at least: one to leave out, and one to learn from.")
        self.n_jobs = n_jobs
        self._most = max(int(as_bytes(max_memory) // (8 * len(codes) * len(self.classes))), 1)
        self._logs: OrderedDict[tuple[int, ParentSet], np.ndarray] = OrderedDict()
        self._lock = threading.Lock()
        self.n_counted = 0  # families so far

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        target: str | None = None,
        smoothing: float | Estimate | None = None,
        n_jobs: int = 1,
        **encoder_options: Any,
    ) -> LeftOutNetworks:
        """From any table, with columns encoded as by a classifier. The class has the name ``target``, its own, or
        "class".

        Parameters
        ----------
        X : table
            Any table that a classifier takes.
        y : labels
            The class of every row.
        target : str or None, default=None
            The name of the class; None takes that of ``y``, or "class" where it has none.
        smoothing : float, Estimate or None, default=None
            As in ``NetworkClassifier``; not 0.
        n_jobs : int, default=1
            Threads.
        **encoder_options : any
            Options of ``Encoder``; all columns are kept unless ``keep`` is given.

        Returns
        -------
        LeftOutNetworks
            The rows, encoded.
        """
        table, labels = read_table(X), one_dimensional(y)
        check_lengths(table.n_rows, labels)
        codes_of_labels, classes = encode_labels(labels)
        encoder = Encoder(**{"keep": "all", **encoder_options})  # all columns are variables
        codes = encoder.learn_and_encode(table, codes_of_labels, None, len(classes))
        name = target or column_name(y) or "class"
        return cls(
            codes, codes_of_labels, encoder.schema, classes.tolist(), target=name, smoothing=smoothing, n_jobs=n_jobs
        )

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self._rows)

    def network(self, arcs: Iterable[tuple[str, str]] = ()) -> Network:
        """A network over the columns and, last, the class.

        Parameters
        ----------
        arcs : iterable of (str, str), default=()
            Pairs of parent and child.

        Returns
        -------
        Network
            Without tables.
        """
        values = {c.name: tuple(c.describe(v) for v in range(c.n_values)) for c in self.schema.columns}
        return Network({**values, self.target: tuple(self.classes)}, arcs)

    @cached_property
    def sample(self) -> Sample:
        """The rows for structure learners; the class is the last variable."""
        return Sample.of_rows(self._rows.codes, self._rows.labels, None, self.schema, self.classes, self.target)

    def figures(self, network: Network, *, locked: LockedRows | None = None) -> LeftOutFigures:
        """The left-out answers of a network, with rows of its tables locked as in ``NetworkClassifier``.

        Parameters
        ----------
        network : Network
            Over columns and the class; its own tables are not used.
        locked : mapping or None, default=None
            Rows of tables that are set by hand, as in ``NetworkClassifier``.

        Returns
        -------
        LeftOutFigures
            Probabilities, and which answers are right.
        """
        for name in (self.target, *network.markov_blanket(self.target)):
            if name != self.target and name not in self.schema:
                raise SchemaMismatch(
                    f"{self.target!r} depends on {name!r}, which is no column.{nearest(name, self.schema.names)}"
                )
        tables = LockedTables.read(network, self.target, locked or {}, self.schema, self.classes)
        codes = self._rows.codes
        logs = self._factor(-1, self._places(network, self.target))
        joint = tables.put_class(logs, codes) if tables.of_class else logs.copy()
        for child in network.children(self.target):
            i = self.schema.index(child)
            logs = self._factor(i, self._places(network, child))
            joint += tables.put(i, logs, codes) if i in tables.of_columns else logs
        return self._figures(posterior(joint))

    def _places(self, network: Network, name: str) -> ParentSet:
        return tuple(self.schema.index(parent) for parent in network.parents(name) if parent != self.target)

    def _figures(self, proba: np.ndarray) -> LeftOutFigures:
        labels = self._rows.labels.astype(np.intp)
        own = proba[np.arange(len(proba)), labels]
        right = decide(proba, self._class_counts, None) == labels
        return LeftOutFigures(proba, right, -np.log(np.maximum(own, SMALLEST)))

    def _factor(self, child: int, parents: ParentSet) -> np.ndarray:
        """Logs of P(x_child | class, parents), or with child -1 of P(class | parents), of all rows left out."""
        key = child, parents
        with self._lock:
            if key in self._logs:
                self._logs.move_to_end(key)
                return self._logs[key]
        logs = self._counted(child, parents)
        with self._lock:
            self.n_counted += 1
            self._logs[key] = logs
            while len(self._logs) > self._most:
                self._logs.popitem(last=False)
        return logs

    def _counted(self, child: int, parents: ParentSet) -> np.ndarray:
        """Count one family, over its own columns alone, and ask it for every row."""
        columns = [*parents, *([child] if child >= 0 else [])] or [0]  # counts have a column, needed or not
        own = tuple(range(len(parents)))
        if child >= 0:
            form = ProductOfSums((len(parents),), (own,), (1.0,))
        else:
            form = ProductOfSums((), (), (), class_parents=own)
        schema = Schema(tuple(self.schema[i] for i in columns))
        families = form.families()
        sparse = sparse_families(families, schema.n_values + 1, len(self.classes), self.n_rows)
        order = 2 if len(columns) > 1 else 1
        counts = JointCounts(schema, self.classes, order=order, families=families, sparse=sparse, max_memory="2 GB")
        rows = Block(np.ascontiguousarray(self._rows.codes[:, columns]), self._rows.labels)
        counts.update(rows.codes, rows.labels, n_jobs=self.n_jobs)
        view = View(counts, form, self.estimate)
        if child >= 0:
            return log_factor(view, form.child[0], own, rows, self.n_jobs)
        return view.leave_one_out(rows, log_joint=True, n_jobs=self.n_jobs)
