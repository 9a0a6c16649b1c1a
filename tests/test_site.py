"""Menus and reference of the site are complete, and newcomers find what they ask for; `make docs` builds it."""

import ast
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import tanager
from tanager.docstrings import completed, own_words, shared_entries, shared_options

ROOT = Path(__file__).parent.parent
START = ROOT / "docs" / "index.md"
LINK = re.compile(r"\]\(([^)#:]+\.md)(?:#([^)]*))?\)")
QUESTIONS = [
    line.strip("| ").split(" | ")
    for line in (ROOT / "docs" / "questions.md").read_text().splitlines()
    if line.startswith("| ") and "](" in line
]


def links(page):
    """The pages that a page links to."""
    return {(page.parent / target).resolve() for target, _ in LINK.findall(page.read_text())}


def anchors(page):
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_there_are_two_dozen_questions_with_a_short_answer_each():
    assert len(QUESTIONS) == 24
    assert all(len(row) == 3 and row[1] for row in QUESTIONS)


@pytest.mark.parametrize(("question", "way"), [(row[0], row[-1]) for row in QUESTIONS], ids=lambda text: text[:30])
def test_the_answer_is_three_clicks_away(question, way):
    here, clicks = START, LINK.findall(way)
    assert 1 <= len(clicks) <= 3
    for target, anchor in clicks:
        there = (ROOT / "docs" / target).resolve()
        assert there in links(here), f"{here.name} does not link to {target}"
        assert not anchor or anchor in anchors(there), f"{target} has no heading {anchor}"
        here = there


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", START, ROOT / "docs" / "tutorials" / "README.md"], ids=lambda page: page.name
)
def test_what_the_first_examples_need_is_installed_by_the_line_above_them(page):
    """Frames come from pandas, which the package itself does without."""
    (line, *_) = re.findall(r"pip install [^`\n]*", page.read_text())
    assert "pandas" in line, f"{page.name} installs what its first lines of code cannot run with: {line}"


def test_every_page_is_linked_from_somewhere():
    pages = {path.resolve() for path in ROOT.glob("docs/**/*.md")}
    linked = {target for page in [*pages, *ROOT.glob("*.md")] for target in links(page)}
    lost = pages - linked - {START}
    assert not lost, sorted(str(path.relative_to(ROOT)) for path in lost)


def listed_names():
    blocks = re.findall(r"```\{autosummary\}\n(.*?)```", (ROOT / "docs" / "api" / "README.md").read_text(), re.DOTALL)
    return [line for block in blocks for line in block.split() if line.startswith("tanager.")]


def test_the_reference_lists_every_public_name_once():
    names = listed_names()
    assert len(names) == len(set(names))
    assert {f"tanager.{name}" for name in tanager.__all__ if name != "generate"} <= set(names)
    for module in ("evaluate", "datasets", "generate"):
        public = importlib.import_module(f"tanager.{module}").__all__
        assert {f"tanager.{module}.{name}" for name in public} <= set(names)


def test_an_option_is_described_on_the_page_of_a_class_or_on_that_of_shared_ones():
    for name in ("AODE", "TAN", "HalfLives", "NetworkForest"):
        cls = getattr(tanager, name)
        short, whole = (completed(cls, own_words(cls), shared=shared) for shared in (False, True))
        assert set(shared_options(cls)) <= set(shared_entries())
        for option in shared_options(cls):
            assert re.search(rf"^{option} :", whole, re.MULTILINE)
            assert not re.search(rf"^{option} :", short, re.MULTILINE)
    assert "unseen" in shared_options(tanager.AODE)
    assert "min_count" not in shared_options(tanager.AODE)


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version == tanager.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
    recipe = ROOT / "conda" / "recipe.yaml"
    assert not recipe.exists() or f'version: "{version}"' in recipe.read_text()  # the source archive is without


def finished_site():
    place = ROOT / "docs" / "_site" / "finish.py"
    spec = importlib.util.spec_from_file_location("finish_site", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_link_of_the_site_that_leads_nowhere_is_found(tmp_path, capsys):
    pages = tmp_path / "1.10.0" / "docs"
    pages.mkdir(parents=True)
    (pages / "other.html").write_text('<h1 id="here">x</h1>')
    good = '<a href="other.html#here">a</a> <a href="https://example.org/x">b</a> <a href="#top" id="top">c</a>'
    (pages / "index.html").write_text(good)
    (tmp_path / "1.9.0" / "docs").mkdir(parents=True)
    (tmp_path / "1.9.0" / "docs" / "index.html").write_text("old")
    finish = finished_site()
    assert finish.main(tmp_path / "1.10.0") == 0
    assert "1.10.0/docs/index.html" in (tmp_path / "index.html").read_text()  # not 1.9.0
    bad = '<a href="other.html#gone">a</a> <a href="gone.html">b</a> <img src="gone.png">'
    (pages / "index.html").write_text(good + bad)
    (pages / "other.html").write_text('<h1 id="here">:py:obj:<code>x</code></h1>')
    assert finish.main(tmp_path / "1.10.0") == 4
    assert "gone.html leads nowhere" in capsys.readouterr().err


def navigation():
    place = ROOT / "docs" / "_site" / "navigation.py"
    tree = ast.parse(place.read_text())  # without Sphinx: its imports and the functions that use them are left out
    tree.body = [node for node in tree.body if "sphinx" not in ast.unparse(node).lower()]
    names = {"__name__": "navigation"}
    exec(compile(tree, str(place), "exec"), names)
    return names


def test_a_menu_has_the_links_of_its_section_by_headings_and_then_all_other_pages():
    menu = navigation()["menu"]
    text = "# Guides\n[Methods](methods/README.md)\n## Streams\n- [Drift](drift.md#detectors), [files](files.md)\n"
    made = menu("docs/README", text, ["docs/README", "docs/index", "docs/drift", "docs/new", "docs/methods/TAN"])
    assert re.findall(r"^(?::caption: .*|/.*)$", made, re.MULTILINE) == [
        ":caption: Streams",
        "/docs/drift",
        "/docs/new",
    ]


def test_sections_are_pages():
    for section in navigation()["SECTIONS"]:
        assert (ROOT / f"{section}.md").exists()
