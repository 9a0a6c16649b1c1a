"""Detectors of drift: they are told of every answer, right (0) or wrong (1), and say when errors have become more.

A detector is anything with ``update(value)`` and ``drift_detected``, and perhaps ``warning_detected``, as those of
river have; or a function of the value that returns None, "warning" or "drift". ``DDM`` is our own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager import _kernels, saved
from tanager.errors import ModelFileError, OptionError, check_option, is_number

SIGNALS = (None, "warning", "drift")  # by their codes in the kernels

Remembered = tuple[int, float, float, float, int]


@dataclass
class DDM:
    """Notices that the share of wrong answers, over all rows since the last drift, has risen from its lowest point.

    Of n answers a share p is wrong, give or take s = √(p (1 - p) / n). The smallest p + s is remembered; from two such
    s above the p of that time on it warns, and from three on it says drift, and starts anew.

    Parameters
    ----------
    warning, drift : float, default=2.0, 3.0
        How many standard deviations above the lowest point.
    min_rows : int, default=30
        It says nothing before that many answers.
    smoothing : float, default=1.0
        Answers, of either kind, that p starts with. With 0, as published, the first error after 30 right answers is a
        drift.

    Attributes
    ----------
    drift_detected, warning_detected : bool
        What the last answer showed.

    Notes
    -----
    Gama, Medas, Castillo and Rodrigues (2004). Quick for abrupt changes; slow ones after a long quiet time drown in
    the average over all rows, and are better watched by river's ADWIN.

    Examples
    --------
    >>> from tanager import DDM
    >>> detector = DDM()
    >>> said = [detector.update(wrong).signal for wrong in [0, 0, 0, 1] * 25 + [1] * 20]
    >>> said.index("warning"), said.index("drift")
    (105, 111)
    """

    warning: float = 2.0
    drift: float = 3.0
    min_rows: int = 30
    smoothing: float = 1.0

    def __post_init__(self) -> None:
        for name in ("warning", "drift", "min_rows", "smoothing"):
            if not is_number(getattr(self, name), least=0):
                raise OptionError(f"{name}={getattr(self, name)!r}: give a number of at least 0.")
        if self.warning > self.drift:
            raise OptionError(f"warning={self.warning!r} is above drift={self.drift!r}; a warning comes first.")
        self._start()

    def _start(self) -> None:
        self.n = 0
        self.wrong = 0.0
        self.lowest: tuple[float, float] | None = None  # p and s where their sum was smallest
        self.signal: str | None = None

    def update(self, value: float) -> DDM:
        """Take in one answer: 1 or True where it was wrong.

        Parameters
        ----------
        value : float
            1 or True for a wrong answer, 0 or False for a right one.

        Returns
        -------
        DDM
            The detector itself.
        """
        if self.signal == "drift":
            self._start()
        self.n += 1
        self.wrong += value
        if self.n <= self.min_rows:
            return self
        p = (self.wrong + self.smoothing) / (self.n + 2 * self.smoothing)
        s = math.sqrt(p * (1 - p) / self.n)
        if self.lowest is None or p + s <= sum(self.lowest):
            self.lowest = p, s
        low, spread = self.lowest
        above = p + s - low
        self.signal = "drift" if above > self.drift * spread else "warning" if above > self.warning * spread else None
        return self

    def hear(self, values: Sequence[float] | np.ndarray) -> str | None:
        """Take in answers one after the other, and say the gravest that they showed; quicker than ``update``.

        Parameters
        ----------
        values : sequence of float
            1 for every wrong answer, 0 for every right one.

        Returns
        -------
        str or None
            "warning", "drift" or None.
        """
        answers = np.asarray(values, dtype=float)
        after, gravest = _kernels.hear_answers(answers, *self._kernel_options, self._remembered())
        self._remember(after)
        return SIGNALS[gravest]

    @property
    def _kernel_options(self) -> tuple[float, float, float, float]:
        """The options as the kernels take them."""
        return float(self.warning), float(self.drift), float(self.min_rows), float(self.smoothing)

    def _remembered(self) -> Remembered:
        """All it remembers, as the kernels take it.

        Returns
        -------
        tuple
            Answers, wrong ones, p and s at the lowest point (NaN before), and the code of the last signal.
        """
        low, spread = self.lowest or (math.nan, math.nan)
        return self.n, self.wrong, low, spread, SIGNALS.index(self.signal)

    def _remember(self, after: Remembered) -> None:
        """Go on from what the kernels gave.

        Parameters
        ----------
        after : tuple
            As ``remembered`` gives it.
        """
        self.n, self.wrong, low, spread, signal = after
        self.lowest = None if math.isnan(low) else (low, spread)
        self.signal = SIGNALS[signal]

    @property
    def drift_detected(self) -> bool:
        """Whether the last answer showed that things have changed."""
        return self.signal == "drift"

    @property
    def warning_detected(self) -> bool:
        """Whether the last answer showed that things may have changed."""
        return self.signal == "warning"

    def state(self) -> dict[str, Any]:
        """All it remembers, as plain data.

        Returns
        -------
        dict
            Names and numbers.
        """
        return {"n": self.n, "wrong": self.wrong, "lowest": self.lowest, "signal": self.signal}

    def take_state(self, state: dict[str, Any]) -> None:
        """Go on from what ``state`` gave.

        Parameters
        ----------
        state : dict
            What ``state`` gave.
        """
        share = saved.number(0.0, 1.0)
        expected = {
            "n": saved.whole(),
            "wrong": saved.number(0.0),
            "lowest": saved.maybe(saved.row(share, share)),
            "signal": saved.maybe(saved.text("warning", "drift")),
        }
        self.n, self.wrong, self.lowest, self.signal = saved.read("figures of its detector", state, expected).values()
        if self.wrong > self.n:
            raise ModelFileError(f"its detector has seen {self.wrong:g} wrong answers among {self.n}")


def check_detector(detector: Any) -> None:
    """Refuse what cannot be asked for drift."""
    if isinstance(detector, type):
        raise OptionError(f"detector={detector.__name__} is a class; give one of its kind: {detector.__name__}().")
    has_update = hasattr(detector, "update") and hasattr(detector, "drift_detected")
    if detector is not None and not has_update and not callable(detector):
        raise OptionError(
            f"detector={detector!r} has no update and drift_detected. Give DDM(), a detector of river such as "
            'river.drift.ADWIN(), a function that returns None, "warning" or "drift", or None for DDM().'
        )


def ask(detector: Any, values: Sequence[float] | np.ndarray) -> str | None:
    """Tell it of answers, and hear the gravest that it says: "drift", "warning" or nothing."""
    if type(detector) is DDM:
        return detector.hear(values)
    say: Callable[[float], str | None] = _updated(detector) if hasattr(detector, "update") else _called(detector)
    said = {say(value) for value in np.asarray(values).tolist()}
    return "drift" if "drift" in said else "warning" if "warning" in said else None


def _updated(detector: Any) -> Callable[[float], str | None]:
    def say(value: float) -> str | None:
        detector.update(value)
        return "drift" if detector.drift_detected else "warning" if getattr(detector, "warning_detected", 0) else None

    return say


def _called(detector: Callable[[float], str | None]) -> Callable[[float], str | None]:
    def say(value: float) -> str | None:
        signal = detector(value)
        check_option("detector's answer", signal, (None, "warning", "drift"))
        return signal

    return say
