"""The nomogram of a model for ``tanager show``."""

from __future__ import annotations

from typing import Any

from tanager.cli.reading import load_model
from tanager.cli.screen import Screen, listed, table
from tanager.errors import OptionError, nearest


def show_nomogram(
    screen: Screen, path: str, answer: str | None, against: str | None, output: str | None, top: int
) -> None:
    """Print what every value of every column adds to the log-odds, and draw it where a file is given."""
    with screen.waiting("starting"):
        from tanager.learning.nomogram import nomogram

        model = load_model(path)
        labels = {str(label): label for label in model.classes_.tolist()}
        found = nomogram(model, None, *(_class(labels, name) for name in (answer, against)))
        if output is not None:
            found.plot(output, top=top)
    screen.say(f"{found.answer} rather than {found.against}: prior {found.prior:+.4f}", style="bold")
    shown = [(_axis(axis), _points(axis)) for axis in found.axes[:top]]
    screen.show(table(("column", "log-odds of its values"), shown, elastic=["log-odds of its values"]))
    if len(found.axes) > top:
        screen.say(f"and {len(found.axes) - top:,} more columns. See --top.")
    if any(axis.given for axis in found.axes[:top]):
        screen.say(
            "Lines with (where ... = ?) hold while that value is missing; with it they are others: see tanager explain."
        )
    if output is not None:
        screen.say(f"\nPicture written to {output}")
    screen.document(_report(found) | ({"picture": output} if output else {}))


def _axis(axis: Any) -> str:
    """The column, and the values of others at which its own are shown."""
    given = ", ".join(f"{name} = {value}" for name, value in axis.given.items())
    return f"{axis.column} (where {given})" if given else str(axis.column)


def _points(axis: Any) -> str:
    return ", ".join(f"{value} {point:+.2f}" for value, point in zip(axis.values, axis.points, strict=True))


def _class(labels: dict[str, Any], name: str | None) -> Any:
    if name is not None and name not in labels:
        raise OptionError(f"unknown class {name!r}.{nearest(name, labels) or f' The classes are {listed(labels)}.'}")
    return None if name is None else labels[name]


def _report(found: Any) -> dict[str, Any]:
    axes = [
        {"column": axis.column, "values": dict(zip(map(str, axis.values), axis.points, strict=True))}
        for axis in found.axes
    ]
    return {"answer": found.answer, "against": found.against, "prior": found.prior, "axes": axes}
