"""DriftAware: a classifier that notices when the world has changed, and does something about it.

    answers --right or wrong--> detector --warning, drift--> policy --> which model answers

Rows are learned in blocks. Inside a block nothing changes but what the models learn, so that compiled code can run; at
its end the detector hears which answers were wrong, and the policy acts.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import astuple, dataclass, replace
from typing import Any, Self

import numpy as np

from tanager import saved
from tanager.classifiers.naive_bayes import NaiveBayes
from tanager.counts.block import Block
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.encoding.chunks import n_rows, rows_of_dicts
from tanager.encoding.tables import read_table
from tanager.encoding.typing import Label, Row, TableLike, Time
from tanager.encoding.validation import check_lengths, check_weights, column_name, one_dimensional
from tanager.encoding.values import is_missing
from tanager.errors import DataError, ModelFileError, OptionError, check_option, is_number
from tanager.estimator import clone
from tanager.learning.batch import Batch, StreamPart
from tanager.learning.classifier import Answers, Classifier, check_row
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.explanations import Explanations
from tanager.learning.rows import widened
from tanager.learning.stream import (
    begin_again,
    count_anew,
    encode_all,
    encode_next,
    encode_rows,
    keep_for_warm_up,
    rows_at_once,
    rows_of_stage,
    take_columns,
    warm_up_of,
)
from tanager.learning.warm_up import WarmUp
from tanager.scoring.explain import Explanation
from tanager.streams.detectors import DDM, ask, check_detector
from tanager.streams.few_columns import MANY_COLUMNS
from tanager.streams.last_numbers import UNKNOWN, LastNumbers
from tanager.streams.runner import SHARE, Ahead, Duel, Runner, Share
from tanager.streams.watched_blocks import Quiet, run_blocks
from tanager.structure.measures import class_information

ROWS_AT_ONCE = 4096  # are encoded; a model that begins encodes the rest of them again, where its cut points are new

_OF_THE_MODEL = ("classes_", "target_name_", "encoder_", "n_features_in_", "feature_names_in_")


@dataclass(frozen=True)
class Event:
    """Something that happened in a stream: after how many rows, what, the share of wrong answers then, and why."""

    row: int
    what: str
    error: float
    why: str


@dataclass(eq=False, repr=False)
class DriftAware(Classifier):
    """Watches the errors of a classifier in a stream; when they rise, a new one takes over, or old rows are forgotten.

    Every row is answered before it is learned, and a detector is told whether the answer was wrong. Choose it when
    changes are sudden and far apart; against slow and steady ones ``decay`` or ``window`` of the classifier itself
    will do, and both can be had together.

    ``fit`` looks at its whole table first, as it does for every counting classifier: classes, values and cut points are
    known from the first row on. In ``partial_fit``, ``learn_one`` and ``test_then_train`` they come with the rows.

    Parameters
    ----------
    model : classifier, default=None
        What learns and answers; its options count, not what it has learned. None is ``NaiveBayes()``.
    detector : detector or function, default=None
        What watches the errors: a ``DDM``, one of river's (``river.drift.ADWIN()``), or a function that is called with
        1 for every wrong and 0 for every right answer and returns None, "warning" or "drift". None is ``DDM()``.
    on_warning : {"train", "fade", "nothing"}, default="train"
        Train a fresh model in the background, which is dropped again if no drift follows; fade; or do nothing.
    on_drift : {"swap", "restart", "fade", "shrink", "nothing"}, default="swap"
        "swap": the background model takes over if it is better over recent rows; if not, one that begins now has
        `patience` rows to become better, else the old one is kept. "restart": the background model takes over at once,
        and without one the model starts from nothing.
        "fade": all that was counted is multiplied by `fade_to`. "shrink": a model with a ``window`` forgets the rows
        before the warning (without one, those before the last block). "nothing": it is only written down.
    fade_to : float, default=0.1
        What is left of the counts by fading.
    every : int, default=64
        Rows of a block, counted from the start of the stream: the detector is asked, and the policy acts, at its end.
    recent : int, default=300
        Errors are measured over about that many rows, older ones fading.
    patience : int, default=1000
        Rows after a drift within which a new model must be better.

    Attributes
    ----------
    model_ : classifier
        The one that answers. Copy it to keep it: once it is gone, the next one may begin in its place.
    background_ : classifier or None
        The one that is trained in the background.
    events_ : list of Event
        What happened: ``row`` (rows seen by then), ``what``, ``error`` (share of wrong answers then) and ``why``.
    n_rows_ : int
        Rows seen.

    Notes
    -----
    A fresh model of a counting classifier begins with the columns of the stream; number columns are cut anew by the
    last ``warm_up`` rows, and while the first of these come all models are cut by them. An answer is wrong if another
    class was more probable than the true one. A detector's change for the better, such as ADWIN reports, is ignored.
    One model is better than another if, of the recent rows on which just one of them was right, it won more than chance
    would give it (two standard deviations). With late labels an answer is checked when its label comes. In ``fit`` with
    more than 100 columns, models that count pairs of them see the 100 that tell most about the class while changes are
    looked for; those that are left at the end then count all columns.

    Examples
    --------
    >>> from tanager import DriftAware, NaiveBayes
    >>> X = [["sun"], ["rain"]] * 1000
    >>> y = ["play", "stay"] * 500 + ["stay", "play"] * 500
    >>> model = DriftAware(NaiveBayes()).partial_fit(X, y)
    >>> [(event.row, event.what) for event in model.events_]
    [(1024, 'drift'), (1088, 'swap')]
    >>> model.predict([["sun"]])
    array(['stay'], dtype='<U4')
    """

    model: Classifier | None = None
    detector: Any = None
    on_warning: str = "train"
    on_drift: str = "swap"
    fade_to: float = 0.1
    every: int = 64
    recent: int = 300
    patience: int = 1000

    def check_options(self) -> None:
        check_option("on_warning", self.on_warning, ("train", "fade", "nothing"))
        check_option("on_drift", self.on_drift, ("swap", "restart", "fade", "shrink", "nothing"))
        check_detector(self.detector)
        if isinstance(self.model, type) or not isinstance(self._model(), Classifier):
            raise OptionError(f"model={self.model!r} is no classifier of tanager. Give one, such as AODE().")
        for name in ("every", "recent", "patience"):
            if not is_number(getattr(self, name), least=1) or getattr(self, name) != int(getattr(self, name)):
                raise OptionError(f"{name}={getattr(self, name)!r}: give a number of rows of at least 1.")
        if not is_number(self.fade_to, least=0) or not 0 < self.fade_to < 1:
            raise OptionError(
                f"fade_to={self.fade_to!r}: give a number above 0 and below 1, what is left of the counts."
            )
        self._model().check_options()
        self._check_model()

    def _check_model(self) -> None:
        """Refuse a model that cannot do what it would be asked for."""
        model, name = self._model(), type(self._model()).__name__
        if "fade" in (self.on_warning, self.on_drift) and not hasattr(model, "fade"):
            raise OptionError(f'{name} has no counts that could fade. Use on_drift="swap" or "restart".')
        if self.on_drift == "shrink" and (not hasattr(model, "shrink") or model.window is None):
            way = f"{name}(window=1000)" if hasattr(model, "shrink") else 'on_drift="swap"'
            raise OptionError(f'on_drift="shrink": {name} has no window that could shrink. Use {way}, say.')

    def _model(self) -> Any:
        return NaiveBayes() if self.model is None else self.model

    # --- learning -----------------------------------------------------------------------------------------------

    def start(self, classes: np.ndarray | None = None, target: str | None = None) -> Self:
        """Forget everything. ``classes`` are known beforehand; ``target`` is what the class is called."""
        self.check_options()
        for name in _OF_THE_MODEL:
            self.__dict__.pop(name, None)
        self._warm_up = None  # that of the model in front is its own
        self.n_rows_ = 0
        self.events_: list[Event] = []
        self._front = self._fresh()
        self._back: Runner | None = None
        self._idle: Runner | None = None  # with a model that is gone; the next may begin in its place
        self._reader: CountsClassifier | None = None  # fixes the columns, where it no longer answers
        self._last: LastNumbers | None = None  # once columns are fixed
        # While first rows run through that are kept afterwards: how many more the stream has had than were kept.
        self._ahead_of_kept: int | None = None
        self._duel = Duel(self.recent)  # of the two
        self._warned: int | None = None  # row at which the present warning began
        self._drifted: int | None = None  # row of a drift that still waits for a better model
        self._new_detector()
        self._front.model.target_name_ = target
        self._follow()
        if classes is not None:
            self.add_classes(classes)
        return self

    def _fresh(self) -> Runner:
        """A model that has learned no row. It knows the classes, and the columns of the stream as they are by now."""
        classes, target = self.__dict__.get("classes_"), self.__dict__.get("target_name_")
        warming = self._follow_warm_up()
        if warming is None and self._shares_columns:
            return Runner(self._with_columns(classes, target), self.n_rows_, self.recent)
        model = self._unlearned()
        fresh = Runner(model, self.n_rows_, self.recent)
        if warming is not None:
            first, warm = warming
            front = self._front.model  # it has met the values since, where another one fixes the columns
            model.fit_columns(front.counts_.schema, classes, target, named="feature_names_in_" in vars(first))
            model.encoder_.adopt(front.encoder_.schema)
            fresh.stage = warm.stage
            fresh.since = warm.n_rows if self._ahead_of_kept is None else self.n_rows_ - self._ahead_of_kept
        else:
            model.start(classes, target)
        return fresh

    def _unlearned(self) -> Any:
        """The model as it was given, without anything learned. scikit-learn's ``clone`` takes half of a fresh start."""
        options = self._model().get_params(deep=False)
        if any(type(value) not in (bool, int, float, str, type(None)) for value in options.values()):
            return clone(self._model())
        return type(self._model())(**options)

    def _with_columns(self, classes: np.ndarray | None, target: str | None) -> CountsClassifier:
        """A model with the columns of the stream as they are by now, and no rows."""
        front = self._front.model
        assert isinstance(front, CountsClassifier)
        known = front.counts_.schema  # the encoder may know values of rows that are yet to come
        schema = known if self._last is None else self._last.schema_for_fresh(known)
        idle, self._idle = self._idle, None
        if idle is not None and classes is not None and begin_again(idle.model, schema, classes):
            own: CountsClassifier = idle.model
            return own
        if idle is not None:
            idle.settle()
        model: CountsClassifier = self._unlearned()
        model.fit_columns(schema, classes, target, named="feature_names_in_" in vars(front))
        if schema is known:
            model.encoder_.adopt(front.encoder_.schema)
        return model

    @property
    def _shares_columns(self) -> bool:
        """Whether kinds, values and cut points of the model in front do for others, so that rows are encoded once."""
        if "_front" not in self.__dict__ or self._reader is not None:
            return False
        return _can_share(self._front.model) and self._front.model.columns_fixed

    @property
    def _warming(self) -> CountsClassifier | None:
        """The model whose first rows are yet to fix the columns of all."""
        if "_front" not in self.__dict__:
            return None
        first = self._reader or self._front.model
        return first if _can_share(first) and first.n_warm_up_rows else None

    def _follow_warm_up(self) -> tuple[CountsClassifier, WarmUp] | None:
        """Let the models that began later have the columns that the first rows give by now, and count their rows anew.

        The model that warms up, and its rows; None where columns are fixed, or every model has its own.
        """
        first = self._warming
        warm = None if first is None else warm_up_of(first)
        if first is None or warm is None:
            return None
        for runner in self._runners():
            if runner.since is not None and runner.stage != warm.stage:
                count_anew(runner.model, first, warm, runner.since)
                runner.stage = warm.stage
        return first, warm

    def _end_warm_up_with(self, warming: tuple[CountsClassifier, WarmUp] | None) -> None:
        """Where the first rows have now fixed the columns, all models have them."""
        if warming is None or not warming[0].columns_fixed:
            return
        for runner in self._runners():
            if runner.since is not None:
                count_anew(runner.model, *warming, runner.since)
                runner.since = runner.stage = None
        self._settle_columns()

    def _replace_front(self, by: Runner) -> None:
        """Another model answers from now on. One that still warms up goes on with that, for the columns of all."""
        if self._reader is None and _can_share(self._front.model) and self._front.model.n_warm_up_rows:
            self._front.settle()
            self._reader = self._front.model
        else:
            self._retire(self._front)
        self._front = by

    def _retire(self, runner: Runner | None) -> None:
        """A model is gone; the next may begin in its place."""
        if runner is None:
            return
        if _can_share(runner.model) and runner.model.columns_fixed:
            runner, self._idle = self._idle, runner
        if runner is not None:
            runner.settle()

    def _settle_columns(self) -> None:
        """Once the first rows of the stream have fixed the columns: all models have these, and numbers are watched."""
        first = self._reader or self._front.model
        if self._last is not None or not _can_share(first) or not first.columns_fixed:
            return
        for runner in self._runners():
            if runner.model.n_warm_up_rows:  # of its own, in an older file
                take_columns(runner.model, first)
        self._reader, self._last = None, LastNumbers(first)
        self._follow()

    def _new_detector(self) -> None:
        self._detector = DDM() if self.detector is None else deepcopy(self.detector)

    def _follow(self) -> None:
        """Classes and columns are those of the model in front."""
        if "encoder_" not in self.__dict__:
            self._front.knows()  # the first row of a warm-up is taken in
        own, theirs = self.__dict__, self._front.model.__dict__
        own.update({name: theirs[name] for name in _OF_THE_MODEL if name in theirs})
        if self._last is not None:
            self._last.follow(self.classes_)

    def add_classes(self, classes: np.ndarray) -> None:
        """Take in classes before their first rows are learned."""
        for runner in self._runners():
            runner.model.add_classes(classes)
        if self._reader is not None:
            self._reader.add_classes(classes)
        self._follow()

    def _runners(self) -> list[Runner]:
        return [self._front] if self._back is None else [self._front, self._back]

    def check_learned(self) -> None:
        """After all rows: refuse options that do not fit the classes."""
        self._front.model.check_learned()

    def _fit(self, X: Any, y: Any, sample_weight: Any, times: Any, target: str | None = None) -> Self:
        self.start(target=target)
        weights = check_weights(sample_weight, n_rows(X))
        if weights is not None and not weights.any():
            raise DataError("every sample weight is zero; at least one row must count.")
        front = self._front.model
        if y is None or not isinstance(front, CountsClassifier) or front.recut is not None:
            self._learn(X, y, weights, times)
        else:
            self._learn_encoded(front, X, y, weights, times)
        self.check_learned()
        return self

    def _learn_encoded(self, front: CountsClassifier, X: Any, y: Any, weights: np.ndarray | None, times: Any) -> None:
        """Encode the whole table at once, then answer and learn its rows block by block."""
        front.target_name_ = front.target_name_ or column_name(y)
        labels = one_dimensional(y)
        check_lengths(n_rows(X), labels)
        block = encode_all(front, X, labels, weights, times)
        self._follow()
        if self._may_see_few(front, block):
            self._learn_by_few(front, block)
        else:
            self._run_encoded(block)

    def _may_see_few(self, front: CountsClassifier, block: Block) -> bool:
        """Whether some of the columns do to see when the world changed: there are many, and pairs of them are counted.

        A model whose options may name columns has to see all of them.
        """
        schema = front.encoder_.schema
        plain = all(_names_no_column(*option, schema) for option in front.get_params(deep=False).items())
        return len(schema) > MANY_COLUMNS and front.counts_.order > 1 and block.numbers is None and plain

    def _learn_by_few(self, front: CountsClassifier, block: Block) -> None:
        """See from some columns when the world changed; the models that are left then count all columns, once."""
        counted = block.counted()
        singles = JointCounts(front.counts_.schema, front.classes_, order=1)
        singles.update(counted.codes, counted.labels, counted.weights)
        few = np.sort(np.argsort(-class_information(singles), kind="stable")[:MANY_COLUMNS])
        course = type(self)(**self.get_params(deep=False)).start()
        schema = front.counts_.schema
        schema = schema.without(*(name for i, name in enumerate(schema.names) if i not in {*few.tolist()}))
        course._front.model.fit_columns(schema, front.classes_, None, named=False)
        course._follow()
        course._run_encoded(replace(block, codes=np.ascontiguousarray(block.codes[:, few])))
        self._take_course(course, front, block)

    def _take_course(self, course: DriftAware, front: CountsClassifier, block: Block) -> None:
        """Do for all columns what was done for some of them."""
        self.n_rows_, self.events_ = course.n_rows_, course.events_
        self._warned, self._drifted = course._warned, course._drifted
        self._detector, self._duel = course._detector, course._duel
        if course._back is not None:
            self._back = course._back.for_all_columns(self._fresh().model, block)
        self._front = course._front.for_all_columns(front, block)
        self._follow()

    def _learn(self, X: Any, y: Any, sample_weight: Any, times: Any) -> None:
        if y is None:
            raise DataError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        weights = check_weights(sample_weight, n_rows(X))
        front = self._front.model
        front.target_name_ = front.target_name_ or column_name(y)
        front.check_labels(y)  # before anything is learned
        self.test_then_train(X if hasattr(X, "__getitem__") else np.asarray(X), y, weights, times)

    def _answer_and_learn(self, rows: StreamPart) -> Answers:
        """Answer and learn as many rows as can be encoded at once; else those up to the end of a block.

        One alone if the model knows nothing yet, or labels are late.
        """
        self._settle_columns()
        knows = self._front.knows()
        if knows and rows.answered is None:
            out = self._run_laps(rows) if self._warming is None else self._run_stage(rows)
            if len(out):
                return self.classes_, out
        size = min(len(rows), self._rows_of_block) if knows and rows.answered is None else 1
        warming = self._follow_warm_up()
        part = rows.part(0, size if warming is None else rows_of_stage(warming[0], size))
        even = self.classes_, self._even(1)
        last = self._watched_numbers()  # those of the rows that fix the columns are not kept
        (classes, proba), *_ = [runner.run(part) for runner in self._runners()]
        if self._reader is not None:
            self._read_on(self._reader, part)
        self._end_warm_up_with(warming)
        self._follow()
        if last is not None:
            last.add(last.read(self._front.model, part.X), self.label_codes(part.y)[0], part.weights)
        self._step(len(part))
        return (classes, proba) if knows else even

    def _run_stage(self, rows: StreamPart) -> np.ndarray:
        """Answer and learn first rows of the stream while their columns stay as they are; the answers.

        No row where the first of them cannot be encoded, or does not count.
        """
        none = np.empty((0, len(self.classes_)))
        warming = self._follow_warm_up()
        lap = None if warming is None else self._encode(rows.part(0, rows_of_stage(warming[0], len(rows))))
        if warming is None or lap is None:
            return none
        (first, warm), (block, rows) = warming, lap
        counted = Batch(None, block.labels, block.weights).counted
        n = len(block) if counted.all() else int(counted.argmin())
        if n == 0:
            return none
        reads, began = self._reader is not None, self.n_rows_
        self._ahead_of_kept = began - warm.n_rows
        try:
            return self._run_encoded(block.part(slice(n)), rows.part(0, n))
        finally:  # what was learned is kept, also where somebody has interrupted
            self._ahead_of_kept = None
            done = self.n_rows_ - began
            if done and reads:
                self._read_on(first, rows.part(0, done))
            elif done and not first.columns_fixed:  # as they are once it has faded
                some = block.part(slice(done))
                keep_for_warm_up(first, Batch(rows.part(0, done).X, some.labels, some.weights, some.times))
            self._end_warm_up_with(warming)
            self._follow()

    def _read_on(self, reader: CountsClassifier, rows: StreamPart) -> None:
        """Let the model that fixes the columns have these rows; without a label or a weight they do not count."""
        odd = [is_missing(label) for label in rows.y.tolist()]
        if rows.weights is not None:
            odd = [missing or not weight for missing, weight in zip(odd, rows.weights.tolist(), strict=True)]
        parts = [rows] if not any(odd) else [rows.part(r, r + 1) for r, one in enumerate(odd) if not one]
        for part in parts:
            reader.partial_fit(part.X, part.y, sample_weight=part.weights, times=part.times)

    def _run_laps(self, rows: StreamPart) -> np.ndarray:
        """Answer and learn rows while they can be encoded for all models; the answers."""
        answers = [np.empty((0, len(self.classes_)))]
        if self._shares_columns and not rows_of_dicts(rows.X):
            rows = replace(rows, X=read_table(rows.X))  # so that columns are read once
        done = 0
        while done < len(rows) and self._all_fixed:
            lap = self._encode(rows.part(done, min(done + ROWS_AT_ONCE, len(rows))))
            if lap is None:
                break
            answers.append(self._run_encoded(*lap))
            done += len(answers[-1])
        return np.concatenate(answers)

    @property
    def _all_fixed(self) -> bool:
        """Whether all models have columns for good, so that rows are encoded for them together."""
        return self._shares_columns and (self._back is None or self._back.model.columns_fixed)

    def _watched_numbers(self) -> LastNumbers | None:
        """The last rows, where cut points of models to come are learned from them."""
        return self._last if self._last is not None and self._last.columns else None

    def _encode(self, rows: StreamPart) -> tuple[Block, StreamPart] | None:
        """Encode rows for the model in front: as many as have known classes and columns. None if the first has not."""
        front, back = self._front.model, None if self._back is None else self._back.model
        alike = back is not None and back.encoder_.schema == front.encoder_.schema
        encoded = encode_next(front, rows)
        if encoded is None:
            return None
        if back is not None and alike:
            back.encoder_.adopt(front.encoder_.schema)
        return encoded[0], rows.part(0, len(encoded[0]))

    def _run_encoded(self, block: Block, rows: StreamPart | None = None) -> np.ndarray:
        """Answer and learn encoded rows, block by block; the answers of whichever model is in front.

        ``rows``: the same as they came. None: all models have the columns of the one in front, for good.
        """
        out = np.empty((len(block), len(self.classes_)))
        self._front.ahead = Ahead(block, self._front.model.encoder_.schema, 0)
        encoded = [self._front.ahead]  # also what models had that are gone: the next may begin with the same columns
        last = None if rows is None else self._watched_numbers()
        numbers = None if last is None or rows is None else last.read(self._front.model, rows.X)
        labels = widened(block.labels)
        done, at_once = 0, rows_at_once(self._front.model)  # Ctrl-C is heard between calls of the kernels
        try:
            while done < len(block):
                for runner in self._runners():
                    if runner.ahead is None:
                        runner.ahead = self._look_ahead(runner.model, encoded, rows, numbers, done)
                n_quiet, signal = self._run_quiet(slice(done, min(len(block), done + max(at_once, self.every))), out)
                part = slice(done, done + (n_quiet or min(len(block) - done, self._rows_of_block)))
                if not n_quiet:
                    for runner in reversed(self._runners()):  # that in front answers last
                        runner.run_encoded(part, out[part])
                if last is not None and rows is not None and numbers is not None:
                    last.add(numbers[part], labels[part], None if block.weights is None else block.weights[part])
                done = part.stop
                if n_quiet:
                    self.n_rows_ += n_quiet
                    self._act(signal)
                else:
                    self._step(part.stop - part.start)
        finally:
            for runner in [*self._runners(), *([] if self._idle is None else [self._idle])]:
                runner.settle()
        for runner in self._runners():
            runner.ahead = None
            runner.model.take_vocabulary(runner.model.encoder_.schema)
        self._follow()
        return out

    def _run_quiet(self, rows: slice, out: np.ndarray) -> tuple[int, str | None]:
        """Run blocks after which nothing is to be decided, and the next; how many rows went, what was said last."""
        if self.n_rows_ % self.every:
            return 0, None
        left = None if self._drifted is None else max(0, self.patience - self.n_rows_ + self._drifted)
        quiet = Quiet("warning" if self._warned is not None else None, left)
        return run_blocks(self._runners(), self._duel, self._detector, quiet, rows, int(self.every), out)

    def _look_ahead(
        self,
        model: CountsClassifier,
        encoded: list[Ahead],
        rows: StreamPart | None,
        numbers: np.ndarray | None,
        done: int,
    ) -> Ahead:
        """The rows that are to come in a model's own codes; encoded anew where no model has had the same columns."""
        schema = model.encoder_.schema
        alike = [ahead for ahead in encoded if ahead.schema is schema]
        if rows is None or alike:
            return (alike or encoded)[0]
        first = encoded[0]  # from the first row on
        to_come = slice(done, len(rows))
        block, codes = first.part(to_come), None
        if self._last is not None and numbers is not None:
            codes = self._last.recode(block.codes, first.schema, schema, numbers[to_come])
        if codes is not None:
            block = replace(block, codes=codes)
        else:
            block = encode_rows(model, rows.part(done, len(rows)), block.labels)
        encoded.append(Ahead(block, model.encoder_.schema, done))  # which may have met new values
        return encoded[-1]

    @property
    def _rows_of_block(self) -> int:
        """How many rows are left until the present block ends."""
        return self.every - self.n_rows_ % self.every

    def learn_one(self, row: Mapping[str, Any], y: Label, sample_weight: float = 1.0, time: Time | None = None) -> Self:
        """Answer one row, for the detector, and learn it."""
        row = check_row(row, "learn_one")
        if not self.started:
            self.start()
        self._settle_columns()
        warming, last = self._follow_warm_up(), self._watched_numbers()
        for runner in self._runners():
            runner.run_one(row, y, sample_weight, time)
        if self._reader is not None:
            self._reader.learn_one(row, y, sample_weight, time)
        self._end_warm_up_with(warming)
        self._follow()
        if last is not None:
            weights = None if sample_weight == 1.0 else np.array([sample_weight])
            label = self.code_of(y)
            codes = np.array([UNKNOWN if label is None else label], dtype=np.uint16)
            last.add(last.read_row(self._front.model, row), codes, weights)
        self._step(1)
        return self

    def _step(self, n_rows: int) -> None:
        """After rows were learned: look at the errors where a block ends."""
        self.n_rows_ += n_rows
        if self.n_rows_ % self.every == 0:
            self._look()

    # --- the policy ---------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """At the end of a block: tell the detector, and act on what it says."""
        wrong = self._front.end_block()
        if self._back is not None:
            self._duel.add(self._back.end_block(), wrong)
        self._act(ask(self._detector, wrong))

    def _act(self, signal: str | None) -> None:
        """At the end of a block: act on what the detector says."""
        if signal == "drift" and self._front.recent.mean <= self._front.long_run.mean:
            signal = None  # a change for the better
        if signal == "drift":
            self._drift()
        elif self._drifted is not None:
            self._wait(self._drifted)
        elif signal == "warning":
            self._warn()
        elif self._warned is not None:
            self._all_clear()

    def _warn(self) -> None:
        if self._warned is not None:
            return
        self._warned = self.n_rows_
        self._note("warning", self._errors())
        if self.on_warning == "fade":
            self._fade()
        elif self.on_warning == "train" and self.on_drift in ("swap", "restart"):
            self._begin_background()

    def _all_clear(self) -> None:
        self._drop_background()
        self._warned = None
        self._note("false alarm", self._errors())

    def _drift(self) -> None:
        self._note("drift", self._errors())
        if self.on_drift == "swap" and not self._swap():
            self._begin_background()
            self._drifted = self.n_rows_
        elif self.on_drift not in ("swap", "nothing"):
            {"restart": self._restart, "fade": self._fade, "shrink": self._shrink}[self.on_drift]()
            self._calm()

    def _swap(self) -> bool:
        """Let the background model take over if it is better; whether it did."""
        if self._back is None or not self._duel.is_won():
            return False
        self._replace_front(self._back)
        self._note("swap", f"the model that began at row {self._front.began:,} is better: {self._duel}")
        self._calm()
        return True

    def _wait(self, since: int) -> None:
        """After a drift: the background model takes over, goes on, or is given up."""
        if not self._swap() and self.n_rows_ - since >= self.patience:
            self._note("kept", f"the model that began after it is not better: {self._duel}")
            self._calm()

    def _restart(self) -> None:
        self._replace_front(self._back or self._fresh())
        self._note("restart", f"the model that began at row {self._front.began:,} answers from now on")

    def _fade(self) -> None:
        self._front.change(self.n_rows_, "fade", self.fade_to)  # ``check_options`` has seen that it can
        self._note("fade", f"{self.fade_to:g} of all that was counted is left")

    def _shrink(self) -> None:
        kept = self.n_rows_ - self._warned if self._warned is not None else self.every
        self._front.change(self.n_rows_, "shrink", kept)
        self._note("shrink", f"only the last {kept:,} rows are left in the window")

    def _begin_background(self) -> None:
        self._drop_background()
        self._back, self._duel = self._fresh(), Duel(self.recent)

    def _drop_background(self) -> None:
        if self._back is not self._front:
            self._retire(self._back)
        self._back = None

    def _calm(self) -> None:
        """Something was done: no background model, and the detector begins anew."""
        self._drop_background()
        self._warned = self._drifted = None
        self._new_detector()
        self._follow()

    def _errors(self) -> str:
        recent, long_run = self._front.recent.mean, self._front.long_run.mean
        return f"{recent:.3f} of the recent answers were wrong, {long_run:.3f} in the long run"

    def _note(self, what: str, why: str) -> None:
        self.events_.append(Event(self.n_rows_, what, self._front.recent.mean, why))

    # --- answers ------------------------------------------------------------------------------------------------

    @property
    def model_(self) -> Classifier:
        """The model that answers."""
        return self._front.model

    @property
    def background_(self) -> Classifier | None:
        """The model that is trained in the background."""
        return None if self._back is None else self._back.model

    @property
    def class_count_(self) -> np.ndarray:
        """How much the rows of each class weigh that the model which answers has learned."""
        return self._front.model.class_count_ if self._front.knows() else np.zeros(len(self.classes_))

    @property
    def has_learned(self) -> bool:
        """Whether there are classes to answer with."""
        return self.started and len(self.classes_) > 0

    def stream_proba(self, X: Any) -> np.ndarray:
        """``predict_proba`` as a stream answers; evenly where the model in front has just started anew."""
        return self._front.model.stream_proba(X) if self._front.knows() else self._even(n_rows(X))

    def predict_proba_one(self, row: Mapping[str, Any]) -> dict[Label, float]:
        """Probability of every class known so far; an empty dict before the first row."""
        row = check_row(row, "predict_proba_one")
        if not self.has_learned:
            return {}
        if not self._front.knows():  # just started anew
            return dict.fromkeys(self.class_codes, 1 / len(self.classes_))
        return self._front.model.predict_proba_one(row)

    def _scores(self, X: Any, *, log_joint: bool) -> np.ndarray:
        self.check_started()
        if self.has_learned and not self._front.knows():  # just started anew
            return np.log(self._even(n_rows(X))) if log_joint else self._even(n_rows(X))
        model = self._front.model
        return model.predict_log_joint(X) if log_joint else model.predict_proba(X)

    def _even(self, m: int) -> np.ndarray:
        return np.full((m, len(self.classes_)), 1 / max(1, len(self.classes_)))

    def decide(self, proba: np.ndarray) -> np.ndarray:
        """The label to answer with, given the probabilities of the classes: see ``predict``."""
        if not self._front.knows():
            return np.repeat(self.classes_[:1], len(proba))
        return self._front.model.decide(proba)

    def explain(
        self,
        X: Row | TableLike,
        answer: Label | None = None,
        against: Label | None = None,
        *,
        contrast: tuple[Label, Label] | None = None,
    ) -> Explanation | Explanations:
        """Why rows get their answers now: what the model that answers says (``model_.explain``).

        Parameters
        ----------
        X : row or table
            One row (a dict, a Series, a list of cells, or a table of one row), or a table of several rows.
        answer : object, default=None
            The class to explain. None: the predicted one.
        against : object, default=None
            The class that it is set against. None: the most probable other one.
        contrast : pair of labels, default=None
            Both at once: ``contrast=("a", "b")`` explains the log-odds of a against b.

        Returns
        -------
        Explanation or Explanations
            The parts of the answer of one row, which can be printed; those of several rows.
        """
        found: Explanation | Explanations = self._explaining().explain(X, answer, against, contrast=contrast)
        return found

    def explain_rows(self, X: TableLike, answer: Label | None = None, against: Label | None = None) -> Explanations:
        """``explain`` for a table of any number of rows, one among them.

        Parameters
        ----------
        X : table
            The rows to explain.
        answer : object, default=None
            The class to explain. None: the predicted one.
        against : object, default=None
            The class that it is set against. None: the most probable other one.

        Returns
        -------
        Explanations
            What every column adds in every row.
        """
        model = self._explaining()
        if not hasattr(model, "explain_rows"):  # it refuses, and says why
            model.explain(X, answer, against)
        found: Explanations = model.explain_rows(X, answer, against)
        return found

    def _explaining(self) -> Any:
        """The model that answers, where it can say why."""
        self.check_fitted()
        if not self._front.knows():
            raise DataError(
                f"the model that answers has started anew after row {self.n_rows_:,} and has learned nothing yet: all "
                "classes are answered evenly, for no reason. Explain again after some more rows."
            )
        return self.model_

    # --- files --------------------------------------------------------------------------------------------------

    def _model_state(self) -> dict[str, Any]:
        """Both models, and what the policy remembers."""
        state = {
            "n_rows": self.n_rows_,
            "events": [list(astuple(event)) for event in self.events_],
            "warned": self._warned,
            "drifted": self._drifted,
            "detector": self._detector.state(),
            "duel": [astuple(self._duel.won), astuple(self._duel.lost)],
            "runners": [runner.state() for runner in self._runners()],
        }
        models = [runner.model for runner in self._runners()]
        arrays: dict[str, np.ndarray] = {}
        if self._last is not None:
            state["last"], arrays = self._last.to_state()
        return {"state": state, "arrays": arrays, "models": [*models, *([self._reader] if self._reader else [])]}

    def _take_model_state(self, state: dict[str, Any]) -> None:
        data, models = state["state"], state["models"]
        expected = {
            "n_rows": saved.whole(),
            "warned": saved.maybe(saved.whole()),
            "drifted": saved.maybe(saved.whole()),
            "events": saved.items(saved.row(saved.whole(), saved.text(), saved.figure(), saved.text())),
            "duel": saved.row(SHARE, SHARE),
        }
        self.n_rows_, self._warned, self._drifted, events, duel = saved.read(
            "state of its stream", data, expected
        ).values()
        self.events_ = [Event(*event) for event in events]
        self._new_detector()
        self._detector.take_state(data["detector"])
        runners = [Runner.from_state(own, model) for own, model in zip(data["runners"], models, strict=False)]
        if len(runners) not in (1, 2) or len(models) - len(data["runners"]) not in (0, 1):
            raise ModelFileError(f"it has {len(models)} models, {len(data['runners'])} of them with answers")
        self._idle, self._reader = None, models[len(runners)] if len(models) > len(runners) else None
        self._front, self._back = runners[0], runners[1] if len(runners) > 1 else None
        self._duel.won, self._duel.lost = (Share(*share) for share in duel)
        self._follow()
        if "last" in data and self._shares_columns:
            self._last = LastNumbers(self._front.model)
            self._last.take_state(data["last"], state["arrays"])


def _names_no_column(option: str, value: Any, schema: Schema) -> bool:
    """Whether an option says the same of a model that sees some of the columns alone."""
    if option == "super_parent":  # a name or a place
        return isinstance(value, str) and value not in schema
    return isinstance(value, bool | int | float | None) or (isinstance(value, str) and value not in schema)


def _can_share(model: Classifier) -> bool:
    """Whether its columns do for other models, so that rows are encoded once for all."""
    return isinstance(model, CountsClassifier) and model.recut is None
