"""Naive Bayes with several half-lives side by side: beside plain loops, and beside its members alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tanager
from tanager import HalfLives, NaiveBayes, _kernels
from tanager.streams import half_lives, pool

GAP = 255


def rows(n: int = 80, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Codes whose larger values are rare, and gaps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    codes = np.minimum(rng.geometric(0.5, (n, 4)) - 1 + (np.arange(4) % 2) * y[:, None], 6)
    codes[rng.random(codes.shape) < 0.1] = GAP
    return codes.astype(np.uint8), y.astype(np.uint8)


class Twin:
    """Counts of one member in dicts, where every fading is a multiplication, and answers by the formula as printed."""

    def __init__(self, n_classes: int, pseudo: float) -> None:
        self.pseudo, self.classes = pseudo, [0.0] * n_classes
        self.cells: dict[tuple[int, int, int], float] = {}
        self.n_values: dict[int, int] = {}

    def answer(self, row: list[int]) -> list[float]:
        joint = []
        for c, n in enumerate(self.classes):
            p = (n + self.pseudo) / (sum(self.classes) + self.pseudo * len(self.classes))
            for i, v in enumerate(row):
                known = self.n_values.get(i, 0)
                if v != GAP and v < known:
                    here = n - self.cells.get((i, GAP, c), 0.0)
                    p *= (self.cells.get((i, v, c), 0.0) + self.pseudo) / (here + self.pseudo * known)
            joint.append(p)
        return [p / sum(joint) for p in joint]

    def learn(self, row: list[int], y: int, weight: float, fade: float) -> None:
        self.classes = [n * fade for n in self.classes]
        self.cells = {key: n * fade for key, n in self.cells.items()}
        self.classes[y] += weight
        for i, v in enumerate(row):
            self.cells[i, v, y] = self.cells.get((i, v, y), 0.0) + weight
            self.n_values[i] = max(self.n_values.get(i, 0), 0 if v == GAP else v + 1)


def held(n_columns: int, n_slots: int, n_classes: int, n_members: int, pseudo: float) -> tuple[Any, ...]:
    """Empty counts, as the kernels take them."""
    offsets, lanes = np.arange(n_columns + 1) * n_slots, n_classes * n_members
    n_values = np.zeros(n_columns, dtype=np.int64)
    return offsets, n_values, np.zeros(lanes), np.zeros((offsets[-1], lanes)), np.ones(n_members), pseudo


@pytest.mark.parametrize("fade", [(1.0,), (0.5, 0.97, 1.0), (1e-9, 0.9)])
@pytest.mark.parametrize("layout", ["rows", "columns", "wide"])
@pytest.mark.parametrize("late", [False, True])
def test_the_kernel_answers_and_learns_as_plain_loops_do(fade, layout, late):
    X, y = rows()
    weights = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
    asked = np.roll(X, 5, axis=0)
    twins = [Twin(3, 0.7) for _ in fade]
    expected, expected_late = [], []
    for r, row in enumerate(X.tolist()):
        expected.append([twin.answer(row) for twin in twins])
        expected_late.append([twin.answer(asked[r].tolist()) for twin in twins])
        for twin, factor in zip(twins, fade, strict=True):
            twin.learn(row, int(y[r]), float(weights[r]), factor)
    codes = np.asfortranarray(X) if layout == "columns" else X
    if layout == "wide":
        codes, asked = (np.where(own == GAP, np.uint16(65535), own) for own in (X, asked))
    own = held(4, 8, 3, len(fade), 0.7)
    halved, judged, answers = np.zeros(len(fade), dtype=np.int64), *np.empty((2, len(y), len(fade), 3))
    fades = np.repeat(np.array(fade)[:, None], len(y), axis=1)
    given = {"answered": asked, "answers": answers} if late else {}
    assert _kernels.stream_naive_half_lives(*own, codes, y, weights, fades, halved, judged, **given) == len(y)
    np.testing.assert_allclose(judged, expected, rtol=1e-9)
    if late:
        np.testing.assert_allclose(answers, expected_late, rtol=1e-9)
    assert (halved > 0).tolist() == [factor < 0.01 for factor in fade]  # their units have grown too large
    assert own[1].tolist() == [twins[0].n_values[i] for i in range(4)]
    after = np.empty_like(judged)
    _kernels.answer_naive_half_lives(*own, codes, after)
    np.testing.assert_allclose(after, [[twin.answer(row) for twin in twins] for row in X.tolist()], rtol=1e-9)


def test_the_kernel_stops_before_what_has_no_slot_and_learns_no_row_without_a_label():
    X, y = rows()
    X[:] = X % 2
    X[20, 2] = 9
    own = held(4, 8, 3, 1, 1.0)
    room = np.zeros(1, dtype=np.int64), np.empty((len(y), 1, 3))
    assert _kernels.stream_naive_half_lives(*own, X, y, None, np.ones((1, len(y))), *room) == 20
    assert own[2].sum() == 20
    labels = y.copy()
    labels[:], labels[3] = 255, 7
    assert _kernels.stream_naive_half_lives(*own, X, labels, None, np.ones((1, len(y))), *room) == 3
    assert own[2].sum() == 20


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (0, np.array([0, 8, 16, 24])),
        (0, np.array([0, 8, 16, 24, 40])),
        (0, np.array([0, 8, 8, 24, 32])),
        (1, np.full(4, 8)),
        (1, np.full(4, -1)),
        (2, np.zeros(5)),
        (4, np.zeros(2)),
        (5, 0.0),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(place, wrong):
    own = list(held(4, 8, 3, 2, 1.0))
    own[place] = wrong
    with pytest.raises(ValueError, match=r"\w"):
        _kernels.answer_naive_half_lives(*own, np.zeros((1, 4), dtype=np.uint8), np.empty((1, 2, 3)))


def said_by_members(monkeypatch: pytest.MonkeyPatch, model: HalfLives, X: Any, y: Any) -> np.ndarray:
    """What members said of every row but the first, before it was learned: (rows, members, classes)."""
    said, learn = [], pool.Pool.learn

    def note(self: Any, answers: np.ndarray, *rest: Any) -> Any:
        said.append(answers.copy())
        return learn(self, answers, *rest)

    monkeypatch.setattr(pool.Pool, "learn", note)
    model.test_then_train(X, y)
    monkeypatch.setattr(pool.Pool, "learn", learn)
    return np.concatenate(said)


@pytest.mark.parametrize("n_classes", [2, 3, 5, 9])
def test_members_say_to_the_bit_what_they_say_alone(n_classes, monkeypatch):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 400)
    X = np.where(rng.random((400, 12)) < 0.3, y[:, None] % 4, rng.geometric(0.6, (400, 12)) - 1).astype(np.uint8)
    X[rng.random(X.shape) < 0.05] = GAP
    classes, half_lives_ = np.arange(n_classes), (4, 50, math.inf)
    model = HalfLives(NaiveBayes(smoothing=0.4), half_lives=half_lives_).start(classes)
    said = said_by_members(monkeypatch, model, X, y)
    for m, half_life in enumerate(half_lives_):
        alone = NaiveBayes(smoothing=0.4, decay=None if half_life == math.inf else half_life).start(classes)
        np.testing.assert_array_equal(said[:, m], alone.test_then_train(X, y)[-len(said) :])
        assert model.members_[m].counts_ == alone.counts_


def test_a_class_or_a_value_may_come_at_any_row_and_files_go_on(tmp_path):
    X, y = rows(200)
    y = np.where((y == 2) & (np.arange(200) < 90), 0, y)
    table = np.where(X == GAP, None, np.char.add("v", X.astype(str)))
    whole = HalfLives(NaiveBayes(), half_lives=(10, math.inf))
    expected = whole.test_then_train(table, y)
    parts, found = HalfLives(NaiveBayes(), half_lives=(10, math.inf)), []
    for at in range(0, 200, 40):
        found.append(np.zeros((40, 3)))
        proba = parts.test_then_train(table[at : at + 40], y[at : at + 40])
        found[-1][:, : proba.shape[1]] = proba
        parts.save(tmp_path / "m.tanager")
        parts = tanager.load(tmp_path / "m.tanager")
    np.testing.assert_allclose(np.concatenate(found)[1:], expected[1:], rtol=1e-9)
    for own, like in zip(parts.members_, whole.members_, strict=True):
        np.testing.assert_allclose(own.predict_proba(table), like.predict_proba(table), rtol=1e-9)


def test_chosen_columns_of_codes_are_codes_and_those_of_an_older_file_stay_text(monkeypatch, tmp_path):
    X, y = rows(200, 3)
    model = HalfLives(max_columns=2, half_lives=(10, math.inf)).partial_fit(X, y)
    assert {column.kind for column in model.members_[-1].encoder_.schema.columns} == {"codes"}
    assert model.members_[-1].encoder_.schema.names == model.columns_
    monkeypatch.setattr(half_lives, "may_be_codes", lambda *_: False)
    older = HalfLives(max_columns=2, half_lives=(10, math.inf)).partial_fit(X[:100], y[:100])
    older.save(tmp_path / "m.tanager")
    expected = older.partial_fit(X[100:], y[100:]).predict_proba(X)
    monkeypatch.undo()
    found = tanager.load(tmp_path / "m.tanager").partial_fit(X[100:], y[100:])
    assert {column.kind for column in found.members_[-1].encoder_.schema.columns} == {"categorical"}
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=1e-9)
