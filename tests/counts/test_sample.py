"""Samples as users and learners meet them: any table in, names and values, answers that are remembered."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from tanager import DataError, MemoryBudgetError, OptionError, Sample, SchemaMismatch
from tanager.encoding.schema import Column, Schema

FRAME = pd.DataFrame(
    {
        "sky": ["sun", "sun", "rain", "rain", "sun", None],
        "wind": [1.5, 2.5, 8.5, 9.5, 2.0, 8.0],
        "out": ["yes", "yes", "no", "no", "yes", "no"],
    }
)


def coins(n_rows=2000):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (n_rows, 4)).astype(np.uint8)
    codes[:, 3] = codes[:, 0] ^ codes[:, 1]
    return Sample(codes, [("no", "yes")] * 4, ["a", "b", "c", "d"])


# --- from a table ---------------------------------------------------------------------------------------------------


def test_the_class_is_a_column_of_the_table_or_comes_beside_it():
    inside = Sample.of(FRAME, target="out")
    beside = Sample.of(FRAME[["sky", "wind"]], FRAME["out"])
    for sample in (inside, beside):
        assert sample.names == ("sky", "wind", "out")
        assert sample.values[0] == ("sun", "rain")
        assert sample.values[2] == ("no", "yes")
        np.testing.assert_array_equal(sample.count("out", "sky"), [[0, 2], [3, 0]])  # a row lacks its sky
        assert sample.n_rows == 6
    np.testing.assert_array_equal(inside.codes, beside.codes)


def test_the_class_has_the_name_it_is_given_or_its_own_or_just_class():
    X = FRAME[["sky"]]
    assert Sample.of(X, FRAME["out"], target="go").names == ("sky", "go")
    assert Sample.of(X, FRAME["out"]).names == ("sky", "out")
    assert Sample.of(X, FRAME["out"].tolist()).names == ("sky", "class")
    assert Sample.of(X, FRAME["out"], target="sky").names == ("sky", "sky_")  # two variables of one name cannot be


def test_a_table_without_a_class_is_a_sample_too():
    assert Sample.of(FRAME[["sky", "out"]]).names == ("sky", "out")
    with pytest.raises(OptionError, match='use bins="frequency"'):
        Sample.of(FRAME)
    assert Sample.of(FRAME, bins="frequency", n_bins=2).values[1] == ("(-inf, 5.25]", "(5.25, inf)")


def test_rows_that_are_dicts_may_leave_out_cells_and_the_class():
    rows = [{"a": "x", "y": 1}, {"y": 0}, {"a": "z", "y": 0}, {"a": "z"}]
    sample = Sample.of(rows, target="y")
    assert sample.names == ("a", "y")
    np.testing.assert_array_equal(sample.count("a", "y"), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(sample.count("a"), [1, 2])
    np.testing.assert_array_equal(sample.count("y"), [2, 1])


def test_values_are_plain_objects():
    sample = Sample.of(np.array([["u"], ["v"]]), np.array([3, 4]))
    assert [type(value) for own in sample.values for value in own] == [str, str, int, int]
    codes = np.zeros((2, 1), np.uint8)
    capped = Schema((Column("town", "categorical", ("Rome",), other=True),))
    assert Sample.of_rows(codes, codes[:, 0], None, capped, np.array(["a"])).values == (("Rome", "<other>"), ("a",))


def test_missing_stays_missing_where_labels_need_wider_codes():
    codes = np.array([[0], [255]], dtype=np.uint8)
    labels = np.array([300, 65535], dtype=np.uint16)
    schema = Schema((Column("a", "codes", n_codes=2),))
    sample = Sample.of_rows(codes, labels, None, schema, range(301))
    assert sample.codes.tolist() == [[0, 300], [65535, 65535]]
    assert sample.count("a").tolist() == [1, 0]


def test_weights_count():
    sample = Sample.of(FRAME[["sky"]], FRAME["out"], sample_weight=[1, 2, 3, 4, 5, 0.5])
    assert sample.count("sky", "out").tolist() == [[0, 8], [7, 0]]
    assert sample.n_rows == 15.5
    assert Sample.of(FRAME[["sky"]], FRAME["out"], sample_weight=np.ones(6)).weights is None


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: Sample.of(FRAME, target="aut"), SchemaMismatch, "no column 'aut'. Did you mean 'out'"),
        (lambda: Sample.of(FRAME, target="wind"), DataError, "numbers with fractions"),
        (lambda: Sample.of([[1, 2]], target="x0"), DataError, "Pass the class column as y"),
        (lambda: Sample.of(FRAME[["sky"]], ["yes"]), DataError, "X has 6 rows, y has 1 labels"),
        (lambda: Sample.of(FRAME, target="out", continuous=True), OptionError, "Leave out continuous="),
        (lambda: Sample.of(FRAME, target="out", sample_weight=[-1.0] * 6), DataError, "not negative"),
        (lambda: Sample(np.zeros((2, 2), np.uint8), [(0,)], ["a"]), DataError, "do not match"),
        (lambda: Sample(np.zeros((2, 2), np.uint8), [(0,)] * 2, ["a", "a"]), DataError, "must be unique: 'a'"),
        (lambda: coins().count("a", "e"), SchemaMismatch, "there is no variable 'e'"),
        (lambda: coins().count(4), SchemaMismatch, "numbered from 0 to 3"),
        (lambda: coins().information("a", "b", ["a"]), DataError, "'a' is given twice"),
        (lambda: coins().score("bid", "a"), OptionError, "Did you mean 'bic'"),
        (lambda: coins().score("bdeu", "a", (), 0.0), OptionError, "must be positive"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()


def test_a_table_too_large_for_memory_is_refused_before_it_is_made():
    sample = Sample(np.zeros((1, 20), np.uint8), [range(10)] * 20, [f"x{i}" for i in range(20)])
    with pytest.raises(MemoryBudgetError, match="a table of 20 variables needs"):
        sample.count(*range(20))
    assert sample.information(0, 1, range(2, 20)).value == 0  # needs no such table


# --- answers --------------------------------------------------------------------------------------------------------


def test_an_answer_is_worked_out_once_whichever_way_it_is_asked():
    sample = coins()
    first = sample.information("a", "b", ["d", "c"])
    assert sample.information("b", "a", [2, 3]) == first
    assert (sample.n_asked, sample.n_counted) == (2, 1)
    sample.information("a", "b")
    assert (sample.n_asked, sample.n_counted) == (3, 2)


def test_scores_are_remembered_and_asked_for_together():
    sample = coins()
    one = sample.score("bic", "d", ["a", "b"])
    together = sample.scores("bic", "d", [["b", "a"], ["a"], [], ["a"]])
    assert together[0] == one
    assert together[1] == together[3]
    assert len(sample._scores) == 3
    assert sample.score("bdeu", "d", ["a"], 1.0) != sample.score("bdeu", "d", ["a"], 5.0)
    assert sample.scores("bic", "d", []).shape == (0,)


def test_parts_of_a_sample_are_samples():
    sample = coins()
    ones = sample.where("d", 1)
    assert ones.n_rows == sample.count("d")[1]
    np.testing.assert_array_equal(ones.count("a", "b"), sample.count("d", "a", "b")[1])
    some = sample.take(np.array([5, 5, 7]))
    np.testing.assert_array_equal(some.codes, sample.codes[[5, 5, 7]])
    assert some.names == sample.names


def test_missing_cells_are_filled_with_the_most_common_value():
    codes = np.array([[0, 1], [1, 255], [1, 1], [255, 0]], dtype=np.uint8)
    sample = Sample(codes, [(0, 1), (0, 1)], ["a", "b"])
    assert sample.filled().codes.tolist() == [[0, 1], [1, 1], [1, 1], [1, 0]]
    assert sample.filled() is sample.filled()
    assert sample.filled().filled() is sample.filled()
    assert sample.codes[3, 0] == 255
    heavy = Sample(codes, [(0, 1), (0, 1)], ["a", "b"], np.array([9.0, 1, 1, 1]))
    assert heavy.filled().codes[3, 0] == 0


def test_a_variable_that_is_never_present_stays_missing():
    sample = Sample(np.full((3, 2), 255, np.uint8), [(), (0, 1)], ["a", "b"])
    assert sample.filled().codes[:, 0].tolist() == [255] * 3
    assert sample.count("a", "b").shape == (0, 2)
    assert sample.information("a", "b") == (0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda sample: pickle.loads(pickle.dumps(sample))])
def test_a_copy_answers_the_same(duplicate):
    sample = coins()
    assert duplicate(sample).information("a", "b", ["d"]) == sample.information("a", "b", ["d"])
