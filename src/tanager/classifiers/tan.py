"""TAN and FAN: naive Bayes with a tree, or a forest, of dependences among the columns."""

from __future__ import annotations

from dataclasses import dataclass

from tanager.counts.joint import JointCounts
from tanager.errors import check_option
from tanager.learning.marginal import MarginalMixin
from tanager.learning.rows import Rows
from tanager.learning.selection import column_place
from tanager.scoring.discriminative import DiscriminativeMixin
from tanager.scoring.forms import Form, ProductOfSums
from tanager.scoring.network_view import SingleNetworkMixin
from tanager.structure.measures import class_information, conditional_information
from tanager.structure.trees import GAINS, NO_PARENT, Edge, direct, heaviest_forest


@dataclass(eq=False, repr=False, kw_only=True)
class _Augmented(DiscriminativeMixin, SingleNetworkMixin, MarginalMixin):
    """What trees and forests share: edges chosen from the counts, hung up by a root, one parent per column."""

    def _edges(self, counts: JointCounts) -> list[Edge]:
        raise NotImplementedError

    def _root(self, counts: JointCounts) -> int | None:
        return None

    def _adaptive(self) -> bool:
        return True

    def _likelihood_only(self) -> list[str]:
        return ['missing="marginal"'] * (self.missing == "marginal")

    def _form(self, counts: JointCounts, rows: Rows | None) -> Form:
        score = class_information(counts)
        parents = direct(self._edges(counts), counts.n_features, score, self._root(counts))
        return ProductOfSums.one_each(() if parent == NO_PARENT else (parent,) for parent in parents)


@dataclass(eq=False, repr=False, kw_only=True)
class TAN(_Augmented):
    """Tree-augmented naive Bayes: every column depends on the class and on one other column.

    The tree is the one of largest likelihood, by conditional mutual information. Choose it when pairs of columns
    depend on each other given the class and rows are plenty; with few rows see FAN, which drops useless edges.

    Parameters
    ----------
    root : str, int or None, default=None
        The column the tree hangs from; by default the one that tells most about the class.
    missing : {"drop", "marginal"}, default="drop"
        At prediction, a missing parent leaves P(child | class); "marginal" sums it out exactly instead.
    fit_by, penalty
        Parameters by counting ("likelihood") or by conditional likelihood, and how strongly the latter are held to the
        former; see NaiveBayes.

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

    def _edges(self, counts: JointCounts) -> list[Edge]:
        return heaviest_forest(conditional_information(counts))

    def _root(self, counts: JointCounts) -> int | None:
        if self.root is None:
            return None
        return column_place("root", self.root, counts.schema)


@dataclass(eq=False, repr=False, kw_only=True)
class FAN(_Augmented):
    """Forest-augmented naive Bayes: TAN with only the edges that pay for themselves.

    Small or independent data give naive Bayes itself, large dependent data the tree. Choose it instead of TAN when
    you do not know which of the two you have.

    Parameters
    ----------
    criterion : {"bic", "aic", "g2", "bdeu"}, default="bic"
        What an edge must gain: penalised likelihood, a significant G² test, or the BDeu score.
    missing : {"drop", "marginal"}, default="drop"
        At prediction, a missing parent leaves P(child | class); "marginal" sums it out exactly instead.
    fit_by, penalty
        Parameters by counting ("likelihood") or by conditional likelihood, and how strongly the latter are held to the
        former; see NaiveBayes.

    Examples
    --------
    >>> from tanager import FAN
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "yes"]]
    >>> FAN().fit(X, ["play", "play", "stay", "stay"]).parents_
    {'x0': (), 'x1': ()}
    """

    criterion: str = "bic"

    def _check_options(self) -> None:
        super()._check_options()
        check_option("criterion", self.criterion, GAINS)

    def _edges(self, counts: JointCounts) -> list[Edge]:
        return heaviest_forest(GAINS[self.criterion](counts), positive=True)
