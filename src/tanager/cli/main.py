"""The ``tanager`` command: dispatches to its subcommands, and turns errors into one line and an exit code.

A subcommand is imported when it is called, and imports the library when its work begins, so that help and usage errors
appear at once.
"""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from importlib import import_module
from typing import Any

import click

from tanager.cli.interrupts import is_interrupt, listen
from tanager.errors import DataWarning, TanagerError, nearest
from tanager.threads import others_only_calculate

COMMANDS = {
    "fit": "Learn a model from a file.",
    "predict": "Predict the class of every row of a file.",
    "compare": "Compare classifiers on one or more files (cross-validation).",
    "prequential": "Evaluate classifiers on a stream (test-then-train).",
    "explain": "Explain predictions, and say what would turn them.",
    "importance": "Measure how much each column matters to a model.",
    "show": "Show what a model has learned; draw its network.",
    "studio": "Look at a network in the browser, and change it.",
    "rules": "Show an evolving model as fuzzy rules; draw its fuzzy sets.",
    "decide": "Solve an influence diagram: the best options, and why.",
    "ask": "Say which column of a row to ask for next.",
    "convert": "Convert a network or a model to another format.",
    "update": "Learn more rows.",
    "unlearn": "Remove learned rows from a model.",
    "merge": "Merge models that learned different rows.",
    "schema": "Show how the columns of a file would be treated.",
    "datasets": "List example data sets, or write one to a file.",
    "generate": "Generate rows from a known model, with drift and noise.",
    "serve": "Serve predictions and learning over HTTP.",
    "follow": "Learn from a Kafka topic, or from the log of a service.",
    "answer": "Answer the rows of a Kafka topic on another topic.",
    "check": "Check a model file, or what a service has learned, for damage.",
    "backup": "Copy a model with all that a service has learned on it.",
    "load": "Send requests to a service at given rates, and measure it.",
}

_BREAKS = re.compile(r"\s*[\r\n]\s*")  # with the blanks around them; those within a line may belong to a name
FAILED, INTERRUPTED = 2, 130  # exit codes: an input that cannot be used, as for usage errors of click; Ctrl-C


class CommandError(Exception):
    """A command has failed: its name, a message for the user, and the exit code."""

    def __init__(self, command: str, message: str, code: int) -> None:
        super().__init__(message)
        self.command, self.message, self.code = command, message, code


class Commands(click.Group):
    """Lists all commands with one line of help, and imports the module of a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = import_module(f"tanager.cli.{name}").command
        assert isinstance(command, click.Command)
        if ctx.resilient_parsing:  # the shell asks what could follow
            import_module("tanager.cli.completion").add_completion(name, command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(f"unknown command {args[0]!r}.{nearest(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors that the library raises deliberately become a CommandError with its name."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataWarning)
            warnings.showwarning = _show_warning
            try:
                result = super().invoke(ctx)
                sys.stdout.flush()  # so that a closed pipe raises here
                return result
            except BrokenPipeError:  # the reader has gone (``| head``); click exits quietly
                raise
            except click.UsageError as error:
                if error.ctx is None and ctx.invoked_subcommand in COMMANDS:  # the parser of click does not say whose
                    command = self.get_command(ctx, ctx.invoked_subcommand)
                    assert command is not None
                    error.ctx = click.Context(command, parent=ctx, info_name=ctx.invoked_subcommand)
                raise
            except (KeyboardInterrupt, Exception) as error:
                interrupted = is_interrupt(error)
                if not interrupted and not isinstance(error, TanagerError | OSError | MemoryError):
                    raise
                name = f"{ctx.command_path} {ctx.invoked_subcommand or ''}".rstrip()
                message, code = ("interrupted.", INTERRUPTED) if interrupted else (_message(error), FAILED)
                raise CommandError(name, message, code) from error

    def main(self, *args: Any, **options: Any) -> Any:
        """Never returns: exits with 0, with 2 for an error, with 130 when interrupted."""
        is_process = not args and not options  # called by the script, not by Python code that goes on
        if is_process:
            listen()
        options |= {"prog_name": "tanager", "standalone_mode": False}
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # do not fail on an ASCII terminal
        try:
            code = super().main(*args, **options) or 0
        except CommandError as error:
            code = _fail(error.command, error.message, error.code)
        except click.Abort:
            code = _fail("tanager", "interrupted.", INTERRUPTED)
        except click.ClickException as error:
            code = _usage_error(error)
        if is_process and code == INTERRUPTED:
            _end_at_once(code)
        sys.exit(code)


def _end_at_once(code: int) -> None:
    """End the process without freeing every object first, which takes as long as half of the work at the start.

    All files are closed by now. Threads that are left are waited for as usual, but for those that only calculate.
    """
    if others_only_calculate():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _usage_error(error: click.ClickException) -> int:
    """Report what click found wrong with the arguments of a command."""
    ctx = getattr(error, "ctx", None)
    command = ctx.command_path if ctx is not None else "tanager"
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        message = f"no such option {error.option_name!r}.{nearest(error.option_name, error.possibilities or ())}"
    return _fail(command, f"{message[0].lower()}{message[1:]} See: {command} --help", FAILED)


def _fail(command: str, message: str, code: int) -> int:
    if code == INTERRUPTED and sys.stderr.isatty():
        click.echo(err=True)  # ends the line on which the terminal shows ^C
    click.echo(f"{command}: {re.sub(_BREAKS, ' ', message).strip()}", err=True)
    return code


def _message(error: BaseException) -> str:
    """The message of an error; system errors get one in the style of ours."""
    if isinstance(error, OSError) and error.strerror:
        path = "" if error.filename is None else f"{error.filename}: "
        return f"{path}{error.strerror[0].lower()}{error.strerror[1:]}."
    if isinstance(error, MemoryError) and not isinstance(error, TanagerError):
        return "out of memory. Use a simpler model (nb), fewer columns, or a machine with more memory."
    from tanager.cli.wording import as_options

    return as_options(str(error))


def _show_warning(message: Warning | str, category: type[Warning], *_position: Any, **_more: Any) -> None:
    """Print warnings of the library as notes for the user."""
    from tanager.cli.wording import as_options

    click.echo(f"note: {as_options(str(message))}", err=True)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100},
    epilog="\b\nGetting started:\n"
    "  tanager datasets iris -o iris.csv\n"
    "  tanager fit iris.csv\n"
    "  tanager predict iris.tanager iris.csv",
)
@click.version_option(package_name="tanager", message="%(prog)s %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Bayesian network classifiers for data in files."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
