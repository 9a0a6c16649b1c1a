"""ShownFigure: a figure of matplotlib that a notebook shows.

IPython shows figures from the moment on that somebody imports ``matplotlib.pyplot``, which pictures here do without: it
takes long, and keeps all figures. Before that, a figure would be a line of text.
"""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure that says itself how it looks."""

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()
