"""Listed: classes whose ``help``, ``dir`` and completion show what users call.

No part of the library uses private names of another, so a class has public methods that only other parts call. They are
public for whoever writes a classifier, and in the way of everybody else. A class names them in ``unlisted``: they work
like any other method, and lists of names leave them out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import ClassVar

# What dataclasses and ``abc`` leave behind in a class.
MACHINERY = {"__dataclass_fields__", "__dataclass_params__", "__match_args__", "__abstractmethods__", "_abc_impl"}
MACHINERY |= {"__init__", "__annotations__"}  # help shows the signature above, and options below


def names_in(text: str) -> frozenset[str]:
    """The names in a text, which spaces and lines keep apart."""
    return frozenset(text.split())


class ListedType(type):
    # The type of listed classes, which ``help`` asks for their names. A docstring of its own would be in the way: pydoc
    # takes that of the type for what the class says.
    __doc__ = vars(type)["__doc__"]

    def __dir__(cls) -> Iterable[str]:
        return [name for name in super().__dir__() if name not in unlisted_names(cls)]


class Listed(metaclass=ListedType):
    """A class that says which of its public names are for other parts of the library."""

    __slots__ = ()
    unlisted: ClassVar[frozenset[str]] = frozenset()  # those that this class adds to what its ancestors leave out

    def __dir__(self) -> Iterable[str]:
        return [name for name in super().__dir__() if name not in unlisted_names(type(self))]


@cache
def unlisted_names(cls: type) -> frozenset[str]:
    """Names that lists of a class leave out: those for other parts, and the machinery of dataclasses.

    An option is listed, whatever an ancestor says.
    """
    named = frozenset().union(*(vars(base).get("unlisted", ()) for base in cls.__mro__))
    options = {field.name for field in fields(cls)} if is_dataclass(cls) else set()
    return (named - options) | MACHINERY | {"unlisted"}
