"""Forgetting: a sliding window (``Window``) or weights that decay (``Decay``).

Both are plain values. ``Clock`` turns them into steps: by what factor everything fades before a row is added, and how
many of the oldest rows leave after it. Counts, moments and rows then apply these steps.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from tanager import saved
from tanager.errors import MOST, DataError, OptionError, is_number

_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_WORDS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("w", "week", "weeks"), "w"),
}
SMALLEST = 1e-100  # smaller factors are raised to this: it forgets as much, and the scale of the counts stays finite


def seconds_in(text: str, option: str) -> float:
    """A duration such as "6 h" in seconds.

    >>> seconds_in("6 h", "decay"), seconds_in("90s", "decay")
    (21600.0, 90.0)
    """
    found = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-z]+)\s*", text.lower())
    unit = _WORDS.get(found.group(2)) if found else None
    try:
        span = float(found.group(1)) * _SECONDS[unit] if found and unit else math.nan
    except ValueError:
        span = math.nan
    if not 0 < span < math.inf:
        raise OptionError(
            f"{option}={text!r} is not a duration. Write a number and a unit (ms, s, min, h, d or w), such as '6 h'."
        )
    return span


@dataclass(frozen=True)
class Decay:
    """Exponential decay: with every row, or as time passes, all that was learned loses a part of its weight.

    Parameters
    ----------
    half_life : number, str or timedelta, default=None
        Number of rows, or a duration ("6 h"), after which the weight of a row has halved.
    factor : float, default=None
        All weights are multiplied by this with every row; 0.999 is a half-life of 693 rows.
    per_class : bool, default=False
        Only the class of the new row decays, so that rare classes are not forgotten.

    Examples
    --------
    >>> from tanager import Decay
    >>> round(Decay(half_life=693).per_row, 4)
    0.999
    """

    half_life: float | str | timedelta | None = None
    factor: float | None = None
    per_class: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.half_life, timedelta):
            object.__setattr__(self, "half_life", f"{self.half_life.total_seconds():g} s")
        if (self.half_life is None) == (self.factor is None):
            raise OptionError("Decay takes a half_life or a factor, and not both.")
        if self.factor is not None and not (is_number(self.factor) and 0 < self.factor <= 1):
            raise OptionError(f"Decay(factor={self.factor!r}): the factor must be above 0 and at most 1.")
        if isinstance(self.half_life, str):
            seconds_in(self.half_life, "half_life")
        elif self.half_life is not None and not (is_number(self.half_life, 0) and self.half_life):
            raise OptionError(f"Decay(half_life={self.half_life!r}): give rows above 0, or a duration such as '6 h'.")
        if self.per_class and self.timed:
            raise OptionError("Decay: per_class works by rows, not by time. Give half_life as a number of rows.")

    @property
    def timed(self) -> bool:
        """Whether the decay is by time, not by rows."""
        return isinstance(self.half_life, str)

    @property
    def rate(self) -> float:
        """Logarithm of the factor per row, or per second."""
        if self.factor is not None:
            return math.log(self.factor)
        assert self.half_life is not None  # one of the two is given
        assert not isinstance(self.half_life, timedelta)  # turned into text by __post_init__
        span = seconds_in(self.half_life, "half_life") if isinstance(self.half_life, str) else float(self.half_life)
        return math.log(0.5) / span

    @property
    def per_row(self) -> float:
        """The factor per row, or per second."""
        return math.exp(self.rate)


@dataclass(frozen=True)
class Window:
    """Sliding window: only the last rows count; older ones are subtracted from the counts again, exactly.

    Parameters
    ----------
    rows : int, default=None
        Number of rows.
    time : str or timedelta, default=None
        Maximum age of a row, such as "30 min". With both, a row leaves by whichever limit comes first.

    Examples
    --------
    >>> from tanager import NaiveBayes, Window
    >>> model = NaiveBayes(window=Window(rows=2)).partial_fit([["a"], ["a"], ["b"], ["b"]], ["x", "x", "y", "y"])
    >>> model.class_count_
    array([0., 2.])
    """

    rows: int | None = None
    time: str | timedelta | None = None

    def __post_init__(self) -> None:
        if isinstance(self.time, timedelta):
            object.__setattr__(self, "time", f"{self.time.total_seconds():g} s")
        if self.rows is None and self.time is None:
            raise OptionError("Window takes a number of rows, a duration, or both.")
        if self.rows is not None and not (is_number(self.rows, 1) and int(self.rows) == self.rows <= MOST):
            raise OptionError(f"Window(rows={self.rows!r}): give a whole number from 1 to {MOST:,}.")
        if self.time is not None:
            seconds_in(str(self.time), "time")

    @property
    def seconds(self) -> float | None:
        """Maximum age of a row, in seconds."""
        return None if self.time is None else seconds_in(str(self.time), "time")


def as_decay(value: Any) -> Decay | None:
    """The option ``decay``: a factor below 1, a half-life in rows, a half-life in time, a Decay, or None.

    >>> as_decay(0.99), as_decay(500), as_decay("2 h")
    (Decay(half_life=None, factor=0.99, per_class=False), Decay(half_life=500, factor=None, per_class=False), Decay(half_life='2 h', factor=None, per_class=False))
    """  # noqa: E501
    if value is None or isinstance(value, Decay):
        return value
    if isinstance(value, str):
        seconds_in(value, "decay")  # in the words of the option
    if isinstance(value, str | timedelta):
        return Decay(half_life=value)
    if isinstance(value, float) and value == 1:
        raise OptionError(
            "decay=1.0 could be a factor of 1, with which nothing fades (that is decay=None), or a half-life of one "
            "row (that is Decay(half_life=1)). Give the one that you mean."
        )
    if is_number(value, 0) and value > 0:
        return Decay(factor=float(value)) if value < 1 else Decay(half_life=value)
    raise OptionError(
        f"decay={value!r}: give a factor per row below 1 (0.999), a half-life in rows (1000) or in time ('6 h'), a "
        "Decay, or None."
    )


def as_window(value: Any) -> Window | None:
    """The option ``window``: a number of rows, a duration, a Window, or None."""
    if value is None or isinstance(value, Window):
        return value
    if isinstance(value, str):
        seconds_in(value, "window")
    if isinstance(value, str | timedelta):
        return Window(time=value)
    if is_number(value, 1) and int(value) == value:
        return Window(rows=int(value))
    raise OptionError(f"window={value!r}: give a number of rows, a duration such as '30 min', a Window, or None.")


@dataclass(frozen=True)
class Steps:
    """What happens around each row of a block.

    ``fade``: the factor by which everything before it is multiplied (None: nothing fades). ``late``: the factor for
    the row itself, below 1 where a row with a later time came before it. ``gone``: how many of the oldest rows leave
    after it.
    """

    fade: np.ndarray | None
    late: np.ndarray | None
    gone: np.ndarray | None

    def part(self, rows: slice) -> Steps:
        """The steps of some rows."""
        return Steps(*(None if own is None else own[rows] for own in (self.fade, self.late, self.gone)))


class Clock:
    """The position in a stream of a model that forgets: number of rows learned, and the latest time among them."""

    def __init__(self, decay: Decay | None, window: Window | None) -> None:
        self.decay, self.window = decay, window
        self.learned = 0  # rows
        self.now: float | None = None  # seconds

    @property
    def timed(self) -> bool:
        """Whether rows need times."""
        by_decay = self.decay is not None and self.decay.timed
        return by_decay or (self.window is not None and self.window.time is not None)

    def check(self, times: np.ndarray | None, n_rows: int) -> None:
        """Raise DataError where times are needed and missing or, for a window, out of order."""
        if not self.timed:
            return
        if times is None:
            what = f"window={self.window.time!r}" if self.window is not None and self.window.time else "decay"
            raise DataError(
                f"{what} is by time, but the rows have no times. Pass times= (command line: --times COLUMN)."
            )
        if self.window is not None:
            before = np.concatenate([[times[0] if self.now is None else self.now], times])
            back = np.flatnonzero(np.diff(before) < 0)
            if len(back):
                r = int(back[0])
                raise DataError(
                    f"times, row {r}: {times[r]!r} is earlier than {before[r]!r} before it, and a window needs rows in "
                    "the order of time. Sort them by time."
                )

    def steps(self, n_rows: int, n_kept: int, kept_times: np.ndarray | None, times: np.ndarray | None) -> Steps:
        """What happens around each of the next rows; `n_kept` rows are in the window now."""
        self.check(times, n_rows)
        fade, late = self._fading(n_rows, times)
        return Steps(fade, late, self._leaving(n_rows, n_kept, kept_times, times))

    def _fading(self, n_rows: int, times: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray | None]:
        if self.decay is None:
            return None, None
        if not self.decay.timed:
            return np.full(n_rows, max(self.decay.per_row, SMALLEST)), None
        assert times is not None
        start = float(times[0]) if self.now is None and n_rows else self.now
        # A row with an earlier time than one before it fades nothing, and enters with the weight it would have by now.
        newest = np.maximum.accumulate(np.concatenate([[start], times])) if n_rows else np.zeros(1)
        fade = np.maximum(np.exp(self.decay.rate * np.diff(newest)), SMALLEST)
        late = np.exp(self.decay.rate * (newest[1:] - times))
        return fade, None if (late == 1.0).all() else late

    def _leaving(
        self, n_rows: int, n_kept: int, kept_times: np.ndarray | None, times: np.ndarray | None
    ) -> np.ndarray | None:
        if self.window is None:
            return None
        gone = np.zeros(n_rows, dtype=np.int64)  # how many have left in all, after each row
        if self.window.rows is not None:
            gone = np.maximum(n_kept + np.arange(1, n_rows + 1) - int(self.window.rows), 0)
        if self.window.seconds is not None and times is not None:
            # Times ascend (``check`` has seen to it), so the rows that are too old at each step are a prefix.
            ages = times if kept_times is None else np.concatenate([kept_times, times])
            gone = np.maximum(gone, np.searchsorted(ages, times - self.window.seconds, side="right"))
        # From how many have left in all to how many leave at each step; the two limits may overtake each other.
        return np.diff(np.maximum.accumulate(gone), prepend=0)

    def pass_rows(self, n_rows: int, times: np.ndarray | None) -> None:
        """Count rows that were learned."""
        self.learned += n_rows
        if times is not None and n_rows:
            self.now = max(float(times.max()), -math.inf if self.now is None else self.now)

    def to_plain(self) -> dict[str, Any]:
        """The state as plain data, for model files."""
        return {"learned": self.learned, "now": self.now}

    def take_plain(self, data: dict[str, Any]) -> None:
        """Restore the state that ``to_plain`` returned. Raises ModelFileError for an invalid one."""
        expected = {"learned": saved.whole(), "now": saved.maybe(saved.number(-saved.FINITE, saved.FINITE))}
        self.learned, self.now = saved.read("rows and times of its clock", data, expected).values()
