"""The protocol: what each part of a table returns, how that is put together, and the model that comes of it.

An engine is one function, ``run(work, merge)``: do the work on every part, each of which gives bytes, merge the results
as a tree, neighbours with neighbours, and give the bytes of all. Learning is two such runs, and sometimes more:

1. Every part sums up its columns (``tanager.encoding.summary``); the merged summary is the schema of the whole table.
   With ``schema=`` and ``classes=`` given this run is left out.
2. Every part counts its rows under that schema; the merged counts are those of the whole table, bit for bit.
3. A structure that is chosen from the counts may need further families, which every part counts in one more run.

Work is a pure function of a part, so an engine may repeat it, or do it twice and take either result.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from tanager.cluster.wire import merge_in_order, pack, unpack
from tanager.counts.align import as_label_array, sort_labels
from tanager.counts.block import Block, joined
from tanager.counts.joint import JointCounts
from tanager.counts.memory import check_budget
from tanager.encoding import Schema
from tanager.encoding import summary as summaries
from tanager.encoding.encoder import Encoder
from tanager.encoding.labels import join_classes
from tanager.encoding.summary import Summary
from tanager.errors import DataError, DataWarning, OptionError
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.memory import Memory
from tanager.learning.merge import add_memory

MOST_DISTINCT = 20_000  # distinct cells of a column up to which the schema is exact

Rows = tuple[Any, Any, Any]  # X, y and sample_weight (or None) of some rows of a part
Work = Callable[[Iterable[Rows]], bytes]
Merge = Callable[[list[bytes]], bytes]
Engine = Callable[[Work, Merge], "bytes | None"]


@dataclass(frozen=True)
class Plan:
    """What a part needs to know: the model as it was asked for, and, for counting, columns and classes."""

    model: CountsClassifier
    target: str | None = None
    most: int = MOST_DISTINCT
    schema: Schema | None = None
    classes: np.ndarray | None = None
    named: bool = True
    weight: float | None = None  # of all rows with a label, by the first run

    def empty_model(self) -> CountsClassifier:
        """A model of its own that has counted nothing."""
        assert self.schema is not None
        model: CountsClassifier = clone(self.model)
        return model.fit_columns(self.schema, self.classes, self.target, named=self.named)

    def encoded(self, model: CountsClassifier, rows: Rows) -> Block:
        """Rows of a part in the codes of the plan."""
        X, y, weights = rows
        if self.classes is None:
            model.add_classes(model.classes_with(y))
        return model.known_rows(X, y, weights, unseen="ignore")


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
        One that counts. Where it would look at rows again, these are counted once more (KDB), or brought together as
        codes within its ``max_memory``.
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
    if schema is None or (plan.classes is None and _gathers(plan.empty_model())):  # rows in codes of the same classes
        plan = _with_schema(plan, run(partial(summarize_part, plan), merge_summaries))
    found = run(partial(count_part, plan), merge_counts)
    if found is None:
        raise DataError("no part of the table has a row. At least one row needs a class.")
    assert plan.schema is not None
    _finish(model, plan, unpack(found), run)
    return model


def update(model: Any, run: Engine, *, max_distinct: int = MOST_DISTINCT) -> Any:
    """Learn further rows in parts, as ``partial_fit`` would learn them: new values and classes are welcome."""
    refuse_order(model)
    model.check_fitted()
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
        model.add_memory(Memory(_count_again(plan, run, blank)))
        return
    found = unpack(run(partial(count_part, plan), merge_counts) or b"")
    if isinstance(found, Block):
        model.add_classes(plan.classes)
        model.take_vocabulary(plan.schema)
        model.learn_block(found)
    else:
        model.add_memory(found)


def run_here(parts: Sequence[Iterable[Rows]]) -> Engine:
    """The engine that does the parts one after the other in this process: the reference for all others."""

    def run(work: Work, merge: Merge) -> bytes | None:
        return merge_in_order((result for part in parts if (result := work(part))), merge)

    return run


def refuse_order(model: Any) -> None:
    """Refuse a classifier whose answers depend on the order of rows: parts of a table have none."""
    name = type(model).__name__
    if not isinstance(model, CountsClassifier):
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


# --- the first run: what are the columns? ---------------------------------------------------------------------------


def summarize_part(plan: Plan, rows: Iterable[Rows]) -> bytes:
    """The summary of a part; no bytes where it has no row."""
    parts = [_summary(plan, *chunk) for chunk in _filled(rows)]
    return pack(summaries.merge(parts)) if parts else b""


def _summary(plan: Plan, X: Any, y: Any, weights: Any) -> Summary:
    return summaries.summarize(X, y, weights, most=plan.most, options=Encoder(**plan.model.encoder_options()))


def merge_summaries(parts: list[bytes]) -> bytes:
    """The summary of several parts, in order."""
    return pack(summaries.merge([unpack(part) for part in parts]))


def _with_schema(plan: Plan, found: bytes | None) -> Plan:
    """The plan with the schema of the table."""
    if found is None:
        raise DataError("no part of the table has a row. At least one row needs a class.")
    summary: Summary = unpack(found)
    if len(summary.classes) == 0:
        raise DataError("y has no label: every entry is missing. At least one row needs a class.")
    if summary.weight == 0:
        raise DataError("every sample weight is zero; at least one row must count.")
    for name, seen in zip(summary.names, summary.columns, strict=True):
        if seen.names_things:
            warnings.warn(
                f"column {name!r} has a value of its own in almost every row, and more than {plan.most:,} of them: it "
                "is taken for a name and left out.",
                DataWarning,
                stacklevel=4,
            )
    if summary.n_unlabelled:
        warnings.warn(f"{summary.n_unlabelled:,} rows have no label and are left out.", DataWarning, stacklevel=4)
    encoder = Encoder(**plan.model.encoder_options())
    schema = summaries.learn_schema(summary, encoder) if plan.schema is None else plan.schema
    plan = replace(plan, schema=schema, classes=summary.classes, named=summary.named, weight=summary.weight)
    _check_gathered(plan, summary.n_rows)
    return plan


def _check_gathered(plan: Plan, n: int) -> None:
    """Refuse rows that are brought together, where they take too much memory, before anything is counted."""
    model = plan.empty_model()  # refuses counts beyond the budget, too
    if _gathers(model):
        _check_rows(plan, model, n)


def _check_rows(plan: Plan, model: CountsClassifier, n: float) -> None:
    assert plan.schema is not None
    width = 2 if int(plan.schema.n_values.max(initial=0)) > 254 else 1
    size = n * (width * len(plan.schema) + 10.0 + 8 * len(model.memory.number_columns))
    name = type(model).__name__
    check_budget(
        size,
        model.max_memory,
        f"bringing {n:,.0f} rows together, which {name} looks at again,",
        "Use a classifier that counts alone (AODE, or KDB in further runs), fit to a sample, or raise max_memory.",
    )


def _gathers(model: CountsClassifier) -> bool:
    """Whether rows are brought together: whoever chooses once is served by further runs."""
    return model.looks_at_rows and not model.memory.until_chosen


# --- the second run: counts -----------------------------------------------------------------------------------------


def count_part(plan: Plan, rows: Iterable[Rows]) -> bytes:
    """What a part has counted, or its rows as codes where they are looked at again; no bytes where it has no row."""
    model = plan.empty_model()
    if _gathers(model):
        blocks = [plan.encoded(model, chunk) for chunk in _filled(rows)]
        return pack(joined(blocks)) if blocks else b""
    memory = model.memory
    memory.rows = None
    n = 0
    for chunk in _filled(rows):
        n += 1
        model.learn_block(plan.encoded(model, chunk))
    return pack(memory) if n else b""


def _filled(rows: Iterable[Rows]) -> Iterable[Rows]:
    return (chunk for chunk in rows if len(chunk[1]))


def merge_counts(parts: list[bytes]) -> bytes:
    """What several parts have counted, in order; one of them is unpacked at a time."""
    total = unpack(parts[0])
    if isinstance(total, Block):
        return pack(joined([total, *(unpack(part) for part in parts[1:])]))
    for part in parts[1:]:
        add_memory(total, unpack(part))
    return pack(total)


def _finish(model: CountsClassifier, plan: Plan, found: Memory | Block, run: Engine) -> None:
    """The model, with all that its structure needs counted."""
    assert plan.schema is not None
    _refuse_changes(plan, found)
    model.fit_columns(plan.schema, plan.classes, plan.target, named=plan.named)
    if isinstance(found, Block):
        model.learn_block(found)
    else:
        if found.until_chosen:
            plan = replace(plan, classes=found.counts.classes)
            found.read = partial(_read_again, plan, run, found.counts.n_rows)
            found.count_apart = partial(_count_again, plan, run)
        model.take_memory(found)
    model.check_learned()


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


# --- further runs ---------------------------------------------------------------------------------------------------


def count_families_part(plan: Plan, blank: bytes, rows: Iterable[Rows]) -> bytes:
    """A part counted into counts of another shape."""
    model, counts = plan.empty_model(), unpack(blank)
    for chunk in _filled(rows):
        block = plan.encoded(model, chunk)
        counts.update(block.codes, block.labels, block.weights)
    return pack(counts)


def merge_families(parts: list[bytes]) -> bytes:
    """Counts of several parts."""
    total: JointCounts = unpack(parts[0])
    for part in parts[1:]:
        total.merge(unpack(part))
    return pack(total)


def _count_again(plan: Plan, run: Engine, blank: JointCounts) -> JointCounts:
    found = run(partial(count_families_part, plan, pack(blank)), merge_families)
    assert found is not None
    counts: JointCounts = unpack(found)
    counts.take_scale(blank)
    return counts


def encode_part(plan: Plan, rows: Iterable[Rows]) -> bytes:
    """The rows of a part as codes."""
    model = plan.empty_model()
    blocks = [plan.encoded(model, chunk) for chunk in _filled(rows)]
    return pack(joined(blocks)) if blocks else b""


def _read_again(plan: Plan, run: Engine, n: float) -> Iterable[Block]:
    """All rows, brought together for one more look."""
    _check_rows(plan, plan.empty_model(), n)
    found = run(partial(encode_part, plan), merge_counts)
    return [] if found is None else [unpack(found)]
