"""What the page on cut points in streams says is true."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "streaming-bins.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=lambda code: code.splitlines()[0])
def test_the_examples_run_and_tell_of_the_drift(code, capsys):
    exec(compile(code, "streaming-bins.md", "exec"), {})
    rows = [int(line.split()[0]) for line in capsys.readouterr().out.splitlines()]
    assert rows
    changes = {"1200": 1200, "X[2000:": 2000}  # a column begins to vary, or one leaves its bins
    change = next((row for text, row in changes.items() if text in code), 5000)  # else all numbers move
    assert all(change < row < change + 4000 for row in rows)
