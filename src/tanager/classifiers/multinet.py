"""MultiNet and ChowLiuMultiNet: a network of its own for every class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tanager.classifiers.general_network import blanket_form
from tanager.counts.estimates import Estimate
from tanager.counts.sample import Sample
from tanager.encoding.typing import Columns, Label
from tanager.errors import OptionError, nearest
from tanager.learning.network_learner import Found, Kept, NetworkLearner, by_information, places
from tanager.networks.network import Network
from tanager.scoring.forms import ProductOfSums, form_columns
from tanager.structure.chow_liu import ChowLiu
from tanager.structure.learner import LearnedNetwork, Learner


@dataclass(eq=False, repr=False, kw_only=True)
class MultiNet(NetworkLearner):
    """One network among the columns for every class, learned from the rows of that class alone.

    Columns may depend on each other in one class and not in another. Choose it when the classes are different kinds of
    things, each with many rows. ``Wrapped(MultiNet())`` finds a good threshold; with ``features="blanket"`` the columns
    are chosen first, by a general network.

    Parameters
    ----------
    learner : CBL, HillClimb, K2, ChowLiu or None, default=None
        How each network is learned; None is ``CBL()``. Its threshold holds for a class of average size: chance gives a
        class of half the rows twice the information, so its threshold is twice as high.
    thresholds : dict, "same" or None, default=None
        Classes whose learner has another threshold: ``{"spam": 0.02}``. Else a class with fewer rows than others has a
        threshold that is as many times as high, because chance alone gives it more information; "same" has one
        threshold for all.
    features : "blanket", list of columns or None, default=None
        The columns to use: those in the Markov blanket of a general network that the same learner finds, or these, or
        all.
    missing : {"drop", "marginal"}, default="drop"
        At prediction, a missing parent leaves the more informative parents before it; "marginal" sums it out exactly.
    smoothing
        None is ``BackOff(20, first=1)``: thin configurations of parents fall back to fewer parents.

    Attributes
    ----------
    networks_ : dict
        The network of every class, with tables.
    features_ : tuple of str
        The columns in use.
    learned_ : dict
        Every step that led to the network of each class.

    Notes
    -----
    Cheng and Greiner (2001). A class with fewer than 10 rows has no arcs but required ones.

    Examples
    --------
    The columns repeat each other in one class only:

    >>> from tanager import MultiNet
    >>> X = [["sun", "dry"], ["rain", "wet"], ["sun", "dry"], ["rain", "wet"]] * 10
    >>> X += [["sun", "dry"], ["sun", "wet"], ["rain", "dry"], ["rain", "wet"]] * 10
    >>> model = MultiNet().fit(X, ["play"] * 40 + ["stay"] * 40)
    >>> {label: network.arcs for label, network in model.networks_.items()}
    {'play': [('x0', 'x1')], 'stay': []}
    >>> model.predict([["sun", "wet"]])
    array(['stay'], dtype='<U4')
    """

    thresholds: Mapping[Label, float] | str | None = None
    features: Columns | str | None = None

    fewest_rows: ClassVar[int] = 10  # a class with fewer has no arcs

    def check_options(self) -> None:
        super().check_options()
        if not isinstance(self.thresholds, Mapping | None) and self.thresholds != "same":
            raise OptionError(
                f'thresholds={self.thresholds!r}: give a dict from class to threshold, "same" for one threshold in all '
                "classes, or None."
            )
        if isinstance(self.thresholds, Mapping) and self.thresholds and not hasattr(self.own_learner, "threshold"):
            raise OptionError(f"thresholds: {type(self.own_learner).__name__} has no threshold. Use CBL or ChowLiu.")
        named = isinstance(self.features, Sequence | np.ndarray) and not isinstance(self.features, str)
        if self.features is not None and self.features != "blanket" and not named:
            raise OptionError(
                f'features={self.features!r} is not an option; give "blanket", a list of columns, or None.'
            )

    def check_learned(self) -> None:
        classes = self.classes_.tolist()
        for label in self._own_thresholds():  # in a stream a class may still come
            if label not in classes:
                raise OptionError(f"thresholds: {label!r} is none of the classes.{nearest(label, classes)}")
        super().check_learned()

    def _own_thresholds(self) -> Mapping[Label, float]:
        """The thresholds that were given for single classes."""
        return self.thresholds if isinstance(self.thresholds, Mapping) else {}

    def find(self, sample: Sample, learner: Learner, *, traced: bool = True) -> Found:
        columns = self._columns(sample, learner)
        if not columns:  # an empty blanket: naive Bayes on all columns
            return Found(ProductOfSums.one_each([()] * (len(sample.names) - 1)), ())
        learned = self._learn_each(sample, learner, columns, traced)
        return Found(_one_network_each(sample, columns, learned, self.kept(sample, learner)), learned)

    def _columns(self, sample: Sample, learner: Learner) -> list[int]:
        target = len(sample.names) - 1
        if self.features is None:
            return list(range(target))
        if isinstance(self.features, str):
            network = learner.learn(sample, root=target).network
            keep = replace(self.kept(sample, learner), everything=False)
            return sorted(
                {*form_columns(blanket_form(places(network, sample), sample, keep)), *keep.columns} - {target}
            )
        chosen = [sample.index(name) for name in self.features]
        if target in chosen or len(set(chosen)) < len(chosen) or not chosen:
            raise OptionError(f"features must name columns, each once, got {list(self.features)!r}.")
        return sorted(chosen)

    def _learn_each(
        self, sample: Sample, learner: Learner, columns: list[int], traced: bool
    ) -> tuple[LearnedNetwork, ...]:
        target = len(sample.names) - 1
        own = {label: _with_threshold(learner, tau) for label, tau in self._own_thresholds().items()}
        found = []
        for c, label in enumerate(sample.values[target]):
            part = sample.where(target, c)
            if part.n_rows < self.fewest_rows:
                found.append(learner.required_alone(part, columns))
            else:
                fair = sample.n_rows / len(sample.values[target]) / part.n_rows if self.thresholds != "same" else 1.0
                found.append((own.get(label) or _scaled(learner, fair)).learn(part, nodes=columns, traced=traced))
        return tuple(found)

    @property
    def networks_(self) -> dict[Label, Network]:
        """The network among the columns of every class, with tables."""
        form = self.structure_
        assert isinstance(form, ProductOfSums)
        sample = self._sample(self.counts_, self.memory.rows)
        target = len(sample.names) - 1
        columns = {sample.names[i]: sample.values[i] for i in sorted(set(form.child))}
        networks = {}
        for c, label in enumerate(self.classes_.tolist()):
            spoken = [only == () or c in only for only in form.only or ((),) * len(form.child)]
            terms = [
                term for term, ours in zip(zip(form.child, form.parents, strict=True), spoken, strict=True) if ours
            ]
            arcs = [(sample.names[j], sample.names[i]) for i, parents in terms for j in parents]
            networks[label] = Network(columns, arcs).estimate(sample.where(target, c), self.estimate)
        return networks

    @property
    def features_(self) -> tuple[str, ...]:
        """The columns in use."""
        form = self.structure_
        assert isinstance(form, ProductOfSums)
        return tuple(self.counts_.schema.names[i] for i in sorted(set(form.child)))

    @property
    def learned_(self) -> dict[Label, LearnedNetwork]:
        """How the network of every class came about."""
        return dict(zip(self.classes_.tolist(), self.all_learned(), strict=False))


def _scaled(learner: Learner, factor: float) -> Learner:
    """The learner with a threshold so many times as high, where it has one."""
    threshold = getattr(learner, "threshold", None)
    return learner if threshold is None else _with_threshold(learner, factor * threshold)


def _with_threshold(learner: Learner, threshold: float) -> Learner:
    changes: dict[str, Any] = {"threshold": threshold}  # only of learners that have one
    return replace(learner, **changes)


def _one_network_each(
    sample: Sample, columns: list[int], learned: Sequence[LearnedNetwork], keep: Kept
) -> ProductOfSums:
    """A term for every column and class; classes that agree on the parents share it."""
    target = len(sample.names) - 1
    speakers: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for c, own in enumerate(learned):
        parents, part = places(own.network, sample), sample.where(target, c)
        for i in columns:
            speakers.setdefault((i, by_information(part, i, parents[i], keep=keep)), []).append(c)
    terms = sorted(speakers)
    return ProductOfSums(
        tuple(i for i, _ in terms),
        tuple(parents for _, parents in terms),
        (1.0,) * len(terms),
        only=tuple(() if len(speakers[term]) == len(learned) else tuple(speakers[term]) for term in terms),
    )


@dataclass(eq=False, repr=False, kw_only=True)
class ChowLiuMultiNet(MultiNet):
    """One tree among the columns for every class: the most likely one, by the mutual information in its rows.

    Quicker to learn than other multi-nets, and without a threshold to choose. Compare with TAN, where all classes share
    one tree.

    Parameters
    ----------
    learner : None
        ``ChowLiu()``; ``ChowLiu(threshold=0.01)`` leaves out weak edges.

    Notes
    -----
    Friedman, Geiger and Goldszmidt (1997). Trees hang from the first column.

    Examples
    --------
    >>> from tanager import ChowLiuMultiNet
    >>> X = [["sun", "dry"], ["rain", "wet"], ["sun", "dry"], ["rain", "dry"]] * 5
    >>> model = ChowLiuMultiNet().fit(X, ["play", "play", "stay", "stay"] * 5)
    >>> model.networks_["play"].arcs
    [('x0', 'x1')]
    """

    smoothing: float | Estimate | None = 1.0

    default_learner = ChowLiu()
    fewest_rows = 1
