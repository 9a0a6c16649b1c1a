"""What searches and single rows ask the kernels for is what plain sums over rows say."""

import numpy as np
import pytest

from tanager import A2DE, BSEJ, FSSJ, AnytimeA2DE, BestOf, SemiNaiveBayes, SuperParentTAN, Wrapped, _kernels
from tanager.classifiers import joining
from tanager.counts.block import Block
from tanager.learning.left_out import LeftOut
from tanager.scoring.forms import ProductOfSums, naive


def table(m=300, n=5, k=2, seed=0, gaps=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, m)
    X = np.where(rng.random((m, n)) < 0.5, y[:, None], rng.integers(0, 3, (m, n))).astype(object)
    if gaps:
        X[rng.random((m, n)) < 0.1] = None
    return X, y


def left_out_of(k=2, gaps=False, **options):
    X, y = table(k=k, gaps=gaps)
    model = SuperParentTAN(**options).fit(X, y)
    _ = model.structure_
    return LeftOut(model, model.memory.rows, "accuracy", naive(5))


def logs_of(factor, like):
    out = np.zeros_like(like)
    factor.add_to(out)
    return out


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_arcs_are_those_of_whole_forms(k, gaps):
    left_out = left_out_of(k, gaps)
    single = [ProductOfSums((c,), ((),), (1.0,)) for c in range(5)]
    alone = left_out.factors(single)
    arcs = [(0, 1), (1, 0), (4, 2), (3, 1)]
    found = left_out.arc_factors(arcs, alone)
    for (s, c), factor in zip(arcs, found, strict=True):
        expected = left_out.log_joint(ProductOfSums((c,), ((s,),), (1.0,))) - left_out.log_joint(single[c])
        np.testing.assert_allclose(logs_of(factor, left_out.joint), expected, atol=1e-12)
    np.testing.assert_allclose(left_out.joint, left_out.log_joint(naive(5)), atol=1e-12)  # it begins with such tables
    with pytest.raises(ValueError, match="impossible attribute"):
        left_out.arc_factors([(5, 1)], alone)


def searched(model, X, y, **fit):
    """What a search finds in the kernels, and what it finds step by step in Python."""
    model.fit(X, y, **fit)
    found = model.structure_, getattr(model, "steps_", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LeftOut, "searches_by_kernel", False)
        model.fit(X, y, **fit)
        return found, (model.structure_, getattr(model, "steps_", None))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "model",
    [
        SuperParentTAN(),
        SuperParentTAN(search="arcs", n_jobs=2),
        SuperParentTAN(criterion="log_loss", min_gain=0.001),
        FSSJ(),
        FSSJ(max_joined=2),
        BSEJ(criterion="log_loss", n_jobs=2),
        BSEJ(min_gain=0.005, smoothing=0.3),
    ],
    ids=repr,
)
def test_a_search_in_the_kernels_finds_what_one_in_python_finds(model, seed, k, gaps):
    X, y = table(m=120, n=7, k=k, seed=seed, gaps=gaps)
    X[:, 3] = (np.where(X[:, 2] == None, 0, X[:, 2]) + y) % 3  # noqa: E711
    found, expected = searched(model, X, y)
    assert found == expected
    weighted, expected = searched(model, X, y, sample_weight=0.5 + np.arange(len(y)) % 3)
    assert weighted == expected


def test_searches_refuse_what_does_not_fit():
    left_out = left_out_of()
    cells = {"backward": False, "n_cells": [3.0] * 5, "most_columns": 5, "most_cells": 1e4, "cached_bytes": 10**6}
    assert left_out.search_blocks(**cells, min_gain=1.0) == []  # which is more than there is to gain
    with pytest.raises(ValueError, match="cells per column"):
        left_out.search_blocks(**cells | {"n_cells": [3.0] * 4}, min_gain=0.0)
    with pytest.raises(ValueError, match="impossible attribute"):
        left_out.search_tree([(5, [0])], by_super_parent=True, min_gain=0.0)
    with pytest.raises(ValueError, match="unknown attribute"):
        left_out.search_tree([(0, [5])], by_super_parent=True, min_gain=0.0)
    with pytest.raises(ValueError, match="in order"):
        left_out.search_tree([(0, [2, 1])], by_super_parent=True, min_gain=0.0)
    left_out.joint = left_out.joint[:-1].copy()
    with pytest.raises(ValueError, match="one number per row and class"):
        left_out.search_tree([(0, [1])], by_super_parent=True, min_gain=0.0)
    with pytest.raises(ValueError, match="one number per row and class"):
        left_out.search_blocks(**cells, min_gain=0.0)
    with pytest.raises(ValueError, match="without missing values"):
        left_out_of(gaps=True).search_blocks(**cells, min_gain=0.0)


def test_factors_that_are_forgotten_are_made_again(monkeypatch):
    X, y = table(m=200, n=6, seed=3)
    kept = BSEJ().fit(X, y)
    monkeypatch.setattr(joining, "CACHED_BYTES", 1)
    assert BSEJ().fit(X, y).steps_ == kept.steps_


@pytest.mark.parametrize("n_changes", [1, 7, 40])
@pytest.mark.parametrize("k", [2, 3])
def test_errors_after_changes_are_those_of_a_plain_count(k, n_changes):
    """Of two classes, rows are in ranges of margins, and most of them not looked at."""
    rng = np.random.default_rng(n_changes)
    left_out = left_out_of(k)
    m = len(left_out.labels)
    changes = []
    for _ in range(n_changes):
        lines = (rng.integers(0, 4, m) * k + left_out.labels).astype(np.int32)
        changes.append(_kernels.Factor(lines, rng.normal(0, rng.uniform(0.01, 3), (4 * k, k)), left_out.labels))
    found = left_out._sums(changes, None, probabilities=False)[:, 0]
    joints = [left_out.joint + logs_of(factor, left_out.joint) for factor in changes]
    wrong = [int((joint.argmax(axis=1) != left_out.labels).sum()) for joint in joints]
    assert found.tolist() == wrong
    best = left_out._sums(changes, None, probabilities=False, only_best=True)[:, 0]
    assert best.min() == min(wrong)
    assert best.argmin() == np.argmin(wrong)


@pytest.mark.parametrize("options", [{}, {"priors": {0: 0.3, 1: 0.7}}, {"class_weight": "balanced"}, {"smoothing": 0}])
def test_single_rows_of_semi_naive_bayes_are_those_of_a_batch(options):
    X, y = table(gaps=True)
    model = SemiNaiveBayes(reliability=0.1, **options).fit(X, y)
    assert model.joined_
    rows = [{f"x{i}": v for i, v in enumerate(row)} for row in X[:40]]
    found = [list(model.predict_proba_one(row).values()) for row in rows]
    np.testing.assert_allclose(found, model.predict_proba(X[:40]), atol=1e-9)
    other = SemiNaiveBayes().fit(X, y).view_.plan
    with pytest.raises(ValueError, match="the same counts"):
        model.view_.plan.one_changed(model.encode(X[:1]).codes[0], [other], [])


@pytest.mark.parametrize("limit", [0, 3, 7, 10, None])
@pytest.mark.parametrize("gaps", [False, True])
def test_members_read_in_one_sweep_are_those_read_one_by_one(gaps, limit):
    """A single row reads all triples at once where most pairs answer; a run adds pair after pair."""
    X, y = table(gaps=gaps)
    options = {"stop": "all"} if limit is None else {"stop": "budget", "members": limit}
    model = AnytimeA2DE(member_order="given", **options).fit(X, y)
    codes, view = model.encode(X[:30]).codes, model.view_
    run = view.run(codes, may_compile=False)
    run.advance()
    expected = np.empty((30, 2))
    run.answer(expected, False)
    np.testing.assert_allclose([view.plan.one(row) for row in codes], expected, atol=1e-12)
    if limit is None:  # the mean over naive Bayes, too
        assert np.abs(expected - A2DE().fit(X, y).predict_proba(X[:30])).max() < 0.2


@pytest.mark.parametrize("n_rows", [20, 200])
@pytest.mark.parametrize("leave_out", [False, True])
def test_few_rows_validate_pairs_as_rows_one_by_one_do(leave_out, n_rows):
    X, y = table(gaps=True)
    model = AnytimeA2DE(stop="all").fit(X, y)
    view = model.view_
    rows = Block(model.encode(X[:n_rows]).codes, y[:n_rows].astype(np.uint8))
    together, apart = (np.zeros((6, len(view.form.members) + 1)) for _ in range(2))
    view.validate(rows, together, leave_out=leave_out)
    for r in range(n_rows):
        view.validate(rows.part(slice(r, r + 1)), apart, leave_out=leave_out)
    np.testing.assert_allclose(together, apart, atol=1e-9)


@pytest.mark.parametrize("model", [SuperParentTAN(), Wrapped(), BestOf()], ids=repr)
def test_a_dear_structure_outlives_new_values(model, monkeypatch):
    """It is chosen again when it is due, and not because a column has a value more; a new class is another matter."""
    X, y = table(m=70)
    chosen = []

    def noting(choose):
        def noted(self, counts, rows):
            found = choose(self, counts, rows)
            chosen.extend([len(rows)] if found is not None else [])
            return found

        return noted

    for name in ("_structure", "_structure_in_stream"):
        monkeypatch.setattr(type(model), name, noting(getattr(type(model), name)))
    for r in range(70):
        row = {f"x{i}": str(v) for i, v in enumerate(X[r])} | {"x0": f"v{r}"}  # a new value in every row
        model.predict_proba_one(row)
        model.learn_one(row, "c" if r == 40 else str(y[r]))
    assert len([n for n in chosen if n > 10]) <= 4
    assert 41 in chosen
    assert model.predict_proba([X[0].tolist()]).shape == (1, 3)
    assert chosen[-1] == 70  # a batch is answered from all rows
