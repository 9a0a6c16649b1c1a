"""SuperParentTAN grows the tree that a plain search over whole networks grows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from strategies import tables
from tanager import SPC, MEstimate, SuperParentTAN
from tanager.scoring.decision import decide
from tanager.scoring.forms import ProductOfSums


def plain_search(model, X, y, w):
    """Every candidate network is asked about every row, left out, from scratch."""
    block = model.known_rows(X, y, w)
    codes, labels, weights = block.codes, block.labels, block.weights
    weight = np.ones(len(y)) if weights is None else weights
    once = None if weights is None else np.minimum(weights, 1.0)  # a row of weight two is two rows
    n = model.counts_.n_features

    def quality(parents):
        view = model.view_of(ProductOfSums.one_each(parents))
        proba = np.empty((len(y), len(model.classes_)))
        view.plan.score(codes, proba, False, labels, once)
        right = decide(proba, model.counts_.class_counts, None) == labels
        return right @ weight / weight.sum(), round(float(proba[np.arange(len(y)), labels] @ weight), 9)

    def ancestors(i, parents):
        return set() if not parents[i] else {parents[i][0]} | ancestors(parents[i][0], parents)

    def joined(parents, s, children):
        return [(s,) if i in children else p for i, p in enumerate(parents)]

    parents = [()] * n
    while True:
        options = {
            s: [c for c in range(n) if not parents[c] and c != s and c not in ancestors(s, parents)] for s in range(n)
        }
        options = {s: children for s, children in options.items() if children}
        if not options:
            return parents
        best = max(options, key=lambda s: (quality(joined(parents, s, options[s])), -s))
        child = max(options[best], key=lambda c: (quality(joined(parents, best, [c])), -c))
        grown = joined(parents, best, [child])
        if not quality(grown)[0] > quality(parents)[0]:
            return parents
        parents = grown


@pytest.mark.parametrize("smoothing", [1, MEstimate()], ids=repr)
@examples(25)
@given(table=tables(min_rows=4, max_rows=30), weighted=st.booleans())
def test_the_tree_is_that_of_a_plain_search(smoothing, table, weighted):
    w = 0.5 + np.arange(len(table.rows)) % 3 if weighted else None
    model = SuperParentTAN(smoothing=smoothing).fit(table.X, table.y, sample_weight=w)
    names = model.counts_.schema.names
    found = [tuple(names.index(p) for p in model.parents_[name]) for name in names]
    assert found == plain_search(model, table.X, table.y, w)


def test_the_tree_of_real_columns_is_that_of_a_plain_search():
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    model = SuperParentTAN(bins="width", n_bins=3).fit(X, y)
    found = [tuple(int(p[1:]) for p in model.parents_[f"x{i}"]) for i in range(X.shape[1])]
    assert any(found)
    assert found == plain_search(model, X, y, None)


@pytest.mark.parametrize("search", ["super_parent", "arcs"])
@pytest.mark.parametrize("seed", range(3))
def test_a_row_of_weight_two_is_two_rows_one_of_which_is_left_out(search, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 60)
    X = rng.integers(0, 3, (60, 5)).astype(str)
    X[:, 1] = (X[:, 0].astype(int) + y + (rng.random(60) < 0.2)) % 3
    weights = rng.integers(1, 4, 60)
    weighted = SuperParentTAN(search=search).fit(X, y, sample_weight=weights.astype(float))
    repeated = SuperParentTAN(search=search).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.parents_ == repeated.parents_
    assert any(weighted.parents_.values())


def test_the_super_parent_of_no_rows_is_found():
    X, y = [["a", "b", "c"], ["a", "c", "d"]], [0, 1]
    model = SPC(super_parent="refined").fit(X, y).unlearn(X, y)
    np.testing.assert_allclose(model.predict_proba(X), 0.5)
