"""Codes as they come: the largest number of their type marks what is missing, however many values there are."""

import numpy as np
import pytest

from tanager import JointCounts
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
