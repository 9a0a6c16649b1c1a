"""The script and the style of the page's network view in one piece each, for places that load single files."""

from __future__ import annotations

import re
from pathlib import Path

STATIC = Path(__file__).parent / "static"
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let) (\w+))", re.MULTILINE)
DEFAULT = re.compile(r"^export default ", re.MULTILINE)


def bundled_script(name: str) -> str:
    """A module of the page with all that it imports; every module keeps its names to itself."""
    done: dict[str, str] = {}
    _add(name, done)
    return "\n".join(done.values()) + f"\nexport default {name}_js.default;\n"


def _add(name: str, done: dict[str, str]) -> None:
    text = _text(f"{name}.js")
    for _, other in IMPORT.findall(text):
        if other not in done:
            _add(other, done)
    taken = [
        f"const {{ {names.strip().replace(' as ', ': ')} }} = {other}_js;" for names, other in IMPORT.findall(text)
    ]
    given = EXPORT.findall(text)
    body = DEFAULT.sub("const default_ = ", EXPORT.sub("", IMPORT.sub("", text)))
    given += ["default: default_"] if DEFAULT.search(text) else []
    done[name] = "\n".join([f"const {name}_js = (() => {{", *taken, body, f"return {{ {', '.join(given)} }};", "})();"])


def bundled_style(scope: str, section: str, file: str) -> str:
    """The colours and a section of the page's style, for what is inside ``scope`` alone; and a further file."""
    _, _, colours, *rest = re.split(r"^/\* (.*) \*/\n", _text("style.css"), flags=re.MULTILINE)
    named = dict(zip(rest[::2], rest[1::2], strict=True))
    own = colours.split("\n* {", 1)[0].replace(":root", scope)
    return f"{own}\n{scope} {{\n{named[section]}}}\n{_text(file)}"


def _text(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
