"""AnytimeClassifier: what classifiers share that answer with naive Bayes at once, and better while there is time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Self, TypeAlias, cast

import numpy as np

from tanager import saved
from tanager.counts.block import Block, Query
from tanager.counts.joint import JointCounts
from tanager.counts.memory import as_bytes
from tanager.encoding import Encoder, Schema
from tanager.encoding.schema import APPEARED
from tanager.encoding.typing import Label, LabelsLike, TableLike, TimesLike, WeightsLike
from tanager.errors import (
    DataError,
    DataWarning,
    ModelFileError,
    OptionError,
    check_number,
    check_option,
    is_number,
    warn_user,
)
from tanager.learning.answering import FROM_ROWS
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.member_scores import MemberScores
from tanager.learning.member_space import member_families, members_that_fit
from tanager.learning.member_validation import MemberValidation
from tanager.learning.reading import check_row
from tanager.learning.rows import KeptRows
from tanager.listed import names_in
from tanager.scoring.forms import Form, ParentSet, StagedSum, naive
from tanager.scoring.staged import AnytimeAnswer, answer_of, answer_within
from tanager.scoring.view import View
from tanager.structure.orders import descending, generator_of

MANY_COLUMNS = 100  # beyond, not all pairs of super-parents are counted
MOST_CELLS = 7.5e7  # of the first rows that are counted for pairs of super-parents, then
FEWEST_PAIRS, MOST_PAIRS = 16, 256


SuperParents: TypeAlias = str | tuple[str, ...]  # the name of a column, or two of them


@dataclass(eq=False, repr=False, kw_only=True)
class AnytimeClassifier(CountsClassifier):
    """What the anytime estimators share.

    Parameters
    ----------
    member_order : {"cv", "mi", "random", "given"} or list, default="cv"
        Which super-parents come first: those with the fewest errors on left-out rows ("cv"), those that tell most about
        the class ("mi"), as drawn by ``random_state``, as in the table, or as listed.
    mix : {"joint", "posterior", "replace"}, default="joint"
        How naive Bayes and the members so far become one answer. "joint": the mean of P(class, row). "posterior": the
        mean of P(class | row), in which no member outweighs others because the row is more probable to it. "replace":
        the mean of P(class, row) over the members alone, as soon as there is one.
    stop : {"loo", "all", "margin", "budget"}, default="loo"
        When a row is done. "loo": after as many members as make the fewest errors on left-out rows. "all": after all.
        "margin": when one class has led by ``odds`` for two members in a row. "budget": when ``budget`` or ``members``
        are used up. A budget given to ``predict`` or ``predict_proba`` ends the work in any case.
    odds : float, default=100.0
        With ``stop="margin"``: by what factor the first class must be more probable than the second.
    weights : {"mi", "loo"} or None, default=None
        How much each member counts: all the same (None), by what it tells about the class ("mi"), or so that the
        classes of left-out rows are most probable ("loo").
    budget : float, default=None
        With ``stop="budget"``: seconds for each call of ``predict`` or ``predict_proba`` that is given no budget.
    members : int, default=None
        With ``stop="budget"``: super-parents for each row, in calls that are given no number of members.
    validation_rows : int, default=None
        At most so many rows, spread over the table, are left out one by one to see how good each member is. None: as
        many as take a bounded amount of work, 5e8 / (members columns classes), but from 500 to 100,000.
    random_state : int or RandomState, default=None
        The seed of ``member_order="random"``.
    max_memory : int, str or None, default="2 GB"
        The most that counts may take, in bytes or as text such as "500 MB". Where not all members fit, those are kept
        that tell most about the class, and a warning says so. Where values or classes come later, members that make the
        most errors on left-out rows are dropped first. With more than 100 columns AnytimeA2DE keeps 16 to 256 pairs
        whatever the memory: 7.5e7 / (rows columns) of them, by the rows that come first.
    """

    unlisted = names_in("kept_members member_places members_of staged validation")

    default_bins = "refined"
    min_count: float = 1.0
    member_order: str | Sequence[Any] = "cv"
    mix: str = "joint"
    stop: str = "loo"
    odds: float = 100.0
    weights: str | None = None
    budget: float | None = None
    members: int | None = None
    validation_rows: int | None = None
    random_state: int | np.random.RandomState | None = None

    _answers_side_by_side = False  # each answer notes its members
    refresh_ratio = FROM_ROWS  # members are validated by rows
    _validation = cast("MemberValidation | None", None)  # of each model its own, once learning has begun
    _kept = cast("tuple[ParentSet, ...] | None", None)  # members that fit into max_memory; None: all of them
    _told_of_space = False  # whether it was said that some do not fit

    # --- options ------------------------------------------------------------------------------------------------

    def check_options(self) -> None:
        super().check_options()
        if self.calibrate:
            raise OptionError(
                f"calibrate= goes with one answer per row, and those of {type(self).__name__} depend on the time they "
                "get. Calibrate AODE or A2DE."
            )
        check_number("min_count", self.min_count, "a number of rows")
        if isinstance(self.member_order, str):
            check_option("member_order", self.member_order, ("cv", "mi", "random", "given"))
        elif not isinstance(self.member_order, Sequence | np.ndarray):
            raise OptionError(f'member_order={self.member_order!r}: give "cv", "mi", "random", "given" or a list.')
        generator_of(self.random_state)  # refuses what is none, also where it is not used
        check_option("mix", self.mix, ("joint", "posterior", "replace"))
        check_option("stop", self.stop, ("all", "loo", "margin", "budget"))
        if self.weights is not None:
            check_option("weights", self.weights, ("mi", "loo"))
        if not is_number(self.odds, 1):
            raise OptionError(f"odds={self.odds!r}: give a number of at least 1; 100 says 100 to 1.")
        most = self.validation_rows
        if most is not None and (not _is_whole(most) or most < 1):
            raise OptionError(f"validation_rows={self.validation_rows!r}: give a number of rows of at least 1.")
        _check_seconds("budget", self.budget)
        _check_members(self.members)
        limited = self.budget is not None or self.members is not None
        if limited != (self.stop == "budget"):
            found = (
                'stop="budget" names no limit' if not limited else f"stop={self.stop!r} does not use budget, members"
            )
            raise OptionError(
                f'{found}. Write stop="budget" with budget=0.001 (seconds) or members=5, or give them with each '
                "question: predict_proba(X, budget=0.001)."
            )

    def _limits(self, budget: float | None, members: int | None) -> tuple[float | None, int | None]:
        """Of a question: its own, or those of the model."""
        _check_seconds("budget", budget)
        _check_members(members)
        if budget is None and members is None:
            return self.budget, self.members
        return budget, members

    # --- which members, in which order --------------------------------------------------------------------------

    def members_of(self, n: int) -> tuple[ParentSet, ...]:
        """Super-parents of every member, as they come in the table."""
        raise NotImplementedError

    def _information(self, counts: JointCounts) -> np.ndarray:
        """What every member tells about the class."""
        raise NotImplementedError

    def _otherwise(self, n: int) -> Form:
        """What answers where no member is eligible."""
        return naive(n)

    @property
    def kept_members(self) -> tuple[ParentSet, ...]:
        """Super-parents of every member that there is memory for."""
        return self.members_of(self.counts_.n_features) if self._kept is None else self._kept

    def _kept_information(self) -> np.ndarray:
        """What the members that are kept tell about the class."""
        counts = self.counts_
        found = self._information(counts)
        if self._kept is None:
            return found
        place = {member: j for j, member in enumerate(self.members_of(counts.n_features))}
        return found[[place[member] for member in self._kept]] if self._kept else np.zeros(0)

    def _validates(self) -> bool:
        """Whether order, weights or stopping point depend on left-out rows."""
        return "loo" in (self.stop, self.weights) or self._ranks_members

    @property
    def _ranks_members(self) -> bool:
        """Whether the order of the members depends on left-out rows."""
        return isinstance(self.member_order, str) and self.member_order == "cv"

    def _adaptive(self) -> bool:
        by_information = "mi" in (self.weights, self.member_order if isinstance(self.member_order, str) else "")
        return self._validates() or by_information

    @property
    def looks_at_rows(self) -> bool:
        """Whether learned rows are looked at again, if only once; whoever attaches counts must bring rows, too."""
        return self._needs_rows() or self._validates()

    @property
    def validation(self) -> MemberValidation:
        """What left-out rows say about the members, and the rows that are still to be used for it."""
        if self._validation is None:
            self._validation = MemberValidation(self)
        return self._validation

    def member_places(self) -> list[int]:
        """Places of the members, first come first."""
        members = self.kept_members
        how = self.member_order
        if not isinstance(how, str):
            return self._listed(how, members)
        if how == "random":
            # A generator that is given is copied, and None is a seed too: the order is the same whenever asked for.
            state = self.random_state
            generator = generator_of(0 if state is None else deepcopy(state))
            return [int(j) for j in generator.permutation(len(members))]
        if how == "cv" and (ranked := self.validation.ranking()) is not None:
            return ranked
        return list(range(len(members))) if how == "given" else descending(self._kept_information())

    def _listed(self, names: Sequence[Any], kept: tuple[ParentSet, ...]) -> list[int]:
        """Places of the members that are kept; all are to be named, but for columns that came later: these go last."""
        members = self.members_of(self.counts_.n_features)
        named = [(name,) if len(members[0]) == 1 else tuple(name) for name in names]
        sets = [frozenset(self.counts_.column(part) for part in name) for name in named]
        came = {i for i, column in enumerate(self.counts_.schema.columns) if column.reason == APPEARED}
        sets += [frozenset(member) for member in members if came & set(member) and frozenset(member) not in sets]
        if len(sets) != len(members) or set(sets) != {frozenset(member) for member in members}:
            what = "columns" if len(members[0]) == 1 else "pairs of columns"
            raise OptionError(f"member_order must name each of the {len(members)} {what} once, got {list(names)!r}.")
        place = {frozenset(member): j for j, member in enumerate(kept)}
        return [place[one] for one in sets if one in place]

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        validation = self.validation
        if self._validates() and not validation.deferred:
            validation.run(None)
        limit = validation.scores.best() if self.stop == "loo" else self.members
        margin = math.log(self.odds) if self.stop == "margin" else math.inf
        return self.staged(self.member_places(), -1 if limit is None else limit, margin)

    def staged(self, order: list[int], limit: int, margin: float) -> StagedSum:
        """All members in an order, with their weights."""
        n = self.counts_.n_features
        members = self.kept_members
        weights = np.ones(len(members))
        learned = self.validation.weights
        if self.weights == "mi":
            found = self._kept_information()
            weights = found / found.max() if found.any() else weights
        elif self.weights == "loo" and learned is not None and len(learned) == len(members):
            weights = learned
        ordered = tuple(members[j] for j in order)
        shares = tuple(float(weights[j]) for j in order)
        return StagedSum(ordered, shares, self.min_count, self._otherwise(n), self.mix, limit, margin)

    def _all_members(self, order: list[int]) -> View:
        """A view of all members in an order, to validate them by. The one that answers will do, in the same order."""
        form = self.staged(order, -1, math.inf)
        current = self._answering.current
        known = None if current is None else current.view.form
        if current is not None and isinstance(known, StagedSum):
            view = current.view
            same = replace(known, limit=-1, margin=math.inf) == form and view.factors == self.class_factors()
            if same and view.valid and view.counts is self.counts_ and not view.learned:
                return view
        return self.view_of(form)

    # --- memory -------------------------------------------------------------------------------------------------

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        """All sets of so many columns; or less, and only what the members read that are kept."""
        if self._kept is None:
            return {"order": self.order}
        return {"order": self.order - 1, "families": member_families(self._kept, len(schema))}

    def _fits(self, schema: Schema, n_classes: int) -> bool:
        """Whether counts of our members stay within ``max_memory``."""
        shape = self.counts_shape(schema)
        return JointCounts.estimate_bytes(self._capacity(schema), n_classes, **shape) <= as_bytes(self.max_memory)

    def _too_many(self, schema: Schema) -> bool:
        """Whether members would take too long, however much memory there is."""
        return self.order > 2 and len(schema) > MANY_COLUMNS

    def _capacity(self, schema: Schema) -> np.ndarray:
        return schema.n_values + int(self.unseen == "smooth")

    def _start_model(self) -> None:
        self._kept = None
        if self._too_many(self.encoder_.schema) or not self._fits(self.encoder_.schema, len(self.classes_)):
            self._kept = ()  # the first rows say which; see _rows_come
        super()._start_model()

    def _rows_come(self, block: Block) -> None:
        """Where not all members fit, the first rows say which are worth most."""
        counts = self.counts_
        if self._kept != () or counts.n_rows > 0:
            return
        first = counts.copy().update(block.codes, block.labels, block.weights, n_jobs=self.n_threads)
        members = self.members_of(counts.n_features)
        places = descending(self._information(first))
        if self._too_many(first.schema):
            pairs = int(MOST_CELLS / (max(len(block), 1) * counts.n_features))
            places = places[: min(max(pairs, FEWEST_PAIRS), MOST_PAIRS)]
        ranked = [members[j] for j in places]
        self._keep(ranked, first.schema, first.n_classes)
        empty = {"max_memory": self.max_memory, "spare": counts.spare, **self.counts_shape(first.schema)}
        self._learned.counts = JointCounts(first.schema, first.classes, **empty)

    def make_room(self, schema: Schema, classes: np.ndarray) -> None:
        """Drop members where those there are do not fit any more for more values, columns or classes.

        Those that make the most errors on left-out rows go first, or those that tell least about the class.
        """
        if self._memory is None or self._fits(schema, len(classes)):
            return
        counts, members = self.counts_, self.kept_members
        least = JointCounts.estimate_bytes(self._capacity(schema), len(classes), self.order - 1)
        of_this_size = all(len(member) == self.order - 1 for member in members)  # not with a column or two alone
        if not members or not of_this_size or least > as_bytes(self.max_memory):
            return  # there is nothing to drop that would help: it will be refused
        ranking = self.validation.ranking() if self._validates() else None
        places = descending(self._kept_information()) if ranking is None else ranking
        self._keep([members[j] for j in places], schema, len(classes))
        self._learned.counts = counts.narrowed(**self.counts_shape(counts.schema))
        self._answering.forget()

    def _keep(self, ranked: Sequence[ParentSet], schema: Schema, n_classes: int) -> None:
        """Keep as many of these members as fit, the first first, and say so once."""
        order, budget = self.order - 1, as_bytes(self.max_memory)
        self._kept = members_that_fit(ranked, self._capacity(schema), n_classes, order, budget)
        if len(self._kept) < len(ranked) and not self._told_of_space:
            n_all = len(self.members_of(len(schema)))
            self._told_of_space = True
            what = "super-parents" if self.order == 2 else "pairs of super-parents"
            warn_user(
                f"{len(self._kept):,} of {n_all:,} {what} fit into the memory of "
                f"max_memory={self.max_memory!r}; the others are left out (members_ names those that are kept). Raise "
                "max_memory, or use fewer bins or columns, to keep all.",
                DataWarning,
            )

    # --- learning -----------------------------------------------------------------------------------------------

    def fit(
        self,
        X: TableLike,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        times: TimesLike | None = None,
        budget: float | None = None,
    ) -> Self:
        """Learn from a table, forgetting all that was learned before. Rows without a label are left out.

        With a ``budget`` in seconds the counts come first, and what is left is spent on the order of the members, their
        weights and the stopping point; ``improve`` goes on with that whenever there is time.

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
        budget : float, default=None
            Seconds for learning. None: as long as it takes.

        Returns
        -------
        self
            The model itself.
        """
        start = perf_counter()
        _check_seconds("budget", budget)
        self._validation = MemberValidation(self)
        self._validation.deferred = budget is not None
        super().fit(X, y, sample_weight, times)
        if budget is not None:
            self.improve(max(0.0, budget - (perf_counter() - start)))
        return self

    def improve(self, seconds: float | None = None) -> bool:
        """Spend idle time on finding out which super-parents are best, what they weigh and how many are enough.

        The model can be used at any time before and after. Returns whether there is more to do. Once this was called,
        or ``fit`` was given a budget, rows that are learned later wait for it, too: answers do not.

        Parameters
        ----------
        seconds : float, default=None
            How long. None: until all is done.

        Returns
        -------
        bool
            Whether there is more to do.
        """
        _check_seconds("seconds", seconds)
        self.check_fitted()
        validation = self.validation
        validation.deferred = True
        if not self._validates():
            return False
        if validation.run(None if seconds is None else perf_counter() + seconds):
            if self._answering.current is not None:
                self._answering.current.view.form_version = -1  # so that the structure is chosen again
            self._answers(fresh=True)
        return validation.unfinished

    def start(self, classes: np.ndarray | None = None, target: str | None = None) -> Self:
        """Forget everything. ``classes`` are known beforehand; ``target`` is what the class is called."""
        # Members that took part in the last answers. A list, because an answer may set no attribute of a model.
        self._last_members: list[np.ndarray] = []
        self.validation.start()
        self._kept, self._told_of_space = None, False
        return super().start(classes, target)

    def _remember(self, counts: JointCounts, *moments: Any) -> None:
        super()._remember(counts, *moments)
        self.validation.start()
        if self._validates():
            self._learned.listener = self.validation

    def attach(self, counts: JointCounts, encoder: Encoder, rows: KeptRows | None) -> Self:
        """Answer from counts, and from rows, that others use as well."""
        super().attach(counts, encoder, rows)
        if self._validates() and rows is not None:
            self.validation.add(rows.block)
        return self

    def _move_classes(self, places: np.ndarray, classes: np.ndarray) -> None:
        super()._move_classes(places, classes)
        self.validation.move_classes(places)

    def _cuts_moved(self, rows: Block) -> None:
        super()._cuts_moved(rows)
        if self._validates():
            self.validation.replace_rows(rows)

    def _columns_cut(self, maps: Mapping[int, np.ndarray]) -> None:
        super()._columns_cut(maps)
        self.validation.map_codes(maps)

    def _columns_added(self, n_new: int, wider: dict[str, Any]) -> None:
        schema = self.encoder_.schema
        self.make_room(schema, self.classes_)
        super()._columns_added(n_new, wider if self._kept is None else self.counts_shape(schema))
        self.validation.add_columns(n_new)

    def _stream_scores(self) -> tuple[np.ndarray, float] | None:
        validation = self.validation
        return (validation.scores.empty(), validation.keep(1)) if self._validates() else None

    def _take_stream_scores(self, view: View, scores: np.ndarray, keep: float, n_rows: int) -> None:
        assert isinstance(view.form, StagedSum)
        known = self.validation.scores
        place = {member: j for j, member in enumerate(known.members)}
        known.take(scores, [place[member] for member in view.form.members], keep**n_rows)

    # --- answers ------------------------------------------------------------------------------------------------

    def answer(self, X: TableLike, budget: float | None = None, members: int | None = None) -> AnytimeAnswer:
        """Probabilities, and how many super-parents there was time for.

        All rows get naive Bayes, whatever the budget; then all get one super-parent after the other until the time is
        up, so that no row is left behind.

        Parameters
        ----------
        X : table
            Rows to answer; a list of dicts is fine.
        budget : float, default=None
            Seconds for the whole call.
        members : int, default=None
            Super-parents for each row, at most. 0 is naive Bayes.

        Returns
        -------
        AnytimeAnswer
            Probabilities, members and seconds.
        """
        start = perf_counter()
        budget, members = self._limits(budget, members)
        self.check_fitted()
        view, codes = self._answers(fresh=budget is None).view, self._encode(X)
        return self._within(view, codes, start, budget, members)

    def _scores(self, X: Any, *, log_joint: bool) -> np.ndarray:
        start = perf_counter()
        self.check_fitted()
        view, codes = self._answers(fresh=self.budget is None).view, self._encode(X)
        return self._within(view, codes, start, self.budget, self.members, log_joint=log_joint).proba

    def _scores_of(self, query: Query, *, log_joint: bool) -> np.ndarray:
        view = self._answers(fresh=self.budget is None).view
        return self._within(view, query.codes, perf_counter(), self.budget, self.members, log_joint=log_joint).proba

    def _within(
        self,
        view: View,
        codes: np.ndarray,
        start: float,
        budget: float | None,
        members: int | None,
        *,
        log_joint: bool = False,
    ) -> AnytimeAnswer:
        limit = self._limit(view, members)
        return answer_within(view, codes, start, budget, limit, log_joint=log_joint, n_jobs=self.n_threads)

    def _limit(self, view: View, members: int | None) -> int:
        """Members for a row at most: what the question says, within what was found to be good."""
        assert isinstance(view.form, StagedSum)
        found = view.form.limit
        if members is None:
            return -1 if self.stop == "budget" else found  # a question with a budget of its own
        return members if found < 0 or self.stop == "budget" else min(members, found)

    def staged_answers(self, X: TableLike) -> Iterator[AnytimeAnswer]:
        """Answers that get better: naive Bayes, then with one more super-parent at a time. Stop whenever you like.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.

        Yields
        ------
        AnytimeAnswer
            The answers so far.
        """
        start = perf_counter()
        self.check_fitted()
        codes = self._encode(X)
        run = self._answers(fresh=True).view.run(codes)
        more, steps = True, 0
        while more:
            more = run.advance(steps, -1, self.n_threads)
            yield answer_of(run, len(codes), len(self.classes_), start, more)
            steps = 1

    def predict_proba(self, X: TableLike, budget: float | None = None, members: int | None = None) -> np.ndarray:
        """Probability of every class (columns in the order of ``classes_``) for every row; see ``answer``.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        budget : float, default=None
            Seconds for the whole call.
        members : int, default=None
            Super-parents for each row, at most. 0 is naive Bayes.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Probabilities that add up to 1 in every row.
        """
        found = self.answer(X, budget, members)
        self._last_members[:] = [found.members]
        self._tell_unseen()
        return found.proba

    def predict(self, X: TableLike, budget: float | None = None, members: int | None = None) -> np.ndarray:
        """The most probable class of every row, or with a cost matrix the class of least expected loss.

        Parameters
        ----------
        X : table
            Rows: a frame, an array, a list of rows (sequences or dicts) or a dict of columns.
        budget : float, default=None
            Seconds for the whole call.
        members : int, default=None
            Super-parents for each row, at most. 0 is naive Bayes.

        Returns
        -------
        array of shape (n_rows,)
            A label for every row.
        """
        return self.decide(self.predict_proba(X, budget, members))

    def predict_proba_one(
        self, row: Mapping[str, Any], budget: float | None = None, members: int | None = None
    ) -> dict[Label, float]:
        """Probability of every class known so far; an empty dict before the first row.

        Parameters
        ----------
        row : dict
            Column names and values.
        budget : float, default=None
            Seconds for the whole call.
        members : int, default=None
            Super-parents for each row, at most. 0 is naive Bayes.

        Returns
        -------
        dict of label to float
            The probability of each class.
        """
        start = perf_counter()
        budget, members = self._limits(budget, members)
        if budget is None and members is None:
            return super().predict_proba_one(row)  # the short cut; members are not counted there
        row = check_row(row, "predict_proba_one")
        if not self.has_learned:
            return {}
        codes = self.encoder_.encode_row(row, self.unseen)[None, :]
        found = self._within(self._answers(fresh=False).view, codes, start, budget, members)
        self._last_members[:] = [found.members]
        return dict(zip(self.class_codes, found.proba[0].tolist(), strict=True))

    # --- what was found -----------------------------------------------------------------------------------------

    @property
    def members_used_(self) -> np.ndarray:
        """How many super-parents took part, for each row that was last asked for; 0 is naive Bayes alone."""
        if not self.__dict__.get("_last_members"):
            raise AttributeError("members_used_ is there once predict or predict_proba was asked.")
        return self._last_members[0]

    @property
    def _staged_sum(self) -> StagedSum:
        form = self.structure_
        assert isinstance(form, StagedSum)
        return form

    def _name(self, member: ParentSet) -> SuperParents:
        """The name of a super-parent; of two of them, a pair."""
        names = self.counts_.schema.names
        return names[member[0]] if len(member) == 1 else tuple(names[i] for i in member)

    @property
    def members_(self) -> list[SuperParents]:
        """The super-parents that there is memory for, as they come in the table; pairs of them where there are two."""
        self.check_fitted()
        return [self._name(member) for member in self.kept_members]

    @property
    def order_(self) -> list[SuperParents]:
        """The super-parents in the order in which they answer; of AnytimeA2DE pairs of them."""
        return [self._name(member) for member in self._staged_sum.members]

    @property
    def n_members_(self) -> int:
        """How many super-parents answer a row: all, or with ``stop="loo"`` as many as err least on left-out rows."""
        form = self._staged_sum
        return len(form.members) if form.limit < 0 else form.limit

    @property
    def super_parent_(self) -> SuperParents:
        """The super-parent that alone makes the fewest errors on left-out rows."""
        scores = self._known_scores()
        return self._name(scores.members[scores.ranking()[0]])

    @property
    def member_errors_(self) -> dict[SuperParents | None, float]:
        """Share of left-out rows that each super-parent alone gets wrong; None stands for naive Bayes."""
        scores = self._known_scores()
        names = [None, *(self._name(member) for member in scores.members)]
        return dict(zip(names, scores.wrong_alone.tolist(), strict=True))

    @property
    def prefix_errors_(self) -> np.ndarray:
        """Share of left-out rows that the first 0, 1, 2, ... members get wrong; NaN where no row was answered yet."""
        return self._known_scores().wrong_first

    def _known_scores(self) -> MemberScores:
        self.check_fitted()
        self._answers(fresh=True)
        if not self._validates() or self.validation.scores.weight == 0:
            raise DataError(
                f"the members of this {type(self).__name__} were not validated by any row. "
                'Use member_order="cv" or stop="loo", and call improve() where fit had a budget.'
            )
        return self.validation.scores

    # --- merging, unlearning, files -----------------------------------------------------------------------------

    def unlearn(
        self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike | None = None, times: TimesLike | None = None
    ) -> Self:
        """Take learned rows away, as if they had never been seen, and what they say about super-parents."""
        if not self._validates():
            return super().unlearn(X, y, sample_weight, times)
        validation = self.validation
        validation.run(None)
        found = validation.scores_of(self.known_rows(X, y, sample_weight, unseen="as learned"))
        super().unlearn(X, y, sample_weight, times)
        validation.scores.give_back(found)
        return self

    def _merge(self, other: Self) -> None:
        other = self._alike(other)
        columns = self.counts_.places_of(other.counts_)
        if self._validates():  # before rows wait for counts that are others
            self.validation.run(None)
            other.validation.run(None)
        super()._merge(other)  # first, because it may be refused
        if self._validates():
            self.validation.merge(other.validation, columns)

    def _alike(self, other: Self) -> Self:
        """Both keep the members that both have; the other model itself stays as it is."""
        if self._kept is None and other._kept is None:
            return other
        ours, theirs = ({frozenset(_names(m.counts_, one)): one for one in m.kept_members} for m in (self, other))
        other = deepcopy(other)
        for model, members in ((self, ours), (other, theirs)):
            common = tuple(sorted(member for name, member in members.items() if name in ours and name in theirs))
            if common != model._kept:
                model._kept = common
                model._learned.counts = model.counts_.narrowed(**model.counts_shape(model.counts_.schema))
                model._answering.forget()
        return other

    def _model_state(self) -> dict[str, Any]:
        state = super()._model_state()
        state["arrays"] |= self.validation.to_arrays()
        if self._kept is not None:
            size = self.order - 1
            state["arrays"]["anytime-kept"] = np.array(self._kept, dtype=np.int64).reshape(len(self._kept), size)
        return state

    def _take_model_state(self, state: dict[str, Any]) -> None:
        if "anytime-kept" in state["arrays"]:
            expected = saved.array("i8", None, self.order - 1)
            places = saved.field("members", state["arrays"], "anytime-kept", expected)
            kept = tuple(tuple(member) for member in places.tolist())
            if len(set(kept)) < len(kept) or not set(kept) <= set(self.members_of(len(self.encoder_.schema))):
                raise ModelFileError("it keeps members that it does not have, or one of them twice")
            self._kept = kept
        super()._take_model_state(state)
        self.validation.take_arrays(state["arrays"])


def _names(counts: JointCounts, member: ParentSet) -> list[str]:
    return [counts.schema.names[i] for i in member]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _check_members(members: Any) -> None:
    if members is not None and (not _is_whole(members) or members < 0):
        raise OptionError(f"members={members!r}: give a number of super-parents of at least 0, or None for all.")


def _check_seconds(name: str, seconds: float | None) -> None:
    """A span of time, or None."""
    if seconds is not None and not is_number(seconds, 0):
        raise OptionError(f"{name}={seconds!r}: give seconds of at least 0 (0.001 is a millisecond), or None.")
