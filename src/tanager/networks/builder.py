"""NetworkBuilder: what the readers of network files collect, with line numbers, until the network is complete."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NoReturn

import numpy as np

from tanager.errors import DataError, ModelFileError, nearest
from tanager.networks.estimation import normalised
from tanager.networks.network import Network
from tanager.networks.values import values_from_plain

ROUNDED = 0.015  # how far from one the sum of rounded probabilities may be
MAX_CELLS = 100_000_000  # a short file can declare a table larger than any memory


@dataclass
class NetworkBuilder:
    """The variables and families of a file so far, as the file spells them; original names and values come last."""

    source: str
    values: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # the original name, if a property has it
    original: dict[str, list[object]] = field(default_factory=dict)  # the original values, if a property has them
    parents: dict[str, list[str]] = field(default_factory=dict)
    tables: dict[str, np.ndarray] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)  # of the families

    def fail(self, line: int, message: str) -> NoReturn:
        """Raise an error that names the file and the line."""
        raise ModelFileError(f"{self.source}, line {line}: {message}")

    def add_variable(self, line: int, name: str, values: Sequence[str]) -> None:
        """A variable and its values."""
        if name in self.values:
            self.fail(line, f"the variable {name!r} is declared twice.")
        if len(set(values)) < len(values):
            self.fail(line, f"the variable {name!r} has a duplicate value: {', '.join(values)}.")
        self.values[name] = list(values)

    def add_property(self, line: int, word: str, key: str, text: str) -> None:
        """The original name or values of a variable, from a property of ours; those of other programs are ignored."""
        try:
            data = json.loads(text)
        except ValueError:
            return
        if key == "name" and isinstance(data, str):
            self.names[word] = data
        elif key == "values" and isinstance(data, list):
            if len(data) != len(self.values[word]):
                self.fail(line, f"{word!r} has {len(self.values[word])} values, but {len(data)} in its property.")
            self.take_values(line, word, data)

    def take_values(self, line: int, word: str, data: list[Any]) -> None:
        """The original values of a variable, from plain data."""
        try:
            self.original[word] = values_from_plain(data)
        except DataError as error:
            self.fail(line, str(error))

    def add_family(self, line: int, child: str, parents: Sequence[str]) -> tuple[int, ...]:
        """A variable and its parents; returns the shape of the table, parents first."""
        for name in (child, *parents):
            if name not in self.values:
                self.fail(line, f"{name!r} is not declared as a variable.{nearest(name, self.values)}")
        if child in self.parents:
            self.fail(line, f"the probabilities of {child!r} are given twice, first in line {self.lines[child]}.")
        self.parents[child], self.lines[child] = list(parents), line
        shape = tuple(len(self.values[name]) for name in (*parents, child))
        if prod(shape) > MAX_CELLS:
            self.fail(line, f"the table of {child!r} has {prod(shape):.3g} cells; at most {MAX_CELLS:,} are read.")
        return shape

    def numbers(self, line: int, text: str, expected: int, what: str) -> np.ndarray:
        """Probabilities, with commas or without; as many as expected."""
        found = text.replace(",", " ").split()
        cells = []
        for word in found:
            try:
                cells.append(float(word))
            except ValueError:
                self.fail(line, f"expected a number in {what}, found {word!r}.")
        if len(cells) != expected:
            self.fail(line, f"{what} has {len(cells)} numbers, expected {expected}.")
        return np.array(cells)

    def network(self) -> Network:
        """The network; rounded probabilities are normalised to sum to one again."""
        names = {word: self.names.get(word, word) for word in self.values}
        values = {names[word]: self.original.get(word, own) for word, own in self.values.items()}
        if len(values) < len(names):
            raise ModelFileError(f"{self.source}: two variables have the same name.")
        arcs = [(names[p], names[child]) for child in self.values for p in self.parents.get(child, ())]
        try:
            network = Network(values, arcs)
        except DataError as error:
            raise ModelFileError(f"{self.source}: {error}") from None
        return network.with_tables({names[word]: self._table(network, names[word], word) for word in self.tables})

    def _table(self, network: Network, name: str, word: str) -> np.ndarray:
        table = self.tables[word]
        off = np.abs(table.sum(axis=-1) - 1).max(initial=0.0)
        try:
            return network._checked_table(name, normalised(table) if 1e-6 < off <= ROUNDED else table)
        except DataError as error:
            self.fail(self.lines[word], str(error))
