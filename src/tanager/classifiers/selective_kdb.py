"""SelectiveKDB: k-dependence Bayes that finds out how many columns and how many parents pay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tanager import saved
from tanager.classifiers.kdb import KDB
from tanager.counts.joint import JointCounts
from tanager.errors import SchemaMismatch, check_option
from tanager.learning.nested_losses import TINY, NestedLosses
from tanager.learning.rows import KeptRows
from tanager.learning.whole_sums import mean_of
from tanager.scoring.forms import Form, ProductOfSums
from tanager.scoring.view import View
from tanager.structure.measures import class_information
from tanager.structure.orders import descending, k_dependence


@dataclass(eq=False, repr=False, kw_only=True)
class SelectiveKDB(KDB):
    """KDB with only as many columns and parents as answer best when every row is left out.

    Columns stand in the order of what they tell about the class, parents in that of what they tell about the column.
    The first t columns with their first j parents are a network, for every t and every j up to k, and one more pass
    over the rows tries them all. Choose it over KDB when some columns are noise, or when you do not know k.

    Parameters
    ----------
    k : int, default=2
        Most parents beside the class that are tried.
    loss : {"rmse", "zero_one"}, default="rmse"
        What must be small: the root of the mean squared 1 - P(true class), or the share of wrong answers. Ties go to
        fewer parents, then to fewer columns.

    Attributes
    ----------
    columns_ : tuple of str
        The columns that are used, the one that tells most about the class first.
    k_ : int
        The most parents that are used.
    losses_ : array of shape (k + 1, n_columns + 1)
        The loss with at most j parents and the first t columns.
    parents_ : dict
        The parents of every column that is used.

    Notes
    -----
    Martínez, Webb, Chen and Zaidi (2016). Passes over the rows: pairs, families, then O(rows columns k) for the choice.
    Rows are kept, a byte or two per cell; with ``refresh=float("inf")`` no longer than until the first choice, as in
    KDB.

    Examples
    --------
    The second column is noise. Without columns, a row of "play" has P(play) = (5 + 1/2) / (11 + 1) by the others, so
    the loss is 0.542; with the first column alone it is smallest:

    >>> from tanager import BackOff, SelectiveKDB
    >>> X = [["sun", "no"], ["sun", "yes"], ["rain", "no"], ["rain", "yes"]] * 3
    >>> model = SelectiveKDB(k=1, smoothing=BackOff(1)).fit(X, ["play", "play", "stay", "stay"] * 3)
    >>> model.columns_, model.k_
    (('x0',), 0)
    >>> model.losses_.round(3)
    array([[0.542, 0.084, 0.1  ],
           [0.542, 0.084, 0.103]])
    """

    loss: str = "rmse"

    saves_structure: ClassVar[bool] = True
    refresh_ratio: ClassVar[float] = 2.0  # all nested networks are judged by all rows

    def check_options(self) -> None:
        super().check_options()
        check_option("loss", self.loss, ("rmse", "zero_one"))

    def _needs_rows(self) -> bool:
        return True

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        if not self.memory.can_look_again:
            raise SchemaMismatch("SelectiveKDB looks at the rows again, and counts alone do not hold them. Use fit.")
        parents = k_dependence(counts, self.k, self.threshold)
        order = descending(class_information(counts))
        full = ProductOfSums.one_each(parents)
        self.memory.count_families(full.families(), self.counts_shape(counts.schema), self.n_threads)
        self.losses_ = self._losses(self.view_of(full), order, parents)
        rounded = np.round(self.losses_, 12)
        self.k_, n_columns = (int(place) for place in np.unravel_index(np.argmin(rounded), rounded.shape))
        self.columns_ = tuple(counts.schema.names[i] for i in order[:n_columns])
        used = sorted(order[:n_columns])
        return ProductOfSums(tuple(used), tuple(parents[i][: self.k_] for i in used), (1.0,) * n_columns)

    def _held_with(self, form: Form, columns: Iterable[int]) -> Form:
        return form  # columns that were not judged are not read

    def _losses(self, view: View, order: list[int], parents: list[tuple[int, ...]]) -> np.ndarray:
        """The loss of every nested network, most parents by columns, each row left out."""
        view.learn_strengths()
        classes, n_rows = self.view_of(ProductOfSums((), (), ())), max(self.counts_.n_rows, TINY)
        work = NestedLosses(view, classes, tuple(order), tuple(parents), self.k, self.loss, n_rows)
        sums = self.memory.total(work)
        mean = mean_of(sums, n_rows) if sums.ndim else np.zeros((self.k + 1, len(order) + 1))
        return np.sqrt(mean) if self.loss == "rmse" else mean

    def _choice(self) -> dict[str, Any]:
        return {"columns": list(self.columns_), "k": self.k_, "losses": self.losses_.tolist()}

    def _take_choice(self, data: dict[str, Any]) -> None:
        names = self.counts_.schema.names
        expected = {
            "columns": saved.items(saved.text(*names), distinct=True),
            "k": saved.whole(),
            "losses": saved.items(saved.items(saved.figure())),
        }
        self.columns_, self.k_, losses = saved.read("figures of its choice", data, expected).values()
        self.losses_ = np.array(losses, dtype=np.float64)
