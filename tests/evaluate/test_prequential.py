"""Test then train: the same numbers as the plain loop, from any stream, in any pieces."""

import itertools

import numpy as np
import plain_prequential as plain
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tanager.evaluate as evaluate
from strategies import tables
from tanager import AODE, FANC, TAN, NaiveBayes
from tanager.errors import DataError, OptionError, SchemaMismatch
from tanager.evaluate import label_delay, prequential, prequential_steps, report_schedule, stream_measures
from tanager.evaluate.stream_measures import SPANS, ScoredRows, StreamMeasures

MODELS = (NaiveBayes, AODE, FANC, TAN)
MODULE = __import__("sys").modules["tanager.evaluate.prequential"]


def stream(n=400, seed=0, k=2, columns=4):
    """Columns of small codes that depend on the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    X = (rng.random((n, columns)) < 0.2 + 0.6 * (y[:, None] % 2)).astype(np.uint8)
    return X, y


def dicts(X):
    return [{f"x{i}": v for i, v in enumerate(row)} for row in np.asarray(X, dtype=object).tolist()]


def curves(result, name=None):
    """All numbers of a model, for comparisons."""
    return {
        (measure, over): result.curve(name, measure, over) for measure in [*result.measures, "recall"] for over in SPANS
    }


def assert_same(first, second, exact=False):
    for key, curve in curves(first).items():
        other = curves(second)[key]
        if exact:
            np.testing.assert_array_equal(curve, other, err_msg=str(key))
        else:
            np.testing.assert_allclose(curve, other, rtol=1e-9, atol=1e-12, err_msg=str(key))


def assert_as_plain(result, expected):
    assert set(expected) <= set(result.rows.tolist())
    for at, row in enumerate(result.rows.tolist()):
        for way, own in expected.get(row, {}).items():
            for measure in ("accuracy", "kappa", "log_loss"):
                got = result.curve(None, measure, way)[at]
                np.testing.assert_allclose(got, own[measure], rtol=1e-9, atol=1e-12, err_msg=f"{row} {way} {measure}")
            for c, recall in own["recall"].items():
                got = result.curve(None, "recall", way)[at][result.classes.index(c)]
                np.testing.assert_allclose(got, recall, rtol=1e-9, err_msg=f"{row} {way} recall {c}")


# --- laws ---------------------------------------------------------------------------------------------------------


@given(tables(min_rows=2), st.sampled_from(MODELS), st.integers(1, 9), st.integers(1, 9))
def test_a_stream_is_measured_as_in_the_plain_loop(table, model, every, window):
    expected = plain.reports(
        plain.answers_of(model(), table.dicts(), table.y.tolist()),
        table.y.tolist(),
        sorted(set(table.y.tolist())),
        every,
        0.9,
        window,
    )
    result = prequential(model(), table.X, table.y, every=every, window=window, fade=0.9)
    assert_as_plain(result, expected)


@given(st.data())
def test_blocks_of_any_size_give_the_same_numbers(data):
    X, y = stream(60, seed=data.draw(st.integers(0, 99)), k=3)
    options = {"every": data.draw(st.integers(1, 20)), "window": 7, "fade": 0.9}
    options["batch"] = data.draw(st.sampled_from([1, 1, 5]))
    whole = prequential(AODE(), X, y, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "BLOCK", data.draw(st.integers(1, 30)))
        patch.setattr(stream_measures, "STRETCH", 1 << 16)
        assert_same(prequential(AODE(), X, y, **options), whole, exact=True)


@given(tables(min_rows=2), st.integers(2, 9), st.integers(1, 6))
def test_a_batch_is_answered_before_any_of_it_is_learned(table, batch, every):
    y = table.y.tolist()
    expected = plain.reports(
        plain.answers_of(NaiveBayes(), table.dicts(), y, batch=batch), y, sorted(set(y)), every, 0.9, 5, batch=batch
    )
    result = prequential(NaiveBayes(), table.X, table.y, batch=batch, every=every, fade=0.9, window=5)
    assert_as_plain(result, expected)


@given(st.integers(1, 30), st.integers(0, 12), st.integers(1, 5), st.data())
def test_every_row_is_asked_once_in_order_and_learned_when_its_label_has_come(n, delay, batch, data):
    sizes = []
    while sum(sizes) < n:
        sizes.append(min(batch * data.draw(st.integers(1, 4)), n - sum(sizes)))
    way = label_delay.DelayedLabels(delay, batch)
    asked, learned = [], []
    for start, stop in itertools.pairwise(np.cumsum([0, *sizes]).tolist()):
        numbers = np.arange(start, stop)
        for step in way.steps(evaluate.adapters.StreamRows(numbers[:, None], numbers, None, None)):
            pairs = range(len(step.test)) if step.interleaved else [slice(None)]
            for at in pairs:
                asked += np.atleast_1d(step.test.y[at]).tolist()
                if step.train is not None:
                    learned += np.atleast_1d(step.train.y[at]).tolist()
                assert len(learned) == max(0, len(asked) - delay)
    for step in way.rest():
        assert step.test is None
        learned += step.train.y.tolist()
    assert asked == learned == list(range(n))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3)), min_size=1, max_size=40), st.data())
def test_running_measures_are_those_of_a_list_of_all_answers(pairs, data):
    fade, window = data.draw(st.sampled_from([0.5, 0.9, 1.0])), data.draw(st.integers(1, 50))
    labels, answers = np.array(pairs).T
    loss = np.linspace(0.1, 2.0, len(pairs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_measures, "STRETCH", data.draw(st.integers(1, 9)))
        run = StreamMeasures(fade, window)
        start = 0
        while start < len(pairs):
            stop = start + data.draw(st.integers(1, 9))
            part = slice(start, stop)
            run.add(ScoredRows(labels[part], answers[part], loss[part], 2 * loss[part]))
            if data.draw(st.booleans()):
                run.report()
            start = stop
        report = run.report()
    listed = [(t, None if a < 0 else a, np.exp(-p)) for (t, a), p in zip(pairs, loss.tolist(), strict=True)]
    faded = [fade ** (len(pairs) - 1 - r) for r in range(len(pairs))]
    for way, some, weights in (
        ("whole", listed, [1.0] * len(listed)),
        ("fading", listed, faded),
        ("window", listed[-window:], [1.0] * min(window, len(listed))),
    ):
        expected = plain.measures(some, weights)
        for measure in ("accuracy", "kappa", "log_loss"):
            np.testing.assert_allclose(report.value(measure, way), expected[measure], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(report.value("cost", way), 2 * expected["log_loss"], rtol=1e-9)
        for c, recall in expected["recall"].items():
            np.testing.assert_allclose(report.recall[SPANS.index(way), c], recall, rtol=1e-9)


def test_fading_accuracy_is_the_known_answer():
    losses = np.array([1, 0, 0, 1, 0])
    run, got = StreamMeasures(0.9, 1000), []
    for loss in losses:
        zero = np.zeros(1)
        run.add(ScoredRows(np.array([0]), np.array([loss]), zero, zero))
        got.append(1 - run.report().value("accuracy", "fading"))
    np.testing.assert_allclose(got, [1, 0.473684, 0.298893, 0.502762, 0.379991], atol=5e-7)
    np.testing.assert_allclose(got, evaluate.fading_mean(losses, 0.9))


# --- streams of every kind ----------------------------------------------------------------------------------------


class Made:
    """A generator of rows, as ``tanager.generate`` has them."""

    names, classes, drifts = ("a", "b", "c", "d"), ("p", "q", "r"), (100, 5000)

    def chunks(self, n_rows, size=65536):
        X, y = stream(n_rows, k=3)
        for start in range(0, n_rows, size):
            yield X[start : start + size], y[start : start + size].astype(np.uint8)


def text_rows(n=300):
    X, y = stream(n, k=3)
    names = ("sky", "wind", "sea", "sand")
    rows = [{name: f"{name[0]}{v}" for name, v in zip(names, row, strict=True)} for row in X.tolist()]
    return rows, [f"c{c}" for c in y.tolist()]


def as_columns(rows, labels):
    return {name: [row[name] for row in rows] for name in rows[0]} | {"class": labels}


@pytest.fixture
def expected():
    rows, labels = text_rows()
    return prequential(AODE(), rows, labels, every=50)


@pytest.mark.parametrize("kind", ["columns", "pandas", "polars", "arrow"])
def test_frames_are_streams(kind, expected):
    frame = as_columns(*text_rows())
    if kind in ("pandas", "polars"):
        frame = pytest.importorskip(kind).DataFrame(frame)
    elif kind == "arrow":
        frame = pytest.importorskip("pyarrow").table(frame)
    assert_same(prequential(AODE(), frame, target="class", every=50), expected)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_are_streams(ending, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(MODULE, "BLOCK", 70)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(as_columns(*text_rows()))
    path = tmp_path / f"stream.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    assert_same(prequential(AODE(), path, target="class", every=50, classes=expected.classes), expected)
    assert prequential(AODE(), str(path), target="class", n_rows=120).n_rows == 120


def test_pairs_and_dicts_are_streams(expected):
    rows, labels = text_rows()
    options = {"every": 50, "classes": set(labels)}
    pairs = zip(rows, labels, strict=True)
    assert_same(prequential(AODE(), pairs, **options), expected)
    whole = ({**row, "class": c} for row, c in zip(rows, labels, strict=True))
    assert_same(prequential(AODE(), whole, target="class", **options), expected)
    assert (
        prequential(AODE(), zip(itertools.cycle(rows), itertools.cycle(labels), strict=True), n_rows=700).n_rows == 700
    )


def test_generators_are_streams_and_tell_their_drifts():
    result = prequential(AODE(), Made(), n_rows=500)
    X, y = next(Made().chunks(500))
    assert_same(result, prequential(AODE(), (X, np.array(Made.classes)[y])), exact=True)
    assert result.classes == ["p", "q", "r"]
    assert result.drifts == [100]
    assert len(result.rows) == 250


@pytest.mark.parametrize(("rows", "delay"), [(1, 0), (37, 0), (100, 5), (400, 0), (5000, 3)])
def test_steps_show_the_beginning_of_what_the_whole_stream_gives(rows, delay):
    X, y = stream()
    whole = prequential([NaiveBayes(), AODE()], X, y, every=30, delay=delay)
    steps = list(prequential_steps([NaiveBayes(), AODE()], X, y, rows=rows, every=30, delay=delay))
    for step in steps:
        n = len(step.rows)
        assert step.rows.tolist() == whole.rows[:n].tolist()
        for name in ("NaiveBayes", "AODE"):
            for own, known in zip(curves(step, name).values(), curves(whole, name).values(), strict=True):
                np.testing.assert_array_equal(own, known[:n])
    assert len(steps[-1].rows) == len(whole.rows)
    assert [len(step.rows) for step in steps[:-1]] == sorted(len(step.rows) for step in steps[:-1])


def test_steps_refuse_what_they_cannot_do_at_once():
    X, y = stream()
    with pytest.raises(OptionError, match="rows=0"):
        prequential_steps(NaiveBayes(), X, y, rows=0)
    with pytest.raises(TypeError, match="evry"):
        prequential_steps(NaiveBayes(), X, y, evry=3)


def test_before_anything_is_learned_the_answer_is_even_or_none():
    rows, labels = [{"a": "u"}] * 3, ["q", "p", "q"]
    known = prequential(NaiveBayes(), rows, labels, every=1)
    np.testing.assert_allclose(known.curve(measure="log_loss")[0], np.log(2))
    assert known.curve()[0] == 0  # even: the first of the classes
    unknown = prequential(NaiveBayes(), zip(rows, labels, strict=True), every=1)
    np.testing.assert_allclose(unknown.curve(measure="log_loss")[0], np.log(2))
    assert unknown.curve()[0] == 0
    # the second row has a class that nobody knew
    np.testing.assert_allclose(unknown.curve(measure="log_loss")[1], (np.log(2) - np.log(1e-15)) / 2)


def test_rows_without_a_label_are_answered_and_not_scored():
    X, y = stream(40)
    labels = [None if r % 3 == 0 else f"c{c}" for r, c in enumerate(y.tolist())]
    for model in (NaiveBayes, AODE):
        answers = plain.answers_of(model(), dicts(X), labels)
        expected = plain.reports(answers, labels, ["c0", "c1"], 4, 0.9, 5)
        assert_as_plain(prequential(model(), X, labels, every=4, fade=0.9, window=5), expected)
    assert np.isnan(prequential(AODE(), [{"a": 1}] * 3, [None, None, "x"], every=1).curve()[:2]).all()


def test_a_fitted_model_goes_on_learning():
    X, y = stream(200)
    model = AODE().fit(X[:100], y[:100])
    result = prequential(model, X[100:], y[100:])
    assert result.models["AODE"] is model
    assert model.counts_.n_rows == 200
    assert result.curve()[0] == 1  # no guess at the first row


def test_several_models_see_the_rows_in_one_pass():
    X, y = stream(100)
    rows = zip(dicts(X), y.tolist(), strict=True)
    together = prequential({"a": AODE(), "b": NaiveBayes()}, rows, classes=[0, 1], every=10)
    assert list(together.models) == ["a", "b"]
    for name, model in (("a", AODE()), ("b", NaiveBayes())):
        alone = prequential(model, dicts(X), y, every=10)
        np.testing.assert_array_equal(together.curve(name, "log_loss"), alone.curve(measure="log_loss"))
    assert list(prequential([AODE(), AODE(smoothing=2)], X, y).models) == ["AODE", "AODE 2"]


def test_costs_decide_and_are_measured():
    X, y = stream(200)
    costs = np.array([[0.0, 1.0], [20.0, 0.0]])
    result = prequential({"own": NaiveBayes(cost_matrix=costs), "given": NaiveBayes()}, X, y, cost_matrix=costs)
    np.testing.assert_array_equal(result.curve("own", "cost"), result.curve("given", "cost"))
    recall = result.curve("own", "recall")[-1]
    np.testing.assert_allclose(
        result.curve("own", "cost")[-1], np.mean(np.where(y == 1, 20 * (1 - recall[1]), 1 - recall[0]))
    )
    assert recall[1] > prequential(NaiveBayes(), X, y).curve(measure="recall")[-1][1]
    own = prequential(NaiveBayes(cost_matrix=costs), X, y)
    np.testing.assert_array_equal(own.curve(measure="cost"), result.curve("own", "cost"))


def test_classifiers_of_scikit_learn_learn_in_batches():
    from sklearn.naive_bayes import GaussianNB

    X, y = stream(95, k=3)
    result = prequential(GaussianNB(), X, y, batch=10, every=10)
    model, right = GaussianNB(), [(y[:10] == 0).mean()]
    for start in range(0, 90, 10):
        model.partial_fit(X[start : start + 10], y[start : start + 10], classes=[0, 1, 2])
        right.append((model.predict(X[start + 10 : start + 20]) == y[start + 10 : start + 20]).mean())
    np.testing.assert_allclose(
        result.curve(over="window"), [*np.cumsum(right[:-1]) / np.arange(1, 10), result.curve()[-1]]
    )
    assert (
        prequential(GaussianNB(), iter([({"a": 1.0}, "p"), ({"a": 2.0}, "n")]), batch=2, classes=["n", "p"]).n_rows == 2
    )


def test_classifiers_of_river_run_beside_ours():
    naive_bayes = pytest.importorskip("river.naive_bayes", reason="needs the extra 'river'")
    X, y = stream(120, k=3)
    rows, labels = dicts(X), [None if r == 7 else f"c{c}" for r, c in enumerate(y.tolist())]
    result = prequential({"river": naive_bayes.BernoulliNB()}, rows, labels, every=30, fade=0.9, window=20)
    answers = plain.answers_of(naive_bayes.BernoulliNB(), rows, labels)
    assert_as_plain(result, plain.reports(answers, labels, ["c0", "c1", "c2"], 30, 0.9, 20))


def test_river_gets_names_and_no_missing_cells():
    from tanager.evaluate.adapters import StreamRows

    X = np.array([[0, 255], [1, 2]], dtype=np.uint8)
    assert StreamRows(X, np.array([0, 1]), None, ["a", "b"]).dicts == [{"a": 0}, {"a": 1, "b": 2}]
    table = {"n": [1.5, None], "t": [None, "q"]}
    assert StreamRows(table, np.array([0, 1]), None, None).dicts == [{"n": 1.5}, {"t": "q"}]
    assert StreamRows([{"n": None, "t": "q"}], np.array([0]), None, None).dicts == [{"t": "q"}]


# --- the result ---------------------------------------------------------------------------------------------------


def test_the_result_prints_and_writes_what_it_knows(tmp_path):
    X, y = stream(100)
    result = prequential({"aode": AODE(), "nb": NaiveBayes()}, X, y, every=40, window=30)
    assert repr(result).startswith("PrequentialResults(100 rows; accuracy: aode 0.9")
    assert result.summary()["model"] == ["aode", "nb", "no change", "majority"]
    assert "the last 30 rows" in str(result)
    assert result.per_class()["class"] == ["0", "1"]
    frame = result.to_pandas()
    assert frame["row"].tolist() == [40, 80, 100] * 4
    np.testing.assert_array_equal(frame["window_recall_1"][:3], result.curve("aode", "recall", "window")[:, 1])
    text = result.to_csv(tmp_path / "curves.csv")
    assert (tmp_path / "curves.csv").read_text() == text
    assert text.splitlines()[0].startswith("model,row,accuracy,kappa,kappa_temporal,log_loss,fading_accuracy")


def test_the_lowest_accuracy_is_that_of_a_full_window():
    X, y = stream(300)
    y[150:200] = 1 - y[150:200]
    result = prequential(AODE(), X, y, every=10, window=50)
    row, value = result.lowest()
    assert 190 <= row <= 210
    assert value == result.curve(over="window")[result.rows >= 50].min()


# --- mistakes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda X, y: prequential([], X, y), OptionError, "no model"),
        (lambda X, y: prequential(AODE, X, y), OptionError, r"AODE\(\)"),
        (lambda X, y: prequential(dict.fromkeys("ab", AODE()), X, y), OptionError, "twice"),
        (lambda X, y: prequential(object(), X, y), OptionError, "cannot learn from a stream"),
        (lambda X, y: prequential(AODE(), X), OptionError, r"prequential\(model, X, y\)"),
        (lambda X, y: prequential(AODE(), X, y[:-1]), DataError, "400 rows, y has 399 labels"),
        (lambda X, y: prequential(AODE(), X, y, n_rows=0), OptionError, "n_rows=0"),
        (lambda X, y: prequential(AODE(), X, y, every=0), OptionError, "every=0"),
        (lambda X, y: prequential(AODE(), X, y, window=2.5), OptionError, "window=2.5"),
        (lambda X, y: prequential(AODE(), X, y, batch=0), OptionError, "batch=0"),
        (lambda X, y: prequential(AODE(), X, y, delay=-1), OptionError, "delay=-1"),
        (lambda X, y: prequential(AODE(), X, y, fade=0), OptionError, "fade=0"),
        (lambda X, y: prequential(AODE(), X, y, times=[1, 2]), DataError, "times has 2 entries, X has 400 rows"),
        (lambda X, y: prequential(AODE(), X, y, cost_matrix=[[0]]), OptionError, r"expected \(2, 2\)"),
        (
            lambda X, y: prequential(AODE(), {"a": [1], "klass": [1]}, target="class"),
            SchemaMismatch,
            "Did you mean 'klass'",
        ),
        (lambda X, y: prequential(AODE(), {"a": [1]}), OptionError, "target="),
        (lambda X, y: prequential(AODE(), [{"a": 1}]), OptionError, "target="),
        (lambda X, y: prequential(AODE(), [{"a": 1}], target="b"), SchemaMismatch, "no column 'b'. There are 'a'"),
        (lambda X, y: prequential(AODE(), [[1, 2]]), OptionError, "expected a dict"),
        (lambda X, y: prequential(AODE(), []), DataError, "no rows"),
        (lambda X, y: prequential(AODE(), 7), OptionError, "not a stream of rows"),
        (lambda X, y: prequential(AODE(), Made()), OptionError, "n_rows="),
        (lambda X, y: prequential(AODE(), "no-such-file.csv"), OSError, "no-such-file"),
        (lambda X, y: prequential(AODE(cost_matrix=[[0, 1], [1, 0]]), iter([({"a": 1}, 1)])), OptionError, "classes="),
        (lambda X, y: prequential(AODE(), X, y).curve("AOD"), OptionError, "Did you mean 'AODE'"),
        (lambda X, y: prequential(AODE(), X, y).curve(measure="acuracy"), OptionError, "Did you mean 'accuracy'"),
        (lambda X, y: prequential(AODE(), X, y).curve(over="last"), OptionError, "over"),
    ],
)
def test_mistakes_get_one_clear_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call(*stream())


def test_a_model_that_learns_in_batches_asks_for_them():
    from sklearn.naive_bayes import GaussianNB

    X, y = stream()
    with pytest.raises(OptionError, match="batch=100"):
        prequential(GaussianNB(), X, y)
    with pytest.raises(OptionError, match="classes="):
        prequential(GaussianNB(), iter([({"a": 1}, 1)]), batch=2)


# --- late labels, times, and rows that change shape ---------------------------------------------------------------


@given(tables(min_rows=2), st.sampled_from(MODELS), st.integers(1, 9), st.sampled_from([1, 1, 4]), st.integers(2, 20))
def test_a_row_is_learned_when_its_label_has_come(table, model, delay, batch, block):
    y = table.y.tolist()
    answers = plain.answers_of(model(), table.dicts(), y, delay, batch)
    expected = plain.reports(answers, y, sorted(set(y)), 3, 0.9, 5, delay, batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "BLOCK", block)
        learned = model()
        result = prequential(learned, table.X, table.y, every=3, fade=0.9, window=5, delay=delay, batch=batch)
    assert_as_plain(result, expected)
    learned.predict(table.X)
    assert learned.counts_.n_rows == len(y)  # in the end all labels have come


def test_columns_that_come_later_are_learned_as_in_the_plain_loop():
    rows = [{"a": "x", "b": "u"}, {"a": "y", "b": "v"}, {"a": "x", "c": "q"}, {"a": "y", "c": "z", "d": "w"}] * 6
    labels = ["p", "n"] * 12
    answers = plain.answers_of(AODE(), rows, labels)
    result = prequential(AODE(), rows, labels, every=1, fade=0.9, window=5)
    assert_as_plain(result, plain.reports(answers, labels, ["n", "p"], 1, 0.9, 5))


class Remembers(NaiveBayes):
    """Naive Bayes that writes down the times that it is told."""

    def test_then_train(self, X, y, sample_weight=None, times=None, answered=None):
        self.__dict__.setdefault("told_", []).extend(np.asarray(times).tolist())
        return super().test_then_train(X, y, sample_weight, answered=answered)


@pytest.mark.parametrize("delay", [0, 3])
def test_models_are_told_the_times_of_the_rows_they_learn(delay, tmp_path):
    rows, labels = text_rows(20)
    times = [float(r) for r in range(20)]
    told = times[: 20 - delay]
    model = Remembers()
    assert prequential(model, rows, labels, times=times, delay=delay).n_rows == 20
    assert model.told_ == told
    frame = as_columns(rows, labels) | {"when": times}
    for source in (frame, [dict(zip(frame, row, strict=True)) for row in zip(*frame.values(), strict=True)]):
        model = Remembers()
        prequential(model, source, target="class", times="when", delay=delay)
        assert model.told_ == told
        assert "when" not in model.encoder_.schema.names
    pytest.importorskip("pandas").DataFrame(frame).to_csv(tmp_path / "stream.csv", index=False)
    model = Remembers()
    prequential(model, tmp_path / "stream.csv", target="class", times="when", delay=delay)
    assert model.told_ == told


@pytest.mark.parametrize("options", [{}, {"decay": 40}, {"window": 50}], ids=str)
@pytest.mark.parametrize("model", [NaiveBayes, TAN])
def test_numbers_are_cut_as_in_the_plain_loop(model, options):
    rng = np.random.default_rng(3)
    y = [f"c{c}" for c in np.where(np.arange(150) < 40, rng.integers(0, 2, 150), rng.integers(0, 3, 150))]
    X = rng.normal(size=(150, 3)) + np.array([int(label[1]) for label in y])[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    rows = [{"a": a, "b": b, "c": c, "d": "pqr"[r * r % 3]} for r, (a, b, c) in enumerate(X.tolist())]
    answers = plain.answers_of(model(warm_up=60, **options), rows, y)
    result = prequential(model(warm_up=60, **options), rows, y, every=25, fade=0.9, window=30)
    assert_as_plain(result, plain.reports(answers, y, ["c0", "c1", "c2"], 25, 0.9, 30))


@given(st.integers(1, 4000), st.integers(20, 500))
def test_reports_of_a_stream_of_unknown_length_are_few_and_even(n, block):
    reports, history = report_schedule.ReportSchedule(None, None), []
    for start in range(0, n, block):
        points = reports.between(start, min(start + block, n))
        history += points
        reports.add(points, [history])
    assert history == reports.rows
    assert len(set(np.diff([0, *reports.rows]).tolist())) <= 1
    whole = report_schedule.ReportSchedule(None, None)
    whole.add(whole.between(0, n), [])
    assert whole.rows == reports.rows
    assert 60 * (n > 300) <= len(reports.rows) <= 300


@pytest.mark.parametrize(
    ("n", "step"), [(1, 1), (300, 1), (301, 2), (10_000, 50), (1_000_000, 5000), (10_000_000, 50_000)]
)
def test_reports_of_a_stream_of_known_length_are_round_numbers(n, step):
    assert report_schedule.ReportSchedule(None, n).every == step


@pytest.mark.parametrize("at", [500, 2000, 20_000])
def test_a_cell_that_cannot_be_used_is_named_by_its_row_of_the_stream(at):
    rows = [{"a": float(i % 7), "b": "x"} for i in range(at + 10)]
    rows[at]["a"] = {"no": "cell"}
    labels = [i % 2 for i in range(len(rows))]
    with pytest.raises(DataError, match=f"row {at}:"):
        AODE().test_then_train(rows, labels)
    with pytest.raises(DataError, match=f"row {at}:"):
        prequential({"aode": AODE()}, zip(rows, labels, strict=True))


@pytest.mark.parametrize("how", [{}, {"delay": 100}, {"batch": 50}, {"batch": 50, "delay": 30}])
@pytest.mark.parametrize("at", [0, 1999, 20_000])
def test_a_bad_cell_is_named_by_its_row_however_late_labels_are(at, how):
    """Once, and by nothing that depends on how fast the machine is."""
    rows = [{"a": float(i % 7) + 0.5, "b": "x"} for i in range(at + 1200)]
    rows[at]["a"] = {"no": "cell"}
    stream = ((row, i % 2) for i, row in enumerate(rows))
    with pytest.raises(DataError, match=rf"^nb: column 'a'(, row {at})?:") as refused:
        prequential({"nb": NaiveBayes()}, stream, **how)
    assert f"row {at}:" in str(refused.value)
