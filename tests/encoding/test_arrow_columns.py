"""Columns of answers are those that pyarrow makes, and pandas is not imported for them."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from tanager import NaiveBayes
from tanager.encoding.arrow_columns import arrow_column, arrow_scalar

CELLS = {
    "text": ["p", "", "qé", "日本"],
    "numbers": [0.25, -1.0, 3.5],
    "whole numbers": [1, -(2**63), 2**63 - 1],
    "truth values": [True, False, True, True, False, False, True, True, True],
    "gaps": ["a", None],
    "text and many gaps": [None, "a", "", None, "qé", *[None] * 9, "z"],
    "gaps alone": [None, None],
    "an array of text and gaps": np.array(["p", None, "qq"], dtype=object),
    "numbers and gaps": [1.5, None],
    "nothing": [],
    "an array": np.arange(6.0)[::2],
    "an array of text": np.array(["p", "qq"]),
    "an array of codes": np.arange(3),
    "an array of truth values": np.arange(20) % 3 == 0,
}


@pytest.mark.parametrize("what", CELLS)
def test_columns_are_those_of_pyarrow(what):
    cells = CELLS[what]
    assert arrow_column(cells).equals(pa.array(cells))
    arrow_column(cells).validate(full=True)


def test_scalars_are_those_of_pyarrow():
    assert arrow_scalar(-1, pa.int32()).equals(pa.scalar(-1, pa.int32()))
    assert arrow_scalar(":").equals(pa.scalar(":"))
    assert arrow_scalar(7, pa.uint8()).equals(pa.scalar(7, pa.uint8()))


@pytest.mark.parametrize("more", [["--proba"], ["--explain"]])
def test_predictions_are_written_without_pandas(tmp_path, more):
    NaiveBayes().fit({"a": [1, 2] * 20, "b": ["x", "y"] * 20}, ["p", "q"] * 20).save(tmp_path / "m.tanager")
    (tmp_path / "rows.csv").write_text("a,b\n1,x\n2,y\n")
    words = ["tanager", "predict", "m.tanager", "rows.csv", "-o", "out.csv", *more]
    code = (
        f"import sys; sys.argv = {words!r}\nfrom tanager.cli.main import main\n"
        "try:\n    main()\nfinally:\n    print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 3
