"""JSON of what pages get, in responses and in events."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np


def to_json(value: Any) -> bytes:
    """JSON of plain data and arrays; msgspec writes numbers that JSON does not have (NaN, infinities) as null."""
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    return str(value)
