"""``python -m benchmarks [part of a name]``: the whole table, each line a ratio to a peer in the same run."""

from __future__ import annotations

import os
import platform
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


def main(wanted: str) -> int:
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"instruction sets: {', '.join(_kernels.cpu_features())}\n")
    print(f"{'what / peer':<62}{'figures':>34}{'ratio':>9}  bar")
    missed = 0
    for name, group in GROUPS.items():
        if wanted not in name:
            continue
        for line in group.lines():
            sign = "<=" if line.at_most else ">="
            mark = "" if line.holds else "  MISSED"
            print(f"{line.what:<62}{line.figures:>34}{line.ratio:>9.3f}  {sign} {line.bar:.3f}{mark}", flush=True)
            missed += not line.holds
    return missed


if __name__ == "__main__":
    sys.exit(1 if main(" ".join(sys.argv[1:])) else 0)
