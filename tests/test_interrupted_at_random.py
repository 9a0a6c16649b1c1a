"""Ctrl-C at random times, in every classifier and in every command that learns: what it takes until it is heard."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hearing import Hearing
from registry import INSTANCES, STREAMING
from tanager import load
from tanager.classifiers.names import MODELS

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals of a Unix system"),
]
MOST = 0.5  # seconds of the processor that nobody hears
ENOUGH = 10.0  # seconds of the processor after which work is ended


class Enough(Exception):
    """The work has gone on long enough."""


def big_table(n_rows=20_000, n_columns=14):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n_rows)
    return (rng.integers(0, 6, (n_rows, n_columns)) + y[:, None]) % 7, y


@pytest.mark.parametrize("name", [*INSTANCES, *STREAMING])
def test_every_classifier_hears_signals_all_the_time(name, record_property):
    if name in ("network-locked", "network"):
        pytest.skip("its columns are those of other tables")
    X, y = big_table()
    model = INSTANCES[name](X.shape[1]) if name in INSTANCES else STREAMING[name]()
    with Hearing(most=ENOUGH, error=Enough) as hearing, contextlib.suppress(Enough):
        model.fit(X, y).predict_proba(X)
    record_property("longest", hearing.longest)
    assert hearing.longest < MOST, hearing.where


CHILD = """
import os, signal, sys, time

def interrupt(number, frame):
    os.write(2, f"heard {time.process_time()}\\n".encode())
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGPROF, interrupt)
signal.setitimer(signal.ITIMER_PROF, float(sys.argv.pop(1)))
from tanager.cli.start import main
main()
"""


def interrupted(seconds, *words):
    """The exit code, what was said, and the seconds of the processor from the signal until the process was gone."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(seconds), *words], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    said = child.stderr.read().decode()
    child.stderr.close()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    heard = [line for line in said.splitlines() if line.startswith("heard ")]
    spent = used.ru_utime + used.ru_stime
    return child.returncode, said, (spent - seconds if heard else None)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    X, y = big_table()
    path = tmp_path_factory.mktemp("interrupted") / "rows.csv"
    lines = [",".join([*(f"c{i}" for i in range(X.shape[1])), "class"])]
    lines += [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", MODELS)
def test_every_command_that_learns_is_gone_soon_after_ctrl_c(name, data, record_property):
    """At times drawn at random, by the clock of the processor."""
    rng = np.random.default_rng(sum(map(ord, name)))
    output = data.with_name(f"{name}.tanager")
    for seconds in rng.uniform(0.2, 3.0, 3).round(2).tolist():
        output.unlink(missing_ok=True)  # of a run that was done before
        code, said, took = interrupted(seconds, "fit", str(data), "--model", name, "-o", str(output))
        if took is None:  # it was done before
            continue
        record_property("seconds", json.dumps([seconds, took]))
        assert code == 130, said
        assert took < MOST, said
        assert "Traceback" not in said
        if output.exists():  # the signal came after it was written
            load(output)
        assert not [path for path in Path(data.parent).iterdir() if path.suffix == ".tmp"]


@pytest.mark.parametrize("seconds", [0.3, 0.9, 1.7])
@pytest.mark.parametrize(
    "words", [["compare", "--jobs", "1"], ["prequential", "--model", "nb,aode"], ["schema"]], ids=str
)
def test_other_commands_are_gone_soon_as_well(words, seconds, data):
    code, said, took = interrupted(seconds, words[0], str(data), *words[1:])
    assert took is None or (code == 130 and took < 2 * MOST and "Traceback" not in said), said
