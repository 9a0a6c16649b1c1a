"""A part of the page Decide: what wrong answers cost, and what the classifier should then answer."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from tanager.evaluate import confusion, expected_cost
from tanager.scoring.decision import check_costs, decide
from tanager.studio.actions import Actions
from tanager.studio.models import left_out_of
from tanager.studio.session import Session

actions = Actions("costs")

Costs = tuple[tuple[float, ...], ...]


@actions.add
def show(session: Session) -> dict[str, Any]:
    """The present costs, or one for every wrong answer, and what follows from them."""
    classes, given = session.prepared.classes, session.document.costs
    costs = given if given is not None else _alike(len(classes))
    shown = {"classes": [str(label) for label in classes.tolist()], "costs": costs, "given": given is not None}
    return shown | {"figures": figures(session, costs)}


@actions.add
def figures(session: Session, costs: Costs) -> dict[str, Any]:
    """What rows that were left out cost: answered for least cost, and by the most probable class."""
    prepared = session.prepared
    matrix = check_costs(costs, prepared.classes)
    assert matrix is not None
    proba, k = left_out_of(session), len(prepared.classes)
    counts = np.bincount(prepared.labels, minlength=k)
    plain, careful = decide(proba, counts, None), decide(proba, counts, matrix)
    saved = matrix[prepared.labels, plain] - matrix[prepared.labels, careful]
    return {
        "plain": _summary(prepared.labels, plain, matrix),
        "careful": _summary(prepared.labels, careful, matrix),
        "saved": float(saved.mean()),
        "margin": float(1.96 * saved.std(ddof=1) / np.sqrt(len(saved))) if len(saved) > 1 else None,
        "threshold": _threshold(matrix) if k == 2 else None,
        "changed": int((plain != careful).sum()),
        "rows": len(saved),
    }


@actions.add
def use(session: Session, costs: Costs | None) -> dict[str, Any]:
    """From now on the classifier answers for least cost; None: by the most probable class."""
    check_costs(costs, session.prepared.classes)
    document = msgspec.structs.replace(session.document, costs=costs)
    matrix = None if costs is None else [list(row) for row in costs]
    session.change("costs of errors" if costs else "all errors cost the same", document, (f"costs = {matrix!r}",))
    return show(session)


def _summary(labels: np.ndarray, answers: np.ndarray, costs: np.ndarray) -> dict[str, Any]:
    return {
        "cost": expected_cost(labels, answers, costs),
        "accuracy": float((labels == answers).mean()),
        "confusion": confusion(labels, answers, len(costs)),
    }


def _threshold(costs: np.ndarray) -> float | None:
    """The probability of the second class from which on it is the cheaper answer; None: that does not depend on it."""
    first = costs[0, 1] - costs[0, 0]  # what answering the second costs where the first is true
    second = costs[1, 0] - costs[1, 1]
    return float(first / (first + second)) if first >= 0 and second >= 0 and first + second > 0 else None


def _alike(k: int) -> Costs:
    return tuple(tuple(float(c != d) for d in range(k)) for c in range(k))
