"""Where the ``tanager`` command starts: from here on Ctrl-C ends it with one line, also while click is being imported.

This file imports next to nothing, so that little time is left in which nobody would catch it.
"""

from __future__ import annotations

import os


def main() -> None:
    """Run the command. Never returns."""
    try:
        from tanager.cli.main import main as command

        command()
    except KeyboardInterrupt:
        os.write(2, b"tanager: interrupted.\n")
        os._exit(130)  # what is imported by halves may fail when it is taken down
