"""Searches among more than a hundred columns try what is promising, and read single families by a shorter way."""

import numpy as np
import pytest

from tanager import BSEJ, FSSJ, AnytimeA2DE, Lidstone, MEstimate, PriorCounts, SuperParentTAN
from tanager.classifiers import joining, super_parent_tan
from tanager.learning import anytime
from tanager.learning.left_out import LeftOut
from tanager.scoring.forms import ProductOfSums, naive
from tanager.structure.measures import class_information, class_information_given, conditional_information


def wide_table(n_columns=104, n_rows=120, n_classes=3, seed=0, gaps=False):
    """Neighbours repeat each other, and every fifth column tells about the class; columns of two and three values."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    X = rng.integers(0, 2, (n_rows, n_columns))
    X[:, ::5] = np.where(rng.random(X[:, ::5].shape) < 0.2, y[:, None] % 2, X[:, ::5])
    X[:, 1::2] = np.where(rng.random(X[:, 1::2].shape) < 0.6, X[:, ::2], X[:, 1::2])
    X[:, 3] = rng.integers(0, 3, n_rows)
    cells = X.astype(object)
    if gaps:
        cells[rng.random(X.shape) < 0.1] = None
    return cells, y


class Blank(SuperParentTAN):
    """Has rows and counts, and looks for nothing."""

    def _structure(self, counts, rows):
        return naive(counts.n_features)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [Lidstone(0.5), MEstimate(2.0), PriorCounts(2.0)], ids=repr)
def test_single_families_of_many_columns_are_those_of_whole_forms(smoothing, weighted):
    X, y = wide_table(gaps=True)
    w = 0.5 + np.arange(len(y)) % 3 if weighted else None
    model = Blank(smoothing=smoothing).fit(X, y, sample_weight=w)
    _ = model.structure_
    left_out = LeftOut(model, model.memory.rows)
    forms = [ProductOfSums((c,), (parents,), (1.0,)) for c, parents in [(3, ()), (3, (7,)), (7, (3,)), (100, (4,))]]
    prior = left_out.log_joint(ProductOfSums((), (), ()))
    alone = left_out.factors(forms[:1])[0]
    for form, factor in zip(forms, left_out.factors(forms), strict=True):
        found = np.zeros_like(prior)
        factor.add_to(found)
        np.testing.assert_allclose(found, left_out.log_joint(form) - prior, atol=1e-12)
    over = np.zeros_like(prior)
    left_out.factors(forms[1:2], [[alone]])[0].add_to(over)
    alone.add_to(over)
    np.testing.assert_allclose(over, left_out.log_joint(forms[1]) - prior, atol=1e-12)


@pytest.mark.parametrize("search", ["super_parent", "arcs"])
def test_parents_are_looked_for_among_the_most_dependent_columns(search, monkeypatch):
    X, y = wide_table()
    model = SuperParentTAN(search=search).fit(X, y)
    form, dependence = model.structure_, conditional_information(model.counts_)
    arcs = [(p, c) for c, parents in zip(form.child, form.parents, strict=True) for p in parents]
    assert arcs
    if search == "super_parent":
        best = np.argsort(-dependence.sum(axis=1), kind="stable")[: super_parent_tan.SUPER_PARENTS]
        assert {p for p, _ in arcs} <= {*best.tolist()}
    else:
        pairs = np.sort(dependence[np.triu_indices(104, 1)])[::-1]
        assert all(dependence[arc] >= pairs[super_parent_tan.PAIRS_PER_COLUMN * 104 - 1] for arc in arcs)
    monkeypatch.setattr(super_parent_tan, "SUPER_PARENTS", 104)
    monkeypatch.setattr(super_parent_tan, "PAIRS_PER_COLUMN", 104)
    everything = SuperParentTAN(search=search).fit(X[:, :12], y).parents_
    monkeypatch.setattr(super_parent_tan, "MANY_COLUMNS", 5)
    assert SuperParentTAN(search=search).fit(X[:, :12], y).parents_ == everything


@pytest.mark.parametrize("model", [BSEJ(), FSSJ()], ids=repr)
def test_blocks_are_joined_among_the_most_dependent_columns(model, monkeypatch):
    X, y = wide_table()
    model.fit(X, y)
    dependence, names = conditional_information(model.counts_), model.counts_.schema.names
    least = np.sort(dependence[np.triu_indices(104, 1)])[::-1][joining.PAIRS_PER_COLUMN * 104 - 1]
    joins = [step.columns.split(" and ") for step in model.steps_ if step.did == "join"]
    assert joins
    for sides in joins:
        one, other = ([names.index(name) for name in side.split(" + ")] for side in sides)
        assert dependence[np.ix_(one, other)].max() >= least
    monkeypatch.setattr(joining, "PAIRS_PER_COLUMN", 104)
    everything = type(model)().fit(X[:, :12], y).steps_
    monkeypatch.setattr(joining, "MANY_COLUMNS", 5)
    assert type(model)().fit(X[:, :12], y).steps_ == everything


def test_pairs_of_super_parents_are_those_that_tell_most_about_the_class(monkeypatch):
    X, y = wide_table()
    monkeypatch.setattr(anytime, "MOST_CELLS", 20 * X.size)
    model = AnytimeA2DE().fit(X, y)
    members, told = model.members_of(104), model._information(model.counts_)
    best = sorted(range(len(members)), key=lambda j: (-round(told[j], 12), j))[:20]
    assert [*model.kept_members] == sorted(members[j] for j in best)
    assert set(model.members_) == {*model.order_}
    assert np.isfinite(model.predict_log_proba(X)).all()
    monkeypatch.setattr(anytime, "MOST_CELLS", 0.0)
    assert len(AnytimeA2DE().fit(X, y).kept_members) == anytime.FEWEST_PAIRS
    narrow = AnytimeA2DE().fit(X[:, :12], y)
    assert len(narrow.kept_members) == 66


def test_the_information_of_pairs_is_in_the_order_of_the_members():
    X, y = wide_table(n_columns=6)
    model = AnytimeA2DE().fit(X, y)
    counts = model.counts_
    given, single = class_information_given(counts), class_information(counts)
    expected = [single[i] + given[j, i] for i, j in model.members_of(6)]
    np.testing.assert_array_equal(model._information(counts), expected)
