"""HalfLives: one classifier with several half-lives, mixed by weights that are learned along the stream.

    rows --Ladders--> answers of every half-life --Pool--> one answer
                      (the label comes)          --> new weights

Members and weights learn a row only after it was answered.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from tanager import saved
from tanager.display import Html
from tanager.encoding import Encoder
from tanager.encoding.chunks import n_rows
from tanager.encoding.typing import Label, LabelsLike, TableLike, Time, TimesLike, WeightsLike
from tanager.encoding.validation import check_lengths, check_times, check_weights, column_name
from tanager.errors import DataError, SchemaMismatch, check_option
from tanager.learning.answer_then_learn import Answers
from tanager.learning.batch import StreamPart
from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.explaining import classes_of, explain_each
from tanager.learning.explanations import Explanations
from tanager.learning.reading import as_labels, check_row
from tanager.listed import names_in
from tanager.scoring.explain import Explanation
from tanager.shortcuts import public
from tanager.streams.explain_pool import explain_pool
from tanager.streams.few_columns import FewColumns, check_max_columns
from tanager.streams.ladder import Said
from tanager.streams.ladders import Ladders
from tanager.streams.last_labels import LastLabels, check_lag
from tanager.streams.member_plan import MemberPlan
from tanager.streams.pool import KINDS, Pool
from tanager.streams.subspace import check_random_state, may_be_codes
from tanager.streams.table_columns import names_of, names_of_counted
from tanager.streams.weight_display import weights_html
from tanager.streams.weight_history import WeightHistory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_OF_THE_FIRST = ("classes_", "target_name_", "encoder_", "n_features_in_", "feature_names_in_")


@dataclass(eq=False, repr=False)
class HalfLives(Classifier):
    """Several half-lives of one classifier, mixed by weights that are learned along the stream.

    For streams that may change, when nobody knows how fast. Copies of one model, the members, learn the same rows and
    forget at different speeds: after its half-life a row counts half. Those that forget soon follow a change, those
    that remember long know more, and weights say whom to believe now. The defaults are meant to be left as they are.

    A row is answered before its label is learned (``test_then_train``; ``predict_proba_one``, then ``learn_one``). Then
    the label moves the weights, towards members whose answers were good, and all members learn the row. Number columns
    whose numbers leave their bins are cut on, for all members alike, as ``events_`` tells.

    Parameters
    ----------
    model : classifier, default=None
        What the members are: a classifier with any options but ``decay`` and ``window``. None is ``AODE()``.
    half_lives : sequence, default=(20, 100, 500, 2500, inf)
        The half-life of each member, in rows or in time (``"6 h"``; rows then need ``times``); ``inf`` never forgets.
    mix : {"stacking", "fixed-share"}, default="stacking"
        How answers become one. "stacking": their log probabilities are added up, each times its weight, and the weights
        follow the gradient of the log loss; so they also say how sure to be. "fixed-share": the mean of their
        probabilities by weights that go to members who gave much to the true class.
    more_bins : sequence of int, default=()
        Further members for streams of numbers, which err in other places: for each entry all half-lives once more, with
        number columns cut into so many bins of equal frequency. ``(5, 20)`` made answers better and took three times as
        long.
    subspaces : int, default=0
        Further members that see other columns: so many times all half-lives once more, each time over six tenths of the
        columns, drawn at random, with numbers cut into 5, 20 or 10 bins of equal frequency. Of columns that come later,
        in rows that are dicts, each sees as many, drawn when they come.
    max_columns : int, "auto" or None, default="auto"
        How many columns the model may see. Where a table has more, the model sees those that tell most about the class,
        and naive Bayes, with all half-lives once more, sees all columns. The choice is made after the first 32, 128 and
        512 rows of a stream, or by the whole table in ``fit``. Rows that are dicts may bring too many columns only
        later; the first 512 are looked at for that, and kept until then. None: the model sees all. "auto": 64 where
        there are more than 100 columns and ``model``, ``more_bins`` and ``subspaces`` are left as they are; else all.
    random_state : int or None, default=0
        The seed by which columns of ``subspaces`` are drawn; None: another one each time.
    lag : int, default=0
        So many of the last labels become columns of a row ("last class"), for streams in which neighbouring rows are
        alike. Only labels that were there when the row was answered.
    delay : int, default=0
        With ``lag``, where labels come late: by how many rows. A row is then learned with the last labels that were
        there when it was answered, and not with those that came meanwhile.

    Attributes
    ----------
    weights_ : dict
        The weight of every member now, by its name ("20 rows", ..., "all rows"). With "fixed-share" they add up to 1.
        With "stacking" they need not, and one below 0 counts what a member says against it, as after a change that
        turns everything round.
    weight_history_ : pair of arrays
        Numbers of rows seen, and the weights then, (points, members); ``plot`` draws them.
    members_ : list of classifiers
        The members, in the order of ``half_lives``; then those of ``more_bins`` and ``subspaces``. Where columns are
        limited, naive Bayes over all columns comes first.
    model_ : classifier
        The member that forgets least.
    columns_ : tuple of str
        The columns that the model sees now.
    subspaces_ : list of tuples of str
        The columns of members that do not see all, once there are rows.
    n_rows_ : int
        Rows seen.

    Notes
    -----
    "stacking" is log-linear pooling with online gradient descent on the log loss, in steps of 0.3 over the root of the
    fading sum of squared gradients; "fixed-share" is Herbster and Warmuth (1998). Columns are encoded once for all
    half-lives, and members that are AODE or naive Bayes have their counts side by side: five half-lives take two to
    three times as long as one. AODE takes O(n²) steps for a row of n columns, which ``max_columns`` limits. With one
    half-life the answers are those of its member.

    The reasons for an answer are those of every member times its weight, and with "fixed-share" those of the member of
    the largest weight; ``rule`` of an explanation lists the weights.

    Examples
    --------
    >>> from tanager import AODE, HalfLives
    >>> X = [["sun"], ["rain"]] * 1000
    >>> y = ["play", "stay"] * 500 + ["stay", "play"] * 500
    >>> model = HalfLives(AODE(), half_lives=(20, float("inf"))).partial_fit(X, y)
    >>> model.predict([["sun"]])
    array(['stay'], dtype='<U4')
    >>> [name for name, weight in model.weights_.items() if weight > 1]
    ['20 rows']
    """

    unlisted = names_in("display_parts leave_one_out merge unlearn")

    model: CountsClassifier | None = None
    half_lives: Sequence[float] = (20, 100, 500, 2500, math.inf)
    mix: str = "stacking"
    more_bins: Sequence[int] = ()
    subspaces: int = 0
    max_columns: int | str | None = "auto"
    random_state: int | None = 0
    lag: int = 0
    delay: int = 0

    def check_options(self) -> None:
        check_option("mix", self.mix, tuple(KINDS))
        self._plan.check()
        check_max_columns(self.max_columns, several=bool(self.more_bins or self.subspaces))
        check_random_state(self.random_state)
        check_lag(self.lag, self.delay, self._plan.base)
        for model in self._plan.fresh():
            model.check_options()

    @property
    def _plan(self) -> MemberPlan:
        return MemberPlan(self.model, self.half_lives, self.more_bins, self.subspaces)

    # --- learning -----------------------------------------------------------------------------------------------

    def start(self, classes: np.ndarray | None = None, target: str | None = None) -> Self:
        """Forget everything. ``classes`` are known beforehand; ``target`` is what the class is called."""
        self.check_options()
        for name in (*_OF_THE_FIRST, "read_up_to_"):
            self.__dict__.pop(name, None)
        plan = self._plan
        one = self.model is None and not self.more_bins and not self.subspaces
        self._ladders = Ladders(
            plan, FewColumns(self.max_columns, one, codes=may_be_codes(plan.base)), self.random_state
        )
        self._start_weights()
        self._labels = LastLabels(self.lag, self.delay) if self.lag else None
        self.n_rows_ = 0
        self._ladders.start(classes, target)
        self._follow()
        return self

    def _start_weights(self) -> None:
        """Equal weights for all members."""
        n = len(self._ladders.names)
        self._pool, self._history = Pool(self.mix, n), WeightHistory(n)

    @property
    def _first(self) -> Classifier:
        """The member whose columns and classes are those of all."""
        return self._ladders.first

    def _follow(self) -> None:
        """Classes and columns are those of the first member; rows that the ladders keep go into model files."""
        if "encoder_" not in self.__dict__ and self._first.started:
            _ = self._first.has_learned  # the first row of a warm-up is taken in
        theirs, self._warm_up = self._first.__dict__, self._ladders.first_rows
        self._followed = theirs.get("encoder_")
        self.__dict__.update({name: theirs[name] for name in _OF_THE_FIRST if name in theirs})
        if self._labels is not None and "encoder_" in theirs:
            self._leave_out_labels(self._labels.names or ())

    def _keep_up(self) -> None:
        """Follow the first member where it has learned its columns anew, or cut them on."""
        theirs = self._first.__dict__.get("encoder_")
        if theirs is not self._followed or (theirs is not None and self._labels and theirs.schema is not self._whole):
            self._follow()

    def _leave_out_labels(self, further: Sequence[str]) -> None:
        """The columns of the rows as they are given, without last labels."""
        whole = self._first.encoder_.schema
        if self.__dict__.get("_whole") is not whole:
            own = whole.with_all(column for column in whole.columns if column.name not in further)
            self._whole, self._own = whole, Encoder.from_schema(own, **self._first.encoder_.options)
        self.encoder_ = self._own
        self.n_features_in_ = self.encoder_.schema.width
        names: np.ndarray | None = self.__dict__.get("feature_names_in_")
        if names is not None:
            self.feature_names_in_ = names[~np.isin(names, further)]

    def _limit_columns(self, names: Sequence[str]) -> None:
        """With these columns there are too many: from now on there are other members, which learn the rows so far."""
        learned, n = self._ladders.limit_columns(names), self.n_rows_
        self._start_weights()
        if learned is None:
            return
        self.n_rows_ = done = 0
        while done < len(learned):
            left = learned.part(done, len(learned))
            said = self._ladders.run(left)
            self._mix(said, None if left.weights is None else left.weights[: len(said)])
            done += len(said)
        self.n_rows_ = n

    def _limit_by(self, X: Any) -> None:
        """Before the first row: a whole table says how many columns there are."""
        if self._ladders.are_too_many(names := names_of(X)):
            self._limit_columns(names)

    # --- last labels as columns ---------------------------------------------------------------------------------

    @property
    def _known(self) -> tuple[str, ...] | None:
        """What the columns of rows are called."""
        return self.encoder_.schema.table_names if "encoder_" in self.__dict__ else None

    def _to_learn(self, X: Any, labels: np.ndarray, weights: np.ndarray | None) -> Any:
        """Rows that come next, with the labels that had arrived when each was answered, where they are asked for."""
        if self._labels is not None:
            self._labels.choose_names(X, self._first.target_name_)
            self._ladders.have_labels(self._labels.names or ())
        return X if self._labels is None else self._labels.for_learning(X, labels, weights, self._known)

    def _to_answer(self, X: Any) -> Any:
        """Rows to answer now, with the labels that have arrived, where they are asked for."""
        return X if self._labels is None else self._labels.for_answers(X, self._known)

    def _note(self, labels: np.ndarray, weights: np.ndarray | None) -> None:
        if self._labels is not None:
            self._labels.note(labels, weights)

    def add_classes(self, classes: np.ndarray) -> None:
        """Take in classes before their first rows are learned."""
        self._ladders.add_classes(classes)
        self._follow()

    def check_learned(self) -> None:
        """After all rows: refuse options that do not fit the classes."""
        for model in self.members_:
            model.check_learned()

    def check_row_times(self, times: np.ndarray | None, n_rows: int) -> None:
        """Refuse rows without times where some member forgets by time."""
        for model in self._plan.fresh() if not self.started else self.members_:
            model.check_row_times(times, n_rows)

    @property
    def n_warm_up_rows(self) -> int:
        """How many first rows of a stream are kept until its columns are fixed."""
        return self._first.n_warm_up_rows if self.started else 0

    @property
    def columns_fixed(self) -> bool:
        """Whether kinds and cut points are no longer provisional."""
        return self.started and self._first.columns_fixed

    def _fit(self, X: Any, y: Any, sample_weight: Any, times: Any, target: str | None = None) -> Self:
        self.start(target=target)
        self._check_given(X, y, sample_weight, times)
        if y is not None and isinstance(self._first, CountsClassifier) and self._first.recut is None:
            self._learn_table(X, y, sample_weight, times)
        else:
            self._learn(X, y, sample_weight, times)
        self.check_learned()
        self._follow()
        return self

    def fit_schema(self, X: Any, y: Any, target: str | None = None) -> Self:
        """Fix kinds and cut points by a sample of the rows that ``partial_fit`` will bring; nothing is counted yet."""
        self.start(target=target)
        X = self._to_learn(X, as_labels(y), None)
        self._limit_by(X)
        self._ladders.fit_schema(X, y, target)
        self._follow()
        return self

    def _learn_table(self, X: Any, y: Any, sample_weight: Any, times: Any) -> None:
        """Columns are fixed by the whole table; then its rows are answered and learned in turn."""
        labels, m = as_labels(y), n_rows(X)
        first, weights = self._first, check_weights(sample_weight, m)
        check_lengths(m, labels)
        first.target_name_ = first.target_name_ or column_name(y)
        rows = StreamPart(self._to_learn(X, labels, weights), labels, weights, check_times(times, m))
        self._limit_by(rows.X)
        said = self._ladders.fit(rows)
        self._follow()
        own = rows.weights
        if own is not None:  # of the rows that count, but for the first
            own = own[(own > 0) & (first.label_codes(labels)[0] < len(first.classes_))][1:]
        self.n_rows_ = 1
        self._mix(said, own)
        self._note(labels, weights)
        self.n_rows_ = m

    def _check_given(self, X: Any, y: Any, sample_weight: Any, times: Any) -> None:
        """Refuse rows that cannot be learned, while nothing has been."""
        if y is None:
            raise DataError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        weights = check_weights(sample_weight, n_rows(X))
        if weights is not None and not weights.any():
            raise DataError("every sample weight is zero; at least one row must count.")
        self._first.check_labels(y)

    def _learn(self, X: Any, y: Any, sample_weight: Any, times: Any) -> None:
        if y is None:
            raise DataError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        weights = check_weights(sample_weight, n_rows(X))
        first = self._first
        first.target_name_ = first.target_name_ or column_name(y)
        first.check_labels(y)  # before anything is learned
        self.test_then_train(X if hasattr(X, "__getitem__") else np.asarray(X), y, weights, times)

    def test_then_train(
        self,
        X: TableLike,
        y: LabelsLike,
        sample_weight: WeightsLike | None = None,
        times: TimesLike | None = None,
        answered: TableLike | None = None,
    ) -> np.ndarray:
        """Answer every row from the rows before it, then learn it; see ``Classifier.test_then_train``."""
        if not self.started:
            self.start()
        if self._labels is not None:
            labels, weights = as_labels(y), check_weights(sample_weight, n_rows(X))
            check_lengths(n_rows(X), labels)
            given, X = X, self._to_learn(X, labels, weights)
            if answered is not None and n_rows(answered) == n_rows(given):
                answered = self._labels.for_late_answers(answered, labels, weights, self._known or names_of(given))
        return super().test_then_train(X, y, sample_weight, times, answered)

    def learn_one(self, row: Mapping[str, Any], y: Label, sample_weight: float = 1.0, time: Time | None = None) -> Self:
        """Answer one row, for the weights, and learn it."""
        row = check_row(row, "learn_one")
        if not self.started:
            self.start()
        weights = None if sample_weight == 1.0 else check_weights([sample_weight], 1)
        times = None if time is None else check_times([time], 1)
        if self._labels is None and self._learn_dict(row, y, sample_weight, weights, times):
            return self
        labels = np.empty(1, dtype=object)
        labels[0] = y
        (row,) = self._to_learn([row], labels, weights)
        if self._labels is not None and self._learn_dict(row, y, sample_weight, weights, times):
            self._note(labels, weights)
            return self
        self._answer_and_learn(StreamPart([row], labels, weights, times))
        return self

    def _learn_dict(
        self, row: Mapping[str, Any], y: Any, weight: float, weights: np.ndarray | None, times: np.ndarray | None
    ) -> bool:
        """Learn one row by a short way, where there is one ladder and the row brings nothing new; whether it did."""
        only = self._ladders.only_for(row)
        if only is None:
            return False
        if only.learn_dict(row, y, weight, times, self._pool):
            if self._labels is not None or only.first.encoder_ is not self._followed:
                self._keep_up()
            self._note_row()
        elif (said := only.run_dict(row, y, weight, times)) is not None:
            self._mix(said, weights)
        else:
            return False
        if self._warm_up is not None:
            self._ladders.keep_row(row, y, weight, times)
            self._warm_up = self._ladders.first_rows
        return True

    def _answer_and_learn(self, rows: StreamPart) -> Answers:
        """Answer and learn rows with every member, then let the weights follow."""
        n = self._ladders.rows_until_limit(rows)
        if n == 0:
            return self._answer_and_limit(rows.part(0, 1))
        rows = rows.part(0, n)
        said = self._ladders.run(rows)
        rows = rows.part(0, len(said))
        self._follow()
        self._note(rows.y, rows.weights)
        return said.classes, self._mix(said, rows.weights)

    def _answer_and_limit(self, row: StreamPart) -> Answers:
        """Answer and learn the next row, which brings too many columns: the answer is that of the members so far."""
        said = None
        if self.has_learned:
            said = self.classes_, self._pool.mix(self._ladders.answer(row.to_answer, stream=True))
        self._limit_columns(names_of_counted(row))
        now = self._answer_and_learn(row)
        return now if said is None else said

    def _mix(self, said: Said, weights: np.ndarray | None) -> np.ndarray:
        """What the pool makes of answers, row after row; the weights learn."""
        self._keep_up()
        before, self.n_rows_ = self.n_rows_, self.n_rows_ + len(said)
        if not len(said.classes):
            return np.zeros((len(said), 0))
        proba, path = self._pool.learn(said.answers, said.judged, said.labels, weights)
        self._history.add(before, path)
        return proba

    def _note_row(self) -> None:
        """Members and pool have learned one row."""
        self._history.add_row(self.n_rows_, self._pool.weights)
        self.n_rows_ += 1

    def merge(self, other: Any) -> Self:
        """Refused: the weights depend on the order of the rows."""
        raise SchemaMismatch(
            "cannot merge HalfLives: old rows count less and weights follow the stream, so that everything depends on "
            "the order of rows, and the joint order of two streams is unknown. Merge models that do not forget: AODE()."
        )

    def unlearn(
        self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike | None = None, times: TimesLike | None = None
    ) -> NoReturn:
        """Refused: the weights depend on the order of the rows."""
        raise self._refusal("unlearn rows", "Let old rows fade, or fit on the rows that shall stay.")

    def leave_one_out(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike | None = None) -> np.ndarray:
        """Refused: the weights depend on the order of the rows."""
        raise self._refusal("leave rows out", "Use test_then_train, which answers every row before it is learned.")

    def _refusal(self, what: str, way_out: str) -> DataError:
        return DataError(f"{type(self).__name__} cannot {what}: what it has learned depends on their order. {way_out}")

    # --- answers ------------------------------------------------------------------------------------------------

    @property
    def events_(self) -> list[Any]:
        """Columns that were cut along the stream, which is the same for all members."""
        if not self.started:
            return []
        return sorted([*getattr(self._first, "events_", ()), *self._ladders.all[0].moved_cuts], key=lambda own: own.row)

    @property
    def members_(self) -> list[Classifier]:
        """The members, one per half-life and ladder."""
        return self._ladders.models

    @property
    def columns_(self) -> tuple[str, ...]:
        """The columns that the model sees now."""
        self.check_started()
        return self._ladders.columns or self.encoder_.schema.names

    @property
    def subspaces_(self) -> list[tuple[str, ...]]:
        """The columns of every subspace; none before the first row."""
        self.check_started()
        return [own.columns for own in self._ladders.subspaces]

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of every member now."""
        self.check_started()
        return dict(zip(self._ladders.names, self._pool.weights.tolist(), strict=True))

    @property
    def weight_history_(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows seen, and the weights of all members then, (points, members): a point every so many rows."""
        self.check_started()
        return self._history.rows.copy(), self._history.weights.copy()

    @property
    def class_count_(self) -> np.ndarray:
        """How much the rows of each class weigh for the member that forgets least."""
        return self.model_.class_count_ if self.has_learned else np.zeros(len(self.classes_))

    @property
    def model_(self) -> Classifier:
        """The member of the first ladder that forgets least."""
        models = self._ladders.all[0].models
        counts = [model.class_count_.sum() if model.has_learned else 0.0 for model in models]
        return models[int(np.argmax(counts))]

    @property
    def has_learned(self) -> bool:
        """Whether there are rows to answer from."""
        return self.started and self._first.has_learned

    def stream_proba(self, X: Any) -> np.ndarray:
        """``predict_proba`` as a stream answers."""
        return self._mixed(X, stream=True)

    def predict_proba_one(self, row: Mapping[str, Any]) -> dict[Label, float]:
        """Probability of every class known so far; an empty dict before the first row."""
        row = check_row(row, "predict_proba_one")
        only = self._ladders.only if self.started and self._labels is None else None
        said = None if only is None else only.answer_dict(row, self._pool)
        if said is None and not self.has_learned:
            return {}
        if said is None:
            said = self.stream_proba([row])[0].tolist()
        return dict(zip(self.class_codes, said))  # noqa: B905  # which takes longer

    def _scores(self, X: Any, *, log_joint: bool) -> np.ndarray:
        proba = self._mixed(X, stream=False)
        with np.errstate(divide="ignore"):
            return np.log(proba) if log_joint else proba

    def _mixed(self, X: Any, *, stream: bool) -> np.ndarray:
        self.check_started()
        self.check_fitted()
        proba = self._pool.mix(self._ladders.answer(self._to_answer(X), stream=stream))
        self._keep_up()
        return proba

    def decide(self, proba: np.ndarray) -> np.ndarray:
        """The label to answer with, given the probabilities of the classes: see ``predict``."""
        return self.model_.decide(proba) if self.has_learned else np.repeat(self.classes_[:1], len(proba))

    def _explained(self, X: Any, answer: Any, against: Any, *, one_alone: bool) -> Explanation | Explanations:
        return explain_each(self, X, answer, against, self._explain_one, one_alone=one_alone)

    def _explain_one(self, row: Any, answer: Any, against: Any) -> Explanation:
        proba = self.predict_proba(row)
        chosen, rival = (self.classes_.tolist()[c] for c in classes_of(self, proba, answer, against))
        weights = self._pool.weights
        if len(weights) == 1 or self.mix == "fixed-share":
            weights = np.eye(len(weights))[int(np.argmax(weights))]
        seen = self._ladders.seen_by_models(self._to_answer(row))
        members = [(weight, *own) for weight, own in zip(weights.tolist(), seen, strict=True)]
        probability = float(proba[0, self.class_codes[chosen]])
        rule = "weights: " + ", ".join(f"{name} {weight:.2f}" for name, weight in self.weights_.items())
        return explain_pool(members, chosen, rival, probability, rule)

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw which half-life spoke when; see ``tanager.plot_half_lives``.

        Parameters
        ----------
        path : str or PathLike, default=None
            Where to write it, by its extension. None: nowhere.
        **options : object
            Those of ``plot_half_lives``.

        Returns
        -------
        Figure
            Of Matplotlib.
        """
        figure: Figure = public("plot_half_lives")(self, path, **options)
        return figure

    def display_parts(self) -> list[Html]:
        """What a notebook shows beside what it shows of every classifier: which half-life speaks now."""
        return [weights_html(self.weights_, self.mix, self.n_rows_, self._ladders.columns)]

    # --- files --------------------------------------------------------------------------------------------------

    def _model_state(self) -> dict[str, Any]:
        """All members, their weights, and how these came about."""
        state: dict[str, Any] = {"n_rows": self.n_rows_, "every": self._history.every}
        if self._labels is not None:
            state["last_labels"] = self._labels.to_plain()
        of_ladders, arrays = self._ladders.to_state()
        state |= of_ladders
        arrays |= self._pool.to_arrays() | self._history.to_arrays()
        return {"state": state, "arrays": arrays, "models": self.members_}

    def from_state(self, state: dict[str, Any]) -> None:
        """Take back what ``to_state`` gave. Unsound data are refused."""
        super().from_state(state)
        if "encoder" not in state and len(state["classes"]):  # declared, before any row
            self.start(state["classes"], state["target"])

    def _take_model_state(self, state: dict[str, Any]) -> None:
        expected = {"n_rows": saved.whole(), "every": saved.whole(1)}
        self.n_rows_, every = saved.read("state of its stream", state["state"], expected).values()
        if self._labels is not None:
            self._labels.take_plain(state["state"].get("last_labels"))
            self._ladders.have_labels(self._labels.names or ())
        self._ladders.take_state(state["state"], state["arrays"], state["models"], state.get("warm_up"))
        self._start_weights()
        self._pool.take_arrays(state["arrays"])
        self._history.take_arrays(every, state["arrays"])
        self._follow()
