"""TAN and FAN: naive Bayes with a tree, or a forest, of dependences among the columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.encoding import Columns, Schema
from tanager.errors import check_option
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.fit_by import discriminative, fitting_of, weights_of
from tanager.learning.gaussian_option import one_parent
from tanager.learning.network_view import blanket_of, network_of, parents_of
from tanager.learning.rows import KeptRows
from tanager.learning.selection import column_place
from tanager.learning.structure_change import BITS, Lead, arcs_lead
from tanager.scoring.discriminative import check_fit_by
from tanager.scoring.forms import Form, ParentSet, ProductOfSums
from tanager.scoring.marginal import check_missing, with_missing
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View
from tanager.structure.measures import class_information, conditional_information
from tanager.structure.trees import (
    GAINS,
    NO_PARENT,
    Edge,
    best_arcs,
    direct,
    grown_arcs,
    heaviest_forest,
    jeffreys_gain,
    k2_gain,
)


@dataclass(eq=False, repr=False, kw_only=True)
class AugmentedNaiveBayes(CountsClassifier):
    """What trees and forests share: edges chosen from the counts, hung up by a root, one parent per column."""

    missing: str = "drop"
    fit_by: str = "likelihood"
    penalty: float = 1.0
    gaussian: bool | Columns = False
    ddof: int = 0

    parents_ = property(parents_of)
    network_ = property(network_of)
    blanket_ = property(blanket_of)
    fitting_ = property(fitting_of)
    weights_ = property(weights_of)

    def check_options(self) -> None:
        super().check_options()
        check_missing(self.missing, ("drop", "marginal", "mode"))
        check_fit_by(self.fit_by, self.penalty, {f'missing="{self.missing}"': self.missing != "drop"})

    def _not_with_gaussian(self) -> dict[str, bool]:
        others = {f'missing="{self.missing}"': self.missing != "drop", "fit_by": self.fit_by != "likelihood"}
        return super()._not_with_gaussian() | others

    def _parent_sets(self, schema: Schema) -> list[ParentSet]:
        return one_parent(schema)

    def _adaptive(self) -> bool:
        return True

    def _needs_rows(self) -> bool:
        return self.fit_by != "likelihood"

    def _edges(self, counts: JointCounts) -> list[Edge]:
        raise NotImplementedError

    def _root(self, counts: JointCounts) -> int | None:
        return None

    def _parents(self, counts: JointCounts) -> list[int]:
        return direct(self._edges(counts), counts.n_features, class_information(counts), self._root(counts))

    def _gains(self, counts: JointCounts) -> np.ndarray:
        """[i, j]: what the arc i -> j gains, in nats over all rows."""
        raise NotImplementedError

    def _compares_structures(self) -> bool:
        return True

    def _lead(self, new: Form, old: Form, counts: JointCounts, rows: KeptRows | None) -> Lead:
        if self.missing == "mode":
            counts, _ = counts.with_modes()
        return arcs_lead(BITS * self._gains(counts) / max(counts.n_rows, 1e-9), new, old, counts)

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        if self.missing == "mode":
            counts, _ = counts.with_modes()
        parents = self._parents(counts)
        return ProductOfSums.one_each(() if parent == NO_PARENT else (parent,) for parent in parents)

    def _scorer(self, view: View) -> Scorer:
        if self.fit_by != "likelihood":
            return discriminative(self, view, self.fit_by, self.penalty)
        return super()._scorer(view) if self.gaussian else with_missing(self.missing, view)


@dataclass(eq=False, repr=False, kw_only=True)
class TAN(AugmentedNaiveBayes):
    """Tree-augmented naive Bayes: every column depends on the class and on one other column.

    These other columns form a tree: the one under which the rows are most probable, or which is best by another
    ``criterion``. Choose it where pairs of columns depend on each other given the class and there are many rows; with
    few rows see FAN, which leaves out edges that are not worth it.

    Parameters
    ----------
    root : str, int or None, default=None
        The column the tree hangs from; by default the one that tells most about the class.
    criterion : {"likelihood", "aic", "bic", "bdeu", "jeffreys"}, default="likelihood"
        By what edges are chosen: the tree has the largest sum of it. "likelihood" is the information of two columns
        about each other given the class. "jeffreys" is the Bayesian score with half a count in every cell, which
        differs between the two directions of an edge: the tree grows from its best pair, and directions follow from how
        it grows, unless ``root`` is given. This is the default of TAN in Weka.
    missing : {"drop", "marginal", "mode"}, default="drop"
        What happens where the parent of a column is missing in a row to answer. "drop": the column is answered by
        P(column | class), without its parent. "marginal": all values of the parent are summed over, which is exact.
        "mode": its most frequent value is filled in, in learning as well.
    gaussian : bool or list of columns, default=False
        Columns of numbers to describe by a normal distribution given the class and their parent; True takes all of
        them. As parents they are cut into bins, and edges are chosen by these bins as well.

    Attributes
    ----------
    parents_ : dict
        The parent of every column beside the class.

    Notes
    -----
    Friedman, Geiger and Goldszmidt (1997). Learning counts pairs, O(rows columns²); a prediction costs O(columns).
    Without smoothing the root makes no difference, with Laplace's rule it does.

    Examples
    --------
    >>> from tanager import TAN
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "yes"], ["sun", "yes"]]
    >>> TAN().fit(X, ["play", "play", "play", "stay", "stay"]).parents_
    {'x0': ('x1',), 'x1': ()}
    """

    root: str | int | None = None
    criterion: str = "likelihood"

    def check_options(self) -> None:
        super().check_options()
        check_option("criterion", self.criterion, ("likelihood", "aic", "bic", "bdeu", "jeffreys"))

    def _parents(self, counts: JointCounts) -> list[int]:
        if self.criterion == "jeffreys" and self.root is None:
            return grown_arcs(jeffreys_gain(counts))
        return super()._parents(counts)

    def _gains(self, counts: JointCounts) -> np.ndarray:
        if self.criterion == "likelihood":
            return conditional_information(counts) * counts.n_rows
        return jeffreys_gain(counts) if self.criterion == "jeffreys" else GAINS[self.criterion](counts)

    def _edges(self, counts: JointCounts) -> list[Edge]:
        if self.criterion == "likelihood":
            return heaviest_forest(conditional_information(counts))
        if self.criterion == "jeffreys":
            parents = grown_arcs(jeffreys_gain(counts))
            return [(parent, child) for child, parent in enumerate(parents) if parent != NO_PARENT]
        return heaviest_forest(GAINS[self.criterion](counts))

    def _root(self, counts: JointCounts) -> int | None:
        return None if self.root is None else column_place("root", self.root, counts.schema)


@dataclass(eq=False, repr=False, kw_only=True)
class FAN(AugmentedNaiveBayes):
    """Forest-augmented naive Bayes: TAN with only the edges that pay for themselves.

    Small or independent data give naive Bayes itself, large dependent data the tree. Choose it instead of TAN when
    rows may be too few for a tree; with many classes or values ``criterion="bdeu"`` finds more of the edges that pay.

    Parameters
    ----------
    criterion : {"bic", "aic", "g2", "bdeu", "k2"}, default="bic"
        What an edge must gain: penalised likelihood, a significant G² test, or the BDeu or K2 score. K2 differs between
        the two directions of an edge: both are tried, and the arc that gains most is taken.
    missing : {"drop", "marginal", "mode"}, default="drop"
        What happens where the parent of a column is missing in a row to answer. "drop": the column is answered by
        P(column | class), without its parent. "marginal": all values of the parent are summed over, which is exact.
        "mode": its most frequent value is filled in, in learning as well.
    gaussian : bool or list of columns, default=False
        Columns of numbers to describe by a normal distribution given the class and their parent; True takes all of
        them. As parents they are cut into bins, and edges are chosen by these bins as well.

    Examples
    --------
    >>> from tanager import FAN
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "yes"]]
    >>> FAN().fit(X, ["play", "play", "stay", "stay"]).parents_
    {'x0': (), 'x1': ()}
    """

    criterion: str = "bic"

    def check_options(self) -> None:
        super().check_options()
        check_option("criterion", self.criterion, (*GAINS, "k2"))

    def _parents(self, counts: JointCounts) -> list[int]:
        if self.criterion == "k2":  # the gains are those of arcs, not of edges: there is no root left to choose
            return best_arcs(k2_gain(counts))
        return super()._parents(counts)

    def _compares_structures(self) -> bool:
        return self.criterion != "g2"  # a test is no score

    def _gains(self, counts: JointCounts) -> np.ndarray:
        return k2_gain(counts) if self.criterion == "k2" else GAINS[self.criterion](counts)

    def _edges(self, counts: JointCounts) -> list[Edge]:
        return heaviest_forest(GAINS[self.criterion](counts), positive=True)
