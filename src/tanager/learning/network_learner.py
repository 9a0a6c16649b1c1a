"""What classifiers share whose network is learned from the rows: by independence tests, or by a search for a score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tanager.counts.estimates import BackOff, Estimate
from tanager.counts.joint import JointCounts
from tanager.counts.sample import Sample
from tanager.errors import OptionError, SchemaMismatch
from tanager.learning.marginal import MarginalMixin
from tanager.learning.rows import Rows
from tanager.networks.network import Network
from tanager.scoring.forms import Form, ParentSet, ProductOfSums
from tanager.scoring.network_view import form_columns
from tanager.structure.cbl import CBL
from tanager.structure.learner import LearnedNetwork, Learner


@dataclass(frozen=True)
class Found:
    """A structure as a form over the columns, and what the learner says about it: once, or once per class."""

    form: ProductOfSums
    learned: tuple[LearnedNetwork, ...]

    @property
    def n_arcs(self) -> int:
        """Arcs that answers depend on, those from the class included."""
        form = self.form
        return len(form.class_parents) + len(form.child) + sum(len(parents) for parents in form.parents)

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that answers look at."""
        return tuple(sorted(form_columns(self.form)))


@dataclass(eq=False, repr=False, kw_only=True)
class LearnsNetwork(MarginalMixin):
    """Keeps the rows, as codes; a subclass says what to learn from them (``_find``).

    The structure follows all rows in ``fit`` and in the batch methods after ``partial_fit``; with ``learn_one`` and
    ``test_then_train`` it is learned again whenever the rows have doubled. Its parameters are always current.
    """

    learner: Learner | None = None
    smoothing: float | Estimate | None = None

    published = BackOff(20.0, first=1.0)
    usual: ClassVar[Learner] = CBL()  # what learner=None stands for
    stale = 2.0
    keeps_form = True

    def _check_options(self) -> None:
        super()._check_options()
        if self.learner is not None and not isinstance(self.learner, Learner):
            raise OptionError(
                f"learner={self.learner!r} is a {type(self.learner).__name__}; give CBL, HillClimb, K2 or ChowLiu, or "
                f"None for {self.usual!r}."
            )

    def _needs_rows(self) -> bool:
        return True

    def _own_learner(self) -> Learner:
        return self.usual if self.learner is None else self.learner

    def _find(self, sample: Sample, learner: Learner) -> Found:
        """The structure in a sample whose last variable is the class."""
        raise NotImplementedError

    def _form(self, counts: JointCounts, rows: Rows | None) -> Form:
        self._found = self._find(self._sample(counts, rows), self._own_learner())
        return self._found.form

    def _sample(self, counts: JointCounts, rows: Rows | None) -> Sample:
        """The kept rows as a sample, the class last."""
        if rows is None:
            name = type(self).__name__
            raise SchemaMismatch(
                f"{name} learns its network from the rows, and counts alone do not hold them. Use fit."
            )
        return Sample.of_rows(*rows.all(), counts.schema, counts.classes, self._class_name())

    @property
    def learned_(self) -> LearnedNetwork:
        """How the network came about: every step of the learner, and which arcs the data leave without a direction."""
        return self._all_learned()[0]

    def _all_learned(self) -> tuple[LearnedNetwork, ...]:
        self._ready()
        self._structure(fresh=True)
        if not hasattr(self, "_found"):  # a model file holds the structure, not the way to it
            self._form(self.counts_, self._rows)
        return self._found.learned


def by_information(sample: Sample, child: int, parents: Iterable[int], given: Sequence[int] = ()) -> ParentSet:
    """Parents from the most to the least informative on the child, without those that would make contexts too thin.

    A parent is left out where the family would have more contexts than there are rows, missing counted as a value.
    Back-off and missing values drop parents from the end.
    """
    ranked = sorted(parents, key=lambda p: (-sample.information(child, p, given).value, p))
    contexts = math.prod(int(sample.n_values[i]) for i in given)
    kept: list[int] = []
    for parent in ranked:
        if contexts * (int(sample.n_values[parent]) + 1) <= sample.n_rows:
            contexts *= int(sample.n_values[parent]) + 1
            kept.append(parent)
    return tuple(kept)


def places(network: Network, sample: Sample) -> dict[int, tuple[int, ...]]:
    """The parents of every variable of a network, by their places in the sample."""
    index = sample.index
    return {index(name): tuple(index(parent) for parent in network.parents(name)) for name in network.names}
