"""Searches among more than a hundred columns try what is promising, and read single families by a shorter way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import BSEJ, FSSJ, AnytimeA2DE, Lidstone, MEstimate, NaiveBayes, NBTree, PriorCounts, SuperParentTAN
from tanager.classifiers import joining, nb_tree, super_parent_tan
from tanager.learning import anytime
from tanager.learning.left_out import LeftOut
from tanager.learning.whole_sums import whole_sum
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


@examples(20)
@given(seed=st.integers(0, 999), total=st.sampled_from([40.0, 1e6, 2.0**36, 2.0**40]))
def test_whole_sums_of_rows_that_count_once_are_those_with_weights_of_one(seed, total):
    figures = np.random.default_rng(seed).random(40)
    assert (whole_sum(figures, None, total) == whole_sum(figures, np.ones(40), total)).all()


@examples(20)
@given(seed=st.integers(0, 999))
def test_partners_found_anew_where_blocks_changed_are_those_found_from_nothing(seed):
    rng = np.random.default_rng(seed)
    dependent = [set() for _ in range(12)]
    for i, j in rng.integers(0, 12, (20, 2)).tolist():
        if i != j:
            dependent[i].add(j)
            dependent[j].add(i)
    blocks, promising = [(i,) for i in range(12)], joining._Promising(dependent)
    while len(blocks) > 2:
        together = [(block, blocks[at + 1 :]) for at, block in enumerate(blocks)]
        owner = {i: block for block in blocks for i in block}
        near = [{owner[j] for i in block for j in dependent[i] if j in owner} for block in blocks]
        expected = [
            (block, [other for other in others if other in own])
            for (block, others), own in zip(together, near, strict=True)
        ]
        assert promising(blocks, blocks) == expected
        a, b = (blocks[at] for at in rng.choice(len(blocks), 2, replace=False))
        rest = [block for block in blocks if block not in (a, b)]
        blocks = sorted([*rest, tuple(sorted(a + b))] if rng.random() < 0.6 else [*rest, a])


@examples(20)
@given(seed=st.integers(0, 999), criterion=st.sampled_from(["accuracy", "log_loss"]))
def test_what_a_step_leaves_as_it_was_is_what_would_be_worked_out_anew(seed, criterion):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (40, 7))
    y = (X[:, 0] ^ X[:, 1]) + (X[:, 2] > rng.integers(0, 3, 40))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "MANY_COLUMNS", 5)
        for kind in (BSEJ, FSSJ):
            steps = kind(criterion=criterion).fit(X, y).steps_
            patch.setattr(joining, "CACHED_BYTES", -1)  # nothing is kept
            assert kind(criterion=criterion).fit(X, y).steps_ == steps
            patch.undo()
            patch.setattr(joining, "MANY_COLUMNS", 5)


def test_a_tree_of_hundreds_of_columns_tries_those_that_tell_most(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (400, 8))
    y = X[:, 5] ^ X[:, 6] ^ (rng.random(400) < 0.05)
    X[:, 6] ^= (rng.random(400) < 0.3) & (y == 1)  # 5 and 6 tell something by themselves
    every = NBTree().fit(X, y).tree_
    monkeypatch.setattr(nb_tree, "MOST_TRIED", 8)
    assert str(NBTree().fit(X, y).tree_) == str(every)
    monkeypatch.setattr(nb_tree, "MOST_TRIED", 1)
    told = class_information(NaiveBayes().fit(X, y).counts_)
    root = str(NBTree(min_gain=0.0).fit(X, y).tree_)
    assert root.startswith(f"x{int(np.argmax(told))} =")
