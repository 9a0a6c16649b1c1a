"""``learn_network``: from any table to a network and the trace of how it was learned."""

from __future__ import annotations

from typing import Any

from tanager.counts.sample import Sample
from tanager.encoding.typing import LabelsLike, TableLike
from tanager.errors import OptionError
from tanager.structure.cbl import CBL
from tanager.structure.learner import LearnedNetwork, Learner, Progress


def learn_network(
    X: TableLike,
    y: LabelsLike | None = None,
    learner: Learner | None = None,
    *,
    target: str | None = None,
    progress: Progress | None = None,
    **encoder_options: Any,
) -> LearnedNetwork:
    """Learn a network over the columns of a table and, if ``y`` is given, the class.

    Parameters
    ----------
    X : table
        As for classifiers: text, numbers and missing cells; numbers are cut into bins.
    y : array-like, default=None
        The class, a variable like all others; arcs whose direction the data do not determine point away from it.
    learner : Learner, default=None
        One of ``CBL`` (the default), ``ChowLiu``, ``HillClimb``, ``K2`` and ``PDAGSearch``.
    target : str, default=None
        The name of the class or, without y, the column of X that is the class.
    progress : callable, default=None
        Called as ``progress(what, done, of)`` from time to time.
    **encoder_options
        Options of ``Encoder``: how columns are read.

    Returns
    -------
    LearnedNetwork
        The network, and the steps that led to it.

    Examples
    --------
    >>> from tanager import learn_network
    >>> learn_network([["a", 0], ["a", 0], ["b", 1], ["b", 1]]).network.arcs
    [('x0', 'x1')]
    """
    learner = CBL() if learner is None else learner
    if not isinstance(learner, Learner):
        raise OptionError(
            f"learner={learner!r} is not a learner; give CBL(), ChowLiu(), HillClimb(), K2() or PDAGSearch()."
        )
    sample = Sample.of(X, y, target=target, **encoder_options)
    n = len(sample.names)
    with_class = y is not None or target is not None
    nodes = [n - 1, *range(n - 1)] if with_class else range(n)  # the class first: it decides open directions
    return learner.learn(sample, nodes=nodes, target=n - 1 if with_class else None, progress=progress)
