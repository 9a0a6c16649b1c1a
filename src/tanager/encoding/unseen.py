"""Values at prediction that training never had: counted for each column, and told once."""

from __future__ import annotations

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
        self.n_cells: dict[str, int] = {}
        self.quiet = False  # whoever answers says it in another way
        self._values: dict[str, dict[Value, None]] = {}
        self._told: set[str] = set()
        self._recent: dict[str, Unseen] = {}

    def note(self, name: str, found: Unseen) -> None:
        """Cells of one more table, or of one more row."""
        self.n_cells[name] = self.n_cells.get(name, 0) + found.n_cells
        values = self._values.setdefault(name, {})
        values.update(dict.fromkeys(found.values[: max(0, MOST - len(values))]))
        before = self._recent.get(name, Unseen([], 0))
        both = list(dict.fromkeys([*before.values, *found.values[:MOST]]))
        self._recent[name] = Unseen(both[:MOST], before.n_cells + found.n_cells)

    def sentences(self, unseen: str = "ignore") -> list[str]:
        """What is to be told about all columns."""
        return [self._sentence(name, unseen) for name in self.n_cells]

    def take_recent(self, unseen: str = "ignore") -> list[str]:
        """What is to be told about cells that were met since this was asked for the last time."""
        found, self._recent = self._recent, {}
        return [sentence(name, *recent, unseen) for name, recent in found.items()]

    def tell(self, unseen: str = "ignore") -> None:
        """Warn of columns that nothing was said about yet."""
        if len(self._told) < len(self.n_cells) and not self.quiet:
            new = [name for name in self.n_cells if name not in self._told]
            self._told.update(new)
            warn_user(" ".join(self._sentence(name, unseen) for name in new))

    def _sentence(self, name: str, unseen: str) -> str:
        return sentence(name, list(self._values[name]), self.n_cells[name], unseen)


def sentence(name: str, values: list[Value], n_cells: int, unseen: str) -> str:
    """What is to be told about one column."""
    cells = "1 cell holds" if n_cells == 1 else f"{n_cells:,} cells hold"
    many = "1 value" if len(values) == 1 else f"{len(values):,}{' or more' if len(values) == MOST else ''} values"
    becomes = "given a count of zero" if unseen == "smooth" else "treated as missing"
    listed = first_few([repr(value) for value in values])
    return f"column {name!r}: {cells} {many} never seen in training ({listed}): {becomes}."
