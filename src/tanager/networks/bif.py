"""BIF, the text format of the network repositories: one plain dialect is written, all common ones are read.

Words consist of letters, digits, ``_``, ``-`` and ``.``, which all programs can read. Any other name or value is
written with underscores; a property holds the original, from which it is restored with its type.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import product
from typing import NoReturn
from urllib.parse import quote, unquote

import numpy as np

from tanager.networks.builder import NetworkBuilder
from tanager.networks.network import Network
from tanager.networks.values import note, values_to_plain, words

_KEYWORDS = {"network", "variable", "probability", "property", "type", "discrete", "table", "default"}
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*|-?[0-9]+")


# --- writing -------------------------------------------------------------------------------------------------------


def write(network: Network) -> str:
    """A network as text."""
    names = words(network, _name, str.lower)  # some readers ignore case
    spelled = dict(zip(network, names, strict=True))
    values = {name: words(network.values(name), _word) for name in network}
    parts = ["network unknown {\n}\n"]
    parts += [_variable(network, name, spelled[name], values[name]) for name in network]
    parts += [_probability(network, name, spelled, values) for name in network]
    return "".join(parts)


def _word(text: str) -> str:
    word = text if _WORD.fullmatch(text) else re.sub(r"[^A-Za-z0-9_]+", "_", text)
    return word if _WORD.fullmatch(word) and word not in _KEYWORDS else f"_{word}"


def _name(text: str) -> str:
    word = _word(text)
    return f"_{word}" if word.lstrip("-").isdigit() else word


def _variable(network: Network, name: str, word: str, values: list[str]) -> str:
    own = values_to_plain(network.values(name))
    lines = [f"  type discrete [ {len(values)} ] {{ {', '.join(values)} }};\n"]
    lines += [f"  property name = {_quoted(name)};\n"] if word != name else []
    lines += [f"  property values = {_quoted(own)};\n"] if own != values else []
    return f"variable {word} {{\n{''.join(lines)}}}\n"


def _quoted(data: object) -> str:
    """JSON with its punctuation percent-encoded, so that no reader misinterprets it."""
    return f'"{quote(note(data), safe=" ,:()[]<>+")}"'


def _probability(network: Network, name: str, spelled: dict[str, str], values: dict[str, list[str]]) -> str:
    parents = network.parents(name)
    head = " | ".join([spelled[name], *([", ".join(spelled[p] for p in parents)] if parents else [])])
    rows: list[str] = []
    if name in network.tables:
        contexts = product(*(values[p] for p in parents))
        table = network.tables[name].reshape(-1, len(values[name])).tolist()
        for context, row in zip(contexts, table, strict=True):
            start = f"({', '.join(context)})" if parents else "table"
            rows.append(f"  {start} {', '.join(map(repr, row))};\n")
    return f"probability ( {head} ) {{\n{''.join(rows)}}}\n"


# --- reading -------------------------------------------------------------------------------------------------------

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"{_QUOTED}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_BLOCK = re.compile(rf"\s*(network|variable|probability)\b((?:{_QUOTED}|[^{{\"])*)\{{")
_TYPE = re.compile(rf"\s*(type)\s+(\w+)\s*\[\s*(\d+)\s*\]\s*\{{((?:{_QUOTED}|[^}}\"])*)\}}\s*;?")
_PROPERTY = re.compile(rf"\s*(property)\b((?:{_QUOTED}|[^;\"])*);")
_ROW = re.compile(r"\s*(table|default)\b([^;}]*)(?:;|(?=\}))")
_NUMBERS = re.compile(r"([^;}]*)(?:;|(?=\}))")
_BETWEEN_COMMAS = re.compile(rf"(?:{_QUOTED}|[^,\"])+")
_BETWEEN_SPACES = re.compile(rf"{_QUOTED}|[^\s\"]+")
_END = re.compile(r"\s*\}")
_NOTHING = re.compile(r"\s*\Z")
_BRACKET = re.compile(r"\s*\(")


def read(text: str, source: str) -> Network:
    """The network in a text; errors name the source and the line."""
    return _Reader(text, source).network()


def _blank(match: re.Match[str]) -> str:
    """A comment as empty lines; quoted text as it is."""
    return match[0] if match[0].startswith('"') else "\n" * match[0].count("\n") or " "


def _unquoted(text: str) -> str:
    text = text.strip()
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if re.fullmatch(_QUOTED, text, re.DOTALL) else text


def _listed(text: str) -> list[str]:
    """Words between commas, or between spaces where there is no comma."""
    pieces = (_BETWEEN_COMMAS if "," in re.sub(_QUOTED, "", text) else _BETWEEN_SPACES).findall(text)
    return [_unquoted(piece) for piece in pieces if piece.strip()]


class _Reader:
    """Parses the text from front to back; ``at`` is the current position."""

    def __init__(self, text: str, source: str) -> None:
        self.text = _COMMENT.sub(_blank, text)
        self.ends = [match.start() for match in re.finditer("\n", self.text)]
        self.at = 0
        self.builder = NetworkBuilder(source)

    def line(self, at: int) -> int:
        """The line of a position in the text."""
        return bisect_left(self.ends, at) + 1

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match here and move behind the match."""
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def expected(self, what: str) -> NoReturn:
        """Fail: something else was found here."""
        rest = re.compile(r"\s*(.{0,40})").match(self.text, self.at)
        assert rest is not None
        found = f"found {rest[1]!r}" if rest[1] else "but the file ends"
        self.builder.fail(self.line(rest.start(1)), f"expected {what}, {found}.")

    def network(self) -> Network:
        """All blocks."""
        while not self.take(_NOTHING):
            block = self.take(_BLOCK)
            if block is None:
                self.expected("a block 'network', 'variable' or 'probability' with its '{'")
            line = self.line(block.start(1))
            if block[1] == "variable":
                self.variable(line, _unquoted(block[2]))
            elif block[1] == "probability":
                self.probability(line, block[2].strip())
            else:
                self.properties()
                self.end()
        if not self.builder.values:
            self.builder.fail(1, "no variable is declared. Is this a BIF file?")
        return self.builder.network()

    def end(self) -> None:
        if not self.take(_END):
            self.expected("'}'")

    def properties(self) -> dict[str, tuple[int, str]]:
        """The properties at this position, with their lines."""
        found = {}
        while match := self.take(_PROPERTY):
            name, _, value = match[2].partition("=")
            found[_unquoted(name)] = self.line(match.start(1)), _unquoted(value)
        return found

    # --- variables ---

    def variable(self, line: int, word: str) -> None:
        known = self.properties()
        kind = self.take(_TYPE)
        if kind is None:
            self.expected(f"'type discrete [ n ] {{ values }};' of the variable {word!r}")
        if kind[2] != "discrete":
            self.builder.fail(line, f"the variable {word!r} is {kind[2]}; only discrete variables are read.")
        values = _listed(kind[4])
        if len(values) != int(kind[3]):
            found = f"the variable {word!r} has {len(values)} values"
            self.builder.fail(line, f"{found}, expected the {kind[3]} it declares.")
        self.builder.add_variable(line, word, values)
        known |= self.properties()
        self.end()
        for key in known.keys() & {"name", "values"}:
            self.builder.add_property(known[key][0], word, key, unquote(known[key][1]))

    # --- tables ---

    def probability(self, line: int, head: str) -> None:
        if not (head.startswith("(") and head.endswith(")")):
            self.builder.fail(line, f"expected ( variable | parents ) after 'probability', found {head!r}.")
        inner = head[1:-1]
        child, bar, parents = inner.partition("|")
        family = [_unquoted(child), *_listed(parents)]
        if (
            not bar and family[0] not in self.builder.values
        ):  # the oldest dialect: child and parents, separated by spaces
            family = _listed(inner) or [""]
        shape = self.builder.add_family(line, family[0], family[1:])
        self.rows(line, family, shape)

    def rows(self, line: int, family: list[str], shape: tuple[int, ...]) -> None:
        """The body of a table: one row of numbers per context, all numbers at once, or a default for all other rows."""
        child, parents = family[0], family[1:]
        cells, default = np.full(shape, np.nan), None
        context = self.context(parents)
        self.properties()
        empty = True
        while not self.take(_END):
            empty = False
            if word := self.take(_ROW):
                at = self.line(word.start(1))
                if word[1] == "table":  # the child varies slowest
                    all_cells = self.builder.numbers(at, word[2], cells.size, f"the table of {child!r}")
                    cells = np.moveaxis(all_cells.reshape(shape[-1], *shape[:-1]), 0, -1)
                else:
                    default = self.builder.numbers(at, word[2], shape[-1], f"the default of {child!r}")
            elif parents and _BRACKET.match(self.text, self.at):
                self.row(cells, context, parents, child)
            elif not self.properties():
                self.expected("'table', 'default', a row '(values) numbers;' or '}'")
        if not empty:  # an empty body is a structure without numbers
            self.builder.tables[child] = self.filled(line, family, cells, default)

    def filled(self, line: int, family: list[str], cells: np.ndarray, default: np.ndarray | None) -> np.ndarray:
        """The cells, with the default for rows that are not given; an error if there is none."""
        missing = np.isnan(cells)
        if default is None and missing.any():
            first = np.argwhere(missing)[0][:-1]
            listed = ", ".join(f"{p} = {self.builder.values[p][v]}" for p, v in zip(family[1:], first, strict=True))
            self.builder.fail(line, f"there are no probabilities of {family[0]!r} given {listed}.")
        return cells if default is None else np.where(missing, default, cells)

    def context(self, parents: list[str]) -> re.Pattern[str]:
        """A pattern for the start of a row. It lists the values themselves, as these may hold commas and brackets."""
        parts = []
        for parent in parents:
            longest_first = sorted(map(re.escape, self.builder.values[parent]), key=len, reverse=True)
            parts.append(f'"?({"|".join(longest_first)})"?')
        return re.compile(r"\s*\(\s*" + r"\s*[,\s]\s*".join(parts) + r"\s*\)")

    def row(self, cells: np.ndarray, context: re.Pattern[str], parents: list[str], child: str) -> None:
        match = self.take(context)
        if match is None:
            self.expected(f"values of {', '.join(parents)} in brackets")
        at = tuple(self.builder.values[p].index(v) for p, v in zip(parents, match.groups(), strict=True))
        line = self.line(match.start(1))
        if not np.isnan(cells[at]).any():
            self.builder.fail(line, f"the row {match[0].strip()} of {child!r} is given twice.")
        numbers = self.take(_NUMBERS)
        if numbers is None:
            self.expected("numbers and ';'")
        cells[at] = self.builder.numbers(line, numbers[1], cells.shape[-1], f"the row {match[0].strip()} of {child!r}")
