"""The script that repeats a session: the lines of its steps, one after the other, and the model at the end.

Lines are put together and never run here: a session may come from a file, and a file runs no code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from pprint import pformat

from tanager.studio.document import DataChoice, Document
from tanager.studio.models import locked_rows
from tanager.studio.prepared import Prepared, classifier_options
from tanager.studio.session import Entry, Session

WIDTH = 110  # of a line that is readable
ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*) = (?P<value>.*)$")
READS = ("data = ", "model = load(", "network = read_")  # a step with such a line makes everything anew
IMPORT = re.compile(r"(?:from (?P<module>[\w.]+) )?import (?P<names>[\w.]+(?: as \w+)?(?:, [\w.]+(?: as \w+)?)*)$")


def script_of(session: Session) -> str:
    """The script, up to the present step; what was undone is left out."""
    document = session.document
    imports: dict[str, set[str]] = {}
    lines: list[str] = []
    for entry in since_opened(session.entries, session.position):
        own = _without_models(_without_imports(entry.code, imports))
        lines += ["", f"# {_one_line(entry.label)}", *own] if own else []
    if session.has_rows:
        lines += ["", "# the model", *_without_imports(ending_code(session.prepared, document), imports)]
    lines = [part for line in without_vain(lines) for part in wrapped(line)]
    return "\n".join([*_head(document), *_import_lines(imports, lines), *lines]) + "\n"


def since_opened(entries: Sequence[Entry], position: int) -> tuple[Entry, ...]:
    """The steps from the last one on that read the data."""
    done = entries[: position + 1]
    first = max((at for at, entry in enumerate(done) if any(map(_reads, entry.code))), default=0)
    return tuple(done[first:])


def file_name(document: Document) -> str:
    """What exported files are called, without an extension."""
    return "studio" if document.data is None else Path(document.data.name).stem or "studio"


# --- the end --------------------------------------------------------------------------------------------------------


def ending_code(prepared: Prepared, document: Document) -> tuple[str, ...]:
    """Lines that fit the classifier of a document, as ``classifier_of`` does, and save it."""
    choice, name, target = document.model, document.model.name, prepared.target
    lines, given = [], [f"{key}={value!r}" for key, value in choice.options.items()]
    if document.costs is not None:
        given.append(f"cost_matrix={document.costs!r}")
    if choice.options.get("gaussian"):  # numbers are not cut
        own = classifier_options(prepared, document.columns, gaussian=True)
        given += [f"{key}={value!r}" for key, value in own.items()]
    else:
        lines.append("schema = AODE(**options).fit_schema(X, y).encoder_.schema  # kinds and cut points")
        given.append("schema=schema")
    if name == "network" and document.arcs is not None:
        name, locked, given = "NetworkClassifier", locked_rows(document), ["network", repr(target), *given]
        if locked:
            lines.append(f"locked = {locked!r}")
            given.append("locked=locked")
    name = "AODE" if name == "network" else name
    return (
        f"from tanager import {', '.join(sorted({'AODE', name}))}",
        *lines,
        f"model = {name}({', '.join(given)})",
        f"model.fit_table(X, y, {target!r})",
        f"model.save({file_name(document) + '.tanager'!r})",
    )


# --- lines ----------------------------------------------------------------------------------------------------------


def _head(document: Document) -> list[str]:
    """What the script is, and what it needs."""
    choice = document.data
    about = ["# What was done in tanager studio; run it with Python."]
    if choice is not None and _is_uploaded(choice):
        about.append(f"# It reads {_one_line(choice.name)}, which must lie in the folder in which it is run.")
    return [*about, ""]


def _is_uploaded(choice: DataChoice) -> bool:
    return choice.kind == "upload" or (not choice.has_rows and not Path(choice.name).is_absolute())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def without_vain(lines: Sequence[str]) -> list[str]:
    """Lines without those that set a variable which is set again before anything looks at it.

    So of many cut points that were dragged one after the other only the last remain; what the steps were called stays.
    """
    kept: list[str] = []
    overwritten: set[str] = set()  # variables that are set further down before they are looked at
    for line in reversed(lines):
        found = ASSIGNMENT.match(line)
        name, value = (found["name"], found["value"]) if found else ("", line)
        if name in overwritten:
            continue
        kept.append(line)
        if name:
            overwritten.add(name)
        if not line.startswith("#"):
            overwritten -= set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", value))
    return kept[::-1]


def wrapped(line: str) -> list[str]:
    """A long line that sets a variable to a plain value, or that ends with a list, in several ones."""
    if len(line) <= WIDTH or line.startswith("#"):
        return [line]
    try:
        (tree,) = ast.parse(line).body
        assert isinstance(tree, ast.Assign)
        value = tree.value
        if isinstance(value, ast.Call) and value.args and isinstance(value.args[-1], ast.List):
            listed, value.args[-1] = value.args[-1], ast.Name("arcs")
            return [*_literal("arcs", listed), ast.unparse(tree)]
        return _literal(ast.unparse(tree.targets[0]), value)
    except (SyntaxError, ValueError, AssertionError):
        return [line]


def _literal(name: str, value: ast.expr) -> list[str]:
    """``name = value`` in lines of a readable length."""
    text = pformat(ast.literal_eval(value), width=WIDTH - len(name) - 3, sort_dicts=False, compact=True)
    first, *rest = text.split("\n")
    return [f"{name} = {first}", *(" " * (len(name) + 3) + line for line in rest)]


def _reads(line: str) -> bool:
    return line.startswith(READS)


def _without_models(lines: Iterable[str]) -> list[str]:
    """Models and locked rows on the way are left out: the end has those that were chosen last."""
    return [line for line in lines if not line.startswith(("model = ", "locked = ")) or _reads(line)]


def _without_imports(lines: Iterable[str], imports: dict[str, set[str]]) -> list[str]:
    """All other lines; what is imported is put together by module."""
    rest = []
    for line in lines:
        found = IMPORT.match(line)
        if found is None:
            rest.append(line)
        else:
            imports.setdefault(found["module"] or "", set()).update(found["names"].split(", "))
    return rest


def _import_lines(imports: dict[str, set[str]], body: Sequence[str]) -> list[str]:
    """Imports of what the lines use, sorted."""
    used = set(re.findall(r"\w+", "\n".join(line for line in body if not line.startswith("#"))))
    lines = []
    for module, names in sorted(imports.items()):
        needed = sorted(name for name in names if name.split(" as ")[-1].split(".")[0] in used)
        if module:
            lines += [f"from {module} import {', '.join(needed)}"] if needed else []
        else:
            lines += [f"import {name}" for name in needed]
    return lines
