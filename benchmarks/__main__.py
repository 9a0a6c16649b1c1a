"""``python -m benchmarks [part of a name]``: the whole table, each line a ratio to a peer in the same run.

Every line is added to `benchmarks/history.jsonl`; one that is slower than earlier runs on such a machine is marked.
"""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks import (
    anytime,
    back_off,
    command,
    counting,
    drift,
    evolving,
    explain,
    files,
    fit,
    forest,
    frames,
    generate,
    half_lives,
    history,
    interrupts,
    learners,
    marginals,
    memory,
    networks,
    onnx,
    parameters,
    predict,
    prequential,
    service,
    single_rows,
    slow_clients,
    stream,
    wide,
)
from benchmarks.harness import Line
from tanager import _kernels

GROUPS = {
    "counting": counting,
    "fit": fit,
    "learners": learners,
    "forest": forest,
    "back_off": back_off,
    "predict": predict,
    "explain": explain,
    "wide": wide,
    "parameters": parameters,
    "anytime": anytime,
    "stream": stream,
    "single_rows": single_rows,
    "drift": drift,
    "half_lives": half_lives,
    "evolving": evolving,
    "prequential": prequential,
    "networks": networks,
    "marginals": marginals,
    "generate": generate,
    "frames": frames,
    "files": files,
    "command": command,
    "interrupts": interrupts,
    "memory": memory,
    "onnx": onnx,
    "service": service,
    "slow_clients": slow_clients,
}


def main(wanted: str = "", *, keep: bool = False) -> int:
    """Print the lines, add them to the history, and count those that miss their bar or have become slower."""
    run, earlier, troubles = history.Run.now(), history.read(history.REFERENCE, history.OWN), list[str]()
    print(f"{run.machine}, load {os.getloadavg()[0]:.1f}, commit {run.commit}")
    print(f"instruction sets: {', '.join(_kernels.cpu_features())}\n")
    print(f"{'what / peer':<62}{'figures':>34}{'ratio':>9}  bar")
    for name, group in GROUPS.items():
        for line in group.lines() if wanted in name else ():
            record = run.record(name, line)
            slower = history.slowdown(record, earlier)
            print(shown(line) + ("  SLOWER" if slower else ""), flush=True)
            history.add(record, history.REFERENCE if keep else history.OWN)
            troubles += [f"{line.what}: misses its bar"] if not line.holds else []
            troubles += [f"{line.what}: {slower}"] if slower else []
    print(
        "\n"
        + "\n".join(
            troubles
            or ["All bars are met, and no line is slower than earlier runs on such a machine, as far as there are any."]
        )
    )
    return len(troubles)


def shown(line: Line) -> str:
    sign = "<=" if line.at_most else ">="
    mark = "" if line.holds else "  MISSED"
    return f"{line.what:<62}{line.figures:>34}{line.ratio:>9.3f}  {sign} {line.bar:.3f}{mark}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("wanted", nargs="*", help="part of a group's name")
    parser.add_argument("--keep", action="store_true", help="add to the figures that are kept with the project")
    given = parser.parse_args()
    sys.exit(1 if main(" ".join(given.wanted), keep=given.keep) else 0)
