"""Classifiers by their names on the command line, and options from its arguments."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tanager.classifiers.names import MODELS
from tanager.cli.screen import listed
from tanager.errors import OptionError, nearest

LEARNERS = {"cbl": "CBL", "hill-climb": "HillClimb", "k2": "K2", "chow-liu": "ChowLiu", "pdag": "PDAGSearch"}

_HIDDEN = {"schema", "model", "network", "target"}  # set by the name of the model, or by options of the command


def make_model(name: str, settings: Mapping[str, Any]) -> Any:
    """The classifier of that name with these options."""
    options = {**MODELS[name].options, **settings}
    known = option_names(name)
    for option in options:
        if option not in known:
            hint = nearest(option, known) or f" List them with: tanager fit --model {name} --options"
            raise OptionError(f"the model {name!r} has no option {option!r}.{hint}")
    if isinstance(options.get("candidates"), Sequence):
        options["candidates"] = [make_model(str(candidate), {}) for candidate in options["candidates"]]
    if isinstance(options.get("leaf"), str):
        options["leaf"] = make_model(options["leaf"], {})
    if isinstance(options.get("learner"), str):
        options["learner"] = learner_class(options["learner"])()
    if "smoothing" in options:
        options["smoothing"] = parse_smoothing(options["smoothing"])
    inner = MODELS[name].wraps
    if inner:
        theirs = _inner_options(name)
        options["model"] = _class(inner)(**{key: options.pop(key) for key in [*options] if key in theirs})
    model = _class(name)(**options)
    model.check_options()
    return model


def option_names(name: str) -> list[str]:
    """The options of a model, and of the one that it wraps."""
    inner = _inner_options(name) - _HIDDEN if MODELS[name].wraps else ()
    own = [option for option in parameter_names(_class(name)) if option not in _HIDDEN]
    return sorted({*own, *inner, *(["network", "target"] if name == "network" else [])})


def _inner_options(name: str) -> set[str]:
    """The options that a wrapper passes to the model inside: those that it has not itself, and the smoothing."""
    return {*parameter_names(_class(MODELS[name].wraps))} - {*parameter_names(_class(name))} | {"smoothing"}


def parameter_names(cls: type) -> list[str]:
    """The names of the options of a classifier."""
    return list(inspect.signature(cls).parameters)


def learner_class(name: str) -> Any:
    """The structure learner of that name."""
    import tanager

    if name not in LEARNERS:
        raise OptionError(
            f"unknown learner {name!r}.{nearest(name, LEARNERS) or f' Known learners: {listed(LEARNERS)}.'}"
        )
    return getattr(tanager, LEARNERS[name])


def default_learner(name: str) -> Any:
    """The structure learner that a model uses unless another one is given."""
    return _class(MODELS[name].wraps or name).default_learner


def _class(name: str) -> Any:
    import tanager

    check_model(name)
    return getattr(tanager, MODELS[name].cls)


def check_model(name: str) -> None:
    """Raise OptionError for an unknown model."""
    if name not in MODELS:
        raise OptionError(f"unknown model {name!r}.{nearest(name, MODELS) or f' Known models: {listed(MODELS, 99)}.'}")


def parse_settings(pairs: Sequence[str], **flags: Any) -> dict[str, Any]:
    """Options from ``--set option=value`` and from flags; flags that were not given are left out.

    >>> parse_settings(["k=3", "criterion=aic", 'bins={"age": [18, 65]}'], n_bins=None)
    {'k': 3, 'criterion': 'aic', 'bins': {'age': [18, 65]}}
    """
    found = {name: value for name, value in flags.items() if value not in (None, [])}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise OptionError(f"--set {pair}: write option=value, for example --set k=3")
        found[name.strip().replace("-", "_")] = parse_value(text)
    return found


def parse_value(text: str) -> Any:
    """A JSON value, or the text itself where it is not JSON; "inf" is a number as well."""
    if text == "inf":
        return float(text)
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_smoothing(value: Any) -> Any:
    """A number, or an estimator with its strength.

    >>> parse_smoothing("m:2"), parse_smoothing("0.5")
    (MEstimate(strength=2.0), 0.5)
    """
    if not isinstance(value, str):
        return value
    from tanager.counts.estimates import ESTIMATES

    if value == "learned":
        return value
    kind, colon, strength = value.partition(":")
    try:
        if kind not in ESTIMATES:
            return float(value)
        rule: Any = ESTIMATES[kind]
        return rule(float(strength)) if colon else rule()
    except ValueError:
        raise OptionError(
            f"smoothing {value!r} is not valid; give a number, or one of {', '.join(ESTIMATES)} with a strength, "
            "for example m:2.",
        ) from None


def options_of(name: str) -> list[dict[str, Any]]:
    """The options of a model, its own first: name, default, and the description in its docstring."""
    from tanager.docstrings import described
    from tanager.learning.counts_classifier import CountsClassifier

    preset = MODELS[name].options
    words: dict[str, str] = {}
    own: set[str] = set()
    defaults: dict[str, Any] = {}
    for cls in (_class(MODELS[name].wraps or name), _class(name)):
        defaults = {option: p.default for option, p in inspect.signature(cls).parameters.items()} | defaults
        words |= described(cls)
        own |= set(described(cls, alone=True)) | (set(defaults) - set(CountsClassifier.option_defaults()))
    return [
        {"option": option, "default": preset.get(option, defaults[option]), "about": words.get(option, "")}
        for option in sorted(option_names(name), key=lambda option: (option not in own, option))
        if option not in _HIDDEN
    ]
