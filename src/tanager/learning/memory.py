"""Learning rows while older ones fade or leave: the one place where rows enter and leave a counting classifier.

Counts, the moments of Gaussian columns and kept rows follow the same steps (see ``counts/forgetting.py``): before a row
is added everything fades, after it the oldest rows may leave. A block of rows is added with the weights that its rows
have at its end, which is the same up to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tanager.counts.forgetting import SMALLEST, Clock, Steps, as_decay, as_window
from tanager.encoding.validation import check_times
from tanager.errors import DataError, OptionError, is_number
from tanager.learning.rows import Rows, WarmUp

LIGHT = 1e-9  # kept rows of less weight are let go of


class ForgettingMixin:
    """The options ``decay``, ``window`` and ``refresh`` of every counting classifier."""

    _clock: Clock | None
    _warm: WarmUp | None
    _rows: Rows | None
    _view_rows: float
    _view_weight: float

    def _check_forgetting(self: Any) -> None:
        decay, window = as_decay(self.decay), as_window(self.window)
        if decay is not None and decay.per_class and window is not None:
            raise OptionError(
                "a window and a decay per class do not go together: a row would leave with a weight that depends on "
                "all rows of its class since. Use one of them, or a decay for all classes."
            )
        if self.refresh is not None and not is_number(self.refresh, 1) and self.refresh != float("inf"):
            raise OptionError(f"refresh={self.refresh!r}: give a number of rows of at least 1, or None.")

    def _forgets(self: Any) -> bool:
        """Whether old rows count less than new ones, or not at all."""
        return self.decay is not None or self.window is not None

    def _start_memory(self: Any) -> None:
        """A clock for what forgets, and empty rows for what keeps them."""
        self._clock = Clock(as_decay(self.decay), as_window(self.window)) if self._forgets() else None
        self._rows = Rows() if self._needs_rows() or self.window is not None else None

    # --- rows enter ---------------------------------------------------------------------------------------------

    def _add(
        self: Any,
        numbers: np.ndarray | None,
        codes: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        times: np.ndarray | None,
    ) -> None:
        """Add encoded rows to all that is learned; `numbers` are their cells in columns without codes."""
        if self._clock is None:
            self.counts_.update(codes, labels, weights, n_jobs=self._threads())
            self._learned(numbers, labels, weights)
            self._keep(numbers, codes, labels, weights)
            return
        counted = labels != np.iinfo(labels.dtype).max
        if weights is not None:
            counted &= weights > 0
        if not counted.all():
            codes, labels = codes[counted], labels[counted]
            numbers, weights, times = (None if part is None else part[counted] for part in (numbers, weights, times))
        if len(codes):
            self._add_block(numbers, codes, labels, weights, times, self._steps(len(codes), times))

    def _steps(self: Any, n_rows: int, times: np.ndarray | None) -> Steps:
        """What happens around each of the next rows."""
        kept = (0, None) if self._rows is None else (len(self._rows), self._rows.times)
        return self._clock.steps(n_rows, *kept, times)

    def _add_block(
        self: Any,
        numbers: np.ndarray | None,
        codes: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        times: np.ndarray | None,
        steps: Steps,
    ) -> None:
        left = self._fade(steps, labels)  # of each row at the end of the block
        if left is not None:
            weights = left if weights is None else weights * left
        self.counts_.update(codes, labels, weights, n_jobs=self._threads())
        self._learned(numbers, labels, weights)
        self._keep(numbers, codes, labels, weights, times)
        self._clock.pass_rows(len(codes), times)
        if steps.gone is not None:
            self._let_go(int(steps.gone.sum()))

    def _fade(self: Any, steps: Steps, labels: np.ndarray) -> np.ndarray | None:
        """Fade all that was learned by what a block of rows brings; what is left of each of these rows at its end."""
        if steps.fade is None:
            return None
        logs = np.log(steps.fade)
        if self._clock.decay.per_class:
            later = np.zeros(len(labels))
            factors = np.ones(len(self.classes_))
            for c in np.unique(labels).tolist():
                own = np.flatnonzero(labels == c)
                sums = np.cumsum(logs[own][::-1])[::-1]
                later[own], factors[c] = sums - logs[own], max(np.exp(sums[0]), SMALLEST)
            self.counts_.decay_classes(factors)
            self._faded(factors[:, None])
            if self._rows is not None:
                self._rows.fade_classes(factors)
        else:
            sums = np.cumsum(logs[::-1])[::-1]
            later, factor = sums - logs, max(float(np.exp(sums[0])), SMALLEST)
            self.counts_.decay(factor)
            self._faded(factor)
        left = np.exp(later)
        return left if steps.late is None else left * steps.late

    def _keeps(self: Any) -> bool:
        """Whether rows are kept beyond the counts."""
        return self._rows is not None

    def _keep(
        self: Any,
        numbers: np.ndarray | None,
        codes: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        times: np.ndarray | None = None,
    ) -> None:
        """Keep rows where the form is chosen by looking at rows, or where they will leave again."""
        if self._rows is None:
            return
        self._rows.follow(self.counts_)
        beside = (times, numbers) if self.window is not None else ()
        self._rows.append(codes, labels, weights, *beside)
        self._rows.check_budget(self.max_memory, type(self).__name__)
        if self._clock is not None and self.window is None:
            self._rows.prune(LIGHT)

    def _add_one(
        self: Any,
        numbers: np.ndarray | None,
        codes: np.ndarray,
        label: int,
        weight: float,
        times: np.ndarray | None,
        steps: Steps,
    ) -> None:
        """``_add_block`` for one row whose codes are known to fit: the least work."""
        if steps.fade is not None:
            if self._clock.decay.per_class:
                self._fade(steps, np.array([label]))
            else:
                self.counts_.decay(steps.fade[0])
                self._faded(steps.fade[0])
        if steps.late is not None:
            weight *= steps.late[0]
        self.counts_.learn_row(codes, label, weight)
        if self._keeps() or numbers is not None:
            weights = None if weight == 1.0 else np.array([weight])
            labels = np.array([label], dtype=np.uint16)
            self._learned(numbers, labels, weights)
            self._keep(numbers, codes[None, :], labels, weights, times)
        self._clock.pass_rows(1, times)
        if steps.gone is not None:
            self._let_go(int(steps.gone[0]))

    # --- rows leave ---------------------------------------------------------------------------------------------

    def _let_go(self: Any, n: int) -> None:
        """The oldest rows leave the window."""
        if n == 0:
            return
        rows = self._rows
        codes, labels, raw = (part[:n] for part in rows.queue)
        self._forgotten(None if rows.numbers is None else rows.numbers[:n], labels, raw / rows.scale)
        if n == 1:
            self.counts_.forget_row(codes[0], int(labels[0]), float(raw[0]))
        else:
            self.counts_.forget_rows(codes, labels, raw)
        rows.drop(n)

    def advance(self: Any, time: Any) -> Any:
        """Let time pass without a row: what fades by time fades, and rows that are too old leave.

        Learning does this by itself; before an answer that comes long after the last row it is worth asking for.
        """
        self._ready()
        if self._clock is None or not self._clock.timed:
            raise OptionError(
                f"this {type(self).__name__} does not forget by time. Give it decay='6 h' or window='30 min'."
            )
        now = float(check_times([time], 1)[0])  # type: ignore[index]
        self._warm = None  # its rows would be learned again
        if self._clock.now is not None and now > self._clock.now:
            self._pass_time(now)
        return self

    def _pass_time(self: Any, now: float) -> None:
        clock = self._clock
        if clock.decay is not None and clock.decay.timed:
            factor = max(float(np.exp(clock.decay.rate * (now - clock.now))), SMALLEST)
            self.counts_.decay(factor)
            self._faded(factor)
            if self._rows is not None:
                self._rows.follow(self.counts_)
        clock.now = now
        if clock.window is not None and clock.window.seconds is not None and len(self._rows):
            self._let_go(int(np.searchsorted(self._rows.times, now - clock.window.seconds, side="right")))

    def shrink(self: Any, n_rows: int) -> Any:
        """Let all rows of the window leave but the last ones; the window fills again from there."""
        self._ready()
        if self.window is None:
            raise OptionError(f"this {type(self).__name__} has no window that could shrink. Give it window=1000, say.")
        if not is_number(n_rows, 0) or int(n_rows) != n_rows:
            raise OptionError(f"shrink({n_rows!r}): give a whole number of rows of at least 0.")
        self._warm = None
        self._let_go(max(0, len(self._rows) - int(n_rows)))
        return self

    def fade(self: Any, factor: float) -> Any:
        """Let all that was learned fade by a factor in (0, 1] at once, so that new rows count more."""
        self._ready()
        self._warm = None
        self.counts_.decay(factor)
        self._faded(factor)
        if self._rows is not None:
            self._rows.follow(self.counts_)
        return self

    def _left_of(self: Any, weights: np.ndarray | None, times: np.ndarray | None) -> np.ndarray | None:
        """What rows to be unlearned weigh now; refused where that cannot be known."""
        decay = None if self._clock is None else self._clock.decay
        if decay is None or self.window is not None:
            return weights
        if decay.per_class or times is None:
            way = "Learn without per_class" if decay.per_class else "Give times= (rows: their numbers, from 1)"
            raise DataError(f"with a decay, what is left of a row depends on when it was learned. {way} to unlearn it.")
        now = self._clock.now if decay.timed else float(self._clock.learned)
        age = (now or 0.0) - times
        if (age < 0).any():
            raise DataError("times: a row to be unlearned is newer than all that were learned; nothing was changed.")
        left = np.exp(decay.rate * age)
        return left if weights is None else weights * left

    # --- what is learned beside the counts ----------------------------------------------------------------------

    def _learned(self, numbers: np.ndarray | None, labels: np.ndarray, weights: np.ndarray | None) -> None:
        """Rows were counted; `numbers` are their cells in columns without codes."""

    def _faded(self, factor: Any) -> None:
        """All that was learned fades by a factor, or by one per class (first axis)."""

    def _forgotten(self, numbers: np.ndarray | None, labels: np.ndarray, weights: np.ndarray | None) -> None:
        """Rows were taken out of the counts."""

    def _numbers_of(self, X: Any) -> np.ndarray | None:
        """Cells of columns without codes."""
        return None

    # --- when the structure is learned again --------------------------------------------------------------------

    def _age(self: Any) -> float:
        """How many rows were learned, whether they still count or not."""
        return self.counts_.n_rows if self._clock is None else float(self._clock.learned)

    def _due(self: Any) -> float:
        """The age up to which the present structure answers in a stream."""
        if self.refresh is not None:
            return float(self._view_rows + self.refresh - 1)
        if self._clock is not None:
            return float(self._view_rows + max(1.0, 0.1 * self._view_weight) - 1)
        return float(self._view_rows * self.stale)
