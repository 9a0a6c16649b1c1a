"""Class weights that make few errors: by hill climbing, one class at a time."""

from __future__ import annotations

import numpy as np

from tanager.scoring.decision import decide

NEAR = 1e-6  # in logs; what decides a tie is far below


def fewest_errors(
    log_joint: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    class_counts: np.ndarray,
    significance: float | None = None,
) -> np.ndarray:
    """Weights of the classes that make few errors: the best change of one weight, again and again."""
    m, k = log_joint.shape
    log_weights = np.zeros(k)
    answers = _answers(log_joint, class_counts)
    while True:
        now, wrong = log_joint + log_weights, answers != labels
        first, second = _two_best(now)
        changes = []
        for c in range(k) if m and k > 1 else ():
            rival = np.where(first == c, second, first)
            ratio = now[np.arange(m), rival] - now[:, c]  # class c wins from here on
            step = _best_weight(ratio, rival, c, labels, weights)
            changed = log_weights + np.where(np.arange(k) == c, step, 0.0)
            after = answers.copy()
            near = ratio < max(step, 0.0) + NEAR  # elsewhere class c loses to the same class before and after
            after[near] = _answers(log_joint[near] + changed, class_counts)
            changes.append((float(weights @ (after != labels)), abs(step), changed - changed.max(), after))
        if not changes:
            break
        errors, size, changed, after = min(changes, key=lambda change: change[:2])
        if not errors < weights @ wrong - 1e-9:
            break
        # As good and as small, yet another change: nothing but the names of the classes could tell which to take.
        alike = (other for e, s, other, _ in changes if e <= errors + 1e-9 and s <= size + 1e-9)
        if any(np.abs(other - changed).max() > 1e-6 for other in alike):
            break
        mistakes = after != labels
        gained, lost = float(weights @ (wrong & ~mistakes)), float(weights @ (mistakes & ~wrong))
        if significance is not None and _by_chance(lost, gained) >= significance:
            break
        log_weights, answers = changed, after
    return np.exp(log_weights)


def _by_chance(lost: float, gained: float) -> float:
    """How probable it is that no more than these are lost, where gain and loss are equally likely; of weights, too."""
    from scipy.special import betainc

    return float(betainc(gained, lost + 1.0, 0.5)) if gained > 0 else 1.0


def _answers(log_joint: np.ndarray, class_counts: np.ndarray) -> np.ndarray:
    return decide(np.exp(log_joint - log_joint.max(axis=1, keepdims=True)), class_counts, None)


def _two_best(log_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The class ahead of all others in every row, and the next; of equals the first."""
    first, rows = np.argmax(log_joint, axis=1), np.arange(len(log_joint))
    others = log_joint.copy()
    others[rows, first] = -np.inf
    return first, np.argmax(others, axis=1)


def _best_weight(ratio: np.ndarray, rival: np.ndarray, c: int, labels: np.ndarray, weights: np.ndarray) -> float:
    """What to add to the logs of class c: in the middle between two rows that change their answer, 0 where none.

    Class c wins a row from ``ratio`` on, against its ``rival``.
    """
    order = np.argsort(ratio, kind="stable")
    ratio = ratio[order]
    wins = (weights * (labels != c))[order]  # wrong where c wins
    loses = (weights * (labels != rival))[order]  # wrong where it does not
    errors = np.concatenate([[0.0], np.cumsum(wins)]) + loses.sum() - np.concatenate([[0.0], np.cumsum(loses)])
    between = np.concatenate([[ratio[0] - 1.0], (ratio[:-1] + ratio[1:]) / 2, [ratio[-1] + 1.0]])
    possible = np.concatenate([[True], ratio[1:] - ratio[:-1] > 1e-9, [True]]) & np.isfinite(between)
    errors = np.where(possible, errors, np.inf)
    best = np.flatnonzero(errors <= errors.min() + 1e-9)
    return float(between[best[np.argmin(np.abs(between[best]))]])
