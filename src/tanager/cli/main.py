"""The ``tanager`` command itself: finds the sub-command, and turns errors into one line and an exit code.

Sub-commands are imported when they are called, and they import the library when their work begins, so that help and
slips of the pen are answered at once.
"""

from __future__ import annotations

import io
import sys
import warnings
from importlib import import_module
from typing import Any

import click

from tanager.errors import DataWarning, TanagerError, nearest

COMMANDS = {
    "fit": "Learn a model from a file.",
    "predict": "Answer for every row of a file.",
    "compare": "Try all classifiers on a file, or on several.",
    "prequential": "Try classifiers on a stream, row after row.",
    "explain": "Say why a row gets its answer.",
    "show": "Say what a model has learned; draw its network.",
    "rules": "Read an evolving model as fuzzy rules; draw its fuzzy sets.",
    "convert": "Write a network for other programs, or as a picture.",
    "update": "Let a model learn more rows.",
    "unlearn": "Take learned rows out of a model.",
    "merge": "Join models that learned parts of the data.",
    "schema": "Say how the columns of a file would be treated.",
    "datasets": "List data sets to try, or write one to a file.",
    "generate": "Make up rows of a known model, with drift and noise.",
    "serve": "Answer and learn over HTTP.",
    "load": "Send rows to a running service at given rates, and measure it.",
}

REFUSED, STOPPED = 2, 130


class Ended(Exception):
    """A command came to an early end: its name, a sentence for the user, and the exit code."""

    def __init__(self, place: str, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.place, self.sentence, self.code = place, sentence, code


class Commands(click.Group):
    """Knows all commands by name and one line of help, and imports the file of a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return import_module(f"tanager.cli.{name}").command if name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(f"there is no command {args[0]!r}.{nearest(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors that were raised on purpose get its name."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataWarning)
            warnings.showwarning = _show_warning
            try:
                result = super().invoke(ctx)
                sys.stdout.flush()  # here, where a closed pipe is noticed
                return result
            except BrokenPipeError:  # nobody reads on (``| head``); click ends quietly
                raise
            except (KeyboardInterrupt, TanagerError, OSError, MemoryError) as error:
                code = STOPPED if isinstance(error, KeyboardInterrupt) else REFUSED
                raise Ended(f"{ctx.command_path} {ctx.invoked_subcommand}", _sentence(error), code) from error

    def main(self, *args: Any, **options: Any) -> Any:
        """Never returns: ends with 0, with 2 for what cannot be used, with 130 when stopped."""
        options |= {"prog_name": "tanager", "standalone_mode": False}
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a narrow encoding is no reason to fail
        try:
            code = super().main(*args, **options) or 0
        except Ended as end:
            code = _say(end.place, end.sentence, end.code)
        except click.Abort:
            code = _say("tanager", "stopped.", STOPPED)
        except click.ClickException as error:
            code = _refuse(error)
        sys.exit(code)


def _refuse(error: click.ClickException) -> int:
    """What click found wrong with the words of a command."""
    ctx = getattr(error, "ctx", None)
    place = ctx.command_path if ctx is not None else "tanager"
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        message = f"no such option {error.option_name!r}.{nearest(error.option_name, error.possibilities or ())}"
    return _say(place, f"{message[0].lower()}{message[1:]} See: {place} --help", REFUSED)


def _say(place: str, sentence: str, code: int) -> int:
    if code == STOPPED and sys.stderr.isatty():
        click.echo(err=True)  # ends the line on which the terminal shows ^C
    click.echo(f"{place}: {' '.join(sentence.split())}", err=True)
    return code


def _sentence(error: BaseException) -> str:
    """The words of an error; those of the system come without a sentence of their own."""
    if isinstance(error, KeyboardInterrupt):
        return "stopped."
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror[0].lower()}{error.strerror[1:]}."
    if isinstance(error, MemoryError) and not isinstance(error, TanagerError):
        return "there is not enough memory. Use a simpler model (nb), fewer columns, or a larger machine."
    return str(error)


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Warnings of the library are notes for the user."""
    click.echo(f"note: {message}", err=True)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100},
    epilog="\b\nTo begin:\n"
    "  tanager datasets iris -o iris.csv\n"
    "  tanager fit iris.csv\n"
    "  tanager predict iris.tanager iris.csv",
)
@click.version_option(package_name="tanager", message="%(prog)s %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Bayesian network classifiers: from a file to an answer."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
