"""Learning networks: tests of independence, scores and searches, next to pgmpy on the same rows (or on fewer)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Line, best_times, seconds
from tanager import (
    BAN,
    CBL,
    DataError,
    GeneralNetwork,
    GSquared,
    HillClimb,
    MultiNet,
    Network,
    Sample,
    Wrapped,
    datasets,
)


def network_rows(n_rows: int, n_columns: int = 20, n_values: int = 2, n_parents: int = 2, seed: int = 0) -> np.ndarray:
    """Codes of a random network: every column follows up to so many of the four before it."""
    rng = np.random.default_rng(seed)
    codes = np.empty((n_rows, n_columns), dtype=np.uint8, order="F")
    for i in range(n_columns):
        near = np.arange(max(0, i - 4), i)
        parents = rng.permutation(near)[:n_parents]
        cell = np.zeros(n_rows, dtype=np.intp)
        for parent in parents:
            cell = cell * n_values + codes[:, parent]
        chances = rng.dirichlet(np.ones(n_values), n_values ** len(parents)).cumsum(axis=1)
        codes[:, i] = (rng.random((n_rows, 1)) > chances[cell, :-1]).sum(axis=1)
    return codes


def sample_of(codes: np.ndarray) -> Sample:
    """A new one each time: nothing is remembered from the round before."""
    n_values = int(codes.max()) + 1
    return Sample(codes, [range(n_values)] * codes.shape[1], [f"x{i}" for i in range(codes.shape[1])])


def lines() -> Iterator[Line]:
    yield from tests()
    yield from families()
    yield from searches()
    yield from answers()
    yield from wrapper()
    yield from drawing()


def tests() -> Iterator[Line]:
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.ci_tests import GSq

    codes = network_rows(100_000, 5, n_values=4)
    frame = pd.DataFrame(codes, columns=[f"x{i}" for i in range(5)])
    times = best_times(
        {
            "tanager": lambda: GSquared().p_value(sample_of(codes).information(0, 1, [2, 3, 4])),
            "pgmpy": lambda: GSq(data=frame)("x0", "x1", ["x2", "x3", "x4"], significance_level=0.05),
        },
        repeats=20,
    )
    figures = f"{seconds(times['tanager'])} / {seconds(times['pgmpy'])}"
    what = "G² test given 3 variables of 4 values, 100k rows"
    yield Line(f"{what} / pgmpy's", figures, times["tanager"] / times["pgmpy"], 1 / 10)
    yield Line(f"{what}: seconds / 0.001", seconds(times["tanager"]), times["tanager"] / 0.001, 0.5)


def families() -> Iterator[Line]:
    codes = network_rows(1_000_000)
    sets = [(1, 2, z) for z in range(3, 20)]
    kept = sample_of(codes)
    kept.scores("aic", 0, sets)  # cuts the slices, which a search does once
    spent = best_times({"bic": lambda: kept._rows.scores("bic", 0, sets)}, repeats=20)["bic"]
    yield Line("BIC of 17 families, 3 binary parents, 1M rows: seconds / 0.005", seconds(spent), spent / 0.005, 1.0)


def searches() -> Iterator[Line]:
    codes = network_rows(1_000_000)
    few = codes[:100_000]
    times = best_times(
        {
            "tanager": lambda: HillClimb().learn(sample_of(codes)),
            "pgmpy": lambda: pgmpy_hill_climb(few),
        },
        repeats=3,
        most_seconds=15,
    )
    figures = f"{seconds(times['tanager'])} / {seconds(times['pgmpy'])}"
    what = "HillClimb, BIC, 1M x 20 binary / pgmpy's at 100k rows"
    yield Line(what, figures, times["tanager"] / times["pgmpy"], 1 / 10)
    codes = network_rows(2_000, 60, n_values=4, seed=1)
    spent = best_times({"CBL": lambda: CBL().learn(sample_of(codes))}, repeats=2)["CBL"]
    yield Line("CBL, no order, 2,000 x 60 of 4 values: seconds / 5", seconds(spent), spent / 5, 1.0)


def answers() -> Iterator[Line]:
    rows = network_rows(1_000_000)
    X, y = np.ascontiguousarray(rows[:, 1:]), rows[:, 0]
    models = {
        "GeneralNetwork": GeneralNetwork(),
        "BAN": BAN(),
        "MultiNet": MultiNet(),
        "Wrapped(GeneralNetwork())": Wrapped(GeneralNetwork()),
    }
    for name, model in models.items():
        model.fit(X[:100_000], y[:100_000])
        spent = best_times({"answers": lambda model=model: model.predict_proba(X)}, repeats=5)["answers"]
        rate = len(X) / spent
        yield Line(f"{name}.predict_proba 1M x 19 binary: rows/s / 1M", f"{rate / 1e6:.2f} M/s", rate / 1e6, 1.0, False)


def wrapper() -> Iterator[Line]:
    """On Adult where it is at hand, else on rows of its size."""
    X, y, options, name = adult()
    times = best_times(
        {
            "wrapped": lambda: Wrapped(GeneralNetwork(), **options).fit(X, y),
            "alone": lambda: GeneralNetwork(**options).fit(X, y),
        },
        repeats=3,
    )
    figures = f"{seconds(times['wrapped'])} / {seconds(times['alone'])}"
    yield Line(f"Wrapped(GeneralNetwork()), {name} / GeneralNetwork()", figures, times["wrapped"] / times["alone"], 4.0)
    yield Line("the same: seconds / 5", seconds(times["wrapped"]), times["wrapped"] / 5, 1.0)


def adult() -> tuple[Any, Any, dict[str, Any], str]:
    try:
        data = datasets.load("adult")
    except DataError:
        rows = network_rows(32_561, 14, n_values=6)
        return rows[:, 1:], rows[:, 0] % 2, {}, "32,561 x 13 of 6 values"
    options = {kind: [name for name in names if name != "fnlwgt"] for kind, names in data.options.items()}
    return data.X.drop_columns(["fnlwgt"]), data.y, options, "Adult"


def pgmpy_hill_climb(codes: np.ndarray) -> None:
    """pgmpy's search with the same score and limit, and without its list of forbidden moves."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.causal_discovery import HillClimbSearch

        frame = pd.DataFrame(codes, columns=[f"x{i}" for i in range(codes.shape[1])]).astype("category")
        search = HillClimbSearch(scoring_method="bic-d", tabu_length=0, max_indegree=3, show_progress=False)
        search.fit(frame)


def drawing() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(20)]
    arcs = [(names[p], names[i]) for i in range(2, 20) for p in rng.permutation(i)[:2]]
    network = Network(dict.fromkeys(names, (0, 1)), arcs)
    network = network.with_tables({name: rng.dirichlet([1, 1], network.shape(name)[:-1]) for name in names})
    spent = best_times({"codes": lambda: network.sample(1_000_000, 0, as_="codes")}, repeats=3)["codes"]
    what = "1M rows drawn from a network of 20 binary variables"
    yield Line(f"{what}: seconds / 1", seconds(spent), spent, 1.0)
