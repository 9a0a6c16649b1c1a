"""DriftAware: it does by blocks what a slow, obvious loop does row by row, and it helps where the world changes."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from profiles import examples, later
from tanager import (
    AODE,
    DDM,
    SPODE,
    TAN,
    DataError,
    DriftAware,
    EvolvingNaiveBayes,
    ModelFileError,
    NaiveBayes,
    OptionError,
    load,
)
from tanager.streams import drift
from tanager.streams.runner import Runner
from tanager.structure.measures import class_information

ON_DRIFT = ["swap", "restart", "nothing"]


def concept(seed, n_columns=5, n_classes=2):
    """P(value | class) of columns with three values, drawn at random."""
    return np.random.default_rng(seed).dirichlet(np.full(3, 0.5), size=(n_columns, n_classes))


def drawn(tables, n_rows, seed):
    """Rows as lists of text, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, tables.shape[1], n_rows)
    steps = tables.cumsum(axis=2)[:, y]
    codes = (rng.random((len(tables), n_rows, 1)) > steps[..., :2]).sum(axis=2)
    return [[f"v{code}" for code in row] for row in codes.T.tolist()], [f"c{c}" for c in y]


def changing(*lengths, seed=0):
    """A stream whose concept changes after each length."""
    parts = [drawn(concept(seed + 10 * at), length, seed + at) for at, length in enumerate(lengths)]
    return [row for X, _ in parts for row in X], [label for _, y in parts for label in y]


def flipped(n_rows, seed=0):
    """Two classes that change places in the middle."""
    X, y = drawn(concept(seed), n_rows, seed)
    other = {"c0": "c1", "c1": "c0"}
    return X, [label if at < n_rows // 2 else other[label] for at, label in enumerate(y)]


def with_gaps(X, y, seed):
    """The same rows, some without a label and some without weight."""
    rng = np.random.default_rng(seed)
    y = [None if rng.random() < 0.05 else label for label in y]
    return X, y, np.where(rng.random(len(y)) < 0.05, 0.0, 1.0)


def dicts(X):
    return [{f"x{i}": value for i, value in enumerate(row)} for row in X]


def quick(model=None, **options):
    """Blocks and memories so short that a short stream has many events."""
    return DriftAware(model, **{"detector": DDM(min_rows=8), "every": 8, "recent": 30, "patience": 80} | options)


# --- the slow, obvious twin --------------------------------------------------------------------------------------


class Plain:
    """One model of the twin: all its answers since it began, 1 where wrong."""

    def __init__(self, model, classes=(), schema=None):
        self.model, self.wrong, self.learned = clone(model), [], False
        if classes:  # a fresh model knows the classes and the columns, and no row
            self.model.fit_columns(schema, np.array(sorted(classes)))

    def step(self, row, y, w):
        answer = self.model.predict_proba_one(row) if self.learned else {}
        self.learned = self.learned or (y is not None and w > 0)
        best = max(answer.values(), default=0.0)
        if y is not None and w:
            self.wrong.append(int(answer.get(y, 0.0) < best - 1e-9))
        self.model.learn_one(row, y, w)
        return answer


def faded(values, rows):
    return sum(value * (1 - 1 / rows) ** age for age, value in enumerate(reversed(values)))


def share(values, rows):
    return faded(values, rows) / max(faded([1] * len(values), rows), 1e-300)


def twin(rows, labels, weights, model, detector, on_warning, on_drift, every, recent, patience):
    """Answers and (row, what) of all events, with everything worked out anew at the end of each block."""
    front, back, watch = Plain(model), None, copy.deepcopy(detector)
    answers, events = [], []
    warned, drifted, heard = False, None, 0  # heard: answers that the detector knows

    def better():
        pairs = list(zip(front.wrong[len(front.wrong) - len(back.wrong) :], back.wrong, strict=True))
        won = faded([ours > theirs for ours, theirs in pairs], recent)
        lost = faded([ours < theirs for ours, theirs in pairs], recent)
        return won - lost > 2 * (won + lost) ** 0.5

    for at, (row, y, w) in enumerate(zip(rows, labels, weights, strict=True), 1):
        answers.append(front.step(row, y, w))
        if back is not None:
            back.step(row, y, w)
        if at % every:
            continue
        known = set(labels[:at]) - {None}, front.model.encoder_.schema
        said = set()
        for wrong in front.wrong[heard:]:
            watch.update(wrong)
            said |= {"drift"} if watch.drift_detected else {"warning"} if watch.warning_detected else set()
        heard = len(front.wrong)
        done = None
        if "drift" in said and share(front.wrong, recent) <= share(front.wrong, 5 * recent):
            said = set()  # a change for the better
        if "drift" in said:
            events.append((at, "drift"))
            if on_drift == "restart":
                front, done = back or Plain(model, *known), "restart"
            elif on_drift == "swap" and back is not None and better():
                front, done = back, "swap"
            elif on_drift == "swap":
                back, drifted = Plain(model, *known), at
        elif drifted is not None:
            if better():
                front, done = back, "swap"
            elif at - drifted >= patience:
                done = "kept"
        elif "warning" in said and not warned:
            warned = True
            events.append((at, "warning"))
            if on_warning == "train" and on_drift != "nothing":
                back = Plain(model, *known)
        elif not said and warned:
            warned, back = False, None
            events.append((at, "false alarm"))
        if done:
            events.append((at, done))
            back, warned, drifted, watch, heard = None, False, None, copy.deepcopy(detector), len(front.wrong)
    return answers, events


def agree(model, got, expected):
    """Answers in an array and answers in dicts are the same."""
    k = len(model.classes_)
    for r, answer in enumerate(expected):
        wanted = [answer.get(label, 0.0) for label in model.classes_.tolist()] if answer else [1 / k] * k
        np.testing.assert_allclose(got[r], wanted, rtol=1e-9, atol=1e-12, err_msg=f"row {r}")


@pytest.mark.parametrize("on_warning", ["train", "nothing"])
@pytest.mark.parametrize("on_drift", ON_DRIFT)
@examples(4)
@given(seed=st.integers(0, 999), first=st.integers(20, 120))
def test_every_policy_does_what_the_slow_loop_does(on_warning, on_drift, seed, first):
    X, y, weights = with_gaps(*changing(first, 150, 100, seed=seed), seed)
    model = quick(on_warning=on_warning, on_drift=on_drift)
    got = model.test_then_train(X, y, weights)
    options = {name: getattr(model, name) for name in ("on_warning", "on_drift", "every", "recent", "patience")}
    expected, events = twin(dicts(X), y, weights, NaiveBayes(), model.detector, **options)
    assert [(event.row, event.what) for event in model.events_] == events
    agree(model, got, expected)


def acts(model, X, y, act):
    """A bare model that is acted on where the other one was; the answers of both are the same."""
    got, bare, answers, events = model.test_then_train(X, y), clone(model.model), [], list(model.events_)
    for at, (row, label) in enumerate(zip(dicts(X), y, strict=True), 1):
        answers.append(bare.predict_proba_one(row))
        bare.learn_one(row, label)
        while events and events[0].row == at:
            act(bare, events.pop(0))
    agree(model, got, answers)


@pytest.mark.parametrize("way", [{"on_drift": "fade"}, {"on_warning": "fade", "detector": DDM(drift=99)}], ids=str)
@pytest.mark.parametrize("inner", [NaiveBayes(), AODE(), AODE(decay=100), AODE(window=100)], ids=repr)
def test_fading_multiplies_the_counts(inner, way):
    X, y = flipped(300)
    model = quick(inner, fade_to=0.25, **way)
    acts(model, X, y, lambda bare, event: event.what == "fade" and bare.fade(0.25))
    assert any(event.what == "fade" for event in model.events_)


def test_shrinking_keeps_the_rows_since_the_warning():
    X, y = flipped(400)
    model = quick(AODE(window=150), on_drift="shrink")
    warned = []

    def act(bare, event):
        if event.what in ("warning", "false alarm"):
            warned[:] = [event.row] if event.what == "warning" else []
        if event.what == "shrink":
            kept = event.row - warned.pop() if warned else 8
            assert event.why == f"only the last {kept} rows are left in the window"
            bare.shrink(kept)

    acts(model, X, y, act)
    assert any(event.what == "shrink" for event in model.events_)


# --- one stream, many ways to bring it ---------------------------------------------------------------------------


def numbers(n_rows, seed):
    """Number columns whose classes change places in the middle."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    flipped = np.where(np.arange(n_rows) < n_rows // 2, y, 1 - y)
    return (rng.normal(size=(n_rows, 3)) + 2 * flipped[:, None]).tolist(), y.tolist()


MODELS = [
    AODE(decay=50),
    EvolvingNaiveBayes(),
    NaiveBayes(gaussian=True, warm_up=30),
    *later(NaiveBayes(), TAN(), NaiveBayes(warm_up=40)),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@examples(2)
@given(seed=st.integers(0, 99), cuts=st.lists(st.integers(0, 160), max_size=5))
def test_single_rows_chunks_and_whole_streams_give_the_same_answers_and_events(model, seed, cuts):
    X, y = changing(80, 80, seed=seed) if model.warm_up == 1000 else numbers(160, seed)
    single, whole, chunks, trained = (quick(clone(model)) for _ in range(4))
    expected = []
    for row, label in zip(dicts(X), y, strict=True):
        expected.append(single.predict_proba_one(row))
        single.learn_one(row, label)
    agree(whole, whole.test_then_train(X, y), expected)
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 160], strict=True):
        if start < stop:
            agree(chunks, chunks.test_then_train(X[start:stop], y[start:stop]), expected[start:stop])
            trained.partial_fit(X[start:stop], y[start:stop])
    assert single.events_ == whole.events_ == chunks.events_ == trained.events_
    assert (whole.predict_proba(X) == trained.predict_proba(X)).all()


@pytest.mark.parametrize("model", MODELS, ids=repr)
@examples(2)
@given(seed=st.integers(0, 99))
def test_fit_is_a_stream_whose_columns_and_classes_are_known_from_the_first_row_on(model, seed):
    X, y = changing(80, 80, seed=seed) if model.warm_up == 1000 else numbers(160, seed)
    X, y, weights = with_gaps(X, y, seed)
    if not isinstance(model, EvolvingNaiveBayes):
        seen = [at for at, label in enumerate(y) if label is not None and weights[at] > 0]
        table = clone(model).set_params(decay=None).fit([X[at] for at in seen], [y[at] for at in seen])
        model = clone(model).set_params(schema=table.encoder_.schema)
    stream, fitted = quick(clone(model)), quick(clone(model).set_params(schema=None))
    stream.partial_fit(X, y, classes=sorted({*y} - {None}) if model.schema else None, sample_weight=weights)
    fitted.fit(X, y, sample_weight=weights)
    assert fitted.events_ == stream.events_
    assert fitted.n_rows_ == stream.n_rows_ == 160
    np.testing.assert_allclose(fitted.predict_proba(X), stream.predict_proba(X), atol=1e-12)


@examples(3)
@given(seed=st.integers(0, 99), on_drift=st.sampled_from(["swap", "restart", "nothing"]))
def test_with_many_columns_fit_sees_few_of_them_and_then_counts_all(seed, on_drift):
    X, y = (np.array(part) for part in changing(200, 137, seed=seed))
    names = [f"x{i}" for i in range(X.shape[1])]
    table = pd.DataFrame(X, columns=names)
    told = class_information(NaiveBayes().fit(table, y).counts_)
    few = [names[i] for i in np.sort(np.argsort(-told, kind="stable")[:4])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drift, "MANY_COLUMNS", 4)
        model = quick(AODE(), on_drift=on_drift).fit(table, y)
    seen = quick(AODE(), on_drift=on_drift).fit(table[few], y)
    assert model.events_ == seen.events_
    for own, like in zip(model._models.running, seen._models.running, strict=True):
        since = (
            AODE().fit_columns(model.encoder_.schema, model.classes_).partial_fit(table[like.began :], y[like.began :])
        )
        assert (own.model.counts_.joint(0, 1) == since.counts_.joint(0, 1)).all()
        assert own.state() == like.state()
    assert model.n_rows_ == seen.n_rows_ == len(y)
    assert model._course.policy.detector.state() == seen._course.policy.detector.state()
    assert model.partial_fit(table[:20], y[:20]).n_rows_ == len(y) + 20


@pytest.mark.parametrize("on_drift", ["swap", "restart", "fade", "shrink"])
def test_with_many_columns_what_was_done_for_few_of_them_is_done_for_all(on_drift, monkeypatch):
    monkeypatch.setattr(drift, "MANY_COLUMNS", 4)
    X, y = flipped(4000, seed=3)
    model = DriftAware(AODE(window=3000 if on_drift == "shrink" else None), on_drift=on_drift).fit(X, y)
    row = next(event.row for event in model.events_ if event.what == "drift")
    assert 2000 < row < 2200
    if on_drift == "fade":
        assert [event.what for event in model.events_].count("drift") == 1
        assert model.class_count_.sum() == pytest.approx(0.1 * row + 4000 - row)
    elif on_drift == "shrink":
        assert 4000 - row <= model.class_count_.sum() <= 4000 - row + 500
    else:
        assert model.class_count_.sum() == 4000 - model._front.began


@pytest.mark.parametrize("named", ["x0", 0])
def test_with_many_columns_a_model_that_names_one_sees_them_all(named, monkeypatch):
    monkeypatch.setattr(drift, "MANY_COLUMNS", 4)
    X, y = flipped(300, seed=3)
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(len(X[0]))])
    model = DriftAware(SPODE(super_parent=named)).fit(table, y)
    monkeypatch.undo()
    assert model.events_ == DriftAware(SPODE(super_parent=named)).fit(table, y).events_


@examples(2)
@given(seed=st.integers(0, 99), delay=st.integers(1, 20))
def test_late_labels_are_judged_when_they_come(seed, delay):
    X, y = changing(100, 100, seed=seed)
    single, stream = quick(AODE()), quick(AODE())
    old, late, new = slice(0, delay), slice(delay, None), slice(0, -delay)
    for model in (single, stream):
        model.partial_fit(X[old], y[old])
    expected = []
    for learned, label, asked in zip(dicts(X[new]), y[new], dicts(X[late]), strict=True):
        expected.append(single.predict_proba_one(asked))
        single.learn_one(learned, label)
    agree(stream, stream.test_then_train(X[new], y[new], answered=X[late]), expected)
    assert stream.events_ == single.events_


def with_new_words(n_rows, seed):
    """Numbers that move, a gap here and there, and a column of text that goes on showing new values; as dicts."""
    X, y = moving(n_rows, 60, seed)
    rng = np.random.default_rng(seed)
    rows = []
    for at, (numbers_of_row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        word = f"new {at // 15}" if rng.random() < 0.1 else f"v{2 * label + rng.integers(3)}"
        rows.append({"a": numbers_of_row[0], "b": None if rng.random() < 0.1 else numbers_of_row[1], "word": word})
    return rows, [f"c{label}" for label in y]


LATE = [
    NaiveBayes(warm_up=100),
    AODE(warm_up=60, unseen="smooth"),
    *later(
        AODE(warm_up=60),
        AODE(warm_up=60, decay=50),
        NaiveBayes(warm_up=60, window=80),
        NaiveBayes(warm_up=60, gaussian=True),
    ),
]


@pytest.mark.parametrize("on_drift", ["swap", "restart"])
@pytest.mark.parametrize("model", LATE, ids=repr)
@examples(1)
@given(seed=st.integers(0, 99), delay=st.integers(1, 20), cut=st.integers(1, 399), frame=st.booleans())
def test_late_labels_in_rows_chunks_and_whole_streams(model, on_drift, seed, delay, cut, frame):
    rows, y = with_new_words(400 + delay, seed)
    _, y, weights = with_gaps(rows, y, seed) if seed % 2 else (rows, y, np.ones(len(y)))
    y[:200] = [label or "c0" for label in y[:200]]
    single, whole, chunks = (quick(clone(model), on_drift=on_drift) for _ in range(3))
    expected = []
    for learned, label, weight, asked in zip(rows, y, weights.tolist(), rows[delay:], strict=False):
        expected.append(single.predict_proba_one(asked))
        single.learn_one(learned, label, weight)
    table = pd.DataFrame(rows) if frame else rows
    learned, late = table[:400], table[delay:]
    agree(whole, whole.test_then_train(learned, y[:400], weights[:400], answered=late), expected)
    for part in (slice(0, cut), slice(cut, 400)):
        got = chunks.test_then_train(learned[part], y[:400][part], weights[:400][part], answered=late[part])
        agree(chunks, got, expected[part])
    assert single.events_ == whole.events_ == chunks.events_


@pytest.mark.parametrize("model", [NaiveBayes(warm_up=100), AODE(warm_up=100)], ids=repr)
def test_rows_whose_labels_come_late_go_in_blocks(model, monkeypatch):
    """One by one they took two hundred times as long."""
    alone = []
    run_late = Runner._run_late
    monkeypatch.setattr(Runner, "_run_late", lambda *given: alone.append(given) or run_late(*given))
    X, y = moving(3000, 400, seed=1)
    stream = quick(model)
    stream.test_then_train(X[:-50], y[:-50], answered=X[50:])
    assert any(event.what == "swap" for event in stream.events_)
    assert len(alone) < 50


def test_nothing_changes_where_nothing_is_done_about_drift():
    X, y = changing(300, 300)
    for model in (NaiveBayes(), TAN()):
        idle = DriftAware(model, on_warning="nothing", on_drift="nothing")
        assert (idle.test_then_train(X, y) == clone(model).test_then_train(X, y)).all()
        assert (idle.predict_proba(X) == idle.model_.predict_proba(X)).all()
        assert (idle.predict(X) == idle.model_.predict(X)).all()
        assert "drift" in [event.what for event in idle.events_]


def test_new_classes_are_known_to_whichever_model_answers():
    X, y = changing(200, 200, seed=4)
    y[250:] = [f"new {label}" for label in y[250:]]
    model = quick(on_drift="restart")
    proba = model.test_then_train(X, y)
    assert any(event.what == "restart" for event in model.events_)
    assert model.classes_.tolist() == model.model_.classes_.tolist() == ["c0", "c1", "new c0", "new c1"]
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert set(model.predict_proba_one(dicts(X)[0])) == set(model.classes_)


def test_a_model_that_has_just_started_anew_answers_evenly():
    X, y = [["a"], ["b"]] * 100, ["u", "v"] * 50 + ["v", "u"] * 50
    model = DriftAware(detector=lambda wrong: "drift" if wrong else None, on_drift="restart", every=4)
    rows = 104
    model.partial_fit(X[:rows], y[:rows])
    assert [event.what for event in model.events_] == ["drift", "restart"]
    assert model.predict_proba_one({"x0": "a"}) == {"u": 0.5, "v": 0.5}
    assert model.predict_proba([["a"]]).tolist() == [[0.5, 0.5]]
    assert model.predict([["a"]]).tolist() == ["u"]
    assert model.test_then_train(X[rows : rows + 1], y[rows : rows + 1]).tolist() == [[0.5, 0.5]]


# --- it helps ----------------------------------------------------------------------------------------------------


def accuracy(model, X, y):
    answers = model.test_then_train(X, y).argmax(axis=1)
    return (model.classes_[answers] == np.array(y)).mean()


@pytest.mark.parametrize("on_drift", ["swap", "restart"])
def test_it_recovers_from_a_sudden_change_where_the_bare_model_does_not(on_drift):
    for seed in range(3):
        X, y = changing(2000, 1000, seed=seed)
        bare, aware = NaiveBayes(), DriftAware(NaiveBayes(), on_drift=on_drift)
        best = NaiveBayes().fit(X[2000:], y[2000:]).score(X[2500:], y[2500:])
        for model in (bare, aware):
            model.partial_fit(X[:2500], y[:2500])  # the change is 500 rows ago
        assert accuracy(aware, X[2500:], y[2500:]) > best - 0.02
        assert accuracy(bare, X[2500:], y[2500:]) < best - 0.05


def test_without_a_change_models_are_seldom_swapped_and_answers_are_as_good():
    swaps = 0
    for seed in range(5):
        X, y = changing(3000, seed=seed)
        aware = DriftAware(NaiveBayes())
        assert accuracy(aware, X, y) > accuracy(NaiveBayes(), X, y) - 0.005
        swaps += sum(event.what == "swap" for event in aware.events_)
    assert swaps <= 1


@pytest.mark.parametrize("name", ["drift.ADWIN", "drift.PageHinkley", "drift.binary.DDM"])
def test_detectors_of_river_serve(name):
    module, _, kind = f"river.{name}".rpartition(".")
    detector = getattr(pytest.importorskip(module), kind)()
    X, y = changing(2000, 1000)
    model = DriftAware(NaiveBayes(), detector).partial_fit(X, y)
    assert any(event.what == "swap" and 2000 < event.row < 2600 for event in model.events_)
    assert model.detector is detector
    assert not detector.drift_detected  # the one given is left as it was


def test_a_change_for_the_better_is_no_drift():
    """ADWIN hears any change; here noise ends after 1,000 rows."""
    adwin = pytest.importorskip("river.drift").ADWIN()
    X, y = drawn(concept(3), 2500, 3)
    noise = np.random.default_rng(1).random(1000) < 0.5
    y[:1000] = [("c0" if label == "c1" else "c1") if odd else label for label, odd in zip(y, noise, strict=False)]
    model = DriftAware(NaiveBayes(), adwin, on_warning="nothing", on_drift="nothing").partial_fit(X, y)
    assert model.events_ == []


# --- a classifier like others ------------------------------------------------------------------------------------


@parametrize_with_checks([DriftAware()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_options_can_be_read_set_and_cloned():
    model = DriftAware(AODE(smoothing=2.0), DDM(drift=4.0), every=10)
    again = clone(model).set_params(model__smoothing=3.0)
    assert again.model.smoothing == 3.0
    assert model.model.smoothing == 2.0
    assert again.detector == DDM(drift=4.0)
    assert repr(DriftAware(AODE(smoothing=2.0), every=10)) == "DriftAware(every=10, model=AODE(smoothing=2.0))"


def test_a_copy_goes_on_by_itself():
    X, y = changing(150, 150)
    model = quick().partial_fit(X[:170], y[:170])
    again = pickle.loads(pickle.dumps(model))
    assert (again.test_then_train(X[170:], y[170:]) == model.test_then_train(X[170:], y[170:])).all()
    assert again.events_ == model.events_


@pytest.mark.parametrize("inner", [AODE(), NaiveBayes(window=60), EvolvingNaiveBayes()], ids=repr)
def test_a_saved_model_goes_on_as_if_nothing_had_happened(inner, tmp_path):
    X, y = flipped(200)
    for stop in (1, 13, 107, 123):  # also while a model is trained in the background
        model = quick(clone(inner)).partial_fit(X[:stop], y[:stop])
        model.save(tmp_path / "model.tanager")
        again = load(tmp_path / "model.tanager")
        assert repr(again) == repr(model)
        assert (again.background_ is None) == (model.background_ is None)
        assert (again.test_then_train(X[stop:], y[stop:]) == model.test_then_train(X[stop:], y[stop:])).all()
        assert again.events_ == model.events_


def test_a_detector_of_others_cannot_be_put_into_a_file(tmp_path):
    with pytest.raises(ModelFileError, match="cannot save option 'detector'"):
        DriftAware(detector=lambda wrong: None).save(tmp_path / "model.tanager")


def test_fitting_again_forgets_everything():
    X, y = changing(150, 150)
    model = quick().fit(X, y)
    events, proba = model.events_, model.predict_proba(X)
    assert events
    assert model.n_rows_ == 300
    assert (model.fit(X, y).predict_proba(X) == proba).all()
    assert model.events_ == events


def test_an_event_can_be_read():
    X, y = changing(1000, 500)
    model = DriftAware().partial_fit(X, y)
    told = {event.what: event for event in model.events_}
    assert told["swap"].row % model.every == 0
    assert "is better: it alone was right on" in told["swap"].why
    assert "of the recent answers were wrong" in told["drift"].why


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"model": NaiveBayes}, "is no classifier of tanager"),
        ({"model": "aode"}, "'aode' is no classifier of tanager"),
        ({"model": NaiveBayes(warm_up=0)}, "warm_up=0"),
        ({"on_drift": "swop"}, "on_drift='swop' is not an option; .*Did you mean 'swap'"),
        ({"on_warning": "swap"}, "on_warning='swap' is not an option"),
        ({"detector": DDM}, "DDM is a class"),
        ({"every": 0}, "every=0: give a number of rows of at least 1"),
        ({"patience": 1.5}, "patience=1.5"),
        ({"on_drift": "shrink"}, r"NaiveBayes has no window that could shrink. Use NaiveBayes\(window=1000\), say"),
        (
            {"on_drift": "shrink", "model": EvolvingNaiveBayes()},
            'no window that could shrink. Use on_drift="swap", say',
        ),
        ({"on_drift": "fade", "model": EvolvingNaiveBayes()}, "EvolvingNaiveBayes has no counts that could fade"),
        ({"fade_to": 1.0}, "fade_to=1.0: give a number above 0 and below 1"),
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(options, sentence):
    with pytest.raises(OptionError, match=sentence):
        DriftAware(**options).fit([["a"], ["b"]], [0, 1])


def test_rows_that_cannot_be_used_are_refused():
    with pytest.raises(DataError, match="requires y"):
        DriftAware().fit([["a"]])
    with pytest.raises(DataError, match="learn_one takes a dict"):
        DriftAware().learn_one(["a"], 1)
    with pytest.raises(DataError, match="X has 2 rows"):
        DriftAware().partial_fit([["a"], ["b"]], [1])


# --- columns of fresh models -------------------------------------------------------------------------------------


def moving(n_rows, every, seed=0):
    """Numbers that lie elsewhere from time to time."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    shift = rng.normal(size=n_rows // every + 1).cumsum() * 5
    return rng.normal(size=(n_rows, 3)) + 2 * y[:, None] + shift[np.arange(n_rows) // every, None], y


def test_a_model_that_begins_is_cut_by_the_last_rows():
    X, y = moving(800, 400, seed=1)
    model = quick(NaiveBayes(warm_up=100)).partial_fit(X[:600], y[:600])
    assert any(event.what == "swap" for event in model.events_)
    first = NaiveBayes(warm_up=100).partial_fit(X[:600], y[:600])
    assert model.encoder_.schema["x0"].cuts != first.encoder_.schema["x0"].cuts
    assert accuracy(model, X[600:], y[600:]) > accuracy(first, X[600:], y[600:]) + 0.1


def test_drifts_in_a_warm_up_do_not_put_its_end_off():
    """The columns are fixed by the first rows of the stream, whichever model answers by then."""
    X, y = moving(300, 40, seed=12)
    model = quick(NaiveBayes(warm_up=100))
    model.partial_fit(X[:104], y[:104])
    assert any(event.what == "swap" for event in model.events_)
    assert model.model_.columns_fixed
    plain = NaiveBayes(warm_up=100).partial_fit(X[:104], y[:104])
    assert model.encoder_.schema == plain.encoder_.schema


def test_after_a_swap_in_a_warm_up_doubled_rows_cut_before_anybody_asks():
    """The first model goes on with the columns of all; who asks gets its present cut points, as in a whole stream."""
    X, y = moving(300, 20, seed=53)
    model, whole = (quick(NaiveBayes(warm_up=200)) for _ in range(2))
    model.test_then_train(X[:128], y[:128])
    assert any(event.what == "swap" for event in model.events_)
    told = model.predict_proba_one(dict(zip(["x0", "x1", "x2"], X[128].tolist(), strict=True)))
    assert list(told.values()) == whole.test_then_train(X[:129], y[:129])[128].tolist()


@pytest.mark.parametrize(("seed", "row"), [(11, 128), (191, 32), (198, 64)])
def test_who_takes_over_at_the_row_that_doubles_a_warm_up_answers_by_new_cut_points(seed, row):
    X, y = (cells[: row + 1] for cells in moving(140, 20, seed=seed))
    model, whole = (quick(NaiveBayes(warm_up=300)) for _ in range(2))
    expected = whole.test_then_train(X, y)[row].tolist()
    for cells, label in zip(dicts(X[:row].tolist()), y[:row].tolist(), strict=True):
        model.learn_one(cells, label)
    assert model.events_[-1].what == "swap"
    assert list(model.predict_proba_one(dicts(X[row:].tolist())[0]).values()) == expected
    assert model.predict_proba(X[row:]).tolist() == [expected]


@pytest.mark.parametrize("stop", [50, 90, 300, 777])
def test_numbers_of_the_last_rows_are_saved(stop, tmp_path):
    X, y = moving(1200, 400 if stop > 100 else 40, seed=2)
    model = quick(NaiveBayes(warm_up=100)).partial_fit(X[:stop], y[:stop])
    model.save(tmp_path / "model.tanager")
    again = load(tmp_path / "model.tanager")
    assert (again.test_then_train(X[stop:], y[stop:]) == model.test_then_train(X[stop:], y[stop:])).all()
    assert again.events_ == model.events_


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("every", [20, 300])  # also while the first rows come
@pytest.mark.parametrize("on_drift", ["swap", "restart"])  # a restart failed where cut points were new
def test_numbers_that_move_in_rows_chunks_and_whole_streams(on_drift, every, gaps):
    X, y = moving(900, every, seed=1)
    y, weights = [f"c{label}" for label in y], np.ones(900)
    if gaps:
        _, y, weights = with_gaps(X, y, 0)
    single, whole, chunks = (quick(NaiveBayes(warm_up=100), on_drift=on_drift) for _ in range(3))
    expected = []
    for row, label, weight in zip(dicts(X.tolist()), y, weights.tolist(), strict=True):
        expected.append(single.predict_proba_one(row))
        single.learn_one(row, label, weight)
    agree(whole, whole.test_then_train(X, y, weights), expected)
    for start in range(0, 900, 77):
        part = slice(start, start + 77)
        agree(chunks, chunks.test_then_train(X[part], y[part], weights[part]), expected[part])
    assert single.events_ == whole.events_ == chunks.events_
    assert any(event.what == "drift" for event in whole.events_)


def test_the_model_that_answers_explains():
    X, y = drawn(concept(0), 400, 1)
    model = DriftAware(NaiveBayes()).fit(X, y)
    for answer in (model.explain(X[0]), model.explain_rows(X[:3])[0]):
        assert answer.parts == model.model_.explain(X[0]).parts
        np.testing.assert_allclose(answer.log_odds, answer.prior + sum(part.log_odds for part in answer.parts))
        assert answer.answer == model.predict(X[:1])[0]
    first, second = model.classes_.tolist()
    assert model.explain(X[0], contrast=(second, first)).answer == second


def test_a_model_that_cannot_explain_says_so():
    X, y = drawn(concept(0), 400, 1)
    model = DriftAware(EvolvingNaiveBayes()).fit(X, y)
    for explain in (model.explain, model.explain_rows):
        with pytest.raises(DataError, match="EvolvingNaiveBayes gives no log-odds that add up"):
            explain(X[:1])


def test_a_model_that_has_just_started_anew_has_no_reasons():
    X, y = drawn(concept(0), 400, 1)
    model = DriftAware(NaiveBayes(), on_drift="restart").fit(X, y)
    model._models.replace_front(model._models.fresh(model.n_rows_))
    with pytest.raises(DataError, match="after row 400 and has learned nothing yet"):
        model.explain(X[0])


def pairs_are_whole(model):
    pairs = model.counts_.raw_cells()["pairs"]
    np.testing.assert_array_equal(pairs, pairs.swapaxes(0, 1))
    return bool(pairs.any())


def test_all_pairs_are_counted_though_blocks_keep_one_half_of_them():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(3000, 5)), rng.integers(0, 2, 3000)
    y[1500:] = X[1500:, 0] > 0
    X[2700::7, 1] = np.nan  # from here on both halves are read
    model = DriftAware(AODE())
    expected = DriftAware(AODE())
    for r in range(0, 3000, 50):
        expected.test_then_train(X[r : r + 50], y[r : r + 50])
    model.test_then_train(X, y)
    assert pairs_are_whole(model.model_)
    np.testing.assert_array_equal(
        model.model_.counts_.raw_cells()["pairs"], expected.model_.counts_.raw_cells()["pairs"]
    )


def test_all_pairs_are_counted_where_a_detector_fails():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(3000, 5)), rng.integers(0, 2, 3000)
    n_heard = []

    def detector(wrong):
        n_heard.append(wrong)
        if len(n_heard) > 2000:
            raise RuntimeError("no more")

    model = DriftAware(AODE(), detector=detector)
    with pytest.raises(RuntimeError, match="no more"):
        model.test_then_train(X, y)
    assert pairs_are_whole(model.model_)


def test_a_failure_among_the_first_rows_loses_no_row():
    """First rows run through stage by stage; what was learned is kept, whatever happens in between."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(900, 3)), rng.integers(0, 2, 900)
    n_heard = []

    def detector(wrong):
        n_heard.append(wrong)
        if len(n_heard) == 640:
            raise RuntimeError("no more")

    model = DriftAware(NaiveBayes(), detector=detector)
    with pytest.raises(RuntimeError, match="no more"):
        model.test_then_train(X, y)
    assert model.model_.n_warm_up_rows == model.n_rows_ == 640
    assert model.model_.class_count_.sum() == 640


@pytest.mark.parametrize("base", [NaiveBayes(warm_up=20), AODE(warm_up=20)], ids=repr)
def test_a_model_is_saved_after_a_column_has_come_to_vary(base, tmp_path):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 400)
    X = {"number": rng.normal(y), "still": np.where(np.arange(400) < 60, 0.0, rng.normal(y))}
    whole, parts = DriftAware(base, every=10), DriftAware(base, every=10)
    expected = whole.test_then_train(X, y)
    for at in range(0, 400, 80):
        part = {name: cells[at : at + 80] for name, cells in X.items()}
        proba = parts.test_then_train(part, y[at : at + 80])
        np.testing.assert_allclose(proba[2:], expected[at + 2 : at + 80], rtol=1e-9)
        parts.save(tmp_path / "m.tanager")
        parts = load(tmp_path / "m.tanager")
    assert len(whole.encoder_.schema["still"].cuts) > 1
