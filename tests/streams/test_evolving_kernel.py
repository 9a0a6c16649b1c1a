"""The kernel of evolving naive Bayes against its twin, and the laws that hold for any stream."""

import math

import numpy as np
import pytest
from evolving_twin import Twin
from hypothesis import given
from hypothesis import strategies as st

from tanager import _kernels

KINDS = ("promoted", "merged", "removed")


@st.composite
def streams(draw, max_rows=500):
    """Rows of clusters that move, with gaps, values that appear late, missing labels and weights."""
    n, q, k = draw(st.sampled_from([0, 1, 2, 3])), draw(st.integers(0, 2)), draw(st.sampled_from([2, 1, 3]))
    m = draw(st.sampled_from([1, 20, 300, max_rows]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))  # the cells themselves need no shrinking
    gaps, lost = (draw(st.sampled_from([0.0, 0.2])) for _ in range(2))
    noise, ends = draw(st.sampled_from([0.0, 0.3, 1.0])), draw(st.sampled_from([0.2, 1.0]))
    apart = draw(st.sampled_from([1.0, 3.0]))
    weights = draw(st.sampled_from([None, (1.0, 2.0), (0.0, 0.5, 1.0)]))
    speed = draw(st.sampled_from([0.0, 0.02]))
    labels = rng.integers(0, k, m)
    clusters = rng.integers(0, 2, m)
    centres = rng.normal(scale=apart, size=(k, 2, n + q))
    numbers = centres[labels, clusters, :n] + rng.normal(size=(m, n)) + speed * np.arange(m)[:, None]
    numbers[rng.random((m, n)) < gaps] = np.nan
    values = (np.abs(centres[labels, clusters, n:]) + rng.random((m, q))).astype(int) % 4
    values[rng.random((m, q)) < gaps] = 255
    labels = np.where((rng.random(m) < noise) & (np.arange(m) < ends * m), rng.integers(0, k, m), labels)
    labels = np.where(rng.random(m) < lost, 255, labels)
    w = None if weights is None else rng.choice(weights, m)
    return numbers, values.astype(np.uint8), labels.astype(np.uint8), w, k


@st.composite
def options(draw):
    """Guards that let much happen within a few hundred rows."""
    constant = {"alpha": 0.05, "constant_step": True}
    memory = draw(st.sampled_from([{}, {}, {"alpha": 0.02}, constant, {"window": 60}, {"window": 25}]))
    return memory | {
        "eta": draw(st.sampled_from([0.02, 0.1])),
        "max_loss": draw(st.sampled_from([0.05, 0.2, 0.4])),
        "wait": draw(st.sampled_from([5, 10, 20])),
        "min_hidden": draw(st.sampled_from([1.0, 5.0])),
        "max_pseudo": draw(st.integers(1, 4)),
        "ddof": draw(st.sampled_from([0, 1])),
        "prior_weight": draw(st.sampled_from([0.0, 1.0, 2.5])),
        "unlabelled": draw(st.sampled_from([0.0, 0.1])),
        "confidence": draw(st.sampled_from([0.6, 0.95])),
        "p_min": draw(st.sampled_from([0.005, 0.1])),
        "test": draw(st.booleans()),
        "simplify": draw(st.sampled_from([True, True, False])),
        "minimum": draw(st.sampled_from([False, False, True])),
    }


@st.composite
def densities(draw, stream):
    """The stream with numbers that some densities can have, and those densities."""
    numbers = stream[0].copy()
    chosen = draw(st.lists(st.sampled_from([0, 1, 2]), min_size=numbers.shape[1], max_size=numbers.shape[1]))
    for i, density in enumerate(chosen):
        if density:
            numbers[:, i] = np.abs(numbers[:, i])
        if density == 1:
            numbers[:, i] = np.floor(numbers[:, i])
    return (numbers, *stream[1:]), {"density": chosen}


def kernel_of(stream, chosen, announced=True):
    """A kernel that waits for the stream."""
    numbers, values, _, _, k = stream
    kernel = _kernels.Evolving([0] * values.shape[1], numbers.shape[1], k, chosen)
    kernel.announce(range(k) if announced else [])
    return kernel


def both(stream, chosen, costs=None, announced=True):
    """The kernel's and the twin's answers, and the two models."""
    numbers, values, labels, weights, k = stream
    n, q = numbers.shape[1], values.shape[1]
    kernel = kernel_of(stream, chosen, announced)
    twin = Twin(n, q, k, **chosen, costs=costs, announced=announced)
    if costs is not None:
        kernel.set_costs([cost for row in costs for cost in row])
    out = np.empty((len(numbers), k))
    kernel.learn(values, numbers, labels, weights, out)
    answers = []
    for r in range(len(numbers)):
        row = ([None if math.isnan(x) else x for x in numbers[r]], [None if v == 255 else int(v) for v in values[r]])
        weight = 1.0 if weights is None else weights[r]
        answers.append(twin.learn(row, None if labels[r] == 255 else int(labels[r]), weight))
    return kernel, out, twin, np.array(answers)


def assert_same(kernel, twin):
    state = kernel.state()
    pseudos = [(c, p) for c, own in enumerate(twin.classes) for p in [*(own.active or [twin.fresh()]), own.hidden]]
    assert state["label"].tolist() == [c for c, _ in pseudos]
    known = state["known"][state["label"]] == 1
    assert state["born"][known].tolist() == [p.born for c, p in pseudos if twin.classes[c].active]
    changes = zip(state["change_row"], state["change_kind"], state["change_label"], strict=True)
    assert [(row, KINDS[kind], label) for row, kind, label in changes] == twin.changes
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(state["prior"], [p.prior for _, p in pseudos], **close)
    np.testing.assert_allclose(state["loss"], [c.loss for c in twin.classes], **close)
    np.testing.assert_allclose(state["seen"], [p.seen for _, p in pseudos], **close)
    np.testing.assert_allclose(state["weight"], [m.weight for _, p in pseudos for m in p.numbers], **close)
    for name in ("mean", "squares", "variance"):
        theirs = [getattr(m, name) if m.weight > 0 else np.nan for _, p in pseudos for m in p.numbers]
        ours = np.where(state["weight"] > 0, state[name], np.nan)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-7 if twin.window else 1e-9)
    counts = [p.tables[i].counts.get(v, 0.0) for _, p in pseudos for i, a in enumerate(twin.n_values) for v in range(a)]
    np.testing.assert_allclose(state["counts"], counts, **close)


@given(streams(), options())
def test_the_kernel_is_its_twin(stream, chosen):
    kernel, out, twin, answers = both(stream, chosen)
    np.testing.assert_allclose(out, answers, rtol=1e-9, atol=1e-9)
    assert_same(kernel, twin)


@given(st.data(), streams(), options())
def test_with_other_densities_the_kernel_is_its_twin(data, stream, chosen):
    stream, density = data.draw(densities(stream))
    kernel, out, twin, answers = both(stream, chosen | density)
    np.testing.assert_allclose(out, answers, rtol=1e-9, atol=1e-9)
    assert_same(kernel, twin)


@given(streams(), options())
def test_with_classes_that_come_when_they_like_the_kernel_is_its_twin(stream, chosen):
    kernel, out, twin, answers = both(stream, chosen, announced=False)
    np.testing.assert_allclose(out, answers, rtol=1e-9, atol=1e-9)
    assert_same(kernel, twin)


@given(streams(), options(), st.sampled_from([1.0, 5.0]))
def test_with_costs_the_kernel_is_its_twin(stream, chosen, cost):
    k = stream[-1]
    costs = [[0.0 if t == c else cost if t > c else 1.0 for c in range(k)] for t in range(k)]
    kernel, out, twin, answers = both(stream, chosen, costs)
    np.testing.assert_allclose(out, answers, rtol=1e-9, atol=1e-9)
    assert_same(kernel, twin)


def test_a_stream_can_see_all_kinds_of_changes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1200).astype(np.uint8)
    numbers = rng.normal(size=(1200, 2))
    numbers[300:] += 4 * y[300:, None]  # nothing to go by at first
    kernel, _, twin, _ = both((numbers, np.zeros((1200, 0), np.uint8), y, None, 2), {"wait": 20, "p_min": 0.05})
    assert {what for _, what, _ in twin.changes} == set(KINDS)
    assert_same(kernel, twin)


@given(streams(), options())
def test_active_priors_sum_to_one_whatever_happens(stream, chosen):
    numbers, values, labels, weights, _ = stream
    kernel = kernel_of(stream, chosen)
    for r in range(0, len(numbers), 40):
        part = slice(r, r + 40)
        kernel.learn(values[part], numbers[part], labels[part], None if weights is None else weights[part])
        state = kernel.state()
        assert state["prior"][state["hidden"] == 0].sum() == pytest.approx(1.0, abs=1e-12)


@given(streams(), options(), st.integers(0, 400))
def test_a_model_that_was_put_away_goes_on_as_if_nothing_had_been(stream, chosen, cut):
    numbers, values, labels, weights, k = stream
    cut = min(cut, len(numbers))

    def learn(kernel, part):
        out = np.empty((len(numbers[part]), k))
        kernel.learn(values[part], numbers[part], labels[part], None if weights is None else weights[part], out)
        return out

    first, second = kernel_of(stream, chosen), kernel_of(stream, chosen)
    learn(first, slice(0, cut))
    second.set_state(first.state())
    np.testing.assert_array_equal(learn(first, slice(cut, None)), learn(second, slice(cut, None)))
    ours, theirs = first.state(), second.state()
    assert all(np.array_equal(ours[name], theirs[name], equal_nan=True) for name in ours)


@given(streams(), options())
def test_rows_one_by_one_are_the_block(stream, chosen):
    numbers, values, labels, weights, k = stream
    block, single = kernel_of(stream, chosen, announced=False), kernel_of(stream, chosen, announced=False)
    out = np.empty((len(numbers), k))
    block.learn(values, numbers, labels, weights, out)
    for r in range(len(numbers)):
        assert single.one(values[r], numbers[r]) == out[r].tolist()
        label = -1 if labels[r] == 255 else int(labels[r])
        single.learn_one(values[r], numbers[r], label, 1.0 if weights is None else weights[r])
    ours, theirs = block.state(), single.state()
    assert all(np.array_equal(ours[name], theirs[name], equal_nan=True) for name in ours)


@given(streams(), options())
def test_late_labels_are_answered_from_what_was_learned_before(stream, chosen):
    numbers, values, labels, weights, k = stream
    late, plain = kernel_of(stream, chosen), kernel_of(stream, chosen)
    m = len(numbers)
    ahead = np.minimum(np.arange(m) + 3, m - 1)
    out, score = np.empty((m, k)), np.empty((1, k))
    late.learn(values, numbers, labels, weights, out, values[ahead], numbers[ahead])
    for r in range(m):
        plain.score(values[ahead[r : r + 1]], numbers[ahead[r : r + 1]], score)
        assert score[0].tolist() == out[r].tolist()
        part = slice(r, r + 1)
        plain.learn(values[part], numbers[part], labels[part], None if weights is None else weights[part])


def test_a_state_with_foreign_numbers_is_refused():
    kernel = _kernels.Evolving([2], 1, 2, {})
    state = kernel.state()
    for name, wrong in [
        ("label", np.array([0, 0, 1, 5])),
        ("hidden", np.zeros(4, np.int64)),
        ("variance", np.zeros(4)),
        ("mean", np.full(4, np.nan)),
        ("prior", np.zeros(3)),
        ("n_values", np.array([70000])),
        ("clock", np.zeros(0)),
    ]:
        with pytest.raises(ValueError, match=r"state|part"):
            kernel.set_state({**state, name: wrong})
    kernel.set_state(state)


@pytest.mark.parametrize(
    ("codes", "numbers", "labels"),
    [
        (np.zeros((2, 1), np.uint8), np.zeros((3, 1)), np.zeros(2, np.uint8)),
        (np.zeros((2, 2), np.uint8), np.zeros((2, 1)), np.zeros(2, np.uint8)),
        (np.zeros((2, 1), np.uint8), np.zeros((2, 2)), np.zeros(2, np.uint8)),
        (np.zeros((2, 1), np.uint8), np.zeros((2, 1)), np.array([0, 7], np.uint8)),
        (np.zeros((2, 1), np.int32), np.zeros((2, 1)), np.zeros(2, np.uint8)),
    ],
)
def test_arrays_that_do_not_fit_are_refused_at_the_door(codes, numbers, labels):
    with pytest.raises(ValueError, match=r"must|have|label"):
        _kernels.Evolving([2], 1, 2, {}).learn(codes, numbers, labels)
