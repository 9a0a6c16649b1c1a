"""The door to the structure learners: any table in, a network and its trace out."""

from __future__ import annotations

from typing import Any

from tanager.counts.sample import Sample
from tanager.errors import OptionError
from tanager.structure.cbl import CBL
from tanager.structure.learner import Learned, Learner, Progress


def learn_network(
    X: Any,
    y: Any = None,
    learner: Learner | None = None,
    *,
    target: str | None = None,
    progress: Progress | None = None,
    **encoder_options: Any,
) -> Learned:
    """A network over the columns of a table and, where ``y`` is given, the class.

    Parameters
    ----------
    X : table
        As classifiers take it: text, numbers and gaps; numbers are cut into bins.
    y : array-like, default=None
        The class, a variable like all others; where the data leave a direction open, arcs point away from it.
    learner : Learner, default=None
        How: one of ``CBL`` (the default), ``ChowLiu``, ``HillClimb`` and ``K2``.
    target : str, default=None
        The name of the class or, without y, the column of X that is taken for it.
    progress : callable, default=None
        Called as ``progress(what, done, of)`` every now and then.
    **encoder_options
        How columns are read, as for ``Encoder``.

    Examples
    --------
    >>> from tanager import learn_network
    >>> learn_network([["a", 0], ["a", 0], ["b", 1], ["b", 1]]).network.arcs
    [('x0', 'x1')]
    """
    learner = CBL() if learner is None else learner
    if not isinstance(learner, Learner):
        raise OptionError(f"learner={learner!r} is not a learner; give CBL(), ChowLiu(), HillClimb() or K2().")
    sample = Sample.of(X, y, target=target, **encoder_options)
    n = len(sample.names)
    with_class = y is not None or target is not None
    nodes = [n - 1, *range(n - 1)] if with_class else range(n)  # where the data leave a direction open, from the class
    return learner.learn(sample, nodes=nodes, progress=progress)
