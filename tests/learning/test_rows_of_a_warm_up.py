"""Single rows while columns are provisional: learned by a short way, with the same counts as by the long one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import AODE, TAN, NaiveBayes

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
