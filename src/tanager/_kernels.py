"""The compiled kernels: arrays in, arrays out. What each takes and gives is in ``_kernels.pyi``.

They are three modules, so that work can begin while others are compiled. ``_core`` has what every table and every
answer needs; ``_learners`` has streams, options such as learned back-off, forests, anytime and evolving models,
Gaussian columns and drift; ``_searches`` has networks, rules, and what else only some learners need. The last two are
loaded when a name of theirs is asked for.
"""

from __future__ import annotations

from importlib import import_module

_WAY_OUT = (
    "{} is not compiled. In a folder with the source 'make build' compiles it, if 'make demo' is not just doing so; "
    "otherwise install tanager again."
)

try:
    from tanager._core import *  # noqa: F403
except ModuleNotFoundError as error:
    raise ImportError(_WAY_OUT.format("tanager._core")) from error


def __getattr__(name: str) -> object:
    for module in () if name.startswith("_") else ("tanager._learners", "tanager._searches"):
        try:
            names = vars(import_module(module))
        except ModuleNotFoundError as error:
            raise ImportError(_WAY_OUT.format(module)) from error
        globals().update({key: value for key, value in names.items() if not key.startswith("_")})
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
