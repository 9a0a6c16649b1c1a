"""Every kind of picture can be read, whatever its size: no letters touch or leave it, and nothing warns."""

import importlib.util
import warnings
from itertools import combinations
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib, the extra 'plot'")

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from tanager import TAN, Network, plot_network
from tanager.errors import OptionError
from tanager.plot import plot_curves, plot_reliability, plot_scatter
from tanager.plot.names import shortened_apart
from tanager.plot.style import COLOURS, LEAST_CONTRAST, contrast, for_letters

ROOT = Path(__file__).parent.parent.parent
QUICK = ("-3-long", "-20-long", "hub-30-short", "tan-300-short", "importance-300-long")


def gallery():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "docs" / "pictures" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GALLERY = gallery()
PICTURES = GALLERY.pictures()
NAMES = [
    name if any(word in name for word in QUICK) else pytest.param(name, marks=pytest.mark.long) for name in PICTURES
]


def letters(figure):
    """All that is written, with where it is in pixels."""
    figure.canvas.draw()
    found = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [(text, text.get_window_extent()) for text in found]


def beyond(figure):
    """The labels of ticks beyond the ends of an axis, which are not drawn."""
    found = set()
    for axes in figure.axes:
        for axis, at in ((axes.xaxis, 0), (axes.yaxis, 1)):
            low, high = sorted(axis.get_view_interval())
            labels = [label for tick in axis.majorTicks + axis.minorTicks for label in (tick.label1, tick.label2)]
            found |= {label for label in labels if not low <= label.get_position()[at] <= high}
    return found


@pytest.mark.parametrize("name", NAMES)
def test_all_letters_are_inside_and_touch_no_others(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = PICTURES[name](None)
        written = letters(figure)
    width, height = figure.canvas.get_width_height()
    hidden = beyond(figure)
    placed = [(text, box) for text, box in written if text not in hidden]
    outside = [t.get_text() for t, b in placed if b.x0 < -1 or b.y0 < -1 or b.x1 > width + 1 or b.y1 > height + 1]
    assert not outside
    straight = [(text, box.padded(-1.0)) for text, box in placed if not text.get_rotation()]
    assert not [(a.get_text(), b.get_text()) for (a, x), (b, y) in combinations(straight, 2) if x.overlaps(y)]


def apart(colours):
    """The least distance of two colours, in a space where distances are as large as they look (OKLab, times 100)."""
    rgb = np.asarray(colours)
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
    space = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    places = 100 * np.cbrt(light @ np.array(cones).T) @ np.array(space).T
    return min(float(np.linalg.norm(a - b)) for a, b in combinations(places, 2))


@pytest.mark.parametrize("eye", ["deutan", "protan", "tritan"])
def test_colour_blind_readers_can_tell_all_colours_apart(eye):
    """The colours before these had two that were 3 apart, a blue and a violet."""
    assert apart(GALLERY.seen(np.array([to_rgb(colour) for colour in COLOURS]), GALLERY.EYES[eye])) > 7


@pytest.mark.parametrize("colour", COLOURS)
def test_letters_stand_out_from_the_ground(colour):
    assert contrast(to_rgb(for_letters(colour))) >= LEAST_CONTRAST - 0.1


def test_pictures_do_not_depend_on_the_users_style(tmp_path):
    network = Network({"a $x$": (0, 1), "b": (0, 1)}, [("a $x$", "b")])
    plot_network(network, tmp_path / "plain.svg")
    with mpl.rc_context({"axes.facecolor": "black", "text.color": "white", "font.size": 30, "svg.fonttype": "path"}):
        plot_network(network, tmp_path / "dark.svg")
    text = (tmp_path / "plain.svg").read_text()
    assert text == (tmp_path / "dark.svg").read_text()
    assert ">a $x$</text>" in text  # letters stay letters, and a dollar sign is one


def test_of_many_columns_those_with_the_strongest_arcs_are_drawn():
    names = [f"v{i}" for i in range(9)]
    arcs = [(names[i - 1], names[i]) for i in range(1, 9)]
    network = Network(dict.fromkeys(names, (0, 1)), arcs)
    figure = plot_network(network, information={arc: float(i) for i, arc in enumerate(arcs)}, max_columns=4)
    assert [text.get_text() for text in figure.axes[0].texts] == names[5:]
    assert figure.axes[1].texts[0].get_text() == "4 of 9 columns: those with the strongest arcs"
    figure = plot_network(network, compare_to=network.remove("v0", "v1"), max_columns=2)
    assert [text.get_text() for text in figure.axes[0].texts] == ["v0", "v1"]
    with pytest.raises(OptionError, match="max_columns"):
        plot_network(network, max_columns=0)


def test_of_many_columns_a_third_tell_most_about_the_class():
    """All 60 that were drawn of 300 sensors were those that follow each other; none told anything about the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    pairs = np.repeat(rng.integers(0, 2, (300, 10)), 2, axis=1)  # twins, of which each is known from the other
    telling = (y[:, None] + (rng.random((300, 2)) < 0.2)) % 2
    names = [*(f"twin{i}" for i in range(20)), "a", "b"]
    X = dict(zip(names, np.hstack([pairs, telling]).T.tolist(), strict=True))
    figure = TAN().fit(X, y).plot(max_columns=6)
    drawn = {text.get_text() for text in figure.axes[0].texts} - {"class"}
    assert {"a", "b"} < drawn
    assert len(drawn) == 6
    legend = [text.get_text() for text in figure.axes[1].texts]
    assert "6 of 22 columns: a third tell most about the class, the others are those with the strongest arcs" in legend


def test_marks_below_curves_are_whole_rows():
    figure = plot_curves([0, 1, 2], {"a": [0.3, 0.2, 0.1]})
    figure.canvas.draw()
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["0", "1", "2"]


def test_one_value_of_a_curve_is_a_point():
    """It was a line from a point to itself, which nobody sees, and matplotlib warned."""
    (line, _lead) = plot_curves([0], {"a": [0.5]}, along="steps").axes[0].lines
    assert line.get_marker() == "o"


ALIKE = [f"mean_daily_consumption_of_the_sensor_{at}_in_the_northern_hall" for at in range(3)]


def test_curves_of_calibration_with_long_names_are_told_apart():
    figure = plot_reliability({name: [[0, 10], [0, 9], [0, 8]] for name in ALIKE})
    labels = [text.get_text().partition(":")[0] for text in figure.axes[0].get_legend().get_texts()]
    assert len(set(labels)) == 3


def test_classifiers_and_data_sets_with_long_names_are_told_apart():
    x, y = dict(zip(ALIKE, (0.1, 0.5, 0.9), strict=True)), dict(zip(ALIKE, (0.4, 0.1, 0.3), strict=True))
    axes = plot_scatter(x, y, names=(ALIKE[0], ALIKE[1])).axes[0]
    named = [text.get_text() for text in axes.texts]
    assert len(set(named)) == len(named) >= 2
    assert axes.get_xlabel() != axes.get_ylabel()


def test_long_names_that_differ_in_the_middle_stay_apart():
    names = [f"a beginning that goes on and on, {i}, and an end that goes on and on" for i in range(12)]
    assert len(set(shortened_apart(names).values())) == 12
