"""FAN by its criteria beside naive Bayes and TAN, by ten folds: the figures of docs/methods/FAN.md.

TANAGER_DATA=... python -m experiments.forests
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from tanager import FAN, TAN, NaiveBayes
from tanager.evaluate import cross_validate

MODELS = {"nb": NaiveBayes(), "tan": TAN()} | {name: FAN(criterion=name) for name in ("bic", "aic", "bdeu", "g2")}
MEASURES = ("accuracy", "log_loss")
MOST_ROWS, MOST_COLUMNS = 9000, 70
LARGE = ("nursery", "adult", "letter", "sign")


def main() -> None:
    """Print the figures of every data set, and the means."""
    folder = Path(os.environ["TANAGER_DATA"])
    sets = json.loads((folder / "datasets.json").read_text())
    small = [
        name for name, about in sets.items() if about["rows"] <= MOST_ROWS and about["n_attributes"] <= MOST_COLUMNS
    ]
    print("data set", *(f"{measure}:{name}" for measure in MEASURES for name in MODELS))
    lines = [figures(folder, name, sets[name]) for name in small]
    print("mean", len(lines), *(f"{value:.4f}" for value in np.mean(lines, axis=0)))
    for name in LARGE:
        figures(folder, name, sets[name])


def figures(folder: Path, name: str, about: dict[str, Any]) -> list[float]:
    """All measures of all models on one data set."""
    kinds = {column["name"]: pa.string() for column in about["attributes"] if column["kind"] == "categorical"}
    kinds |= {column["name"]: pa.float64() for column in about["attributes"] if column["kind"] == "numeric"}
    reading = arrow_csv.ConvertOptions(column_types=kinds | {"class": pa.string()}, strings_can_be_null=True)
    parts = [arrow_csv.read_csv(folder / file["file"], convert_options=reading) for file in about["files"]]
    table = pa.concat_tables(parts)
    results = cross_validate(MODELS, table.drop_columns(["class"]), table["class"], timing=False)
    found = [float(results.mean("data", model, measure)) for measure in MEASURES for model in MODELS]
    print(name, table.num_rows, *(f"{value:.4f}" for value in found), flush=True)
    return found


if __name__ == "__main__":
    main()
