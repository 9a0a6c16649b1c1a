"""``tanager check``: whether a model file or the state of a service is whole."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tanager.cli.options import examples, json_option
from tanager.cli.reading import check_inputs
from tanager.cli.screen import Screen, counted, table
from tanager.errors import OptionError

if TYPE_CHECKING:  # needs the extra `serve`
    from tanager.service.check import Checked, Part

DAMAGED = 1  # exit code


@click.command(
    epilog=examples(
        "tanager check iris.tanager",
        "tanager check iris.tanager.state",
        "tanager check iris.tanager --json",
    )
)
@click.argument("path", metavar="MODEL|STATE")
@click.option("--state", metavar="FOLDER", help="State of the model.  [default: MODEL.state beside MODEL, if there]")
@json_option
def command(path: str, state: str | None, as_json: bool) -> None:
    """Check a MODEL file with its state, or a STATE folder of serve: what is there, what is damaged, how many rows.

    Nothing is changed, and a service may be running. The exit code is 0 where all is good, 1 where something is damaged
    or lost, and 2 where there is nothing to check.
    """
    screen = Screen(as_json=as_json)
    check_inputs(path, state)
    with screen.waiting("checking"):
        part, checked = _check(Path(path), None if state is None else Path(state))
    report(screen, path, part, checked)
    damaged = bool(checked and (checked.damaged or checked.lost)) or bool(part and part.damaged)
    click.get_current_context().exit(DAMAGED if damaged else 0)


def _check(path: Path, state: Path | None) -> tuple[Part | None, Checked | None]:
    """The model file and its state; either may be absent."""
    check_extra()
    from tanager.service.check import check_model, check_state

    if path.is_dir():
        return None, check_state(state_folder(path))
    beside = path.with_name(f"{path.name}.state")
    if state is None and beside.is_dir():
        state = beside
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return check_model(path), None if state is None else check_state(state_folder(state), digest)


def state_folder(path: Path) -> Path:
    """The folder of a state; refuses one that is something else."""
    if not ((path / "current").is_dir() or any(path.glob("retired-*")) or (path / "lock").is_file()):
        raise OptionError(f"{str(path)!r} is not the state of a model: it has no folder 'current'. Name MODEL.state.")
    return path


def check_extra() -> None:
    """Reading the log of a service needs what the service needs."""
    from importlib.util import find_spec

    if find_spec("msgspec") is None:
        raise OptionError('this needs msgspec, which is not installed. Run: pip install "tanager[serve]"')


def report(screen: Screen, path: str, part: Part | None, checked: Checked | None) -> None:
    """Print what was found."""
    parts = [*([part] if part else []), *(checked.parts if checked else [])]
    short = [(one.name, _number(one.entries), _number(one.rows), _verdict(one)) for one in parts]
    screen.show(table(("part", "entries", "rows", "found"), short, right=["entries", "rows"], elastic=["found"]))
    for one in parts:
        if one.damaged:
            screen.say(f"{one.name}: {one.finding}")
    if checked:
        in_use = "; a service is using it" if checked.in_use else ""
        learned = counted(checked.entries, "entry", "entries")
        screen.say(f"{learned} learned on top of the model file, {checked.rows:,.0f} rows in all{in_use}")
        if checked.lost:
            screen.say(
                f"{counted(checked.lost, 'entry', 'entries')} lost; to go on without: tanager serve --accept-loss"
            )
    screen.document(_document(path, parts, checked))


def _number(n: float | None) -> str:
    return "" if n is None else f"{n:,.0f}"


def _verdict(part: Part) -> str:
    return "DAMAGED, see below" if part.damaged else part.finding


def _document(path: str, parts: list[Part], checked: Checked | None) -> dict[str, Any]:
    found: dict[str, Any] = {"path": path, "damaged": any(part.damaged for part in parts)}
    if checked:
        found |= {"entries": checked.entries, "rows": checked.rows, "lost": checked.lost, "in_use": checked.in_use}
    names = ("name", "entries", "rows", "finding", "damaged")
    return found | {"parts": [{name: getattr(part, name) for name in names} for part in parts]}
