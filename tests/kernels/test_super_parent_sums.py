"""All columns as super-parents at once: the same sums as one collection after the other."""

from itertools import combinations

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


def one_by_one(model, order):
    """The sum of each collection, by the scorer of all classifiers, from counts of all triples."""
    model.memory.count_families([*combinations(range(model.counts_.n_features), 3)], {"order": 3})
    counts, rows = model.counts_, model.memory.rows
    forms = [model._form(s, order, counts) for s in range(counts.n_features)]
    return [true_class_sum(model, form, rows, leave_out=model.select == "loo") for form in forms]


@pytest.mark.parametrize("select", ["loo", "resub"])
@pytest.mark.parametrize(
    ("m", "n", "values", "k", "holes"),
    [
        (60, 5, 3, 2, 0.0),
        (60, 5, 3, 3, 0.2),
        (40, 4, 15, 11, 0.1),  # rows too few for tables
        (30, 3, 2, 1, 0.1),
        (150, 6, 2, 7, 0.05),
        (30, 2, 3, 2, 0.1),
        (30, 1, 3, 2, 0.0),
        (900, 14, 2, 2, 0.01),  # several groups of parents, which are counted group by group
        (300, 9, 3, 5, 0.1),
    ],
)
def test_the_sums_are_those_of_one_collection_after_the_other(select, m, n, values, k, holes):
    X, y, weights = table(m + k, m, n, values, k, holes)
    options = {"select": select, "column_order": "random", "random_state": 3, "smoothing": MEstimate(2.0)}
    for given, unseen in ((None, "ignore"), (weights, "smooth")):
        model = SPC(super_parent="refined", unseen=unseen, **options).fit(X, y, sample_weight=given)
        model.predict_proba(X[:1])
        counts = model.counts_
        order = column_order(counts, "random", 3)
        together = model._true_class_sums(counts, order, model.memory.rows)
        alone = one_by_one(model, order)
        np.testing.assert_allclose(together, alone, rtol=1e-10)
        assert model.super_parent_ == counts.schema.names[int(np.argmax(np.round(alone, 9)))]


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
        places = column_order(model.counts_, order, 1)
        together = model._true_class_sums(model.counts_, places, model.memory.rows)
        np.testing.assert_allclose(together, one_by_one(model, places), rtol=1e-10)


def test_rows_of_many_weights_and_a_column_without_values():
    X, y, _ = table(7, 120, 6, 3, 3, 0.1)
    X[:, 2] = None
    weights = np.random.default_rng(0).integers(0, 40, 120) / 16
    model = SPC(super_parent="refined").fit(X, y, sample_weight=weights)
    order = column_order(model.counts_, "given")
    together = model._true_class_sums(model.counts_, order, model.memory.rows)
    np.testing.assert_allclose(together, one_by_one(model, order), rtol=1e-10)


def test_only_triples_with_the_chosen_super_parent_are_counted():
    X, y, _ = table(1, 200, 8, 3, 3, 0.1)
    model = SPC(super_parent="refined").fit(X, y)
    answers = model.predict_proba(X)
    chosen = model.counts_.schema.index(model.super_parent_)
    assert (model.counts_.order, model.counts_.anchors, model.counts_.families) == (2, (chosen,), ())
    np.testing.assert_array_equal(answers, SPC(super_parent=chosen).fit(X, y).predict_proba(X))


def test_counts_of_pairs_are_widened_for_options_that_the_kernel_does_not_know():
    X, y, _ = table(2, 100, 5, 3, 2, 0.1)
    pairs = SPC(super_parent="refined").fit(X, y)
    model = SPC(super_parent="refined").attach(pairs.counts_, pairs.encoder_, pairs.memory.rows)
    model.set_params(priors=[0.7, 0.3])
    own = SPC(super_parent="refined", priors=[0.7, 0.3]).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), own.predict_proba(X), rtol=1e-12)
    assert model.super_parent_ == own.super_parent_


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
            _kernels.super_parent_sums(store, codes, labels, None, order, kind, strength, 1.0, False, True, 1, out)
    with pytest.raises(ValueError, match="one number per column"):
        _kernels.super_parent_sums(store, codes, labels, None, [0, 1, 2, 3], "m", 1.0, 1.0, False, True, 1, np.empty(3))
