"""BSEJ and FSSJ: naive Bayes in which columns that belong together are joined into one, and others left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np

from tanager import saved
from tanager.counts.joint import JointCounts
from tanager.errors import OptionError
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.left_out import Change, Factor, LeftOut, best_change, check_search
from tanager.learning.rows import KeptRows
from tanager.learning.subset_search import STEPS, Step
from tanager.scoring.forms import Form, ProductOfSums

MOST_CELLS = 250_000  # combinations of values, times classes, that joined columns may have
CACHED_BYTES = 256_000_000

JoinedColumns = tuple[int, ...]


@dataclass(eq=False, repr=False, kw_only=True)
class Joining(CountsClassifier):
    """What BSEJ and FSSJ share: a product of blocks of joined columns, found step by step."""

    criterion: str = "accuracy"
    min_gain: float = 0.0
    max_joined: int | None = None

    saves_structure = True
    refresh_ratio = 1.1

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
        factors = _Moves(left_out, counts, rows)
        current, names = left_out.quality(), counts.schema.names
        steps = [Step("start", ", ".join(_name(block, names) for block in blocks), current[0])]
        fits = _Fitting(self.max_joined, (counts.schema.n_values + 1).tolist(), counts.n_classes)
        n, joins = counts.n_features, _Joins()
        while moves := [move for move in self._moves(blocks, n, joins) if not move[2] or fits[move[2][0]]]:
            factors.prepare(moves)
            changes = [[factors[move]] for move in moves]
            best, quality = best_change(left_out, changes)
            if not quality[0] > current[0] + self.min_gain:
                break
            left_out.make(changes[best])
            did, old, new = moves[best]
            blocks, current = sorted({*blocks, *new} - {*old}), quality
            fresh = tuple((i,) for block in new for i in block if not any(i in other for other in old))
            steps.append(Step(did, " and ".join(_name(block, names) for block in (*old, *fresh)), quality[0]))
            factors.forget(old)
        self.steps_ = tuple(steps)
        return ProductOfSums.of_blocks(blocks)

    def _first_blocks(self, n: int) -> list[JoinedColumns]:
        raise NotImplementedError

    def _moves(self, blocks: Sequence[JoinedColumns], n: int, joins: _Joins) -> list[_Move]:
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
    with all columns, so it finds pairs that only tell something together. Keeps the rows, as codes.

    Parameters
    ----------
    criterion : {"accuracy", "log_loss", "auc"}, default="accuracy"
        What is best, over all rows, each left out. Ties in accuracy go to the larger probability of the true classes.
    min_gain : float, default=0.0
        How much a step must gain; 0.01 is another published choice.
    max_joined : int or None, default=None
        Most columns that are joined into one.

    Attributes
    ----------
    joined_ : tuple of tuples of str
        The columns that answers are made from; those that were joined stand together.
    steps_ : tuple of Step
        What was done, and how good answers were then.

    Notes
    -----
    Pazzani (1996), backward sequential elimination and joining. O(rows columns² classes) for every step. Joined columns
    are smoothed as one: with Laplace's rule, columns of 3 and of 4 values make one of 12.

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

    def _moves(self, blocks: Sequence[JoinedColumns], n: int, joins: _Joins) -> list[_Move]:
        """Leave a block out, or join two."""
        removed: list[_Move] = [("remove", (block,), ()) for block in blocks]
        return removed + [("join", pair, (_union(*pair),)) for pair in combinations(blocks, 2)]


@dataclass(eq=False, repr=False, kw_only=True)
class FSSJ(Joining):
    """Naive Bayes that starts without columns and adds them one by one, each by itself or joined to others.

    As BSEJ, from the other end: quicker, with fewer columns in the end. Keeps the rows, as codes.

    Parameters
    ----------
    criterion, min_gain, max_joined
        See ``BSEJ``.

    Attributes
    ----------
    joined_ : tuple of tuples of str
        The columns that answers are made from; those that were joined stand together.
    steps_ : tuple of Step
        What was done, and how good answers were then.

    Notes
    -----
    Pazzani (1996), forward sequential selection and joining. O(rows columns² classes) for every step at most.

    Examples
    --------
    >>> from tanager import FSSJ
    >>> X = [["sun", "warm", "a"], ["rain", "cold", "b"], ["sun", "warm", "b"], ["rain", "warm", "a"]] * 3
    >>> FSSJ().fit(X, ["play", "stay", "play", "stay"] * 3).joined_
    (('x0',),)
    """

    def _first_blocks(self, n: int) -> list[JoinedColumns]:
        return []

    def _moves(self, blocks: Sequence[JoinedColumns], n: int, joins: _Joins) -> list[_Move]:
        """Add a column by itself, or join it to a block."""
        unused = sorted(set(range(n)) - {i for block in blocks for i in block})
        added: list[_Move] = [("add", (), ((i,),)) for i in unused]
        of_blocks = [joins[block] for block in blocks]
        return added + [of_block[i] for i in unused for of_block in of_blocks]


_Move = tuple[str, tuple[JoinedColumns, ...], tuple[JoinedColumns, ...]]  # what is done, blocks that go, and that come


class _Joins(dict[JoinedColumns, "_JoinsOf"]):
    """The moves that join a column to a block, made once: most blocks stay as they are from step to step."""

    def __missing__(self, block: JoinedColumns) -> _JoinsOf:
        own = self[block] = _JoinsOf(block)
        return own


class _JoinsOf(dict[int, _Move]):
    """Those of one block, by the column."""

    def __init__(self, block: JoinedColumns) -> None:
        super().__init__()
        self._block = block

    def __missing__(self, i: int) -> _Move:
        move = self[i] = ("join", (self._block,), (_union(self._block, (i,)),))
        return move


class _Fitting(dict[JoinedColumns, bool]):
    """Whether joined columns are few enough, and have not too many combinations of values."""

    def __init__(self, max_joined: int | None, sizes: Sequence[int], n_classes: int) -> None:
        super().__init__()
        self._most = len(sizes) if max_joined is None else max_joined
        self._sizes, self._n_classes = sizes, n_classes

    def __missing__(self, block: JoinedColumns) -> bool:
        cells = math.prod(self._sizes[i] for i in block) * self._n_classes
        fits = self[block] = len(block) == 1 or (len(block) <= self._most and cells <= MOST_CELLS)
        return fits


class _Moves(dict[_Move, Factor]):
    """What each move does to the answers."""

    def __init__(self, left_out: LeftOut, counts: JointCounts, rows: KeptRows | None) -> None:
        super().__init__()
        assert rows is not None  # LeftOut has refused that
        self._left_out, self._counts, self._rows = left_out, counts, rows.block
        self._blocks: dict[JoinedColumns, Factor] = {}
        whole = left_out.counts_blocks()
        self._whole = frozenset[int]() if whole is None else frozenset(np.flatnonzero(whole).tolist())

    def prepare(self, moves: Sequence[_Move]) -> None:
        """Work out what these moves do: from the counts, or beyond pairs of columns from the rows."""
        new = [move for move in moves if move not in self]
        single = {block for _, old, joined in new for block in (*old, *(() if old else joined))} - self._blocks.keys()
        together = [move for move in new if move[1] and move[2]]
        wide = self._wide_counts(single | {move[2][0] for move in together})
        blocks = sorted(single)
        self._blocks.update(zip(blocks, self._factors(blocks, (), wide), strict=True))  # which many moves share
        joined = [move[2][0] for move in together]
        over = [[self._blocks[block] for block in move[1]] for move in together]
        self.update(zip(together, self._factors(joined, over, wide), strict=True))
        for move in new:
            _, old, joined_now = move
            if not joined_now:
                self[move] = -self._blocks[old[0]]
            elif not old:
                self[move] = self._blocks[joined_now[0]]

    def _factors(
        self, blocks: Sequence[JoinedColumns], over: Sequence[Change], wide: JointCounts | None
    ) -> list[Factor]:
        """P(block | y), over other factors; blocks of more than two columns from the rows or the wide counts."""
        found: dict[int, Factor] = {}
        from_rows = [q for q, block in enumerate(blocks) if self._from_rows(block)]
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
        """Whether a block beyond pairs needs no counts of its own."""
        return len(block) > 2 and self._whole.issuperset(block)

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
        """These blocks are gone, and moves with them; all moves go where they take much memory."""
        size = sum(factor.nbytes for factor in self.values())
        for move in list(self):
            if size > CACHED_BYTES or {*move[1]} & {*blocks}:
                del self[move]


def _union(*blocks: JoinedColumns) -> JoinedColumns:
    return tuple(sorted(chain(*blocks)))


def _name(block: JoinedColumns, names: Sequence[str]) -> str:
    return " + ".join(names[i] for i in block)
