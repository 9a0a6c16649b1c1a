"""The page on pictures says what its example prints."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent.parent / "docs" / "pictures.md").read_text()


def test_the_example_prints_what_the_page_says(capsys):
    pytest.importorskip("matplotlib", reason="the example draws, which needs the extra 'plot'")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (text,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "pictures.md", "exec"), {})
    assert capsys.readouterr().out == text
