"""What information is worth, and how much depends on a number."""

from itertools import pairwise

import numpy as np
import pytest
from diagrams import OIL, UMBRELLA, Configurations, random_diagram
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import TAN, DecisionNetwork, NaiveBayes

BLIND = UMBRELLA.remove("forecast", "umbrella")


@examples(40)
@given(st.integers(0, 10**6))
def test_information_is_never_worth_less_than_nothing_and_the_state_is_worth_most(seed):
    diagram = random_diagram(seed, n_decisions=(1, 2))
    now = diagram.solve().expected_utility
    for name, value in diagram.information_values().items():
        assert value >= 0
        assert diagram.value_of_information(name) == value
        informed = diagram.add(name, diagram.order[0]).solve().expected_utility
        assert informed == pytest.approx(now + value, abs=1e-9)


def test_tests_are_compared_by_what_is_left_of_their_value():
    rows = BLIND.compare_tests({"forecast": 2, "weather": 20})
    assert [(row.name, row.price, row.worth_it) for row in rows] == [("forecast", 2, True), ("weather", 20, True)]
    assert [row.net for row in rows] == pytest.approx([5.0, 1.0])
    assert not BLIND.compare_tests({"forecast": 8})[0].worth_it


@examples(30)
@given(st.integers(0, 10**6))
def test_a_policy_stays_the_best_inside_its_range_and_not_beyond(seed):
    diagram = random_diagram(seed, n_chance=(1, 3), n_decisions=(1, 2), n_utilities=(1, 1))
    solution = diagram.solve()
    for row in diagram.utility_ranges()[:4]:
        at = tuple(diagram.values(name).index(value) for name, value in row.cell.items())
        assert row.low <= row.number + 1e-9
        assert row.high >= row.number - 1e-9

        def loss(x, at=at):
            """By how much the old policy is worse than the best one."""
            cells = np.array(diagram.tables["u0"])
            cells[at] = x
            changed = diagram.with_tables({"u0": cells})
            return changed.solve().expected_utility - changed.expected_utility(solution)

        for end, out in ((row.low, -1), (row.high, 1)):
            if np.isfinite(end):
                assert loss(end) == pytest.approx(0, abs=1e-6)
                assert loss(end + out * 10) > 0
            else:
                assert loss(row.number + out * 1000) == pytest.approx(0, abs=1e-6)


@examples(30)
@given(st.integers(0, 10**6))
def test_the_largest_expected_utility_is_linear_between_its_corners(seed):
    diagram = random_diagram(seed, n_chance=(1, 3), n_decisions=(1, 2), n_utilities=(1, 1))
    cell = {name: diagram.values(name)[0] for name in diagram.parents("u0")}
    corners = diagram.utility_curve("u0", cell, -50, 50)
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(corners)]
    assert slopes == sorted(slopes)
    cells = np.array(diagram.tables["u0"])
    for x in np.linspace(-50, 50, 23):
        cells[(0,) * cells.ndim] = x
        value = diagram.with_tables({"u0": cells}).solve().expected_utility
        assert np.interp(x, *zip(*corners, strict=True)) == pytest.approx(value, abs=1e-7)


def test_the_tornado_has_what_matters_most_first():
    rows = UMBRELLA.tornado(0.1)
    assert [row.width for row in rows] == sorted((row.width for row in rows), reverse=True)
    first = rows[0]
    assert first.cell == {"weather": "no rain", "umbrella": "leave at home"}
    assert (first.utility_at_low, first.utility_at_high) == pytest.approx((70.7, 83.3))
    assert len(OIL.tornado()) == 8


# --- cost-sensitive classification ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [NaiveBayes, TAN])
@examples(30)
@given(seed=st.integers(0, 10**6))
def test_a_diagram_of_costs_decides_as_the_classifier_does(make, seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    y = np.array(["a", "b", "c"])[rng.integers(0, k, 60)]
    X = [[f"v{(ord(label) + rng.integers(0, 2)) % 3}" for _ in range(3)] for label in y]
    costs = rng.integers(0, 9, (len(set(y)), len(set(y))))
    model = make(cost_matrix=costs).fit(X, y)
    diagram = DecisionNetwork.from_costs(model.network_, "class", costs)
    policy = diagram.solve()["answer"]
    proba = model.predict_proba(X)
    for row, p, answer in zip(X, proba, model.predict(X), strict=True):
        loss = p @ costs
        chosen = policy.choose({f"x{i}": value for i, value in enumerate(row)})
        if np.isclose(np.sort(loss)[0], np.sort(loss)[1]):  # a tie: here the first class, there the one with more rows
            assert loss[list(model.classes_).index(chosen)] == pytest.approx(loss.min())
        else:
            assert chosen == answer


def test_costs_are_expected_utilities_with_another_sign():
    X, y = [["sun"], ["sun"], ["rain"], ["rain"]], ["play", "play", "stay", "play"]
    model = NaiveBayes().fit(X, y)
    diagram = DecisionNetwork.from_costs(model.network_, "class", [[0, 1], [5, 0]])
    rows = Configurations(diagram)
    assert diagram.solve().expected_utility == pytest.approx(
        -(rows.weight * rows.follows(diagram.solve()) * -rows.utility).sum()
    )
