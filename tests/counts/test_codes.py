"""Codes as they come: the largest number of their type marks what is missing, however many values there are."""

import numpy as np
import pytest

from tanager import AODE, KDB, JointCounts, NaiveBayes
from tanager.encoding import Column, Schema


def counts(n_values: int, order: int = 2) -> JointCounts:
    columns = Column("many", "codes", n_codes=n_values), Column("few", "codes", n_codes=3)
    return JointCounts(Schema(columns), ["no", "yes"], order=order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("n_values", [200, 255, 256, 300])
def test_what_is_missing_in_eight_bits_stays_missing_where_a_column_has_more_values(order, n_values):
    narrow = np.array([[255, 0], [7, 255], [199, 2], [255, 255]], dtype=np.uint8)
    wide = np.where(narrow == 255, 65535, narrow.astype(np.uint16)).astype(np.uint16)
    labels = np.array([0, 1, 1, 0], dtype=np.uint8)
    found, expected = (counts(n_values, order).update(codes, labels) for codes in (narrow, wide))
    assert found == expected
    assert found.joint("many").sum() == 2
    weights = np.array([1.0, 2.0, 0.5, 0.25])
    found.update(narrow, labels, weights).subtract(narrow, labels)
    assert found == counts(n_values, order).update(wide, labels, weights)


@pytest.mark.parametrize("model", [NaiveBayes, AODE, KDB], ids=lambda own: own.__name__)
@pytest.mark.parametrize("n_rows", [3, 60])
def test_a_model_learns_eight_bits_after_sixteen_however_they_come(model, n_rows):
    first = np.array([[i, i % 3] for i in range(300)], dtype=np.uint16)
    narrow = np.array([[255, 0], [3, 255], [7, 1]] * (n_rows // 3), dtype=np.uint8)
    wide = np.where(narrow == 255, 65535, narrow.astype(np.uint16)).astype(np.uint16)
    labels = np.arange(n_rows) % 2
    expected, whole, parts = (model().partial_fit(first, np.arange(300) % 2) for _ in range(3))
    expected.partial_fit(wide, labels)
    whole.partial_fit(narrow, labels)
    parts.test_then_train(narrow, labels)
    for other in (whole, parts):
        assert other.counts_ == expected.counts_
        np.testing.assert_allclose(other.predict_proba(narrow), expected.predict_proba(wide), rtol=1e-9)
