"""Classifier: what every classifier shares, whatever it learns.

A table comes in; kinds and cut points are learned from the first rows, classes and values that are new are welcome at
any time, and answers are probabilities. A subclass says what an empty model of a schema is (``_start_model``), how it
learns rows (``_count``) and how it scores them (``_scores``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from tanager.counts.align import as_label_array, class_map, sort_labels, union_labels
from tanager.encoding import Encoder, Schema, encode_labels, encode_more_labels
from tanager.encoding.chunks import rows_of_dicts
from tanager.encoding.dates import DatesOption
from tanager.encoding.policy import tell_columns
from tanager.encoding.tables import Table
from tanager.encoding.typing import Columns, Label, LabelsLike, Row, TableLike, Time, TimesLike, WeightsLike
from tanager.encoding.validation import (
    check_weights,
    one_dimensional,
    refuse_fractions,
)
from tanager.encoding.values import is_missing
from tanager.errors import DataError, ModelFileError, OptionError, warn_user
from tanager.estimator import Estimator, shows_text
from tanager.labelled import LabelledTable
from tanager.learning import answer_then_learn, first_rows, in_order, model_state, reading
from tanager.learning.answer_then_learn import Answers
from tanager.learning.batch import Batch, StreamPart
from tanager.learning.display import model_html
from tanager.learning.explaining import asked
from tanager.learning.explanations import Explanations
from tanager.learning.labelled_answers import labelled_answers
from tanager.learning.reading import check_row
from tanager.learning.turns import TakesTurns
from tanager.learning.warm_up import WarmUp
from tanager.listed import names_in
from tanager.scoring.decision import check_costs, decide
from tanager.scoring.explain import Explanation
from tanager.shortcuts import public

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

ROUGH = 1e6  # log joints beyond this differ by less than they are rounded to; probabilities are worked out by ratios


class Classifier(TakesTurns, Estimator):
    """A classifier that takes any table, as a whole or as a stream.

    Subclasses are keyword dataclasses and have at least these options: ``cost_matrix``, ``categorical``, ``numeric``,
    ``keep``, ``max_values``, ``schema``, ``warm_up`` and ``n_jobs``.

    Threads may share a model: see ``tanager.learning.turns``.
    """

    unlisted = names_in("""
        add_classes can_leave_out check_fitted check_labels check_learned check_options
        check_row_times check_started check_teachable choose class_codes class_name classes_with code_of columns_fixed
        count_warm_up encoder_options fit_columns fit_schema fit_table from_state has_chosen has_learned keeps_choice
        knows_columns label_codes learns_unlabelled n_threads n_warm_up_rows note_columns note_read_up_to options_hold
        read_again_by start started stream_proba take_over to_state validate_table
    """)

    _answers_side_by_side: ClassVar[bool] = False  # whether answers after the first change nothing in the model

    cost_matrix: ArrayLike | None
    categorical: Columns | str | None
    numeric: Columns | None
    keep: Columns | str | None
    dates: DatesOption
    max_values: int
    schema: Schema | None
    warm_up: int
    n_jobs: int | None

    classes_: np.ndarray  # there once learning has begun
    encoder_: Encoder  # there once the columns are known
    n_features_in_: int
    target_name_: str | None
    _warm_up: WarmUp | None = None  # the first rows of a stream, while cut points are not fixed
    _options_hold = False  # see ``options_hold``

    # --- what a subclass says -----------------------------------------------------------------------------------

    def _start_model(self) -> None:
        """Make an empty model for the schema of the encoder and the classes known so far."""
        raise NotImplementedError

    def _count(self, batch: Batch, classes: np.ndarray | None = None) -> None:
        """Learn rows; `classes` are all classes, some of them perhaps new."""
        raise NotImplementedError

    def _move_classes(self, places: np.ndarray, classes: np.ndarray) -> None:
        """There are more classes: class c is now places[c]. What was learned makes room, or refuses."""
        raise NotImplementedError

    def _scores(self, X: Any, *, log_joint: bool) -> np.ndarray:
        """Probabilities of the classes for each row, or logs of the joint."""
        raise NotImplementedError

    def _explained(self, X: Any, answer: Any, against: Any, *, one_alone: bool) -> Any:
        """What ``explain_rows`` gives for a table, and with `one_alone` for one row an ``Explanation``."""
        raise NotImplementedError

    @property
    def class_count_(self) -> np.ndarray:
        """How much the rows of each class weigh; the heavier class wins a tie."""
        raise NotImplementedError

    @property
    def can_leave_out(self) -> bool:
        """Whether ``leave_one_out`` can work out the answer without a learned row."""
        return False

    def check_options(self) -> None:
        """Refuse options that mean nothing, before anything is learned."""
        if isinstance(self.warm_up, bool) or not isinstance(self.warm_up, int | np.integer) or self.warm_up < 1:
            raise OptionError(f"warm_up={self.warm_up!r}: give a number of rows of at least 1.")
        if isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, int | np.integer | None) or self.n_jobs == 0:
            raise OptionError(f"n_jobs={self.n_jobs!r}: give a number of threads, -1 for all cores, or None for one.")
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise OptionError(f"schema={self.schema!r} is a {type(self.schema).__name__}; give a Schema, or None.")

    def options_hold(self) -> None:
        """Options need not be checked: this is a copy, made by another part, of a model that has checked them."""
        self._options_hold = True

    # --- the life of a model: nothing learned, warming up, columns fixed ----------------------------------------

    def start(self, classes: np.ndarray | None = None, target: str | None = None) -> Self:
        """Forget everything. ``classes`` are known beforehand; ``target`` is what the class is called."""
        if not self._options_hold:
            self.check_options()
        for name in ("n_features_in_", "feature_names_in_", "encoder_", "read_up_to_"):
            self.__dict__.pop(name, None)
        self.classes_ = np.array([], dtype=object)
        self.target_name_ = target
        self._warm_up = None
        if classes is not None:
            self.add_classes(classes)
        return self

    @property
    def started(self) -> bool:
        """Whether learning has begun; no row may have been counted yet."""
        return "classes_" in self.__dict__

    @property
    def knows_columns(self) -> bool:
        """Whether there is an encoder; its cut points may be provisional."""
        return "encoder_" in self.__dict__

    @property
    def schema_(self) -> Schema:
        """What was decided about the columns of the table, and which of them are left out.

        It can be printed, changed (``change``, ``without``), saved, and given to another model with ``schema=``.
        """
        self.check_started()
        if not self.has_learned:
            raise DataError(f"{type(self).__name__} knows no columns yet. Call fit or partial_fit with rows first.")
        return self.encoder_.schema

    @property
    def columns_fixed(self) -> bool:
        """Whether kinds and cut points are no longer provisional."""
        return self.knows_columns and self._warm_up is None

    @property
    def read_up_to(self) -> dict[str, int]:
        """Where learning goes on in each source that keeps its rows (a log file, a Kafka topic), by its name."""
        return dict(self.__dict__.get("read_up_to_", {}))

    def note_read_up_to(self, positions: dict[str, int]) -> None:
        """Say how far sources were learned; it is saved with the model."""
        sound = isinstance(positions, dict) and all(type(at) is int and at >= 0 for at in positions.values())
        if not sound:
            raise ModelFileError("it does not say with whole numbers how far its sources were read")
        if positions:
            self.__dict__["read_up_to_"] = self.read_up_to | {str(source): at for source, at in positions.items()}

    @property
    def n_warm_up_rows(self) -> int:
        """How many first rows of a stream are kept until its columns are fixed."""
        return 0 if self._warm_up is None else self._warm_up.n_rows

    def check_row_times(self, times: np.ndarray | None, n_rows: int) -> None:
        """Refuse rows without times where the model forgets by time, and rows that come too late for its window."""

    def check_teachable(self) -> None:
        """Refuse rows that come or go where a model can only answer, before anything has changed."""

    @property
    def has_learned(self) -> bool:
        """Whether there are rows to answer from; those of a warm-up are counted first."""
        if self._warm_up is not None and self.started:
            self.count_warm_up()
        return self.knows_columns

    @property
    def keeps_choice(self) -> bool:
        """Whether later answers keep what an earlier one has chosen, so that it matters when that one was asked for."""
        return False

    @property
    def has_chosen(self) -> bool:
        """Whether such a choice was made."""
        return False

    def choose(self) -> None:
        """Choose what is due, as an answer would."""

    def check_started(self) -> None:
        """Refuse a model that was never given a row, by the error that scikit-learn has for this."""
        if not self.started:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )

    def check_fitted(self) -> None:
        """Refuse a model that has learned no rows; those of a warm-up are counted first."""
        self.check_started()
        if not self.has_learned:
            raise DataError(f"{type(self).__name__} has learned no rows yet. Call fit or partial_fit with rows first.")

    # --- learning -----------------------------------------------------------------------------------------------

    def fit(
        self,
        X: TableLike,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        times: TimesLike | None = None,
    ) -> Self:
        """Learn from a table, forgetting all that was learned before. Rows without a label are left out.

        ``times`` says when each row happened (numbers in seconds, or dates), for models that forget by time.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        y : array of labels, default=None
            The class of every row: text, booleans or whole numbers.
        sample_weight : array of numbers, default=None
            How much each row counts. None: all alike.
        times : array of numbers or dates, default=None
            When the rows happened, for models that forget by time.

        Returns
        -------
        self
            The model itself.

        Raises
        ------
        DataError
            Where the table, the labels or the weights cannot be used as they are.
        OptionError
            Where an option means nothing.
        MemoryBudgetError
            Where the counts would take more than ``max_memory``.
        """
        self._fit(X, y, sample_weight, times)
        if not self.encoder_.given:
            tell_columns(self.encoder_.schema)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, times: Any, target: str | None = None) -> Self:
        self.start(target=target)
        batch, classes = self._read(X, y, sample_weight, times)
        if batch.weights is not None and not batch.weights.any():
            raise DataError("every sample weight is zero; at least one row must count.")
        self.add_classes(classes)
        self._start_encoder(batch)
        self._count(batch)
        self.note_columns()
        self.check_learned()
        self._columns_fixed_by(batch)
        return self

    def fit_table(self, X: Any, y: Any, target: str, times: Any = None) -> Self:
        """``fit`` with a name for the class, which arcs that a network must or must not have may refer to."""
        return self._fit(X, y, None, times, target)

    def fit_schema(self, X: Any, y: Any, target: str | None = None) -> Self:
        """Fix kinds and cut points by a sample of the rows that ``partial_fit`` will bring; nothing is counted yet."""
        self.start(target=target)
        table = self.validate_table(X, reset=True)
        labels, classes = self.label_codes(one_dimensional(y))
        self.add_classes(classes)
        self._start_encoder(Batch(table, labels), stream=True)
        self.note_columns()
        return self

    def fit_columns(
        self, schema: Schema, classes: np.ndarray | None, target: str | None = None, *, named: bool = True
    ) -> Self:
        """Take columns and classes as they were found elsewhere, in all rows that will come; nothing is counted yet.

        For parts of a table that are learned apart, to be put together. ``named``: the table itself names its columns.
        """
        self.start(classes, target)
        options = self.encoder_options()
        given = options.pop("schema") is not None
        self.encoder_ = Encoder.from_schema(schema, given=given, **options)
        self._start_model()
        self.note_columns()
        if named:
            self.feature_names_in_ = np.array(schema.table_names, dtype=object)
        return self

    def read_again_by(self, read: Callable[[], Iterable[tuple[Any, Any]]]) -> None:
        """Tables and labels that are about to be learned can be read again; a subclass may make use of that."""

    def check_learned(self) -> None:
        """After all rows: refuse options that do not fit the classes."""
        check_costs(self.cost_matrix, self.classes_)

    def partial_fit(
        self,
        X: TableLike,
        y: LabelsLike | None = None,
        classes: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        times: TimesLike | None = None,
    ) -> Self:
        """Learn more rows. New values and classes are welcome; ``classes`` may declare some beforehand.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        y : array of labels, default=None
            The class of every row: text, booleans or whole numbers.
        classes : array of labels, default=None
            Classes that are known beforehand.
        sample_weight : array of numbers, default=None
            How much each row counts. None: all alike.
        times : array of numbers or dates, default=None
            When the rows happened, for models that forget by time.

        Returns
        -------
        self
            The model itself.

        Raises
        ------
        DataError
            Where the table, the labels or the weights cannot be used as they are.
        OptionError
            Where an option means nothing.
        MemoryBudgetError
            Where the counts would take more than ``max_memory``.
        """
        self.check_teachable()
        if not self.started:
            self.start()
        if classes is not None:
            self.add_classes(sort_labels(np.asarray(classes)))
        self._learn(X, y, sample_weight, times)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any, times: Any) -> None:
        batch, classes = self._read(X, y, sample_weight, times)
        # First rows are kept as they came, and dicts may bring new columns.
        rows = X if not self.columns_fixed or rows_of_dicts(X) else batch.X
        batch = Batch(rows, batch.labels, batch.weights, batch.times)
        if self._learns_in_order:
            in_order.learn_in_order(self, rows, reading.as_labels(y), batch)
        else:
            self._learn_together(batch, classes)

    def _learn_together(self, batch: Batch, classes: np.ndarray) -> None:
        """Learn rows that were checked, with all classes that are known then."""
        if batch.weights is not None and not batch.weights.any():
            self.add_classes(classes)  # such rows teach their class and nothing else
            return
        if not self.columns_fixed:
            first_rows.warm_up_with(self, batch, classes)
        else:
            self._count(batch, classes)
        self.note_columns()

    @property
    def _learns_in_order(self) -> bool:
        """Whether what a row teaches depends on the classes and columns that are known by then."""
        return False

    def _read(self, X: Any, y: Any, sample_weight: Any, times: Any) -> tuple[Batch, np.ndarray]:
        """Checked rows, and all classes, some of them perhaps new; nothing is changed but the names that are noted."""
        return reading.read_rows(self, X, y, sample_weight, times)

    @property
    def learns_unlabelled(self) -> bool:
        """Whether rows without a label teach something."""
        return False

    def _warn_of_unlabelled(self, n: int) -> None:
        """Rows without a label teach nothing, unless a subclass knows better."""
        if n and not self.learns_unlabelled:
            these = "1 row has no label and is" if n == 1 else f"{n:,} rows have no label and are"
            warn_user(f"{these} left out.")

    def validate_table(self, X: Any, *, reset: bool) -> Table:
        """The table, sound in itself. Number and names of its columns are noted (``reset``) or checked."""
        return reading.validated(self, X, reset=reset)

    def note_columns(self) -> None:
        """Keep scikit-learn's number of columns up to date."""
        if self.knows_columns:
            self.n_features_in_ = self.encoder_.schema.width

    # --- classes ------------------------------------------------------------------------------------------------

    def check_labels(self, y: Any) -> None:
        """Refuse labels that cannot be classes; nothing is learned."""
        self.label_codes(one_dimensional(y))

    def label_codes(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Class codes among the classes known and new, and these classes; nothing is changed yet."""
        if len(self.classes_) == 0:
            labels, classes = encode_labels(y)
        else:
            labels, classes, _ = encode_more_labels(y, self.classes_)
        refuse_fractions(classes)
        return labels, classes

    def classes_with(self, y: Any) -> np.ndarray:
        """All classes, with those of these labels; nothing is changed."""
        return self.label_codes(y)[1]

    def add_classes(self, classes: np.ndarray) -> None:
        """Take in classes before their first rows are learned."""
        everything = union_labels(self.classes_, classes) if len(self.classes_) else classes
        if everything is self.classes_:
            return
        places = class_map(self.classes_, everything)
        if self.knows_columns:
            self._move_classes(places, everything)  # first, because it may be refused
        if self._warm_up is not None:
            self._warm_up.move_classes(places)
        self.classes_ = everything

    @property
    def class_codes(self) -> dict[Label, int]:
        """Label to class code; made again when classes have come."""
        cached: tuple[np.ndarray, dict[Any, int]] | None = self.__dict__.get("_codes_of_classes")
        if cached is None or cached[0] is not self.classes_:
            codes = {label: c for c, label in enumerate(self.classes_.tolist())}
            cached = self._codes_of_classes = (self.classes_, codes)
        return cached[1]

    def code_of(self, label: Label) -> int | None:
        """The code of a label; None where it is none of the classes."""
        try:
            cached = self.__dict__.get("_codes_of_classes")  # single rows come through here: as class_codes, no call
            if cached is not None and cached[0] is self.classes_:
                code: int | None = cached[1].get(label)
                return code
            return self.class_codes.get(label)
        except TypeError:  # a list, or something else that cannot be a class
            return None

    # --- columns, and the first rows of a stream ----------------------------------------------------------------

    def encoder_options(self) -> dict[str, Any]:
        """How columns become codes; see ``Encoder``."""
        names = ("categorical", "numeric", "keep", "dates", "max_values", "schema")
        return {name: getattr(self, name) for name in names}

    def _start_encoder(self, batch: Batch, *, first: bool = False, stream: bool = False, for_now: bool = False) -> None:
        """Learn the schema from these rows, and make an empty model for it.

        ``stream``: more rows will come. ``first``: and these rows fix the cut points for all of them. ``for_now``: they
        do so until there are more of them.
        """
        first_rows.learn_columns(self, batch, first=first, stream=stream, for_now=for_now)

    def _cuts_numbers(self) -> bool:
        """Whether number columns become bins, or are cut once they vary where the first rows of a stream show none."""
        return False

    def _nothing_to_cut(self, batch: Batch) -> bool:
        """Whether these rows hold no numbers to cut, and no text that may be ids, so that nothing needs to wait."""
        return first_rows.nothing_to_cut(self, batch)

    def _stays_uncut(self) -> bool:
        """Whether a number column that the first rows show no cut point of tells nothing for good."""
        return True

    def _columns_fixed_by(self, batch: Batch) -> None:
        """Kinds and cut points were fixed by these rows, which have been counted."""

    def count_warm_up(self) -> None:
        """Before an answer: count the rows of a warm-up, with cut points from its last doubling."""
        first_rows.count_warm_up(self)

    # --- answers ------------------------------------------------------------------------------------------------

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probability of every class (columns in the order of ``classes_``) for every row.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Probabilities that add up to 1 in every row.
        """
        scores = self._scores(X, log_joint=False)
        self._tell_unseen()
        return scores

    def _tell_unseen(self) -> None:
        """A word about values that training never had, once for each column."""
        self.encoder_.unseen_values.tell(getattr(self, "unseen", "ignore"))

    def probabilities(self, X: TableLike, **options: Any) -> pd.DataFrame | pl.DataFrame | LabelledTable:
        """``predict_proba`` as a table with labels: a column for each class, a line for each row of X.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        **options : object
            What ``predict_proba`` takes beside X.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or LabelledTable
            A pandas frame (with the index of X) for a pandas frame, a polars frame for a polars frame, and a
            ``LabelledTable`` for everything else.

        Examples
        --------
        >>> from tanager import NaiveBayes
        >>> model = NaiveBayes().fit([["sun"], ["sun"], ["rain"], ["rain"]], ["play", "play", "stay", "stay"])
        >>> model.probabilities([["sun"], ["rain"]])
        P(class | row)
             class
        row    play    stay
        0    0.7500  0.2500
        1    0.2500  0.7500
        """
        proba = self.predict_proba(X, **options)
        return labelled_answers(X, proba, self.classes_.tolist(), self.class_name)

    def predict_log_proba(self, X: TableLike) -> np.ndarray:
        """Logarithm of ``predict_proba``, also where that is too small to write down.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Natural logs of probabilities, with a column for each of ``classes_``.
        """
        joint = self.predict_log_joint(X)
        top = joint.max(axis=1, keepdims=True)
        log_proba: np.ndarray = joint - top - np.log(np.exp(joint - top).sum(axis=1, keepdims=True))
        if (np.abs(top) > ROUGH).any():
            proba = self.predict_proba(X)
            log_proba = np.log(proba, out=log_proba, where=(np.abs(top) > ROUGH) & (proba > 0.0))
        return log_proba

    def predict_log_joint(self, X: TableLike) -> np.ndarray:
        """Log P(class, row), up to a number that is the same for all classes of a row.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Natural logs, with a column for each of ``classes_``.
        """
        scores = self._scores(X, log_joint=True)
        self._tell_unseen()
        return scores

    def predict(self, X: TableLike) -> np.ndarray:
        """The most probable class of every row, or with a cost matrix the class of least expected loss.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.

        Returns
        -------
        array of shape (n_rows,)
            A label for every row.
        """
        return self.decide(self.predict_proba(X))

    def score(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike | None = None) -> float:
        """The share of rows that are answered rightly: accuracy.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        y : array of labels
            The class of every row: text, booleans or whole numbers.
        sample_weight : array of numbers, default=None
            How much each row counts. None: all alike.

        Returns
        -------
        float
            The share, from 0 to 1.
        """
        labels = one_dimensional(y)
        right = self.predict(X) == (as_label_array(labels) if isinstance(labels, list | tuple) else np.asarray(labels))
        return float(np.average(right, weights=check_weights(sample_weight, len(right))))

    def decide(self, proba: np.ndarray) -> np.ndarray:
        """The labels that ``predict`` answers with, from probabilities that are there already.

        Parameters
        ----------
        proba : array of shape (n_rows, n_classes)
            Probabilities, as ``predict_proba`` gives them.

        Returns
        -------
        array of shape (n_rows,)
            A label for every row: the most probable class, or with a cost matrix the one of least expected cost.

        Examples
        --------
        >>> from tanager import NaiveBayes
        >>> X, y = [["sun"], ["sun"], ["rain"]], ["play", "stay", "stay"]
        >>> model = NaiveBayes(cost_matrix=[[0, 10], [1, 0]]).fit(X, y)  # costs[true, predicted]
        >>> proba = model.predict_proba([["rain"]])
        >>> proba.round(2), model.decide(proba)
        (array([[0.31, 0.69]]), array(['play'], dtype='<U4'))
        """
        labels: np.ndarray = self.classes_[self._decided(proba)]
        return labels

    def _decided(self, proba: np.ndarray) -> np.ndarray:
        return decide(proba, self.class_count_, check_costs(self.cost_matrix, self.classes_))

    # --- reasons -------------------------------------------------------------------------------------------------

    def explain(
        self,
        X: Row | TableLike,
        answer: Label | None = None,
        against: Label | None = None,
        *,
        contrast: tuple[Label, Label] | None = None,
    ) -> Explanation | Explanations:
        """Why rows get their answers: log-odds of every column, adding up to those of the answer.

        By default the predicted class is set against the most probable other; where ``against`` is the predicted class
        itself, the next one is explained.

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
            The parts of the answer of one row, which can be printed; those of several rows, worked out together.

        Examples
        --------
        >>> from tanager import NaiveBayes
        >>> X = [["sun", "weak"], ["sun", "strong"], ["rain", "weak"], ["rain", "strong"]] * 5
        >>> model = NaiveBayes().fit(X, ["play", "play", "play", "stay"] * 5)
        >>> print(model.explain(["rain", "strong"]))
        'stay' rather than 'play': probability 0.6886, log-odds +0.7938
          prior         -0.9808
          x0 = rain     +0.8873
          x1 = strong   +0.8873
        """
        X, answer, against = asked(X, answer, against, contrast)
        return self._explained(X, answer, against, one_alone=True)

    def explain_rows(self, X: TableLike, answer: Label | None = None, against: Label | None = None) -> Explanations:
        """``explain`` for a table; also a table of one row gives ``Explanations``.

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
        found: Explanations = self._explained(X, answer, against, one_alone=False)
        return found

    # --- one row at a time, and whole streams -------------------------------------------------------------------

    def learn_one(self, row: Mapping[str, Any], y: Label, sample_weight: float = 1.0, time: Time | None = None) -> Self:
        """Learn one row. Absent keys are missing; a row without a label teaches nothing.

        Parameters
        ----------
        row : dict
            Column names and values.
        y : object
            Its class.
        sample_weight : float, default=1.0
            How much it counts.
        time : number or date, default=None
            When it happened, for models that forget by time.

        Returns
        -------
        self
            The model itself.
        """
        row = check_row(row, "learn_one")
        if is_missing(y):
            return self
        weights = None if sample_weight == 1.0 else np.array([sample_weight])
        return self.partial_fit([row], [y], sample_weight=weights, times=None if time is None else [time])

    def predict_proba_one(self, row: Mapping[str, Any]) -> dict[Label, float]:
        """Probability of every class known so far; an empty dict before the first row.

        Parameters
        ----------
        row : dict
            Column names and values.

        Returns
        -------
        dict of label to float
            The probability of each class.
        """
        row = check_row(row, "predict_proba_one")
        if not self.has_learned:
            return {}
        return dict(zip(self.class_codes, self.stream_proba([row])[0].tolist(), strict=True))

    def predict_one(self, row: Mapping[str, Any]) -> Label | None:
        """The answer for one row; None before the first row was learned.

        Parameters
        ----------
        row : dict
            Column names and values.

        Returns
        -------
        object
            A label.
        """
        proba = self.predict_proba_one(row)
        if not proba:
            return None
        label: Label = self.decide(np.array([list(proba.values())])).tolist()[0]
        return label

    def stream_proba(self, X: Any) -> np.ndarray:
        """``predict_proba`` as a stream answers: a structure that is due to be learned again may answer once more."""
        return self._scores(X, log_joint=False)

    def test_then_train(
        self,
        X: TableLike,
        y: LabelsLike,
        sample_weight: WeightsLike | None = None,
        times: TimesLike | None = None,
        answered: TableLike | None = None,
    ) -> np.ndarray:
        """Answer every row from the rows before it, then learn it; one column per class of the final ``classes_``.

        The same numbers as ``predict_proba_one`` and ``learn_one`` in turn, at the speed of compiled code. A row that
        comes before anything was learned is answered evenly; a class that was not known yet gets 0. Where the
        structure depends on the counts, it is learned again now and then; see ``refresh``.

        Parameters
        ----------
        X : table
            Rows to learn.
        y : array of labels
            The class of every row.
        sample_weight : array of numbers, default=None
            How much each row counts. None: all alike.
        times : array, default=None
            When they happened, for models that forget by time.
        answered : table, default=None
            Rows to answer, as many as are learned. None: the rows of X. With late labels they are newer than those.

        Returns
        -------
        array of shape (n_rows, n_classes)
            The probabilities that each row was answered with.

        Examples
        --------
        >>> from tanager import NaiveBayes
        >>> X, y = [["sun"], ["sun"], ["rain"]], ["play", "stay", "stay"]
        >>> NaiveBayes().test_then_train(X, y).round(2)  # nothing is known before the first row
        array([[0.5, 0.5],
               [1. , 0. ],
               [0.5, 0.5]])
        """
        return answer_then_learn.run(self, X, y, sample_weight, times, answered)

    def _answer_and_learn(self, rows: StreamPart) -> Answers:
        """Answer and learn at least the first of these rows."""
        return self._answer_and_learn_first(rows)

    def _answer_and_learn_first(self, rows: StreamPart) -> Answers:
        """Answer and learn the first row, whatever it holds."""
        return answer_then_learn.answer_and_learn_first(self, rows)

    # --- files --------------------------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """All that was learned, for a model file: plain data, with arrays under "arrays"."""
        return model_state.state_of(self)

    def from_state(self, state: dict[str, Any]) -> None:
        """Take back what ``to_state`` gave. Unsound data are refused."""
        model_state.take_state(self, state)

    def _model_state(self) -> dict[str, Any]:
        """What was learned beyond schema and classes."""
        raise NotImplementedError

    def _take_model_state(self, state: dict[str, Any]) -> None:
        """Take back what ``_model_state`` gave; ``encoder_`` and ``classes_`` are there."""
        raise NotImplementedError

    def take_over(self, other: Self) -> None:
        """Become what another model of this class is, options and all that it has learned."""
        self.__dict__.clear()
        self.__dict__.update(other.__dict__)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this model to one file; see ``tanager.save``.

        Parameters
        ----------
        path : str or PathLike
            Where to; a file that is there already is replaced at once or not at all.
        """
        public("save")(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The model in a file, which must be of this class; see ``tanager.load`` for any class.

        Parameters
        ----------
        path : str or PathLike
            The file.

        Returns
        -------
        object
            The model, which answers and learns as the saved one.

        Raises
        ------
        ModelFileError
            Where the file is damaged, no model file, or holds a model of another class.
        """
        model = public("load")(path)
        if not isinstance(model, cls):
            name = type(model).__name__
            raise ModelFileError(f"{str(path)!r} holds {name}, not {cls.__name__}. Use {name}.load or tanager.load.")
        return model

    # --- small things -------------------------------------------------------------------------------------------

    @property
    def class_name(self) -> str:
        """What the class is called beside the columns: the name of the target, or "class"."""
        name = self.target_name_ or "class"
        while name in self.encoder_.schema:
            name += "_"
        return name

    @property
    def n_threads(self) -> int:
        """Threads that ``n_jobs`` stands for."""
        if self.n_jobs is None:
            return 1
        wanted = (os.cpu_count() or 1) + 1 + self.n_jobs if self.n_jobs < 0 else self.n_jobs
        return int(min(max(1, wanted), 1024))

    def _repr_html_(self) -> str | None:
        """What a notebook shows; None where scikit-learn was told to show text (``set_config(display="text")``)."""
        return None if shows_text() else model_html(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # only scikit-learn asks for them
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags
