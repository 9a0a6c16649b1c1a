"""The tables and pictures of the page, all made from results.csv, times.csv and weka.csv."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import HOME, against, mean_losses, read_csv, read_means
from experiments.webb_uci.run import CLASSIFIERS, LIMITS, limited
from tanager.evaluate import Results, Table, equivalence, sign_test

WEKA = ("J48", "boosted J48")
OTHERS = ("NB", "TAN", "LBR", *WEKA, "A2DE", "SNB", "BSEJ", "NBTree")
# Mean error, ratio to AODE, and wins, draws and losses of AODE, as the source prints them over 37 data sets.
SOURCE: dict[str, tuple[float, float, tuple[int, int, int]]] = {
    "NB": (0.223, 1.104, (21, 6, 10)),
    "TAN": (0.214, 1.038, (22, 2, 13)),
    "LBR": (0.212, 1.030, (18, 3, 16)),
    "J48": (0.229, 1.187, (23, 0, 14)),
    "boosted J48": (0.206, 1.006, (20, 0, 17)),
}
SOURCE_AODE = 0.209
# Mean seconds of training and of testing of the source; see the page for how its two lines were read.
SOURCE_SECONDS = {
    "AODE": (3.8, 1.1),
    "NB": (3.4, 0.2),
    "TAN": (516.9, 0.1),
    "LBR": (4.2, 15456.1),
    "J48": (26.6, 0.1),
    "boosted J48": (390.4, 0.6),
}
# What counts as alike, fixed before the tests were run: a hundredth of all rows, and a twentieth of the errors.
MARGIN, RATIO_MARGIN = 0.01, 1.05


def tables(folder: Path) -> dict[str, Table]:
    """All tables of the page, by name."""
    every = read_means(folder / "results.csv")
    results = every.select(classifiers=list(CLASSIFIERS)) + trees(every.datasets)
    return {
        "error": results.by_dataset("error"),
        "beside": beside(results),
        "alike": alike(results),
        "limits": limits(every),
        "rmse": against(results, "AODE", OTHERS, "rmse"),
        "log-loss": against(results, "AODE", OTHERS, "log_loss"),
        "ranks": ranks(results),
        "times": times(read_csv(folder / "times.csv"), lines_of_weka(every.datasets)),
        "slowest": slowest(read_csv(folder / "times.csv")),
    }


def lines_of_weka(datasets: list[str]) -> list[dict[str, Any]]:
    """What Weka found on these data sets."""
    return [line for line in read_csv(HOME / "webb_uci" / "weka.csv") if line["dataset"] in datasets]


def trees(datasets: list[str]) -> Results:
    """J48 and boosted J48 of Weka on the same folds."""
    sizes = {"repeat": 0, "fold": 0}
    lines = lines_of_weka(datasets)
    return Results([line | sizes | {"n_train": line["n_rows"], "n_test": line["n_rows"]} for line in lines])


def beside(results: Results) -> Table:
    """AODE against the others by error: our figures, and those of the source."""
    rows: list[list[Any]] = []
    for name, mean, ratio, score, p in against(results, "AODE", OTHERS).rows:
        said_mean, said_ratio, said = SOURCE.get(name, (SOURCE_AODE if name == "AODE" else None, None, None))
        said_score, said_p = ("", None) if said is None else ("-".join(map(str, said)), sign_test(said[0], said[2])[1])
        rows.append([name, mean, said_mean, ratio, said_ratio, score, p, said_score, said_p])
    names = ["classifier", "mean error", "source", "ratio to AODE", "source ratio"]
    names += ["AODE wins-draws-losses", "p", "source wins-draws-losses", "source p"]
    formats = {"source": ".3f", "ratio to AODE": ".3f", "source ratio": ".3f", "p": "p", "source p": "p"}
    return Table(names, rows, formats, note=f"Over {len(results.datasets)} data sets here, 37 in the source.")


def alike(results: Results) -> Table:
    """Two one-sided tests of every classifier against AODE: of the mean difference of errors, and of the mean ratio."""
    rows: list[list[Any]] = []
    for name in OTHERS:
        pair = mean_losses(results, ["AODE", name])
        points = equivalence(pair[:, 1] - pair[:, 0], MARGIN)
        half = np.where(pair.min(axis=1) < 1e-9, 0.5 / sizes(results, name), 0.0)  # half an error where there was none
        logs = np.log(pair + half[:, None])
        ratio = equivalence(logs[:, 1] - logs[:, 0], math.log(RATIO_MARGIN))
        both = [_interval(100 * points.low, 100 * points.high, "+.2f"), points.p]
        rows.append([name, *both, _interval(math.exp(ratio.low), math.exp(ratio.high), ".3f"), ratio.p])
    names = [
        "classifier",
        "error more than AODE's, points",
        "p, not within 1 point",
        "ratio to AODE",
        "p, not within 5 %",
    ]
    return Table(names, rows, {names[2]: "p", names[4]: "p"})


def _interval(low: float, high: float, form: str) -> str:
    return f"{low:{form}} to {high:{form}}"


def sizes(results: Results, name: str) -> np.ndarray:
    """Rows of the data sets that a classifier has answered."""
    folds = [results.folds(dataset, name) for dataset in results.datasets]
    return np.array([own[0]["n_test"] for own in folds if own], dtype=float)


def limits(results: Results) -> Table:
    """AODE with super-parents seen so often at least, against AODE without a limit and against naive Bayes."""
    rows: list[list[Any]] = [[1, float(mean_losses(results, ["AODE"]).mean()), 1.0, "", None]]
    rows[0] += against(results, "NB", ["AODE"]).rows[1][2:]
    for k in LIMITS:
        own = against(results, "AODE", [limited(k)]).rows[1]
        rows.append([k, *own[1:], *against(results, "NB", [limited(k)]).rows[1][2:]])
    names = ["seen at least", "mean error", "ratio to AODE", "AODE wins-draws-losses", "p"]
    names += ["ratio to NB", "NB wins-draws-losses", "p against NB"]
    formats = {"ratio to AODE": ".3f", "ratio to NB": ".3f", "p": "p", "p against NB": "p"}
    return Table(names, rows, formats)


def ranks(results: Results) -> Table:
    """Mean ranks by three measures, over the data sets for which all classifiers have them."""
    measures = ("error", "rmse", "log_loss")
    places = [dict(zip(t["classifier"], t["mean rank"], strict=True)) for t in map(results.over_datasets, measures)]
    rows = [[name, *(place[name] for place in places)] for name in results.classifiers]
    names = ["classifier", *measures]
    return Table(names, sorted(rows, key=lambda row: row[-1]), dict.fromkeys(measures, ".2f"))


def times(lines: list[dict[str, Any]], weka: list[dict[str, Any]]) -> Table:
    """Seconds to learn and to answer a fold: means and medians over data sets, and the means of the source."""
    rows: list[list[Any]] = []
    for name in (*CLASSIFIERS, *WEKA):
        own = [line for line in lines if line["classifier"] == name]
        fit, answer = ([line[key] for line in own] for key in ("fit_seconds", "predict_seconds"))
        if name in WEKA:  # sums over the folds are on file
            own = [line for line in weka if line["classifier"] == name and line["fit_seconds"] is not None]
            fit, answer = ([line[key] / line["n_folds"] for line in own] for key in ("fit_seconds", "predict_seconds"))
        said = SOURCE_SECONDS.get(name, (None, None))
        rows.append([name, np.mean(fit), np.median(fit), said[0], np.mean(answer), np.median(answer), said[1]])
    names = ["classifier", "train, mean", "train, median", "source, train"]
    names += ["test, mean", "test, median", "source, test"]
    loads = [line["load"] for line in lines]
    note = f"Seconds of the processor for a fold; load of the machine while timing {min(loads)} to {max(loads)}."
    return Table(names, rows, dict.fromkeys(names[1:], ".4f") | {names[3]: ".1f", names[6]: ".1f"}, note=note)


def slowest(lines: list[dict[str, Any]]) -> Table:
    """For every classifier ten folds of all data sets together, and the data set that takes longest."""
    rows: list[list[Any]] = []
    for name in CLASSIFIERS:
        own = {line["dataset"]: line for line in lines if line["classifier"] == name}
        seconds = {dataset: 10 * (line["fit_seconds"] + line["predict_seconds"]) for dataset, line in own.items()}
        longest = max(seconds, key=lambda dataset: seconds[dataset])
        testing = 10 * sum(line["predict_seconds"] for line in own.values())
        rows.append([name, len(own), sum(seconds.values()), testing, longest, seconds[longest]])
    names = ["classifier", "data sets", "seconds", "of these testing", "slowest", "seconds there"]
    return Table(names, rows, {"seconds": ".0f", "of these testing": ".0f", "seconds there": ".1f"})


def pictures(folder: Path) -> None:
    """AODE against naive Bayes and against boosted trees, and the ranks by error and by RMSE."""
    every = read_means(folder / "results.csv")
    results = every.select(classifiers=list(CLASSIFIERS)) + trees(every.datasets)
    for other, name in (("NB", "nb"), ("boosted J48", "boosted")):
        pair = results.select(classifiers=["AODE", other])
        pair.plot(folder / f"scatter-{name}.png", kind="scatter")
    for measure in ("error", "rmse"):
        results.plot(folder / f"ranks-{measure}.png", kind="ranks", measure=measure)
