"""The page on explanations runs."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "explaining.md").read_text()


def test_the_page_runs_and_says_what_is_printed(capsys):
    pytest.importorskip("matplotlib", reason="plots need matplotlib, the extra 'plot'")
    exec(compile("\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)), "explaining.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "(178, 13, 3)" in printed
    assert "'Grignolino' rather than" in printed
