"""GeneralNetwork: an unrestricted Bayesian network, of which the class's Markov blanket answers."""

from __future__ import annotations

from dataclasses import dataclass

from tanager.counts.sample import Sample
from tanager.errors import check_option, check_whole
from tanager.learning.network_learner import Found, Kept, NetworkLearner, by_information, learned_of, places
from tanager.learning.network_view import blanket_of, network_of, parents_of
from tanager.scoring.forms import ProductOfSums
from tanager.structure.learner import Learner


@dataclass(eq=False, repr=False, kw_only=True)
class GeneralNetwork(NetworkLearner):
    """A Bayesian network over the class and all columns; only the Markov blanket of the class is kept.

    The Markov blanket of the class is all that its probability depends on: its parents, its children and their other
    parents. Columns that say nothing beside these drop out, so this classifier selects columns, and shows how they hang
    together. Choose it for a picture that people can read and correct, with many rows. How many arcs there are depends
    on the threshold of the learner; ``Wrapped(GeneralNetwork())`` finds a good one.

    Parameters
    ----------
    learner : CBL, HillClimb, K2, ChowLiu, PDAGSearch or None, default=None
        How the network is learned; None is ``CBL()``, independence tests without a given order of the columns.
    class_root : bool, default=True
        The class comes before all columns and has no parents.
    max_columns : int or None, default=None
        Where there are more columns than this, the network is learned over the class and those that tell most about it
        by themselves, and over all that constraints of the learner name. None: over all columns.
    missing : {"drop", "marginal"}, default="drop"
        What happens where a parent is missing in a row to answer. "drop": only the parents before it, which tell more,
        are used. "marginal": all its values are summed over, which is exact.
    smoothing
        Here None is ``BackOff(20, first=1)``: where a combination of values of the parents is rare, probabilities lean
        on those with fewer parents.

    Attributes
    ----------
    network_ : Network
        The class and its Markov blanket, with tables.
    blanket_ : tuple of str
        The columns in the Markov blanket: all that answers depend on.
    parents_ : dict
        The parents, beside the class, of the columns that depend on the class.
    learned_ : LearnedNetwork
        The whole network, and every step that led to it.

    Notes
    -----
    Cheng and Greiner (2001).

    Examples
    --------
    The second column has nothing to do with the class:

    >>> from tanager import GeneralNetwork
    >>> X = [["sun", "mon"], ["sun", "tue"], ["rain", "mon"], ["rain", "tue"]] * 10
    >>> model = GeneralNetwork().fit(X, ["play", "play", "stay", "stay"] * 10)
    >>> model.blanket_
    ('x0',)
    >>> model.predict([["rain", "mon"]])
    array(['stay'], dtype='<U4')
    """

    class_root: bool = True
    max_columns: int | None = None

    parents_ = property(parents_of)
    network_ = property(network_of)
    blanket_ = property(blanket_of)
    learned_ = property(learned_of)

    def check_options(self) -> None:
        super().check_options()
        check_option("class_root", self.class_root, (True, False))
        if self.max_columns is not None:
            check_whole("max_columns", self.max_columns, 1)

    def find(self, sample: Sample, learner: Learner, *, traced: bool = True) -> Found:
        target = len(sample.names) - 1
        nodes = [target, *self._columns(sample, learner)]  # where all else is equal, arcs point away from the class
        learned = learner.learn(
            sample, nodes=nodes, root=target if self.class_root else None, target=target, traced=traced
        )
        form = blanket_form(places(learned.network, sample), sample, self.kept(sample, learner))
        return Found(form, (learned,))

    def _columns(self, sample: Sample, learner: Learner) -> list[int]:
        """Those that the network is learned over, in the order of the table."""
        target = len(sample.names) - 1
        if self.max_columns is None or target <= self.max_columns:
            return list(range(target))
        named = {sample.index(name) for name in learner.named_variables()} - {target}
        values = sample.informations_at(target, range(target), ())
        ranked = sorted(range(target), key=lambda i: -values[i])
        return sorted(named.union(ranked[: self.max_columns]))


def blanket_form(parents: dict[int, tuple[int, ...]], sample: Sample, keep: Kept) -> ProductOfSums:
    """The Markov blanket of the last variable, the class: what its parents and its children depend on."""
    target = len(sample.names) - 1
    children = [i for i, own in parents.items() if target in own]
    families = {i: by_information(sample, i, set(parents[i]) - {target}, [target], keep=keep) for i in children}
    class_parents = by_information(sample, target, parents.get(target, ()), keep=keep)
    others = {*class_parents, *(j for own in families.values() for j in own)} - set(children)
    read = others.union(children)
    free = [(i, by_information(sample, i, read & set(parents[i]), keep=keep)) for i in sorted(others)]
    return ProductOfSums(
        tuple(children),
        tuple(families[i] for i in children),
        (1.0,) * len(children),
        class_parents=class_parents,
        free=tuple(free),
    )
