"""TBMATAN: the exact Bayesian average over all tree-augmented networks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tanager.counts.estimates import BDeu, Estimate
from tanager.counts.joint import JointCounts
from tanager.errors import OptionError, is_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.scoring.forms import Form, naive
from tanager.scoring.scorer import Scorer
from tanager.scoring.tree_average import TreeAverage
from tanager.scoring.view import View

SOFT_RANGE = 11.5  # of log Bayes factors under soften=True: the weakest edge counts 1e-5 of the strongest


@dataclass(eq=False, repr=False, kw_only=True)
class TBMATAN(CountsClassifier):
    """The average over all tree-augmented networks, each weighed by its posterior probability: n^(n-2) trees at once.

    Choose it in place of TAN where rows are few: TAN believes in the best tree alone, and this in all of them as far as
    the rows support them. With many rows one tree has all the weight, and TAN gives the same answers for less time.

    Parameters
    ----------
    ess : float, default=10.0
        Equivalent sample size: the prior counts for so many rows, spread evenly over classes and values. It takes the
        place of ``smoothing``, which must stay None.
    soften : bool, default=False
        Squeeze the logs of the Bayes factors of edges into a range of 11.5 where it is wider, so that many trees keep a
        say with many rows, too. A heuristic.

    Attributes
    ----------
    log_weights_ : array of shape (n_columns, n_columns)
        Logs of the Bayes factors: how much more probable the rows are where two columns depend on each other, given the
        class. Above 0 an edge is worth having.
    n_networks_ : int
        How many trees there are.

    Notes
    -----
    Cerquides and Lopez de Mantaras (2005). Learning counts pairs, O(rows columns²); an answer costs O(columns³), by a
    sum over all trees that subtracts nothing. Missing values leave their column out of the trees. For a pair of columns
    only rows with both of them count. In a stream, how probable trees are is worked out again now and then (see
    ``refresh``), and probabilities of values at every row.

    Examples
    --------
    Both columns are even coins in each class. With five pseudo-rows in a class, sun and warm come together with
    (1 + 5/4) / 7 in play and (0 + 5/4) / 7 in stay, that is 9 to 5; there is one tree only:

    >>> from tanager import TBMATAN
    >>> X = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]]
    >>> TBMATAN().fit(X, ["play", "play", "stay", "stay"]).predict_proba([["sun", "warm"]]).round(4)
    array([[0.6429, 0.3571]])
    """

    smoothing: float | Estimate | None = None
    ess: float = 10.0
    soften: bool = False

    def check_options(self) -> None:
        super().check_options()
        if self.smoothing is not None:
            raise OptionError(
                f"smoothing={self.smoothing!r}: TBMATAN smooths by its prior over networks. Leave smoothing=None and "
                "give ess, the equivalent sample size."
            )
        if not is_number(self.ess, 0) or not 0 < self.ess <= 1e100:
            raise OptionError(f"ess={self.ess!r}: give an equivalent sample size above 0; 10 is customary.")
        if not isinstance(self.soften, bool):
            raise OptionError(f"soften={self.soften!r}: give True or False.")

    @property
    def estimate(self) -> Estimate:
        """The estimates that the prior over networks makes."""
        return BDeu(float(self.ess))

    form_is_all = False  # the probabilities of the trees go with it

    def _adaptive(self) -> bool:
        return True

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        return naive(counts.n_features)

    def _scorer(self, view: View) -> Scorer:
        return TreeAverage(view, *self._prior, n_jobs=self.n_threads)

    def _scorer_from(self, view: View, arrays: Mapping[str, np.ndarray]) -> Scorer | None:
        if "trees-log_weights" not in arrays:
            return None
        return TreeAverage.from_arrays(view, *self._prior, arrays)

    @property
    def _prior(self) -> tuple[float, float]:
        return float(self.ess), SOFT_RANGE if self.soften else math.inf

    @property
    def log_weights_(self) -> np.ndarray:
        """The log of the Bayes factor of every edge: how much more probable the rows are with it than without."""
        scorer = self.uncalibrated()
        assert isinstance(scorer, TreeAverage)
        return scorer.log_weights.copy()

    @property
    def n_networks_(self) -> int:
        """How many trees are averaged."""
        n = self.counts_.n_features
        return int(n ** max(n - 2, 0))
