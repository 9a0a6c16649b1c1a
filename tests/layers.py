"""What the parts of the package (its top folders and files) use of each other, read from their source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "tanager"
LAYERS = [
    (
        "errors",
        "_core",
        "_learners",
        "_searches",
        "_kernels",
        "archive",
        "saved",
        "writing",
        "progress",
        "stages",
        "threads",
        "shortcuts",
        "docstrings",
        "estimator",
        "delimiters",
        "display",
        "labelled",
        "listed",
    ),
    ("encoding",),
    ("counts",),
    ("networks",),
    ("structure",),
    ("scoring",),
    ("learning",),
    ("classifiers",),
    ("streams",),
    ("decisions",),
    ("plot", "files", "cluster", "export"),
    ("evaluate", "datasets", "generate", "plain"),
    ("persist", "river"),
    ("service", "client", "dask", "spark"),
    ("following",),
    ("kafka", "studio"),
    ("anywidget",),
    ("cli",),
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def files() -> list[Path]:
    """Every file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def part_of(path: Path) -> str:
    """The top folder or file that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


TELLING = (ast.Import, ast.ImportFrom, ast.Attribute, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@cache
def nodes(path: Path) -> list[ast.AST]:
    """What a file says about names, in the order of ``ast.walk``; names that are only read are left out."""
    everything = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [
        node
        for node in everything
        if isinstance(node, TELLING) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    ]


@cache
def homes() -> dict[str, str]:
    """The part in which each public name of the package lives."""
    return {
        alias.name: f"{node.module}.{alias.name}".split(".")[1]  # a module of its own is its home
        for node in ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }


# --- imports --------------------------------------------------------------------------------------------------------


def used_parts(path: Path) -> set[str]:
    """The parts that a file uses: by imports anywhere in it, and by names of a bare ``import tanager``."""
    dotted: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            dotted |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports by dots; write the whole name"
            assert node.module is not None
            dotted |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tanager":
            dotted.add(f"tanager.{node.attr}")
    names = {name.split(".")[1] for name in dotted if name.startswith("tanager.")}
    return {homes().get(name, name) for name in names if not name.startswith("__")}


def upward_uses() -> dict[str, list[str]]:
    """For each file the parts above and beside its own that it uses."""
    found: dict[str, list[str]] = {}
    for path in files():
        part = part_of(path)
        if part == "__init__":
            continue  # it gives the public names of all layers
        assert part in LEVEL, (
            f"{part} has no place among the layers; give it one in tests/layers.py and ARCHITECTURE.md"
        )
        others = {other for other in used_parts(path) - {part} if LEVEL[other] >= LEVEL[part] > 0}
        if others:
            found[name_of(path)] = sorted(others)
    return found


# --- private names --------------------------------------------------------------------------------------------------


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in ("_", "_kernels")


def defined(path: Path) -> set[str]:
    """Private names that a file defines: functions, classes, methods, variables, fields and attributes of self."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            names.add(node.attr)
    return {name for name in names if is_private(name)}


def _is_self(node: ast.expr) -> bool:
    """self, cls or super()."""
    if isinstance(node, ast.Call):
        node = node.func
    return isinstance(node, ast.Name) and node.id in ("self", "cls", "super")


def own_names() -> dict[str, set[str]]:
    """The private names of each part."""
    names: dict[str, set[str]] = {}
    for path in files():
        names.setdefault(part_of(path), set()).update(defined(path))
    return names


def names_elsewhere() -> dict[str, set[str]]:
    """For each part the private names that only others have."""
    own = own_names()
    every = set().union(*own.values())
    return {part: every - names for part, names in own.items()}


def _foreign(path: Path, elsewhere: set[str]) -> Iterator[tuple[str, bool]]:
    """Private names of other parts that a file uses, and whether through self (so that it inherits them)."""
    part = part_of(path)
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and node.attr in elsewhere:
            yield node.attr, _is_self(node.value)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tanager."):
            assert node.module is not None
            if node.module.split(".")[1] != part:
                yield from ((alias.name, False) for alias in node.names if is_private(alias.name))


def private_uses(*, inherited: bool) -> dict[str, list[str]]:
    """For each file the private names of other parts that it uses: those it inherits, or all others."""
    elsewhere = names_elsewhere()
    found = {
        name_of(path): sorted({name for name, how in _foreign(path, elsewhere[part_of(path)]) if how == inherited})
        for path in files()
    }
    return {path: names for path, names in found.items() if names}


KINDS: dict[str, Any] = {
    "upward": upward_uses,
    "private": lambda: private_uses(inherited=False),
    "inherited": lambda: private_uses(inherited=True),
}
