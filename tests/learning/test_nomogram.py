"""A nomogram is the model: its points are those of explain, and add up to what the model answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tanager
from tanager import (
    AODE,
    BAN,
    FAN,
    KDB,
    TAN,
    NaiveBayes,
    Network,
    NetworkClassifier,
    OptionError,
    nomogram,
)

NAMES = ("a", "b", "c", "d")


def table(seed: int, n_rows: int = 80, n_classes: int = 3) -> tuple[dict[str, list[Any]], list[str]]:
    """Columns that depend on each other, with gaps and numbers."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    a = (y + rng.integers(2, size=n_rows)) % 3
    b = (a + rng.integers(2, size=n_rows)) % 4
    X = {
        "a": [f"a{v}" for v in a],
        "b": [None if gap else f"b{v}" for v, gap in zip(b, rng.random(n_rows) < 0.1, strict=True)],
        "c": (y + rng.normal(size=n_rows)).tolist(),
        "d": [bool(v) for v in rng.integers(2, size=n_rows)],
    }
    return X, [f"y{v}" for v in y]


def rows_of(X: dict[str, list[Any]], n: int) -> list[dict[str, Any]]:
    return [{name: cells[r] for name, cells in X.items()} for r in range(n)]


MODELS = [
    NaiveBayes(),
    NaiveBayes(class_weight="balanced", smoothing=0.3),
    NaiveBayes(calibrate=True),
    TAN(),
    TAN(fit_by="elr"),
    FAN(),
    KDB(k=2),
    BAN(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model))
def test_points_are_those_of_explain_with_every_value_in_turn(model: Any) -> None:
    X, y = table(3)
    model.fit(X, y)
    for row in rows_of(X, 3):
        found = nomogram(model, row, "y0", "y1")
        explained = model.explain(row, "y0", "y1")
        assert found.total == pytest.approx(explained.log_odds, abs=1e-9)
        assert found.prior == pytest.approx(explained.prior, abs=1e-9)
        for axis in found.axes:
            column = model.encoder_.schema[axis.column]
            for code, (value, point) in enumerate(zip(axis.values, axis.points, strict=True)):
                cell = value if column.kind == "categorical" else [-9.0, *[t + 1e-9 for t in column.cuts]][code]
                own = model.explain({**row, axis.column: cell}, "y0", "y1").columns
                assert point == pytest.approx(own.get(axis.column, 0.0), abs=1e-9), (axis.column, value)


def test_points_are_logs_of_quotients_of_the_network_s_tables() -> None:
    X, y = table(5)
    model = TAN().fit(X, y)
    row = rows_of(X, 1)[0]
    network, found = model.network_, nomogram(model, row, "y2", "y0")
    for axis in found.axes:
        parents = (model.class_name, *axis.given)
        own = network.table_in_order(axis.column, parents)
        for place in (network.code(name, value) for name, value in axis.given.items()):
            own = own[:, place]
        assert axis.points == pytest.approx(np.log(own[2] / own[0]), abs=1e-9)


def test_axes_come_by_spread_and_mark_the_row() -> None:
    X, y = table(1)
    found = nomogram(NaiveBayes().fit(X, y), {"a": "a1"})
    assert [axis.spread for axis in found.axes] == sorted((axis.spread for axis in found.axes), reverse=True)
    marked = {axis.column: axis.at for axis in found.axes}
    assert marked["b"] is None
    assert next(axis for axis in found.axes if axis.column == "a").values[marked["a"] or 0] == "a1"
    assert found.probability(0.0) == 0.5
    assert found.probability(-800.0) == 0.0
    assert found.probability() == pytest.approx(1 / (1 + math.exp(-found.total)))


def test_a_vote_or_a_class_with_parents_has_no_nomogram() -> None:
    X, y = table(2)
    with pytest.raises(OptionError, match="vote of several"):
        nomogram(AODE().fit(X, y))
    values = {"a": ["a0", "a1", "a2"], "y": ["y0", "y1", "y2"]}
    drawn = NetworkClassifier(Network(values, [("a", "y")]), target="y").fit({"a": X["a"]}, y)
    with pytest.raises(OptionError, match="class itself depends on 'a'"):
        nomogram(drawn)
    with pytest.raises(OptionError, match="Gaussian"):
        nomogram(NaiveBayes(gaussian=["c"]).fit(X, y))
    with pytest.raises(OptionError, match="none of the classes"):
        nomogram(NaiveBayes().fit(X, y), answer="y9")


def test_no_classifier_gives_points_that_do_not_add_up() -> None:
    X, y = table(4)
    row = rows_of(X, 1)[0]
    for name in tanager.__all__:
        kind = getattr(tanager, name)
        if not hasattr(kind, "predict_proba"):
            continue
        try:
            model = kind(AODE()) if name == "DriftAware" else kind()
            found = nomogram(model.fit(X, y), row, "y0", "y1")
        except (OptionError, TypeError):
            continue
        p = model.predict_proba([row])[0]
        assert found.total == pytest.approx(math.log(p[0] / p[1]), abs=1e-5), name
