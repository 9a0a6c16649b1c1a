"""Actions: what the page can ask for, as plain functions of a session with checked arguments.

A module of ``pages`` makes one ``Actions`` and adds functions to it. The parameters of a function, with their types,
are what a request may send; anything else is refused with the name of the field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

from tanager.errors import OptionError, nearest

if TYPE_CHECKING:
    from tanager.studio.session import Session

Function = Callable[..., Any]


@dataclass(frozen=True)
class Download:
    """What an action gives where the answer is a file for the user."""

    name: str
    media_type: str
    content: bytes


class Action:
    """A function of the session, and the form that its other arguments must have."""

    def __init__(self, page: str, function: Function) -> None:
        self.name = function.__name__.rstrip("_")
        self.function = function
        hints = get_type_hints(function)
        fields: list[Any] = []
        for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
            optional = () if parameter.default is parameter.empty else (parameter.default,)
            fields.append((name, hints[name], *optional))
        self.form = msgspec.defstruct(f"{page}.{self.name}", fields, forbid_unknown_fields=True, kw_only=True)

    def __call__(self, session: Session, body: bytes) -> Any:
        """Check the arguments, and call the function."""
        try:
            form = msgspec.json.decode(body or b"{}", type=self.form)
        except msgspec.DecodeError as error:
            raise OptionError(f"the request for {self.form.__name__} cannot be read: {error}.") from None
        return self.function(session, **{name: getattr(form, name) for name in form.__struct_fields__})


@dataclass
class Actions:
    """The actions of one page."""

    page: str
    by_name: dict[str, Action] = field(default_factory=dict)

    def add(self, function: Function) -> Function:
        """A decorator: the function becomes an action under its own name."""
        action = Action(self.page, function)
        self.by_name[action.name] = action
        return function

    def find(self, name: str) -> Action:
        """An action by name."""
        if name not in self.by_name:
            raise OptionError(f"the page {self.page!r} has no action {name!r}.{nearest(name, self.by_name)}")
        return self.by_name[name]
