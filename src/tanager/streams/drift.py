"""DriftAware: a classifier that notices when the world has changed, and does something about it.

    answers --right or wrong--> detector --warning, drift--> policy --> which model answers

Rows are learned in blocks. Inside a block nothing changes but what the models learn, so that compiled code can run; at
its end the detector hears which answers were wrong, and the policy acts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from tanager import saved
from tanager.classifiers.naive_bayes import NaiveBayes
from tanager.counts.block import Block
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.encoding.chunks import n_rows
from tanager.encoding.typing import Label, Time
from tanager.encoding.validation import check_lengths, check_weights, column_name, one_dimensional
from tanager.errors import DataError, ModelFileError, OptionError, check_option, is_number
from tanager.learning.answer_then_learn import Answers
from tanager.learning.batch import StreamPart
from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.explanations import Explanations
from tanager.learning.reading import check_row
from tanager.learning.stream import (
    encode_all,
)
from tanager.scoring.explain import Explanation
from tanager.streams.detectors import check_detector
from tanager.streams.drift_course import Course, even_answers
from tanager.streams.drift_models import RunningModels
from tanager.streams.drift_policy import Event, Policy, Reactions
from tanager.streams.few_columns import MANY_COLUMNS
from tanager.streams.last_numbers import LastNumbers
from tanager.streams.runner import Runner
from tanager.structure.measures import class_information

ROWS_AT_ONCE = 4096  # are encoded; a model that begins encodes the rest of them again, where its cut points are new

_OF_THE_MODEL = ("classes_", "target_name_", "encoder_", "n_features_in_", "feature_names_in_")


@dataclass(eq=False, repr=False)
class DriftAware(Classifier):
    """Watches the errors of a classifier in a stream; when they rise, a new one takes over, or old rows are forgotten.

    Every row is answered before it is learned, and a detector is told whether the answer was wrong. Choose it when
    changes are sudden and far apart; against slow and steady ones ``decay`` or ``window`` of the classifier itself
    will do, and both can be had together.

    ``fit`` looks at its whole table first, as other classifiers do: classes, values and cut points are
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
    A fresh NaiveBayes, AODE or the like begins with the columns of the stream; number columns are cut anew by the
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
        models = RunningModels(self._model(), self.recent, target)
        names = [field.name for field in fields(Reactions)]
        policy = Policy(Reactions(**{name: getattr(self, name) for name in names}), models)
        self._course = Course(models, policy, int(self.every))
        self._follow()
        if classes is not None:
            self.add_classes(classes)
        return self

    @property
    def _models(self) -> RunningModels:
        return self._course.models

    @property
    def _front(self) -> Runner:
        """The model that answers."""
        return self._models.front

    @property
    def n_rows_(self) -> int:
        """Rows seen."""
        return self._course.n_rows

    @property
    def events_(self) -> list[Event]:
        """What happened along the stream."""
        return self._course.policy.events

    def _follow(self) -> None:
        """Classes and columns are those of the model in front."""
        if "encoder_" not in self.__dict__:
            self._front.knows()  # the first row of a warm-up is taken in
        own, theirs = self.__dict__, self._front.model.__dict__
        own.update({name: theirs[name] for name in _OF_THE_MODEL if name in theirs})
        self._models.follow_classes()

    def add_classes(self, classes: np.ndarray) -> None:
        """Take in classes before their first rows are learned."""
        self._models.add_classes(classes)
        self._follow()

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
            self._course.run_encoded(block)

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
        course._course.run_encoded(replace(block, codes=np.ascontiguousarray(block.codes[:, few])))
        self._take_course(course._course, front, block)

    def _take_course(self, course: Course, front: CountsClassifier, block: Block) -> None:
        """Do for all columns what was done for some of them."""
        models, few = self._models, course.models
        self._course.n_rows = course.n_rows
        self._course.policy.go_on_from(course.policy)
        if few.back is not None:
            models.back = few.back.for_all_columns(models.fresh(course.n_rows).model, block)
        models.front = few.front.for_all_columns(front, block)
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
        """Answer and learn some of the rows, at least one."""
        before = self.n_rows_
        try:
            return self._course.answer_and_learn(rows)
        finally:
            if self.n_rows_ > before:  # also where somebody has interrupted
                self._follow()

    def learn_one(self, row: Mapping[str, Any], y: Label, sample_weight: float = 1.0, time: Time | None = None) -> Self:
        """Answer one row, for the detector, and learn it."""
        row = check_row(row, "learn_one")
        if not self.started:
            self.start()
        self._course.learn_one(row, y, sample_weight, time)
        self._follow()
        return self

    # --- answers ------------------------------------------------------------------------------------------------

    @property
    def model_(self) -> Classifier:
        """The model that answers."""
        return self._front.model

    @property
    def background_(self) -> Classifier | None:
        """The model that learns the rows since a warning, to take over should things have changed; None elsewhere."""
        back = self._models.back
        return None if back is None else back.model

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
        return self._front.model.stream_proba(X) if self._front.knows() else even_answers(self.classes_, n_rows(X))

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
            even = even_answers(self.classes_, n_rows(X))
            return np.log(even) if log_joint else even
        model = self._front.model
        return model.predict_log_joint(X) if log_joint else model.predict_proba(X)

    def decide(self, proba: np.ndarray) -> np.ndarray:
        """The label to answer with, given the probabilities of the classes: see ``predict``."""
        if not self._front.knows():
            return np.repeat(self.classes_[:1], len(proba))
        return self._front.model.decide(proba)

    def _explained(self, X: Any, answer: Any, against: Any, *, one_alone: bool) -> Explanation | Explanations:
        found: Explanation | Explanations = self._explaining()._explained(X, answer, against, one_alone=one_alone)
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
        models = self._models
        running, reader = models.running, [] if models.reader is None else [models.reader]
        state = {"n_rows": self.n_rows_, **self._course.policy.state(), "runners": [own.state() for own in running]}
        arrays: dict[str, np.ndarray] = {}
        if models.last is not None:
            state["last"], arrays = models.last.to_state()
        return {"state": state, "arrays": arrays, "models": [*(own.model for own in running), *reader]}

    def _take_model_state(self, state: dict[str, Any]) -> None:
        data, models = state["state"], state["models"]
        (self._course.n_rows,) = saved.read("state of its stream", data, {"n_rows": saved.whole()}).values()
        self._course.policy.take_state(data)
        runners = [Runner.from_state(own, model) for own, model in zip(data["runners"], models, strict=False)]
        if len(runners) not in (1, 2) or len(models) - len(data["runners"]) not in (0, 1):
            raise ModelFileError(f"it has {len(models)} models, {len(data['runners'])} of them with answers")
        self._models.go_on(runners, models[len(runners)] if len(models) > len(runners) else None)
        self._follow()
        if "last" in data and self._models.share_columns:
            self._models.last = LastNumbers(self._front.model)
            self._models.last.take_state(data["last"], state["arrays"])


def _names_no_column(option: str, value: Any, schema: Schema) -> bool:
    """Whether an option says the same of a model that sees some of the columns alone."""
    if option == "super_parent":  # a name or a place
        return isinstance(value, str) and value not in schema
    return isinstance(value, bool | int | float | None) or (isinstance(value, str) and value not in schema)
