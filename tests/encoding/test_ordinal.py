"""Ordinal columns: values with an order are cut between values, as numbers are."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import AODE, NaiveBayes, NetworkForest, load
from tanager.encoding import Column, Encoder, Schema
from tanager.encoding.bins import find_cuts
from tanager.encoding.ordinal import cut_after
from tanager.errors import DataError, DataWarning, OptionError, SchemaMismatch

SIZES = ["XS", "S", "M", "L", "XL"]


def small_and_large(n=400, seed=0):
    """The class asks whether a size is above M, and nothing else."""
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, 5, n)
    y = ((ranks > 2) ^ (rng.random(n) < 0.1)).astype(int)
    return {"size": [SIZES[r] for r in ranks]}, y


def test_neighbours_that_mean_the_same_share_a_bin():
    X, y = small_and_large()
    encoder = Encoder(ordinal={"size": SIZES}).fit(X, y)
    (column,) = encoder.schema.columns
    assert (column.kind, column.cuts, column.reason) == ("ordinal", (2.5,), "order given")
    assert [column.describe(code) for code in range(column.n_values)] == ["XS to M", "L to XL"]
    assert encoder.transform({"size": [*SIZES, None]})[:, 0].tolist() == [0, 0, 0, 1, 1, 255]
    assert "2: 'XS to M', 'L to XL'" in str(encoder.schema)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=2, max_size=200),
    st.sampled_from(["mdl", "refined", "width", "frequency"]),
)
def test_codes_are_those_of_the_positions_cut_as_numbers(rows, method):
    """The twin: positions as numbers, cut by hand."""
    ranks, y = np.array([r for r, _ in rows]), np.array([c for _, c in rows])
    codes = Encoder(bins=method, ordinal={"size": SIZES}).fit_transform({"size": [SIZES[r] for r in ranks]}, y)
    cuts = find_cuts(ranks.astype(float), method, 5, "n-1", y, None)
    assert codes[:, 0].tolist() == [sum(rank > cut for cut in cuts) for rank in ranks]


@given(st.lists(st.integers(0, 4), min_size=2, max_size=60), st.randoms(use_true_random=False))
def test_single_rows_get_the_codes_of_the_table(ranks, random):
    y = np.array([random.random() < rank / 4 for rank in ranks], dtype=int)
    X = {"size": [SIZES[r] for r in ranks]}
    encoder = Encoder(ordinal={"size": SIZES}, bins="refined").fit(X, y)
    table = encoder.transform(X)
    assert [encoder.encode_row({"size": size}).tolist() for size in X["size"]] == table.tolist()


def test_the_order_may_come_from_the_table():
    X, y = small_and_large()
    frame = pd.DataFrame({"size": pd.Categorical(X["size"], SIZES, ordered=True)})
    (column,) = Encoder(ordinal=["size"]).fit(frame, y).schema.columns
    assert (column.kind, column.values, column.reason) == ("ordinal", tuple(SIZES), "order declared by the table")
    assert Encoder().fit(frame, y).schema["size"].kind == "categorical"


def test_few_whole_numbers_are_cut_when_said_to_be_ordinal():
    grade = np.arange(300) % 6
    y = (grade > 3).astype(int)
    assert Encoder().fit({"grade": grade}, y).schema["grade"].kind == "categorical"
    column = Encoder(ordinal=["grade"]).fit({"grade": grade}, y).schema["grade"]
    assert (column.kind, column.cuts) == ("numeric", (3.5,))
    # with an order of its own, here the other way round, positions count
    column = Encoder(ordinal={"grade": [5, 4, 3, 2, 1, 0]}).fit({"grade": grade}, y).schema["grade"]
    assert (column.kind, column.cuts) == ("ordinal", (1.5,))


def test_cut_points_are_given_as_the_values_after_which_to_cut():
    X, y = small_and_large()
    (column,) = Encoder(bins={"size": ["S", "L"]}, ordinal={"size": SIZES}).fit(X, y).schema.columns
    assert column.cuts == (1.5, 3.5)
    assert cut_after(column) == ["S", "L"]
    with pytest.raises(OptionError, match=re.escape("'XL' is not among ['XS', 'S', 'M', 'L']")):
        Encoder(bins={"size": ["XL"]}, ordinal={"size": SIZES}).fit(X, y)


@pytest.mark.parametrize(
    ("ordinal", "message"),
    [
        (["size"], "the order of column 'size' is not known.*Give it: ordinal={'size': "),
        ({"size": "S,M,L"}, "give the values in their order"),
        ({"size": ["S", "S"]}, "at least two values, each of them once"),
        ({"sise": SIZES}, "no column 'sise'.*size"),
        (3.5, "give the order of each column"),
    ],
)
def test_what_is_wrong_with_the_option_is_said(ordinal, message):
    X, y = small_and_large()
    with pytest.raises(OptionError, match=message):
        Encoder(ordinal=ordinal).fit(X, y)


def test_a_column_has_one_kind():
    X, y = small_and_large()
    with pytest.raises(OptionError, match="both ordinal and categorical"):
        Encoder(ordinal={"size": SIZES}, categorical=["size"]).fit(X, y)


def test_a_value_outside_the_order_is_named():
    X, y = small_and_large()
    with pytest.raises(DataError, match=r"column 'size', row 0: 'xs' is not in its order.*Add it"):
        NaiveBayes(ordinal={"size": SIZES}).fit({"size": ["xs", *X["size"][1:]]}, y)


def test_later_values_outside_the_order_are_missing():
    X, y = small_and_large()
    model = NaiveBayes(ordinal={"size": SIZES}).fit(X, y)
    assert np.array_equal(model.predict_proba({"size": ["XXL"]}), model.predict_proba({"size": [None]}))
    with pytest.warns(DataWarning, match="'XXL' is not among the declared values"):
        model.partial_fit({"size": ["XXL"]}, [1])


@pytest.mark.parametrize("make", [NaiveBayes, AODE, NetworkForest])
def test_models_with_ordinal_columns_are_saved_and_explain(make, tmp_path):
    X, y = small_and_large()
    X["weight"] = np.random.default_rng(1).normal(size=len(y))
    model = make(ordinal={"size": SIZES}).fit(X, y)
    model.save(tmp_path / "m.tanager")
    again = load(tmp_path / "m.tanager")
    assert again.encoder_.schema == model.encoder_.schema
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))
    assert "size" in str(model.explain({"size": "M", "weight": 0.1}))


def test_counts_of_another_order_are_not_merged():
    X, y = small_and_large()
    bins = {"size": ["M"]}
    one = NaiveBayes(bins=bins, ordinal={"size": SIZES}).fit(X, y)
    two = NaiveBayes(bins=bins, ordinal={"size": SIZES}).fit(*small_and_large(seed=1))
    merged = one.merge(two)
    assert merged.counts_.n_rows == 800
    other = NaiveBayes(bins=bins, ordinal={"size": ["S", "XS", "M", "L", "XL"]}).fit(X, y)
    with pytest.raises(SchemaMismatch, match="another order"):
        one.merge(other)


def test_a_schema_with_an_ordinal_column_is_plain_data():
    schema = Schema((Column("size", "ordinal", tuple(SIZES), cuts=(1.5,), closed=True),))
    assert Schema.from_dict(schema.to_dict()) == schema
    assert [schema["size"].describe(code) for code in range(2)] == ["XS to S", "M to XL"]


def test_a_dict_of_bins_leaves_the_others_to_the_default_of_the_classifier():
    rng = np.random.default_rng(0)
    X = {"a": rng.normal(size=2000), "b": rng.normal(size=2000)}
    y = (X["a"] > 0).astype(int)
    whole = AODE().fit(X, y).encoder_.schema
    part = AODE(bins={"a": [0.0]}).fit(X, y).encoder_.schema
    assert part["b"] == whole["b"]
    assert len(part["b"].cuts) > 0
    assert NaiveBayes(bins={"a": [0.0]}).fit(X, y).encoder_.schema["b"].cuts == ()


@pytest.mark.parametrize("cuts", [(-0.5,), (1.5, 4.0), (9.5,)])
def test_cut_points_outside_the_order_are_refused(cuts):
    with pytest.raises(DataError, match="outside the order"):
        Column("size", "ordinal", tuple(SIZES), cuts=cuts, closed=True)
