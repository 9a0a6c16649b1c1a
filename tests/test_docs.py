"""What is written down is true: the README runs, every public name is documented, and the demo works."""

import ast
import doctest
import inspect
import os
import re
import statistics
import subprocess
import sys
import textwrap
import tokenize
from pathlib import Path

import numpy as np
import pytest

import tanager
from profiles import later
from tanager.docstrings import own_words

ROOT = Path(__file__).parent.parent
PAGES = {path: path.read_text() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]}
CLASSIFIERS = [name for name in tanager.__all__ if hasattr(getattr(tanager, name), "predict_proba")]


def python_blocks(name):
    return re.findall(r"```python\n(.*?)```", PAGES[ROOT / name], re.DOTALL)


README_BLOCKS = python_blocks("README.md")


@pytest.mark.parametrize(
    "code", [*README_BLOCKS, *python_blocks("docs/tour.md")], ids=lambda code: code.splitlines()[0]
)
def test_the_readme_and_the_tour_run(code, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where their pictures go
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    for claim in re.findall(r"print\(.*?\)  +# ([\d.]+)\n", code):
        assert claim in printed.splitlines()


def test_the_readme_shows_the_explanation_that_its_example_prints(capsys):
    exec(compile(README_BLOCKS[0], "README.md", "exec"), {})
    shown = re.findall(r"```text\n(.*?)```", PAGES[ROOT / "README.md"], re.DOTALL)
    assert shown
    assert all(text.strip() in capsys.readouterr().out for text in shown)


@pytest.mark.parametrize("name", tanager.__all__)
def test_every_public_name_has_a_docstring_and_is_on_a_page(name):
    assert inspect.getdoc(getattr(tanager, name))
    assert any(re.search(rf"\b{name}\b", text) for text in PAGES.values())


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_has_an_example_that_runs_and_a_page(name):
    assert ">>>" in (own_words(getattr(tanager, name)))
    text = (ROOT / "docs" / "methods" / f"{name}.md").read_text()
    assert text.startswith(f"# {name}\n")
    for part in ("**Choose it**", "**Cost", "**Source.**"):
        assert part in text, f"docs/methods/{name}.md does not say {part}"
    assert f"]({name}.md)" in PAGES[ROOT / "docs" / "methods" / "README.md"]


def test_every_page_of_a_method_belongs_to_a_classifier():
    shared = {"README", "one-table", "costs"}
    assert {path.stem for path in (ROOT / "docs" / "methods").glob("*.md")} - shared == set(CLASSIFIERS)


def test_the_table_of_costs_is_what_the_experiment_on_growth_measures():
    theory = pytest.importorskip("experiments.growth.theory", reason="the source archive is without experiments")
    lines = re.findall(
        r"^\| \[(.*)\]\((\w+)\.md\) \| (.*) \|$", PAGES[ROOT / "docs" / "methods" / "costs.md"], re.MULTILINE
    )
    costs = [(subject.name, type(subject.model).__name__, subject) for subject in theory.SUBJECTS]
    assert lines == [(name, page, f"{s.learning} | {s.memory} | {s.answering}") for name, page, s in costs]
    assert {page for _, page, _ in lines} == set(CLASSIFIERS)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGES[path]):
        assert (path.parent / target).exists(), f"{path.name} points to {target}"


@pytest.mark.parametrize("path", [path for path in PAGES if ">>>" in PAGES[path]], ids=lambda path: path.stem)
def test_the_examples_of_a_page_print_what_it_says(path):
    if "figure = " in PAGES[path]:
        pytest.importorskip("matplotlib", reason="pictures need matplotlib, the extra 'plot'")
    assert doctest.testfile(str(path), module_relative=False).failed == 0


def test_the_gallery_has_twenty_pictures_and_all_are_light():
    pictures = re.findall(r"^!\[.*\]\((pictures/gallery/.*)\)$", PAGES[ROOT / "docs" / "gallery.md"], re.MULTILINE)
    assert len(set(pictures)) == len(pictures) == 20
    assert all((ROOT / "docs" / picture).stat().st_size < 60_000 for picture in pictures)


def test_the_commands_that_pages_name_are_in_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for text in PAGES.values() for name in re.findall(r"(?:`|^    )make ([a-z-]+)", text, re.MULTILINE)}
    assert named
    assert named <= targets


def contributed_source():
    """The file that the page on contributing shows."""
    lines = PAGES[ROOT / "CONTRIBUTING.md"].splitlines()
    start = next(at for at, line in enumerate(lines) if line.strip().startswith('"""FirstParent'))
    end = next(at for at in range(start, len(lines)) if lines[at].strip() and not lines[at].startswith("       "))
    return textwrap.dedent("\n".join(lines[start:end]))


REGISTERED = """
import os

import tanager.classifiers

tanager.classifiers.__path__.append(os.environ["FIRST_PARENT"])  # as if the file lay there

from tanager.classifiers.first_parent import FirstParent

tanager.FirstParent = FirstParent
tanager.__all__.append("FirstParent")

import profiles
import registry  # which collects the public classifiers

profiles.TURNS = 1  # no test is left to other classifiers

registry.INSTANCES["firstparent"] = lambda n: FirstParent()
registry.NAMES[:] = ["firstparent"]
registry.PLAIN[:] = registry.ALL[:] = [FirstParent()]
"""


@pytest.mark.parametrize(
    "checks",
    [
        pytest.param(["tests/laws/test_law_answers.py"], id="answers"),
        *later(["tests/test_classifiers_common.py", "tests/laws"]),
    ],
)
def test_the_classifier_in_contributing_works_as_it_stands(checks, tmp_path):
    """It is put into a file and registered as the page says; scikit-learn's checks, ours and all laws then hold."""
    folder = tmp_path / "classifiers"
    folder.mkdir()
    (folder / "first_parent.py").write_text(contributed_source())
    (tmp_path / "register_first_parent.py").write_text(REGISTERED)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "register_first_parent"]
    command += ["-k", "firstparent or FirstParent", *checks]
    places = os.pathsep.join([str(tmp_path), str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": places, "FIRST_PARENT": str(folder)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout).group(1)) > 5


def test_the_classifier_in_contributing_gives_the_answers_that_can_be_checked_on_paper():
    names = {"__name__": "first_parent"}
    exec(compile(contributed_source(), "CONTRIBUTING.md", "exec", dont_inherit=True), names)
    FirstParent = names["FirstParent"]
    X = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]]
    model = FirstParent().fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(
        model.predict_proba(X[:1]), [[2 / 3, 1 / 3]]
    )  # P(warm | 0, sun) = 2/3, P(warm | 1, sun) = 1/3
    assert model.parents_ == {"x0": (), "x1": ("x0",)}
    assert model.leave_one_out(X, [0, 0, 1, 1]).shape == (4, 2)


def code_lines(path):
    """Lines with code on them: no blanks, comments or docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    prose = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            prose |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    nothing = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in nothing and token.type != tokenize.ENCODING:
                lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - prose)


def test_a_classifier_is_short():
    files = {Path(inspect.getfile(getattr(tanager, name))) for name in CLASSIFIERS}
    per_classifier = [code_lines(path) for path in files]
    assert statistics.median(per_classifier) < 60, sorted(per_classifier)


@pytest.mark.long
def test_the_demo_does_not_wait_for_the_last_kernels(tmp_path):
    """Its chapters run while the third module is compiled."""
    pytest.importorskip("matplotlib", reason="the demo draws, which needs the extra 'plot'")
    demo = str(ROOT / "examples" / "demo.py")
    code = (
        f"import runpy, sys; sys.modules['tanager._searches'] = None; sys.argv = [{demo!r}, '--quick']; "
        f"runpy.run_path({demo!r}, run_name='__main__')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)


def test_the_demo_runs(tmp_path):
    pytest.importorskip("matplotlib", reason="the demo draws, which needs the extra 'plot'")
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), "--quick", "--all"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in CLASSIFIERS)
    assert "== all rows: True" in done.stdout
    assert done.stdout.count("never seen them: True") == done.stdout.count("answers as before: True") == 1
    assert {path.name for path in (tmp_path / "demo-output").iterdir()} == {
        "anytime-digits.png",
        "breast-cancer.png",
        "change.png",
        "fuzzy-sets.png",
        "stream.png",
        "tan-breast-cancer.png",
        "tan-stream.png",
    }
