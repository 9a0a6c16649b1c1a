"""Finishes a built site: `python docs/_site/finish.py build/site/0.1.0` lists versions, and follows all links inside.

Versions stand side by side in one folder. `switcher.json` there lists them for the menu, newest first, and `index.html`
leads to the newest. A link to a page, a picture or a heading that is not there is an error.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

START = "docs/index.html"
RAW = re.compile(r":py:\w+:|\{(?:class|doc|ref|meth)\}")
FORWARD = (
    '<!doctype html><meta charset="utf-8"><title>tanager</title>'
    '<meta http-equiv="refresh" content="0; url={0}"><a href="{0}">tanager</a>\n'
)


class Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note links, sources and names."""
        for name, value in attributes:
            if value is not None and (name in ("href", "src")):
                self.links.add(value)
            elif value is not None and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)


def read_pages(folder: Path) -> dict[Path, Page]:
    """All pages of a site; the theme's own parts are none."""
    paths = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]
    return {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in paths}


def inner_links(pages: dict[Path, Page]) -> Iterator[tuple[Path, str, Path, str]]:
    """Links that do not leave the site: the page, the link, the file that it leads to, and the place in it."""
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if not parts.scheme and not parts.netloc and (parts.path or parts.fragment):
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                yield path, link, target, unquote(parts.fragment)


def is_there(target: Path, anchor: str, pages: dict[Path, Page]) -> bool:
    """Whether a file is there, and the place in it."""
    if target in pages:
        return anchor in pages[target].anchors or anchor == "__top"
    return target.is_file()


def list_versions(site: Path) -> None:
    """Write the list of versions and the pages that lead to the newest one."""

    def parts(version: str) -> list[int]:
        return [int(part) if part.isdigit() else 0 for part in version.split(".")]

    versions = sorted((path.parent.parent.name for path in site.glob(f"*/{START}")), key=parts, reverse=True)
    entries = [{"name": name, "version": name, "url": f"/{name}/{START}"} for name in versions]
    (site / "switcher.json").write_text(json.dumps(entries, indent=1))
    (site / "index.html").write_text(FORWARD.format(f"{versions[0]}/{START}"))
    for version in versions:
        (site / version / "index.html").write_text(FORWARD.format(START))


def main(folder: Path) -> int:
    """The number of broken links, and of pages that show what was meant as markup."""
    list_versions(folder.parent)
    pages = read_pages(folder)
    links = list(inner_links(pages))
    broken = [(path, link) for path, link, target, anchor in links if not is_there(target, anchor, pages)]
    for path, link in broken:
        print(f"{path.relative_to(folder.resolve())}: {link} leads nowhere", file=sys.stderr)
    raw = [path for path in pages if RAW.search(path.read_text(encoding="utf-8"))]
    for path in raw:
        print(f"{path.relative_to(folder.resolve())} shows markup as text", file=sys.stderr)
    print(f"{len(pages)} pages, {len(links)} links inside, {len(broken)} broken: {folder / START}")
    return len(broken) + len(raw)


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1])) else 0)
