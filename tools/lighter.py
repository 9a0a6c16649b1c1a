"""``python -m tools.lighter PICTURE.png ...``: fewer colours for the pictures of pages: a third of the size."""

from __future__ import annotations

import sys
from pathlib import Path

COLOURS = 64  # enough for a dozen colours and the smooth edges of letters


def lighten(path: Path) -> None:
    """Write a PNG picture anew with a palette, where that is smaller."""
    from PIL import Image

    with Image.open(path) as picture:
        fewer = picture.convert("RGB").quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        resolution = picture.info.get("dpi")
    other = path.with_suffix(".lighter.png")
    fewer.save(other, optimize=True, **({"dpi": resolution} if resolution else {}))
    if other.stat().st_size < path.stat().st_size:
        other.replace(path)
    else:
        other.unlink()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        lighten(Path(name))
