"""The frame around all commands: help, slips of the pen, exit codes, and how fast it answers."""

import importlib
import re
import subprocess
import sys
import warnings

import click
import pytest
from click.testing import CliRunner

from tanager.cli import main as frame
from tanager.cli.main import COMMANDS, main
from tanager.errors import DataWarning

HEAVY = {"numpy", "sklearn", "pyarrow", "pandas", "matplotlib"}


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_without_words_the_help_is_shown(run, words):
    done = run(*words)
    assert done.code == 0
    assert all(name in done.out and line in done.out for name, line in COMMANDS.items())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_with_an_example(run, name):
    done = run(name, "--help")
    assert done.code == 0
    assert f"  tanager {name}" in done.out.split("Examples:")[1]
    assert "--json" in done.out or name in ("serve", "studio")  # which go on and on
    assert max(map(len, done.out.splitlines())) <= 100


def test_the_version_is_said(run):
    assert re.fullmatch(r"tanager \d+\.\d+\.\d+\n", run("--version").out)


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "fit --help",
        "fit --modle x",
        "ftt",
        "predict",
        "fit x.csv -m aoed",
        "fit no.csv",
        "predict no.tanager no.csv",
        "show no.tanager",
        "explain no.tanager {}",
        "merge no.tanager no.tanager -o x",
        "update no.tanager no.csv",
        "schema no.csv",
    ],
)
def test_help_and_slips_of_the_pen_wait_for_no_other_package(words):
    code = (
        "import sys\nfrom tanager.cli.main import main\n"
        f"try: main({words.split()!r})\nexcept SystemExit: pass\n"
        f"print('heavy', *({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "heavy"


def test_common_commands_wait_for_neither_pandas_nor_scikit_learn(tmp_path):
    """One process: what one of them imports, it imports in all."""
    days = ["?" if r % 9 == 2 else f"2024-0{r % 9 + 1}-11 0{r % 8}:30" for r in range(200)]
    rows = [f"{r % 7},{'xy '[r % 3].strip()},{day},{'pq'[r % 2]}\n" for r, day in enumerate(days)]
    (tmp_path / "few.csv").write_text("a,b,day,class\n" + "".join(rows))
    commands = [
        "fit few.csv -o m.tanager",
        "predict m.tanager few.csv --proba --explain -o out.csv",
        "show m.tanager",
        "explain m.tanager few.csv --rows 1-3",
        "fit few.csv --model half-lives -o h.tanager",
        "schema few.csv",
        "update m.tanager few.csv",
        "prequential few.csv --model nb",
        "prequential few.csv --model half-lives --lag 1 --delay 5",
        "compare few.csv --models nb,tan --jobs 1",
    ]
    code = (
        "import sys\nfrom tanager.cli.main import main\n"
        f"for words in {[words.split() for words in commands]!r}:\n"
        "    try: main(words)\n    except SystemExit as end: assert not end.code, words\n"
        "    print('heavy', words[0], *({'pandas', 'sklearn', 'scipy.stats'} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    heavy = [line for line in done.stderr.splitlines() if line.startswith("heavy")]
    assert heavy == [f"heavy {words.split()[0]}" for words in commands]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["ftt"], "tanager: unknown command 'ftt'. Did you mean 'fit'? See: tanager --help"),
        (["quux"], "tanager: unknown command 'quux'. See: tanager --help"),
        (
            ["fit", "--modle", "x"],
            "tanager fit: no such option '--modle'. Did you mean '--model'? See: tanager fit --help",
        ),
        (["fit"], "tanager fit: missing argument 'DATA'. See: tanager fit --help"),
        (["predict", "x"], "tanager predict: missing argument 'DATA'. See: tanager predict --help"),
        (["merge", "a.tanager"], "tanager merge: missing option '--output' / '-o'. See: tanager merge --help"),
        (
            ["show", "x", "--top", "y"],
            "tanager show: invalid value for '--top': 'y' is not a valid integer. See: tanager show --help",
        ),
    ],
)
def test_a_slip_of_the_pen_gets_one_line_with_the_nearest_word(refused, words, sentence):
    assert refused(*words) == sentence


def fake(monkeypatch, work):
    """Let ``tanager show`` do some other work."""
    module = importlib.import_module("tanager.cli.show")
    monkeypatch.setattr(module, "command", click.Command("show", callback=work))
    return CliRunner().invoke(main, ["show"])


def raising(error):
    def work():
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (OSError(28, "No space left on device"), "tanager show: no space left on device.", 2),
        (PermissionError(13, "Permission denied", "x.csv"), "tanager show: x.csv: permission denied.", 2),
        (MemoryError(), "tanager show: out of memory.", 2),
        (KeyboardInterrupt(), "tanager show: interrupted.", 130),
    ],
)
def test_what_the_system_refuses_is_said_in_one_line(monkeypatch, error, line, code):
    result = fake(monkeypatch, raising(error))
    assert result.exit_code == code
    assert result.stderr.startswith(line)
    assert result.stderr.count("\n") == 1


def test_a_bug_is_not_hidden(monkeypatch):
    result = fake(monkeypatch, raising(ZeroDivisionError("a bug")))
    assert isinstance(result.exception, ZeroDivisionError)


def test_warnings_of_the_library_are_notes(monkeypatch):
    result = fake(monkeypatch, lambda: warnings.warn("3 rows have no label.", DataWarning, stacklevel=1))
    assert result.exit_code == 0
    assert result.stderr == "note: 3 rows have no label.\n"


def test_every_command_has_a_file():
    for name in COMMANDS:
        assert importlib.import_module(f"tanager.cli.{name}").command.name == "command"
    assert frame.main.list_commands(None) == list(COMMANDS)
