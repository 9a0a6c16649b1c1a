"""The examples of the pages on engines run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"


def run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL))
    # Spark stays in the folder in which its first session began, which may be that of another test.
    code = code.replace('"chosen"', repr(str(tmp_path / "chosen")))
    names = {}
    exec(compile(code, page, "exec"), names)
    return names


def test_the_page_on_clusters(tmp_path, monkeypatch):
    run("cluster.md", tmp_path, monkeypatch)


def test_the_page_on_dask(tmp_path, monkeypatch):
    pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
    run("dask.md", tmp_path, monkeypatch)
    assert (tmp_path / "model.tanager").exists()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_the_page_on_spark(tmp_path, monkeypatch):
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    names = run("spark.md", tmp_path, monkeypatch)
    names["spark"].stop()
    assert (tmp_path / "chosen").is_dir()
