"""AODE with several half-lives side by side: beside plain loops, and beside its members alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tanager import AODE, HalfLives, JointCounts, _kernels
from tanager.encoding.schema import Column, Schema
from tanager.streams import crowded_bins, ladder, pool
from tanager.streams.aode_side_by_side import AodesSideBySide

GAP = 255
INF = math.inf


def rows(n: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Codes whose larger values are rare, and gaps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    codes = np.minimum(rng.geometric(0.5, (n, 4)) - 1 + (np.arange(4) % 2) * y[:, None], 6)
    codes[rng.random(codes.shape) < 0.1] = GAP
    return codes.astype(np.uint8), y.astype(np.uint8)


class Twin:
    """One member: all rows that it has learned with their weights, and answers by the formula as printed."""

    def __init__(self, n_classes: int, pseudo: float, min_count: float) -> None:
        self.k, self.pseudo, self.min_count = n_classes, pseudo, min_count
        self.rows: list[tuple[list[int], int]] = []
        self.weights: list[float] = []
        self.n_values: dict[int, int] = {}

    def count(self, y: int | None, **cells: Any) -> float:
        """The weight of rows of a class with these cells; True asks for any value there."""
        wanted = {int(name[1:]): value for name, value in cells.items()}
        return sum(
            weight
            for (row, label), weight in zip(self.rows, self.weights, strict=True)
            if (y is None or label == y)
            and all(row[i] != GAP if value is True else row[i] == value for i, value in wanted.items())
        )

    def answer(self, row: list[int]) -> list[float]:
        here = {f"x{i}": v for i, v in enumerate(row) if v != GAP and v < self.n_values.get(i, 0)}
        parents = [name for name in here if self.count(None, **{name: here[name]}) >= self.min_count * (1 - 1e-9)]
        joint = [0.0] * self.k
        for name in parents:
            any_value = self.k * self.pseudo * self.n_values[int(name[1:])]
            for c in range(self.k):
                p = self.count(c, **{name: here[name]}) + self.pseudo
                p /= self.count(None, **{name: True}) + any_value
                for child, value in here.items():
                    if child != name:
                        both = self.count(c, **{name: here[name], child: value}) + self.pseudo
                        values = self.pseudo * self.n_values[int(child[1:])]
                        p *= both / (self.count(c, **{name: here[name], child: True}) + values)
                joint[c] += p
        for c in range(self.k if not parents else 0):
            joint[c] = self.count(c) + self.pseudo
            for child, value in here.items():
                values = self.pseudo * self.n_values[int(child[1:])]
                joint[c] *= (self.count(c, **{child: value}) + self.pseudo) / (self.count(c, **{child: True}) + values)
        return [p / sum(joint) for p in joint]

    def learn(self, row: list[int], y: int, weight: float, fade: float) -> None:
        self.weights = [own * fade for own in self.weights] + [weight]
        self.rows.append((row, y))
        for i, v in enumerate(row):
            self.n_values[i] = max(self.n_values.get(i, 0), 0 if v == GAP else v + 1)


def held(n_columns: int, n_slots: int, n_classes: int, n_members: int, pseudo: float, min_count: float) -> list[Any]:
    """Empty counts, as the kernels take them."""
    offsets, lanes = np.arange(n_columns + 1) * n_slots, n_classes * n_members
    width = int(offsets[-1])
    cells = np.zeros(lanes), np.zeros((width, lanes)), np.zeros((width, width, lanes))
    store = _kernels.Store(offsets, np.full(n_columns, n_slots - 1), *cells, [], [])
    return [store, np.zeros(n_columns, dtype=np.int64), np.ones(n_members), pseudo, min_count]


@pytest.mark.parametrize("fade", [(1.0,), (0.5, 0.97, 1.0), (1e-9, 0.9)])
@pytest.mark.parametrize("layout", ["rows", "columns", "wide"])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_the_kernel_answers_and_learns_as_plain_loops_do(fade, layout, late, gaps):
    X, y = rows()
    if not gaps:
        X[X == GAP] = 0
    weights = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
    asked = np.roll(X, 5, axis=0)
    twins = [Twin(3, 0.7, 2.0) for _ in fade]
    expected, expected_late = [], []
    for r, row in enumerate(X.tolist()):
        expected.append([twin.answer(row) for twin in twins])
        if late:
            expected_late.append([twin.answer(asked[r].tolist()) for twin in twins])
        for twin, factor in zip(twins, fade, strict=True):
            twin.learn(row, int(y[r]), float(weights[r]), factor)
    codes = np.asfortranarray(X) if layout == "columns" else X
    if layout == "wide":
        codes, asked = (np.where(own == GAP, np.uint16(65535), own) for own in (X, asked))
    own = held(4, 8, 3, len(fade), 0.7, 2.0)
    halved, judged, answers = np.zeros(len(fade), dtype=np.int64), *np.empty((2, len(y), len(fade), 3))
    fades = np.repeat(np.array(fade)[:, None], len(y), axis=1)
    given = {"answered": asked, "answers": answers} if late else {}
    assert _kernels.stream_half_lives(*own, codes, y, weights, fades, halved, judged, **given) == len(y)
    np.testing.assert_allclose(judged, expected, rtol=1e-7)
    if late:
        np.testing.assert_allclose(answers, expected_late, rtol=1e-7)
    assert own[1].tolist() == [twins[0].n_values[i] for i in range(4)]
    after = np.empty_like(judged)
    _kernels.answer_half_lives(*own, codes, after)
    np.testing.assert_allclose(after, [[twin.answer(row) for twin in twins] for row in X.tolist()], rtol=1e-7)


def answer_in_logs(past: np.ndarray, y: np.ndarray, weights: np.ndarray, row: np.ndarray, pseudo: float) -> np.ndarray:
    """AODE's answer to one row by matrices of counts and logs of probabilities, which do not mind how many columns."""
    n_values = np.where(past == GAP, -1, past.astype(int)).max(axis=0) + 1
    here = np.flatnonzero((row != GAP) & (row < n_values))
    match, present = (past == row)[:, here].astype(float), (past != GAP)[:, here].astype(float)
    joint = []
    for c in range(3):
        own = weights * (y == c)
        both, lost = (match * own[:, None]).T @ match, (match * own[:, None]).T @ present
        first = (np.diag(both) + pseudo) / (weights @ present + 3 * pseudo * n_values[here])
        logs = np.log(both + pseudo) - np.log(lost + pseudo * n_values[here])
        np.fill_diagonal(logs, np.log(first))
        joint.append(logs.sum(axis=1))
    parents = np.array(joint)[:, weights @ match >= 0.01 * (1 - 1e-9)]
    exact = np.exp(parents - parents.max())
    return exact.sum(axis=1) / exact.sum()


@pytest.mark.parametrize("gaps", ["none", "few", "many"])
@pytest.mark.parametrize("n_columns", [17, 40, 150])
@pytest.mark.parametrize(("pseudo", "weight"), [(0.7, 1.0), (1e-9, 1.0), (0.7, 1e12), (0.7, 1e70)])
@pytest.mark.parametrize("fade", [(1.0,), (0.5, 0.97), (0.5, 0.97, 1.0)])
def test_rows_of_many_columns_are_multiplied_within_the_range_of_doubles(gaps, n_columns, pseudo, weight, fade):
    rng = np.random.default_rng(n_columns)
    n = 40
    y = rng.integers(0, 3, n).astype(np.uint8)
    X = np.minimum(rng.geometric(0.4, (n, n_columns)) - 1 + y[:, None] // 2, 6).astype(np.uint8)
    missing = rng.random(X.shape) < (0.2 if gaps == "many" else 0.0)
    if gaps == "few":
        missing[rng.random(n) < 0.3, 3::11] = True
    X[missing] = GAP
    weights = rng.uniform(0.5, 2.0, n) * weight
    own, judged = held(n_columns, 8, 3, len(fade), pseudo, 0.01), np.empty((n, len(fade), 3))
    halved, fades = np.zeros(len(fade), dtype=np.int64), np.repeat(np.array(fade)[:, None], n, axis=1)
    assert _kernels.stream_half_lives(*own, X, y, weights, fades, halved, judged) == n
    for m, factor in enumerate(fade):
        for r in range(10, n):
            faded = weights[:r] * factor ** np.arange(r)[::-1]
            expected = answer_in_logs(X[:r], y[:r], faded, X[r], pseudo)
            np.testing.assert_allclose(judged[r, m], expected, rtol=1e-7, atol=1e-300)


def test_the_kernel_stops_before_what_has_no_slot_and_learns_no_row_without_a_label():
    X, y = rows()
    X[:] = X % 2
    X[20, 2] = 9
    own = held(4, 8, 3, 1, 1.0, 1.0)
    room = np.zeros(1, dtype=np.int64), np.empty((len(y), 1, 3))
    assert _kernels.stream_half_lives(*own, X, y, None, np.ones((1, len(y))), *room) == 20
    assert own[1].tolist() == [2, 2, 2, 2]
    labels = y.copy()
    labels[:], labels[3] = 255, 7
    X[0, 0] = 5
    assert _kernels.stream_half_lives(*own, X, labels, None, np.ones((1, len(y))), *room) == 3
    assert own[1].tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("wrong", [np.full(4, 8), np.full(4, -1), np.zeros(3, dtype=np.int64)])
def test_numbers_of_values_beyond_the_slots_are_refused(wrong):
    own = held(4, 8, 3, 2, 1.0, 1.0)
    own[1] = wrong
    with pytest.raises(ValueError, match="values"):
        _kernels.answer_half_lives(*own, np.zeros((1, 4), dtype=np.uint8), np.empty((1, 2, 3)))


def said_by_members(
    monkeypatch: pytest.MonkeyPatch, model: HalfLives, parts: list[tuple[Any, Any]], **given: Any
) -> np.ndarray:
    """What members said of every row but the first, before it was learned: (rows, members, classes)."""
    said, learn = [], pool.Pool.learn

    def note(self: Any, answers: np.ndarray, *rest: Any) -> Any:
        said.append(answers.copy())
        return learn(self, answers, *rest)

    monkeypatch.setattr(pool.Pool, "learn", note)
    for X, y in parts:
        model.test_then_train(X, y, **given)
    monkeypatch.setattr(pool.Pool, "learn", learn)
    return np.concatenate(said)


@pytest.mark.parametrize("size", [1500, 170])
def test_members_say_what_they_say_alone_where_values_go_on_coming(size, monkeypatch):
    rng = np.random.default_rng(5)
    n = 1500
    y = rng.integers(0, 3, n)
    towns = np.minimum(rng.zipf(1.5, n), 60)
    X = {"town": [f"t{town}" if town < 50 else None for town in towns], "x": rng.normal(size=n) + y}
    X |= {"flag": [None if r % 7 == 0 else "abc"[(r // 400 + label) % 3] for r, label in enumerate(y.tolist())]}
    X["x"][rng.random(n) < 0.1] = np.nan
    labels = np.array(["no", "yes", None], dtype=object)[y]
    classes, half_lives = np.array(["no", "yes"]), (4, 50, INF)
    base: dict[str, Any] = {"warm_up": 100, "smoothing": 0.5, "min_count": 3, "bins": "frequency", "n_bins": 6}
    model = HalfLives(AODE(**base), half_lives=half_lives).start(classes)
    parts = [({k: v[at : at + size] for k, v in X.items()}, labels[at : at + size]) for at in range(0, n, size)]
    said = said_by_members(monkeypatch, model, parts)
    for m, half_life in enumerate(half_lives):
        alone = AODE(**base, decay=None if half_life == INF else half_life).start(classes)
        expected = alone.test_then_train(X, labels)
        np.testing.assert_allclose(said[:, m], expected[-len(said) :], rtol=1e-7)
        member = model.members_[m].counts_
        assert member.schema == alone.counts_.schema
        np.testing.assert_allclose(member.joint("town", "flag"), alone.counts_.joint("town", "flag"), atol=1e-9)
        np.testing.assert_allclose(member.joint("x", "flag"), alone.counts_.joint("x", "flag"), atol=1e-9)


def test_values_that_come_behind_a_late_row_change_no_answer_before(monkeypatch):
    n = 600
    y = np.arange(n) % 3 % 2
    X = {"a": [f"v{r % (2 + r // 20)}" for r in range(n)], "b": ["xyz"[(r + y[r]) % 3] for r in range(n)]}
    times = np.arange(n, dtype=float)
    times[[300, 301, 450]] -= 40.0  # these weigh another part for every half-life
    monkeypatch.setattr(ladder, "ROWS_AT_ONCE", 64)  # so that what lies side by side has room for values of later rows
    model = HalfLives(AODE(warm_up=50), half_lives=("30 s", "300 s", INF)).start(np.array([0, 1]))
    said = said_by_members(monkeypatch, model, [(X, y)], times=times)
    for m, decay in enumerate(("30 s", "300 s", None)):
        expected = AODE(warm_up=50, decay=decay).start(np.array([0, 1])).test_then_train(X, y, times=times)
        np.testing.assert_allclose(said[:, m], expected[-len(said) :], rtol=1e-7)


def test_new_values_take_counts_apart_no_more_than_they_outgrow_their_slots(monkeypatch):
    laid, make = [], AodesSideBySide.__init__

    def count(self, models):
        laid.append(1)
        make(self, models)

    monkeypatch.setattr(AodesSideBySide, "__init__", count)
    values = [f"v{min(r // 3, 900)}" for r in range(3000)]
    model = HalfLives(AODE(warm_up=50, max_values=2000)).start(np.array([0, 1]))
    model.test_then_train({"a": values, "b": ["x", "y", "z"] * 1000}, np.arange(3000) % 2)
    n_laid = len(laid)
    assert n_laid < 30  # at most a few for every doubling of the first rows
    for r in range(40):
        model.learn_one({"a": f"new {r}", "b": "x"}, r % 2)
    assert len(laid) == n_laid
    assert model.encoder_.schema["a"].n_values >= 940


def test_where_more_bins_would_not_fit_a_column_stays_as_it_is(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 3))
    y = X[:, 0] + X[:, 1] > 0
    X[1200:, 0] = X[1200:, 0] * 1000 + 5000
    base = AODE(warm_up=300)
    free = HalfLives(base).partial_fit(X[:1000], y[:1000])
    before = free.members_[0].counts_.nbytes
    assert free.partial_fit(X[1000:], y[1000:]).events_
    monkeypatch.setattr(crowded_bins, "CROWDED", 2.0)  # nothing is ever done
    expected = HalfLives(base).test_then_train(X, y)
    monkeypatch.undo()
    model = HalfLives(AODE(warm_up=300, max_memory=int(before * 1.05)))
    np.testing.assert_array_equal(model.test_then_train(X, y), expected)
    assert model.events_ == []


# --- other cut points ---------------------------------------------------------------------------------------------


def store_of(cuts: tuple[float, ...], order: int = 2, classes: int = 2) -> JointCounts:
    columns = Column("x", "numeric", cuts=cuts), Column("sky", "categorical", ("sun", "rain"))
    return JointCounts(Schema(columns), range(classes), order=order)


GIVEN = {"parts": [0, 1, 1, 2, 3, 4, 5], "to": [0, 1, 2, 3, 4, 5, 6]}


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"parts": [0, 1, 1, 2, 3, 4, 7]}, "slot"),
        ({"parts": [0, 1, 1, 2, 3, 4, -1]}, "slot"),
        ({"parts": [0, 1, 1, 2, 3, 4, 2]}, "order"),
        ({"to": [0, 1, 2, 3, 4, 5, 7]}, "column"),
        ({"to": [0, 1, 2, 3, 3, 4, 5]}, "column"),
        ({"to": [0, 2, 1, 3, 4, 5, 6]}, "neighbours"),
        ({"to": [0, 1, 2, 3, 4, 5]}, "share"),
        ({"share": np.ones((7, 3))}, "share"),
        ({"share": np.ones((6, 2))}, "share"),
        ({"moved": store_of((1.0, 2.0), order=1).store}, "tables"),
        ({"moved": store_of((1.0, 2.0), classes=3).store}, "classes"),
        ({"moved": "itself"}, "another"),
    ],
)
def test_parts_that_do_not_belong_to_the_counts_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    old, moved = store_of((1.0,)), store_of((1.0, 2.0))
    given: dict[str, Any] = GIVEN | {"share": np.ones((7, 2)), "moved": moved.store}
    given |= {name: old.store if isinstance(value, str) else value for name, value in wrong.items()}
    arrays = [np.array(given[name]) for name in ("parts", "to")]
    with pytest.raises(ValueError, match=sentence):
        _kernels.move_cuts(old.store, *arrays, given["share"], given["moved"])


@pytest.mark.parametrize("chunk", [1, 16])
def test_first_rows_that_ctrl_c_has_come_between_are_learned_after_it(chunk, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)  # until they double again
    table = [{f"x{i}": cell for i, cell in enumerate(row)} for row in X.tolist()]
    models = [HalfLives(AODE(warm_up=200), half_lives=(5, INF)) for _ in range(2)]
    learn = AodesSideBySide.learn

    def interrupted(self, block):
        if len(block) == 32:
            monkeypatch.setattr(AodesSideBySide, "learn", learn)
            raise KeyboardInterrupt
        return learn(self, block)

    for m, model in enumerate(models):
        if m == 0:
            monkeypatch.setattr(AodesSideBySide, "learn", interrupted)
        for at in range(0, len(y), chunk):
            try:
                model.partial_fit(table[at : at + chunk], y[at : at + chunk])
            except KeyboardInterrupt:
                assert (m, at + chunk) == (0, 32)
    assert AodesSideBySide.learn is learn  # it has come
    for one, other in zip(models[0].members_, models[1].members_, strict=True):
        assert one.counts_.n_rows == pytest.approx(other.counts_.n_rows)
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-9)
