"""Terminal output of commands: results go to stdout, progress and notes to stderr.

With ``--json`` stdout gets one JSON document and nothing else. Without a terminal there are no colours and no progress
bars.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

Tick = Callable[[int, float | None], None]

_LINE_EVERY = 10.0  # seconds between progress lines where stderr is not a terminal


class Screen:
    """The two consoles of a command.

    `as_json` reserves stdout for one document; `data_on_stdout` reserves it for a table, and messages go to stderr too.
    """

    def __init__(self, *, as_json: bool = False, data_on_stdout: bool = False) -> None:
        plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
        self.err = Console(stderr=True, **plain)
        self.out = self.err if data_on_stdout else Console(**plain)
        self.as_json = as_json

    @property
    def unicode(self) -> bool:
        """Whether the console can print characters beyond ASCII."""
        return self.out.encoding.lower().startswith("utf")

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a line of the result, unless JSON was requested. Lines are not wrapped."""
        if not self.as_json:
            self.out.print(text, style=style, soft_wrap=True)

    def show(self, what: Any) -> None:
        """Print a table or a longer text, wrapped to the width of the console, unless JSON was requested."""
        if self.as_json:
            return
        # rich pads lines to the full width; output in files and transcripts should not have trailing blanks.
        with self.out.capture() as made:
            self.out.print(what)
        self.out.file.writelines(f"{line.rstrip()}\n" for line in made.get().splitlines())

    def note(self, text: str) -> None:
        """Print a note to stderr."""
        self.err.print(f"note: {text}", soft_wrap=True)

    def document(self, report: dict[str, Any]) -> None:
        """Print the result as JSON, if requested."""
        if self.as_json:
            print(json.dumps(_plain(report), indent=2, ensure_ascii=not self.unicode))

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show a spinner on a terminal."""
        with self.err.status(f"{text} ..."):
            yield

    @contextmanager
    def progress(self, text: str) -> Iterator[Tick]:
        """A progress bar with rows, rows per second and remaining time; without a terminal, a line every 10 seconds."""
        if not self.err.is_terminal:
            yield self._lines(text)
            return
        with _bar(self.err) as bar:
            task = bar.add_task(text, total=None, rows="")
            start = time.monotonic()

            def tick(rows: int, fraction: float | None) -> None:
                rate = rows / max(time.monotonic() - start, 1e-9)
                known = fraction is not None and fraction < 1  # how long the work after the last row takes is unknown
                bar.update(
                    task, total=1.0 if known else None, completed=fraction or 0, rows=f"{rows:,} rows, {rate:,.0f}/s"
                )

            yield tick

    @contextmanager
    def folds(
        self, text: str, forecast: Callable[[], tuple[float, float]]
    ) -> Iterator[Callable[[int, int, str], None]]:
        """A progress bar with the time left; without a terminal, a line every 10 seconds.

        `forecast` gives the seconds that have passed and those that are left.
        """
        if not self.err.is_terminal:
            last = time.monotonic() - _LINE_EVERY

            def line(done: int, total: int, what: str) -> None:
                nonlocal last
                passed, left = forecast()
                if time.monotonic() - last >= _LINE_EVERY and left >= 1:
                    last = time.monotonic()
                    self.err.print(f"{text}: {passed / (passed + left):.0%}, {about(left)} left", soft_wrap=True)

            yield line
            return
        with _bar(self.err, clock=False) as bar:
            task = bar.add_task(text, total=None, rows="")

            def tick(done: int, total: int, what: str) -> None:
                passed, left = forecast()
                bar.update(task, total=passed + left, completed=passed, rows=f"{about(left)} left, {what}")

            yield tick

    def _lines(self, text: str) -> Tick:
        last = time.monotonic()

        def tick(rows: int, fraction: float | None) -> None:
            nonlocal last
            if time.monotonic() - last >= _LINE_EVERY:
                last = time.monotonic()
                share = "" if fraction is None else f", {fraction:.0%}"
                self.err.print(f"{text}: {rows:,} rows{share}", soft_wrap=True)

        return tick

    def bar(self, fraction: float, width: int = 20) -> str:
        """A horizontal bar of block characters, at least one where the fraction is positive."""
        block = "█" if self.unicode else "#"
        return block * max(round(fraction * width), int(fraction > 0))


def _bar(console: Console, clock: bool = True) -> Any:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rows]}"))
    return Progress(*columns, *([TimeRemainingColumn()] if clock else []), console=console, transient=True)


def about(seconds: float) -> str:
    """``about 20 s``, ``about 4 min``.

    >>> [about(seconds) for seconds in (0.3, 17.2, 95, 4000)]
    ['about 1 s', 'about 18 s', 'about 2 min', 'about 1.2 h']
    """
    if seconds < 90:
        return f"about {max(1, math.ceil(seconds))} s"
    return f"about {math.ceil(seconds / 60)} min" if seconds < 3600 else f"about {math.ceil(seconds / 360) / 10:g} h"


def table(
    head: Sequence[str], rows: Iterable[Sequence[str | Text]], *, right: Sequence[str] = (), elastic: Sequence[str] = ()
) -> Table:
    """A table without borders; columns in `right` are right-aligned, those in `elastic` shrink on a narrow console."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in head:
        justify: Any = "right" if name in right else "left"
        made.add_column(name, justify=justify, no_wrap=name not in elastic, overflow="ellipsis")
    for row in rows:
        made.add_row(*row)
    return made


def one_line(text: str) -> Text:
    """Text that is truncated, not wrapped, on a narrow console."""
    return Text(text, no_wrap=True, overflow="ellipsis")


def listed(names: Iterable[object], most: int = 8) -> str:
    """``a, b, c and 4 more``."""
    texts = [str(name) for name in names]
    if len(texts) <= most + 1:
        return ", ".join(texts)
    return f"{', '.join(texts[:most])} and {len(texts) - most:,} more"


def counted(n: float, what: str, many: str = "") -> str:
    """``1 row``, ``2,000 rows``."""
    return f"{n:,.0f} {what}" if n == 1 else f"{n:,.0f} {many or what + 's'}"


def file_size(n_bytes: float) -> str:
    """``12.3 kB``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000 or unit == "GB":
            break
        n_bytes /= 1000
    return f"{n_bytes:,.0f} {unit}" if unit == "bytes" else f"{n_bytes:,.1f} {unit}"


def _plain(value: Any) -> Any:
    """Data for JSON: NumPy values become Python's, whole floats become integers, NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 2**53
        return int(value) if whole else value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
