"""Folds that follow the order of the rows, and words where random ones flatter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import AODE, NaiveBayes, OptionError
from tanager.encoding.row_order import LabelRuns, row_order
from tanager.evaluate import cross_validate, leave_one_out
from tanager.evaluate.plan import BlockedFolds, Folds, ForwardFolds


def runs_of(labels):
    runs = LabelRuns()
    runs.add(np.asarray(labels), [0, 1, 2])
    return runs


@given(st.integers(2, 9), st.integers(0, 40), st.integers(0, 3))
def test_folds_part_the_rows(folds, more, seed):
    labels = np.random.default_rng(seed).integers(0, 3, folds + 1 + more)
    for splits in (Folds(folds, seed), BlockedFolds(folds), ForwardFolds(folds)):
        tests = np.array([splits.test(labels, part) for part in range(folds)])
        trains = np.array([splits.train(labels, part) for part in range(folds)])
        assert (tests.sum(axis=0) <= 1).all()
        assert not (tests & trains).any()
        assert tests.any(axis=1).all()
        assert trains.any(axis=1).all()
        if isinstance(splits, ForwardFolds):
            last = [np.flatnonzero(own).max() for own in trains]
            assert all(before < np.flatnonzero(own).min() for before, own in zip(last, tests, strict=True))
            assert (tests.sum(axis=0) == ~splits.train(labels, 0)).all()  # all but the first block, once
        else:
            assert (tests.sum(axis=0) == 1).all()
            assert (tests ^ trains).all()


@given(st.integers(2, 9), st.integers(0, 40))
def test_blocks_are_neighbours_of_one_size(folds, more):
    labels = np.zeros(folds + 1 + more, dtype=int)
    for splits in (BlockedFolds(folds), ForwardFolds(folds)):
        sizes = [splits.test(labels, part).sum() for part in range(folds)]
        assert max(sizes) - min(sizes) <= 1
        for part in range(folds):
            rows = np.flatnonzero(splits.test(labels, part))
            assert (np.diff(rows) == 1).all()


def stream(n_rows=600, seed=0):
    """Rows in which labels come in stretches, and the columns say where in the stream they are."""
    rng = np.random.default_rng(seed)
    y = np.repeat(rng.integers(0, 3, n_rows // 10), 10)
    X = np.stack([np.repeat(np.arange(n_rows // 10), 10) % 50, rng.integers(0, 3, n_rows)], axis=1)
    return X.astype(np.uint8), y


@pytest.mark.parametrize("fold_order", ["random", "blocked", "forward"])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_classifier_sees_exactly_the_training_rows(fold_order, as_text):
    """Whether counts are shared and subtracted or not: as if it were fitted to the training rows by itself."""
    X, y = stream()
    table = X.astype(str) if as_text else X
    results = cross_validate({"aode": AODE()}, table, y, folds=4, fold_order=fold_order, timing=False, n_jobs=1)
    splits = {"random": Folds(4, 1), "blocked": BlockedFolds(4), "forward": ForwardFolds(4)}[fold_order]
    for part, record in enumerate(results.records):
        test, train = splits.test(y, part), splits.train(y, part)
        own = AODE().fit(table[train], y[train])
        assert record["n_train"] == train.sum()
        assert record["n_test"] == test.sum()
        assert record["accuracy"] == pytest.approx(np.mean(own.predict(table[test]) == y[test]), abs=0.02)


def test_random_folds_flatter_on_a_stream_and_a_note_says_so():
    X, y = stream()
    random = cross_validate({"nb": NaiveBayes()}, X, y, timing=False)
    forward = cross_validate({"nb": NaiveBayes()}, X, y, timing=False, fold_order="forward")
    assert random.mean("data", "nb", "accuracy") > forward.mean("data", "nb", "accuracy") + 0.2
    assert len(random.notes) == 1
    assert "far beyond chance" in random.notes[0]
    assert 'fold_order="forward"' in random.notes[0]
    assert forward.notes == ()
    assert leave_one_out({"nb": NaiveBayes()}, X, y).notes == random.notes


@pytest.mark.parametrize("seed", range(20))
def test_random_rows_say_nothing(seed):
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, size=2000, p=[0.8, 0.15, 0.05])
    assert row_order(runs_of(labels)).kind == "none"


def test_deviations_are_those_of_shuffled_rows():
    """The slow obvious twin: the mean and the deviation of the number of runs over many random orders."""
    rng = np.random.default_rng(0)
    labels = rng.choice(3, size=60, p=[0.5, 0.3, 0.2])
    runs = [runs_of(rng.permutation(labels)).n_runs for _ in range(4000)]
    own = runs_of(labels)
    expected = (np.mean(runs) - own.n_runs) / np.std(runs)
    assert own.deviations == pytest.approx(expected, abs=0.1)


def test_a_file_sorted_by_its_class_is_called_that():
    assert row_order(runs_of(np.repeat([0, 1, 2], 300))).kind == "class"
    assert row_order(runs_of(np.tile(np.repeat([0, 1, 2], 100), 3))).kind == "class"


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 0, 1, 1, 0], [0] * 50, [0, 0, 0, 1, 1]])
def test_of_few_rows_nobody_can_say_whether_they_are_sorted(labels):
    assert row_order(runs_of(np.array(labels))).kind == "none"


def test_rows_sorted_by_class_are_told_in_other_words_than_rows_in_the_order_of_time():
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 3, 300))
    X = {"a": (y + rng.integers(0, 2, 300)).astype(str), "day": rng.permutation(300)}
    assert not cross_validate({"nb": NaiveBayes()}, X, y, timing=False).notes  # random folds deal classes out evenly
    results = cross_validate({"nb": NaiveBayes()}, X, y, timing=False, fold_order="blocked")
    assert results.notes[0].startswith("data: rows are sorted by class: random folds and leave-one-out are right")
    by_time = cross_validate({"nb": NaiveBayes()}, X | {"day": np.arange(300)}, rng.permutation(y), timing=False)
    assert by_time.notes[0].startswith("data: rows are in the order of 'day': random folds and leave-one-out flatter")


def test_a_table_that_lists_all_combinations_is_sorted_by_its_first_column():
    first, second = np.repeat(np.arange(20), 20), np.tile(np.arange(20), 20)
    labels = (first > second).astype(int)
    found = row_order(runs_of(labels), [("first", lambda: first), ("second", lambda: second)])
    assert (found.kind, found.column) == ("column", "first")
    assert not found.flatters


def test_a_time_column_that_rises_is_named():
    rng = np.random.default_rng(0)
    when = np.cumsum(rng.random(100))
    labels = rng.integers(0, 2, 100)
    found = row_order(runs_of(labels), [("price", lambda: when), ("Sale_Date", lambda: when)])
    assert (found.kind, found.column) == ("time", "Sale_Date")
    assert row_order(runs_of(labels), [("lifetime", lambda: when)]).kind == "none"
    assert row_order(runs_of(labels), [("date", lambda: rng.permutation(when))]).kind == "none"


def test_runs_in_chunks_are_runs_of_the_whole():
    labels = np.random.default_rng(0).integers(0, 3, 50)
    chunks = LabelRuns()
    for part in np.split(labels, [0, 1, 7, 30]):
        chunks.add(part, [0, 1, 2])
    whole = runs_of(labels)
    assert (chunks.n_runs, chunks.classes) == (whole.n_runs, whole.classes)


def test_what_cannot_be_is_refused():
    X, y = stream()
    with pytest.raises(OptionError, match=r"fold_order='backward'.*'forward'"):
        cross_validate({"nb": NaiveBayes()}, X, y, fold_order="backward")
    with pytest.raises(OptionError, match="repeats=2"):
        cross_validate({"nb": NaiveBayes()}, X, y, fold_order="blocked", repeats=2)
    with pytest.raises(OptionError, match="are all of class 0"):
        cross_validate({"nb": NaiveBayes()}, X, np.sort(y), fold_order="forward")
