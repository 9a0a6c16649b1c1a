"""The page about data says what is true: its examples run, and its numbers are those of the code."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tanager.files import MISSING, delimited
from tanager.files.formats import EXTENSIONS

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
module = sys.modules["tanager.files.learn"]


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL), ids=["learn", "read", "names"])
def test_the_examples_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("weather.csv", "more.csv"):
        Path(name).write_text("sky,wind,class\n" + "sun,1.5,play\nrain,2.5,stay\n" * 5)
    exec(compile(code, "data.md", "exec"), {})


def test_the_numbers_are_those_of_the_code():
    assert f"up to {module.WHOLE // 10**6} million cells" in PAGE
    assert f"some {module.SAMPLE:,} rows" in PAGE.replace("\n", " ")
    assert f"all rows up to {module.LEFT_OUT:,}" in PAGE
    assert f"The sample is {delimited.SPREAD}" in PAGE.replace("\n", " ")
    assert all(f"`{marker}`" in PAGE for marker in MISSING if marker)
    assert all(f"`{ending}`" in PAGE for endings in EXTENSIONS.values() for ending in endings)
