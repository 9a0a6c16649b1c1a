"""The tables and pictures of the page, all made from results.csv and times.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import HOME, against, mean_losses, read_csv, read_means
from tanager.evaluate import Results, Table, sign_test, win_draw_loss

OTHERS = ("NB", "TAN", "A2DE", "LBR", "tree", "boosted")
# Mean error, ratio to AODE, and wins, draws and losses of AODE, as the source prints them over 37 data sets.
SOURCE: dict[str, tuple[float, float, tuple[int, int, int]]] = {
    "NB": (0.223, 1.104, (21, 6, 10)),
    "TAN": (0.214, 1.038, (22, 2, 13)),
    "LBR": (0.212, 1.030, (18, 3, 16)),
    "tree": (0.229, 1.187, (23, 0, 14)),
    "boosted": (0.206, 1.006, (20, 0, 17)),
}
SOURCE_AODE = 0.209


def tables(folder: Path) -> dict[str, Table]:
    """All tables of the page, by name."""
    results = read_means(folder / "results.csv")
    return {
        "error": results.by_dataset("error"),
        "beside": beside(results),
        "weka": weka(results),
        "rmse": against(results, "AODE", OTHERS, "rmse"),
        "log-loss": against(results, "AODE", OTHERS, "log_loss"),
        "ranks": ranks(results),
        "times": times(read_csv(folder / "times.csv")),
    }


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


def weka(results: Results) -> Table:
    """AODE against J48 and boosted J48 of Weka on the same folds, by error."""
    lines = [line for line in read_csv(HOME / "webb_uci" / "weka.csv") if line["dataset"] in results.datasets]
    ours = dict(zip(results.datasets, mean_losses(results, ["AODE"])[:, 0], strict=True))
    rows = []
    for name, source in (("J48", "tree"), ("boosted J48", "boosted")):
        own = [line for line in lines if line["classifier"] == name]
        theirs, aode = np.array([line["error"] for line in own]), np.array([ours[line["dataset"]] for line in own])
        won, drawn, lost = win_draw_loss(aode, theirs, 1e-6)  # as many digits are on file
        p = sign_test(won, lost)[1]
        seconds = sum(line["seconds"] for line in own)
        rows.append([name, theirs.mean(), SOURCE[source][0], f"{won}-{drawn}-{lost}", p, seconds])
    names = ["classifier", "mean error", "source", "AODE wins-draws-losses", "p", "seconds"]
    return Table(names, rows, {"source": ".3f", "p": "p", "seconds": ".0f"})


def ranks(results: Results) -> Table:
    """Mean ranks by three measures."""
    measures = ("error", "rmse", "log_loss")
    places = [dict(zip(t["classifier"], t["mean rank"], strict=True)) for t in map(results.over_datasets, measures)]
    rows = [[name, *(place[name] for place in places)] for name in results.classifiers]
    names = ["classifier", *measures]
    return Table(names, sorted(rows, key=lambda row: row[-1]), dict.fromkeys(measures, ".2f"))


def times(lines: list[dict[str, Any]]) -> Table:
    """Seconds to learn all rows of a data set and to answer all of them: means, and medians."""
    rows = []
    for name in dict.fromkeys(line["classifier"] for line in lines):
        own = [line for line in lines if line["classifier"] == name]
        fit, answer = (np.array([line[key] for line in own]) for key in ("fit_seconds", "predict_seconds"))
        rows.append([name, fit.mean(), np.median(fit), answer.mean(), np.median(answer)])
    names = ["classifier", "train, mean", "train, median", "test, mean", "test, median"]
    loads = [line["load"] for line in lines]
    note = (
        f"Seconds of the processor, from the table on; load of the machine while timing {min(loads)} to {max(loads)}."
    )
    return Table(names, rows, dict.fromkeys(names[1:], ".4f"), note=note)


def pictures(folder: Path) -> None:
    """AODE against naive Bayes and against boosted trees, and the ranks by error and by RMSE."""
    results = read_means(folder / "results.csv")
    for other in ("NB", "boosted"):
        pair = results.select(classifiers=["AODE", other])
        pair.plot(folder / f"scatter-{other.lower()}.png", kind="scatter")
    for measure in ("error", "rmse"):
        results.plot(folder / f"ranks-{measure}.png", kind="ranks", measure=measure)
