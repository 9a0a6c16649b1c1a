"""Tables in files: read in chunks, learned without holding them in memory."""

from tanager.files.source import MISSING, Source
from tanager.files.tables import open_table

__all__ = ["MISSING", "Source", "open_table"]
