"""Runs the tutorials: `python docs/tutorials/run.py` puts what their code prints into the pages (a minute).

A page is Markdown. Its Python blocks are one program, run in a folder of its own; a ``text`` block right behind one
holds what it prints. `--notebooks FOLDER` writes the pages as notebooks for Jupyter, with the same output in them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
#: A block of Python, and what it prints if the page shows that.
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<printed>.*?)```\n)?", re.DOTALL)


@dataclass(frozen=True)
class Cell:
    """A piece of prose, or a block of code with what it is said to print."""

    text: str
    is_code: bool = False
    printed: str | None = None


def pages() -> list[Path]:
    return sorted(path for path in HERE.glob("*.md") if path.name != "README.md")


def cells(page: str) -> Iterator[Cell]:
    """The page in parts, in their order."""
    end = 0
    for block in BLOCK.finditer(page):
        yield Cell(page[end : block.start()])
        yield Cell(block["code"], True, block["printed"])
        end = block.end()
    yield Cell(page[end:])


def run(page: str) -> list[Cell]:
    """The same parts, with what the code of each really prints."""
    names: dict[str, object] = {"__name__": "__main__"}
    ran, before = [], os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in cells(page):
                ran.append(Cell(cell.text, True, printed(cell.text, names)) if cell.is_code else cell)
        finally:
            os.chdir(before)
    return ran


def printed(code: str, names: dict[str, object]) -> str:
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(compile(code, "tutorial", "exec"), names)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def as_page(parts: list[Cell]) -> str:
    return "".join(_block(cell) if cell.is_code else cell.text for cell in parts)


def _block(cell: Cell) -> str:
    shown = f"\n```text\n{cell.printed}```\n" if cell.printed else ""
    return f"```python\n{cell.text}```\n{shown}"


def as_notebook(parts: list[Cell]) -> dict[str, object]:
    """The notebook in version 4.5 of Jupyter's format."""
    found = [_notebook_cell(at, cell) for at, cell in enumerate(parts) if cell.text.strip()]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": found, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def _notebook_cell(at: int, cell: Cell) -> dict[str, object]:
    source = {"id": f"cell-{at}", "metadata": {}, "source": cell.text.strip("\n").splitlines(keepends=True)}
    if not cell.is_code:
        return {"cell_type": "markdown", **source}
    lines = (cell.printed or "").splitlines(keepends=True)
    outputs = [{"output_type": "stream", "name": "stdout", "text": lines}] if lines else []
    return {"cell_type": "code", "execution_count": None, "outputs": outputs, **source}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="pages to run; default: all")
    parser.add_argument(
        "--notebooks", type=Path, metavar="FOLDER", help="write notebooks, and leave the pages as they are"
    )
    options = parser.parse_args()
    for path in pages():
        if options.names and path.stem not in options.names:
            continue
        parts = run(path.read_text())
        if options.notebooks:
            options.notebooks.mkdir(parents=True, exist_ok=True)
            path, text = options.notebooks / f"{path.stem}.ipynb", json.dumps(as_notebook(parts), indent=1)
        else:
            text = as_page(parts)
        path.write_text(text)
        print(path.name)


if __name__ == "__main__":
    main()
