"""Names and values as pictures write them: long ones cut in the middle or broken into lines, and still told apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import takewhile

LONGEST = 38  # characters of a name on one line
BOXED = 52  # characters of a name in a box
_BREAKS = " _./-,:;()[]"


def shortened(text: str, most: int = LONGEST) -> str:
    """A text of at most so many characters; of a longer one, beginning and end, if possible of whole words.

    >>> shortened("a long name of a column", 11), shortened("mean daily consumption of sensor 17", 24)
    ('a lon…olumn', 'mean daily…of sensor 17')
    """
    if len(text) <= most:
        return text
    head = text[: most // 2]
    whole = max(head.rfind(mark) for mark in _BREAKS)
    head = head[:whole] if whole > len(head) // 2 else head
    tail = text[len(text) - (most - 1 - len(head)) :]
    begins = min((at for at in (tail.find(mark) for mark in _BREAKS) if 0 <= at < len(tail) // 2), default=-1)
    return f"{head.rstrip(_BREAKS)}…{tail[begins + 1 :]}"


def shortened_apart(names: Iterable[str], most: int = LONGEST) -> dict[str, str]:
    """All names, short, and no two alike."""
    return _apart(names, lambda name: shortened(name, most))


def wrapped(name: str, width: int = 14, most: int = 18) -> str:
    """A name in short lines, broken after spaces, underscores, dots, slashes and hyphens; long words are cut."""
    lines = [""]
    for word in re.findall(r"[^\s_./-]*[\s_./-]?", shortened(name, BOXED).replace("…", "… ")):
        for piece in [word[at : at + most] for at in range(0, len(word), most)]:
            if len((lines[-1] + piece).rstrip()) <= width or not lines[-1]:
                lines[-1] += piece
            else:
                lines.append(piece)
    return "\n".join(line.strip() for line in lines)


def wrapped_apart(names: Iterable[str]) -> dict[str, str]:
    """All names in short lines; of long ones that would look alike, what they begin with alike is left out.

    >>> long = "a_long_beginning_that_all_of_these_names_have_in_common"
    >>> list(wrapped_apart([f"{long}_{i}_and_the_same_end_of_all_names" for i in (1, 2)]).values())
    ['… 1_and_the_\\nsame_end_of_\\nall_names', '… 2_and_the_\\nsame_end_of_\\nall_names']
    """
    return _apart(names, wrapped)


def _apart(names: Iterable[str], label_of: Callable[[str], str]) -> dict[str, str]:
    """The label of every name; where labels are alike, those of what differs."""
    names = list(names)
    labels = {name: label_of(name) for name in names}
    for label in [label for label, n in Counter(labels.values()).items() if n > 1]:
        alike = [name for name in names if labels[name] == label]
        start = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*alike, strict=False)))
        while start > 0 and alike[0][start - 1].isalnum():  # back to where a word begins
            start -= 1
        labels |= {name: label_of(f"…{name[start:]}") for name in alike}
    return labels


def bin_text(value: object) -> str:
    """A value as it is written in a picture; a bin without an end by its other end.

    >>> bin_text("(-inf, 2.5]"), bin_text("(2.5, inf)"), bin_text("(1, 2]"), bin_text("red"), bin_text("(-inf, inf)")
    ('≤ 2.5', '> 2.5', '(1, 2]', 'red', 'any number')
    """
    text = str(value)
    if text == "(-inf, inf)":
        return "any number"
    if text.startswith("(-inf, ") and text.endswith("]"):
        return f"≤ {text[7:-1]}"
    return f"> {text[1:-6]}" if text.startswith("(") and text.endswith(", inf)") else text


def cell_text(column: str, value: object) -> str:
    """Column and value: "colour = red", "age > 65"."""
    text = bin_text(value)
    return f"{column} {text}" if text[:1] in ("≤", ">") else f"{column} = {text}"


def cells_apart(cells: Iterable[tuple[str, object]], most: int = LONGEST) -> list[str]:
    """Columns and values, short; of both something is left, and no two columns look alike.

    >>> cells_apart([("weight in kg", "(-inf, 70]"), ("what the owner says of it in the second letter", "very good")])
    ['weight in kg ≤ 70', 'what the…second letter = very good']
    """
    written = [(column, bin_text(value)) for column, value in cells]
    columns = shortened_apart((column for column, _ in written), most - 3 - 12)
    texts = []
    for column, value in written:
        text = cell_text(column, value)
        if len(text) > most:
            short = columns[column] if len(value) > 12 else shortened_apart(columns, most - 3 - len(value))[column]
            text = cell_text(short, shortened(value, max(most - 3 - len(short), 12)))
        texts.append(text)
    return texts
