"""Classifiers whose network is learned from the rows: by independence tests, or by a search for a score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tanager.counts.estimates import BackOff, Estimate
from tanager.counts.joint import JointCounts
from tanager.counts.sample import Sample
from tanager.errors import OptionError, SchemaMismatch, check_option
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.dealing import dealt_parts
from tanager.learning.rows import KeptRows
from tanager.listed import names_in
from tanager.networks.network import Network
from tanager.scoring.forms import Form, ParentSet, ProductOfSums, form_columns
from tanager.scoring.marginal import check_missing, with_missing
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View
from tanager.structure.cbl import CBL
from tanager.structure.learner import LearnedNetwork, Learner


@dataclass(frozen=True)
class Found:
    """A structure as a form over the columns, and what the learner says about it: once, or once per class."""

    form: ProductOfSums
    learned: tuple[LearnedNetwork, ...]
    traced: bool = True  # whether the steps are there
    dealt: tuple[int, int] | None = None  # into so many parts by this seed: the first of them was held out

    @property
    def n_arcs(self) -> int:
        """Arcs that answers depend on, those from the class included."""
        form = self.form
        return len(form.class_parents) + len(form.child) + sum(len(parents) for parents in form.parents)

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that answers look at."""
        return tuple(sorted(form_columns(self.form)))


@dataclass(frozen=True)
class Kept:
    """Which parents stay however thin contexts become: all of them, or those of arcs that an expert requires."""

    everything: bool
    required: frozenset[tuple[int, int]]  # (parent, child), by their places in the sample

    def stays(self, parent: int, child: int) -> bool:
        """Whether this parent of this child stays in any case."""
        return self.everything or (parent, child) in self.required

    @property
    def columns(self) -> set[int]:
        """The ends of the required arcs."""
        return {end for arc in self.required for end in arc}


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkLearner(CountsClassifier):
    """A classifier whose network is learned from the rows, which are kept as codes. A subclass says how (``find``).

    The structure follows all rows in ``fit`` and in the batch methods after ``partial_fit``; with ``learn_one`` and
    ``test_then_train`` it is learned again whenever the rows have doubled. Its parameters are always current.
    """

    unlisted = names_in("all_learned default_learner find kept own_learner take_found")

    learner: Learner | None = None
    thin_parents: str = "drop"
    missing: str = "drop"
    smoothing: float | Estimate | None = None

    default_estimate = BackOff(20.0, first=1.0)
    default_learner: ClassVar[Learner] = CBL()  # what learner=None stands for
    refresh_ratio = 2.0  # searching is dear: a stream learns its network again when its rows have doubled
    saves_structure = True
    merges_repeats = True

    def check_options(self) -> None:
        super().check_options()
        check_missing(self.missing)
        check_option("thin_parents", self.thin_parents, ("drop", "keep"))
        if self.learner is not None and not isinstance(self.learner, Learner):
            raise OptionError(
                f"learner={self.learner!r} is a {type(self.learner).__name__}; give CBL, HillClimb, K2, ChowLiu or "
                f"PDAGSearch, or None for {self.default_learner!r}."
            )

    def _needs_rows(self) -> bool:
        return True

    def _scorer(self, view: View) -> Scorer:
        return with_missing(self.missing, view)

    @property
    def own_learner(self) -> Learner:
        """The learner that the option stands for."""
        return self.default_learner if self.learner is None else self.learner

    def kept(self, sample: Sample, learner: Learner) -> Kept:
        """Which parents stay though they leave more contexts than there are rows."""
        arcs = frozenset((sample.index(parent), sample.index(child)) for parent, child in learner.required)
        return Kept(self.thin_parents == "keep", arcs)

    def find(self, sample: Sample, learner: Learner, *, traced: bool = True) -> Found:
        """The structure in a sample whose last variable is the class; ``traced`` as in ``Learner.learn``."""
        raise NotImplementedError

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        # To write every step down takes longer than to learn; `all_learned` goes the way again.
        self._found = replace(self.find(self._sample(counts, rows), self.own_learner, traced=False), traced=False)
        return self._found.form

    def take_found(self, found: Found) -> None:
        """Use a structure that was found already."""
        self._found = found

    def _sample(self, counts: JointCounts, rows: KeptRows | None) -> Sample:
        """The kept rows as a sample, the class last."""
        if rows is None:
            name = type(self).__name__
            raise SchemaMismatch(
                f"{name} learns its network from the rows, and counts alone do not hold them. Use fit."
            )
        return sample_of(rows, counts, self.class_name)

    def all_learned(self) -> tuple[LearnedNetwork, ...]:
        """What the learner says about every network: one, or one for each class."""
        self.check_fitted()
        self._answers(fresh=True)
        found = self.__dict__.get("_found")  # a model file holds the structure, not the way to it
        if found is None or not found.traced:
            self._found = found = self.find(self._traced_sample(found and found.dealt), self.own_learner)
        return found.learned

    def _traced_sample(self, dealt: tuple[int, int] | None) -> Sample:
        """The rows that the structure was learned from."""
        rows = self._learned.rows
        sample = self._sample(self.counts_, rows)
        if dealt is None or rows is None:
            return sample
        return self._sample(self.counts_, next(dealt_parts(sample, rows, *dealt))[0])


def learned_of(model: NetworkLearner) -> LearnedNetwork:
    """How the network came about: every step of the learner, and which arcs the data leave without a direction."""
    return model.all_learned()[0]


def sample_of(rows: KeptRows, counts: JointCounts, class_name: str) -> Sample:
    """Kept rows as a sample, the class last."""
    block = rows.block
    return Sample.of_rows(block.codes, block.labels, block.weights, counts.schema, counts.classes, class_name)


def by_information(
    sample: Sample, child: int, parents: Iterable[int], given: Sequence[int] = (), *, keep: Kept | None = None
) -> ParentSet:
    """Parents from the most to the least informative on the child, without those that would make contexts too thin.

    A parent is left out where the family would have more contexts than there are rows, missing counted as a value,
    unless ``keep`` says that it stays. Back-off and missing values drop parents from the end.
    """
    ranked = list(parents)
    if not ranked:  # as for most columns of most networks
        return ()
    if len(ranked) > 1:
        values = dict(zip(ranked, sample.informations_at(child, ranked, given), strict=True))
        ranked.sort(key=lambda p: (-values[p], p))
    kept = {parent for parent in ranked if keep is not None and keep.stays(parent, child)}
    contexts = math.prod(int(sample.n_values[i]) for i in given)
    contexts *= math.prod(int(sample.n_values[i]) + 1 for i in kept)
    n_rows = sample.n_rows
    for parent in ranked:
        if parent not in kept and contexts * (int(sample.n_values[parent]) + 1) <= n_rows:
            contexts *= int(sample.n_values[parent]) + 1
            kept.add(parent)
    return tuple(parent for parent in ranked if parent in kept)


def places(network: Network, sample: Sample) -> dict[int, tuple[int, ...]]:
    """The parents of every variable of a network, by their places in the sample."""
    at = {name: i for i, name in enumerate(sample.names)}
    own = [at[name] for name in network.names]
    return {own[v]: tuple(own[u] for u in parents) for v, parents in enumerate(network.parent_indices)}
