"""Tables whose cells are codes already: validated, and used without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tanager.encoding.categories import not_seen
from tanager.encoding.kinds import Rules
from tanager.encoding.schema import Column, Schema
from tanager.encoding.tables import Table, code_limits
from tanager.encoding.typing import RowOfCodes
from tanager.errors import DataError


def code_type(most_values: int, unseen: str) -> type[np.uint8] | type[np.uint16]:
    """The smallest type for the codes. Its largest value marks missing, and "smooth" needs a code for unseen values."""
    codes = most_values + (unseen == "smooth")
    if codes > 65535:
        raise DataError(f"a column has {most_values:,} values; at most 65,534 fit into 16-bit codes. Drop the column.")
    return np.uint8 if codes <= 255 else np.uint16


def widened(codes: np.ndarray) -> np.ndarray:
    """Codes of 16 bits; missing stays missing."""
    if codes.dtype == np.uint16:
        return codes
    wide = codes.astype(np.uint16)
    wide[codes == 255] = 65535
    return wide


def row_array(codes: RowOfCodes) -> np.ndarray:
    """The codes of one row as an array."""
    return np.frombuffer(bytearray(codes), np.uint8) if isinstance(codes, bytes) else codes


def limits_of(table: Table, keep: np.ndarray | None) -> np.ndarray:
    """One more than the largest code of each column, among the rows to keep."""
    if keep is None or table.codes is None:
        return table.limits
    return code_limits(np.ascontiguousarray(table.codes[keep]))


def refuse_full_codes(
    codes: np.ndarray | None, names: Sequence[str], n_values: np.ndarray, gaps: np.ndarray | None = None
) -> None:
    """Refuse codes that use every value of their type, so that none is left to mark what is missing.

    ``n_values`` and ``gaps`` say how many values columns are known to have already, and in which cells are missing.
    """
    if codes is None or codes.size == 0 or int(codes.max()) + 1 < (top := int(np.iinfo(codes.dtype).max)):
        return
    gaps = (codes == top).any(axis=0) | (False if gaps is None else gaps)
    full = np.flatnonzero(gaps & ((n_values >= top) | (codes == top - 1).any(axis=0)))
    if len(full):
        way_out = (
            "Pass X.astype(np.uint16)." if top == 255 else "Give rare values one code, or the same values as text."
        )
        raise DataError(
            f"column {names[full[0]]!r} has the codes {top - 1} and {top}: all {top + 1:,} values of {codes.dtype} are "
            f"in use, so {top} cannot mark missing cells. {way_out}"
        )


def code_columns(table: Table, keep: np.ndarray | None, rules: Rules) -> dict[int, Column]:
    """Columns of kind "codes" for an array of codes, except those for which another kind is requested."""
    limits = limits_of(table, keep)
    names = table.names or [f"x{i}" for i in range(table.n_columns)]
    refuse_full_codes(table.codes, names, limits)
    own = [i for i in range(table.n_columns) if rules.requested.get(i, "categorical") == "categorical"]
    return {i: Column(names[i], "codes", n_codes=int(limits[i]), reason="an array of codes") for i in own}


def encode_codes(table: Table, columns: list[Column], n_values: np.ndarray, unseen: str) -> np.ndarray:
    """The array itself when every code is known, else a copy with the unseen ones replaced."""
    codes = table.codes
    assert codes is not None
    dtype = np.promote_types(codes.dtype, code_type(int(n_values.max()), unseen))
    new = np.flatnonzero(table.limits > n_values)
    if not len(new) and dtype == codes.dtype:
        return codes
    old_missing, missing = np.iinfo(codes.dtype).max, np.iinfo(dtype).max
    out = codes.astype(dtype)
    if missing != old_missing:
        out[codes == old_missing] = missing
    for i in new:
        rows = np.flatnonzero((codes[:, i] >= n_values[i]) & (codes[:, i] != old_missing))
        if unseen == "error" or (unseen == "as learned" and not columns[i].closed):
            raise DataError(not_seen(columns[i], int(codes[rows[0], i]), int(rows[0])))
        out[rows, i] = n_values[i] if unseen == "smooth" else missing
    return out


def checked_codes(codes: Any, labels: Any, schema: Schema, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes and labels as kernels take them; refused where they do not fit schema and classes."""
    codes, labels = np.asarray(codes), np.asarray(labels)
    if codes.dtype not in (np.uint8, np.uint16) or codes.ndim != 2 or codes.shape[1] != len(schema):
        raise DataError(
            f"codes must be a table of uint8 or uint16 with {len(schema)} columns, got {codes.dtype} of shape "
            f"{codes.shape}. Encoder.transform gives them."
        )
    if labels.dtype.kind not in "iu" or labels.shape != codes.shape[:1]:
        raise DataError(f"labels must be {len(codes)} integers, got {labels.dtype} of shape {labels.shape}.")
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < n_classes:
        raise DataError(f"labels must be codes from 0 to {n_classes - 1}, the places of the classes.")
    beyond = (codes >= schema.n_values) & (codes != np.iinfo(codes.dtype).max)
    if beyond.any():
        r, i = (int(at) for at in np.argwhere(beyond)[0])
        name = schema.names[i]
        raise DataError(f"row {r}, column {name!r}: code {codes[r, i]} stands for no value of the schema.")
    return codes, labels.astype(np.uint16 if n_classes > 255 else np.uint8)
