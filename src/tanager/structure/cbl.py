"""CBL: networks from independence tests, in three phases, with or without an order of the variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tanager.errors import OptionError, check_option, check_whole, is_number
from tanager.structure.constraints import node_order
from tanager.structure.independence_tests import Test, Threshold
from tanager.structure.learner import LearnedNetwork, Learner, Task
from tanager.structure.orient import Orientation
from tanager.structure.phases import OpenSkeleton, OrderedSkeleton


@dataclass(frozen=True, kw_only=True, repr=False)
class CBL(Learner):
    """Draft, thicken and thin by independence tests, then orient; Cheng's CBL1 with an order, CBL2 without.

    Drafting joins the pairs with the most mutual information. Thickening joins the pairs that no set of variables on
    the paths between them separates; thinning removes edges that turn out to be unnecessary. With an order, all arcs
    point along it. Without one, directions come from colliders: two variables that were separated by a set without
    their common neighbour.

    Choose it to see what depends on what, and why: every decision is a test that is listed in the trace.

    Parameters
    ----------
    threshold : float, default=0.01
        Two variables with at most this much mutual information (in nats) count as independent.
    test : Threshold, GSquared or Pearson, default=None
        Another test instead of the threshold.
    order : "given", sequence of names or None, default=None
        An order of the variables, causes before effects; ``"given"`` is that of the table. None: no order is known.
    max_cond : int, default=8
        The largest number of variables that a test conditions on; an edge that would need more is kept.
    max_parents : int or None, default=None
        If a variable has more parents, its weakest arcs are removed.
    extend : "pdag" or "order", default="pdag"
        How edges are directed whose direction the data do not determine: such that no new collider arises, or along the
        order of the table. A new collider claims an independence that no test has shown; where the tests contradict
        each other and none can be avoided, the order of the table decides in either case.
    exhaustive : bool, default=False
        Whether the last thinning tries all subsets of the neighbours (up to 12) before it keeps an edge.
    recheck : bool, default=False
        Whether separating sets are searched for again after thinning, before edges are oriented by them.
    shrink : bool, default=False
        With an order: condition on as few variables as close all paths between a pair, rather than on all parents of
        the later one that lie on such paths. Tests with fewer conditions are more reliable on few rows.

    Notes
    -----
    With an order O(n²) tests; without one O(n⁴) in the worst case and about O(n²) in practice. Where the data
    contradict themselves (too few rows, a coarse threshold), the stronger dependence wins; there is never a cycle.

    References
    ----------
    Cheng, Bell and Liu, An algorithm for Bayesian belief network construction from data (1997); Cheng and Greiner,
    Learning Bayesian belief network classifiers (2001).

    Examples
    --------
    >>> from tanager import CBL, learn_network
    >>> rows = [[a, b, a & b] for a in (0, 1) for b in (0, 1)]
    >>> learned = learn_network(rows, learner=CBL())
    >>> learned.network.arcs
    [('x0', 'x2'), ('x1', 'x2')]
    >>> print(learned.trace())
    draft
      x0 - x2  added: I = 0.2158 > 0.01
      x1 - x2  added: I = 0.2158 > 0.01
    orient
      x0 -> x2  directed: meets x1, independent of it
      x1 -> x2  directed: meets x0, independent of it
    2 arcs after 3 tests
    """

    threshold: float = 0.01
    test: Test | None = None
    order: str | Sequence[str] | None = None
    max_cond: int = 8
    max_parents: int | None = None
    extend: str = "pdag"
    exhaustive: bool = False
    recheck: bool = False
    shrink: bool = False

    def __post_init__(self) -> None:
        if not is_number(self.threshold, 0):
            raise OptionError(f"threshold={self.threshold!r}: give a number of at least 0, in nats.")
        if not isinstance(self.test, Test | None):
            raise OptionError(f"test={self.test!r}: give GSquared(), Pearson(), Threshold(), or None.")
        check_whole("max_cond", self.max_cond)
        if self.max_parents is not None:
            check_whole("max_parents", self.max_parents)
        check_option("extend", self.extend, ("pdag", "order"))
        for name in ("exhaustive", "recheck", "shrink"):
            check_option(name, getattr(self, name), (False, True))
        if self.shrink and self.order is None:
            raise OptionError(
                "shrink=True is for a known order of the variables. Give order=, or leave it out: without an order, "
                "variables are dropped from a separating set one by one in any case."
            )

    def _learn(self, task: Task) -> LearnedNetwork:
        task.rules.check_limit(self.max_parents)
        test = self.test or Threshold(self.threshold)
        return self._with_order(task, test) if self.order is not None else self._without_order(task, test)

    def _with_order(self, task: Task, test: Test) -> LearnedNetwork:
        order = node_order(self.order, task.sample, task.nodes, task.root, task.rules)
        skeleton = OrderedSkeleton(task, test, self.max_cond, order, self.max_parents, self.shrink)
        skeleton.thicken(skeleton.draft())
        skeleton.thin()
        return task.learned(skeleton.parents)

    def _without_order(self, task: Task, test: Test) -> LearnedNetwork:
        if not (task.traced or task.progress or self.exhaustive or self.recheck):
            return self._untraced(task, test)
        skeleton = OpenSkeleton(task, test, self.max_cond)
        skeleton.thicken(skeleton.draft())
        skeleton.thin()
        skeleton.thin_more(self.exhaustive)
        if self.recheck:
            skeleton.recheck()
        orientation = Orientation(task, skeleton.neighbours, skeleton.weight)
        left = orientation.direct(skeleton.cuts)
        orientation.extend(left, self.extend)
        if self.max_parents is not None:
            orientation.limit(self.max_parents)
        arcs = {frozenset((u, v)): (u, v) for v, own in enumerate(orientation.parents) for u in own}
        return task.learned(orientation.parents, [arcs[edge] for edge in map(frozenset, left) if edge in arcs])

    def _untraced(self, task: Task, test: Test) -> LearnedNetwork:
        """The same by the kernels, which know the usual options and write nothing down."""
        separation = task.sample.separation(
            task.nodes, task.given, task.rules.allowed_arcs, test.figures, self.max_cond
        )
        parents, left = separation.learn(task.rules.required, self.extend == "order", self.max_parents)
        task.n_tests += separation.n_tests
        return task.learned(parents, left)
