"""Concept drift: streams that change from one model to another, suddenly, gradually, incrementally or recurrently."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tanager.errors import OptionError, SchemaMismatch
from tanager.generate.networks import ChangingNetwork, NetworkSource
from tanager.generate.sources import Column, Concept, Noise, Source, check_positive, check_whole
from tanager.generate.stream import Stream, stream_of


class _Composite(Source):
    """A source whose rows each come from one of several others."""

    def __init__(self, parts: Sequence[Source]) -> None:
        self.parts = tuple(parts)
        self.columns = tuple(_wider(*same) for same in zip(*(part.columns for part in parts), strict=True))
        self.classes = parts[0].classes

    def _draw_from(
        self, which: np.ndarray, rows: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw each row from the part with this index."""
        there = np.flatnonzero(np.bincount(which, minlength=len(self.parts))).tolist()
        if len(there) == 1:
            return self.parts[there[0]].draw(rows, rng)
        kind = np.float64 if self.columns[0].numeric else np.uint8
        X, y = np.empty((len(rows), len(self.columns)), dtype=kind, order="F"), np.empty(len(rows), dtype=np.uint8)
        for p in there:
            own = which == p
            X[own], y[own] = self.parts[p].draw(rows[own], rng)
        return X, y


class Mixed(_Composite):
    """A source that is replaced by another one, suddenly or along a sigmoid."""

    def __init__(self, first: Source, second: Source, at: int, width: float) -> None:
        super().__init__((first, second))
        self.at, self.width = at, width
        when = f"from row {at:,} on" if width == 1 else f"around row {at:,}, over {width:,g} rows"
        self.text = f"{first.text}, then {second.text} {when}"

    def share(self, rows: np.ndarray) -> np.ndarray:
        """P(second source) at row t: 1 / (1 + exp(-4 (t - at) / width)), in a form that cannot overflow."""
        return 0.5 + 0.5 * np.tanh(2 * (rows - self.at) / self.width)

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return self._draw_from((rng.random(len(rows)) < self.share(rows)).astype(np.intp), rows, rng)

    def log_joint(self, X: np.ndarray, rows: np.ndarray, noise: Noise) -> np.ndarray | None:
        both = [part.log_joint(X, rows, noise) for part in self.parts]
        if both[0] is None or both[1] is None:
            return None
        share = self.share(rows)[:, None]
        with np.errstate(divide="ignore"):
            return np.asarray(np.logaddexp(np.log(1 - share) + both[0], np.log(share) + both[1]))

    def prior(self, rows: np.ndarray) -> np.ndarray:
        share = self.share(rows)[:, None]
        return np.asarray((1 - share) * self.parts[0].prior(rows) + share * self.parts[1].prior(rows))

    def changes(self) -> Iterator[int]:
        yield from itertools.takewhile(lambda row: row < self.at, self.parts[0].changes())
        yield self.at
        yield from (row for row in self.parts[1].changes() if row > self.at)


class Alternating(_Composite):
    """Sources that alternate, each for ``every`` rows."""

    def __init__(self, parts: Sequence[Source], every: int) -> None:
        super().__init__(parts)
        self.every = every
        texts = list(dict.fromkeys(part.text for part in parts))
        self.text = f"{' and '.join(texts)} changing every {every:,} rows"

    def _turn(self, rows: np.ndarray) -> np.ndarray:
        return rows // self.every % len(self.parts)

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return self._draw_from(self._turn(rows), rows, rng)

    def log_joint(self, X: np.ndarray, rows: np.ndarray, noise: Noise) -> np.ndarray | None:
        logs = np.empty((len(X), len(self.classes)))
        for own, part in self._split(rows):
            found = part.log_joint(X[own], rows[own], noise)
            if found is None:
                return None
            logs[own] = found
        return logs

    def prior(self, rows: np.ndarray) -> np.ndarray:
        prior = np.empty((len(rows), len(self.classes)))
        for own, part in self._split(rows):
            prior[own] = part.prior(rows[own])
        return prior

    def _split(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, Source]]:
        """The indices of the rows of each source."""
        turn = self._turn(rows)
        for p, part in enumerate(self.parts):
            own = np.flatnonzero(turn == p)
            if len(own):
                yield own, part

    def changes(self) -> Iterator[int]:
        return itertools.count(self.every, self.every)


def _wider(*columns: Column) -> Column:
    """A column with the union of several ranges."""
    return replace(columns[0], low=min(c.low for c in columns), high=max(c.high for c in columns))


def alternating(sources: Sequence[Source], every: int, random_state: int | None) -> Stream:
    """The stream of sources that alternate; of a single source, the stream of that one."""
    every = check_whole("every", every, 1)
    return stream_of(sources[0] if len(sources) == 1 else Alternating(sources, every), random_state)


def drift(a: Stream, b: Stream, at: int, width: float = 1) -> Stream:
    """A stream that changes to another one: suddenly, or gradually.

    Parameters
    ----------
    a, b : Stream
        With the same columns and classes. Noise, missing cells and irrelevant columns must be the same in both; or
        leave them out, and add them to the result.
    at : int
        The row at which both are equally probable.
    width : float, default=1
        About how many rows the change takes: row t comes from b with probability 1 / (1 + exp(-4 (t - at) / width)).
        1 is a sudden change.

    Returns
    -------
    Stream
        Rows without end.

    Examples
    --------
    >>> from tanager import generate
    >>> stream = generate.drift(generate.tan(random_state=1), generate.tan(random_state=2), at=50_000).noise(0.05)
    >>> stream
    <Stream of TAN, then TAN from row 50,000 on, 19 columns, 2 classes: 5 % noise>
    >>> stream.drifts
    (50000,)
    """
    at, width = check_whole("at", at, 0), check_positive("width", width)
    _check_same("drift", a, b)
    return replace(a, source=Concept(Mixed(a.source, b.source, at, width)))


def recurring(*streams: Stream, every: int) -> Stream:
    """Streams that alternate, each for ``every`` rows, starting over after the last (recurring concepts).

    Parameters
    ----------
    *streams : Stream
        Two or more, with the same columns, classes and effects.
    every : int
        Rows after which the next one takes over.

    Returns
    -------
    Stream
        Rows without end.

    Examples
    --------
    >>> from tanager import generate
    >>> stream = generate.recurring(generate.tan(random_state=1), generate.tan(random_state=2), every=1000)
    >>> stream.drifts[:4]
    (1000, 2000, 3000, 4000)
    """
    if len(streams) < 2:
        raise OptionError("recurring needs two or more streams, and every= as a keyword: recurring(a, b, every=1000).")
    _check_same("recurring", *streams)
    parts = [stream.source for stream in streams]
    return replace(streams[0], source=Concept(Alternating(parts, check_whole("every", every, 1))))


def incremental(a: Stream, b: Stream, start: int, stop: int) -> Stream:
    """A network whose tables change linearly into those of another, from row ``start`` to row ``stop``.

    Both must have the same arcs: naive Bayes models always do, others if b is ``redrawn(a)``.

    Parameters
    ----------
    a, b : Stream
        Of one network each, with the same columns, classes and effects.
    start : int
        The row at which the change begins.
    stop : int
        The row at which it ends, after ``start``.

    Returns
    -------
    Stream
        Rows without end.

    Examples
    --------
    >>> from tanager import generate
    >>> a = generate.tan(random_state=1)
    >>> generate.incremental(a, generate.redrawn(a), 10_000, 20_000)
    <Stream of TAN turning into another from row 10,000 to 20,000, 19 columns, 2 classes>
    """
    start, stop = check_whole("start", start, 0), check_whole("stop", stop, 1)
    if stop <= start:
        raise OptionError(f"stop={stop!r} is not an option; give a row after start={start!r}.")
    _check_same("incremental", a, b)
    first, second = a.source.source, b.source.source
    if type(first) is not NetworkSource or type(second) is not NetworkSource:
        raise OptionError(
            "incremental needs two streams of networks. For gradual change of others use drift(..., width=...)."
        )
    if set(first.network.arcs) != set(second.network.arcs):
        raise OptionError("incremental needs two networks with the same arcs. Use redrawn(a) for the second.")
    if a.source != replace(b.source, source=first):
        raise OptionError(
            "incremental needs two streams with the same class shares and class noise. Make them the same."
        )
    return replace(a, source=replace(a.source, source=ChangingNetwork(first, second, start, stop)))


def _check_same(doing: str, *streams: Stream) -> None:
    """Raise if streams cannot be combined."""
    for stream in streams:
        if not isinstance(stream, Stream):
            raise OptionError(f"{doing} needs streams made by tanager.generate, got {stream!r}.")
    first = streams[0]
    for other in streams[1:]:
        _check_columns(doing, first, other)
        if first.classes != other.classes:
            raise SchemaMismatch(f"{doing}: the classes are {first.classes} and {other.classes}. Make them the same.")
        if first.effects != other.effects:
            one, two = (str(stream.effects) or "no effects" for stream in (first, other))
            raise OptionError(
                f"{doing}: one stream has {one}, another {two}. Leave these out, and add them to the result: "
                f"{doing}(...).noise(0.05)."
            )
        if _same_model(first, other):
            raise OptionError(f"{doing}: two of the streams are the same model. Give one of them another random_state.")


def _check_columns(doing: str, a: Stream, b: Stream) -> None:
    if len(a.columns) != len(b.columns):
        raise SchemaMismatch(
            f"{doing}: the streams have {len(a.columns)} and {len(b.columns)} columns. Make them the same."
        )
    for one, two in zip(a.columns, b.columns, strict=True):
        if (one.name, one.values) != (two.name, two.values):
            what = f"{_kind(one)} and {_kind(two)}"
            raise SchemaMismatch(
                f"{doing}: column {one.name!r} differs between the streams: {what}. Make them the same."
            )


def _kind(column: Column) -> str:
    return f"{column.name} with numbers" if column.values is None else f"{column.name} with {len(column.values)} values"


def _same_model(a: Stream, b: Stream) -> bool:
    return a.network is not None and a.network == b.network and a.source == replace(b.source, source=a.source.source)
