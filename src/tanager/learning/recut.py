"""Cut points that follow a stream: number columns are summed up beside the counts, and cut again where they drift.

Counts are indexed by bin, so a cut point cannot move without them. The rule: every so many rows, the share of rows in
the bins of a column (class by class) is compared with what it was when the column was cut. Where it has changed by too
much, the column is cut anew by the rows at hand, and all counts are made again from these: the rows of the window, or
the last ``warm_up``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager import saved
from tanager.counts.align import class_map
from tanager.counts.block import Block
from tanager.counts.forgetting import as_decay
from tanager.counts.joint import JointCounts
from tanager.encoding import Encoder, Schema
from tanager.encoding.bins import STREAM_BINS
from tanager.encoding.chunks import rows_of_dicts, take_rows
from tanager.encoding.kinds import settled, was_cut
from tanager.encoding.validation import check_times, check_weights, one_dimensional
from tanager.errors import ModelFileError
from tanager.learning.batch import Batch
from tanager.learning.counting import numbers_of
from tanager.learning.number_watch import NumberWatch
from tanager.learning.recut_option import MovedCuts, Recut

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier

Moves = dict[int, tuple[np.ndarray, float]]  # columns whose cut points move: the new ones, and how far rows have moved


class Recutting:
    """Watches the number columns of one model, and moves their cut points. A model without ``recut`` has none."""

    def __init__(self, recut: Recut) -> None:
        self.recut = recut
        self._watched: NumberWatch | None = None  # from the first rows on

    @property
    def watches(self) -> bool:
        """Whether any rows were watched yet."""
        return self._watched is not None

    @property
    def n_watched(self) -> int:
        """How many rows were watched."""
        return 0 if self._watched is None else self._watched.n_rows

    def kept_rows(self) -> Block:
        """The last rows that were watched, with their numbers and what they weigh now."""
        assert self._watched is not None
        return self._watched.kept()

    def rows_until_look(self, model: CountsClassifier) -> int:
        """How many rows may be learned at once: up to the next look, or to the end of a warm-up."""
        if not model.columns_fixed:
            warm = model._warm_up
            return max(1, int(model.warm_up) - (0 if warm is None else warm.n_rows))
        return int(self.recut.every) if self._watched is None else self._watched.rows_until_look

    def check_numbers(self, model: CountsClassifier, X: Any) -> None:
        """Refuse cells that are no numbers while nothing has been learned of them."""
        if self._watched is not None:
            model.encoder_.numbers(X, list(self._watched.cutters), type(model).__name__)

    def watch(self, model: CountsClassifier, batch: Batch, *, first: bool = False) -> None:
        """Keep rows that were learned, and look at the cut points when it is time; the first rows have made them."""
        watched = self._watched = self._watched or self._new_watch(model)
        if not watched.cutters:
            model._recutting = None  # there is nothing that could move
            return
        counted = batch.counted
        if not counted.any():
            return
        codes, numbers = self._codes_and_numbers(model, batch.X)
        watched.add(Block(codes, batch.labels, batch.weights, batch.times, numbers).part(counted))
        if first:
            watched.start(_cuts(model, watched))
            watched.rows.drop(max(0, len(watched.rows) - _n_at_hand(model)))
        elif watched.rows_until_look <= 0:
            found = watched.look(_cuts(model, watched), _n_at_hand(model), window=model.window is not None)
            if found:
                self._move_cuts(model, watched, found)

    def _codes_and_numbers(self, model: CountsClassifier, X: Any) -> tuple[np.ndarray, np.ndarray]:
        assert self._watched is not None
        encoder, columns, name = model.encoder_, list(self._watched.cutters), type(model).__name__
        if rows_of_dicts(X) and len(X) == 1:
            return encoder.encode_row(X[0])[None, :], encoder.numbers_row(X[0], columns)[None, :]
        return encoder.encode(X, name=name), encoder.numbers(X, columns, name)

    def _new_watch(self, model: CountsClassifier) -> NumberWatch:
        """Of number columns whose cut points nobody has given."""
        columns = model.encoder_.schema.columns
        rules, keys = Encoder(**model.encoder_options()).rules_of(model.encoder_.schema, first=True)
        cutters = {
            i: (str(rules.bins.get(keys[i], rules.default_bins)), rules.n_bins, rules.mdl_encoding)
            for i, column in enumerate(columns)
            if column.kind == "numeric" and not (column.closed or column.by_value or settled(column))
        }
        return NumberWatch(self.recut, cutters, len(model.classes_), as_decay(model.decay))

    def _move_cuts(self, model: CountsClassifier, watched: NumberWatch, found: Moves) -> None:
        """Cut some columns anew, and make all counts again from the rows at hand."""
        schema, memory = model.encoder_.schema, model._learned
        new = schema.with_columns({i: replace(schema[i], cuts=tuple(cuts.tolist())) for i, (cuts, _) in found.items()})
        shape = model.counts_shape(new)
        counts = JointCounts(
            new, model.classes_, max_memory=model.max_memory, spare=memory.counts.spare, **shape
        )  # first, because it may be refused
        watched.recode({i: cuts for i, (cuts, _) in found.items()}, new)
        kept = watched.kept()
        times = numbers = None
        if memory.rows is not None and memory.window is not None:  # the rows of the window are the last ones watched
            times, numbers = (
                None if cells is None else cells[-len(kept) :] for cells in (memory.rows.times, memory.rows.numbers)
            )
        rows = Block(kept.codes, kept.labels, kept.weights, times, numbers)
        memory.start_again(counts, rows, model.n_threads)
        model.encoder_.adopt(new)
        model._cuts_moved(rows)
        model.events_ += [
            MovedCuts(watched.n_rows, schema[i].name, far, len(schema[i].cuts), len(cuts))
            for i, (cuts, far) in found.items()
        ]

    # --- what else happens to the model -------------------------------------------------------------------------

    def move_classes(self, places: np.ndarray, n_classes: int) -> None:
        """There are more classes: class c is now places[c]."""
        if self._watched is not None:
            self._watched.move_classes(places, n_classes)

    def match_classes(self, before: np.ndarray, now: np.ndarray) -> None:
        """The classes of a merged model."""
        if now is not before:
            self.move_classes(class_map(before, now), len(now))

    def map_codes(self, maps: Mapping[int, np.ndarray]) -> None:
        """Columns that are not watched were cut: code c of column i is now maps[i][c]."""
        if self._watched is not None:
            self._watched.map_codes(maps)

    def add_columns(self, n_new: int) -> None:
        """Columns have come, missing in all rows so far."""
        if self._watched is not None:
            self._watched.rows.add_columns(n_new)

    def fade(self, factor: float) -> None:
        """All that was learned fades at once."""
        if self._watched is not None:
            self._watched.fade(factor)

    # --- files --------------------------------------------------------------------------------------------------

    def to_arrays(self, model: CountsClassifier) -> dict[str, np.ndarray]:
        """All there is, by name, for a model file."""
        if self._watched is None:
            return {}
        moved = [e for e in model.events_ if isinstance(e, MovedCuts)]
        moves = [(e.row, model.encoder_.schema.index(e.column), *e[2:]) for e in moved]
        arrays = self._watched.to_arrays() | {"moved": np.array(moves, dtype=np.float64).reshape(-1, 5)}
        return {f"recut-{name}": array for name, array in arrays.items()}

    def take_arrays(self, model: CountsClassifier, arrays: Mapping[str, np.ndarray]) -> None:
        """Take back what ``to_arrays`` gave, where there is any."""
        own = {name.removeprefix("recut-"): array for name, array in arrays.items() if name.startswith("recut-")}
        if not own:
            return
        schema = model.encoder_.schema
        self._watched = self._new_watch(model)
        self._watched.take_arrays(own, schema.n_values)
        moves = saved.field("list of moved cut points", own, "moved", saved.array("f8", None, 5, least=0.0))
        if (moves[:, 1] >= len(schema)).any():
            raise ModelFileError("its list of moved cut points names a column that is not there")
        model.events_ += [
            MovedCuts(int(row), schema.names[int(i)], far, int(before), int(after))
            for row, i, far, before, after in moves.tolist()
        ]


def bins_of_columns(model: CountsClassifier) -> dict[int, int]:
    """Into how many bins each number column is cut, by its place, where nobody has given its cut points."""
    schema = model.encoder_.schema
    rules, keys = Encoder(**model.encoder_options()).rules_of(schema, first=True)
    methods = {
        i: rules.bins.get(keys[i], rules.default_bins) for i, column in enumerate(schema.columns) if was_cut(column)
    }
    return {i: STREAM_BINS if how == "stream" else rules.n_bins for i, how in methods.items()}


def may_move_cuts(model: CountsClassifier) -> bool:
    """Whether all that was learned are counts of columns and pairs, so that it can be had by other cut points."""
    memory = model._learned
    counts = memory.counts
    plain = memory.rows is None and memory.moments is None and model._contest is None and model._recutting is None
    return plain and counts.order <= 2 and not counts.anchors and not counts.families


def move_cuts(model: CountsClassifier, schema: Schema, shares: Mapping[int, np.ndarray] | None) -> None:
    """Have other cut points: what a bin has counted goes to its parts by shares (``JointCounts.move_cuts``).

    None: somebody else has the counts now, and moves them there.
    """
    if shares is not None:
        model._learned.counts.move_cuts(schema, shares)
    model.encoder_.adopt(schema)
    model._answering.forget()


def _n_at_hand(model: CountsClassifier) -> int:
    """How many of the last rows cut points and counts are made from when they move."""
    rows = model._learned.rows
    return int(model.warm_up) if model.window is None or rows is None else len(rows)


def _cuts(model: CountsClassifier, watched: NumberWatch) -> dict[int, np.ndarray]:
    return {i: np.array(model.encoder_.schema[i].cuts) for i in watched.cutters}


def learn_between_looks(
    model: CountsClassifier, X: Any, y: Any, sample_weight: Any, times: Any, learn: Callable[[Any, Any, Any, Any], None]
) -> None:
    """Learn rows up to the next look at the cut points, then the rest; ``learn`` takes rows in."""
    assert model._recutting is not None
    y, m = one_dimensional(y), len(y)
    weights, seconds = check_weights(sample_weight, m), check_times(times, m)
    model._check_times(Batch(X, model.label_codes(y)[0], weights, seconds))
    model._recutting.check_numbers(model, X)
    if model.columns_fixed:
        numbers_of(model, X)
    done = 0
    while done < m:
        end = m if model._recutting is None else min(m, done + model._recutting.rows_until_look(model))
        rows, labels = take_rows(X, done, end), take_rows(y, done, end)
        some, when = (None if cells is None else cells[done:end] for cells in (weights, seconds))
        fixed = model.columns_fixed
        learn(rows, labels, some, when)
        if fixed and model._recutting is not None:
            model._recutting.watch(model, Batch(rows, model.label_codes(labels)[0], some, when))
        done = end
