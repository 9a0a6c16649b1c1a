"""The pages for people who come from other tools: both sides run, theirs where the tool is installed."""

import csv
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "coming-from"
PACKAGES = {"scikit-learn": "sklearn", "river": "river", "pyagrum": "pyagrum", "pgmpy": "pgmpy"}
LEAVES_OUT = True


def blocks(path):
    """The tool that a block of code belongs to, or "", and the code."""
    for code in re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL):
        owner = re.match(r"# (\S+)\n", code)
        yield owner[1] if owner else "", code


@pytest.mark.filterwarnings("ignore")  # of other tools
@pytest.mark.parametrize("name", PACKAGES)
def test_both_sides_of_a_page_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    is_there = importlib.util.find_spec(PACKAGES[name]) is not None
    names = {}
    for owner, code in blocks(FOLDER / f"{name}.md"):
        if owner != name or is_there:
            exec(compile(code, f"{name}.md", "exec"), names)


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array")  # pyAgrum does so, which NumPy 2.5 warns of
def test_what_pyagrum_answers_is_what_we_answer(tmp_path, monkeypatch):
    pytest.importorskip("pyagrum")
    monkeypatch.chdir(tmp_path)
    names = {}
    for _, code in list(blocks(FOLDER / "pyagrum.md"))[:4]:
        exec(compile(code, "pyagrum.md", "exec"), names)
    assert names["ours"] == pytest.approx(names["posterior"])


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_classes_that_a_page_names_exist(path):
    import tanager

    for name in re.findall(r"`([A-Z]\w+)\(", path.read_text()):
        assert hasattr(tanager, name) or name in ("BNClassifier",), f"{path.name} names {name}"


WEKA = next(
    (path for path in (os.environ.get("TANAGER_WEKA"), "/usr/share/java/weka.jar") if path and Path(path).exists()),
    None,
)


def sections(page):
    """The blocks of each numbered section: language, owner, code."""
    for section in (FOLDER / page).read_text().split("\n## "):
        yield [
            (language, (re.match(r"# (\S+)\n", code) or ["", ""])[1], code)
            for language, code in re.findall(r"```(python|sh)\n(.*?)```", section, re.DOTALL)
        ]


def answers_of_weka(printed):
    """Probabilities of Barolo, Grignolino and Barbera, as Weka prints them: three digits, a star at the largest."""
    lines = re.findall(r"^ +\d+ +\d:\w+ +\d:\w+ +\+? +([*\d.,eE-]+)", printed, re.MULTILINE)
    return [[float(p.strip("*")) for p in line.split(",")] for line in lines]


def answers_of_tanager(printed):
    """The same from the table after what was said of learning."""
    lines = csv.DictReader(printed[printed.index("prediction,") :].splitlines())
    return [[float(line[f"probability_{kind}"]) for kind in ("Barolo", "Grignolino", "Barbera")] for line in lines]


@pytest.mark.long
@pytest.mark.skipif(not WEKA or not shutil.which("java"), reason="needs java and weka.jar (TANAGER_WEKA names it)")
def test_what_weka_answers_is_what_we_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell = os.environ | {"CLASSPATH": WEKA, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    names, compared = {}, 0
    for section in sections("weka.md"):
        printed = {}
        for language, owner, code in section:
            if language == "python":
                exec(compile(code, "weka.md", "exec"), names)
                continue
            done = subprocess.run(["sh", "-ec", code], env=shell, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            printed[owner] = done.stdout
        if "-distribution" in "".join(code for _, _, code in section):
            theirs = answers_of_weka(printed["weka"])
            assert len(theirs) == 89
            assert answers_of_tanager(printed["tanager"]) == [pytest.approx(row, abs=6e-4) for row in theirs]
            compared += 1
    assert compared == 5
    assert names["careful"].score(names["table"], names["labels"]) > 0.8
