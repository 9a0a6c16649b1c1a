"""The service under load: a quiet time, a peak that all members cannot keep up with, and quiet again.

``python -m benchmarks.service`` prints the phases and draws ``benchmarks/service.png``.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.command import TANAGER
from benchmarks.harness import Line
from tanager import AnytimeAODE
from tanager.cli.load import arrivals, summary
from tanager.cli.sending import Address, Reply, Request, send
from tanager.plot.style import styled

TARGET = 0.1  # seconds, for 99 of 100 answers
ROWS = 20  # in a request
CALM, PEAK = 6.0, 8.0  # seconds of the phases
ALL = 10_000  # members, more than there are
WAYS = {"controller": None, "naive Bayes": 0, "all members": ALL}  # the last leaves a queue behind


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Handwritten digits: 64 pixels, and how each differs from its neighbours to the right and below; 176 columns."""
    X, y = load_digits(return_X_y=True)
    grid = X.reshape(-1, 8, 8)
    right, below = grid[:, :, 1:] - grid[:, :, :-1], grid[:, 1:] - grid[:, :-1]
    order = np.random.default_rng(0).permutation(len(X))
    return np.hstack([X, right.reshape(len(X), -1), below.reshape(len(X), -1)])[order], y[order]


@contextmanager
def served(model: Any) -> Iterator[str]:
    """The address at which ``tanager serve`` answers with a model, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.tanager"
        model.save(path)
        command = [TANAGER, "serve", path, "--port", "0", "--read-only"]
        command += ["--target-ms", 1000 * TARGET]
        with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield next(found[0] for line in process.stdout if (found := re.search(r"http://[\d.:]+\d", line)))
            finally:
                process.terminate()


@dataclass
class Measured:
    """What was found out: capacities in requests per second, and what became of all requests."""

    capacity: dict[str, float]
    replies: dict[str, list[Reply]]
    labels: list[list[Any]]

    @property
    def phases(self) -> dict[str, tuple[float, float]]:
        """When they begin and end; the first two seconds after the peak are for growing back."""
        return {
            "quiet": (0.0, CALM),
            "peak": (CALM, CALM + PEAK),
            "quiet again": (CALM + PEAK + 2.0, 2 * CALM + PEAK + 2.0),
        }

    def phase(self, way: str, start: float, end: float) -> dict[str, Any]:
        """The summary of the requests that were due in a time; nothing where there were none."""
        both = zip(self.replies[way], cycle(self.labels), strict=False)
        chosen = [(reply, truth) for reply, truth in both if start <= reply.due < end]
        return summary([reply for reply, _ in chosen], [truth for _, truth in chosen]) if chosen else {}


def measure() -> Measured:
    X, y = digits()
    half = len(X) // 2
    model = AnytimeAODE(stop="all", mix="replace").fit(X[:half], y[:half])  # all members are AODE to the last digit
    with served(model) as url:
        address = Address(url)
        requests = {way: _requests(address, X[half:], y[half:], members) for way, members in WAYS.items()}
        capacity = {way: _capacity(address, requests[way]) for way in WAYS if way != "controller"}
        due = _due(0.2 * capacity["all members"], 0.4 * capacity["naive Bayes"])
        replies = {way: send(address, cycle(made), due, wait=30.0) for way, made in requests.items()}
    return Measured(capacity, replies, [list(request.labels) for request in requests["controller"]])


def _requests(address: Address, X: np.ndarray, y: np.ndarray, members: int | None) -> list[Request]:
    columns = [f"x{i}" for i in range(X.shape[1])]
    made = []
    for start in range(0, len(X) - ROWS + 1, ROWS):
        body = {"columns": columns, "rows": X[start : start + ROWS].tolist()}
        asked = {} if members is None else {"members": members}
        made.append(Request(address.post("predict", body | asked), y[start : start + ROWS].tolist()))
    return made


def _capacity(address: Address, requests: Sequence[Request]) -> float:
    """How many requests a second are answered when sixty come at once."""
    send(address, requests, [0.0] * 4)  # the first answers are slow
    n = 60
    replies = send(address, cycle(requests), [0.0] * n, wait=60.0)
    return n / max(reply.done for reply in replies)


def _due(quiet: float, peak: float) -> list[float]:
    ends = CALM, CALM + PEAK
    parts = [
        arrivals(quiet, CALM, seed=1),
        [ends[0] + at for at in arrivals(peak, PEAK, seed=2)],
        [ends[1] + at for at in arrivals(quiet, CALM + 2.0, seed=3)],
    ]
    return [at for part in parts for at in part]


def lines(found: Measured | None = None) -> Iterator[Line]:
    found = found or measure()
    peak, after = ({way: found.phase(way, *found.phases[name]) for way in WAYS} for name in ("peak", "quiet again"))
    target = 1000 * TARGET
    for way, at_most in (("controller", True), ("all members", False)):
        p99 = peak[way]["p99_ms"]
        figures = f"{p99:.0f} ms / {target:.0f} ms"
        yield Line(f"service, p99 at the peak, {way} / target", figures, p99 / target, 1.0, at_most)
    ours, naive, full = (peak[way]["accuracy"] for way in WAYS)
    figures, gained = f"{ours:.3f} of {naive:.3f} to {full:.3f}", (ours - naive) / (full - naive)
    yield Line("the same: accuracy from naive Bayes (0) to AODE (1)", figures, gained, 0.1, at_most=False)
    ours, _, full = (after[way]["accuracy"] for way in WAYS)
    figures = f"{ours:.3f} / {full:.3f}"
    yield Line("the same: accuracy when the peak is over / AODE's", figures, ours / full, 0.995, at_most=False)


def table(found: Measured) -> str:
    """The phases of all ways, as text. Latencies include by how much the sender was late, which is told too (p99)."""
    heads = "".join(f"{name:>9}" for name in ("answered", "p50", "p99", "sender", "members", "accuracy"))
    made = [f"{'':<13}{'phase':<13}{'requests/s':>10}{heads}"]
    for way in WAYS:
        for name, (start, end) in found.phases.items():
            own = found.phase(way, start, end)
            share = f"{own['answered'] / own['sent']:.0%}"
            times = "".join(f"{own[key]:>6.0f} ms" for key in ("p50_ms", "p99_ms", "behind_ms"))
            members = "" if own["members"] is None else f"{own['members']:.1f}"
            accuracy = "" if own["accuracy"] is None else f"{own['accuracy']:.4f}"
            rate = own["sent"] / (end - start)
            made.append(f"{way:<13}{name:<13}{rate:>10.0f}{share:>9}{times}{members:>9}{accuracy:>9}")
    return "\n".join(made)


@styled
def draw(found: Measured, path: Path) -> None:
    """Rate, latency, members and accuracy over the time."""
    from tanager.plot.figure import add_panel, add_title, new_figure, save_figure
    from tanager.plot.style import COLOURS, GRID, INK, QUIET

    width, tall, gap = 7.0, 1.5, 0.3
    figure = new_figure(0.9 + width + 1.3, 0.6 + 4 * tall + 3 * gap + 0.6)
    names = ["requests/s", "p99, ms", "members", "accuracy"]
    panels = [add_panel(figure, 0.9, 0.6 + (3 - at) * (tall + gap), width, tall) for at in range(4)]
    step, end = 2.0, 2 * CALM + PEAK + 2.0
    starts = np.arange(0, end, step)
    colours = dict(zip(WAYS, COLOURS, strict=False))
    for way in WAYS:
        own = [(start + step / 2, found.phase(way, start, start + step)) for start in starts]
        for axes, key in zip(panels[1:], ("p99_ms", "members", "accuracy"), strict=True):
            points = [(at, line[key]) for at, line in own if line.get(key) is not None]
            front = way == "controller"
            axes.plot(
                *zip(*points, strict=True), color=colours[way], lw=2.0 if front else 1.3, label=way, zorder=2 + front
            )
    sent = [len([1 for reply in found.replies["controller"] if start <= reply.due < start + step]) for start in starts]
    panels[0].stairs(np.array(sent) / step, np.append(starts, end), color=QUIET, lw=1.4, baseline=None)
    panels[0].set_ylim(bottom=0)
    panels[1].axhline(1000 * TARGET, color=INK, lw=0.8, ls="--")
    panels[1].set_yscale("log")
    panels[1].yaxis.set_major_formatter(lambda value, at: f"{value:g}")
    panels[1].yaxis.set_minor_formatter(lambda value, at: "")
    for axes, name in zip(panels, names, strict=True):
        axes.set_ylabel(name)
        axes.set_xlim(0, end)
        axes.grid(axis="y", **GRID)
        axes.tick_params(labelbottom=axes is panels[-1])
    panels[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    panels[-1].set_xlabel("seconds")
    add_title(figure, "A service whose answers get the time that the load leaves")
    save_figure(figure, path)


if __name__ == "__main__":
    result = measure()
    print("requests/s that can be answered: " + ", ".join(f"{way} {rate:.0f}" for way, rate in result.capacity.items()))
    print(table(result))
    for line in lines(result):
        print(f"{line.what}: {line.figures}, {line.ratio:.3f}")
    draw(result, Path(__file__).with_suffix(".png"))
