"""How much each column matters: by how much left-out rows are answered worse where it is not known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.counts.block import Block
from tanager.display import bars, element, page
from tanager.errors import OptionError, is_number, nearest
from tanager.learning.counts_classifier import CountsClassifier
from tanager.scoring.calibration import Calibrated
from tanager.scoring.gaussian import Gaussian
from tanager.scoring.pooled import Pooled
from tanager.scoring.scorer import Scorer
from tanager.scoring.subsumption import Subsumption
from tanager.scoring.view import View
from tanager.shortcuts import public

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from tanager.encoding.typing import LabelsLike, TableLike, WeightsLike

SMALLEST = 1e-15  # that a probability counts as, in a log loss


@dataclass(frozen=True, eq=False, repr=False)
class Importance:
    """By how much the log loss of rows rises where a column is not known, the largest rise first.

    Parameters
    ----------
    columns : tuple of str
        The columns, the one that matters most first.
    increase : array of shape (n_columns,)
        The mean rise of the log loss per row, in nats. Below 0 the model would answer better without the column.
    error : array of shape (n_columns,)
        The standard error of that mean: both losses are of the same rows, so their differences are averaged.
    low, high : array of shape (n_columns,)
        An interval around each mean, of the level ``confidence``.
    log_loss, n_rows : float
        The log loss with all columns, and how many rows there were (the sum of their weights).
    confidence : float
        The level of the intervals.

    Examples
    --------
    >>> from tanager import NaiveBayes, importance
    >>> X = {"sky": ["sun", "sun", "rain", "rain"] * 5, "wind": ["no", "yes", "no", "yes"] * 5}
    >>> y = ["play", "play", "stay", "stay"] * 5
    >>> found = importance(NaiveBayes().fit(X, y), X, y)
    >>> found.columns, found.increase.round(4).tolist()
    (('sky', 'wind'), [0.6878, -0.0091])
    """

    columns: tuple[str, ...]
    increase: np.ndarray
    error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    log_loss: float
    n_rows: float
    confidence: float

    def to_frame(self) -> pd.DataFrame:
        """As a table.

        Returns
        -------
        pandas.DataFrame
            A line for each column: increase, error, low, high.
        """
        import pandas as pd

        numbers = {name: getattr(self, name) for name in ("increase", "error", "low", "high")}
        return pd.DataFrame(numbers, index=pd.Index(self.columns, name="column"))

    def plot(self, path: str | PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw it; see ``tanager.plot_importance``.

        Parameters
        ----------
        path : str or path, default=None
            Where to write the picture; .png, .svg or .pdf.
        **options : object
            Options of ``tanager.plot_importance``.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        figure: Figure = public("plot_importance")(self, path, **options)
        return figure

    def __str__(self) -> str:
        width = max(map(len, self.columns), default=0)
        lines = [f"log loss {self.log_loss:.4f} over {self.n_rows:,.0f} rows; without a column it rises by"]
        for name, *numbers in zip(self.columns, self.increase, self.low, self.high, strict=True):
            rise, low, high = numbers
            lines.append(f"  {name:<{width}}  {rise:+.4f}  ({low:+.4f} to {high:+.4f})")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        about = f" by how much the log loss, {self.log_loss:.4f} over {self.n_rows:,.0f} rows, rises without a column"
        rises = [
            (name, float(rise), f"{rise:+.4f}  ({low:+.4f} to {high:+.4f})")
            for name, rise, low, high in zip(self.columns, self.increase, self.low, self.high, strict=True)
        ]
        return page(element("span", element("b", "Importance"), about), bars(rises))


def importance(
    model: CountsClassifier,
    X: TableLike,
    y: LabelsLike,
    sample_weight: WeightsLike | None = None,
    *,
    columns: Iterable[str] | None = None,
    learned: bool = True,
    confidence: float = 0.95,
) -> Importance:
    """How much each column matters to a model: by how much the log loss rises where the column is not known.

    A column that is not known is missing: what it would have said is left out, and the model answers from the others.
    Nothing is learned again. Columns that repeat each other share what they know, and each alone seems to matter
    little.

    Parameters
    ----------
    model : CountsClassifier
        Fitted.
    X, y : table and labels
        The rows that the model has learned, or (``learned=False``) others.
    sample_weight : array, default=None
        Weights of the rows.
    columns : iterable of str, default=None
        The columns to ask about. Default: all.
    learned : bool, default=True
        Whether the model has learned these rows. Each is then answered from the counts without it; so the loss is that
        of new rows, though structure and cut points have seen them. Forests, lazy rules, trees of classifiers and
        models that fill in or sum out missing values cannot do so: give them rows that they have not learned.
    confidence : float, default=0.95
        Level of the intervals, which rest on the normal distribution of a mean.

    Returns
    -------
    Importance
        The rise of the log loss for each column, with intervals; it can be printed and drawn.

    Examples
    --------
    >>> from tanager import NaiveBayes, importance
    >>> X = {"sky": ["sun", "sun", "rain", "rain"] * 5, "wind": ["no", "yes", "no", "yes"] * 5}
    >>> y = ["play", "play", "stay", "stay"] * 5
    >>> print(importance(NaiveBayes().fit(X, y), X, y))
    log loss 0.1052 over 20 rows; without a column it rises by
      sky   +0.6878  (+0.6878 to +0.6878)
      wind  -0.0091  (-0.0091 to -0.0091)
    """
    if not isinstance(model, CountsClassifier):
        raise OptionError(f"importance needs a model with counts, and {type(model).__name__} has none.")
    if not is_number(confidence, 0) or not 0 < confidence < 1:
        raise OptionError(f"confidence={confidence!r}: give a number between 0 and 1, such as 0.95.")
    model.check_fitted()
    names = _checked(columns, model.encoder_.schema.names)
    block = model.known_rows(X, y, sample_weight).counted()
    losses = _Losses(model, block, learned)
    whole = losses.of(block)
    rises = np.array([losses.of(_without(model, block, name)) - whole for name in names]).reshape(len(names), -1)
    weights = np.ones(len(block)) if block.weights is None else block.weights
    total = float(weights.sum())
    means = rises @ weights / total
    spread = ((rises - means[:, None]) ** 2) @ weights / max(total - 1.0, 1.0)
    error, order = np.sqrt(spread / total), np.argsort(-means, kind="stable")
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    arrays = (means[order], error[order], (means - half)[order], (means + half)[order])
    return Importance(
        tuple(names[i] for i in order.tolist()), *arrays, float(whole @ weights / total), total, float(confidence)
    )


@dataclass(frozen=True)
class _Losses:
    """The log loss of every row, left out where it was learned."""

    model: CountsClassifier
    block: Block
    learned: bool

    def __post_init__(self) -> None:
        if self.learned and self.model.can_leave_out and not masks_exactly(self.model.scorer_):
            raise OptionError(
                f"{type(self.model).__name__} as it is set reads more than the columns that are known, so that a "
                "learned row cannot be left out of it with a column missing. Give rows that it has not learned: "
                "importance(model, X, y, learned=False)."
            )

    def of(self, block: Block) -> np.ndarray:
        """The losses of the rows as they are given."""
        model = self.model
        proba = model.leave_out(block.once) if self.learned else model.scorer_.score(block.query)
        own = proba[np.arange(len(block)), block.labels]
        return np.asarray(-np.log(np.maximum(own, SMALLEST)))


def masks_exactly(scorer: Scorer) -> bool:
    """Whether a row is left out exactly with a cell missing that it was learned with: only cells of what is known
    are read."""
    if isinstance(scorer, Calibrated | Gaussian | Subsumption):
        return masks_exactly(scorer.inner)
    if isinstance(scorer, Pooled):
        return all(masks_exactly(member) for member in scorer.members)
    return isinstance(scorer, View)


def _checked(columns: Iterable[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    names = known if columns is None else tuple([columns] if isinstance(columns, str) else columns)
    for name in names:
        if name not in known:
            raise OptionError(f"columns names {name!r}, which the model has not learned.{nearest(name, known)}")
    return names


def _without(model: CountsClassifier, block: Block, name: str) -> Block:
    """The rows with one column missing."""
    codes, numbers = block.codes.copy(), block.numbers
    codes[:, model.encoder_.schema.names.index(name)] = np.iinfo(codes.dtype).max
    if numbers is not None and name in model.memory.number_names:
        numbers = numbers.copy()
        numbers[:, list(model.memory.number_names).index(name)] = np.nan
    return Block(codes, block.labels, block.weights, block.times, numbers)
