"""AnytimeAODE: naive Bayes at once, then better with every super-parent that there is time for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tanager.counts.joint import JointCounts
from tanager.errors import DataError, OptionError, check_option, is_number
from tanager.learning.averaged import AveragedClassifier, naive, one_dependence
from tanager.learning.member_validation import ImprovingMixin, check_seconds
from tanager.learning.one_row import check_row
from tanager.learning.rows import Rows
from tanager.scoring.forms import Form, InTurn, ParentSet, SumOfProducts, View
from tanager.structure.measures import class_information, class_information_given
from tanager.structure.orders import descending

COMPILING = 0.25  # share of a budget that may go into tables for a batch


@dataclass(frozen=True)
class AnytimeAnswer:
    """Probabilities, and what they cost.

    Attributes
    ----------
    proba : array of shape (n_rows, n_classes)
        Probability of every class for every row.
    members : array of shape (n_rows,)
        Super-parents that spoke for each row; 0 is naive Bayes alone.
    seconds : float
        Time since the question.
    complete : bool
        Whether no row could have had a further member.
    """

    proba: np.ndarray
    members: np.ndarray
    seconds: float
    complete: bool


@dataclass(eq=False, repr=False, kw_only=True)
class AnytimeClassifier(ImprovingMixin, AveragedClassifier):
    """What the anytime estimators share.

    Parameters
    ----------
    member_order : {"cv", "mi", "random", "given"} or list, default="cv"
        Which super-parents come first: those with the fewest errors on left-out rows, those that tell most about the
        class, any (see ``random_state``), as in the table, or as listed.
    mix : {"joint", "posterior", "replace"}, default="joint"
        How naive Bayes and the members so far become one answer: the mean of joint probabilities, the mean of
        posteriors (no member can outshout the others), or the mean of members alone once there is one.
    stop : {"loo", "all", "margin", "budget"}, default="loo"
        When a row has had enough: after as many members as make the fewest errors on left-out rows; after all; when one
        class has led by ``odds`` for two steps; or when ``budget`` or ``members`` are used up. A budget given with a
        question holds beside each of them.
    odds : float, default=100.0
        For ``stop="margin"``.
    weights : {"mi", "loo"} or None, default=None
        Members weigh the same, or by what they tell about the class, or so that left-out rows are most probable.
    budget : float, default=None
        For ``stop="budget"``: seconds for a question that names none.
    members : int, default=None
        For ``stop="budget"``: super-parents for each row of a question that names none.
    judged_rows : int, default=100000
        At most so many rows, spread over the table, are left out and answered to judge members.
    random_state : int or RandomState, default=None
        For ``member_order="random"``.
    """

    member_order: Any = "cv"
    mix: str = "joint"
    stop: str = "loo"
    odds: float = 100.0
    weights: str | None = None
    budget: float | None = None
    members: int | None = None
    judged_rows: int = 100_000
    random_state: Any = None

    # --- options ------------------------------------------------------------------------------------------------

    def _check_options(self) -> None:
        super()._check_options()
        if isinstance(self.member_order, str):
            check_option("member_order", self.member_order, ("cv", "mi", "random", "given"))
        elif not isinstance(self.member_order, Sequence | np.ndarray):
            raise OptionError(f'member_order={self.member_order!r}: give "cv", "mi", "random", "given" or a list.')
        check_option("mix", self.mix, ("joint", "posterior", "replace"))
        check_option("stop", self.stop, ("all", "loo", "margin", "budget"))
        if self.weights is not None:
            check_option("weights", self.weights, ("mi", "loo"))
        if not is_number(self.odds, 1):
            raise OptionError(f"odds={self.odds!r}: give a number of at least 1; 100 says 100 to 1.")
        if not _is_whole(self.judged_rows) or self.judged_rows < 1:
            raise OptionError(f"judged_rows={self.judged_rows!r}: give a number of rows of at least 1.")
        check_seconds("budget", self.budget)
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
        check_seconds("budget", budget)
        _check_members(members)
        if budget is None and members is None:
            return self.budget, self.members
        return budget, members

    # --- which members, in which order --------------------------------------------------------------------------

    def _members(self, n: int) -> tuple[ParentSet, ...]:
        """Super-parents of every member, as they come in the table."""
        raise NotImplementedError

    def _information(self, counts: JointCounts) -> np.ndarray:
        """What every member tells about the class."""
        raise NotImplementedError

    def _otherwise(self, n: int) -> Form:
        """Who answers where no member can."""
        return naive(n)

    def _adaptive(self) -> bool:
        return self._judges() or "mi" in (self.weights, self.member_order if isinstance(self.member_order, str) else "")

    def _order(self) -> list[int]:
        """Places of the members, first come first."""
        counts = self.counts_
        members = self._members(counts.n_features)
        how = self.member_order
        if not isinstance(how, str):
            return self._listed(how, members)
        if how == "random":
            # A generator that is given is copied, and None is a seed too: the order is the same whenever asked for.
            state = self.random_state
            generator = check_random_state(0 if state is None else deepcopy(state))
            return [int(j) for j in generator.permutation(len(members))]
        if how == "cv" and self._evidence is not None and self._evidence.weight > 0:
            return self._sums().ranking()
        return list(range(len(members))) if how == "given" else descending(self._information(counts))

    def _listed(self, names: Sequence[Any], members: tuple[ParentSet, ...]) -> list[int]:
        known = {frozenset(member): place for place, member in enumerate(members)}
        named = [(name,) if len(members[0]) == 1 else tuple(name) for name in names]
        sets = [frozenset(self.counts_.column(part) for part in name) for name in named]
        places = [known.get(one, -1) for one in sets]
        if sorted(places) != list(range(len(members))):
            what = "columns" if len(members[0]) == 1 else "pairs of columns"
            raise OptionError(f"member_order must name each of the {len(members)} {what} once, got {list(names)!r}.")
        return places

    def _form(self, counts: JointCounts, rows: Rows | None) -> Form:
        if self._judges() and not self._deferred:
            self._work_off(None)
        limit = self._sums().best() if self.stop == "loo" else self.members
        margin = math.log(self.odds) if self.stop == "margin" else math.inf
        return self._in_turn(self._order(), -1 if limit is None else limit, margin)

    def _in_turn(self, order: list[int], limit: int, margin: float) -> InTurn:
        n = self.counts_.n_features
        members = self._members(n)
        weights = np.ones(len(members))
        if self.weights == "mi":
            found = self._information(self.counts_)
            weights = found / found.max() if found.any() else weights
        elif self.weights == "loo" and self._scales is not None and len(self._scales) == len(members):
            weights = self._scales
        ordered = tuple(members[j] for j in order)
        return InTurn(
            ordered,
            tuple(float(weights[j]) for j in order),
            self.min_count,
            self._otherwise(n),
            mix=self.mix,
            limit=limit,
            margin=margin,
        )

    # --- learning -----------------------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, times: Any = None, budget: float | None = None
    ) -> AnytimeClassifier:
        """Learn from a table, forgetting all that was learned before. Rows without a label are left out.

        With a ``budget`` in seconds the counts come first, and what is left is spent on the order of the members, their
        weights and the stopping point; ``improve`` goes on with that whenever there is time.
        """
        start = perf_counter()
        check_seconds("budget", budget)
        self._deferred = budget is not None
        super().fit(X, y, sample_weight, times)
        if budget is not None:
            self.improve(max(0.0, budget - (perf_counter() - start)))
        return self

    def _start(self) -> None:
        super()._start()
        self._last: list[np.ndarray] = []
        self._start_judging()

    def _start_model(self) -> None:
        super()._start_model()
        self._start_judging()

    def _keep(
        self,
        numbers: np.ndarray | None,
        codes: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        times: np.ndarray | None = None,
    ) -> None:
        super()._keep(numbers, codes, labels, weights, times)
        if self._judges():
            self._let_wait(codes, labels, weights)

    def _looks_at_rows(self) -> bool:
        return super()._looks_at_rows() or self._judges()

    def _attach_rows(self, rows: Rows | None) -> None:
        super()._attach_rows(rows)
        if self._judges() and rows is not None:
            self._let_wait(*rows.all())

    def _keeps(self) -> bool:
        return super()._keeps() or self._judges()

    def _move_classes(self, places: np.ndarray, classes: np.ndarray) -> None:
        super()._move_classes(places, classes)
        for rows in self._each_waiting():
            rows.move_classes(places)

    def _move_cuts(self, found: Any) -> None:
        super()._move_cuts(found)
        self._pending, self._work = Rows(), None  # their codes mean nothing any more
        assert self._watch is not None
        codes, _, labels, weights = self._watch.kept()
        if self._judges():
            self._let_wait(codes, labels, weights)

    def _add_columns(self, rows: Sequence[Mapping[str, Any]]) -> None:
        before = len(self.encoder_.schema)
        super()._add_columns(rows)
        for waiting in self._each_waiting():
            waiting.add_columns(len(self.encoder_.schema) - before)

    def _judging(self) -> dict[str, Any]:
        if not self._judges():
            return {}
        return {"judged": self._sums().empty(), "keep": self._keep_judged(1)}

    def _streamed(self, view: View, judging: dict[str, Any], n_rows: int) -> None:
        if not judging or not isinstance(view.form, InTurn):
            return
        place = {member: j for j, member in enumerate(self._sums().members)}
        order = [place[member] for member in view.form.members]
        self._sums().take(judging["judged"], order, judging["keep"] ** n_rows)

    # --- answers ------------------------------------------------------------------------------------------------

    def answer(self, X: Any, budget: float | None = None, members: int | None = None) -> AnytimeAnswer:
        """Probabilities, and how many super-parents there was time for.

        All rows get naive Bayes, whatever the budget; then all get one member after the other until the time is up, so
        that no row is left behind.

        Parameters
        ----------
        X : table
            Rows to answer; a list of dicts is fine.
        budget : float, default=None
            Seconds for the whole call.
        members : int, default=None
            Super-parents for each row, at most. 0 is naive Bayes.
        """
        start = perf_counter()
        budget, members = self._limits(budget, members)
        self._ready()
        view, codes = self._structure(fresh=budget is None), self._encode(X)
        return self._go_through(view, codes, start, budget, members)

    def _scores(self, X: Any, *, log_joint: bool) -> np.ndarray:
        start = perf_counter()
        self._ready()
        view, codes = self._structure(fresh=self.budget is None), self._encode(X)
        return self._go_through(view, codes, start, self.budget, self.members, log_joint=log_joint).proba

    def _go_through(
        self,
        view: View,
        codes: np.ndarray,
        start: float,
        budget: float | None,
        members: int | None,
        *,
        log_joint: bool = False,
    ) -> AnytimeAnswer:
        """Let rows hear members until there are no more, or enough, or no time is left."""
        left = math.inf if budget is None else budget - (perf_counter() - start)
        limit = self._limit(view, members)
        run = view.run(codes, limit=limit, may_compile=view.compile_seconds < COMPILING * left)
        if budget is not None:
            left = budget - (perf_counter() - start)
        nanoseconds = -1 if budget is None else int(max(0.0, left) * 1e9)
        more = run.advance(-1, nanoseconds, self._threads())
        return _answer_of(run, len(codes), len(self.classes_), start, more, log_joint)

    def _limit(self, view: View, members: int | None) -> int:
        """Members for a row at most: what the question says, within what was found to be good."""
        assert isinstance(view.form, InTurn)
        found = view.form.limit
        if members is None:
            return -1 if self.stop == "budget" else found  # a question with a budget of its own
        return members if found < 0 or self.stop == "budget" else min(members, found)

    def improving(self, X: Any) -> Iterator[AnytimeAnswer]:
        """Answers that get better: naive Bayes, then one more member at a time. Stop whenever you like."""
        start = perf_counter()
        self._ready()
        codes = self._encode(X)
        run = self._structure(fresh=True).run(codes)
        more, steps = True, 0
        while more:
            more = run.advance(steps, -1, self._threads())
            yield _answer_of(run, len(codes), len(self.classes_), start, more)
            steps = 1

    def predict_proba(self, X: Any, budget: float | None = None, members: int | None = None) -> np.ndarray:
        """Probability of every class (columns in the order of ``classes_``) for every row; see ``answer``."""
        found = self.answer(X, budget, members)
        self._last[:] = [found.members]
        return found.proba

    def predict(self, X: Any, budget: float | None = None, members: int | None = None) -> np.ndarray:
        """The most probable class of every row, or with a cost matrix the class of least expected loss."""
        return self._decide(self.predict_proba(X, budget, members))

    def predict_proba_one(
        self, row: Mapping[str, Any], budget: float | None = None, members: int | None = None
    ) -> dict[Any, float]:
        """Probability of every class known so far; an empty dict before the first row."""
        start = perf_counter()
        budget, members = self._limits(budget, members)
        if budget is None and members is None:
            return super().predict_proba_one(row)  # the short cut; members are not counted there
        check_row(row, "predict_proba_one")
        if not self._has_learned():
            return {}
        codes = self.encoder_.encode_row(row, self.unseen)[None, :]
        found = self._go_through(self._structure(fresh=False), codes, start, budget, members)
        self._last[:] = [found.members]
        return dict(zip(self._class_codes(), found.proba[0].tolist(), strict=True))

    # --- what was found -----------------------------------------------------------------------------------------

    @property
    def members_used_(self) -> np.ndarray:
        """Super-parents that spoke for each row of the last question; 0 is naive Bayes alone."""
        if not getattr(self, "_last", None):
            raise AttributeError("members_used_ is there once predict or predict_proba was asked.")
        return self._last[0]

    @property
    def order_(self) -> list[Any]:
        """The super-parents, first come first; pairs of them where there are two."""
        self._ready()
        names = self.counts_.schema.names
        form = self._structure(fresh=True).form
        assert isinstance(form, SumOfProducts)
        named = [tuple(names[i] for i in member) for member in form.members]
        return [name[0] if len(name) == 1 else name for name in named]

    @property
    def n_members_(self) -> int:
        """After how many members a row has enough; all of them but for ``stop="loo"``."""
        self._ready()
        form = self._structure(fresh=True).form
        assert isinstance(form, InTurn)
        return len(form.members) if form.limit < 0 else form.limit

    @property
    def super_parent_(self) -> Any:
        """The member that makes the fewest errors alone on left-out rows."""
        self._need_evidence()
        names = self.counts_.schema.names
        best = self._sums().members[self._sums().ranking()[0]]
        return names[best[0]] if len(best) == 1 else tuple(names[i] for i in best)

    @property
    def member_errors_(self) -> dict[Any, float]:
        """Share of left-out rows that each super-parent alone gets wrong; None stands for naive Bayes."""
        sums = self._need_evidence()
        names = self.counts_.schema.names
        labels = [names[m[0]] if len(m) == 1 else tuple(names[i] for i in m) for m in sums.members]
        return dict(zip([None, *labels], sums.wrong_alone.tolist(), strict=True))

    @property
    def prefix_errors_(self) -> np.ndarray:
        """Share of left-out rows that the first 0, 1, 2, ... members get wrong; NaN where no row has told yet."""
        return self._need_evidence().wrong_first

    def _need_evidence(self) -> Any:
        self._ready()
        self._structure(fresh=True)
        if not self._judges() or self._sums().weight == 0:
            raise DataError(
                f"no row has judged the members of this {type(self).__name__}. "
                'Use member_order="cv" or stop="loo", and call improve() where fit had a budget.'
            )
        return self._sums()

    # --- merging, unlearning, files -----------------------------------------------------------------------------

    def unlearn(self, X: Any, y: Any, sample_weight: Any = None, times: Any = None) -> AnytimeClassifier:
        if self._judges():  # what the rows have said, as they would say it now, goes with them
            self._work_off(None)
            codes, labels, weights = self._known_rows(X, y, sample_weight, unseen="error")
            view, judged = self._turn_view(self._sums().order), self._sums().empty()
            view.judge(codes, labels, weights, judged, n_jobs=self._threads())
            super().unlearn(X, y, sample_weight, times)
            self._sums().give_back(judged)
            return self
        super().unlearn(X, y, sample_weight, times)
        return self

    def _merge_extra(self, other: Any, counts: JointCounts) -> None:
        super()._merge_extra(other, counts)
        if not self._judges():
            return
        for part in (self, other):
            part._work_off(None)
        ours, theirs = self._sums(), other._sums()
        places = [other.counts_.schema.index(name) for name in self.counts_.schema.names]
        known = {frozenset(member): j for j, member in enumerate(theirs.members)}
        match = [known[frozenset(places[i] for i in member)] for member in ours.members]
        ours.alone[:, 0] += theirs.alone[:, 0]
        ours.alone[:, 1:] += theirs.alone[:, 1:][:, match]
        same = [match[j] for j in ours.order] == theirs.order
        ours.first += theirs.first if same else 0.0
        self._scales = None

    def _extra_arrays(self) -> dict[str, np.ndarray]:
        return super()._extra_arrays() | self._judging_arrays()

    def _take_extra_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        super()._take_extra_arrays(arrays)
        self._take_judging_arrays(arrays)


@dataclass(eq=False, repr=False, kw_only=True)
class AnytimeAODE(AnytimeClassifier):
    """AODE that answers at once and better with every microsecond: naive Bayes first, then super-parents in turn.

    Choose it for services: under load it answers as naive Bayes does, with time to spare as AODE, and anything between.
    Questions take a ``budget`` in seconds or a number of ``members``.

    Parameters
    ----------
    member_order : {"cv", "mi", "random", "given"} or list of columns, default="cv"
        Which super-parents come first: those with the fewest errors on left-out rows, those that tell most about the
        class, any (see ``random_state``), as in the table, or as listed.
    mix : {"joint", "posterior", "replace"}, default="joint"
        How naive Bayes and the members so far become one answer; with "replace" all members together are AODE.
    stop : {"loo", "all", "margin", "budget"}, default="loo"
        When a row has had enough: by default after as many members as make the fewest errors on left-out rows.
    odds, weights, budget, members, judged_rows, random_state
        See AnytimeClassifier.
    min_count : float, default=1.0
        A value serves as a super-parent when it was seen at least that often.

    Attributes
    ----------
    members_used_ : array
        Super-parents that spoke for each row of the last question.

    Notes
    -----
    Webb, Zheng, Boughton, Wang and Yang. Learning O(rows columns²), and as much again to judge members; an answer
    O(columns) for naive Bayes and for each member.

    Examples
    --------
    >>> from tanager import AnytimeAODE
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "no"]]
    >>> model = AnytimeAODE(member_order="given", stop="all").fit(X, ["play", "play", "stay", "stay"])
    >>> for answer in model.improving([["sun", "no"]]):
    ...     print(answer.members[0], answer.proba[0].round(4))
    0 [0.8182 0.1818]
    1 [0.8182 0.1818]
    2 [0.802 0.198]
    """

    def _members(self, n: int) -> tuple[ParentSet, ...]:
        return tuple((i,) for i in range(n))

    def _information(self, counts: JointCounts) -> np.ndarray:
        return class_information(counts)


@dataclass(eq=False, repr=False, kw_only=True)
class AnytimeA2DE(AnytimeClassifier):
    """A2DE that answers at once and better with time: naive Bayes first, then pairs of super-parents in turn.

    As AnytimeAODE, with finer and more expensive members; choose it with many rows and few columns. Counts triples.

    Parameters
    ----------
    member_order : {"cv", "mi", "random", "given"} or list of pairs of columns, default="cv"
        Which pairs come first.
    mix, stop, odds, weights, budget, members, judged_rows, random_state, min_count
        As for AnytimeAODE.

    Examples
    --------
    >>> from tanager import AnytimeA2DE
    >>> X = [["sun", "no", "hot"], ["sun", "no", "hot"], ["rain", "yes", "cold"], ["rain", "yes", "cold"]]
    >>> model = AnytimeA2DE(mix="replace", stop="all").fit(X, ["play", "play", "stay", "stay"])
    >>> model.predict_proba(X[:1]).round(4), model.predict_proba(X[:1], members=0).round(4)
    (array([[0.8182, 0.1818]]), array([[0.9643, 0.0357]]))
    """

    order = 3

    def _members(self, n: int) -> tuple[ParentSet, ...]:
        return tuple(combinations(range(n), 2)) if n > 2 else tuple((i,) for i in range(n))

    def _information(self, counts: JointCounts) -> np.ndarray:
        single = class_information(counts)
        if counts.n_features < 3:
            return single
        given = class_information_given(counts)
        return np.array([single[i] + given[j, i] for i, j in self._members(counts.n_features)])

    def _otherwise(self, n: int) -> Form:
        return one_dependence(np.ones(n), self.min_count) if n > 2 else naive(n)


def _answer_of(
    run: Any, n_rows: int, n_classes: int, start: float, more: bool, log_joint: bool = False
) -> AnytimeAnswer:
    proba, used = np.empty((n_rows, n_classes)), np.empty(n_rows, dtype=np.int32)
    run.answer(proba, log_joint)
    run.used(used)
    return AnytimeAnswer(proba, used, perf_counter() - start, not more)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _check_members(members: Any) -> None:
    if members is not None and (not _is_whole(members) or members < 0):
        raise OptionError(f"members={members!r}: give a number of super-parents of at least 0, or None for all.")
