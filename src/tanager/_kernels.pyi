"""The typed face of the compiled module: arrays in, arrays out. Results are written into arrays the caller made."""

from collections.abc import Callable, Sequence

import numpy as np

# Encoding. The largest value of the code type means missing.
def code_limits(codes: np.ndarray, limits: np.ndarray) -> None:
    """limits[i] = 1 + the largest code of column i; 0 when all are missing. Codes are contiguous by row or column."""

def recode(index: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    """out = table[index] with int32 index; the last cell of the table serves index -1."""

def cut(values: np.ndarray, cuts: np.ndarray, out: np.ndarray) -> None:
    """out = number of cut points below each float64 value; NaN is missing."""

def index_whole(numbers: np.ndarray, out: np.ndarray) -> list[int]:
    """The distances from the smallest number that occur, ascending; out = each number's place among them.

    Empty when a distance is too large for the type of out (uint8, uint16)."""

def mdl_cuts(
    values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, n_classes: int, by_candidates: bool
) -> list[float]:
    """Fayyad and Irani's cut points of float64 values in ascending order, with uint16 labels."""

def index_objects(
    cells: Sequence[object] | np.ndarray, out: np.ndarray, is_missing: Callable[[object], bool]
) -> list[object]:
    """The distinct objects by first appearance; out (int32) = each cell's place in that list, -1 for missing."""
