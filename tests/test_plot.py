"""Pictures: every label can be read, parents are above children, and what cannot be drawn is refused."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

pytest.importorskip("matplotlib", reason="plots need matplotlib, the extra 'plot'")

from matplotlib.colors import to_hex
from matplotlib.patches import ArrowStyle, FancyArrowPatch
from sklearn.exceptions import NotFittedError

from profiles import later
from tanager import (
    AODE,
    FAN,
    HNB,
    KDB,
    LBR,
    TAN,
    ChowLiuMultiNet,
    HoeffdingTree,
    NaiveBayes,
    NBTree,
    NetworkForest,
    PDAGSearch,
    Selective,
    SuperParentTAN,
    learn_network,
    network_text,
)
from tanager.classifiers.ban import BAN
from tanager.classifiers.general_network import GeneralNetwork
from tanager.classifiers.multinet import MultiNet
from tanager.counts.sample import Sample
from tanager.errors import MemoryBudgetError, OptionError
from tanager.networks.network import Network
from tanager.plot import plot_comparison, plot_network
from tanager.plot.drawable import drawable_networks, strength
from tanager.plot.network import REMOVED, SIGNS, THICK, THIN
from tanager.structure.cbl import CBL
from tanager.structure.chow_liu import ChowLiu


def table(n_columns, n_rows=400, seed=0):
    """Columns that copy an earlier one nine times in ten, under names as long as people make them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    columns = {}
    for i in range(n_columns):
        source = y if i == 0 else list(columns.values())[rng.integers(0, i)]
        name = f"{('mean', 'worst', 'largest')[i % 3]} fractal dimension error {i}"
        columns[name] = np.where(rng.random(n_rows) < 0.9, source, rng.integers(0, 3, n_rows))
    return columns, y


def boxes_of(figure):
    """The labels as drawn, in pixels."""
    renderer = figure.canvas.get_renderer()
    figure.canvas.draw()
    return {text.get_text(): text.get_window_extent(renderer) for text in figure.axes[0].texts}


@pytest.mark.parametrize("n_columns", [1, 30, *later(19)])
@pytest.mark.parametrize("model", [NaiveBayes(), NaiveBayes(gaussian=True), TAN(), FAN(), KDB(k=4)], ids=repr)
def test_no_label_touches_another_and_all_are_inside_the_picture(model, n_columns):
    figure = plot_network(model.fit(*table(n_columns)))
    boxes = boxes_of(figure)
    assert len(boxes) == n_columns + 1
    assert not [(a, b) for a, b in combinations(boxes, 2) if boxes[a].overlaps(boxes[b])]
    width, height = figure.canvas.get_width_height()
    assert all(b.x0 >= 0 and b.x1 <= width and b.y0 >= 0 and b.y1 <= height for b in boxes.values())


@pytest.mark.parametrize("model", [TAN(), FAN(), KDB(), SuperParentTAN()], ids=repr)
def test_the_class_is_on_top_and_parents_are_above_their_children(model):
    X, y = table(8)
    X = {f"c{i}": column for i, column in enumerate(X.values())}
    model.fit(X, y)
    boxes = boxes_of(plot_network(model))
    assert all(boxes["class"].y0 > box.y1 for name, box in boxes.items() if name != "class")
    assert all(boxes[parent].y0 > boxes[child].y1 for child, own in model.parents_.items() for parent in own)


def test_a_picture_is_written_and_the_same_model_gives_the_same_bytes(tmp_path):
    model = TAN().fit(*table(5))
    for name in ("a.png", "b.png"):
        plot_network(model, tmp_path / name, target="outcome", title="Two of a kind")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes() != b""


def test_a_vote_of_many_networks_is_refused_with_a_way_out():
    model = AODE().fit(*table(3))
    with pytest.raises(OptionError, match=r"AODE does not answer with one network.*from_counts"):
        plot_network(model)
    assert plot_network(TAN.from_counts(model.counts_)) is not None


def small_network():
    """An alarm that goes off when it burns, more so without rain; two values each, and a mood that nobody knows."""
    tables = {
        "rain": [0.7, 0.3],
        "fire": [[0.9, 0.1], [0.99, 0.01]],
        "alarm": [[[0.95, 0.05], [0.2, 0.8]], [[0.9, 0.1], [0.3, 0.7]]],
        "mood": [0.5, 0.5],
    }
    arcs = [("rain", "fire"), ("rain", "alarm"), ("fire", "alarm")]
    return Network(dict.fromkeys(["rain", "fire", "alarm", "mood"], ("no", "yes")), arcs, tables)


def legend_of(figure):
    return [text.get_text() for text in figure.axes[1].texts]


def arcs_of(figure):
    return [patch for patch in figure.axes[0].patches if isinstance(patch, FancyArrowPatch)]


def test_arcs_are_as_wide_as_their_information_and_coloured_by_its_sign():
    network = small_network()
    figure = network.plot(target="fire")
    wide = sorted(drawable_networks(network)[0].strengths.values())
    assert [arc.get_linewidth() for arc in arcs_of(figure)] == [
        pytest.approx(THIN + (THICK - THIN) * np.sqrt(found.value / wide[-1].value)) for found in wide
    ]
    assert [to_hex(arc.get_edgecolor()) for arc in arcs_of(figure)] == [SIGNS[found.sign].colour for found in wide]
    assert {found.sign for found in wide} == {1, -1}
    assert "pale: the class does not depend on it, given the others" in legend_of(figure)


def test_strength_is_the_same_from_tables_and_from_all_rows_with_their_probability():
    network = small_network()
    rows = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=np.uint8)
    sample = Sample(rows, [("no", "yes")] * 4, network.names, network.posterior(list(network.names)).ravel())
    exact, counted = (drawable_networks(network, information=source)[0].strengths for source in (None, sample))
    for arc in network.arcs:
        assert counted[arc] == (pytest.approx(exact[arc].value), exact[arc].sign)
    i, j, k = (sample.index(name) for name in ("rain", "alarm", "fire"))
    assert exact["rain", "alarm"].value == pytest.approx(sample.information(i, j, [k]).value, abs=1e-9)


def test_a_network_that_is_too_wide_for_exact_answers_is_drawn_from_rows(monkeypatch):
    def too_wide(*_):
        raise MemoryBudgetError("too wide")

    network = small_network()
    exact = drawable_networks(network)[0].strengths
    monkeypatch.setattr(Network, "posterior", too_wide)
    drawn = drawable_networks(network)[0].strengths
    assert drawn == {arc: (pytest.approx(found.value, abs=0.003), found.sign) for arc, found in exact.items()}


def sign_by_hand(table):
    """Of all pairs of draws under one condition: do more rise together, or does one fall as the other rises?"""
    total = 0.0
    for c in range(table.shape[2]):
        cells = [(x, z, table[x, z, c]) for x in range(table.shape[0]) for z in range(table.shape[1])]
        pairs = sum(p * q * np.sign((x - u) * (z - w)) for x, z, p in cells for u, w, q in cells)
        total += pairs / table[:, :, c].sum()
    return int(np.sign(total))


@given(arrays(float, (3, 4, 2), elements=st.integers(1, 9)))
def test_the_sign_of_an_arc_tells_whether_both_rise_together(table):
    if abs(total := sign_by_hand(table)) == 1:
        assert strength(table, [1, 2, 3], ["(-inf, 1]", "(1, 2]", "(2, 3]", "(3, inf)"]).sign == total
        assert strength(table, [3, 2, 1], [0.1, 0.2, 0.3, 0.4]).sign == -total
    assert strength(table, ["red", "green", "blue"], [1, 2, 3, 4]).sign == 0


@pytest.mark.parametrize("model", [TAN(), KDB(), BAN(), GeneralNetwork(), GeneralNetwork(class_root=False)], ids=repr)
def test_the_arcs_of_a_classifier_have_the_information_in_its_rows(model):
    X, y = table(8)
    model.fit(X, y)
    codes = model.encoder_.transform(X)
    sample = Sample.of_rows(codes, y.astype(codes.dtype), None, model.counts_.schema, model.classes_.tolist())
    network, strengths = model.network_, drawable_networks(model)[0].strengths
    assert list(strengths) == network.arcs
    for parent, child in network.arcs:
        rest = [sample.index(name) for name in network.parents(child) if name != parent]
        known = sample.information(sample.index(parent), sample.index(child), rest)
        assert strengths[parent, child].value == pytest.approx(known.value, abs=1e-9)


def test_columns_that_the_class_does_not_depend_on_are_pale():
    X, y = table(6)
    X["noise"] = np.random.default_rng(5).integers(0, 3, len(y))
    (subject,) = drawable_networks(GeneralNetwork(learner=CBL(threshold=0.05)).fit(X, y))
    assert set(subject.names) == set(X)
    assert "noise" in subject.faint
    assert not subject.faint.intersection(name for arc in subject.arcs for name in arc)


def test_the_networks_of_a_multi_net_stand_side_by_side_with_every_column_at_the_same_place():
    X, y = table(7)
    model = MultiNet().fit(X, np.where(y == 0, "rare", "often"))
    figure = model.plot(target="kind")
    figure.canvas.draw()
    places = {}
    for text in figure.axes[0].texts:
        places.setdefault(text.get_text(), []).append(text.get_position())
    assert {"kind = often", "kind = rare"} < set(places)
    apart = [np.subtract(*places[name]) for name in places if len(places[name]) == 2]
    assert len(apart) == 7
    np.testing.assert_allclose(apart, [apart[0]] * 7)
    drawn = [arc for network in model.networks_.values() for arc in network.arcs]
    assert len(arcs_of(figure)) == len(drawn) + 2  # from each class to its frame
    both = [arc for arc in drawn if drawn.count(arc) == 2]
    assert ("in every class" in legend_of(figure)) == bool(both)


def test_siblings_of_the_class_are_lines_even_where_all_columns_are_its_children():
    rows = [[a, a, a] for a in (0, 1)] * 20 + [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    learned = learn_network(rows, [0, 1] * 20 + [0, 1, 1], PDAGSearch(max_parents=0))
    assert len(learned.undirected) == 3
    heads = [arc.get_arrowstyle() for arc in arcs_of(plot_network(learned, target="class"))]
    assert sum(isinstance(head, ArrowStyle.Curve) for head in heads) == 3


def test_what_a_learner_left_undirected_has_no_arrow_head():
    X, y = table(5)
    sample = Sample.of(X, y)
    learned = ChowLiu().learn(sample)
    assert learned.undirected
    heads = [arc.get_arrowstyle() for arc in arcs_of(plot_network(learned, information=sample))]
    assert sum(isinstance(head, ArrowStyle.Curve) for head in heads) == len(learned.undirected)


def test_what_is_no_network_is_refused():
    with pytest.raises(OptionError, match="list cannot be drawn"):
        plot_network([("a", "b")])


def test_a_comparison_of_networks_says_what_became_of_every_arc():
    old = small_network()
    new = old.remove("rain", "alarm").reverse("rain", "fire").add("alarm", "mood")
    figure = plot_network(new, compare_to=old, undirected=[("alarm", "mood")])
    assert legend_of(figure)[-7:] == [
        "arcs:", "turned", "in both", "added", "removed", "no arrow head: the data do not determine the direction"
    ][-7:]  # fmt: skip
    dashed = [arc for arc in arcs_of(figure) if arc.get_linestyle() == "--"]
    assert [to_hex(arc.get_edgecolor()) for arc in dashed] == [REMOVED.colour]
    assert len(arcs_of(figure)) == 4


def test_a_class_with_parents_still_stands_on_top():
    figure = small_network().plot(target="alarm")
    boxes = boxes_of(figure)
    assert all(boxes["alarm"].y0 > box.y1 for name, box in boxes.items() if name in ("rain", "fire"))


def test_a_name_that_is_no_variable_is_refused_with_the_nearest():
    with pytest.raises(OptionError, match=r"no variable 'fir'. Did you mean 'fire'\?"):
        small_network().plot(target="fir")


def test_a_comparison_has_a_bar_and_a_figure_for_every_row(tmp_path):
    rows = [{"name": f"classifier {i}", "accuracy": 0.9 + i / 100, "log_loss": 0.2 - i / 100} for i in range(8)]
    rows.append({"name": "yardstick", "accuracy": 0.85, "log_loss": 1.5, "baseline": True})
    figure = plot_comparison(rows, tmp_path / "bars.png", title="All of them")
    assert [len(axes.patches) for axes in figure.axes] == [9, 9]
    assert [text.get_text().strip() for text in figure.axes[1].texts][-1] == "1.5000"
    assert (tmp_path / "bars.png").stat().st_size > 0


def test_a_comparison_of_nothing_is_refused():
    with pytest.raises(OptionError, match="no rows"):
        plot_comparison([])


def test_long_names_break_where_words_end():
    X = {"color_intensity": [1, 2, 1, 2], "nonflavanoid_phenols": [1, 1, 2, 2], "a" * 70: [1, 2, 2, 1]}
    labels = set(boxes_of(plot_network(NaiveBayes().fit(X, [0, 0, 1, 1]))))
    assert {"color_\nintensity", "nonflavanoid_\nphenols"} < labels
    assert all(len(line) <= 18 for label in labels for line in label.splitlines())


def test_columns_that_are_parents_of_each_other_are_no_network():
    """HNB with two columns was once refused for a cycle that nobody had asked for."""
    X = [["a", "p"], ["b", "q"], ["a", "q"], ["b", "p"]] * 5
    model = HNB().fit(X, [0, 0, 1, 1] * 5)
    with pytest.raises(OptionError, match="HNB does not answer with one network"):
        network_text(model)


def test_parents_whose_own_factor_was_left_out_are_drawn():
    """A multi-net on selected columns once had arcs from columns it did not know."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (80, 4))
    model = Selective(ChowLiuMultiNet()).fit(X, X[:, 0] ^ (rng.random(80) < 0.2))
    form = model.structure_
    assert {j for parents in form.parents for j in parents} - {*form.child} == {2}
    assert any("x2" in arc for shown in drawable_networks(model) for arc in shown.arcs)


def test_a_tree_that_is_no_view_of_counts_says_how_to_draw_it():
    model = HoeffdingTree().fit([["a"], ["b"]], [0, 1])
    with pytest.raises(OptionError, match=r"HoeffdingTree is a tree of classifiers.*plot_tree"):
        network_text(model)


def test_values_beyond_all_floats_have_an_order() -> None:
    model = TAN(categorical="all").fit([[10**400, 1], [1, 2], [2, 1], [10**400, 2]] * 5, [0, 1, 0, 1] * 5)
    assert len(drawable_networks(model)[0].strengths) == 3


def test_a_forest_is_not_drawn_as_the_network_that_its_counts_would_be():
    """It was drawn as naive Bayes; and a tree that has learned nothing was called no tree."""
    X = [["a", "p"], ["b", "q"], ["a", "q"], ["b", "p"]] * 5
    with pytest.raises(OptionError, match=r"NetworkForest does not answer with one network.*TAN\(\).fit\(X, y\).plot"):
        NetworkForest().fit(X, [0, 0, 1, 1] * 5).plot()
    with pytest.raises(OptionError, match=r"AODE does not answer with one network.*from_counts\(model.counts_\).plot"):
        AODE().fit(X, [0, 0, 1, 1] * 5).plot()
    for model in (AODE(), TAN(), NBTree(), HoeffdingTree()):
        with pytest.raises(NotFittedError, match=f"This {type(model).__name__} instance is not fitted yet"):
            model.plot()


def test_the_picture_of_lazy_rules_says_that_it_is_the_one_before_a_row_comes():
    X = [["heads", "heads"], ["heads", "tails"], ["tails", "heads"], ["tails", "tails"]] * 8
    model = LBR().fit(X, ["same", "other", "other", "same"] * 8)
    texts = [text.get_text() for axes in plot_network(model).axes for text in axes.texts]
    assert any(text.startswith("Before a row comes") for text in texts)
    assert network_text(model).startswith("Before a row comes")
    assert "Before" not in network_text(NaiveBayes().fit(X, ["same", "other", "other", "same"] * 8))
