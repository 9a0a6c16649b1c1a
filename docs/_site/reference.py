"""One page for every name that `docs/api/README.md` lists, written before Sphinx reads: its docstring and its methods.

Methods that all classifiers have are described once, on `docs/api/classifiers.md`; the page of a classifier links
there. Methods that parts of the library call on each other are left out, as `help` leaves them out (`tanager.listed`).
"""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import mock
from sphinx.util.docutils import SphinxDirective

from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.listed import unlisted_names

ROOT = Path(__file__).parent.parent.parent
LIST = ROOT / "docs" / "api" / "README.md"
PAGES = ROOT / "docs" / "api" / "names"
SHARED = CountsClassifier  # its methods are described on the page that all classifiers share
SHARED_NAME = f"{SHARED.__module__}.{SHARED.__qualname__}"


def listed_names() -> list[str]:
    """The names that the reference has pages for."""
    blocks = re.findall(r"```\{autosummary\}\n(.*?)```", LIST.read_text(), re.DOTALL)
    return [line for block in blocks for line in block.split() if line.startswith("tanager.")]


def thing_of(name: str) -> Any:
    """What a name such as "tanager.evaluate.prequential" stands for."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def home_of(cls: type, name: str) -> type:
    """The class that defines a member."""
    return next(base for base in cls.__mro__ if name in vars(base))


def methods_of(cls: type) -> dict[str, type]:
    """Public methods and properties for users, in the order of the source, each with the class that defines it."""
    found = {}
    for base in reversed(cls.__mro__):
        for name in vars(base):
            if not name.startswith("_") and not name.endswith("_") and _for_users(cls, name):
                found[name] = home_of(cls, name)
    return found


def _for_users(cls: type, name: str) -> bool:
    home = home_of(cls, name)
    member = vars(home)[name]
    described = inspect.isfunction(member) or isinstance(
        member, staticmethod | classmethod | property | cached_property
    )
    ours = home.__module__.startswith("tanager")
    return described and ours and bool(getattr(member, "__doc__", None)) and name not in unlisted_names(cls)


def page_of(name: str) -> str:
    """The page of a name."""
    thing = thing_of(name)
    title = name.removeprefix("tanager.")
    head = f"{title}\n{'=' * len(title)}\n\n.. currentmodule:: {name.rpartition('.')[0]}\n\n"
    if not inspect.isclass(thing):
        return f"{head}.. autofunction:: {name}\n" if callable(thing) else f"{head}.. autodata:: {name}\n"
    return head + _class_page(name, thing)


def _class_page(name: str, cls: type) -> str:
    methods = methods_of(cls)
    shared = {method for method, home in methods.items() if issubclass(cls, Classifier) and home in SHARED.__mro__}
    own = [method for method in methods if method not in shared]
    page = f".. autoclass:: {name}\n\n{_about(name)}"
    if own:
        page += "Methods\n-------\n\n" + "".join(_member(name, cls, method) for method in own)
    if shared:
        links = (f":meth:`~{SHARED_NAME}.{method}`" for method in methods if method in shared)
        page += f"\nAs all classifiers\n------------------\n\n{', '.join(links)}.\n"
    return page


def _about(name: str) -> str:
    page = ROOT / "docs" / "methods" / f"{name.rpartition('.')[2]}.md"
    return (
        f".. seealso:: The idea, its cost and its source: :doc:`/docs/methods/{page.stem}`.\n\n"
        if page.exists()
        else ""
    )


def _member(name: str, cls: type, method: str) -> str:
    member = vars(home_of(cls, method))[method]
    kind = "autoproperty" if isinstance(member, property | cached_property) else "automethod"
    return f".. {kind}:: {name}.{method}\n\n"


class SharedMethods(SphinxDirective):
    """Describes the methods that all classifiers have."""

    def run(self) -> list[nodes.Node]:
        """Each as others can link to it."""
        members = "".join(_member(SHARED_NAME, SHARED, method) for method in methods_of(SHARED))
        return self.parse_text_to_nodes(f"```{{eval-rst}}\n.. currentmodule:: {SHARED.__module__}\n\n{members}\n```")


def as_tables(app: Sphinx, page: str, content: list[str]) -> None:
    """Turn the lists of names into tables with links: what autosummary writes is no Markdown."""
    if page == "docs/api/README":
        content[0] = re.sub(r"```\{autosummary\}\n\n(.*?)```", _table, content[0], flags=re.DOTALL)


def _table(block: re.Match[str]) -> str:
    names = "".join(f"   {name}\n" for name in block[1].split())
    return f"```{{eval-rst}}\n.. autosummary::\n   :nosignatures:\n\n{names}```"


def write_pages(app: Sphinx) -> None:
    """Write pages that are new or have changed, and remove those of names that are gone."""
    PAGES.mkdir(exist_ok=True)
    with mock(app.config.autodoc_mock_imports):
        pages = {f"{name}.rst": page_of(name) for name in listed_names()}
    for path in PAGES.iterdir():
        if path.name not in pages:
            path.unlink()
    for file, text in pages.items():
        path = PAGES / file
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", as_tables, priority=600)  # after the menu, which reads the lists
    app.add_directive("shared-methods", SharedMethods)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
