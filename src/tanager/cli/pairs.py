"""Options that take names with values: ``--known age=30,sex=male``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from tanager.cli.options import names_in
from tanager.errors import OptionError


def pairs_option(flag: str, text: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option that takes NAME=VALUE,..., and may be repeated."""
    return click.option(
        flag, multiple=True, callback=_pairs, metavar="NAME=VALUE,...", help=text, show_default=False, **more
    )


def _pairs(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        try:
            found |= pairs_in(text)
        except OptionError as error:
            raise click.BadParameter(str(error), ctx, param) from None
    return found


def pairs_in(text: str) -> dict[str, str]:
    """Names with values, separated by commas; quoted as in a CSV file where they contain one.

    >>> pairs_in('age=30, "job=clerk, retired"')
    {'age': '30', 'job': 'clerk, retired'}
    """
    found = {}
    for part in names_in(text):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise OptionError(f"{part!r}: write NAME=VALUE, for example age=30.")
        found[name.strip()] = value.strip()
    return found


def numbers_in(pairs: Mapping[str, str], flag: str) -> dict[str, float]:
    """The values as numbers."""
    return {name: number_in(text, f"{flag} {name}") for name, text in pairs.items()}


def number_in(text: str, what: str) -> float:
    """A text as a number."""
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"{what}={text}: {text!r} is no number.") from None
