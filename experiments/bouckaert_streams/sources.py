"""Where the rows come from: random models, what is done to their rows, and the best that any classifier could do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tanager import Network, generate
from tanager.generate import Stream

SOURCES: dict[str, Callable[..., Stream]] = {  # 19, 37 and 50 arcs
    "NB": generate.naive_bayes,
    "TAN": generate.tan,
    "BAN": generate.ban,
}
STREAMS = ("plain", "irrelevant", "noise", "missing")
IN_FRONT = "irrelevant, in front"
N_COLUMNS, N_IRRELEVANT, RATE = 19, 10, 0.05
MISSING = 255


@dataclass(frozen=True)
class Best:
    """The classifier that knows the source: P(row, class) of each of the 2^19 rows that there are."""

    joint: np.ndarray  # (rows, classes)

    @classmethod
    def of(cls, network: Network, noise: float = 0.0) -> Best:
        """Of a network whose cells are replaced, with a probability of ``noise``, by either value alike."""
        cells = np.ones((2,) * len(network))
        for name in network:
            family = [network.index(member) for member in (*network.parents(name), name)]
            table = network.tables[name].transpose(np.argsort(family))
            cells *= table.reshape([2 if i in family else 1 for i in range(len(network))])
        for axis in range(1, len(network)) if noise else ():
            cells = (1 - noise) * cells + noise / 2 * cells.sum(axis=axis, keepdims=True)
        return cls(np.ascontiguousarray(cells.reshape(2, -1).T))

    def answers(self, codes: np.ndarray) -> np.ndarray:
        """Whether the second class is the more probable one, for every row."""
        joint = self.weigh(codes)
        return joint[:, 1] > joint[:, 0]

    def weigh(self, codes: np.ndarray) -> np.ndarray:
        """P(row, class)."""
        ones, gaps = np.zeros((2, len(codes)), dtype=np.int32)
        for column in codes.T:
            ones, gaps = ones << 1 | (column == 1), gaps << 1 | (column == MISSING)
        return self._sum(ones, gaps)

    def _sum(self, ones: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """The first gap of a row is summed out, then the next; each column is one bit of these numbers."""
        joint = self.joint[ones]
        rows = np.flatnonzero(gaps)
        if len(rows):
            ones, gaps = ones[rows], gaps[rows]
            gap = gaps & -gaps
            joint[rows] = self._sum(ones, gaps ^ gap) + self._sum(ones | gap, gaps ^ gap)
        return joint


class Rows:
    """A source with something done to its rows, and the best answers to them."""

    def __init__(self, source: str, seed: int, stream: str) -> None:
        plain = SOURCES[source](random_state=seed)
        assert plain.network is not None
        self.stream: Stream = {
            "plain": plain,
            "irrelevant": plain.irrelevant(N_IRRELEVANT),
            IN_FRONT: plain.irrelevant(N_IRRELEVANT),
            "noise": plain.noise(RATE),
            "missing": plain.missing(RATE),
        }[stream]
        self.in_front = N_IRRELEVANT if stream == IN_FRONT else 0
        self.best = Best.of(plain.network, RATE if stream == "noise" else 0.0)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        names = self.stream.names
        return (*names[len(names) - self.in_front :], *names[: len(names) - self.in_front])

    def chunks(self, n_rows: int, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """So many rows, as codes and classes."""
        for codes, labels in self.stream.chunks(n_rows, size):
            yield np.roll(codes, self.in_front, axis=1) if self.in_front else codes, labels

    def best_answers(self, codes: np.ndarray) -> np.ndarray:
        """What the classifier that knows the source answers."""
        return self.best.answers(codes[:, self.in_front : self.in_front + N_COLUMNS])
