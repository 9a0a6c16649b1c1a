"""Explanations of many rows: what every column adds to the log-odds of every class, as one array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, overload

import numpy as np

from tanager.display import MOST_ROWS, heading, more, note, page
from tanager.display import table as grid
from tanager.encoding.typing import Label
from tanager.scoring.explain import Explanation
from tanager.shortcuts import public

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class ExplainedCell(TypedDict):
    """What one column adds to the log-odds of the answer of a row."""

    column: str
    value: Any
    log_odds: float


class ExplainedRow(TypedDict):
    """The explanation of one row as plain data; columns come with the largest effect first."""

    answer: Label
    against: Label
    probability: float
    log_odds: float
    prior: float
    columns: list[ExplainedCell]


class RowSource(Protocol):
    """What knows more about the rows that were explained, by their numbers in the table."""

    def row(self, r: int) -> Explanation:
        """The explanation of one row, with all its parts."""
        ...

    def cells(self, r: int) -> dict[str, Any]:
        """The cells of a row in words, by column."""
        ...

    def ranks(self, rows: np.ndarray) -> np.ndarray:
        """How high the cells of ordered columns are, from 0 to 1, (rows, columns); NaN where there is no order."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Explanations(Sequence[Explanation]):
    """The explanations of the rows of a table; ``explanations[r]`` is the ``Explanation`` of one row.

    For every row and class, the prior and what all columns add are the log-odds of that class against another:
    ``prior[r, c] + contributions[r, :, c].sum() == log_odds[r, c]``. A column that is missing in a row adds 0. All are
    NaN where both classes are impossible for a row.

    Parameters
    ----------
    columns : tuple of str
        The columns of the model, in the order of the second axis of ``contributions``.
    classes : tuple
        The classes that are explained, in the order of the last axis: all of the model, or the one that was asked for.
    contributions : array of shape (n_rows, n_columns, n_classes)
        What each column adds to the log-odds.
    prior, log_odds, probability : array of shape (n_rows, n_classes)
        Log-odds of the classes alone, those of the answer, and the probability of each class.
    against : array of shape (n_rows, n_classes)
        The class that each class is set against: by default the most probable other.
    answer : array of shape (n_rows,)
        The class that the explanation of a single row is about: by default the prediction.
    source : RowSource
        What explains single rows and shows their cells.
    numbers : array of shape (n_rows,)
        The numbers of the rows in the table that was explained.

    Examples
    --------
    >>> from tanager import NaiveBayes
    >>> X = {"sky": ["sun", "sun", "rain", "rain"] * 5, "wind": ["no", "yes", "no", "yes"] * 5}
    >>> model = NaiveBayes().fit(X, ["play", "play", "stay", "stay"] * 5)
    >>> explanations = model.explain([{"sky": "sun"}, {"sky": "rain", "wind": "no"}])
    >>> explanations.contributions.shape
    (2, 2, 2)
    >>> print(explanations[1])
    'stay' rather than 'play': probability 0.9167, log-odds +2.3979
      sky = rain   +2.3979
      wind = no    +0.0000
    """

    columns: tuple[str, ...]
    classes: tuple[Label, ...]
    contributions: np.ndarray
    prior: np.ndarray
    log_odds: np.ndarray
    probability: np.ndarray
    against: np.ndarray
    answer: np.ndarray
    source: RowSource
    numbers: np.ndarray  # of our rows, in the table

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, which: int) -> Explanation: ...
    @overload
    def __getitem__(self, which: slice) -> Explanations: ...
    def __getitem__(self, which: int | slice) -> Explanation | Explanations:
        """The explanation of one row, or those of some."""
        if not isinstance(which, slice):
            return self.source.row(int(self.numbers[which]))
        return replace(self, **{name: getattr(self, name)[which] for name in _BY_ROW})

    def __iter__(self) -> Iterator[Explanation]:
        return (self[r] for r in range(len(self)))

    def __repr__(self) -> str:
        shape = f"{len(self):,} rows, {len(self.columns)} columns, {len(self.classes)} classes"
        return f"Explanations({shape}: {', '.join(map(repr, self.classes[:5]))}{', ...' * (len(self.classes) > 5)})"

    def _repr_html_(self) -> str:
        shown = self[:MOST_ROWS]
        told = shown.to_columns()
        cells = [told[name].tolist() for name in ("answer", "against", "probability", "log_odds")]
        lines = [
            (number, answer, against, f"{probability:.4f}", f"{odds:+.4f}", reasons)
            for number, answer, against, probability, odds, reasons in zip(
                shown.numbers.tolist(), *cells, shown.reasons(), strict=True
            )
        ]
        names = ("row", "answer", "against", "probability", "log-odds", "main reasons")
        rows = grid(names, lines, right=(False, False, False, True, True, False))
        return page(heading("Explanations", f"{len(self):,} rows"), rows, note(more(len(self) - len(shown), "rows")))

    @property
    def of_answers(self) -> np.ndarray:
        """What each column adds to the log-odds of the answer of its row: (rows, columns)."""
        return np.asarray(self.contributions[np.arange(len(self)), :, self._place])

    def mean_effects(self) -> dict[str, float]:
        """How much each column moves the answers: the mean size of what it adds to them.

        Returns
        -------
        dict
            Column to mean, largest first.
        """
        finite = np.where(np.isfinite(self.of_answers), np.abs(self.of_answers), np.nan)
        rows = np.maximum(1, np.isfinite(finite).sum(axis=0))
        means = (np.nansum(finite, axis=0) / rows).tolist()
        return dict(sorted(zip(self.columns, means, strict=True), key=lambda item: -item[1]))

    def reasons(self, top: int = 3) -> list[str]:
        """For each row the columns that add most to its answer, in words: ``"sky = rain (+2.40); wind = no (+0.10)"``.

        Columns that are missing in a row are left out.

        Parameters
        ----------
        top : int, default=3
            How many columns at most.

        Returns
        -------
        list of str
            One text for each row.
        """
        strongest = np.argsort(-np.nan_to_num(np.abs(self.of_answers), posinf=np.inf), axis=1, kind="stable")
        return [
            _in_words(self.source.cells(r), [(self.columns[i], values[i]) for i in order], top)
            for r, order, values in zip(
                self.numbers.tolist(), strongest.tolist(), self.of_answers.tolist(), strict=True
            )
        ]

    def plot(self, path: str | PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw them; see ``tanager.plot_explanation``.

        Parameters
        ----------
        path : str or path, default=None
            Where to write the picture; .png, .svg or .pdf.
        **options : object
            Options of ``tanager.plot_explanation``.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        figure: Figure = public("plot_explanation")(self, path, **options)
        return figure

    @property
    def _place(self) -> np.ndarray:
        """Of each row's answer among the classes."""
        places = {label: c for c, label in enumerate(self.classes)}
        return np.array([places[label] for label in self.answer.tolist()], dtype=np.intp)

    def to_frame(self, *, long: bool = False) -> pd.DataFrame:
        """The explanations as a pandas DataFrame.

        Parameters
        ----------
        long : bool, default=False
            False: a line for each row, about its answer: answer, against, probability, log_odds, prior, and then what
            every column adds. True: a line for each row, class and column: row, class, against, column, value,
            contribution.

        Returns
        -------
        pandas.DataFrame
            The table.
        """
        import pandas as pd

        return pd.DataFrame(self._long() if long else self.to_columns(), index=None if long else pd.Index(self.numbers))

    def to_columns(self) -> dict[str, np.ndarray]:
        """Columns of a table with a line for each row, as in ``to_frame``.

        Returns
        -------
        dict
            Name to array.
        """
        rows, place = np.arange(len(self)), self._place
        first = {name: getattr(self, name)[rows, place] for name in ("against", "probability", "log_odds", "prior")}
        values = self.of_answers
        return {"answer": self.answer, **first} | {
            (name if name not in ("answer", *first) else f"column {name}"): values[:, i]
            for i, name in enumerate(self.columns)
        }

    def to_dicts(self) -> list[ExplainedRow]:
        """Plain data, ready for JSON.

        Returns
        -------
        list of dict
            For each row answer, against, probability, log_odds and prior, and its columns with their values and what
            they add, the largest first. Columns that are missing are left out.
        """
        out = []
        fields = ("answer", "against", "probability", "log_odds", "prior")
        table = self.to_columns()
        for r, (values, *own) in enumerate(
            zip(self.of_answers, *(table[name].tolist() for name in fields), strict=True)
        ):
            cells = self.source.cells(int(self.numbers[r]))
            order = np.argsort(-np.abs(values), kind="stable").tolist()
            parts = [(self.columns[i], float(values[i])) for i in order if values[i] or cells[self.columns[i]] != "?"]
            said = [ExplainedCell(column=name, value=cells[name], log_odds=value) for name, value in parts]
            out.append(ExplainedRow(**dict(zip(fields, own, strict=True)), columns=said))  # type: ignore[typeddict-item]
        return out

    def _long(self) -> dict[str, Any]:
        n_rows, n, k = self.contributions.shape
        shown = [self.source.cells(int(r)) for r in self.numbers]
        return {
            "row": np.repeat(self.numbers, n * k),
            "class": list(self.classes) * (n_rows * n),
            "against": np.repeat(self.against[:, None], n, axis=1).ravel(),
            "column": np.tile(np.repeat(np.array(self.columns, dtype=object), k), n_rows),
            "value": [row[name] for row in shown for name in self.columns for _ in range(k)],
            "contribution": self.contributions.ravel(),
        }


def _in_words(cells: dict[str, Any], effects: list[tuple[str, float]], top: int) -> str:
    known = [(name, value) for name, value in effects if value or cells[name] != "?"]
    return "; ".join(f"{name} = {cells[name]} ({value:+.2f})" for name, value in known[:top])


_BY_ROW = ("contributions", "prior", "log_odds", "probability", "against", "answer", "numbers")
