"""BestOf: learn once, ask any; the candidate that left-out rows speak for answers, or all of them together."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, cast

import numpy as np

from tanager import saved
from tanager.classifiers.a2de import A2DE
from tanager.classifiers.aode import AODE
from tanager.classifiers.fanc import FANC
from tanager.classifiers.hnb import HNB
from tanager.classifiers.kdb import KDB
from tanager.classifiers.naive_bayes import NaiveBayes
from tanager.classifiers.tan import FAN, TAN
from tanager.classifiers.waode import WAODE
from tanager.counts.block import Block
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.errors import MemoryBudgetError, ModelFileError, OptionError, SchemaMismatch, check_option, is_number
from tanager.estimator import clone
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.delegate import Delegating
from tanager.learning.held_out import HeldOut, asked_once, chooses_by_rows, folded, structure_once
from tanager.learning.judging import LINE, MIN_ROWS, Judged, forecast, preferred, rows_within
from tanager.learning.pooling import linear_pool, log_pool
from tanager.learning.rows import KeptRows
from tanager.learning.shared_counts import joint_shape
from tanager.scoring.forms import Form
from tanager.scoring.pooled import Pooled
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View
from tanager.stages import steps

N_FOLDS = 5
FEWEST = 25  # rows that candidates are judged by: see benchmarks/README.md
MOST_ROWS = 5000  # that candidates are judged by
FOLDS_IN_STREAM, ROWS_IN_STREAM = 3, 2000  # where rows go on coming, and candidates are judged again and again
ROWS_OF_CLASS = 20  # with fewer of a class each, a third of the rows is too much to go without
CLOCK = time.monotonic
LIGHT = 1e-3  # members of a pool that weigh less are left out

MemberState = tuple[dict[str, Any] | None, dict[str, np.ndarray]]
Answered = tuple[np.ndarray, np.ndarray, np.ndarray]  # probabilities, classes and weights of held-out rows


@dataclass(eq=False, repr=False)
class BestOf(Delegating):
    """Tries several classifiers on rows that they have not learned, and answers with the best of them.

    Choose it where you do not know which classifier suits your table. All candidates learn from the same counts, which
    are made once. A candidate whose structure does not depend on the rows is judged by leaving out one row after the
    other, and the others by five folds; with fewer than 25 rows, the first one answers. The rows are kept, in a byte
    or two per cell.

    Parameters
    ----------
    bins
        All candidates have the same bins.
    candidates : list of classifiers, default=None
        Those that come first are preferred where left-out rows do not clearly speak for another. None is AODE, A2DE,
        WAODE, HNB, FANC, TAN, FAN, NaiveBayes and KDB.
    criterion : {"log_loss", "accuracy", "rmse"}, default="log_loss"
        What decides: the least log loss, the largest accuracy, or the least root mean square error of the
        probabilities.
    pool : {"log", "linear"} or None, default=None
        All candidates answer together, with weights by left-out rows: the weighted mean of log probabilities, or of
        probabilities.
    max_work : float or None, default=3e7
        A candidate is not tried where judging it by 500 rows (or all, where there are fewer) would read more cells of
        counts than this; where only some rows can be afforded, these are spread over all. None has no limit. It is
        work, not time: the choice does not depend on the machine.
    time_limit : float or None, default=None
        Seconds for the choice: candidates whose turn comes later are not tried; the first always is. The choice then
        depends on the machine.

    Attributes
    ----------
    best_ : classifier
        The candidate chosen, over the same counts; with ``pool`` the best one of them.
    table_ : list of dict
        Name, accuracy, log loss and rmse of every candidate, best first, the weight in a pool, the rows it was judged
        by, and a note; ``print(model.table())`` shows it.

    Examples
    --------
    >>> from tanager import AODE, BestOf, NaiveBayes
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "no"]] * 10
    >>> model = BestOf([NaiveBayes(), AODE()]).fit(X, ["play", "play", "stay", "stay"] * 10)
    >>> print(model.table())
    candidate     accuracy  log loss    rmse
    NaiveBayes()    1.0000    0.0381  0.0492  * chosen
    AODE()          1.0000    0.0501  0.0510
    """

    default_bins = "refined"
    candidates: Sequence[CountsClassifier] | None = None
    criterion: str = "log_loss"
    pool: str | None = None
    max_work: float | None = 3e7
    time_limit: float | None = None

    saves_structure = True
    refresh_ratio = 2.0  # candidates are judged by all rows
    outlives_new_values = True
    form_is_all = False

    _members = cast("tuple[tuple[int, float], ...]", ())  # of a pool: places of candidates, and weights
    _stored = cast("list[Scorer | None]", ())  # of a pool in a file: members that answer as they did
    _answered = cast("Answered | None", None)  # of the choice; not in files

    # --- options ------------------------------------------------------------------------------------------------

    def check_options(self) -> None:
        super().check_options()
        check_option("criterion", self.criterion, ("log_loss", "accuracy", "rmse"))
        if self.pool is not None:
            check_option("pool", self.pool, ("log", "linear"))
        if self.max_work is not None and not is_number(self.max_work, 0):
            raise OptionError(f"max_work={self.max_work!r}: give a number of cells to be read, or None for no limit.")
        if self.time_limit is not None and (not is_number(self.time_limit, 0) or self.time_limit == 0):
            raise OptionError(
                f"time_limit={self.time_limit!r}: give a number of seconds above 0, or None for no limit."
            )
        if not isinstance(self.candidates, list | tuple | None):
            raise OptionError(f"candidates={self.candidates!r} is no list; give a list of classifiers, or None.")
        for candidate in self.candidates or ():
            if not isinstance(candidate, CountsClassifier):
                raise OptionError(f"candidates: {candidate!r} is no classifier of tanager, so counts cannot be shared.")
            if candidate.calibrate:
                raise OptionError(f"candidates: {candidate!r} is calibrated. Give calibrate= to BestOf itself.")
            if candidate.reads_numbers:
                raise OptionError(f"{candidate!r} cannot share counts: they do not hold numbers. Leave out gaussian=.")
        if self.candidates is not None and not len(self.candidates):
            raise OptionError("candidates is empty; give at least one classifier, or None for the default ones.")

    def _needs_rows(self) -> bool:
        return True

    def _all_candidates(self) -> Sequence[CountsClassifier]:
        """The candidates, which learn nothing themselves: see ``_blank_candidates``."""
        return _shared_candidates() if self.candidates is None else self.candidates

    def _blank_candidates(self) -> list[CountsClassifier]:
        """Copies of all candidates that have learned nothing."""
        if self.candidates is not None:
            return [clone(candidate) for candidate in self.candidates]
        return _default_candidates()

    def _blank_candidate(self, place: int) -> CountsClassifier:
        """A copy of one of them."""
        return _default_candidate(place) if self.candidates is None else clone(self.candidates[place])

    def _names(self) -> Sequence[str]:
        """What the candidates are called in the table."""
        return _default_names() if self.candidates is None else [repr(candidate) for candidate in self.candidates]

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        """As wide as the candidates need that read pairs at most; what others need is counted when they are tried."""
        narrow = [c for c in self._all_candidates() if _is_narrow(c, schema)]
        return joint_shape(narrow or [NaiveBayes()], schema)

    # --- judging ------------------------------------------------------------------------------------------------

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        if rows is None:
            raise SchemaMismatch("BestOf compares by rows that are left out, and counts alone do not hold them.")
        return self._choose(counts, rows, N_FOLDS, MOST_ROWS)

    def _structure_in_stream(self, counts: JointCounts, rows: KeptRows | None) -> Form | None:
        if rows is None or FEWEST <= rows.weight < ROWS_OF_CLASS * counts.n_classes:
            return None
        return self._choose(counts, rows, FOLDS_IN_STREAM, ROWS_IN_STREAM)

    def _choose(self, counts: JointCounts, rows: KeptRows, n_folds: int, most: int) -> Form:
        """The structure of the best candidate, judged in so many folds by so many rows at most."""
        models = self._blank_candidates()
        lines = [Judged(name) for name in self._names()]
        if rows.weight >= FEWEST:
            held = HeldOut.deal(self.memory, n_folds, most)
            wide = self._counts_for(models, lines, counts, rows, len(held), n_folds)
            self._judge(models, lines, wide, held, rows)
        else:  # chance would choose
            wide = self._counts_for(models[:1], lines[:1], counts, rows, 0, n_folds)
            for line in lines:
                line.note = f"not tried: fewer than {FEWEST} rows"
        place = preferred(lines, self.criterion)
        self._place = place  # the only member of a pool where none could be tried
        self._members = self._pool(lines) if self.pool is not None else ()
        lines[place].note = "* chosen" if self.pool is None else lines[place].note
        self._answered = self._answers_of(lines)
        self.table_ = [line.to_dict() for line in sorted(lines, key=lambda line: line.rank(self.criterion))]
        self._take_members(wide)
        return structure_once(self.best_)

    def _counts_for(
        self,
        models: Sequence[CountsClassifier],
        lines: list[Judged],
        counts: JointCounts,
        rows: KeptRows,
        n_held: int,
        n_folds: int,
    ) -> list[JointCounts | None]:
        """The counts that every candidate reads: ours, or wider ones; None where it is not tried, with a note why."""
        found: list[JointCounts | None] = []
        for model, line in zip(models, lines, strict=True):
            shape = model.counts_shape(counts.schema)
            work = forecast(model, counts, rows.weight, n_folds)
            line.n_rows = rows_within(work, n_held, self.max_work)
            if line.n_rows < min(n_held, MIN_ROWS):
                line.note = f"not tried: {work.total(min(n_held, MIN_ROWS)):.0e} cells to read"
                found.append(None)
            elif counts.holds(**shape):
                found.append(counts)
            else:
                found.append(self._wider(shape, counts, rows))
                line.note = "not tried: too much memory" if found[-1] is None else line.note
        return found

    def _wider(self, shape: dict[str, Any], counts: JointCounts, rows: KeptRows) -> JointCounts | None:
        """Counts of the kept rows of a wider shape; None where these would take too much memory."""
        try:
            wider = JointCounts(counts.schema, counts.classes, spare=counts.spare, max_memory=self.max_memory, **shape)
        except MemoryBudgetError:
            return None
        wider.take_scale(counts)
        block = rows.block
        return wider.update(block.codes, block.labels, block.weights, n_jobs=self.n_threads)

    def _judge(
        self,
        models: Sequence[CountsClassifier],
        lines: Sequence[Judged],
        counts: Sequence[JointCounts | None],
        held: HeldOut,
        rows: KeptRows,
    ) -> None:
        """Let every candidate that can be afforded answer rows that it has not learned."""
        memory, block = copy.copy(self.memory), rows.block
        labels = block.labels[held.rows].astype(np.intp)
        parts: dict[int, tuple[Block, np.ndarray]] = {}  # rows to leave out, and the place of each row asked about
        again: list[tuple[CountsClassifier, np.ndarray, Judged]] = []
        end = math.inf if self.time_limit is None else CLOCK() + self.time_limit
        tried = False
        for model, line, own in steps("judging candidates", list(zip(models, lines, counts, strict=True))):
            if own is None:
                continue
            if tried and CLOCK() > end:
                line.note = "not tried: the time was over"
                continue
            tried = True
            asked = held.evenly(line.n_rows)
            self._attach(model, own, plain=True)
            if chooses_by_rows(model):
                again.append((model, asked, line))
            else:
                if len(asked) not in parts:
                    own_rows, place = held.part(asked).distinct
                    parts[len(asked)] = block.part(own_rows).once, place
                left_out, place = parts[len(asked)]
                proba = asked_once(model).leave_one_out(left_out, n_jobs=self.n_threads)[place]
                line.take(asked, proba, held, labels)
        if again:
            if memory.counts.order > 2:  # which none of these reads
                memory.counts = memory.counts.only_pairs()
            judged, places = [m for m, _, _ in again], [a for _, a, _ in again]
            answers = folded(judged, memory, held, self.n_threads, places, reuse=True)
            for (_, asked, line), proba in zip(again, answers, strict=True):
                line.take(asked, proba, held, labels)

    # --- a pool -------------------------------------------------------------------------------------------------

    def _pool(self, lines: Sequence[Judged]) -> tuple[tuple[int, float], ...]:
        """Places of the members of a pool, and their weights, by the rows that all of them have answered."""
        tried = [place for place, line in enumerate(lines) if line.tried]
        if not tried:
            return ((self._place, 1.0),)
        common = _answered_by_all([lines[place] for place in tried])
        proba = np.array([lines[place].proba[common] for place in tried])
        labels, weights = lines[tried[0]].labels[common], lines[tried[0]].weights[common]
        if self.pool == "log":
            with np.errstate(divide="ignore"):
                shares = log_pool(np.log(proba), labels, weights)
        else:
            shares = linear_pool(proba, labels, weights)
        heavy = shares >= LIGHT * shares.max()
        for place, share in zip(tried, shares.tolist(), strict=True):
            lines[place].weight = share
        return tuple((place, float(w)) for place, w in zip(np.array(tried)[heavy].tolist(), shares[heavy], strict=True))

    def _answers_of(self, lines: Sequence[Judged]) -> Answered | None:
        """Held-out answers of what was chosen."""
        places = self._places
        if not all(lines[place].tried for place in places):
            return None
        common = _answered_by_all([lines[place] for place in places])
        first = lines[places[0]]
        proba = first.proba[common]
        if self.pool is not None:
            with np.errstate(divide="ignore"):
                logs = np.log(np.array([lines[place].proba[common] for place in places]))
            view = View(self.counts_, NaiveBayes()._structure(self.counts_, None), self.estimate)
            proba = Pooled([], [w for _, w in self._members], str(self.pool), view).finished(logs)
        return proba, first.labels[common].astype(np.intp), first.weights[common]

    def _held_out_answers(self) -> Answered | None:
        return self._answered

    # --- who answers --------------------------------------------------------------------------------------------

    @property
    def _places(self) -> list[int]:
        """Of the candidates that answer."""
        return [place for place, _ in self._members] or [self._place]

    def _attach(self, model: CountsClassifier, counts: JointCounts, *, plain: bool) -> CountsClassifier:
        """A candidate over these counts; ``plain`` without our class weights, which multiply the odds of any choice."""
        memory = self.memory
        model.attach(counts, self.encoder_, memory.rows)
        for name in ("priors",) if plain else ("priors", "class_weight"):
            if getattr(model, name) is None:
                setattr(model, name, getattr(self, name))
        model.unseen, model.n_jobs, model.target_name_ = self.unseen, self.n_jobs, self.target_name_
        return model

    def _take_members(
        self, counts: Sequence[JointCounts | None] | None = None, stored: Sequence[MemberState] | None = None
    ) -> None:
        """Attach those that answer to our memory, which is to hold all that they read.

        Members of a pool that were ``stored`` in a file answer with their structures, which may be those of fewer rows.
        """
        memory, places = self.memory, self._places
        for own in [] if counts is None else [counts[place] for place in places]:
            if own is not None and not memory.counts.holds(own.order, own.anchors, own.families):
                memory.counts = own
        models = [
            self._attach(self._blank_candidate(place), memory.counts, plain=bool(self._members)) for place in places
        ]
        self._stored = [None] * len(models)
        if self._members and stored:
            self._stored = [model.take_structure(*state) for model, state in zip(models, stored, strict=True)]
        elif self._members:
            shape = joint_shape([NaiveBayes(), *models], memory.counts.schema)
            families = {family for model in models for family in model.structure_.families()}
            wanted = sorted({*shape["families"], *families}, key=lambda family: (len(family), family))
            memory.count_families(wanted, shape, self.n_threads)
            models = [self._attach(self._blank_candidate(place), memory.counts, plain=True) for place in places]
        self._models = models
        self.best_ = models[places.index(self._place)] if self._place in places else models[0]

    def _scored_by(self) -> CountsClassifier:
        return self if self._members else super()._scored_by()

    def _scorer(self, view: View) -> Scorer:
        if not self._members:
            return super()._scorer(view)
        scorers = [stored or model.uncalibrated() for stored, model in zip(self._stored, self._models, strict=True)]
        return Pooled(scorers, [weight for _, weight in self._members], str(self.pool), view)

    # --- files and words ----------------------------------------------------------------------------------------

    def _choice(self) -> dict[str, Any]:
        choice = {"best": self._place, "table": self.table_}
        if not self._members:
            return choice
        members = [model.structure_state() for model in self._models]
        return choice | {"pool": [[place, weight] for place, weight in self._members], "members": members}

    def _take_choice(self, data: dict[str, Any]) -> None:
        place = saved.whole(0, len(self._all_candidates()) - 1)
        expected = {
            "best": place,
            "pool": saved.items(saved.row(place, saved.number(0.0)), distinct=True),
            "table": saved.items(saved.record(LINE)),
        }
        absent: dict[str, Any] = {"pool": [], "table": []}
        self._place, self._members, table = saved.read("figures of its choice", absent | data, expected).values()
        self.table_ = list(table)
        if self._members and self.pool == "linear" and sum(weight for _, weight in self._members) <= 0:
            raise ModelFileError("no member of its pool has a weight")
        self._take_members(stored=data.get("members"))

    def table(self) -> str:
        """The candidates and what left-out rows say of them, best first, as text.

        Returns
        -------
        str
            A line for every candidate.
        """
        _ = self.structure_  # which follows all rows, and the table with it
        width = max(9, *(len(line["candidate"]) for line in self.table_))
        pooled = "  weight" if self._members else ""
        lines = [f"{'candidate':<{width}}  accuracy  log loss    rmse{pooled}"]
        for line in self.table_:
            figures = f"{line['accuracy']:8.4f}  {line['log_loss']:8.4f}  {line['rmse']:6.4f}"
            figures += f"  {line['weight']:6.3f}" if self._members else ""
            figures = figures if line["rows"] else " " * len(figures)
            lines.append(f"{line['candidate']:<{width}}  {figures}  {line['note']}".rstrip())
        return "\n".join(lines)


DEFAULT = (AODE, A2DE, WAODE, HNB, FANC, TAN, FAN, NaiveBayes, partial(KDB, smoothing=None))


def _default_candidate(place: int) -> CountsClassifier:
    model: CountsClassifier = DEFAULT[place]()
    model.options_hold()
    return model


def _default_candidates() -> list[CountsClassifier]:
    return [_default_candidate(place) for place in range(len(DEFAULT))]


@cache
def _shared_candidates() -> tuple[CountsClassifier, ...]:
    """The same, to be looked at and nothing else."""
    return tuple(_default_candidates())


@cache
def _default_names() -> tuple[str, ...]:
    return tuple(map(repr, _shared_candidates()))


def _is_narrow(model: CountsClassifier, schema: Schema) -> bool:
    shape = model.counts_shape(schema)
    return bool(shape["order"] <= 2 and not shape.get("families") and not shape.get("anchors"))


def _answered_by_all(lines: Sequence[Judged]) -> np.ndarray:
    """Places of the rows that each of these has answered."""
    return np.flatnonzero(np.all([~np.isnan(line.proba[:, 0]) for line in lines], axis=0))
