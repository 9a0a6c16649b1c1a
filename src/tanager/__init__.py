"""tanager: Bayesian network classifiers that learn from a table, a stream or a cluster.

The public names are listed in ``__init__.pyi``. Each is imported when it is first used, so that ``import tanager`` (and
with it the help of the command) does not wait for scikit-learn.
"""

from __future__ import annotations

import ast
from importlib import import_module

__version__ = "0.1.0"

# Neither pathlib nor typing is imported here: together they would take longer than all of this file.
with open(f"{__file__}i", encoding="utf-8") as _stub:
    _HOMES = {
        alias.name: node.module
        for node in ast.parse(_stub.read()).body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tanager' has no attribute {name!r}")
    if home == __name__:  # a module of its own
        return import_module(f"{home}.{name}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    """The public names alone, without what this file needs for itself and parts that happen to be imported."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
