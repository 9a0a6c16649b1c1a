"""Draws the pictures of the gallery by the lines on its page: `python -m docs.pictures.from_gallery [part of a name]`.

A picture is what `figure` is after the lines below it have run. Small copies serve as an overview.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from tools.lighter import lighten

PAGE = Path(__file__).parents[1] / "gallery.md"
FOLDER = Path(__file__).parent / "gallery"
PIXELS = 220  # the wider side of a small copy
PICTURE = re.compile(r"^!\[[^\]]*\]\(pictures/gallery/([\w-]+)\.png\)$|^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main(wanted: str) -> None:
    names: dict[str, Any] = {}
    at = ""
    for picture, code in PICTURE.findall(PAGE.read_text()):
        if picture:
            at = picture
            continue
        exec(compile(statements(code), str(PAGE), "exec"), names)
        if at and wanted in at:
            save(names["figure"], FOLDER / f"{at}.png")
            print(f"{at}.png")


def statements(code: str) -> str:
    """The lines of an example without its prompts."""
    return "\n".join(line[4:] for line in code.splitlines() if line.startswith((">>>", "...")))


def save(figure: Any, path: Path) -> None:
    from PIL import Image

    small = path.parent / "small" / path.name
    small.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    with Image.open(path) as picture:
        copy = picture.convert("RGB")
    copy.thumbnail((PIXELS, PIXELS))
    copy.save(small)
    for written in (path, small):
        lighten(written)


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
