"""What separates the cells of a line of text."""

from __future__ import annotations

import re

DELIMITERS = ",;\t|"


def sniff_delimiter(header: str) -> str:
    """The most frequent delimiter of a header line, outside of quoted names."""
    plain = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=plain.count)
