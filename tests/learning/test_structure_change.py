"""refresh=Hoeffding(): a structure changes along a stream only where another is better beyond chance."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest

from tanager import FAN, KDB, SPC, SPODE, TAN, WAODE, Hoeffding, NaiveBayes, OptionError, Recut, generate
from tanager.errors import ModelFileError
from tanager.learning.structure_change import Lead
from tanager.persist import from_bytes, to_bytes
from tanager.scoring.forms import ProductOfSums

SOON = Hoeffding(delta=0.5, tie=0.0)  # a low bound, so that something happens in few rows


def rows_of(n=240, n_columns=5, seed=0):
    """Every column follows the one before it, and from half time on the one after it, of three values."""
    rng = np.random.default_rng(seed)
    y, X = rng.integers(0, 2, n), rng.integers(0, 3, (n, n_columns))
    for r in range(n):
        step = 1 if r < n // 2 else 2
        for j in range(step, n_columns):
            if rng.random() < 0.7:
                X[r, j] = (X[r, j - step] + y[r]) % 3
    return X.astype(str), y


MODELS = [
    TAN(refresh=SOON, warm_up=40),
    TAN(refresh=SOON, warm_up=40, decay=60, criterion="bic"),
    FAN(refresh=SOON, warm_up=40, window=90),
    KDB(refresh=SOON, warm_up=40, k=1),
    KDB(refresh=SOON, warm_up=40, decay=100),
    SPODE(refresh=SOON, warm_up=40, super_parent="mi", decay=60),
    SPODE(refresh=Hoeffding(0.9, 0.2), warm_up=40),
    SPC(refresh=Hoeffding(0.9, 0.2), warm_up=40, super_parent="refined", decay=80),
    SPC(refresh="hoeffding", warm_up=40, super_parent="mi"),
]


def test_margin_and_reasons():
    rule = Hoeffding(delta=math.exp(-2), tie=0.1)
    assert rule.margin(25, 3.0) == pytest.approx(3 * math.sqrt(2 / 50))
    assert rule.margin(0, 1.0) == math.inf
    assert rule.why(Lead(0.7, 3.0, 25)) == "lead"
    assert rule.why(Lead(0.5, 3.0, 25)) is None
    assert rule.why(Lead(1e-9, 1.0, 400)) == "tie"
    assert rule.why(Lead(0.0, 1.0, 1e9)) is None


@pytest.mark.parametrize("criterion", ["jeffreys", "bdeu"])
def test_directed_gains_are_read_from_parent_to_child(criterion):
    X, y = rows_of(100, 3)
    model = TAN(criterion=criterion).fit(X, y)
    new, old = (ProductOfSums.one_each(parents) for parents in ([(), (0,), (1,)], [(1,), (2,), ()]))
    gains = model._gains(model.counts_) / (100 * math.log(2))
    lead = model._lead(new, old, model.counts_, None)
    assert lead.ahead == pytest.approx(gains[0, 1] + gains[1, 2] - gains[1, 0] - gains[2, 1], abs=1e-8)
    assert lead.span == pytest.approx(3 * math.log2(3))


def information(codes, i, j, y):
    """I(X_i; X_j | Y) in bits, from lists of rows."""
    total, n = 0.0, len(y)
    for c, a, b in itertools.product(set(y), set(codes[:, i]), set(codes[:, j])):
        both = sum((y == c) & (codes[:, i] == a) & (codes[:, j] == b))
        if both:
            of_a, of_b, of_c = sum((y == c) & (codes[:, i] == a)), sum((y == c) & (codes[:, j] == b)), sum(y == c)
            total += both / n * math.log2(both * of_c / (of_a * of_b))
    return total


def test_a_tree_changes_where_its_slow_twin_says():
    """Looked at after a percent more rows, 20 at least; the score of a tree is a sum over its arcs, by all rows."""
    X, y = rows_of(190)
    rule = Hoeffding(delta=0.6, tie=0.25)
    model = TAN(refresh=rule, warm_up=40)
    model.test_then_train(X, y)
    plain, standing, looked, changes = TAN(warm_up=40), None, 0, []
    for r in range(len(y)):
        if r >= 40 and (standing is None or r > max(looked * 1.01, looked + 19)):
            best = tuple(plain.structure_.parents)
            if standing is None:
                standing = best
            elif best != standing:
                codes, labels = X[:r], y[:r]
                differ = [j for j in range(5) if best[j] != standing[j]]
                bits = sum(information(codes, p[0], j, labels) for j in differ for p in [best[j]] if p)
                bits -= sum(information(codes, p[0], j, labels) for j in differ for p in [standing[j]] if p)
                margin = sum(math.log2(3) for j in differ) * math.sqrt(math.log(1 / 0.6) / (2 * r))
                if round(bits, 9) > 0 and (bits > margin or margin < 0.25):
                    changes.append((r, round(bits, 6), round(margin, 6), "lead" if bits > margin else "tie"))
                    standing = best
            looked = r
        plain.partial_fit(X[r : r + 1], y[r : r + 1])
    assert [(e.row, round(e.ahead, 6), round(e.margin, 6), e.why) for e in model.events_] == changes
    assert changes
    assert model.current_structure.parents == standing
    assert model.structure_changes_ == model.events_


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_chunks_rows_and_files_make_no_difference(model):
    X, y = rows_of()
    X[160, 2] = "new"
    whole, chunks, saved = (copy.deepcopy(model) for _ in range(3))
    expected = whole.test_then_train(X, y)
    parts = []
    for a in range(0, len(X), 35):
        parts.append(chunks.test_then_train(X[a : a + 35], y[a : a + 35]))
        if a == 105:
            saved = from_bytes(to_bytes(chunks))
            pickled = pickle.loads(pickle.dumps(chunks))
        elif a > 105:
            for other in (saved, pickled):
                np.testing.assert_allclose(other.test_then_train(X[a : a + 35], y[a : a + 35]), parts[-1], rtol=1e-12)
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=1e-9)
    assert len({model.current_structure for model in (whole, chunks, saved, pickled)}) == 1  # looked at, where due
    for other in (chunks, saved, pickled):
        assert [e[:3] for e in other.events_] == [e[:3] for e in whole.events_]
        assert other.structure_changes_ == other.events_
        assert other.n_structures_kept_ == whole.n_structures_kept_


def test_some_of_these_change_and_some_are_kept():
    X, y = rows_of()
    found = [copy.deepcopy(model) for model in MODELS]
    for model in found:
        model.test_then_train(X, y)
    assert sum(bool(model.structure_changes_) for model in found) >= 4
    assert sum(model.n_structures_kept_ > 0 for model in found) >= 4


def test_the_bound_keeps_a_tree_where_by_default_it_changes_to_and_fro():
    X, y = generate.tan(n_columns=8, random_state=4).take(3000)
    held, free, seen = TAN(refresh=Hoeffding(tie=0.0)), TAN(), set()
    held.test_then_train(X, y)
    for a in range(0, 3000, 100):
        free.test_then_train(X[a : a + 100], y[a : a + 100])
        if a >= 1000:
            seen.add(free.current_structure)
    assert len(seen) > 1
    assert held.structure_changes_ == []
    assert held.n_structures_kept_ > 0


def test_values_classes_and_columns_that_come_later_leave_the_structure():
    X, y = rows_of(300)
    rows = [{f"x{j}": value for j, value in enumerate(row)} for row in X]
    model = TAN(refresh=Hoeffding(tie=0.0), warm_up=100)
    for row, label in zip(rows, y.tolist(), strict=True):
        model.predict_proba_one(row)
        model.learn_one(row, label)
    before = model.current_structure
    looks = model._answering.standing.n_looks
    model.learn_one(rows[0] | {"x0": "other"}, 2)
    assert model.current_structure == before
    assert model._answering.standing.n_looks == looks
    model.learn_one(rows[0] | {"more": "a"}, 0)
    assert model.current_structure == before.with_columns([5])
    loaded = from_bytes(to_bytes(model))
    assert loaded.current_structure == model.current_structure


def test_it_goes_with_cut_points_that_move():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)) + np.linspace(0, 9, 900)[:, None]
    y = (X[:, 0] > X[:, 1]).astype(int)
    model = TAN(refresh=Hoeffding(0.9, 0.5), recut=Recut(every=100), warm_up=100, decay=200)
    model.test_then_train(X, y)
    assert {"new cut points"} < {event.what.split(" from")[0] for event in model.events_} | {"structure changed"}
    loaded = from_bytes(to_bytes(model))
    assert sorted(map(repr, loaded.events_)) == sorted(map(repr, model.events_))


def test_classifiers_without_a_score_refuse_it_and_fixed_structures_do_not_mind():
    X, y = rows_of(60)
    for model in (FAN(criterion="g2", refresh="hoeffding"), WAODE(refresh=Hoeffding()), SPC(column_order="mi")):
        model.set_params(refresh=Hoeffding())
        with pytest.raises(OptionError, match="no score per row"):
            model.fit(X, y)
    assert NaiveBayes(refresh=Hoeffding()).fit(X, y).structure_changes_ == []


def test_options_that_mean_nothing_are_refused():
    for options in ({"delta": 0}, {"delta": 1.0}, {"delta": "no"}, {"tie": -1}):
        with pytest.raises(OptionError, match=r"delta|tie"):
            Hoeffding(**options)
    for refresh in ("hoefding", 0, [1]):
        with pytest.raises(OptionError, match="refresh="):
            TAN(refresh=refresh).fit([["a"]], ["b"])


@pytest.mark.parametrize("change", [{"kept": -1}, {"changes": [[1, "a", "b", 0.1, 0.1, "whim"]]}, {"rows": None}])
def test_damaged_files_are_refused(change):
    X, y = rows_of(200)
    model = TAN(refresh=SOON, warm_up=40)
    model.test_then_train(X, y)
    state = model.to_state()
    state["view"]["standing"] |= change
    with pytest.raises(ModelFileError, match="figures of its structure"):
        TAN(refresh=SOON, warm_up=40).from_state(state)
