"""The page on generators is true: its examples run, and print what it says."""

import re
from pathlib import Path

from tanager import generate

PAGE = (Path(__file__).parents[2] / "docs" / "generators.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_print_what_the_page_says(capsys):
    names = {}
    for block in BLOCKS:
        exec(compile(block, "generators.md", "exec"), names)
    claims = re.findall(r"^ *print\(.*\)  # (.*)$", "".join(BLOCKS), re.MULTILINE)
    assert claims
    assert capsys.readouterr().out.splitlines() == claims


def test_every_generator_is_on_the_page():
    assert [name for name in generate.__all__ if name != "Stream" and f"`{name}`" not in PAGE] == []
    methods = [name for name in vars(generate.Stream) if not name.startswith("_")]
    own = {"source", "seed", "effects", "columns", "names", "numeric"}
    assert [name for name in methods if name not in own and f"{name}" not in PAGE] == []
