"""Uses an installed tanager as a newcomer would, in an empty folder: import, fit, predict, file, command, and service.

Without `--serve` nothing but hard dependencies may be there, and the command says which extra the service needs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from importlib.util import find_spec
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("tanager"))
EXTRAS = ("matplotlib", "pandas", "polars", "starlette", "uvicorn", "msgspec", "httpx2", "dask", "pyspark", "river")


def tanager(*arguments: str, code: int = 0) -> str:
    """What the command prints, on both streams."""
    done = subprocess.run([COMMAND, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == code, f"tanager {' '.join(arguments)} exits with {done.returncode}:\n{done.stdout}"
    return done.stdout


def try_library() -> str:
    """Import, fit, predict, save and load."""
    from tanager import AODE, NaiveBayes, load

    rows = [["sun", 20.5], ["rain", 11.0], ["sun", 12.5], [None, 19.0]] * 10
    labels = ["play", "stay", "stay", "play"] * 10
    model = AODE().fit(rows, labels)
    assert list(model.predict(rows[:2])) == ["play", "stay"]
    model.unlearn(rows[:4], labels[:4]).save("model.tanager")
    assert (load("model.tanager").predict_proba(rows) == model.predict_proba(rows)).all()
    assert NaiveBayes.from_counts(model.counts_).predict(rows[:1]) == ["play"]
    return "import, fit, predict, unlearn, save, load"


def try_command() -> str:
    """From a data set to predictions in a file."""
    version = tanager("--version").split()[1]
    tanager("datasets", "iris", "-o", "iris.csv")
    tanager("fit", "iris.csv", "--target", "class")
    assert "150 predictions" in tanager("predict", "iris.tanager", "iris.csv", "-o", "answers.csv")
    assert len(Path("answers.csv").read_text().splitlines()) == 151
    return f"tanager {version}: datasets, fit, predict"


def try_service() -> str:
    """A running service answers."""
    process = subprocess.Popen([COMMAND, "serve", "iris.tanager", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = (line for _ in range(20) for line in [process.stdout.readline()])
        found = next(match for line in lines if (match := re.search(r"http://127.0.0.1:\d+", line)))
        body = json.dumps({"row": {"petal length (cm)": 1.4, "petal width (cm)": 0.2}}).encode()
        request = urllib.request.Request(f"{found[0]}/predict", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            assert json.load(response)["labels"] == ["setosa"]
    finally:
        process.terminate()
        process.wait(60)
    return "serve: an answer over HTTP"


def main() -> None:
    """Everything, one line for each."""
    print(f"  Python {sys.version.split()[0]}: {try_library()}")
    print(f"  {try_command()}")
    if "--serve" in sys.argv:
        print(f"  {try_service()}")
    else:
        there = [name for name in EXTRAS if find_spec(name)]
        assert not there, f"these are not needed, and there all the same: {', '.join(there)}"
        assert "tanager[serve]" in tanager("serve", "iris.tanager", code=2)
        print("  serve without its extra: the command says what to install")


if __name__ == "__main__":
    main()
