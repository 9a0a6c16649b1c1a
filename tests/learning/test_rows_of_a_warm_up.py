"""Single rows while columns are provisional: learned by a short way, with the same counts as by the long one."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import AODE, TAN, NaiveBayes
from tanager.errors import DataWarning

MODELS = [NaiveBayes(warm_up=50), AODE(warm_up=50), TAN(warm_up=50), NaiveBayes(warm_up=50, gaussian=True)]


def odd_rows(seed, n_rows=70):
    """Dicts with numbers, text and gaps, now and then a new value, a new column or a class that no row had."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for at in range(n_rows):
        row = {"a": float(rng.normal()), "b": int(rng.integers(0, 40)), "c": f"v{rng.integers(0, 2 + at // 20)}"}
        if rng.random() < 0.1:
            row[["a", "b", "c"][rng.integers(3)]] = None
        if rng.random() < 0.1:
            row.pop("b")
        if rng.random() < 0.05:
            row["d"] = "x"
        rows.append(row)
        labels.append(int(rng.integers(0, 2 + at // 40)))
    return rows, labels


@pytest.mark.parametrize("model", MODELS, ids=repr)
@examples(3)
@given(seed=st.integers(0, 999))
def test_a_row_alone_is_learned_as_a_table_of_one_row(model, seed):
    rows, labels = odd_rows(seed)
    single, tables = type(model)(**model.get_params(deep=False)), type(model)(**model.get_params(deep=False))
    for row, label in zip(rows, labels, strict=True):
        assert single.predict_proba_one(row) == tables.predict_proba_one(row)
        single.learn_one(row, label)
        tables.partial_fit([row], [label])
    assert single.counts_ == tables.counts_


@pytest.mark.parametrize("model", [*MODELS, NaiveBayes(warm_up=50, decay=30), AODE(warm_up=20, window=40)], ids=repr)
@examples(3)
@given(seed=st.integers(0, 999))
def test_rows_that_do_not_count_put_no_doubling_off(model, seed):
    """Chunks, single rows and whole streams decide by the rows that count; names and values of others are nothing."""
    rows, labels = odd_rows(seed, n_rows=130)
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 1.0, 2.0], 130, p=[0.1, 0.7, 0.2])
    labels = [None if missing else label for missing, label in zip(rng.random(130) < 0.15, labels, strict=True)]
    labels[0], weights[0] = 0, 1.0
    single, chunks, whole = (type(model)(**model.get_params(deep=False)) for _ in range(3))
    for row, label, weight in zip(rows, labels, weights.tolist(), strict=True):
        single.learn_one(row, label, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of rows without a label
        for start, stop in ((0, 9), (9, 33), (33, 61), (61, 130)):
            some = slice(start, stop)
            chunks.partial_fit(rows[some], labels[some], sample_weight=weights[some])
        whole.test_then_train(rows, labels, weights)
    for other in (chunks, whole):
        assert other.encoder_.schema.names == single.encoder_.schema.names
        np.testing.assert_allclose(other.predict_proba(rows), single.predict_proba(rows), rtol=1e-9, atol=1e-12)
