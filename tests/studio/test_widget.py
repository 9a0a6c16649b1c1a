"""A network in a notebook: pictures without other packages, the widget's Python side, and its script in a browser."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tanager import AODE, TAN, Network, network_svg, network_widget
from tanager.errors import OptionError, SchemaMismatch
from tanager.studio import notebook
from tanager.studio.bundle import bundled_script, bundled_style
from tanager.studio.picture import picture_of
from tanager.studio.svg import svg_of

SVG = "{http://www.w3.org/2000/svg}"
GARDEN = Network(
    {"rain": ("no", "yes"), "sprinkler": ("off", "on"), "grass": ("dry", "wet")},
    [("rain", "sprinkler"), ("rain", "grass"), ("sprinkler", "grass")],
)


@pytest.fixture
def widget() -> Any:
    pytest.importorskip("anywidget", reason="needs the extra `widget`")
    return GARDEN.widget("grass")


def hear(widget: Any, **content: Any) -> None:
    """As the script sends it."""
    widget._handle_custom_msg(content, [])


# --- pictures -------------------------------------------------------------------------------------------------------


def test_a_picture_has_a_box_for_every_variable_and_a_head_for_every_arc() -> None:
    root = ET.fromstring(network_svg(GARDEN, "rain"))
    assert [box.get("data-name") for box in root.iter(f"{SVG}g") if box.get("data-name")] == list(GARDEN)
    assert len(root.findall(f".//{SVG}polygon")) == 3
    assert len(root.findall(f".//{SVG}path")) == 3


def test_names_are_text_in_a_picture() -> None:
    name = "<script>alert('1')</script>&\"'"
    root = ET.fromstring(network_svg(Network({name: (0, 1), "b": (0, 1)}, [(name, "b")])))
    assert not root.findall(f".//{SVG}script")
    assert root.findall(f".//{SVG}g[@data-name]")[0].get("data-name") == name


def test_every_number_of_a_picture_is_finite_wherever_boxes_are() -> None:
    places = {"rain": (0.0, 0.0), "sprinkler": (0.0, 0.0), "grass": (5.0, 300.0)}
    text = network_svg(GARDEN, positions=places)
    numbers = np.array([float(own) for own in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)])
    assert np.isfinite(numbers).all()
    assert "nan" not in text
    assert "inf" not in text


def test_arcs_end_at_the_edges_of_boxes() -> None:
    picture = picture_of(GARDEN, None, {"rain": (0.0, 0.0), "sprinkler": (300.0, 0.0), "grass": (0.0, 200.0)})
    down = next(
        arc
        for arc in ET.fromstring(svg_of(picture)).iter(f"{SVG}g")
        if "rain → grass" in (arc.findtext(f"{SVG}title") or "")
    )
    path = down.find(f"{SVG}path")
    assert path is not None
    height = picture["nodes"][0]["height"]
    assert path.get("d") == f"M0.0 {height / 2:.1f}L0.0 {200 - height / 2:.1f}"


def test_an_unknown_class_is_refused_by_name() -> None:
    for ask in (network_svg, network_widget):
        with pytest.raises(SchemaMismatch, match="gras"):
            ask(GARDEN, "gras")


def test_a_notebook_shows_a_network_as_a_picture_unless_it_is_huge() -> None:
    assert (GARDEN._repr_svg_() or "").startswith("<svg")
    assert Network({f"x{i}": (0, 1) for i in range(151)})._repr_svg_() is None


def test_without_the_package_there_is_a_picture_and_the_way_to_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    shown = GARDEN.widget("rain")
    assert shown.network is GARDEN
    assert shown._repr_svg_() == network_svg(GARDEN, "rain")
    assert "tanager[widget]" in repr(shown)


# --- the widget -----------------------------------------------------------------------------------------------------


def test_edits_of_the_user_become_the_network(widget: Any) -> None:
    seen: list[Network] = []
    widget.observe(lambda change: seen.append(change["new"]), "network")
    hear(widget, what="remove", parent="sprinkler", child="grass")
    hear(widget, what="reverse", parent="rain", child="sprinkler")
    hear(widget, what="add", parent="sprinkler", child="grass")
    assert (
        widget.network.arcs
        == GARDEN.remove("sprinkler", "grass").reverse("rain", "sprinkler").add("sprinkler", "grass").arcs
    )
    assert seen[-1] is widget.network
    assert [(arc["parent"], arc["child"]) for arc in widget.picture["arcs"]] == widget.network.arcs


def test_a_cycle_and_nonsense_are_refused_and_change_nothing(widget: Any) -> None:
    hear(widget, what="add", parent="grass", child="rain")
    assert "cycle" in widget.said
    for content in (
        {"what": "add"},
        {"what": "add", "parent": 1, "child": ["x"]},
        {"what": "estimate"},
        {"what": "move", "name": "x"},
    ):
        hear(widget, **content)
    widget._handle_custom_msg("text", [])
    assert widget.network is GARDEN


def test_one_that_is_only_to_be_looked_at_does_not_change() -> None:
    pytest.importorskip("anywidget", reason="needs the extra `widget`")
    widget = GARDEN.widget(editable=False)
    hear(widget, what="remove", parent="rain", child="grass")
    assert widget.network is GARDEN


def test_boxes_stay_where_they_are_put_until_they_are_tidied(widget: Any) -> None:
    before = {node["name"]: (node["x"], node["y"]) for node in widget.picture["nodes"]}
    hear(widget, what="move", name="rain", x=500.0, y=40.5)
    hear(widget, what="remove", parent="rain", child="grass")
    after = {node["name"]: (node["x"], node["y"]) for node in widget.picture["nodes"]}
    assert after == before | {"rain": (500.0, 40.5)}
    points = {(arc["parent"], arc["child"]): arc["points"] for arc in widget.picture["arcs"]}
    assert points["rain", "sprinkler"] is None  # drawn from edge to edge
    assert points["sprinkler", "grass"] is not None  # as it was laid out
    widget.tidy()
    assert all(arc["points"] for arc in widget.picture["arcs"])


def test_a_network_that_is_set_is_drawn(widget: Any) -> None:
    widget.network = GARDEN.keep(["rain", "sprinkler"])
    assert [node["name"] for node in widget.picture["nodes"]] == ["rain", "sprinkler"]
    assert "image/svg+xml" in widget._repr_mimebundle_()[0]


def test_a_model_shows_its_network_and_what_columns_tell_about_the_class() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = TAN().fit(X, y)
    shown = model.widget()
    assert shown.network == model.network_
    assert shown.target == model.class_name
    if hasattr(shown, "picture"):
        shades = {node["name"]: node["shade"] for node in shown.picture["nodes"]}
        assert max(shades.values()) == 1.0
        assert shades["sepal width (cm)"] < shades["petal width (cm)"]
    with pytest.raises(OptionError, match="single network"):
        AODE().fit(X, y).widget()


# --- its script -----------------------------------------------------------------------------------------------------


def test_the_script_and_the_style_are_in_one_piece() -> None:
    script = bundled_script("widget")
    assert not re.search(r"^\s*import ", script, re.MULTILINE)
    assert re.findall(r"^export .*", script, re.MULTILINE) == ["export default widget_js.default;"]
    style = bundled_style(".tanager-widget", "Networks (graph.js)", "widget.css")
    assert ":root" not in style
    assert style.count("{") == style.count("}")


PAGE = """<!doctype html><meta charset="utf-8"><style>{style}</style><div id="root"></div><script type="module">
const values = {values};
const heard = {{}};
window.sent = [];
const model = {{
  get: (name) => values[name],
  set: (name, value) => {{ values[name] = value; window.sent.push({{ set: name, value }}); }},
  save_changes() {{}},
  send: (content) => window.sent.push(content),
  on: (name, f) => (heard[name] ??= []).push(f),
  off: (name, f) => (heard[name] = heard[name].filter((own) => own !== f)),
}};
window.change = (name, value) => {{ values[name] = value; (heard["change:" + name] ?? []).forEach((f) => f()); }};
const module = await import(URL.createObjectURL(new Blob([{script}], {{ type: "text/javascript" }})));
module.default.render({{ model, el: document.getElementById("root") }});
</script>"""


def test_the_view_in_a_browser_selects_edits_and_follows(browser: Any, widget: Any) -> None:
    names = ("picture", "selected", "editable", "height", "said")
    values = json.dumps({name: getattr(widget, name) for name in names})
    page, errors = browser.new_page(viewport={"width": 900, "height": 600}), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content(PAGE.format(style=widget._css, values=values, script=json.dumps(widget._esm)))
    box = page.locator('[data-name="grass"]')
    box.wait_for()
    box.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("e")
    page.keyboard.press("Delete")
    sent = page.evaluate("window.sent")
    assert {"set": "selected", "value": {"kind": "node", "name": "grass"}} in sent
    assert sent[-1]["what"] == "remove"
    widget._handle_custom_msg(sent[-1], [])
    page.evaluate("([name, value]) => window.change(name, value)", ["picture", widget.picture])
    page.locator(".arc").nth(1).wait_for(state="attached")
    assert page.locator(".arc").count() == 2
    page.evaluate("window.change('said', 'no such thing')")
    page.get_by_text("no such thing").wait_for()
    page.close()
    assert errors == []
