"""Left-out figures of networks: equal to those of the classifier, at the cost of the families that changed."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from strategies import tables
from tanager import BackOff, BDeu, LearnedBackOff, MEstimate, Network, NetworkClassifier
from tanager.errors import DataError, OptionError, SchemaMismatch
from tanager.evaluate import LeftOutNetworks, accuracy, log_loss

RULES = [None, 0.7, MEstimate(2), BDeu(3), BackOff(2, first=0.5), LearnedBackOff()]


@st.composite
def drawings(draw, names):
    """Arcs without a cycle, with the class anywhere among the columns."""
    order = draw(st.permutations([*names, "class"]))
    pairs = list(itertools.combinations(order, 2))
    return [pair for pair in draw(st.permutations(pairs)) if draw(st.booleans())]


def locked_rows(network, rng, zero, share=0.5):
    """Some rows of some tables, set by a person."""
    found = {}
    for name in network:
        sizes = [range(len(network.values(parent))) for parent in network.parents(name)]
        for at in itertools.product(*sizes):
            if rng.random() < share and network.values(name):
                own = rng.dirichlet(np.ones(len(network.values(name))))
                if zero and len(own) > 1:
                    own = np.append(0.0, own[1:] / own[1:].sum())
                key = tuple(network.values(p)[v] for p, v in zip(network.parents(name), at, strict=True))
                found.setdefault(name, {})[key] = own.tolist()
    return found


@examples(40)
@given(data=st.data(), table=tables(min_rows=2, max_columns=4), seed=st.integers(0, 99))
def test_figures_are_those_of_the_classifier(data, table, seed):
    rng, rule = np.random.default_rng(seed), data.draw(st.sampled_from(RULES))
    rows = LeftOutNetworks.of(table.X, table.y, smoothing=rule)
    network = rows.network(data.draw(drawings(rows.schema.names)))
    locked = locked_rows(network, rng, zero=seed % 2) if data.draw(st.sampled_from([True, True, False])) else None
    model = NetworkClassifier(network, "class", schema=rows.schema, smoothing=rule, locked=locked).fit(table.X, table.y)
    expected = model.leave_one_out(table.X, table.y)
    found = rows.figures(network, locked=locked)
    np.testing.assert_allclose(found.proba, expected, rtol=1e-9, atol=1e-12)
    labels = [rows.classes.index(label) for label in table.y]
    assert found.log_loss == pytest.approx(log_loss(labels, expected))
    assert found.accuracy == accuracy(table.y, model.decide(expected))


@pytest.mark.parametrize("zero", [False, True])
def test_locked_rows_count_in_the_figures_as_in_the_classifier(zero):
    rng = np.random.default_rng(4)
    X = {name: rng.choice(list("uvw"), 90).astype(object) for name in "abc"}
    X["a"][::9] = None
    y = rng.choice(["no", "yes"], 90)
    rows = LeftOutNetworks.of(X, y)
    network = rows.network([("class", "a"), ("class", "b"), ("a", "b"), ("c", "class"), ("c", "b")])
    locked = locked_rows(network, rng, zero, share=0.8)
    assert {"a", "b", "class"} <= set(locked)
    model = NetworkClassifier(network, locked=locked, schema=rows.schema).fit(X, y)
    found = rows.figures(network, locked=locked)
    np.testing.assert_allclose(found.proba, model.leave_one_out(X, y), rtol=1e-9, atol=1e-12)
    assert abs(found.proba - rows.figures(network).proba).max() > 0.1


def test_the_order_of_parents_is_kept_apart():
    rng = np.random.default_rng(2)
    X = {name: rng.choice(list("uvwx"), 60).astype(object) for name in "abc"}
    y = rng.choice(["no", "yes"], 60)
    rows = LeftOutNetworks.of(X, y)
    for parents in ("ab", "ba"):  # thin contexts fall back to the first parent
        network = rows.network([("class", "c"), *((parent, "c") for parent in parents)])
        model = NetworkClassifier(network, schema=rows.schema).fit(X, y)
        np.testing.assert_allclose(rows.figures(network).proba, model.leave_one_out(X, y), rtol=1e-9)


def weather():
    X = {"sky": ["sun", "sun", "rain", "rain"] * 5, "ground": ["dry", "wet", "dry", None] * 5}
    return LeftOutNetworks.of(X, ["play", "stay", "stay", "stay"] * 5, target="plan")


def test_an_edit_counts_the_families_that_it_changes():
    rows = weather()
    network = rows.network([("plan", "sky"), ("plan", "ground")])
    rows.figures(network)
    assert rows.n_counted == 3  # the class, and two columns
    rows.figures(network.add("sky", "ground"))
    assert rows.n_counted == 4
    rows.figures(network.reverse("plan", "sky"))
    assert rows.n_counted == 5  # P(plan | sky) is new, and sky is a child no more
    rows.figures(network)
    assert rows.n_counted == 5


def test_what_is_remembered_has_a_limit():
    rows = weather()
    small = LeftOutNetworks(
        rows.sample.codes[:, :-1], rows.sample.codes[:, -1], rows.schema, rows.classes, target="plan", max_memory=700
    )
    network = rows.network([("plan", "sky"), ("plan", "ground")])
    for _ in range(2):
        assert small.figures(network).log_loss == pytest.approx(rows.figures(network).log_loss)
    assert small.n_counted == 6  # two families fit, three are used in turn


def test_differences_are_paired_row_by_row():
    rows = weather()
    network = rows.network([("plan", "sky")])
    first, second = rows.figures(network), rows.figures(network.add("plan", "ground"))
    change = second.minus(first)
    differences = second.losses - first.losses
    assert change.log_loss.difference == pytest.approx(differences.mean())
    error = differences.std(ddof=1) / np.sqrt(20)
    assert change.log_loss.margin == pytest.approx(1.959964 * error, rel=1e-6)
    assert change.log_loss.low < change.log_loss.difference < change.log_loss.high
    nothing = first.minus(first)
    assert (nothing.accuracy.difference, nothing.accuracy.margin, nothing.accuracy.certain) == (0.0, 0.0, False)
    assert second.minus(first, level=0.99).log_loss.margin > change.log_loss.margin


def test_what_cannot_be_asked_is_refused():
    rows = weather()
    with pytest.raises(SchemaMismatch, match="no column"):
        rows.figures(Network({"skies": ("a", "b"), "plan": ("play", "stay")}, [("plan", "skies")]))
    with pytest.raises(SchemaMismatch, match="is a column"):
        LeftOutNetworks.of({"sky": ["a", "b"]}, ["x", "y"], target="sky")
    with pytest.raises(OptionError, match="smoothing"):
        LeftOutNetworks.of({"sky": ["a", "b"]}, ["x", "y"], smoothing=0)
    with pytest.raises(DataError, match="two rows"):
        LeftOutNetworks.of({"sky": ["a"]}, ["x"])
    figures = rows.figures(rows.network())
    with pytest.raises(OptionError, match="level"):
        figures.minus(figures, level=1)
    other = LeftOutNetworks.of({"sky": ["a", "b"]}, ["x", "y"])
    with pytest.raises(DataError, match="20 rows"):
        figures.minus(other.figures(other.network()))
