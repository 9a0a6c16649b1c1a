"""The tutorials print what their pages say, and are notebooks."""

import json
import sys
from pathlib import Path

import pytest

LEAVES_OUT = True
FOLDER = Path(__file__).parent.parent / "docs" / "tutorials"
sys.path.insert(0, str(FOLDER))

import run as tutorials  # noqa: E402


@pytest.mark.filterwarnings("ignore::tanager.DataWarning")
@pytest.mark.parametrize("path", tutorials.pages(), ids=lambda path: path.stem)
def test_a_tutorial_prints_what_its_page_says(path, monkeypatch):
    monkeypatch.delenv("TANAGER_DATA", raising=False)  # the pages speak of the sets that come with scikit-learn
    page = path.read_text()
    assert tutorials.as_page(tutorials.run(page)) == page


def test_a_page_is_put_together_from_its_cells_and_becomes_a_notebook():
    page = "# Title\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\nEnd.\n"
    parts = list(tutorials.cells(page))
    assert tutorials.as_page(parts) == page
    notebook = json.loads(json.dumps(tutorials.as_notebook(parts)))
    assert [cell["cell_type"] for cell in notebook["cells"]] == ["markdown", "code", "markdown"]
    assert notebook["cells"][1]["outputs"][0]["text"] == ["1\n"]


def test_all_tutorials_are_in_the_list():
    listed = (FOLDER / "README.md").read_text()
    assert all(f"]({path.name})" in listed for path in tutorials.pages())


@pytest.mark.long
@pytest.mark.parametrize("path", tutorials.pages(), ids=lambda path: path.stem)
def test_a_tutorial_runs_in_jupyter_and_prints_the_same(path, tmp_path, monkeypatch):
    monkeypatch.delenv("TANAGER_DATA", raising=False)
    nbclient = pytest.importorskip("nbclient", reason="notebooks need the extra 'browser'")
    nbformat = pytest.importorskip("nbformat")
    text = json.dumps(tutorials.as_notebook(list(tutorials.cells(path.read_text()))))
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    said = [_printed(cell) for cell in notebook.cells]
    nbclient.NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert [_printed(cell) for cell in notebook.cells] == said


def _printed(cell):
    """What a cell of a notebook prints, without spaces at the ends of lines."""
    streams = [out for out in cell.get("outputs", []) if out.output_type == "stream" and out.name == "stdout"]
    return [line.rstrip() for line in "".join(out.text for out in streams).splitlines()]
