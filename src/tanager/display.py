"""What people see of things: the few shapes that all displays in notebooks are made of, and tables as text.

Every function takes plain text and escapes it; ``Html`` is what is built already. Styles are written into the elements:
notebooks that are not trusted drop style sheets, scripts and SVG elements, so pictures come as images. Colours of text
and background are the notebook's own, light or dark.
"""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

MOST_ROWS = 20  # of a table in a notebook, or bars
MOST_COLUMNS = 16
MOST_LETTERS = 500  # of a fact
LONG_NAME = 40  # letters that a name may have on one line
BAR = 150  # px, of the longest bar on one side
BLUE, ORANGE = "#3a86b7", "#d9731a"  # readers who are colour-blind can tell them apart, on light and dark ground
QUIET = "opacity: 0.7"
_CELL = "padding: 0.15em 0.6em; border: none; vertical-align: top"
_LINE = "1px solid rgba(127, 127, 127, 0.5)"

T = TypeVar("T")


class Html(str):
    """HTML that is built already, and is not to be escaped again."""

    __slots__ = ()


def escaped(inner: object) -> Html:
    """Text as HTML; HTML as it is.

    >>> escaped("a < b"), escaped(Html("<b>"))
    ('a &lt; b', '<b>')
    """
    return inner if isinstance(inner, Html) else Html(html.escape(str(inner)))


def element(tag: str, *inner: object, style: str = "") -> Html:
    """An element with what is in it.

    >>> element("b", "a < b", style="color: red")
    '<b style="color: red">a &lt; b</b>'
    """
    styled = f' style="{html.escape(style)}"' if style else ""
    return Html(f"<{tag}{styled}>{''.join(map(escaped, inner))}</{tag}>")


def page(title: object, *parts: Html) -> Html:
    """What a notebook shows of one thing: a heading, and its parts below each other; empty ones are left out."""
    head = element("div", title, style="margin-bottom: 0.4em")
    return element("div", head, *(part for part in parts if part), style="max-width: 70em; text-align: left")


def heading(name: str, about: str = "") -> Html:
    """The kind of a thing in bold, and a few words about it."""
    return Html(element("b", name) + (escaped(f": {about}") if about else ""))


def note(text: str) -> Html:
    """A remark in small, quiet letters; several lines stay lines."""
    lines = Html("<br>".join(map(escaped, text.splitlines())))
    return element("div", lines, style=f"font-size: 90%; {QUIET}; margin: 0.3em 0") if text else Html("")


def first(items: Sequence[T], most: int = MOST_ROWS) -> tuple[Sequence[T], int]:
    """The first few, and how many more there are; one more is shown in place of saying so.

    >>> first("abcdef", 3), first("abcd", 3)
    (('abc', 3), ('abcd', 0))
    """
    return (items, 0) if len(items) <= most + 1 else (items[:most], len(items) - most)


def more(n: int, what: str = "") -> str:
    """That there are more.

    >>> more(270, "rows"), more(0)
    ('... 270 more rows', '')
    """
    return f"... {n:,} more {what}".rstrip() if n else ""


def table(
    names: Sequence[object],
    rows: Sequence[Sequence[object]],
    *,
    right: Sequence[bool] = (),
    above: Sequence[object] = (),
    most: int = MOST_ROWS,
    remark: str = "",
) -> Html:
    """A table with a line of names, and perhaps one above it; only the first few rows are shown.

    Columns of numbers, where ``right`` is true, are aligned to the right."""
    shown, n_more = first(rows, most)
    sides = ["right" if at < len(right) and right[at] else "left" for at in range(len(names))]
    over = _line("th", above, ["left"] * len(above), "; font-weight: normal") if above else Html("")
    head = _line("th", names, sides, f"; border-bottom: {_LINE}") if any(map(str, names)) else Html("")
    body = Html("".join(_line("td", row, sides) for row in shown))
    grid = element(
        "table",
        element("thead", over, head),
        element("tbody", body),
        style="border-collapse: collapse; margin: 0.3em 0",
    )
    return Html(grid + note(more(n_more, "rows")) + note(remark))


def _line(tag: str, cells: Iterable[object], sides: Iterable[str], below: str = "") -> Html:
    return element(
        "tr",
        *(
            element(tag, cell, style=f"{_CELL}; text-align: {side}{below}{_whole(at, side)}")
            for at, (cell, side) in enumerate(zip(cells, sides, strict=True))
        ),
        style="background: none",
    )


def _whole(column: int, side: str) -> str:
    """Names and numbers stay on one line."""
    return "; white-space: nowrap" if column == 0 or side == "right" else ""


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """What there is to say, a line each: a word and what it is; lines with nothing to say are left out."""
    lines = [(_name(word, QUIET), _clipped(fact)) for word, fact in pairs if str(fact)]
    return table(("", ""), lines) if lines else Html("")


def _name(words: object, style: str = "") -> Html:
    """What a line is about; a long name takes several lines, or it would push numbers out of sight."""
    if len(str(words)) > LONG_NAME:
        style = "; ".join(filter(None, [style, "max-width: 26em; white-space: normal; overflow-wrap: anywhere"]))
        return element("div", words, style=style)
    return element("span", words, style=style) if style else escaped(words)


def _clipped(fact: object) -> object:
    """Text without its end where that is far away, such as a matrix of numbers."""
    text = str(fact)
    return fact if isinstance(fact, Html) or len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]} ..."


def bars(rows: Sequence[tuple[object, float, str]], *, most: int = MOST_ROWS) -> Html:
    """A bar for each row: what it is, its length, and the number as text. Bars below zero go to the left, in orange."""
    shown, n_more = first(rows, most)
    longest = max((abs(size) for _, size, _ in shown if math.isfinite(size)), default=0.0) or 1.0
    both = any(size < 0 for _, size, _ in shown)
    lines = [(_name(what), _bar(size / longest, both), text) for what, size, text in shown]
    return Html(table(("", "", ""), lines, right=(False, False, True)) + note(more(n_more)))


def _bar(share: float, both: bool) -> Html:
    """A bar from the axis to the right or to the left; one without an end is as long as the longest."""
    width = round(BAR * min(abs(share), 1.0))
    ahead = BAR - width if share < 0 else BAR if both else 0
    colour = ORANGE if share < 0 else BLUE
    bar = element("div", style=f"margin-left: {ahead}px; width: {width}px; height: 0.9em; background: {colour}")
    return element("div", bar, style=f"width: {BAR * (2 if both else 1)}px; padding: 0.15em 0")


def picture(svg: str, about: str) -> Html:
    """A picture; as an image, which notebooks show that drop SVG elements."""
    data = base64.b64encode(svg.encode()).decode("ascii")
    source = f'alt="{html.escape(about)}" src="data:image/svg+xml;base64,{data}"'
    return Html(f'<img {source} style="max-width: 100%; margin: 0.3em 0">')


def preformatted(text: str, most: int = 30) -> Html:
    """Lines as they are, such as those of a drawing by characters."""
    lines, n_more = first(text.splitlines(), most)
    styled = "font-family: monospace; font-size: 90%; line-height: 1.25; white-space: pre; overflow-x: auto; margin: 0"
    return Html(element("pre", "\n".join(lines), style=styled) + note(more(n_more, "lines")))


def folded(title: str, *inner: Html) -> Html:
    """What is there for those who click on its title."""
    head = element("summary", title, style="cursor: pointer")
    body = element("div", *inner, style="margin: 0.3em 0 0.3em 1em")
    return element("details", head, body, style="margin: 0.3em 0")


def listed(items: Sequence[Any], most: int = 8) -> str:
    """The first few of some things, in a line.

    >>> listed(["a", "b"]), listed(range(300), 2)
    ('a, b', '0, 1, ... 298 more')
    """
    shown, n_more = first(items, most)
    return ", ".join([*map(str, shown), *([more(n_more)] if n_more else [])])


def counted(n: int, word: str, words: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "class", "classes"), counted(1200, "row")
    ('1 class', '1,200 rows')
    """
    return f"{n:,} {word if n == 1 else words or word + 's'}"


def aligned(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """A table as text, its columns two blanks apart; ``right`` says which hold numbers.

    >>> print(aligned([("rows", "class"), ("7", "a"), ("12", "b")], [True, False]))
    rows  class
       7  a
      12  b
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    ways = [str.rjust if numbers else str.ljust for numbers in right]
    text = ("  ".join(way(cell, w) for way, cell, w in zip(ways, line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in text)
