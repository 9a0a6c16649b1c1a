"""``python -m benchmarks.page``: draws the pictures of the page on benchmarks from the figures that are kept.

Nothing is measured here: `peers.csv` and `reference.jsonl` are written by ``python -m benchmarks.peers --keep`` and
``python -m benchmarks --keep``, and `points.csv` by ``python -m experiments.growth``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tools.lighter import lighten

from benchmarks import history, peers
from tanager.plot.figure import add_panel, add_remark, add_title, new_figure, power_of_ten, save_figure
from tanager.plot.style import BLUE, FAINT, GREY, GRID, INK, ORANGE, SMALL, colour_of, dashes_of, styled

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
POINTS = ROOT / "experiments" / "growth" / "points.csv"
LINE = 0.235  # inches for one line of a chart
# Machines by their instruction set, tables by their width: a colour, a marker and what it is called.
KINDS = {
    "AVX2": (BLUE, "o", "a machine with AVX2"),
    "AVX-512": (ORANGE, "D", "a machine with AVX-512"),
    "8 columns": (BLUE, "o", "8 columns"),
    "20 columns": (ORANGE, "D", "20 columns"),
}

# Lines of the table, and what the chart calls them: ours, then the peer.
BESIDE_PEERS = {
    "AODE.fit 10M x 19 / CategoricalNB.fit": "learn 10M rows: AODE / scikit-learn CategoricalNB",
    "TC.fit 1M x 19, all triples / CategoricalNB.fit": "learn 1M rows: TC / scikit-learn CategoricalNB",
    "NetworkForest.fit 20,000 x 20 / 300 trees": "learn 20,000 rows: NetworkForest / 300 random trees",
    "conditional likelihood, 100k x 20, 5 classes / logistic": "conditional likelihood / LogisticRegression",
    "NaiveBayes.predict_proba 1M rows / CategoricalNB's": "answer: NaiveBayes / scikit-learn CategoricalNB",
    "TAN.predict_proba 1M rows / CategoricalNB's": "answer: TAN / scikit-learn CategoricalNB",
    "AODE.predict_proba 1M rows / CategoricalNB's": "answer: AODE / scikit-learn CategoricalNB",
    "NetworkForest.predict_proba, 20 columns / 300 trees": "answer: NetworkForest / 300 random trees",
    "AODE.test_then_train / CategoricalNB in chunks of 100": "stream: AODE row by row / CategoricalNB in chunks",
    "AODE learn_one + predict_proba_one / river's BernoulliNB": "stream of dicts: AODE / river BernoulliNB",
    "EvolvingNaiveBayes.test_then_train / river's GaussianNB on dicts": "stream: EvolvingNaiveBayes / river GaussianNB",
    "prequential AODE / river's BernoulliNB": "measured along a stream: AODE / river BernoulliNB",
    "sea / river's SEA": "generate rows: SEA / river SEA",
    "G² test given 3 variables of 4 values, 100k rows / pgmpy's": "G² test / pgmpy",
    "HillClimb, BIC, 1M x 20 binary / pgmpy's at 100k rows": "climb with BIC, 1M rows / pgmpy with 100,000",
    "37 marginals of ALARM, evidence changed / pyAgrum's": "37 marginals of ALARM / pyAgrum",
    "tanager fit, CSV 10M x 20 text columns / pyarrow.dataset reads": "learn a CSV file / pyarrow only reading it",
}
GROWING = ("NaiveBayes", "TAN", "AODE", "KDB", "NBTree", "A2DE")


def main() -> None:
    """All pictures."""
    records = history.read(history.REFERENCE)
    with peers.KEPT.open() as file:
        besides = list(csv.DictReader(file))
    for name, drawing in PAGES.items():
        path = PICTURES / f"benchmarks-{name}.png"
        drawing(besides if name == "adult" else records, path)
        lighten(path)
        print(path.relative_to(ROOT))


@styled
def draw_adult(rows: list[dict[str, str]], path: Path) -> Any:
    """Seconds to learn, milliseconds to answer and log loss of everybody on one table."""
    names = [row[""].replace("`", "") for row in rows]
    colours = [BLUE if name.startswith("tanager") else GREY for name in names]
    high = LINE * len(rows)
    figure = new_figure(8.6, high + 1.3)
    for at, measure in enumerate(("learn, s", "answer 1,000 rows, ms", "log loss")):
        axes = add_panel(figure, 3.1 + 1.85 * at, 0.75, 1.35, high)
        for line, (row, colour) in enumerate(zip(rows, colours, strict=True)):
            value = float(row[measure])
            axes.plot(value, line, "o", color=colour, ms=6)
            axes.annotate(row[measure], (value, line), (6, 0), textcoords="offset points", va="center", fontsize=SMALL)
        if measure != "log loss":
            logarithmic(axes.xaxis, axes.set_xscale)
        axes.set(ylim=(len(rows) - 0.5, -0.5), xlabel=measure)
        axes.set_yticks(range(len(rows)), names if at == 0 else [""] * len(rows))
        axes.tick_params(axis="y", length=0)
        axes.grid(**GRID)
    add_title(figure, "Adult: 32,561 rows to learn, 16,281 to answer")
    add_remark(figure, "one thread, everything at its defaults; further to the left is better everywhere")
    return save_figure(figure, path)


def draw_peers(records: Sequence[history.Record], path: Path) -> Any:
    lines = {label: of_machines(records, what) for what, label in BESIDE_PEERS.items()}
    return draw_ratios(lines, path, title="Times as fast as the peer, in the same run")


def draw_rows(records: Sequence[history.Record], path: Path) -> Any:
    """One row after the other as dicts, beside river's classifiers."""
    lines: dict[str, dict[str, float]] = {}
    for record in records:
        found = re.fullmatch(r"one dict at a time, (\d+ columns): (.*) / (.*)", record.what)
        if found:
            columns, ours, peer = found.groups()
            lines.setdefault(f"{ours} / river {peer}", {})[columns] = record.ratio
    return draw_ratios(lines, path, title="Rows as dicts, answered and then learned: times as fast as river")


def of_machines(records: Iterable[history.Record], what: str) -> dict[str, float]:
    """How many times as fast as its peer a line was, by instruction set; the last run counts."""
    return {
        record.machine.rpartition(", ")[2]: 1 / record.ratio if record.at_most else record.ratio
        for record in records
        if record.what == what
    }


@styled
def draw_ratios(lines: dict[str, dict[str, float]], path: Path, *, title: str) -> Any:
    """A dot for every line and kind, on a logarithmic axis; to the right of 1 we are faster."""
    lines = {label: found for label, found in lines.items() if found}
    figure = new_figure(8.2, LINE * len(lines) + 1.15)
    axes = add_panel(figure, 4.0, 0.65, 3.85, LINE * len(lines))
    for at, found in enumerate(lines.values()):
        axes.plot([1, max(found.values())], [at, at], color=FAINT, lw=1.2, zorder=1)
        for kind, times in found.items():
            axes.plot(times, at, KINDS[kind][1], color=KINDS[kind][0], ms=5, zorder=3)
        fastest = max(found.values())
        axes.annotate(f"{fastest:.3g}", (fastest, at), (6, 0), textcoords="offset points", va="center", fontsize=SMALL)
    logarithmic(axes.xaxis, axes.set_xscale)
    axes.axvline(1, color=INK, lw=0.8)
    axes.set(ylim=(len(lines) - 0.5, -0.5))
    axes.set_yticks(range(len(lines)), list(lines))
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.1)
    axes.grid(axis="x", **GRID)
    kinds = [kind for kind in KINDS if any(kind in found for found in lines.values())]
    dots = [axes.plot([], [], KINDS[kind][1], color=KINDS[kind][0], ms=5)[0] for kind in kinds]
    figure.legend(dots, [KINDS[kind][2] for kind in kinds], loc="lower left", bbox_to_anchor=(0.02, 0.03))
    add_title(figure, title)
    add_remark(figure, "processor time of one thread, best of several turns; the number is the larger of the two")
    return save_figure(figure, path)


@styled
def draw_growth(_: object, path: Path) -> Any:
    """Learning, memory and answers of six classifiers as rows and columns become more."""
    with POINTS.open() as file:
        points = list(csv.DictReader(file))
    panels = (
        ("learning", "rows", 1.0),
        ("learning", "columns", 1.0),
        ("memory", "columns", 1e-6),
        ("answering", "columns", 1e6),
    )
    labels = {"learning": "seconds to learn", "memory": "MB learned", "answering": "µs for an answer"}
    figure = new_figure(8.2, 5.6)
    for at, (measure, along, scale) in enumerate(panels):
        axes = add_panel(figure, 0.75 + 3.85 * (at % 2), 3.2 - 2.5 * (at // 2), 3.1, 1.85)
        for number, name in enumerate(GROWING):
            own = [point for point in points if (point["classifier"], point["along"]) == (name, along)]
            x, y = [float(point[along]) for point in own], [scale * float(point[measure]) for point in own]
            axes.plot(x, y, color=colour_of(number), ls=dashes_of(number), lw=1.5, marker="o", ms=2.5, label=name)
        logarithmic(axes.xaxis, axes.set_xscale)
        logarithmic(axes.yaxis, axes.set_yscale)
        axes.set(xlabel=along, ylabel=labels[measure])
        axes.grid(**GRID)
    figure.legend(*axes.get_legend_handles_labels(), loc="lower center", ncols=len(GROWING), bbox_to_anchor=(0.5, 0.0))
    add_title(figure, "How costs grow: 2,000 rows of 12 columns with 3 values, 2 classes, and one size changed")
    return save_figure(figure, path)


@styled
def draw_memory(records: Sequence[history.Record], path: Path) -> Any:
    """Megabytes beside the table while ten million rows are learned."""
    figures = next(record.figures for record in reversed(records) if "MB beside the codes" in record.what)
    ours, peer = map(float, re.findall(r"(\d+) MB", figures))
    bars = {"tanager AODE, all pairs of columns": ours, "scikit-learn CategoricalNB": peer, "the table itself": 190.0}
    figure = new_figure(8.2, LINE * 3 + 1.05)
    axes = add_panel(figure, 2.75, 0.55, 4.6, LINE * 3)
    axes.barh(range(3), list(bars.values()), color=[BLUE, GREY, FAINT], height=0.66)
    for at, value in enumerate(bars.values()):
        axes.annotate(f"{value:,.0f} MB", (value, at), (3, 0), textcoords="offset points", va="center", fontsize=SMALL)
    axes.set(ylim=(2.5, -0.5), xlabel="MB at the peak, beside the table")
    axes.set_yticks(range(3), list(bars))
    axes.tick_params(axis="y", length=0)
    add_title(figure, "Memory to learn 10 million rows of 19 binary columns")
    return save_figure(figure, path)


def logarithmic(axis: Any, set_scale: Callable[[str], None]) -> None:
    """Powers of ten, in letters that are in the font."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    set_scale("log")
    axis.set_major_locator(LogLocator(numticks=6))
    axis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value)))
    axis.set_minor_locator(LogLocator(subs=()))


PAGES: dict[str, Callable[..., Any]] = {
    "adult": draw_adult,
    "peers": draw_peers,
    "growth": draw_growth,
    "memory": draw_memory,
    "rows": draw_rows,
}

if __name__ == "__main__":
    main()
