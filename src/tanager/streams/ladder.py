"""Ladder: one classifier with several half-lives along a stream. Columns are encoded once for all of its members.

Three ways through a block of rows give the same answers: AODEs have their counts side by side, and one kernel goes
through all of them (``SideBySide``); other counting classifiers take the same codes one after the other; and while
columns are not fixed, or a row brings a class or a column that is new, every member reads the rows itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.counts.align import class_map
from tanager.counts.block import Block, Query
from tanager.encoding.schema import Schema
from tanager.encoding.typing import Row, RowOfCodes
from tanager.encoding.values import is_missing
from tanager.errors import MemoryBudgetError, ModelFileError
from tanager.learning.batch import Batch, StreamPart
from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.first_rows import (
    Count,
    count_warm_up,
    keep_at_doubling,
    keep_for_warm_up,
    keep_provisional_row,
    provisional_row,
    rows_of_stage,
)
from tanager.learning.recut import may_move_cuts, move_cuts
from tanager.learning.recut_option import MovedCuts
from tanager.learning.stream import (
    add_classes_in_warm_up,
    answer_and_learn_encoded,
    encode_again,
    encode_all,
    encode_next,
    follow_warm_up,
    learn_first_encoded,
    learn_first_together,
    shared_warm_up,
    warm_up_of,
)
from tanager.learning.warm_up import WarmUp
from tanager.streams.aode_side_by_side import AodesSideBySide
from tanager.streams.crowded_bins import CrowdedBins, Joint
from tanager.streams.naive_side_by_side import NaivesSideBySide
from tanager.streams.pool import Pool
from tanager.streams.side_by_side import ONE_CALL, SideBySide
from tanager.streams.subspace import Subspace

AT_ONCE = 2**62  # cells that were read alone, after which models are laid side by side, however large their counts
NONE = np.iinfo(np.uint16).max  # the code of a label that is none of the classes
SIDE_BY_SIDE: tuple[type[SideBySide], ...] = (AodesSideBySide, NaivesSideBySide)
ROWS_AT_ONCE = 4096  # that all models answer and learn in one call


@dataclass
class Said:
    """What members said, (rows, members, classes): answers, and where labels are late also of the rows just learned."""

    classes: np.ndarray  # known when they answered
    answers: np.ndarray
    labels: np.ndarray  # codes of the true classes; too large where there is none, or it was not known
    judged: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def what_is_judged(self) -> np.ndarray:
        """What members said of the rows just learned; where nothing was, their labels teach nothing."""
        return self.answers if self.judged is None else self.judged


def any_judged(said: list[Said]) -> bool:
    """Whether some members have said something of rows that they have just learned."""
    return any(own.judged is not None for own in said)


def joined_rows(parts: list[Said]) -> Said:
    """What was said of rows one behind the other, of the same classes."""
    if len(parts) == 1:
        return parts[0]
    answers, labels = (np.concatenate([getattr(part, name) for part in parts]) for name in ("answers", "labels"))
    judged = np.concatenate([part.what_is_judged for part in parts]) if any_judged(parts) else None
    return Said(parts[0].classes, answers, labels, judged)


class Ladder:
    """Models that are alike but for their half-life."""

    def __init__(self, models: list[Classifier]) -> None:
        self._models = models
        self.subspace: Subspace | None = None  # the columns that the models see; None: all
        self._together: SideBySide | None = None  # what has been learned, while it is there
        self._kind: type[SideBySide] | None = None  # that can lay the models side by side
        self._asked = False  # for it
        self._read_alone = 0  # cells that each model has read since the models were side by side
        self._crowded: CrowdedBins | None = None  # once columns are fixed

    @property
    def models(self) -> list[Classifier]:
        """The models, up to date."""
        self._write_back()
        warm = self._provisional()
        if warm is not None:
            follow_warm_up(self._counting, warm)
        return self._models

    def _provisional(self) -> WarmUp | None:
        """The first rows, counted by the first model, by which models that can be side by side have columns for now."""
        first = self.first
        if not first.n_warm_up_rows or not self._suits or not isinstance(first, CountsClassifier):
            return None
        return warm_up_of(first)

    def _write_back(self) -> None:
        """The models have what they have learned side by side, and go on alone."""
        if self._together is not None:
            self._together.write_back()
            self._together, self._read_alone = None, 0

    @property
    def first(self) -> Classifier:
        """The model that encodes for all; its counts may lag behind."""
        return self._models[0]

    @property
    def _counting(self) -> list[CountsClassifier]:
        """Those of the models that count, which is all or none; their counts may lag behind."""
        return [model for model in self._models if isinstance(model, CountsClassifier)]

    def __len__(self) -> int:
        return len(self._models)

    @property
    def _suits(self) -> bool:
        """Whether the models can have their counts side by side; their options say so, which stay."""
        if not self._asked:
            self._kind = next((kind for kind in SIDE_BY_SIDE if kind.suits(self._models)), None)
            self._asked = True
        return self._kind is not None

    def __getstate__(self) -> dict[str, Any]:
        made = {"_together": None, "_kind": None, "_asked": False, "_read_alone": 0}
        return {"_models": self.models, "subspace": self.subspace, "_crowded": self._crowded, **made}

    def see_only(self, subspace: Subspace) -> None:
        """From the first row on the models see these columns alone; their options speak of no other."""
        self.subspace = subspace
        for model in self._models:
            subspace.restrict_options(model)

    def own(self, X: Any) -> Any:
        """A table as the models see it."""
        return X if self.subspace is None else self.subspace.of(X, self.first)

    def own_rows(self, rows: StreamPart) -> StreamPart:
        """Rows of a stream as the models see them."""
        if self.subspace is None:
            return rows
        answered = None if rows.answered is None else self.own(rows.answered)
        return StreamPart(self.own(rows.X), rows.y, rows.weights, rows.times, answered)

    def take_models(self, models: list[Classifier]) -> None:
        """Go on with models from a file."""
        kinds = [type(model) for model in self._models]
        if [type(model) for model in models] != kinds:
            found = ", ".join(type(model).__name__ for model in models) or "none"
            raise ModelFileError(f"its members are {found}; expected {len(kinds)} of {kinds[0].__name__}")
        if any(model.classes_.tolist() != models[0].classes_.tolist() for model in models):
            raise ModelFileError("its members have different classes")
        self._models, self._asked, self._crowded = models, False, None
        self._share()

    # --- columns and classes ------------------------------------------------------------------------------------

    def start(self, classes: np.ndarray | None, target: str | None) -> None:
        """Forget everything."""
        self._together, self._asked, self._crowded = None, False, None
        for model in self._models:
            model.start(classes, target)

    def add_classes(self, classes: np.ndarray) -> None:
        """Take in classes before their first rows are learned."""
        everything = self.first.classes_with(classes)
        if len(everything) == len(self.first.classes_):
            return
        models, self._read_alone = self.models, 0
        if self._crowded is not None:
            self._crowded.move_classes(class_map(self.first.classes_, everything))
        counting = [model for model in models if isinstance(model, CountsClassifier)]
        if self._suits and self.first.has_learned and add_classes_in_warm_up(counting, everything):
            return
        for model in models:
            model.add_classes(classes)

    def _share(self) -> bool:
        """Let all models have one encoder, once their columns are fixed; whether they have."""
        first = self.first
        if len(self) == 1 or not isinstance(first, CountsClassifier) or first.recut is not None:
            return False
        if not all(model.columns_fixed for model in self._models):
            return False
        for model in self._models[1:]:
            if model.encoder_ is not first.encoder_:
                if model.encoder_.schema != first.encoder_.schema:
                    return False
                model.encoder_ = first.encoder_
        return True

    def _alike(self) -> bool:
        """Whether all models have the same columns, be they provisional, and have counted the same rows."""
        first = self.first
        if not first.has_learned:
            return False
        if self._together is not None or self._share():
            return True
        if not self._suits or first.columns_fixed:
            return False
        return not any(m.n_warm_up_rows or m.encoder_ is not first.encoder_ for m in self.models[1:])

    def _learn_first_rows(self, block: Block) -> bool:
        """Let models that have learned nothing yet learn rows side by side; False where they cannot."""
        models = self._counting
        if self._kind is None or not self._kind.fits(models):
            return False
        together = self._kind(models)
        if not together.learn(block):
            return False
        self._together = together
        return True

    def _part(self) -> list[Classifier]:
        """The models, each with an encoder of its own, because it will read rows itself."""
        models = self.models  # which would share one again
        for model in models[1:]:
            if model.knows_columns and model.encoder_ is self.first.encoder_:
                model.encoder_ = deepcopy(model.encoder_)
        return models

    def _side_by_side(self, n_rows: int = 1) -> SideBySide | None:
        """The models side by side, once rows without it, with these ``n_rows``, take as long as to lay them so."""
        if self._together is None and self._suits and self._kind is not None:
            models = self._counting
            if self._kind.fits(models):
                self._read_alone += ONE_CALL + self._kind.cells_read(models, n_rows)
                if self._read_alone >= self._kind.cells_to_pay(models):
                    self._together = self._kind(models)
        return self._together

    # --- a stream -----------------------------------------------------------------------------------------------

    def run(self, rows: StreamPart) -> Said:
        """Answer and learn at least the first of these rows, and stop where a class, a column or a cut point is new."""
        watched = self._watch() is not None
        said = self._run(rows)
        if watched:
            self._learned_in_bins(rows.part(0, len(said)))
        return said

    def _run(self, rows: StreamPart) -> Said:
        if self._brings_class(rows):
            return self._new_class(rows)
        if self._warms_up(rows):
            return self._warm_up(rows)
        if not self._share():
            return self._apart(rows, self._known_rows(rows))
        first = self.first
        assert isinstance(first, CountsClassifier)
        if is_missing(rows.y[0]):  # nothing is learned
            answers = self.answer(rows.part(0, 1).to_answer, stream=True)
            return Said(first.classes_, answers, np.array([NONE], dtype=np.uint16))
        try:
            encoded = self._encode_next(first, rows)
        except BaseException:
            self._share()
            raise
        if encoded is None:
            return self._apart(rows, 1)
        return self._encoded(*encoded)

    def learn_dict(self, row: Row, y: Any, weight: float, times: np.ndarray | None, pool: Pool) -> bool:
        """Answer and learn a row in which nothing is new, where models are side by side, and let a pool learn of it.

        False, and nothing has changed, where it must go a longer way.
        """
        first = self.first
        if times is not None or not weight > 0 or not self._suits or not isinstance(first, CountsClassifier):
            return False
        if first.n_warm_up_rows:
            return self._learn_provisional(first, row, y, weight, pool)
        crowded = self._crowded or self._watch()
        together, label = self._together, first.code_of(y)
        if label is None or (together is None and not self._share()):
            return False
        codes = first.encoder_.found_row(row, alone=True)
        if codes is None:
            return False
        together = together or self._side_by_side()
        if together is None or not together.learn_row(codes, label, weight, pool):
            return False
        if crowded is not None:
            self._learned_row_in_bins(crowded, row, codes, label)
        return True

    def _learn_provisional(self, first: CountsClassifier, row: Row, y: Any, weight: float, pool: Pool) -> bool:
        """The same while columns are provisional, where the models have them in common."""
        if not self._alike():
            return False
        if rows_of_stage(first, 2) < 2:
            return self._learn_at_doubling(first, row, y, weight, pool)
        found = provisional_row(first, row, y, weight, None)
        if found is None:
            return False
        codes, label = found
        together = self._side_by_side()
        if together is None or not together.learn_row(codes, label, weight, pool):
            return False
        keep_provisional_row(first, row, label)
        return True

    def _learn_at_doubling(self, first: CountsClassifier, row: Row, y: Any, weight: float, pool: Pool) -> bool:
        """The same for a row by which first rows have doubled: columns are learned anew, from all of them."""
        warm, label = warm_up_of(first), first.code_of(y)
        if warm is None or warm.times is not None or weight != 1.0 or label is None:
            return False
        together = self._side_by_side()
        codes = None if together is None else first.encoder_.found_row(row, alone=True)
        if together is None or codes is None or not together.learn_row(codes, label, weight, pool):
            return False
        self._next_columns(warm, lambda count: keep_at_doubling(first, row, y, weight, None, count))
        return True

    def _next_columns(self, warm: WarmUp, keep: Callable[[Count], object]) -> None:
        """Keep rows by which first rows have doubled, or are all there: columns are learned anew, from all of them.

        What the models have learned side by side is needed where columns stay as they were; else they count anew.
        """
        models = self._counting
        before, self._together = self._together, None
        self._read_alone = 0 if before is None else AT_ONCE
        try:
            keep(self._count_first_rows)
            count_warm_up(models[0], self._count_first_rows)
        finally:
            if before is not None and before.is_of_some(models[1:]):
                before.write_back()
        follow_warm_up(models, warm)

    def _count_first_rows(self, batch: Batch) -> None:
        """All models learn first rows in new columns of the first one; or it alone, and the others follow."""
        first = self._counting[0]
        if not learn_first_together(self._counting, batch, self._learn_first_rows):
            first._count(batch)

    def run_dict(self, row: Row, y: Any, weight: float, times: np.ndarray | None) -> Said | None:
        """Answer and learn a row of known columns and class in columns for good, where models can be side by side."""
        first = self.first
        label = first.code_of(y)
        if label is None or not weight > 0 or not self._suits or not isinstance(first, CountsClassifier):
            return None
        if first.n_warm_up_rows or (self._together is None and not self._share()):
            return None
        if first.encoder_.new_names(row) or first.encoder_.is_cut_by(row):
            return None
        crowded = self._watch()
        codes = first.encoder_.update_row(row)
        weights = None if weight == 1.0 else np.array([float(weight)])
        said = self._encoded(Block(codes[None, :], np.array([label], dtype=np.uint16), weights, times), None)
        if crowded is not None:
            self._learned_row_in_bins(crowded, row, codes, label)
        return said

    def _warms_up(self, rows: StreamPart) -> bool:
        """Whether columns are provisional, and those of the first model do for the first of these rows.

        Only for AODE: a structure that depends on the counts would be learned at other times.
        """
        first = self.first
        if not self._suits or first.columns_fixed or not first.has_learned:
            return False
        return first.code_of(rows.y[0]) is not None

    def _brings_class(self, rows: StreamPart) -> bool:
        """Whether the first row has a class that is new, and members may go on together all the same."""
        label = rows.y[0]
        if rows.answered is not None or not self._suits or not self.first.has_learned:
            return False
        return not is_missing(label) and self.first.code_of(label) is None

    def _new_class(self, rows: StreamPart) -> Said:
        """Answer the first row by the classes known so far, then let it be one of a known class."""
        row, classes = rows.part(0, 1), self.first.classes_
        answers = self.answer(row.X, stream=True)
        self.add_classes(self.first.classes_with(row.y))
        self._run(row)
        return Said(classes, answers, np.array([NONE], dtype=np.uint16))

    def _warm_up(self, rows: StreamPart) -> Said:
        """Answer and learn rows in provisional columns, which are learned once for all models."""
        first, *_ = self._counting
        if self._together is None:
            _ = self.models  # all of them have the columns of the first
        encoded, warm = encode_next(first, rows), warm_up_of(first)
        if encoded is None or warm is None:
            return self._apart(rows, 1)
        block, asked = encoded
        said = self._encoded(block, asked)
        X = rows.part(0, len(block)).X
        batch = Batch(X, block.labels, block.weights, block.times)
        if rows_of_stage(first, len(block) + 1) > len(block):
            keep_for_warm_up(first, batch)
        else:
            self._next_columns(warm, lambda count: keep_for_warm_up(first, batch, count))
        return said

    def _known_rows(self, rows: StreamPart) -> int:
        """How many rows every model may read at a time: those of known classes, and alone the first and late ones."""
        if rows.answered is not None or not self.first.has_learned:
            return 1
        code_of, most = self.first.code_of, rows_of_stage(self.first, len(rows))
        new = (r for r, label in enumerate(rows.y[:most].tolist()) if code_of(label) is None)
        return max(1, next(new, most))

    def _apart(self, rows: StreamPart, size: int) -> Said:
        """Let every model read the rows itself."""
        models, part = self._part(), rows.part(0, size)
        knew = models[0].has_learned
        classes = models[0].classes_ if knew else models[0].classes_[:0]
        judged = None
        if part.answered is not None and knew:
            judged = np.stack([model.stream_proba(part.X) for model in models], axis=1)
        given = part.X, part.y, part.weights, part.times, part.answered
        counting = [model for model in models if isinstance(model, CountsClassifier)]
        warm = shared_warm_up(counting) if self._suits else None
        if not knew and self._may_follow(part):
            answers = np.repeat(models[0].test_then_train(*given)[:, None], len(models), axis=1)
            self._follow_first(part)
        else:
            answers = np.stack([model.test_then_train(*given) for model in models], axis=1)
        if warm is not None and models[0].columns_fixed:  # the rows that fixed them were the first model's to keep
            follow_warm_up(counting, warm)
        columns = [models[0].class_codes[label] for label in classes.tolist()]
        labels = np.array([self.first.code_of(label) for label in part.y.tolist()], dtype=float)
        labels = np.where(np.isin(labels, columns), np.searchsorted(columns, labels), NONE).astype(np.uint16)
        self._share()
        return Said(classes, np.ascontiguousarray(answers[:, :, columns]), labels, judged)

    def _may_follow(self, rows: StreamPart) -> bool:
        """Whether models that have learned nothing can have these rows as the first model has encoded them."""
        counted = not any(map(is_missing, rows.y.tolist())) and (rows.weights is None or bool((rows.weights > 0).all()))
        return rows.answered is None and counted and all(_counts(model) for model in self._models)

    def _follow_first(self, rows: StreamPart) -> None:
        """The first model has learned these rows, its first ones: let the others learn them in its columns."""
        first, *others = self._counting
        if not first.columns_fixed and not self._suits:
            for model in others:
                model.test_then_train(rows.X, rows.y, rows.weights, rows.times)
            return
        for model in others:
            model.add_classes(first.classes_)
            model.target_name_ = first.target_name_
        if first.columns_fixed:
            block = encode_again(first, rows)
            for model in others:
                learn_first_encoded(model, first, block)
        else:
            _ = self.models  # all of them have the columns of the first, and learn its rows

    def learn_first(self, rows: StreamPart) -> bool:
        """Learn rows before all others and answer none of them; False where that is not for these models or rows."""
        if not self._suits or not self._may_follow(rows):
            return False
        self.first.partial_fit(rows.X, rows.y, sample_weight=rows.weights, times=rows.times)
        self._follow_first(rows)
        self._share()
        return True

    def _encoded(self, block: Block, asked: Query | None) -> Said:
        """Answer and learn rows that are encoded, with classes and columns that are known."""
        parts: list[Said] = []
        done, end = 0, len(block)
        if end == 0:
            return Said(self.first.classes_, np.empty((0, len(self), len(self.first.classes_))), block.labels)
        while done < end:
            rest = slice(done, end)
            left = block if done == 0 else block.part(rest)
            parts.append(self._next(left, None if asked is None else asked.part(rest)))
            done += len(parts[-1])
        self._follow_vocabulary()
        return joined_rows(parts)

    def _follow_vocabulary(self) -> None:
        """All rows of a block were learned: values of unlabelled ones have room in the counts, too.

        Not before its last row: how many values there are is part of every answer.
        """
        first = self.first
        assert isinstance(first, CountsClassifier)
        if self._together is not None:
            self._together.take_vocabulary(first.encoder_.schema)
        elif first.encoder_.schema is not first.memory.counts.schema:
            for model in self.models:
                assert isinstance(model, CountsClassifier)
                model.take_vocabulary(model.encoder_.schema)

    def _next(self, block: Block, asked: Query | None) -> Said:
        """Answer and learn at least the first of these rows."""
        some = slice(ROWS_AT_ONCE)  # Ctrl-C is heard between two calls
        block, asked = block.part(some), None if asked is None else asked.part(some)
        together = self._side_by_side(len(block))
        run = None if together is None else together.run(block, asked)
        if run is not None and len(run[0]):
            judged, answers = run
            classes, labels = self.first.classes_, block.labels[: len(judged)]
            return Said(classes, judged, labels) if answers is None else Said(classes, answers, labels, judged)
        one = together is not None or asked is not None  # a row comes late, or its label does
        return self._one_after_the_other(block.part(slice(1)) if one else block, asked)

    def _one_after_the_other(self, block: Block, asked: Query | None) -> Said:
        models = [model for model in self.models if isinstance(model, CountsClassifier)]
        judged = None
        if asked is not None:
            asked = asked.part(slice(len(block)))
            judged = np.stack([model.stream_scorer.score(block.query) for model in models], axis=1)
        answers = np.stack([answer_and_learn_encoded(model, block, asked) for model in models], axis=1)
        return Said(models[0].classes_, answers, block.labels, judged)

    def _encode_next(self, first: CountsClassifier, rows: StreamPart) -> tuple[Block, Query | None] | None:
        """Encode rows up to a look that is likely to cut columns: those behind it have other codes."""
        before, encoded = first.encoder_.schema, encode_next(first, rows)
        if encoded is None or self._crowded is None:
            return encoded
        block, _ = encoded
        n = self._crowded.rows_until_cut(first.encoder_, block.codes, block.counting)
        if n == len(block):
            return encoded
        first.encoder_.adopt(before)  # values of the rows behind are yet to come
        return encode_next(first, rows.part(0, n))

    # --- numbers that move ---------------------------------------------------------------------------------------

    def _watch(self) -> CrowdedBins | None:
        """What watches the bins of number columns, once these are fixed; a single model answers as it would alone."""
        first = self.first
        if self._crowded is not None or len(self) == 1 or not isinstance(first, CountsClassifier):
            return self._crowded
        if self._share() and may_move_cuts(first):
            self._crowded = CrowdedBins()
            self._crowded.follow(first, self._longest)
        return self._crowded

    def _longest(self) -> Joint:
        """What the model that forgets least has counted of columns, in some unit."""
        if self._together is not None:
            return self._together.joint
        return max((model.counts_ for model in self._counting), key=lambda own: own.n_rows).joint

    @property
    def moved_cuts(self) -> list[MovedCuts]:
        """The columns that were cut on."""
        return [] if self._crowded is None else list(self._crowded.events)

    def watch_state(self) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
        """What is known of the bins of its columns, for a model file; None before columns are fixed."""
        first = self.first
        if self._crowded is None or not isinstance(first, CountsClassifier):
            return None, {}
        return self._crowded.to_state(first.encoder_)

    def take_watch_state(self, state: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Take back what ``watch_state`` gave, after the models. Unsound data are refused."""
        first = self.first
        if not isinstance(first, CountsClassifier) or not first.columns_fixed:
            raise ModelFileError("its members have no columns for good, and there is a watch over their bins")
        self._crowded = CrowdedBins()
        self._crowded.take_state(state, arrays, first)

    def _learned_in_bins(self, rows: StreamPart) -> None:
        """Rows were learned: watch their numbers."""
        first, crowded = self.first, self._crowded
        assert isinstance(first, CountsClassifier)
        if crowded is None:
            return
        crowded.follow(first, self._longest)
        labels = first.label_codes(rows.y)[0]
        crowded.add(first, rows.X, labels, Batch(rows.X, labels, rows.weights).counted)
        self._cut_on(crowded)

    def _learned_row_in_bins(self, crowded: CrowdedBins, row: Row, codes: RowOfCodes, label: int) -> None:
        """The same for one row that counts, and has brought no column."""
        if crowded.add_row(row, codes, label):
            self._cut_on(crowded)

    def _cut_on(self, crowded: CrowdedBins) -> None:
        """Where it is time for a look, cut columns anew whose rows crowd in one bin; for all models alike."""
        first = self.first
        if not crowded.is_time or not isinstance(first, CountsClassifier) or not self._share():
            return
        found = crowded.look(first.encoder_, self._longest)
        if not found:
            return
        before = first.encoder_.schema
        schema = before.with_columns({i: before[i].with_cuts(tuple(own.cuts.tolist())) for i, own in found.items()})
        try:
            self._move_cuts(schema, {i: own.shares for i, own in found.items()})
        except MemoryBudgetError:
            return  # nothing has changed: so many bins would not fit
        crowded.were_cut(found)
        crowded.events += [
            MovedCuts(round(first.memory.n_learned), schema[i].name, own.distance, len(before[i].cuts), len(own.cuts))
            for i, own in found.items()
        ]

    def _move_cuts(self, schema: Schema, shares: Mapping[int, np.ndarray]) -> None:
        models = self._counting
        if self._together is None:
            for model in models:
                move_cuts(model, schema, shares)
            return
        self._together = self._together.move_cuts(schema, shares)
        if self._kind is None or not self._kind.fits(models):
            _ = self.models  # there are too many bins by now

    def fit(self, rows: StreamPart) -> Said:
        """Learn a whole table: columns and classes are fixed by all of it, then rows are answered and learned in turn.

        The first row, which there is nothing to answer from, is not among the answers.
        """
        first = self.first
        assert isinstance(first, CountsClassifier)
        reader = deepcopy(first).start(target=first.target_name_)  # learns no row, so that all models can begin
        block = encode_all(reader, rows.X, rows.y, rows.weights, rows.times)
        block = block.counted()
        for model in self._models:
            assert isinstance(model, CountsClassifier)
            model.add_classes(reader.classes_)
            learn_first_encoded(model, reader, block.part(slice(1)))
        self._share()
        return self._encoded(block.part(slice(1, None)), None)

    # --- answers ------------------------------------------------------------------------------------------------

    def answer_dict(self, row: Row, pool: Pool) -> list[float] | None:
        """What a pool makes of the answers to a row in which nothing is new, where models are side by side; or None."""
        if self._together is None or self.subspace is not None:
            return None
        codes = self.first.encoder_.found_row(row)
        return None if codes is None else self._together.answer_row(codes, pool)

    def answer(self, X: Any, *, stream: bool = False) -> np.ndarray:
        """Probabilities by every model, (rows, models, classes); ``stream``: as a stream answers."""
        first = self.first
        if self._alike() and isinstance(first, CountsClassifier):
            together = self._side_by_side(0)
            if together is not None:
                return together.answer(first.encode(X).codes)
        ask = [model.stream_proba if stream else model.predict_proba for model in self.models]
        return np.stack([proba(X) for proba in ask], axis=1)


def _counts(model: Classifier) -> bool:
    """Whether it learns from codes alone, which others can have made."""
    return isinstance(model, CountsClassifier) and model.recut is None
