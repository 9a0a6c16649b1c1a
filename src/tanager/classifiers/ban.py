"""BAN: naive Bayes with any network of dependences among the columns."""

from __future__ import annotations

from dataclasses import dataclass

from tanager.counts.estimates import BackOff
from tanager.counts.sample import Sample
from tanager.learning.fit_by import discriminative, fitting_of, weights_of
from tanager.learning.network_learner import Found, NetworkLearner, by_information, learned_of, places
from tanager.learning.network_view import blanket_of, network_of, parents_of
from tanager.scoring.discriminative import check_fit_by
from tanager.scoring.forms import ProductOfSums
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View
from tanager.structure.hill_climb import HillClimb
from tanager.structure.learner import Learner


@dataclass(eq=False, repr=False, kw_only=True)
class BAN(NetworkLearner):
    """Bayesian network augmented naive Bayes: the class is a parent of all columns, and these form any network.

    Where TAN gives every column one parent, this one learns how many it needs. Choose it when columns depend on
    each other in more than a tree and all of them matter; see GeneralNetwork when some do not.

    Parameters
    ----------
    learner : CBL, HillClimb, K2, ChowLiu or None, default=None
        How the arcs among the columns are learned, given the class. None is ``HillClimb()``, by the BIC score;
        ``CBL()`` learns by independence tests.
    missing : {"drop", "marginal"}, default="drop"
        At prediction, a missing parent leaves the more informative parents before it; "marginal" sums it out exactly.
    smoothing
        None is ``BackOff(5, first=1)``: thin configurations of parents fall back to fewer parents.

    Attributes
    ----------
    parents_ : dict
        The parents of every column beside the class, most informative first.
    network_ : Network
        The class and all columns, with tables.
    learned_ : LearnedNetwork
        Every step that led to the network.

    Notes
    -----
    Friedman, Geiger and Goldszmidt (1997), by score; Cheng and Greiner (1999), by independence tests.

    Examples
    --------
    >>> from tanager import BAN
    >>> X = [["sun", "dry"], ["sun", "dry"], ["rain", "wet"], ["rain", "wet"]] * 10
    >>> BAN().fit(X, ["play", "stay", "play", "stay"] * 10).parents_
    {'x0': (), 'x1': ('x0',)}
    """

    fit_by: str = "likelihood"
    penalty: float = 1.0

    default_learner = HillClimb()
    default_estimate = BackOff(5.0, first=1.0)

    parents_ = property(parents_of)
    network_ = property(network_of)
    blanket_ = property(blanket_of)
    learned_ = property(learned_of)
    fitting_ = property(fitting_of)
    weights_ = property(weights_of)

    def check_options(self) -> None:
        super().check_options()
        check_fit_by(self.fit_by, self.penalty, {'missing="marginal"': self.missing == "marginal"})

    def _scorer(self, view: View) -> Scorer:
        if self.fit_by != "likelihood":
            return discriminative(self, view, self.fit_by, self.penalty)
        return super()._scorer(view)

    def find(self, sample: Sample, learner: Learner, *, traced: bool = True) -> Found:
        n = len(sample.names) - 1
        learned = learner.learn(sample, nodes=range(n), given=[n], traced=traced)
        parents = places(learned.network, sample)
        keep = self.kept(sample, learner)
        form = ProductOfSums.one_each(by_information(sample, i, parents[i], [n], keep=keep) for i in range(n))
        return Found(form, (learned,))
