"""What the pages of the studio can ask for: one module for each page, each with its ``actions``.

Modules are found by themselves: a new page is a new file here, and nothing else.
"""

from importlib import import_module
from pkgutil import iter_modules

from tanager.studio.actions import Actions


def _all_pages() -> dict[str, Actions]:
    found = (import_module(f"{__name__}.{module.name}").actions for module in iter_modules(__path__))
    return {actions.page: actions for actions in found}


PAGES: dict[str, Actions] = _all_pages()
