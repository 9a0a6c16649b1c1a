"""CountsClassifier: what all classifiers share that are views of joint counts.

A subclass says how wide it counts (``order``) and which form reads the counts (``_structure``); learning, prediction,
streams, leave-one-out, costs, missing and unseen values, rows and files are the same for all. A model holds a few
parts: the ``encoder_`` with the vocabulary, the ``Memory`` of what was learned, the scorer that answers, and, only
where it is asked for, the ``Recutting`` of number columns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from tanager.counts.align import as_label_array
from tanager.counts.block import Block, Query
from tanager.counts.context_moments import ContextMoments
from tanager.counts.estimates import Estimate, Lidstone, as_estimate
from tanager.counts.forgetting import Clock, Decay, Window, as_decay, as_window
from tanager.counts.joint import JointCounts
from tanager.counts.moments import Moments
from tanager.encoding import Encoder, Schema, encode_more_labels
from tanager.encoding.chunks import rows_of_dicts
from tanager.encoding.codes import checked_codes
from tanager.encoding.dates import DatesOption
from tanager.encoding.kinds import BinsOption
from tanager.encoding.tables import Table
from tanager.encoding.typing import (
    Columns,
    Label,
    LabelsLike,
    Order,
    PerClass,
    TableLike,
    Time,
    TimesLike,
    UnseenOption,
    WeightsLike,
)
from tanager.encoding.validation import check_lengths, check_times, check_weights, one_dimensional
from tanager.errors import (
    DataError,
    OptionError,
)
from tanager.learning import counting, counts_options, forgetting, model_state, reading, single_rows, stream
from tanager.learning.answer_then_learn import Answers
from tanager.learning.answering import Answering, Current, row_plan
from tanager.learning.batch import Batch, StreamPart
from tanager.learning.classifier import Classifier
from tanager.learning.contest import Contest
from tanager.learning.explaining import explain
from tanager.learning.explanations import Explanations
from tanager.learning.from_counts import from_counts
from tanager.learning.gaussian_option import check_named, with_densities
from tanager.learning.memory import Memory
from tanager.learning.merge import add_memory, merge_memories, mergeable
from tanager.learning.recut import Recutting, learn_between_looks
from tanager.learning.recut_option import FirstCuts, MovedCuts, Recut, as_recut
from tanager.learning.rows import KeptRows
from tanager.learning.structure_change import Hoeffding, Lead, StructureChange
from tanager.listed import names_in
from tanager.scoring.calibration import Calibrated, Calibration
from tanager.scoring.decision import class_factors, class_priors
from tanager.scoring.discriminative import Discriminative
from tanager.scoring.explain import Explanation
from tanager.scoring.forms import Form, ParentSet, ProductOfSums
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View
from tanager.shortcuts import public

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(eq=False, repr=False, kw_only=True)
class CountsClassifier(Classifier):
    """A classifier that is a view of joint counts.

    Its options are those of all classifiers over counts; see ``tanager.docstrings``.
    """

    unlisted = names_in("""
        add_memory answers_to_learn attach class_factors contest counts_shape
        current_structure default_bins default_estimate encode estimate flatters_left_out forgets form_is_all
        known_rows knows_structure learn_block learns_elsewhere leave_out looks_at_rows make_room may_choose_once
        memory merges_repeats order reads_numbers reasons_of recutting refresh_ratio repeats_as_weights saves_structure
        score_structure scorer_ scorer_over stream_scorer structure_state take_memory take_structure take_vocabulary
        uncalibrated view_ view_of
    """)

    smoothing: float | Estimate | str | None = 1.0
    unseen: UnseenOption = "ignore"
    cost_matrix: ArrayLike | None = None
    class_weight: PerClass | None = None
    priors: PerClass | None = None
    bins: BinsOption = None
    n_bins: int = 5
    mdl_encoding: str = "n-1"
    categorical: Columns | str | None = None
    ordinal: Order | None = None
    numeric: Columns | None = None
    keep: Columns | str | None = None
    dates: DatesOption = None
    max_values: int = 1000
    schema: Schema | None = None
    decay: float | str | timedelta | Decay | None = None
    window: float | str | timedelta | Window | None = None
    refresh: float | str | Hoeffding | None = None
    recut: str | Recut | None = None
    warm_up: int = 1000
    calibrate: bool = False
    max_memory: int | str | None = "2 GB"
    n_jobs: int | None = None

    _answers_side_by_side: ClassVar[bool] = True
    default_bins: ClassVar[str] = "mdl"  # how ``fit`` cuts numbers with bins=None
    order: ClassVar[int] = 2  # columns counted together with the class
    default_estimate: ClassVar[Estimate] = Lidstone(1.0)  # what smoothing=None stands for
    outlives_new_values: ClassVar[bool] = False  # a structure, dear to learn, that waits until it is due if these come
    refresh_ratio: ClassVar[float | None] = None  # of a structure that is dear to learn; see ``answering.ratio_of``
    saves_structure: ClassVar[bool] = False  # whether model files hold it, because learning it again takes long
    flatters_left_out: ClassVar[bool] = False  # whether a row left out of the counts alone still shapes its answer
    may_choose_once: ClassVar[bool] = False  # whether refresh=inf keeps the first structure for good, and then no rows
    merges_repeats: ClassVar[bool] = False  # whether rows that are the same may be one row of their weight, bit for bit
    learns_elsewhere: ClassVar[bool] = False  # whether a structure can be learned from rows that stay where they are
    form_is_all: ClassVar[bool] = True  # whether the form alone says how answers are made; a tree has more to it

    # Parts of a model. Without an annotation they are no options of the dataclass.
    _memory = cast("Memory | None", None)  # there once the columns are known
    _recutting = cast("Recutting | None", None)
    _contest = cast("Contest | None", None)  # where columns compete along a stream

    # --- what a subclass says -----------------------------------------------------------------------------------

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        """Which families of counts answer, and how they are combined."""
        raise NotImplementedError

    def _structure_in_stream(self, counts: JointCounts, rows: KeptRows | None) -> Form | None:
        """What a stream answers with next, found by less work than ``_structure``; None where there is no such way.

        Something answers already. A batch, and a stream with ``refresh``, a window or a decay, does without.
        """
        return None

    def _adaptive(self) -> bool:
        """Whether the structure depends on what was counted."""
        return self._needs_rows()

    def _needs_rows(self) -> bool:
        """Whether the structure is chosen by looking at the rows again; they are then kept, as codes."""
        return False

    def _new_contest(self) -> Contest | None:
        """Where columns compete for being the super-parent along a stream: a contest that is yet to begin."""
        return None

    def _super_parents(self) -> list[int]:
        """All columns, the best super-parent by the kept rows first."""
        raise NotImplementedError

    def _with_super_parent(self, s: int) -> CountsClassifier:
        """A model alike, whose super-parent is given; nothing is learned yet."""
        raise NotImplementedError

    def _compares_structures(self) -> bool:
        """Whether ``_lead`` can say how much better one structure is than another."""
        return False

    def _lead(self, new: Form, old: Form, counts: JointCounts, rows: KeptRows | None) -> Lead:
        """How much better a structure is than another one for these counts, by the score that it is chosen for."""
        raise NotImplementedError

    def _held_with(self, form: Form, columns: Iterable[int]) -> Form:
        """A structure that was chosen for good, with columns that have come since: they depend on the class alone."""
        assert isinstance(form, ProductOfSums)
        return form.with_columns(columns)

    def _scorer(self, view: View) -> Scorer:
        """How answers are made from the view: the view itself, or what options lay around it."""
        return with_densities(self, view)

    def _scorer_from(self, view: View, arrays: Mapping[str, np.ndarray]) -> Scorer | None:
        """The same from the arrays of a model file, where it took long to learn; None where they do not hold it."""
        fit_by = getattr(self, "fit_by", "likelihood")
        if "parameters-prior" not in arrays or fit_by == "likelihood":
            return None
        return Discriminative.from_arrays(view, fit_by, arrays)

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        """How wide to count: options of JointCounts."""
        return {"order": self.order}

    def _counts_given(self, counts: JointCounts) -> None:
        """Counts are there already; a subclass may choose how it answers by what they hold."""

    def _parent_sets(self, schema: Schema) -> list[ParentSet] | None:
        """The parent sets that Gaussian columns are learned given; None where they have no parents but the class."""
        return None

    def _not_with_gaussian(self) -> dict[str, bool]:
        """Options that Gaussian columns do not go with, and whether they are given."""
        return {"recut": self.recut is not None}

    @property
    def reads_numbers(self) -> bool:
        """Whether columns are described by normal distributions: counts alone do not hold what is learned."""
        return bool(getattr(self, "gaussian", False))

    def validate_table(self, X: Any, *, reset: bool) -> Table:
        """The table, sound in itself; the first one must have the columns that are named."""
        table = super().validate_table(X, reset=reset)
        if reset and self.n_warm_up_rows == 0:
            names = table.names or [f"x{i}" for i in range(table.n_columns)]
            check_named(getattr(self, "gaussian", False), names if self.schema is None else self.schema.table_names)
        return table

    def check_options(self) -> None:
        """Refuse options that mean nothing, before anything is learned."""
        counts_options.check_options(self)
        super().check_options()

    def _check_calibrate(self) -> None:
        counts_options.check_calibrate(self)

    def encoder_options(self) -> dict[str, Any]:
        """How columns become codes; see ``Encoder``."""
        return counts_options.encoder_options(self, super().encoder_options())

    @property
    def estimate(self) -> Estimate:
        """The estimate that ``smoothing`` stands for."""
        return self.default_estimate if self.smoothing is None else as_estimate(self.smoothing)

    @property
    def forgets(self) -> bool:
        """Whether old rows count less than new ones, or not at all."""
        return self.decay is not None or self.window is not None

    def check_row_times(self, times: np.ndarray | None, n_rows: int) -> None:
        """Refuse rows without times where the model forgets by time, and rows that come too late for its window."""
        if not self.forgets:
            return
        clock = None if self._memory is None else self._memory.clock
        if clock is None or self._warm_up is not None:  # whose rows may not be counted yet
            clock = Clock(as_decay(self.decay), as_window(self.window))
            clock.now = None if self._warm_up is None else self._warm_up.latest
        clock.check(times, n_rows)

    @property
    def looks_at_rows(self) -> bool:
        """Whether learned rows are looked at again, if only once; whoever attaches counts must bring rows, too."""
        return self._keeps_rows()

    @property
    def repeats_as_weights(self) -> bool:
        """Whether kept rows that are the same may be one row of their weight, and no bit of an answer changes.

        Sums over rows, as a calibration or a search for parameters has, would be added up in another order.
        """
        return self.merges_repeats and not self.calibrate and getattr(self, "fit_by", "likelihood") == "likelihood"

    def _keeps_rows(self) -> bool:
        """Whether rows are kept, as codes."""
        return self._needs_rows() or self.calibrate

    @property
    def _chooses_once(self) -> bool:
        """Whether the structure is chosen for the first answer and then kept, whatever comes."""
        return self.may_choose_once and self.refresh == float("inf")

    @property
    def keeps_choice(self) -> bool:
        """Whether later answers keep the structure of an earlier one, for ``refresh`` rows or for good."""
        return self.refresh is not None

    @property
    def has_chosen(self) -> bool:
        """Whether an answer has chosen a structure that later ones keep; one over provisional columns is not kept."""
        return self.keeps_choice and self.columns_fixed and self._answering.has_chosen

    def choose(self) -> None:
        """Choose the structure, and learn strengths and the calibration, where they are due."""
        self.check_fitted()
        self._calibrated(fresh=False)
        self._answers(fresh=False).view.learn_strengths()

    def _keeps_rows_until_chosen(self) -> bool:
        """Whether kept rows may go once the structure is chosen. Moved cut points count them again, in new bins."""
        return self._chooses_once and not self.calibrate and self.recut is None

    # --- what was learned ---------------------------------------------------------------------------------------

    @property
    def _learned(self) -> Memory:
        """The memory of a model whose columns are known."""
        if self._memory is None:
            raise AttributeError(f"this {type(self).__name__} has no counts yet; call fit or partial_fit first.")
        return self._memory

    @property
    def memory(self) -> Memory:
        """All that was learned: counts, moments of Gaussian columns, kept rows and the clock."""
        return self._learned

    @property
    def counts_(self) -> JointCounts:
        """How often values and classes came together: all that was learned, to look at, to merge or to save."""
        return self._learned.counts

    @property
    def class_count_(self) -> np.ndarray:
        """The weight of the rows of each class; of two classes that are as probable, the heavier one is predicted."""
        return self.counts_.class_counts

    @property
    def structure_(self) -> Form:
        """The learned structure: the parents of each column, or sets of them, and how these become one answer."""
        self.check_fitted()
        return self._answers(fresh=True).view.form

    @property
    def knows_structure(self) -> bool:
        """Whether the structure for all rows is learned already, so that asking for it costs nothing."""
        warm = self._warm_up
        counted = warm is None or warm.counted == warm.n_rows
        return self.knows_columns and counted and self._answering.is_current(self, fresh=True)

    @property
    def view_(self) -> View:
        """What makes probabilities of counts by the structure; without calibration and the like. For developers."""
        self.check_fitted()
        return self._answers(fresh=True).view

    @property
    def recutting(self) -> Recutting | None:
        """What watches the cut points of number columns, where they follow the stream."""
        return self._recutting

    @property
    def contest(self) -> Contest | None:
        """Where columns compete for being the super-parent along a stream: who does, and how they fare."""
        return self._contest

    @property
    def current_structure(self) -> Form:
        """The structure that answers in a stream now; ``structure_`` follows all rows first."""
        self.check_fitted()
        return self._answers(fresh=False).view.form

    @property
    def structure_changes_(self) -> list[StructureChange]:
        """When the structure changed along a stream, and why.

        With ``refresh=Hoeffding()``, and with ``SPC(super_parent="stream")``; empty elsewhere.
        """
        of = self._answering.standing if self._contest is None else self._contest
        return [] if of is None else list(of.changes)

    @property
    def n_structures_kept_(self) -> int:
        """How often ``refresh=Hoeffding()`` kept the structure, though another one looked better by chance."""
        standing = self._answering.standing
        return 0 if standing is None else standing.n_kept

    @property
    def scorer_(self) -> Scorer:
        """What answers rows: ``view_``, and what options such as ``calibrate`` add to it. For developers."""
        self.check_fitted()
        return self._calibrated(fresh=True)

    @property
    def stream_scorer(self) -> Scorer:
        """What answers in a stream; its structure may lag behind by some of the rows."""
        self.check_fitted()
        return self._calibrated(fresh=False)

    @property
    def calibration_(self) -> Calibration | None:
        """How probabilities are corrected, as answers to left-out rows ask for it; None without ``calibrate``."""
        self.check_fitted()
        return self._answering.calibration_of(self, fresh=True)

    def uncalibrated(self, *, fresh: bool = True) -> Scorer:
        """What answers, before its probabilities are calibrated."""
        self.check_fitted()
        return self._answers(fresh=fresh).scorer

    def _held_out_answers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Answers to rows that were held out when the present structure was chosen, their classes and weights.

        None where there are none; they are then worked out for a calibration.
        """
        return None

    def _calibrated(self, *, fresh: bool) -> Scorer:
        """What answers, its probabilities calibrated where that is asked for."""
        current = self._answers(fresh=fresh)
        calibration = self._answering.calibration_of(self, fresh=fresh)
        return current.scorer if calibration is None else Calibrated(current.scorer, calibration, current.view)

    # --- learning -----------------------------------------------------------------------------------------------

    def start(self, classes: np.ndarray | None = None, target: str | None = None) -> Self:
        """Forget everything. ``classes`` are known beforehand; ``target`` is what the class is called."""
        for name in ("_memory", "_contest", "events_"):
            self.__dict__.pop(name, None)
        self._answering = Answering()
        super().start(classes, target)
        recut = as_recut(self.recut)
        self._recutting = None if recut is None else Recutting(recut)
        self.events_: list[FirstCuts | MovedCuts | StructureChange] = []
        return self

    def _cuts_numbers(self) -> bool:
        return True

    def _stays_uncut(self) -> bool:
        return self._recutting is None and not self.reads_numbers

    def _start_encoder(self, batch: Batch, *, first: bool = False, stream: bool = False, for_now: bool = False) -> None:
        super()._start_encoder(batch, first=first, stream=stream, for_now=for_now)
        counting.leave_uncut(self)

    def _start_model(self) -> None:
        counting.start_counts(self)

    def _remember(self, counts: JointCounts, moments: Moments | ContextMoments | None = None) -> None:
        """Start a memory with these counts; nothing else is known yet."""
        self._memory = Memory(
            counts,
            moments,
            keeps_rows=self._keeps_rows(),
            until_chosen=self._keeps_rows_until_chosen(),
            decay=as_decay(self.decay),
            window=as_window(self.window),
            max_memory=self.max_memory,
            owner=type(self).__name__,
            way_out=counts_options.way_out_of_rows(self),
        )
        self._contest = self._new_contest()
        self._answering.start_again()

    def read_again_by(self, read: Callable[[], Iterable[tuple[Any, Any]]]) -> None:
        """Tables and labels that are about to be learned can be read again: none are kept where that will do.

        To be called after ``fit_schema``. A structure that is chosen once is then chosen in as many passes as it takes.
        """
        memory = self._learned
        if memory.until_chosen and memory.clock is None and memory.rows is not None:
            memory.rows = None
            memory.read = lambda: (self.known_rows(X, y, unseen="as learned") for X, y in read())

    def check_learned(self) -> None:
        """After all rows: refuse options that do not fit the classes, and let the structure follow all rows."""
        super().check_learned()
        self._calibrated(fresh=True)

    def _move_classes(self, places: np.ndarray, classes: np.ndarray) -> None:
        counting.move_classes(self, places, classes)

    def _count(self, batch: Batch, classes: np.ndarray | None = None) -> None:
        """Encode rows, grow where values, classes (or, in dicts, names) are new, and add them to the counts.

        Cells that cannot be used are refused first, so that a refused batch leaves no new class behind.
        """
        counting.count(self, batch, classes)

    def fit_codes(
        self,
        codes: np.ndarray,
        labels: np.ndarray,
        schema: Schema,
        classes: Sequence[Any] | np.ndarray,
        *,
        target: str | None = None,
        sample_weight: WeightsLike | None = None,
    ) -> Self:
        """``fit`` from rows that are encoded already, so that many classifiers share the work of encoding.

        Parameters
        ----------
        codes : array (n_rows, n_columns), uint8 or uint16
            Codes of the values, as ``Encoder.transform`` gives them; the largest value of the type is missing.
        labels : array (n_rows,) of integers
            Codes of the classes.
        schema : Schema
            The columns.
        classes : sequence
            The labels, in the order of their codes.
        target : str, default=None
            The name of the class.
        sample_weight : array, default=None
            Of the rows.

        Returns
        -------
        self
            The model itself.

        Examples
        --------
        >>> import numpy as np
        >>> from tanager import NaiveBayes
        >>> from tanager.encoding.schema import Column, Schema
        >>> schema = Schema((Column("sky", "categorical", ("sun", "rain")),))
        >>> codes, labels = np.array([[0], [0], [1]], dtype=np.uint8), np.array([0, 0, 1])
        >>> NaiveBayes().fit_codes(codes, labels, schema, ["play", "stay"]).predict([{"sky": "rain"}])
        array(['stay'], dtype='<U4')
        """
        if self.reads_numbers:
            raise OptionError(f"{self!r} cannot learn from codes: they do not hold numbers. Leave out gaussian=.")
        block = Block(*checked_codes(codes, labels, schema, len(classes)), check_weights(sample_weight, len(codes)))
        self.fit_columns(schema, as_label_array(classes), target)
        self.learn_block(block)
        self.check_learned()
        return self

    @property
    def answers_to_learn(self) -> bool:
        """Whether rows are answered before they are learned, so that it matters which values are known by then."""
        return False

    @property
    def _learns_in_order(self) -> bool:
        """Where rows are answered before they are learned, no class and no column is known before its first row."""
        return self.answers_to_learn

    def _run(self, lap: stream.Lap) -> None:
        """Answer and learn encoded rows, one after the other."""
        if self._contest is None:
            stream.run_alone(self, lap)
        else:
            self._contest.run(self, lap, lambda first: stream.run_alone(self, first))

    def learn_block(self, block: Block) -> None:
        """Learn rows that are encoded already, in values and classes that are known."""
        if self._contest is None:
            self._learn_all(block)
        else:
            block = block.counted()  # as single rows: nothing fades by others
            out = np.empty((len(block), len(self.classes_)))
            self._contest.run(self, stream.Lap(block, None, out), lambda first: self._learn_all(first.block))

    def _learn_all(self, block: Block) -> None:
        """Learn rows at once."""
        if self._contest is not None:
            stream.grow_counts(self, block)
        self._rows_come(block)
        self._learned.add(block, self.n_threads)

    def take_vocabulary(self, schema: Schema) -> None:
        """Columns have values that are yet to come: make room for them, or refuse."""
        self.encoder_.adopt(schema)
        counting.follow_vocabulary(self)

    def take_memory(self, memory: Memory) -> Self:
        """Answer from what models of the same options, columns and classes have learned elsewhere."""
        self._memory, self.classes_ = memory, memory.counts.classes
        self.encoder_.adopt(memory.counts.schema)
        self._answering.start_again()
        return self

    def add_memory(self, other: Memory) -> Self:
        """Add what such a model has learned of further rows; its columns and classes are ours, and perhaps more."""
        add_memory(self._learned, other)
        self.classes_ = self.counts_.classes
        self.encoder_.adopt(self.counts_.schema)
        self._answering.forget()
        return self

    def _rows_come(self, block: Block) -> None:
        """Rows are about to be counted; a subclass may look at them first."""

    def make_room(self, schema: Schema, classes: np.ndarray) -> None:
        """The counts are about to grow to this; a subclass may drop something first, to stay within its memory."""

    def _columns_cut(self, maps: Mapping[int, np.ndarray]) -> None:
        """Columns were cut, and their values brought together: code c of column i is now maps[i][c]."""
        self._answering.forget()
        if self._recutting is not None:
            self._recutting.map_codes(maps)

    def _columns_added(self, n_new: int, wider: dict[str, Any]) -> None:
        """What was learned makes room for new columns."""
        counting.make_room_for_columns(self, n_new, wider)

    # --- cut points that follow a stream, where that is asked for -----------------------------------------------

    def _columns_fixed_by(self, batch: Batch) -> None:
        if self._recutting is not None:
            self._recutting.watch(self, batch, first=True)

    def _read(self, X: Any, y: Any, sample_weight: Any, times: Any) -> tuple[Batch, np.ndarray]:
        batch, classes = super()._read(X, y, sample_weight, times)
        self._check_times(batch)
        return batch, classes

    def _check_times(self, batch: Batch) -> None:
        """Refuse rows that count and come without times, or too late, while nothing has been learned of them."""
        if self.forgets and (which := batch.counted).any():
            self.check_row_times(None if batch.times is None else batch.times[which], int(which.sum()))

    def _learn(self, X: Any, y: Any, sample_weight: Any, times: Any) -> None:
        """With ``recut``, rows are learned up to the next look at the cut points, then the rest."""
        if self._recutting is not None and reading.labels_all(X, y):
            learn_between_looks(self, X, y, sample_weight, times, super()._learn)
        else:
            super()._learn(X, y, sample_weight, times)

    def _cuts_moved(self, rows: Block) -> None:
        """Bins have moved, and these rows were counted again."""
        self._answering.forget()

    # --- one row at a time, and whole streams -------------------------------------------------------------------

    def learn_one(self, row: Mapping[str, Any], y: Label, sample_weight: float = 1.0, time: Time | None = None) -> Self:
        """Learn one row. New keys are new columns, absent keys are missing; a row without a label teaches nothing.

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
        if type(row) is not dict:
            row = reading.check_row(row, "learn_one")
        self.check_teachable()
        if time is None and single_rows.learn_quickly(self, row, y, sample_weight):
            return self
        if self._contest is not None or not single_rows.learn_one(self, row, y, sample_weight, time):
            super().learn_one(row, y, sample_weight, time)
        return self

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
        if type(row) is not dict:
            row = reading.check_row(row, "predict_proba_one")
        plan = row_plan(self) if self._warm_up is None else None
        if plan is not None:
            encoder = self.encoder_
            codes = encoder.found_row(row)
            if codes is None:
                codes = encoder.encode_row(row, self.unseen)
            return dict(zip(self.class_codes, plan.one(codes)))  # noqa: B905  # which takes longer
        if not self.has_learned:
            return {}
        return dict(zip(self.class_codes, single_rows.answer_one(self, row)))  # noqa: B905

    def stream_proba(self, X: Any) -> np.ndarray:
        """``predict_proba`` as a stream answers: a structure that is due to be learned again may answer once more."""
        self.check_fitted()
        return self._calibrated(fresh=False).score(self.encode(X), n_jobs=self.n_threads)

    def _answer_and_learn(self, rows: StreamPart) -> Answers:
        """Answer and learn at least one row, and stop where a class or (for the kernel) a value is new."""
        recutting = self._recutting
        if recutting is None or not self.columns_fixed:
            return stream.answer_and_learn(self, rows)
        rows = rows.part(0, min(len(rows), recutting.rows_until_look(self)))
        watched = recutting.n_watched
        classes, proba = stream.answer_and_learn(self, rows)
        if recutting.n_watched == watched and self._recutting is recutting:  # one by one, rows are watched already
            done = rows.part(0, len(proba))
            recutting.watch(self, Batch(done.X, self.label_codes(done.y)[0], done.weights, done.times))
        return classes, proba

    def _stream_scores(self) -> tuple[np.ndarray, float] | None:
        """Where kernels add what they find out about members on the way, and by what earlier sums fade per row."""
        return None

    def _take_stream_scores(self, view: View, scores: np.ndarray, keep: float, n_rows: int) -> None:
        """The kernels have gone through so many rows, and found these scores."""

    # --- the structure, and who answers -------------------------------------------------------------------------

    def _answers(self, *, fresh: bool) -> Current:
        """What answers. With ``fresh`` its structure follows all rows; else it may lag behind by some."""
        current = self._answering.current_of(self, fresh=fresh)
        maker = self._scored_by()
        if maker._balanced:
            current.view.weigh_classes(maker.class_factors())
        return current

    def _scored_by(self) -> CountsClassifier:
        """Who makes views and scorers: this classifier, unless it has chosen another one."""
        return self

    def score_structure(self, form: Form, query: Query) -> np.ndarray:
        """Probabilities that another structure over our counts gives to encoded rows."""
        return self._scorer(self.view_of(form)).score(query, n_jobs=self.n_threads)

    def scorer_over(self, view: View) -> Scorer:
        """How this classifier answers from a view of its counts that another one has made."""
        return self._scorer(view)

    def view_of(self, form: Form) -> View:
        """A form over our counts, with our smoothing, priors and class weights."""
        return View(
            self.counts_,
            form,
            self.estimate,
            smooth_unseen=self.unseen == "smooth",
            priors=class_priors(self.priors, self.classes_),
            factors=self.class_factors(),
        )

    @property
    def _balanced(self) -> bool:
        """Whether the factors of the classes follow the counts."""
        return isinstance(self.class_weight, str)

    def class_factors(self) -> list[float]:
        """Factors of the classes by ``class_weight``; empty where none are given."""
        given = self.class_weight
        return [] if given is None else class_factors(given, self.classes_, self.counts_.class_counts)

    def attach(self, counts: JointCounts, encoder: Encoder, rows: KeptRows | None) -> Self:
        """Answer from counts (and, where rows are looked at, from rows) that others use as well."""
        if self.reads_numbers:
            raise OptionError(f"{self!r} cannot share counts: they do not hold numbers. Leave out gaussian=.")
        self.start()
        self.classes_, self.encoder_ = counts.classes, encoder
        self._counts_given(counts)
        self._remember(counts)
        self._learned.rows = rows if self._keeps_rows() else None
        self._learned.until_chosen = False  # whoever shares them counts on them
        return self

    @property
    def _attaches_again(self) -> bool:
        """Whether counts and kept rows are all that ``attach`` gives a model: no subclass has parts beside them."""
        parts = ("start", "_remember", "_counts_given")
        return self._contest is None and all(
            getattr(type(self), name) is getattr(CountsClassifier, name) for name in parts
        )

    def _attach_again(self, counts: JointCounts, rows: KeptRows | None) -> None:
        """``attach`` to further counts of the same columns and classes, where ``_attaches_again``."""
        memory = self._learned
        memory.counts, memory.rows = counts, None if memory.rows is None else rows
        self._answering.start_again()

    # --- answers ------------------------------------------------------------------------------------------------

    def _encode(self, X: Any, unseen: str | None = None) -> np.ndarray:
        unseen = unseen or self.unseen
        if rows_of_dicts(X) and (rows := self.encoder_.encode_rows(X, unseen)) is not None:
            return rows
        table = self.validate_table(X, reset=False)
        codes = self.encoder_.own_codes(table, type(self).__name__) if unseen == "ignore" else None
        if codes is not None:  # a code beyond the values is unseen, and for the kernels that is missing
            return codes
        return self.encoder_.encode(table, unseen, type(self).__name__)

    def encode(self, X: TableLike) -> Query:
        """Rows to answer, as codes (and numbers, where columns are Gaussian)."""
        return Query(self._encode(X), counting.numbers_of(self, X))

    def _scores(self, X: Any, *, log_joint: bool) -> np.ndarray:
        self.check_fitted()
        return self._scores_of(self.encode(X), log_joint=log_joint)

    def _scores_of(self, query: Query, *, log_joint: bool) -> np.ndarray:
        """The same for encoded rows."""
        return self._calibrated(fresh=True).score(query, log_joint=log_joint, n_jobs=self.n_threads)

    @property
    def can_leave_out(self) -> bool:
        """Whether ``leave_one_out`` can work out the answer without a learned row."""
        return not self.forgets and getattr(self, "fit_by", "likelihood") == "likelihood"

    def leave_one_out(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike | None = None) -> np.ndarray:
        """``predict_proba`` of learned rows, each as if it alone had not been learned.

        Costs one pass of prediction; nothing is learned again. Cut points and structure stay those of all rows.

        Parameters
        ----------
        X : table
            Rows that were learned.
        y : array of labels
            The classes that they were learned with.
        sample_weight : array of numbers, default=None
            The weights that they were learned with.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Probabilities, with a column for each of ``classes_``.

        Examples
        --------
        >>> from tanager import NaiveBayes
        >>> X, y = [["sun"], ["sun"], ["rain"]], ["play", "stay", "stay"]
        >>> model = NaiveBayes().fit(X * 2, y * 2)
        >>> model.predict_proba(X[:1]).round(3), model.leave_one_out(X[:1], y[:1]).round(3)
        (array([[0.474, 0.526]]), array([[0.348, 0.652]]))
        """
        if self.forgets:
            raise OptionError(
                "leave_one_out takes rows out with the weight they came with, and this model has forgotten some of it. "
                "Use tanager.evaluate.prequential."
            )
        return self.leave_out(self.known_rows(X, y, sample_weight))

    def leave_out(self, block: Block) -> np.ndarray:
        """``leave_one_out`` of encoded rows."""
        return self._calibrated(fresh=True).leave_one_out(block, n_jobs=self.n_threads)

    def known_rows(
        self, X: Any, y: Any, sample_weight: Any = None, times: Any = None, unseen: str | None = None
    ) -> Block:
        """Rows that were learned before, encoded; refused where a class was never learned."""
        self.check_fitted()
        codes = self._encode(X, unseen)
        if unseen is None and self.unseen == "smooth":  # closed columns have learned unknown values as missing
            closed = np.array([column.closed for column in self.encoder_.schema.columns])
            unknown = closed & (codes == self.encoder_.schema.n_values)
            codes = np.where(unknown, np.iinfo(codes.dtype).max, codes).astype(codes.dtype)
        y = one_dimensional(y)
        check_lengths(len(codes), y)
        labels, classes, _ = encode_more_labels(y, self.classes_)
        if len(classes) > len(self.classes_):
            new = [label for label in classes.tolist() if label not in self.classes_.tolist()]
            raise DataError(f"y has the label {new[0]!r}, which was never learned.")
        weights, seconds = check_weights(sample_weight, len(codes)), check_times(times, len(codes))
        return Block(codes, labels, weights, seconds, counting.numbers_of(self, X))

    def _explained(self, X: Any, answer: Any, against: Any, *, one_alone: bool) -> Explanation | Explanations:
        return explain(self, X, answer, against, one_alone=one_alone)

    def reasons_of(self, query: Query) -> dict[str, Any]:
        """Further fields of the ``Explanation`` of one row.

        Parameters
        ----------
        query : Query
            One encoded row.

        Returns
        -------
        dict
            ``path`` or ``rule``; nothing where there is neither.
        """
        return {}

    # --- forgetting, merging, counts from elsewhere -------------------------------------------------------------

    def unlearn(
        self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike | None = None, times: TimesLike | None = None
    ) -> Self:
        """Take learned rows away, as if they had never been seen. Kinds and cut points stay as they are from now on.

        With a ``window``, rows leave it with whatever they weigh now, unless ``sample_weight`` says how much of them;
        rows that have left already are refused. With a ``decay`` alone, ``times`` says when they were learned: their
        times, or where rows fade with every further row, their numbers in the stream, from 1 on.

        Parameters
        ----------
        X : table
            Rows that were learned.
        y : array of labels
            The classes that they were learned with.
        sample_weight : array of numbers, default=None
            The weights that they were learned with.
        times : array of numbers or dates, default=None
            When they happened, for models that forget by time.

        Returns
        -------
        self
            The model itself.

        Examples
        --------
        >>> from tanager import NaiveBayes
        >>> X, y = [["sun"], ["sun"], ["rain"]], ["play", "stay", "stay"]
        >>> model = NaiveBayes().fit(X, y).unlearn(X[:1], y[:1])
        >>> model.class_count_, model.counts_.joint("x0")  # of play and stay; in sun and rain
        (array([0., 2.]), array([[0., 0.],
               [1., 1.]]))
        """
        forgetting.unlearn(self, X, y, sample_weight, times)
        return self

    def advance(self, time: Time) -> Self:
        """Let time pass without a row: what fades by time fades, and rows that are too old leave.

        Learning does this by itself; before an answer that comes long after the last row it is worth asking for.

        Parameters
        ----------
        time : number or date
            The time that it is now.

        Returns
        -------
        self
            The model itself.
        """
        forgetting.advance(self, time)
        return self

    def shrink(self, n_rows: int) -> Self:
        """Let all rows of the window leave but the last ones; the window fills again from there.

        Parameters
        ----------
        n_rows : int
            How many of the last rows stay.

        Returns
        -------
        self
            The model itself.

        Examples
        --------
        >>> from tanager import NaiveBayes
        >>> model = NaiveBayes(window=4).partial_fit([["sun"]] * 4, ["stay", "stay", "play", "play"])
        >>> model.class_count_, model.shrink(2).class_count_
        (array([2., 2.]), array([2., 0.]))
        """
        forgetting.shrink(self, n_rows)
        return self

    def fade(self, factor: float) -> Self:
        """Let all that was learned fade by a factor in (0, 1] at once, so that new rows count more.

        Parameters
        ----------
        factor : float
            What is left of the counts, above 0 and at most 1.

        Returns
        -------
        self
            The model itself.

        Examples
        --------
        >>> from tanager import NaiveBayes
        >>> X, y = [["sun"], ["sun"], ["rain"]], ["play", "stay", "stay"]
        >>> model = NaiveBayes().fit(X, y)
        >>> model.fade(0.5).class_count_
        array([0.5, 1. ])
        """
        forgetting.fade(self, factor)
        return self

    def merge(self, other: CountsClassifier) -> Self:
        """Add all that another model of this class has learned, as if its rows had been learned here.

        Values and classes that only one of them has met are taken in. Numbers must be cut into the same bins, so give
        both models one ``schema``. The options of this model stay as they are.

        Parameters
        ----------
        other : CountsClassifier
            A model of the same class and options.

        Returns
        -------
        self
            The model itself.

        Examples
        --------
        >>> from tanager import NaiveBayes
        >>> X, y = [["sun"], ["sun"], ["rain"]], ["play", "stay", "stay"]
        >>> here, there = NaiveBayes().fit(X[:2], y[:2]), NaiveBayes().fit(X[2:], y[2:])
        >>> here.merge(there).counts_ == NaiveBayes().fit(X, y).counts_
        True
        """
        same = mergeable(self, other)
        self.check_fitted()
        same.check_fitted()
        self._merge(same)
        self.note_read_up_to(other.read_up_to)
        return self

    def _merge(self, other: Self) -> None:
        memory = merge_memories(self._learned, other._learned, self.counts_shape, self.n_threads)
        self._warm_up = None  # its rows are counted
        if self._recutting is not None:
            self._recutting.match_classes(self.classes_, memory.counts.classes)
        self._memory, self.classes_ = memory, memory.counts.classes
        self.encoder_ = counting.encoder_for(self, memory.counts.schema)
        self._answering.forget()

    @classmethod
    def from_counts(cls, counts: JointCounts, **params: Any) -> Self:
        """A fitted classifier from counts that were made before, such as ``counts_`` of another model.

        The counts are read, not copied.

        Parameters
        ----------
        counts : JointCounts
            What was counted; as wide as the classifier needs.
        **params : object
            Options of the classifier.

        Returns
        -------
        object
            A fitted model.

        Examples
        --------
        >>> from tanager import AODE, TAN
        >>> X, y = [["sun", "weak"], ["rain", "strong"], ["sun", "strong"]], ["play", "stay", "play"]
        >>> model = TAN.from_counts(AODE().fit(X, y).counts_)  # no row is read again
        >>> model.predict([["sun", "weak"]])
        array(['play'], dtype='<U4')
        """
        return from_counts(cls, counts, params)

    # --- pictures and files -------------------------------------------------------------------------------------

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw the network behind this model; see ``tanager.plot_network``.

        Parameters
        ----------
        path : str or PathLike, default=None
            Where to write it, by its extension. None: nowhere.
        **options : object
            Those of ``plot_network``.

        Returns
        -------
        Figure
            Of Matplotlib.
        """
        figure: Figure = public("plot_network")(self, path, **options)
        return figure

    def widget(self, **options: Any) -> Any:
        """Look at its network in a notebook, and edit a copy of it; see ``tanager.network_widget``.

        Parameters
        ----------
        **options : object
            Those of ``network_widget``.

        Returns
        -------
        widget
            For a notebook.
        """
        return public("network_widget")(self, **options)

    def _model_state(self) -> dict[str, Any]:
        return model_state.counts_state(self)

    def _take_model_state(self, state: dict[str, Any]) -> None:
        model_state.take_counts_state(self, state)

    def from_state(self, state: dict[str, Any]) -> None:
        """Take back what ``to_state`` gave. Unsound data are refused."""
        super().from_state(state)
        self.take_structure(state.get("view"), state["arrays"])

    def structure_state(self) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
        """The structure that answers, where it cannot be chosen again from the counts as they are; and its arrays."""
        return self._answering.to_state(self)

    def take_structure(self, state: dict[str, Any] | None, arrays: Mapping[str, np.ndarray]) -> Scorer | None:
        """Take back what ``structure_state`` gave, over the same counts; what answers with it, if anything."""
        current = None if state is None else self._answering.take_state(self, state, arrays)
        return None if current is None else current.scorer

    def _choice(self) -> dict[str, Any]:
        """What ``_structure`` has chosen beside the form, as plain data."""
        return {}

    def _take_choice(self, data: dict[str, Any]) -> None:
        """Take back what ``_choice`` gave."""
