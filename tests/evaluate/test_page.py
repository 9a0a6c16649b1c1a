"""The page on evaluation runs from top to bottom, and leaves nothing out."""

import inspect
import re
from pathlib import Path

import pytest

import tanager.evaluate
import tanager.plot

PAGE = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "evaluation.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "Take " in printed
    assert "Over 3 data sets." in printed
    assert (tmp_path / "folds.csv").stat().st_size > 0


@pytest.mark.parametrize("name", tanager.evaluate.__all__)
def test_every_public_name_of_evaluate_has_a_docstring(name):
    assert inspect.getdoc(getattr(tanager.evaluate, name))


@pytest.mark.parametrize("module", [tanager.evaluate, tanager.plot])
def test_every_function_is_on_the_page(module):
    functions = {name for name in module.__all__ if inspect.isfunction(getattr(module, name))}
    elsewhere = {"plot_network", "network_text", "plot_fuzzy_sets", "plot_anytime", "plot_tree", "plot_decisions"}
    elsewhere |= {"prequential_steps", "plot_half_lives", "plot_explanation", "plot_importance", "plot_nomogram"}
    functions -= elsewhere  # on pages of their own
    assert not {name for name in functions if not re.search(rf"\b{name}\b", PAGE)}
