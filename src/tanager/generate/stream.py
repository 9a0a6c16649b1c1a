"""Stream: endless rows of a known kind, the same for the same seed, however they are asked for."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np

from tanager.errors import OptionError, SchemaMismatch, check_option
from tanager.generate.networks import NetworkSource
from tanager.generate.sources import (
    MISSING,
    Column,
    Concept,
    Noise,
    Source,
    check_share,
    check_shares,
    check_whole,
    missing_cells,
    other_codes,
)
from tanager.networks.network import Network
from tanager.writing import TableWriter, table_format, whole_file

CLASS = "class"  # the last column of a table
BLOCK = 1 << 16  # rows that are drawn together, from a seed of their own
MOST_DRIFTS = 1000
N_PARTS, PART = 16, 8192  # of a long stream, what `accuracy` looks at

Progress = Callable[[int, float | None], object]


@dataclass(frozen=True)
class Effects:
    """What happens to the cells after the rows were drawn."""

    irrelevant: int = 0
    noise: float = 0.0
    flip: bool = False
    missing: float = 0.0
    how: str = "mcar"

    def __str__(self) -> str:
        parts = [f"{self.irrelevant} irrelevant columns"] if self.irrelevant else []
        parts += [f"{100 * self.noise:g} % {'flipped' if self.flip else 'noise'}"] if self.noise else []
        more = "" if self.how == "mcar" else " (by class)"
        parts += [f"{100 * self.missing:g} % missing{more}"] if self.missing else []
        return ", ".join(parts)


@dataclass(frozen=True, repr=False)
class Stream:
    """Endless rows with classes, drawn from a known model; made by the functions of ``tanager.generate``.

    A stream never changes. Its methods ``irrelevant``, ``imbalanced``, ``noise``, ``class_noise`` and ``missing`` give
    new ones, and may be called in any order: rows are drawn (with the shares of the classes), labels are made wrong,
    irrelevant columns are added, then come noise and missing cells.

    Rows are made in blocks of 65,536. Block b has the seed ``(seed, b)``, so a row depends on its number alone, not on
    the size of the chunks, nor on how many rows are taken; and several processes can make different blocks.

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

    # --- what it is -------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[Column, ...]:
        """Name and values (or range) of every column."""
        own = self.source.columns
        made = (replace(_kind(own[0]), name=f"irrelevant{i + 1}") for i in range(self.effects.irrelevant))
        return (*own, *made)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def classes(self) -> tuple[object, ...]:
        """The labels; y holds their positions here."""
        return self.source.classes

    @property
    def numeric(self) -> bool:
        """Whether cells are numbers (float64, NaN is missing), not codes (uint8, 255 is missing)."""
        return self.columns[0].numeric

    @property
    def network(self) -> Network | None:
        """The network that rows are drawn from, before any effect; None where it is no network, or changes."""
        source = self.source.source
        return source.network if type(source) is NetworkSource else None

    @property
    def drifts(self) -> tuple[int, ...]:
        """The rows at which the model changes; of a stream that changes for ever, the first 1000."""
        return tuple(itertools.islice(self.source.changes(), MOST_DRIFTS))

    def __repr__(self) -> str:
        n, k = len(self.columns), len(self.classes)
        effects = f": {self.effects}" if str(self.effects) else ""
        return f"<Stream of {self.source.text}, {n} column{'s' * (n != 1)}, {k} class{'es' * (k != 1)}{effects}>"

    # --- effects ----------------------------------------------------------------------------------------------------

    def irrelevant(self, n_columns: int) -> Stream:
        """With this many more columns that have to do with nothing: even chances for two values, or for all numbers."""
        n = check_whole("n_columns", n_columns, 0)
        return replace(self, effects=replace(self.effects, irrelevant=self.effects.irrelevant + n))

    def noise(self, rate: float, flip: bool = False) -> Stream:
        """With noise: a cell is replaced with this probability.

        By any of the column's values with equal chances, its own included; with ``flip`` by a different one. A number
        is replaced by any number of the column's range.
        """
        return replace(self, effects=replace(self.effects, noise=check_share("noise", rate), flip=bool(flip)))

    def class_noise(self, rate: float) -> Stream:
        """With wrong labels: with this probability a row has one of the other classes, with equal chances."""
        return replace(self, source=replace(self.source, class_noise=check_share("class_noise", rate)))

    def missing(self, rate: float, how: str = "mcar") -> Stream:
        """With missing cells.

        Parameters
        ----------
        rate : float
            The probability that a cell is missing.
        how : {"mcar", "mar"}
            *mcar*: every cell alike. *mar*: depending on the class (as labelled): never in the first class, twice
            the rate in the last, evenly between.
        """
        check_option("how", how, ("mcar", "mar"))
        rate = check_share("missing", rate, 1.0 if how == "mcar" else 0.5)
        return replace(self, effects=replace(self.effects, missing=rate, how=how))

    def imbalanced(self, shares: Any) -> Stream:
        """With these shares of the classes; within a class, rows stay what they are."""
        return replace(self, source=replace(self.source, shares=check_shares("shares", shares, len(self.classes))))

    # --- rows -------------------------------------------------------------------------------------------------------

    def block(self, b: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows b * 65536 up to the next multiple, and their classes; any block at any time, in any process."""
        rng = np.random.default_rng(np.random.SeedSequence((self.seed, check_whole("b", b, 0))))
        X, y = self.source.draw(np.arange(b * BLOCK, (b + 1) * BLOCK), rng)
        X = self._with_irrelevant(X, rng)
        self._add_noise(X, rng)
        self._leave_out(X, y, rng)
        return X, y

    def _with_irrelevant(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if not self.effects.irrelevant:
            return X
        n = X.shape[1]
        wide = np.empty((len(X), len(self.columns)), dtype=X.dtype, order="F")
        wide[:, :n] = X
        for i, column in enumerate(self.columns[n:]):
            wide[:, n + i] = _any_cells(column, len(X), rng)
        return wide

    def _add_noise(self, X: np.ndarray, rng: np.random.Generator) -> None:
        if not self.effects.noise:
            return
        for i, column in enumerate(self.columns):
            hit = np.flatnonzero(rng.random(len(X), dtype=np.float32) < self.effects.noise)
            if self.effects.flip and column.values is not None:
                X[hit, i] = other_codes(X[hit, i], len(column.values), rng)
            else:
                X[hit, i] = _any_cells(column, len(hit), rng)

    def _leave_out(self, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> None:
        if not self.effects.missing:
            return
        rates = self._missing_rates().astype(np.float32)[y] if self.effects.how == "mar" else self.effects.missing
        gap = np.nan if self.numeric else MISSING
        for i in range(X.shape[1]):
            X[rng.random(len(X), dtype=np.float32) < rates, i] = gap

    def _missing_rates(self) -> np.ndarray:
        """How often cells are missing in each class."""
        k = len(self.classes)
        return self.effects.missing * (2 * np.arange(k) / max(k - 1, 1) if self.effects.how == "mar" else np.ones(k))

    def chunks(self, n_rows: int, size: int = BLOCK, start: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """So many rows from row number ``start`` on, as (X, y) of at most ``size`` rows.

        X holds codes (uint8, 255 is missing), or numbers (float64, NaN is missing); y positions in ``classes``.
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
        """So many rows from row number ``start`` on, and their classes; rows from far behind are good for testing."""
        n_rows, start = check_whole("n_rows", n_rows, 0), check_whole("start", start, 0)
        X, y = self._empty(n_rows)
        at = 0
        for X_part, y_part in self._parts(n_rows, start):
            X[at : at + len(y_part)], y[at : at + len(y_part)] = X_part, y_part
            at += len(y_part)
        return X, y

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Any]]:
        """Rows without end as (dict, label); a missing cell is None."""
        names, classes = self.names, self.classes
        for b in itertools.count():
            X, y = self.block(b)
            cells = [_as_values(X[:, i], column) for i, column in enumerate(self.columns)]
            for row, c in zip(zip(*cells, strict=True), y.tolist(), strict=True):
                yield dict(zip(names, row, strict=True)), classes[c]

    def tables(self, n_rows: int, start: int = 0) -> Iterator[Any]:
        """So many rows as Arrow tables of up to 65,536, with the values themselves; the class is the last column."""
        rows = self.chunks(n_rows, start=start)
        return (self._table(X, y) for X, y in rows) if n_rows else iter([self._table(*self._empty(0))])

    def _table(self, X: np.ndarray, y: np.ndarray) -> Any:
        import pyarrow as pa

        cells = [_arrow_cells(X[:, i], column) for i, column in enumerate(self.columns)]
        return pa.table([*cells, _arrow_values(self.classes).take(pa.array(y))], [*self.names, CLASS])

    def write(self, path: Any, n_rows: int, progress: Progress | None = None) -> None:
        """Write the first rows to a file, whole or not at all; the class is its last column.

        Parameters
        ----------
        path : str, path or file
            The ending says how: .csv, .tsv, .parquet or .jsonl; .csv.gz and .tsv.gz are packed. A file that is open
            for bytes gets CSV.
        n_rows : int
            Memory does not grow with it.
        progress : callable, default=None
            Called with the number of rows written and their share of all.
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

    # --- what is known of them --------------------------------------------------------------------------------------

    def posterior(self, X: np.ndarray, start: int = 0) -> np.ndarray | None:
        """P(class | row) by the model itself: no answer can be better; None where it is not known.

        It is exact for the rows as they are shown: noise, wrong labels, missing cells and drift are all taken into
        account. A row that cannot be gets equal shares.

        Parameters
        ----------
        X : array (n_rows, n_columns)
            Rows as ``take`` and ``chunks`` give them.
        start : int, default=0
            The number of the first row, which matters in a stream that changes.
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
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != len(self.columns):
            raise SchemaMismatch(f"the stream has {len(self.columns)} columns, X has the shape {X.shape}.")
        if X.dtype != self._empty(0)[0].dtype:
            raise SchemaMismatch(f"the stream has cells of {self._empty(0)[0].dtype}, X has {X.dtype}.")
        return X

    def _log_joint(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
        own = self.source.columns
        noise = Noise.of(own, [self._kept(column) for column in own])
        logs = self.source.log_joint(X[:, : len(own)], rows, noise)
        if logs is None or self.effects.how == "mcar" or not self.effects.missing:
            return logs
        n_missing = missing_cells(X).sum(axis=1)[:, None]  # which tells of the class
        rates = self._missing_rates()
        with np.errstate(divide="ignore", invalid="ignore"):
            gone, there = n_missing * np.log(rates), (X.shape[1] - n_missing) * np.log1p(-rates)
        return logs + np.nan_to_num(gone, neginf=-np.inf) + np.nan_to_num(there, neginf=-np.inf)

    def _kept(self, column: Column) -> float:
        """How often noise leaves a cell alone, where all other cells get any of the values."""
        n_values = len(column.values or ())
        change = self.effects.noise
        return 1 - change * (n_values / (n_values - 1) if self.effects.flip and n_values > 1 else 1.0)

    def accuracy(self, n_rows: int = N_PARTS * PART) -> float | None:
        """How often the best possible answer is right in the first rows; None where it is not known.

        The mean over rows of the highest probability in ``posterior``; of more than 131,072 rows, over 16 parts that
        are spread evenly.
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


def _kind(column: Column) -> Column:
    """What an irrelevant column is like beside this one."""
    return column if column.numeric else Column(column.name, (0, 1))


def _any_cells(column: Column, n: int, rng: np.random.Generator) -> np.ndarray:
    """Cells with equal chances for all values, or for all numbers of the range."""
    if column.values is None:
        return rng.uniform(column.low, column.high, n)
    return rng.integers(0, len(column.values), n, dtype=np.uint8)


def _joined(pieces: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([X for X, _ in pieces]), np.concatenate([y for _, y in pieces])


def _as_values(cells: np.ndarray, column: Column) -> list[Any]:
    """The values behind cells; None where they are missing."""
    if column.values is None:
        return [None if cell != cell else cell for cell in cells.tolist()]
    values = dict(enumerate(column.values))
    return [values.get(code) for code in cells.tolist()]


def _arrow_cells(cells: np.ndarray, column: Column) -> Any:
    """Cells as an Arrow array, with nulls where they are missing."""
    import pyarrow as pa

    if column.values is None:
        return pa.array(cells, from_pandas=True)  # NaN is null
    return _arrow_values(column.values).take(pa.array(cells, mask=cells == MISSING))


def _arrow_values(values: tuple[Any, ...]) -> Any:
    """Values as an Arrow array; as text where they are of several kinds."""
    import pyarrow as pa

    return pa.array(values if len({type(value) for value in values}) == 1 else [str(value) for value in values])


def made(source: Source, random_state: int | None) -> Stream:
    """The stream of a source."""
    return Stream(Concept(source), checked_seed(random_state))


def checked_seed(random_state: int | None) -> int:
    """A seed; None makes up a new one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise OptionError(
            f"random_state={random_state!r} is not an option; give a whole number of at least 0, or None."
        )
    return int(random_state)


def model_rng(random_state: int | None) -> tuple[int, np.random.Generator]:
    """The seed, and what a model is drawn with."""
    seed = checked_seed(
        random_state
    )  # with a key, as to NumPy seed and (seed, 0) are the same: block 0 would repeat it
    return seed, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
