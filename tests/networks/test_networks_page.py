"""The page on networks is true: its examples run, and print what it says."""

import re
from pathlib import Path

import pytest

from tanager import DataError

PAGE = (Path(__file__).parents[2] / "docs" / "networks.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_print_what_the_page_says(capsys):
    names = {}
    for block in BLOCKS:
        exec(compile(block, "networks.md", "exec"), names)
    claims = re.findall(r"^ *print\(.*\)  # (.*)$", "".join(BLOCKS), re.MULTILINE)
    assert claims
    assert capsys.readouterr().out.splitlines() == claims
    refused = re.search(r"    (network\.add.*)\n    DataError: (.*)\n", PAGE)
    with pytest.raises(DataError) as error:
        eval(refused[1], names)
    assert str(error.value) == refused[2]
