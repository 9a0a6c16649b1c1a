"""Wrapper search over averages: columns come and go as super-parents, and as children of the super-parents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tanager.counts.memory import check_budget
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.left_out import TINY, Factor, LeftOut, Quality
from tanager.learning.rows import KeptRows
from tanager.scoring.forms import ProductOfSums, SumOfProducts


@dataclass(frozen=True)
class Roles:
    """Columns that become super-parents and children, or with ``adds=False`` cease to be."""

    parents: tuple[int, ...] = ()
    children: tuple[int, ...] = ()
    adds: bool = True

    def __neg__(self) -> Roles:
        """What undoes it."""
        return replace(self, adds=not self.adds)


class LeftOutSum:
    """The learned rows, each answered by a sum over super-parents as if it had not been learned.

    It begins with some super-parents and children. Where no super-parent of a row was seen often enough, naive Bayes
    over the children answers, as it does without any super-parent.
    """

    def __init__(
        self,
        model: CountsClassifier,
        rows: KeptRows | None,
        criterion: str,
        form: SumOfProducts,
        parents: Iterable[int],
        children: Iterable[int],
        max_memory: int | str | None,
    ) -> None:
        self._rows = LeftOut(model, rows, criterion)  # begins with the classes alone
        self._prior = self._rows.joint
        weights = {s: w for (s,), w in zip(form.members, form.weight, strict=True) if w > 0}
        self._check_memory(model, len(weights), max_memory)
        self._own = {s: self._joint_of(s, form.min_count) + np.log(w) for s, w in weights.items()}
        self._factors: dict[tuple[int, int], Factor] = {}
        self._began = frozenset(parents), frozenset(children)
        self.start_again()

    def _check_memory(self, model: CountsClassifier, n_members: int, max_memory: int | str | None) -> None:
        """Each super-parent has a number for every row and class, and each pair of columns a line for every row."""
        m, k, n = len(self._rows.labels), len(model.classes_), model.counts_.n_features
        line = 4 if self._rows.weights is None else 8 * k
        check_budget(
            m * n_members * (8 * k + n * line),
            max_memory,
            f"choosing super-parents and children among {n:,} columns over {m:,} rows",
            "Select columns of a product, such as TAN, learn fewer rows, or raise max_memory.",
        )

    def _joint_of(self, s: int, min_count: float) -> np.ndarray:
        """The log of P(y, x_s); nothing where the value is missing or too rare to be a super-parent."""
        own = self._rows.log_joint(SumOfProducts(((s,),), (1.0,), 0.0, children=()))
        own[self._rows.times_seen(s) < min_count * (1.0 - 1e-9)] = -np.inf
        return own

    def _factor(self, j: int, s: int | None = None) -> Factor:
        """P(x_j | y, x_s), or P(x_j | y); of all super-parents at once."""
        key = (j, -1 if s is None else s)
        if key not in self._factors:
            keys = [(j, -1), *((j, other) for other in self._own if other != j)]
            forms = [ProductOfSums((j,), ((() if p < 0 else (p,)),), (1.0,)) for _, p in keys]
            self._factors.update(zip(keys, self._rows.factors(forms), strict=True))
        return self._factors[key]

    # --- looking, and changing ----------------------------------------------------------------------------------

    def start_again(self) -> None:
        """Back to how it began."""
        self._parents, self._children = frozenset[int](), frozenset[int]()
        self._naive, self._logs = self._prior, dict(self._own)
        parents, children = self._began
        self.make([Roles(tuple(sorted(parents)), tuple(sorted(children)))])

    def make(self, change: Sequence[Roles]) -> None:
        """Make a change."""
        for roles in change:
            self._naive = self._with(self._naive, None, roles)
            self._logs = {s: self._with(logs, s, roles) for s, logs in self._logs.items()}
            self._parents = _changed(self._parents, roles.parents, roles.adds)
            self._children = _changed(self._children, roles.children, roles.adds)

    def quality(self) -> Quality:
        """How good the answers are as things stand."""
        return self.qualities([()])[0]

    def qualities(
        self, changes: Sequence[Sequence[Roles]], *, ties: bool = False, above: float | None = None
    ) -> list[Quality]:
        """How good the answers would be after each of these changes."""
        out = []
        for change in changes:
            self._rows.joint = self._joint(change)
            out.append(self._rows.quality())
        return out

    def _with(self, logs: np.ndarray, s: int | None, roles: Roles) -> np.ndarray:
        """The logs of a member (or of naive Bayes) with children added or taken away; no column is its own child."""
        for j in roles.children:
            if j != s:
                logs = logs.copy()
                self._factor(j, s).add_to(logs, 1.0 if roles.adds else -1.0)
        return logs

    def _joint(self, change: Sequence[Roles]) -> np.ndarray:
        parents = self._parents
        for roles in change:
            parents = _changed(parents, roles.parents, roles.adds)

        def after(logs: np.ndarray, s: int | None) -> np.ndarray:
            for roles in change:
                logs = self._with(logs, s, roles)
            return logs

        naive = after(self._naive, None)
        members = [after(self._logs[s], s) for s in sorted(parents & self._logs.keys())]
        if not members:
            return naive
        top = np.max([logs.max(axis=1, keepdims=True) for logs in members], axis=0)
        answered = np.isfinite(top)
        top = np.where(answered, top, 0.0)
        total = np.sum([np.exp(logs - top) for logs in members], axis=0)
        return np.where(answered, np.log(np.maximum(total, TINY)) + top, naive)


def _changed(columns: frozenset[int], these: Sequence[int], adds: bool) -> frozenset[int]:
    return columns | {*these} if adds else columns - {*these}
