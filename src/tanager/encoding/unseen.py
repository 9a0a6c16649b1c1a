"""Values at prediction that training never had: counted for each column, and told once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tanager.encoding.schema import Value
from tanager.errors import first_few, warn_user

MOST = 100  # different values of a column that are remembered


class Unseen(NamedTuple):
    """Values of a column that were not seen in training, and how many cells hold them."""

    values: list[Value]
    n_cells: int


class UnseenValues:
    """What was met so far, by the name of the column; not part of what is learned, nor of files.

    >>> met = UnseenValues()
    >>> met.note("size", Unseen(["XL", "XXL"], 3))
    >>> met.sentences()
    ["column 'size': 3 cells hold 2 values never seen in training ('XL', 'XXL'): treated as missing."]
    """

    def __init__(self) -> None:
        self.quiet = False  # whoever answers says it in another way
        self._all: dict[str, Unseen] = {}
        self._untold: dict[str, Unseen] = {}  # of columns that nothing was said about yet
        self._told: set[str] = set()
        self._recent: dict[str, Unseen] = {}

    @property
    def n_cells(self) -> dict[str, int]:
        """How many cells of each column held such values."""
        return {name: found.n_cells for name, found in self._all.items()}

    def note(self, name: str, found: Unseen) -> None:
        """Cells of one more table, or of one more row."""
        for met in (self._all, self._recent, *(() if name in self._told else (self._untold,))):
            met[name] = _both(met[name], found) if name in met else Unseen(found.values[:MOST], found.n_cells)

    def learned(self, names: Iterable[str]) -> None:
        """These columns have learned values, which may be those that nothing was said about: they were new, no more."""
        for name in names if self._untold else ():
            self._untold.pop(name, None)

    def sentences(self, unseen: str = "ignore") -> list[str]:
        """What is to be told about all columns."""
        return [sentence(name, *found, unseen) for name, found in self._all.items()]

    def take_recent(self, unseen: str = "ignore") -> list[str]:
        """What is to be told about cells that were met since this was asked for the last time."""
        found, self._recent = self._recent, {}
        return [sentence(name, *recent, unseen) for name, recent in found.items()]

    def tell(self, unseen: str = "ignore") -> None:
        """Warn of columns that nothing was said about yet."""
        if self._untold and not self.quiet:
            new, self._untold = self._untold, {}
            self._told.update(new)
            warn_user(" ".join(sentence(name, *found, unseen) for name, found in new.items()))


def _both(before: Unseen, found: Unseen) -> Unseen:
    """What was met before, and now."""
    values = before.values
    if len(values) < MOST:
        values = list(dict.fromkeys([*values, *found.values[:MOST]]))[:MOST]
    return Unseen(values, before.n_cells + found.n_cells)


def sentence(name: str, values: list[Value], n_cells: int, unseen: str) -> str:
    """What is to be told about one column."""
    cells = "1 cell holds" if n_cells == 1 else f"{n_cells:,} cells hold"
    many = "1 value" if len(values) == 1 else f"{len(values):,}{' or more' if len(values) == MOST else ''} values"
    becomes = "given a count of zero" if unseen == "smooth" else "treated as missing"
    listed = first_few([repr(value) for value in values])
    return f"column {name!r}: {cells} {many} never seen in training ({listed}): {becomes}."
