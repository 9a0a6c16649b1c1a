"""The protocol: what each part of a table returns, how that is put together, and the model that comes of it.

An engine is one function, ``run(work, merge)``: do the work on every part, each of which gives bytes, merge the results
as a tree, neighbours with neighbours, and give the bytes of all. Learning is two such runs, and sometimes more:

1. Every part sums up its columns (``columns.py``); the merged summary is the schema of the whole table. With
   ``schema=`` and ``classes=`` given this run is left out.
2. Every part counts its rows under that schema (``counting.py``), or gives them as codes where they are looked at again
   (``gathering.py``); merged, they are those of the whole table, bit for bit.
3. A structure that is chosen from the counts may need further families, which every part counts in one more run, and
   sums over all rows, which are another one.

Work is a pure function of a part, so an engine may repeat it, or do it twice and take either result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tanager.cluster.columns import merge_summaries, summarize_part, with_schema
from tanager.cluster.counting import RowsInParts, count_part, merge_counts
from tanager.cluster.gathering import gathers, merge_rows, rows_part
from tanager.cluster.plan import MOST_DISTINCT, Engine, Merge, Plan, Rows, Work
from tanager.cluster.wire import merge_in_order, unpack
from tanager.counts.align import as_label_array, sort_labels
from tanager.counts.block import Block
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.encoding import summary as summaries
from tanager.encoding.labels import join_classes
from tanager.encoding.summary import Summary
from tanager.errors import DataError, OptionError
from tanager.estimator import clone
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.memory import Memory


def fit(
    model: Any,
    run: Engine,
    *,
    target: str | None = None,
    max_distinct: int = MOST_DISTINCT,
    schema: Schema | None = None,
    classes: Any = None,
    named: bool = True,
) -> Any:
    """Fit a classifier to a table in parts, by an engine. In place; what it had learned before is forgotten.

    Parameters
    ----------
    model : classifier
        One that counts. Where it would look at rows again, further runs do that (KDB, SelectiveKDB), or rows are
        brought together as codes within its ``max_memory``; learned networks and NetworkForest bring only those that
        differ.
    run : callable
        The engine.
    target : str, default=None
        What the class is called.
    max_distinct : int, default=20,000
        Distinct cells of a column up to which kinds, values and cut points are those of a single machine.
    schema : Schema, default=None
        Columns known beforehand, which spares a run; as the model's own option of that name.
    classes : array, default=None
        All classes, where they are known beforehand. Only with a schema.
    named : bool, default=True
        Whether the table names its columns.

    Returns
    -------
    classifier
        The model.

    Examples
    --------
    >>> from tanager import AODE
    >>> from tanager.cluster import fit, run_here
    >>> X, y = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"]], ["play", "stay", "play"]
    >>> parts = [[(X[:1], y[:1], None)], [(X[1:], y[1:], None)]]
    >>> model = fit(AODE(), run_here(parts), named=False)
    >>> model.counts_ == AODE().fit(X, y).counts_
    True
    """
    refuse_order(model)
    model.check_options()
    schema = model.schema if schema is None else schema
    if schema is not None:
        schema = schema.close()
    _choose_once(model)
    plan = Plan(clone(model), target, _check_distinct(max_distinct, model), schema, None, named)
    if classes is not None:
        plan = replace(plan, classes=sort_labels(as_label_array(classes)))
    if schema is None or (plan.classes is None and gathers(plan)):  # rows in codes of the same classes
        plan = with_schema(plan, run(partial(summarize_part, plan), merge_summaries))
    _finish(model, plan, _second_run(plan, run), run)
    return model


def _second_run(plan: Plan, run: Engine) -> Memory | Block:
    """What all parts have counted, or their rows."""
    if gathers(plan):
        found = run(partial(rows_part, plan), partial(merge_rows, plan))
    else:
        found = run(partial(count_part, plan), merge_counts)
    if found is None:
        raise DataError("no part of the table has a row. At least one row needs a class.")
    counted: Memory | Block = unpack(found)
    return counted


def update(model: Any, run: Engine, *, max_distinct: int = MOST_DISTINCT) -> Any:
    """Learn further rows in parts, as ``partial_fit`` would learn them: new values and classes are welcome.

    Parameters
    ----------
    model : classifier
        A fitted one that counts; it learns in place.
    run : callable
        The engine.
    max_distinct : int, default=20,000
        As in ``fit``.

    Returns
    -------
    classifier
        The model.

    Examples
    --------
    >>> from tanager import AODE
    >>> from tanager.cluster import run_here, update
    >>> X, y = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"]], ["play", "stay", "play"]
    >>> model = AODE().fit(X, y)
    >>> new_X, new_y = [["snow", "cold"], ["snow", "mild"]], ["ski", "stay"]
    >>> parts = [[(new_X[:1], new_y[:1], None)], [(new_X[1:], new_y[1:], None)]]
    >>> update(model, run_here(parts)).classes_.tolist()
    ['play', 'ski', 'stay']
    >>> model.counts_ == AODE().fit(X + new_X, y + new_y).counts_
    True
    """
    refuse_order(model)
    model.check_fitted()
    model.check_teachable()
    asked = clone(model).set_params(schema=None)
    named = hasattr(model, "feature_names_in_")
    plan = Plan(asked, model.target_name_, _check_distinct(max_distinct, model), named=named)
    found = run(partial(summarize_part, plan), merge_summaries)
    if found is None:
        return model
    summary: Summary = unpack(found)
    schema = summaries.grow_schema(model.encoder_.schema, summary, model.max_values)
    classes = join_classes(model.classes_, summary.classes)
    plan = replace(plan, model=clone(model), schema=schema, classes=classes)
    _learn_more(model, plan, run)
    return model


def _learn_more(model: CountsClassifier, plan: Plan, run: Engine) -> None:
    assert plan.schema is not None
    assert plan.classes is not None
    memory = model.memory
    if memory.has_let_rows_go:  # pairs and the families of its structure alone
        own = memory.counts
        shape: dict[str, Any] = {name: getattr(own, name) for name in ("order", "anchors", "families", "spare")}
        blank = JointCounts(plan.schema, plan.classes, sparse=tuple(own.sparse), **shape)
        model.add_memory(Memory(RowsInParts(plan, run).count(blank)))
        return
    found = _second_run(plan, run)
    if isinstance(found, Block):
        model.add_classes(plan.classes)
        model.take_vocabulary(plan.schema)
        model.learn_block(found)
    else:
        model.add_memory(found)


def run_here(parts: Sequence[Iterable[Rows]]) -> Engine:
    """The engine that does the parts one after the other in this process: the reference for all others.

    Parameters
    ----------
    parts : sequence of iterables of (X, y, sample_weight)
        Each part of the table is some chunks of rows; weights may be None.

    Returns
    -------
    callable
        ``run(work, merge)``, as ``fit`` and ``update`` take it.

    Examples
    --------
    What an engine does, with work that counts rows and a merge that adds:

    >>> from tanager.cluster import run_here
    >>> parts = [[([["sun"]], ["play"], None)], [([["rain"], ["sun"]], ["stay", "play"], None)]]
    >>> def work(part):
    ...     return str(sum(len(y) for X, y, weights in part)).encode()
    >>> def merge(results):
    ...     return str(sum(map(int, results))).encode()
    >>> run_here(parts)(work, merge)
    b'3'
    """

    def run(work: Work, merge: Merge) -> bytes | None:
        return merge_in_order((result for part in parts if (result := work(part))), merge)

    return run


def refuse_order(model: Any) -> None:
    """Refuse a classifier whose answers depend on the order of rows: parts of a table have none."""
    name = type(model).__name__
    if not isinstance(model, CountsClassifier) or model.answers_to_learn:
        raise OptionError(
            f"{name} learns row after row, and the parts of a table are learned side by side. Use a classifier that "
            "counts, such as AODE."
        )
    for option in ("decay", "window", "recut"):
        if getattr(model, option) is not None:
            raise OptionError(
                f"{option}= depends on the order of rows, and the parts of a table are learned side by side. Leave it "
                "out, and learn what follows as a stream with partial_fit."
            )


def _choose_once(model: CountsClassifier) -> None:
    """Structures that can be chosen once, are: their families are counted in a further run, and no rows are kept."""
    if model.may_choose_once and model.looks_at_rows and model.refresh is None and not model.calibrate:
        model.set_params(refresh=float("inf"))


def _check_distinct(most: Any, model: CountsClassifier) -> int:
    least = max(1000, model.max_values)
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < least:
        raise OptionError(f"max_distinct={most!r}: give a whole number of at least {least:,}.")
    return int(most)


def _finish(model: CountsClassifier, plan: Plan, found: Memory | Block, run: Engine) -> None:
    """The model, with all that its structure needs counted."""
    assert plan.schema is not None
    _refuse_changes(plan, found)
    model.fit_columns(plan.schema, plan.classes, plan.target, named=plan.named)
    if isinstance(found, Block):
        model.learn_block(found)
    else:
        if found.until_chosen or plan.apart:
            found.elsewhere = RowsInParts(replace(plan, classes=found.counts.classes), run)
        model.take_memory(found)
    model.check_learned()
    model.memory.elsewhere = None


def _refuse_changes(plan: Plan, found: Memory | Block) -> None:
    """Refuse a table that is another one in the second run, such as a random sample that is drawn again."""
    if isinstance(found, Block):
        rows = found.counted()
        weight = float(len(rows) if rows.weights is None else rows.weights.sum())
    else:
        weight = found.counts.n_rows
    if plan.weight is not None and not np.isclose(weight, plan.weight, rtol=1e-9):
        raise DataError(
            f"the table has changed while it was read: rows with a label weigh {plan.weight:,.10g} in the first pass "
            f"and {weight:,.10g} in the second. Keep it as it is (cache or persist it), or write it to files first."
        )
