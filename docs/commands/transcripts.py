"""The commands on these pages, run again: `python docs/commands/transcripts.py` writes their output into the pages.
`python docs/commands/transcripts.py compare fit` does so for these pages alone.

A page is run from top to bottom in an empty folder of its own. In a block marked ``console`` a line that starts with
``$`` is a command; what follows is what it printed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PAGES = sorted(HERE.glob("*.md"))
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
# Said where a command takes longer than ten seconds.
PROGRESS = re.compile(
    r".*: ([\d,]+ rows|[\d,]+ (of [\d,]+ )?\w+( \(\d+%\)(, [\d,]+ rows/s)?|, [\d,]+ rows/s)(, about .* left)?(; .*)?)"
)
WIDTH = 80


def run_page(page: Path) -> str:
    """The text of a page with the output that its commands have today."""
    with tempfile.TemporaryDirectory() as folder:
        return BLOCK.sub(lambda block: f"```console\n{_run_block(block[1], folder)}```", page.read_text())


def _run_block(block: str, folder: str) -> str:
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "\n".join(f"$ {command}\n{_run(command, folder)}" for command in commands)


def _run(command: str, folder: str) -> str:
    """What a command prints, on both streams, and its exit code where that is not 0."""
    own = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": str(WIDTH)}
    plain = {"NO_COLOR": "1", "LC_ALL": "C.UTF-8", "TERM": "dumb", "PYTHONWARNINGS": "ignore"}
    environment = {k: v for k, v in os.environ.items() if k not in ("TANAGER_DATA", "FORCE_COLOR")} | own | plain
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    code = f"(exit code {done.returncode})\n" if done.returncode else ""
    lines = [line.rstrip() for line in done.stdout.splitlines() if not PROGRESS.fullmatch(line)]
    return "".join(f"{line}\n" for line in lines) + code


if __name__ == "__main__":
    for path in [HERE / f"{name}.md" for name in sys.argv[1:]] or PAGES:
        path.write_text(run_page(path))
        print(path.name)
