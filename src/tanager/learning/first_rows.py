"""First rows: what columns hold and where numbers are cut is decided by the first rows of a stream.

They are kept as they came (``WarmUp``). Until there are enough of them the decision is provisional, and is made anew
whenever their number has doubled. The model that learns them is the first argument of every function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tanager.encoding import Encoder
from tanager.encoding.chunks import n_rows, rows_of_dicts
from tanager.encoding.kinds import read_cells, settled
from tanager.encoding.policy import may_name_things, tell_columns
from tanager.encoding.tables import read_table
from tanager.encoding.typing import RowOfCodes
from tanager.learning.batch import Batch
from tanager.learning.warm_up import WarmUp, warn_of_useless

if TYPE_CHECKING:
    from tanager.learning.classifier import Classifier

Count: TypeAlias = Callable[[Batch], None]
_SAMPLE = 4096  # rows of a code array that are looked at for a first guess of its values


def learn_columns(
    model: Classifier, batch: Batch, *, first: bool = False, stream: bool = False, for_now: bool = False
) -> None:
    """Learn the schema from these rows, and make an empty model for it.

    ``stream``: more rows will come. ``first``: and these rows fix the cut points for all of them. ``for_now``: they do
    so until there are more of them.
    """
    tried = None if first or model._warm_up is None else model._warm_up.take_trial(n_rows(batch.X), model.classes_)
    if tried is not None:
        model.encoder_ = tried
        model._start_model()
        return
    model.encoder_ = Encoder(**model.encoder_options())
    codes = read_table(batch.X).codes
    if codes is not None and len(codes) > _SAMPLE:  # a first guess; counting itself finds further codes
        batch = Batch(codes, batch.labels, batch.weights).part(0, _SAMPLE)
    first = first and model._cuts_numbers()
    how = {"first": first, "stream": stream, "for_now": for_now}
    model.encoder_.learn(batch.X, batch.labels, batch.weights, len(model.classes_), **how)
    model._start_model()


def warm_up_with(model: Classifier, batch: Batch, classes: np.ndarray) -> None:
    """Collect first rows until kinds and cut points can be fixed; then count them all."""
    if model._warm_up is not None and not rows_of_dicts(batch.X):
        X = model._warm_up.aligned(batch.X, type(model).__name__)
        batch = Batch(X, batch.labels, batch.weights, batch.times)
    table = read_table(batch.X)
    for i in range(table.n_columns if table.codes is None else 0):
        table.column(i)  # refuses cells that cannot be used while they are not yet kept
    model.add_classes(classes)
    if not model.learns_unlabelled:  # else chunks would decide by other rows than single rows do
        batch = batch.only_counted()
    if len(batch.labels) == 0:
        return
    warm = model._warm_up = model._warm_up or WarmUp()
    before = warm.n_rows
    warm.append(batch)
    n_first = fixed_by(model, warm, before)
    if n_first is not None:
        end_warm_up(model, n_first)


def fixed_by(model: Classifier, warm: WarmUp, before: int) -> int | None:
    """How many first rows fix the columns; None where more are needed. ``before`` of them did not.

    It is looked at where rows have doubled, so that chunks and single rows are treated alike.
    """
    if model.schema is not None:
        return warm.n_rows
    most = min(warm.n_rows, model.warm_up)
    stages = (1 << k for k in range(before.bit_length(), most.bit_length()))
    early = next((n for n in stages if n < model.warm_up and model._nothing_to_cut(warm.first(n))), None)
    return model.warm_up if early is None and warm.n_rows >= model.warm_up else early


def nothing_to_cut(model: Classifier, batch: Batch) -> bool:
    """Whether these rows hold no numbers to cut, and no text that may be ids, so that nothing needs to wait."""
    table = read_table(batch.X)
    trial = Encoder(**model.encoder_options())
    if trial.leaves_open(table, batch.labels, batch.weights, len(model.classes_)):  # which takes no look at values
        return False
    trial.learn(table, batch.labels, batch.weights, len(model.classes_), stream=True, for_now=True)
    if model._warm_up is not None:
        model._warm_up.note_trial(trial, table, model.classes_)
    if not all(settled(column) for column in trial.schema.columns):
        return False
    rules = trial.rules(table.names or [f"x{i}" for i in range(table.n_columns)])
    cells = (read_cells(table.column(i), i, rules) for i in range(table.n_columns))
    return not any(may_name_things(own, i, rules) for i, own in enumerate(cells))


def end_warm_up(model: Classifier, n_first: int, count: Count | None = None) -> None:
    """Fix the columns by the first rows, and count all rows of the warm-up."""
    warm, model._warm_up = model._warm_up, None
    assert warm is not None
    count_from_start(model, warm, n_first, last=True, count=count)
    model._columns_fixed_by(warm.batch)
    if model.schema is None:
        tell_columns(model.encoder_.schema)
    if model.schema is None and model._stays_uncut():
        warn_of_useless(model.encoder_.schema, getattr(model, "bins", None), min(n_first, warm.n_rows))


def count_from_start(
    model: Classifier, warm: WarmUp, n_first: int, *, last: bool = False, count: Count | None = None
) -> None:
    """Learn the schema from the first rows of a warm-up, for the last time or not, and count all its rows anew.

    ``count`` counts them in place of the model.
    """
    batch = first = warm.batch
    if n_first < warm.n_rows:
        first = batch.part(0, n_first)
    else:  # no further row may bring a column, so that all are read once
        batch = first = Batch(warm.read(), batch.labels, batch.weights, batch.times)
    model._start_encoder(first, first=last, stream=True, for_now=not last)
    (count or model._count)(batch)


def count_warm_up(model: Classifier, count: Count | None = None) -> None:
    """Before an answer: count the rows of a warm-up, with cut points from its last doubling."""
    warm = model._warm_up
    if warm is None or warm.counted == warm.n_rows or warm.n_rows == 0:
        return
    if warm.doubled_stage != warm.stage or not model.knows_columns:
        count_from_start(model, warm, warm.doubled_stage, count=count)
        warm.stage = warm.doubled_stage
    else:
        model._count(warm.batch.part(warm.counted, warm.n_rows))
    warm.counted = warm.n_rows


def takes_provisional_row(model: Classifier, weight: float, time: Any) -> bool:
    """Whether there is a warm-up whose rows are counted and whose cut points outlive one more row."""
    warm = model._warm_up
    if warm is None or weight != 1.0 or time is not None or warm.times is not None:
        return False
    return warm.counted == warm.n_rows and warm.n_rows + 1 < min(2 * warm.stage, model.warm_up)


def provisional_row(
    model: Classifier, row: Mapping[str, Any], y: Any, weight: float, time: Any
) -> tuple[RowOfCodes, int] | None:
    """Codes and class of a row that provisional columns can learn at once: they stay, and nothing in it is new."""
    if not takes_provisional_row(model, weight, time):
        return None
    if not model.knows_columns:
        return None
    codes, label = model.encoder_.found_row(row, alone=True), model.code_of(y)
    return None if codes is None or label is None else (codes, label)


def keep_provisional_row(model: Classifier, row: Mapping[str, Any], label: int) -> None:
    """Keep such a row, which was learned, for the cut points to come."""
    assert model._warm_up is not None
    model._warm_up.append_counted(dict(row), label)


def keep_at_doubling(
    model: Classifier, row: Mapping[str, Any], y: Any, weight: float, time: Any, count: Count | None = None
) -> bool:
    """Keep a row by which the rows of a warm-up have doubled, where nothing in it is new; whether that was so.

    What ``partial_fit`` would find out about it is known: its cells are among those of the columns so far.
    """
    warm = model._warm_up
    if warm is None or weight != 1.0 or time is not None or warm.times is not None or not model.knows_columns:
        return False
    if warm.counted < warm.n_rows:
        return False
    label = model.code_of(y)
    if label is None or model.encoder_.found_row(row, alone=True) is None:
        return False
    before = warm.n_rows
    warm.append_row(dict(row), label)
    n_first = fixed_by(model, warm, before)
    if n_first is not None:
        end_warm_up(model, n_first, count)
    model.note_columns()
    return True


def rows_of_stage(model: Classifier, most: int) -> int:
    """How many rows the present cut points hold for; in a warm-up they change where the rows have doubled."""
    if model._warm_up is None:
        return most
    return min(most, min(2 * model._warm_up.stage, model.warm_up) - model._warm_up.n_rows)


def rows_to_stage(model: Classifier) -> int:
    """How many further rows that count it takes until columns are looked at again, or fixed by a given schema."""
    before = 0 if model._warm_up is None else model._warm_up.n_rows
    return 1 if model.schema is not None else min(1 << before.bit_length(), max(model.warm_up, before + 1)) - before


def keep_for_warm_up(model: Classifier, batch: Batch, count: Count | None = None) -> None:
    """Rows of a warm-up were counted: keep them, for the cut points to come."""
    warm = model._warm_up
    assert warm is not None
    before = warm.n_rows
    warm.append(batch)
    n_first = fixed_by(model, warm, before)
    if n_first is not None:
        end_warm_up(model, n_first, count)
    elif warm.n_rows < 2 * warm.stage:
        warm.counted = warm.n_rows
