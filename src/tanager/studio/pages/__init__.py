"""What the pages of the studio can ask for: one module for each page, each with its ``actions``."""

from tanager.studio.actions import Actions
from tanager.studio.pages import compare, data, session, start

PAGES: dict[str, Actions] = {module.actions.page: module.actions for module in (session, start, data, compare)}
