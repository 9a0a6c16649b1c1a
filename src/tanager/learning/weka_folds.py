"""A tree of naive Bayes classifiers as Weka grows it: folds follow the order of the rows.

Errors of a node are those of five-fold cross-validation over its rows, cut in their order; errors of a split are the
sum over its parts, the rows of each part shuffled by the generator of Java (seed 1 for each column) and stratified
first. A part with fewer than ``min_child`` rows counts as wrong altogether. Products are formed column by column, so
that ties between classes fall as they do there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.learning.value_tree import ValueTree

FOLDS = 5
_LEAST = 2.0  # weight of known rows that two values of a column must have at least
_SMALL = 1e-75  # products below are scaled up


class JavaRandom:
    """The linear congruential generator of ``java.util.Random``, as its documentation defines it."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def _next(self) -> int:
        """The next 31 bits."""
        self._state = (self._state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return self._state >> 17

    def below(self, bound: int) -> int:
        """A whole number from 0 to bound - 1, all alike."""
        bits = self._next()
        if bound & (bound - 1) == 0:
            return (bound * bits) >> 31
        while bits - bits % bound + bound - 1 >= 1 << 31:  # the last, incomplete run of numbers
            bits = self._next()
        return bits % bound


def shuffled(n: int, random: JavaRandom) -> list[int]:
    """The places 0 to n - 1 in a random order; each swap depends on those before, so this is a loop."""
    order = list(range(n))
    for at in range(n - 1, 0, -1):
        other = random.below(at + 1)
        order[at], order[other] = order[other], order[at]
    return order


def stratified(order: list[int], labels: np.ndarray, folds: int = FOLDS) -> np.ndarray:
    """The places again, dealt out so that consecutive parts have about the same classes.

    Rows are brought together by class through swaps, and then every ``folds``-th one is taken, from each start in turn.
    """
    order, at = list(order), 1
    of = labels.tolist()
    while at < len(order):
        own = of[order[at - 1]]
        for other in range(at, len(order)):
            if of[order[other]] == own:
                order[at], order[other] = order[other], order[at]
                at += 1
        at += 1
    return np.array([place for start in range(folds) for place in order[start::folds]], dtype=np.intp)


def consecutive(n: int, folds: int = FOLDS) -> np.ndarray:
    """The fold of each of n rows: consecutive parts, the first ones a row longer where it does not come out even."""
    return np.repeat(np.arange(folds), [n // folds + (fold < n % folds) for fold in range(folds)])


@dataclass(frozen=True)
class _Part:
    """Rows of a node: codes, labels and weights, in their order."""

    codes: np.ndarray
    labels: np.ndarray
    weights: np.ndarray

    def take(self, rows: np.ndarray) -> _Part:
        return _Part(self.codes[rows], self.labels[rows], self.weights[rows])

    def weighing(self, weights: np.ndarray) -> _Part:
        return _Part(self.codes, self.labels, weights)

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class WekaGrower:
    """Grows the tree; ``pseudo`` is added to every cell of each column, ``of_class`` to that of each class."""

    n_values: np.ndarray
    n_classes: int
    pseudo: list[float]
    of_class: float
    min_rows: float
    min_child: float
    min_gain: float
    heaviest: bool

    def tree(self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> ValueTree:
        """The tree for these rows."""
        return self._grow(_Part(codes, labels.astype(np.intp), weights))

    def _grow(self, part: _Part) -> ValueTree:
        if len(part) < FOLDS or part.weights.sum() < self.min_rows or len(np.unique(part.labels)) < 2:
            return ValueTree()
        errors = self._errors(part)
        if errors == 0:
            return ValueTree()
        best, least = -1, errors
        for i in range(len(self.n_values)):
            found = self._split_errors(part, i)
            if found is not None and found < least:
                best, least = i, found
        if best < 0 or (errors - least) / errors < self.min_gain:
            return ValueTree()
        return self._split(part, best)

    def _split(self, part: _Part, i: int) -> ValueTree:
        """A split by column i, with a child for every value that rows have."""
        codes, children = np.flatnonzero(self._masses(part, i)), []
        shares = self._shares(part, i)[codes]
        gone = part.codes[:, i] >= self.n_values[i]
        for code, share in zip(codes.tolist(), shares.tolist(), strict=True):
            own = part.codes[:, i] == code
            children.append(self._grow(_shared(part, own | gone if share > 0 else own, gone, share)))
        return ValueTree(i, tuple(codes.tolist()), tuple(shares.tolist()), tuple(children))

    def _shares(self, part: _Part, i: int) -> np.ndarray:
        mass = self._masses(part, i)
        return (np.arange(len(mass)) == np.argmax(mass)).astype(float) if self.heaviest else mass / mass.sum()

    def _masses(self, part: _Part, i: int) -> np.ndarray:
        known = part.codes[:, i] < self.n_values[i]
        return np.bincount(part.codes[known, i], part.weights[known], minlength=int(self.n_values[i]))

    def _split_errors(self, part: _Part, i: int) -> float | None:
        """The errors of a split by column i; None where fewer than two of its parts are large enough."""
        if np.sum(self._masses(part, i) >= _LEAST) < 2:
            return None
        random, shares = JavaRandom(1), self._shares(part, i)
        gone = part.codes[:, i] >= self.n_values[i]
        errors, n_large = 0.0, 0
        for code, share in enumerate(shares):
            own = _shared(part, gone | (part.codes[:, i] == code), gone, share)  # also where the share is 0
            if len(own) < max(self.min_child, FOLDS):
                errors += float(own.weights.sum())
                continue
            n_large += 1
            errors += self._errors(own.take(stratified(shuffled(len(own), random), own.labels)))
        return errors if n_large > 1 else None

    def _errors(self, part: _Part) -> float:
        """The weight of the rows that naive Bayes answers wrongly which has not learned their fold."""
        fold, k = consecutive(len(part)), self.n_classes
        proba = _frequencies(fold * k + part.labels, part.weights, (1, k), self.of_class)[fold, 0]
        for i, r in enumerate(self.n_values.tolist()):
            known = np.flatnonzero(part.codes[:, i] < r)
            at, cells = fold[known], part.codes[known, i].astype(np.intp)
            tables = _frequencies(
                (at * k + part.labels[known]) * r + cells, part.weights[known], (k, r), self.pseudo[i]
            )
            proba[known] *= tables[at, :, cells]
            largest = proba.max(axis=1)
            proba[(largest > 0) & (largest < _SMALL)] *= 1 / _SMALL
        proba /= np.add.accumulate(proba, axis=1)[:, -1:]
        return float(part.weights[proba.argmax(axis=1) != part.labels].sum())


def _shared(part: _Part, own: np.ndarray, gone: np.ndarray, share: float) -> _Part:
    """The rows of a child, those without a value by its share."""
    return part.weighing(np.where(gone, part.weights * share, part.weights)).take(own)


def _frequencies(cell: np.ndarray, weights: np.ndarray, shape: tuple[int, int], pseudo: float) -> np.ndarray:
    """[fold, context, value]: smoothed frequencies of the values in each context, from the rows of all other folds."""
    held = np.bincount(cell, weights, minlength=FOLDS * shape[0] * shape[1]).reshape(FOLDS, *shape)
    rest = held.sum(axis=0) - held + pseudo
    return np.asarray(rest / rest.sum(axis=-1, keepdims=True))
