"""Peak memory of learning from ten million rows, in a process of its own (Linux)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.harness import Line

SCRIPT = """
from pathlib import Path
import {module}
from benchmarks.harness import binary_rows

def megabytes(field):
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1000

{module}.{name}().fit(*binary_rows(1000))  # imports and first calls
X, y = binary_rows(10_000_000)
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = megabytes("VmRSS")
{module}.{name}().fit(X, y)
print(megabytes("VmHWM") - before)
"""


def extra_megabytes(module: str, name: str) -> float:
    script = SCRIPT.format(module=module, name=name)
    return float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)


def lines() -> Iterator[Line]:
    ours = extra_megabytes("tanager", "AODE")
    peer = extra_megabytes("sklearn.naive_bayes", "CategoricalNB")
    yield Line(
        "AODE.fit 10M x 19: MB beside the codes / 200", f"{ours:.0f} MB (CategoricalNB {peer:.0f} MB)", ours / 200, 1.0
    )
