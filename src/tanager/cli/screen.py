"""Terminal output of commands: results go to stdout, progress and notes to stderr.

With ``--json`` stdout gets one JSON document and nothing else. Without a terminal there are no colours and no progress
bars.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tanager.progress import Forecast, PartsDone, ProgressReport, RowsDone
from tanager.stages import told_to


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
    def progress(self, text: str) -> Iterator[RowsDone]:
        """Rows, rows per second and the time left; then the stages of the work after the last row."""
        with ProgressReport(text, console=self.err) as report, told_to(report.stage):
            yield report.rows

    @contextmanager
    def folds(self, text: str, forecast: Forecast) -> Iterator[PartsDone]:
        """Folds that are done, and the time left; `forecast` gives the seconds that have passed and are left."""
        with ProgressReport(text, console=self.err, forecast=forecast) as report:
            yield report.parts

    def bar(self, fraction: float, width: int = 20) -> str:
        """A horizontal bar of block characters, at least one where the fraction is positive."""
        block = "█" if self.unicode else "#"
        return block * max(round(fraction * width), int(fraction > 0))


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
    """Text that is truncated, not wrapped, on a narrow console; line breaks in it are blanks."""
    return Text(re.sub(r"[\r\n\t\f\v]+", " ", text), no_wrap=True, overflow="ellipsis")


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
