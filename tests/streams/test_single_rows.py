"""Single rows as dicts go a short way: what they teach, and what they are answered, is what tables of one row get."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tanager import (
    AODE,
    KDB,
    SPODE,
    TAN,
    DriftAware,
    EvolvingNaiveBayes,
    HalfLives,
    HoeffdingTree,
    NaiveBayes,
    Window,
    load,
)

Rows = list[dict[str, Any]]

MODELS = {
    "NaiveBayes": lambda: NaiveBayes(warm_up=40),
    "AODE": lambda: AODE(warm_up=40),
    "TAN": lambda: TAN(warm_up=40),
    "gaussian": lambda: NaiveBayes(gaussian=True, warm_up=40),
    "gaussian that forgets": lambda: NaiveBayes(gaussian=True, warm_up=40, decay=30),
    "decay": lambda: NaiveBayes(warm_up=40, decay=30),
    "window": lambda: NaiveBayes(warm_up=40, window=30),
    "window that fades": lambda: AODE(warm_up=40, window=50, decay=0.9),
    "gaussian window": lambda: NaiveBayes(gaussian=True, warm_up=40, window=30),
    "window of networks": lambda: TAN(warm_up=40, window=Window(rows=60)),
    "kept rows": lambda: KDB(warm_up=40),
    "kept rows that fade": lambda: SPODE(warm_up=40, decay=20),
    "evolving": lambda: EvolvingNaiveBayes(warm_up=40),
    "half-lives": lambda: HalfLives(AODE(warm_up=40)),
    "half-lives of naive Bayes": lambda: HalfLives(NaiveBayes(warm_up=40)),
    "tree": lambda: HoeffdingTree(warm_up=40, grace=15, delta=0.3),
    "tree of AODEs": lambda: HoeffdingTree(leaf=AODE(), warm_up=40, grace=15, delta=0.3),
    "tree of TANs": lambda: HoeffdingTree(leaf=TAN(), warm_up=40, grace=15, delta=0.3),
    "tree of classifiers": lambda: HoeffdingTree(warm_up=40, grace=15, delta=0.3, leaf_answers="classifier"),
    "tree of majorities": lambda: HoeffdingTree(warm_up=40, grace=15, delta=0.3, leaf_answers="majority"),
    "drift": lambda: DriftAware(NaiveBayes(warm_up=40), every=10),
}


def stream(n_rows: int, seed: int = 0) -> tuple[Rows, list[str]]:
    """Numbers and words that tell the class; cells are absent, odd or new now and then, and a column comes late."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for r in range(n_rows):
        y = int(rng.integers(2 if r < 60 else 3))
        row: dict[str, Any] = {"a": rng.normal(y), "b": rng.normal(-y), "word": "xyz"[int(rng.integers(3))]}
        row["both"] = f"{row['a'] > 0.5}"
        kind = int(rng.integers(12))
        if kind == 0:
            del row["a"]
        elif kind == 1:
            row["b"] = None
        elif kind == 2:
            row["b"] = float("nan")
        elif kind == 3:
            row["a"] = int(rng.integers(-3, 4))
        elif kind == 4:
            row["a"] = np.float64(row["a"])
        elif kind == 5 and r > 20:
            row["word"] = f"new {r}"
        if r > 90:
            row["late"] = int(rng.integers(2))
        rows.append(row)
        labels.append("cab"[y])
    return rows, labels


def as_list(proba: dict[Any, float]) -> list[float]:
    return list(proba.values())


@pytest.mark.filterwarnings("ignore:column .a. holds numbers")  # it comes late
@pytest.mark.parametrize("name", MODELS)
def test_single_rows_teach_what_tables_of_one_row_teach(name: str) -> None:
    rows, labels = stream(140)
    short, long = MODELS[name](), MODELS[name]()
    for r, (row, label) in enumerate(zip(rows, labels, strict=True)):
        if r:
            said = short.predict_proba_one(row)
            # Where NumPy has AVX-512, the last bit of an exponential is another for a table than for one row.
            rounding = 1e-14 if "gaussian" in name else 0
            np.testing.assert_allclose(as_list(said), long.stream_proba([row])[0], rtol=rounding, err_msg=f"row {r}")
        short.learn_one(row, label)
        long.partial_fit([row], [label])
    np.testing.assert_array_equal(short.predict_proba(rows), long.predict_proba(rows))


@pytest.mark.parametrize("name", MODELS)
def test_single_rows_are_answered_as_in_a_whole_stream(name: str) -> None:
    rows, labels = stream(140, seed=1)
    short, whole = MODELS[name](), MODELS[name]()
    answers = []
    for row, label in zip(rows, labels, strict=True):
        answers.append(short.predict_proba_one(row))
        short.learn_one(row, label)
    proba = whole.test_then_train(rows, labels)
    for r, said in enumerate(answers):
        if said:
            own = [said.get(label, 0.0) for label in whole.classes_.tolist()]
            np.testing.assert_allclose(own, proba[r], rtol=1e-9, atol=1e-12, err_msg=f"row {r}")


@pytest.mark.parametrize("name", MODELS)
def test_a_stream_goes_on_from_a_file_in_the_middle_of_its_warm_up(name: str, tmp_path: Any) -> None:
    rows, labels = stream(80, seed=2)
    model = MODELS[name]()
    for r, (row, label) in enumerate(zip(rows, labels, strict=True)):
        if r in (25, 60):
            model.save(tmp_path / "model.tnr")
            again = load(tmp_path / "model.tnr")
        model.learn_one(row, label)
        if r >= 25:
            again.learn_one(row, label)
    np.testing.assert_array_equal(model.predict_proba(rows), again.predict_proba(rows))


@pytest.mark.parametrize("name", ["gaussian", "evolving", "tree", "half-lives", "NaiveBayes"])
def test_a_row_that_is_kept_in_a_warm_up_may_change_afterwards(name: str) -> None:
    rows, labels = stream(60, seed=3)
    own, same = MODELS[name](), MODELS[name]()
    for row, label in zip(rows, labels, strict=True):
        given = dict(row)
        own.predict_proba_one(given)
        own.learn_one(given, label)
        given.clear()
        same.predict_proba_one(row)
        same.learn_one(row, label)
    np.testing.assert_array_equal(own.predict_proba(rows), same.predict_proba(rows))


@pytest.mark.parametrize("name", MODELS)
def test_a_row_that_was_asked_about_before_others_were_learned_is_judged_anew(name: str) -> None:
    rows, labels = stream(120, seed=7)
    asked, quiet = MODELS[name](), MODELS[name]()
    for r, (row, label) in enumerate(zip(rows, labels, strict=True)):
        for other in (row, rows[(7 * r) % len(rows)], rows[r - 1], row) if r % 3 else (rows[0],):
            asked.predict_proba_one(other)
        asked.learn_one(row, label)
        quiet.predict_proba_one(row)  # a structure is chosen again where somebody asks
        quiet.learn_one(row, label)
        quiet.learn_one(rows[0], labels[0])
        asked.learn_one(rows[0], labels[0])
    np.testing.assert_array_equal(asked.predict_proba(rows), quiet.predict_proba(rows))


@pytest.mark.parametrize("odd", [float("inf"), -float("inf"), 1.7e308, 5e-324, 10**400, True, "0.5"])
@pytest.mark.parametrize("name", ["gaussian", "evolving"])
def test_odd_numbers_are_taken_or_refused_as_in_tables(name: str, odd: Any) -> None:
    rows, labels = stream(60, seed=4)
    short, long = MODELS[name](), MODELS[name]()
    for model in (short, long):
        for row, label in zip(rows, labels, strict=True):
            model.learn_one(row, label)
    told: list[Any] = []
    for learn in (lambda row: short.learn_one(row, "c"), lambda row: long.partial_fit([row], ["c"])):
        try:
            learn({"a": odd, "b": 0.5, "word": "x", "both": "True"})
            told.append(None)
        except Exception as error:
            told.append(type(error))
    assert told[0] == told[1]
    np.testing.assert_array_equal(short.predict_proba(rows), long.predict_proba(rows))


def test_weights_of_single_rows_count() -> None:
    rows, labels = stream(40, seed=5)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], len(rows))
    for name, make in MODELS.items():
        short, long = make(), make()
        for row, label, weight in zip(rows, labels, weights.tolist(), strict=True):
            short.learn_one(row, label, weight)
            long.partial_fit([row], [label], sample_weight=[weight]) if weight else long.learn_one(row, label, 0.0)
        np.testing.assert_array_equal(short.predict_proba(rows), long.predict_proba(rows), err_msg=name)


def test_a_column_and_a_class_that_come_together_in_a_warm_up_are_learned_by_all_half_lives() -> None:
    rows, labels = [{"a": 0.5}, {"a": 1.5, "b": 2.5}, {"a": 0.25, "b": 0.5}], ["x", "y", "x"]
    by_row, whole = HalfLives(), HalfLives()
    for row, label in zip(rows, labels, strict=True):
        by_row.partial_fit([row], [label])
    whole.test_then_train(rows, labels)
    assert by_row.encoder_.schema.names == ("a", "b")
    np.testing.assert_array_equal(by_row.predict_proba(rows), whole.predict_proba(rows))


def test_a_new_value_may_be_the_first_that_a_fresh_model_learns() -> None:
    rows, labels = stream(140)
    model = MODELS["drift"]()
    for row, label in zip(rows, labels, strict=True):  # a model began in the background just before "new 100" came
        model.partial_fit([row], [label])
    assert any(event.what == "drift" for event in model.events_)


@pytest.mark.parametrize("odd", [0.3, 5.0, 1e300, 1.7e308, float("inf"), float("nan"), None])
def test_a_row_of_gaussian_columns_is_answered_as_in_a_table(odd: float | None) -> None:
    rng = np.random.default_rng(7)
    rows = [{"a": a, "b": b, "c": "u" if a > 0 else "v"} for a, b in rng.normal(size=(60, 2)).tolist()]
    model = NaiveBayes(gaussian=True, warm_up=20)
    for at, row in enumerate(rows):
        model.learn_one(row, ["x", "y", "z"][at % 3])
    row = {"a": odd, "b": 0.1, "c": "u"}
    answer = model.predict_proba_one(row)
    assert list(answer.values()) == pytest.approx(model.predict_proba([row])[0].tolist(), rel=1e-12)


@pytest.mark.parametrize("of", [AODE, NaiveBayes])
@pytest.mark.parametrize("by_table", [False, True])
def test_what_members_said_of_a_row_serves_it_until_another_row_is_learned(of: Any, by_table: bool) -> None:
    rows, labels = stream(90)
    asked, alone = (HalfLives(of(warm_up=40)).partial_fit(rows[:60], labels[:60]) for _ in range(2))
    for row, label, next_row, next_label in zip(rows[60:], labels[60:], rows[59:], labels[59:], strict=False):
        asked.predict_proba_one(row)
        for model in (asked, alone):
            if by_table:
                model.partial_fit([next_row], [next_label])
            else:
                model.learn_one(next_row, next_label)
            model.learn_one(row, label)
        assert asked.weights_ == alone.weights_
    np.testing.assert_array_equal(asked.predict_proba(rows), alone.predict_proba(rows))
