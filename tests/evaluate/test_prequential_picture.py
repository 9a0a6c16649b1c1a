"""Curves along a stream: everything on the picture can be read, and shows what was measured."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib, the extra 'plot'")

from test_pictures import assert_readable
from test_prequential import stream

from tanager import AODE, NaiveBayes
from tanager.errors import OptionError
from tanager.evaluate import prequential
from tanager.plot import plot_curves


@pytest.mark.parametrize("ends", [[0.9, 0.9, 0.9], [0.5, 0.501, 0.9], np.linspace(0.7, 0.71, 12), [0.2, np.nan]])
def test_the_names_at_the_ends_of_the_curves_can_be_read(ends):
    curves = {f"a model called {at}": [0.5, end] for at, end in enumerate(ends)}
    figure = plot_curves([1000, 2_000_000], curves, drifts=[10, 1_000_000], title="Ends")
    assert_readable(figure, figure.axes[0])


class Notices(AODE):
    """Says that it has noticed something, 1000 rows after it began to learn."""

    n_rows_ = 1000

    @property
    def events_(self):
        return [
            {"row": 900, "what": "drift"},
            {"row": 1120, "what": "warning"},
            {"row": 1150, "what": "drift"},
        ]

    @events_.setter
    def events_(self, events):
        pass


def test_the_picture_shows_the_curves_and_what_was_noticed(tmp_path):
    X, y = stream(300)
    result = prequential({"aode": Notices(), "nb": NaiveBayes()}, X, y, every=50, window=40)
    assert result.events == {"aode": [(120, "warning"), (150, "drift")], "nb": []}
    result.drifts = [100]
    figure = result.plot(tmp_path / "curves.png", "log_loss", "fading")
    assert (tmp_path / "curves.png").stat().st_size > 10_000
    upper, lower = figure.axes
    np.testing.assert_array_equal(upper.lines[1].get_ydata(), result.curve("aode", "log_loss", "fading"))
    assert upper.lines[0].get_xdata() == [100, 100]
    assert [len(ticks.get_segments()) for ticks in lower.collections] == [1, 1]
    assert upper.get_ylabel() == "log loss fading by 0.999"
    assert_readable(figure, upper)


def test_recall_is_drawn_for_one_class():
    X, y = stream(100)
    result = prequential(AODE(), X, y, every=20)
    figure = result.plot(measure="recall", over="whole", label=1)
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), result.curve(measure="recall")[:, 1])
    with pytest.raises(OptionError, match=r"label= to one of \[0, 1\]"):
        result.plot(measure="recall")
    with pytest.raises(OptionError, match="at least one curve"):
        plot_curves([1, 2], {"a": [1.0]})


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "prequential.md").read_text()
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(code, "prequential.md", "exec"), names)
    assert "40,000 rows" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"curves.png", "curves.csv"}
    for name in ("summary", "curve", "lowest", "per_class", "plot", "to_table", "to_csv", "to_pandas"):
        assert f"`{name}(" in page.replace(", `", "`, `")
