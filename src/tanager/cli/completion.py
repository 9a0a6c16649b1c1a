"""What the shell proposes after a command: files where a file is expected, and names of models and generators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

FILES = {"FILE", "FOLDER", "MODEL", "MODEL|STATE", "STATE", "IN", "OUT", "TEST"}  # as the help calls them
NOT_FILES = {("explain", "row"), ("datasets", "name"), ("generate", "model")}


class FileText(click.types.StringParamType):
    """Text that is the name of a file: the shell completes it."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class NameText(click.types.StringParamType):
    """Text that is one of some names, or a list of them with commas between."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self.names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        return [CompletionItem(f"{before}{comma}{name}") for name in self.names() if name.startswith(last)]


def _models() -> Iterable[str]:
    from tanager.classifiers.names import MODELS

    return MODELS


def _generators() -> Iterable[str]:
    from tanager.cli.generate import GENERATORS

    return GENERATORS


def add_completion(name: str, command: click.Command) -> None:
    """Let the parameters of a command say what the shell may propose."""
    for parameter in command.params:
        if isinstance(parameter.type, click.types.StringParamType):
            parameter.type = _completed_type(name, parameter)


def _completed_type(command: str, parameter: click.Parameter) -> click.ParamType[Any]:
    if (command, parameter.name) == ("generate", "model"):
        return NameText(_generators)
    if isinstance(parameter, click.Argument):
        is_file = (command, parameter.name) not in NOT_FILES
    else:
        is_file = parameter.metavar in FILES
        if {"--model", "--models"} & {*parameter.opts} and parameter.metavar in ("NAME", "NAMES"):
            return NameText(_models)
    return FileText() if is_file else parameter.type
