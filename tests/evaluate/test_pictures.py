"""Pictures of results: the right one is picked, and everything on it can be read."""

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib, the extra 'plot'")

from test_results import MANY, ONE, some

from tanager.errors import OptionError
from tanager.evaluate import reliability
from tanager.plot import plot_comparison, plot_ranks, plot_reliability, plot_scatter
from tanager.plot.ranks import indistinct_groups

RANKS = {
    "AODE": 2.1,
    "a classifier with a long name": 2.11,
    "TAN": 4.8,
    "FANC": 3.6,
    "NaiveBayes": 7.9,
    "KDB": 5.0,
    "WAODE": 3.3,
    "SuperParentTAN": 6.7,
}


def texts(figure, axes):
    """The labels as drawn, in pixels."""
    figure.canvas.draw()
    return [(text.get_text(), text.get_window_extent()) for text in axes.texts]


def assert_readable(figure, axes):
    boxes = texts(figure, axes)
    assert not [(a, b) for (a, x), (b, y) in combinations(boxes, 2) if x.overlaps(y)]
    width, height = figure.canvas.get_width_height()
    assert not [a for a, b in boxes if b.x0 < 0 or b.x1 > width or b.y0 < 0 or b.y1 > height]


@pytest.mark.parametrize("critical_difference", [0.3, 2.0, 20.0])
@pytest.mark.parametrize("n", [2, 3, 8])
def test_every_name_on_the_rank_axis_can_be_read(n, critical_difference):
    figure = plot_ranks(dict(list(RANKS.items())[:n]), critical_difference, title="All")
    assert_readable(figure, figure.axes[0])


def slow_groups(places, critical_difference):
    n = len(places)
    joined = [(a, b) for a in range(n) for b in range(a + 1, n) if places[b] - places[a] <= critical_difference]
    return [(a, b) for a, b in joined if not any(c <= a and b <= d and (c, d) != (a, b) for c, d in joined)]


@pytest.mark.parametrize("critical_difference", [0.0, 0.2, 1.5, 2.0, 9.0])
def test_bars_join_all_that_are_close_and_no_bar_is_part_of_another(critical_difference):
    places = sorted(RANKS.values())
    assert indistinct_groups(places, critical_difference) == slow_groups(places, critical_difference)


def test_a_reliability_curve_passes_through_its_bins():
    labels, proba = np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.3, 0.7]])
    figure = plot_reliability({"a": reliability(labels, proba, 5, weights=[10] * 4)}, title="Forty rows")
    upper, lower = figure.axes
    curve = upper.lines[1]
    np.testing.assert_allclose(curve.get_xydata(), [[0.7, 1.0], [0.9, 2 / 3]])
    np.testing.assert_allclose(lower.patches[0].get_data().values, [0, 0, 0, 0.25, 0.75])
    assert upper.get_legend().get_texts()[0].get_text() == "a: calibration error 0.2500"


def test_a_reliability_curve_passes_by_bins_with_few_answers():
    figure = plot_reliability({"a": [[3, 30, 300], [1, 15, 250], [3, 14, 260]]})
    upper = figure.axes[0]
    np.testing.assert_allclose(upper.lines[1].get_xydata(), [[1 / 2, 14 / 30], [250 / 300, 260 / 300]])
    assert upper.collections[0].get_alpha().tolist() == [0.3, 0.85, 0.85]


def test_a_whisker_and_the_axis_of_accuracy_end_at_one():
    axes = plot_comparison([{"name": "a", "accuracy": 0.98, "log_loss": 0.1, "margin": 0.05}]).axes[0]
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [0.93, 1.0])
    assert max(axes.get_xticks()) <= 1


def test_names_in_a_scatter_touch_nothing():
    rng = np.random.default_rng(0)
    x = {f"data set {i}": float(v) for i, v in enumerate(rng.beta(1.5, 6, 40))}
    y = {name: abs(v + float(rng.normal(0, 0.05))) for name, v in x.items()}
    figure = plot_scatter(x, {**y, "alone": 0.5}, names=("AODE", "TAN"), title="Forty")
    axes = figure.axes[0]
    assert len(axes.collections[0].get_offsets()) == 40
    assert 3 <= len(axes.texts) <= 8
    assert_readable(figure, axes)
    assert axes.get_xlim() == axes.get_ylim()
    better = sum(x[name] < y[name] for name in x)
    assert axes.get_title() == f"above the line AODE is better ({better}), below it TAN ({40 - better})"


def test_whiskers_reach_as_far_as_the_margin_and_numbers_stand_behind_them():
    rows = [
        {"name": "a", "accuracy": 0.9, "log_loss": 0.2, "margin": 0.03},
        {"name": "b", "accuracy": 0.8, "log_loss": 1},
    ]
    axes = plot_comparison(rows).axes[0]
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [0.87, 0.93])
    assert [text.get_position()[0] for text in axes.texts] == pytest.approx([0.93, 0.8])


def test_results_pick_the_picture(tmp_path):
    assert len(ONE.plot().axes) == 2  # accuracy and log loss
    assert ONE.plot().axes[0].lines  # whiskers
    assert not some(folds=1).plot().axes[0].lines[1:]  # one fold has none
    ranks = MANY.plot(tmp_path / "ranks.png")
    assert any("critical difference" in text for text, _ in texts(ranks, ranks.axes[0]))
    assert (tmp_path / "ranks.png").stat().st_size > 0
    pair = MANY.select(["good", "poor"]).plot(measure="accuracy")
    assert pair.axes[0].get_xlabel() == "1 - accuracy of good"
    assert len(MANY.plot(kind="reliability").axes[0].get_legend().get_texts()) == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_ranks({"a": 1.0}, 1.0), "two classifiers or more"),
        (lambda: plot_reliability({}), "one array per name"),
        (lambda: plot_reliability({"a": np.zeros((3, 5))}), "at least one row"),
        (lambda: plot_scatter({"a": 1}, {"b": 1}, names=("x", "y")), "have, and there are none"),
        (lambda: MANY.plot(kind="scatter"), r"there are 3: good, fair, poor. Use select"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message):
    with pytest.raises(OptionError, match=message):
        call()
