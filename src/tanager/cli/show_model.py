"""The part of ``tanager show`` about models: a report as data, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from tanager.cli.model_state import answering, class_information, has_fuzzy_rules, n_learned
from tanager.cli.networks import MOST_LINES, described, print_text
from tanager.cli.rules import say_rules
from tanager.cli.screen import Screen, counted, listed, table

_MOST_CLASSES = 4  # whose normal distributions fit on a screen


def model_report(model: Any) -> dict[str, Any]:
    """Options, classes, columns and structure of a model, as data."""
    weights = model.class_count_.tolist()
    changed = {key: value for key, value in model.get_params(deep=False).items() if not _is_default(model, key, value)}
    kinds = {column.name: column.kind for column in model.encoder_.schema.columns}
    information = dict(sorted(class_information(answering(model)).items(), key=lambda item: -item[1]))
    return {
        "classifier": type(model).__name__,
        "options": {key: _short(value) for key, value in changed.items()},
        "target": model.target_name_,
        "rows": n_learned(model),
        "classes": [{"class": c, "rows": n} for c, n in zip(model.classes_.tolist(), weights, strict=True)],
        "columns": [{"name": name, "kind": kinds[name], "information": value} for name, value in information.items()]
        + [{"name": name, "kind": kind} for name, kind in kinds.items() if name not in information],
        **({"weights": model.weights_} if hasattr(type(model), "weight_history_") else {}),
        **_normals(answering(model)),
        **_structure(answering(model)),
    }


def _normals(model: Any) -> dict[str, Any]:
    """Mean and deviation by class of the columns whose numbers are kept as normal distributions."""
    memory = getattr(model, "memory", None)
    if memory is None or not memory.number_names:
        return {}
    weight, mean, deviation = memory.moments.by_class
    found = []
    for at, name in enumerate(memory.number_names):
        lines = zip(model.classes_.tolist(), weight[:, at], mean[:, at], deviation[:, at], strict=True)
        by_class = [
            {"class": c, "rows": float(w), "mean": float(m), "deviation": float(s)} if w > 0 else {"class": c}
            for c, w, m, s in lines
        ]
        found.append({"column": name, "by_class": by_class})
    return {"normal_distributions": found}


def _is_default(model: Any, option: str, value: Any) -> bool:
    default = getattr(type(model)(), option)
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _short(value: Any) -> Any:
    """An option as a person would write it: learners without their default settings."""
    if isinstance(value, bool | int | float | str):
        return value
    if not is_dataclass(value) or hasattr(value, "get_params"):
        return str(value)
    settings = [f"{f.name}={getattr(value, f.name)!r}" for f in fields(value) if getattr(value, f.name) != f.default]
    return f"{type(value).__name__}({', '.join(settings)})"


def _structure(model: Any) -> dict[str, Any]:
    """The settings tried; the arcs of one network or of one per class, or the strongest pairs of columns."""
    from tanager.plot.drawable import drawable_networks, one_network

    found: dict[str, Any] = {}
    if has_fuzzy_rules(model):
        return {"rules": [str(rule) for rule in model.rules()]}
    if hasattr(type(model), "tree_"):
        return {"tree": model.tree_.to_dict()}
    if hasattr(type(model), "forest_"):
        return {"forest": _forest(model)}
    if hasattr(type(model), "table"):
        _ = model.structure_  # fills table_
        found["tried"] = [{key: value for key, value in line.items() if key != "model"} for line in model.table_]
    found |= _chosen(model)
    if not one_network(model):
        return found | _pairs(model.counts_)
    shown = drawable_networks(model)
    if len(shown) == 1:
        return found | {"arcs": [arc_entry(shown[0], arc) for arc in shown[0].arcs]}
    return found | {"networks": [{"class": s.target, "arcs": [arc_entry(s, arc) for arc in s.arcs]} for s in shown]}


def _forest(model: Any) -> dict[str, Any]:
    """How many networks and factors a forest has, and the share of the weight that the factors of each column have."""
    forest, names = model.forest_, model.encoder_.schema.names
    weights = [float(forest.factors[forest.families[:, 1] == i].sum()) for i in range(len(names))]
    total = sum(weights) or 1.0
    shares = sorted(((weight / total, name) for weight, name in zip(weights, names, strict=True)), reverse=True)
    columns = [{"column": name, "weight": share} for share, name in shares]
    return {"networks": len(set(forest.families[:, 0])), "factors": len(forest.factors), "columns": columns}


def _chosen(model: Any) -> dict[str, Any]:
    """What a search has chosen beside a network: steps, roles of columns, joined columns or values, class weights."""
    _ = model.structure_  # which follows all rows
    found: dict[str, Any] = {}
    if hasattr(model, "steps_"):
        found["steps"] = [step._asdict() for step in model.steps_]
    if getattr(model, "super_parents_", ()):
        found["super_parents"], found["children"] = list(model.super_parents_), list(model.children_)
    if hasattr(type(model), "joined_"):
        found["joined"] = [[_side(side) for side in joined] for joined in model.joined_]
    if hasattr(type(model), "adjustments_"):
        found["class_weights"] = [{"class": c, "weight": w} for c, w in model.adjustments_.items()]
    return found


def _side(joined: Any) -> str:
    """A column, or a value of a column."""
    return joined if isinstance(joined, str) else f"{joined[0]} = {joined[1]}"


def arc_entry(subject: Any, arc: tuple[str, str]) -> dict[str, Any]:
    """An arc with its mutual information, as data."""
    information = subject.strengths[arc].value if arc in subject.strengths else None
    return {"parent": arc[0], "child": arc[1], "information": information}


def _pairs(counts: Any) -> dict[str, Any]:
    """The pairs of columns with the largest mutual information given the class."""
    from tanager.structure.measures import conditional_information

    if counts.order < 2:
        return {}
    names, shared = counts.schema.names, conditional_information(counts)
    pairs = [(float(shared[i, j]), names[i], names[j]) for i in range(len(names)) for j in range(i)]
    strongest = sorted(pairs, key=lambda pair: -pair[0])[:1000]
    return {"pairs": [{"column": b, "other": a, "information": value} for value, a, b in strongest]}


def print_model(screen: Screen, model: Any, report: dict[str, Any], top: int) -> None:
    """Classes, settings tried, informative columns, and rules, pairs or networks."""
    model = answering(model)
    _print_summary(screen, report, top)
    if "tried" in report:
        screen.say(f"\n{model.table()}")
    _print_columns(screen, report, top)
    _print_chosen(screen, model, report, top)
    if "rules" in report:
        screen.say()
        say_rules(screen, model.rules()[:top])
        _more(screen, len(report["rules"]) - top)
        return
    if "tree" in report:
        tree = model.tree_
        depth = f"up to {counted(tree.depth, 'test')} deep" if tree.depth else "no test"
        screen.say(f"\n{counted(tree.n_leaves, 'leaf', 'leaves')}, {depth}")
        lines = str(tree).splitlines()
        screen.say("\n".join(lines[:MOST_LINES]))
        _more(screen, len(lines) - MOST_LINES)
        return
    if "forest" in report:
        forest = report["forest"]
        screen.say(f"\n{counted(forest['networks'], 'network')}, {counted(forest['factors'], 'factor')} with a weight")
        shares = [(c["column"], c["weight"]) for c in forest["columns"]]
        if shares[0][1] - shares[-1][1] < 1e-9:
            screen.say("all factors weigh the same: the rows do not tell them apart")
            return
        rows = [(name, f"{share:.1%}", screen.bar(share / shares[0][1])) for name, share in shares[:top]]
        screen.show(table(("column", "share", "of the weight of all factors"), rows, right=["share"]))
        _more(screen, len(shares) - top)
        return
    _print_normals(screen, report, top)
    if report.get("pairs"):
        screen.say()
        bars = [(p["information"], p["column"], p["other"]) for p in report["pairs"][:top]]
        screen.show(_bars(screen, bars, "column", "other column", "information given the class"))
        _more(screen, len(report["pairs"]) - top)
    elif "arcs" in report or "networks" in report:
        screen.say()
        print_text(screen, model)


def _print_summary(screen: Screen, report: dict[str, Any], top: int) -> None:
    rows, classes = report["rows"], report["classes"]
    screen.say(f"{report['classifier']} in {described(report['file'])}", style="bold")
    target = f" in {report['target']!r}" if report["target"] else ""
    what = f"{counted(len(report['columns']), 'column')}, {counted(len(classes), 'class', 'classes')}{target}"
    screen.say(f"learned from {counted(rows, 'row')}: {what}")
    if report["options"]:
        screen.say(f"options: {listed(f'{key}={value}' for key, value in report['options'].items())}")
    if "weights" in report:
        screen.say(f"weights: {listed(f'{name} {weight:.2f}' for name, weight in report['weights'].items())}")
    screen.say()
    lines = [(str(c["class"]), f"{c['rows']:,.0f}", f"{c['rows'] / max(rows, 1e-300):.1%}") for c in classes[:top]]
    screen.show(table(("class", "rows", "share"), lines, right=("rows", "share")))
    _more(screen, len(classes) - top)


def _print_columns(screen: Screen, report: dict[str, Any], top: int) -> None:
    informed = [c for c in report["columns"] if "information" in c]
    if informed:
        screen.say()
        bars = [(c["information"], c["name"], c["kind"]) for c in informed[:top]]
        screen.show(_bars(screen, bars, "column", "kind", "mutual information"))
        _more(screen, len(informed) - top)


def _print_normals(screen: Screen, report: dict[str, Any], top: int) -> None:
    """The columns that are normal distributions, with mean and deviation in as many classes as fit."""
    normals = report.get("normal_distributions", ())
    if not normals:
        return
    sign = "±" if screen.unicode else "+-"
    classes = [str(entry["class"]) for entry in normals[0]["by_class"]]
    rows = [
        (line["column"], *(_normal(entry, sign) for entry in line["by_class"][:_MOST_CLASSES]))
        for line in normals[:top]
    ]
    given = "" if report["classifier"] == "NaiveBayes" else " and the bins of parents; here by class alone"
    screen.say(f"\nnormal distributions given the class{given}: mean {sign} deviation")
    shown = classes[:_MOST_CLASSES]
    screen.show(table(("column", *shown), rows, right=shown))
    _more(screen, len(normals) - top)
    if len(classes) > _MOST_CLASSES:
        screen.say(f"... and {len(classes) - _MOST_CLASSES:,} more classes; --json has all")


def _normal(entry: dict[str, Any], sign: str) -> str:
    return f"{entry['mean']:.4g} {sign} {entry['deviation']:.3g}" if "mean" in entry else "-"


def _print_chosen(screen: Screen, model: Any, report: dict[str, Any], top: int) -> None:
    """What a search has chosen, as ``_chosen`` says it."""
    if report.get("steps"):
        screen.say()
        criterion = {"log_loss": "- log loss"}.get(model.criterion, model.criterion)
        lines = [(step["did"], step["columns"], f"{step['value']:.4f}") for step in report["steps"]]
        screen.show(table(("step", "columns", criterion), lines[:top], right=[criterion]))
        _more(screen, len(lines) - top)
    if "super_parents" in report:
        screen.say(f"\nsuper-parents: {listed(report['super_parents'], top)}")
        screen.say(f"children: {listed(report['children'], top)}")
    joined = [" + ".join(sides) for sides in report.get("joined", ()) if len(sides) > 1]
    if "joined" in report:
        screen.say(f"\njoined: {listed(joined, top) if joined else 'nothing'}")
    if "class_weights" in report:
        weights = [f"{entry['class']} {entry['weight']:.4g}" for entry in report["class_weights"]]
        screen.say(f"\nweights of the classes: {listed(weights, top)}")
    if hasattr(model, "rule"):
        screen.say("\na rule is found for each row; tanager explain shows it")


def _bars(screen: Screen, lines: Sequence[tuple[float, str, str]], first: str, second: str, what: str) -> Any:
    """A table of two names, a number of nats, and a bar for it."""
    most = max((value for value, _, _ in lines), default=0.0) or 1.0
    rows = [(a, b, f"{value:.3f}", screen.bar(value / most)) for value, a, b in lines]
    return table((first, second, "nats", what), rows, right=["nats"])


def _more(screen: Screen, n: int) -> None:
    if n > 0:
        screen.say(f"... and {n:,} more")
