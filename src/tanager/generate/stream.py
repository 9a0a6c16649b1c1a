"""Stream: endless rows of a known model, the same for the same seed, however they are read."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np

from tanager.errors import OptionError, SchemaMismatch, check_option
from tanager.generate.effects import Effects
from tanager.generate.networks import NetworkSource
from tanager.generate.sources import MISSING, Column, Concept, Source, check_share, check_shares, check_whole
from tanager.generate.tables import arrow_table, python_values
from tanager.networks.network import Network
from tanager.writing import TableWriter, table_format, whole_file

CLASS = "class"  # the last column of a table
BLOCK = 1 << 16  # rows that are drawn together, from their own seed
MAX_DRIFTS = 1000
N_PARTS, PART = 16, 8192  # the number and length of the parts of a long stream that `accuracy` uses

Progress = Callable[[int, float | None], object]


@dataclass(frozen=True, repr=False)
class Stream:
    """Endless rows with classes, drawn from a known model; made by the functions of ``tanager.generate``.

    Streams are immutable. The methods ``irrelevant``, ``imbalanced``, ``noise``, ``class_noise`` and ``missing`` return
    new ones, and may be called in any order. The effects are always applied in this order: rows are drawn (with the
    shares of the classes), labels are changed, irrelevant columns are added, then noise and missing cells.

    Rows are drawn in blocks of 65,536. Block b has the seed ``(seed, b)``, so a row depends on its number only, not on
    the size of chunks or the number of rows taken; and different blocks can be made by different processes.

    Parameters
    ----------
    source : Concept
        The model that rows are drawn from.
    seed : int
        Of the rows.
    effects : Effects, default=Effects()
        Irrelevant columns, noise and missing cells; by default none.

    Examples
    --------
    >>> from tanager import generate
    >>> stream = generate.tan(random_state=1).noise(0.05).missing(0.05)
    >>> stream
    <Stream of TAN, 19 columns, 2 classes: 5 % noise, 5 % missing>
    >>> X, y = stream.take(1000)
    >>> X.shape, X.dtype, y[:10]
    ((1000, 19), dtype('uint8'), array([0, 1, 0, 1, 0, 0, 1, 0, 0, 0], dtype=uint8))
    """

    source: Concept
    seed: int
    effects: Effects = Effects()

    # --- description -------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[Column, ...]:
        """Name and values (or range) of every column."""
        return self.effects.columns(self.source.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def classes(self) -> tuple[object, ...]:
        """The labels; y holds indices into them."""
        return self.source.classes

    @property
    def numeric(self) -> bool:
        """Whether cells are numbers (float64, NaN is missing), not codes (uint8, 255 is missing)."""
        return self.columns[0].numeric

    @property
    def network(self) -> Network | None:
        """The network that rows are drawn from, before any effect; None if the model is not a network, or changes."""
        source = self.source.source
        return source.network if type(source) is NetworkSource else None

    @property
    def drifts(self) -> tuple[int, ...]:
        """The rows at which the model changes; at most the first 1000."""
        return tuple(itertools.islice(self.source.changes(), MAX_DRIFTS))

    def __repr__(self) -> str:
        n, k = len(self.columns), len(self.classes)
        effects = f": {self.effects}" if str(self.effects) else ""
        return f"<Stream of {self.source.text}, {n} column{'s' * (n != 1)}, {k} class{'es' * (k != 1)}{effects}>"

    # --- effects ----------------------------------------------------------------------------------------------------

    def irrelevant(self, n_columns: int) -> Stream:
        """With this many more columns that are independent of the class: uniform over two values, or over a range.

        Parameters
        ----------
        n_columns : int
            How many columns are added.

        Returns
        -------
        Stream
            A new one.
        """
        n = check_whole("n_columns", n_columns, 0)
        return replace(self, effects=replace(self.effects, irrelevant=self.effects.irrelevant + n))

    def noise(self, rate: float, flip: bool = False) -> Stream:
        """With noise: a cell is replaced with this probability.

        By a value of the column, all equally probable and its own included; with ``flip`` by a different one. A number
        is replaced by a uniform number of the column's range.

        Parameters
        ----------
        rate : float
            The probability that a cell is replaced.
        flip : bool, default=False
            Whether the new value always differs from the old one.

        Returns
        -------
        Stream
            A new one.
        """
        return replace(self, effects=replace(self.effects, noise=check_share("noise", rate), flip=bool(flip)))

    def class_noise(self, rate: float) -> Stream:
        """With wrong labels: with this probability a row has one of the other classes, all equally probable.

        Parameters
        ----------
        rate : float
            The probability of a wrong label.

        Returns
        -------
        Stream
            A new one.
        """
        return replace(self, source=replace(self.source, class_noise=check_share("class_noise", rate)))

    def missing(self, rate: float, how: str = "mcar") -> Stream:
        """With missing cells.

        Parameters
        ----------
        rate : float
            The probability that a cell is missing.
        how : {"mcar", "mar"}, default="mcar"
            *mcar*: all cells alike. *mar*: depending on the label: never in the first class, twice the rate in the
            last, evenly spaced between.

        Returns
        -------
        Stream
            A new one.
        """
        check_option("how", how, ("mcar", "mar"))
        rate = check_share("missing", rate, 1.0 if how == "mcar" else 0.5)
        return replace(self, effects=replace(self.effects, missing=rate, how=how))

    def imbalanced(self, shares: Any) -> Stream:
        """With these shares of the classes; the distribution within each class stays the same.

        Parameters
        ----------
        shares : sequence of float
            One for each of ``classes``; they add up to 1.

        Returns
        -------
        Stream
            A new one.
        """
        return replace(self, source=replace(self.source, shares=check_shares("shares", shares, len(self.classes))))

    # --- rows -------------------------------------------------------------------------------------------------------

    def block(self, b: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows from b * 65536 up to the next multiple, and their classes; blocks can be made in any order.

        Parameters
        ----------
        b : int
            The number of the block, from 0 on.

        Returns
        -------
        X : array of shape (65536, n_columns)
            Codes or numbers, as in ``chunks``.
        y : array of shape (65536,)
            Indices into ``classes``.
        """
        rng = np.random.default_rng(np.random.SeedSequence((self.seed, check_whole("b", b, 0))))
        X, y = self.source.draw(np.arange(b * BLOCK, (b + 1) * BLOCK), rng)
        return self.effects.apply(X, y, self.columns, len(self.classes), rng), y

    def chunks(self, n_rows: int, size: int = BLOCK, start: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """This many rows from row number ``start`` on, as pairs (X, y) of at most ``size`` rows.

        X holds codes (uint8, 255 is missing) or numbers (float64, NaN is missing); y indices into ``classes``.

        Parameters
        ----------
        n_rows : int
            How many rows in all.
        size : int, default=65,536
            Rows of a chunk; the last may have fewer.
        start : int, default=0
            The number of the first row.

        Returns
        -------
        iterator of (X, y)
            Arrays of shapes (n, n_columns) and (n,).
        """
        n_rows, size = check_whole("n_rows", n_rows, 0), check_whole("size", size, 1)
        start = check_whole("start", start, 0)
        return self._chunks(n_rows, size, start)

    def _chunks(self, n_rows: int, size: int, start: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        parts = self._parts(n_rows, start)
        X, y = self._empty(0)
        while n_rows:
            pieces, left = [], min(size, n_rows)
            n_rows -= left
            while left:
                X, y = (X, y) if len(y) else next(parts)
                pieces.append((X[:left], y[:left]))
                X, y, left = X[left:], y[left:], left - len(pieces[-1][1])
            yield pieces[0] if len(pieces) == 1 else _joined(pieces)

    def _parts(self, n_rows: int, start: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The rows, block by block."""
        while n_rows:
            b, first = divmod(start, BLOCK)
            n = min(BLOCK - first, n_rows)
            X, y = self.block(b)
            yield X[first : first + n], y[first : first + n]
            start, n_rows = start + n, n_rows - n

    def _empty(self, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        kind = np.float64 if self.numeric else np.uint8
        return np.empty((n_rows, len(self.columns)), dtype=kind, order="F"), np.empty(n_rows, dtype=np.uint8)

    def take(self, n_rows: int, start: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """This many rows from row number ``start`` on, and their classes; use rows far from the start for testing.

        Parameters
        ----------
        n_rows : int
            How many rows.
        start : int, default=0
            The number of the first row.

        Returns
        -------
        X : array of shape (n_rows, n_columns)
            Codes or numbers, as in ``chunks``.
        y : array of shape (n_rows,)
            Indices into ``classes``.
        """
        n_rows, start = check_whole("n_rows", n_rows, 0), check_whole("start", start, 0)
        X, y = self._empty(n_rows)
        at = 0
        for X_part, y_part in self._parts(n_rows, start):
            X[at : at + len(y_part)], y[at : at + len(y_part)] = X_part, y_part
            at += len(y_part)
        return X, y

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Any]]:
        """Rows without end as pairs (dict, label); a missing cell is None."""
        names, classes = self.names, self.classes
        for b in itertools.count():
            X, y = self.block(b)
            cells = [python_values(X[:, i], column) for i, column in enumerate(self.columns)]
            for row, c in zip(zip(*cells, strict=True), y.tolist(), strict=True):
                yield dict(zip(names, row, strict=True)), classes[c]

    def tables(self, n_rows: int, start: int = 0) -> Iterator[Any]:
        """This many rows as Arrow tables of up to 65,536 rows, with values, not codes; the class is the last column.

        Parameters
        ----------
        n_rows : int
            How many rows in all.
        start : int, default=0
            The number of the first row.

        Returns
        -------
        iterator of pyarrow.Table
            One table at least, which has no rows where ``n_rows`` is 0.
        """
        rows = self.chunks(n_rows, start=start)
        return (self._table(X, y) for X, y in rows) if n_rows else iter([self._table(*self._empty(0))])

    def _table(self, X: np.ndarray, y: np.ndarray) -> Any:
        return arrow_table(X, y, self.columns, self.classes, CLASS)

    def write(self, path: Any, n_rows: int, progress: Progress | None = None) -> None:
        """Write the first rows to a file, completely or not at all; the class is its last column.

        Parameters
        ----------
        path : str, path or file
            The extension sets the format: .csv, .tsv, .parquet, .jsonl, .csv.gz or .tsv.gz. An open binary file gets
            CSV.
        n_rows : int
            The number of rows; memory does not grow with it.
        progress : callable, default=None
            Called with the number of rows written and the fraction of all.
        """
        n_rows = check_whole("n_rows", n_rows, 0)
        if hasattr(path, "write"):
            self._write(path, "csv", n_rows, progress)
            return
        form = table_format(os.fspath(path))
        with whole_file(path) as file:
            self._write(file, form, n_rows, progress)

    def _write(self, file: BinaryIO, form: str, n_rows: int, progress: Progress | None) -> None:
        writer = TableWriter(file, form)
        done = 0
        for table in self.tables(n_rows):
            writer.write(table)
            done += table.num_rows
            if progress is not None:
                progress(done, done / max(n_rows, 1))
        writer.close()

    # --- the optimal classifier --------------------------------------------------------------------------------------

    def posterior(self, X: np.ndarray, start: int = 0) -> np.ndarray | None:
        """P(class | row) by the model itself, which no classifier can beat; None if it cannot be computed.

        It is exact for the rows as observed: noise, wrong labels, missing cells and drift are all accounted for. A row
        of probability 0 gets equal probabilities.

        Parameters
        ----------
        X : array (n_rows, n_columns)
            Rows as ``take`` and ``chunks`` give them.
        start : int, default=0
            The number of the first row, which matters if the stream changes.

        Returns
        -------
        array (n_rows, n_classes) or None
            Probabilities of ``classes``.

        Examples
        --------
        >>> from tanager import generate
        >>> stream = generate.led()
        >>> stream.names
        ('top', 'upper_left', 'upper_right', 'middle', 'lower_left', 'lower_right', 'bottom')
        >>> stream.posterior([[1, 0, 1, 0, 0, 1, 0]]).round(2)  # a 7, by the looks of it
        array([[0.  , 0.1 , 0.  , 0.01, 0.  , 0.  , 0.  , 0.89, 0.  , 0.  ]])
        """
        X = self._checked(X)
        shares = np.empty((len(X), len(self.classes)))
        for at in range(0, len(X), BLOCK):
            part = X[at : at + BLOCK]
            logs = self._log_joint(part, np.arange(start + at, start + at + len(part)))
            if logs is None:
                return None
            top = logs.max(axis=1, keepdims=True)
            cells = np.exp(np.where(np.isneginf(top), 0.0, logs - np.where(np.isneginf(top), 0.0, top)))
            shares[at : at + BLOCK] = cells / cells.sum(axis=1, keepdims=True)
        return shares

    def _checked(self, X: Any) -> np.ndarray:
        cells: np.ndarray = np.asarray(X)
        if cells.ndim != 2 or cells.shape[1] != len(self.columns):
            raise SchemaMismatch(f"the stream has {len(self.columns)} columns, X has shape {cells.shape}.")
        expected = self._empty(0)[0].dtype
        whole = cells.dtype.kind in "iu" and (self.numeric or not cells.size or 0 <= cells.min() <= cells.max() <= 255)
        if cells.dtype != expected and not whole:
            raise SchemaMismatch(f"the stream has cells of type {expected}, X has {cells.dtype}.")
        cells = cells.astype(expected, copy=False)  # a list of whole numbers is read as int64
        if not self.numeric:
            self._check_codes(cells)
        return cells

    def _check_codes(self, cells: np.ndarray) -> None:
        sizes = np.array([len(column.values or ()) for column in self.columns])
        wrong = np.argwhere((cells >= sizes) & (cells != MISSING))
        if len(wrong):
            r, i = wrong[0]
            raise SchemaMismatch(
                f"column {self.names[i]!r}, row {r}: there is no code {cells[r, i]}. Its values have the codes 0 to "
                f"{sizes[i] - 1}; {MISSING} is a missing cell."
            )

    def _log_joint(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
        own = self.source.columns
        logs = self.source.log_joint(X[:, : len(own)], rows, self.effects.cell_noise(own))
        missing = None if logs is None else self.effects.log_missing(X, len(self.classes))
        return logs if logs is None or missing is None else np.asarray(logs + missing)

    def accuracy(self, n_rows: int = N_PARTS * PART) -> float | None:
        """The Bayes accuracy in the first rows: that of the optimal classifier; None if it cannot be computed.

        The mean over rows of the highest probability in ``posterior``; for more than 131,072 rows, over 16 evenly
        spaced parts.

        Parameters
        ----------
        n_rows : int, default=131,072
            How many rows from the first on.

        Returns
        -------
        float or None
            From 0 to 1.
        """
        n_rows = check_whole("n_rows", n_rows, 1)
        parts = [(0, n_rows)]
        if n_rows > N_PARTS * PART:
            parts = [(int(start), PART) for start in np.linspace(0, n_rows - PART, N_PARTS)]
        tops = []
        for first, n in parts:
            shares = self.posterior(self.take(n, first)[0], first)
            if shares is None:
                return None
            tops.append(shares.max(axis=1))
        return float(np.concatenate(tops).mean())


def _joined(pieces: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([X for X, _ in pieces]), np.concatenate([y for _, y in pieces])


def stream_of(source: Source, random_state: int | None) -> Stream:
    """The stream of a source."""
    return Stream(Concept(source), checked_seed(random_state))


def checked_seed(random_state: int | None) -> int:
    """A seed; None draws a new one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise OptionError(
            f"random_state={random_state!r} is not an option; give a whole number of at least 0, or None."
        )
    return int(random_state)


def model_rng(random_state: int | None) -> tuple[int, np.random.Generator]:
    """The seed, and the generator that a model is drawn with."""
    seed = checked_seed(random_state)
    # With a spawn key: to NumPy, seed and (seed, 0) are the same, so block 0 would repeat the numbers of the model.
    return seed, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
