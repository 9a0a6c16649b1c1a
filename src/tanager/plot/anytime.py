"""The error of anytime models by the number of super-parents used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.encoding.typing import LabelsLike, TableLike
from tanager.encoding.validation import check_lengths, one_dimensional
from tanager.errors import OptionError
from tanager.learning.anytime import AnytimeClassifier
from tanager.plot.curves import plot_curves
from tanager.plot.figure import Path

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_anytime(
    models: AnytimeClassifier | Mapping[str, AnytimeClassifier],
    X: TableLike,
    y: LabelsLike,
    path: Path | None = None,
    *,
    title: str | None = None,
) -> Figure:
    """The error of anytime models by the number of super-parents used: naive Bayes at the left, all at the right.

    Parameters
    ----------
    models : AnytimeAODE, AnytimeA2DE, or mapping from names to them
        Fitted models.
    X : table
        Rows that the models have not learned.
    y : array of labels
        The class of every row.
    path : path or None, default=None
        File to write; its extension sets the format: .png, .svg or .pdf.
    title : str or None, default=None
        What to write above the picture.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.

    Examples
    --------
    >>> from tanager import AnytimeAODE, plot_anytime
    >>> X, y = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "no"]], ["play", "play", "stay", "stay"]
    >>> figure = plot_anytime({"by errors": AnytimeAODE().fit(X, y)}, X, y)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['by errors  0.0000']
    """
    named = models if isinstance(models, Mapping) else {type(models).__name__: models}
    for name, model in named.items():
        if not isinstance(model, AnytimeClassifier):
            raise OptionError(
                f"plot_anytime: {name!r} is {type(model).__name__}, which is not an anytime model. Give "
                "AnytimeAODE or AnytimeA2DE."
            )
    truth = np.asarray(one_dimensional(y))
    curves = {str(name): _errors(model, X, truth) for name, model in named.items()}
    steps = max((len(curve) for curve in curves.values()), default=0)
    padded = {name: np.append(curve, [curve[-1]] * (steps - len(curve))) for name, curve in curves.items()}
    along = "super-parents used   (0: naive Bayes alone)"
    return plot_curves(np.arange(steps), padded, path, measure="error", along=along, title=title)


def _errors(model: AnytimeClassifier, X: Any, y: np.ndarray) -> np.ndarray:
    errors = []
    for answer in model.staged_answers(X):
        check_lengths(len(answer.proba), y)
        errors.append(float(np.mean(model.decide(answer.proba) != y)))
    return np.array(errors)
