"""The reliability diagram: whether predictions with a confidence of 80 % are correct in 80 % of cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tanager.errors import OptionError
from tanager.plot.figure import Path, add_panel, add_remark, add_title, new_figure, save_figure
from tanager.plot.names import shortened_apart
from tanager.plot.style import FAINT, colour_of, dashes_of, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW = 10  # predictions; the accuracy of fewer says little


@styled
def plot_reliability(curves: Mapping[str, ArrayLike], path: Path | None = None, *, title: str | None = None) -> Figure:
    """Accuracy against confidence for every classifier, and a histogram of the confidences below.

    Below the diagonal a classifier is overconfident. The larger a point, the more predictions it stands for; points
    with fewer than 10 are pale, and the curve leaves them out.

    Parameters
    ----------
    curves : mapping from names to arrays of shape (3, n_bins)
        Rows, sum of confidences and number of correct predictions per bin, as made by ``tanager.evaluate.reliability``.
    path : path or None, default=None
        File to write; its extension sets the format: .png, .svg or .pdf.
    title : str or None, default=None
        The line above the picture; None: no line.

    Returns
    -------
    matplotlib.figure.Figure
        Two panels.

    Examples
    --------
    >>> from tanager.plot import plot_reliability
    >>> figure = plot_reliability({"AODE": [[0, 10], [0, 9], [0, 8]]})
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['AODE: calibration error 0.1000']
    """
    bins = {name: np.asarray(curve, dtype=float) for name, curve in curves.items()}
    if not bins or any(b.ndim != 2 or len(b) != 3 or not b[0].sum() > 0 for b in bins.values()):
        raise OptionError(
            "plot_reliability needs one array per name, as reliability returns it: shape (3, n_bins), at least one row."
        )
    figure = new_figure(6.2, 5.65 + 0.18 * len(bins) + (0.4 if title else 0.0))
    upper, lower = add_panel(figure, 0.7, 1.9, 5.2, 3.6), add_panel(figure, 0.7, 0.7, 5.2, 0.95)
    names = shortened_apart(bins)
    start = min(np.flatnonzero(b[0])[0] / b.shape[1] for b in bins.values())
    upper.plot([start, 1], [start, 1], color=FAINT, lw=1.5, zorder=1)
    for at, (name, (rows, sure, right)) in enumerate(bins.items()):
        colour, style = colour_of(at), dashes_of(at)
        error = np.abs(sure - right).sum() / rows.sum()
        some, enough = rows > 0, rows >= FEW
        x, y = _ratio(sure, rows), _ratio(right, rows)
        label = f"{names[name]}: calibration error {error:.4f}"
        upper.plot(x[enough], y[enough], style, color=colour, lw=1.2, label=label, zorder=2)
        size = 6 + 70 * np.sqrt(rows[some] / rows.sum())
        upper.scatter(x[some], y[some], size, color=colour, lw=0, alpha=np.where(enough[some], 0.85, 0.3), zorder=3)
        edges = np.linspace(0, 1, len(rows) + 1)
        lower.stairs(rows / rows.sum(), edges, color=colour, ls=style, lw=1.2)
    for axes in (upper, lower):
        axes.set_xlim(start, 1.01)
    upper.set_ylim(top=1.02)
    upper.set_ylabel("accuracy")
    lower.set_ylabel("share of\nrows")
    lower.set_xlabel("confidence: probability of the predicted class")
    hint = f"below the grey line: overconfident; pale: fewer than {FEW} rows"
    add_remark(figure, hint)
    upper.legend(loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.2)
    add_title(figure, title)
    return save_figure(figure, path)


def _ratio(part: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(part, rows, out=np.zeros_like(part), where=rows > 0))
