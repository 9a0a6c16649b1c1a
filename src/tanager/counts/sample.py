"""Sample: rows as codes, in which any set of variables can be counted; the data of structure learners.

``JointCounts`` holds what was counted in advance; a search over networks needs families and conditional tables that
are not known beforehand. Results are cached, so that thresholds, folds and learners share them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tanager import _kernels
from tanager.counts.memory import check_budget
from tanager.encoding.encoder import Encoder
from tanager.encoding.labels import encode_labels
from tanager.encoding.schema import OTHER, Schema, refuse_duplicates
from tanager.encoding.tables import Table, read_table
from tanager.encoding.typing import LabelsLike, TableLike, WeightsLike
from tanager.encoding.validation import check_lengths, check_weights, column_name, one_dimensional, refuse_fractions
from tanager.errors import DataError, OptionError, SchemaMismatch, check_option, is_whole, nearest
from tanager.listed import Listed, names_in

SCORES = ("ll", "aic", "bic", "k2", "bdeu")
MANY_CELLS = 2**20  # of a table; fewer fit into any memory
Variable = str | int  # by name or by position


class Information(NamedTuple):
    """Conditional mutual information of two variables, over the rows in which all variables are present."""

    value: float  # I(X; Z | C) in nats, never negative, rounded to 12 decimals
    rows: float  # M, the weight of these rows
    df: float  # degrees of freedom, structural zeros removed
    naive_df: float  # (a_x - 1)(a_z - 1) times all configurations of C
    pearson: float  # Pearson's X²


class Sample(Listed):
    """Rows over named variables, the class among them, as whole numbers (codes) that stand for values.

    ``Sample.of(X, y)`` makes one from any table. A row in which a variable is missing is left out only where that
    variable is needed. A known distribution is a sample, too: all its configurations, weighted by their probabilities.

    Parameters
    ----------
    codes : array (n_rows, n_variables), uint8 or uint16
        The largest value of the type, and every code beyond the values, means missing.
    values : sequence of sequences
        The values of every variable, in the order of their codes.
    names : sequence of str
        The names of the variables.
    weights : array or None
        Of the rows.

    Attributes
    ----------
    n_asked, n_counted : int
        Calls of ``information`` so far, and how many of them had to be computed; the rest came from the cache.

    Examples
    --------
    Two coins, and whether they agree: any two of the three tell nothing about each other, until the third is known.

    >>> X = {"first": [0, 0, 1, 1], "second": [0, 1, 0, 1]}
    >>> sample = Sample.of(X, ["yes", "no", "no", "yes"], target="agree")
    >>> sample.count("first", "agree")
    array([[1., 1.],
           [1., 1.]])
    >>> sample.information("first", "second").value
    0.0
    >>> sample.information("first", "second", given=["agree"])  # log(2), as sure as can be
    Information(value=0.69314718056, rows=4.0, df=2.0, naive_df=2.0, pearson=4.0)
    """

    unlisted = names_in("""
        climb count_at information_at informations_at n_asked n_counted pair_informations separation
    """)

    def __init__(
        self,
        codes: np.ndarray,
        values: Sequence[Sequence[object]],
        names: Sequence[str],
        weights: np.ndarray | None = None,
    ) -> None:
        if not np.ndim(codes) == 2 or not codes.shape[1] == len(values) == len(names):
            raise DataError(
                f"codes of shape {np.shape(codes)}, values of {len(values)} variables and {len(names)} names "
                "do not match: each variable is one column of codes, with its values and a name."
            )
        refuse_duplicates(names)
        self.codes = np.asfortranarray(codes)
        self.values = tuple(tuple(_plain(value) for value in own) for own in values)
        self.names = tuple(names)
        self.weights = check_weights(weights, len(codes))
        self.n_values = np.array([len(own) for own in self.values], dtype=np.int64)
        self._sizes = self.n_values.tolist()
        self._scores: dict[tuple[str, float, int, frozenset[int]], float] = {}
        self._pairs: dict[tuple[tuple[int, ...], tuple[int, ...]], list[Information]] = {}
        self._parts: dict[tuple[int, int], Sample] = {}
        self._filled: Sample | None = None

    @cached_property
    def _rows(self) -> _kernels.Sample:
        """Made when something is counted first: samples that only deal out rows need none."""
        return _kernels.Sample(self.codes, self.n_values.tolist(), self.weights)

    def __reduce__(self) -> tuple[Any, ...]:
        return Sample, (self.codes, self.values, self.names, self.weights)

    @classmethod
    def of(
        cls,
        X: TableLike,
        y: LabelsLike | None = None,
        *,
        target: str | None = None,
        sample_weight: WeightsLike | None = None,
        **encoder_options: Any,
    ) -> Sample:
        """A sample from any table, with columns encoded as by a classifier; the class, if there is one, comes last.

        The class is ``y``, under the name ``target`` or its own or "class"; without ``y``, the column of X that
        ``target`` names; without either there is none, and numbers need ``bins="frequency"`` or "width". All other
        options are those of ``Encoder``.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        y : array of labels, default=None
            The class of every row: text, booleans or whole numbers.
        target : str, default=None
            The name of the class.
        sample_weight : array of numbers, default=None
            How much each row counts. None: all alike.
        **encoder_options : object
            Options of ``Encoder``.

        Returns
        -------
        Sample
            The sample.
        """
        if encoder_options.get("continuous"):
            raise OptionError("continuous columns cannot be counted in a sample. Leave out continuous=.")
        table = read_table(X)
        weights = check_weights(sample_weight, table.n_rows)
        encoder = Encoder(**{"keep": "all", **encoder_options})  # all columns are variables
        if y is None and target is None:
            codes = encoder.learn_and_encode(table, None, weights)
            return cls(codes, encoder.schema.described, encoder.schema.names, weights)
        if y is None:
            table, y = _take_out(table, str(target))
        else:
            target = target or column_name(y) or "class"
            y = one_dimensional(y)
            check_lengths(table.n_rows, y)
        labels, classes = encode_labels(y)
        refuse_fractions(classes)
        codes = encoder.learn_and_encode(table, labels, weights, len(classes))
        return cls.of_rows(codes, labels, weights, encoder.schema, classes, str(target))

    @classmethod
    def of_rows(
        cls,
        codes: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        schema: Schema,
        classes: Iterable[object],
        target: str = "class",
    ) -> Sample:
        """The columns of a schema and, last, the class, under a name that no column has.

        Parameters
        ----------
        codes : array
            Codes of the values.
        labels : array
            Codes of the classes.
        weights : array or None
            How much each row counts.
        schema : Schema
            The columns.
        classes : iterable of object
            The labels, in the order of their codes.
        target : str, default="class"
            The name of the class.

        Returns
        -------
        Sample
            The sample.
        """
        while target in schema:
            target += "_"
        wide = max(codes.dtype, labels.dtype)
        both = np.empty((len(codes), codes.shape[1] + 1), dtype=wide, order="F")
        for part, place in ((codes, slice(0, -1)), (labels[:, None], slice(-1, None))):
            both[:, place] = part
            if part.dtype != wide:
                both[:, place][part == np.iinfo(part.dtype).max] = np.iinfo(wide).max
        return cls(both, [*schema.described, list(classes)], [*schema.names, target], weights)

    def index(self, variable: Variable) -> int:
        """Position of a variable given by name or position. Raises SchemaMismatch for an unknown one.

        Parameters
        ----------
        variable : Variable
            A name, or a place.

        Returns
        -------
        int
            Its place, from 0.
        """
        if type(variable) is int and 0 <= variable < len(self.names):  # as learners ask, thousands of times
            return variable
        if isinstance(variable, str):
            if variable not in self.names:
                raise SchemaMismatch(f"there is no variable {variable!r}.{nearest(variable, self.names)}")
            return self.names.index(variable)
        if not is_whole(variable) or variable >= len(self.names):
            raise SchemaMismatch(
                f"there is no variable {variable!r}; they are numbered from 0 to {len(self.names) - 1}."
            )
        return int(variable)

    def _places(self, variables: Iterable[Variable]) -> list[int]:
        """Positions of variables. Raises DataError for duplicates."""
        places = [self.index(variable) for variable in variables]
        if len(set(places)) < len(places):
            twice = next(i for i in places if places.count(i) > 1)
            raise DataError(f"variable {self.names[twice]!r} is given twice. Give each variable once.")
        return places

    @property
    def n_rows(self) -> float:
        """Total weight of the rows."""
        return float(len(self.codes) if self.weights is None else self.weights.sum())

    def count(self, *variables: Variable) -> np.ndarray:
        """Joint counts of these variables, one axis each; rows in which one is missing are left out.

        Parameters
        ----------
        *variables : str or int
            Names or places.

        Returns
        -------
        array
            Sums of weights.
        """
        return self.count_at(self._places(variables))

    def count_at(self, places: Sequence[int]) -> np.ndarray:
        """The same for positions that are known to be there, each once."""
        cells = math.prod(self._sizes[i] for i in places)
        if cells > MANY_CELLS:
            check_budget(8.0 * cells, "2 GB", f"a table of {len(places)} variables", "Count fewer of them together.")
        return self._rows.count(places)

    def information(self, x: Variable, z: Variable, given: Iterable[Variable] = ()) -> Information:
        """I(X; Z | given) with its degrees of freedom; symmetric in X and Z.

        Parameters
        ----------
        x : Variable
            A name, or a place.
        z : Variable
            A name, or a place.
        given : iterable of Variable, default=()
            Names or places of variables that are known.

        Returns
        -------
        Information
            The information in nats, and its degrees of freedom.
        """
        first, second, *rest = self._places((x, z, *given))
        return self.information_at(first, second, rest)

    def information_at(self, first: int, second: int, given: Iterable[int]) -> Information:
        """The same for positions that are known to be there, each once: searches ask many thousand times."""
        return Information(*self._rows.information(first, second, list(given)))

    def informations_at(self, first: int, others: Sequence[int], given: Sequence[int]) -> list[float]:
        """The values of a variable with each of several others, counted together."""
        return self._rows.informations(first, others, given)

    def pair_informations(self, places: Sequence[int], given: Sequence[int]) -> list[Information]:
        """That of every two of these variables, in the order of ``itertools.combinations``."""
        key = tuple(places), tuple(given)
        if key not in self._pairs:
            self._pairs[key] = [Information(*figures) for figures in self._rows.pairs(places, given)]
        return self._pairs[key]

    def separation(
        self,
        nodes: Sequence[int],
        given: Sequence[int],
        allowed: Sequence[Sequence[bool]],
        test: tuple[str, float, bool, bool],
        max_cond: int,
    ) -> _kernels.Separation:
        """An empty graph between some variables, and tests by which sets of them separate pairs.

        ``given`` are conditions of every test. ``test`` is its kind, its bound, whether it needs five rows for each
        degree of freedom, and whether it counts all of these.
        """
        return _kernels.Separation(self._rows, nodes, given, allowed, *test, max_cond)

    @property
    def n_asked(self) -> int:
        """How often an information was asked for."""
        return self._rows.n_asked

    @property
    def n_counted(self) -> int:
        """How many of them had to be computed; the rest came from the cache."""
        return self._rows.n_counted

    def score(self, kind: str, child: Variable, parents: Iterable[Variable] = (), strength: float = 1.0) -> float:
        """The score of a variable with its parents, over the rows in which none of them is missing. Larger is better.

        "ll" is the log-likelihood, "aic" and "bic" the same with their penalties, "k2" and "bdeu" (with equivalent
        sample size ``strength``) the log marginal likelihood.

        Parameters
        ----------
        kind : str
            The score: "ll" (log likelihood), "aic", "bic", "k2" or "bdeu".
        child : Variable
            A name, or a place.
        parents : iterable of Variable, default=()
            Names or places.
        strength : float, default=1.0
            The equivalent sample size, where the score has one.

        Returns
        -------
        float
            The score.
        """
        return float(self.scores(kind, child, [parents], strength)[0])

    def scores(
        self, kind: str, child: Variable, parents: Iterable[Iterable[Variable]], strength: float = 1.0
    ) -> np.ndarray:
        """The scores of one child with each of several parent sets; sets that differ in one share the counting.

        Parameters
        ----------
        kind : str
            The score: "ll" (log likelihood), "aic", "bic", "k2" or "bdeu".
        child : Variable
            A name, or a place.
        parents : iterable of iterable of Variable
            Sets of names or places.
        strength : float, default=1.0
            The equivalent sample size, where the score has one.

        Returns
        -------
        array
            One score for each set.
        """
        check_option("score", kind, SCORES)
        if kind == "bdeu" and not 0 < strength < math.inf:
            raise OptionError(f"strength={strength!r}: the equivalent sample size of BDeu must be positive and finite.")
        at = self.index(child)
        sets = [frozenset(self._places((at, *own))[1:]) for own in parents]
        keys = [(kind, float(strength) if kind == "bdeu" else 0.0, at, own) for own in sets]
        new = list(dict.fromkeys(key for key in keys if key not in self._scores))
        if new:
            found = self._rows.scores(kind, at, [sorted(key[-1]) for key in new], float(strength))
            self._scores.update(zip(new, found.tolist(), strict=True))
        return np.array([self._scores[key] for key in keys])

    def climb(
        self,
        kind: str,
        strength: float,
        nodes: Sequence[int],
        given: Sequence[int],
        allowed: Sequence[Sequence[bool]],
        required: Sequence[tuple[int, int]],
        max_parents: int | None,
        rounding: float,
        *,
        target: int | None = None,
        all_joined: bool = False,
    ) -> tuple[list[list[int]], int]:
        """A greedy search by a score: the parents of every node, by their numbers, and how many families were scored.

        ``given`` are parents in every family. Scores that differ by less than ``rounding``, as a share of the score of
        the network, are equal. Arcs are added, removed and reversed among all nodes; or, with the number of a
        ``target``, added and removed around it, beginning with none or with all that it may be a parent of.
        """
        return self._rows.climb(
            kind, strength, nodes, given, allowed, required, max_parents, rounding, target, all_joined
        )

    def filled(self) -> Sample:
        """The same rows, with missing cells imputed by the most common value of their variable.

        Scores over different rows cannot be compared, so searches impute first. Itself where nothing is missing.

        Returns
        -------
        Sample
            A new sample.
        """
        if self._filled is None:
            most = [int(self.codes[:, i].max(initial=0)) for i in range(len(self.names))]
            lacking = [i for i, n in enumerate(self.n_values.tolist()) if 0 < n <= most[i]]
            codes = self.codes.copy() if lacking else self.codes
            for i in lacking:
                codes[codes[:, i] >= self.n_values[i], i] = self.count(i).argmax()
            self._filled = Sample(codes, self.values, self.names, self.weights) if lacking else self
        return self._filled

    def where(self, variable: Variable, code: int) -> Sample:
        """The rows in which a variable has the value with this code, as a sample.

        Parameters
        ----------
        variable : Variable
            A name, or a place.
        code : int
            The code of a value.

        Returns
        -------
        Sample
            A new sample.
        """
        key = (self.index(variable), int(code))
        if key not in self._parts:  # cached, so that what is computed in it serves every learner
            self._parts[key] = self.take(np.flatnonzero(self.codes[:, key[0]] == code))
        return self._parts[key]

    def take(self, rows: np.ndarray) -> Sample:
        """The rows at these positions, as a sample.

        Parameters
        ----------
        rows : array
            Places of rows.

        Returns
        -------
        Sample
            A new sample.
        """
        weights = None if self.weights is None else self.weights[rows]
        return Sample(self.codes[rows], self.values, self.names, weights)


def _plain(value: object) -> object:
    """A value as Python's own type: networks are written to files, and compared with those read from files."""
    return value.item() if isinstance(value, np.generic) else str(value) if value is OTHER else value


def _take_out(table: Table, target: str) -> tuple[Table, Any]:
    """A table without one of its columns, and that column."""
    names = table.names
    if names is None:
        raise DataError(f"target={target!r}: X has no column names. Pass the class column as y.")
    if target not in names:
        raise SchemaMismatch(f"X has no column {target!r}.{nearest(target, names)}")
    rest = [i for i, name in enumerate(names) if name != target]
    readers = [table.readers[i] for i in rest]
    return Table([names[i] for i in rest], table.n_rows, readers, gaps=table.gaps), table.column(names.index(target))
