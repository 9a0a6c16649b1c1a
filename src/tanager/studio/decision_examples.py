"""Small decisions to begin with, with the numbers that the literature has."""

from __future__ import annotations

from typing import NamedTuple

from tanager.decisions.diagram import DecisionNetwork


class Example(NamedTuple):
    """A diagram, and what it is about."""

    about: str
    diagram: DecisionNetwork


_UMBRELLA = DecisionNetwork(
    chance={"weather": ("no rain", "rain"), "forecast": ("sunny", "cloudy", "rainy")},
    decisions={"umbrella": ("take it", "leave it")},
    utilities=["satisfaction"],
    arcs=[
        ("weather", "forecast"),
        ("forecast", "umbrella"),
        ("weather", "satisfaction"),
        ("umbrella", "satisfaction"),
    ],
    tables={
        "weather": [0.7, 0.3],
        "forecast": [[0.7, 0.2, 0.1], [0.15, 0.25, 0.6]],
        "satisfaction": [[20, 100], [70, 0]],
    },
)

_OIL = DecisionNetwork(
    chance={"oil": ("dry", "wet", "soaking"), "seismic": ("none", "no structure", "open", "closed")},
    decisions={"test": ("no", "yes"), "drill": ("no", "yes")},
    utilities=["profit", "cost"],
    arcs=[
        ("oil", "seismic"),
        ("test", "seismic"),
        ("test", "drill"),
        ("seismic", "drill"),
        ("oil", "profit"),
        ("drill", "profit"),
        ("test", "cost"),
    ],
    tables={
        "oil": [0.5, 0.3, 0.2],
        "seismic": [
            [[1, 0, 0, 0], [0, 0.6, 0.3, 0.1]],
            [[1, 0, 0, 0], [0, 0.3, 0.4, 0.3]],
            [[1, 0, 0, 0], [0, 0.1, 0.4, 0.5]],
        ],
        "profit": [[0, -70], [0, 50], [0, 200]],
        "cost": [0, -10],
    },
)

EXAMPLES = {
    "umbrella": Example("Take the umbrella or leave it, knowing the forecast.", _UMBRELLA),
    "oil wildcatter": Example("Drill for oil or not, after a seismic test that has its price (Raiffa 1968).", _OIL),
}
