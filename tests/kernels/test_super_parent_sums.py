"""All columns as super-parents at once: the same sums as one collection after the other."""

import numpy as np
import pytest

from cpu import cpu_levels
from tanager import SPC, MEstimate, _kernels
from tanager.learning.selection import true_class_sum
from tanager.structure.orders import column_order


def table(seed, m, n, values, k, holes):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (m, n)).astype(object)
    X[rng.random(X.shape) < holes] = None
    return X, rng.integers(0, k, m), rng.choice([0.5, 1.0, 2.0], m)


@pytest.mark.parametrize("select", ["loo", "resub"])
@pytest.mark.parametrize(
    ("m", "n", "values", "k", "holes"),
    [(60, 5, 3, 2, 0.0), (60, 5, 3, 3, 0.2), (40, 4, 15, 11, 0.1), (30, 3, 2, 1, 0.1), (150, 6, 2, 7, 0.05)],
)
def test_the_sums_are_those_of_one_collection_after_the_other(select, m, n, values, k, holes):
    X, y, weights = table(m + k, m, n, values, k, holes)
    options = {"select": select, "column_order": "random", "random_state": 3, "smoothing": MEstimate(2.0)}
    for given, unseen in ((None, "ignore"), (weights, "smooth")):
        model = SPC(super_parent="refined", unseen=unseen, **options).fit(X, y, sample_weight=given)
        model.predict_proba(X[:1])
        counts, rows = model.counts_, model.memory.rows
        order = column_order(counts, "random", 3)
        together = model._true_class_sums(counts, order, rows)
        one_by_one = [
            true_class_sum(model, model._form(s, order, counts), rows, leave_out=select == "loo") for s in range(n)
        ]
        np.testing.assert_allclose(together, one_by_one, rtol=1e-10)
        assert model.super_parent_ == counts.schema.names[int(np.argmax(np.round(one_by_one, 9)))]


@pytest.mark.parametrize("select", ["loo", "resub"])
@pytest.mark.parametrize(("k", "holes"), [(2, 0.0), (2, 0.2), (3, 0.1), (4, 0.0), (9, 0.1), (23, 0.0), (41, 0.0)])
@pytest.mark.parametrize("order", ["given", "random"])
def test_columns_with_one_value_are_left_out_of_the_sums_but_change_nothing(select, k, holes, order):
    X, y, weights = table(k, 300, 7, 2, k, holes)
    X[:, [0, 3, 4]] = "same"
    X[5, 4] = None  # not quite constant
    for given in (None, weights):
        model = SPC(super_parent="refined", select=select, column_order=order, random_state=1)
        model.fit(X, y, sample_weight=given)
        model.predict_proba(X[:1])
        counts, rows = model.counts_, model.memory.rows
        places = column_order(counts, order, 1)
        one_by_one = [
            true_class_sum(model, model._form(s, places, counts), rows, leave_out=select == "loo") for s in range(7)
        ]
        np.testing.assert_allclose(model._true_class_sums(counts, places, rows), one_by_one, rtol=1e-10)


@pytest.mark.parametrize("k", [2, 3, 5, 9, 14, 19, 30])
def test_every_processor_adds_in_the_same_order(k):
    X, y, _ = table(k, 200, 6, 2, k, 0.05)
    model = SPC(super_parent="refined").fit(X, y)
    order = column_order(model.counts_, "given")
    sums = []
    for level in cpu_levels():
        _kernels.set_cpu_level(level)
        sums.append(model._true_class_sums(model.counts_, order, model.memory.rows))
    for own in sums[1:]:
        np.testing.assert_array_equal(own, sums[0])


def test_what_the_kernel_cannot_do_is_refused():
    X, y, _ = table(0, 30, 4, 2, 2, 0.0)
    model = SPC(super_parent="refined").fit(X, y)
    store, out = model.counts_.store, np.empty(4)
    codes, labels = np.zeros((2, 4), dtype=np.uint8), np.zeros(2, dtype=np.uint8)
    for order, kind, strength in (
        [[0, 1, 2], "m", 1.0],
        [[0, 1, 2, 2], "m", 1.0],
        [[0, 1, 2, 3], "bdeu", 1.0],
        [[0, 1, 2, 3], "m", 0.0],
    ):
        with pytest.raises(ValueError, match=r"order|pseudo"):
            store.super_parent_sums(codes, labels, None, order, kind, strength, 1.0, False, True, 1, out)
    with pytest.raises(ValueError, match="one number per column"):
        store.super_parent_sums(codes, labels, None, [0, 1, 2, 3], "m", 1.0, 1.0, False, True, 1, np.empty(3))
