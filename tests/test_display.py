"""What notebooks show: quickly, of everything, with names and values as text, and without changing anything."""

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import registry
import tanager
from tanager import (
    AODE,
    KDB,
    TAN,
    Column,
    DecisionNetwork,
    DriftAware,
    Encoder,
    EvolvingNaiveBayes,
    GeneralNetwork,
    JointCounts,
    NaiveBayes,
    Network,
    Schema,
    decisions_svg,
    importance,
    network_svg,
    nomogram,
)
from tanager.display import bars, element, facts, folded, note, page, picture, preformatted, table
from tanager.estimator import clone
from tanager.evaluate import Results, prequential
from tanager.networks.display import is_quickly_drawn

ODD = "<script>alert('x')</script>"
STREAMS = [tanager.DriftAware(AODE()), tanager.HalfLives(), tanager.HoeffdingTree(), tanager.EvolvingNaiveBayes()]
VOID = {"br", "img"}


class Balanced(HTMLParser):
    """Refuses tags that are not closed in order, and elements that notebooks drop or that may do harm."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "style", "svg", "link")
        assert not any(name.startswith("on") for name, _ in attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(html):
    """The HTML, which must be sound, and pictures in it."""
    parser = Balanced()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    pictures = [base64.b64decode(data).decode() for data in re.findall(r"svg\+xml;base64,([^\"]*)", html)]
    assert not any("<script" in drawn for drawn in pictures)
    return html, pictures


def odd_rows(n=60):
    """Rows with columns, values and classes that look like HTML."""
    rng = np.random.default_rng(0)
    sky = np.where(rng.random(n) < 0.5, ODD, "<b>sun</b>")
    y = np.where(rng.random(n) < 0.8, sky == ODD, sky != ODD)
    X = pd.DataFrame({ODD: sky, "a&b": rng.integers(0, 2, n).astype(str), "z": rng.normal(size=n) + y})
    return X, pd.Series(np.where(y, ODD, "no"), name="<i>")


# --- models -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*registry.PLAIN, *STREAMS], ids=lambda model: type(model).__name__)
def test_every_fitted_classifier_shows_what_it_learned_and_names_are_text(model):
    X, y = odd_rows()
    model = clone(model).fit(X, y)
    html, _ = checked(model._repr_html_())
    assert f"<b>{type(model).__name__}</b>" in html
    assert "3 columns" in html
    assert "&lt;script&gt;" in html
    assert "<script" not in html


@pytest.mark.parametrize("model", [*registry.PLAIN, *STREAMS], ids=lambda model: type(model).__name__)
def test_looking_at_a_model_changes_no_answer_and_nothing_that_is_saved(model, tmp_path):
    X, y = odd_rows()
    model, twin = (clone(model).fit(X[:40], y[:40]) for _ in range(2))
    for each in (model, twin):
        if hasattr(each, "partial_fit"):
            each.partial_fit(X[40:], y[40:])
    model._repr_html_()
    model.save(tmp_path / "looked-at.tan")
    twin.save(tmp_path / "twin.tan")
    assert (tmp_path / "looked-at.tan").read_bytes() == (tmp_path / "twin.tan").read_bytes()
    np.testing.assert_array_equal(model.predict_proba(X), twin.predict_proba(X))


def test_half_lives_show_which_one_is_believed_now():
    X = [["sun"], ["rain"]] * 500
    y = ["play", "stay"] * 250 + ["stay", "play"] * 250
    model = tanager.HalfLives(half_lives=(20, float("inf"))).partial_fit(X, y)
    html, _ = checked(model._repr_html_())
    assert f"Believed most now: <b>20 rows</b>, with a weight of {model.weights_['20 rows']:.2f}." in html
    assert f">{model.weights_['all rows']:.2f}<" in html
    assert "Weights after 1,000 rows." in html
    alone = tanager.HalfLives(half_lives=(20,)).partial_fit(X, y)
    assert "it answers alone" in alone._repr_html_()
    untaught = tanager.HalfLives(half_lives=(20, 50), mix="fixed-share").partial_fit(X[:1], y[:1])
    assert "No half-life is believed more" in untaught._repr_html_()
    few = tanager.HalfLives(max_columns=1).partial_fit([["a", "b"], ["c", "d"]] * 20, [0, 1] * 20)
    assert "The model sees 1 column: x0." in few._repr_html_()


def test_looking_never_learns_a_structure(monkeypatch):
    X, y = odd_rows()
    model = KDB().fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    monkeypatch.setattr(KDB, "_structure", lambda *_: pytest.fail("a structure was learned to be looked at"))
    assert not model.knows_structure
    assert "learned anew by the next answer" in model._repr_html_()


def test_a_structure_that_is_known_is_shown():
    X, y = odd_rows()
    model = TAN().fit(X, y)
    assert model.knows_structure
    html, (drawn,) = checked(model._repr_html_())
    assert "one network: 2 arcs between columns, at most 1 parent beside the class" in html
    assert drawn.count("<rect") == 5  # three columns, the class, and a frame around the columns


def how_good(model, X, y):
    """What a display should say, by leaving out every row."""
    proba = model.leave_one_out(X, y)
    right = float((model.decide(proba) == y.to_numpy()).mean())
    own = proba[np.arange(len(y)), [model.classes_.tolist().index(label) for label in y]]
    return f"accuracy {right:.4f}, log loss {-np.log(own).mean():.4f} when each row is left out"


@pytest.mark.parametrize("model", [KDB(), GeneralNetwork()], ids=repr)
def test_how_good_is_what_leave_one_out_says(model):
    X, y = odd_rows()
    assert how_good(model.fit(X, y), X, y) in model._repr_html_()


@pytest.mark.parametrize("model", [KDB(), GeneralNetwork()], ids=repr)
def test_of_a_row_of_weight_two_one_is_left_out(model):
    X, y = odd_rows()
    X = X.drop(columns="z")
    twice, labels = pd.concat([X, X[:30]]), pd.concat([y, y[:30]])
    said = how_good(clone(model).fit(twice, labels), twice, labels)
    assert said in model.fit(X, y, sample_weight=[2] * 30 + [1] * 30)._repr_html_()


def test_a_model_without_its_rows_says_how_to_ask():
    assert "not known; model.leave_one_out(X, y)" in NaiveBayes().fit(*odd_rows())._repr_html_()


def test_looking_does_not_count_the_rows_of_a_warm_up(tmp_path):
    X, y = odd_rows()
    model, twin = AODE(), AODE()
    for each in (model, twin):
        each.partial_fit(X[:20], y[:20]).predict(X)
        each.partial_fit(X[20:], y[20:])
    assert not model.knows_structure
    model._repr_html_()
    model.save(tmp_path / "looked-at.tan")
    twin.save(tmp_path / "twin.tan")
    assert (tmp_path / "looked-at.tan").read_bytes() == (tmp_path / "twin.tan").read_bytes()


def test_many_rows_are_not_left_out_for_a_look(monkeypatch):
    X, y = odd_rows()
    model = KDB().fit(X, y)
    monkeypatch.setattr("tanager.learning.display.MOST_CELLS", 10)
    monkeypatch.setattr(KDB, "leave_out", lambda *_: pytest.fail("rows were left out"))
    assert "not known" in model._repr_html_()


def test_an_unfitted_model_shows_the_options_that_were_changed():
    html, pictures = checked(TAN(smoothing=2, unseen="ignore")._repr_html_())
    assert "Not fitted." in html
    assert "smoothing" in html
    assert "max_values" not in html
    assert not pictures
    assert "All options as they come." in TAN()._repr_html_()


def test_a_model_that_warms_up_says_so():
    X, y = odd_rows()
    model = AODE().partial_fit(X[:7], y[:7])
    assert "Warming up: 7 rows" in checked(model._repr_html_())[0]


def test_a_large_network_is_not_drawn_for_a_look():
    rng = np.random.default_rng(0)
    X = {f"x{i}": rng.integers(0, 2, 50).astype(str) for i in range(40)}
    html, pictures = checked(KDB().fit(X, rng.integers(0, 2, 50))._repr_html_())
    assert not pictures
    assert "draw it with .plot()" in html
    assert "... 20 more rows" in html


def test_scikit_learn_shows_pipelines_of_ours_and_its_setting_for_text_holds():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    X, y = odd_rows()
    pipeline = make_pipeline(OrdinalEncoder(), TAN()).fit(X, y)
    assert "TAN" in pipeline._repr_html_()
    model = pipeline[-1]
    assert model._repr_mimebundle_()["text/html"] == model._repr_html_()
    with sklearn.config_context(display="text"):
        assert model._repr_html_() is None
        assert list(model._repr_mimebundle_()) == ["text/plain"]


# --- everything else --------------------------------------------------------------------------------------------------

RAIN = Network({ODD: ("<b>", "y"), "grass": (0, 1)}, [(ODD, "grass")], {ODD: [0.5, 0.5], "grass": [[0.8, 0.2], [0, 1]]})
UMBRELLA = DecisionNetwork(
    {ODD: ("<b>", "y")},
    {"umbrella": ("no", "<u>")},
    ["comfort & joy"],
    [(ODD, "umbrella"), (ODD, "comfort & joy"), ("umbrella", "comfort & joy")],
    {ODD: [0.5, 0.5], "comfort & joy": [[10, 5], [-7.5, 3]]},
)
FOLDS = Results(
    {"dataset": d, "classifier": c, "repeat": 0, "fold": f, "n_train": 9, "n_test": 1, "accuracy": 0.5 + f / 10}
    for d in (ODD, "iris")
    for c in (ODD, "AODE")
    for f in range(3)
)


def stream_results():
    X, y = odd_rows()
    return prequential({ODD: NaiveBayes()}, X, y)


SHOWN = {
    "network": lambda: RAIN,
    "cpt": lambda: RAIN.cpt("grass"),
    "decisions": lambda: UMBRELLA,
    "solution": UMBRELLA.solve,
    "schema": lambda: NaiveBayes().fit(*odd_rows()).encoder_.schema,
    "encoder": lambda: Encoder(bins="width", n_bins=7).fit(odd_rows()[0]),
    "unfitted encoder": lambda: Encoder(categorical=[ODD]),
    "counts": lambda: NaiveBayes().fit(*odd_rows()).counts_,
    "explanation": lambda: TAN().fit(*odd_rows()).explain(odd_rows()[0][:1]),
    "explanations": lambda: TAN().fit(*odd_rows()).explain(odd_rows()[0]),
    "importance": lambda: importance(TAN().fit(*odd_rows()), *odd_rows()),
    "results": lambda: FOLDS,
    "results of one": lambda: FOLDS.select(datasets=[ODD]),
    "table": FOLDS.summary,
    "stream": stream_results,
}


@pytest.mark.parametrize("make", SHOWN.values(), ids=SHOWN.keys())
def test_everything_that_is_shown_is_sound_html_and_odd_names_are_text(make):
    html, _ = checked(make()._repr_html_())
    assert "&lt;" in html
    for odd in ("<script", "<u>", "<i>"):
        assert odd not in html


@pytest.mark.parametrize("make", SHOWN.values(), ids=SHOWN.keys())
def test_what_is_printed_says_what_it_is(make):
    assert " object at 0x" not in repr(make())


def test_a_long_name_takes_several_lines_and_leaves_room_for_the_number():
    long, short = "what was measured in the department of medicine, in mmol", "age"
    shown = bars([(long, 1.5, "+1.5"), (short, 1.0, "+1.0")])
    assert f'white-space: normal; overflow-wrap: anywhere">{long}</div>' in shown
    assert f">{short}</td>" in shown
    assert f'overflow-wrap: anywhere">{long}</div>' in facts([(long, "yes")])


def test_many_explanations_show_the_first_rows_with_their_main_reasons():
    model, (X, _) = NaiveBayes().fit(*odd_rows()), odd_rows()
    html = model.explain(X)._repr_html_()
    assert "... 40 more rows" in html
    assert f"{model.predict_proba(X[:1]).max():.4f}" in html


def test_what_can_be_printed_is_shown_as_it_is_printed():
    X, y = odd_rows()
    for shown in (
        importance(NaiveBayes().fit(X, y), X, y),
        nomogram(NaiveBayes().fit(X, y)),
        EvolvingNaiveBayes().fit(X[["z"]], y).rules(),
    ):
        assert repr(shown) == str(shown)
        assert "array(" not in repr(shown)


def test_events_are_told_in_words():
    X, y = ["a", "b"] * 300, ["no", "yes"] * 150 + ["yes", "no"] * 150
    html = DriftAware(NaiveBayes(), on_drift="restart").partial_fit([[x] for x in X], y)._repr_html_()
    assert "drift after row " in html
    assert "Event(" not in html


def test_arcs_that_go_around_boxes_stay_in_the_picture():
    """The class has an arc to every column, and below the widest row of boxes these go around it."""
    children = [f"column {i}" for i in range(5)]
    below = [f"below {i}" for i in range(4)]
    arcs = [("hub", child) for child in children + below] + [("class", name) for name in ("hub", *children, *below)]
    drawn = network_svg(Network(dict.fromkeys(("class", "hub", *children, *below), (0, 1)), arcs))
    left, _, width, _ = map(float, re.search(r'viewBox="([^"]*)"', drawn)[1].split())
    across = [float(x) for path in re.findall(r' d="([^"]*)"', drawn) for x in re.findall(r"[MLC ](-?[\d.]+) ", path)]
    assert left <= min(across)
    assert max(across) <= left + width


def test_a_network_is_drawn_once_for_all_kinds_of_displays(monkeypatch):
    drawn = []
    monkeypatch.setattr("tanager.networks.network.public", lambda name: lambda own: drawn.append(name) or "<svg/>")
    network = RAIN.with_tables({})
    network._repr_html_()
    network._repr_svg_()
    assert drawn == ["network_svg"]
    assert "_drawing" not in network.__getstate__()


def test_trees_are_drawn_up_to_150_variables_and_others_up_to_60_arcs():
    names = {f"x{i}": (0, 1) for i in range(150)}
    chain = [(f"x{i}", f"x{i + 1}") for i in range(149)]
    wide = [(f"x{i}", f"x{j}") for i in range(8) for j in range(8, 16)]
    assert is_quickly_drawn(Network(names, chain))
    assert not is_quickly_drawn(Network({**names, "more": (0, 1)}, chain))
    few = {f"x{i}": (0, 1) for i in range(16)}
    assert is_quickly_drawn(Network(few, wide[:60]))
    assert not is_quickly_drawn(Network(few, wide[:61]))
    assert is_quickly_drawn(Network(few, [*wide[:61], ("x0", "x1")]), "x0")


def test_a_diagram_has_a_shape_for_every_kind_of_node():
    text = decisions_svg(UMBRELLA)
    heads = len(UMBRELLA.arcs)
    assert (text.count("<ellipse"), text.count("<rect"), text.count("<polygon")) == (1, 1, 1 + heads)
    assert text.count("stroke-dasharray") == 1  # what is known to the decision
    assert "<script" not in text


def test_counts_show_missing_cells():
    counts = NaiveBayes().fit({"a": ["x", None, "y", "x"]}, [0, 0, 1, 1]).counts_
    assert isinstance(counts, JointCounts)
    assert ">missing<" in counts._repr_html_()
    assert "0 2 (50 %), 1 2 (50 %)" in counts._repr_html_()


def test_a_long_schema_is_cut():
    schema = Schema(tuple(Column(f"x{i}", "categorical", ("a",)) for i in range(290)))
    assert "... 270 more rows" in schema._repr_html_()


def test_a_fact_without_end_is_cut():
    html, _ = checked(TAN(cost_matrix=np.arange(10_000.0).reshape(100, 100).tolist())._repr_html_())
    assert len(html) < 2000


def test_curves_show_every_model_and_odd_names_are_text():
    _, (drawn,) = checked(stream_results()._repr_html_())
    assert drawn.count("<polyline") == 1
    assert "&lt;script&gt;" in drawn


def test_bars_below_zero_go_to_the_left_and_endless_ones_are_as_long_as_the_longest():
    html, _ = checked(bars([("a", 2.0, "+2"), ("b", -1.0, "-1"), ("c", float("-inf"), "-inf")]))
    assert re.findall(r"margin-left: (\d+)px; width: (\d+)px", html) == [("150", "150"), ("75", "75"), ("0", "150")]


def test_every_shape_escapes_what_it_is_given():
    made = [
        element("b", ODD),
        note(ODD),
        table([ODD], [[ODD]], remark=ODD),
        facts([(ODD, ODD)]),
        bars([(ODD, 1.0, ODD)]),
        preformatted(ODD),
        folded(ODD, note(ODD)),
        picture("<svg/>", ODD),
        page(ODD, note(ODD)),
    ]
    for html in made:
        checked(html)
        assert "&lt;script&gt;" in html


def test_a_notebook_shows_figures_before_anybody_imports_pyplot():
    pytest.importorskip("matplotlib")
    model = NaiveBayes().fit([["a", "u"], ["b", "v"]] * 20, ["x", "y"] * 20)
    for figure in (model.plot(), model.explain([["a", "u"]]).plot()):
        assert figure._repr_png_().startswith(b"\x89PNG")
