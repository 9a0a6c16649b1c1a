"""The picture of a service under load."""

import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib, the extra 'plot'")

from tanager.plot.load import plot_load

LINE = {"p50_ms": 1.0, "p90_ms": 2.0, "p99_ms": 3.0, "max_ms": 4.0, "members": None}


def test_percentiles_are_named_beside_their_lines():
    figure = plot_load([{**LINE, "rate": rate, "accuracy": 0.9} for rate in (10, 100)])
    assert {text.get_text() for text in figure.axes[0].texts} == {"median", "90 %", "99 %", "longest"}


@pytest.mark.parametrize("accuracy", [0.0, 0.5, 0.995, 1.0])
def test_the_scale_of_accuracy_ends_at_0_and_1(accuracy):
    """All right was drawn in the middle of a scale that went up to 1.04."""
    figure = plot_load([{**LINE, "rate": rate, "accuracy": accuracy} for rate in (10, 100)])
    low, high = figure.axes[1].get_ylim()
    assert 0.0 <= low <= accuracy <= high <= 1.0
    assert high - low >= 0.01
