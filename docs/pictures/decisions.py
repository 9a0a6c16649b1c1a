"""The picture of the page on decisions, by the lines on it: `python -m docs.pictures.decisions`."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

from tools.lighter import lighten

HERE = Path(__file__).parent


def main() -> None:
    """Run the page up to its diagram, and draw that."""
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples((HERE.parent / "decisions.md").read_text()):
        if "diagram" in names:
            break
        exec(example.source, names)
    path = HERE / "oil-wildcatter.png"
    names["diagram"].plot(path, title="The oil wildcatter")
    lighten(path)


if __name__ == "__main__":
    main()
