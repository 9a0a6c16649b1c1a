"""Class weights that make few errors: by hill climbing, one class at a time."""

from __future__ import annotations

import numpy as np

from tanager import _kernels
from tanager.scoring.decision import TIE, decide, preference

NEAR = 1e-6  # in logs; what decides a tie is far below


def fewest_errors(
    log_joint: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    class_counts: np.ndarray,
    significance: float | None = None,
) -> np.ndarray:
    """Weights of the classes that make few errors: the best change of one weight, again and again."""
    k = log_joint.shape[1]
    log_weights, order = np.zeros(k), preference(class_counts).tolist()
    answers = _answers(log_joint, class_counts)
    step, errors = np.zeros(k), np.zeros(k)
    while len(log_joint) and k > 1:
        now, wrong = log_joint + log_weights, answers != labels
        _kernels.best_class_steps(now, labels, weights, order, TIE, step, errors)
        best = np.lexsort((np.abs(step), errors))[0]  # fewest errors, then the smallest change
        if not errors[best] < weights[wrong].sum() - 1e-9:
            break
        changed = _scaled(log_weights, best, step)
        # As good and as small, yet another change: nothing but the names of the classes could tell which to take.
        alike = (errors <= errors[best] + 1e-9) & (np.abs(step) <= abs(step[best]) + 1e-9)
        if any(np.abs(_scaled(log_weights, c, step) - changed).max() > 1e-6 for c in np.flatnonzero(alike).tolist()):
            break
        near = now[:, best] + max(step[best], 0.0) > now.max(axis=1) - NEAR  # elsewhere that class loses as before
        after = answers.copy()
        after[near] = _answers(log_joint[near] + changed, class_counts)
        mistakes = after != labels
        gained, lost = float(weights[wrong & ~mistakes].sum()), float(weights[mistakes & ~wrong].sum())
        if significance is not None and _by_chance(lost, gained) >= significance:
            break
        log_weights, answers = changed, after
    return np.exp(log_weights)


def _scaled(log_weights: np.ndarray, c: int, step: np.ndarray) -> np.ndarray:
    """The weights with a step of one class, the largest of them 1."""
    changed = log_weights.copy()
    changed[c] += step[c]
    return changed - changed.max()


def _by_chance(lost: float, gained: float) -> float:
    """How probable it is that no more than these are lost, where gain and loss are equally likely; of weights, too."""
    from scipy.special import betainc

    return float(betainc(gained, lost + 1.0, 0.5)) if gained > 0 else 1.0


def _answers(log_joint: np.ndarray, class_counts: np.ndarray) -> np.ndarray:
    return decide(np.exp(log_joint - log_joint.max(axis=1, keepdims=True)), class_counts, None)
