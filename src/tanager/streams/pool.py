"""Pool: one answer from those of several members, by weights that are learned along a stream."""

from __future__ import annotations

import numpy as np

from tanager import _kernels, saved

# Chosen on nine streams, real and generated: experiments/real_streams/README.md.
STEP = 0.3  # how far the gradients of the rows that still count move the weights together, about
KEEP = 0.999  # so much is left of squared gradients with every row
SHARE = 0.01  # of the weights of a linear pool is dealt out evenly with every row
LEAST = 1e-6  # probabilities below count as this: a member that rules a class out is not believed

KINDS = {"stacking": "logarithmic", "fixed-share": "linear"}


class Pool:
    """The weights of members, and what they make of the members' answers.

    ``mix="stacking"``: P(y) is proportional to the product of P_m(y) to the power w_m, and the weights follow the
    gradient of the log loss, in steps that fit the size of the gradients. ``mix="fixed-share"``: P(y) is the mean of
    P_m(y) by weights that are multiplied by what members gave to the true class. A single member answers for itself.
    """

    def __init__(self, mix: str, n_members: int) -> None:
        self.kind = KINDS[mix]
        self._take(np.full(n_members, 1.0 / n_members), np.zeros(1))

    def _take(self, weights: np.ndarray, square: np.ndarray) -> None:
        """Go on with these weights and this sum of squared gradients, which the kernels write to."""
        self.weights, self.square = weights, square
        # Arguments of the kernels.
        self.settings = self.kind, weights, square, STEP, KEEP, SHARE, LEAST

    def mix(self, answers: np.ndarray) -> np.ndarray:
        """What comes of answers (rows, members, classes)."""
        if len(self.weights) == 1:
            return answers[:, 0].copy()
        out = np.empty((answers.shape[0], answers.shape[2]))
        _kernels.mix_pool(*self.settings, answers, out)
        return out

    def learn(
        self, answers: np.ndarray, judged: np.ndarray | None, labels: np.ndarray, row_weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same row after row, and the weights after each; labels are class codes, too large where there is none.

        The weights learn from ``judged``, what members said of rows whose labels have come since; None: from the
        answers themselves.
        """
        if len(self.weights) == 1:
            return answers[:, 0].copy(), np.ones((len(answers), 1))
        out = np.empty((answers.shape[0], answers.shape[2]))
        trace = np.empty(answers.shape[:2])
        _kernels.learn_pool(*self.settings, answers, judged, labels, row_weights, out, trace)
        return out, trace

    # --- files --------------------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All that was learned."""
        return {"pool-weights": self.weights, "pool-square": self.square}

    def take_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        """Take back what ``to_arrays`` gave."""
        kinds = {"pool-weights": saved.numbers(len(self.weights)), "pool-square": saved.numbers(1)}
        own = saved.read("weights of its members", {name: arrays.get(name) for name in kinds}, kinds)
        self._take(*(np.array(own[name], dtype=float) for name in kinds))
