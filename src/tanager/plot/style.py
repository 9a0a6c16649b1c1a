"""The look of all pictures: letters, colours and lines, whatever matplotlib's own settings are.

Text stays text in SVG and PDF files, so that it can be searched and copied. The ground is white, also in notebooks with
a dark one, where dark letters on no ground could not be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

INK, QUIET, FAINT, GREY = "#22303c", "#5b6975", "#c9d1d8", "#6b7680"
BLUE, RED, GREEN, PURPLE, ORANGE, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
# After Okabe and Ito, without their yellow, which is lost on white: all readers can tell these apart.
COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, INK)
DASHES = ("-", "--", ":", "-.")
FOR, AGAINST = BLUE, RED
# Pale and dark, of boxes and of bars.
PALE_BLUE, PALE_RED, PALE_GREEN, PALE_GREY = "#8fbcdd", "#e3a57f", "#a9d8c6", "#aab4bd"
DARK, EDGE, FADED, GROUND = "#33475b", "#5b7083", "#94a0aa", "#f6f8fa"

TITLE, NAME, SMALL = 12, 9, 8  # points of letters: above a picture, of names and labels, of numbers and remarks
REMARK: dict[str, Any] = {"fontsize": SMALL, "color": QUIET}
GRID: dict[str, Any] = {"color": FAINT, "lw": 0.6, "alpha": 0.6}
LEAST_CONTRAST = 4.5  # of letters on white, as accessibility guides ask for

# Everything that a user's style could change is set: to matplotlib's default, or to this.
_GROUPS = {"axes", "figure", "font", "grid", "image", "legend", "lines", "markers", "patch", "path", "pdf", "savefig"}
_GROUPS |= {"scatter", "svg", "text", "xtick", "ytick"}
LOOK: dict[str, Any] = {
    "figure.dpi": 120,
    "savefig.dpi": "figure",
    "figure.facecolor": "white",
    "font.family": ["sans-serif"],  # DejaVu Sans, which comes with matplotlib: the same everywhere
    "font.size": NAME,
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "axes.labelsize": NAME,
    "axes.labelcolor": INK,
    "axes.titlesize": NAME,
    "axes.titlecolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "tanager",  # the same picture, the same file
    "pdf.fonttype": 42,
}

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def look() -> Iterator[None]:
    """Draw in this look, whatever was set before."""
    from matplotlib import rc_context, rcParamsDefault

    plain: dict[Any, Any] = {key: value for key, value in rcParamsDefault.items() if key.split(".")[0] in _GROUPS}
    with rc_context(plain | LOOK):
        yield


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """A function that draws, in the look of all pictures."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> T:
        with look():
            return draw(*args, **kwargs)

    return drawn


def colour_of(at: int) -> str:
    """The colour of the first, second, ... of many; they come again."""
    return COLOURS[at % len(COLOURS)]


def dashes_of(at: int) -> str:
    """How the line of the first, second, ... of many is drawn: those of one colour differ.

    >>> dashes_of(0), dashes_of(len(COLOURS))
    ('-', '--')
    """
    return DASHES[at // len(COLOURS) % len(DASHES)]


def for_letters(colour: str) -> str:
    """A colour, darker where letters in it could hardly be read on white.

    >>> for_letters(INK) == INK, for_letters(ORANGE)
    (True, '#9c6c00')
    """
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = to_rgb(colour)
    for percent in range(100, 0, -1):
        darker = (red * percent / 100, green * percent / 100, blue * percent / 100)
        if contrast(darker) >= LEAST_CONTRAST:
            return to_hex(darker)
    return INK


def contrast(rgb: tuple[float, float, float]) -> float:
    """Of a colour with white: from 1 (white itself) to 21 (black)."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb)
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


def paled(colour: str, share: float = 0.36) -> Any:
    """A colour, mixed with white."""
    from matplotlib.colors import to_rgb

    return tuple(1 - share * (1 - part) for part in to_rgb(colour))
