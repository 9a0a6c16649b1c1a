"""Anytime learning: counts first, then what is left of the time goes into order, weights and stopping point.

Rows that were learned wait here until the members have been validated by them: each row is answered as if it had not
been learned, by every member alone and by the first so many members together (see ``member_scores.py``). Validation can
stop after any row and go on later, and the model answers well at any time between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from tanager import _kernels, saved
from tanager.counts.block import Block
from tanager.counts.forgetting import as_decay, as_window
from tanager.encoding.codes import widened
from tanager.errors import ModelFileError
from tanager.learning.member_scores import MemberScores
from tanager.learning.rows import KeptRows
from tanager.learning.search_rows import FEWEST_ROWS, rows_within
from tanager.scoring.forms import SumOfProducts, naive
from tanager.scoring.view import View

if TYPE_CHECKING:
    from tanager.learning.anytime import AnytimeClassifier

FADING = 0.5 ** (1 / 10_000)  # what is left of earlier scores after one more row: a half-life of 10,000 rows
MOST_ROWS = 100_000  # that members are validated by, unless it is said how many
MOST_STEPS = 5e8  # probabilities that these rows may take: of letter, 10,000 of 20,000 rows order members as well
ROUNDS = 100  # at most, to learn weights
KEPT_BYTES = 128 << 20  # of joints, at most, that are kept from a pass to rank members for the one in their new order
CELLS = 1_000_000  # probabilities that are kept at most while weights are learned


@dataclass
class Pass:
    """A pass over rows: the next of them, and what the pass is for."""

    rows: KeptRows
    order: list[int]
    stage: str = "validate"  # then "weights", then "stop"
    place: int = 0
    judged: str = "both"  # or "alone", "together": which scores it looks for
    view: View | None = None
    scores: np.ndarray = field(default_factory=lambda: np.zeros((6, 1)))  # what the pass has found so far
    joints: _kernels.KeptJoints | None = None  # of the members, left by the pass before
    version: int = -1  # of the counts that they are from
    logs: list[np.ndarray] = field(default_factory=list)  # to learn weights: joints of the members so far


class MemberValidation:
    """What an anytime model knows about its members, and the rows that are still to be used for it.

    ``deferred`` says whether rows wait for ``improve``, and not for the next question.
    """

    def __init__(self, model: AnytimeClassifier) -> None:
        self.model = model
        self.deferred = False
        self.start()

    def start(self) -> None:
        """Forget everything."""
        self._scores: MemberScores | None = None
        self._waiting = KeptRows()
        self._pass: Pass | None = None
        self.weights: np.ndarray | None = None  # of the members, where they are learned

    # --- rows that wait -----------------------------------------------------------------------------------------

    @property
    def unfinished(self) -> bool:
        """Whether there are rows left to validate members by."""
        return self._pass is not None or len(self._waiting) > 0

    def add(self, block: Block) -> None:
        """Rows were learned: members will be validated by them. The newest are kept where they are too many."""
        model = self.model
        most = self._most_rows()
        window = None if model.window is None else as_window(model.window)
        if window is not None and window.rows is not None:
            most = min(most, window.rows)  # older ones are not in the counts any more
        block = Block(block.codes, block.labels, block.weights)
        if len(block) > most:  # some, spread over all
            block = block.part(np.sort(np.random.default_rng(0).choice(len(block), most, replace=False)))
        self._waiting.follow(model.memory.counts)
        self._waiting.append(block)
        if len(self._waiting) > most:
            self._waiting.drop(len(self._waiting) - most)

    def add_row(self, codes: np.ndarray, label: int, weight: float) -> None:
        """``add`` for one row."""
        model, waiting = self.model, self._waiting
        waiting.follow(model.memory.counts)
        plain = model.validation_rows is None and model.window is None
        few = plain and (len(waiting) < FEWEST_ROWS or len(waiting) < self._most_rows())
        if not few or not waiting.append_row(codes, label, weight):
            weights = None if weight == 1.0 else np.array([weight])
            self.add(Block(codes[None, :], np.array([label], dtype=np.uint16), weights))

    def _most_rows(self) -> int:
        """How many rows members are validated by; of many members over many columns each row takes long."""
        model, counts = self.model, self.model.memory.counts
        if model.validation_rows is not None:
            return int(model.validation_rows)
        return min(MOST_ROWS, rows_within(len(model.kept_members) * counts.n_features * counts.n_classes, MOST_STEPS))

    def map_codes(self, maps: Mapping[int, np.ndarray]) -> None:
        """Columns were cut: code c of column i is now maps[i][c]."""
        for rows in self._all_rows():
            rows.map_codes(maps)

    def replace_rows(self, block: Block) -> None:
        """Bins have moved: codes of rows that waited mean nothing any more, and these take their place."""
        self._waiting, self._pass = KeptRows(), None
        self.add(block)

    def move_classes(self, places: np.ndarray) -> None:
        """There are more classes: class c is now places[c]."""
        for rows in self._all_rows():
            rows.move_classes(places)

    def add_columns(self, n_new: int) -> None:
        """Columns have come, missing in all rows so far."""
        for rows in self._all_rows():
            rows.add_columns(n_new)

    def _all_rows(self) -> list[KeptRows]:
        return [self._waiting] if self._pass is None else [self._waiting, self._pass.rows]

    # --- validation ---------------------------------------------------------------------------------------------

    @property
    def scores(self) -> MemberScores:
        """What is known about the members that there are now."""
        members = self.model.kept_members
        if self._scores is None:
            self._scores = MemberScores(members)
        if self._scores.members != members:
            self._scores.grow(members)
            self.weights = None
            if self._pass is not None:  # its rows wait again
                waiting, self._waiting = self._waiting, self._pass.rows
                self._pass = None
                if len(waiting):
                    self._waiting.append(waiting.block)
        return self._scores

    def ranking(self) -> list[int] | None:
        """Members by their errors alone; None where no row was answered yet."""
        if self._scores is None or self._scores.weight <= 0:
            return None
        return self.scores.ranking()

    def run(self, until: float | None) -> bool:
        """Go on until all rows are used or the time is up; says whether anything was found."""
        scores = self.scores
        found = False
        while self.unfinished and not _over(until):
            if self._pass is None:
                self._pass = self._next_pass(scores)
            work = self._pass
            work.rows.follow(self.model.counts_)
            done = self._learn_weights(work, until) if work.stage == "weights" else self._validate(work, until)
            found = found or done or work.stage == "weights"
            if done:
                self._pass = self._next_stage(work)
        return found

    def _next_pass(self, scores: MemberScores) -> Pass:
        """All rows that wait, in an order that has nothing to do with theirs."""
        rows, self._waiting = self._waiting, KeptRows()
        rows.keep(np.random.default_rng(len(rows)).permutation(len(rows)))
        return Pass(rows, self.model.member_places(), scores=scores.empty())

    def _validate(self, work: Pass, until: float | None) -> bool:
        model, view = self.model, work.view
        if view is None or not view.valid or view.counts is not model.counts_:
            view = work.view = self.model._all_members(work.order)
        left = None if until is None else until - perf_counter()
        if work.stage == "validate" and work.place == 0 and until is None and self._ranks_anew(work):
            work.judged, work.joints, work.version = "alone", _kernels.KeptJoints(KEPT_BYTES), model.counts_.version
        joints = work.joints if work.version == model.counts_.version else None
        block, at, n_jobs = work.rows.block, work.place, model.n_threads
        work.place = view.validate(
            block, work.scores, begin=at, seconds=left, n_jobs=n_jobs, judged=work.judged, joints=joints
        )
        return work.place >= len(work.rows)

    def _ranks_anew(self, work: Pass) -> bool:
        """Whether a pass in a new order follows for certain, so that this one need not look at members together."""
        return self.model.stop == "loo" and self.model._ranks_members and self._most(work)

    def _most(self, work: Pass) -> bool:
        """Whether the rows of a pass are most of what was seen."""
        return work.rows.weight >= 0.5 * (self.scores.weight + work.rows.weight)

    def _next_stage(self, work: Pass) -> Pass | None:
        """A pass is over: take in what it found, and begin the next where the rows are most of what was seen."""
        scores, model = self.scores, self.model
        most = self._most(work)
        if work.stage == "validate":
            scores.take(work.scores, work.order, self.keep(len(work.rows)))
            if most and model.weights == "loo":
                work.stage, work.place = "weights", 0
                return work
        if work.stage in ("validate", "weights") and model.stop == "loo":
            order = model.member_places()
            if work.stage == "weights" or ((order != work.order or work.judged == "alone") and most):
                stop = Pass(work.rows, order, "stop", judged="together", scores=scores.empty())
                stop.joints, stop.version = work.joints, work.version
                return stop
        if work.stage == "stop":
            scores.restart(work.order)
            scores.first += work.scores[3:]
        return None

    def keep(self, n_rows: int) -> float:
        """What is left of earlier scores after so many further rows."""
        decay = as_decay(self.model.decay)
        per_row = FADING if decay is None or decay.timed else min(FADING, decay.per_row)
        return float(per_row**n_rows)

    def scores_of(self, block: Block) -> np.ndarray:
        """What these rows add to the scores, members being in their present order."""
        found = self.scores.empty()
        self.model._all_members(self.scores.order).validate(block, found, n_jobs=self.model.n_threads)
        return found

    def merge(self, other: MemberValidation, columns: Sequence[int]) -> None:
        """Add the scores of another model; our column i is its column columns[i]."""
        ours, theirs = self.scores, other.scores
        known = {frozenset(member): j for j, member in enumerate(theirs.members)}
        match = [known[frozenset(columns[i] for i in member)] for member in ours.members]
        ours.alone[:, 0] += theirs.alone[:, 0]
        ours.alone[:, 1:] += theirs.alone[:, 1:][:, match]
        same = [match[j] for j in ours.order] == theirs.order
        ours.first += theirs.first if same else 0.0
        self.weights = None

    # --- weights ------------------------------------------------------------------------------------------------

    def _learn_weights(self, work: Pass, until: float | None) -> bool:
        """Weights under which the left-out rows are most probable, given their columns.

        Each round multiplies the weight of a member by what it gives to the true classes over what it gives to all.
        This never lowers the conditional likelihood (a bound from below is touched and then maximised), so that it may
        stop after any round.
        """
        n_members = len(self.scores.members)
        if self.weights is None:
            self.weights = np.ones(n_members)
        while len(work.logs) < n_members + 1:
            work.logs.append(self._left_out_joints(len(work.logs) - 1, work.rows))
            if _over(until):
                return False
        own, every, rows = self._member_joints(work)
        n_fixed = own.shape[1] - n_members  # naive Bayes, where it takes part
        while work.place < ROUNDS:
            work.place += 1
            weights = np.concatenate([np.ones(n_fixed), self.weights])
            up = rows @ (own / (own @ weights)[:, None])
            down = rows @ (every / (every @ weights)[:, None])
            step = (up / np.maximum(down, 1e-300))[n_fixed:]
            self.weights = np.clip(self.weights * step, 1e-6, 1e6)
            if np.abs(step - 1).max(initial=0.0) < 1e-3:
                return True
            if _over(until):
                break
        return work.place == ROUNDS

    def _weighed_rows(self, rows: KeptRows) -> Block:
        """The rows that weights are learned from."""
        return rows.block.part(slice(max(1, CELLS // (len(self.scores.members) + 1))))

    def _left_out_joints(self, which: int, rows: KeptRows) -> np.ndarray:
        """Logs of P(row, its class) and P(row) by a member (-1 is naive Bayes), the row not learned.

        -inf where the member is not eligible.
        """
        model, block = self.model, self._weighed_rows(rows)
        member = None if which < 0 else self.scores.members[which]
        n = model.counts_.n_features
        form = naive(n) if member is None else SumOfProducts((member,), (1.0,), model.min_count)
        joint = model.view_of(form).leave_one_out(block.once, log_joint=True)
        top = joint.max(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            every = np.nan_to_num(top + np.log(np.exp(joint - top[:, None]).sum(axis=1)), nan=-np.inf)
        both = np.stack([joint[np.arange(len(block)), block.labels], every])
        if member is not None:
            both[:, ~self.eligible(member, block.once)] = -np.inf
        return both

    def _member_joints(self, work: Pass) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of rows and members: the probability of the true class, of all classes, and the weights of the rows."""
        mix, weights = self.model.mix, self._weighed_rows(work.rows).weights
        own, every = np.stack(work.logs[1 if mix == "replace" else 0 :], axis=2)
        with np.errstate(invalid="ignore"):
            base = every if mix == "posterior" else every.max(axis=1, keepdims=True)
            own, every = np.nan_to_num(np.exp(own - base)), np.nan_to_num(np.exp(every - base))
        answered = own.sum(axis=1) > 0
        return own[answered], every[answered], (np.ones(len(own)) if weights is None else weights)[answered]

    def eligible(self, member: tuple[int, ...], block: Block) -> np.ndarray:
        """Whether the super-parents of each row are present and were seen often enough without the row."""
        seen = self.model.counts_.joint(*member).sum(axis=0)  # over the classes
        cells = [block.codes[:, i].astype(int) for i in member]
        here = np.all([cell < size for cell, size in zip(cells, seen.shape, strict=True)], axis=0)
        often = np.zeros(len(block))
        often[here] = seen[tuple(cell[here] for cell in cells)]
        enough = often - (1.0 if block.weights is None else block.weights) >= self.model.min_count * (1 - 1e-9)
        return np.asarray(here & enough)

    # --- files --------------------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """What is known about the members and the rows that still wait, for a model file."""
        if self._scores is None and not self.unfinished:
            return {}
        scores = self.scores
        arrays = {"anytime-alone": scores.alone, "anytime-first": scores.first}
        arrays["anytime-order"] = np.array(scores.order, dtype=np.int64)
        if self.weights is not None:
            arrays["anytime-weights"] = self.weights
        waiting = [rows.block for rows in self._all_rows() if len(rows)]
        if waiting:  # a pass that was interrupted begins again
            arrays["anytime-codes"] = np.concatenate([widened(block.codes) for block in waiting])
            arrays["anytime-labels"] = np.concatenate([block.labels.astype(np.uint16) for block in waiting])
            weights = [np.ones(len(block)) if block.weights is None else block.weights for block in waiting]
            arrays["anytime-rows"] = np.concatenate(weights)
            arrays["anytime-deferred"] = np.array([self.deferred])
        return arrays

    def take_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take back what ``to_arrays`` gave, where there is any."""
        if "anytime-order" not in arrays:
            return
        scores = self.scores
        n = len(scores.members)
        sums = saved.array("f8", 3, n + 1, least=-1e-6)
        expected = {"anytime-alone": sums, "anytime-first": sums, "anytime-order": saved.array("i8", n)}
        if "anytime-weights" in arrays:
            expected["anytime-weights"] = saved.array("f8", n, least=0.0)
        scores.alone, scores.first, order, *weights = saved.read("scores of its members", arrays, expected).values()
        if sorted(order.tolist()) != scores.order:
            raise ModelFileError("the order of its members does not name each of them once")
        scores.order = order.tolist()
        self.weights = weights[0] if weights else None
        if "anytime-codes" in arrays:
            self._take_waiting(arrays)

    def _take_waiting(self, arrays: Mapping[str, np.ndarray]) -> None:
        counts, n_rows = self.model.counts_, len(arrays["anytime-codes"])
        expected = {
            "anytime-codes": saved.array("u2", n_rows, counts.n_features),
            "anytime-labels": saved.array("u2", n_rows, most=counts.n_classes - 1),
            "anytime-rows": saved.array("f8", n_rows, least=0.0),
            "anytime-deferred": saved.array("b1", 1),
        }
        codes, labels, weights, deferred = saved.read("rows that its members wait for", arrays, expected).values()
        if not ((codes < counts.schema.n_values) | (codes == np.iinfo(codes.dtype).max)).all():
            raise ModelFileError("the rows that its members wait for have values that its counts do not know")
        self._waiting.follow(counts)
        self._waiting.append(Block(codes, labels, weights))
        self.deferred = bool(deferred[0])


def _over(until: float | None) -> bool:
    return until is not None and perf_counter() >= until
