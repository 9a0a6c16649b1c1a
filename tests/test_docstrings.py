"""Public names say what they take and give: options from one text, in numpydoc's form, with examples that run."""

import inspect
import pydoc
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path

import pytest

import tanager
from tanager import AODE, TAN, BestOf, ChowLiu, DriftAware, Encoder, NaiveBayes
from tanager.docstrings import OPTIONS, described, own_words
from tanager.estimator import HasOptions
from tanager.learning.counts_classifier import CountsClassifier

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "tanager"
PUBLIC = {name: getattr(tanager, name) for name in tanager.__all__}
WITH_OPTIONS = [cls for cls in PUBLIC.values() if inspect.isclass(cls) and issubclass(cls, HasOptions)]

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]
INHERITED = {"GL08", "PR01", "RT01"}  # what a method need not say again that another class has described
NO_EXAMPLES = {"spark"}  # needs a session of Spark, which is not started here; docs/spark.md shows how they are called
NO_EXAMPLE = {
    "tanager.to_onnx": "needs a package that may not be there; tests/export runs it",
    "tanager.cluster.Engine": "an alias for annotations; run_here shows what an engine does",
    "tanager.cluster.MOST_DISTINCT": "a number, the default of max_distinct, which fit describes",
    "tanager.cluster.Rows": "an alias for annotations; run_here shows chunks of rows",
    "tanager.encoding.Columns": "an alias for annotations",
    "tanager.encoding.OTHER": "a value; Column shows where it stands",
    "tanager.files.MISSING": "a list of marks, which open_table describes",
}


def public_modules():
    """The package, and the modules and folders in it that say what is public in them."""
    yield tanager
    for path in sorted([*PACKAGE.glob("*.py"), *PACKAGE.glob("*/__init__.py")]):
        name = path.parent.name if path.name == "__init__.py" else path.stem
        if name not in {"tanager", *NO_EXAMPLES} and "\n__all__ = " in path.read_text("utf-8"):
            yield import_module(f"tanager.{name}")


def is_ours(thing):
    """Whether it is a function or class of ours, which has a docstring of its own; constants and aliases have none."""
    return (inspect.isclass(thing) or inspect.isroutine(thing)) and thing.__module__.startswith("tanager")


def public_names():
    """Every public name with its module, and the thing itself; modules are left out."""
    for module in public_modules():
        for name in module.__all__:
            thing = getattr(module, name)
            if not inspect.ismodule(thing):
                yield f"{module.__name__}.{name}", thing


def members(cls):
    """Listed methods and properties of a class of ours, where they are defined, and whether an ancestor has them."""
    for name in dir(cls):
        homes = [base for base in cls.__mro__ if name in vars(base)]
        if name.startswith("_") or not homes[0].__module__.startswith("tanager"):
            continue
        if isinstance(
            vars(homes[0])[name], staticmethod | classmethod | property | cached_property
        ) or inspect.isfunction(vars(homes[0])[name]):
            yield f"{homes[0].__module__}.{homes[0].__qualname__}.{name}", len(homes) > 1


def public_places():
    """Where each public name and each of its members is defined, and whether an ancestor has described it."""
    places = {}
    for thing in (thing for _, thing in public_names() if is_ours(thing)):
        places[f"{thing.__module__}.{thing.__qualname__}"] = False
        if inspect.isclass(thing):
            places |= dict(members(thing))
    return places


def faults(place, inherited):
    from numpydoc.validate import validate

    leave_out = INHERITED if inherited else set()
    return [text for code, text in validate(place)["errors"] if code in SETTINGS["checks"] and code not in leave_out]


PLACES = public_places()


@pytest.mark.parametrize("folder", sorted({place.split(".")[1] for place in PLACES}))
def test_docstrings_are_as_numpydoc_wants_them(folder):
    pytest.importorskip("numpydoc")
    here = {place: inherited for place, inherited in PLACES.items() if place.split(".")[1] == folder}
    found = {place: words for place, inherited in here.items() if (words := faults(place, inherited))}
    assert not found, "\n".join(f"{place}: {'; '.join(words)}" for place, words in found.items())


def test_what_numpydoc_would_find_is_found():
    pytest.importorskip("numpydoc")
    assert "Parameters {'sample', 'nodes'} not documented" in " ".join(
        faults("tanager.structure.learner.Learner.required_alone", False)
    ).replace("{'nodes', 'sample'}", "{'sample', 'nodes'}")
    assert "tanager.learning.classifier.Classifier.fit" in PLACES
    assert {"tanager.cluster.protocol.fit", "tanager.evaluate.table.Table.to_csv"} <= set(PLACES)
    assert len(PLACES) > 500


def names_without_example():
    """Public names whose docstring has no example; a constant has none, whatever Python says of its type."""
    return [name for name, thing in public_names() if not is_ours(thing) or ">>>" not in (inspect.getdoc(thing) or "")]


def test_every_name_of_every_public_module_has_an_example_that_runs():
    without = set(names_without_example())
    assert not without - set(NO_EXAMPLE), "write an example that runs"
    assert set(NO_EXAMPLE) <= without, "these have an example now"


def test_public_modules_are_found():
    names = {module.__name__ for module in public_modules()}
    assert {"tanager", "tanager.cluster", "tanager.datasets", "tanager.encoding", "tanager.evaluate"} <= names
    assert {"tanager.files", "tanager.generate", "tanager.plot"} <= names


@pytest.mark.parametrize("cls", WITH_OPTIONS, ids=lambda cls: cls.__name__)
def test_every_option_is_described_in_the_order_of_the_signature(cls):
    words = described(cls)
    assert list(words) == list(inspect.signature(cls).parameters)
    assert all(words.values())


def test_a_shared_option_is_described_by_one_text():
    shared = " ".join(OPTIONS.replace("``", "").split())
    assert described(AODE)["decay"] == described(TAN)["decay"] == described(BestOf)["decay"]
    assert described(AODE)["decay"] in shared
    assert described(Encoder)["max_values"] == described(NaiveBayes)["max_values"]


def test_defaults_are_those_of_the_signature():
    assert 'smoothing : float, Estimate, "learned" or None, default=1.0\n' in AODE.__doc__
    assert 'smoothing : float, Estimate, "learned" or None, default="learned"\n' in tanager.KDB.__doc__
    assert "n_bins : int, default=8\n" in tanager.HoeffdingTree.__doc__


def test_a_class_may_say_more_about_a_shared_option():
    assert described(AODE)["bins"].startswith("How columns of numbers are cut")
    assert described(AODE)["bins"].endswith('Here fit cuts by "refined" with None.')
    assert described(BestOf)["bins"].endswith("All candidates have the same bins. " + described(AODE)["bins"][-37:])
    assert described(ChowLiu)["required"] == "Arcs that must be in the network. They are added first."


def test_attributes_are_described_with_those_of_ancestors():
    text = TAN.__doc__
    assert "classes_ : array of shape (n_classes,)\n    The labels" in text
    assert "class_count_ : array\n    The weight of the rows of each class" in text
    assert text.index("Parameters\n") < text.index("Attributes\n") < text.index("Notes\n") < text.index("Examples\n")


def test_help_shows_it_for_classes_and_instances_and_keeps_what_the_source_says():
    assert "n_jobs : int or None, default=None" in pydoc.render_doc(AODE)
    assert AODE().__doc__ == AODE.__doc__
    assert "n_jobs" not in own_words(AODE)
    assert own_words(AODE) in AODE.__doc__ or own_words(AODE).split("\n")[0] == AODE.__doc__.split("\n")[0]


def test_a_class_of_a_user_is_completed_too():
    @dataclass(eq=False, repr=False, kw_only=True)
    class Mine(CountsClassifier):
        """Mine alone.

        Parameters
        ----------
        depth : int
            How deep.
        """

        depth: int = 3

    assert Mine.__doc__.startswith("Mine alone.\n\nParameters\n----------\nsmoothing : ")
    assert "depth : int, default=3\n    How deep.\n" in Mine.__doc__
    assert CountsClassifier.__doc__.count("default=") == 23

    class Silent(Mine):
        pass

    assert Silent().depth == 3
    assert isinstance(inspect.getdoc(Silent), str)


def test_options_of_inner_classifiers_are_not_listed():
    assert not any("__" in name for name in described(DriftAware))


def test_docstrings_are_made_when_they_are_read():
    code = (
        "from tanager import AODE, docstrings; "
        "docstrings.completed = lambda cls, own: 'made'; "
        "model = AODE().fit([['a'], ['b']], ['x', 'y']); model.predict([['a']]); "
        "print(vars(AODE)['__doc__'].own[:8], AODE.__doc__)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "Averaged made"
