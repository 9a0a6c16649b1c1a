"""Streams of counting classifiers: every row is answered, then learned, whole arrays of them in compiled code.

Rows run through the kernels as many at a time as one structure may answer. A row with a value that no row before it had
goes by itself, so that it is answered as unseen and then finds room in the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tanager.counts.align import class_map
from tanager.counts.block import Block, Query
from tanager.counts.context_moments import ContextMoments
from tanager.counts.forgetting import Steps
from tanager.counts.moments import Moments
from tanager.encoding import Column, Schema
from tanager.encoding.chunks import rows_of_dicts
from tanager.encoding.codes import row_array
from tanager.encoding.policy import tell_columns
from tanager.encoding.tables import read_table
from tanager.encoding.typing import RowOfCodes
from tanager.encoding.validation import check_times
from tanager.encoding.values import is_missing
from tanager.learning.answer_then_learn import Answers
from tanager.learning.answering import due, follows_counts, kernel_view
from tanager.learning.batch import Batch, StreamPart
from tanager.learning.counting import encoder_for, first_block, follow_vocabulary, leave_uncut, numbers_of
from tanager.learning.first_rows import keep_for_warm_up, rows_of_stage
from tanager.learning.memory import LIGHT, Memory
from tanager.learning.warm_up import WarmUp
from tanager.scoring.gaussian import normalised
from tanager.scoring.view import View

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier


Learn: TypeAlias = Callable[[Block], bool]  # whether models that have started anew have learned the rows
NO_STEPS = Steps(None, None, None)
WORK_AT_ONCE = 20_000_000  # cells read and written in one call of a kernel, some 50 ms: Ctrl-C is heard between calls


@dataclass
class Lap:
    """Encoded rows to learn, rows to answer instead of them (or None), and room for the answers.

    ``judged`` (rows, classes), where it is wanted, gets what each row to learn was given before; 0 without a label.
    """

    block: Block
    asked: Query | None
    out: np.ndarray
    judged: np.ndarray | None = None

    def part(self, rows: slice) -> Lap:
        """Some of the rows."""
        asked = None if self.asked is None else self.asked.part(rows)
        judged = None if self.judged is None else self.judged[rows]
        return Lap(self.block.part(rows), asked, self.out[rows], judged)


def answer_and_learn(model: CountsClassifier, rows: StreamPart) -> Answers:
    """Answer and learn at least one row, and stop where a class or a column is new."""
    encoded = encode_next(model, rows)
    if encoded is None:
        return model._answer_and_learn_first(rows)
    block, asked = encoded
    out = np.empty((len(block), len(model.classes_)))
    model._run(Lap(block, asked, out))
    follow_vocabulary(model)
    if model._warm_up is not None:
        X = rows.part(0, len(block)).X
        keep_for_warm_up(model, Batch(X, block.labels, block.weights, block.times))
    return model.classes_, out


def encode_next(model: CountsClassifier, rows: StreamPart) -> tuple[Block, Query | None] | None:
    """Encode as many rows from the first on as can run in the kernels, and those to answer instead of them, if any.

    None where the first row cannot. The encoder has met their values then; the counts have not.
    """
    n = _compiled_rows(model, rows) if model.knows_columns else 0
    if n == 0:
        return None
    rows, name = rows.part(0, n), type(model).__name__
    labels, _ = model.label_codes(rows.y)
    rows = replace(rows, X=read_table(rows.X))  # so that columns are read once
    until = model.encoder_.rows_until_cut(rows.X, where_labelled(labels, rows.weights), name)
    if until == 0:
        return None
    if until is not None:  # the row that a column is cut by goes by itself
        return encode_next(model, rows.part(0, until))
    block = encode_rows(model, rows, labels)
    return block, None if rows.answered is None else model.encode(rows.answered)


def encode_rows(model: CountsClassifier, rows: StreamPart, labels: np.ndarray) -> Block:
    """Encode rows of known columns, with their class codes; the encoder has met their values then, no count has."""
    codes = model.encoder_.update(rows.X, where_labelled(labels, rows.weights), type(model).__name__)
    return Block(codes, labels, rows.weights, rows.times, numbers_of(model, rows.X))


def encode_all(model: CountsClassifier, X: Any, y: Any, weights: np.ndarray | None, times: Any) -> Block:
    """Fix classes, columns and values of a model that was just started by a whole table; its rows, encoded.

    Nothing is counted yet. Rows without a label, or without weight, teach no value.
    """
    labels, classes = model.label_codes(y)
    weighed = where_labelled(labels, weights)
    batch = Batch(model.validate_table(X, reset=True), labels, weighed, check_times(times, len(labels)))
    model.add_classes(classes)
    model._start_encoder(batch, stream=True)
    if model.schema is None and model._recutting is None and not model.reads_numbers:
        model.encoder_.watch(batch.X)
        leave_uncut(model)
        model._start_model()
    if model.schema is None:
        tell_columns(model.encoder_.schema)
    model.note_columns()
    codes = model.encoder_.update(batch.X, weighed, type(model).__name__)
    follow_vocabulary(model)
    return Block(codes, labels, weighed, batch.times, numbers_of(model, X))


def learn_first_encoded(model: CountsClassifier, like: CountsClassifier, block: Block) -> None:
    """Learn the first rows of a model that knows the classes alone; another one has encoded them (``encode_all``)."""
    model.encoder_ = encoder_for(model, like.encoder_.schema)
    model._start_model()
    for name in ("n_features_in_", "feature_names_in_"):
        if name in like.__dict__:
            setattr(model, name, getattr(like, name))
    model.learn_block(block)


def encode_again(model: CountsClassifier, rows: StreamPart) -> Block:
    """Rows that a model with columns for good has learned, as it has encoded them."""
    codes = model.encoder_.encode(rows.X, "ignore", type(model).__name__)
    return Block(codes, model.label_codes(rows.y)[0], rows.weights, rows.times, numbers_of(model, rows.X))


def answer_and_learn_encoded(model: CountsClassifier, block: Block, asked: Query | None = None) -> np.ndarray:
    """Answer and learn labelled rows that are encoded already, with values and classes that the model knows.

    ``asked``: rows to answer instead of them.
    """
    lap = Lap(block, asked, np.empty((len(block), len(model.classes_))))
    run_lap(model, lap)
    return lap.out


def run_lap(model: CountsClassifier, lap: Lap) -> None:
    """Answer and learn labelled rows that are encoded already, with values and classes that the model knows."""
    done = _run_plain(model, lap.block, lap.out) if lap.asked is None else 0
    if done < len(lap.block):
        model._run(lap.part(slice(done, None)))


def _run_plain(model: CountsClassifier, block: Block, out: np.ndarray) -> int:
    """Let the kernel run where there are but counts and one structure; how many rows went. Blocks may be short."""
    view = plain_view(model)
    return 0 if view is None else view.stream(block, out, NO_STEPS)


def plain_view(model: CountsClassifier) -> View | None:
    """The view that answers in the kernels where there are but counts and one structure; None elsewhere."""
    if model._contest is not None or not model._learned.counts_only:
        return None
    if model._adaptive() or model._stream_scores() is not None:
        return None
    view = kernel_view(model, model._answers(fresh=False))
    return None if view is None or view.learned else view


def begin_again(model: CountsClassifier, schema: Schema, classes: np.ndarray) -> bool:
    """Let a model that nobody needs forget all its rows, and have these columns; whether it did.

    It has counted the same columns and classes, perhaps by other cut points. To make a model takes longer than to learn
    hundreds of rows; where cut points are the same, its plans and its memory serve again as well.
    """
    same_classes = model.classes_ is classes or np.array_equal(model.classes_, classes)
    if not same_classes or model.counts_.schema.names != schema.names or plain_view(model) is None:
        return False
    if model.counts_.schema is schema and model.encoder_.schema is schema:
        model.counts_.clear()
    else:
        model.encoder_.adopt(schema)
        model._start_model()
    return True


def answer_row(model: CountsClassifier, codes: RowOfCodes) -> list[float]:
    """The answer to one encoded row without Gaussian columns, as a stream answers."""
    view = kernel_view(model, model._answers(fresh=False))
    if view is not None:
        return view.plan.one(codes)
    proba: list[float] = model.stream_scorer.score(Query(row_array(codes)[None, :]))[0].tolist()
    return proba


def _compiled_rows(model: CountsClassifier, rows: StreamPart) -> int:
    """How many rows from the first on can run in the kernels."""
    model.count_warm_up()
    if model.unseen == "error" or kernel_view(model, model._answers(fresh=False)) is None:
        return 0
    plain = _plain_rows(model, rows)
    if rows_of_dicts(rows.X):  # which may bring new columns
        plain = next((r for r, row in enumerate(rows.X[:plain]) if model.encoder_.new_names(row)), plain)
    return min(plain, rows_of_stage(model, len(rows)))


def _plain_rows(model: CountsClassifier, rows: StreamPart) -> int:
    """How many rows from the first on have a known class and a weight; or no class, where that changes nothing."""
    memory, y = model._learned, rows.y
    skips_unlabelled = (
        memory.clock is None and memory.rows is None and model._warm_up is None and model.unseen == "ignore"
    )
    odd = np.zeros(len(y), dtype=bool) if rows.weights is None else rows.weights == 0
    known = model.class_codes
    values = np.unique(y) if y.dtype != object else np.array(list(dict.fromkeys(y.tolist())), dtype=object)
    for label in values.tolist():
        if label not in known and not (skips_unlabelled and is_missing(label)):
            odd = odd | (y == label if not is_missing(label) else np.array([is_missing(other) for other in y.tolist()]))
    return int(np.argmax(odd)) if odd.any() else len(y)


def shared_warm_up(models: Sequence[CountsClassifier]) -> WarmUp | None:
    """The warm-up of the first model where the others have none of their own; None where it is over, or not shared."""
    first, *others = models
    return first._warm_up if others and all(model._warm_up is None for model in others) else None


def follow_warm_up(models: Sequence[CountsClassifier], warm: WarmUp) -> None:
    """Let all models have the columns of the first, which its warm-up has given it; where these are new, count anew."""
    first, *others = models
    behind = [model for model in others if model._warm_up is not None or not has_columns_of(model, first)]
    if behind:
        all_counted = first._warm_up is None or warm.counted == warm.n_rows
        rows = warm.batch if all_counted else warm.batch.part(0, warm.counted)
        table = warm.read() if all_counted else rows.X
        codes = first.encoder_.encode(table, "ignore", type(first).__name__)
        block = Block(codes, rows.labels, rows.weights, rows.times, numbers_of(first, rows.X))
    for model in behind:
        _begin_with_encoder_of(model, first)
        model._warm_up = None
        model.learn_block(block)
    for model in others:
        model.encoder_ = first.encoder_


def learn_first_together(models: Sequence[CountsClassifier], batch: Batch, learn: Learn) -> bool:
    """Let models that are alike but for how they forget learn first rows, for which the first has new columns.

    ``learn`` may learn them for all; else each does. False where these rows are for the first alone, because some model
    keeps its columns, or they come otherwise than the first rows of numbers and text.
    """
    first, *others = models
    block = None if any(has_columns_of(model, first) for model in others) else first_block(first, batch)
    if block is None:
        return False
    for model in others:
        _begin_with_encoder_of(model, first)
        model._warm_up = WarmUp()  # has yet to learn them, should Ctrl-C come between
    if not learn(block):
        for model in models:
            model.learn_block(block)
    for model in others:
        model._warm_up = None
    return True


def _begin_with_encoder_of(model: CountsClassifier, first: CountsClassifier) -> None:
    model.encoder_ = first.encoder_
    model._start_model()
    model.note_columns()


def add_classes_in_warm_up(models: Sequence[CountsClassifier], classes: np.ndarray) -> bool:
    """Let models that share the warm-up of the first know more classes by counting its rows again, where that is quick.

    All cells would have to move otherwise; the first rows of a stream fill few of them. False where it is not done.
    """
    first = models[0]
    warm = first._warm_up
    if warm is None or warm.counted < warm.n_rows or any(model._warm_up is not None for model in models[1:]):
        return False
    if 4 * warm.n_rows * first.counts_.n_features**first.counts_.order > first.counts_.nbytes // 8:
        return False
    warm.move_classes(class_map(first.classes_, classes))
    rows = warm.batch
    codes = first.encoder_.encode(rows.X, "ignore", type(first).__name__)
    block = Block(codes, rows.labels, rows.weights, rows.times, numbers_of(first, rows.X))
    for model in models:
        model.classes_, slots = classes, model.counts_.n_slots
        model._start_model()
        model.counts_.reserve(slots)
        model.learn_block(block)
    return True


def take_columns(model: CountsClassifier, like: CountsClassifier) -> None:
    """Have the columns that another model has fixed, and count the rows of a warm-up in them."""
    warm, model._warm_up = model._warm_up, None
    _start_with_columns_of(model, like)
    if warm is not None:
        model._count(warm.batch)


def count_anew(model: CountsClassifier, like: CountsClassifier, warm: WarmUp, since: int) -> None:
    """Have the columns that a warm-up has given another model by now, and count its rows from one on in them."""
    _start_with_columns_of(model, like)
    if since < warm.n_rows:
        model._count(warm.batch.part(since, warm.n_rows))


def _start_with_columns_of(model: CountsClassifier, like: CountsClassifier) -> None:
    model.encoder_ = encoder_for(model, like.encoder_.schema)
    model._start_model()
    model.note_columns()


def warm_up_of(model: CountsClassifier) -> WarmUp | None:
    """The first rows of its stream, all of them counted; None where its columns are fixed."""
    model.count_warm_up()
    return model._warm_up


def has_columns_of(model: CountsClassifier, first: CountsClassifier) -> bool:
    return model.knows_columns and model.encoder_.schema == first.encoder_.schema


def run_alone(model: CountsClassifier, lap: Lap) -> None:
    """Answer and learn encoded rows, as many at a time as one structure can answer."""
    memory = model._learned
    steps = memory.steps(len(lap.block), lap.block.times)
    if steps.late is not None:  # rows that come after newer ones have faded already
        weights = lap.block.weights
        lap.block = lap.block.weighing(steps.late if weights is None else weights * steps.late)
    done, end = 0, len(lap.block)
    at_once = rows_at_once(model)
    while done < end:
        current = model._answers(fresh=False)
        view = kernel_view(model, current)
        most = min(at_once, _rows_of_structure(model, lap.part(slice(done, end)).block))
        part = slice(done, done + most)
        went = 0
        # A decay per class needs a scale per class, which the kernels do not have.
        if view is not None and (steps.fade is None or not memory.per_class):
            went = _run(model, view, lap.part(part), steps.part(part))
        if went == 0:  # this row has a value that no row before it had, or is not for the kernel
            went, part = 1, slice(done, done + 1)
            _run_one(model, lap.part(part), steps.part(part))
        done += went


def rows_at_once(model: CountsClassifier) -> int:
    """How many rows the kernels take in one call."""
    counts = model._learned.counts
    cells = counts.n_features**counts.order * counts.n_classes + 200  # and what a row costs beside them
    return max(64, WORK_AT_ONCE // cells)


def _rows_of_structure(model: CountsClassifier, block: Block) -> int:
    """How many rows the present structure may still answer, until it must be learned again."""
    most = len(block)
    memory, current = model._learned, model._answering.current
    assert current is not None
    if not follows_counts(model, current):
        return most
    left = due(model, current) - memory.n_learned
    if block.weights is None or memory.clock is not None:
        return int(min(most, max(0.0, left) + 1))
    return min(most, 1 + int(np.searchsorted(np.cumsum(block.weights), left, side="right")))


def _run(model: CountsClassifier, view: View, lap: Lap, steps: Steps) -> int:
    """Answer and learn rows in the kernels, up to one with a new value; rows leave the window on the way."""
    memory, block = model._learned, lap.block
    rows, moments = memory.rows, memory.moments
    assert not isinstance(moments, ContextMoments)  # those are not for the kernels
    if rows is not None:  # the kernels take rows that leave from this queue, which ends with the rows of this lap
        rows.follow(memory.counts)
        memory.keep(block)
    queue = None if steps.gone is None or rows is None else rows.queue
    leaving, scale = None, 1.0 if rows is None else rows.scale
    if queue is not None and rows is not None and rows.numbers is not None:
        leaving = rows.numbers, queue[1], queue[2].copy()  # before the kernels write new weights
    scores = model._stream_scores()
    answered = None if lap.asked is None else codes_to_answer(model, lap.asked)
    if scores is None:
        went = view.stream(block, lap.out, steps, answered=answered, queue=queue, judged=lap.judged)
    else:
        went = view.stream(block, lap.out, steps, answered=answered, queue=queue, scores=scores[0], keep=scores[1])
        model._take_stream_scores(view, *scores, went)
    if moments is not None and went:
        gone = None if leaving is None else (*(cells[: len(cells) - len(block) + went] for cells in leaving), scale)
        _run_moments(moments, lap.part(slice(went)), steps.part(slice(went)), gone)
    if rows is not None:
        rows.drop_last(len(block) - went)
        _follow_kernels(memory, steps, went)
    if memory.clock is not None:
        memory.clock.pass_rows(went, None if block.times is None else block.times[:went])
    return went


def _run_moments(moments: Moments, lap: Lap, steps: Steps, leaving: Any) -> None:
    """Let Gaussian columns add to the answers, and learn them; `leaving` are the rows of the window."""
    block = lap.block
    assert block.numbers is not None
    density = np.empty_like(lap.out)
    rows, leave = (block.numbers, block.labels, block.weights), (steps.fade, leaving, steps.gone)
    if lap.judged is not None:
        deepcopy(moments).stream(*rows, density, None, *leave)
        some = block.labelled
        lap.judged[some] = _with_numbers(lap.judged[some], density[some])
    moments.stream(*rows, density, None if lap.asked is None else lap.asked.numbers, *leave)
    lap.out[:] = _with_numbers(lap.out, density)


def _with_numbers(proba: np.ndarray, density: np.ndarray) -> np.ndarray:
    """What the counts say, and Gaussian columns add."""
    with np.errstate(divide="ignore"):
        return normalised(np.log(proba) + density)


def _follow_kernels(memory: Memory, steps: Steps, n: int) -> None:
    """The kernels have counted the last n rows that are kept; those that left the window go."""
    rows, counts = memory.rows, memory.counts
    assert rows is not None
    if steps.gone is not None:
        rows.scale, rows.halvings = counts.scale, counts.halvings  # the kernels have weighed them
        rows.drop(int(steps.gone[:n].sum()))
        return
    if steps.fade is not None and n:
        later = np.cumsum(np.log(steps.fade[:n])[::-1])[::-1] - np.log(steps.fade[:n])
        own = rows.raw[-n:] / rows.scale * np.exp(later)
        rows.follow(counts)
        rows.raw[-n:] = own * rows.scale
        rows.prune(LIGHT)


def _run_one(model: CountsClassifier, lap: Lap, steps: Steps) -> None:
    """Answer and learn one row, and make room for its values."""
    memory, block = model._learned, lap.block
    asked = block.query if lap.asked is None else lap.asked
    query = Query(_as_unseen(model, asked.codes), asked.numbers)
    lap.out[:] = _counts_then_numbers(model, query)
    if lap.judged is not None:
        lap.judged[:] = _judged(model, lap)
    if not block.labelled[0]:
        return  # nothing to learn
    grow_counts_to(model, block.codes[0])
    memory.add_row(block, Steps(steps.fade, None, steps.gone))  # weights are late ones already


def _judged(model: CountsClassifier, lap: Lap) -> np.ndarray | float:
    """What one row to learn is given, 0 where it has no label; ``lap.out`` is there already."""
    if not lap.block.labelled[0]:
        return 0.0
    if lap.asked is None:
        return lap.out
    return _counts_then_numbers(model, Query(_as_unseen(model, lap.block.codes), lap.block.numbers))


def _counts_then_numbers(model: CountsClassifier, query: Query) -> np.ndarray:
    """The answer as the kernels give it: probabilities by the counts, then those of Gaussian columns."""
    moments = model._learned.moments
    current = model._answers(fresh=False)
    if kernel_view(model, current) is None or isinstance(moments, ContextMoments):
        return model.stream_scorer.score(query)
    proba = current.view.score(Query(query.codes))
    if moments is None or query.numbers is None:
        return proba
    return _with_numbers(proba, moments.log_ratios(query.numbers)[0])


def codes_to_answer(model: CountsClassifier, asked: Query) -> np.ndarray:
    """Codes of rows to answer, for the kernels: values that the encoder has met since are none to the counts yet."""
    return _as_unseen(model, asked.codes) if model.unseen == "smooth" else asked.codes


def _as_unseen(model: CountsClassifier, codes: np.ndarray) -> np.ndarray:
    """Codes beyond the counts as prediction would see them."""
    n_values = model.counts_.schema.n_values
    beyond = (codes >= n_values) & (codes != np.iinfo(codes.dtype).max)
    marker = n_values if model.unseen == "smooth" else np.iinfo(codes.dtype).max
    return np.where(beyond, marker, codes).astype(codes.dtype)


def grow_counts(model: CountsClassifier, block: Block) -> None:
    """Let the counts know the values of these rows, and no more that the encoder may know."""
    codes = block.codes
    known = np.where(codes == np.iinfo(codes.dtype).max, 0, codes)
    if len(codes):
        grow_counts_to(model, known.max(axis=0))


def grow_counts_to(model: CountsClassifier, row: np.ndarray) -> None:
    """Let the counts know the values up to those of this row; values have codes in order of appearance."""
    columns, changed = model.encoder_.schema.columns, dict[int, Column]()
    for i in np.flatnonzero((model.counts_.schema.n_values <= row) & (row != np.iinfo(row.dtype).max)).tolist():
        changed[i] = with_first_values(columns[i], int(row[i]) + 1)
    if changed:  # else the structure, which is bound to the layout, would be lost
        schema = model.counts_.schema.with_columns(changed)
        model.make_room(schema, model.classes_)
        model.counts_.grow(schema, model.classes_, room_for=model.encoder_.schema)


def with_first_values(column: Column, n: int) -> Column:
    """A column as it was when it had so many values."""
    if n >= column.n_values:
        return column
    return replace(column, values=column.values[:n], other=False, n_codes=min(column.n_codes, n))


def where_labelled(labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
    """Weights that are 0 where there is no label: such a row teaches no new value."""
    known = labels != np.iinfo(labels.dtype).max
    if known.all():
        return weights
    return known.astype(float) if weights is None else np.where(known, weights, 0.0)
