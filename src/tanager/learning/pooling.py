"""Pools: the answers of several classifiers become one, by weights that suit rows they had not learned.

Answers come as one array (members, rows, classes). The weights are only as honest as the answers: give those of rows
that were left out. Equal weights are the yardstick in either case.
"""

from __future__ import annotations

import numpy as np

from tanager.scoring.newton import least

SMALLEST = 1e-9  # a member that gives a class less than this would rule it out for all others in a logarithmic pool
_EM_STEPS = 5
_GAP = 1e-7  # nats per row to the best weights that may be left


def linear_pool(p: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> np.ndarray:
    """Weights w >= 0 that add up to 1 and maximise the likelihood of sum_m w_m p_m(y).

    Parameters
    ----------
    p : array (members, rows, classes)
        Probabilities of the classes for rows that the members had not learned.
    y : array (rows,)
        The code of the true class of every row.
    sample_weight : array (rows,) or None
        How much every row counts.

    Notes
    -----
    EM replaces w_m by its share of the answers that came true, the mean over the rows of w_m p_m(y) / sum w p(y). It
    finds the way and then takes thousands of steps, so Newton's method goes on: the best w >= 0 of
    mean log sum_m w_m p_m(y) - sum_m w_m add up to 1 by themselves. Both are concave. At weights w that add up to 1
    none are better by more than max_m g_m - 1, with g_m the mean of p_m(y) / sum w p(y); there the search ends.

    Examples
    --------
    One member is right about both rows, the other about the first alone:

    >>> import numpy as np
    >>> p = np.array([[[0.8, 0.2], [0.2, 0.8]], [[0.8, 0.2], [0.8, 0.2]]])
    >>> linear_pool(p, np.array([0, 1]))
    array([1., 0.])
    """
    own, weights = _own(np.asarray(p, dtype=np.float64), np.asarray(y), sample_weight)
    w = np.full(len(own), 1.0 / len(own))
    if not len(weights):
        return w
    for _ in range(_EM_STEPS):
        w = w * (own @ (weights / (w @ own)))

    def loss(w: np.ndarray) -> float:
        with np.errstate(divide="ignore"):
            return float(w.sum() - weights @ np.log(w @ own))

    def slope(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ratio = own / (w @ own)
        return 1.0 - ratio @ weights, (ratio * weights) @ ratio.T

    def done(w: np.ndarray, gradient: np.ndarray) -> bool:
        # for w that do not quite add up to 1, gradients are those of w / sum w but for the factor sum w
        return bool(((1.0 - gradient) * w.sum()).max() - 1.0 < _GAP)

    w = least(w, loss, slope, done=done)
    return np.asarray(w / w.sum())


def log_pool(
    log_p: np.ndarray,
    y: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    penalty: float = 1.0,
    centre: float | None = None,
) -> np.ndarray:
    """Weights w >= 0 that maximise the likelihood of P(y) proportional to exp(sum_m w_m log p_m(y)).

    They need not add up to 1: larger ones make answers surer. ``penalty`` times sum_m (w_m - 1 / members)^2 draws them
    towards the geometric mean, against the sum of the log losses of all rows. The loss is convex.

    Parameters
    ----------
    log_p : array (members, rows, classes)
        Logs of the probabilities of the classes for rows that the members had not learned; -inf counts as log 1e-9.
    y : array (rows,)
        The code of the true class of every row.
    sample_weight : array (rows,) or None
        How much every row counts.
    penalty : float, default=1.0
        How strongly weights are drawn towards equal ones.
    centre : float or None, default=None
        What they are drawn towards; None is 1 / members.

    Examples
    --------
    One member that gives the true class 0.8 in nine of ten rows is not sure enough: 0.8^w / (0.8^w + 0.2^w) = 0.9 has
    the solution w = log 9 / log 4.

    >>> import numpy as np
    >>> log_p = np.log([[[0.8, 0.2]] * 10])
    >>> log_pool(log_p, np.array([0] * 9 + [1]), penalty=0.0).round(4)
    array([1.585])
    """
    odds, weights = _log_odds(np.asarray(log_p, dtype=np.float64), np.asarray(y), sample_weight)
    n_members, n_rows, n_others = odds.shape
    equal = 1.0 / n_members if centre is None else centre
    if n_rows == 0 or n_others == 0:
        return np.full(n_members, equal)
    flat = odds.reshape(n_members, -1)

    def shares(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P of the other classes, and -log P of the true one."""
        z = (w @ flat).reshape(n_rows, n_others)
        top = np.maximum(z.max(axis=1), 0.0)
        share = np.exp(z - top[:, None])
        total = share.sum(axis=1) + np.exp(-top)
        return share / total[:, None], np.log(total) + top

    def loss(w: np.ndarray) -> float:
        return float(weights @ shares(w)[1] + penalty * ((w - equal) ** 2).sum())

    def slope(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share, _ = shares(w)
        mean = np.einsum("mrc,rc->mr", odds, share)
        second = (flat * (share * weights[:, None]).ravel()) @ flat.T - (mean * weights) @ mean.T
        return mean @ weights + 2.0 * penalty * (w - equal), second + 2.0 * penalty * np.eye(n_members)

    return least(np.full(n_members, equal), loss, slope)


def linear_pooled(p: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The answers (rows, classes) of a linear pool of members with these weights."""
    return np.asarray(np.tensordot(weights, p, axes=1))


def log_pooled(log_p: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The answers (rows, classes), as probabilities, of a logarithmic pool of members with these weights."""
    z = np.tensordot(weights, np.maximum(log_p, np.log(SMALLEST)), axes=1)
    z -= z.max(axis=1, keepdims=True)
    np.exp(z, out=z)
    return np.asarray(z / z.sum(axis=1, keepdims=True))


def _counting(y: np.ndarray, sample_weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Which rows count, and how much each of them does."""
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    rows = np.flatnonzero(weights > 0.0)
    return rows, weights[rows]


def _own(p: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the true classes (members, rows), and weights of the rows that add up to 1.

    Only ratios between members matter, so the best of each row is 1; a row that no member holds possible has none.
    """
    rows, weights = _counting(y, sample_weight)
    own = p[:, rows, y[rows]]
    best = own.max(axis=0, initial=0.0)
    possible = best > 0.0
    own, weights = own[:, possible] / best[possible], weights[possible]
    return own, weights / weights.sum() if len(weights) else weights


def _log_odds(log_p: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of every other class against the true one (members, rows, classes - 1), and weights of the rows."""
    rows, weights = _counting(y, sample_weight)
    n_members, _, n_classes = log_p.shape
    true = y[rows].astype(np.intp)
    others = np.arange(n_classes - 1)[None, :] + (np.arange(n_classes - 1)[None, :] >= true[:, None])
    odds = np.empty((n_members, len(rows), max(n_classes - 1, 0)))
    least = np.log(SMALLEST)
    for member, logs in enumerate(log_p):  # one after the other: the whole may be as large as memory allows
        logs = np.maximum(logs[rows], least)
        odds[member] = np.take_along_axis(logs, others, axis=1) - np.take_along_axis(logs, true[:, None], axis=1)
    return odds, weights
