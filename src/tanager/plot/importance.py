"""The importance of columns as bars with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tanager.errors import OptionError, check_whole
from tanager.learning.importance import Importance
from tanager.plot.bars import TOP, lined_panel
from tanager.plot.figure import Path, add_remark, add_title, save_figure
from tanager.plot.names import shortened_apart
from tanager.plot.style import AGAINST, FOR, INK, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def plot_importance(
    importance: Importance, path: Path | None = None, *, top: int = TOP, title: str | None = None
) -> Figure:
    """Draw by how much the log loss rises where a column is not known, with intervals.

    Parameters
    ----------
    importance : Importance
        What ``tanager.importance`` gives.
    path : str or path, default=None
        Where to write the picture; .png, .svg or .pdf.
    top : int, default=15
        How many columns are drawn.
    title : str, default=None
        A line above the picture.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, which is also written where a path is given.

    Examples
    --------
    >>> from tanager import NaiveBayes, importance, plot_importance
    >>> X = {"sky": ["sun", "sun", "rain", "rain"] * 5, "wind": ["no", "yes", "no", "yes"] * 5}
    >>> y = ["play", "play", "stay", "stay"] * 5
    >>> figure = plot_importance(importance(NaiveBayes().fit(X, y), X, y))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['sky', 'wind']
    """
    if not isinstance(importance, Importance):
        raise OptionError(f"plot_importance needs what importance gives, got {type(importance).__name__}.")
    check_whole("top", top, 1)
    n = len(importance.columns)
    shown = n if n <= top + 1 else top
    figure, axes = lined_panel(
        list(shortened_apart(importance.columns[:shown]).values()), 5.2, head=0.5 if title else 0.15, foot=0.78
    )
    for at in range(shown):
        rise, low, high = (float(numbers[at]) for numbers in (importance.increase, importance.low, importance.high))
        axes.barh(at, rise, height=0.62, color=FOR if rise >= 0 else AGAINST, lw=0)
        axes.plot([low, high], [at, at], color=INK, lw=1.3, solid_capstyle="butt")
        for end in (low, high):
            axes.plot([end, end], [at - 0.13, at + 0.13], color=INK, lw=1.3)
    axes.axvline(0, color=INK, lw=0.8)
    axes.set_xlabel("rise of the log loss where the column is not known (nats per row)")
    hint = f"log loss {importance.log_loss:.4f} over {importance.n_rows:,.0f} rows; intervals of "
    hint += f"{100 * importance.confidence:g} %"
    if shown < n:
        hint = f"{n - shown} others: {importance.increase[shown]:+.4f} or less; {hint}"
    add_remark(figure, hint)
    add_title(figure, title)
    return save_figure(figure, path)
