"""Streams: rows that depend on their number alone, effects that are what they say, and the best possible answers."""

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_rows import joint, plain_posterior

from strategies import networks
from tanager import NaiveBayes, Network, OptionError, SchemaMismatch, generate
from tanager.generate.stream import BLOCK, model_rng

SMALL = generate.ban(n_columns=3, n_values=(2, 3, 2), n_arcs=5, n_classes=3, random_state=4)


def agree(found, expected, n):
    """Shares within five standard deviations."""
    expected = np.asarray(expected)
    return (np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / n) + 1e-12).all()


# --- rows ---------------------------------------------------------------------------------------------------


@given(st.integers(1, 300), st.integers(1, 300), st.integers(0, 300))
def test_rows_depend_on_their_number_alone(n_rows, size, start):
    stream = generate.naive_bayes(2, random_state=5).noise(0.1).missing(0.1)
    with mock.patch("tanager.generate.stream.BLOCK", 64):
        X, y = stream.take(n_rows, start)
        whole, labels = stream.take(600)
        chunks = list(stream.chunks(n_rows, size, start))
        b, first = divmod(start + n_rows - 1, 64)
        np.testing.assert_array_equal(stream.block(b)[0][first], X[-1])
    np.testing.assert_array_equal(whole[start : start + n_rows], X)
    np.testing.assert_array_equal(labels[start : start + n_rows], y)
    assert [len(part) for _, part in chunks[:-1]] == [size] * (len(chunks) - 1)
    np.testing.assert_array_equal(np.concatenate([part for part, _ in chunks]), X)
    np.testing.assert_array_equal(np.concatenate([part for _, part in chunks]), y)


def test_single_rows_are_those_of_the_arrays():
    stream = generate.tan(4, 3, random_state=2).missing(0.2).irrelevant(1)
    X, y = stream.take(200)
    rows = list(itertools.islice(stream, 200))
    assert [list(row) for row, _ in rows[:2]] == [["x1", "x2", "x3", "x4", "irrelevant1"]] * 2
    assert [[255 if v is None else v for v in row.values()] for row, _ in rows] == X.tolist()
    assert [label for _, label in rows] == y.tolist()
    assert {type(v) for row, _ in rows for v in row.values()} == {int, type(None)}


def test_blocks_and_models_of_other_seeds_differ():
    a, b = generate.tan(random_state=1), generate.tan(random_state=2)
    assert a.network != b.network
    assert (a.block(0)[0] != a.block(1)[0]).any()
    again = generate.tan(random_state=1)
    assert again.network == a.network
    np.testing.assert_array_equal(again.block(7)[0], a.block(7)[0])
    assert generate.tan(random_state=None).network != generate.tan(random_state=None).network


def test_a_model_is_not_made_of_the_numbers_that_make_its_rows():
    """To NumPy the seeds 3 and (3, 0) are the same."""
    _, rng = model_rng(3)
    rows = [np.random.default_rng(np.random.SeedSequence((3, b))).random(4) for b in range(3)]
    assert not np.isin(rng.random(4), rows).any()


def test_effects_leave_the_rows_behind_them_as_they_were():
    stream = generate.tan(random_state=3)
    X, y = stream.block(0)
    shown, labels = stream.missing(0.5).block(0)
    np.testing.assert_array_equal(np.where(shown == 255, X, shown), X)
    np.testing.assert_array_equal(labels, y)


def test_effects_may_be_called_in_any_order():
    calls = {
        "noise": lambda s: s.noise(0.1, flip=True),
        "missing": lambda s: s.missing(0.1, how="mar"),
        "class_noise": lambda s: s.class_noise(0.2),
        "imbalanced": lambda s: s.imbalanced([0.5, 0.2, 0.3]),
        "irrelevant": lambda s: s.irrelevant(2),
    }
    made = set()
    for order in itertools.permutations(calls.values()):
        stream = SMALL
        for call in order:
            stream = call(stream)
        made.add(stream)
    assert len(made) == 1


# --- what comes out -----------------------------------------------------------------------------------------


def test_configurations_come_as_often_as_the_model_says():
    X, y = SMALL.take(300_000)
    codes = np.ravel_multi_index((y, *X.T), (3, 2, 3, 2))
    found = np.bincount(codes, minlength=36) / len(y)
    assert agree(found, list(joint(SMALL.network, "class").values()), len(y))


def test_noise_replaces_cells_or_flips_them():
    X, _ = SMALL.take(BLOCK)
    replaced, flipped = (SMALL.noise(0.3, flip=flip).take(BLOCK)[0] for flip in (False, True))
    assert agree((replaced != X).mean(axis=0), [0.3 / 2, 0.3 * 2 / 3, 0.3 / 2], BLOCK)
    assert agree((flipped != X).mean(axis=0), [0.3, 0.3, 0.3], BLOCK)
    assert replaced.max(axis=0).tolist() == flipped.max(axis=0).tolist() == [1, 2, 1]
    new = flipped[(X[:, 1] == 0) & (flipped[:, 1] != 0), 1]
    assert agree((new == 1).mean(), 0.5, len(new))


def test_wrong_labels_are_any_of_the_others():
    _, y = SMALL.take(BLOCK)
    _, labels = SMALL.class_noise(0.2).take(BLOCK)
    assert agree((labels != y).mean(), 0.2, BLOCK)
    new = labels[(y == 1) & (labels != 1)]
    assert agree((new == 0).mean(), 0.5, len(new))


def test_cells_are_missing_everywhere_alike_or_by_class():
    X, _ = SMALL.missing(0.1).take(BLOCK)
    assert agree((X == 255).mean(axis=0), [0.1] * 3, BLOCK)
    X, y = SMALL.missing(0.1, how="mar").take(BLOCK)
    for c, rate in enumerate((0.0, 0.1, 0.2)):
        assert agree((X[y == c] == 255).mean(axis=0), [rate] * 3, (y == c).sum())


def test_irrelevant_columns_have_to_do_with_nothing():
    X, y = SMALL.irrelevant(3).take(BLOCK)
    np.testing.assert_array_equal(X[:, :3], SMALL.take(BLOCK)[0])
    for column in X[:, 3:].T:
        for c in range(3):
            assert agree(column[y == c].mean(), 0.5, (y == c).sum())


def test_shares_of_classes_change_and_rows_within_a_class_do_not():
    shares = [0.7, 0.05, 0.25]
    X, y = SMALL.imbalanced(shares).take(300_000)
    assert agree(np.bincount(y) / len(y), shares, len(y))
    cells = joint(SMALL.network, "class")
    for c in range(3):
        own = np.array([p for cell, p in cells.items() if cell[0] == c])
        found = np.bincount(np.ravel_multi_index(X[y == c].T, (2, 3, 2)), minlength=12) / (y == c).sum()
        assert agree(found, own / own.sum(), (y == c).sum())


# --- what is known ------------------------------------------------------------------------------------------

EFFECTS = {
    "none": ({}, lambda s: s),
    "noise": ({"noise": 0.2}, lambda s: s.noise(0.2)),
    "flips": ({"noise": 0.6, "flip": True}, lambda s: s.noise(0.6, flip=True)),
    "missing": ({"missing": [0.3] * 3}, lambda s: s.missing(0.3)),
    "missing by class": ({"missing": [0.0, 0.3, 0.6]}, lambda s: s.missing(0.3, how="mar")),
    "labels": ({"class_noise": 0.1}, lambda s: s.class_noise(0.1)),
    "shares": ({"shares": [0.6, 0.1, 0.3]}, lambda s: s.imbalanced([0.6, 0.1, 0.3])),
    "all": (
        {"noise": 0.2, "class_noise": 0.1, "shares": [0.6, 0.1, 0.3], "missing": [0.0, 0.3, 0.6]},
        lambda s: s.noise(0.2).class_noise(0.1).missing(0.3, how="mar").imbalanced([0.6, 0.1, 0.3]),
    ),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_the_posterior_is_that_of_going_through_all_rows_behind_a_row(name):
    options, change = EFFECTS[name]
    stream = change(SMALL)
    X, _ = stream.take(20)
    expected = [plain_posterior(joint(SMALL.network, "class"), row, (3, 2, 3, 2), **options) for row in X]
    np.testing.assert_allclose(stream.posterior(X), expected, rtol=1e-9)


@given(networks(min_variables=2, max_variables=4, min_values=2), st.integers(0, 3), st.sampled_from([0.0, 0.3]))
def test_the_class_may_stand_anywhere_in_a_network(network, place, noise):
    target = network.names[place % len(network)]
    stream = generate.from_network(network, target).noise(noise).missing(0.3)
    X, _ = stream.take(5)
    sizes = [len(stream.classes), *(len(column.values) for column in stream.columns)]
    cells = joint(network, target)
    expected = [plain_posterior(cells, row, sizes, noise=noise, missing=[0.3] * sizes[0]) for row in X]
    np.testing.assert_allclose(stream.posterior(X), expected, rtol=1e-9)


def test_nobody_beats_the_posterior_and_it_is_honest():
    stream = generate.tan(6, random_state=8).noise(0.1).missing(0.1).irrelevant(2)
    X, y = stream.take(100_000)
    shares = stream.posterior(X)
    right = (shares.argmax(axis=1) == y).mean()
    assert abs(right - stream.accuracy(100_000)) < 5 * np.sqrt(0.25 / len(y))
    assert right >= NaiveBayes().fit(X, y).score(X, y) - 1e-3
    sure = shares.max(axis=1) > 0.9
    assert abs((shares.argmax(axis=1) == y)[sure].mean() - shares[sure].max(axis=1).mean()) < 0.01


def test_many_columns_do_not_underflow():
    stream = generate.naive_bayes(600, 4, n_classes=3, random_state=1).noise(0.9)
    shares = stream.posterior(np.random.default_rng(0).integers(0, 4, (50, 600), dtype=np.uint8))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares.max(axis=1) < 1).any()


def test_networks_too_dense_to_sum_out_have_no_posterior_under_noise():
    stream = generate.ban(400, 8, n_columns=60, random_state=1)
    X, _ = stream.take(5)
    assert stream.posterior(X) is not None
    assert stream.noise(0.1).posterior(X) is None
    assert stream.noise(0.1).accuracy(5) is None


def test_a_row_that_cannot_be_gets_equal_shares():
    network = Network({"class": (0, 1), "x": (0, 1)}, [("class", "x")], {"class": [0.5, 0.5], "x": [[1, 0], [1, 0]]})
    stream = generate.from_network(network)
    np.testing.assert_array_equal(stream.posterior(np.array([[1], [0]], dtype=np.uint8)), [[0.5, 0.5], [0.5, 0.5]])


def test_the_accuracy_of_a_long_stream_looks_at_parts_of_it():
    stream = generate.naive_bayes(3, random_state=1)
    assert abs(stream.accuracy(10_000_000) - stream.accuracy(131_072)) < 0.01


# --- mistakes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: SMALL.noise(5), r"noise=5 is not an option; give a number from 0 to 1. For 5 % write 0.05\."),
        (lambda: SMALL.missing(0.1, how="mnar"), "how='mnar' is not an option; choose one of 'mcar', 'mar'"),
        (lambda: SMALL.missing(0.7, how="mar"), "from 0 to 0.5"),
        (lambda: SMALL.imbalanced([0.5, 0.5]), "give 3 shares that sum to 1"),
        (lambda: SMALL.imbalanced([0.5, 0.5, 0.5]), "give 3 shares that sum to 1"),
        (lambda: SMALL.irrelevant(-1), "n_columns=-1 is not an option"),
        (lambda: SMALL.take(2.5), "n_rows=2.5 is not an option; give a whole number of at least 0"),
        (lambda: SMALL.chunks(10, 0), "size=0 is not an option"),
        (lambda: generate.tan(random_state="one"), "random_state='one' is not an option"),
        (lambda: generate.ban(n_arcs=18), "have 19 to 85 arcs, including the 19 from the class"),
        (lambda: generate.ban(n_arcs=86), "have 19 to 85 arcs"),
        (lambda: generate.naive_bayes(n_values=300), "n_values=300 is not an option"),
        (lambda: generate.naive_bayes(3, n_values=[2, 2]), "n_values has 2 numbers for 3 columns"),
        (lambda: generate.naive_bayes(dirichlet=0), "dirichlet=0 is not an option; give a number above 0"),
        (lambda: generate.naive_bayes(prior=[0.5, 0.6]), "give 2 shares that sum to 1"),
    ],
)
def test_a_mistake_gets_one_sentence(call, sentence):
    with pytest.raises(OptionError, match=sentence):
        call()


def test_a_table_of_another_shape_has_no_posterior():
    with pytest.raises(SchemaMismatch, match="the stream has 3 columns"):
        SMALL.posterior(np.zeros((2, 4), dtype=np.uint8))
    with pytest.raises(SchemaMismatch, match="cells of type uint8, X has float64"):
        SMALL.posterior(np.zeros((2, 3)))
    with pytest.raises(SchemaMismatch, match="column 'x2', row 1: there is no code 9"):
        SMALL.posterior([[0, 0, 0], [0, 9, 0]])
    with pytest.raises(SchemaMismatch, match="cells of type uint8, X has int64"):
        SMALL.posterior([[0, 0, -1]])


def test_the_posterior_of_a_list_of_whole_numbers_is_that_of_the_array():
    X = SMALL.missing(0.2).take(20)[0]
    np.testing.assert_array_equal(SMALL.posterior(X.tolist()), SMALL.posterior(X))
    numbers = generate.gaussians(means=[[2, 2], [8, 8]])
    np.testing.assert_array_equal(numbers.posterior([[2, 8]]), numbers.posterior(np.array([[2.0, 8.0]])))


def test_what_it_is_stands_in_one_line():
    stream = SMALL.noise(0.05).missing(0.1, how="mar").irrelevant(2).class_noise(0.1).imbalanced([0.5, 0.25, 0.25])
    assert repr(stream) == (
        "<Stream of BAN with classes 50 %, 25 %, 25 % with 10 % wrong labels, 5 columns, 3 classes: "
        "2 irrelevant columns, 5 % noise, 10 % missing (by class)>"
    )
