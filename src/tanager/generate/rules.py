"""Classes that follow from a rule: SEA, hyperplane, STAGGER, LED."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tanager.errors import OptionError, is_number
from tanager.generate.drifting import alternating
from tanager.generate.networks import NetworkSource
from tanager.generate.sources import Column, Noise, Source, bounce, check_share, check_whole
from tanager.generate.stream import Stream, model_rng, stream_of
from tanager.networks.network import Network

STAGGER = {
    "size": ("small", "medium", "large"),
    "colour": ("red", "green", "blue"),
    "shape": ("square", "circle", "triangle"),
}
CONCEPTS = {  # of STAGGER, over the codes of size, colour and shape
    1: lambda size, colour, shape: (size == 0) & (colour == 0),
    2: lambda size, colour, shape: (colour == 1) | (shape == 1),
    3: lambda size, colour, shape: size > 0,
}
SEGMENTS = ("top", "upper_left", "upper_right", "middle", "lower_left", "lower_right", "bottom")
DIGITS = ("1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011")


class Rule(Source):
    """Columns of uniform numbers; a row belongs to class 1 if a rule holds, else to class 0."""

    classes = (0, 1)

    @abstractmethod
    def holds(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Whether the rule holds for rows with these numbers."""

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = np.empty((len(rows), len(self.columns)), order="F")
        for i, column in enumerate(self.columns):
            X[:, i] = rng.uniform(column.low, column.high, len(rows))
        return X, self.holds(X, rows).astype(np.uint8)

    def log_joint(self, X: np.ndarray, rows: np.ndarray, noise: Noise) -> np.ndarray | None:
        """None if cells are missing or noisy; else the rule, as all rows are equally probable."""
        if noise.any or np.isnan(X).any():
            return None
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.eye(2)[self.holds(X, rows).astype(int)]))


class Sea(Rule):
    """Class 1 if the sum of the first two numbers is at most a threshold; the third is irrelevant."""

    def __init__(self, threshold: float) -> None:
        self.threshold, self.text = threshold, "SEA"
        self.columns = tuple(Column(f"x{i}", None, 0.0, 10.0) for i in (1, 2, 3))

    def holds(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.asarray(X[:, 0] + X[:, 1] <= self.threshold)

    def prior(self, rows: np.ndarray) -> np.ndarray:
        """The area of the square below the line."""
        below = min(self.threshold, 20 - self.threshold) ** 2 / 200
        below = below if self.threshold <= 10 else 1 - below
        return np.array([[1 - below, below]])


class Hyperplane(Rule):
    """Numbers from 0 to 1 with weights; class 1 if the weighted sum is above half of the sum of the weights."""

    def __init__(self, weights: np.ndarray, velocities: np.ndarray) -> None:
        self.weights, self.velocities = weights, velocities
        self.text = "rotating hyperplane" if velocities.any() else "hyperplane"
        self.columns = tuple(Column(f"x{i + 1}") for i in range(len(weights)))

    def holds(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        total = np.zeros(len(X))
        for i in range(X.shape[1]):
            weight = (
                bounce(self.weights[i] + self.velocities[i] * rows, 0.0, 1.0) if self.velocities[i] else self.weights[i]
            )
            total += weight * (X[:, i] - 0.5)
        return total > 0

    def prior(self, rows: np.ndarray) -> np.ndarray:
        """Rows mirrored at the centre of the cube belong to the other class."""
        return np.array([[0.5, 0.5]])


def sea(
    thresholds: float | Sequence[float] = (8, 9, 7, 9.5),
    every: int = 12_500,
    class_noise: float = 0.1,
    random_state: int | None = 0,
) -> Stream:
    """SEA: three numbers between 0 and 10; class 1 if the first two sum to at most a threshold, which changes.

    Parameters
    ----------
    thresholds : float or sequence of float, default=(8, 9, 7, 9.5)
        Used one after the other, starting over after the last. A single one never changes.
    every : int, default=12500
        Rows between two changes.
    class_noise : float, default=0.1
        The share of wrong labels.
    random_state : int, default=0
        Seed of the rows; None draws a new one.

    Returns
    -------
    Stream
        Rows without end.

    Notes
    -----
    W. N. Street and Y. Kim, A streaming ensemble algorithm (SEA) for large-scale classification, 2001.

    Examples
    --------
    >>> from tanager import generate
    >>> stream = generate.sea()
    >>> stream
    <Stream of SEA changing every 12,500 rows with 10 % wrong labels, 3 columns, 2 classes>
    >>> stream.drifts[:3], round(stream.accuracy(), 3)
    ((12500, 25000, 37500), 0.9)
    """
    values = list(thresholds) if isinstance(thresholds, Sequence | np.ndarray) else [thresholds]
    for value in values:
        if not (is_number(value, 0) and 0 < value < 20):
            raise OptionError(
                f"thresholds={thresholds!r} is not an option; give one or more numbers above 0 and below 20."
            )
    sources = [Sea(float(value)) for value in values]
    return alternating(sources, every, random_state).class_noise(check_share("class_noise", class_noise))


def hyperplane(
    n_columns: int = 10, change: float = 1e-5, n_changing: int | None = None, random_state: int | None = 0
) -> Stream:
    """A rotating hyperplane: numbers between 0 and 1, and class 1 if their weighted sum is above half of its maximum.

    Parameters
    ----------
    n_columns : int, default=10
        How many numbers a row has.
    change : float, default=1e-5
        By how much a weight changes from row to row. Weights stay between 0 and 1, where they bounce. 0: no change.
    n_changing : int, default=None
        How many of the weights change, starting with the first; None: all.
    random_state : int, default=0
        Seed of the weights and the rows; None draws a new one.

    Returns
    -------
    Stream
        Rows without end.

    Notes
    -----
    G. Hulten, L. Spencer and P. Domingos, Mining time-changing data streams, 2001.

    Examples
    --------
    Both weights move through their whole range every 1,000 rows. A model that forgets can follow:

    >>> from tanager import NaiveBayes, generate
    >>> from tanager.evaluate import prequential
    >>> stream = generate.hyperplane(n_columns=2, change=1e-3)
    >>> stream
    <Stream of rotating hyperplane, 2 columns, 2 classes>
    >>> models = {"remembers all": NaiveBayes(), "forgets": NaiveBayes(decay=0.99)}
    >>> results = prequential(models, stream, n_rows=4000)
    >>> for name in models:
    ...     print(name, results.curve(name)[-1].round(2))
    remembers all 0.83
    forgets 0.92
    """
    n = check_whole("n_columns", n_columns, 1)
    changing = n if n_changing is None else check_whole("n_changing", n_changing, 0, n)
    seed, rng = model_rng(random_state)
    weights = rng.random(n)
    velocities = check_share("change", change) * rng.choice([-1.0, 1.0], n) * (np.arange(n) < changing)
    return stream_of(Hyperplane(weights, velocities), seed)


def stagger(concepts: int | Sequence[int] = (1, 2, 3), every: int = 10_000, random_state: int | None = 0) -> Stream:
    """STAGGER: objects with a size, a colour and a shape, all equally probable; class 1 if a concept holds.

    Parameters
    ----------
    concepts : int or sequence of int, default=(1, 2, 3)
        1: small and red. 2: green, or a circle. 3: medium or large. Used one after the other, starting over after the
        last. A single one never changes.
    every : int, default=10000
        Rows between two changes.
    random_state : int, default=0
        Seed of the rows; None draws a new one.

    Returns
    -------
    Stream
        Rows without end.

    Notes
    -----
    J. C. Schlimmer and R. H. Granger, Incremental learning from noisy data, 1986.

    Examples
    --------
    >>> from tanager import generate
    >>> next(iter(generate.stagger()))
    ({'size': 'medium', 'colour': 'red', 'shape': 'triangle'}, 0)
    """
    chosen = list(concepts) if isinstance(concepts, Sequence | np.ndarray) else [concepts]
    if not chosen or not set(chosen) <= set(CONCEPTS):
        raise OptionError(f"concepts={concepts!r} is not an option; give one or more of 1, 2 and 3.")
    return alternating([_stagger(concept) for concept in chosen], every, random_state)


def _stagger(concept: int) -> NetworkSource:
    network = Network({"class": (0, 1), **STAGGER}, [(name, "class") for name in STAGGER])
    holds = CONCEPTS[concept](*np.indices((3, 3, 3)))
    even: dict[str, Any] = {name: [1 / 3] * 3 for name in STAGGER}
    return NetworkSource(network.with_tables(even | {"class": np.eye(2)[holds.astype(int)]}), "class", "STAGGER")


def led(noise: float = 0.1, random_state: int | None = 0) -> Stream:
    """The ten digits on a seven-segment display, each segment inverted with probability ``noise``.

    With 10 % noise the Bayes accuracy is 74 %. ``led().irrelevant(17)`` is the harder form.

    Parameters
    ----------
    noise : float, default=0.1
        The share of segments that are wrong.
    random_state : int, default=0
        Seed of the rows; None draws a new one.

    Returns
    -------
    Stream
        Rows without end.

    Notes
    -----
    L. Breiman, J. H. Friedman, R. A. Olshen and C. J. Stone, Classification and regression trees, 1984.

    Examples
    --------
    >>> from tanager import generate
    >>> stream = generate.led()
    >>> stream.posterior([[1, 1, 1, 0, 1, 1, 1]]).round(2)  # all but the middle one: most probably a 0, or an 8
    array([[0.88, 0.  , 0.  , 0.  , 0.  , 0.  , 0.01, 0.  , 0.1 , 0.01]])
    >>> round(stream.accuracy(10_000), 2)
    0.74
    """
    wrong = check_share("noise", noise)
    lit = np.array([[int(segment) for segment in digit] for digit in DIGITS])
    on = np.where(lit == 1, 1 - wrong, wrong)
    network = Network({"class": range(10)} | dict.fromkeys(SEGMENTS, (0, 1)), [("class", name) for name in SEGMENTS])
    tables: dict[str, Any] = {name: np.stack([1 - on[:, i], on[:, i]], axis=1) for i, name in enumerate(SEGMENTS)}
    return stream_of(
        NetworkSource(network.with_tables(tables | {"class": [0.1] * 10}), "class", "LED digits"), random_state
    )
