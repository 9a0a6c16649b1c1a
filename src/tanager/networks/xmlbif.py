"""XMLBIF 0.3, the format of Weka, GeNIe, pgmpy and pyAgrum.

Values that are not text, and names and values with leading or trailing spaces, are kept in a PROPERTY and restored from
it. No document type is written, as pyAgrum does not read files that have one; when reading, it is skipped.
"""

from __future__ import annotations

import re
from math import prod
from xml.sax.saxutils import escape

from tanager.networks.builder import NetworkBuilder
from tanager.networks.network import Network
from tanager.networks.values import note, values_to_plain, words
from tanager.networks.xml_tree import XmlNode, xml_tree

# --- writing -------------------------------------------------------------------------------------------------------


def write(network: Network) -> str:
    """A network as XML."""
    spelled = dict(zip(network, words(network, _text), strict=True))
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n<NAME>unknown</NAME>\n']
    parts += [_variable(network, name, spelled[name]) for name in network]
    parts += [_definition(network, name, spelled) for name in network]
    return "".join([*parts, "</NETWORK>\n</BIF>\n"])


def _text(text: str) -> str:
    """Text that XML can hold, without leading and trailing spaces."""
    return re.sub(r"[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "_", text).strip() or "_"


def _variable(network: Network, name: str, word: str) -> str:
    own = values_to_plain(network.values(name))
    values = words(network.values(name), _text)
    lines = [f"<NAME>{escape(word)}</NAME>"]
    lines += [f"<OUTCOME>{escape(value)}</OUTCOME>" for value in values]
    lines += [f"<PROPERTY>name = {escape(note(name))}</PROPERTY>"] if word != name else []
    lines += [f"<PROPERTY>values = {escape(note(own))}</PROPERTY>"] if own != values else []
    return _element("VARIABLE", lines, ' TYPE="nature"')


def _definition(network: Network, name: str, spelled: dict[str, str]) -> str:
    lines = [f"<FOR>{escape(spelled[name])}</FOR>"]
    lines += [f"<GIVEN>{escape(spelled[parent])}</GIVEN>" for parent in network.parents(name)]
    if name in network.tables:
        rows = network.tables[name].reshape(-1, len(network.values(name))).tolist()
        lines += ["<TABLE>", *(" ".join(map(repr, row)) for row in rows), "</TABLE>"]
    return _element("DEFINITION", lines)


def _element(tag: str, lines: list[str], attributes: str = "") -> str:
    inner = "".join(f"  {line}\n" for line in lines)
    return f"<{tag}{attributes}>\n{inner}</{tag}>\n"


# --- reading -------------------------------------------------------------------------------------------------------


def read(data: bytes, source: str) -> Network:
    """The network in an XML document; errors name the source and the line."""
    builder = NetworkBuilder(source)
    root = xml_tree(data, builder)
    networks = [root] if root.tag == "NETWORK" else list(root.all("NETWORK"))
    if root.tag not in ("BIF", "NETWORK") or len(networks) != 1:
        builder.fail(root.line, f"expected <BIF> with one <NETWORK> in it, found <{root.tag}> with {len(networks)}.")
    for node in networks[0].all("VARIABLE"):
        _take_variable(builder, node)
    for node in networks[0].all("DEFINITION", "PROBABILITY"):
        _take_definition(builder, node)
    return builder.network()


def _take_variable(builder: NetworkBuilder, node: XmlNode) -> None:
    kind = node.attributes.get("TYPE", "nature")
    word = _one(builder, node, "NAME")
    if kind.lower() not in ("nature", "discrete"):
        builder.fail(node.line, f"the variable {word!r} has the type {kind!r}; only 'nature' is read.")
    builder.add_variable(node.line, word, [value.text for value in node.all("OUTCOME", "VALUE")])
    for prop in node.all("PROPERTY"):
        key, _, text = prop.text.partition("=")
        builder.add_property(prop.line, word, key.strip(), text)


def _take_definition(builder: NetworkBuilder, node: XmlNode) -> None:
    child = _one(builder, node, "FOR")
    shape = builder.add_family(node.line, child, [given.text for given in node.all("GIVEN")])
    for table in node.all("TABLE"):  # parents first, the child varies fastest
        cells = builder.numbers(table.line, table.text, prod(shape), f"the table of {child!r}")
        builder.tables[child] = cells.reshape(shape)


def _one(builder: NetworkBuilder, node: XmlNode, tag: str) -> str:
    found = [inner.text for inner in node.all(tag)]
    if len(found) != 1 or not found[0]:
        builder.fail(node.line, f"expected one <{tag}> in <{node.tag}>, found {len(found)}.")
    return found[0]
