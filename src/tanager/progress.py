"""Progress of long work: what is done, how fast, and the time left; the same in terminals, notebooks and pipes.

A terminal gets a bar, a notebook one line that is written again and again, a pipe or a file a line every ten seconds
(the first one sooner, where the work will take long).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from tanager.stages import told_to

if TYPE_CHECKING:
    from rich.console import Console

LINE_EVERY = 10.0  # seconds between two lines in a pipe
LONG = 5.0  # seconds: of work that takes longer the first forecast is shown at once
SURE = 1.0  # seconds after which a forecast is made by what is done; the very first rows tell little
WRITE_EVERY = 0.5  # seconds between two states of a notebook's line

RowsDone = Callable[[int, float | None], None]
PartsDone = Callable[[int, int, str], None]
Forecast = Callable[[], tuple[float, float]]


class Display(Protocol):
    """Where progress is shown."""

    def show(self, fraction: float | None, text: str, left: float | None) -> None:
        """The fraction that is done and the seconds left, where they are known, and both in words."""

    def close(self) -> None:
        """The work is done, or was ended."""


class ProgressReport(AbstractContextManager["ProgressReport"]):
    """Says on stderr how far long work is.

    ``rows`` and ``parts`` are what functions call with their progress, and ``stage`` is what listens to
    ``tanager.stages``.

    Parameters
    ----------
    text : str
        What is being done: "learning adult.csv".
    forecast : callable, default=None
        Gives the seconds that have passed, and those that are left, where these are known better than by what is done.
    console : rich.console.Console, default=None
        Where to write. None: stderr.
    clock : callable
        Seconds since any moment.

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> seconds = iter([0.0, 20.0, 20.0])
    >>> out = io.StringIO()
    >>> with ProgressReport("learning", console=Console(file=out), clock=lambda: next(seconds)) as report:
    ...     report.rows(50_000, 0.25)
    >>> print(out.getvalue().strip())
    learning: 50,000 rows (25%), 2,500 rows/s, about 60 s left
    """

    def __init__(
        self,
        text: str,
        *,
        forecast: Forecast | None = None,
        console: Any = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.text, self._forecast, self._clock = text, forecast, clock
        self._start = clock()
        self._stage, self._stage_start, self._stage_goes_on = "", self._start, False
        self._display = _display(text, console, clock, self._start)

    def __exit__(self, *_error: object) -> None:
        self._display.close()

    def rows(self, rows: int, fraction: float | None) -> None:
        """So many rows are done, and this fraction of all (None where it is not known)."""
        passed = max(self._clock() - self._start, 1e-9)
        text = f"{rows:,} rows{_percent(fraction)}, {rows / passed:,.0f} rows/s"
        self._show(fraction, passed, text)

    def parts(self, done: int, total: int, what: str) -> None:
        """So many parts of all are done; ``what`` says what is being done now."""
        passed, left = (self._clock() - self._start, None) if self._forecast is None else self._forecast()
        fraction = done / total if left is None else passed / max(passed + left, 1e-9)
        share = _percent(fraction) if left is None else f", {fraction:.0%} of the time"  # folds are not equally long
        self._show(fraction, passed, f"{done:,} of {total:,} folds{share}", left, what)

    def stage(self, what: str, done: int, total: int | None) -> None:
        """A stage of the work after the last row; of stages inside a stage whose end is known nothing is shown."""
        if what != self._stage:
            if self._stage_goes_on:
                return
            self._stage, self._stage_start = what, self._clock()
        self._stage_goes_on = total is not None and done < total
        if total is None:
            self._display.show(None, what, None)
            return
        passed, fraction = self._clock() - self._stage_start, done / max(total, 1)
        rate = f", {done / passed:,.3g}/s" if done and passed > 0 else ""
        self._show(fraction, passed, f"{what}, {done:,} of {total:,}{rate}")

    def _show(
        self, fraction: float | None, passed: float, text: str, left: float | None = None, what: str = ""
    ) -> None:
        known = fraction is not None and 0 < fraction < 1  # how long the work after the last row takes is not known
        if left is None and known and passed >= SURE:
            assert fraction is not None
            left = passed * (1 - fraction) / fraction
        text += "" if not left else f", {about(left)} left"
        self._display.show(fraction if known else None, text + (f"; {what}" if what else ""), left)


@contextmanager
def show_progress(text: str = "learning", *, console: Console | None = None) -> Iterator[None]:
    """Show on stderr how far long learning inside is, and the time left: a bar, or a line in notebooks and pipes.

    For `NetworkForest`, `BestOf`, `GeneralNetwork` and all others that take long; what takes a moment shows nothing
    that stays. Some put work off until their first answer: let that be inside as well.

    Parameters
    ----------
    text : str, default="learning"
        What is being done.
    console : rich.console.Console, default=None
        Where to write. None: stderr.

    Yields
    ------
    None
        Nothing; the work is what is inside.

    Examples
    --------
    >>> from tanager import TAN, BestOf, NaiveBayes, show_progress
    >>> X, y = [["sun"], ["rain"]] * 20, ["play", "stay"] * 20
    >>> with show_progress("choosing a classifier"):
    ...     model = BestOf([NaiveBayes(), TAN()]).fit(X, y)
    >>> model.predict([["sun"]]).tolist()
    ['play']
    """
    with ProgressReport(text, console=console) as report, told_to(report.stage):
        yield


def _percent(fraction: float | None) -> str:
    return "" if fraction is None else f" ({fraction:.0%})"


@contextmanager
def reported_rows(progress: RowsDone | bool | None, text: str) -> Iterator[RowsDone | None]:
    """The callable for ``progress=``: the given one, none, or for True one that shows a bar or lines."""
    if isinstance(progress, bool):
        if not progress:
            yield None
            return
        with ProgressReport(text) as report:
            yield report.rows
        return
    yield progress


@contextmanager
def reported_parts(progress: PartsDone | bool | None, text: str, forecast: Forecast) -> Iterator[PartsDone | None]:
    """The same for work in parts, whose time is forecast."""
    if isinstance(progress, bool):
        if not progress:
            yield None
            return
        with ProgressReport(text, forecast=forecast) as report:
            yield report.parts
        return
    yield progress


def about(seconds: float) -> str:
    """``about 20 s``, ``about 4 min``.

    >>> [about(seconds) for seconds in (0.3, 17.2, 95, 4000)]
    ['about 1 s', 'about 18 s', 'about 2 min', 'about 1.2 h']
    """
    if seconds < 90:
        return f"about {max(1, math.ceil(seconds))} s"
    return f"about {math.ceil(seconds / 60)} min" if seconds < 3600 else f"about {math.ceil(seconds / 360) / 10:g} h"


def _display(text: str, console: Any, clock: Callable[[], float], start: float) -> Display:
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False, emoji=False) if console is None else console
    if console.is_jupyter:
        return _NotebookLine(text, clock)
    return _Bar(text, console) if console.is_terminal else _Lines(text, console, clock, start)


class _Bar:
    """A bar in a terminal, which goes when the work is done."""

    def __init__(self, text: str, console: Any) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
        self._bar = Progress(*columns, console=console, transient=True)
        self._task = self._bar.add_task(text, total=None, words="")
        self._bar.start()

    def show(self, fraction: float | None, text: str, left: float | None) -> None:
        self._bar.update(self._task, total=None if fraction is None else 1.0, completed=fraction or 0.0, words=text)

    def close(self) -> None:
        self._bar.stop()


class _Lines:
    """A line every so often, where nobody could see a bar move. Work of a few seconds gets none."""

    def __init__(self, text: str, console: Any, clock: Callable[[], float], start: float) -> None:
        self._text, self._console, self._clock = text, console, clock
        self._last, self._begun = start, False

    def show(self, fraction: float | None, text: str, left: float | None) -> None:
        now = self._clock()
        long_to_go = not self._begun and left is not None and left >= LONG
        if now - self._last < LINE_EVERY and not long_to_go:
            return
        self._last, self._begun = now, True
        self._console.print(f"{self._text}: {text}", soft_wrap=True)

    def close(self) -> None:
        pass


class _NotebookLine:
    """One line below a notebook's cell."""

    def __init__(self, text: str, clock: Callable[[], float]) -> None:
        self._text, self._clock = text, clock
        self._last, self._handle = -math.inf, None

    def show(self, fraction: float | None, text: str, left: float | None) -> None:
        if self._clock() - self._last >= WRITE_EVERY:
            self._last = self._clock()
            self._write(f"{self._text}: {text}")

    def close(self) -> None:
        if self._handle is not None:
            self._write("")

    def _write(self, text: str) -> None:
        notebook: Any = import_module("IPython.display")  # is there, as this is a notebook
        line = notebook.Pretty(text)
        if self._handle is None:
            self._handle = notebook.display(line, display_id=True)
        else:
            self._handle.update(line)
