"""Graph: nodes and constants of an ONNX graph as plain data, so that they can be put together without onnx."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tanager.export.tables import check_size

LOWEST = -1e300  # stands for minus infinity where it would be subtracted from itself
MANY = 1000  # numbers of an array beyond which it is not looked for among the others

Input = str | np.ndarray | np.generic | float


class Node(NamedTuple):
    """An operation; among its attributes, types are those of NumPy."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]


class Graph:
    """Nodes and constants, each made by one call that gives the name of its result."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.nodes: list[Node] = []
        self.constants: dict[tuple[Any, ...], tuple[str, np.ndarray]] = {}
        self.n_bytes = 0

    def __call__(self, op: str, *inputs: Input, output: str | None = None, **attributes: Any) -> str:
        """Add a node; arrays and numbers (as float64) among its inputs become constants."""
        outputs = [output] if output else None
        return self._add(op, inputs, outputs or [self._name(op)], attributes)[0]

    def several(self, op: str, *inputs: Input, n_outputs: int, **attributes: Any) -> list[str]:
        """The same for a node with several results."""
        return self._add(op, inputs, [f"{self._name(op)}_{at}" for at in range(n_outputs)], attributes)

    def _name(self, op: str) -> str:
        return f"{self.prefix}{op.lower()}_{len(self.nodes)}"

    def _add(self, op: str, inputs: Sequence[Any], outputs: list[str], attributes: dict[str, Any]) -> list[str]:
        names = [one if isinstance(one, str) else self.constant(np.asarray(one)) for one in inputs]
        self.nodes.append(Node(op, names, outputs, attributes))
        return outputs

    def constant(self, array: np.ndarray) -> str:
        """The name of an array; small arrays that are the same are kept once."""
        array = np.array(array, order="C", copy=None)  # ascontiguousarray would make a list of a number
        text = repr(array.tolist()) if array.dtype == object else array.tobytes() if array.size < MANY else None
        key = (str(array.dtype), array.shape, text or len(self.constants))
        if key not in self.constants:
            self.constants[key] = f"{self.prefix}constant_{len(self.constants)}", array
            self.n_bytes += array.nbytes
            check_size(self.n_bytes)
        return self.constants[key][0]

    def sum(self, x: str, axis: int, *, keep: bool = False) -> str:
        """The sum along an axis."""
        return self("ReduceSum", x, np.array([axis]), keepdims=int(keep))

    def largest(self, x: str, axis: int) -> str:
        """The largest along an axis, which stays."""
        return self("ReduceMax", x, np.array([axis]), keepdims=1)

    def log_sum_exp(self, x: str, axis: int) -> str:
        """The log of the sum of exponentials along an axis; minus infinity where all are."""
        top = self("Max", self.largest(x, axis), LOWEST)
        total = self("Log", self.sum(self("Exp", self("Sub", x, top)), axis, keep=True))
        return self("Squeeze", self("Add", total, top), np.array([axis]))

    def cast(self, x: str, kind: Any) -> str:
        """The same numbers as another type."""
        return self("Cast", x, to=np.dtype(kind))
