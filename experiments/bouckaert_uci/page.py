"""The tables and pictures of the page, all made from results.csv and costs.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.bouckaert_uci.run import LIMITS, ORDERS, seven
from experiments.common import LEVEL, against, judged, mean_losses, read_csv, read_means, steps
from tanager.evaluate import Results, Table, equivalence, geometric_mean_ratio
from tanager.plot.style import styled

SEVEN = list(seven({}))
LIMITED = [f"FANC first {k}" for k in LIMITS]
LARGE = 2000  # rows from which on a data set counts as large
ALIKE = 1.25  # costs that differ by less than this factor are called equal

# Table 1 of the source, the accuracy row ending as its text says. "~" is its "about the same".
ACCURACY = "NB < TAN ~ AODE ~ FANC < SPC < TC < SPCr"
MEMORY = "NB < TAN < AODE = FANC < SPC = SPCr < TC"
TRAIN = "NB < AODE = FANC < TAN < SPC < TC ~ SPCr"
TEST = "NB < TAN < FANC < AODE < SPC = SPCr < TC"
ROWS = {
    "memory, final model": (MEMORY, "model_bytes"),
    "memory, while learning": (MEMORY, "store_bytes"),
    "train time": (TRAIN, "fit_seconds"),
    "test time": (TEST, "predict_seconds"),
}
BESIDE = "NB < AODE, NB < FANC, NB < SPC, NB < TC, NB < SPCr, AODE < SPC, AODE < TC, TAN < SPCr, AODE < SPCr"


def tables(folder: Path) -> dict[str, Table]:
    """All tables of the page, by name."""
    results, costs = read_means(folder / "results.csv"), read_csv(folder / "costs.csv")
    main = results.select(classifiers=SEVEN)
    return {
        "accuracy": main.by_dataset("accuracy"),
        "ranks": main.over_datasets("accuracy"),
        "log-loss": main.over_datasets("log_loss"),
        "pairs": main.win_draw_loss("accuracy"),
        "friedman": main.friedman("accuracy"),
        "steps": judged(main, ACCURACY, BESIDE),
        "significant": significant(main),
        "costs": cost_ratios(costs),
        "cost-steps": cost_steps(costs),
        "seconds": seconds(costs),
        "labor": labor(main),
        "selection": against(results, "SPCr", ["SPCr resub", "SPC mi", "SPC", "TC", "AODE"]),
        "orders": orders(results),
        "limits": against(results, "FANC", ["NB", *LIMITED]),
    }


# --- accuracy ------------------------------------------------------------------------------------------------------


def significant(results: Results) -> Table:
    """On how many data sets the corrected t-test over all folds finds a difference."""
    rows: list[list[Any]] = []
    for name in SEVEN:
        cells = []
        for other in ("NB", "AODE"):
            signs = [_sign(results, dataset, name, other) for dataset in results.datasets]
            cells.append("" if name == other else f"{signs.count(1)} / {signs.count(-1)}")
        rows.append([name, *cells])
    return Table(["classifier", "better / worse than NB", "better / worse than AODE"], rows)


def _sign(results: Results, dataset: str, name: str, other: str) -> int:
    """1 where significantly better, -1 where worse, 0 where neither."""
    mine, its = results.folds(dataset, name)[0], results.folds(dataset, other)[0]
    p = mine[f"p_{other}"]
    return 0 if p is None or p >= LEVEL else int(np.sign(mine["accuracy"] - its["accuracy"]))


def labor(results: Results) -> Table:
    """The smallest data set, on which the source saw its collections fall behind naive Bayes."""
    rows = []
    for name in SEVEN:
        record = next(iter(results.folds("labor", name)), {})
        rows.append([name, *(record.get(key) for key in ("accuracy", "log_loss", "p_NB"))])
    return Table(["classifier", "accuracy", "log loss", "p against NB"], rows, {"p against NB": "p"})


def orders(results: Results) -> Table:
    """Collections under other orders of the columns than that of the table."""
    made = [
        against(results, base, [f"{base} {order}" for order in ORDERS if f"{base} {order}" in results.classifiers])
        for base in ("FANC", "SPC", "TC")
    ]
    rows = [row for table in made for row in table.rows]
    names = ["classifier", "mean error", "ratio to the given order", "the given order wins-draws-losses", "p"]
    return Table(names, rows, {names[2]: ".3f", "p": "p"})


# --- costs ---------------------------------------------------------------------------------------------------------


Costs = list[dict[str, Any]]


def parts(costs: Costs) -> list[Costs]:
    """All data sets, the large ones, and the largest with its rows repeated."""
    once = [line for line in costs if line["times"] == 1]
    return [once, [line for line in once if line["n_rows"] >= LARGE], [line for line in costs if line["times"] > 1]]


def ratio(costs: Costs, column: str, first: str, second: str) -> float:
    """The geometric mean of second over first."""
    a, b = of_both(costs, column, first, second)
    return geometric_mean_ratio(b, a) if a else float("nan")


def of_both(costs: Costs, column: str, first: str, second: str) -> list[list[float]]:
    """The costs of two classifiers, data set by data set."""
    return [[line[column] for line in costs if line["classifier"] == name] for name in (first, second)]


def cost_ratios(costs: Costs) -> Table:
    """Bytes and seconds of every classifier as multiples of those of naive Bayes."""
    all_sets, large, repeated = parts(costs)
    wanted = {
        "final model": (all_sets, "model_bytes"),
        "while learning": (all_sets, "store_bytes"),
        "train, all sets": (all_sets, "fit_seconds"),
        "train, large sets": (large, "fit_seconds"),
        "train, repeated": (repeated, "fit_seconds"),
        "test, all sets": (all_sets, "predict_seconds"),
        "test, large sets": (large, "predict_seconds"),
        "test, repeated": (repeated, "predict_seconds"),
    }
    rows = [[name, *(ratio(some, column, "NB", name) for some, column in wanted.values())] for name in SEVEN]
    loads = [line["load"] for line in costs]
    note = (
        f"Multiples of naive Bayes, geometric means over the data sets. Large are those of {LARGE:,} rows or more: "
        f"{', '.join(dict.fromkeys(line['dataset'] for line in large))}. Repeated is {repeated[0]['dataset']} with its "
        f"rows {repeated[0]['times']} times over, {repeated[0]['n_rows']:,} rows. Seconds of the processor; load of "
        f"the machine while timing {min(loads)} to {max(loads)}."
    )
    return Table(["classifier", *wanted], rows, dict.fromkeys(wanted, ".2f"), note=note)


def seconds(costs: Costs) -> Table:
    """Milliseconds on the largest data set, its rows repeated: what the multiples are made of."""
    repeated = parts(costs)[2]
    columns = {"train": "fit_seconds", "first answers": "first_seconds", "test": "predict_seconds"}
    rows = [[line["classifier"], *(1000 * line[column] for column in columns.values())] for line in repeated]
    note = f"Milliseconds for {repeated[0]['n_rows']:,} rows of {repeated[0]['dataset']}, load {repeated[0]['load']}."
    return Table(["classifier", *columns], rows, dict.fromkeys(columns, ",.1f"), note=note)


def cost_steps(costs: Costs) -> Table:
    """Each step of the source's orderings by memory and time. Times are judged where there are most rows."""
    rows = []
    for title, (chain, column) in ROWS.items():
        for first, relation, second in steps(chain):
            found = [ratio(some, column, first, second) for some in parts(costs)]
            p = p_alike(parts(costs)[0], column, first, second)
            judged = found[2] if column.endswith("seconds") else found[0]
            rows.append([title, f"{first} {relation} {second}", *found, p, _cost_verdict(relation, judged, p)])
    names = ["what", "step", "second / first, all sets", "large sets", "repeated", "p, alike", "verdict"]
    return Table(names, rows, dict.fromkeys(names[2:5], ".2f") | {"p, alike": "p"})


def p_alike(costs: Costs, column: str, first: str, second: str) -> float:
    """How surely the factor between two costs is less than what we call equal, over the data sets."""
    a, b = (np.log(own) for own in of_both(costs, column, first, second))
    return equivalence(b - a, float(np.log(ALIKE))).p


def _cost_verdict(relation: str, found: float, p: float) -> str:
    """Equal costs are confirmed if the test over all data sets says so, too."""
    alike = 1 / ALIKE < found < ALIKE
    if relation == "<":
        return "about equal" if alike else "confirmed" if found > 1 else "refuted"
    if not alike:
        return "refuted"
    return "confirmed" if p < LEVEL else "not shown"


# --- pictures ------------------------------------------------------------------------------------------------------


def pictures(folder: Path) -> None:
    """The scatter of AODE against SPCr, the ranks, and the price of fewer parents."""
    results = read_means(folder / "results.csv")
    scatter_picture(results, folder / "scatter.png")
    results.select(classifiers=SEVEN).plot(folder / "ranks.png", kind="ranks", measure="accuracy")
    limits_picture(results, folder / "limits.png")


@styled
def scatter_picture(results: Results, path: Path) -> None:
    """AODE against SPCr; labor is named too, as the source's outlier."""
    from tanager.plot.figure import save_figure
    from tanager.plot.style import QUIET, SMALL

    pair = results.select(classifiers=["AODE", "SPCr"])
    figure = pair.plot(kind="scatter")
    if "labor" in pair.datasets:
        place = [pair.mean("labor", name, "error") for name in pair.classifiers]
        arrow = {"arrowstyle": "-", "color": QUIET, "lw": 0.7}
        style: dict[str, Any] = {"textcoords": "offset points", "fontsize": SMALL, "arrowprops": arrow}
        figure.axes[0].annotate("labor", place, (44, 6), **style)
    save_figure(figure, path)


@styled
def limits_picture(results: Results, path: Path) -> None:
    """Error against the number of columns that may be parents."""
    from tanager.plot.figure import add_panel, new_figure, save_figure
    from tanager.plot.style import COLOURS, FAINT, SMALL

    names = ["NB", *LIMITED, "FANC"]
    columns = mean_losses(results, names).T
    rows = [results.folds(dataset, "NB")[0]["n_test"] for dataset in results.datasets]
    values = [geometric_mean_ratio(column, columns[0], rows) for column in columns]
    figure = new_figure(5.6, 3.2)
    axes = add_panel(figure, 0.85, 0.65, 4.5, 2.3)
    axes.axhline(1.0, color=FAINT, lw=1.2)
    axes.plot(range(len(names)), values, "o-", color=COLOURS[0], lw=1.5, ms=5)
    for at, value in enumerate(values):
        axes.annotate(f"{value:.3f}", (at, value), (4, 6), textcoords="offset points", ha="left", fontsize=SMALL)
    axes.set_xticks(range(len(names)), ["0 (NB)", *map(str, LIMITS), "all"])
    low, high = min(values), max(values)
    axes.set_ylim(low - 0.15 * (high - low), high + 0.25 * (high - low))
    axes.set_xlabel("first columns that may be parents (FANC)")
    axes.set_ylabel("error, as multiple of NB's")
    save_figure(figure, path)
