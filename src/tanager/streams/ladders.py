"""Ladders: all ladders of half-lives of one stream, and which columns each of them sees.

The first ladder sees every row first, and stops where a class or a column is new; the others follow as far as it went.
Where a table has too many columns for the model, naive Bayes is the first ladder and sees them all, and the model sees
those that tell most (``FewColumns``): they are chosen by the first rows, which are kept until then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tanager import saved
from tanager.counts.align import class_map
from tanager.learning.batch import Batch, StreamPart
from tanager.learning.classifier import Classifier
from tanager.learning.warm_up import WarmUp
from tanager.streams.few_columns import FewColumns
from tanager.streams.ladder import NONE, Ladder, Said, joined_rows
from tanager.streams.member_plan import MemberPlan
from tanager.streams.subspace import Subspace, draw
from tanager.streams.table_columns import names_of


class Ladders:
    """The ladders that a plan makes, one after the other."""

    def __init__(self, plan: MemberPlan, few: FewColumns) -> None:
        self._plan, self._few = plan, few
        self.first_rows: WarmUp | None = None  # that were learned while columns are yet to be chosen
        self._make(plan.fresh())

    def _make(self, models: list[Classifier]) -> None:
        size = len(self._plan.half_lives)
        self.all = [Ladder(models[at : at + size]) for at in range(0, len(models), size)]

    def start(self, classes: np.ndarray | None, target: str | None) -> None:
        """Forget everything."""
        for ladder in self.all:
            ladder.start(classes, target)

    @property
    def first(self) -> Classifier:
        """The member whose columns and classes are those of all; its counts may lag behind."""
        return self.all[0].first

    @property
    def models(self) -> list[Classifier]:
        """The members, up to date, ladder after ladder."""
        return [model for ladder in self.all for model in ladder.models]

    @property
    def only(self) -> Ladder | None:
        """The ladder that rows can go to as they are: the only one, which will stay so; else None."""
        return self.all[0] if len(self.all) == 1 and self._few.decided else None

    # --- columns ------------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """What the members are called."""
        return self._plan.names(limited=self._few.limited)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns that the model sees now; None: all of them."""
        subspace = self.all[-1].subspace if self._few.limited else None
        return None if subspace is None else subspace.columns

    @property
    def subspaces(self) -> list[Subspace]:
        """The columns of ladders that do not see all."""
        return [ladder.subspace for ladder in self.all if ladder.subspace is not None]

    def draw_subspaces(self, X: Any, further: Sequence[str], random_state: int | None) -> None:
        """Which columns the last ladders see, by those of the first table, and further ones that all see."""
        n = self._plan.subspaces
        if not n or self.all[-1].subspace is not None:
            return
        for ladder, subspace in zip(self.all[-n:], draw(names_of(X), further, n, random_state), strict=True):
            ladder.see_only(subspace)

    def limit_columns(self, X: Any) -> bool:
        """Before the first row, of this table: whether it has so many columns that naive Bayes sees them all instead.

        The ladders are others then.
        """
        if not self._few.decides(X):
            return False
        classes, target = self.first.classes_, self.first.target_name_
        self._make(self._plan.of_all_columns() + self._plan.fresh())
        self.start(classes, target)
        self.all[1].see_only(self._few.at_first)
        return True

    def _choose_columns(self, rows: Batch) -> None:
        """Let the model see the columns that tell most, and learn these rows, which are all that it has learned."""
        subspace = self._few.most_telling(self.all[0].models)
        if subspace == self.all[1].subspace:
            return
        first, ladder = self.first, Ladder(self._plan.fresh())
        ladder.start(first.classes_, first.target_name_)
        ladder.see_only(subspace)
        labels = np.empty(len(rows.labels), dtype=object)
        labels[:] = [None if code == NONE else first.classes_[code] for code in rows.labels.tolist()]
        own = ladder.own_rows(StreamPart(rows.X, labels, rows.weights, rows.times))
        if not ladder.learn_first(own):
            _said_of(ladder, own)
        self.all[1] = ladder

    def _keep_first(self, rows: StreamPart) -> None:
        """Keep rows that were learned while columns are yet to be chosen, and choose them where that is due."""
        if not self._few.looks:
            return
        known = (self.first.code_of(label) for label in rows.y.tolist())
        labels = np.array([NONE if code is None else code for code in known], dtype=np.uint16)
        kept = self.first_rows = self.first_rows or WarmUp()
        kept.append(Batch(rows.X, labels, rows.weights, rows.times))
        if kept.n_rows == self._few.next_look and self.first.has_learned:
            self._choose_columns(kept.batch)
            self._few.looked()
        if not self._few.looks:
            self.first_rows = None

    # --- rows ---------------------------------------------------------------------------------------------------

    def run(self, rows: StreamPart) -> Said:
        """Answer and learn at least the first of these rows with every member."""
        if self._few.looks:
            seen = 0 if self.first_rows is None else self.first_rows.n_rows
            rows = rows.part(0, min(len(rows), self._few.next_look - seen))
        first, *others = self.all
        before = self.first.classes_
        said = [first.run(rows)]
        rows = rows.part(0, len(said[0]))
        said += [joined_rows(_said_of(ladder, ladder.own_rows(rows))) for ladder in others]
        self._move_classes(before)
        self._keep_first(rows)
        return _joined_members(said)

    def fit(self, rows: StreamPart) -> Said:
        """Learn a whole table, which fixes columns and classes; answers to all rows but the first that counts."""
        said = [self.all[0].fit(self.all[0].own_rows(rows))]
        if self._few.limited:
            self.all[1].see_only(self._few.most_telling(self.all[0].models))
            self._few.looks = ()
        said += [ladder.fit(ladder.own_rows(rows)) for ladder in self.all[1:]]
        return _joined_members(said)

    def fit_schema(self, X: Any, y: Any, target: str | None) -> None:
        """Fix kinds and cut points by a sample of the rows to come."""
        for ladder in self.all:
            for model in ladder.models:
                model.fit_schema(ladder.own(X), y, target)

    def add_classes(self, classes: np.ndarray) -> None:
        """Take in classes before their first rows are learned."""
        before = self.first.classes_
        for ladder in self.all:
            ladder.add_classes(classes)
        self._move_classes(before)

    def _move_classes(self, before: np.ndarray) -> None:
        if self.first_rows is not None and len(before) < len(self.first.classes_):
            self.first_rows.move_classes(class_map(before, self.first.classes_))

    def answer(self, X: Any, *, stream: bool) -> np.ndarray:
        """Probabilities by every member, (rows, members, classes); ``stream``: as a stream answers."""
        return np.concatenate([ladder.answer(ladder.own(X), stream=stream) for ladder in self.all], axis=1)

    def seen_by_models(self, X: Any) -> list[tuple[Classifier, Any]]:
        """The members, each with a table as it sees it."""
        return [(model, ladder.own(X)) for ladder in self.all for model in ladder.models]

    # --- files --------------------------------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Which columns ladders see, and how full their bins are; the members are saved by themselves."""
        watches, arrays = [], dict[str, np.ndarray]()
        for at, ladder in enumerate(self.all):
            watch, own = ladder.watch_state()
            watches.append(watch)
            arrays |= {f"bins-{at}-{name}": array for name, array in own.items()}
        return self._columns_to_plain() | {"bins": watches}, arrays

    def _columns_to_plain(self) -> dict[str, Any]:
        if self._plan.subspaces:
            return {"subspaces": [[list(own.columns), list(own.known)] for own in self.subspaces]}
        if self._few.limited and (own := self.all[1].subspace) is not None:
            return {"few_columns": [list(own.columns), list(own.known)]}
        return {}

    def take_state(
        self,
        state: dict[str, Any],
        arrays: Mapping[str, np.ndarray],
        models: Sequence[Classifier],
        first_rows: WarmUp | None,
    ) -> None:
        """Go on with what a model file says. Unsound data are refused."""
        names, what = saved.items(saved.text(), distinct=True), "state of its stream"
        if n := self._plan.subspaces:
            found = saved.field(what, state, "subspaces", saved.items(saved.row(names, names), n))
            for ladder, (columns, known) in zip(self.all[-n:], found, strict=True):
                ladder.subspace = Subspace(columns, known)
        if "few_columns" in state:
            few = saved.field(what, state, "few_columns", saved.row(names, names))
            self._make(self._plan.of_all_columns() + self._plan.fresh())
            self.all[1].subspace = self._few.go_on(Subspace(*few), first_rows)
            self.first_rows = first_rows
        self._few.decided = True
        size = len(self._plan.half_lives)
        for at, ladder in enumerate(self.all):
            end = None if ladder is self.all[-1] else (at + 1) * size
            ladder.take_models(list(models[at * size : end]))
        none = [None] * len(self.all)  # in files of earlier releases
        watches = saved.field(what, {"bins": none} | state, "bins", saved.items(saved.anything(), len(self.all)))
        for at, (ladder, watch) in enumerate(zip(self.all, watches, strict=True)):
            if watch is not None:
                prefix = f"bins-{at}-"
                own = {name.removeprefix(prefix): cells for name, cells in arrays.items() if name.startswith(prefix)}
                ladder.take_watch_state(watch, own)


def _said_of(ladder: Ladder, rows: StreamPart) -> list[Said]:
    """Answer and learn all of these rows, which have no new class but perhaps the first, part after part."""
    parts: list[Said] = []
    done = 0
    while done < len(rows):
        parts.append(ladder.run(rows.part(done, len(rows))))
        done += len(parts[-1])
    return parts


def _joined_members(said: list[Said]) -> Said:
    """What the members of several ladders said of the same rows."""
    if len(said) == 1:
        return said[0]
    judged = [own.judged for own in said if own.judged is not None]
    answers = np.concatenate([own.answers for own in said], axis=1)
    return Said(said[0].classes, answers, said[0].labels, np.concatenate(judged, axis=1) if judged else None)
