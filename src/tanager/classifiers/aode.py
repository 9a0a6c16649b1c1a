"""AODE: the mean over all columns as a parent of all others."""

from __future__ import annotations

from dataclasses import dataclass

from tanager.counts.joint import JointCounts
from tanager.encoding import Columns, Schema
from tanager.errors import check_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.gaussian_option import one_parent
from tanager.learning.rows import KeptRows
from tanager.scoring.forms import Form, ParentSet, one_dependence
from tanager.scoring.scorer import Scorer
from tanager.scoring.subsumption import Subsumption, check_subsumption
from tanager.scoring.view import View


@dataclass(eq=False, repr=False, kw_only=True)
class AODE(CountsClassifier):
    """Averaged one-dependence estimators: every column in turn is a parent of all others, and the answers are averaged.

    The first classifier to try: no structure has to be chosen, a stream gives the same model as a table, it is usually
    more accurate than naive Bayes and TAN, and its probabilities can be trusted. It counts all pairs of values, so
    memory grows with the square of their number.

    Parameters
    ----------
    min_count : float, default=1.0
        The column that is a parent of all others is called the super-parent. It takes part in an answer only if its
        value in that row was seen at least that often. Where no column takes part, naive Bayes answers.
    subsumption : float or None, default=None
        Leave out, row by row, values that only repeat another value of the row, as "pregnant" has "female" with it
        (AODEsr). A value counts as a repetition if all rows with the other value had it, and these were more than this
        many; 50 is customary. None leaves nothing out.
    subsumption_gaps : {"skip", "differ"}, default="skip"
        What rows say in which one of two values is missing: nothing ("skip"), or that the two do not always come
        together ("differ").

    gaussian : bool or list of columns, default=False
        Columns of numbers to describe by a normal distribution given the class and the super-parent (HAODE); True takes
        all of them. As super-parents they are cut into bins.

    Notes
    -----
    Webb, Boughton and Wang (2005); Flores and others (2009) for ``gaussian``. Learning O(rows columns²), a prediction
    O(columns²).

    Examples
    --------
    >>> from tanager import AODE
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "no"]]
    >>> AODE().fit(X, ["play", "play", "stay", "stay"]).predict_proba([["sun", "no"]]).round(4)
    array([[0.7941, 0.2059]])
    """

    default_bins = "refined"
    min_count: float = 1.0
    subsumption: float | None = None
    subsumption_gaps: str = "skip"
    gaussian: bool | Columns = False
    ddof: int = 0

    def check_options(self) -> None:
        super().check_options()
        check_number("min_count", self.min_count, "a number of rows")
        check_subsumption(self.subsumption, self.subsumption_gaps)

    def _not_with_gaussian(self) -> dict[str, bool]:
        return super()._not_with_gaussian() | {"subsumption": self.subsumption is not None}

    def _parent_sets(self, schema: Schema) -> list[ParentSet]:
        return one_parent(schema)

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        return one_dependence([1.0] * counts.n_features, self.min_count)

    def _scorer(self, view: View) -> Scorer:
        if self.subsumption is None:
            return super()._scorer(view)
        return Subsumption(view, self.counts_, self.subsumption, self.subsumption_gaps)
