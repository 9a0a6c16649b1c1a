"""Learners of networks as forms: what each can be told, and from the filled form to arcs and lines of Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from tanager.classifiers.tan import FAN, TAN
from tanager.errors import OptionError, nearest
from tanager.networks.network import Arc, Network
from tanager.structure.cbl import CBL
from tanager.structure.chow_liu import ChowLiu
from tanager.structure.hill_climb import HillClimb
from tanager.structure.independence_tests import GSquared, Pearson, Threshold
from tanager.structure.k2 import K2
from tanager.structure.learner import Learner, Progress
from tanager.structure.pdag_search import PDAGSearch
from tanager.studio.document import Constraints
from tanager.studio.prepared import Prepared


class Field(msgspec.Struct, frozen=True):
    """A field of a form. ``options`` are pairs of a value and words for it; ``where`` says when it is shown."""

    name: str
    label: str
    kind: Literal["choice", "number", "whole", "flag", "names"]
    default: str | float | int | bool | tuple[str, ...] | None
    options: tuple[tuple[str, str], ...] = ()
    least: float | None = None
    most: float | None = None
    help: str = ""
    where: tuple[str, tuple[str, ...]] | None = None  # another field, and the values for which this one matters


class Form(msgspec.Struct, frozen=True):
    """A learner, with words for people."""

    name: str
    title: str
    about: str
    fields: tuple[Field, ...] = ()
    rules: bool = True  # whether it keeps to required and forbidden arcs and tiers


CLASS = Field(
    "role",
    "The class",
    "choice",
    "root",
    (
        ("root", "comes before all columns"),
        ("given", "is a parent of every column"),
        ("free", "is a variable like the others"),
    ),
)
SCORES = (("bic", "BIC"), ("aic", "AIC"), ("bdeu", "BDeu"), ("k2", "K2"), ("ll", "log-likelihood"))
MAX_PARENTS = Field("max_parents", "Most parents of a column", "whole", 3, least=1, most=10)
ESS = Field(
    "ess",
    "Equivalent sample size",
    "number",
    1.0,
    least=0.001,
    most=1e6,
    where=("score", ("bdeu",)),
    help="of the prior",
)
ORDERS = (("given", "that of the table"), ("names", "the one below"))
NAMES = Field("names", "Order, causes first", "names", (), where=("order", ("names",)))

FORMS = {
    form.name: form
    for form in (
        Form(
            "hill-climb",
            "Hill climbing (score)",
            "Changes one arc at a time, as long as a score rises. A good first choice for prediction.",
            (
                Field("score", "Score", "choice", "bic", (*SCORES, ("cll", "conditional log-likelihood (slow)"))),
                CLASS,
                MAX_PARENTS,
                ESS,
                Field(
                    "tabu", "Tabu list", "whole", 0, least=0, most=100, help="changes that must not be undone at once"
                ),
                Field("restarts", "Restarts", "whole", 0, least=0, most=100),
            ),
        ),
        Form(
            "cbl",
            "CBL (independence tests)",
            "Joins what depends on each other and removes what others explain. Every arc has a test behind it.",
            (
                Field(
                    "test",
                    "Test",
                    "choice",
                    "mi",
                    (("mi", "mutual information"), ("g2", "G²"), ("x2", "Pearson's X²")),
                ),
                Field("threshold", "Threshold (nats)", "number", 0.01, least=0.0, most=10.0, where=("test", ("mi",))),
                Field("level", "Level", "number", 0.05, least=1e-12, most=0.5, where=("test", ("g2", "x2"))),
                Field("order", "Order of the columns", "choice", "none", (("none", "not known"), *ORDERS)),
                NAMES,
                CLASS,
                Field("max_cond", "Most conditions of a test", "whole", 8, least=0, most=20),
                Field(
                    "max_parents", "Most parents of a column", "whole", None, least=1, most=20, help="empty: any number"
                ),
            ),
        ),
        Form(
            "k2",
            "K2 (score, along an order)",
            "Each column takes the best of the earlier ones as parents. Fast, where an order is known.",
            (
                Field("order", "Order of the columns", "choice", "given", ORDERS),
                NAMES,
                Field("score", "Score", "choice", "k2", SCORES),
                CLASS,
                MAX_PARENTS,
                ESS,
            ),
        ),
        Form(
            "pdag",
            "PDAG search (around the class)",
            "Searches only what the answer depends on: parents, children and their parents.",
            (
                Field("score", "Score", "choice", "bdeu", SCORES),
                Field("role", "The class", "choice", "root", CLASS.options[::2]),
                MAX_PARENTS,
                ESS,
                Field("start", "Begin with", "choice", "empty", (("empty", "no arcs"), ("naive", "naive Bayes"))),
            ),
        ),
        Form(
            "chow-liu",
            "Chow-Liu tree",
            "The tree that fits best: a first look at what goes with what.",
            (
                Field("role", "The class", "choice", "given", CLASS.options),
                Field(
                    "threshold",
                    "Threshold (nats)",
                    "number",
                    0.0,
                    least=0.0,
                    most=10.0,
                    help="weaker arcs are left out",
                ),
            ),
        ),
        Form(
            "tan",
            "TAN (tree over naive Bayes)",
            "The class is a parent of every column, and a tree joins the columns.",
            rules=False,
        ),
        Form(
            "fan",
            "FAN (forest over naive Bayes)",
            "TAN with the significant arcs of the tree alone.",
            (
                Field(
                    "criterion",
                    "Which arcs stay",
                    "choice",
                    "bic",
                    (("bic", "BIC"), ("aic", "AIC"), ("g2", "G²"), ("bdeu", "BDeu"), ("k2", "K2")),
                ),
            ),
            rules=False,
        ),
        Form("naive-bayes", "Naive Bayes", "The class is a parent of every column, and that is all.", rules=False),
        Form("empty", "No arcs", "Begin with an empty network and draw it yourself.", rules=False),
    )
}
CLASSES: Mapping[str, type[Learner]] = {
    "hill-climb": HillClimb,
    "cbl": CBL,
    "k2": K2,
    "pdag": PDAGSearch,
    "chow-liu": ChowLiu,
}
TESTS = {"mi": Threshold, "g2": GSquared, "x2": Pearson}


class Learned(msgspec.Struct, frozen=True):
    """Arcs over the columns and the class, those without a direction, the trace, and the same in lines of Python."""

    arcs: tuple[Arc, ...]
    undirected: tuple[Arc, ...]
    trace: str
    code: tuple[str, ...]


def checked(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The filled form of a learner: all its fields, each with a value that it may have."""
    if name not in FORMS:
        raise OptionError(f"there is no learner {name!r}.{nearest(name, FORMS)}")
    fields = {field.name: field for field in FORMS[name].fields}
    for given in options:
        if given not in fields:
            raise OptionError(f"{FORMS[name].title} has no option {given!r}.{nearest(given, fields)}")
    return {field.name: _checked(field, options.get(field.name, field.default)) for field in fields.values()}


def _checked(field: Field, value: Any) -> Any:
    if value is None and (field.default is None or field.kind == "names"):
        return None if field.default is None else ()
    if field.kind == "choice" and value in [own for own, _ in field.options]:
        return value
    if field.kind == "names" and isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    whole = field.kind == "whole"
    if field.kind in ("number", "whole") and type(value) in ((int,) if whole else (int, float)):
        low, high = field.least, field.most
        if (low is None or value >= low) and (high is None or value <= high):
            return value
    expected = (
        f"one of {', '.join(own for own, _ in field.options)}"
        if field.kind == "choice"
        else "a list of columns"
        if field.kind == "names"
        else f"a {'whole ' if whole else ''}number from {field.least:g} to {field.most:g}"
    )
    raise OptionError(f"{field.label}: {value!r} is not {expected}.")


def learn(
    prepared: Prepared, name: str, options: Mapping[str, Any], rules: Constraints, progress: Progress | None = None
) -> Learned:
    """Learn arcs over the columns and the class."""
    own, target = checked(name, options), prepared.target
    names = prepared.schema.names
    if name in ("naive-bayes", "empty"):
        arcs = tuple((target, column) for column in names) if name == "naive-bayes" else ()
        return Learned(arcs, (), "", _code_of_arcs(target, arcs))
    if name in ("tan", "fan"):
        cls: Any = TAN if name == "tan" else FAN
        model = cls(schema=prepared.schema, **own).fit(prepared.X, prepared.y)
        found = Network(prepared.values, _renamed(model.network_, model.class_name, target))
        made = f"{cls.__name__}({_arguments(own)}**options).fit(X, y)"
        code = (f"from tanager import {cls.__name__}", f"model = {made}")
        return Learned(tuple(found.arcs), (), "", (*code, *_code_of_arcs(target, tuple(found.arcs))))
    return _by_learner(prepared, name, own, rules, progress)


def _by_learner(
    prepared: Prepared, name: str, own: dict[str, Any], rules: Constraints, progress: Progress | None
) -> Learned:
    role = own.pop("role", "root")
    words = {key: value for key, value in own.items() if key not in ("order", "names", "test", "threshold", "level")}
    if name == "chow-liu":
        words["threshold"] = own["threshold"]
    if name == "cbl":
        words["test"] = TESTS[own["test"]](own["threshold"] if own["test"] == "mi" else own["level"])
    target = prepared.target
    if "order" in own and own["order"] != "none":
        words["order"] = "given" if own["order"] == "given" else _order(own["names"], prepared, role)
    for part in ("required", "forbidden", "tiers"):
        if part == "required" and name == "pdag" and rules.required:
            raise OptionError("PDAG search cannot be told which arcs there must be. Take another learner.")
        if getattr(rules, part):
            words[part] = getattr(rules, part)
    learner = CLASSES[name](**words)
    n = len(prepared.schema)
    how: dict[str, Any] = {"nodes": range(n), "given": [n]} if role == "given" else {"nodes": [n, *range(n)]}
    how |= {"root": n} if role == "root" else {}
    learned = learner.learn(prepared.sample, **how, target=n, progress=progress)
    arcs = [(target, column) for column in prepared.schema.names] if role == "given" else []
    network = Network(prepared.values, [*arcs, *learned.network.arcs])
    return Learned(tuple(network.arcs), learned.undirected, learned.trace(), _code(learner, words, role, target))


def _order(names: Sequence[str], prepared: Prepared, role: str) -> tuple[str, ...]:
    """An order of all columns: those that are named, then the others as they are; the class first, if not named."""
    known = list(prepared.schema.names)
    for name in names:
        if name not in known and name != prepared.target:
            raise OptionError(f"the order names {name!r}, which is no column.{nearest(name, known)}")
    rest = [name for name in known if name not in names]
    order = [*dict.fromkeys(names), *rest]
    if role == "given":
        return tuple(name for name in order if name != prepared.target)
    return tuple(order) if prepared.target in order else (prepared.target, *order)


def _renamed(network: Network, old: str, new: str) -> list[Arc]:
    return [(new if parent == old else parent, new if child == old else child) for parent, child in network.arcs]


# --- the same in Python ---------------------------------------------------------------------------------------------


def _arguments(options: Mapping[str, Any]) -> str:
    return "".join(f"{name}={value!r}, " for name, value in options.items())


def _code(learner: Learner, words: Mapping[str, Any], role: str, target: str) -> tuple[str, ...]:
    cls = type(learner).__name__
    test = type(words["test"]).__name__ if "test" in words else ""
    how = "nodes=range(n), given=[n]" if role == "given" else "nodes=[n, *range(n)]"
    how += ", root=n" if role == "root" else ""
    arcs = "learned.network.arcs"
    if role == "given":
        arcs = f"[*(({target!r}, name) for name in sample.names[:n]), *{arcs}]"
    return (
        f"from tanager import {', '.join(sorted({cls, 'Network', 'Sample', *([test] if test else [])}))}",
        f"sample = Sample.of(X, y, target={target!r}, **options)",
        "n = len(sample.names) - 1  # the class is the last variable",
        f"learned = {cls}({_arguments(words).removesuffix(', ')}).learn(sample, {how}, target=n)",
        f"network = Network(dict(zip(sample.names, sample.values)), {arcs})",
    )


def _code_of_arcs(target: str, arcs: tuple[Arc, ...]) -> tuple[str, ...]:
    return (
        "from tanager import Network, Sample",
        f"sample = Sample.of(X, y, target={target!r}, **options)",
        f"network = Network(dict(zip(sample.names, sample.values)), {list(arcs)!r})",
    )
