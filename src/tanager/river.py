"""Any classifier of tanager as a classifier of river. Needs the extra ``river``; nothing else imports this file."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, cast

import pandas as pd
from river.base import MiniBatchClassifier

from tanager.classifiers.naive_bayes import NaiveBayes
from tanager.errors import OptionError
from tanager.estimator import clone
from tanager.learning.classifier import Classifier


class RiverClassifier(MiniBatchClassifier):
    """A wrapper for use in river's pipelines, metrics and evaluation tools.

    Rows are dicts whose keys may change from row to row, with all values that the wrapped classifier accepts (text,
    numbers, missing values). The given classifier is not changed: the model that learns is ``learned``.

    Parameters
    ----------
    model : classifier
        A classifier of tanager. Its options are used, not what it has learned.

    Examples
    --------
    >>> from river import evaluate, metrics
    >>> from tanager import AODE
    >>> from tanager.river import RiverClassifier
    >>> rows = [({"sky": "sun", "wind": "no"}, "play"), ({"sky": "rain", "wind": "yes"}, "stay")] * 10
    >>> evaluate.progressive_val_score(rows, RiverClassifier(AODE()), metrics.Accuracy())
    Accuracy: 94.74%
    """

    def __init__(self, model: Classifier) -> None:
        if not isinstance(model, Classifier):
            raise OptionError(
                f"model={model!r} is not a classifier of tanager. Give one, such as RiverClassifier(AODE())."
            )
        self.model = model
        self.learned: Classifier = clone(model)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": NaiveBayes()}

    @property
    def _multiclass(self) -> bool:
        return True

    # The order of keys has no meaning in river, so columns are sorted by name.

    def learn_one(self, x: Mapping[Hashable, Any], y: Any) -> None:
        """Learn one row. New keys become new columns, absent keys are missing; a row without a label is skipped."""
        row = _with_names(x)
        self.learned.learn_one({name: row[name] for name in sorted(row)}, y)

    def predict_proba_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Probability of every class known so far; empty before the first row."""
        return self.learned.predict_proba_one(_with_names(x))

    def predict_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> Any:
        """The most probable class, or with a cost matrix the one of least expected loss; None before the first row."""
        return self.learned.predict_one(_with_names(x))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn a frame, row by row: columns may differ between frames."""
        for row, label in zip(X.to_dict("records"), y.tolist(), strict=True):
            self.learn_one(row, label)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Probabilities of a frame: one row each, one column per class; empty before the first row."""
        rows = [self.predict_proba_one(row) for row in X.to_dict("records")]
        return pd.DataFrame(rows, index=X.index)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The predicted classes of a frame."""
        return pd.Series([self.predict_one(row) for row in X.to_dict("records")], index=X.index)


def _with_names(x: Mapping[Hashable, Any]) -> Mapping[str, Any]:
    """Keys as text: river allows any hashable key, tanager only text."""
    if all(type(name) is str for name in x):
        return cast(Mapping[str, Any], x)
    return {str(name): value for name, value in x.items()}
