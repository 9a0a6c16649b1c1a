"""Class weights that make few errors: by hill climbing, one class at a time."""

from __future__ import annotations

import numpy as np

from tanager.scoring.decision import decide


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
    wrong = _answers(log_joint, class_counts) != labels
    while True:
        trials = [_best_weight(log_joint + log_weights, c, labels, weights) for c in range(k)] if m and k > 1 else []
        changes = []
        for c, step in enumerate(trials):
            changed = log_weights + np.where(np.arange(k) == c, step, 0.0)
            mistakes = _answers(log_joint + changed, class_counts) != labels
            changes.append((float(weights @ mistakes), abs(step), changed - changed.max(), mistakes))
        if not changes:
            break
        errors, size, changed, mistakes = min(changes, key=lambda change: change[:2])
        if not errors < weights @ wrong - 1e-9:
            break
        # As good and as small, yet another change: nothing but the names of the classes could tell which to take.
        alike = (other for e, s, other, _ in changes if e <= errors + 1e-9 and s <= size + 1e-9)
        if any(np.abs(other - changed).max() > 1e-6 for other in alike):
            break
        gained, lost = float(weights @ (wrong & ~mistakes)), float(weights @ (mistakes & ~wrong))
        if significance is not None and _by_chance(lost, gained) >= significance:
            break
        log_weights, wrong = changed, mistakes
    return np.exp(log_weights)


def _by_chance(lost: float, gained: float) -> float:
    """How probable it is that no more than these are lost, where gain and loss are equally likely; of weights, too."""
    from scipy.special import betainc

    return float(betainc(gained, lost + 1.0, 0.5)) if gained > 0 else 1.0


def _answers(log_joint: np.ndarray, class_counts: np.ndarray) -> np.ndarray:
    return decide(np.exp(log_joint - log_joint.max(axis=1, keepdims=True)), class_counts, None)


def _best_weight(log_joint: np.ndarray, c: int, labels: np.ndarray, weights: np.ndarray) -> float:
    """What to add to the logs of class c: in the middle between two rows that change their answer, 0 where none."""
    others = np.delete(np.arange(log_joint.shape[1]), c)
    rival = others[np.argmax(log_joint[:, others], axis=1)]
    ratio = log_joint[np.arange(len(labels)), rival] - log_joint[:, c]  # class c wins from here on
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
