"""BSEJ and FSSJ: naive Bayes in which columns that belong together are joined into one, and others left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from tanager import saved
from tanager.counts.joint import JointCounts
from tanager.errors import OptionError
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.left_out import Change, Factor, LeftOut, check_search
from tanager.learning.rows import KeptRows
from tanager.learning.subset_search import STEPS, Step
from tanager.scoring.forms import Form, ProductOfSums
from tanager.structure.measures import conditional_information
from tanager.structure.orders import descending

MOST_CELLS = 250_000  # combinations of values, times classes, that joined columns may have
MANY_COLUMNS = 100  # beyond, columns are joined only where they depend on each other
PAIRS_PER_COLUMN = 8  # that are tried then, those that depend most on each other given the class
CACHED_BYTES = 256_000_000

JoinedColumns = tuple[int, ...]


@dataclass(eq=False, repr=False, kw_only=True)
class Joining(CountsClassifier):
    """What BSEJ and FSSJ share: a product of blocks of joined columns, found step by step.

    Parameters
    ----------
    criterion : {"accuracy", "log_loss", "auc"}, default="accuracy"
        What is best, over all rows, each left out. Ties in accuracy go to the larger probability of the true classes.
    min_gain : float, default=0.0
        How much a step must gain; 0.01 is another published choice.
    max_joined : int or None, default=None
        Most columns that are joined into one.
    """

    criterion: str = "accuracy"
    min_gain: float = 0.0
    max_joined: int | None = None

    saves_structure = True
    outlives_new_values = True

    def check_options(self) -> None:
        super().check_options()
        check_search(self.criterion, self.min_gain)
        most = self.max_joined
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise OptionError(f"max_joined={most!r}: give a number of columns of at least 1, or None.")

    def _needs_rows(self) -> bool:
        return True

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        blocks = self._first_blocks(counts.n_features)
        left_out = LeftOut(self, rows, self.criterion, ProductOfSums.of_blocks(blocks))
        names = counts.schema.names
        steps = [Step("start", ", ".join(_name(block, names) for block in blocks), left_out.quality()[0])]
        whole = left_out.counts_blocks()
        if left_out.searches_by_kernel and whole is not None and whole.all() and counts.n_features <= MANY_COLUMNS:
            found = self._found_by_kernel(left_out, counts)
        else:
            found = self._search(left_out, counts, rows)
        for chosen, value in found:
            old, fresh = ([block for block in chosen if (block in blocks) == there] for there in (True, False))
            did = "join" if len(chosen) > 1 else "remove" if old else "add"
            steps.append(Step(did, " and ".join(_name(block, names) for block in (*old, *fresh)), value))
            blocks = _after(blocks, chosen)
        self.steps_ = tuple(steps)
        return ProductOfSums.of_blocks(blocks)

    def _found_by_kernel(self, left_out: LeftOut, counts: JointCounts) -> Iterator[_Found]:
        n = counts.n_features
        steps = left_out.search_blocks(
            backward=bool(self._first_blocks(n)),
            n_cells=(counts.schema.n_values + 1.0).tolist(),
            most_columns=n if self.max_joined is None else self.max_joined,
            most_cells=MOST_CELLS,
            cached_bytes=CACHED_BYTES,
            min_gain=float(self.min_gain),
        )
        return (([tuple(block) for block in chosen], value) for chosen, value in steps)

    def _search(self, left_out: LeftOut, counts: JointCounts, rows: KeptRows | None) -> Iterator[_Found]:
        """The search of the kernels for any counts, columns and criterion."""
        blocks = self._first_blocks(counts.n_features)
        moves = _Moves(left_out, counts, rows, self.max_joined)
        current = left_out.quality()
        dependent = _dependent(counts)
        promising = None if dependent is None else _Promising(dependent)
        while True:
            alone = self._alone(blocks, counts.n_features)
            together = self._together(alone, blocks) if promising is None else promising(alone, blocks)
            factors = moves.factors(alone, together, {*blocks})
            if not factors:
                break
            least = current[0] + self.min_gain
            best, quality = left_out.best(factors, above=least)
            if not quality[0] > least:
                break
            left_out.make([factors[best]])
            chosen = [alone[best]] if best < len(alone) else moves.pair(together, best - len(alone))
            yield chosen, quality[0]
            blocks, current = _after(blocks, chosen), quality
            moves.forget(chosen)

    def _first_blocks(self, n: int) -> list[JoinedColumns]:
        raise NotImplementedError

    def _alone(self, blocks: list[JoinedColumns], n: int) -> list[JoinedColumns]:
        """Blocks to add, or to leave out if they are there, in the order of their trial."""
        raise NotImplementedError

    def _together(self, alone: list[JoinedColumns], blocks: list[JoinedColumns]) -> list[_Partners]:
        """Those of the blocks that each of the former may be joined to."""
        raise NotImplementedError

    @property
    def joined_(self) -> tuple[tuple[str, ...], ...]:
        """The columns that answers are made from, those that are joined together."""
        form, names = self.structure_, self.counts_.schema.names
        assert isinstance(form, ProductOfSums)
        single = [(i,) for i in form.child if not any(i in block for block in form.joined)]
        return tuple(tuple(names[i] for i in block) for block in sorted([*single, *form.joined]))

    def _choice(self) -> dict[str, Any]:
        return {"steps": [list(step) for step in self.steps_]}

    def _take_choice(self, data: dict[str, Any]) -> None:
        self.steps_ = tuple(Step(*step) for step in saved.field("steps of its search", data, "steps", STEPS))


@dataclass(eq=False, repr=False, kw_only=True)
class BSEJ(Joining):
    """Naive Bayes whose columns are left out or joined in pairs, as long as leave-one-out answers become better.

    Columns that depend on each other given the class are joined into one, with a value for every combination. Starts
    with all columns, so it finds pairs that only tell something together. Keeps the rows it has learned, a byte
    or two per cell.

    Attributes
    ----------
    joined_ : tuple of tuples of str
        The columns that answers are made from; those that were joined stand together.
    steps_ : tuple of Step
        What was done, and how good answers were then.

    Notes
    -----
    Pazzani (1996), backward sequential elimination and joining. O(rows columns² classes) for every step. Joined columns
    are smoothed as one: with Laplace's rule, columns of 3 and of 4 values make one of 12. With more than 100 columns
    blocks are joined only where a column of one depends on one of the other: among the pairs with the largest
    I(x_i; x_j | y), eight times as many as there are columns.

    Examples
    --------
    Either column alone says nothing, so they are joined:

    >>> from tanager import BSEJ
    >>> X = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]] * 3
    >>> model = BSEJ().fit(X, ["play", "play", "stay", "stay"] * 3)
    >>> model.joined_
    (('x0', 'x1'),)
    >>> model.predict_proba([["sun", "warm"]])  # (3 + 1) / (6 + 4) against (0 + 1) / (6 + 4)
    array([[0.8, 0.2]])
    """

    def _first_blocks(self, n: int) -> list[JoinedColumns]:
        return [(i,) for i in range(n)]

    def _alone(self, blocks: list[JoinedColumns], n: int) -> list[JoinedColumns]:
        return blocks

    def _together(self, alone: list[JoinedColumns], blocks: list[JoinedColumns]) -> list[_Partners]:
        return [(block, blocks[place + 1 :]) for place, block in enumerate(blocks)]


@dataclass(eq=False, repr=False, kw_only=True)
class FSSJ(Joining):
    """Naive Bayes that starts without columns and adds them one by one, each by itself or joined to others.

    As BSEJ, from the other end: quicker, with fewer columns in the end. Keeps the rows it has learned, a byte
    or two per cell.

    Attributes
    ----------
    joined_ : tuple of tuples of str
        The columns that answers are made from; those that were joined stand together.
    steps_ : tuple of Step
        What was done, and how good answers were then.

    Notes
    -----
    Pazzani (1996), forward sequential selection and joining. O(rows columns² classes) for every step at most. With more
    than 100 columns not every pair is joined: see ``BSEJ``.

    Examples
    --------
    >>> from tanager import FSSJ
    >>> X = [["sun", "warm", "a"], ["rain", "cold", "b"], ["sun", "warm", "b"], ["rain", "warm", "a"]] * 3
    >>> FSSJ().fit(X, ["play", "stay", "play", "stay"] * 3).joined_
    (('x0',),)
    """

    def _first_blocks(self, n: int) -> list[JoinedColumns]:
        return []

    def _alone(self, blocks: list[JoinedColumns], n: int) -> list[JoinedColumns]:
        return [(i,) for i in sorted(set(range(n)) - {i for block in blocks for i in block})]

    def _together(self, alone: list[JoinedColumns], blocks: list[JoinedColumns]) -> list[_Partners]:
        return [(column, blocks) for column in alone]


_Found = tuple[list[JoinedColumns], float]  # what was added, left out or joined in a step, and the criterion then
_Partners = tuple[JoinedColumns, Sequence[JoinedColumns]]  # a block, and others that it can be joined to


class _Line:
    """A block's partners, those of them that it can be joined to, and what that does."""

    def __init__(
        self,
        of: Sequence[JoinedColumns],
        partners: list[JoinedColumns],
        joined: Mapping[JoinedColumns, Factor | None],
    ) -> None:
        self.of, self.partners = of, partners
        self.factors = [factor for other in partners if (factor := joined[other]) is not None]


class _Moves:
    """What moves do to the answers, worked out when they are first tried: most are tried again in the next step."""

    def __init__(
        self, left_out: LeftOut, counts: JointCounts, rows: KeptRows | None, max_joined: int | None = None
    ) -> None:
        assert rows is not None  # LeftOut has refused that
        self._left_out, self._counts, self._rows = left_out, counts, rows.block
        self._most = counts.n_features if max_joined is None else max_joined
        sizes = (counts.schema.n_values + 1).tolist()
        self._n_cells: dict[JoinedColumns, int] = {(i,): size for i, size in enumerate(sizes)}  # of blocks
        self._blocks: dict[JoinedColumns, Factor] = {}
        self._without: dict[JoinedColumns, Factor] = {}
        self._joined: dict[JoinedColumns, dict[JoinedColumns, Factor | None]] = {}  # None: too many combinations
        self._lines: dict[JoinedColumns, _Line] = {}
        self._nbytes = 0
        self._n_classes = counts.n_classes
        whole = left_out.counts_blocks()
        self._whole = frozenset[int]() if whole is None else frozenset(np.flatnonzero(whole).tolist())
        self._all_whole = len(self._whole) == counts.n_features

    def factors(
        self, alone: Sequence[JoinedColumns], together: Sequence[_Partners], there: set[JoinedColumns]
    ) -> list[Factor]:
        """Of every move: blocks that are there are left out, others are added; then of every two that can be joined."""
        fresh = [(block, others) for block, others in together if not self._is_known(block, others)]
        new = [
            (block, other)
            for block, others in fresh
            for line in (self._joined.setdefault(block, {}),)
            for other in others
            if other not in line
        ]
        self._prepare(alone, new, there)
        for block, others in fresh:
            line = self._joined[block]
            self._lines[block] = _Line(others, [other for other in others if line[other] is not None], line)
        found = [self._without[block] if block in there else self._blocks[block] for block in alone]
        for block, _ in together:
            found += self._lines[block].factors
        return found

    def _is_known(self, block: JoinedColumns, others: Sequence[JoinedColumns]) -> bool:
        """Whether these are the partners that the block had in the last step."""
        return block in self._lines and self._lines[block].of is others

    def pair(self, together: Sequence[_Partners], place: int) -> list[JoinedColumns]:
        """The blocks that the move at this place joins."""
        for block, _ in together:
            partners = self._lines[block].partners
            if place < len(partners):
                return [block, partners[place]]
            place -= len(partners)
        raise IndexError

    def _prepare(
        self,
        alone: Sequence[JoinedColumns],
        pairs: Sequence[tuple[JoinedColumns, JoinedColumns]],
        there: set[JoinedColumns],
    ) -> None:
        """Work out what is new: from the counts, or from the rows."""
        joined = [_union(*pair) for pair in pairs]
        fitting = [q for q, block in enumerate(joined) if self._fits(block, *pairs[q])]
        divided = [[block for block in pairs[q] if block in there] for q in fitting]
        single = sorted({*alone, *chain.from_iterable(divided)} - self._blocks.keys())
        wide = self._wide_counts({*single, *(joined[q] for q in fitting)})
        self._blocks.update(zip(single, self._factors(single, (), wide), strict=True))  # which many moves share
        left = there - self._without.keys()
        self._without.update({block: -self._blocks[block] for block in alone if block in left})
        over = [[self._blocks[block] for block in blocks] for blocks in divided]
        made = dict(zip(fitting, self._factors([joined[q] for q in fitting], over, wide), strict=True))
        for q, (block, other) in enumerate(pairs):
            self._joined[block][other] = made.get(q)
        self._nbytes += sum(factor.nbytes for factor in made.values())

    def _fits(self, block: JoinedColumns, one: JoinedColumns, other: JoinedColumns) -> bool:
        """Whether two blocks, joined, have few enough columns, and not too many combinations of values."""
        cells = self._n_cells[block] = self._n_cells[one] * self._n_cells[other]
        return len(block) <= self._most and cells * self._n_classes <= MOST_CELLS

    def _factors(
        self, blocks: Sequence[JoinedColumns], over: Sequence[Change], wide: JointCounts | None
    ) -> list[Factor]:
        """P(block | y), over other factors; joined columns from the rows where that can be, or from the wide counts."""
        found: dict[int, Factor] = {}
        from_rows = [q for q, block in enumerate(blocks) if len(block) > 1 and self._from_rows(block)]
        made = self._left_out.block_factors(
            [blocks[q] for q in from_rows], [over[q] for q in from_rows] if over else ()
        )
        found.update(zip(from_rows, made, strict=True))
        for counts in (None, wide):
            places = [
                q for q, block in enumerate(blocks) if q not in found and (len(block) > 2) == (counts is not None)
            ]
            forms = [ProductOfSums.of_blocks([blocks[q]]) for q in places]
            made = self._left_out.factors(forms, [over[q] for q in places] if over else (), counts)
            found.update(zip(places, made, strict=True))
        return [found[q] for q in range(len(blocks))]

    def _from_rows(self, block: JoinedColumns) -> bool:
        """Whether joined columns need no counts."""
        return len(block) > 1 and (self._all_whole or self._whole.issuperset(block))

    def _wide_counts(self, blocks: set[JoinedColumns]) -> JointCounts | None:
        """Counts of more than two columns together, and of all that they are made of."""
        blocks = {block for block in blocks if len(block) > 2 and not self._from_rows(block)}
        if not blocks:
            return None
        families = {
            (*block[:size], block[place])
            for block in blocks
            for place in range(1, len(block))
            for size in range(1, place + 1)
        }
        schema, classes = self._counts.schema, self._counts.classes
        counts = JointCounts(
            schema, classes, order=1, families=sorted(families), spare=self._counts.spare, max_memory=None
        )
        counts.update(self._rows.codes, self._rows.labels, self._rows.weights)
        return counts

    def forget(self, blocks: Sequence[JoinedColumns]) -> None:
        """These were moved; all that were joined are forgotten where they take much memory."""
        if self._nbytes > CACHED_BYTES:
            self._joined, self._lines, self._nbytes = {}, {}, 0
        for block in blocks:
            self._joined.pop(block, None)
            self._lines.pop(block, None)
            for line in self._joined.values():
                if gone := line.pop(block, None):
                    self._nbytes -= gone.nbytes


def _dependent(counts: JointCounts) -> list[set[int]] | None:
    """Of many columns, those that each depends on most, given the class: so many pairs are tried. None: all are."""
    n = counts.n_features
    if n <= MANY_COLUMNS:
        return None
    first, second = np.triu_indices(n, 1)
    found = [set[int]() for _ in range(n)]
    for place in descending(conditional_information(counts)[first, second])[: PAIRS_PER_COLUMN * n]:
        i, j = int(first[place]), int(second[place])
        found[i].add(j)
        found[j].add(i)
    return found


class _Promising:
    """Partners with a column that depends on one of the block itself; found anew only where blocks have changed."""

    def __init__(self, dependent: list[set[int]]) -> None:
        self._dependent = dependent
        self._owner: dict[int, JoinedColumns] = {}
        self._near: dict[JoinedColumns, list[JoinedColumns]] = {}

    def __call__(self, alone: Sequence[JoinedColumns], blocks: Sequence[JoinedColumns]) -> list[_Partners]:
        """The partners of each of the former; a list stays the same one as long as its blocks do."""
        self._follow({i: block for block in blocks for i in block})
        return [(block, self._near[block] if block in self._near else self._near_to(block)) for block in alone]

    def _follow(self, owner: dict[int, JoinedColumns]) -> None:
        before, self._owner = self._owner, owner
        changed = {i for i in {*before, *owner} if before.get(i) != owner.get(i)}
        gone, new = ({part[i] for i in changed if i in part} for part in (before, owner))
        near_changed = set[int]().union(*(self._dependent[i] for i in changed))
        for block, near in [*self._near.items()]:
            if not changed.isdisjoint(block):
                del self._near[block]
            elif not near_changed.isdisjoint(block):
                added = [other for other in new if self._are_near(block, other)]
                self._near[block] = sorted([other for other in near if other not in gone] + added)

    def _are_near(self, block: JoinedColumns, other: JoinedColumns) -> bool:
        """Whether a block that stayed as it was is tried with a new one."""
        if self._owner.get(block[0]) == block and other < block:
            return False
        return any(not self._dependent[i].isdisjoint(other) for i in block)

    def _near_to(self, block: JoinedColumns) -> list[JoinedColumns]:
        owner = self._owner
        near = {owner[j] for i in block for j in self._dependent[i] if j in owner}
        if owner.get(block[0]) == block:  # of two blocks that are there, each pair is tried once
            near = {other for other in near if other > block}
        self._near[block] = sorted(near)
        return self._near[block]


def _after(blocks: list[JoinedColumns], chosen: list[JoinedColumns]) -> list[JoinedColumns]:
    """Blocks after a step: two that were chosen are joined, one is added, or left out if it was there."""
    new = {_union(*chosen)} if len(chosen) > 1 else {*chosen} - {*blocks}
    return sorted(({*blocks} | new) - ({*chosen} - new))


def _union(one: JoinedColumns, other: JoinedColumns) -> JoinedColumns:
    return one + other if one[-1] < other[0] else tuple(sorted(one + other))


def _name(block: JoinedColumns, names: Sequence[str]) -> str:
    return " + ".join(names[i] for i in block)
