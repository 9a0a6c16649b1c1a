"""Searches by left-out answers find what a plain search over whole models finds, each row really left out."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_wrapper import SMALL, greedy, left_out, nearly_tied, parity, quality

import oracle
from profiles import examples
from strategies import tables
from tanager import (
    BSEJ,
    FSSJ,
    KDB,
    TAN,
    AdjustedNaiveBayes,
    BackOff,
    BDeu,
    Column,
    JointCounts,
    Lidstone,
    MEstimate,
    NaiveBayes,
    NBTree,
    OptionError,
    RecursiveBayes,
    Schema,
    SchemaMismatch,
    Selective,
    SelectiveNaiveBayes,
    SuperParentTAN,
    _kernels,
    load,
)
from tanager.counts.block import Block
from tanager.scoring.forms import ProductOfSums
from tanager.scoring.view import View

# --- the plain way ----------------------------------------------------------------------------------------------


def answer_of_blocks(blocks, alpha):
    """P(y) prod_b P(x_b | y) of joined columns, by Lidstone's rule; rows without gaps."""

    def answer(data, x):
        out = []
        for y in range(data.k):
            p = oracle.prior(data, y, ("lidstone", alpha))
            for block in blocks:
                cells = math.prod(data.n_values[i] for i in block)
                p *= (oracle.count(data, {i: x[i] for i in block}, y) + alpha) / (
                    oracle.count(data, {}, y) + alpha * cells
                )
            out.append(p)
        return out

    return answer


# --- selecting columns ------------------------------------------------------------------------------------------


def factors_of(terms, columns):
    return lambda data, x: oracle.product_of_terms(data, x, [t for t in terms if t[0] in columns], (), oracle.LAPLACE)


def plain_selection(data, terms, direction, criterion, non_worse):
    everything = sorted({t[0] for t in terms})

    def moves(columns):
        if direction == "backward":
            return [tuple(i for i in columns if i != gone) for gone in columns]
        return [tuple(sorted((*columns, new))) for new in everything if new not in columns]

    start = tuple(everything) if direction == "backward" else ()
    return greedy(start, moves, lambda columns: quality(data, factors_of(terms, columns), criterion), non_worse)


@pytest.mark.parametrize("criterion", ["accuracy", "log_loss", "auc"])
@pytest.mark.parametrize("direction", ["forward", "backward"])
@examples(20)
@given(table=tables(**SMALL, weighted=True), non_worse=st.booleans())
def test_selective_naive_bayes_selects_as_a_plain_search(direction, criterion, table, non_worse):
    table = table.without_weightless_rows()
    if not table.rows:
        return
    model = SelectiveNaiveBayes(direction=direction, criterion=criterion, non_worse=non_worse)
    model.fit(table.X, table.y, sample_weight=table.w)
    data = table.data()
    terms = [(i, (), 1.0, ()) for i in range(data.n)]
    states = [c for size in range(data.n + 1) for c in itertools.combinations(range(data.n), size)]
    if nearly_tied(data, states, lambda columns: factors_of(terms, columns), criterion):
        return
    expected = plain_selection(data, terms, direction, criterion, non_worse)
    assert model.columns_ == tuple(f"x{i}" for i in expected)
    found = factors_of(terms, expected)
    np.testing.assert_allclose(
        model.predict_proba(table.X), [oracle.posterior(data, found(data, x)) for x in data.rows], atol=1e-12
    )
    assert model.steps_[-1].value == pytest.approx(quality(data, found, criterion)[0], abs=1e-8)


@examples(20)
@given(table=tables(min_rows=3, max_rows=9, min_columns=2, max_columns=3))
def test_columns_are_selected_for_any_product(table):
    data = table.data()
    for base, parents in ((TAN(), oracle.tan_parents(data)), (KDB(k=2, smoothing=1), oracle.kdb_parents(data, 2))):
        terms = [(i, tuple(p), 1.0, ()) for i, p in enumerate(parents)]
        states = [c for size in range(data.n + 1) for c in itertools.combinations(range(data.n), size)]
        if nearly_tied(data, states, lambda columns, terms=terms: factors_of(terms, columns), "accuracy"):
            continue
        model = Selective(base).fit(table.X, table.y)
        expected = plain_selection(data, terms, "backward", "accuracy", False)
        assert model.columns_ == tuple(f"x{i}" for i in expected)
        found = factors_of(terms, expected)
        np.testing.assert_allclose(
            model.predict_proba(table.X), [oracle.posterior(data, found(data, x)) for x in data.rows], atol=1e-12
        )


def test_best_first_goes_back_where_greedy_search_is_stuck():
    """For a tree in which x1 depends on x0, the two are only worth something together."""
    X, y = parity()
    base = TAN(root="x0")
    assert {("x1", ("x0",)), ("x0", ("x1",))} & set(base.fit(X, y).parents_.items())
    greedy, patient = (
        Selective(base, direction=direction, criterion="log_loss").fit(X, y) for direction in ("forward", "best_first")
    )
    assert patient.steps_[-1].value >= greedy.steps_[-1].value
    table = [[str(a), str(b)] for a, b in itertools.product(range(3), repeat=2)] * 4
    labels = [int(a == b) for a, b in table]
    model = SelectiveNaiveBayes(direction="best_first", patience=3).fit(table, labels)
    assert model.steps_[-1].value >= SelectiveNaiveBayes().fit(table, labels).steps_[-1].value


@examples(15)
@given(table=tables(**SMALL))
def test_best_first_with_endless_patience_finds_the_best_of_all_sets(table):
    data = table.data()
    terms = [(i, (), 1.0, ()) for i in range(data.n)]
    states = [c for size in range(data.n + 1) for c in itertools.combinations(range(data.n), size)]
    best = max(quality(data, factors_of(terms, columns), "log_loss")[0] for columns in states)
    model = SelectiveNaiveBayes(direction="best_first", criterion="log_loss", patience=100).fit(table.X, table.y)
    assert model.steps_[-1].value == pytest.approx(best, abs=1e-8)


# --- joining columns --------------------------------------------------------------------------------------------


def plain_joining(data, backward, alpha, max_joined):
    def fits(blocks):
        return max_joined is None or all(len(block) <= max_joined for block in blocks)

    def join(blocks, a, b):
        return sorted([*(c for c in blocks if c not in (a, b)), tuple(sorted((*a, *b)))])

    def moves(blocks):
        if backward:
            options = [[b for b in blocks if b != gone] for gone in blocks]
            return options + [o for a, b in itertools.combinations(blocks, 2) if fits(o := join(blocks, a, b))]
        unused = [i for i in range(data.n) if not any(i in block for block in blocks)]
        options = [sorted([*blocks, (i,)]) for i in unused]
        return options + [o for i in unused for block in blocks if fits(o := join(blocks, block, (i,)))]

    start = [(i,) for i in range(data.n)] if backward else []
    return greedy(start, moves, lambda blocks: quality(data, answer_of_blocks(blocks, alpha), "accuracy"))


@pytest.mark.parametrize("model", [BSEJ(), FSSJ(), BSEJ(max_joined=2, smoothing=0.5)], ids=repr)
@examples(25)
@given(table=tables(**SMALL, missing=False, weighted=True))
def test_columns_are_joined_as_by_a_plain_search(model, table):
    table = table.without_weightless_rows()
    if not table.rows:
        return
    alpha = float(model.smoothing)
    model.fit(table.X, table.y, sample_weight=table.w)
    data = table.data()
    expected = plain_joining(data, isinstance(model, BSEJ), alpha, model.max_joined)
    found = [tuple(int(name[1:]) for name in block) for block in model.joined_]
    answer = answer_of_blocks(found, alpha)
    if found != expected:  # rounding may decide between equals, but not between better and worse
        assert quality(data, answer, "accuracy") == quality(data, answer_of_blocks(expected, alpha), "accuracy")
    np.testing.assert_allclose(
        model.predict_proba(table.X), [oracle.posterior(data, answer(data, x)) for x in data.rows], atol=1e-12
    )
    if table.weights is None or all(w <= 1 for w in table.weights):
        np.testing.assert_allclose(model.leave_one_out(table.X, table.y, table.w), left_out(data, answer), atol=1e-12)


@pytest.mark.parametrize("estimate", [Lidstone(0.5), MEstimate(2.0), BDeu(3.0)], ids=repr)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_blocks_counted_from_rows_are_those_of_counts(estimate, k):
    rng = np.random.default_rng(k)
    rows, labels = rng.integers(0, [2, 3, 1, 4, 2], (80, 5)).astype(np.uint8), rng.integers(0, k, 80).astype(np.uint8)
    sizes = (2, 3, 1, 5, 2)  # one value never occurs
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=size) for i, size in enumerate(sizes)))
    blocks = [(0, 1), (0, 1, 3), (0, 3, 4), (1, 2, 3, 4), (0, 1, 2, 3, 4)]
    forms = [ProductOfSums.of_blocks([block]) for block in blocks]
    families = sorted({family for form in forms for family in form.families()})
    counts = JointCounts(schema, list(range(k)), order=2, families=families).update(rows, labels)
    prior = np.asarray(
        View(counts, ProductOfSums((), (), ()), estimate).leave_one_out(Block(rows, labels, None), log_joint=True)
    )
    plan = View(counts, ProductOfSums((), (), ()), estimate).plan
    products = [(form.child, form.parents, form.weight, form.only, form.joined) for form in forms]
    expected = _kernels.factors(plan, products, [()] * 5, rows, labels, None, prior, -600.0)
    over = [(), (expected[0],), (), (), (expected[1],)]
    expected = _kernels.factors(plan, products, over, rows, labels, None, prior, -600.0)
    for codes in (rows, np.asfortranarray(rows), rows.astype(np.uint16)):
        found = _kernels.block_factors(plan, blocks, over, codes, labels, prior, -600.0)
        for one, other in zip(found, expected, strict=True):
            logs, other_logs = np.zeros_like(prior), np.zeros_like(prior)
            one.add_to(logs)
            other.add_to(other_logs)
            np.testing.assert_allclose(logs, other_logs, atol=1e-12)
    rows[3, 1] = 255
    with pytest.raises(ValueError, match="without missing values"):
        _kernels.block_factors(plan, blocks, over, rows, labels, prior, -600.0)
    with pytest.raises(ValueError, match="in order"):
        _kernels.block_factors(plan, [(3, 0)], [()], rows, labels, prior, -600.0)


def joined_triple():
    """The class is the parity of three columns: only all of them together tell it."""
    rows = [list(row) for row in itertools.product("ab", "cd", "efg")] * 4
    return rows, [(row[0] == "a") ^ (row[1] == "c") ^ (row[2] == "e") for row in rows]


@pytest.mark.parametrize("smoothing", [1.0, 0.3, MEstimate(2.0)], ids=repr)
def test_joined_columns_are_one_column(smoothing):
    """The same answers as naive Bayes on one column with a value for every combination."""
    X, y = joined_triple()
    model = BSEJ(smoothing=smoothing, min_gain=0.01)
    model.fit(X, y)
    if model.joined_ != (("x0", "x1", "x2"),):
        model = FSSJ(smoothing=smoothing).fit(X, y)
    assert any(len(block) > 1 for block in model.joined_)
    one = NaiveBayes(smoothing=smoothing).fit(
        [["".join(row[int(name[1:])] for name in block) for block in model.joined_] for row in X], y
    )
    merged = [["".join(row[int(name[1:])] for name in block) for block in model.joined_] for row in X]
    np.testing.assert_allclose(model.predict_proba(X), one.predict_proba(merged), atol=1e-12)
    np.testing.assert_allclose(model.leave_one_out(X, y), one.leave_one_out(merged, y), atol=1e-12)


def test_a_missing_member_is_summed_out():
    X, y = joined_triple()
    model = BSEJ(max_joined=2).fit(X, y)
    pairs = [block for block in model.joined_ if len(block) == 2]
    assert pairs
    for name in pairs[0]:
        i = int(name[1:])
        full = [[*X[5][:i], value, *X[5][i + 1 :]] for value in sorted({row[i] for row in X})]
        total = np.exp(model.predict_log_joint(full)).sum(axis=0)
        gap = [*X[5][:i], None, *X[5][i + 1 :]]
        np.testing.assert_allclose(np.exp(model.predict_log_joint([gap]))[0], total, atol=1e-12)


def test_back_off_and_gaps_in_joined_columns_give_probabilities():
    rng = np.random.default_rng(1)
    X, y = parity()
    X = [[None if rng.random() < 0.1 else cell for cell in row] for row in X]
    model = BSEJ(smoothing=BackOff(1), criterion="log_loss").fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.7
    assert "x" in str(model.explain([X[0]]))


# --- arcs, and the contract ------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["accuracy", "log_loss"])
@examples(15)
@given(table=tables(min_rows=3, max_rows=9, min_columns=2, max_columns=3))
def test_arcs_are_added_as_by_a_plain_search(criterion, table):
    data = table.data()

    def ancestors(i, parents):
        return set() if not parents[i] else {parents[i][0]} | ancestors(parents[i][0], parents)

    def moves(parents):
        return [
            tuple((s,) if i == c else p for i, p in enumerate(parents))
            for s in range(data.n)
            for c in range(data.n)
            if not parents[c] and c != s and c not in ancestors(s, parents)
        ]

    def answer(parents):
        return lambda rest, x: oracle.tree(rest, x, parents)

    everything = list(itertools.product(*([()] + [(s,) for s in range(data.n) if s != i] for i in range(data.n))))
    if nearly_tied(data, everything, answer, criterion):
        return
    expected = greedy(((),) * data.n, moves, lambda parents: quality(data, answer(parents), criterion))
    model = SuperParentTAN(search="arcs", criterion=criterion).fit(table.X, table.y)
    assert tuple(tuple(int(p[1:]) for p in model.parents_[f"x{i}"]) for i in range(data.n)) == expected


def plain_adjustment(log_joint, labels, weights, counts, significance):
    """Every value of every class weight that can matter, one after the other."""
    k = len(counts)

    def answers(logs):
        return [
            max(range(k), key=lambda c, row=row: (round(math.exp(row[c] - max(row)), 9), counts[c], -c)) for row in logs
        ]

    def errors(logs):
        return sum(w for a, y, w in zip(answers(logs), labels, weights, strict=True) if a != y)

    total = np.zeros(k)
    while True:
        tried = []
        for c in range(k) if k > 1 else ():
            now = log_joint + total
            critical = sorted({round(max(np.delete(row, c)) - row[c], 9) for row in now})
            middles = [(a + b) / 2 for a, b in itertools.pairwise(critical)]
            steps = [critical[0] - 1, *middles, critical[-1] + 1]
            step = min(steps, key=lambda d: (round(errors(now + d * (np.arange(k) == c)), 6), abs(d)))
            tried.append((errors(now + step * (np.arange(k) == c)), abs(step), c, step))
        if not tried:
            break
        wrong, _, c, step = min(tried)
        before = answers(log_joint + total)
        if not wrong < errors(log_joint + total) - 1e-9:
            break
        alike = [(d, size) for bad, far, d, size in tried if bad <= wrong + 1e-9 and far <= abs(step) + 1e-9]
        changes = [total + size * (np.arange(k) == d) for d, size in alike]
        if any(np.abs((q - q.max()) - (changes[0] - changes[0].max())).max() > 1e-6 for q in changes):
            break  # names alone would tell which of them to take
        after = answers(log_joint + total + step * (np.arange(k) == c))
        pairs = list(zip(before, after, labels, weights, strict=True))
        gained = sum(w for a, b, y, w in pairs if a != y and b == y)
        lost = sum(w for a, b, y, w in pairs if a == y and b != y)
        n = round(gained + lost)
        chance = sum(math.comb(n, q) for q in range(round(lost) + 1)) / 2**n if gained else 1.0
        if significance is not None and chance >= significance:
            break
        total[c] += step
    return np.exp(total - total.max())


@pytest.mark.parametrize("significance", [None, 0.2])
@pytest.mark.parametrize("selection", ["loo", "resub"])
@examples(20)
@given(table=tables(min_rows=2, max_rows=14))
def test_class_weights_are_those_of_a_plain_search(selection, significance, table):
    model = AdjustedNaiveBayes(selection=selection, significance=significance).fit(table.X, table.y)
    data = table.data()
    if selection == "loo":
        proba = left_out(data, oracle.nb)
    else:
        proba = np.array([oracle.posterior(data, oracle.nb(data, x)) for x in data.rows])
    counts = [oracle.count(data, {}, y) for y in range(data.k)]
    expected = plain_adjustment(np.log(proba), data.labels, data.weights, counts, significance)
    np.testing.assert_allclose(list(model.adjustments_.values()), expected, rtol=1e-6)
    plain = NaiveBayes().fit(table.X, table.y).predict_proba(table.X) * expected
    np.testing.assert_allclose(model.predict_proba(table.X), plain / plain.sum(axis=1, keepdims=True), rtol=1e-6)


MODELS = [SelectiveNaiveBayes(direction="best_first"), Selective(KDB()), BSEJ(), FSSJ(criterion="auc")]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_files_keep_what_was_found_and_how(model, tmp_path):
    X, y = parity()
    model.fit(X, y).save(tmp_path / "m.tanager")
    loaded = load(tmp_path / "m.tanager")
    assert loaded.steps_ == model.steps_
    assert loaded.structure_ == model.structure_
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SelectiveNaiveBayes(direction="sideways"), "direction='sideways'"),
        (SelectiveNaiveBayes(criterion="f1"), "criterion='f1'"),
        (SelectiveNaiveBayes(min_gain=-1), "min_gain=-1"),
        (SelectiveNaiveBayes(non_worse="yes"), "non_worse='yes'"),
        (SelectiveNaiveBayes(patience=0), "patience=0"),
        (Selective("TAN"), "model='TAN'"),
        (Selective(TAN(fit_by="weights")), "fit_by"),
        (BSEJ(max_joined=0), "max_joined=0"),
        (SuperParentTAN(search="all"), "search='all'"),
        (AdjustedNaiveBayes(selection="cv"), "selection='cv'"),
        (AdjustedNaiveBayes(significance=2), "significance=2"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_options_that_mean_nothing_are_refused(model, words):
    X, y = parity(20)
    with pytest.raises(OptionError, match=words.replace("(", r"\(")):
        model.fit(X, y)


def test_counts_alone_are_refused_with_a_way_out():
    X, y = parity(20)
    for cls in (Selective, BSEJ, FSSJ, NBTree, RecursiveBayes):
        with pytest.raises(SchemaMismatch, match=rf"^{cls.__name__} .* Use fit\.$"):
            cls.from_counts(TAN().fit(X, y).counts_)
    with pytest.raises(SchemaMismatch, match="Use fit"):
        SelectiveNaiveBayes.from_counts(NaiveBayes().fit(X, y).counts_)


def test_a_step_that_joins_a_column_names_both_sides():
    X = [["old", "yes"], ["old", "no"], ["new", "yes"], ["new", "no"]] * 8
    for model in (FSSJ(criterion="log_loss"), BSEJ(criterion="log_loss")):
        steps = model.fit(X, ["keep", "sell", "sell", "sell"] * 8).steps_
        assert [step.columns for step in steps if step.did == "join"] == ["x0 and x1"]
