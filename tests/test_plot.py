"""Pictures: every label can be read, parents are above children, and what cannot be drawn is refused."""

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib, the extra 'plot'")

from tanager import AODE, FAN, KDB, TAN, NaiveBayes, SuperParentTAN
from tanager.errors import OptionError
from tanager.plot import plot_comparison, plot_network


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


@pytest.mark.parametrize("n_columns", [1, 19, 30])
@pytest.mark.parametrize("model", [NaiveBayes(), TAN(), FAN(), KDB(), KDB(k=4)], ids=repr)
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
    with pytest.raises(OptionError, match=r"AODE is not one network.*from_counts"):
        plot_network(model)
    assert plot_network(TAN.from_counts(model.counts_)) is not None


def test_a_comparison_has_a_bar_and_a_figure_for_every_row(tmp_path):
    rows = [{"name": f"classifier {i}", "accuracy": 0.9 + i / 100, "log_loss": 0.2 - i / 100} for i in range(8)]
    rows.append({"name": "yardstick", "accuracy": 0.85, "log_loss": 1.5, "yardstick": True})
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
