"""Changes that turn an answer are those that trying every row finds."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tanager import AODE, LBR, TAN, Column, Encoder, NaiveBayes, OptionError, Schema, nearest_changes
from tanager.encoding.cells import other_cells
from tanager.learning import changes


def rows(seed: int, n_rows: int = 60) -> tuple[list[dict[str, Any]], list[str]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n_rows)
    made = [
        {
            "sky": ("sun", "rain", "snow")[(label + rng.integers(2)) % 3],
            "wind": bool(rng.integers(2)),
            "heat": float(label + rng.normal()),
            "size": ("S", "M", "L", "XL")[min(3, label + int(rng.integers(2)))],
        }
        for label in labels
    ]
    return made, [f"y{label}" for label in labels]


def every_row(model: Any, row: dict[str, Any]) -> list[dict[str, Any]]:
    """All rows over one cell of every code, the slow way."""
    cells = [[row[c.name], *other_cells(c, row[c.name]).values()] for c in model.encoder_.schema.columns]
    return [dict(zip(model.encoder_.schema.names, own, strict=True)) for own in product(*cells)]


@pytest.mark.parametrize("kind", [NaiveBayes, TAN, AODE, LBR])
@pytest.mark.parametrize("seed", range(3))
def test_the_changes_are_those_of_trying_every_row(kind: Any, seed: int) -> None:
    X, y = rows(seed)
    model = kind(ordinal={"size": ["S", "M", "L", "XL"]}, bins="width", n_bins=4).fit(X, y)
    for row, wanted in ((X[0], None), (X[1], "y2"), (X[2], "y0")):
        answer = model.predict([row])[0]
        if wanted == answer:
            continue
        found = nearest_changes(model, row, wanted, max_columns=4)
        tried = every_row(model, row)
        answers = model.predict(tried)
        turned = [
            {name: cell for name, cell in other.items() if cell != row[name]}
            for other, own in zip(tried, answers, strict=True)
            if (own != answer if wanted is None else own == wanted)
        ]
        fewest = min((len(change) for change in turned), default=0)
        expected = [change for change in turned if len(change) == fewest]
        assert sorted(map(repr, (change.values for change in found))) == sorted(map(repr, expected))
        assert [change.gain for change in found] == sorted((change.gain for change in found), reverse=True)
        before = model.predict_proba([row])[0]
        for change in found:
            after = model.predict_proba([{**row, **change.values}])[0]
            c = model.classes_.tolist().index(change.answer)
            assert change.probability == pytest.approx(after[c], abs=1e-12)
            assert change.gain == pytest.approx(after[c] - before[c], abs=1e-12)


def test_batches_join_to_the_same_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(7)
    model = NaiveBayes().fit(X, y)
    whole = nearest_changes(model, X[0], max_columns=3)
    monkeypatch.setattr(changes, "AT_ONCE", 2)
    assert nearest_changes(model, X[0], max_columns=3) == whole


def test_only_named_columns_change_and_nothing_may_be_found() -> None:
    X, y = rows(1)
    model = NaiveBayes().fit(X, y)
    assert all(
        set(change.values) <= {"sky", "wind"} for change in nearest_changes(model, X[0], columns=["sky", "wind"])
    )
    assert nearest_changes(model, X[0], columns=["wind"], max_columns=1) == []
    with pytest.raises(OptionError, match=r"wnd.*wind"):
        nearest_changes(model, X[0], columns=["wnd"])
    with pytest.raises(OptionError, match="answer already"):
        nearest_changes(model, X[0], wanted=model.predict([X[0]])[0])
    with pytest.raises(OptionError, match="none of the classes"):
        nearest_changes(model, X[0], wanted="y9")


@pytest.mark.parametrize("seed", range(4))
def test_no_change_that_costs_less_turns_the_answer(seed: int) -> None:
    """The slow way: every row, by what its columns cost."""
    X, y = rows(seed)
    model = NaiveBayes(bins="width", n_bins=4).fit(X, y)
    costs = {"sky": 2.5, "wind": 0.5, "heat": 4.0}  # and size 1
    row = X[seed]
    answer = model.predict([row])[0]
    tried = every_row(model, row)
    turned = [
        {name: cell for name, cell in other.items() if cell != row[name]}
        for other, own in zip(tried, model.predict(tried), strict=True)
        if own != answer
    ]
    total = [sum(costs.get(name, 1.0) for name in change) for change in turned]
    found = nearest_changes(model, row, costs=costs, max_columns=4)
    expected = [change for change, cost in zip(turned, total, strict=True) if cost == min(total)]
    assert sorted(map(repr, (change.values for change in found))) == sorted(map(repr, expected))
    assert {change.cost for change in found} == {min(total)}


def test_fixed_columns_stay_and_costs_are_checked() -> None:
    X, y = rows(1)
    model = NaiveBayes().fit(X, y)
    found = nearest_changes(model, X[0], fixed=["sky"], max_columns=4)
    assert found
    assert all("sky" not in change.values for change in found)
    with pytest.raises(OptionError, match=r"fixed names 'skye'.*sky"):
        nearest_changes(model, X[0], fixed=["skye"])
    with pytest.raises(OptionError, match=r"costs names 'wnd'"):
        nearest_changes(model, X[0], costs={"wnd": 1})
    with pytest.raises(OptionError, match=r"above 0, or name the column in fixed="):
        nearest_changes(model, X[0], costs={"wind": 0})


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(1)
    monkeypatch.setattr(changes, "MAX_ROWS", 3)
    with pytest.raises(OptionError, match="columns="):
        nearest_changes(NaiveBayes().fit(X, y), X[0])


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (Column("x", "categorical", ("a", "b", "c"), closed=True), ["a", "c", None]),
        (Column("x", "numeric", cuts=(1.0, 2.5)), [0.5, 1.0, 2.0, 2.5, 9.0, None]),
        (Column("x", "numeric"), [1.0, None]),
        (Column("x", "ordinal", ("S", "M", "L", "XL"), cuts=(0.5, 2.5), closed=True), ["S", "M", "L", "XL", None]),
        (Column("x", "codes", n_codes=3, closed=True), [0, 2]),
    ],
)
def test_other_cells_have_the_codes_they_are_listed_under(column: Column, cells: list[Any]) -> None:
    encoder = Encoder(schema=Schema((column,)))
    encoder.fit([{"x": 1 if column.kind in ("numeric", "codes") else column.values[0]}])
    for cell in cells:
        found = other_cells(column, cell)
        own = int(encoder.transform([{"x": cell}])[0, 0])
        assert set(found) == set(range(column.n_values)) - {own}
        for code, other in found.items():
            assert encoder.transform([{"x": other}])[0, 0] == code


def test_a_number_moves_no_further_than_it_must() -> None:
    column = Column("x", "numeric", cuts=(1.0, 2.5))
    assert other_cells(column, 9.0) == {0: 1.0, 1: 2.5}
    up = other_cells(column, 0.0)
    assert up[1] == np.nextafter(1.0, 2)
    assert up[2] == np.nextafter(2.5, 3)
    assert other_cells(Column("x", "ordinal", ("S", "M", "L", "XL"), cuts=(1.5,)), "XL") == {0: "M"}


def test_two_columns_change_where_one_is_not_enough() -> None:
    X = [{"a": a, "b": b, "c": c} for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    model = NaiveBayes(categorical=["a", "b", "c"]).fit(X * 5, [int(sum(row.values()) >= 2) for row in X] * 5)
    found = nearest_changes(model, {"a": 0, "b": 0, "c": 0})
    assert [change.values for change in found] == [{"a": 1, "b": 1}, {"a": 1, "c": 1}, {"b": 1, "c": 1}]
    assert str(found[0]) == "a = 1, b = 1: 1"
    assert nearest_changes(model, {"a": 0, "b": 0, "c": 0}, max_columns=1) == []
