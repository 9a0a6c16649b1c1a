"""Columns of AODE are selected as super-parents and as children, as a plain search over whole models selects them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_wrapper import SMALL, greedy, nearly_tied, parity, quality

import oracle
from profiles import examples
from strategies import tables
from tanager import A2DE, AODE, TAN, WAODE, AnytimeAODE, MemoryBudgetError, NaiveBayes, OptionError, Selective, load


def answer_of(state, min_count=1.0):
    """AODE with some columns as super-parents and some as children; naive Bayes where no super-parent speaks."""
    parents, children = state

    def answer(data, x):
        members = [((s,), 1.0) for s in parents]
        found = oracle.sum_of_products(data, x, members, oracle.LAPLACE, min_count, children)
        terms = [(j, (), 1.0, ()) for j in children]
        return oracle.product_of_terms(data, x, terms, (), oracle.LAPLACE) if found is None else found

    return answer


def plain_selection(data, roles, direction, criterion, non_worse, min_count):
    everything = tuple(range(data.n))
    backward = direction == "backward"

    def toggled(columns, i):
        if backward:
            return tuple(j for j in columns if j != i)
        return tuple(sorted((*columns, i)))

    def moves(state):
        parents, children = state
        rest = [[i for i in everything if (i in columns) == backward] for columns in state]
        if roles == "both":
            return [(toggled(parents, i), toggled(children, i)) for i in rest[0]]
        options = [(toggled(parents, s), children) for s in rest[0]] if roles != "children" else []
        return options + ([(parents, toggled(children, j)) for j in rest[1]] if roles != "parents" else [])

    start = everything if backward else ()
    state = (
        everything if roles == "children" else start,
        everything if roles == "parents" else start,
    )
    return greedy(state, moves, lambda state: quality(data, answer_of(state, min_count), criterion), non_worse)


@pytest.mark.parametrize("roles", ["either", "both", "parents", "children"])
@pytest.mark.parametrize("direction", ["forward", "backward"])
@examples(12)
@given(
    table=tables(**SMALL, weighted=True),
    criterion=st.sampled_from(["accuracy", "log_loss", "auc"]),
    non_worse=st.booleans(),
    min_count=st.sampled_from([1.0, 2.5]),
)
def test_roles_are_selected_as_by_a_plain_search(roles, direction, table, criterion, non_worse, min_count):
    table = table.without_weightless_rows()
    if not table.rows:
        return
    model = Selective(
        AODE(min_count=min_count), direction=direction, criterion=criterion, non_worse=non_worse, roles=roles
    )
    model.fit(table.X, table.y, sample_weight=table.w)
    data = table.data()
    sets = [c for size in range(data.n + 1) for c in itertools.combinations(range(data.n), size)]
    states = list(itertools.product(sets, sets))
    if nearly_tied(data, states, lambda state: answer_of(state, min_count), criterion):
        return
    parents, children = plain_selection(data, roles, direction, criterion, non_worse, min_count)
    assert model.super_parents_ == tuple(f"x{i}" for i in parents)
    assert model.children_ == tuple(f"x{i}" for i in children)
    assert model.columns_ == tuple(f"x{i}" for i in sorted({*parents, *children}))
    found = answer_of((parents, children), min_count)
    expected = [oracle.posterior(data, found(data, x)) for x in data.rows]
    np.testing.assert_allclose(model.predict_proba(table.X), expected, atol=1e-12)
    np.testing.assert_allclose([model.predict_proba([x])[0] for x in table.X], expected, atol=1e-12)
    assert model.steps_[-1].value == pytest.approx(quality(data, found, criterion)[0], abs=1e-8)


@examples(10)
@given(table=tables(min_rows=4, max_rows=12, min_columns=2, max_columns=3))
def test_a_selected_average_leaves_rows_out_streams_and_explains_as_any_other(table):
    model = Selective(AODE(), roles="children").fit(table.X, table.y)
    model.refresh = 10**6  # the structure stays
    data, state = table.data(), (tuple(range(table.n)), tuple(int(name[1:]) for name in model.children_))
    rows = range(len(data.rows))
    expected = [oracle.posterior(data.without(r), answer_of(state)(data.without(r), data.rows[r])) for r in rows]
    np.testing.assert_allclose(model.leave_one_out(table.X, table.y), expected, atol=1e-12)
    if data.k > 1:
        told = model.explain([list(table.rows[0])])
        joint = model.predict_log_joint([list(table.rows[0])])[0]
        places = [model.class_codes[label] for label in (told.answer, told.against)]
        assert told.log_odds == pytest.approx(joint[places[0]] - joint[places[1]], abs=1e-9)
        assert told.prior + sum(part.log_odds for part in told.parts) == pytest.approx(told.log_odds, abs=1e-9)
    one_by_one = [model.predict_proba_one(row) for row in table.dicts()]
    np.testing.assert_allclose([list(p.values()) for p in one_by_one], model.predict_proba(table.X), atol=1e-12)


def test_noise_leaves_both_roles_and_files_keep_what_is_left(tmp_path):
    X, y = parity()
    model = Selective(AODE(), criterion="log_loss").fit(X, y)
    assert "x3" not in model.columns_
    assert [step.did for step in model.steps_[:2]] == ["start", "remove"]
    assert model.steps_[1].columns.endswith((" as parent", " as child"))
    model.save(tmp_path / "m.tanager")
    loaded = load(tmp_path / "m.tanager")
    assert (loaded.steps_, loaded.structure_) == (model.steps_, model.structure_)
    assert (loaded.super_parents_, loaded.children_) == (model.super_parents_, model.children_)
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()


def test_weighted_super_parents_keep_their_weights():
    X, y = parity()
    model = Selective(WAODE(), roles="parents", non_worse=True).fit(X, y)
    weights = dict(zip(WAODE().fit(X, y).structure_.members, WAODE().fit(X, y).structure_.weight, strict=True))
    form = model.structure_
    assert all(weight == weights[member] for member, weight in zip(form.members, form.weight, strict=True))


def test_best_first_finds_what_is_at_least_as_good():
    X, y = parity()
    greedy_one, patient = (
        Selective(AODE(), direction=way, criterion="log_loss").fit(X, y) for way in ("forward", "best_first")
    )
    assert patient.steps_[-1].value >= greedy_one.steps_[-1].value


def test_what_has_no_two_roles_is_refused_with_a_way_out():
    X, y = parity(20)
    with pytest.raises(OptionError, match="AODE and WAODE, and for products such as TAN"):
        Selective(A2DE()).fit(X, y)
    with pytest.raises(OptionError, match="AODE and WAODE, and for products such as TAN"):
        Selective(AnytimeAODE()).fit(X, y)
    with pytest.raises(OptionError, match=r"roles='parents': only averages over super-parents.*Leave roles out"):
        Selective(TAN(), roles="parents").fit(X, y)
    with pytest.raises(OptionError, match="roles='all' is not an option; choose one of 'either'"):
        Selective(AODE(), roles="all").fit(X, y)
    with pytest.raises(MemoryBudgetError, match="choosing super-parents and children among 4 columns over 200 rows"):
        Selective(AODE(), max_memory=20_000).fit(*parity())


def test_without_super_parents_it_is_naive_bayes_over_the_children():
    X, y = parity()
    X = [row[2:3] for row in X]
    model = Selective(AODE(), direction="forward", roles="children").fit(X, y)
    assert model.columns_ == ("x0",)
    only = Selective(AODE(min_count=1e9)).fit(X, y)
    np.testing.assert_allclose(only.predict_proba(X), NaiveBayes().fit(X, y).predict_proba(X), atol=1e-12)
