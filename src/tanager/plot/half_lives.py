"""Which half-life speaks when: the weights of the members of HalfLives along a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tanager.errors import DataError, OptionError
from tanager.plot.curves import plot_curves
from tanager.plot.figure import Path
from tanager.streams.half_lives import HalfLives

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_half_lives(model: HalfLives, path: Path | None = None, *, title: str | None = None) -> Figure:
    """Draw the weight of every half-life along the stream: which memory was believed when.

    Parameters
    ----------
    model : HalfLives
        A model that has learned rows.
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
    >>> from tanager import HalfLives, plot_half_lives
    >>> X, y = [["sun"], ["rain"]] * 500, ["play", "stay"] * 250 + ["stay", "play"] * 250
    >>> figure = plot_half_lives(HalfLives(half_lives=(20, float("inf"))).partial_fit(X, y))
    >>> sorted(text.get_text().split("  ")[0] for text in figure.axes[0].texts)
    ['20 rows', 'all rows']
    """
    if not isinstance(model, HalfLives):
        raise OptionError(f"{type(model).__name__} has no half-lives with weights. Give a HalfLives.")
    model.check_fitted()
    rows, weights = model.weight_history_
    if not len(rows):
        raise DataError("the weights have not moved yet: a row is needed that was answered and learned.")
    curves = {name: weights[:, m] for m, name in enumerate(model.weights_)}
    return plot_curves(rows, curves, path, measure="weight", along="rows", title=title)
