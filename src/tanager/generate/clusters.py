"""Gaussian mixtures: every class is one or more Gaussian clusters, fixed or moving."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from tanager.errors import OptionError, is_number
from tanager.generate.sources import (
    MAX_VALUES,
    Column,
    Noise,
    Source,
    bounce,
    check_positive,
    check_share,
    check_shares,
    check_whole,
    pick,
)
from tanager.generate.stream import Stream, model_rng, stream_of

LOW, HIGH = 0.0, 10.0  # the range of random centres, and the walls at which moving ones bounce
TAIL = 3.0  # standard deviations beyond the outermost centre that belong to the range of a column


class Clusters(Source):
    """Gaussian clusters with independent columns; cluster c belongs to class ``labels[c]``."""

    def __init__(
        self,
        means: np.ndarray,  # (n_clusters, n_columns), as are the next two
        spreads: np.ndarray,
        velocities: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        text: str,
    ) -> None:
        self.means, self.spreads, self.velocities = means, spreads, velocities
        self.labels, self.weights, self.text = labels.astype(np.uint8), weights, text
        self.moving = bool(velocities.any())
        self.low, self.high = means.min(axis=0), means.max(axis=0)
        if self.moving:
            self.low, self.high = np.minimum(self.low, LOW), np.maximum(self.high, HIGH)
        tails = TAIL * spreads.max(axis=0)
        self.columns = tuple(
            Column(f"x{i + 1}", None, float(low), float(high))
            for i, (low, high) in enumerate(zip(self.low - tails, self.high + tails, strict=True))
        )
        self.classes = tuple(range(int(labels.max()) + 1))

    def centres(self, cluster: Any, i: int, rows: np.ndarray) -> np.ndarray:
        """The centre of a cluster (or of one cluster per row) in column i, at these rows."""
        if not self.moving:
            return np.asarray(self.means[cluster, i])
        return bounce(self.means[cluster, i] + self.velocities[cluster, i] * rows, self.low[i], self.high[i])

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        cluster = pick(self.weights, len(rows), rng).astype(np.intp)  # intp indexes fastest
        X = np.empty((len(rows), len(self.columns)), order="F")
        for i in range(len(self.columns)):
            X[:, i] = self.centres(cluster, i, rows) + self.spreads[cluster, i] * rng.standard_normal(len(rows))
        return X, self.labels[cluster]

    def log_joint(self, X: np.ndarray, rows: np.ndarray, noise: Noise) -> np.ndarray:
        logs = np.full((len(X), len(self.classes)), -np.inf)
        for c, label in enumerate(self.labels):
            own = sum(self._log_density(X[:, i], c, i, rows, noise) for i in range(X.shape[1]))
            logs[:, label] = np.logaddexp(logs[:, label], own + np.log(self.weights[c]))
        return logs

    def _log_density(self, cells: np.ndarray, c: int, i: int, rows: np.ndarray, noise: Noise) -> np.ndarray:
        """The log density of the cells of column i in a cluster; 0 where they are missing."""
        missing, cells = np.isnan(cells), np.nan_to_num(cells)
        away = (cells - self.centres(c, i, rows)) / self.spreads[c, i]
        logs = -0.5 * away**2 - np.log(self.spreads[c, i] * np.sqrt(2 * np.pi))
        if noise.keep[i] < 1:
            low, high = noise.low[i], noise.high[i]
            anywhere = np.where((low <= cells) & (cells <= high), (1 - noise.keep[i]) / (high - low), 0.0)
            with np.errstate(divide="ignore"):
                logs = np.logaddexp(logs + np.log(noise.keep[i]), np.log(anywhere))
        return np.where(missing, 0.0, logs)

    def prior(self, rows: np.ndarray) -> np.ndarray:
        return np.bincount(self.labels, self.weights, len(self.classes))[None, :]


def gaussians(
    n_columns: int = 4,
    n_classes: int = 2,
    n_clusters: int = 1,
    spread: Any = 1.0,
    means: Any = None,
    prior: Sequence[float] | None = None,
    random_state: int | None = 0,
) -> Stream:
    """Classes that are Gaussian clusters, or mixtures of several: numeric columns, independent within a cluster.

    Parameters
    ----------
    n_columns, n_classes : int
        How many numbers a row has, and how many classes there are.
    n_clusters : int, default=1
        Per class, with equal shares.
    spread : float or nested sequence, default=1.0
        The standard deviation: one for all, or like ``means``, per class and cluster a number or one per column.
    means : nested sequence, default=None
        Per class, a centre or a list of centres, which determines the numbers above. None draws centres between 0 and
        10.
    prior : sequence of float, default=None
        The prior probabilities of the classes. None makes them equal.
    random_state : int, default=0
        Seed of the model and its rows; None draws a new one.

    Returns
    -------
    Stream
        Rows without end.

    Examples
    --------
    >>> from tanager import generate
    >>> stream = generate.gaussians(means=[[[0, 0], [4, 4]], [[0, 4]]], spread=0.5)
    >>> stream
    <Stream of gaussians, 2 columns, 2 classes>
    >>> stream.posterior(stream.take(3)[0]).round(3)
    array([[0., 1.],
           [1., 0.],
           [1., 0.]])
    """
    return _stream("gaussians", 0.0, n_columns, n_classes, n_clusters, spread, means, prior, random_state)


def moving_gaussians(
    speed: float = 1e-4,
    n_columns: int = 4,
    n_classes: int = 2,
    n_clusters: int = 1,
    spread: Any = 1.0,
    means: Any = None,
    prior: Sequence[float] | None = None,
    random_state: int | None = 0,
) -> Stream:
    """Gaussian clusters that move, each in its own random direction, and bounce off walls at 0 and 10.

    Parameters
    ----------
    speed : float, default=1e-4
        The distance that a centre moves from one row to the next: with the default, 1 in 10,000 rows.
    n_columns, n_classes : int
        How many numbers a row has, and how many classes there are.
    n_clusters : int, default=1
        Per class, with equal shares.
    spread : float or nested sequence, default=1.0
        The standard deviation, as in ``gaussians``.
    means : nested sequence, default=None
        Where clusters start, as in ``gaussians``. None draws centres between 0 and 10.
    prior : sequence of float, default=None
        The prior probabilities of the classes. None makes them equal.
    random_state : int, default=0
        Seed of the model and its rows; None draws a new one.

    Returns
    -------
    Stream
        Rows without end.

    Examples
    --------
    After 1,000 rows the same places belong to the other class:

    >>> from tanager import generate
    >>> stream = generate.moving_gaussians(speed=0.01, means=[[2, 2], [8, 8]], random_state=1)
    >>> for start in (0, 1000):
    ...     print(stream.posterior([[2, 2], [8, 8]], start).round(2).tolist())
    [[1.0, 0.0], [0.0, 1.0]]
    [[0.0, 1.0], [1.0, 0.0]]
    """
    check_positive("speed", speed)
    return _stream("moving gaussians", speed, n_columns, n_classes, n_clusters, spread, means, prior, random_state)


def xor(spread: float = 0.5, random_state: int | None = 0) -> Stream:
    """Two columns, two classes with two clusters each on the diagonals of a square: no single column is informative.

    Naive Bayes, which looks at columns one by one, can only guess.

    Parameters
    ----------
    spread : float, default=0.5
        The standard deviation of the clusters, whose centres are at -1 and 1.
    random_state : int, default=0
        Seed of the rows; None draws a new one.

    Returns
    -------
    Stream
        Rows without end.

    Examples
    --------
    >>> from tanager import AODE, NaiveBayes, generate
    >>> stream = generate.xor()
    >>> X, y = stream.take(2000)
    >>> new_X, new_y = stream.take(1000, start=2000)
    >>> [round(model.fit(X, y).score(new_X, new_y), 2) for model in (NaiveBayes(), AODE())]
    [0.52, 0.96]
    >>> round(stream.accuracy(2000), 2)  # nobody can be better
    0.96
    """
    means = [[[-1.0, -1.0], [1.0, 1.0]], [[-1.0, 1.0], [1.0, -1.0]]]
    return _stream("xor", 0.0, 2, 2, 2, check_positive("spread", spread), means, None, random_state)


def overlap(error: float = 0.2, n_columns: int = 2, random_state: int | None = 0) -> Stream:
    """Two Gaussian classes that overlap such that the Bayes error is ``error``.

    Their centres are equally far apart in every column. For asking how close a classifier comes to what is possible.

    Parameters
    ----------
    error : float, default=0.2
        The share of rows that the best of all classifiers gets wrong, above 0 and below 0.5.
    n_columns : int, default=2
        How many numbers a row has.
    random_state : int, default=0
        Seed of the rows; None draws a new one.

    Returns
    -------
    Stream
        Rows without end.

    Examples
    --------
    >>> from tanager import NaiveBayes, generate
    >>> stream = generate.overlap(error=0.1)
    >>> X, y = stream.take(20_000)
    >>> model = NaiveBayes().fit(X[:10_000], y[:10_000])
    >>> float(round(1 - model.score(X[10_000:], y[10_000:]), 2)), round(1 - stream.accuracy(20_000), 2)
    (0.1, 0.1)
    """
    n = check_whole("n_columns", n_columns, 1)
    if not 0 < check_share("error", error, 0.5) < 0.5:
        raise OptionError(f"error={error!r} is not an option; give a number above 0 and below 0.5.")
    half = -NormalDist().inv_cdf(error) / np.sqrt(n)
    return _stream("overlap", 0.0, n, 2, 1, 1.0, [[[-half] * n], [[half] * n]], None, random_state)


def _stream(
    text: str,
    speed: float,
    n_columns: int,
    n_classes: int,
    n_clusters: int,
    spread: Any,
    means: Any,
    prior: Sequence[float] | None,
    random_state: int | None,
) -> Stream:
    seed, rng = model_rng(random_state)
    centres = _random_means(n_columns, n_classes, n_clusters, rng) if means is None else _given_means(means)
    if sum(map(len, centres)) > MAX_VALUES:
        raise OptionError(f"there are {sum(map(len, centres))} clusters; at most {MAX_VALUES} are possible. Use fewer.")
    k = len(centres)
    shares = np.full(k, 1 / k) if prior is None else np.array(check_shares("prior", prior, k))
    all_means = np.concatenate(centres)
    directions = rng.standard_normal(all_means.shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    source = Clusters(
        all_means,
        _spreads(spread, centres),
        speed * directions,
        np.repeat(np.arange(k), [len(own) for own in centres]),
        np.concatenate([np.full(len(own), share / len(own)) for own, share in zip(centres, shares, strict=True)]),
        text,
    )
    return stream_of(source, seed)


def _random_means(n_columns: int, n_classes: int, n_clusters: int, rng: np.random.Generator) -> list[np.ndarray]:
    n, k = check_whole("n_columns", n_columns, 1), check_whole("n_classes", n_classes, 1, MAX_VALUES)
    m = check_whole("n_clusters", n_clusters, 1, MAX_VALUES)
    return [rng.uniform(LOW, HIGH, (m, n)) for _ in range(k)]


def _given_means(means: Any) -> list[np.ndarray]:
    """Per class, centres as (n_clusters, n_columns)."""
    try:
        centres = [np.atleast_2d(np.array(own, dtype=float)) for own in means]
    except (TypeError, ValueError):
        centres = []
    shapes = {own.shape[1] for own in centres if own.ndim == 2}
    if len(shapes) != 1 or 0 in shapes or not all(own.ndim == 2 and np.isfinite(own).all() for own in centres):
        raise OptionError(
            "means must give, for each class, a centre or a list of centres with one number per column, such as "
            "[[[0, 0], [1, 1]], [[0, 1]]]."
        )
    return centres


def _spreads(spread: Any, centres: list[np.ndarray]) -> np.ndarray:
    """The spread of every cluster in every column."""
    n_columns = centres[0].shape[1]
    if is_number(spread, 0):
        return np.full((sum(map(len, centres)), n_columns), check_positive("spread", spread))
    try:
        each = [own for _, line in zip(centres, spread, strict=True) for own in (line if np.iterable(line) else [line])]
        spreads = np.array([np.broadcast_to(np.array(own, dtype=float), n_columns) for own in each])
    except (TypeError, ValueError):
        spreads = np.empty(0)
    if spreads.shape != (sum(map(len, centres)), n_columns) or not (spreads > 0).all():
        raise OptionError(
            f"spread={spread!r} is not an option; give a number above 0, or for each class a list with one per cluster."
        )
    return spreads
