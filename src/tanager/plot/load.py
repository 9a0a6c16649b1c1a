"""A service under load: latency, members and accuracy by the rate of requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tanager.plot.figure import Path, add_panel, add_title, new_figure, save_figure, spread_apart
from tanager.plot.style import BLUE, GRID, SMALL, colour_of, styled

_WIDE, _TALL, _GAP = 5.6, 2.2, 0.35  # inches of a panel
_LABEL = 0.15  # inches from one name to the next
_LATENCIES = {"p50_ms": "median", "p90_ms": "90 %", "p99_ms": "99 %", "max_ms": "longest"}


@styled
def plot_load(lines: Sequence[Mapping[str, Any]], path: Path | None = None, *, title: str | None = None) -> Any:
    """Latency percentiles over the rate of requests, and below them members and accuracy where they are known.

    ``lines`` are the ``rates`` of the report of ``tanager load``. Returns the figure.

    Examples
    --------
    >>> from tanager.plot.load import plot_load
    >>> line = {"rate": 100, "p50_ms": 1.0, "p90_ms": 2.0, "p99_ms": 3.0, "max_ms": 4.0, "members": 5, "accuracy": 0.9}
    >>> [axes.get_ylabel() for axes in plot_load([line]).axes]
    ['latency, ms', 'members', 'accuracy']
    """
    lines = sorted(lines, key=lambda line: line["rate"])
    lower = [name for name in ("members", "accuracy") if any(line[name] is not None for line in lines)]
    n = 1 + len(lower)
    figure = new_figure(0.8 + _WIDE + 0.75, 0.6 + n * _TALL + (n - 1) * _GAP + (0.6 if title else 0.25))
    for at, name in enumerate(["latency", *lower]):
        axes = add_panel(figure, 0.8, 0.6 + (n - 1 - at) * (_TALL + _GAP), _WIDE, _TALL)
        if name == "latency":
            _latencies(axes, lines)
        else:
            _curve(axes, lines, name, colour_of(at))
        axes.set_xscale("log")
        rates = _apart([float(line["rate"]) for line in lines])
        axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
        axes.set_xticks([], minor=True)
        axes.grid(axis="y", **GRID)
        axes.tick_params(labelbottom=at == n - 1)
    axes.set_xlabel("requests per second")
    add_title(figure, title)
    return save_figure(figure, path)


def _apart(rates: Sequence[float]) -> list[float]:
    """The rates that are named: the first and the last, and of the others those that stand clear of all named ones."""
    logs = [math.log10(rate) for rate in rates]
    inch = _WIDE / max(logs[-1] - logs[0], 1e-9)
    named = [0] if len(set(rates)) == 1 else [0, len(rates) - 1]
    for at in range(1, len(rates) - 1):
        if all(abs(logs[at] - logs[other]) * inch > 0.42 for other in named):
            named.append(at)
    return [rates[at] for at in sorted(named)]


def _latencies(axes: Any, lines: Sequence[Mapping[str, Any]]) -> None:
    """A line per percentile, pale for the quicker ones, named at its end."""
    from matplotlib.ticker import LogLocator

    for at, key in enumerate(_LATENCIES):
        style = ":" if key == "max_ms" else "-"
        axes.plot(*_points(lines, key), style, marker="o", ms=3, color=BLUE, lw=1.3, alpha=_shade(at))
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, at: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda value, at: "")
    axes.set_ylabel("latency, ms")
    _name_ends(axes, lines[-1])


def _shade(at: int) -> float:
    return 0.4 + 0.2 * at


def _name_ends(axes: Any, last: Mapping[str, Any]) -> None:
    """Names of the percentiles beside their last points, moved apart where they would touch."""
    known = [at for at, key in enumerate(_LATENCIES) if last[key] == last[key]]
    known.sort(key=lambda at: -float(last[list(_LATENCIES)[at]]))
    low, high = (math.log10(bound) for bound in axes.get_ylim())
    ends = [math.log10(last[list(_LATENCIES)[at]]) for at in known]
    places = spread_apart(ends, _LABEL / _TALL * (high - low), low, high)
    for at, place in zip(known, places, strict=True):
        axes.annotate(
            list(_LATENCIES.values())[at],
            (1.0, (place - low) / (high - low)),
            xycoords="axes fraction",
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=BLUE,
            annotation_clip=False,
        )


def _curve(axes: Any, lines: Sequence[Mapping[str, Any]], name: str, colour: str) -> None:
    axes.plot(*_points(lines, name), marker="o", ms=3, color=colour, lw=1.3, clip_on=False)
    axes.set_ylabel(name)
    low, high = axes.get_ylim()
    if name == "members":
        axes.set_ylim(0, max(high, 1))
    else:  # what differs by less than a hundredth should look alike
        low, high = min(low, (low + high) / 2 - 0.01), max(high, (low + high) / 2 + 0.01)
        axes.set_ylim(max(low, 0.0), min(high, 1.0))


def _points(lines: Sequence[Mapping[str, Any]], name: str) -> tuple[list[float], list[float]]:
    known = [line for line in lines if line[name] is not None]
    return [line["rate"] for line in known], [line[name] for line in known]
