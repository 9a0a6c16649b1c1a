"""Lists of names (``help``, ``dir``, completion) show what users call, and what they leave out is for other parts."""

import ast
import inspect
import pydoc
import re
from pathlib import Path

import pytest

import layers
import tanager
from tanager import AODE, TAN, Encoder, HalfLives, JointCounts, NaiveBayes
from tanager.evaluate import Results
from tanager.listed import Listed, names_in, unlisted_names

LISTED = [cls for name in tanager.__all__ if inspect.isclass(cls := getattr(tanager, name)) and issubclass(cls, Listed)]
MOST = 50  # names that a reader meets beside options


def shown(thing):
    """Names that are ours; scikit-learn brings some of its own."""
    hidden = {"get_metadata_routing", *getattr(thing, "option_defaults", dict)()}
    return {name for name in dir(thing) if not name.startswith("_") and not name.endswith("_request")} - hidden


def test_help_and_dir_show_what_users_call():
    called = {"fit", "partial_fit", "predict_proba", "explain", "learn_one", "unlearn", "merge", "save", "counts_"}
    model = AODE().fit([["a"], ["b"]], ["x", "y"])
    assert called <= shown(AODE) <= shown(model)
    assert not {"check_options", "known_rows", "learn_block", "note_columns", "order", "view_"} & shown(model)
    text = pydoc.plain(pydoc.render_doc(AODE))
    assert "Averaged one-dependence" in text
    assert "fit(self, X" in text
    assert "known_rows" not in text
    assert shown(Encoder) >= {"fit", "transform", "fit_transform", "get_feature_names_out"}


@pytest.mark.parametrize("cls", [*LISTED, Results], ids=lambda cls: cls.__name__)
def test_nobody_has_to_read_through_more_than_a_few_names(cls):
    assert len(shown(cls)) <= MOST


def test_what_is_refused_is_not_offered():
    assert not {"merge", "unlearn", "leave_one_out"} & shown(HalfLives)
    assert {"merge", "unlearn", "leave_one_out"} <= shown(NaiveBayes)


def test_unlisted_names_are_there_all_the_same():
    model = NaiveBayes().fit([["a"], ["b"]], ["x", "y"])
    assert model.has_learned
    assert "has_learned" not in dir(model)
    assert "_repr_html_" in dir(model)


def test_a_class_adds_to_what_its_ancestors_leave_out_and_options_are_listed():
    class Above(Listed):
        unlisted = names_in("a b")
        a = b = c = 1

    class Below(Above):
        unlisted = names_in("c")

    assert [name for name in dir(Below) if len(name) == 1] == []
    assert [name for name in dir(Above()) if len(name) == 1] == ["c"]
    assert "penalty" in dir(TAN)


def test_what_a_class_leaves_out_it_has():
    for cls in LISTED:
        missing = [name for name in unlisted_names(cls) if name[0] != "_" and not hasattr(cls, name)]
        assert set(missing) <= INSTANCES, cls.__name__


INSTANCES = set(names_in("n_asked n_counted"))  # attributes of instances
WORD = re.compile(r"\w+")


def names_left_out():
    """Each name that a class leaves out of lists, with the part and the class that say so."""
    bases = {base for cls in LISTED for base in cls.__mro__ if base.__module__.startswith("tanager")}
    places = [(base, base.__module__.split(".")[1]) for base in bases]
    return {(name, home, base.__name__) for base, home in places for name in vars(base).get("unlisted", ())}


def names_used(text):
    """Attributes that a file uses or defines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_what_no_other_part_uses_is_private_and_not_unlisted():
    """Experiments, benchmarks and tests are other parts, too. Files in which no such name stands are not parsed."""
    outside = [path for top in ("experiments", "benchmarks", "tests") for path in Path(layers.ROOT, top).rglob("*.py")]
    idle = names_left_out()
    assert idle
    for path in [*layers.files(), *outside]:
        part = layers.part_of(path) if layers.PACKAGE in path.parents else path.relative_to(layers.ROOT).parts[0]
        wanted = {name for name, home, _ in idle if home != part}
        text = path.read_text(encoding="utf-8")
        if not wanted.isdisjoint(WORD.findall(text)):
            used = wanted.intersection(names_used(text))
            idle = {(name, home, cls) for name, home, cls in idle if home == part or name not in used}
    assert not idle, f"{sorted(idle)} are used by no other part; give them private names"


def test_counts_list_what_can_be_asked_of_them():
    assert {"update", "merge", "subtract", "joint", "project", "to_bytes"} <= shown(JointCounts)
    assert "learn_row" not in shown(JointCounts)
