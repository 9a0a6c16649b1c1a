"""SPC(super_parent="stream"): columns compete along a stream, and no rows are kept."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tanager import AODE, SPC, DriftAware, HalfLives, Hoeffding, MemoryBudgetError, OptionError, SchemaMismatch
from tanager.cluster.protocol import refuse_order
from tanager.errors import ModelFileError
from tanager.learning import contest
from tanager.persist import from_bytes, to_bytes

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def soon(monkeypatch):
    """A contest in which much happens within a few hundred rows."""
    for name, value in {"LOOK": 10, "PATIENCE": 20, "TURN": 40, "KEEP": 0.95}.items():
        monkeypatch.setattr(contest, name, value)


def rows_of(n, s, seed, n_columns=6, agree=0.85):
    """Column s decides what all others say about the class."""
    rng = np.random.default_rng(seed)
    y, X = rng.integers(0, 2, n), rng.integers(0, 2, (n, n_columns))
    for j in range(n_columns):
        if j != s:
            X[:, j] = np.where(rng.random(n) < agree, y ^ X[:, s], 1 - (y ^ X[:, s]))
    return X.astype(str), y


def changing(n=300, seed=0, n_columns=5):
    """The column that matters is another one after the first half."""
    first, second = rows_of(n // 2, 3, seed, n_columns), rows_of(n - n // 2, 1, seed + 1, n_columns)
    return np.vstack([first[0], second[0]]), np.concatenate([first[1], second[1]])


def model_of(**options):
    return SPC(**{"super_parent": "stream", "warm_up": 30, "challengers": 2} | options)


def same(a, b):
    """Two models that have gone through the same contest, and answer alike."""
    assert [e[:3] for e in a.events_] == [e[:3] for e in b.events_]
    ours, theirs = a.contest, b.contest
    assert (ours.columns, ours.n_rows, ours.led) == (theirs.columns, theirs.n_rows, theirs.led)
    assert (ours.until, ours.judged_from, ours.turns) == (theirs.until, theirs.judged_from, theirs.turns)
    np.testing.assert_allclose(ours.sums, theirs.sums, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-9, atol=1e-12)
    assert a.counts_ == b.counts_
    assert [own.counts_ for own in ours.challengers] == [own.counts_ for own in theirs.challengers]


class Twin:
    """The same by models that learn and answer one row at a time, and sums over lists of rows."""

    def __init__(self, options, n_first, n_challengers, keep, bound=None):
        self.options, self.n_first, self.n_challengers = options, n_first, n_challengers
        self.keep, self.bound = keep, bound
        self.rows, self.answers, self.models, self.changes, self.turns = [], [], {}, [], {}
        self.order, self.since, self.until, self.led = [], {}, {}, {}

    def fixed(self, s):
        return SPC(super_parent=s, warm_up=1, **self.options)

    def learn(self, row, y):
        given = {s: model.predict_proba_one(row).get(y, 0.0) for s, model in self.models.items() if model.has_learned}
        self.rows.append((row, y))
        self.answers.append(given)
        for model in self.models.values():
            model.learn_one(row, y)
        n = len(self.rows)
        if n == self.n_first:
            self.begin()
        elif n > self.n_first and (n - self.n_first) % contest.LOOK == 0:
            self.look()

    def begin(self):
        X, y = [row for row, _ in self.rows], [label for _, label in self.rows]
        sums = []
        for s in range(len(X[0])):
            proba = self.fixed(s).fit(X, y).leave_one_out(X, y)
            sums.append(round(sum(proba[np.arange(len(y)), y]), 9))
        ranking = sorted(range(len(sums)), key=lambda s: (-sums[s], s))
        self.order = ranking[: 1 + self.n_challengers]
        for s in self.order:
            self.models[s] = self.fixed(s).fit(X, y)
            self.enter(s, len(self.rows), len(self.rows) + contest.TURN)
            self.turns[s] = 1

    def enter(self, s, since, until):
        self.since[s], self.until[s], self.led[s] = since, until, 0

    def sums(self, s):
        """Fading sums of a challenger and of the one in use, and of ones, over the rows that both have answered."""
        first, n = self.order[0], len(self.rows)
        both = range(max(self.since[s], self.since[first]), n)
        fade = [self.keep ** (n - 1 - r) for r in both]
        return tuple(
            sum(f * what(r) for f, r in zip(fade, both, strict=True))
            for what in (lambda r: self.answers[r][s], lambda r: self.answers[r][first], lambda r: 1.0)
        )

    def ratio(self, s):
        theirs, ours, _ = self.sums(s)
        return theirs / ours if ours > 0 else 0.0

    def look(self):
        n, others = len(self.rows), self.order[1:]
        for s in others:
            self.led[s] = self.led[s] + contest.LOOK if self.ratio(s) > 1 + contest.LEAD else 0
        ready = [s for s in others if self.wins(s)]
        if ready:
            best = min(ready, key=lambda s: (-self.ratio(s), s))
            place, old = self.order.index(best), self.order[0]
            self.changes.append((n, f"x{old}", f"x{best}"))
            self.order[0], self.order[place] = best, old
            self.led = dict.fromkeys(self.led, 0)
            self.until[old] = n + contest.TURN
            return
        over = [s for s in others if n >= self.until[s] and self.ratio(s) <= 1]
        waiting = [s for s in range(len(self.rows[0][0])) if s not in self.order]
        if over and waiting:
            worst = min(over, key=lambda s: (self.ratio(s), -s))
            strength = self.dependences()
            s = min(waiting, key=lambda s: (self.turns.get(s, 0), -strength[s], s))
            self.order[self.order.index(worst)] = s
            del self.models[worst]
            self.models[s] = self.fixed(s)
            turn = contest.TURN * 2 ** self.turns.get(s, 0)
            self.turns[s] = self.turns.get(s, 0) + 1
            self.enter(s, n + turn // 2, n + turn)

    def wins(self, s):
        if self.bound is None:
            return self.led[s] >= contest.PATIENCE
        theirs, ours, weight = self.sums(s)
        if weight == 0 or theirs <= ours:
            return False
        margin = np.sqrt(np.log(1 / self.bound.delta) / (2 * weight))
        return (theirs - ours) / weight > margin or margin < self.bound.tie

    def dependences(self):
        """Of every column, the sum of I(X_i; X_j | Y) over the others, by the rows that the one in use has learned."""
        counts = self.models[self.order[0]].counts_
        n, total = counts.n_features, np.zeros(counts.n_features)
        for i in range(n):
            for j in range(n):
                if i != j:
                    p = counts.joint(i, j) / counts.n_rows
                    py, pi, pj = p.sum((1, 2), keepdims=True), p.sum(2, keepdims=True), p.sum(1, keepdims=True)
                    with np.errstate(divide="ignore", invalid="ignore"):
                        total[i] += np.nansum(p * np.log(p * py / (pi * pj)))
        return np.round(total, 9)


def as_dicts(X):
    return [{f"x{j}": value for j, value in enumerate(row)} for row in X]


@pytest.mark.parametrize("bound", [None, Hoeffding(0.3, 0.0), Hoeffding(1e-3, 0.2)])
@pytest.mark.parametrize("seed", [0, 1])
def test_contest_equals_its_slow_twin(soon, bound, seed):
    X, y = changing(340, seed)
    model = model_of(refresh=bound)
    twin = Twin({}, 30, 2, 0.95 if bound is None else 1.0, bound)
    model.fit(X[:30], y[:30])
    model.test_then_train(X[30:], y[30:])
    for row, label in zip(as_dicts(X), y.tolist(), strict=True):
        twin.learn(row, label)
    assert [(e.row, e.before, e.after) for e in model.events_] == twin.changes
    assert model.contest.columns == twin.order
    assert model.contest.turns == twin.turns
    assert model.contest.until[1:] == [twin.until[s] for s in twin.order[1:]]
    for at, s in enumerate(twin.order[1:], 1):
        theirs, ours, weight = twin.sums(s)
        assert model.contest.sums[at, 0] == pytest.approx(theirs)
        assert model.contest.sums[0, at] == pytest.approx(ours)
        assert model.contest.weights[0, at] == pytest.approx(weight)
    fixed = twin.models[twin.order[0]]
    np.testing.assert_allclose(model.predict_proba(X[:50]), fixed.predict_proba(X[:50]), rtol=1e-12)
    assert len(twin.turns) == 5  # every column has had its turn


FORGETTING = [{}, {"decay": 60}, {"window": 50}, {"decay": 80, "window": 90}, {"refresh": Hoeffding(0.3, 0.1)}]


@pytest.mark.parametrize("options", [*FORGETTING, {"unseen": "smooth"}, {"class_weight": "balanced"}])
def test_chunks_rows_and_answers_on_the_way_make_no_difference(soon, options):
    X, y = changing(130)
    X[100, 0], y[110] = "new", 2  # a value and a class that come late
    X[::17, 2] = None if options.get("unseen") is None else "0"
    whole, chunks, single = (model_of(**options) for _ in range(3))
    answers = whole.test_then_train(X.astype(object), y)
    for a in range(0, len(X), 47):
        chunks.partial_fit(X[a : a + 47].astype(object), y[a : a + 47])
    for r, (row, label) in enumerate(zip(as_dicts(X.astype(object)), y.tolist(), strict=True)):
        proba = single.predict_proba_one(row)
        if r > 1:
            expected = dict(zip(whole.classes_.tolist(), answers[r], strict=True))
            assert all(expected[c] == pytest.approx(p, abs=1e-12) for c, p in proba.items())
        single.learn_one(row, label)
    same(whole, chunks)
    same(whole, single)
    assert whole.contest.n_rows == len(X)


@settings(max_examples=12, deadline=None, phases=[Phase.generate])
@given(st.integers(0, 10**6), st.integers(1, 90), st.sampled_from([{}, {"decay": 60}, {"window": 50}]))
def test_cuts_of_a_stream_make_no_difference(seed, size, options):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"LOOK": 10, "PATIENCE": 10, "TURN": 20, "LEAD": 0.001}.items():
            patch.setattr(contest, name, value)
        X, y = changing(160, seed, n_columns=4)
        weights = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
        weights[0] = 1.0
        whole, chunks = model_of(warm_up=15, **options), model_of(warm_up=15, **options)
        whole.partial_fit(X, y, sample_weight=weights, classes=[0, 1])
        for a in range(0, len(X), size):
            rows = slice(a, a + size)
            chunks.partial_fit(X[rows], y[rows], sample_weight=weights[rows], classes=[0, 1])
        assert whole.contest.n_rows == (weights > 0).sum()
        same(whole, chunks)


@pytest.mark.parametrize("options", FORGETTING)
@pytest.mark.parametrize("at", [10, 30, 133])
def test_a_saved_model_goes_on_as_if_it_had_not_been_saved(soon, options, at):
    X, y = changing(260)
    model = model_of(**options)
    model.test_then_train(X[:at], y[:at])
    loaded, copied, pickled = from_bytes(to_bytes(model)), copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    expected = model.test_then_train(X[at:], y[at:])
    for other in (loaded, copied, pickled):
        np.testing.assert_allclose(other.test_then_train(X[at:], y[at:]), expected, rtol=1e-12)
        same(model, other)
    assert all(own.encoder_ is loaded.encoder_ for own in loaded.contest.challengers)
    assert model.structure_changes_ == model.events_


def test_late_labels_are_judged_by_the_row_that_they_belong_to(soon):
    X, y = changing(260)
    prompt, late = model_of(), model_of()
    prompt.test_then_train(X[:-20], y[:-20])
    late.partial_fit(X[:60], y[:60])
    late.test_then_train(X[60:-20], y[60:-20], answered=X[80:])
    same(prompt, late)


def test_rows_without_a_label_or_weight_are_no_rows_of_the_contest(soon):
    X, y = changing(200)
    gaps = y.astype(object)
    gaps[::7] = None
    with pytest.warns(Warning, match="no label"):
        model = model_of().partial_fit(X, gaps)
    plain = model_of().partial_fit(X[[label is not None for label in gaps]], y[[label is not None for label in gaps]])
    same(model, plain)
    other = model_of()
    other.test_then_train(X, gaps)
    same(model, other)


def test_columns_that_come_late_wait_for_their_turn(soon):
    X, y = changing(300, n_columns=4)
    rows = as_dicts(X)
    for row, label in zip(rows[120:], y[120:].tolist(), strict=True):
        row["late"] = str(label)
    model = model_of()
    for row, label in zip(rows, y.tolist(), strict=True):
        model.learn_one(row, label)
    assert 4 in model.contest.turns
    assert all(own.counts_.schema == model.counts_.schema for own in model.contest.challengers)
    assert model.predict_proba_one({"late": "1"})[1] > 0.9


def test_a_stream_that_stays_settles_on_the_super_parent_that_all_rows_ask_for():
    X, y = rows_of(6000, 2, seed=5, n_columns=7)
    model, batch = SPC(super_parent="stream", warm_up=200), SPC(super_parent="refined").fit(X, y)
    model.test_then_train(X, y)
    assert model.super_parent_ == batch.super_parent_ == "x2"
    assert model.events_ == []
    assert model.memory.rows is None


@pytest.mark.parametrize("options", [{}, {"decay": 1000}, {"window": 1500}, {"refresh": Hoeffding(1e-3)}])
def test_after_a_drift_it_follows(options):
    first, second = rows_of(4000, 4, 1), rows_of(9000, 1, 2)
    model = SPC(super_parent="stream", warm_up=300, **options)
    model.test_then_train(*first)
    assert model.super_parent_ == "x4"
    model.test_then_train(*second)
    assert model.super_parent_ == "x1"
    assert model.events_[-1].after == "x1"
    assert "structure changed from" in model.events_[-1].what
    assert model.challengers_["x1"][0] > 0.75


def test_a_super_parent_that_never_changes_needs_no_challengers():
    X, y = rows_of(600, 2, seed=5)
    model = SPC(super_parent="stream", warm_up=100, refresh=float("inf"))
    proba = model.test_then_train(X, y)
    fixed = SPC(super_parent=model.super_parent_).fit(X[:100], y[:100])
    np.testing.assert_allclose(proba[100:], fixed.test_then_train(X[100:], y[100:]), rtol=1e-12)
    assert list(model.challengers_) == [model.super_parent_]


def test_numbers_are_cut_by_the_warm_up_and_the_contest_begins_there(soon):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    whole, chunks = model_of(warm_up=60), model_of(warm_up=60)
    whole.test_then_train(X, y)
    for a in range(0, 200, 30):
        chunks.partial_fit(X[a : a + 30], y[a : a + 30])
    same(whole, chunks)
    assert whole.contest.n_first == 60


def test_it_is_a_member_of_half_lives_and_of_drift_aware():
    X, y = changing(300)
    for model in (HalfLives(model_of(), half_lives=[50, 100]), DriftAware(model_of())):
        model.test_then_train(X, y)
        assert model.predict_proba(X).shape == (300, 2)


def test_fading_shrinking_and_time_reach_all_members(soon):
    X, y = changing(120)
    model = model_of(window=50).partial_fit(X, y)
    model.fade(0.5).shrink(20)
    assert {own.counts_.n_rows for own in [model, *model.contest.challengers]} == {10.0}
    timed = model_of(decay="1 h").partial_fit(X, y, times=np.arange(120.0))
    before = timed.counts_.n_rows
    timed.advance(119 + 3600.0)
    assert timed.counts_.n_rows == pytest.approx(before / 2)
    assert all(own.counts_.n_rows < before for own in timed.contest.challengers)


def test_memory_is_refused_before_a_row_is_learned():
    X, y = rows_of(50, 1, 0, n_columns=20)
    with pytest.raises(MemoryBudgetError, match=r"triples of 4 super-parents.*Use fewer challengers"):
        SPC(super_parent="stream", max_memory="600 KB").fit(X, y)
    SPC(super_parent="stream", max_memory="600 KB", challengers=1).fit(X, y)


def test_what_does_not_go_with_it_is_refused():
    X, y = changing(60)
    for options in ({"recut": "grid"}, {"weights": {}}, {"gaussian": True}, {"calibrate": True}):
        with pytest.raises(OptionError, match="Leave one of them out"):
            model_of(**options).fit(X, y)
    with pytest.raises(OptionError, match="challengers=0"):
        model_of(challengers=0).fit(X, y)
    with pytest.raises(OptionError, match="no score per row"):
        model_of(column_order="mi", refresh="hoeffding").fit(X, y)
    model = model_of().fit(X, y)
    with pytest.raises(SchemaMismatch, match="compete along a stream"):
        model.merge(model_of().fit(X, y))
    with pytest.raises(OptionError, match="cannot unlearn"):
        model.unlearn(X[:1], y[:1])
    with pytest.raises(OptionError, match="row after row"):
        refuse_order(model)
    with pytest.raises(SchemaMismatch, match="counts alone"):
        SPC.from_counts(AODE().fit(X, y).counts_, super_parent="stream")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": [0, 0, 1]}, "none of them twice"),
        ({"columns": [0]}, "sums"),
        ({"columns": [4, 1, 2]}, "another super-parent"),
        ({"sums": [[-1.0] * 3] * 3}, "sums"),
        ({"turns": [[9, 1]]}, "turns"),
        ({"changes": [[1]]}, "changes"),
    ],
)
def test_damaged_files_are_refused(soon, change, message):
    X, y = changing(60)
    model = model_of().fit(X, y)
    plain = model.contest.to_plain()
    state = model.to_state()
    assert plain["columns"] != [4, 1, 2]
    state["contest"] = plain | change
    with pytest.raises(ModelFileError, match=message):
        model_of().from_state(state)


@pytest.mark.parametrize("first", [20, 45])
def test_a_part_that_begins_in_the_warm_up_is_learned_as_its_rows_are(soon, first):
    X, y = changing(120)
    rows = [{f"x{i}": v for i, v in enumerate(row)} | ({"late": "a"} if r >= 70 else {}) for r, row in enumerate(X)]
    labels = np.where(np.arange(len(y)) >= 60, y + 1, y)  # another class comes
    single, whole, parts = model_of(), model_of(), model_of()
    for row, label in zip(rows, labels.tolist(), strict=True):
        single.learn_one(row, label)
    whole.partial_fit(rows, labels)
    parts.partial_fit(rows[:first], labels[:first]).partial_fit(rows[first:], labels[first:])
    for other in (whole, parts):
        same(other, single)
        np.testing.assert_allclose(other.predict_proba(rows), single.predict_proba(rows), rtol=1e-9)
