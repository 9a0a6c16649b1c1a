"""Options that classifiers share are described on one page; the page of a class names them and links there."""

from __future__ import annotations

import inspect
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tanager.docstrings import Docstring, completed, own_words, shared_entries, shared_options


def options_of(cls: Any) -> list[str]:
    """The shared options of a class with options; none of anything else."""
    if not inspect.isclass(cls) or not isinstance(vars(cls).get("__doc__"), Docstring):
        return []
    return shared_options(cls)


def shorten(app: Sphinx, what: str, name: str, cls: Any, options: Any, lines: list[str]) -> None:
    """Leave shared options out of the docstring of a class, and name them."""
    shared = options_of(cls)
    if not shared:
        return
    text = completed(cls, own_words(cls), shared=False)
    defaults = inspect.signature(cls).parameters
    links = ", ".join(f":confval:`{option}` = ``{defaults[option].default!r}``" for option in shared)
    section = f"Shared options\n--------------\nThey mean the same in all classifiers: {links}.\n\n"
    at = min(found for part in ("Attributes", "Notes", "Examples") if (found := text.find(f"{part}\n---")) >= 0)
    lines[:] = f"{text[:at]}{section}{text[at:]}".split("\n")


def shorten_signature(
    app: Sphinx, what: str, name: str, cls: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str, None] | None:
    """Show the options that are a class's own, and those that it shares as one."""
    shared = options_of(cls)
    if not shared:
        return None
    own = [option.replace(annotation=inspect.Parameter.empty) for option in inspect.signature(cls).parameters.values()]
    own = [option for option in own if option.name not in shared]
    rest = inspect.Parameter("shared_options", inspect.Parameter.VAR_KEYWORD)
    return str(inspect.Signature([*own, rest])), None


class SharedOptions(SphinxDirective):
    """Describes all shared options."""

    def run(self) -> list[nodes.Node]:
        """Each as a setting that others can link to."""
        lines: list[str] = []
        for name, entry in shared_entries().items():
            lines += [f".. confval:: {name}", f"   :type: {entry.type}", "   :no-index-entry:", ""]
            lines += [f"   {line}" for line in entry.lines] + [""]
        return self.parse_text_to_nodes("```{eval-rst}\n" + "\n".join(lines) + "\n```")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("autodoc-process-docstring", shorten, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", shorten_signature)
    app.add_directive("shared-options", SharedOptions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
