"""Numbers that leave their bins: HalfLives divides a bin in which rows crowd, and goes on."""

from __future__ import annotations

import itertools
import math
import pickle
import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tanager
from tanager import AODE, TAN, HalfLives, ModelFileError, NaiveBayes
from tanager.counts.joint import JointCounts
from tanager.encoding import Encoder
from tanager.encoding.schema import Column, Schema
from tanager.learning.recut_option import MovedCuts
from tanager.streams import crowded_bins
from tanager.streams.crowded_bins import CrowdedBins

INF = math.inf
SHORT = (20, 200, INF)


def stream(n: int = 2400, at: int = 1200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of which two tell the class; at a row one of them comes in another unit."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.array(["no", "yes"])[(X[:, 0] + X[:, 1] > 0).astype(int)]
    X[at:, 0] = X[at:, 0] * 1000 + 5000
    return X, y


def right(proba: np.ndarray, model: HalfLives, y: np.ndarray) -> np.ndarray:
    return model.classes_[proba.argmax(axis=1)] == y


@pytest.mark.parametrize(
    "base", [AODE(warm_up=300), NaiveBayes(warm_up=300), TAN(warm_up=300)], ids=["aode", "nb", "tan"]
)
def test_a_column_that_comes_in_another_unit_is_not_lost(base: AODE, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = stream()
    model = HalfLives(base)
    found = right(model.test_then_train(X, y), model, y)
    (event,) = model.events_
    assert isinstance(event, MovedCuts)
    assert event.column == "x0"
    assert 1200 < event.row <= 1800
    assert event.what == "new cut points"
    assert event.after > event.before
    assert found[1900:].mean() > 0.88
    monkeypatch.setattr(crowded_bins, "CROWDED", 2.0)  # nothing is ever done
    without = HalfLives(base)
    assert right(without.test_then_train(X, y), without, y)[1900:].mean() < 0.8
    assert without.events_ == []


def test_a_smaller_unit_and_a_trend_are_followed_with_a_limited_number_of_bins() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 2))
    y = X[:, 0] + X[:, 1] > 0
    X[2000:4000, 0] /= 1000
    X[4000:, 0] += np.arange(2000) / 100
    model = HalfLives(AODE(warm_up=300))
    found = right(model.test_then_train(X, y), model, y)
    assert found[3000:4000].mean() > 0.85
    assert found[4500:].mean() > 0.7
    assert len(model.events_) >= 4
    assert max(column.n_values for column in model.encoder_.schema.columns) <= 30
    assert model.members_[0].counts_.schema is model.encoder_.schema


def test_numbers_that_stay_and_columns_whose_cuts_are_given_are_left_alone() -> None:
    X, y = stream(at=2400)
    still = HalfLives(AODE(warm_up=300))
    still.test_then_train(X, y)
    assert still.events_ == []
    X, y = stream()
    given_cuts = HalfLives(AODE(bins={name: [-1.0, 0.0, 1.0] for name in ("x0", "x1", "x2")}))
    given_cuts.test_then_train(X, y)
    assert given_cuts.events_ == []
    assert given_cuts.encoder_.schema["x0"].cuts == (-1.0, 0.0, 1.0)
    night = X.copy()  # most rows in one bin from the first on, which is as usual
    night[:, 0] = np.where(np.arange(len(night)) % 10 < 8, 0.0, night[:, 0])
    usual = HalfLives(AODE(warm_up=300))
    usual.test_then_train(night, y)
    assert usual.events_ == []
    flat = X.copy()
    flat[1200:, 0] = 7.0  # rows crowd, and nothing could divide them
    constant = HalfLives(AODE(warm_up=300))
    constant.test_then_train(flat, y)
    assert constant.events_ == []


def test_a_single_memory_answers_as_its_only_member_does() -> None:
    X, y = stream()
    model = HalfLives(AODE(warm_up=300), half_lives=(INF,))
    assert (model.test_then_train(X, y) == AODE(warm_up=300).test_then_train(X, y)).all()


def odd_stream(seed: int) -> tuple[list[dict], np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Rows with gaps, a column born late, text with new values, a class that comes late, rows that do not count."""
    X, y = stream(1000, 500, seed)
    rng = np.random.default_rng(seed)
    rows = []
    for r, cells in enumerate(X.tolist()):
        row = {f"x{i}": cell for i, cell in enumerate(cells) if rng.random() > 0.05}
        row["town"] = f"t{rng.integers(0, 3 + r // 200)}"
        if r > 400:
            row["late"] = float(rng.normal() + 3 * (r > 700))
        rows.append(row)
    labels = y.astype(object)
    labels[rng.random(1000) < 0.03] = None
    labels[(np.arange(1000) > 560) & (rng.random(1000) < 0.1)] = "maybe"
    weights = np.where(rng.random(1000) < 0.05, 0.0, 1.0)
    return rows, labels, weights


def saved_and_loaded(model: HalfLives) -> HalfLives:
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.tanager")
        return tanager.load(f"{folder}/model.tanager")


@given(
    cuts=st.lists(st.integers(1, 999), max_size=5),
    base=st.sampled_from([AODE(warm_up=100), NaiveBayes(warm_up=100)]),
    seed=st.integers(0, 3),
    options=st.sampled_from([{}, {"lag": 1}, {"more_bins": (4,)}]),
)
def test_chunks_rows_and_saved_models_cut_by_the_same_row(
    cuts: list[int],
    base: AODE,
    seed: int,
    options: dict,  # type: ignore[type-arg]
) -> None:
    rows, y, weights = odd_stream(seed)
    whole, parts, one = (
        HalfLives(base, SHORT, **options).start(np.array(["maybe", "no", "yes"], dtype=object)) for _ in range(3)
    )
    expected = whole.test_then_train(rows, y, weights)
    found = []
    for a, b in itertools.pairwise([0, *sorted(set(cuts)), len(y)]):
        found.append(parts.test_then_train(rows[a:b], y[a:b], weights[a:b]))
        parts = saved_and_loaded(parts) if a % 2 else pickle.loads(pickle.dumps(parts))
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-7, atol=1e-12)
    singles = []
    for row, label, weight in zip(rows, y.tolist(), weights.tolist(), strict=True):
        singles.append(one.predict_proba_one(row))
        one.learn_one(row, label, weight)
    for r in range(20, len(y)):
        assert list(singles[r].values()) == pytest.approx(expected[r].tolist(), rel=1e-7)
    assert [e.row for e in whole.events_ if e.column == "x0"]
    assert parts.events_ == one.events_ == whole.events_
    assert parts.encoder_.schema == one.encoder_.schema == whole.encoder_.schema


def test_classes_that_come_between_two_looks_keep_their_rows_apart() -> None:
    X, y = stream(1600, 1100)
    labels = y.astype(object)
    labels[1290:] = np.where(X[1290:, 2] > 0, "a new one", labels[1290:])  # the first of all classes by its name
    known = HalfLives(AODE(warm_up=300)).start(np.array(["a new one", "no", "yes"], dtype=object))
    told = HalfLives(AODE(warm_up=300))
    known.test_then_train(X, labels)
    told.test_then_train(X, labels)
    assert told.events_ == known.events_
    assert told.encoder_.schema == known.encoder_.schema
    assert told.members_[0].counts_ == known.members_[0].counts_


def test_late_labels_and_own_labels_are_not_seen() -> None:
    X, y = stream()
    first = HalfLives(AODE(warm_up=300)).start(np.array(["no", "yes"]))
    found = first.test_then_train(X[:2300], y[:2300], answered=X[100:])
    twin = HalfLives(AODE(warm_up=300))
    for r in (0, 1100, 1300, 1999, 2000, 2100):
        twin = HalfLives(AODE(warm_up=300)).start(np.array(["no", "yes"]))
        if r:
            twin.test_then_train(X[:r], y[:r])
            np.testing.assert_allclose(twin.predict_proba(X[r + 100 : r + 101])[0], found[r], rtol=1e-7)
    other = y.copy()
    other[1999] = "no" if y[1999] == "yes" else "yes"
    a, b = (HalfLives(AODE(warm_up=300)).test_then_train(X, labels) for labels in (y, other))
    assert (a[:2000] == b[:2000]).all()
    assert (a[2000:] != b[2000:]).any()


# --- one look, beside plain loops ---------------------------------------------------------------------------------


def slow_look(cuts: list[float], usual: list[float], held: list[float], x: list[float], y: list[int], n_bins: int):  # type: ignore[no-untyped-def]
    """Cut points and shares after a look at one column of two classes, by plain loops; None: as before."""
    bins = [sum(c < value for c in cuts) for value in x]
    shares = [bins.count(b) / len(x) for b in range(len(cuts) + 1)]
    full = shares.index(max(shares))
    if len(x) < crowded_bins.LEAST or shares[full] - usual[full] < crowded_bins.CROWDED:
        return None
    inside = sorted(value for value, b in zip(x, bins, strict=True) if b == full)
    more = crowded_bins.equal_frequency(np.array(inside), max(2, round(n_bins * shares[full]))).tolist()
    if not more:
        return None
    now = sorted(cuts + more)
    weight = []
    for at, end in enumerate([*now, INF]):
        low = now[at - 1] if at else -INF
        old = sum(c < end for c in cuts)
        n_parts = 1 + sum((cuts[old - 1] if old else -INF) < c < (cuts[old] if old < len(cuts) else INF) for c in now)
        weight.append(held[old] / n_parts + sum(low < value <= end for value in x) / len(x))
    while len(weight) > crowded_bins.MOST * n_bins:
        sums = [a + b for a, b in itertools.pairwise(weight)]
        at = sums.index(min(sums))
        weight[at : at + 2] = [sums[at]]
        del now[at]
    more = [c for c in more if c in now]
    given_to = []
    for end in [*sorted({*cuts, *more}), INF]:
        if sum(c < end for c in cuts) != full:
            given_to.append([1.0, 1.0])
            continue
        part = sum(c < end for c in more)
        own = [(sum(c < value for c in more), label) for value, b, label in zip(x, bins, y, strict=True) if b == full]
        everyone = sum(p == part for p, _ in own) / len(own)
        given_to.append(
            [
                (sum(p == part and label == c for p, label in own) + crowded_bins.OF_ALL * everyone)
                / (sum(label == c for _, label in own) + crowded_bins.OF_ALL)
                for c in (0, 1)
            ]
        )
    return now, given_to


@given(
    cuts=st.lists(st.integers(-3, 3), unique=True, min_size=1, max_size=6).map(sorted),
    shift=st.sampled_from([0.0, 5.0, -7.0, 0.4]),
    scale=st.sampled_from([1.0, 0.01, 30.0]),
    n_bins=st.sampled_from([2, 4, 10]),
    seed=st.integers(0, 999),
)
def test_a_look_does_what_plain_loops_do(cuts: list[int], shift: float, scale: float, n_bins: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = [float(point) for point in cuts]
    column = Column("x", "numeric", cuts=tuple(points))
    model = NaiveBayes(bins="frequency", n_bins=n_bins)
    encoder = model.encoder_ = Encoder.from_schema(Schema((column,)), bins="frequency", n_bins=n_bins)
    counts = JointCounts(encoder.schema, [0, 1])
    old = rng.normal(size=(150, 1)) * 2
    counts.update(encoder.encode(old), rng.integers(0, 2, 150).astype(np.uint8))
    watch = CrowdedBins()
    watch.follow(model, lambda: counts.joint)
    x, y = np.round(rng.normal(size=crowded_bins.ROWS) * scale + shift, 3), rng.integers(0, 2, crowded_bins.ROWS)
    x[rng.random(len(x)) < rng.choice([0.0, 0.3, 0.7])] = np.nan
    everyone = np.ones(len(x), dtype=bool)
    ahead = watch.rows_until_cut(encoder, encoder.encode(x[:, None]), everyone)
    watch.add(model, x[:, None], y.astype(np.uint16), everyone)
    found = watch.look(encoder, lambda: counts.joint) if watch.is_time else {}
    assert ahead == len(x)
    usual = (counts.joint(0).sum(axis=0) / 150).tolist()
    known = np.isfinite(x)
    expected = slow_look(points, usual, usual, x[known].tolist(), y[known].tolist(), n_bins) if known.any() else None
    assert (expected is None) == (found == {})
    if expected is not None:
        assert found[0].cuts.tolist() == expected[0]
        np.testing.assert_allclose(found[0].shares, expected[1], rtol=1e-12)


def test_a_damaged_watch_is_refused() -> None:
    X, y = stream(1000, 700)
    model = HalfLives(AODE(warm_up=300))
    model.test_then_train(X, y)
    state = model.to_state()
    for damage in (
        lambda bins: bins["columns"].pop(),
        lambda bins: bins["columns"][0][1].pop(),
        lambda bins: bins["columns"][0].__setitem__(0, 77),
        lambda bins: bins["columns"][0].__setitem__(3, -1),
        lambda bins: bins["events"].append([1, "x0"]),
    ):
        damaged = pickle.loads(pickle.dumps(state))
        damage(damaged["state"]["bins"][0])
        with pytest.raises(ModelFileError):
            HalfLives(AODE(warm_up=300)).from_state(damaged)
    for name, cells in (("labels", np.full(200, 9, dtype=np.uint16)), ("numbers", np.zeros((3, 3)))):
        damaged = pickle.loads(pickle.dumps(state))
        damaged["arrays"][f"bins-0-{name}"] = cells
        with pytest.raises(ModelFileError):
            HalfLives(AODE(warm_up=300)).from_state(damaged)
