"""Old rows fade or leave: what a stream has learned is what plain loops over its rows say."""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import (
    AODE,
    FANC,
    KDB,
    TAN,
    DataError,
    Decay,
    GeneralNetwork,
    JointCounts,
    NaiveBayes,
    OptionError,
    SchemaMismatch,
    SelectiveKDB,
    SuperParentTAN,
    Window,
    load,
)
from tanager.encoding import Column, Schema

CLOSED = Schema(tuple(Column(f"x{i}", "categorical", ("a", "b", "c")) for i in range(3)))
VALUES = np.array(["a", "b", "c"], dtype=object)


@st.composite
def streams(draw: st.DrawFn, most: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cells (some missing), labels, weights and ascending times."""
    m = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = VALUES[rng.integers(0, 3, (m, 3))]
    X[rng.random((m, 3)) < 0.1] = None
    y = rng.choice(["no", "yes"], m)
    weights = rng.choice([0.5, 1.0, 2.0], m) if draw(st.booleans()) else np.ones(m)
    return X, y, weights, np.cumsum(rng.choice([0.0, 1.0, 3.0], m))  # often just as old as a window


def model(cls=AODE, **options):
    return cls(schema=CLOSED, **options)


def counted(X, y, weights) -> JointCounts:
    """Counts of weighted rows, without any forgetting."""
    if len(X) == 0:
        X, y, weights = [[None] * 3, [None] * 3], ["no", "yes"], [0.0, 0.0]
    plain = model().partial_fit(np.asarray(X, dtype=object), y, ["no", "yes"], sample_weight=weights)
    return plain.counts_ if hasattr(plain, "counts_") else JointCounts(CLOSED, ["no", "yes"])


def chunks(draw_from: np.random.Generator, m: int) -> list[slice]:
    cuts = sorted({0, m, *draw_from.integers(0, m + 1, 3).tolist()})
    return [slice(a, b) for a, b in pairwise(cuts)]


def as_dict(row) -> dict[str, object]:
    return {f"x{i}": cell for i, cell in enumerate(row)}


def in_chunks(start, X, y, weights, times, seed):
    for part in chunks(np.random.default_rng(seed), len(X)):
        start.partial_fit(X[part], y[part], ["no", "yes"], weights[part], times[part])
    return start


def row_by_row(start, X, y, weights, times):
    start.partial_fit(X[:1], y[:1], ["no", "yes"], weights[:1], times[:1])
    for row, label, weight, time in list(zip(X, y, weights, times, strict=True))[1:]:
        start.learn_one(as_dict(row), label, weight, time)
    return start


def left_over(decay: Decay | None, window: Window | None, y, weights, times) -> np.ndarray:
    """What each row weighs at the end, said as plainly as can be."""
    m, now = len(y), times[-1]
    out = np.array(weights, dtype=float)
    for r in range(m):
        if decay is not None and decay.timed:
            out[r] *= 0.5 ** ((now - times[r]) / float(str(decay.half_life).split()[0]))
        elif decay is not None and decay.per_class:
            out[r] *= decay.per_row ** int((y[r + 1 :] == y[r]).sum())
        elif decay is not None:
            out[r] *= decay.per_row ** (m - 1 - r)
        if window is not None and window.rows is not None and m - r > window.rows:
            out[r] = 0
        if window is not None and window.time is not None and times[r] <= now - float(str(window.time).split()[0]):
            out[r] = 0
    return out


RULES = [
    {"decay": 0.9},
    {"decay": 3},
    {"decay": "2 s"},
    {"decay": Decay(factor=0.8, per_class=True)},
    {"window": 4},
    {"window": "5 s"},
    {"window": Window(rows=6, time="4 s")},
    {"decay": 0.9, "window": 5},
    {"decay": "2 s", "window": "5 s"},
    {"decay": 1e-120},
]


def rule_values(options):
    from tanager.counts.forgetting import as_decay, as_window

    return as_decay(options.get("decay")), as_window(options.get("window"))


@given(streams(), st.integers(0, 9))
def test_counts_are_those_of_the_rows_with_what_is_left_of_their_weights(stream, seed):
    X, y, weights, times = stream
    for options in RULES:  # of which a quick run would else draw but a few
        left = left_over(*rule_values(options), y, weights, times)
        expected = counted(X[left > 0], y[left > 0], left[left > 0])
        for learned in (
            in_chunks(model(**options), X, y, weights, times, seed),
            row_by_row(model(**options), X, y, weights, times),
        ):
            assert learned.counts_ == expected
        streamed = model(**options).partial_fit(X[:1], y[:1], ["no", "yes"], weights[:1], times[:1])
        streamed.test_then_train(X[1:], y[1:], weights[1:], times[1:])
        assert streamed.counts_ == expected


@pytest.mark.parametrize("cls", [NaiveBayes, AODE, TAN, SuperParentTAN])
@given(st.sampled_from(RULES), streams(14), st.integers(0, 9))
def test_whole_streams_answer_as_single_rows_do(cls, options, stream, seed):
    X, y, weights, times = stream
    one, whole, parts = (model(cls, **options) for _ in range(3))
    for each in (one, whole, parts):
        each.partial_fit(X[:1], y[:1], ["no", "yes"], weights[:1], times[:1])
    X, y, weights, times = X[1:], y[1:], weights[1:], times[1:]
    asked = X[::-1] if seed % 2 else X
    expected = []
    for row, label, weight, time, ask in zip(X, y, weights, times, asked, strict=True):
        expected.append(list(one.predict_proba_one(as_dict(ask)).values()))
        one.learn_one(as_dict(row), label, weight, time)
    expected = np.array(expected).reshape(-1, 2)
    np.testing.assert_allclose(whole.test_then_train(X, y, weights, times, asked), expected, atol=1e-9)
    for p in chunks(np.random.default_rng(seed), len(X)):
        got = parts.test_then_train(X[p], y[p], weights[p], times[p], asked[p])
        np.testing.assert_allclose(got, expected[p], atol=1e-9)


@given(streams(), st.integers(1, 8))
def test_a_window_holds_exactly_the_last_rows(stream, size):
    X, y, _, times = stream
    ours = in_chunks(model(window=size), X, y, np.ones(len(y)), times, size)
    assert ours.counts_ == counted(X[-size:], y[-size:], None)
    assert all((cells == np.rint(cells)).all() for cells in ours.counts_.to_header()[1].values())  # whole, to the bit


@pytest.mark.parametrize("options", [{"window": 5}, {"window": "4 s"}, {"decay": "3 s"}, {"decay": 0.9}], ids=str)
@given(streams(), st.integers(0, 29))
def test_unlearned_rows_were_never_seen(options, stream, at):
    X, y, weights, times = stream
    weights = np.ones(len(y))
    learned = in_chunks(model(**options), X, y, weights, times, at)
    left = left_over(*rule_values(options), y, weights, times)
    r = at % len(y)
    if left[r] == 0:
        left = np.where(np.arange(len(y)) == r, 0, left)
    when = np.array([r + 1.0]) if "decay" in options and not isinstance(options["decay"], str) else times[r : r + 1]
    gone = "window" in options and not any(left[q] > 0 and y[q] == y[r] and (X[q] == X[r]).all() for q in range(len(y)))
    if gone:
        with pytest.raises(DataError):
            learned.unlearn(X[r : r + 1], y[r : r + 1])
        return
    learned.unlearn(X[r : r + 1], y[r : r + 1], times=None if "window" in options else when)
    if left[r] > 0 or "window" not in options:
        left[r] = 0
    else:  # another row of the same values is in the window; the newest leaves
        same = [q for q in range(len(y)) if left[q] > 0 and y[q] == y[r] and (X[q] == X[r]).all()]
        left[same[-1]] = 0
    assert learned.counts_ == counted(X[left > 0], y[left > 0], left[left > 0])


@pytest.mark.parametrize("options", [{"decay": "2 s"}, {"window": "4 s"}, {"decay": "3 s", "window": "6 s"}], ids=str)
@given(streams(), st.integers(0, 2**31))
def test_models_that_forget_by_time_merge_to_one_that_saw_all_rows(options, stream, seed):
    X, y, weights, times = stream
    mine = np.random.default_rng(seed).random(len(y)) < 0.5
    if mine.all() or not mine.any():
        return
    parts = [
        model(**options).partial_fit(X[own], y[own], ["no", "yes"], weights[own], times[own]) for own in (mine, ~mine)
    ]
    merged = parts[0].merge(parts[1])
    left = left_over(*rule_values(options), y, weights, times)
    assert merged.counts_ == counted(X[left > 0], y[left > 0], left[left > 0])


@pytest.mark.parametrize("options", [{"decay": 0.9}, {"window": 5}, {"decay": Decay(half_life=5, per_class=True)}])
def test_models_that_forget_row_by_row_are_not_merged(options):
    parts = [model(**options).partial_fit([["a", "b", "c"]], ["no"], ["no", "yes"]) for _ in range(2)]
    with pytest.raises(SchemaMismatch, match="which rows of the two came first is not known"):
        parts[0].merge(parts[1])
    with pytest.raises(SchemaMismatch, match="Give both the same"):
        parts[0].merge(model().partial_fit([["a", "b", "c"]], ["no"], ["no", "yes"]))


@pytest.mark.parametrize("options", RULES, ids=str)
@pytest.mark.parametrize("cls", [AODE, TAN, SuperParentTAN])
def test_a_saved_model_goes_on_forgetting_as_the_model_does(cls, options, tmp_path):
    rng = np.random.default_rng(5)
    X, y = VALUES[rng.integers(0, 3, (60, 3))], rng.choice(["no", "yes"], 60)
    times = np.cumsum(rng.choice([0.0, 0.5], 60))
    ours = model(cls, **options).partial_fit(X[:40], y[:40], times=times[:40])
    ours.predict_proba(X)
    ours.save(tmp_path / "model.tanager")
    again = load(tmp_path / "model.tanager")
    for each in (ours, again):
        each.partial_fit(X[40:], y[40:], times=times[40:])
    assert again.counts_ == ours.counts_
    np.testing.assert_allclose(again.predict_proba(X), ours.predict_proba(X), atol=1e-12)


def test_gaussian_columns_fade_and_leave_with_their_rows():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 2)) + np.arange(80)[:, None], rng.integers(0, 2, 80)
    window = NaiveBayes(gaussian=True, window=20, warm_up=5).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    fresh = NaiveBayes(gaussian=True).fit(X[-20:], y[-20:])
    for name in ("weight", "mean", "squares"):
        np.testing.assert_allclose(getattr(window.moments_, name), getattr(fresh.moments_, name), rtol=1e-9)
    faded = NaiveBayes(gaussian=True, decay=0.9, warm_up=5).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    fresh = NaiveBayes(gaussian=True).fit(X, y, sample_weight=0.9 ** np.arange(80)[::-1])
    for name in ("weight", "mean", "squares"):
        np.testing.assert_allclose(getattr(faded.moments_, name), getattr(fresh.moments_, name), rtol=1e-9)
    taken = copy.deepcopy(window).unlearn(X[-1:], y[-1:])
    fresh = NaiveBayes(gaussian=True).fit(X[-20:-1], y[-20:-1])
    np.testing.assert_allclose(taken.moments_.mean, fresh.moments_.mean, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, *RULES], ids=str)
def test_gaussian_columns_in_a_stream_answer_as_in_single_rows(options):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 160)
    X = rng.normal(size=(160, 3)) + y[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    X[50, 1] = np.inf
    times, asked = np.cumsum(rng.choice([0.0, 0.3], 160)), X[::-1][10:]
    whole, one = (NaiveBayes(gaussian=True, numeric=["x0", "x1", "x2"], warm_up=10, **options) for _ in range(2))
    for each in (whole, one):
        each.partial_fit(X[:10], y[:10], [0, 1, 2], times=times[:10])
    got = whole.test_then_train(X[10:], y[10:], None, times[10:], asked)
    for r in range(150):
        row = {f"x{i}": cell for i, cell in enumerate(asked[r].tolist())}
        np.testing.assert_allclose(got[r], list(one.predict_proba_one(row).values()), atol=1e-9)
        at = slice(10 + r, 11 + r)
        one.partial_fit(X[at], y[at], times=times[at])
    for name in ("weight", "mean", "squares"):
        np.testing.assert_allclose(getattr(whole.moments_, name), getattr(one.moments_, name), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("cls", [TAN, KDB, GeneralNetwork, SuperParentTAN])
def test_structure_follows_the_rows_that_still_count(cls):
    """First x1 copies x0, later x2 does."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (4000, 4)).astype(np.uint8)
    y = rng.integers(0, 2, 4000)
    X[:2000, 1], X[2000:, 2] = X[:2000, 0], X[2000:, 0]
    X[:, 3] ^= y.astype(np.uint8) & rng.integers(0, 2, 4000).astype(np.uint8)
    streamed = cls(window=500)
    streamed.test_then_train(X, y)
    assert streamed.structure_ == cls().fit(X[-500:], y[-500:]).structure_


@pytest.mark.parametrize("cls", [KDB, SelectiveKDB])
def test_an_answer_on_the_way_does_not_change_what_kept_rows_weigh(cls):
    """Families are counted for it, in counts that have to go on with the scale of the old ones."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (400, 4)).astype(str), rng.integers(0, 2, 400)
    asked, silent = cls(decay=0.98, warm_up=10), cls(decay=0.98, warm_up=10)
    for start in range(0, 400, 100):
        for model in (asked, silent):
            model.partial_fit(X[start : start + 100], y[start : start + 100])
        asked.predict(X[:3])
    assert asked.memory.rows.weight == pytest.approx(asked.counts_.n_rows)
    assert asked.structure_ == silent.structure_
    np.testing.assert_allclose(asked.predict_proba(X), silent.predict_proba(X), rtol=1e-9)


def test_refresh_says_after_how_many_rows_a_structure_is_learned_again():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (1000, 4)).astype(np.uint8), rng.integers(0, 2, 1000)
    learned = []

    class Watched(TAN):
        def _structure(self, counts, rows):
            learned.append(counts.n_rows)
            return super()._structure(counts, rows)

    for options, expected in (
        ({"refresh": 100}, [*range(20, 1000, 100)]),
        ({"refresh": 300, "window": 200}, [20, 200, 200, 200]),
        ({"refresh": float("inf")}, [20]),
    ):
        learned.clear()
        watched = Watched(**options).partial_fit(X[:20], y[:20])
        watched.test_then_train(X[20:], y[20:])
        assert learned == expected


def test_time_can_pass_without_rows():
    base = datetime(2026, 1, 1)
    X, y = [["a", "b", "c"], ["b", "b", "b"]], ["no", "yes"]
    faded = model(decay=timedelta(hours=1)).fit(X, y, times=[base, base + timedelta(hours=1)])
    assert faded.counts_.class_counts.tolist() == pytest.approx([0.5, 1.0])
    faded.advance(base + timedelta(hours=2))
    assert faded.counts_.class_counts.tolist() == pytest.approx([0.25, 0.5])
    kept = model(window="90 min").fit(X, y, times=[base, base + timedelta(hours=1)])
    assert kept.advance(base + timedelta(hours=2)).counts_.class_counts.tolist() == [0.0, 1.0]
    assert kept.advance(base + timedelta(hours=2.5)).counts_.class_counts.tolist() == [0.0, 0.0]  # as old as the window


def test_a_row_that_is_newer_than_all_that_were_learned_is_not_unlearned():
    X, y = [["a", "b", "c"], ["b", "b", "b"]], ["no", "yes"]
    for options, times in (({"decay": "2 s"}, [5.0]), ({"decay": 0.9}, [3.0])):
        learned = model(**options).fit(X, y, times=[0.0, 4.0])
        before = learned.counts_.copy()
        with pytest.raises(DataError, match="newer than all that were learned; nothing was changed"):
            learned.unlearn(X[:1], y[:1], times=times)
        assert learned.counts_ == before


def test_rows_of_many_classes_and_values_leave_a_window_that_began_with_few():
    """Codes of kept rows become wider where the last code of a byte, which marks what is missing, is reached."""
    values = [f"v{n:03}" for n in range(300)]
    cells = [[None if r % 7 == 0 else value, "a"] for r, value in enumerate(values)]
    for labels in (values, values[::-1]):  # new classes come after those that are known, or before them
        kept = NaiveBayes(window=280).partial_fit(cells[:2], labels[:2])
        for row, label in zip(cells[2:], labels[2:], strict=True):
            kept.learn_one(as_dict(row), label)
        weights = dict(zip(kept.classes_.tolist(), kept.counts_.class_counts, strict=True))
        assert weights == {label: float(r >= 20) for r, label in enumerate(labels)}
        found = kept.counts_.joint("x0").sum(axis=0)
        assert dict(zip(kept.counts_.schema["x0"].values, found, strict=True)) == {
            value: float(r >= 20) for r, value in enumerate(values) if r % 7
        }


def test_late_rows_fade_as_if_they_had_come_in_time():
    X, y, times = [["a", "b", "c"], ["b", "b", "b"], ["c", "a", "a"]], ["no", "yes", "no"], [0.0, 8.0, 2.0]
    late = model(decay="2 s").fit(X, y, times=times)
    in_time = model(decay="2 s").fit([X[0], X[2], X[1]], ["no", "no", "yes"], times=[0.0, 2.0, 8.0])
    assert late.counts_ == in_time.counts_
    with pytest.raises(DataError, match="Sort them by time"):
        model(window="2 s").fit(X, y, times=times)


def test_a_window_can_shrink_and_all_can_fade_at_once():
    X, y = VALUES[np.random.default_rng(2).integers(0, 3, (30, 3))], np.array(["no", "yes"] * 15)
    assert model(window=20).fit(X, y).shrink(5).counts_ == counted(X[-5:], y[-5:], None)
    assert model().fit(X, y).fade(0.5).counts_ == counted(X, y, np.full(30, 0.5))
    with pytest.raises(OptionError, match="no window"):
        model().fit(X, y).shrink(5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decay": 0}, "give a factor per row below 1"),
        ({"decay": -3}, "give a factor per row below 1"),
        ({"decay": "soon"}, "is not a duration"),
        ({"decay": "5 parsecs"}, "is not a duration"),
        ({"window": 0}, "give a number of rows"),
        ({"window": 2.5}, "give a number of rows"),
        ({"window": 5, "decay": Decay(half_life=3, per_class=True)}, "do not go together"),
        ({"refresh": 0}, "rows of at least 1"),
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(options, words):
    with pytest.raises(OptionError, match=words):
        NaiveBayes(**options).fit([["a"], ["b"]], ["no", "yes"])


def test_rows_without_times_are_refused_by_what_forgets_by_time():
    with pytest.raises(DataError, match="is by time"):
        NaiveBayes(decay="1 h").fit([["a"], ["b"]], ["no", "yes"])
    with pytest.raises(DataError, match="times, row 1"):
        NaiveBayes(decay="1 h").fit([["a"], ["b"]], ["no", "yes"], times=[1.0, float("nan")])
    with pytest.raises(DataError, match="what is left of a row depends on when"):
        NaiveBayes(decay=0.9).fit([["a"], ["b"]], ["no", "yes"]).unlearn([["a"]], ["no"])
    with pytest.raises(OptionError, match="prequential"):
        FANC(decay=0.9).fit([["a"], ["b"]], ["no", "yes"]).leave_one_out([["a"]], ["no"])


@given(streams(), st.integers(1, 6))
def test_half_life_and_factor_say_the_same(stream, rows):
    X, y, weights, times = stream
    by_life = in_chunks(model(decay=rows), X, y, weights, times, 0)
    by_factor = in_chunks(model(decay=Decay(factor=0.5 ** (1 / rows))), X, y, weights, times, 1)
    assert by_life.counts_ == by_factor.counts_
