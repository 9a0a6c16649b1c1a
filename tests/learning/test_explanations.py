"""Rows in every form are explained alike, and explanations can be indexed, sliced, copied and made into frames."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from registry import small_table
from tanager import AODE, TAN, Explanations, NaiveBayes
from tanager.errors import DataError, DataWarning, OptionError
from tanager.learning.explaining import as_table
from tanager.scoring import explain_rows

NAMES = [f"x{i}" for i in range(5)]


def fitted(model=None):
    X, y = small_table()
    X = pd.DataFrame(X, columns=NAMES)
    return (model or NaiveBayes()).fit(X, y), X


def test_one_row_in_every_form_gives_one_explanation():
    model, X = fitted()
    cells = X.iloc[3].to_dict()
    expected = str(model.explain(cells))
    with pytest.warns(UserWarning, match="valid feature names"):
        assert str(model.explain(list(cells.values()))) == expected
    for row in (X.iloc[3], X.iloc[3:4], [cells], {name: [cell] for name, cell in cells.items()}):
        assert str(model.explain(row)) == expected


def test_tables_in_every_form_give_explanations():
    model, X = fitted(AODE())
    expected = model.explain(X[:7]).contributions
    for table in (X[:7].to_dict("records"), {name: X[name][:7].tolist() for name in X}):
        np.testing.assert_array_equal(model.explain(table).contributions, expected)
    alone = model.explain_rows(X[:1])
    assert isinstance(alone, Explanations)
    np.testing.assert_array_equal(alone.contributions, expected[:1])


def test_explanations_are_a_sequence():
    model, X = fitted(TAN())
    found = model.explain(X[:10])
    assert len(found) == 10
    assert [str(own) for own in found] == [str(model.explain(X.iloc[r])) for r in range(10)]
    part = found[2:8:2]
    assert [str(own) for own in part] == [str(own) for own in list(found)[2:8:2]]
    assert str(found[-1]) == str(found[9])
    assert str(pickle.loads(pickle.dumps(part))[1]) == str(found[4])
    assert repr(found) == "Explanations(10 rows, 5 columns, 3 classes: 'low', 'mid', 'top')"
    with pytest.raises(IndexError):
        found[10]


def test_frames_hold_the_same_numbers():
    model, X = fitted()
    found = model.explain(X[4:12])
    wide, long = found.to_frame(), found.to_frame(long=True)
    assert wide.columns.tolist() == ["answer", "against", "probability", "log_odds", "prior", *NAMES]
    for r, own in enumerate(found):
        assert wide.loc[r, "answer"] == own.answer
        assert wide.loc[r, "against"] == own.against
        assert wide.loc[r, NAMES].sum() + own.prior == pytest.approx(own.log_odds)
        mine = long[(long.row == r) & (long["class"] == own.answer)].set_index("column")
        assert mine.contribution.to_dict() == pytest.approx({**dict.fromkeys(NAMES, 0.0), **own.columns})
        assert mine.value.to_dict() == own.values
    assert len(long) == 8 * 5 * 3
    assert list(found.mean_effects()) == wide[NAMES].abs().mean().sort_values(ascending=False).index.tolist()


def test_a_column_may_have_the_name_of_a_field():
    X = pd.DataFrame({"prior": ["a", "b"] * 5, "y": ["a", "a", "b", "b", "a"] * 2})
    wide = NaiveBayes().fit(X, ["p", "q"] * 5).explain(X).to_frame()
    assert {"prior", "column prior", "y"} <= set(wide.columns)


def test_answers_and_rivals_of_every_row_are_those_of_one():
    model, X = fitted()
    for answer, against in ((None, None), ("mid", None), (None, "low"), ("top", "mid")):
        found = model.explain(X[:20], answer, against)
        for r in range(20):
            alone = model.explain(X.iloc[r], answer, against)
            assert (found.answer[r], str(found[r])) == (alone.answer, str(alone))


def test_a_model_that_has_learned_since_says_so():
    model, X = fitted()
    found = model.explain(X[:3])
    model.partial_fit(X[:30], ["low", "mid", "top"] * 10)
    with pytest.raises(DataError, match="Explain them again"):
        found[0]
    assert np.isfinite(found.contributions).all()


def test_numbers_without_bins_are_shown_as_they_are():
    X = {"size": [1.0, 2.5, 7.0, 8.0] * 3}
    model = NaiveBayes(gaussian=True).fit(X, ["s", "s", "l", "l"] * 3)
    assert model.explain({"size": 2.25}).values == {"size": 2.25}
    assert model.explain({}).values == {"size": "?"}


def test_what_is_a_row_and_what_a_table():
    assert as_table({"a": 1, "b": "text"}) == [{"a": 1, "b": "text"}]
    assert as_table({"a": [1, 2]}) == {"a": [1, 2]}
    assert as_table({}) == [{}]
    assert as_table(("x", None)) == [["x", None]]
    assert as_table(np.array([1, 2])).shape == (1, 2)


def test_members_without_a_weight_do_not_send_rows_the_slow_way(monkeypatch):
    """A weight of zero once made every row of a sum go one by one."""
    model, X = fitted(AODE())
    view = model.scorer_
    weighted = view.with_form(replace(view.form, weight=(0.0, *view.form.weight[1:])))
    query, pair = model.encode(X[:5]), (np.zeros((5, 1), dtype=int), np.ones((5, 1), dtype=int))
    expected = explain_rows.one_by_one(weighted, query, *pair)
    monkeypatch.setattr(explain_rows, "one_by_one", None)
    for own, other in zip(weighted.explain_rows(query, *pair), expected, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-9)


@pytest.mark.parametrize("how", ["explain", "explain_rows"])
def test_rows_are_encoded_once_so_that_values_never_seen_are_counted_once(how, monkeypatch):
    model, calls, encode = AODE().fit([["a", "x"], ["b", "y"]] * 20, [0, 1] * 20), [], AODE.encode
    monkeypatch.setattr(AODE, "encode", lambda self, X: calls.append(X) or encode(self, X))
    getattr(model, how)([["c", "x"]])
    assert len(calls) == 1


def test_a_misspelt_column_is_told():
    model = AODE().fit({"sky": ["sun", "rain"] * 10, "wind": ["no", "yes"] * 10}, ["a", "b"] * 10)
    with pytest.warns(DataWarning, match=r"'winds' is not a column of the model.*Did you mean 'wind'\?"):
        model.explain({"sky": "sun", "winds": "no"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.explain({"sky": "sun", "wind": "no", "winds": 3})  # nothing is missing
        model.explain({"sky": "sun", "number": 3})
    with pytest.raises(OptionError, match=r"answer='c' is none of the classes \('a', 'b'\)"):
        model.explain({"sky": "sun"}, answer="c")
