"""LabelledTable: numbers whose axes have names and whose places have labels, such as P(child | parents)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.display import MOST_COLUMNS, MOST_ROWS, aligned, element, more, note, page, table
from tanager.errors import DataError, SchemaMismatch, nearest

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from numpy.typing import ArrayLike

Line = tuple[object, ...]


class LabelledTable:
    """Numbers with a name for every axis and a label for every place along it.

    What ``Network.cpt``, ``Network.probabilities`` and ``model.probabilities`` return: a table that prints well, is
    looked up by labels, and is an array for NumPy. The last axis is printed across.

    Parameters
    ----------
    values : array
        One axis for each name.
    axes : mapping from name to labels
        In the order of the axes.
    title : str, default=""
        What the numbers are, such as ``P(grass | rain)``.

    Attributes
    ----------
    names : tuple of str
        The names of the axes.
    labels : tuple of sequences
        The labels along each axis.
    values : array
        The numbers; read-only.
    title : str
        What they are.

    Examples
    --------
    >>> from tanager import LabelledTable
    >>> axes = {"rain": ["no", "yes"], "grass": ["dry", "wet"]}
    >>> table = LabelledTable([[0.8, 0.2], [0.1, 0.9]], axes, "P(grass | rain)")
    >>> table
    P(grass | rain)
          grass
    rain     dry     wet
    no    0.8000  0.2000
    yes   0.1000  0.9000
    >>> table["yes", "wet"]
    0.9
    >>> table["yes"]
    P(grass | rain), rain = yes
       dry     wet
    0.1000  0.9000
    >>> table[{"grass": "wet"}].values
    array([0.2, 0.9])
    """

    def __init__(self, values: ArrayLike, axes: Mapping[str, Sequence[object]], title: str = "") -> None:
        self.names = tuple(axes)
        self.labels: tuple[Sequence[Any], ...] = tuple(
            labels if isinstance(labels, range) else tuple(labels) for labels in axes.values()
        )
        self.values = np.asarray(values).view()
        self.values.flags.writeable = False
        self.title = title
        if not self.names or self.values.shape != self.shape:
            raise DataError(
                f"values have the shape {self.values.shape}, the labels {self.shape}. Give labels for every axis."
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of labels along each axis."""
        return tuple(map(len, self.labels))

    def __len__(self) -> int:
        """The number of labels along the first axis."""
        return len(self.labels[0])

    def __iter__(self) -> Iterator[object]:
        """The labels along the first axis."""
        return iter(self.labels[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    # --- looking up -------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """A number, or the table of the axes that are left.

        Labels in the order of the axes (``table["yes", "wet"]``, ``table["yes"]``, ``table[:, "wet"]``), or by name
        (``table[{"grass": "wet"}]``). A label is also found by its text.
        """
        given = key if isinstance(key, Mapping) else self._by_name(key if isinstance(key, tuple) else (key,))
        at: list[Any] = [slice(None)] * len(self.names)
        for name, label in given.items():
            axis = self._axis(name)
            at[axis] = self._place(axis, label)
        found = self.values[tuple(at)]
        if len(given) == len(self.names):
            return found.item()
        rest = {name: labels for name, labels in self._axes() if name not in given}
        fixed = [f"{name} = {label}" for name, label in given.items()]
        return LabelledTable(found, rest, ", ".join(filter(None, [self.title, *fixed])))

    def _by_name(self, key: Line) -> dict[str, object]:
        """Labels in the order of the axes, by the names of these; a colon stands for all labels."""
        if len(key) > len(self.names):
            raise SchemaMismatch(
                f"{len(key)} labels for a table with {len(self.names)} axes: {', '.join(self.names)}. Give fewer."
            )
        pairs = zip(self.names, key, strict=False)
        return {name: label for name, label in pairs if not (isinstance(label, slice) and label == slice(None))}

    def _axis(self, name: str) -> int:
        if name not in self.names:
            raise SchemaMismatch(
                f"the table has no axis {name!r}; it has {', '.join(self.names)}.{nearest(name, self.names)}"
            )
        return self.names.index(name)

    def _place(self, axis: int, label: object) -> int:
        labels = self.labels[axis]
        if label in labels:
            return labels.index(label)
        texts = [] if isinstance(labels, range) else [str(own) for own in labels]
        if str(label) in texts:
            return texts.index(str(label))
        raise DataError(f"axis {self.names[axis]!r} has no label {label!r}.{nearest(label, texts)}")

    # --- as frames --------------------------------------------------------------------------------------------------

    def to_pandas(self) -> pd.DataFrame:
        """A pandas data frame: the last axis across, all others as its index.

        Returns
        -------
        pandas.DataFrame
            A line for each combination of labels of all axes but the last.
        """
        import pandas as pd

        *down, across = (pd.Index(list(labels), name=name, tupleize_cols=False) for name, labels in self._axes())
        index = None if not down else down[0] if len(down) == 1 else pd.MultiIndex.from_product(down)
        return pd.DataFrame(self._lines(), index=index, columns=across)

    def to_polars(self) -> pl.DataFrame:
        """A polars data frame: a column for each axis but the last, then one for each label of the last, as text.

        Returns
        -------
        polars.DataFrame
            A line for each combination of labels of all axes but the last.
        """
        import polars as pl

        *down, _ = self.names
        cells = list(zip(*product(*self.labels[:-1]), strict=True))
        columns = [*map(list, cells), *self._lines().T]
        return pl.DataFrame(dict(zip(unique_texts([*down, *self.labels[-1]]), columns, strict=True)), strict=False)

    def _axes(self) -> Iterator[tuple[str, Sequence[object]]]:
        return zip(self.names, self.labels, strict=True)

    def _lines(self) -> np.ndarray:
        """The numbers as lines: one for each combination of labels of all axes but the last."""
        return self.values.reshape(math.prod(self.shape[:-1]), self.shape[-1])

    # --- to be read -------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        names, rows, more_rows, more_columns = self._shown()
        n_labels = len(self.names) - 1
        text = aligned([names, *rows], [at >= n_labels for at in range(len(names))])
        indent = sum(2 + max(len(line[at]) for line in [names, *rows]) for at in range(n_labels))
        above = " " * indent + self.names[-1] if self._names_last else ""
        rest = [more(more_rows, "rows"), more(more_columns, "columns")]
        return "\n".join(filter(None, [self.title, above, text, *rest]))

    def _repr_html_(self) -> str:
        names, rows, more_rows, more_columns = self._shown()
        n_labels = len(self.names) - 1
        lines = [[*(element("b", label) for label in row[:n_labels]), *row[n_labels:]] for row in rows]
        above = [*[""] * n_labels, self.names[-1], *[""] * (len(names) - n_labels - 1)] if self._names_last else ()
        cells = table(names, lines, right=[at >= n_labels for at in range(len(names))], above=above)
        about = self.title or ", ".join(self.names)
        return page(element("b", about), cells, note(more(more_rows, "rows")), note(more(more_columns, "columns")))

    @property
    def _names_last(self) -> bool:
        """Whether the name of the last axis is to be said above its labels; a title may have said it."""
        return len(self.names) > 1 or self.names[-1] not in self.title

    def _shown(self) -> tuple[list[str], list[list[str]], int, int]:
        """The names of columns and the lines that are printed, and how many lines and columns are not."""
        n_rows, n_columns = math.prod(self.shape[:-1]), self.shape[-1]
        n_down = n_rows if n_rows <= MOST_ROWS + 1 else MOST_ROWS
        n_across = n_columns if n_columns <= MOST_COLUMNS + 1 else MOST_COLUMNS
        numbers = self._lines()[:n_down, :n_across]
        labels = islice(product(*self.labels[:-1]), n_down)
        rows = [[*map(str, own), *texts] for own, texts in zip(labels, number_texts(numbers), strict=True)]
        names = [*self.names[:-1], *map(str, self.labels[-1][:n_across])]
        return names, rows, n_rows - n_down, n_columns - n_across


def number_texts(numbers: np.ndarray) -> list[list[str]]:
    """Numbers as they are printed: probabilities with four decimals, but never a small one as 0; others as short as
    they are.

    >>> number_texts(np.array([[0.25, 1e-7], [0.0, 1.0]]))
    [['0.2500', '1.0e-07'], ['0.0000', '1.0000']]
    >>> number_texts(np.array([[200, -7.5]]))
    [['200', '-7.5']]
    """
    are_shares = bool(((numbers >= 0) & (numbers <= 1)).all())
    return [[_share(x) if are_shares else f"{x:g}" for x in line] for line in numbers.tolist()]


def _share(x: float) -> str:
    return f"{x:.4f}" if x == 0 or x >= 5e-5 else f"{x:.1e}"


def unique_texts(labels: Sequence[object]) -> list[str]:
    """Labels as text, those that have come before with their place.

    >>> unique_texts(["yes", 1, "1"])
    ['yes', '1', '1 (3)']
    """
    texts: dict[str, None] = {}
    for place, label in enumerate(labels, 1):
        text = str(label)
        while text in texts:
            text += f" ({place})"
        texts[text] = None
    return list(texts)
