"""NaiveBayes: every column depends on the class alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tanager.counts.context_moments import ContextMoments
from tanager.counts.joint import JointCounts
from tanager.counts.moments import Moments
from tanager.encoding import Columns, Schema
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.fit_by import discriminative, fitting_of, weights_of
from tanager.learning.gaussian_option import chosen
from tanager.learning.network_view import blanket_of, network_of, parents_of
from tanager.learning.rows import KeptRows
from tanager.scoring.discriminative import check_fit_by
from tanager.scoring.forms import Form, naive
from tanager.scoring.gaussian import Gaussian
from tanager.scoring.scorer import Scorer
from tanager.scoring.subsumption import Subsumption, check_subsumption
from tanager.scoring.view import View


@dataclass(eq=False, repr=False, kw_only=True)
class NaiveBayes(CountsClassifier):
    """Naive Bayes: every column depends on the class alone. Categorical, Gaussian or mixed.

    The cheapest classifier here and the yardstick for the others. Good from the first rows on; too sure of itself where
    columns repeat each other (then see TAN or AODE).

    Parameters
    ----------
    gaussian : bool or list of columns, default=False
        Number columns to describe by a normal distribution per class instead of bins; True takes all of them.
    subsumption : float or None, default=None
        Leave out, row by row, values that only repeat another value of the row, as "pregnant" has "female" with it
        (NBsr). A value counts as a repetition if all rows with the other value had it, and these were more than this
        many; 50 is customary. Pairs of columns are then counted, as for AODE. None leaves nothing out.
    subsumption_gaps : {"skip", "differ"}, default="skip"
        What rows say in which one of two values is missing: nothing ("skip"), or that the two do not always come
        together ("differ").

    Attributes
    ----------
    counts_ : JointCounts
        All that was learned about columns with codes; merge, save or look at it on its own.
    moments_ : Moments
        All that was learned about Gaussian columns.
    fitting_ : Fitting or None
        The conditional log-likelihood before and after, where parameters were searched for.
    weights_ : dict
        The exponent of every column, with ``fit_by="weights"`` or ``"factor_weights"``.

    Notes
    -----
    Learning takes O(rows columns), a prediction O(columns classes).

    Examples
    --------
    >>> from tanager import NaiveBayes
    >>> model = NaiveBayes().fit([["sun"], ["sun"], ["rain"], ["rain"]], ["play", "play", "stay", "stay"])
    >>> model.predict_proba([["sun"]])
    array([[0.75, 0.25]])
    """

    gaussian: bool | Columns = False
    ddof: int = 0
    subsumption: float | None = None
    subsumption_gaps: str = "skip"
    fit_by: str = "likelihood"
    penalty: float = 1.0

    parents_ = property(parents_of)
    network_ = property(network_of)
    blanket_ = property(blanket_of)
    fitting_ = property(fitting_of)
    weights_ = property(weights_of)

    def check_options(self) -> None:
        super().check_options()
        check_subsumption(self.subsumption, self.subsumption_gaps)
        counted = {"gaussian": bool(self.gaussian), "subsumption": self.subsumption is not None}
        check_fit_by(self.fit_by, self.penalty, counted)

    def _not_with_gaussian(self) -> dict[str, bool]:
        return {}  # they have no codes here, so cut points of other columns may move

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        """Single columns; subsumption looks at pairs."""
        return {"order": 1 if self.subsumption is None else 2}

    def encoder_options(self) -> dict[str, Any]:
        """How columns become codes; Gaussian columns stay numbers."""
        options = super().encoder_options()
        return options | {"continuous": chosen(self.gaussian), "numeric": self.numeric} if self.gaussian else options

    def _needs_rows(self) -> bool:
        return self.fit_by != "likelihood"

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        return naive(counts.n_features)

    def _scorer(self, view: View) -> Scorer:
        if self.fit_by != "likelihood":
            return discriminative(self, view, self.fit_by, self.penalty)
        scorer: Scorer = view
        if self.subsumption is not None:
            scorer = Subsumption(view, self.counts_, self.subsumption, self.subsumption_gaps)
        return scorer if self.moments_ is None else Gaussian(scorer, self.moments_, self.counts_)

    @property
    def moments_(self) -> Moments | None:
        """Weight, mean and spread of every Gaussian column in every class; None where there are none."""
        moments = self.memory.moments
        assert not isinstance(moments, ContextMoments)  # columns here have no parents
        return moments
