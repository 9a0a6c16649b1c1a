"""NetworkForest: many random k-dependence networks, whose factors are weighed by rows that they have not learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, cast

import numpy as np

from tanager.counts.block import Block
from tanager.counts.estimates import Estimate
from tanager.counts.joint import JointCounts
from tanager.encoding.kinds import BinsOption
from tanager.errors import OptionError, SchemaMismatch, check_whole, is_whole
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.forest_elsewhere import forest_elsewhere
from tanager.learning.forest_learner import ForestSizes, forest_here
from tanager.learning.part_scorer import kept_block
from tanager.learning.rows import KeptRows
from tanager.scoring.forest import Forest, ForestScorer
from tanager.scoring.forms import Form, naive
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkForest(CountsClassifier):
    """A forest of k-dependence networks: the most accurate classifier here, with probabilities that can be trusted.

    Each network sees the table in its own way: number columns in other bins, from two to sixty-four, categories merged
    at random, columns in another order, with other parents. What a column says about the class, given its parents, is a
    factor; every factor gets a weight, so that rows which it has not learned are most probable. Choose it where
    accuracy counts, in place of a random forest or of boosted trees. Keeps the rows, in a byte or two per cell.

    Parameters
    ----------
    n_members : int, default=200
        How many networks. More are a little better and take longer. There are fewer where factors would be more than
        ``max_factors``, and with very many columns and classes.
    max_factors : int or "auto", default="auto"
        At most so many factors are drawn: networks times columns. *auto*: 2,000, or 1,000 where no column has an order
        and more than eight values, as networks then have no bins to differ in. 4,000 are a little better with numbers
        and take twice as long. With more than 64 columns there are at least 60 networks.
    validation_rows : int, default=5000
        At most so many rows are left out in turn to learn strengths and weights by.
    random_state : int or None, default=None
        The seed of what is drawn at random; None is a fixed one.
    smoothing : None
        Only None: where a combination of values of the parents is rare, probabilities lean on those with fewer parents,
        by strengths that are learned.
    bins
        Fine bins of number columns, which the networks join to coarser ones.

    Attributes
    ----------
    forest_ : Forest
        For every factor its column and parents, how their values are grouped, its strengths and its weight, as arrays.
    n_bytes_ : int
        The bytes that the tables of all factors take.

    Notes
    -----
    Zhang, Petitjean and Buntine (2020) average selective KDB networks with random cut points; here parents are drawn at
    random as well, and a logarithmic pool with a weight for each factor takes the place of the average. Learning costs
    O(networks columns rows), an answer one look-up for each factor. A missing value is a value like others where
    learning has met it, and says nothing where it has not. Left-out answers keep groups, strengths and weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import NetworkForest
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NetworkForest().fit(X[::2], y[::2])
    >>> float((model.predict(X[1::2]) == y[1::2]).mean().round(2))
    0.96
    """

    n_members: int = 200
    max_factors: int | str = "auto"
    validation_rows: int = 5000
    random_state: int | None = None
    smoothing: float | Estimate | None = None
    bins: BinsOption = "frequency"
    default_bins = "frequency"
    n_bins: int = 128

    order = 1
    saves_structure = True
    merges_repeats = True
    learns_elsewhere = True

    _tables = cast("np.ndarray | None", None)  # of a forest whose rows were never here
    form_is_all = False
    flatters_left_out = True
    refresh_ratio = 1.25

    def check_options(self) -> None:
        super().check_options()
        if self.smoothing is not None:
            raise OptionError(f"smoothing={self.smoothing!r}: leave None. NetworkForest learns how strongly to smooth.")
        check_whole("n_members", self.n_members, 1)
        if self.max_factors != "auto" and not is_whole(self.max_factors, 1):
            raise OptionError(f'max_factors={self.max_factors!r}: give how many factors to draw at most, or "auto".')
        check_whole("validation_rows", self.validation_rows, 1)
        check_whole("random_state", self.random_state, 0, or_none=True)

    def _needs_rows(self) -> bool:
        return True

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        most = None if self.max_factors == "auto" else int(self.max_factors)
        sizes = ForestSizes(int(self.n_members), most, int(self.validation_rows), int(self.random_state or 0))
        learned, elsewhere = (counts.schema, counts.class_counts, sizes), self.memory.elsewhere
        if elsewhere is not None:
            self._forest, self._tables = forest_elsewhere(*learned, elsewhere, counts, self.max_memory, self.n_threads)
        else:
            self._forest, self._tables = forest_here(*learned, self._kept(), self.n_threads), None
        return naive(counts.n_features)

    def _scorer(self, view: View) -> Scorer:
        then = None
        if self._tables is not None:
            then = {"forest-tables": self._tables, "forest-class_counts": view.counts.class_counts}
        return ForestScorer(view, self._forest, self._kept, then, n_jobs=self.n_threads)

    def _scorer_from(self, view: View, arrays: Mapping[str, np.ndarray]) -> Scorer | None:
        if "forest-groups" not in arrays:
            return None
        self._forest = Forest.from_arrays(arrays, view.counts.schema.n_values)
        self._tables = arrays.get("forest-tables") if self.memory.rows is None else None
        return ForestScorer(view, self._forest, self._kept, arrays, self.n_threads)

    def _kept(self) -> Block:
        self._refuse_without_rows()
        return kept_block(self.memory)

    def check_teachable(self) -> None:
        super().check_teachable()
        if self._tables is not None:
            self._refuse_without_rows()

    def start(self, classes: np.ndarray | None = None, target: str | None = None) -> Self:
        self._tables = None
        return super().start(classes, target)

    def _refuse_without_rows(self) -> None:
        if self.memory.rows is None:
            raise SchemaMismatch(
                "NetworkForest looks at the rows, and has none: counts alone do not hold them, and rows of a table in "
                "parts stay where they are beyond max_memory. Use fit, or raise max_memory."
            )

    @property
    def forest_(self) -> Forest:
        """What was learned beside the rows."""
        return cast(ForestScorer, self.scorer_).forest

    @property
    def n_bytes_(self) -> int:
        """The bytes that the tables of all factors take."""
        return cast(ForestScorer, self.scorer_).tables.n_bytes
