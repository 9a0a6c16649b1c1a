"""Why a log-linear pool of members answers as it does: the reasons of every member, times its weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tanager.learning.classifier import Classifier
from tanager.scoring.explain import Explanation, Part


def explain_pool(
    members: Sequence[tuple[float, Classifier, Any]], answer: Any, against: Any, probability: float, rule: str
) -> Explanation:
    """One row, explained by members with their weights and the row as each of them sees it."""
    told = [(weight, model.explain_rows(row, answer, against)[0]) for weight, model, row in members if weight != 0.0]
    return Explanation(
        answer=answer,
        against=against,
        probability=probability,
        log_odds=sum(w * own.log_odds for w, own in told),
        prior=sum(w * own.prior for w, own in told),
        parts=tuple(Part(part.column, part.parents, w * part.log_odds) for w, own in told for part in own.parts),
        values={name: value for _, own in reversed(told) for name, value in own.values.items()},
        rule=rule,
    )
