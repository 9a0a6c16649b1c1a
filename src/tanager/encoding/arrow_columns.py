"""Arrow arrays and scalars of plain cells, without pandas.

``pyarrow.array`` and ``pyarrow.scalar`` import pandas, wherever that is installed, to see whether cells are one of its
series: two seconds of the processor, more than all else that most commands do with a small file, and a Ctrl-C in these
seconds is lost. So arrays are made of their buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def arrow_column(cells: Sequence[Any] | np.ndarray) -> Any:
    """An Arrow array of numbers, truth values or text; of anything else, and of other gaps, as by ``pyarrow.array``."""
    import numpy as np
    import pyarrow as pa

    kinds = {cells.dtype.type} if isinstance(cells, np.ndarray) else set(map(type, cells))
    if str in kinds and kinds <= {str, type(None)}:
        return arrow_text(cells)
    if kinds <= {int, float, np.int64, np.float64} and len(kinds) == 1:
        numbers = np.ascontiguousarray(cells)
        if numbers.dtype in (np.int64, np.float64):  # not whole numbers beyond 64 bits
            return pa.Array.from_buffers(
                pa.from_numpy_dtype(numbers.dtype), len(numbers), [None, pa.py_buffer(numbers)]
            )
    if kinds <= {bool, np.bool_} and kinds:
        bits = np.packbits(np.array(cells), bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(cells), [None, pa.py_buffer(bits)])
    return pa.array(cells)


def arrow_scalar(value: Any, kind: Any = None) -> Any:
    """A number or a text for Arrow, of its own type or of ``kind``."""
    cell = arrow_column([value])[0]
    return cell if kind is None else cell.cast(kind)


def arrow_text(cells: Sequence[str | None] | np.ndarray) -> Any:
    """An Arrow array of text; None is missing."""
    import numpy as np
    import pyarrow as pa

    written = [b"" if cell is None else cell.encode() for cell in cells]
    ends = np.zeros(len(written) + 1, dtype=np.int64)
    np.cumsum([len(cell) for cell in written], out=ends[1:])
    if ends[-1] > np.iinfo(np.int32).max:  # more than an array of text can hold
        return pa.array(cells, pa.string())
    there = np.packbits([cell is not None for cell in cells], bitorder="little")
    buffers = [pa.py_buffer(there), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(written))]
    return pa.Array.from_buffers(pa.string(), len(written), buffers)
