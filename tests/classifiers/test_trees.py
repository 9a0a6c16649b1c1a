"""Trees of classifiers equal plain loops over the rows, leave rows out exactly, and say where a row went."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from profiles import examples
from strategies import Table, tables
from tanager import (
    A2DE,
    AODE,
    KDB,
    TAN,
    AnytimeAODE,
    BestOf,
    MemoryBudgetError,
    ModelFileError,
    NaiveBayes,
    NBTree,
    OptionError,
    PriorCounts,
    RecursiveBayes,
    plot_tree,
)
from tanager.classifiers import nb_tree
from tanager.learning.dealing import deal
from tanager.learning.network_learner import sample_of
from tanager.learning.value_tree import ValueTree

TIE = 1e-12
DEEP = {"min_rows": 2, "min_child": 1, "min_gain": 0}
# A row of which two classes are equally probable in a part, where they have the same weight but for its last digits.
TIED = Table(
    rows=tuple(
        ("ab"[a] if a < 2 else None, "abc"[b] if b < 3 else None)
        for a, b in zip(
            [0, 2, 1, 0, *[1] * 4, 0, 1, 2, 1, 1, 1, 0, 2, 0],
            [1, 1, 1, 3, 1, 1, 2, 1, 2, 1, 0, 1, 0, 0, 3, 2, 1],
            strict=True,
        )
    ),
    labels=(1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 0, 2, 2, 0),
    queries=(),
    n_values=(2, 3),
    k=3,
    weights=(1.75, 0.0, 1.75, 2.0, 1.5, 0.5, 0.75, 1.25, 2.0, 0.75, 0.0, 0.5, 0.0, 1.5, 2.0, 2.0, 1.5),
)


# --- the slow, obvious twin -----------------------------------------------------------------------------------------


class Rows:
    """Codes with None for what is missing, labels, and a list of weights (one per fold) for every row."""

    def __init__(self, model, folds):
        block, counts = model.memory.rows.block, model.counts_
        self.n_values, self.k = counts.schema.n_values.tolist(), counts.n_classes
        self.x = [self.plain(row) for row in block.codes.tolist()]
        self.y = block.labels.tolist()
        dealt = deal(sample_of(model.memory.rows, counts, model.class_name), folds, 0)
        self.all = [(r, [w if w > 1e-9 else 0.0 for w in dealt[:, r].tolist()]) for r in range(len(self.y))]

    def plain(self, codes):
        return [code if code < a else None for code, a in zip(codes, self.n_values, strict=True)]

    def naive_bayes(self, part, x):
        """P(class | x) by Laplace's rule from weighted rows [(row, weight)]."""
        joint = []
        for c in range(self.k):
            own = [(r, w) for r, w in part if self.y[r] == c]
            p = (sum(w for _, w in own) + 1) / (sum(w for _, w in part) + self.k)
            for i, v in enumerate(x):
                if v is not None:
                    known = sum(w for r, w in own if self.x[r][i] is not None)
                    p *= (sum(w for r, w in own if self.x[r][i] == v) + 1) / (known + self.n_values[i])
            joint.append(p)
        return [p / sum(joint) for p in joint]

    def answer(self, part, proba):
        rows = [sum(w for r, w in part if self.y[r] == c) for c in range(self.k)]
        likely = [c for c in range(self.k) if proba[c] >= max(proba) - TIE]
        return min(likely, key=lambda c: (-rows[c], c))

    def right(self, part):
        """Of rows [(row, weights per fold)]: the weight that naive Bayes of the other folds answers correctly."""
        total = 0.0
        for fold in range(len(part[0][1])):
            rest = [(r, sum(w) - w[fold]) for r, w in part]
            for r, w in part:
                if w[fold] > 0 and self.answer(rest, self.naive_bayes(rest, self.x[r])) == self.y[r]:
                    total += w[fold]
        return total

    def parts(self, part, i, heaviest):
        """The rows of every value that has some, what share of the others each gets; those without a value shared."""
        mass = {v: sum(sum(w) for r, w in part if self.x[r][i] == v) for v in range(self.n_values[i])}
        mass = {v: weight for v, weight in mass.items() if weight > 0}
        share = {v: weight / sum(mass.values()) for v, weight in mass.items()}
        if heaviest and mass:
            share = {v: float(v == max(mass, key=lambda u: (mass[u], -u))) for v in mass}
        found = {}
        for v in mass:
            gone = [(r, [share[v] * w for w in ws]) for r, ws in part if self.x[r][i] is None and share[v] > 0]
            found[v] = [(r, ws) for r, ws in part if self.x[r][i] == v] + gone
        return mass, share, found

    def grow(self, part, heaviest):
        total = sum(sum(w) for _, w in part)
        if total < DEEP["min_rows"] or len({self.y[r] for r, w in part if sum(w) > 0}) < 2:
            return None
        wrong, best = round((total - self.right(part)) / total, 12), None
        least = wrong
        for i in range(len(self.n_values)):
            mass, _, found = self.parts(part, i, heaviest)
            if sum(m >= DEEP["min_child"] for m in mass.values()) > 1:
                errors = round((total - sum(self.right(p) for p in found.values())) / total, 12)
                if errors < least:
                    least, best = errors, i
        if best is None:
            return None
        _, share, found = self.parts(part, best, heaviest)
        return best, share, {v: self.grow(p, heaviest) for v, p in found.items()}

    def score(self, tree, part, x):
        """The answer of a tree to x, from rows [(row, weight)]."""
        if tree is None or (x[tree[0]] is not None and x[tree[0]] not in tree[2]):
            return np.array(self.naive_bayes(part, x))
        i, share, children = tree
        out = np.zeros(self.k)
        for v, child in children.items():
            own = 1.0 if x[i] == v else share[v] if x[i] is None else 0.0
            if own > 0:
                kept = [(r, w if self.x[r][i] == v else w * share[v]) for r, w in part if self.x[r][i] in (v, None)]
                out += own * self.score(child, kept, x)
        return out


def plain_tree(node):
    if node.is_leaf:
        return None
    shares = dict(zip(node.codes, node.shares, strict=True))
    children = {v: plain_tree(child) for v, child in zip(node.codes, node.children, strict=True)}
    return node.column, pytest.approx(shares), children


@examples(40)
@given(table=tables(weighted=True, min_rows=4), folds=st.integers(2, 3), heaviest=st.booleans())
def test_a_tree_of_naive_bayes_equals_plain_loops(table, folds, heaviest):
    model = NBTree(folds=folds, missing="heaviest" if heaviest else "share", **DEEP)
    model.fit(table.X, table.y, sample_weight=table.w)
    rows = Rows(model, folds)
    tree = rows.grow(rows.all, heaviest)
    assert plain_tree(model.part_tree) == tree
    part = [(r, sum(w)) for r, w in rows.all]
    for codes, proba in zip(model.encode(table.Q).codes.tolist(), model.predict_proba(table.Q), strict=True):
        np.testing.assert_allclose(proba, rows.score(tree, part, rows.plain(codes)), rtol=1e-9, atol=1e-12)
    left_out = model.leave_one_out(table.X, table.y, table.w)
    for r, proba in enumerate(left_out[table.w > 0]):  # rows without weight are not kept
        rest = [(q, 0.0 if q == r else w) for q, w in part]
        np.testing.assert_allclose(proba, rows.score(tree, rest, rows.x[r]), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_without_the_tested_value_leave_all_leaves_that_share_them(weighted):
    X, y = gates(60)
    X[::5, 0] = None
    X[1::7, 1] = None
    w = np.arange(60) % 4 / 2 + 0.5 if weighted else None
    model = NBTree(folds=2, **DEEP).fit(X, y, sample_weight=w)
    rows = Rows(model, 2)

    def known(node):
        if node.is_leaf:
            return None
        children = {v: known(child) for v, child in zip(node.codes, node.children, strict=True)}
        return node.column, dict(zip(node.codes, node.shares, strict=True)), children

    tree = known(model.part_tree)
    assert model.part_tree.n_leaves > 2
    part = [(r, sum(weights)) for r, weights in rows.all]
    for r, proba in enumerate(model.leave_one_out(X, y, w)):
        rest = [(q, 0.0 if q == r else weight) for q, weight in part]
        np.testing.assert_allclose(proba, rows.score(tree, rest, rows.x[r]), rtol=1e-9, atol=1e-12)
    again = rows.grow(rows.all, False) if not weighted else None  # shares below a split are those of shared rows
    assert weighted or plain_tree(model.part_tree) == again


@examples(40)
@given(table=tables(weighted=True, min_rows=6), seed=st.integers(0, 9))
def test_rows_go_on_by_the_answers_they_get_as_plain_loops_say(table, seed):
    model = RecursiveBayes(min_rows=2, min_gain=0).fit(table.X, table.y, sample_weight=table.w)
    rows = Rows(model, 2)
    part = [(r, sum(w)) for r, w in rows.all]

    def told(part, x):
        return rows.answer(part, rows.naive_bayes(part, x))

    def wrong(part):
        total = 0.0
        for r, w in part:
            proba = rows.naive_bayes([(q, v - min(v, 1.0) if q == r else v) for q, v in part], rows.x[r])
            total += 0.0 if rows.answer(part, proba) == rows.y[r] else w
        return total

    def of_answer(part, c):
        return [(r, w) for r, w in part if told(part, rows.x[r]) == c]

    def wrong_among(part, own):
        """Of rows left out by the classifier over `part`, those of `own` that go wrong."""
        total = 0.0
        for r, w in own:
            proba = rows.naive_bayes([(q, v - min(v, 1.0) if q == r else v) for q, v in part], rows.x[r])
            total += 0.0 if rows.answer(part, proba) == rows.y[r] else w
        return total

    def grow(part):
        children = {}
        for c in range(rows.k):
            own = of_answer(part, c)
            if len(own) in (0, len(part)) or sum(w for _, w in own) < 2:
                continue
            if {rows.y[r] for r, w in own if w > 0} != {c} and wrong(own) < wrong_among(part, own) - 1e-9:
                children[c] = grow(own)
        return children

    def score(tree, part, x, without=None):
        """`part` is what the classifier here has learned; a row that is left out is in it, or not."""
        rest = [(r, 0.0 if r == without else w) for r, w in part]
        proba = rows.naive_bayes(rest, x)
        c = rows.answer(part, proba)
        return score(tree[c], of_answer(part, c), x, without) if c in tree else np.array(proba)

    def plain(node):
        return {c: plain(child) for c, child in zip(node.classes, node.children, strict=True)}

    tree = grow(part)
    assert plain(model.part_tree) == tree
    for codes, proba in zip(model.encode(table.Q).codes.tolist(), model.predict_proba(table.Q), strict=True):
        np.testing.assert_allclose(proba, score(tree, part, rows.plain(codes)), rtol=1e-9, atol=1e-12)
    for r, proba in enumerate(model.leave_one_out(table.X, table.y, table.w)[table.w > 0]):  # others are not kept
        np.testing.assert_allclose(proba, score(tree, part, rows.x[r], r), rtol=1e-7, atol=1e-10)


@examples(20)
@given(
    table=tables(weighted=True, min_rows=6),
    leaf=st.sampled_from([NaiveBayes(), NaiveBayes(smoothing=0.3)]),
    missing=st.sampled_from(["share", "heaviest"]),
)
@example(table=TIED, leaf=NaiveBayes(smoothing=0.3), missing="share")
def test_the_kernel_tries_splits_as_leaves_of_any_kind_are_tried(table, leaf, missing):
    model = NBTree(leaf=leaf, missing=missing, folds=2, **DEEP).fit(table.X, table.y, sample_weight=table.w)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nb_tree, "_pseudo_counts", lambda *_: None)
        slow = NBTree(leaf=leaf, missing=missing, folds=2, **DEEP).fit(table.X, table.y, sample_weight=table.w)
    assert slow.part_tree == model.part_tree


@examples(15)
@given(
    table=tables(weighted=True, min_rows=6),
    leaf=st.sampled_from([AODE(), TAN()]),
    judge=st.sampled_from([None, "leaf"]),
)
def test_many_columns_are_judged_as_few_where_all_folds_are_asked(table, leaf, judge):
    def grown(patch):
        found, judged = [], nb_tree._Grower._judged
        patch.setattr(nb_tree._Grower, "_judged", lambda *given: (found.append(judged(*given)), found[-1])[1])
        patch.setattr(nb_tree._Grower, "_least_rows", lambda self: self.model.min_rows)
        model = NBTree(leaf=leaf, judge=judge, folds=2, **DEEP).fit(table.X, table.y, sample_weight=table.w)
        return model.part_tree, [known.right for known in found]

    with pytest.MonkeyPatch.context() as patch:
        tree, expected = grown(patch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nb_tree, "MANY_COLUMNS", 0)
        many, found = grown(patch)
    assert many == tree
    assert found == pytest.approx(expected)


def test_with_many_columns_some_folds_judge_and_small_parts_are_leaves(monkeypatch):
    """A parity of three: AODE alone is right in half of the rows, and in all of them once one column is split by."""
    rng = np.random.default_rng(0)
    X = np.array(["no", "yes"])[rng.integers(0, 2, (1200, 3))]
    y = (X == "yes").sum(axis=1) % 2
    asked = []
    judged = nb_tree._Grower._judged
    monkeypatch.setattr(
        nb_tree._Grower, "_judged", lambda *given: (asked.append((len(given[1]), given[3])), judged(*given))[1]
    )
    monkeypatch.setattr(nb_tree, "MANY_COLUMNS", 2)
    monkeypatch.setattr(nb_tree, "MOST_STEPS", 1)
    assert NBTree(leaf=AODE()).fit(X, y).score(X, y) == 1.0
    assert {n_folds for n_rows, n_folds in asked if n_rows > 1000} == {1}, "200 rows judge, in one fold of five"
    monkeypatch.setattr(nb_tree._Grower, "_least_rows", lambda self: 1300)
    assert NBTree(leaf=AODE()).fit(X, y).part_tree.is_leaf


@examples(10)
@given(seed=st.integers(0, 999), leaf=st.sampled_from([AODE(), TAN()]))
@example(seed=411, leaf=AODE())  # a part without a row that judges
def test_what_a_node_has_counted_tells_the_counts_of_its_parts(seed, leaf):
    rng = np.random.default_rng(seed)
    X = np.array(["a", "b", "c"])[rng.integers(0, 3, (200, 4))]
    y = ((X == "a").sum(axis=1) + (rng.random(200) < 0.2)) % 2

    def grown(patch, keeps):
        patch.setattr(nb_tree, "MANY_COLUMNS", 0)
        patch.setattr(nb_tree, "FEWEST_JUDGES", 0)
        patch.setattr(nb_tree, "MOST_STEPS", 1)
        patch.setattr(nb_tree._Grower, "_least_rows", lambda self: self.model.min_rows)
        found, judged, kept = [], nb_tree._Grower._judged, nb_tree._Grower._keeps_counts
        patch.setattr(
            nb_tree._Grower, "_judged", lambda *given: (found.append((judged(*given), *given)), found[-1][0])[1]
        )
        patch.setattr(nb_tree._Grower, "_keeps_counts", lambda self: keeps and kept(self))
        tree = NBTree(leaf=leaf, folds=3, **DEEP).fit(X, y).part_tree
        known = [len(given) > 4 and given[4] is not None for _, *given in found]
        return (tree, [own.right for own, *_ in found]), sum(known)

    with pytest.MonkeyPatch.context() as patch:
        expected, none = grown(patch, keeps=False)
    with pytest.MonkeyPatch.context() as patch:
        found, some = grown(patch, keeps=True)
    assert found == expected
    assert some > 0 == none


# --- known answers, and what a tree promises ------------------------------------------------------------------------


def coins(times=20):
    X = [["heads", "heads"], ["heads", "tails"], ["tails", "heads"], ["tails", "tails"]]
    return X * times, ["yes", "no", "no", "yes"] * times


def gates(n=400, seed=3):
    """The first column says how the second is to be read; the third tells a little."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 4))
    y = np.where(X[:, 0] == 1, X[:, 1], 1 - X[:, 1])
    y = np.where(rng.random(n) < 0.1, 1 - y, y)
    cells = np.array(["no", "yes"], dtype=object)[X]
    cells[rng.random(X.shape) < 0.05] = None
    return cells, np.array(["off", "on"])[y]


@pytest.mark.parametrize(
    "leaf",
    [
        None,
        AODE(),
        TAN(),
        TAN(missing="marginal"),
        KDB(),
        A2DE(),
        AnytimeAODE(),
        NaiveBayes(subsumption=5),
        NaiveBayes(smoothing=PriorCounts()),
        NaiveBayes(smoothing=0),
        BestOf([NaiveBayes(), TAN()]),
    ],
    ids=repr,
)
def test_any_view_of_counts_can_be_a_leaf(leaf):
    X, y = gates(240)
    model = NBTree(leaf=leaf, folds=2).fit(X, y)
    assert model.score(X, y) > 0.75
    again = NBTree(leaf=leaf, folds=2, priors=[0.5, 0.5], class_weight={"on": 2.0}).fit(X, y)
    assert again.part_tree == model.part_tree, "a tree does not depend on how answers are weighed"
    log_proba, told = again.predict_log_proba(X[:5]), again.explain(X[:1])
    np.testing.assert_allclose(np.exp(log_proba), again.predict_proba(X[:5]), rtol=1e-9)
    assert told.prior + sum(p.log_odds for p in told.parts) == pytest.approx(abs(log_proba[0, 0] - log_proba[0, 1]))


def test_the_leaves_have_the_last_word_on_a_split_that_naive_bayes_proposes():
    """AODE reads the first column together with the second, and needs no split; as the judge of columns it agrees."""
    X, y = gates(400)
    assert not NBTree(folds=2).fit(X, y).part_tree.is_leaf
    for judge in (None, "leaf"):
        assert NBTree(leaf=AODE(), folds=2, judge=judge).fit(X, y).part_tree.is_leaf
    assert NBTree(judge="leaf", folds=2).fit(X, y).part_tree == NBTree(folds=2).fit(X, y).part_tree
    with pytest.raises(OptionError, match="judge='naive'"):
        NBTree(judge="naive").fit(X, y)


@pytest.mark.parametrize("model", [NBTree(**DEEP), RecursiveBayes(min_rows=2, min_gain=0)], ids=repr)
def test_an_explanation_names_the_path_and_adds_up(model):
    X, y = gates()
    model.fit(X, y)
    for row in [*X[:6], ["no", None, "no", "yes"], [None] * 4]:
        told = model.explain([row])
        joint = dict(zip(model.classes_.tolist(), model.predict_log_joint([row])[0], strict=True))
        assert told.log_odds == pytest.approx(joint[told.answer] - joint[told.against], abs=1e-9)
        assert told.prior + sum(part.log_odds for part in told.parts) == pytest.approx(told.log_odds, abs=1e-9)
        assert f"where {', then '.join(told.path)}" in str(told) if told.path else "where" not in str(told)
    if isinstance(model, NBTree):
        row = dict(zip(["x0", "x1", "x2", "x3"], ["yes", "no", "no", "no"], strict=True))
        assert model.explain(row).path[0] == f"{model.tree_.column} = {row[model.tree_.column]}"


def test_a_value_that_has_no_child_is_answered_by_the_node_itself():
    X, y = coins()
    schema = NBTree().fit([*X, ["edge", "heads"]], [*y, "no"]).encoder_.schema
    model = NBTree(schema=schema).fit(X, y)
    assert model.part_tree.codes == (0, 1)
    naive = NaiveBayes(schema=schema).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([["edge", "tails"]]), naive.predict_proba([["edge", "tails"]]))
    model.refresh = np.inf  # the tree stays as it is, and its leaves go on learning
    model.learn_one({"x0": "edge", "x1": "tails"}, "yes")
    naive.learn_one({"x0": "edge", "x1": "tails"}, "yes")
    row = {"x0": "edge", "x1": "tails"}
    assert model.predict_proba_one(row) == pytest.approx(naive.predict_proba_one(row))


def test_leaves_go_on_learning_while_the_tree_stays():
    X, y = gates(260)
    rows = [dict(zip(["x0", "x1", "x2", "x3"], row, strict=True)) for row in X]
    streamed = NBTree(refresh=np.inf).fit(X[:200], y[:200])
    tree = streamed.part_tree
    streamed.test_then_train(X[200:], y[200:])
    assert streamed.part_tree is tree
    answers = [streamed.predict_proba_one(row) for row in rows[:20]]
    whole = NBTree(schema=streamed.encoder_.schema).fit(X, y)
    whole._answering.take_state(whole, streamed._answering.to_state(streamed)[0] | {"current": True}, {})
    np.testing.assert_allclose([list(a.values()) for a in answers], whole.predict_proba(X[:20]), rtol=1e-9)
    windowed = NBTree(window=200, refresh=np.inf, schema=whole.encoder_.schema).fit(X[:200], y[:200])
    windowed.test_then_train(X[200:], y[200:])
    fresh = NBTree(schema=whole.encoder_.schema).fit(X[60:], y[60:])
    fresh._answering.take_state(fresh, windowed._answering.to_state(windowed)[0] | {"current": True}, {})
    got = [list(windowed.predict_proba_one(row).values()) for row in rows[:20]]
    np.testing.assert_allclose(got, fresh.predict_proba(X[:20]), rtol=1e-9)


def test_a_tree_in_words():
    model = NBTree().fit(*coins())
    tree = model.tree_
    assert (tree.n_rows, tree.n_leaves, tree.depth, tree.column) == (80.0, 2, 1, "x0")
    assert str(tree).splitlines()[0] == "x0 = heads: NaiveBayes, 40 rows, no 50%, yes 50%"
    assert tree.to_dict()["branches"][1]["value"] == "tails"
    assert str(NBTree().fit([["a"], ["b"]], [0, 1]).tree_) == "NaiveBayes: 2 rows, 0 50%, 1 50%"
    empty = NBTree().fit([["a"], ["b"]], [0, 1]).unlearn([["a"], ["b"]], [0, 1])
    assert str(empty.tree_) == "NaiveBayes: 0 rows"


def test_a_large_tree_is_cut_off_in_the_picture():
    X, y = gates(600)
    figure = plot_tree(NBTree(**DEEP).fit(X, y), max_leaves=3)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert any("leaves" in text for text in texts)
    with pytest.raises(OptionError, match="no tree of classifiers"):
        plot_tree(NaiveBayes().fit(X, y))
    with pytest.raises(OptionError, match="max_leaves"):
        plot_tree(NBTree().fit(X, y), max_leaves=0)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"leaf": NaiveBayes}, "no classifier over counts"),
        ({"leaf": "nb"}, "no classifier over counts"),
        ({"leaf": NaiveBayes(gaussian=True)}, "Gaussian columns"),
        ({"leaf": NaiveBayes(fit_by="conditional_likelihood")}, "fit_by"),
        ({"leaf": NaiveBayes(unseen="what")}, "unseen"),
        ({"min_rows": -1}, "min_rows=-1"),
        ({"min_child": None}, "min_child"),
        ({"min_gain": 1.5}, "min_gain=1.5"),
        ({"folds": 1}, "folds=1"),
        ({"missing": "marginal"}, "missing"),
        ({"random_state": 0.5}, "random_state"),
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(options, sentence):
    with pytest.raises(OptionError, match=sentence):
        NBTree(**options).fit(*coins(1))


def test_leaves_beyond_the_budget_are_refused():
    X, y = gates()
    with pytest.raises(MemoryBudgetError, match="leaves whose counts"):
        NBTree(leaf=AODE(), max_memory="9 KB", **DEEP).fit(X.astype(str), y)


def test_a_tree_of_a_damaged_file_is_refused():
    tree = ValueTree(1, (0, 1), (0.5, 0.5), (ValueTree(), ValueTree()))
    assert ValueTree.from_plain(tree.to_plain(), [2, 2]) == tree
    for name, value in [("column", 2), ("codes", [0, 2]), ("codes", [0, 0]), ("shares", [0.5, 7.0]), ("children", [])]:
        with pytest.raises(ModelFileError):
            ValueTree.from_plain(tree.to_plain() | {name: value}, [2, 2])


def test_the_numbers_of_nodes_are_those_of_their_places():
    leaf = ValueTree()
    inner = ValueTree(1, (0, 2), (0.25, 0.75), (leaf, leaf))
    tree = ValueTree(0, (0, 1), (0.5, 0.5), (inner, leaf))
    assert [at for at, _ in tree.nodes()] == [0, 1, 2, 3, 4]
    assert (tree.size, tree.n_leaves) == (5, 3)
    codes = np.array(list(itertools.product([0, 1, 255], [0, 1, 2, 255])), dtype=np.uint8)
    shares = np.zeros((len(codes), tree.size))
    for at, rows, share, stay in tree.reached(codes, np.array([2, 3])):
        shares[rows[stay], at] = share[stay]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[codes.tolist().index([255, 255])], [0, 0, 0.125, 0.375, 0.5])
    np.testing.assert_allclose(shares[codes.tolist().index([0, 1])], [0, 1, 0, 0, 0])


def test_weights_that_rounding_has_made_a_hair_lighter_do_not_change_the_tree():
    """Rows that were faded and weighed again come back to 1 - 1e-16."""
    X = [[i % 2, i // 2 % 2] for i in range(12)]
    y = [a ^ b for a, b in X]
    options = {"min_rows": 12, "min_child": 6, "min_gain": 0, "folds": 2}
    whole, lighter = (NBTree(**options).fit(X, y, sample_weight=[w] * 12) for w in (1.0, 1 - 2**-53))
    assert whole.structure_ == lighter.structure_
    np.testing.assert_allclose(whole.predict_proba(X), lighter.predict_proba(X), atol=1e-12)
