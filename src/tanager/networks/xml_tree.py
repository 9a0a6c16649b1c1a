"""XML documents from outside as trees of elements: entities are refused, and nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from tanager.errors import ModelFileError
from tanager.networks.builder import NetworkBuilder

_DEEPEST = 20  # nesting; a network needs five levels


@dataclass
class XmlNode:
    """An element: its tag in capitals, its line, and its content."""

    tag: str
    line: int
    attributes: dict[str, str]
    pieces: list[str] = field(default_factory=list)
    inner: list[XmlNode] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()

    def all(self, *tags: str) -> Iterator[XmlNode]:
        return (node for node in self.inner if node.tag in tags)


def xml_tree(data: bytes, builder: NetworkBuilder) -> XmlNode:
    """The elements of a document. Entities are refused, and nothing outside the document is ever fetched."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    top = XmlNode("", 0, {})
    stack = [top]

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > _DEEPEST:
            builder.fail(parser.CurrentLineNumber, f"elements are nested more than {_DEEPEST} deep.")
        node = XmlNode(tag.upper(), parser.CurrentLineNumber, {k.upper(): v for k, v in attributes.items()})
        stack[-1].inner.append(node)
        stack.append(node)

    def refuse(*_: object) -> NoReturn:
        builder.fail(parser.CurrentLineNumber, "the document defines entities, which are not read. Remove them.")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: stack.pop()
    parser.CharacterDataHandler = lambda text: stack[-1].pieces.append(text)
    parser.EntityDeclHandler = refuse
    parser.SkippedEntityHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        found = expat.ErrorString(error.code)
        raise ModelFileError(f"{builder.source}, line {error.lineno}: this is not well-formed XML: {found}.") from None
    return top.inner[0]
