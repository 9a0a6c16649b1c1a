"""Tables in files: read in chunks, and learned without holding them in memory."""

from tanager.files.learn import Learned, LeftOut, learn, unlearn, update
from tanager.files.source import MISSING, Source
from tanager.files.tables import open_table
from tanager.files.whole import Labelled, read_labelled

__all__ = [
    "MISSING",
    "Labelled",
    "Learned",
    "LeftOut",
    "Source",
    "learn",
    "open_table",
    "read_labelled",
    "unlearn",
    "update",
]
