"""The command as the system runs it: pipes, signals, exit codes, and no half-written files."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import wait_for

COMMAND = [sys.executable, "-c", "from tanager.cli.start import main; main()"]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")


def start(*words, **options):
    env = {**os.environ, "COLUMNS": "80", "PYTHONUNBUFFERED": ""}
    return subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, **options)


def test_exit_codes_and_streams(fitted):
    with start("predict", fitted, "-", stdin=subprocess.PIPE) as done:  # rows come from a pipe
        out, err = done.communicate(Path("iris.csv").read_bytes())
    assert done.returncode == 0
    assert out.count(b"\n") == 151
    assert err == b"accuracy 0.9533, log loss 0.1041\n"
    with start("predict", fitted, "irs.csv") as done:
        out, err = done.communicate()
    assert (done.returncode, out) == (2, b"")
    assert err.startswith(b"tanager predict: there is no file 'irs.csv'.")


def test_a_closed_pipe_is_no_news(fitted):
    text = Path("iris.csv").read_text()
    Path("long.csv").write_text(text + 2000 * text.partition("\n")[2])
    with start("predict", fitted, "long.csv", "--proba") as done:
        assert done.stdout.readline().startswith(b"prediction,")
        done.stdout.close()
        err = done.stderr.read()
    assert done.returncode == 1
    assert err == b""


def test_ctrl_c_ends_with_one_line_and_leaves_nothing_behind(fitted):
    text = Path("iris.csv").read_text()
    Path("long.csv").write_text(text + 1000 * text.partition("\n")[2])
    before = {path.name for path in Path().iterdir()}
    with start("predict", fitted, "long.csv", "--explain", "-o", "answers.csv") as done:
        wait_for(lambda: any(path.suffix == ".tmp" for path in Path().iterdir()))  # it has begun to write
        done.send_signal(signal.SIGINT)
        _, err = done.communicate()
    assert done.returncode == 130
    assert err == b"tanager predict: interrupted.\n"
    assert {path.name for path in Path().iterdir()} == before


def test_a_bar_moves_on_a_terminal(iris):
    shown = on_a_terminal("fit", "iris.csv", no_colour="")
    assert "learning iris.csv" in shown
    assert "150 rows" in shown
    assert "\x1b[1m" in shown


@pytest.mark.long
def test_colours_can_be_switched_off(iris):
    assert "\x1b[31m" not in on_a_terminal("fit", "iris.csv", no_colour="1")


def on_a_terminal(*words, no_colour):
    """What a command shows there."""
    pty = pytest.importorskip("pty")
    parent, child = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "NO_COLOR": no_colour}
    with subprocess.Popen([*COMMAND, *words], stdout=child, stderr=child, env=env) as done:
        os.close(child)
        shown = read_all(parent)
    assert done.returncode == 0
    return shown


def read_all(handle):
    parts = []
    while True:
        try:
            data = os.read(handle, 65536)
        except OSError:  # the other side is closed
            break
        if not data:
            break
        parts.append(data)
    os.close(handle)
    return b"".join(parts).decode()


@pytest.mark.long
def test_a_narrow_encoding_is_no_reason_to_fail(fitted):
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*COMMAND, "show", fitted], capture_output=True, text=True, env=env)
    assert done.returncode == 0
    assert "####" in done.stdout


def code_of(program, *words):
    with subprocess.Popen([sys.executable, "-c", program, *words], stderr=subprocess.PIPE) as done:
        _, err = done.communicate()
    return done.returncode, err


def test_ctrl_c_while_click_is_imported_ends_with_one_line():
    program = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'click': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from tanager.cli.start import main; main()"
    )
    assert code_of(program, "--help") == (130, b"tanager: interrupted.\n")


def test_ctrl_c_that_a_library_has_turned_into_an_error_is_still_ctrl_c(iris):
    program = (
        "import os, signal\n"
        "import tanager.cli.schema as command\n"
        "from tanager.errors import DataError\n"
        "def callback(**given):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        signal.pause()\n"
        "    except KeyboardInterrupt:\n"
        "        raise DataError('the file cannot be read') from None\n"
        "command.command.callback = callback\n"
        "from tanager.cli.start import main; main()"
    )
    assert code_of(program, "schema", str(iris)) == (130, b"tanager schema: interrupted.\n")
