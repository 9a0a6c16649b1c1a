"""When a learned structure may change along a stream: the Hoeffding bound as a rule, and what is noted of changes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tanager import saved
from tanager.counts.joint import JointCounts
from tanager.errors import OptionError, check_number, check_option, is_number
from tanager.scoring.forms import Form, ProductOfSums, SumOfProducts

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier

BITS = 1 / math.log(2)  # in a nat


@dataclass(frozen=True)
class Hoeffding:
    """A structure changes in a stream only where another one is better beyond chance, by the Hoeffding bound.

    The score per row of the best structure for the present counts must exceed that of the structure in use, for the
    same counts, by more than ``R sqrt(ln(1 / delta) / (2 n))``: n is the weight of the rows that count (old ones may
    have faded), and R the range of what is compared.

    Parameters
    ----------
    delta : float, default=1e-7
        How probable it may be that chance alone gives such a lead.
    tie : float, default=0.05
        Where the bound is below this, any lead will do: the two are as good as equal, or rows are so many that the
        lead is true. 0 always asks for the bound.

    Examples
    --------
    >>> from tanager import TAN, Hoeffding
    >>> round(Hoeffding().margin(1000, 1.0), 4)
    0.0898
    >>> model = TAN(refresh=Hoeffding(delta=1e-3), decay=5000)
    """

    delta: float = 1e-7
    tie: float = 0.05

    def __post_init__(self) -> None:
        if not (is_number(self.delta, 0) and 0 < self.delta < 1):
            raise OptionError(f"Hoeffding(delta={self.delta!r}): give a probability above 0 and below 1.")
        check_number("tie", self.tie, "a difference of scores")

    def margin(self, n_rows: float, span: float) -> float:
        """The lead that is beyond chance after so many rows; ``span`` is the range of what is compared.

        Parameters
        ----------
        n_rows : float
            How many rows were looked at.
        span : float
            The range of what is compared.

        Returns
        -------
        float
            The least lead.
        """
        return math.inf if n_rows <= 0 else span * math.sqrt(-math.log(self.delta) / (2 * n_rows))

    def why(self, lead: Lead) -> str | None:
        """Why the leader takes over: "lead" or "tie"; None where it does not.

        Parameters
        ----------
        lead : Lead
            How far a structure is ahead of another one, over how many rows.

        Returns
        -------
        str or None
            The reason.
        """
        if lead.ahead <= 0:
            return None
        margin = self.margin(lead.n_rows, lead.span)
        return "lead" if lead.ahead > margin else "tie" if margin < self.tie else None


def check_refresh(value: Any) -> None:
    """Refuse what is no ``refresh``: rows, inf, a Hoeffding, "hoeffding" or None."""
    if isinstance(value, str):
        check_option("refresh", value, ("hoeffding", None))
    elif not (value is None or isinstance(value, Hoeffding) or is_number(value, 1) or value == float("inf")):
        raise OptionError(
            f"refresh={value!r}: give a number of rows of at least 1, inf for never, a Hoeffding, or None."
        )


def rule_of(refresh: Any) -> Hoeffding | None:
    """The rule by which structures change, where ``refresh`` gives one."""
    return Hoeffding() if isinstance(refresh, str) else refresh if isinstance(refresh, Hoeffding) else None


def rows_of(refresh: Any) -> float | None:
    """The rows after which a structure is learned again, where ``refresh`` says so."""
    return None if isinstance(refresh, str | Hoeffding) else refresh


class Lead(NamedTuple):
    """How much better one structure is than another per row, the range of that, and how many rows say so."""

    ahead: float
    span: float
    n_rows: float


def arcs_lead(gains: np.ndarray, new: Form, old: Form, counts: JointCounts) -> Lead:
    """By sums over the arcs i -> j of gains [i, j] in bits per row.

    The families that differ can differ by the bits of their children, once for each arc.
    """
    assert isinstance(new, ProductOfSums)
    assert isinstance(old, ProductOfSums)
    ahead, span = 0.0, 0.0
    olds = dict(zip(old.child, old.parents, strict=True))
    for child, parents in zip(new.child, new.parents, strict=True):
        before = olds.get(child, ())
        if set(parents) != set(before):
            ahead += float(gains[list(parents), child].sum() - gains[list(before), child].sum())
            span += max(len(parents), len(before)) * math.log2(max(2, counts.schema.columns[child].n_values))
    return Lead(round(ahead, 9), span, counts.n_rows)  # sums in another order are no lead


class StructureChange(NamedTuple):
    """A structure has changed: after how many rows, from what to what, by what lead over what margin, and why."""

    row: int
    before: str
    after: str
    ahead: float
    margin: float
    why: str  # "lead" or "tie"

    @property
    def what(self) -> str:
        """What has happened, for curves along a stream."""
        return f"structure changed from {self.before} to {self.after}"


@dataclass
class Standing:
    """The structure in use under a rule, when it was last looked at, and how it came about."""

    form: Form
    n_learned: float  # at the last look
    weight: float  # of the rows that counted then
    n_looks: int = 0
    n_kept: int = 0  # of these looks, those that found another structure which did not lead by enough
    changes: list[StructureChange] = field(default_factory=list)

    def look(self, model: CountsClassifier, best: Form, rule: Hoeffding) -> Form:
        """Compare with the best structure for the present counts; the one to answer with."""
        memory = model.memory
        counts = memory.counts
        self.n_looks, self.n_learned, self.weight = self.n_looks + 1, memory.n_learned, counts.n_rows
        if best == self.form:
            return best
        lead = model._lead(best, self.form, counts, memory.rows)
        why = rule.why(lead)
        if why is None:
            self.n_kept += 1
            return self.form
        names = counts.schema.names
        row, margin = round(memory.n_learned), rule.margin(lead.n_rows, lead.span)
        before, after = _difference(self.form, best, names)
        self.changes.append(StructureChange(row, before, after, lead.ahead, margin, why))
        model.events_.append(self.changes[-1])
        self.form = best
        return best

    def to_plain(self) -> dict[str, Any]:
        """For model files; the form is there already."""
        changes = [list(change) for change in self.changes]
        figures = {"rows": self.n_learned, "weight": self.weight, "looks": self.n_looks, "kept": self.n_kept}
        return figures | {"changes": changes}

    @classmethod
    def from_plain(cls, form: Form, data: dict[str, Any]) -> Standing:
        """What ``to_plain`` gave, checked."""
        expected = {
            "rows": saved.number(0.0),
            "weight": saved.number(0.0),
            "looks": saved.whole(),
            "kept": saved.whole(),
            "changes": saved.items(CHANGE),
        }
        rows, weight, looks, kept, changes = saved.read("figures of its structure", data, expected).values()
        return cls(form, rows, weight, looks, kept, [StructureChange(*change) for change in changes])


CHANGE = saved.row(
    saved.whole(), saved.text(), saved.text(), saved.number(0.0), saved.number(0.0), saved.text("lead", "tie")
)


def _difference(old: Form, new: Form, names: tuple[str, ...]) -> tuple[str, str]:
    """What differs, in words: super-parents, or the arcs of one network that the other does not have."""
    if isinstance(old, SumOfProducts) and isinstance(new, SumOfProducts):
        return names[old.members[0][0]], names[new.members[0][0]]
    assert isinstance(old, ProductOfSums)
    assert isinstance(new, ProductOfSums)
    if old.child and len(old.child) > len(set(old.child)):  # a collection, whose super-parent comes first
        return names[old.child[0]], names[new.child[0]]
    ours, theirs = _arcs(old), _arcs(new)
    return _in_words(ours - theirs, names), _in_words(theirs - ours, names)


def _in_words(arcs: set[tuple[int, int]], names: tuple[str, ...]) -> str:
    return ", ".join(f"{names[i]} -> {names[j]}" for i, j in sorted(arcs)) or "no arc"


def _arcs(form: ProductOfSums) -> set[tuple[int, int]]:
    return {(parent, child) for child, own in zip(form.child, form.parents, strict=True) for parent in own}
