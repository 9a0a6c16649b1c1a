"""``tanager backup``: a copy of a model file with all that a service has learned on it."""

from __future__ import annotations

from pathlib import Path

import click

from tanager.cli.check import DAMAGED, check_extra, report, state_folder
from tanager.cli.options import examples, json_option
from tanager.cli.reading import check_inputs
from tanager.cli.screen import Screen
from tanager.errors import OptionError


@click.command(
    epilog=examples(
        "tanager backup iris.tanager backups/monday",
        "tanager serve backups/monday/iris.tanager",
    )
)
@click.argument("model", metavar="MODEL")
@click.argument("folder", metavar="FOLDER")
@click.option("--state", metavar="FOLDER", help="State of the model.  [default: MODEL.state beside MODEL]")
@json_option
def command(model: str, folder: str, state: str | None, as_json: bool) -> None:
    """Copy a MODEL file and its state into a new FOLDER, also while a service learns, and check the copy.

    All that was acknowledged before the copy began is in it.
    """
    screen = Screen(as_json=as_json)
    source = Path(f"{model}.state" if state is None else state)
    check_inputs(model, str(source))
    target = Path(folder)
    if target.exists():
        raise OptionError(f"there is {folder!r} already. Name a folder that does not exist yet.")
    if not target.absolute().parent.is_dir():
        raise OptionError(f"there is no folder {str(target.parent)!r}. Make it first.")
    check_extra()
    with screen.waiting("copying"):
        from tanager.service.backup import back_up

        checked = back_up(Path(model), state_folder(source), target)
    screen.say(f"{model} and its state copied to {folder}")
    report(screen, folder, None, checked)
    click.get_current_context().exit(DAMAGED if checked.damaged or checked.lost else 0)
