"""Tables in files: read in chunks, and learned without holding them in memory."""

from tanager.files.even_rows import EvenRows
from tanager.files.formats import open_table
from tanager.files.labelled import LabelledTable, read_labelled
from tanager.files.learn import Learned, LeftOut, learn, unlearn, update
from tanager.files.source import MISSING, Source

__all__ = [
    "MISSING",
    "EvenRows",
    "LabelledTable",
    "Learned",
    "LeftOut",
    "Source",
    "learn",
    "open_table",
    "read_labelled",
    "unlearn",
    "update",
]
