"""Shortcuts from a model to functions of higher layers, such as ``model.save`` to ``tanager.save``.

A layer imports only what lies below it. Methods that are there for convenience alone look the public function up by its
name when they are called; this is the one place where that is done.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def public(name: str) -> Callable[..., Any]:
    """The public function ``tanager.<name>``."""
    function: Callable[..., Any] = getattr(import_module("tanager"), name)
    return function


def part(name: str) -> Any:
    """The module ``tanager.<name>``, which needs the package that it is named after."""
    return import_module(f"tanager.{name}")
