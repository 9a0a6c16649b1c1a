"""The models that run along a stream for DriftAware, and the columns that all of them have."""

from __future__ import annotations

from typing import Any

import numpy as np

from tanager.estimator import clone
from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.stream import begin_again, count_anew, take_columns, warm_up_of
from tanager.learning.warm_up import WarmUp
from tanager.streams.last_numbers import LastNumbers
from tanager.streams.runner import Runner


class RunningModels:
    """The model that answers (``front``), one in the background that may take its place (``back``), or none.

    Rows are encoded once for all of them where they can share columns: those that the first rows of the stream have
    fixed, with number columns cut anew by the last rows for a model that begins.
    """

    def __init__(self, given: Classifier, recent: int, target: str | None) -> None:
        self._given, self._recent = given, recent
        model = self._unlearned()
        model.start(None, None)
        model.target_name_ = target
        self.front = Runner(model, 0, recent)
        self.back: Runner | None = None
        self._idle: Runner | None = None  # with a model that is gone; the next may begin in its place
        self.reader: CountsClassifier | None = None  # fixes the columns, where it no longer answers
        self.last: LastNumbers | None = None  # once columns are fixed
        # While first rows run through that are kept afterwards: how many more the stream has had than were kept.
        self.ahead_of_kept: int | None = None

    def go_on(self, runners: list[Runner], reader: CountsClassifier | None) -> None:
        """Go on with one or two models of a file, and that which fixes the columns."""
        self.front, self.back = runners[0], runners[1] if len(runners) > 1 else None
        self._idle, self.reader = None, reader

    @property
    def running(self) -> list[Runner]:
        """The model that answers, and that in the background if there is one."""
        return [self.front] if self.back is None else [self.front, self.back]

    @property
    def idle(self) -> Classifier | None:
        """A model that is gone, in whose place the next may begin."""
        return None if self._idle is None else self._idle.model

    @property
    def classes(self) -> np.ndarray:
        """The classes known so far."""
        known: np.ndarray = self.front.model.classes_
        return known

    def add_classes(self, classes: np.ndarray) -> None:
        """Take in classes before their first rows are learned."""
        for runner in self.running:
            runner.model.add_classes(classes)
        if self.reader is not None:
            self.reader.add_classes(classes)

    def follow_classes(self) -> None:
        """Class codes of the last rows are those of the model in front."""
        if self.last is not None:
            self.last.follow(self.classes)

    def settle(self) -> None:
        """Let others have all that was learned of rows that were encoded ahead."""
        for runner in [*self.running, *([] if self._idle is None else [self._idle])]:
            runner.settle()

    # --- models begin and go ------------------------------------------------------------------------------------

    def fresh(self, n_rows: int) -> Runner:
        """A model that has learned no row, after so many of the stream: it knows classes and columns as they are."""
        front = self.front.model
        classes, target = front.classes_, front.target_name_
        warming = self.follow_warm_up()
        if warming is None and self.share_columns:
            return Runner(self._with_columns(classes, target), n_rows, self._recent)
        model = self._unlearned()
        fresh = Runner(model, n_rows, self._recent)
        if warming is not None:
            first, warm = warming
            # That in front has met the values since, where another one fixes the columns.
            model.fit_columns(front.counts_.schema, classes, target, named="feature_names_in_" in vars(first))
            model.encoder_.adopt(front.encoder_.schema)
            fresh.stage = warm.stage
            fresh.since = warm.n_rows if self.ahead_of_kept is None else n_rows - self.ahead_of_kept
        else:
            model.start(classes, target)
        return fresh

    def _unlearned(self) -> Any:
        """The model as it was given, without anything learned. scikit-learn's ``clone`` takes half of a fresh start."""
        options = self._given.get_params(deep=False)
        if any(type(value) not in (bool, int, float, str, type(None)) for value in options.values()):
            return clone(self._given)
        return type(self._given)(**options)

    def _with_columns(self, classes: np.ndarray, target: str | None) -> CountsClassifier:
        """A model with the columns of the stream as they are by now, and no rows."""
        front = self.front.model
        assert isinstance(front, CountsClassifier)
        known = front.counts_.schema  # the encoder may know values of rows that are yet to come
        schema = known if self.last is None else self.last.schema_for_fresh(known)
        idle, self._idle = self._idle, None
        if idle is not None and begin_again(idle.model, schema, classes):
            own: CountsClassifier = idle.model
            return own
        if idle is not None:
            idle.settle()
        model: CountsClassifier = self._unlearned()
        model.fit_columns(schema, classes, target, named="feature_names_in_" in vars(front))
        if schema is known:
            model.encoder_.adopt(front.encoder_.schema)
        return model

    def begin_background(self, n_rows: int) -> None:
        """Let a fresh model run in the background."""
        self.drop_background()
        self.back = self.fresh(n_rows)

    def drop_background(self) -> None:
        """No model runs in the background any more."""
        if self.back is not self.front:
            self._retire(self.back)
        self.back = None

    def replace_front(self, by: Runner) -> None:
        """Another model answers from now on. One that still warms up goes on with that, for the columns of all."""
        if self.reader is None and _can_share(self.front.model) and self.front.model.n_warm_up_rows:
            self.front.settle()
            self.reader = self.front.model
        else:
            self._retire(self.front)
        self.front = by

    def _retire(self, runner: Runner | None) -> None:
        """A model is gone; the next may begin in its place."""
        if runner is None:
            return
        if _can_share(runner.model) and runner.model.columns_fixed:
            runner, self._idle = self._idle, runner
        if runner is not None:
            runner.settle()

    # --- columns ------------------------------------------------------------------------------------------------

    @property
    def share_columns(self) -> bool:
        """Whether kinds, values and cut points of the model in front do for others, so that rows are encoded once."""
        return self.reader is None and _can_share(self.front.model) and self.front.model.columns_fixed

    @property
    def all_fixed(self) -> bool:
        """Whether all models have columns for good, so that rows are encoded for them together."""
        return self.share_columns and (self.back is None or self.back.model.columns_fixed)

    @property
    def warming(self) -> CountsClassifier | None:
        """The model whose first rows are yet to fix the columns of all."""
        first = self.reader or self.front.model
        return first if _can_share(first) and first.n_warm_up_rows else None

    @property
    def watched_numbers(self) -> LastNumbers | None:
        """The last rows, where cut points of models to come are learned from them."""
        return self.last if self.last is not None and self.last.columns else None

    def follow_warm_up(self) -> tuple[CountsClassifier, WarmUp] | None:
        """Let the models that began later have the columns that the first rows give by now, and count their rows anew.

        The model that warms up, and its rows; None where columns are fixed, or every model has its own.
        """
        first = self.warming
        warm = None if first is None else warm_up_of(first)
        if first is None or warm is None:
            return None
        for runner in self.running:
            if runner.since is not None and runner.stage != warm.stage:
                count_anew(runner.model, first, warm, runner.since)
                runner.stage = warm.stage
        return first, warm

    def end_warm_up_with(self, warming: tuple[CountsClassifier, WarmUp] | None) -> None:
        """Where the first rows have now fixed the columns, all models have them.

        Where they have doubled, one that answers in place of the first model has their cut points before anybody asks.
        """
        if warming is None or not warming[0].columns_fixed:
            if self.reader is not None:
                self.follow_warm_up()
            return
        for runner in self.running:
            if runner.since is not None:
                count_anew(runner.model, *warming, runner.since)
                runner.since = runner.stage = None
        self.settle_columns()

    def settle_columns(self) -> None:
        """Once the first rows of the stream have fixed the columns: all models have these, and numbers are watched."""
        first = self.reader or self.front.model
        if self.last is not None or not _can_share(first) or not first.columns_fixed:
            return
        for runner in self.running:
            if runner.model.n_warm_up_rows:  # of its own, in an older file
                take_columns(runner.model, first)
        self.reader, self.last = None, LastNumbers(first)
        self.follow_classes()


def _can_share(model: Classifier) -> bool:
    """Whether its columns do for other models, so that rows are encoded once for all."""
    return isinstance(model, CountsClassifier) and model.recut is None
