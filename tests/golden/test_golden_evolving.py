"""Moments, forgetting, promotion and costs with numbers worked out by hand (a spreadsheet gives the same)."""

import numpy as np
import pytest

from tanager import EvolvingNaiveBayes, _kernels

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


def test_equation_8_to_the_letter():
    # From N(0, 1), 10.5 twice with a step of 0.1: 1.05, then 0.9 * 1.05 + 1.05 = 1.995.
    # Variances 0.9 * (1 + 0.1 * 10.5^2) = 10.8225, then 0.9 * (10.8225 + 0.1 * 9.45^2) = 17.777475.
    model = EvolvingNaiveBayes(alpha=0.1, step="constant", scale="unit").fit([[10.5], [10.5]], ["a", "a"])
    state = model._kernel.state()
    assert state["mean"][0] == pytest.approx(1.995, rel=1e-14)
    assert state["variance"][0] == pytest.approx(17.777475, rel=1e-14)
    warm = EvolvingNaiveBayes(alpha=0.1, scale="unit").fit([[10.5], [10.5]], ["a", "a"])._kernel.state()
    assert warm["mean"][0] == pytest.approx(10.5 * 1.9 / 2.71)  # weights 1, 0.9 + 1, 0.81 + 0.9 + 1


def test_equation_8_for_priors_and_values():
    # Priors from 1/2: "a" three times gives 1 - 0.5 * 0.9^3. Values from 1/2: "u", "u", "v" in class a give
    # P(u) = 0.55, 0.595, 0.5355.
    model = EvolvingNaiveBayes(alpha=0.1, step="constant", max_pseudo=1)
    model.partial_fit([["u"], ["u"], ["v"]], ["a", "a", "a"], classes=["a", "b"])
    first, second = model.pseudo_classes_
    assert (first.prior, second.prior) == pytest.approx((0.6355, 0.3645))
    assert first.tables["x0"] == pytest.approx({"u": 0.5355, "v": 0.4645})
    assert second.tables["x0"] == pytest.approx({"u": 0.5, "v": 0.5})


def test_given_pseudo_classes():
    # Six rows: a has 1, 3 (u) and 10, 12 (v), b has 5, 7 (w). Every class starts with one row, which u and v share:
    # priors 2.5 / 8, 2.5 / 8 and 3 / 8; means 2, 11, 6; variances 1.
    X, y = [[1.0], [3.0], [10.0], [12.0], [5.0], [7.0]], ["a", "a", "a", "a", "b", "b"]
    model = EvolvingNaiveBayes(prior_weight=0, numeric=["x0"]).fit(X, y, pseudo_classes=["u", "u", "v", "v", "w", "w"])
    found = [(p.prior, p.means["x0"], p.spreads["x0"]) for p in model.pseudo_classes_]
    for own, want in zip(found, [(0.3125, 2, 1), (0.3125, 11, 1), (0.375, 6, 1)], strict=True):
        assert own == pytest.approx(want, rel=1e-14)
    # At 4: exp(-2) from u, exp(-24.5) from v, exp(-2) from w, so 5/11 and 6/11 up to the part of v.
    part = 0.3125 * (np.exp(-2) + np.exp(-24.5))
    assert model.predict_proba([[4.0]])[0, 0] == pytest.approx(part / (part + 0.375 * np.exp(-2)), rel=1e-14)


def test_poisson_and_exponential_columns():
    # a: counts 1, 3 and waits 2, 4; b: counts 6, 6 and waits 1, 1. Means 2 and 3; 6 and 1. Priors are even.
    # At (4, 2): a 2^4 e^-2 * e^(-2/3) / 3, b 6^4 e^-6 * e^-2; 4! is shared.
    X = [{"n": 1, "t": 2.0}, {"n": 3, "t": 4.0}, {"n": 6, "t": 1.0}, {"n": 6, "t": 1.0}]
    density = {"n": "poisson", "t": "exponential"}
    model = EvolvingNaiveBayes(density=density, prior_weight=0).fit(X, ["a", "a", "b", "b"])
    a, b = 2**4 * np.exp(-2) * np.exp(-2 / 3) / 3, 6**4 * np.exp(-6) * np.exp(-2)
    assert model.predict_proba_one({"n": 4, "t": 2.0})["a"] == pytest.approx(a / (a + b))
    # Fuzzy sets: the likeliest counts are 2 (of mean 2) and 6; degrees of 4 are 2^4/4! / (2^2/2!) = 1/3 and
    # 6^4/4! / (6^6/6!) = 5/6; of the waits e^(-2/3) = .513 and e^-2 = .135. The least are 1/3 and e^-2.
    least = EvolvingNaiveBayes(density=density, prior_weight=0, join="min").fit(X, ["a", "a", "b", "b"])
    answer = least.predict_proba_one({"n": 4, "t": 2.0})["a"]
    assert answer == pytest.approx((1 / 3) / (1 / 3 + np.exp(-2)))


def test_distances_of_densities():
    # Two pseudo-classes are merged where their distance is below 0.05 per column. Poisson, means 4 and 5.8:
    # (2 - 2.408)^2 / 2 = 0.083, not merged; 4 and 5.2: 0.0392, merged. Exponential, means 1 and 2:
    # ln(3 / (2 sqrt 2)) = 0.0589, not merged; 1 and 1.8: 0.0426, merged.
    for density, mean, other, merged in [(1, 4, 5.8, 0), (1, 4, 5.2, 1), (2, 1, 2, 0), (2, 1, 1.8, 1)]:
        options = {"density": [density], "prior_weight": 0.0, "wait": 1, "max_loss": 1.0, "p_min": 0.0}
        kernel = _kernels.Evolving([], 1, 1, options)
        kernel.announce([0])
        state = kernel.state()
        means = np.array([mean, other, 1.0])
        numbers = {"label": [0] * 3, "hidden": [0, 0, 1], "born": [0, 1, -1], "since": [0] * 3, "last": [0] * 3}
        numbers |= {
            "prior": [0.5, 0.5, 0.0],
            "seen": [9, 9, 0],
            "weight": [9, 9, 0],
            "mean": means,
            "squares": [9.0] * 3,
        }
        numbers |= {"variance": means if density == 1 else means**2, "counters": [1, 10, 2, 0]}
        kernel.set_state({**state, **{name: np.array(v, dtype=state[name].dtype) for name, v in numbers.items()}})
        kernel.learn_one(np.zeros(0, np.uint8), np.full(1, np.nan), 0)
        assert len(kernel.state()["change_kind"]) == merged, (density, mean, other)
