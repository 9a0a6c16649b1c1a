"""Anytime learning: counts first, then what is left of the time goes into order, weights and stopping point.

Rows that were learned wait here until they have been judged: each is answered as if it had not been learned, by every
member alone and by the first so many members together (see ``evidence.py``). Judging can stop after any row and go on
later, and the model answers well at any moment between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from tanager.counts.forgetting import as_decay, as_window
from tanager.errors import ModelFileError, OptionError, is_number
from tanager.learning.averaged import naive
from tanager.learning.member_scores import Evidence
from tanager.learning.rows import Rows, widened
from tanager.scoring.forms import SumOfProducts, View

FADING = 0.5 ** (1 / 10_000)  # what is left, after one more row, of what rows of a stream have said about members
ROUNDS = 100  # at most, to learn weights
CELLS = 1_000_000  # probabilities that are kept at most while weights are learned


@dataclass
class Work:
    """Rows that are being judged: the next of them, and what the pass over them is for."""

    rows: Rows
    order: list[int]
    stage: str = "judge"  # then "weights", then "stop"
    place: int = 0
    view: View | None = None
    judged: np.ndarray = field(default_factory=lambda: np.zeros((6, 1)))  # what the pass has found so far
    logs: list[np.ndarray] = field(default_factory=list)  # to learn weights: joints of the members so far


class ImprovingMixin:
    """``fit(budget=...)`` and ``improve``."""

    _evidence: Evidence | None
    _pending: Rows
    _work: Work | None
    _scales: np.ndarray | None
    _deferred = False  # whether rows wait for improve, and not for the next question

    def improve(self: Any, seconds: float | None = None) -> bool:
        """Spend some time on the order of the members, their weights and the stopping point; for idle periods.

        The model can be used at any time before and after. Returns whether there is more to do. Once this was called,
        or ``fit`` was given a budget, rows that are learned later wait for it, too: answers do not.
        """
        check_seconds("seconds", seconds)
        self._ready()
        self._deferred = True
        if not self._judges():
            return False
        if self._work_off(None if seconds is None else perf_counter() + seconds):
            if self._view is not None:
                self._view.form_version = -1
            self._structure(fresh=True)
        return bool(self._waiting())

    # --- rows that wait -----------------------------------------------------------------------------------------

    def _start_judging(self: Any) -> None:
        self._evidence, self._pending, self._work, self._scales = None, Rows(), None, None

    def _judges(self: Any) -> bool:
        """Whether rows have a say in order, weights or stopping point."""
        return "loo" in (self.stop, self.weights) or self._ranks()

    def _ranks(self: Any) -> bool:
        return isinstance(self.member_order, str) and self.member_order == "cv"

    def _waiting(self: Any) -> bool:
        return self._work is not None or len(self._pending) > 0

    def _let_wait(self: Any, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> None:
        """Rows were learned: they will be judged. The newest are kept where they are too many."""
        most = self.judged_rows
        window = as_window(self.window)
        if window is not None and window.rows is not None:
            most = min(most, window.rows)  # older ones are not in the counts any more
        if len(codes) > most:  # some, spread over all
            some = np.sort(np.random.default_rng(0).choice(len(codes), most, replace=False))
            codes, labels, weights = codes[some], labels[some], None if weights is None else weights[some]
        self._pending.follow(self.counts_)
        self._pending.append(codes, labels, weights)
        self._pending.drop(max(0, len(self._pending) - most))

    def _each_waiting(self: Any) -> list[Rows]:
        return [rows for rows in (self._pending, None if self._work is None else self._work.rows) if rows is not None]

    # --- judging ------------------------------------------------------------------------------------------------

    def _sums(self: Any) -> Evidence:
        """What rows have said, about the members that there are now."""
        members = self._members(self.counts_.n_features)
        if self._evidence is None:
            self._evidence = Evidence(members)
        if self._evidence.members != members:
            self._evidence.grow(members)
            self._scales = None
            if self._work is not None:  # its rows wait again
                waiting, self._pending = self._pending, self._work.rows
                self._work = None
                if len(waiting):
                    self._pending.append(*waiting.all())
        return self._evidence

    def _work_off(self: Any, until: float | None) -> bool:
        """Judge what waits, until all is done or the time is up; says whether anything was found."""
        self._sums()
        found = False
        while self._waiting() and not _over(until):
            if self._work is None:
                self._work = self._next_work()
            work = self._work
            work.rows.follow(self.counts_)
            step = self._learn_weights if work.stage == "weights" else self._judge_some
            done = step(work, until)
            found = found or done or work.stage == "weights"
            if done:
                self._next_stage(work)
        return found

    def _next_work(self: Any) -> Work:
        """All rows that wait, in an order that has nothing to do with theirs."""
        rows, self._pending = self._pending, Rows()
        rows.keep(np.random.default_rng(len(rows)).permutation(len(rows)))
        return Work(rows, self._order(), judged=self._sums().empty())

    def _judge_some(self: Any, work: Work, until: float | None) -> bool:
        view = work.view
        if view is None or not view.valid or view.counts is not self.counts_:
            view = work.view = self._turn_view(work.order)
        codes, labels, weights = work.rows.all()
        left = None if until is None else until - perf_counter()
        work.place = view.judge(
            codes, labels, weights, work.judged, begin=work.place, seconds=left, n_jobs=self._threads()
        )
        return work.place >= len(codes)

    def _next_stage(self: Any, work: Work) -> None:
        """A pass is over: take in what it found, and begin the next where the rows are most of what was seen."""
        sums = self._sums()
        bulk = work.rows.weight >= 0.5 * (sums.weight + work.rows.weight)
        if work.stage == "judge":
            sums.take(work.judged, work.order, self._keep_judged(len(work.rows)))
            if bulk and self.weights == "loo":
                work.stage, work.place = "weights", 0
                return
        if work.stage in ("judge", "weights") and self.stop == "loo":
            order = self._order()
            if work.stage == "weights" or (order != work.order and bulk):
                self._work = Work(work.rows, order, "stop", judged=sums.empty())
                return
        if work.stage == "stop":
            sums.restart(work.order)
            sums.first += work.judged[3:]
        self._work = None

    def _keep_judged(self: Any, n_rows: int) -> float:
        """What is left of earlier sums after so many further rows."""
        decay = as_decay(self.decay)
        per_row = FADING if decay is None or decay.timed else min(FADING, decay.per_row)
        return float(per_row**n_rows)

    def _turn_view(self: Any, order: list[int]) -> View:
        """All members in an order, to judge them."""
        return self._view_of(self._in_turn(order, limit=-1, margin=np.inf))

    # --- weights ------------------------------------------------------------------------------------------------

    def _learn_weights(self: Any, work: Work, until: float | None) -> bool:
        """Weights under which the left-out rows are most probable, given their columns.

        Each round multiplies the weight of a member by what it gives to the true classes over what it gives to all.
        This never lowers the conditional likelihood (a bound from below is touched and then maximised), so that it may
        stop after any round.
        """
        n_members = len(self._sums().members)
        if self._scales is None:
            self._scales = np.ones(n_members)
        while len(work.logs) < n_members + 1:
            work.logs.append(self._left_out_joints(len(work.logs) - 1, work.rows))
            if _over(until):
                return False
        own, every, rows = self._member_joints(work)
        n_fixed = own.shape[1] - n_members  # naive Bayes, where it takes part
        while work.place < ROUNDS:
            work.place += 1
            scales = np.concatenate([np.ones(n_fixed), self._scales])
            up = rows @ (own / (own @ scales)[:, None])
            down = rows @ (every / (every @ scales)[:, None])
            step = (up / np.maximum(down, 1e-300))[n_fixed:]
            self._scales = np.clip(self._scales * step, 1e-6, 1e6)
            if np.abs(step - 1).max(initial=0.0) < 1e-3:
                return True
            if _over(until):
                break
        return work.place == ROUNDS

    def _some(self: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The rows that weights are learned from."""
        most = max(1, CELLS // (len(self._sums().members) + 1))
        codes, labels, weights = rows.all()
        return codes[:most], labels[:most], None if weights is None else weights[:most]

    def _left_out_joints(self: Any, which: int, rows: Rows) -> np.ndarray:
        """Logs of P(row, its class) and P(row) by a member (-1 is naive Bayes), the row not learned.

        -inf where the member does not speak.
        """
        codes, labels, weights = self._some(rows)
        member = None if which < 0 else self._sums().members[which]
        form = naive(self.counts_.n_features) if member is None else SumOfProducts((member,), (1.0,), self.min_count)
        joint = self._view_of(form).leave_one_out(codes, labels, weights, log_joint=True)
        top = joint.max(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            every = np.nan_to_num(top + np.log(np.exp(joint - top[:, None]).sum(axis=1)), nan=-np.inf)
        both = np.stack([joint[np.arange(len(labels)), labels], every])
        if member is not None:
            both[:, ~self._speaks(member, codes, weights)] = -np.inf
        return both

    def _member_joints(self: Any, work: Work) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of rows and members: the probability of the true class, of all classes, and the weights of the rows."""
        _, _, weights = self._some(work.rows)
        own, every = np.stack(work.logs[1 if self.mix == "replace" else 0 :], axis=2)
        with np.errstate(invalid="ignore"):
            base = every if self.mix == "posterior" else every.max(axis=1, keepdims=True)
            own, every = np.nan_to_num(np.exp(own - base)), np.nan_to_num(np.exp(every - base))
        heard = own.sum(axis=1) > 0
        return own[heard], every[heard], (np.ones(len(own)) if weights is None else weights)[heard]

    def _speaks(self: Any, member: tuple[int, ...], codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Whether the super-parents of each row are present and were seen often enough without the row."""
        seen = self.counts_.joint(*member).sum(axis=0)  # over the classes
        cells = [codes[:, i].astype(int) for i in member]
        here = np.all([cell < size for cell, size in zip(cells, seen.shape, strict=True)], axis=0)
        often = np.zeros(len(codes))
        often[here] = seen[tuple(cell[here] for cell in cells)]
        return here & (often - (1.0 if weights is None else weights) >= self.min_count * (1 - 1e-9))

    # --- files --------------------------------------------------------------------------------------------------

    def _judging_arrays(self: Any) -> dict[str, np.ndarray]:
        """What rows have said and the rows that still wait, for a model file."""
        if self._evidence is None and not self._waiting():
            return {}
        sums, arrays = self._sums(), {}
        arrays["anytime-alone"], arrays["anytime-first"] = sums.alone, sums.first
        arrays["anytime-order"] = np.array(sums.order, dtype=np.int64)
        if self._scales is not None:
            arrays["anytime-weights"] = self._scales
        waiting = [rows.all() for rows in self._each_waiting() if len(rows)]
        if waiting:  # a pass that was interrupted begins again
            codes, labels, weights = zip(*waiting, strict=True)
            arrays["anytime-codes"] = np.concatenate([widened(part) for part in codes])
            arrays["anytime-labels"] = np.concatenate([part.astype(np.uint16) for part in labels])
            arrays["anytime-rows"] = np.concatenate(
                [np.ones(len(part)) if own is None else own for part, own in zip(labels, weights, strict=True)]
            )
            arrays["anytime-deferred"] = np.array([self._deferred])
        return arrays

    def _take_judging_arrays(self: Any, arrays: dict[str, np.ndarray]) -> None:
        if "anytime-order" not in arrays:
            return
        sums = self._sums()
        alone, first, order = (arrays[f"anytime-{name}"] for name in ("alone", "first", "order"))
        sound = alone.shape == sums.alone.shape and first.shape == sums.first.shape and order.dtype == np.int64
        sound = sound and alone.dtype == first.dtype == np.float64
        if not sound or sorted(order.tolist()) != sums.order or not np.isfinite(alone).all():
            raise ModelFileError("what it says about its members does not fit them")
        sums.alone, sums.first, sums.order = alone.copy(), first.copy(), order.tolist()
        scales = arrays.get("anytime-weights")
        if scales is not None:
            if scales.shape != (len(sums.members),) or not (np.isfinite(scales).all() and (scales >= 0).all()):
                raise ModelFileError("the weights of its members do not fit them")
            self._scales = scales.copy()
        if "anytime-codes" in arrays:
            codes, labels, rows = (arrays[f"anytime-{name}"] for name in ("codes", "labels", "rows"))
            sound = codes.shape == (len(labels), self.counts_.n_features) and rows.shape == labels.shape
            sound = sound and codes.dtype == labels.dtype == np.uint16 and rows.dtype == np.float64
            if not sound or (labels >= self.counts_.n_classes).any() or not np.isfinite(rows).all():
                raise ModelFileError("the rows that its members are judged by do not fit its counts")
            self._pending.follow(self.counts_)
            self._pending.append(codes, labels, rows)
            self._deferred = bool(arrays["anytime-deferred"][0])


def _over(until: float | None) -> bool:
    return until is not None and perf_counter() >= until


def check_seconds(name: str, seconds: float | None) -> None:
    """A span of time, or None."""
    if seconds is not None and not is_number(seconds, 0):
        raise OptionError(f"{name}={seconds!r}: give seconds of at least 0 (0.001 is a millisecond), or None.")
