"""The tables and pictures of the page, all made from results.csv and costs.csv."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.bouckaert_uci.run import LIMITS, ORDERS, seven
from experiments.common import against, mean_losses, read_csv, read_means
from tanager.evaluate import Results, Table, geometric_mean_ratio, sign_test, win_draw_loss

SEVEN = list(seven({}))
LIMITED = [f"FANC first {k}" for k in LIMITS]
LARGE = 2000  # rows from which on a data set counts as large
LEVEL = 0.05
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
        "pairs": main.win_draw_loss("accuracy"),
        "friedman": main.friedman("accuracy"),
        "steps": accuracy_steps(main),
        "significant": significant(main),
        "costs": cost_ratios(costs),
        "cost-steps": cost_steps(costs),
        "labor": labor(main),
        "selection": against(results, "SPCr", ["SPCr resub", "SPC mi", "SPC", "TC", "AODE"]),
        "orders": orders(results),
        "limits": against(results, "FANC", ["NB", *LIMITED]),
    }


def steps(chain: str) -> list[tuple[str, str, str]]:
    """The steps of one or several chains, first, relation and second: NB < TAN ~ AODE has two."""
    words = [part.split() for part in chain.split(",")]
    return [(w[i], w[i + 1], w[i + 2]) for w in words for i in range(0, len(w) - 2, 2)]


# --- accuracy ------------------------------------------------------------------------------------------------------


def accuracy_steps(results: Results) -> Table:
    """Each step of the source's ordering by accuracy, with the sign test over the data sets."""
    rows = []
    for first, relation, second in [*steps(ACCURACY), *steps(BESIDE)]:
        a, b = mean_losses(results, [first, second]).T
        won, drawn, lost = win_draw_loss(b, a)
        p = sign_test(won, lost)[1]
        gain = 100 * float((a - b).mean())
        rows.append(
            [f"{first} {relation} {second}", f"{won}-{drawn}-{lost}", p, gain, _verdict(relation, won, lost, p)]
        )
    names = ["step", "wins-draws-losses of the second", "p", "mean gain, points", "verdict"]
    return Table(names, rows, {"p": "p", "mean gain, points": "+.2f"})


def _verdict(relation: str, won: int, lost: int, p: float) -> str:
    if relation == "~":
        return "confirmed" if p >= LEVEL else "refuted"
    if p >= LEVEL:
        return "not shown"
    return "confirmed" if won > lost else "refuted"


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


def ratio(costs: Sequence[dict[str, Any]], column: str, first: str, second: str, least: int = 0) -> float:
    """The geometric mean of second over first, over the data sets with at least so many rows."""
    a, b = (_column(costs, column, name, least) for name in (first, second))
    return geometric_mean_ratio(b, a) if len(a) else float("nan")


def _column(costs: Iterable[dict[str, Any]], column: str, name: str, least: int) -> np.ndarray:
    return np.array([line[column] for line in costs if line["classifier"] == name and line["n_rows"] >= least])


def cost_ratios(costs: Sequence[dict[str, Any]]) -> Table:
    """Bytes and seconds of every classifier as multiples of those of naive Bayes."""
    wanted = [
        ("model_bytes", 0, "final model"),
        ("store_bytes", 0, "while learning"),
        ("fit_seconds", 0, "train, all sets"),
        ("fit_seconds", LARGE, "train, large sets"),
        ("first_seconds", LARGE, "first answers, large sets"),
        ("predict_seconds", 0, "test, all sets"),
        ("predict_seconds", LARGE, "test, large sets"),
    ]
    rows = [[name, *(ratio(costs, column, "NB", name, least) for column, least, _ in wanted)] for name in SEVEN]
    names = ["classifier", *(title for _, _, title in wanted)]
    loads = [line["load"] for line in costs]
    large = sorted({line["dataset"] for line in costs if line["n_rows"] >= LARGE})
    note = (
        f"Multiples of naive Bayes, geometric means over the data sets. Large are those of {LARGE:,} rows or more: "
        f"{', '.join(large)}. Seconds of the processor; load of the machine while timing {min(loads)} to {max(loads)}."
    )
    return Table(names, rows, dict.fromkeys(names[1:], ".2f"), note=note)


def cost_steps(costs: Sequence[dict[str, Any]]) -> Table:
    """Each step of the source's orderings by memory and time. Times are judged on the large data sets."""
    rows = []
    for title, (chain, column) in ROWS.items():
        timed = column.endswith("seconds")
        for first, relation, second in steps(chain):
            over_all, over_large = (ratio(costs, column, first, second, least) for least in (0, LARGE))
            verdict = _cost_verdict(relation, over_large if timed and over_large == over_large else over_all)
            rows.append([title, f"{first} {relation} {second}", over_all, over_large, verdict])
    names = ["what", "step", "second / first, all sets", "large sets", "verdict"]
    return Table(names, rows, dict.fromkeys(names[2:4], ".2f"))


def _cost_verdict(relation: str, found: float) -> str:
    alike = 1 / ALIKE < found < ALIKE
    if relation == "<":
        return "about equal" if alike else "confirmed" if found > 1 else "refuted"
    return "confirmed" if alike else "refuted"


# --- pictures ------------------------------------------------------------------------------------------------------


def pictures(folder: Path) -> None:
    """The scatter of AODE against SPCr, the ranks, and the price of fewer parents."""
    results = read_means(folder / "results.csv")
    results.select(classifiers=["AODE", "SPCr"]).plot(folder / "scatter.png", kind="scatter")
    results.select(classifiers=SEVEN).plot(folder / "ranks.png", kind="ranks", measure="accuracy")
    limits_picture(results, folder / "limits.png")


def limits_picture(results: Results, path: Path) -> None:
    """Error against the number of columns that may be parents."""
    from tanager.plot.canvas import COLOURS, FAINT, INK, panel, paper, written

    names = ["NB", *LIMITED, "FANC"]
    columns = mean_losses(results, names).T
    rows = [results.folds(dataset, "NB")[0]["n_test"] for dataset in results.datasets]
    values = [geometric_mean_ratio(column, columns[0], rows) for column in columns]
    figure = paper(5.6, 3.2)
    axes = panel(figure, 0.85, 0.65, 4.5, 2.3)
    axes.axhline(1.0, color=FAINT, lw=1.2)
    axes.plot(range(len(names)), values, "o-", color=COLOURS[0], lw=1.5, ms=5)
    for at, value in enumerate(values):
        axes.annotate(f"{value:.3f}", (at, value), (4, 6), textcoords="offset points", ha="left", fontsize=8, color=INK)
    axes.set_xticks(range(len(names)), ["0 (NB)", *map(str, LIMITS), "all"])
    low, high = min(values), max(values)
    axes.set_ylim(low - 0.15 * (high - low), high + 0.25 * (high - low))
    axes.set_xlabel("first columns that may be parents (FANC)", fontsize=9, color=INK)
    axes.set_ylabel("error, as multiple of NB's", fontsize=9, color=INK)
    written(figure, path)
