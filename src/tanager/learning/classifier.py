"""Classifier: what every classifier shares, whatever it learns. The only place that talks scikit-learn.

A table comes in; kinds and cut points are learned from the first rows, classes and values that are new are welcome at
any time, and answers are probabilities. A subclass says what an empty model of a schema is (``_start_model``), how it
learns rows (``_count``) and how it scores them (``_scores``).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tanager.counts.align import class_map, sort_labels, union_labels
from tanager.encoding import Encoder, Schema, encode_labels, encode_more_labels
from tanager.encoding.chunks import n_rows, rows_of_dicts, take_rows
from tanager.encoding.kinds import settled
from tanager.encoding.tables import Table, read_table
from tanager.encoding.validation import (
    check_lengths,
    check_times,
    check_weights,
    column_name,
    one_dimensional,
    refuse_fractions,
)
from tanager.errors import DataError, DataWarning, ModelFileError, OptionError, SchemaMismatch
from tanager.learning.one_row import OneRowMixin
from tanager.learning.rows import WarmUp
from tanager.scoring.decision import check_costs, decide

_SAMPLE = 4096  # rows of a code array that are looked at for a first guess of its values


class Classifier(OneRowMixin, ClassifierMixin, BaseEstimator):
    """A classifier that takes any table, as a whole or as a stream.

    Subclasses are keyword dataclasses and have at least these options: ``cost_matrix``, ``categorical``, ``numeric``,
    ``max_values``, ``schema``, ``warm_up`` and ``n_jobs``.
    """

    cost_matrix: Any
    categorical: Any
    numeric: Any
    max_values: int
    schema: Schema | None
    warm_up: int
    n_jobs: int | None
    n_features_in_: int

    # --- what a subclass says -----------------------------------------------------------------------------------

    def _start_model(self) -> None:
        """Make an empty model for the schema of the encoder and the classes known so far."""
        raise NotImplementedError

    def _count(
        self,
        X: Any,
        labels: np.ndarray,
        weights: np.ndarray | None,
        classes: np.ndarray | None = None,
        times: np.ndarray | None = None,
    ) -> None:
        """Learn rows whose labels are codes; `classes` are all classes, some of them perhaps new."""
        raise NotImplementedError

    def _move_classes(self, places: np.ndarray, classes: np.ndarray) -> None:
        """There are more classes: class c is now places[c]. What was learned makes room, or refuses."""
        raise NotImplementedError

    def _scores(self, X: Any, *, log_joint: bool) -> np.ndarray:
        """Probabilities of the classes for each row, or logs of the joint."""
        raise NotImplementedError

    def _class_sizes(self) -> np.ndarray:
        """How much each class weighs; the heavier one wins a tie."""
        raise NotImplementedError

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What was learned beyond schema and classes, as plain data and arrays for a model file."""
        raise NotImplementedError

    def _take_state(self, data: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take back what ``_state`` gave; ``encoder_`` and ``classes_`` are there. Unsound data are refused."""
        raise NotImplementedError

    def _check_options(self) -> None:
        """Refuse options that mean nothing, before anything is learned."""
        if isinstance(self.warm_up, bool) or not isinstance(self.warm_up, int | np.integer) or self.warm_up < 1:
            raise OptionError(f"warm_up={self.warm_up!r}: give a number of rows of at least 1.")
        if isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, int | np.integer | None) or self.n_jobs == 0:
            raise OptionError(f"n_jobs={self.n_jobs!r}: give a number of threads, -1 for all cores, or None for one.")
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise OptionError(f"schema={self.schema!r} is a {type(self.schema).__name__}; give a Schema, or None.")

    # --- learning -----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, times: Any = None) -> Classifier:
        """Learn from a table, forgetting all that was learned before. Rows without a label are left out.

        ``times`` says when each row happened (numbers in seconds, or dates), for models that forget by time.
        """
        self._start()
        self._learn(X, y, sample_weight, times, whole=True)
        self._check_learned()
        return self

    def _check_learned(self) -> None:
        """After all rows: options that speak of classes fit them."""
        check_costs(self.cost_matrix, self.classes_)

    def _begin(self, X: Any, y: Any) -> None:
        """Fix kinds and cut points by a sample of the rows that ``partial_fit`` will bring; nothing is counted yet."""
        self._start()
        table = self._validate(X, reset=True)
        labels, classes = self._labels(one_dimensional(y))
        self._add_classes(classes)
        self._start_encoder(table, labels, None)
        self.n_features_in_ = len(self.encoder_.schema.names)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, times: Any = None
    ) -> Classifier:
        """Learn more rows. New values and classes are welcome; ``classes`` may declare some beforehand."""
        if not hasattr(self, "classes_"):
            self._start()
        if classes is not None:
            self._add_classes(sort_labels(np.asarray(classes)))
        return self._learn(X, y, sample_weight, times, whole=False)

    def _start(self) -> None:
        """Forget everything."""
        self._check_options()
        for name in ("n_features_in_", "feature_names_in_", "encoder_"):
            self.__dict__.pop(name, None)
        self.classes_ = np.array([], dtype=object)
        self.target_name_: str | None = None
        self._warm: WarmUp | None = None

    def _learn(self, X: Any, y: Any, sample_weight: Any, times: Any = None, *, whole: bool) -> Classifier:
        if y is None:
            raise DataError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        table = self._validate(X, reset=not hasattr(self, "n_features_in_"))
        self.target_name_ = self.target_name_ or column_name(y)
        y = one_dimensional(y)
        check_lengths(table.n_rows, y)
        weights, moments = check_weights(sample_weight, table.n_rows), check_times(times, table.n_rows)
        labels, classes = self._labels(y)
        self._tell_unlabelled(int(np.count_nonzero(labels == np.iinfo(labels.dtype).max)))
        if weights is not None and not weights.any():
            if whole:
                raise DataError("every sample weight is zero; at least one row must count.")
            self._add_classes(classes)
            return self  # such rows teach their class and nothing else
        if whole:
            self._add_classes(classes)
            self._start_encoder(table, labels, weights)
            self._count(table, labels, weights, None, moments)
        elif not hasattr(self, "encoder_") or self._warm is not None:
            self._warm_up(X, labels, weights, classes, moments)
        else:  # dicts may bring new columns
            self._count(X if rows_of_dicts(X) else table, labels, weights, classes, moments)
        if hasattr(self, "encoder_"):
            self.n_features_in_ = len(self.encoder_.schema.names)
        return self

    def _tell_unlabelled(self, n: int) -> None:
        """Rows without a label teach nothing, unless a subclass knows better."""
        if n:
            these = "1 row has no label and is" if n == 1 else f"{n:,} rows have no label and are"
            warnings.warn(f"{these} left out.", DataWarning, stacklevel=4)

    def _validate(self, X: Any, *, reset: bool) -> Table:
        """The table, sound in itself. scikit-learn notes (or checks) number and names of columns where it knows X."""
        table = read_table(X)
        if not isinstance(X, Mapping) and not rows_of_dicts(X):
            try:
                validate_data(self, X, skip_check_array=True, reset=reset)
            except ValueError as error:  # in words that its own checks prescribe
                raise SchemaMismatch(str(error).strip()) from None
        return table

    def _labels(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Class codes among the classes known and new, and these classes; nothing is changed yet."""
        if len(self.classes_) == 0:
            labels, classes = encode_labels(y)
        else:
            labels, classes, _ = encode_more_labels(y, self.classes_)
        refuse_fractions(classes)
        return labels, classes

    def _add_classes(self, classes: np.ndarray) -> None:
        everything = union_labels(self.classes_, classes) if len(self.classes_) else classes
        if everything is self.classes_:
            return
        places = class_map(self.classes_, everything)
        if hasattr(self, "encoder_"):
            self._move_classes(places, everything)  # first, because it may be refused
        if self._warm is not None:
            self._warm.move_classes(places)
        self.classes_ = everything

    def _encoder_options(self) -> dict[str, Any]:
        """How columns become codes; see ``Encoder``."""
        return {name: getattr(self, name) for name in ("categorical", "numeric", "max_values", "schema")}

    def _start_encoder(self, X: Any, labels: np.ndarray, weights: np.ndarray | None) -> None:
        """Learn the schema from these rows and make an empty model for it."""
        self.encoder_ = Encoder(**self._encoder_options())
        codes = read_table(X).codes
        if codes is not None and len(codes) > _SAMPLE:  # a first guess; counting itself finds further codes
            X, labels = codes[:_SAMPLE], labels[:_SAMPLE]
            weights = None if weights is None else weights[:_SAMPLE]
        self.encoder_.fit(X, labels, weights, len(self.classes_))
        self._start_model()

    def _warm_up(
        self,
        X: Any,
        labels: np.ndarray,
        weights: np.ndarray | None,
        classes: np.ndarray,
        times: np.ndarray | None = None,
    ) -> None:
        """Collect first rows until kinds and cut points can be fixed; then count them all."""
        table = read_table(X)
        for i in range(table.n_columns):
            table.column(i)  # refuses cells that cannot be used while they are not yet kept
        self._add_classes(classes)
        warm = self._warm = self._warm or WarmUp()
        warm.append(X, labels, weights, times)
        first = warm.n_rows == n_rows(X)
        if warm.n_rows >= self.warm_up:
            self._freeze(self.warm_up)
        elif self.schema is not None or (first and self._settled(X, labels, weights)):
            self._freeze(warm.n_rows)

    def _settled(self, X: Any, labels: np.ndarray, weights: np.ndarray | None) -> bool:
        """Whether these rows hold no numbers to cut, so that nothing needs to wait."""
        trial = Encoder(**self._encoder_options()).fit(X, labels, weights, len(self.classes_))
        return all(settled(column) for column in trial.schema.columns)

    def _freeze(self, n_first: int) -> None:
        warm, self._warm = self._warm, None
        assert warm is not None
        self._recount(warm, n_first)

    def _recount(self, warm: WarmUp, n_first: int) -> None:
        """Learn the schema from the first rows of a warm-up and count all its rows anew."""
        X, labels, weights = warm.X, warm.labels, warm.weights
        head = None if weights is None else weights[:n_first]
        self._start_encoder(take_rows(X, 0, n_first), labels[:n_first], head)
        self._count(X, labels, weights, None, warm.times)

    def _settle(self) -> None:
        """Before an answer: learn the rows of a warm-up, with cut points from its last doubling."""
        warm = self._warm
        if warm is None or warm.counted == warm.n_rows or warm.n_rows == 0:
            return
        stage = 1 << (warm.n_rows.bit_length() - 1)
        if stage != warm.stage or not hasattr(self, "encoder_"):
            self._recount(warm, stage)
            warm.stage = stage
        else:
            start = warm.counted
            weights, times = (None if part is None else part[start:] for part in (warm.weights, warm.times))
            self._count(take_rows(warm.X, start, warm.n_rows), warm.labels[start:], weights, None, times)
        warm.counted = warm.n_rows

    # --- answers ------------------------------------------------------------------------------------------------

    def _ready(self) -> None:
        check_is_fitted(self, "classes_")
        self._settle()
        if not hasattr(self, "encoder_"):
            raise DataError(f"{type(self).__name__} has learned no rows yet. Call fit or partial_fit with rows first.")

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class (columns in the order of ``classes_``) for every row."""
        return self._scores(X, log_joint=False)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of ``predict_proba``, also where that is too small to write down."""
        joint = self.predict_log_joint(X)
        top = joint.max(axis=1, keepdims=True)
        return joint - top - np.log(np.exp(joint - top).sum(axis=1, keepdims=True))

    def predict_log_joint(self, X: Any) -> np.ndarray:
        """log P(class, row), up to what all classes share."""
        return self._scores(X, log_joint=True)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row, or with a cost matrix the class of least expected loss."""
        return self._decide(self.predict_proba(X))

    def _decide(self, proba: np.ndarray) -> np.ndarray:
        return self.classes_[decide(proba, self._class_sizes(), check_costs(self.cost_matrix, self.classes_))]

    # --- pictures and files -------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this model to one file; see ``tanager.save``."""
        import tanager

        tanager.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Classifier:
        """The model in a file, which must be of this class; see ``tanager.load`` for any class."""
        import tanager

        model = tanager.load(path)
        if not isinstance(model, cls):
            name = type(model).__name__
            raise ModelFileError(f"{str(path)!r} holds {name}, not {cls.__name__}. Use {name}.load or tanager.load.")
        return model

    # --- small things -------------------------------------------------------------------------------------------

    def _class_name(self) -> str:
        """What the class is called beside the columns: the name of the target, or "class"."""
        name = self.target_name_ or "class"
        while name in self.encoder_.schema:
            name += "_"
        return name

    def _threads(self) -> int:
        if self.n_jobs is None:
            return 1
        wanted = (os.cpu_count() or 1) + 1 + self.n_jobs if self.n_jobs < 0 else self.n_jobs
        return int(min(max(1, wanted), 1024))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags
