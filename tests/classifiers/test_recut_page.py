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
    assert all(5000 < row < 9000 for row in rows)
