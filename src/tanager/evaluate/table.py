"""A small table of results, as text, CSV, Markdown, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tanager.display import aligned, table
from tanager.errors import DataError, nearest

if TYPE_CHECKING:
    import pandas as pd

MOST_LINES = 60  # of a table of results in a notebook

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


class Table:
    """Names of columns, rows, and how the numbers of each column are printed.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    rows : iterable of sequences
        One cell per column: text, numbers, or None for an empty cell.
    formats : mapping, default={}
        How numbers of a column are printed, as in ``format``: ``".2f"``. ``"p"`` is for p-values, which are never
        printed as 0. Other fractions have four decimals.
    note : str, default=""
        A remark that is printed below the table.

    Examples
    --------
    >>> from tanager.evaluate import Table
    >>> print(Table(["classifier", "error", "rows"], [("AODE", 0.1 + 0.2, 1200), ("TAN", None, 7)], {"error": ".2f"}))
    classifier  error   rows
    AODE         0.30  1,200
    TAN             -      7
    """

    def __init__(
        self,
        names: Sequence[str],
        rows: Iterable[Sequence[Any]],
        formats: Mapping[str, str] | None = None,
        note: str = "",
    ) -> None:
        self.names = tuple(names)
        self.rows = [tuple(row) for row in rows]
        self.formats = dict(formats or {})
        self.note = note
        for at, row in enumerate(self.rows):
            if len(row) != len(self.names):
                raise DataError(f"row {at} has {len(row)} cells, the table has {len(self.names)} columns.")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> list[Any]:
        """The cells of a column."""
        if name not in self.names:
            raise DataError(f"there is no column {name!r}; there are {self.names}.{nearest(name, self.names)}")
        at = self.names.index(name)
        return [row[at] for row in self.rows]

    def without(self, name: str) -> Table:
        """The table without one of its columns.

        Parameters
        ----------
        name : str
            The column to leave out.

        Returns
        -------
        Table
            With the same formats and note.
        """
        kept = [at for at, other in enumerate(self.names) if other != name]
        rows = [[row[at] for at in kept] for row in self.rows]
        return Table([self.names[at] for at in kept], rows, self.formats, self.note)

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict per row.

        Returns
        -------
        list of dict
            Cells by name of column.
        """
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]

    def to_pandas(self) -> pd.DataFrame:
        """A pandas data frame.

        Returns
        -------
        pandas.DataFrame
            Numbers as they are, not as they are printed; without the note.
        """
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(self.names))

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """Comma-separated text with numbers to 12 digits; also written to a file if a path is given.

        Parameters
        ----------
        path : path or None, default=None
            The file to write; None writes none.

        Returns
        -------
        str
            The text.
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.names)
        writer.writerows([[_plain(cell) for cell in row] for row in self.rows])
        if path is not None:
            Path(path).write_text(out.getvalue(), encoding="utf-8")
        return out.getvalue()

    def to_markdown(self) -> str:
        """A table for a README.

        Returns
        -------
        str
            Numbers as they are printed, and the note below.
        """
        rule = [" ---: " if right else " --- " for right in self._numeric()]
        lines = [self.names, *self._printed()]
        bars = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
        bars.insert(1, "|" + "|".join(rule) + "|")
        return "\n".join([*bars, *(["", self.note] if self.note else [])]) + "\n"

    def to_latex(self) -> str:
        """A tabular for a paper; needs the package booktabs.

        Returns
        -------
        str
            Numbers as they are printed, and the note as a comment.
        """
        lines = [" & ".join(map(_latex, line)) + r" \\" for line in (self.names, *self._printed())]
        columns = "".join("r" if right else "l" for right in self._numeric())
        body = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
        note = [f"% {line}" for line in self.note.splitlines()]
        return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}", *note]) + "\n"

    def __str__(self) -> str:
        text = aligned([self.names, *self._printed()], self._numeric())
        return "\n".join([text, self.note] if self.note else [text])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return table(self.names, self._printed(), right=self._numeric(), most=MOST_LINES, remark=self.note)

    def _printed(self) -> list[tuple[str, ...]]:
        formats = [self.formats.get(name) for name in self.names]
        return [tuple(_shown(cell, how) for cell, how in zip(row, formats, strict=True)) for row in self.rows]

    def _numeric(self) -> list[bool]:
        """Which columns hold no text, and are aligned to the right."""
        return [not any(isinstance(row[at], str) for row in self.rows) for at in range(len(self.names))]


def _shown(cell: Any, how: str | None) -> str:
    """A cell as it is printed."""
    if isinstance(cell, str):
        return cell
    if _is_nothing(cell):
        return "-"
    if how == "p":
        return f"{cell:.4f}" if cell >= 0.0001 else "<0.0001"
    text = format(cell, how or (",d" if isinstance(cell, int) else ".4f"))
    return text.replace("-", "", 1) if text.startswith("-") and not any(c in "123456789" for c in text) else text


def _plain(cell: Any) -> Any:
    """A cell as it stands in a CSV file."""
    if _is_nothing(cell):
        return ""
    return format(cell, ".12g") if isinstance(cell, float) else cell


def _is_nothing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
