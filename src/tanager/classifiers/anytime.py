"""AnytimeAODE and AnytimeA2DE: naive Bayes at once, then better with every super-parent that there is time for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.learning.anytime import AnytimeClassifier
from tanager.learning.member_space import pairs_of_columns, single_columns
from tanager.scoring.forms import Form, ParentSet, naive, one_dependence
from tanager.structure.measures import class_information, class_information_given


@dataclass(eq=False, repr=False, kw_only=True)
class AnytimeAODE(AnytimeClassifier):
    """AODE that answers at once, and better with every microsecond: naive Bayes, then one super-parent more at a time.

    A super-parent is a column that all others depend on, beside the class; a member is the model that it makes. Choose
    it for services: under load it answers as naive Bayes does, with time to spare as AODE, and anything between.
    ``predict`` and ``predict_proba`` take a ``budget`` in seconds, or a number of ``members``.

    Parameters
    ----------
    mix
        With "replace" all members together are AODE.

    Attributes
    ----------
    members_ : list
        The super-parents that there is memory for, in the order of the columns.
    members_used_ : array
        How many super-parents took part, for each row that was last asked for; 0 is naive Bayes alone.

    Notes
    -----
    Webb, Zheng, Boughton, Wang and Yang. Learning O(rows columns²), and as much again to validate members; an answer
    O(columns) for naive Bayes and for each member.

    Examples
    --------
    >>> from tanager import AnytimeAODE
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "no"]]
    >>> model = AnytimeAODE(member_order="given", stop="all").fit(X, ["play", "play", "stay", "stay"])
    >>> for answer in model.staged_answers([["sun", "no"]]):
    ...     print(answer.members[0], answer.proba[0].round(4))
    0 [0.8182 0.1818]
    1 [0.8182 0.1818]
    2 [0.802 0.198]
    """

    def members_of(self, n: int) -> tuple[ParentSet, ...]:
        """Super-parents of every member, as they come in the table."""
        return single_columns(n)

    def _information(self, counts: JointCounts) -> np.ndarray:
        return class_information(counts)


@dataclass(eq=False, repr=False, kw_only=True)
class AnytimeA2DE(AnytimeClassifier):
    """A2DE that answers at once, and better with time: naive Bayes, then one pair of super-parents more at a time.

    As AnytimeAODE, with finer and more expensive members; choose it with many rows and few columns. Counts triples.

    Parameters
    ----------
    member_order : {"cv", "mi", "random", "given"} or list of pairs of columns, default="cv"
        Which pairs come first.

    Examples
    --------
    >>> from tanager import AnytimeA2DE
    >>> X = [["sun", "no", "hot"], ["sun", "no", "hot"], ["rain", "yes", "cold"], ["rain", "yes", "cold"]]
    >>> model = AnytimeA2DE(mix="replace", stop="all").fit(X, ["play", "play", "stay", "stay"])
    >>> model.predict_proba(X[:1]).round(4), model.predict_proba(X[:1], members=0).round(4)
    (array([[0.8182, 0.1818]]), array([[0.9643, 0.0357]]))
    """

    order = 3
    refresh_ratio = 1.5  # members are many, and their order changes little: see experiments/refresh_ratios

    def members_of(self, n: int) -> tuple[ParentSet, ...]:
        """Super-parents of every member, as they come in the table."""
        return pairs_of_columns(n) if n > 2 else single_columns(n)

    def _information(self, counts: JointCounts) -> np.ndarray:
        single = class_information(counts)
        if counts.n_features < 3:
            return single
        given = class_information_given(counts)
        first, second = np.triu_indices(counts.n_features, 1)  # in the order of the members
        return np.asarray(single[first] + given[second, first])

    def _otherwise(self, n: int) -> Form:
        return one_dependence([1.0] * n, self.min_count) if n > 2 else naive(n)
