"""Answers of a network of 37 variables after each change of evidence, next to repeated elimination and to pyAgrum."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.alarm import alarm
from benchmarks.harness import Line, best_times, seconds
from tanager import Network, write_network

CHANGES = [
    {"BP": 0},
    {"BP": 1},
    {"BP": 1, "HRSAT": 2},
    {"BP": 1, "HRSAT": 2, "PRESS": 3, "CVP": 0},
    {"HRSAT": 2, "PRESS": 3, "CVP": 0, "EXPCO2": 1, "SAO2": 1, "HISTORY": 0},
]


def in_turn(answer: Callable[[dict[str, int]], object]) -> Callable[[], object]:
    """All evidence, one after the other: nothing can be answered from the one before."""
    return lambda: [answer(evidence) for evidence in CHANGES]


def lines() -> Iterator[Line]:
    network = alarm()
    network.marginals()  # compiles the tree
    ways = {
        "at once": in_turn(network.marginals),
        "one by one": in_turn(lambda evidence: [network.posterior(name, evidence) for name in network]),
        "new": in_turn(lambda evidence: network.with_tables({}).marginals(evidence)),
        "most_probable": in_turn(network.most_probable),
        "next_question": in_turn(lambda evidence: network.next_question("VENTALV", evidence)),
        "sensitivity": in_turn(lambda evidence: network.sensitivity("LVFAILURE", 1, evidence)),
    }
    try:
        ways["pyAgrum"] = in_turn(pyagrum_marginals(network))
    except ImportError:
        print("pyAgrum is not installed: no line for it")
    times = {name: spent / len(CHANGES) for name, spent in best_times(ways, repeats=30).items()}
    what = "37 marginals of ALARM, evidence changed"
    once = times["at once"]
    yield Line(
        f"{what} / by elimination", f"{seconds(once)} / {seconds(times['one by one'])}", once / times["one by one"], 0.1
    )
    yield Line(f"{what}: seconds / 0.01", seconds(once), once / 0.01, 1.0)
    if "pyAgrum" in times:
        figures = f"{seconds(once)} / {seconds(times['pyAgrum'])}"
        yield Line(f"{what} / pyAgrum's", figures, once / times["pyAgrum"], 1.0)
    yield Line("the same with new tables: seconds / 0.01", seconds(times["new"]), times["new"] / 0.01, 1.0)
    for name in ("most_probable", "next_question", "sensitivity"):
        yield Line(f"{name} of ALARM: seconds / 0.05", seconds(times[name]), times[name] / 0.05, 1.0)


def pyagrum_marginals(network: Network) -> Callable[[dict[str, int]], Any]:
    """All posteriors by its engine, which keeps its tree between changes of evidence, on one thread."""
    import pyagrum

    with tempfile.TemporaryDirectory() as folder:
        write_network(network, f"{folder}/alarm.bifxml")
        engine = pyagrum.LazyPropagation(pyagrum.loadBN(f"{folder}/alarm.bifxml"))
    engine.setNumberOfThreads(1)

    def answer(evidence: dict[str, int]) -> list[Any]:
        engine.setEvidence(evidence)
        engine.makeInference()
        return [engine.posterior(name).toarray() for name in network]

    return answer


if __name__ == "__main__":
    for line in lines():
        print(f"{line.what:<62}{line.figures:>34}{line.ratio:>9.3f}")
