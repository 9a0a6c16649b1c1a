"""Public signatures say what they take and give: a bare ``Any`` needs a reason."""

import inspect
from functools import cached_property

import tanager

HANDED_ON = {
    "options",
    "params",
    "encoder_options",
    "shape",
    "fields",
}  # keywords of another function
ALLOWED = {
    "DriftAware": "detectors of any library, by what they can do",
    "CountsClassifier.widget": "a widget of anywidget, which may not be installed",
    "Network.widget": "a widget of anywidget, which may not be installed",
    "network_widget": "a widget of anywidget, which may not be installed",
}


def functions():
    """Public functions, and the listed methods and properties of public classes, by name."""
    for name in tanager.__all__:
        thing = getattr(tanager, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing):
            yield from methods(thing)


def methods(cls):
    for name in dir(cls):
        home = next((base for base in cls.__mro__ if name in vars(base)), None)
        if name.startswith("_") or home is None or not home.__module__.startswith("tanager"):
            continue
        member = vars(home)[name]
        if isinstance(member, classmethod | staticmethod):
            member = member.__func__
        elif isinstance(member, property):
            member = member.fget
        elif isinstance(member, cached_property):
            member = member.func
        if inspect.isfunction(member):
            yield f"{home.__name__}.{name}", member
    if inspect.isfunction(vars(cls).get("__init__")):
        yield cls.__name__, vars(cls)["__init__"]


def test_public_signatures_have_no_bare_any_without_a_reason():
    found = {}
    for name, function in functions():
        parameters = inspect.signature(function).parameters
        bare = {own for own, kind in inspect.get_annotations(inspect.unwrap(function)).items() if kind == "Any"}
        if next(iter(parameters), "") == "model" and "." in name:  # a function that is the getter of a property
            bare.discard("model")
        found[name] = bare - {own for own in bare & HANDED_ON if parameters[own].kind is inspect.Parameter.VAR_KEYWORD}
    assert {name for name, bare in found.items() if bare} == set(ALLOWED)
    assert len(found) > 300
