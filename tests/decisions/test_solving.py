"""The best policies are the best: beside all policies tried one by one, and beside known answers."""

import numpy as np
import pytest
from diagrams import (
    OIL,
    UMBRELLA,
    Configurations,
    best_by_enumeration,
    best_by_rollback,
    n_policies,
    random_diagram,
)
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import DataError, DecisionNetwork, MemoryBudgetError

FEW = 3000  # policies to try


def check_exact(diagram):
    solution = diagram.solve()
    best = best_by_rollback(diagram)
    np.testing.assert_allclose(solution.expected_utility, best, rtol=0, atol=1e-9)
    np.testing.assert_allclose(diagram.expected_utility(solution), best, rtol=0, atol=1e-9)
    assert solution.certain
    assert tuple(solution) == diagram.order
    few = n_policies(diagram) <= FEW
    if few:
        np.testing.assert_allclose(best_by_enumeration(diagram), best, rtol=0, atol=1e-9)
    return few


def check_limited(diagram):
    """Where the optimum is said to be certain it is the best of all; else no single policy can be improved."""
    if n_policies(diagram, limited_memory=True) > FEW:
        return False
    solution = diagram.solve(limited_memory=True)
    best = best_by_enumeration(diagram, limited_memory=True)
    np.testing.assert_allclose(diagram.expected_utility(solution), solution.expected_utility, rtol=0, atol=1e-9)
    if solution.certain:
        np.testing.assert_allclose(solution.expected_utility, best, rtol=0, atol=1e-9)
    else:
        assert solution.expected_utility <= best + 1e-9
        assert solution.expected_utility >= _best_change(diagram, solution) - 1e-8
    return True


def _best_change(diagram, solution):
    """The largest expected utility if one decision may depart from its policy, knowing its parents."""
    rows = Configurations(diagram)
    found = []
    for d in diagram.decisions:
        at, n = rows.contexts(diagram.parents(d))
        others = rows.follows(solution, but=d)
        mass = np.zeros((n, len(diagram.values(d))))
        np.add.at(mass, (at, rows.column(d)), rows.weight * rows.utility * others)
        found.append(mass.max(axis=1).sum())
    return max(found)


@examples(180)
@given(st.integers(0, 10**6))
def test_random_diagrams_are_solved_as_by_trying_every_policy(seed):
    check_exact(random_diagram(seed))


@examples(180)
@given(st.integers(0, 10**6))
def test_limited_memory_is_solved_as_by_trying_every_policy(seed):
    check_limited(random_diagram(seed))


@pytest.mark.long
def test_a_thousand_diagrams_are_solved_as_by_trying_every_policy():
    assert sum(check_exact(random_diagram(seed)) for seed in range(1600)) >= 1000


@pytest.mark.long
def test_a_thousand_diagrams_with_limited_memory():
    assert sum(check_limited(random_diagram(seed, n_decisions=(2, 3))) for seed in range(1400)) >= 1000


def test_a_diagram_that_is_not_soluble_is_said_to_be_so():
    """Two decisions that have to agree, and know nothing of each other: either agreement cannot be improved alone."""
    team = DecisionNetwork(
        {},
        {"left": ("a", "b"), "right": ("a", "b")},
        ["both"],
        [("left", "both"), ("right", "both")],
        {"both": [[1, 0], [0, 2]]},
        order=["left", "right"],
    )
    solution = team.solve(limited_memory=True)
    assert not solution.certain
    assert solution.rounds >= 2
    assert solution.expected_utility in (1, 2)
    assert team.solve().expected_utility == 2


@examples(60)
@given(st.integers(0, 10**6))
def test_gains_are_what_follows_from_a_choice(seed):
    diagram = random_diagram(seed)
    rows, solution = Configurations(diagram), diagram.solve()
    for d, policy in solution.items():
        at, _ = rows.contexts(policy.known)
        others = rows.follows(solution, but=d)
        for row in policy.table():
            cell = [policy.known[name].index(value) for name, value in row["known"].items()]
            here = others & (at == np.ravel_multi_index(cell, policy.choices.shape) if cell else at == 0)
            chosen = rows.column(d) == policy.options.index(row["choose"])
            reached = (rows.weight * (here & chosen)).sum()
            assert reached == pytest.approx(row["probability"], abs=1e-12)
            if reached > 1e-12:
                for option, gain in row["gains"].items():
                    assert rows.expected(here & (rows.column(d) == policy.options.index(option))) == pytest.approx(gain)
                assert row["expected_utility"] >= max(row["gains"].values()) - 1e-9


@examples(60)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_evidence_is_what_is_known_before_everything(seed, random):
    diagram = random_diagram(seed, n_decisions=(1, 2))
    if n_policies(diagram) > FEW:
        return
    evidence = {}
    for name in diagram.network.order():
        fixed = name in diagram.decisions or not any(
            d in diagram.network.ancestors(name) and d not in evidence for d in diagram.decisions
        )
        if fixed and random.random() < 0.4:
            evidence[name] = random.choice(diagram.values(name))
    if Configurations(diagram, evidence).weight.sum() == 0:
        with pytest.raises(DataError, match="probability 0"):
            diagram.solve(evidence=evidence)
        return
    found = diagram.solve(evidence=evidence)
    assert found.expected_utility == pytest.approx(best_by_enumeration(diagram, evidence=evidence), abs=1e-9)
    assert diagram.expected_utility(found, evidence) == pytest.approx(found.expected_utility, abs=1e-9)
    assert not set(evidence) & {name for policy in found.values() for name in policy.known}


# --- known answers ----------------------------------------------------------------------------------------------------


def test_the_oil_wildcatter():
    """Raiffa 1968: test, and drill unless there is no structure: 22.5; without the test 20; all known 55."""
    solution = OIL.solve()
    assert solution.expected_utility == pytest.approx(22.5, abs=1e-12)
    assert solution["test"].rules() == "always: yes"
    assert solution["drill"].choose({"test": "yes", "seismic": "no structure"}) == "no"
    assert solution["drill"].choose({"test": "yes", "seismic": "open"}) == "yes"
    assert solution["drill"].choose({"test": "yes", "seismic": "closed"}) == "yes"
    assert OIL.expected_utility(evidence={"test": "no"}) == pytest.approx(20.0)
    assert OIL.expected_utility(evidence={"test": "yes", "seismic": "closed"}) == pytest.approx(77.5)
    assert OIL.value_of_information("oil") == pytest.approx(55 - 22.5)


def test_policies_are_the_best_also_where_they_do_not_lead():
    dear = OIL.with_tables({"cost": [0, -1000]}).solve()
    assert dear["test"].rules() == "always: no"
    assert dear["drill"].rules() == "if seismic = none or open or closed: yes\nif seismic = no structure: no"
    assert dear["drill"].rules(reached=True) == "always: yes"


def test_the_umbrella():
    """The example that Netica and GeNIe come with: 77; without the forecast 70; with the weather itself known 91."""
    solution = UMBRELLA.solve()
    assert solution.expected_utility == pytest.approx(77.0, abs=1e-12)
    assert solution["umbrella"].rules() == "if forecast = sunny or cloudy: leave at home\nif forecast = rainy: take it"
    blind = UMBRELLA.remove("forecast", "umbrella")
    assert blind.solve().expected_utility == pytest.approx(70.0)
    assert blind.information_values() == pytest.approx({"weather": 21.0, "forecast": 7.0})
    assert UMBRELLA.value_of_information("weather") == pytest.approx(14.0)


def test_a_problem_of_two_stages():
    """On paper: ask (price 1) if the first look is bad; a bad second look stops it.

    good 0.5; two looks that are right with 0.8, the second if asked for; go: +10 if good, -10 if bad; stop: 0.
    After a good first look: go for 6 without asking; asking gives 0.68 * (0.9412 * 20 - 10) - 1 = 5, which is worse.
    After a bad one: stopping gives 0; asking gives 0.32 * (0.5 * 20 - 10) - 1 = -1, which is worse.
    """
    diagram = DecisionNetwork(
        {"state": ("good", "bad"), "first": ("good", "bad"), "second": ("none", "good", "bad")},
        {"ask": ("no", "yes"), "go": ("no", "yes")},
        ["price", "gain"],
        [
            ("state", "first"),
            ("first", "ask"),
            ("state", "second"),
            ("ask", "second"),
            ("second", "go"),
            ("ask", "price"),
            ("state", "gain"),
            ("go", "gain"),
        ],
        {
            "state": [0.5, 0.5],
            "first": [[0.8, 0.2], [0.2, 0.8]],
            "second": [[[1, 0, 0], [0, 0.8, 0.2]], [[1, 0, 0], [0, 0.2, 0.8]]],
            "price": [0, -1],
            "gain": [[0, 10], [0, -10]],
        },
        order=["ask", "go"],
    )
    solution = diagram.solve()
    assert solution.expected_utility == pytest.approx(3.0)
    assert solution["ask"].rules() == "always: no"
    assert solution["ask"].gains.tolist() == [pytest.approx([6, 5]), pytest.approx([0, -1])]
    assert solution["go"].choose({"first": "good", "ask": "yes", "second": "bad"}) == "no"
    assert solution["go"].choose({"first": "good", "ask": "no", "second": "none"}) == "yes"
    forgetful = diagram.solve(limited_memory=True)
    assert "first" not in forgetful["go"].known
    assert forgetful.expected_utility <= 3.0


def test_of_two_equal_options_the_first_is_taken():
    for options in (("a", "b"), ("b", "a")):
        diagram = DecisionNetwork(
            {"x": (0, 1)}, {"d": options}, ["u"], [("x", "u"), ("x", "d"), ("d", "u")],
            {"x": [0.1, 0.9], "u": [[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2]]},
        )  # fmt: skip
        assert diagram.solve()["d"].rules() == f"always: {options[0]}"


def test_what_makes_no_difference_is_dropped():
    noise = OIL.with_chance("moon", ("full", "new"), (), [0.5, 0.5]).add("moon", "drill")
    policy = noise.solve()["drill"]
    assert "moon" in policy.irrelevant
    assert "moon" not in policy.known
    assert noise.solve().expected_utility == pytest.approx(22.5)


def test_large_memory_is_refused_before_it_is_used():
    n = 40
    wide = DecisionNetwork(
        {f"x{i}": (0, 1) for i in range(n)},
        {"d": (0, 1)},
        ["u"],
        [(f"x{i}", "d") for i in range(n)] + [(f"x{i}", "x0") for i in range(1, 3)] + [("x0", "u"), ("d", "u")],
    )
    assert wide.information("d")
    tables = {f"x{i}": [0.5, 0.5] for i in range(1, n)} | {"x0": np.full((2, 2, 2), 0.5), "u": [[0, 1], [1, 0]]}
    assert wide.with_tables(tables).solve()["d"].known == {"x0": (0, 1)}
    many = [f"y{i}" for i in range(30)]
    grown = wide.with_tables(tables)
    for name in many:
        grown = grown.with_chance(name, (0, 1), ("x0",), [[0.5, 0.5], [0.4, 0.6]]).add(name, "d")
    with pytest.raises(MemoryBudgetError, match="limited_memory"):
        grown.remove("x0", "d").solve()


def test_a_sum_of_many_small_utilities_is_solved_quickly():
    """A chain of twenty decisions, each of which knows the state before it: tables stay small."""
    n = 20
    chance = {f"s{i}": (0, 1, 2) for i in range(n + 1)}
    decisions = {f"d{i}": (0, 1) for i in range(n)}
    arcs = [arc for i in range(n) for arc in ((f"s{i}", f"d{i}"), (f"s{i}", f"s{i + 1}"), (f"d{i}", f"s{i + 1}"))]
    arcs += [arc for i in range(n) for arc in ((f"s{i}", f"u{i}"), (f"d{i}", f"u{i}"))]
    rng = np.random.default_rng(0)
    step, gain = rng.dirichlet([1, 1, 1], (3, 2)), rng.normal(size=(3, 2))
    tables = {"s0": [0.2, 0.3, 0.5]} | {f"s{i + 1}": step for i in range(n)} | {f"u{i}": gain for i in range(n)}
    chain = DecisionNetwork(chance, decisions, [f"u{i}" for i in range(n)], arcs, tables)
    value = np.zeros(3)  # Bellman's equation, backwards
    for _ in range(n):
        value = (gain + step @ value).max(axis=1)
    solution = chain.solve()
    assert solution.expected_utility == pytest.approx(value @ [0.2, 0.3, 0.5], abs=1e-9)
    assert all(set(policy.known) == {f"s{i}"} for i, policy in enumerate(solution.values()))
