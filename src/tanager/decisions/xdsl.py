"""XDSL, the format of GeNIe and SMILE: chance nodes, decisions and utilities in XML.

Numbers are listed with the last parent varying fastest, and a node's own states faster still. Identifiers are letters,
digits and underscores; other names and values are kept in a property and restored from it. Several utilities are joined
by a node with weights (``mau``), whose weights are multiplied into them when it is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from tanager.decisions.diagram import DecisionNetwork
from tanager.errors import DataError, ModelFileError
from tanager.networks.builder import NetworkBuilder
from tanager.networks.values import note, values_to_plain, words
from tanager.networks.xml_tree import XmlNode, xml_tree

# --- writing ----------------------------------------------------------------------------------------------------------


def write(diagram: DecisionNetwork) -> str:
    """A diagram as XML."""
    diagram.require_tables()
    names = diagram.names
    spelled = dict(zip(names, words(names, _identifier, str.lower), strict=True))
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<smile version="1.0" id="Diagram">', "<nodes>"]
    for name in diagram.network.order():
        lines += _variable(diagram, name, spelled)
    for name in diagram.utilities:
        lines += _utility(diagram, name, spelled)
    if len(diagram.utilities) > 1:
        total = words([*spelled.values(), "Total"], str, str.lower)[-1]
        parents = " ".join(spelled[name] for name in diagram.utilities)
        weights = " ".join("1" for _ in diagram.utilities)
        lines += [f'<mau id="{total}">', f"  <parents>{parents}</parents>", f"  <weights>{weights}</weights>", "</mau>"]
    return "\n".join([*lines, "</nodes>", "</smile>", ""])


def _identifier(text: str) -> str:
    word = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return word if re.match(r"[A-Za-z]", word) else f"n{word}"


def _variable(diagram: DecisionNetwork, name: str, spelled: dict[str, str]) -> Iterator[str]:
    own = values_to_plain(diagram.values(name))
    states = words(diagram.values(name), _identifier, str.lower)
    tag = "cpt" if diagram.kind(name) == "chance" else "decision"
    yield f'<{tag} id="{spelled[name]}">'
    yield from (f"  <state id={quoteattr(state)} />" for state in states)
    yield from _parents(diagram, name, spelled)
    if tag == "cpt":
        yield f"  <probabilities>{_numbers(diagram.tables[name])}</probabilities>"
    if spelled[name] != name:
        yield _property("name", name)
    if own != states:
        yield _property("values", own)
    if diagram.given_order is not None and name == diagram.given_order[0]:
        yield _property("order", list(diagram.given_order))
    yield f"</{tag}>"


def _utility(diagram: DecisionNetwork, name: str, spelled: dict[str, str]) -> Iterator[str]:
    yield f'<utility id="{spelled[name]}">'
    yield from _parents(diagram, name, spelled)
    yield f"  <utilities>{_numbers(diagram.tables[name])}</utilities>"
    if spelled[name] != name:
        yield _property("name", name)
    yield "</utility>"


def _parents(diagram: DecisionNetwork, name: str, spelled: dict[str, str]) -> Iterator[str]:
    if diagram.parents(name):
        yield f"  <parents>{' '.join(spelled[parent] for parent in diagram.parents(name))}</parents>"


def _numbers(table: np.ndarray) -> str:
    return " ".join(map(repr, table.reshape(-1).tolist()))


def _property(key: str, data: object) -> str:
    return f'  <property id="{key}">{escape(note(data))}</property>'


# --- reading ----------------------------------------------------------------------------------------------------------


@dataclass
class _Utility:
    parents: list[str]
    cells: np.ndarray
    name: str


@dataclass
class _Reader:
    """What was read so far; variables and their families are collected by the builder of network files."""

    builder: NetworkBuilder
    decisions: list[str] = field(default_factory=list)
    utilities: dict[str, _Utility] = field(default_factory=dict)
    order: list[str] | None = None

    def take_states(self, node: XmlNode) -> None:
        """A chance node or a decision, without its parents: they may come later."""
        word = self.identifier(node)
        states = [state.attributes.get("ID", "") for state in node.all("STATE")]
        if not states:
            self.builder.fail(node.line, f"the node {word!r} has no states.")
        self.builder.add_variable(node.line, word, states)
        for prop in node.all("PROPERTY"):
            key = prop.attributes.get("ID", "")
            if key == "order":
                self.order = self._listed(prop)
            else:
                self.builder.add_property(prop.line, word, key, prop.text)
        if node.tag == "DECISION":
            self.decisions.append(word)

    def take_family(self, node: XmlNode) -> None:
        """The parents of a chance node or decision, and its numbers."""
        word = self.identifier(node)
        shape = self.builder.add_family(node.line, word, self.parents(node))
        for table in node.all("PROBABILITIES"):
            cells = self.builder.numbers(table.line, table.text, prod(shape), f"the table of {word!r}")
            self.builder.tables[word] = cells.reshape(shape)
        for table in node.all("RESULTINGSTATES"):
            self.builder.tables[word] = self._certain(table, word, shape)

    def _certain(self, table: XmlNode, word: str, shape: tuple[int, ...]) -> np.ndarray:
        states, found = self.builder.values[word], table.text.split()
        odd = next((state for state in found if state not in states), None)
        if odd is not None or len(found) != prod(shape[:-1]):
            what = f"{odd!r}, which is no state of it" if odd is not None else f"{len(found)} states"
            self.builder.fail(table.line, f"expected {prod(shape[:-1])} states of {word!r}, found {what}.")
        return np.eye(len(states))[[states.index(state) for state in found]].reshape(shape)

    def take_utility(self, node: XmlNode) -> None:
        word, parents = self.identifier(node), self.parents(node)
        if word in self.utilities or word in self.builder.values:
            self.builder.fail(node.line, f"the node {word!r} is declared twice.")
        odd = next((parent for parent in parents if parent not in self.builder.values), None)
        if odd is not None:
            self.builder.fail(node.line, f"{odd!r}, a parent of the utility {word!r}, is no chance node or decision.")
        shape = [len(self.builder.values[parent]) for parent in parents]
        tables = list(node.all("UTILITIES"))
        if len(tables) != 1:
            self.builder.fail(node.line, f"expected one <utilities> in {word!r}, found {len(tables)}.")
        cells = self.builder.numbers(tables[0].line, tables[0].text, prod(shape), f"the utility {word!r}")
        names = [
            json.loads(p.text) for p in node.all("PROPERTY") if p.attributes.get("ID") == "name" and _is_text(p.text)
        ]
        self.utilities[word] = _Utility(parents, cells.reshape(shape), names[0] if names else word)

    def take_weights(self, node: XmlNode) -> None:
        """A sum of utilities with weights."""
        word, parents = self.identifier(node), self.parents(node)
        odd = next((parent for parent in parents if parent not in self.utilities), None)
        weights = list(node.all("WEIGHTS"))
        if odd is not None or len(weights) != 1:
            self.builder.fail(node.line, f"{word!r} is no sum of utilities with weights, and nothing else is read.")
        found = self.builder.numbers(weights[0].line, weights[0].text, len(parents), f"the weights of {word!r}")
        for parent, weight in zip(parents, found.tolist(), strict=True):
            self.utilities[parent].cells = self.utilities[parent].cells * weight

    def identifier(self, node: XmlNode) -> str:
        word = node.attributes.get("ID", "")
        if not word:
            self.builder.fail(node.line, f"a <{node.tag.lower()}> has no id.")
        return word

    def parents(self, node: XmlNode) -> list[str]:
        return [word for parents in node.all("PARENTS") for word in parents.text.split()]

    def _listed(self, prop: XmlNode) -> list[str] | None:
        try:
            data = json.loads(prop.text)
        except ValueError:
            return None
        return data if isinstance(data, list) and all(isinstance(name, str) for name in data) else None

    def diagram(self) -> DecisionNetwork:
        network = self.builder.network()
        names = {word: self.builder.names.get(word, word) for word in self.builder.values}
        utilities = {u.name: ([names[parent] for parent in u.parents], u.cells) for u in self.utilities.values()}
        if len(utilities) < len(self.utilities):
            raise ModelFileError(f"{self.builder.source}: two utilities have the same name.")
        try:
            decisions = [names[word] for word in self.decisions]
            return DecisionNetwork.from_network(network, decisions, utilities, order=self.order)
        except DataError as error:
            raise ModelFileError(f"{self.builder.source}: {error}") from None


_TABLED = ("CPT", "DETERMINISTIC", "DECISION")
_KNOWN = (*_TABLED, "UTILITY", "MAU")


def read(data: bytes, source: str) -> DecisionNetwork:
    """The diagram in an XML document; errors name the source and the line."""
    builder = NetworkBuilder(source)
    root = xml_tree(data, builder)
    parts = list(root.all("NODES"))
    if root.tag != "SMILE" or len(parts) != 1:
        builder.fail(
            root.line, f"expected <smile> with one <nodes> in it, found <{root.tag.lower()}> with {len(parts)}."
        )
    nodes = parts[0].inner
    odd = next((node for node in nodes if node.tag not in _KNOWN), None)
    if odd is not None:
        listed = ", ".join(f"<{tag.lower()}>" for tag in _KNOWN)
        builder.fail(odd.line, f"nodes of kind <{odd.tag.lower()}> are not read, only {listed}.")
    reader = _Reader(builder)
    for tags, take in (
        (_TABLED, reader.take_states),
        (_TABLED, reader.take_family),
        (("UTILITY",), reader.take_utility),
        (("MAU",), reader.take_weights),
    ):
        for node in parts[0].all(*tags):
            take(node)
    return reader.diagram()


def _is_text(text: str) -> bool:
    try:
        return isinstance(json.loads(text), str)
    except ValueError:
        return False
