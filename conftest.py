"""Doctests of modules: what they need, and what they find."""

from importlib.util import find_spec

import pytest

# Files named after packages that are not installed are left out: their examples need them.
EXTRAS = {"anywidget": "src/tanager/anywidget.py", "dask": "src/tanager/dask.py", "pyspark": "src/tanager/spark"}
collect_ignore = [path for package, path in EXTRAS.items() if find_spec(package) is None]


@pytest.fixture(autouse=True)
def _examples_know_the_sets_of_scikit_learn_alone(request, monkeypatch):
    """Whatever folder of data sets the tests are given."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.delenv("TANAGER_DATA", raising=False)
