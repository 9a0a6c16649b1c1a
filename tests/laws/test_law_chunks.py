"""A stream teaches the same row by row, in chunks and whole, and from a file in between; whatever comes late in it.

Rows are dicts here, in which columns, classes and values come when they come: the hardest case. Where all columns are
there from the start, tables of any type are the same stream.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tanager
from profiles import examples, spread
from strategies import cuts
from tanager import (
    AODE,
    KDB,
    SPC,
    TAN,
    DriftAware,
    EvolvingNaiveBayes,
    HalfLives,
    HoeffdingTree,
    NaiveBayes,
    Recut,
)
from tanager.streams import few_columns

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

Model = Any
WARM = 14
LADDER = (5, math.inf)


def ladder(base: Any = AODE, **options: Any) -> HalfLives:
    return HalfLives(base(warm_up=WARM), half_lives=LADDER, **options)


MODELS: dict[str, Callable[[], Model]] = {
    "naive Bayes": lambda: NaiveBayes(warm_up=WARM),
    "window": lambda: NaiveBayes(warm_up=WARM, window=20),
    "cut points that move": lambda: NaiveBayes(warm_up=WARM, recut=Recut(by="grid", every=10, distance=0.05)),
    "tree": lambda: TAN(warm_up=WARM, decay=30),
    "kept rows": lambda: KDB(warm_up=WARM),
    "contest": lambda: SPC(super_parent="stream", warm_up=WARM, challengers=1),
    "drift": lambda: DriftAware(NaiveBayes(warm_up=WARM), every=5),
    "Hoeffding tree": lambda: HoeffdingTree(warm_up=WARM, grace=8, delta=0.4),
    "evolving": lambda: EvolvingNaiveBayes(warm_up=WARM),
    "half-lives": ladder,
    "half-lives of naive Bayes": lambda: ladder(NaiveBayes),
    "half-lives of trees": lambda: ladder(TAN),
    "subspaces": lambda: ladder(subspaces=2),
    "more bins": lambda: ladder(more_bins=(3,)),
    "few columns": lambda: ladder(max_columns=2),
    "last labels": lambda: ladder(lag=1),
    "last labels and subspaces": lambda: ladder(lag=2, subspaces=1),
    "last labels and few columns": lambda: ladder(lag=1, max_columns=2),
    "late labels": lambda: ladder(lag=1, delay=3),
    "fixed share": lambda: ladder(mix="fixed-share"),
}
STRUCTURES: dict[str, Callable[[], Model]] = {
    "every tenth row": lambda: TAN(warm_up=WARM, refresh=10),
    "never again": lambda: TAN(warm_up=WARM, refresh=math.inf),
    "beyond chance": lambda: TAN(warm_up=WARM, refresh="hoeffding"),
    "by rows": lambda: KDB(warm_up=WARM),
    "super-parent by rows": lambda: SPC(super_parent="refined", warm_up=WARM),
}


@pytest.fixture(autouse=True)
def _early_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_columns, "LOOKS", (4, 16, 40))


@dataclass(frozen=True)
class Stream:
    """Rows as dicts, their labels (None: not known) and weights."""

    rows: list[dict[str, Any]]
    labels: list[Any]
    weights: list[float]

    def __len__(self) -> int:
        return len(self.rows)

    def full(self) -> Stream:
        """The same with a cell for every column in every row."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        return Stream([{name: row.get(name) for name in names} for row in self.rows], self.labels, self.weights)


@st.composite
def streams(draw: Any, most: int = 45) -> Stream:
    """Streams in which columns, classes and values come late, cells are missing, and numbers move or begin to vary."""
    n = draw(st.integers(3, most))
    begins = {what: draw(st.integers(0, n)) for what in ("column", "second column", "class", "numbers vary", "unit")}
    gaps, odd_labels, weighted, news = (draw(st.booleans()) for _ in range(4))
    labels_are_numbers = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))  # the cells themselves need no shrinking
    rows, labels, weights = [], [], []
    for r in range(n):
        y = int(rng.integers(3 if r >= begins["class"] else 2))
        number = float(rng.normal(y))
        row: dict[str, Any] = {
            "word": "abc"[(y + int(rng.integers(2))) % 3],
            "number": number if r < begins["unit"] else 1000 * number,
            "whole": int(rng.integers(0, 30)),
            "still": 0.0 if r < begins["numbers vary"] else float(rng.normal(y)),
        }
        if news and rng.random() < 0.15:
            row["word"] = f"new {r}"
        if gaps and rng.random() < 0.3:
            row.pop(str(rng.choice(["word", "number", "whole"])))
        if gaps and rng.random() < 0.2:
            row["still"] = None
        if r >= begins["column"]:
            row["late"] = "pq"[int(rng.integers(2))]
        if r >= begins["second column"] and rng.random() < 0.7:
            row["later"] = float(rng.normal(-y))
        rows.append(row)
        label = 2 - y if labels_are_numbers else "cab"[y]
        labels.append(None if odd_labels and rng.random() < 0.2 else label)
        weights.append(float(rng.choice([0.0, 1.0, 1.0, 2.5])) if weighted else 1.0)
    if all(label is None for label in labels):
        labels[0] = 0 if labels_are_numbers else "a"
    return Stream(rows, labels, weights)


def learn_part(model: Model, own: Stream, start: int, stop: int, table: Any = list, answered: Any = None) -> np.ndarray:
    part = slice(start, stop)
    given = {} if answered is None else {"answered": table(answered)}
    proba: np.ndarray = model.test_then_train(
        table(own.rows[part]), np.array(own.labels[part], dtype=object), own.weights[part], **given
    )
    return proba


def whole(make: Callable[[], Model], own: Stream) -> tuple[Model, list[dict[Any, float]]]:
    model = make()
    return model, by_class(model, learn_part(model, own, 0, len(own)))


def by_class(model: Model, proba: np.ndarray) -> list[dict[Any, float]]:
    return [dict(zip(model.classes_.tolist(), row, strict=True)) for row in proba.tolist()]


def from_file(model: Model, path: Any) -> Model:
    model.save(path / "model.tanager")
    return tanager.load(path / "model.tanager")


def same_answers(found: list[dict[Any, float]], expected: list[dict[Any, float]]) -> None:
    """Classes that were not known yet have 0; before anything is known answers are even."""
    for r, (own, like) in enumerate(zip(found, expected, strict=True)):
        if len({*own.values()}) > 1 or len({*like.values()}) > 1:
            for label in {**own, **like}:
                assert own.get(label, 0.0) == pytest.approx(like.get(label, 0.0), rel=1e-9, abs=1e-9), f"row {r}"


def same_model(found: Model, expected: Model, questions: Any) -> None:
    assert found.classes_.tolist() == expected.classes_.tolist()
    same_answers(*(by_class(model, model.predict_proba(questions)) for model in (found, expected)))
    assert found.encoder_.schema == expected.encoder_.schema


def counted(own: Stream) -> bool:
    """Whether some row counts, so that there is a model."""
    return any(y is not None and w > 0 for y, w in zip(own.labels, own.weights, strict=True))


@spread("name", [*MODELS])
@examples(15)
@given(own=streams(), data=st.data())
def test_chunks_are_the_whole_also_from_files_in_between(
    name: str, own: Stream, data: Any, tmp_path_factory: Any
) -> None:
    path = tmp_path_factory.mktemp("models")
    model, expected = whole(MODELS[name], own)
    some, answers, saves = MODELS[name](), [], data.draw(st.booleans())
    for start, stop in cuts(data.draw, len(own)):
        if saves:
            some = from_file(some, path) if some.started else some
        answers += by_class(some, learn_part(some, own, start, stop))
    same_answers(answers, expected)
    if counted(own):
        same_model(some, model, own.rows)


@spread("name", [*MODELS])
@examples(15)
@given(own=streams(), asks=st.booleans())
def test_single_rows_are_the_whole(name: str, own: Stream, asks: bool) -> None:
    model, expected = whole(MODELS[name], own)
    one, answers = MODELS[name](), []
    asks = asks and name != "late labels"  # there the whole says what was known when a row was asked about
    for row, label, weight in zip(own.rows, own.labels, own.weights, strict=True):
        if asks:
            answers.append(one.predict_proba_one(row))
        one.learn_one(row, label, weight)
    if asks:
        same_answers([own or like for own, like in zip(answers, expected, strict=True)], expected)
    if counted(own):
        same_model(one, model, own.rows)


@spread("name", [*MODELS])
@examples(15)
@given(own=streams(), data=st.data())
def test_parts_that_are_learned_unasked_are_the_whole(name: str, own: Stream, data: Any) -> None:
    model, _ = whole(MODELS[name], own)
    some = MODELS[name]()
    for start, stop in cuts(data.draw, len(own)):
        labels = np.array(own.labels[start:stop], dtype=object)
        if any(label is not None for label in labels):  # else such a part is refused
            some.partial_fit(own.rows[start:stop], labels, sample_weight=own.weights[start:stop])
    if counted(own):
        same_model(some, model, own.rows)


@spread("name", [*MODELS])
@examples(15)
@given(own=streams(), data=st.data())
def test_late_labels_in_chunks_are_the_whole(name: str, own: Stream, data: Any) -> None:
    late = 3
    first, then = slice(None, late), len(own) - late
    if then <= 0:
        return
    models = MODELS[name](), MODELS[name]()
    answers: list[list[dict[Any, float]]] = [[], []]
    later = Stream(own.rows[first], own.labels[first], own.weights[first])
    for model, edges, said in zip(models, ([(0, then)], cuts(data.draw, then)), answers, strict=True):
        for start, stop in edges:
            asked = own.rows[start + late : stop + late]
            said += by_class(model, learn_part(model, own, start, stop, answered=asked))
        learn_part(model, later, 0, late)
    same_answers(*answers)
    if counted(own):
        same_model(*models, own.rows)


TABLES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "columns": lambda rows: {name: [row[name] for row in rows] for name in rows[0]},
    "frame": lambda rows: pd.DataFrame(
        {name: pd.Series([row[name] for row in rows], dtype=object) for name in rows[0]}
    ),
    "lists": lambda rows: [list(row.values()) for row in rows],
}


@spread("name", [*MODELS])
@examples(15)
@given(own=streams(), kind=st.sampled_from([*TABLES]), data=st.data())
def test_tables_of_any_type_are_the_same_stream(name: str, own: Stream, kind: str, data: Any) -> None:
    own, table = own.full(), TABLES[kind]
    if kind == "lists":  # whose columns have no names
        own = Stream([{f"x{i}": v for i, v in enumerate(row.values())} for row in own.rows], own.labels, own.weights)
    model, expected = whole(MODELS[name], own)
    some, answers = MODELS[name](), []
    for start, stop in cuts(data.draw, len(own)):
        answers += by_class(some, learn_part(some, own, start, stop, table))
    same_answers(answers, expected)
    if counted(own):
        same_model(some, model, table(own.rows))


@spread("name", [*STRUCTURES])
@examples(15)
@given(own=streams(), data=st.data())
def test_a_structure_changes_at_the_same_rows_wherever_a_stream_is_cut(name: str, own: Stream, data: Any) -> None:
    model, expected = whole(STRUCTURES[name], own)
    one, some = STRUCTURES[name](), STRUCTURES[name]()
    answers, alone = [], []
    for start, stop in cuts(data.draw, len(own)):
        answers += by_class(some, learn_part(some, own, start, stop))
    for row, label, weight in zip(own.rows, own.labels, own.weights, strict=True):
        alone.append(one.predict_proba_one(row))
        one.learn_one(row, label, weight)
    same_answers(answers, expected)
    same_answers([own or like for own, like in zip(alone, expected, strict=True)], expected)
    if counted(own):
        for other in (some, one):
            same_model(other, model, own.rows)
