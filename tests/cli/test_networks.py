"""Networks at the command: how they are learned, shown, compared and handed on."""

import json
from pathlib import Path

import pytest

import tanager
from tanager import CBL, K2, ChowLiu, GSquared, HillClimb, Network, PDAGSearch
from tanager.cli.models import MODELS, option_names

FLAGS = {
    "learner": (["--learner", "k2"], K2()),
    "threshold": (["--threshold", 0.2], CBL(threshold=0.2)),
    "test": (["--test", "g2:0.01"], CBL(test=GSquared(0.01))),
    "order": (["--order", "class,petal_width"], CBL(order=("class", "petal_width"))),
    "order of the file": (["--order", "given"], CBL(order="given")),
    "required": (["--require", "petal_width:petal_length"], CBL(required=(("petal_width", "petal_length"),))),
    "forbidden": (
        ["--forbid", "class:sepal_width", "--forbid", "petal_width:sepal_width"],
        CBL(forbidden=(("class", "sepal_width"), ("petal_width", "sepal_width"))),
    ),
    "tiers": (
        ["--tiers", "class/petal_width,petal_length/sepal_width"],
        CBL(tiers=(("class",), ("petal_width", "petal_length"), ("sepal_width",))),
    ),
    "search": (
        ["--learner", "hill-climb", "--score", "bdeu", "--max-parents", 1],
        HillClimb(score="bdeu", max_parents=1),
    ),
    "around the class": (
        ["--learner", "pdag", "--score", "aic", "--no-class-root", "--trace"],
        PDAGSearch(score="aic"),
    ),
    "tree": (["--learner", "chow-liu", "--threshold", 0.3], ChowLiu(threshold=0.3)),
}


@pytest.mark.parametrize(("words", "learner"), FLAGS.values(), ids=FLAGS)
def test_flags_become_a_learner(run, iris, words, learner):
    done = run("fit", iris, "--model", "gbn", "--no-loo", *words)
    if "order" in words[0] and learner.order != "given":  # the rest of the columns is missing
        assert done.code == 2
        assert "sepal_length" in done.err
        return
    assert done.code == 0, done.err
    assert tanager.load("iris.tanager").learner == learner


def test_options_of_models_have_flags(run, iris):
    run("fit", iris, "--model", "gbn", "--no-class-root", "--sum-out")
    model = tanager.load("iris.tanager")
    assert (model.class_root, model.missing) == (False, "marginal")
    done = run("fit", iris, "--model", "nb", "--fit-by", "conditional-likelihood")
    assert tanager.load("iris.tanager").fit_by == "conditional_likelihood"
    assert "each row left out" not in done.out
    assert "no leave-one-out evaluation" in done.err


def test_a_wrapper_hands_on_what_is_meant_for_the_model_inside(run, iris):
    words = ["--smoothing", "m:2", "--set", "grid=[0.05,0.1]", "--set", "missing=marginal", "--learner", "chow-liu"]
    run("fit", iris, "--model", "w-mn-fs", "--bins", "width", *words)
    model = tanager.load("iris.tanager")
    assert (model.bins, model.grid) == ("width", [0.05, 0.1])
    inner = model.model
    assert (type(inner).__name__, inner.features, inner.missing) == ("MultiNet", "blanket", "marginal")
    assert (inner.smoothing, inner.learner) == (tanager.MEstimate(2), ChowLiu())


def test_required_and_forbidden_arcs_are_kept(run, iris):
    words = ["--require", "sepal_width:petal_width", "--forbid", "class:petal_length", "--threshold", 0.02]
    run("fit", iris, "--model", "gbn", *words)
    arcs = tanager.load("iris.tanager").learned_.network.arcs
    assert ("sepal_width", "petal_width") in arcs
    assert ("class", "petal_length") not in arcs


def test_the_trace_tells_every_step(run, iris):
    done = run("fit", iris, "--model", "gbn", "--trace")
    assert "\nSteps of the structure learner\n" in done.out
    learned = tanager.load("iris.tanager").learned_
    assert learned.trace() in done.out
    steps = run("fit", iris, "--model", "gbn", "--trace", "--json").document["steps"]
    assert len(steps) == len(learned.steps)
    assert {"phase", "action", "arc", "value", "given", "class"} <= set(steps[0])


def test_the_trace_of_a_multi_net_and_of_a_wrapper(run, iris):
    out = run("fit", iris, "--model", "clmn", "--trace").out
    assert all(f"Steps of the structure learner, class = {c}\n" in out for c in ("setosa", "versicolor", "virginica"))
    out = run("fit", iris, "--model", "w-gbn", "--trace", "--set", "grid=[0.05,0.2]").out
    assert "\nTried\nsetting " in out
    assert "* chosen" in out


def test_the_columns_that_matter_are_named(run, iris):
    done = run("fit", iris, "--model", "gbn", "--threshold", 0.5)
    used = tanager.load("iris.tanager").blanket_
    assert f"\nPredictions depend on {len(used)} of 4 columns: {', '.join(used)}\n" in done.out


def drawn():
    """Petals depend on the class, the width of sepals on nothing."""
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width", "class"]
    arcs = [("class", "petal_width"), ("class", "petal_length"), ("petal_width", "petal_length")]
    Path("drawn.json").write_text(json.dumps(Network(dict.fromkeys(names, ("a", "b")), arcs).to_dict()))
    return arcs


def test_a_network_that_a_person_has_drawn_is_learned(run, iris):
    arcs = drawn()
    done = run("fit", iris, "--network", "drawn.json")
    assert done.code == 0, done.err
    model = tanager.load("iris.tanager")
    assert type(model).__name__ == "NetworkClassifier"
    assert sorted(model.network_.arcs) == sorted(arcs)
    assert "Predictions depend on 2 of 4 columns: petal_length, petal_width" in done.out


@pytest.mark.parametrize("ending", ["bif", "xml", "xmlbif", "json", "dot"])
def test_a_model_is_converted_and_read_again(run, iris, ending):
    run("fit", iris, "--model", "tan")
    done = run("convert", "iris.tanager", f"iris.{ending}")
    assert done.out == f"iris.tanager written to iris.{ending}: 7 arcs\n"
    ours, theirs = tanager.load("iris.tanager").network_, tanager.read_network(f"iris.{ending}")
    if ending == "dot":
        assert set(theirs.arcs) == set(ours.arcs)
    else:
        assert theirs == ours


def test_a_network_is_converted_and_shown(run, iris):
    arcs = drawn()
    assert run("convert", "drawn.json", "drawn.dot", "--json").document["arcs"] == len(arcs)
    out = run("show", "drawn.dot", "--target", "class").out
    assert out.startswith("Network in drawn.dot (")
    assert out.endswith("""
class
├─ petal_length ← petal_width
└─ petal_width
without arcs: sepal_length, sepal_width
""")
    report = run("show", "drawn.json", "--json").document
    assert [(arc["parent"], arc["child"]) for arc in report["arcs"]] == sorted(
        arcs, key=lambda arc: arc[1] != "petal_length"
    )
    assert run("convert", "drawn.json", "drawn.txt", "--target", "class").code == 0
    assert Path("drawn.txt").read_text() == out.split("\n\n", 1)[1]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_networks_and_models_are_converted_to_pictures(run, iris, ending):
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
    drawn()
    run("fit", iris, "--model", "clmn")
    for source, path in (("iris.tanager", "models"), ("drawn.json", "first"), ("drawn.json", "second")):
        assert run("convert", source, f"{path}.{ending}", "--title", "Irises").code == 0
        assert Path(f"{path}.{ending}").read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")
    assert Path(f"first.{ending}").read_bytes() == Path(f"second.{ending}").read_bytes()


def test_one_class_of_a_multi_net_is_converted(run, iris):
    run("fit", iris, "--model", "clmn")
    assert run("convert", "iris.tanager", "setosa.bif", "--class", "setosa").code == 0
    assert tanager.read_network("setosa.bif") == tanager.load("iris.tanager").networks_["setosa"]


def test_two_networks_are_compared(run, iris):
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
    drawn()
    run("fit", iris, "--model", "gbn", "--threshold", 0.2)
    done = run("show", "iris.tanager", "--compare-to", "drawn.json", "--plot", "changes.svg", "--json")
    compared = done.document["compared"]
    ours = tanager.load("iris.tanager").network_.arcs
    assert sorted(map(tuple, compared["in both"] + compared.get("added", []) + compared.get("turned", []))) == sorted(
        ours
    )
    assert Path("changes.svg").exists()
    assert "\nCompared to drawn.json\n" in run("show", "iris.tanager", "--compare-to", "drawn.json").out


def test_show_draws_a_multi_net_class_after_class(run, iris):
    run("fit", iris, "--model", "clmn")
    out = run("show", "iris.tanager").out
    assert out.count(": a parent of all\n") == 3
    networks = run("show", "iris.tanager", "--json").document["networks"]
    assert [own["class"] for own in networks] == ["class = setosa", "class = versicolor", "class = virginica"]


MISTAKES = {
    "no learner": (
        ["--model", "tan", "--forbid", "class:petal_width"],
        "--forbid does not apply to the model 'tan'; it is",
    ),
    "no class root": (
        ["--model", "mn", "--no-class-root"],
        "--class-root does not apply to the model 'mn'; it is for gbn, w-gbn",
    ),
    "no order": (["--model", "gbn", "--learner", "hill-climb", "--order", "given"], "it is for --learner cbl or k2."),
    "no score": (
        ["--model", "gbn", "--score", "bic"],
        "--score does not apply to cbl; it is for --learner hill-climb or k2 or pdag.",
    ),
    "no trace": (["--trace"], "--trace does not apply to the model 'aode'"),
    "no arc": (["--model", "gbn", "--require", "petal_width"], "write parent:child, for example --require age:income."),
    "no column": (
        ["--model", "gbn", "--forbid", "class:petal_widht"],
        "no column 'petal_widht'. Did you mean 'petal_width'?",
    ),
    "no test": (["--model", "gbn", "--test", "g3"], "unknown test 'g3'. Known tests: mi, g2, x2."),
    "no level": (["--model", "gbn", "--test", "g2:x"], "'x' is not a number. Write g2:0.01, for example."),
    "no threshold": (["--model", "w-gbn", "--threshold", "0.1"], "selects its threshold itself. Give the candidates"),
    "no network": (["--model", "network"], "needs --network FILE"),
    "no file": (["--network", "no.bif"], "there is no file 'no.bif'"),
    "a contradiction": (
        ["--model", "gbn", "--require", "class:petal_width", "--forbid", "class:petal_width"],
        "'class' -> 'petal_width' is required and forbidden.",
    ),
    "unknown learner": (["--model", "gbn", "--set", "learner=clb"], "unknown learner 'clb'. Did you mean 'cbl'?"),
}


@pytest.mark.parametrize(("words", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_gets_a_sentence_with_the_way_out(refused, iris, words, sentence):
    assert sentence in refused("fit", iris, "--no-loo", *words)


CONVERSIONS = {
    "a vote": (["aode", "x.bif"], "AODE in iris.tanager averages over many networks. Learn a single one"),
    "no class": (["clmn", "x.bif"], "has a network for every class. Choose one with --class: setosa"),
    "wrong class": (["clmn", "x.bif", "--class", "setose"], "Did you mean 'setosa'?"),
    "one network": (["tan", "x.bif", "--class", "setosa"], "--class is for models with a network for every class"),
    "no ending": (["tan", "x"], "unknown extension. Use one of .bif"),
    "no folder": (["tan", "no/x.bif"], "there is no folder 'no'"),
}


@pytest.mark.parametrize(("words", "sentence"), CONVERSIONS.values(), ids=CONVERSIONS)
def test_what_cannot_be_converted_is_refused(refused, run, iris, words, sentence):
    run("fit", iris, "--model", words[0])
    assert sentence in refused("convert", "iris.tanager", *words[1:])


def test_a_file_that_is_no_network_is_refused(refused, iris):
    Path("bad.bif").write_text("network unknown {}\nvariable a {")
    assert "bad.bif" in refused("convert", "bad.bif", "x.xml")
    assert "bad.bif" in refused("show", "bad.bif")


def test_models_that_learn_networks_have_the_flags_of_their_learner():
    having = [name for name in MODELS if "learner" in option_names(name)]
    assert having == ["ban", "gbn", "mn", "clmn", "w-gbn", "w-mn", "w-mn-fs"]


def test_a_model_is_written_for_databases(run, iris):
    run("fit", iris, "--model", "tan")
    assert run("convert", "iris.tanager", "irises.sql", "--json").document["classifier"] == "TAN"
    assert 'FROM "irises"' in Path("irises.sql").read_text()
    run("convert", "iris.tanager", "x.sql", "--dialect", "postgres", "--table", "flowers", "--keep", "id")
    text = Path("x.sql").read_text()
    assert 'FROM "flowers"' in text
    assert '"id"' in text
    assert '"p_setosa"' in text


def test_a_model_is_written_for_onnxruntime(run, iris):
    onnx = pytest.importorskip("onnx", reason="the extra 'onnx' is not installed")
    run("fit", iris, "--model", "aode")
    assert run("convert", "iris.tanager", "iris.onnx").code == 0
    model = onnx.load("iris.onnx")
    assert [output.name for output in model.graph.output] == ["label", "probabilities"]
    assert len(model.graph.input) == 4


def test_what_answers_nowhere_else_is_refused(run, refused, iris):
    run("fit", iris, "--model", "aode")
    assert "no single network" in refused("convert", "iris.tanager", "x.sql")
    assert "--dialect is for SQL" in refused("convert", "iris.tanager", "x.bif", "--dialect", "duckdb")
    run("fit", iris, "--model", "tan")
    run("convert", "iris.tanager", "iris.bif")
    assert "a network and not a model" in refused("convert", "iris.bif", "x.onnx")
