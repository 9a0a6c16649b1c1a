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
from tanager.encoding.chunks import rows_of_dicts
from tanager.learning.batch import Batch, StreamPart
from tanager.learning.classifier import Classifier
from tanager.learning.warm_up import WarmUp
from tanager.streams.few_columns import FewColumns
from tanager.streams.ladder import NONE, Ladder, Said, any_judged, joined_rows
from tanager.streams.member_plan import MemberPlan
from tanager.streams.subspace import Subspace, draw, draw_on
from tanager.streams.table_columns import counts, names_of, names_of_counted


class Ladders:
    """The ladders that a plan makes, one after the other."""

    def __init__(self, plan: MemberPlan, few: FewColumns, random_state: int | None = None) -> None:
        self._plan, self._few = plan, few
        self._seed = int(np.random.default_rng().integers(2**31) if random_state is None else random_state)
        self._labels: tuple[str, ...] = ()  # columns of text that all ladders see
        self.first_rows: WarmUp | None = None  # those that count, while columns are yet to be chosen
        self._make(plan.fresh())

    def _make(self, models: list[Classifier]) -> None:
        size = len(self._plan.half_lives)
        self.all = [Ladder(models[at : at + size]) for at in range(0, len(models), size)]
        self._declare(models)

    def _declare(self, models: Sequence[Classifier]) -> None:
        """Let models that have seen no row know that labels are values, also where they look like numbers."""
        for model in models:
            if self._labels and not model.knows_columns and model.categorical != "all":
                given = model.categorical or ()
                model.categorical = [*given, *(name for name in self._labels if name not in given)]

    def have_labels(self, names: tuple[str, ...]) -> None:
        """Before the first row: it will have these columns of text."""
        if names != self._labels:
            self._labels = names
            self._declare(self.models)

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
        """The ladder that rows can go to as they are: the only one; else None."""
        return self.all[0] if len(self.all) == 1 else None

    def only_for(self, row: Mapping[str, Any]) -> Ladder | None:
        """The same for a row to learn, which has no column that may be one too many."""
        if len(self.all) > 1 or (self._few.watches and not self._few.known.keys() >= row.keys()):
            return None
        return self.all[0]

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

    def _follow_columns(self, rows: StreamPart) -> None:
        """The first ladder has learned these rows: which columns the last ladders see, by those that have come."""
        drawn = self.subspaces
        if self._plan.subspaces and (rows_of_dicts(rows.X) or not drawn):
            self._draw(names_of_counted(rows), drawn)

    def _draw(self, names: Sequence[str], drawn: Sequence[Subspace] = ()) -> None:
        """Draw columns of subspaces, for the first time or further ones."""
        labels, n = self._labels, self._plan.subspaces
        if drawn:
            new = [name for name in names if name not in drawn[0].known]
            for ladder, own in zip(self.all[-n:], draw_on(drawn, new, self._seed), strict=True):
                ladder.subspace = own
        elif n and (first := [name for name in names if name not in labels]):
            for ladder, own in zip(self.all[-n:], draw(first, labels, n, self._seed), strict=True):
                ladder.see_only(own)

    def rows_until_limit(self, rows: StreamPart) -> int:
        """How many of these rows come before the one that brings so many columns that few of them are to be seen."""
        return self._few.rows_until_too_many(rows) if self._few.watches else len(rows)

    def are_too_many(self, names: Sequence[str]) -> bool:
        """Whether a table with these columns, before the first row, has so many that few of them are to be seen."""
        return self._few.watches and self._few.are_too_many(names)

    def limit_columns(self, names: Sequence[str]) -> StreamPart | None:
        """With these columns of the next rows there are too many: from now on naive Bayes sees them all instead.

        The ladders are others then, which have learned nothing: the rows that they are to learn, where there are some.
        """
        kept, self.first_rows = self.first_rows, None
        learned = None if kept is None else self._with_labels(kept.batch)
        classes, target = self.first.classes_, self.first.target_name_
        self._few.limit(names)
        self._make(self._plan.of_all_columns() + self._plan.fresh())
        self.start(classes, target)
        self.all[1].see_only(self._few.at_first)
        return learned

    def _with_labels(self, rows: Batch) -> StreamPart:
        """Rows that were kept, with their labels in place of class codes."""
        labels = np.empty(len(rows.labels), dtype=object)
        labels[:] = [self.first.classes_[code] for code in rows.labels.tolist()]
        return StreamPart(rows.X, labels, rows.weights, rows.times)

    def _choose_columns(self, rows: Batch) -> None:
        """Let the model see the columns that tell most, and learn these rows, which are all that it has learned."""
        subspace = self._few.most_telling(self.all[0].models)
        if subspace == self.all[1].subspace:
            return
        first, models = self.first, self._plan.fresh()
        self._declare(models)
        ladder = Ladder(models)
        ladder.start(first.classes_, first.target_name_)
        ladder.see_only(subspace)
        own = ladder.own_rows(self._with_labels(rows))
        if not ladder.learn_first(own):
            _said_of(ladder, own)
        self.all[1] = ladder

    def _keep_first(self, rows: StreamPart) -> None:
        """Keep rows that were learned and count while columns are yet to be chosen, and choose where that is due."""
        if self._few.watches:
            self._few.note(rows)
        if not self._few.looks:
            self.first_rows = None
            return
        known = (self.first.code_of(label) for label in rows.y.tolist())
        codes = np.array([NONE if code is None else code for code in known], dtype=np.uint16)
        times = rows.times if self._plan.timed else None
        batch = Batch(list(rows.X) if rows_of_dicts(rows.X) else rows.X, codes, rows.weights, times).only_counted()
        if not len(batch.labels):
            return
        kept = self.first_rows = self.first_rows or WarmUp()
        kept.append(batch)
        self._look(kept)

    def keep_row(self, row: Mapping[str, Any], y: Any, weight: float, times: np.ndarray | None) -> None:
        """The same for one row that counts and has brought nothing new, a dict."""
        kept = self.first_rows
        if kept is None or not self._few.looks or (label := self.first.code_of(y)) is None:
            return
        if weight == 1.0 and kept.times is None:
            kept.append_row(dict(row), label)
        else:
            times = times if self._plan.timed else None
            kept.append(Batch([row], np.array([label], dtype=np.uint16), np.array([float(weight)]), times))
        self._look(kept)

    def _look(self, kept: WarmUp) -> None:
        if kept.n_rows < self._few.next_look:
            return
        if self._few.limited:
            self._choose_columns(kept.batch)
        self._few.looked()
        if not self._few.looks:
            self.first_rows = None

    # --- rows ---------------------------------------------------------------------------------------------------

    def run(self, rows: StreamPart) -> Said:
        """Answer and learn at least the first of these rows with every member."""
        rows = self._until_look(rows)
        first, *others = self.all
        before = self.first.classes_
        said = [first.run(rows)]
        rows = rows.part(0, len(said[0]))
        self._follow_columns(rows)
        said += [joined_rows(_said_of(ladder, ladder.own_rows(rows))) for ladder in others]
        self._move_classes(before)
        self._keep_first(rows)
        return _joined_members(said)

    def _until_look(self, rows: StreamPart) -> StreamPart:
        """Rows up to the one after which columns are chosen."""
        if not self._few.looks:
            return rows
        left = self._few.next_look - (0 if self.first_rows is None else self.first_rows.n_rows)
        some = rows.part(0, min(len(rows), left))
        places = np.flatnonzero([counts(some, r) for r in range(len(some))])
        return some if len(places) < left else some.part(0, int(places[left - 1]) + 1)

    def fit(self, rows: StreamPart) -> Said:
        """Learn a whole table, which fixes columns and classes; answers to all rows but the first that counts."""
        said = [self.all[0].fit(self.all[0].own_rows(rows))]
        self._draw(names_of(rows.X))
        if self._few.limited:
            self.all[1].see_only(self._few.most_telling(self.all[0].models))
        self._few.looks = ()
        said += [ladder.fit(ladder.own_rows(rows)) for ladder in self.all[1:]]
        return _joined_members(said)

    def fit_schema(self, X: Any, y: Any, target: str | None) -> None:
        """Fix kinds and cut points by a sample of the rows to come."""
        self._draw(names_of(X))
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
        if self._plan.subspaces and self.subspaces:
            drawn = [[list(own.columns), list(own.known)] for own in self.subspaces]
            return {"subspaces": drawn, "seed": self._seed}
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
        n = self._plan.subspaces
        if n and "subspaces" in state:
            self._seed = saved.field(what, {"seed": self._seed} | state, "seed", saved.whole())
            found = saved.field(what, state, "subspaces", saved.items(saved.row(names, names), n))
            for ladder, (columns, known) in zip(self.all[-n:], found, strict=True):
                ladder.subspace = Subspace(columns, known)
        if "few_columns" in state:
            few = saved.field(what, state, "few_columns", saved.row(names, names))
            self._make(self._plan.of_all_columns() + self._plan.fresh())
            self.all[1].subspace = self._few.go_on(Subspace(*few), first_rows)
        self.first_rows = first_rows
        size = len(self._plan.half_lives)
        for at, ladder in enumerate(self.all):
            end = None if ladder is self.all[-1] else (at + 1) * size
            ladder.take_models(list(models[at * size : end]))
        none = [None] * len(self.all)  # in files of earlier releases
        if not self._few.limited:
            self._few.watch_on(first_rows)
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
    judged = np.concatenate([own.what_is_judged for own in said], axis=1) if any_judged(said) else None
    answers = np.concatenate([own.answers for own in said], axis=1)
    return Said(said[0].classes, answers, said[0].labels, judged)
