"""Navigation from the links of pages: a section's page lists its pages as plain Markdown, and that is the menu.

So pages read well on a code host, where a toctree would be a block of code, and a new page is in the menu as soon as it
is there: pages that no section links to come last in the section of their folder.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

START = "docs/index"

# The sections in the order of the header: the title there, and the page that lists its pages.
SECTIONS = {
    "docs/tutorials/README": "Tutorials",
    "docs/README": "Guides",
    "docs/methods/README": "Methods",
    "docs/api/README": "API",
    "docs/commands/README": "Commands",
    "docs/comparisons/README": "Comparisons",
    "experiments/README": "Experiments",
    "docs/internals/README": "Internals",
}
FOLDERS = {
    "docs/tutorials/": "docs/tutorials/README",
    "docs/methods/": "docs/methods/README",
    "docs/api/": "docs/api/README",
    "docs/commands/": "docs/commands/README",
    "docs/comparisons/": "docs/comparisons/README",
    "docs/coming-from/": "docs/comparisons/README",
    "docs/internals/": "docs/internals/README",
    "docs/": "docs/README",
    "experiments/": "experiments/README",
    "": "docs/internals/README",
}
LINK = re.compile(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)|^(tanager\.[\w.]+)$", re.MULTILINE)  # or a name in the reference


def section_of(page: str) -> str:
    """The section that a page belongs to, by its folder."""
    return next(section for folder, section in FOLDERS.items() if page.startswith(folder))


def linked_pages(page: str, text: str) -> list[str]:
    """The pages that a text links to, each once, in the order of the text."""
    folder = posixpath.dirname(page)
    targets = [target or f"names/{name}.md" for target, name in LINK.findall(text)]
    return list(dict.fromkeys(posixpath.normpath(posixpath.join(folder, to)).removesuffix(".md") for to in targets))


def menu(section: str, text: str, pages: Iterable[str]) -> str:
    """Toctrees for a section: one for each of its headings, and one for pages that it does not link to."""
    mine = {page for page in pages if section_of(page) == section}
    mine -= {START, *SECTIONS}
    trees, heading = [], ""
    for part in re.split(r"^(## .*)$", text, flags=re.MULTILINE):
        if part.startswith("## "):
            heading = part[3:].strip()
            continue
        linked = [page for page in linked_pages(section, part) if page in mine]
        mine -= set(linked)
        trees.append(_toctree([f"/{page}" for page in linked], heading))
    return "".join([*trees, _toctree([f"/{page}" for page in sorted(mine)], "")])


def _toctree(entries: list[str], caption: str) -> str:
    if not entries:
        return ""
    named = f":caption: {caption}\n" if caption else ""
    return f"\n```{{toctree}}\n:hidden:\n{named}\n" + "\n".join(entries) + "\n```\n"


def add_menu(app: Sphinx, page: str, content: list[str]) -> None:
    """Add toctrees to the start page and to sections, and to the page of a method where its options are described."""
    if page == START:
        content[0] += _toctree([f"{title} </{section}>" for section, title in SECTIONS.items()], "")
    elif page in SECTIONS:
        content[0] += menu(page, content[0], app.env.found_docs)
    elif page.startswith("docs/methods/") and posixpath.basename(page)[0].isupper():  # not of tables for all of them
        content[0] += (
            f"\n**In the reference:** {{class}}`tanager.{posixpath.basename(page)}`, with all options and methods.\n"
        )


def read_again(app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """Sections are read again when pages come and go."""
    return list(SECTIONS) if added or removed else []


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", add_menu)
    app.connect("env-get-outdated", read_again)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
