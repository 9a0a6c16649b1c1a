"""The typed face of the compiled module: arrays in, arrays out."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

_Codes = NDArray[np.uint8] | NDArray[np.uint16]
_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]

def count(
    codes: _Codes,
    labels: _Codes,
    weights: _Floats | None,
    offsets: _Integers,
    n_values: _Integers,
    classes: _Floats,
    singles: _Floats,
    pairs: _Floats | None,
    triples: Sequence[tuple[int, int, _Floats]],
    families: Sequence[tuple[Sequence[int], _Floats]],
    sign: int = 1,
    n_jobs: int = 1,
    method: Literal["auto", "bits", "increments"] = "auto",
) -> _Integers | None:
    """Add sign times the rows to the tables; None when done.

    When a code or label does not fit, nothing is added and the sizes needed come back: n_values of each attribute
    and, last, the number of classes. A row whose label is the missing marker is left out.

    The method changes the time, never the counts: "bits" counts pairs by conjunctions of bit slices (plain rows,
    attributes of at most 255 values, at most 255 classes; the rest falls back), "increments" row by row, "auto"
    chooses for each pair.
    """

def pair_sums(pairs: _Floats, offsets: _Integers, n_values: _Integers) -> _Floats:
    """(n, n, 8): M, S_ijy, S_iy, S_jy, S_y, S_ij, S_i, S_j of each pair over rows with both present."""

def cpu_features() -> list[str]:
    """The instruction sets of this processor that the kernels look for."""

def set_cpu_level(level: Literal["auto", "plain", "avx2", "avx512"]) -> None:
    """Use at most this level; "auto" is the best this processor has."""
