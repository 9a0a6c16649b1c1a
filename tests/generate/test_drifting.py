"""Drift: how likely each model is at every row, when it is said to happen, and what is refused."""

import numpy as np
import pytest
from plain_rows import joint, plain_posterior
from test_streams import agree

from tanager import Network, OptionError, SchemaMismatch, generate
from tanager.generate.drifting import Alternating, Mixed
from tanager.generate.networks import NetworkSource
from tanager.generate.stream import BLOCK


def always(value, n_values=2):
    """A stream whose only column has one value, and whose class is that of the seed."""
    network = Network({"class": (0, 1), "x": range(n_values)}, [("class", "x")])
    cells = np.tile(np.arange(n_values) == value, (2, 1)).astype(float)
    return generate.from_network(network.with_tables({"class": [0.4, 0.6], "x": cells}))


def both(seed=1):
    a = generate.ban(n_columns=3, n_values=(2, 3, 2), n_arcs=5, n_classes=3, random_state=seed)
    return a, generate.redrawn(a, random_state=seed + 10)


def test_the_share_of_the_second_is_the_sigmoid():
    source = generate.drift(always(0), always(1), at=100, width=50).source.source
    rows = np.arange(80, 121)
    np.testing.assert_allclose(source.share(rows), 1 / (1 + np.exp(-4 * (rows - 100) / 50)))
    assert source.share(np.array([0, 10**9]))[1] == 1


def test_a_drift_at_once_happens_within_a_row():
    X, _ = generate.drift(always(0), always(1), at=1000).take(3000)
    assert X[:990].max() == 0
    assert X[1010:].min() == 1


def test_a_gradual_drift_mixes_by_the_sigmoid():
    n, at, width = 200_000, 100_000, 60_000
    X, _ = generate.drift(always(0), always(1), at=at, width=width).take(n)
    parts = X[:, 0].reshape(20, -1).mean(axis=1)
    expected = (1 / (1 + np.exp(-4 * (np.arange(n) - at) / width))).reshape(20, -1).mean(axis=1)
    assert agree(parts, expected, n // 20)


def test_streams_that_recur_take_turns():
    X, _ = generate.recurring(always(0, 3), always(1, 3), always(2, 3), every=7).take(BLOCK + 50)
    np.testing.assert_array_equal(X[:, 0], np.arange(len(X)) // 7 % 3)


def test_tables_go_in_a_straight_line():
    n = 200_000
    X, _ = generate.incremental(always(0), always(1), start=50_000, stop=150_000).take(n)
    parts = X[:, 0].reshape(20, -1).mean(axis=1)
    expected = np.clip((np.arange(n) - 50_000) / 100_000, 0, 1).reshape(20, -1).mean(axis=1)
    assert agree(parts, expected, n // 20)


def test_a_table_on_its_way_is_that_of_the_weighted_network():
    a, b = both()
    stream = generate.incremental(a, b, 0, 1_000_000_000)
    where = 250_000_000 // BLOCK * BLOCK
    share = where / 1_000_000_000
    tables = {
        name: (1 - share) * a.network.tables[name] + share * b.network.table_in_order(name, a.network.parents(name))
        for name in a.network
    }
    X, y = stream.take(200_000, where)
    found = np.bincount(np.ravel_multi_index((y, *X.T), (3, 2, 3, 2)), minlength=36) / len(y)
    expected = np.array(list(joint(a.network.with_tables(tables), "class").values()))
    assert (np.abs(found - expected) < 5 * np.sqrt(expected / len(y)) + 2e-4).all()


# --- posteriors -------------------------------------------------------------------------------------------------


def at_row(stream, t, a, b):
    """The joint distribution at a row, class and cells, from those of two models."""
    source = stream.source.source
    first, second = joint(a.network, "class"), joint(b.network, "class")
    if isinstance(source, Alternating):
        return (first, second)[t // source.every % 2]
    if isinstance(source, Mixed):
        share = 1 / (1 + np.exp(-4 * (t - source.at) / source.width))
        return {cell: (1 - share) * first[cell] + share * second[cell] for cell in first}
    share = min(max((t - source.start) / (source.stop - source.start), 0), 1)
    tables = {name: (1 - share) * a.network.tables[name] + share * b.network.tables[name] for name in a.network}
    return joint(a.network.with_tables(tables), "class")


DRIFTS = {
    "gradual": lambda a, b: generate.drift(a, b, at=1010, width=15),
    "recurring": lambda a, b: generate.recurring(a, b, every=3),
    "incremental": lambda a, b: generate.incremental(a, b, 995, 1015),
}


@pytest.mark.parametrize("effects", [False, True])
@pytest.mark.parametrize("kind", DRIFTS)
def test_the_posterior_is_that_of_the_model_at_each_row(kind, effects):
    a, b = both()
    stream = DRIFTS[kind](a, b)
    options = {}
    if effects:
        stream = stream.noise(0.2).missing(0.2, how="mar").class_noise(0.1).imbalanced([0.5, 0.2, 0.3])
        options = {"noise": 0.2, "missing": [0, 0.2, 0.4], "class_noise": 0.1, "shares": [0.5, 0.2, 0.3]}
    X, _ = stream.take(20, 1000)
    expected = [
        plain_posterior(at_row(stream, 1000 + r, a, b), row, (3, 2, 3, 2), **options) for r, row in enumerate(X)
    ]
    np.testing.assert_allclose(stream.posterior(X, 1000), expected, rtol=1e-9)


def test_classes_that_become_rare_are_a_drift_too():
    a, _ = both()
    stream = generate.drift(a, a.imbalanced([0.9, 0.05, 0.05]).class_noise(0.1), at=BLOCK)
    _, y = stream.take(BLOCK, 2 * BLOCK)
    assert agree(np.bincount(y)[0] / len(y), 0.9 * 0.9 + 0.1 * 0.05, len(y))
    np.testing.assert_allclose(stream.source.prior(np.array([10**9]))[0], [0.815, 0.0925, 0.0925])


def test_a_class_that_has_parents_changes_its_share_on_the_way():
    network = Network({"class": (0, 1), "x": (0, 1)}, [("x", "class")])
    a, b = (
        generate.from_network(network.with_tables({"x": [1 - p, p], "class": [[1 - p, p], [p, 1 - p]]}))
        for p in (0.1, 0.8)
    )
    for t, p in ((0, 0.1), (50, 0.45), (100, 0.8)):
        prior = generate.incremental(a, b, 0, 100).source.prior(np.array([t]))
        np.testing.assert_allclose(prior, [[(1 - p) ** 2 + p**2, 2 * p * (1 - p)]])


def test_a_stream_whose_posterior_nobody_knows_has_none_in_a_drift():
    a, b = generate.sea(8), generate.sea(9)
    assert generate.drift(a, b, at=10).missing(0.5).accuracy(100) is None
    assert generate.recurring(a, b, every=10).noise(0.5).accuracy(100) is None
    assert generate.drift(a, b, at=10).accuracy(100) is not None


# --- where it happens -------------------------------------------------------------------------------------------


def test_drifts_are_told_in_order():
    a, b = both()
    c = generate.redrawn(a, random_state=30)
    assert a.drifts == ()
    assert generate.drift(generate.drift(a, b, 100), c, 200).drifts == (100, 200)
    assert generate.drift(a, generate.recurring(b, c, every=60), 100).drifts[:3] == (100, 120, 180)
    assert generate.drift(generate.recurring(b, c, every=60), a, 100).drifts == (60, 100)
    assert generate.incremental(a, b, 5, 9).drifts == (5, 9)
    endless = generate.recurring(a, b, every=10).drifts
    assert len(endless) == 1000
    assert endless[:2] == (10, 20)


def test_the_same_seed_gives_the_same_drift():
    for make in DRIFTS.values():
        first, second = (make(*both()).noise(0.1).take(3000) for _ in range(2))
        np.testing.assert_array_equal(first[0], second[0])
        np.testing.assert_array_equal(first[1], second[1])


# --- mistakes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda: generate.drift(generate.tan(5), generate.tan(6), 10),
            SchemaMismatch,
            "drift: the streams have 5 and 6 columns",
        ),
        (
            lambda: generate.drift(generate.tan(5), generate.tan(5, 3), 10),
            SchemaMismatch,
            "column 'x1' differs between the streams: x1 with 2 values and x1 with 3 values",
        ),
        (
            lambda: generate.drift(generate.tan(3), generate.sea(8), 10),
            SchemaMismatch,
            "x1 with 2 values and x1 with numbers",
        ),
        (
            lambda: generate.drift(generate.tan(5), generate.tan(5, n_classes=3), 10),
            SchemaMismatch,
            r"the classes are \(0, 1\) and \(0, 1, 2\)",
        ),
        (
            lambda: generate.drift(generate.tan(5).noise(0.05), generate.tan(5, random_state=1), 10),
            OptionError,
            r"one stream has 5 % noise, another no effects\. Leave these out",
        ),
        (
            lambda: generate.drift(generate.tan(5), generate.tan(5), 10),
            OptionError,
            "two of the streams are the same model. Give one of them another random_state",
        ),
        (lambda: generate.drift(generate.tan(), "tan", 10), OptionError, "drift needs streams"),
        (lambda: generate.drift(generate.tan(), generate.tan(random_state=1), -1), OptionError, "at=-1"),
        (lambda: generate.drift(generate.tan(), generate.tan(random_state=1), 1, 0), OptionError, "width=0"),
        (lambda: generate.recurring(generate.tan(), every=10), OptionError, "two or more streams"),
        (lambda: generate.recurring(generate.tan(), 10, every=10), OptionError, "recurring needs streams"),
        (
            lambda: generate.incremental(generate.tan(), generate.tan(random_state=1), 1, 5),
            OptionError,
            r"the same arcs\. Use redrawn\(a\)",
        ),
        (lambda: generate.incremental(generate.sea(8), generate.sea(9), 1, 5), OptionError, "two streams of networks"),
        (lambda: generate.incremental(*both(), 5, 5), OptionError, "give a row after start=5"),
        (
            lambda: generate.incremental(both()[0].class_noise(0.1), both()[1], 1, 5),
            OptionError,
            "same class shares and class noise",
        ),
        (lambda: generate.redrawn(generate.sea()), ValueError, "only a stream of a single network can be redrawn"),
    ],
)
def test_a_mistake_gets_one_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


def test_parents_in_another_order_are_the_same_arcs():
    a, b = both()
    names, arcs = {name: b.network.values(name) for name in b.network}, b.network.arcs[::-1]
    turned = Network(names, arcs)
    turned = turned.with_tables({name: b.network.table_in_order(name, turned.parents(name)) for name in names})
    assert turned == b.network
    other = generate.from_network(turned)
    X, _ = a.take(50)
    assert isinstance(other.source.source, NetworkSource)
    np.testing.assert_allclose(
        generate.incremental(a, other, 0, 50).posterior(X), generate.incremental(a, b, 0, 50).posterior(X)
    )
