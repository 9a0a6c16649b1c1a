"""From any table to small integer codes."""

from tanager.encoding.encoder import Encoder
from tanager.encoding.labels import encode_labels, encode_more_labels
from tanager.encoding.schema import OTHER, Column, Schema
from tanager.encoding.typing import Columns

__all__ = ["OTHER", "Column", "Columns", "Encoder", "Schema", "encode_labels", "encode_more_labels"]
