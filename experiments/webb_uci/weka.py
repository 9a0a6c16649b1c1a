"""``python -m experiments.webb_uci.weka weka.jar``: J48 and boosted J48 of Weka 3.6 on the same folds, to weka.csv.

Needs Java with its compiler. Numbers and gaps go to Weka as they are; trees of Weka know both.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from experiments.common import HOME, MEASURES
from experiments.webb_uci.run import SETS, dataset
from tanager.datasets import Dataset
from tanager.encoding import encode_labels
from tanager.evaluate import measure
from tanager.evaluate.folds import stratified_folds

CLASSIFIERS = {
    "J48": "weka.classifiers.trees.J48",
    "boosted J48": "weka.classifiers.meta.AdaBoostM1 -W weka.classifiers.trees.J48",
}

HEAD = ["dataset", "classifier", "n_rows", "n_folds", *MEASURES, "fit_seconds", "predict_seconds"]


def arff(data: Dataset) -> Iterator[str]:
    """The lines of an ARFF file; values are numbered, because nothing depends on their names."""
    yield "@relation data"
    columns = []
    for at, (name, cells) in enumerate(zip(data.X.column_names, data.X.columns, strict=True)):
        values = cells.to_pylist()
        if name in data.options["categorical"]:
            known = {value: f"v{v}" for v, value in enumerate(sorted({v for v in values if v is not None}, key=str))}
            yield f"@attribute c{at} {{{','.join(known.values())}}}"
            columns.append([known.get(value, "?") for value in values])
        else:
            yield f"@attribute c{at} numeric"
            columns.append(["?" if value is None or value != value else repr(float(value)) for value in values])
    labels, classes = encode_labels(data.y)
    yield f"@attribute class {{{','.join(f'y{c}' for c in range(len(classes)))}}}"
    yield "@data"
    for cells, label in zip(zip(*columns, strict=True), labels, strict=True):
        yield ",".join((*cells, f"y{label}"))


def run(jar: str, name: str, folder: Path) -> list[list[object]]:
    """A line for each classifier: data set, classifier, sizes, measures, and seconds of all folds together."""
    data = dataset(name)
    table, folds = folder / "table.arff", folder / "folds.txt"
    table.write_text("\n".join(arff(data)) + "\n")
    labels = encode_labels(data.y)[0].astype(np.uint16)
    fold = stratified_folds(labels)
    folds.write_text("".join(f"{part}\n" for part in fold))
    command = ["java", "-XX:+UseSerialGC", "-Xmx3g", "-cp", f"{jar}:{folder}", "Folds", str(table), str(folds)]
    output = subprocess.run([*command, *CLASSIFIERS.values()], check=True, capture_output=True, text=True).stdout
    lines = output.splitlines()
    rows = []
    for at, classifier in enumerate(CLASSIFIERS):
        seconds, *answers = lines[at * (len(labels) + 1) : (at + 1) * (len(labels) + 1)]
        proba = np.array([line.split() for line in answers], dtype=float)
        found = measures(labels.astype(np.int64), proba, fold)
        rows.append(
            [name, classifier, len(labels), int(fold.max()) + 1, *found, *(f"{float(s):.4f}" for s in seconds.split())]
        )
    return rows


def measures(labels: np.ndarray, proba: np.ndarray, fold: np.ndarray) -> list[str]:
    """Means over the folds."""
    parts = [measure(labels[fold == f], proba[fold == f], proba[fold == f].argmax(axis=1)) for f in np.unique(fold)]
    return [f"{np.mean([part[name] for part in parts]):.9f}" for name in MEASURES]


def main(argv: Sequence[str]) -> int:
    """Data sets that weka.csv has already are not run again."""
    jar, path = argv[0], HOME / "webb_uci" / "weka.csv"
    done = set() if not path.exists() else {line["dataset"] for line in csv.DictReader(path.open())}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        subprocess.run(["javac", "-cp", jar, "-d", text, str(HOME / "webb_uci" / "Folds.java")], check=True)
        for name in argv[1:] or [name for name in SETS if name not in done]:
            lines = run(jar, name, folder)
            new = not path.exists()
            with path.open("a", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerows([HEAD, *lines] if new else lines)
            print(*lines, sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
