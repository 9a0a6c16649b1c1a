"""The tables and pictures of the page, all made from results.csv and blankets.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import judged, mean_losses, read_csv, read_means
from experiments.friedman.run import DRAWN, GIVEN, KINDS, RULES, pima_tree
from tanager.evaluate import Results, Table, ranks
from tanager.plot.style import styled

Lines = list[dict[str, Any]]

MAIN = [*KINDS, "TAN^s", "C4.5"]  # smoothed, all of them
# As in the source: tables as counted, but for those with an s.
AS_SAID = ["NB^0", "SNB^0", "SNB-best^0", "TAN^0", "TAN^s", "CL^0", "CL^s", "BAN^0", "MN^0", "BN^0", "C4.5"]
SCATTERED = ("SNB-best", "TAN^s", "CL", "BAN", "MN", "BN", "BN-BDeu", "C4.5")
# What the source says, or what was said about it, as steps by accuracy; "~" is "about the same".
CLAIMS = (
    "NB^0 ~ BN^0, NB^0 ~ C4.5, NB^0 ~ SNB^0, NB^0 ~ SNB-best^0, NB^0 < TAN^s, TAN^0 < TAN^s, CL^0 < CL^s, "
    "TAN^s ~ CL^s, TAN^s ~ C4.5, TAN^s ~ SNB^0, TAN^s ~ SNB-best^0, BN^0 < TAN^s, BAN^0 ~ MN^0"
)
SMOOTHED = (
    "NB < TAN, NB^s < TAN^s, NB ~ SNB, NB ~ SNB-best, SNB < SNB-best, TAN^s ~ TAN, TAN ~ CL, TAN ~ BAN, BAN ~ MN, "
    "CL ~ MN, MN ~ MN-BDeu, TAN ~ MN-BDeu, NB < MN-BDeu, BN < BAN, C4.5 < TAN"
)
UNRESTRICTED = "NB ~ BN, BN^0 < BN, BN < BN-BDeu, BN-BDeu^0 < BN-BDeu, NB < BN-BDeu, BN-BDeu ~ TAN"
# The data sets as slide 15 lists them, from those where naive Bayes gains most to those where the network does.
SLIDE = (
    *("soybean-large", "satimage", "glass", "waveform-21", "lymphography", "glass2", "german", "cleve", "crx"),
    *("pima", "mofn-3-7-10", "breast", "hepatitis", "australian", "letter", "iris", "heart", "shuttle-small"),
    *("diabetes", "segment", "vehicle", "flare", "vote", "chess", "corral"),
)
MANY = 15  # attributes; with more of them a data set counts as wide


def tables(folder: Path) -> dict[str, Table]:
    """All tables of the page, by name."""
    results, blankets = read_means(folder / "results.csv"), read_csv(folder / "blankets.csv")
    main = results.select(classifiers=MAIN)
    return {
        "accuracy": accuracies(main),
        "over": main.over_datasets("error"),
        "over-source": results.select(classifiers=AS_SAID).over_datasets("error"),
        "clear": clear(main),
        "steps": judged(results, CLAIMS),
        "smoothed": judged(results, SMOOTHED),
        "scores": judged(results, UNRESTRICTED),
        "smoothing": smoothing(results),
        "unrestricted": unrestricted(results, blankets),
        "wide": wide(results, blankets),
    }


def n_tested(results: Results, dataset: str) -> int:
    """Rows asked in one repetition."""
    rows = int(results.folds(dataset, "NB")[0]["n_train"])  # means on file have all rows there
    return DRAWN.get(dataset, rows - GIVEN[dataset] if dataset in GIVEN else rows)


def accuracies(results: Results) -> Table:
    """Accuracy in percent with its standard error, a line per data set."""
    rows = []
    for dataset in results.datasets:
        n = n_tested(results, dataset)
        means = [results.mean(dataset, name, "accuracy") for name in results.classifiers]
        rows.append([dataset, n, *(f"{100 * p:.2f} ± {100 * (p * (1 - p) / n) ** 0.5:.2f}" for p in means)])
    return Table(["dataset", "rows asked", *results.classifiers], rows)


def clear(results: Results) -> Table:
    """Where each classifier differs from naive Bayes by more than two standard errors of the difference."""
    rows = []
    for name in MAIN[1:]:
        better: list[str] = []
        worse: list[str] = []
        for dataset in results.datasets:
            p, q = (results.mean(dataset, one, "accuracy") for one in (name, "NB"))
            error = ((p * (1 - p) + q * (1 - q)) / n_tested(results, dataset)) ** 0.5
            if abs(p - q) > 2 * error:
                (better if p > q else worse).append(dataset)
        rows.append([name, len(better), ", ".join(better), len(worse), ", ".join(worse)])
    return Table(["classifier", "better", "where", "worse", "and where"], rows)


def smoothing(results: Results) -> Table:
    """Mean error of each kind of network under three rules, and how often more than counting helps."""
    rows: list[list[Any]] = []
    for kind in KINDS:
        names = [kind + mark for mark in RULES]
        losses = mean_losses(results, names)
        order = [losses[:, names.index(kind + mark)] for mark in ("^0", "", "^s")]
        better = [int((order[0] - side > 1e-9).sum()) for side in order[1:]]
        worse = [int((side - order[0] > 1e-9).sum()) for side in order[1:]]
        scores = [f"{won}-{lost}" for won, lost in zip(better, worse, strict=True)]
        rows.append([kind, *(float(column.mean()) for column in order), *scores])
    return Table(
        ["network", "as counted (^0)", "Laplace", "prior counts (^s)", "Laplace wins-losses", "^s wins-losses"], rows
    )


def unrestricted(results: Results, blankets: Lines) -> Table:
    """Unrestricted networks against naive Bayes, the data sets in the order of slide 15."""
    sizes = {line["dataset"]: line for line in blankets}
    rows = []
    for dataset in [name for name in SLIDE if name in results.datasets] or results.datasets:
        line = sizes[dataset]
        errors = [100 * results.mean(dataset, name, "error") for name in ("NB", "BN", "BN-BDeu")]
        gains = [errors[0] - error for error in errors[1:]]
        rows.append([dataset, line["attributes"], line["BN"], line["BN-BDeu"], *errors, *gains])
    names = ["dataset", "attributes", "blanket of BN", "of BN-BDeu", "NB", "BN", "BN-BDeu", "BN gains", "BN-BDeu gains"]
    formats = dict.fromkeys(names[4:7], ".2f") | dict.fromkeys(names[7:], "+.2f")
    return Table(names, rows, formats, note=_agreement(rows))


def _agreement(rows: list[list[Any]]) -> str:
    """How well our gains follow the order of the slide, as a rank correlation."""
    if len(rows) < len(SLIDE):
        return ""
    rho = np.corrcoef(np.arange(len(rows)), ranks(np.array([[row[7] for row in rows]]))[0])[0, 1]
    return f"Errors and gains in percent. Rank correlation of the gain of BN with the order of slide 15: {rho:.2f}."


def wide(results: Results, blankets: Lines) -> Table:
    """The same in short: data sets of few and of many attributes."""
    many = {line["dataset"] for line in blankets if line["attributes"] > MANY}
    rows = []
    for title, some in ((f"more than {MANY}", many), (f"up to {MANY}", set(results.datasets) - many)):
        for a, b in (("NB", "BN"), ("NB", "BN-BDeu")):
            pairs = [(results.mean(d, a, "error"), results.mean(d, b, "error")) for d in results.datasets if d in some]
            if pairs:
                gain = np.array([x - y for x, y in pairs])
                score = f"{(gain > 1e-9).sum()}-{(abs(gain) <= 1e-9).sum()}-{(gain < -1e-9).sum()}"
                rows.append([title, f"{b} against {a}", len(pairs), score, 100 * float(gain.mean())])
    names = ["attributes", "networks", "data sets", "wins-draws-losses", "mean gain, points"]
    return Table(names, rows, {"mean gain, points": "+.2f"})


# --- pictures ------------------------------------------------------------------------------------------------------


def pictures(folder: Path) -> None:
    """Each classifier's errors against naive Bayes, the ranks, the two curves of slide 15, and the tree of slide 32."""
    results = read_means(folder / "results.csv")
    for name in SCATTERED:
        pair = results.select(classifiers=["NB", name])
        pair.plot(folder / f"scatter-{name.lower().replace('^', '-').replace('.', '')}.png", kind="scatter")
    results.select(classifiers=MAIN).plot(folder / "ranks.png", kind="ranks", measure="error")
    curves(results, folder / "curves.png")
    if "pima" in results.datasets:
        pima_tree().plot(folder / "tan-pima.png", target="C", title="TAN for the Pima data")


@styled
def curves(results: Results, path: Path) -> None:
    """Errors of naive Bayes and of the unrestricted network, the data sets in the order of slide 15."""
    from tanager.plot.figure import add_panel, new_figure, save_figure
    from tanager.plot.style import COLOURS

    order = [name for name in SLIDE if name in results.datasets] or results.datasets
    figure = new_figure(7.6, 4.0)
    axes = add_panel(figure, 0.7, 1.2, 6.7, 2.6)
    styles = {"BN": (COLOURS[1], "o-"), "BN-BDeu": (COLOURS[2], "^:"), "NB": (COLOURS[0], "s-")}
    for name, (colour, style) in styles.items():
        errors = [100 * results.mean(dataset, name, "error") for dataset in order]
        axes.plot(range(len(order)), errors, style, color=colour, lw=1.3, ms=3.5, label=name)
    axes.set_xticks(range(len(order)), order, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_ylabel("error, percent")
    axes.set_ylim(bottom=0)
    axes.legend()
    save_figure(figure, path)
