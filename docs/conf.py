"""The site (`make docs`): all Markdown pages where they are, and the API reference from docstrings."""

from __future__ import annotations

import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
project = PROJECT["name"]
version = release = PROJECT["version"]
author = copyright = "the tanager contributors"

# Pages are read from the root of the repository, so that links between them are those of the files.
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "_site.navigation",
    "_site.reference",
    "_site.shared_options",
]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "docs/api/names/*.rst", "experiments/**.md", "benchmarks/*.md", "fuzz/*.md"]
exclude_patterns = ["build", "dist", "src", "tests", "conda", "**/__pycache__", ".*", "**/.pytest_cache"]
suppress_warnings = ["misc.highlighting_failure", "config.cache"]
default_role = "literal"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autosummary_generate = False  # `_site.reference` writes the pages of names
autodoc_typehints = "none"  # types are in the words of the docstrings
autodoc_member_order = "bysource"
autodoc_mock_imports = [
    name
    for name in ("anywidget", "confluent_kafka", "dask", "pyspark", "river", "traitlets")
    if find_spec(name) is None
]
napoleon_google_docstring = False
napoleon_use_param = False  # types are words: nothing to link
napoleon_use_rtype = False
napoleon_custom_sections = ["Shared options", ("Attributes", "params_style")]
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 100

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"tanager {version}"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "tanager"},
    "header_links_before_dropdown": 8,
    "navigation_depth": 3,
    "collapse_navigation": True,
    "show_toc_level": 2,
    "show_prev_next": True,
    "navbar_align": "left",
    "navbar_end": ["version-switcher", "theme-switcher"],
    "switcher": {"json_url": "/switcher.json", "version_match": version},
    "check_switcher": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "docs/index": []},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"docs/index": []}
