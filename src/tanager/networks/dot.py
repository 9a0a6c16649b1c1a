"""DOT, the language of Graphviz: arcs to be drawn by other programs, or written by hand and read here. No tables.

The values of a variable are written into an attribute that Graphviz ignores.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise, product
from typing import NamedTuple, NoReturn

from tanager.networks.builder import NetworkBuilder
from tanager.networks.network import Network
from tanager.networks.values import note, values_to_plain


def write(network: Network) -> str:
    """The arcs of a network, and the values of its variables."""
    lines = [f"  {_quoted(n)} [values={_quoted(note(values_to_plain(network.values(n))))}];\n" for n in network]
    lines += [f"  {_quoted(parent)} -> {_quoted(child)};\n" for parent, child in network.arcs]
    return f"digraph {{\n{''.join(lines)}}}\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- reading -------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)|(?P<quoted>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<mark>->|--|[{}\[\];,=:])|(?P<name>\w+|-?[\d.]+)""",
    re.DOTALL,
)
_DEEPEST = 20


class _Token(NamedTuple):
    text: str
    kind: str  # "name", "quoted", "mark", or "end"
    line: int

    def is_mark(self, text: str) -> bool:
        return self.kind == "mark" and self.text == text

    def is_word(self, *words: str) -> bool:
        return self.kind == "name" and self.text.lower() in words


def read(text: str, source: str) -> Network:
    """The network that a graph draws; errors name the source and the line."""
    reader = _Reader(text, NetworkBuilder(source))
    reader.graph()
    return reader.builder.network()


class _Reader:
    """Parses the tokens of a text."""

    def __init__(self, text: str, builder: NetworkBuilder) -> None:
        self.builder = builder
        self.tokens: list[_Token] = []
        self.at = self.depth = 0
        self.split(text)

    def split(self, text: str) -> None:
        at, line = 0, 1
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                self.builder.fail(line, f"expected a word of DOT, found {text[at:].split()[0][:20]!r}.")
            word = re.sub(r'\\(["\\])', r"\1", match[0][1:-1]) if match["quoted"] else match[0]
            if match.lastgroup != "space":
                self.tokens.append(_Token(word, str(match.lastgroup), line))
            at, line = match.end(), line + match[0].count("\n")
        self.tokens += [_Token("", "end", line)] * 2

    @property
    def here(self) -> _Token:
        return self.tokens[self.at]

    def take(self, mark: str) -> bool:
        """Whether this mark is here; if so, move behind it."""
        found = self.here.is_mark(mark)
        self.at += found
        return found

    def expected(self, what: str) -> NoReturn:
        found = f"found {self.here.text!r}" if self.here.kind != "end" else "but the file ends"
        self.builder.fail(self.here.line, f"expected {what}, {found}.")

    def name(self, what: str) -> str:
        if self.here.kind not in ("name", "quoted"):
            self.expected(what)
        self.at += 1
        return self.tokens[self.at - 1].text

    def graph(self) -> None:
        """The whole text."""
        self.at += self.here.is_word("strict")
        if not self.here.is_word("digraph"):
            self.expected("'digraph'")
        self.at += 1
        self.at += self.here.kind in ("name", "quoted")
        if not self.take("{"):
            self.expected("'{'")
        self.statements()

    def statements(self) -> list[str]:
        """All statements up to the closing brace; returns the variables that were named."""
        named: list[str] = []
        self.depth += 1
        if self.depth > _DEEPEST:
            self.builder.fail(self.here.line, f"braces are nested more than {_DEEPEST} deep.")
        while not self.take("}"):
            if self.take(";") or self.take(","):
                continue
            if self.here.is_word("graph", "node", "edge"):
                self.at += 1
                self.attributes()
            elif self.tokens[self.at + 1].is_mark("="):  # an attribute of the graph
                self.at += 2
                self.name("a value")
            else:
                named += self.chain()
        self.depth -= 1
        return named

    def chain(self) -> list[str]:
        """``a -> b -> {c d} [attributes]``; returns its variables."""
        line = self.here.line
        ends = [self.end()]
        while self.take("->"):
            ends.append(self.end())
        if self.here.is_mark("--"):
            self.builder.fail(self.here.line, "found an undirected edge, --; a network has arcs, ->.")
        known = self.attributes()
        if len(ends) == 1 and "values" in known and len(ends[0]) == 1:
            self.take_values(line, ends[0][0], known["values"])
        for parents, children in pairwise(ends):
            for parent, child in product(parents, children):
                self.builder.parents.setdefault(child, []).append(parent)
        return [name for group in ends for name in group]

    def take_values(self, line: int, name: str, text: str) -> None:
        """Values as ``write`` writes them."""
        try:
            values = json.loads(text)
        except ValueError:
            values = None
        if not isinstance(values, list):
            self.builder.fail(line, f"the values of {name!r} must be a JSON list, found {text!r}.")
        self.builder.take_values(line, name, values)

    def end(self) -> list[str]:
        """A variable, or several in braces."""
        if self.here.is_word("subgraph"):
            self.at += 1
            self.at += self.here.kind in ("name", "quoted")
        if self.take("{"):
            return self.statements()
        name = self.name("a variable")
        while self.take(":"):  # where an arc meets the box
            self.name("a port")
        self.builder.values.setdefault(name, [])
        return [name]

    def attributes(self) -> dict[str, str]:
        """``[key=value, ...]``, once, more often, or not at all."""
        found: dict[str, str] = {}
        while self.take("["):
            while not self.take("]"):
                key = self.name("an attribute or ']'")
                found[key] = self.name("a value") if self.take("=") else ""
                if not self.take(","):
                    self.take(";")
        return found
