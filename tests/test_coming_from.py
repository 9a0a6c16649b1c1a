"""The pages for people who come from other tools: both sides run, theirs where the tool is installed."""

import importlib.util
import re
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
