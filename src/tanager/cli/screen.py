"""Where a command speaks: answers go to stdout, everything on the way (progress, notes) to stderr.

With ``--json`` stdout gets one JSON document and nothing else. Without a terminal there are no colours and no bars.
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

_LINE_EVERY = 10.0  # seconds between lines of progress where there is no terminal


class Screen:
    """The two consoles of a command.

    `as_json` keeps stdout for one document; `data_on_stdout` keeps it for a table, and answers go to stderr too.
    """

    def __init__(self, *, as_json: bool = False, data_on_stdout: bool = False) -> None:
        plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
        self.on_the_way = Console(stderr=True, **plain)
        self.answers = self.on_the_way if data_on_stdout else Console(**plain)
        self.as_json = as_json

    @property
    def wide(self) -> bool:
        """Whether the screen has more characters than ASCII."""
        return self.answers.encoding.lower().startswith("utf")

    def say(self, text: str = "", style: str | None = None) -> None:
        """A line of the answer, for people."""
        if not self.as_json:
            self.answers.print(text, style=style, soft_wrap=True)

    def show(self, what: Any) -> None:
        """A table, a tree or a longer text of the answer, for people; broken to the width of the screen."""
        if self.as_json:
            return
        with self.answers.capture() as made:
            self.answers.print(what)
        self.answers.file.writelines(f"{line.rstrip()}\n" for line in made.get().splitlines())

    def note(self, text: str) -> None:
        """Something that the user may want to know."""
        self.on_the_way.print(f"note: {text}", soft_wrap=True)

    def document(self, report: dict[str, Any]) -> None:
        """The answer for programs."""
        if self.as_json:
            print(json.dumps(_plain(report), indent=2, ensure_ascii=not self.wide))

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """A sign of life on a terminal."""
        with self.on_the_way.status(f"{text} ..."):
            yield

    @contextmanager
    def progress(self, text: str) -> Iterator[Tick]:
        """A bar with rows, rows per second and time left; without a terminal a plain line now and then."""
        if not self.on_the_way.is_terminal:
            yield self._lines(text)
            return
        with _bar(self.on_the_way) as bar:
            task = bar.add_task(text, total=None, rows="")
            start = time.monotonic()

            def tick(rows: int, fraction: float | None) -> None:
                rate = rows / max(time.monotonic() - start, 1e-9)
                known = fraction is not None and fraction < 1  # what follows the last row takes an unknown time
                bar.update(
                    task, total=1.0 if known else None, completed=fraction or 0, rows=f"{rows:,} rows, {rate:,.0f}/s"
                )

            yield tick

    @contextmanager
    def folds(self, text: str) -> Iterator[Callable[[int, int, str], None]]:
        """A bar of finished folds with the time left; without a terminal a plain line now and then."""
        if not self.on_the_way.is_terminal:
            lines = self._lines(text, "folds")
            yield lambda done, total, what: lines(done, done / max(total, 1))
            return
        with _bar(self.on_the_way) as bar:
            task = bar.add_task(text, total=None, rows="")
            yield lambda done, total, what: bar.update(
                task, total=total, completed=done, rows=f"{done} of {total} folds, {what}"
            )

    def _lines(self, text: str, what: str = "rows") -> Tick:
        last = time.monotonic()

        def tick(rows: int, fraction: float | None) -> None:
            nonlocal last
            if time.monotonic() - last >= _LINE_EVERY:
                last = time.monotonic()
                share = "" if fraction is None else f", {fraction:.0%}"
                self.on_the_way.print(f"{text}: {rows:,} {what}{share}", soft_wrap=True)

        return tick

    def bar(self, fraction: float, width: int = 20) -> str:
        """A bar of blocks, at least one where there is anything at all."""
        block = "█" if self.wide else "#"
        return block * max(round(fraction * width), int(fraction > 0))


def _bar(console: Console) -> Any:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rows]}"), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True)


def table(
    head: Sequence[str], rows: Iterable[Sequence[str | Text]], *, right: Sequence[str] = (), elastic: Sequence[str] = ()
) -> Table:
    """Columns of text under their names, without lines.

    Those named in `right` hold numbers; those named in `elastic` are the first to give way where the screen is narrow.
    """
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in head:
        justify: Any = "right" if name in right else "left"
        made.add_column(name, justify=justify, no_wrap=name not in elastic, overflow="ellipsis")
    for row in rows:
        made.add_row(*row)
    return made


def one_line(text: str) -> Text:
    """Text that is cut short rather than broken where the screen is narrow."""
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
    """Data that JSON knows: NumPy's numbers become Python's, whole ones lose their point, NaN becomes null."""
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
