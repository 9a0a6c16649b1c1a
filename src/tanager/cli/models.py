"""Classifiers by name, for the command line; this is the one table that knows them."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tanager.cli.screen import listed
from tanager.errors import OptionError, nearest


@dataclass(frozen=True)
class Entry:
    """The class behind a name, a line of help, options that the name stands for, and the model that it wraps.

    Those that take their time, and those that need more words, are compared with others only when they are named.
    """

    cls: str
    about: str
    options: Mapping[str, Any] = field(default_factory=dict)
    wraps: str = ""
    compared: bool = True


MODELS = {
    "nb": Entry("NaiveBayes", "naive Bayes: columns depend on the class alone"),
    "gaussian-nb": Entry("NaiveBayes", "naive Bayes with normal distributions for numbers", {"gaussian": True}),
    "tan": Entry("TAN", "a tree: each column depends on one other"),
    "fan": Entry("FAN", "a forest: the arcs of the tree that pay"),
    "sptan": Entry("SuperParentTAN", "a tree grown by accuracy; slow"),
    "kdb": Entry("KDB", "up to k other parents for each column (--set k=2)"),
    "skdb": Entry("SelectiveKDB", "kdb that chooses k and the columns"),
    "spode": Entry("SPODE", "one column is a parent of all others"),
    "aode": Entry("AODE", "the mean over all such; try it first"),
    "aodesr": Entry("AODE", "aode that leaves out values which repeat others", {"subsumption": 50}),
    "waode": Entry("WAODE", "aode weighted by information; for noisy columns"),
    "a2de": Entry("A2DE", "the mean over pairs of columns as parents"),
    "anytime": Entry("AnytimeAODE", "naive Bayes at once, better with time; for services", compared=False),
    "anytime2": Entry("AnytimeA2DE", "the same with pairs of columns as parents", compared=False),
    "hnb": Entry("HNB", "each column depends on a mixture of all others"),
    "fanc": Entry("FANC", "a vote of n! forests"),
    "spc": Entry("SPC", "a vote of forests with a super-parent"),
    "spcr": Entry("SPC", "spc with the super-parent chosen on the rows", {"super_parent": "refined"}),
    "tc": Entry("TC", "a vote of networks with up to two parents"),
    "best": Entry("BestOf", "tries several and keeps the best"),
    "ban": Entry("BAN", "any network among the columns, below the class"),
    "gbn": Entry("GeneralNetwork", "any network; the columns around the class answer", compared=False),
    "mn": Entry("MultiNet", "a network of its own for every class", compared=False),
    "clmn": Entry("ChowLiuMultiNet", "a tree of its own for every class"),
    "w-gbn": Entry("Wrapped", "gbn with the threshold that does best", wraps="gbn", compared=False),
    "w-mn": Entry("Wrapped", "mn with the threshold that does best", wraps="mn", compared=False),
    "w-mn-fs": Entry(
        "Wrapped", "w-mn on the columns that w-gbn chooses", {"features": "blanket"}, wraps="mn", compared=False
    ),
    "evolving": Entry("EvolvingNaiveBayes", "classes made of clusters that come and go; fuzzy rules", compared=False),
    "network": Entry("NetworkClassifier", "a network that a person has drawn (--network)", compared=False),
}

LEARNERS = {"cbl": "CBL", "hill-climb": "HillClimb", "k2": "K2", "chow-liu": "ChowLiu"}

_NOT_HERE = {"schema", "model", "network", "target"}  # said by the name of the model, or by flags of their own


def make(name: str, settings: Mapping[str, Any]) -> Any:
    """The classifier of that name with these options."""
    options = {**MODELS[name].options, **settings}
    known = option_names(name)
    for option in options:
        if option not in known:
            hint = nearest(option, known) or f" List them with: tanager fit --model {name} --options"
            raise OptionError(f"the model {name!r} has no option {option!r}.{hint}")
    if isinstance(options.get("candidates"), Sequence):
        options["candidates"] = [make(str(candidate), {}) for candidate in options["candidates"]]
    if isinstance(options.get("learner"), str):
        options["learner"] = learner_class(options["learner"])()
    if "smoothing" in options:
        options["smoothing"] = smoothing(options["smoothing"])
    inner = MODELS[name].wraps
    if inner:
        options["model"] = _class(inner)(**{key: options.pop(key) for key in [*options] if key in _own_options(inner)})
    model = _class(name)(**options)
    model.check_options()
    return model


def option_names(name: str) -> list[str]:
    """The options of a model, and of the one that it wraps."""
    inner = _own_options(MODELS[name].wraps) if MODELS[name].wraps else ()
    own = [option for option in _class(name)._get_param_names() if option not in _NOT_HERE]
    return sorted({*own, *inner, *(["network", "target"] if name == "network" else [])})


def _own_options(name: str) -> set[str]:
    """The options in which a model differs from all others, and how it smooths: what a wrapper hands on."""
    from tanager.learning.counts_classifier import CountsClassifier

    return {*_class(name)._get_param_names()} - {*CountsClassifier._get_param_names()} | {"smoothing"}


def learner_class(name: str) -> Any:
    """The structure learner of that name."""
    import tanager

    if name not in LEARNERS:
        raise OptionError(
            f"there is no learner {name!r}.{nearest(name, LEARNERS) or f' Known are {listed(LEARNERS)}.'}"
        )
    return getattr(tanager, LEARNERS[name])


def _class(name: str) -> Any:
    import tanager

    check_model(name)
    return getattr(tanager, MODELS[name].cls)


def check_model(name: str) -> None:
    """Refuse a name that is no model."""
    if name not in MODELS:
        raise OptionError(f"there is no model {name!r}.{nearest(name, MODELS) or f' Known are {listed(MODELS, 99)}.'}")


def settings(pairs: Sequence[str], **flags: Any) -> dict[str, Any]:
    """What ``--set option=value`` and the flags for common options say; a flag that was not given says nothing.

    >>> settings(["k=3", "criterion=aic", 'bins={"age": [18, 65]}'], n_bins=None)
    {'k': 3, 'criterion': 'aic', 'bins': {'age': [18, 65]}}
    """
    found = {name: value for name, value in flags.items() if value not in (None, [])}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise OptionError(f"--set {pair}: write option=value, for example --set k=3")
        found[name.strip().replace("-", "_")] = value_of(text)
    return found


def value_of(text: str) -> Any:
    """A value in JSON, or the text itself where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def smoothing(value: Any) -> Any:
    """A number, or a rule with its strength.

    >>> smoothing("m:2"), smoothing("0.5")
    (MEstimate(strength=2.0), 0.5)
    """
    if not isinstance(value, str):
        return value
    from tanager.counts.estimates import ESTIMATES

    kind, colon, strength = value.partition(":")
    try:
        if kind not in ESTIMATES:
            return float(value)
        rule: Any = ESTIMATES[kind]
        return rule(float(strength)) if colon else rule()
    except ValueError:
        raise OptionError(
            f"smoothing {value!r} means nothing; give a number, or one of {', '.join(ESTIMATES)} with a strength, "
            "for example m:2.",
        ) from None


def options_of(name: str) -> list[dict[str, Any]]:
    """The options of a model, its own first: name, default, and the words of the documentation."""
    from tanager.encoding import Encoder

    preset = MODELS[name].options
    common: dict[str, str] = {}
    own: dict[str, str] = {}
    defaults: dict[str, Any] = {}
    for cls in (_class(MODELS[name].wraps or name), _class(name)):
        defaults = {option: p.default for option, p in inspect.signature(cls).parameters.items()} | defaults
        for base in reversed(cls.__mro__[1:]):
            common |= _documented(base)
        own |= _documented(cls)
    words = {**common, **_documented(Encoder), **own}
    return [
        {"option": option, "default": preset.get(option, defaults[option]), "about": words.get(option, "")}
        for option in sorted(option_names(name), key=lambda option: (option not in own, option))
        if option not in _NOT_HERE
    ]


def _documented(cls: type) -> dict[str, str]:
    """The paragraphs under Parameters of a docstring, by the names before them."""
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    found: dict[str, str] = {}
    for names, body in re.findall(
        r"^(\w[\w, ]*?)(?: :[^\n]*)?\n((?:    [^\n]*\n?)+)", section[1] if section else "", re.M
    ):
        found |= dict.fromkeys(re.split(r",\s*", names), " ".join(body.replace("``", "").split()))
    return found
