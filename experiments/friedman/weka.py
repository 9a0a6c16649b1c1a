"""``python -m experiments.friedman.weka weka.jar``: J48, which is C4.5 of Weka 3.6, on the same splits, to weka.csv.

Needs Java with its compiler. Numbers go to Weka as they are; its tree cuts them for itself.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.common import HOME, read_csv
from experiments.friedman.run import REPEATS, SETS, dataset, plans
from experiments.webb_uci.weka import arff
from tanager.evaluate import Table
from tanager.evaluate.plan import EvaluationPlan

FILE = HOME / "friedman" / "weka.csv"
J48 = "weka.classifiers.trees.J48"  # with the options it comes with: pruned, confidence 0.25, two rows in a leaf


def answered(jar: str, plan: EvaluationPlan, folder: Path) -> list[list[Any]]:
    """A line for every part of a data set: its share of right answers."""
    table, parts = folder / "table.arff", folder / "parts.txt"
    table.write_text("\n".join(arff(dataset(plan.name))) + "\n")
    asked = [plan.splits.test(plan.data.labels, part) for part in range(plan.n_parts)]
    parts.write_text("".join("".join("01"[row] for row in rows.astype(int)) + "\n" for rows in asked))
    command = ["java", "-XX:+UseSerialGC", "-Xmx1g", "-cp", f"{jar}:{folder}", "Parts", str(table), str(parts), J48]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [[plan.name, part, float(right)] for part, right in enumerate(output.split())]


def records(plans: Sequence[EvaluationPlan]) -> list[dict[str, Any]]:
    """What weka.csv says about the parts of some plans, as records of C4.5."""
    known = {(line["dataset"], line["part"]): line["accuracy"] for line in read_csv(FILE)}
    made = []
    for plan in plans:
        for part in range(plan.n_parts):
            if (plan.name, part) in known:
                n_test = int(plan.splits.test(plan.data.labels, part).sum())
                repeat, fold = plan.splits.place(part)
                place = {"dataset": plan.name, "classifier": "C4.5", "repeat": repeat, "fold": fold}
                sizes = {"n_train": len(plan.data.labels) - n_test, "n_test": n_test}
                made.append(place | sizes | {"accuracy": known[plan.name, part]})
    return made


def main(argv: Sequence[str]) -> int:
    """All data sets, from the first to the last split."""
    jar, rows = argv[0], []
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        subprocess.run(["javac", "-cp", jar, "-d", text, str(HOME / "friedman" / "Parts.java")], check=True)
        for plan in plans(list(SETS), REPEATS):
            rows += answered(jar, plan, folder)
            print(plan.name, *(f"{line[2]:.4f}" for line in rows if line[0] == plan.name), flush=True)
    Table(["dataset", "part", "accuracy"], rows).to_csv(FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
