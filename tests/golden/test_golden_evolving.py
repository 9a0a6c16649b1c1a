"""Moments, forgetting, promotion and costs with numbers worked out by hand (a spreadsheet gives the same)."""

import numpy as np
import pytest

from tanager import _kernels

VALUES = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]


def learned(values, **options):
    """The only class's only pseudo-class after these numbers."""
    kernel = _kernels.Evolving([], 1, 1, options)
    kernel.learn(np.zeros((len(values), 0), np.uint8), np.array(values)[:, None], np.zeros(len(values), np.uint8))
    state = kernel.state()
    return {name: state[name][0] for name in ("weight", "mean", "squares", "variance")}


def test_mean_and_variance_of_eight_values():
    found = learned(VALUES, prior_weight=0.0, ddof=1)
    assert found["mean"] == pytest.approx(5)
    assert found["variance"] == pytest.approx(4.571429, abs=5e-7)
    assert found["squares"] / found["weight"] == pytest.approx(4)


def test_a_constant_step_started_at_the_first_value():
    # A weight of 1 / alpha stays what it is: every step is alpha, as in eq. (8).
    found = learned(VALUES[1:], alpha=0.2, prior_weight=5.0, means=[VALUES[0]], variances=[0.0])
    assert found["weight"] == pytest.approx(5)
    assert found["mean"] == pytest.approx(5.290970, abs=5e-7)
    assert found["variance"] == pytest.approx(5.842658, abs=5e-7)


def test_large_values_keep_their_small_spread():
    found = learned([1e9 + d for d in (4, 7, 13, 16)], prior_weight=0.0, ddof=1)
    assert found["variance"] == pytest.approx(30, rel=1e-9)  # eq. (7) as printed gives -170.67


def test_a_value_that_leaves_the_window():
    # The window holds the other seven; 9 came first and is taken away again.
    found = learned([9.0, *VALUES[:-1]], window=7, prior_weight=0.0)
    assert found["weight"] == 7
    assert found["mean"] == pytest.approx(4.428571, abs=5e-7)
    assert found["squares"] == pytest.approx(13.714286, abs=5e-7)


def test_two_pseudo_classes_become_one():
    # The first three values and the last five, joined: W 8, mean 5, S 32.
    kernel = _kernels.Evolving([], 1, 1, {"prior_weight": 0.0, "wait": 1, "max_loss": 1.0, "p_min": 0.0})
    kernel.announce([0])
    state = kernel.state()
    pieces = [VALUES[:3], VALUES[3:], []]
    means = [float(np.mean(piece)) if piece else 0.0 for piece in pieces]
    squares = [sum((x - mean) ** 2 for x in piece) for piece, mean in zip(pieces, means, strict=True)]
    numbers = {"label": [0] * 3, "hidden": [0, 0, 1], "born": [0, 1, -1], "since": [0] * 3, "last": [0] * 3}
    numbers |= {"prior": [0.4, 0.6, 0.0], "seen": [3, 5, 0], "weight": [3, 5, 0], "mean": means, "squares": squares}
    numbers |= {"variance": [40.0, 40.0, 1.0], "counters": [1, 10, 2, 0]}
    kernel.set_state({**state, **{name: np.array(v, dtype=state[name].dtype) for name, v in numbers.items()}})
    nothing = np.full(1, np.nan)  # a row without a value brings the merge and changes no moment
    kernel.learn_one(np.zeros(0, np.uint8), nothing, 0)
    after = kernel.state()
    assert after["change_kind"].tolist() == [1]
    assert after["weight"][0] == 8
    assert after["mean"][0] == pytest.approx(5)
    assert after["squares"][0] == pytest.approx(32)


def test_priors_after_a_promotion():
    # Active 0.3 and 0.1, hidden 0.05: beta = 0.4 / 0.45. The step of the row itself is all but 0.
    kernel = _kernels.Evolving([], 0, 2, {"wait": 1, "eta": 1.0, "min_hidden": 1.0, "simplify": False})
    kernel.announce([0, 1])
    state = kernel.state()
    numbers = {"label": [0, 0, 0, 1, 1], "hidden": [0, 0, 1, 0, 1], "born": [0, 2, -1, 1, -1]}
    numbers |= {name: [0] * 5 for name in ("since", "last")}
    numbers |= {
        "prior": [0.3, 0.1, 0.05, 0.6, 0.0],
        "seen": [3, 1, 1, 6, 0],
        "clock": [1e15],
        "counters": [0, 10, 3, 0],
    }
    kernel.set_state({**state, **{name: np.array(v, dtype=state[name].dtype) for name, v in numbers.items()}})
    kernel.learn_one(np.zeros(0, np.uint8), np.zeros(0), 0)  # answered with the larger class: wrong
    after = kernel.state()
    assert after["prior"][:4] == pytest.approx([0.266667, 0.088889, 0.044444, 0.0], abs=1e-6)
    assert after["prior"][:3].sum() == pytest.approx(0.4)


def test_costs_turn_the_decision():
    # L = (0.02, 0.01), K = [[0, 1], [5, 0]]: losses 0.05 and 0.02, so the answer is class 1 though 0 is likelier.
    kernel = _kernels.Evolving([], 0, 2, {"eta": 1.0})
    kernel.announce([0, 1])
    state = kernel.state()
    kernel.set_state({**state, "prior": np.array([2 / 3, 0.0, 1 / 3, 0.0]), "clock": np.array([1e15])})
    assert kernel.one(np.zeros(0, np.uint8), np.zeros(0)) == pytest.approx([2 / 3, 1 / 3])
    kernel.set_costs([0.0, 1.0, 5.0, 0.0])
    kernel.learn_one(np.zeros(0, np.uint8), np.zeros(0), 0)
    assert kernel.state()["loss"].tolist() == [1.0, 0.0]  # K[0][1]: it was answered with class 1
