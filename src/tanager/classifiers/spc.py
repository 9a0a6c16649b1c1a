"""SPC: a collection in which one super-parent may join every parent set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tanager import _kernels
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.errors import OptionError, check_option, check_whole
from tanager.learning.contest import Contest, Rules, check_room
from tanager.learning.gaussian_option import two_parents
from tanager.learning.rows import KeptRows
from tanager.learning.selection import (
    best_by_rows,
    column_place,
    one_dependence_sums,
    super_parent_lead,
    true_class_sum,
)
from tanager.learning.structure_change import Lead, rows_of
from tanager.learning.voting import OrderedCollection, Sets, collect, weighted
from tanager.scoring.forms import Form, ParentSet, ProductOfSums
from tanager.structure.orders import column_order, descending

MOST_STEPS = 1e10  # rows columns³ classes, up to which "refined" tries the whole collection with every super-parent


@dataclass(eq=False, repr=False, kw_only=True)
class SPC(OrderedCollection):
    """Super-parent collection: very many networks vote at once, and one column may be a parent of all others in them.

    In each of these networks a column depends on the class, perhaps on one column before it in an order, and perhaps on
    the super-parent, which is the same for all: with n columns these are 2^(n-1) (n-1)! networks, whose probabilities
    are added up in one step. Choose it over FANC where one column changes what all others mean.

    Parameters
    ----------
    super_parent : str, int, "mi", "refined", "stream" or None, default=None
        The column; None takes the first of the order, "mi" the one that tells most about the class, "refined" (SPCr)
        the one that gives the true classes of the rows the largest sum of probabilities. Where that takes more than
        1e10 steps (rows columns³ classes, that is from some hundred columns on), each column is tried as the
        super-parent of a SPODE instead. "stream" is "refined" for the first ``warm_up`` rows; from then on no rows are
        kept, and challengers take over that give the true classes larger probabilities, before these are learned.
    challengers : int, default=3
        For "stream": so many columns challenge the super-parent at a time. Each has counts of its own, within
        ``max_memory`` all together. A challenger takes over that was ahead by 1 % for ``refresh`` rows (1,000 by
        default), or by the bound (``refresh=Hoeffding()``).
    select : {"loo", "resub"}, default="loo"
        How "refined" looks at the rows: each left out, or (as published) not.
    weights : dict, default=None
        Prior knowledge, as for FANC: ``{(child, parent): weight}``, with ``(super_parent, parent)`` for two parents and
        None for the class alone.

    Attributes
    ----------
    super_parent_ : str
        The column that may be a parent of all others.
    challengers_ : dict
        Of "stream": for the super-parent and each challenger, the mean probability of the true class over the last
        rows, and that of the super-parent over the same rows.
    events_ : list
        Of "stream": when which column took over from which.

    Examples
    --------
    The factors of the second column are 1/2 + 2/3 for play and 1/2 + 1/3 for stay:

    >>> from tanager import SPC
    >>> X = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]]
    >>> model = SPC().fit(X, ["play", "play", "stay", "stay"])
    >>> model.predict_proba([["sun", "warm"]]).round(4)
    array([[0.5833, 0.4167]])
    >>> model.super_parent_
    'x0'
    """

    super_parent: str | int | None = None
    select: str = "loo"
    challengers: int = 3

    def check_options(self) -> None:
        super().check_options()
        check_option("select", self.select, ("loo", "resub"))
        check_whole("challengers", self.challengers, 1)
        for option, value in (("recut", self.recut), ("weights", self.weights)):
            if self._competes and value is not None:
                raise OptionError(f'{option}= and super_parent="stream" do not go together. Leave one of them out.')
        for option in ("gaussian", "calibrate"):
            if self._competes and getattr(self, option):
                raise OptionError(
                    f'{option}= looks at more than counts, and super_parent="stream" keeps nothing else. Leave one of '
                    "them out."
                )

    @property
    def _competes(self) -> bool:
        """Whether columns compete for being the super-parent along a stream."""
        return isinstance(self.super_parent, str) and self.super_parent == "stream"

    def _tries_rows(self) -> bool:
        return self._competes or (isinstance(self.super_parent, str) and self.super_parent == "refined")

    def _needs_rows(self) -> bool:
        return self._tries_rows() and not self._has_begun()

    def _has_begun(self) -> bool:
        contest = self.contest
        return contest is not None and contest.begun

    @property
    def answers_to_learn(self) -> bool:
        return self._competes

    def _new_contest(self) -> Contest | None:
        return Contest(Rules.of(self, self.challengers), self.warm_up) if self._competes else None

    def _super_parents(self) -> list[int]:
        counts, rows = self.counts_, self.memory.rows
        assert rows is not None
        return descending(self._sums(counts, column_order(counts, self.column_order, self.random_state), rows))

    def _with_super_parent(self, s: int) -> SPC:
        given = {"super_parent": s, "refresh": rows_of(self.refresh)}
        return SPC(**(self.get_params(deep=False) | given))

    def _start_model(self) -> None:
        super()._start_model()
        if self.contest is not None:
            check_room(self, 1 + self.contest.rules.n_challengers)

    @property
    def challengers_(self) -> dict[str, tuple[float, float]]:
        """With "stream": the mean probability of the true class with each column tried, and with the one in use."""
        names = self.counts_.schema.names
        scores = {} if self.contest is None else self.contest.scores()
        return {names[s]: own for s, own in scores.items()}

    def _adaptive(self) -> bool:
        return super()._adaptive() or (self._chosen() and not self._has_begun())

    def _chosen(self) -> bool:
        return self._tries_rows() or (isinstance(self.super_parent, str) and self.super_parent == "mi")

    def _compares_structures(self) -> bool:
        return self._chosen() and not super()._adaptive()

    def _lead(self, new: Form, old: Form, counts: JointCounts, rows: KeptRows | None) -> Lead:
        assert isinstance(new, ProductOfSums)
        assert isinstance(old, ProductOfSums)

        def sums(leave_out: bool) -> tuple[np.ndarray, float]:
            assert rows is not None
            return self._sums(counts, column_order(counts, self.column_order, self.random_state), rows), rows.weight

        how = "mi" if self.super_parent == "mi" else self.select
        return super_parent_lead(how, new.child[0], old.child[0], counts, sums)

    @property
    def super_parent_(self) -> str:
        """The column chosen."""
        form = self.structure_
        assert isinstance(form, ProductOfSums)
        return self.counts_.schema.names[form.child[0]]

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        if self._competes or (self._needs_rows() and self._at_once()):
            return {"order": 2}  # what the chosen super-parent needs is counted once it is chosen
        fixed = self._fixed(schema)
        return {"order": 3} if fixed is None else {"order": 2, "anchors": (fixed,)}

    def _fixed(self, schema: Schema) -> int | None:
        """The super-parent, where it does not depend on what was learned."""
        if self._adaptive() or (self.super_parent is None and not self.given_order()):
            return None
        return column_place("super_parent", 0 if self.super_parent is None else self.super_parent, schema)

    def _parent_sets(self, schema: Schema) -> list[ParentSet]:
        fixed = self._fixed(schema)
        return two_parents(schema, None if fixed is None else [fixed])

    def _sets(self, counts: JointCounts, order: list[int], rows: KeptRows | None) -> Sets:
        return _with_weights(*_spc(self._choose(counts, order, rows), order))

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        if self.weights is not None:
            return super()._structure(counts, rows)
        order = column_order(counts, self.column_order, self.random_state)
        children, parents = _spc(self._choose(counts, order, rows), order)
        return ProductOfSums(tuple(children), tuple(parents), (1.0,) * len(children))

    def _choose(self, counts: JointCounts, order: list[int], rows: KeptRows | None) -> int:
        """The super-parent."""
        if self.contest is not None and self.contest.begun:
            return self.contest.columns[0]
        if self.super_parent is None:
            return order[0]
        if self._needs_rows() and rows is not None:
            return descending(self._sums(counts, order, rows))[0]
        how = self.select if self._needs_rows() else self.super_parent
        return best_by_rows(self, how, lambda own, out: np.zeros(0), counts, rows)

    def _sums(self, counts: JointCounts, order: list[int], rows: KeptRows) -> np.ndarray:
        """How good each column is as the super-parent, by the rows."""
        if self._at_once():
            return self._sums_at_once(counts, order, rows)
        # It has its triples already, unless others count for us.
        self.memory.count_families([*combinations(range(counts.n_features), 3)], {"order": 3}, self.n_threads)
        return self._sums_one_by_one(self.memory.counts, order, rows, self.select == "loo")

    def _at_once(self) -> bool:
        """Whether the kernel that tries all super-parents, and counts triples from the rows, knows our options."""
        rule = self.estimate
        plain = rule.kind in ("lidstone", "m") and rule.strength > 0 and not self.reads_numbers
        return plain and self.weights is None and self.priors is None and self.class_weight is None

    def _sums_at_once(self, counts: JointCounts, order: list[int], rows: KeptRows) -> np.ndarray:
        """How good each column is as the super-parent; of many columns, as that of a SPODE."""
        steps = rows.weight * counts.n_features**3 * counts.n_classes
        if steps <= MOST_STEPS:
            return self._true_class_sums(counts, order, rows)
        return one_dependence_sums(self, counts, rows, 0.0, leave_out=self.select == "loo")

    def _sums_one_by_one(self, counts: JointCounts, order: list[int], rows: KeptRows, leave_out: bool) -> np.ndarray:
        forms = (self._form(s, order, counts) for s in range(counts.n_features))
        return np.array([true_class_sum(self, form, rows, leave_out=leave_out) for form in forms])

    def _true_class_sums(self, counts: JointCounts, order: list[int], rows: KeptRows) -> np.ndarray:
        """For every column as the super-parent: the sum of the probabilities of the true classes of the rows."""
        sums, block, rule = np.empty(counts.n_features), rows.block, self.estimate
        smooth, leave_out = self.unseen == "smooth", self.select == "loo"
        given = order, rule.kind, rule.strength, counts.scale, smooth, leave_out, self.n_threads, sums
        _kernels.super_parent_sums(counts.store, block.codes, block.labels, block.weights, *given)
        return sums

    def _form(self, s: int, order: list[int], counts: JointCounts) -> Form:
        """The collection with super-parent s, and the weights of the sets that it has."""
        return collect(weighted(_with_weights(*_spc(s, order)), self.weights, counts.schema, strict=False))


def _with_weights(children: list[int], parents: list[ParentSet]) -> Sets:
    return [(child, own, 1.0) for child, own in zip(children, parents, strict=True)]


def _spc(s: int, order: Sequence[int]) -> tuple[list[int], list[ParentSet]]:
    """Children and their parent sets with super-parent s, which goes first."""
    others = [i for i in order if i != s]
    # The sets of the last child, of which others have the first ones: there are n² of them, and no need for as many.
    joined: list[ParentSet] = [own for j in others for own in ((j,), (s, j))]
    children, parents = [s], list[ParentSet]([()])
    for place, i in enumerate(others):
        own: list[ParentSet] = [(), (s,), *joined[: 2 * place]]
        children += [i] * len(own)
        parents += own
    return children, parents
