"""The page Decide: a diagram of chances, decisions and utilities; what to do, and what information is worth."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
import numpy as np

from tanager.decisions.diagram import DecisionNetwork
from tanager.decisions.policy import Policy
from tanager.errors import DataError, OptionError, TanagerError
from tanager.studio.actions import Actions, Download
from tanager.studio.decision_examples import EXAMPLES
from tanager.studio.decision_picture import decision_picture
from tanager.studio.session import Session

actions = Actions("decide")

SWINGS = 8  # numbers of utilities that are listed as mattering most
MAX_ROWS = 200  # of a policy, or cells of a table, that a page shows

Kind = Literal["chance", "decision", "utility"]
Value = str | int | float | bool


# --- looking --------------------------------------------------------------------------------------------------------


@actions.add
def show(session: Session, limited_memory: bool = False) -> dict[str, Any]:
    """The diagram, what to do by it, and what matters."""
    examples = [{"name": name, "about": example.about} for name, example in EXAMPLES.items()]
    diagram = _diagram(session)
    if diagram is None:
        return {"examples": examples, "diagram": None}
    found = {"examples": examples, "diagram": _plain(diagram), "picture": decision_picture(diagram), "problem": None}
    try:
        return found | _answers(diagram, limited_memory)
    except TanagerError as error:  # it is not complete, or too large; it can still be edited
        return found | {"problem": str(error)}


def _answers(diagram: DecisionNetwork, limited_memory: bool) -> dict[str, Any]:
    solution = diagram.solve(limited_memory=limited_memory)
    information = {
        decision: diagram.information_values(decision, limited_memory=limited_memory) for decision in solution
    }
    swings = diagram.tornado(0.1, limited_memory=limited_memory)[:SWINGS]
    return {
        "expected_utility": solution.expected_utility,
        "certain": solution.certain,
        "policies": [_policy(solution[decision]) for decision in solution],
        "information": information,
        "tornado": [
            {
                "words": f"{swing.utility}: {_listed(swing.cell)}",
                "numbers": [swing.low, swing.high],
                "utilities": [swing.utility_at_low, swing.utility_at_high],
            }
            for swing in swings
        ],
    }


def _policy(policy: Policy) -> dict[str, Any]:
    rows = policy.table()
    return {
        "decision": policy.decision,
        "rules": policy.rules(reached=True).splitlines(),
        "known": list(policy.known),
        "irrelevant": list(policy.irrelevant),
        "n_rows": len(rows),
        "rows": [
            {
                "known": [str(value) for value in row["known"].values()],
                "choose": str(row["choose"]),
                "expected_utility": row["expected_utility"],
                "margin": row["margin"],
                "probability": row["probability"],
            }
            for row in sorted(rows, key=lambda row: -row["probability"])[:MAX_ROWS]
        ],
    }


def _listed(cell: dict[str, object]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in cell.items()) or "always"


def _plain(diagram: DecisionNetwork) -> dict[str, Any]:
    """Nodes with kinds, values, parents and tables, as JSON."""
    return diagram.to_dict()


# --- beginning ------------------------------------------------------------------------------------------------------


@actions.add
def begin_with(session: Session, example: str) -> dict[str, Any]:
    """Begin with an example, or with an empty diagram ("")."""
    if example and example not in EXAMPLES:
        raise OptionError(f"there is no example {example!r}.")
    diagram = EXAMPLES[example].diagram if example else DecisionNetwork({}, {}, [])
    return _begin(session, f"decide: {example or 'an empty diagram'}", diagram)


@actions.add
def open_(session: Session, content: str) -> dict[str, Any]:
    """Begin with a diagram from a JSON file."""
    try:
        diagram = DecisionNetwork.from_dict(json.loads(content))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"this is no diagram of decisions: {error or type(error).__name__}.") from None
    return _begin(session, "decide: a diagram from a file", diagram)


@actions.add
def save(session: Session) -> Download:
    """The diagram as a JSON file."""
    diagram = _needed(session)
    return Download("decisions.json", "application/json", json.dumps(diagram.to_dict(), indent=1).encode())


def _begin(session: Session, label: str, diagram: DecisionNetwork) -> dict[str, Any]:
    code = ("from tanager import DecisionNetwork", f"diagram = DecisionNetwork.from_dict({diagram.to_dict()!r})")
    return _change(session, label, diagram, code)


# --- editing --------------------------------------------------------------------------------------------------------


@actions.add
def add_node(session: Session, kind: Kind, name: str, values: list[Value] | None = None) -> dict[str, Any]:
    """One more node: alike probabilities for all values, or a utility of 0."""
    diagram, options = _needed(session), list(values or ("no", "yes"))
    if not name.strip():
        raise OptionError("the node needs a name.")
    if kind == "chance":
        table = [1 / len(options)] * len(options)
        changed = diagram.with_chance(name, options, table=table)
        code = f"diagram = diagram.with_chance({name!r}, {options!r}, table={table!r})"
    elif kind == "decision":
        changed, code = diagram.with_decision(name, options), f"diagram = diagram.with_decision({name!r}, {options!r})"
    else:
        changed, code = diagram.with_utility(name, table=0.0), f"diagram = diagram.with_utility({name!r}, table=0.0)"
    return _change(session, f"added {name}", changed, (code,))


@actions.add
def remove_node(session: Session, name: str) -> dict[str, Any]:
    """The diagram without a node; tables of its children lose its axis."""
    diagram = _needed(session)
    code = []
    for child in [child for parent, child in diagram.arcs if parent == name]:
        diagram, lines = _without_arc(diagram, name, child)
        code += lines
    return _change(session, f"removed {name}", diagram.without(name), (*code, f"diagram = diagram.without({name!r})"))


@actions.add
def add_arc(session: Session, parent: str, child: str) -> dict[str, Any]:
    """One more arc; the child's table says the same for all values of its new parent, until it is edited."""
    diagram = _needed(session)
    table = diagram.tables.get(child)
    changed = diagram.add(parent, child)
    code = [f"diagram = diagram.add({parent!r}, {child!r})"]
    if table is not None:
        place = changed.parents(child).index(parent)
        wide = np.repeat(np.expand_dims(table, place), len(changed.values(parent)), axis=place)
        changed, line = _with_table(changed, child, wide)
        code.append(line)
    return _change(session, f"added {parent} → {child}", changed, tuple(code))


@actions.add
def remove_arc(session: Session, parent: str, child: str) -> dict[str, Any]:
    """One arc less; the child's table is the mean over the values of the parent."""
    diagram, code = _without_arc(_needed(session), parent, child)
    return _change(session, f"removed {parent} → {child}", diagram, tuple(code))


@actions.add
def set_table(session: Session, name: str, table: Any) -> dict[str, Any]:
    """Other numbers: probabilities of a chance node, or what a utility is worth."""
    try:
        numbers = np.asarray(table, dtype=float)
    except (TypeError, ValueError):
        raise OptionError(f"the table of {name!r} must have a number in every cell.") from None
    changed, line = _with_table(_needed(session), name, numbers)
    return _change(session, f"numbers of {name}", changed, (line,))


def _without_arc(diagram: DecisionNetwork, parent: str, child: str) -> tuple[DecisionNetwork, list[str]]:
    table, place = diagram.tables.get(child), diagram.parents(child).index(parent)
    changed, code = diagram.remove(parent, child), [f"diagram = diagram.remove({parent!r}, {child!r})"]
    if table is not None:
        changed, line = _with_table(changed, child, table.mean(axis=place))
        code.append(line)
    return changed, code


def _with_table(diagram: DecisionNetwork, name: str, table: np.ndarray) -> tuple[DecisionNetwork, str]:
    return diagram.with_tables({name: table}), f"diagram = diagram.with_tables({{{name!r}: {table.tolist()!r}}})"


def _diagram(session: Session) -> DecisionNetwork | None:
    plain = session.document.diagram
    return None if plain is None else DecisionNetwork.from_dict(plain)


def _needed(session: Session) -> DecisionNetwork:
    diagram = _diagram(session)
    if diagram is None:
        raise OptionError("there is no diagram yet. Begin with an example, or with an empty one.")
    return diagram


def _change(session: Session, label: str, diagram: DecisionNetwork, code: tuple[str, ...]) -> dict[str, Any]:
    document = msgspec.structs.replace(session.document, diagram=diagram.to_dict())
    session.change(label, document, code)
    return {"label": label}
