"""The tables and pictures of the page, all made from results.csv and times.csv."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import ALIKE, LEVEL, interval, read_csv
from experiments.webb_anytime.run import MIXES, ORDERS
from tanager.evaluate import Table, equivalence, sign_test, win_draw_loss
from tanager.plot.style import styled

Lines = list[dict[str, Any]]
FIRST = np.arange(21)  # members
SHARES = np.linspace(0, 1, 21)  # of all members
SHOWN = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
LIMITS = (1, 2, 5)  # members, where their number is limited
STOPS = ("all", "loo", "margin", *LIMITS)


class Figures:
    """The results: errors and log losses by number of members."""

    def __init__(self, lines: Lines, kind: str = "AODE") -> None:
        self.kind = kind
        self.known: dict[tuple[Any, ...], Lines] = {}
        for line in [line for line in lines if line["kind"] == kind]:
            key = tuple(line[what] for what in ("dataset", "order", "mix", "weights", "stop"))
            self.known.setdefault(key, []).append(line)
        self.sets = list(dict.fromkeys(key[0] for key in self.known))
        plain = [self.known[name, None, None, None, None][0] for name in self.sets]
        self.n_rows = [line["n_rows"] for line in plain]
        self.n_answers = np.array([line["n_answers"] for line in plain])
        self.n_members = np.array([self.lines(name, "cv", "joint")[0]["n_members"] for name in self.sets])

    def lines(
        self, name: str, order: str | None, mix: str | None, weights: str | None = None, stop: str | None = "all"
    ) -> Lines:
        """Of one data set; several where the order is drawn."""
        return self.known[name, order, mix, weights, stop]

    def plain(self, what: str = "wrong") -> np.ndarray:
        """The classifier that has no steps, on every data set."""
        return np.array([_curve(self.lines(name, None, None, stop=None), what)[0] for name in self.sets])

    def naive(self, what: str = "wrong") -> np.ndarray:
        """Naive Bayes on every data set."""
        return self.after(0, "cv", "joint", what=what)

    def after(self, t: int, *way: Any, what: str = "wrong") -> np.ndarray:
        """The loss after so many members, or all where there are fewer."""
        return self.by(lambda curve: curve[min(t, len(curve) - 1)], *way, what=what)

    def by(self, point: Callable[[np.ndarray], Any], *way: Any, what: str = "wrong") -> np.ndarray:
        """One or more numbers of every data set's curve."""
        return np.array([point(_curve(self.lines(name, *way), what)) for name in self.sets])

    def ratios(self, axis: np.ndarray, *way: Any) -> np.ndarray:
        """Error over that of naive Bayes, for every data set: after so many members, or shares of them."""

        def along(curve: np.ndarray, n_members: int) -> np.ndarray:
            places = axis * n_members if axis is SHARES else axis
            return np.interp(places, np.arange(len(curve)), curve)

        curves = [_curve(self.lines(name, *way), "wrong") for name in self.sets]
        losses = np.array([along(curve, n) for curve, n in zip(curves, self.n_members, strict=True)])
        return ratio(losses, self.naive()[:, None], self.n_answers[:, None])

    def stopped(
        self, stop: Any, order: str, mix: str, weights: str | None = None, what: str = "wrong"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Losses under a stopping rule, and members used."""
        if isinstance(stop, int):
            return self.after(stop, order, mix, weights, what=what), np.minimum(stop, self.n_members).astype(float)
        lines = [self.lines(name, order, mix, weights, stop) for name in self.sets]
        losses = [_curve(own, what)[-1] for own in lines]
        return np.array(losses), np.array([np.mean([line["members"] for line in own]) for own in lines])


def _curve(lines: Lines, what: str) -> np.ndarray:
    """Losses per answer by number of members, the mean over drawn orders."""
    own = [np.array([float(part) for part in str(line[what]).split()]) / line["n_answers"] for line in lines]
    longest = max(map(len, own))
    return np.mean([np.pad(curve, (0, longest - len(curve)), mode="edge") for curve in own], axis=0)


def ratio(loss: np.ndarray, base: np.ndarray, n_answers: np.ndarray) -> np.ndarray:
    """Loss over loss; where one of them is 0, half an error is added to both."""
    half = np.where(np.minimum(loss, base) < 1e-12, 0.5 / n_answers, 0.0)
    return np.asarray((loss + half) / (base + half))


def geometric(values: np.ndarray) -> float:
    """The geometric mean."""
    return float(np.exp(np.log(values).mean()))


def noise(differences: np.ndarray) -> float:
    """The standard error of a mean over data sets."""
    return float(differences.std(ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else 0.0


# --- tables --------------------------------------------------------------------------------------------------------


def tables(folder: Path) -> dict[str, Table]:
    """All tables of the page, by name."""
    lines = read_csv(folder / "results.csv")
    figures, pairs = Figures(lines), Figures(lines, "A2DE")
    clock = read_csv(folder / "times.csv")
    return {
        "first": _first(figures),
        "curves": _shares(figures, MIXES),
        "steps": _steps(figures, MIXES),
        "steps-members": _steps(figures, MIXES, FIRST),
        "alone": _alone(figures),
        "safe": _safe(figures),
        "rules": _rules(figures, [(order, "joint", None, stop) for order in ORDERS for stop in STOPS]),
        "mixes": _rules(figures, [("cv", mix, None, stop) for mix in MIXES for stop in ("all", "loo", *LIMITS)]),
        "weights": _rules(
            figures,
            [
                *[("cv", "joint", weights, stop) for weights in WEIGHTS for stop in (*LIMITS, "all", "loo")],
                *[("cv", mix, weights, "all") for mix in MIXES[1:] for weights in WEIGHTS],
            ],
        ),
        "duels": _duels(figures),
        "alike": _alike({"AODE": figures, "A2DE": pairs}),
        "pairs": _shares(pairs, ("joint",)),
        "pairs-steps": _steps(pairs, ("joint",)),
        "pairs-rules": _rules(pairs, [("cv", "joint", None, stop) for stop in ("all", "loo", *LIMITS)]),
        "together": _times([line for line in clock if line["way"] == "together"]),
        "one-by-one": _times([line for line in clock if line["way"] == "one by one"]),
        "sets": _sets(figures),
    }


WEIGHTS = (None, "mi", "loo")
DUELS: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...] = (  # order, mix, weights, stop
    *((("cv", "joint", None, t), ("random", "joint", None, t)) for t in LIMITS),
    *((("cv", "joint", None, t), ("mi", "joint", None, t)) for t in LIMITS),
    (("cv", "joint", None, "loo"), ("cv", "joint", None, "all")),
    (("mi", "joint", None, "loo"), ("cv", "joint", None, "all")),
    (("mi", "joint", None, "loo"), ("cv", "joint", None, "loo")),
    (("cv", "joint", None, "margin"), ("cv", "joint", None, "all")),
    (("cv", "posterior", None, "all"), ("cv", "joint", None, "all")),
    (("cv", "replace", None, "all"), ("cv", "joint", None, "all")),
    (("cv", "joint", "mi", "all"), ("cv", "joint", None, "all")),
    (("cv", "joint", "loo", "all"), ("cv", "joint", None, "all")),
    (("cv", "joint", "loo", "loo"), ("cv", "joint", "loo", "all")),
)


def _duels(figures: Figures) -> Table:
    """Two ways against each other, by error and by log loss."""
    rows = []
    for pair in DUELS:
        cells: list[Any] = []
        for what in ("wrong", "log_loss"):
            a, b = (figures.stopped(stop, order, mix, weights, what)[0] for order, mix, weights, stop in pair)
            cells += [geometric(ratio(a, b, figures.n_answers)), *_score(a, b)]
        said = [", ".join(str(part) for part in way if part is not None) for way in pair]
        rows.append([*said, *cells])
    names = ["first", "second", "error ratio", "wins-draws-losses", "p", "log loss ratio", "wins-draws-losses ", "p "]
    return Table(names, rows, {"error ratio": ".3f", "log loss ratio": ".3f", "p": "p", "p ": "p"})


ENOUGH = 0.05  # of the error of naive Bayes: ways that differ by less on average are alike
SAID_ALIKE: tuple[tuple[str, tuple[Any, ...], tuple[Any, ...]], ...] = (
    *(("AODE", ("cv", "joint", None, t), ("mi", "joint", None, t)) for t in LIMITS),
    ("AODE", ("cv", "joint", None, 4), ("cv", "joint", None, "all")),
    ("AODE", ("cv", "joint", None, "loo"), ("cv", "joint", None, "all")),
    ("AODE", ("mi", "joint", None, "loo"), ("cv", "joint", None, "all")),
    ("AODE", ("mi", "joint", None, "loo"), ("cv", "joint", None, "loo")),
    ("AODE", ("cv", "replace", None, "all"), ("cv", "joint", None, "all")),
    ("A2DE", ("cv", "joint", None, 2), ("cv", "joint", None, "all")),
    ("A2DE", ("cv", "joint", None, "loo"), ("cv", "joint", None, "all")),
)


def _alike(figures: dict[str, Figures]) -> Table:
    """Ways of which the page says that one errs no more than the other: the difference, and whether it is small."""
    rows = []
    for kind, *pair in SAID_ALIKE:
        own = figures[kind]
        a, b = (
            ratio(own.stopped(stop, order, mix, weights)[0], own.naive(), own.n_answers)
            for order, mix, weights, stop in pair
        )
        found = equivalence(a - b, ENOUGH)
        said = [", ".join(str(part) for part in way if part is not None) for way in pair]
        verdict = "alike" if found.p < LEVEL else "not shown"
        rows.append([kind, *said, len(a), found.mean, interval(found, digits=3), found.p, verdict])
    names = ["members", "first", "second", "data sets", "first less second", *ALIKE, "verdict"]
    note = f"Errors over those of naive Bayes; margin {ENOUGH}."
    return Table(names, rows, {"first less second": "+.3f", "p, alike": "p"}, note=note)


def _first(figures: Figures) -> Table:
    """Ratios to naive Bayes after the first members."""
    shown = (0, 1, 2, 3, 4, 5, 7, 10, 15, 20)
    rows: list[list[Any]] = []
    for mean, of in (("mean", lambda own: own.mean(axis=0)), ("geometric", lambda own: np.exp(np.log(own).mean(0)))):
        for order in ORDERS:
            rows.append([mean, order, *of(figures.ratios(FIRST, order, "joint"))[list(shown)].tolist()])
    return Table(["mean", "order", *map(str, shown)], rows, dict.fromkeys(map(str, shown), ".3f"))


def _shares(figures: Figures, mixes: Sequence[str]) -> Table:
    """Mean ratios to naive Bayes by share of members."""
    at = [round(share * (len(SHARES) - 1)) for share in SHOWN]
    names = [f"{100 * share:.0f} %" for share in SHOWN]
    rows: list[list[Any]] = []
    for mix in mixes:
        for order in ORDERS:
            own = figures.ratios(SHARES, order, mix)
            rows.append([mix, order, *own.mean(axis=0)[at].tolist(), geometric(own[:, -1])])
    return Table(["mix", "order", *names, "100 %, geometric"], rows, dict.fromkeys([*names, "100 %, geometric"], ".3f"))


def _steps(figures: Figures, mixes: Sequence[str], axis: np.ndarray = SHARES) -> Table:
    """Whether a mean curve falls all the way: its largest rise in one step, and from its lowest point to the end."""

    def place(at: int) -> str:
        return f"{100 * SHARES[at]:.0f} %" if axis is SHARES else f"{at}"

    rows: list[list[Any]] = []
    for mix in mixes:
        for order in ORDERS:
            own = figures.ratios(axis, order, mix)
            mean, low = own.mean(axis=0), int(own.mean(axis=0).argmin())
            steps = np.diff(own, axis=1)
            at = int(steps.mean(axis=0).argmax())
            climb = own[:, -1] - own[:, low]
            rows.append(
                [
                    *(mix, order, f"{mean[low]:.3f} at {place(low)}", float(mean[-1])),
                    f"{steps[:, at].mean():+.4f} ± {noise(steps[:, at]):.4f} at {place(at + 1)}",
                    int((steps.mean(axis=0) > 1e-12).sum()),
                    f"{climb.mean():+.4f} ± {noise(climb):.4f}",
                    "yes" if (steps.mean(axis=0) <= 2 * np.array([noise(step) for step in steps.T])).all() else "no",
                ]
            )
    names = ["mix", "order", "lowest", "end", "largest step", "rising steps", "from lowest to end", "steady"]
    each = "5 % of the members" if axis is SHARES else "one member"
    note = (
        f"Of 20 steps of {each}. ±: standard error over the data sets. Steady: no step rises by more than two of them."
    )
    return Table(names, rows, {"end": ".3f"}, note=note)


def _score(losses: np.ndarray, base: np.ndarray) -> list[Any]:
    won, drawn, lost = win_draw_loss(losses, base)
    return [f"{won}-{drawn}-{lost}", sign_test(won, lost)[1]]


def _alone(figures: Figures) -> Table:
    """The first super-parent alone, and together with naive Bayes, against naive Bayes."""
    naive, rows = figures.naive(), []
    for said, mix in (
        ("alone", "replace"),
        ("with naive Bayes", "joint"),
        ("with naive Bayes, posteriors", "posterior"),
    ):
        for order in ORDERS:
            lines = [figures.lines(name, order, mix) for name in figures.sets]
            draws = len(lines[0])
            each = np.array([[_curve([own[draw]], "wrong")[1] for own in lines] for draw in range(draws)])
            worse = [100 * np.mean(losses > naive + 1e-12) for losses in each]
            mean = each.mean(axis=0)
            own = ratio(mean, naive, figures.n_answers)
            rows.append(
                [order, said, float(np.mean(worse)), own.mean(), geometric(own), float(own.max()), *_score(mean, naive)]
            )
    names = [
        "order",
        "first member",
        "worse than NB, % of sets",
        "mean ratio",
        "geometric",
        "largest",
        "wins-draws-losses",
        "p",
    ]
    formats = {names[2]: ".0f", "mean ratio": ".3f", "geometric": ".3f", "largest": ".2f", "p": "p"}
    return Table(names, rows, formats)


def _safe(figures: Figures) -> Table:
    """On how many data sets naive Bayes is lost by going on, by number of members."""
    naive, rows = figures.naive(), []
    for order in ORDERS:
        for t in (1, 2, 3, 5, 10, 1000):
            losses = figures.after(t, order, "joint")
            own = ratio(losses, naive, figures.n_answers)
            rows.append([order, "all" if t == 1000 else str(t), *_score(losses, naive), float(own.max())])
    return Table(
        ["order", "members", "wins-draws-losses against NB", "p", "worst ratio"], rows, {"p": "p", "worst ratio": ".2f"}
    )


def _rules(figures: Figures, chosen: Sequence[tuple[Any, ...]]) -> Table:
    """Stopping rules against naive Bayes and against all members."""
    base, plain = figures.naive(), figures.plain()
    loss, n = figures.plain("log_loss"), figures.n_answers

    def line(losses: np.ndarray, logs: np.ndarray, used: np.ndarray) -> list[Any]:
        to_naive, to_plain = ratio(losses, base, n), ratio(losses, plain, n)
        share = float((used / figures.n_members).mean())
        numbers = [100 * share, losses.mean(), to_naive.mean(), geometric(to_naive), geometric(to_plain)]
        return [*numbers, *_score(losses, base), *_score(losses, plain), geometric(logs / loss)]

    rows = [
        ["NB", "", "", "", *line(base, figures.naive("log_loss"), 0.0 * n)],
        [figures.kind, "", "", "", *line(plain, loss, figures.n_members)],
    ]
    for order, mix, weights, stop in chosen:
        losses, used = figures.stopped(stop, order, mix, weights)
        logs = figures.stopped(stop, order, mix, weights, what="log_loss")[0]
        rows.append([order, mix, weights or "", str(stop), *line(losses, logs, used)])
    names = [
        "order",
        "mix",
        "weights",
        "stop",
        "members, %",
        "mean error",
        "to NB, mean",
        "to NB",
        f"to {figures.kind}",
    ]
    names += ["against NB", "p", f"against {figures.kind}", "p ", f"log loss to {figures.kind}"]
    return Table(names, rows, {names[4]: ".0f", "p": "p", "p ": "p"} | dict.fromkeys([*names[6:9], names[-1]], ".3f"))


def _times(lines: Lines) -> Table:
    """Means over the data sets by budget."""
    rows = []
    sets = list(dict.fromkeys(line["dataset"] for line in lines))
    for budget in dict.fromkeys(line["budget_us"] for line in lines):
        own = [line for line in lines if line["budget_us"] == budget]
        spent = np.array([line["us_per_row"] for line in own])
        shares = [100 * line["members"] / line["n_members"] for line in own]
        ratios = _time_ratios(lines, budget)
        said = "none" if budget is None else f"{budget:g}"
        rows.append(
            [
                said,
                float(np.median(spent)),
                float(spent.max()),
                float(np.mean(shares)),
                ratios.mean(),
                geometric(ratios),
            ]
        )
    names = ["budget, us per row", "used, median", "used, most", "members, %", "error to NB, mean", "error to NB"]
    formats = {"used, median": ".1f", "used, most": ".1f", "members, %": ".0f", names[4]: ".3f", names[5]: ".3f"}
    loads = [line["load"] for line in lines] or [0]
    note = f"Over {len(sets)} data sets; load of the machine {min(loads)} to {max(loads)}, on the clock of the wall."
    return Table(names, rows, formats, note=note)


def _time_ratios(lines: Lines, budget: float | None) -> np.ndarray:
    """Errors at a budget over those of naive Bayes, which answers at a budget of 0."""
    naive = {line["dataset"]: line["error"] for line in lines if line["budget_us"] == 0}
    own = [line for line in lines if line["budget_us"] == budget]
    base, n = np.array([naive[line["dataset"]] for line in own]), np.array([line["n_asked"] for line in own])
    return ratio(np.array([line["error"] for line in own]), base, n)


def _sets(figures: Figures) -> Table:
    """Errors on every data set."""
    chosen = {
        "NB": figures.naive(),
        "random, 1": figures.after(1, "random", "joint"),
        "cv, 1": figures.after(1, "cv", "joint"),
        "cv, 5": figures.after(5, "cv", "joint"),
        "cv, loo": figures.stopped("loo", "cv", "joint")[0],
        "cv, all": figures.stopped("all", "cv", "joint")[0],
        "AODE": figures.plain(),
    }
    used = figures.stopped("loo", "cv", "joint")[1]
    columns = zip(figures.sets, figures.n_rows, figures.n_members.tolist(), *chosen.values(), used, strict=True)
    return Table(["dataset", "rows", "members", *chosen, "members, loo"], list(columns), {"members, loo": ".1f"})


# --- pictures ------------------------------------------------------------------------------------------------------


def pictures(folder: Path) -> None:
    """Errors over members for orders and ways to average, for pairs of super-parents, and over microseconds."""
    lines = read_csv(folder / "results.csv")
    figures = Figures(lines)
    wide = {f"mix={mix!r}": [(order, mix) for order in ORDERS] for mix in MIXES}
    _draw(folder / "members.png", figures, FIRST, wide, "super-parents")
    _draw(folder / "shares.png", figures, SHARES, wide, "share of super-parents")
    pairs = Figures(lines, "A2DE")
    _draw(
        folder / "pairs.png", pairs, SHARES, {"AnytimeA2DE": [(order, "joint") for order in ORDERS]}, "share of pairs"
    )
    _draw_times(folder / "times.png", read_csv(folder / "times.csv"))


@styled
def _draw(path: Path, figures: Figures, axis: np.ndarray, panels: dict[str, list[tuple[str, str]]], below: str) -> None:
    """A panel for each group of curves."""
    from tanager.plot.figure import add_panel, new_figure, save_figure
    from tanager.plot.style import COLOURS, QUIET

    figure = new_figure(1.6 + 3.1 * len(panels), 3.7)
    whole = []
    for at, (title, group) in enumerate(panels.items()):
        axes = add_panel(figure, 0.65 + 3.1 * at, 0.55, 2.65, 2.75)
        whole.append(axes)
        axes.axhline(1, color=QUIET, lw=0.8)
        for (order, mix), colour in zip(group, COLOURS, strict=False):
            axes.plot(axis, figures.ratios(axis, order, mix).mean(axis=0), color=colour, lw=1.6, label=order)
        axes.set_title(title, loc="left")
        axes.set_xlabel(below)
    low, high = min(axes.get_ylim()[0] for axes in whole), max(axes.get_ylim()[1] for axes in whole)
    for axes in whole:
        axes.set_ylim(low, high)
    whole[0].set_ylabel("error / error of naive Bayes, mean")
    figure.legend(*whole[0].get_legend_handles_labels(), loc="center right", title="order")
    save_figure(figure, path)


@styled
def _draw_times(path: Path, lines: Lines) -> None:
    """Error over microseconds per row: a thin line for each data set, a thick one for their mean."""
    from matplotlib.ticker import LogLocator

    from tanager.plot.figure import add_panel, new_figure, save_figure
    from tanager.plot.style import COLOURS, FAINT, QUIET

    figure = new_figure(8.2, 3.7)
    for at, way in enumerate(("together", "one by one")):
        axes = add_panel(figure, 0.65 + 3.9 * at, 0.55, 3.3, 2.75)
        own = [line for line in lines if line["way"] == way]
        axes.axhline(1, color=QUIET, lw=0.8)
        for name in dict.fromkeys(line["dataset"] for line in own):
            single = [line for line in own if line["dataset"] == name]
            ratios = [_time_ratios(single, line["budget_us"])[0] for line in single]
            axes.plot([line["us_per_row"] for line in single], ratios, color=FAINT, lw=0.8)
        budgets = list(dict.fromkeys(line["budget_us"] for line in own))
        spent = [geometric(np.array([line["us_per_row"] for line in own if line["budget_us"] == b])) for b in budgets]
        means = [float(_time_ratios(own, budget).mean()) for budget in budgets]
        axes.plot(spent, means, "o-", color=COLOURS[0], lw=1.6, markersize=4)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(lambda value, _: "")
        axes.set_title(f"rows asked {way}", loc="left")
        axes.set_xlabel("microseconds per row")
        if at == 0:
            axes.set_ylabel("error / error of naive Bayes")
    save_figure(figure, path)
