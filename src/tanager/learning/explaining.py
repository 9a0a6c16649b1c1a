"""Why a model answers a row as it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.encoding.tables import row_of_frame
from tanager.errors import DataError, OptionError, nearest
from tanager.scoring.explain import Explanation, Part

if TYPE_CHECKING:
    from tanager.learning.classifier import Classifier
    from tanager.learning.counts_classifier import CountsClassifier


def explain(model: CountsClassifier, row: Any, answer: Any = None, against: Any = None) -> Explanation:
    """The log-odds of an answer, shared out over columns and their parents; see ``CountsClassifier.explain``."""
    model.check_fitted()
    if len(model.classes_) < 2:
        raise DataError(f"there is nothing to explain: the only class is {model.classes_.tolist()[0]!r}.")
    one = row_of_frame(row)
    X = [one] if isinstance(one, Mapping) or one is not row else row
    query = model.encode(X)
    if len(query) != 1:
        raise DataError(f"explain takes one row, got {len(query)}. Explain them one by one.")
    proba = model._scores(X, log_joint=False)
    chosen, rival = classes_of(model, proba, answer, against)
    prior, parts = model.scorer_.explain(query, chosen, rival)
    log_odds = prior + sum(value for _, _, value in parts)
    if np.isnan(log_odds):
        both = " and ".join(repr(model.classes_.tolist()[c]) for c in (chosen, rival))
        raise DataError(
            f"{both} are both impossible for this row, so there are no odds between them. Explain another class, or "
            "give the model some smoothing."
        )
    names, columns = model.counts_.schema.names, model.counts_.schema.columns
    values = {
        name: columns[i].describe(int(code)) if code < columns[i].n_values else "?"
        for i, (name, code) in enumerate(zip(names, query.codes[0], strict=True))
    }
    return Explanation(
        answer=model.classes_.tolist()[chosen],
        against=model.classes_.tolist()[rival],
        probability=float(proba[0, chosen]),
        log_odds=log_odds,
        prior=prior,
        parts=tuple(Part(names[i], tuple(names[j] for j in parents), value) for i, parents, value in parts),
        values=values,
    )


def classes_of(model: Classifier, proba: np.ndarray, answer: Any, against: Any) -> tuple[int, int]:
    """Codes of the class that is explained and of the one it is set against."""
    known = model.class_codes
    for name, label in (("answer", answer), ("against", against)):
        if label is not None and label not in known:
            raise OptionError(f"{name}={label!r} is none of the classes.{nearest(label, known)}")
    if answer is not None and answer == against:
        raise OptionError(f"answer and against are both {answer!r}. Leave one out, or name two classes.")
    likely = np.argsort(-proba[0], kind="stable").tolist()
    chosen = known[model.decide(proba).tolist()[0] if answer is None else answer]
    if against is not None and chosen == known[against]:
        chosen = next(c for c in likely if c != chosen)
    return chosen, next(c for c in likely if c != chosen) if against is None else known[against]
