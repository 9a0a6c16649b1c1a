"""Which rows are training and which are test rows: stratified folds, blocks of neighbours, and a stratified holdout."""

from __future__ import annotations

import numpy as np

from tanager.errors import OptionError


def stratified_folds(labels: np.ndarray, folds: int = 10, seed: int = 1) -> np.ndarray:
    """The fold of every row, from 0 on.

    The rows are shuffled, then the rows of each class are dealt out in turn, starting where the class before stopped.
    So every fold has its share of every class, and the sizes of the folds differ by at most one.

    Parameters
    ----------
    labels : array of int
        Class codes, from 0 on.
    folds : int, default=10
        How many folds there are.
    seed : int, default=1
        The same seed gives the same folds. Repetition r uses seed + r.

    Returns
    -------
    array of int of shape (n_rows,)
        From 0 to ``folds`` - 1.

    Examples
    --------
    >>> labels = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    >>> fold = stratified_folds(labels, folds=5)
    >>> np.bincount(fold)
    array([2, 2, 2, 2, 2])
    """
    labels = np.asarray(labels)
    check_folds(folds, len(labels))
    dealt = _by_class(labels, seed)
    fold = np.empty(len(labels), dtype=np.int64)
    fold[dealt] = np.arange(len(labels)) % folds
    return fold


def stratified_holdout(labels: np.ndarray, share: float = 0.3, seed: int = 1) -> np.ndarray:
    """Which rows are held out, as booleans: this share of all rows, and of each class to within one row.

    Parameters
    ----------
    labels : array of int
        Class codes, from 0 on.
    share : float, default=0.3
        The share of the rows to hold out, above 0 and below 1.
    seed : int, default=1
        The same seed holds out the same rows.

    Returns
    -------
    array of bool of shape (n_rows,)
        True for rows that are held out.

    Examples
    --------
    >>> stratified_holdout(np.array([0, 0, 0, 0, 1, 1]), share=0.5).sum()
    np.int64(3)
    """
    labels = np.asarray(labels)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise OptionError(f"share={share!r}: give the share of the rows to hold out, above 0 and below 1.")
    steps = np.floor(np.arange(len(labels) + 1) * share + 1e-9)
    held = np.zeros(len(labels), dtype=bool)
    held[_by_class(labels, seed)] = steps[1:] > steps[:-1]
    if not held.any():
        raise OptionError(f"share={share!r} of {len(labels)} rows is less than one row. Use a larger share.")
    return held


def blocked_folds(n_rows: int, folds: int = 10) -> np.ndarray:
    """The fold of every row, from 0 on: neighbours are in one fold, and sizes differ by at most one.

    >>> blocked_folds(7, folds=3)
    array([0, 0, 0, 1, 1, 2, 2])
    """
    check_folds(folds, n_rows)
    sizes = np.full(folds, n_rows // folds)
    sizes[: n_rows % folds] += 1
    return np.repeat(np.arange(folds), sizes)


def check_folds(folds: object, n_rows: int) -> None:
    """Raise unless so many rows can be split into so many folds."""
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
        raise OptionError(f"folds={folds!r}: give a whole number of at least 2.")
    if folds > n_rows:
        raise OptionError(f"folds={folds} needs at least {folds} rows, and there are {n_rows}. Use fewer folds.")


def _by_class(labels: np.ndarray, seed: int) -> np.ndarray:
    """The rows in random order, class after class."""
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    return shuffled[np.argsort(labels[shuffled], kind="stable")]
