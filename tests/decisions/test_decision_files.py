"""Diagrams in files are read as they were written, and damaged ones are refused in one sentence."""

import contextlib
import json

import pytest
from diagrams import OIL, UMBRELLA, random_diagram
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import DecisionNetwork, ModelFileError, OptionError, read_decisions, write_decisions
from tanager.decisions import xdsl

GENIE = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!-- This network was created in GeNIe -->
<smile version="1.0" id="Umbrella" numsamples="1000" discsamples="10000">
    <nodes>
        <cpt id="Weather">
            <state id="NoRain" />
            <state id="Rain" />
            <probabilities>0.7 0.3</probabilities>
        </cpt>
        <cpt id="Forecast">
            <state id="Sunny" />
            <state id="Cloudy" />
            <state id="Rainy" />
            <parents>Weather</parents>
            <probabilities>0.7 0.2 0.1 0.15 0.25 0.6</probabilities>
        </cpt>
        <decision id="Umbrella">
            <state id="Take" />
            <state id="Leave" />
            <parents>Forecast</parents>
        </decision>
        <deterministic id="Wet">
            <state id="no" />
            <state id="yes" />
            <parents>Weather Umbrella</parents>
            <resultingstates>no no no yes</resultingstates>
        </deterministic>
        <utility id="Satisfaction">
            <parents>Weather Umbrella</parents>
            <utilities>20 100 70 0</utilities>
        </utility>
        <utility id="Health">
            <parents>Wet</parents>
            <utilities>0 -5</utilities>
        </utility>
        <mau id="Both">
            <parents>Satisfaction Health</parents>
            <weights>1 2</weights>
        </mau>
    </nodes>
    <extensions>
        <genie version="1.0" app="GeNIe" name="Umbrella">
            <node id="Weather"><name>The weather</name><position>1 2 3 4</position></node>
        </genie>
    </extensions>
</smile>
"""


def test_a_file_of_genie_is_read():
    diagram = xdsl.read(GENIE.encode("latin-1"), "umbrella.xdsl")
    assert diagram.decisions == ("Umbrella",)
    assert diagram.tables["Health"].tolist() == [0, -10]
    assert diagram.tables["Wet"].tolist() == [[[1, 0], [1, 0]], [[1, 0], [0, 1]]]
    alone = diagram.without("Health").without("Wet")
    assert alone.solve().expected_utility == pytest.approx(77)
    assert diagram.solve().expected_utility == pytest.approx(77 - 10 * 0.3 * 0.4)


@examples(60)
@given(st.integers(0, 10**6))
def test_diagrams_are_read_as_they_were_written(tmp_path_factory, seed):
    diagram = random_diagram(seed)
    for extension in ("json", "xdsl"):
        path = tmp_path_factory.mktemp("diagram") / f"diagram.{extension}"
        write_decisions(diagram, path)
        assert read_decisions(path) == diagram


def test_names_and_values_that_the_format_does_not_allow_are_kept(tmp_path):
    odd = DecisionNetwork(
        {"2 <oil> & gas": (1.5, True, "é", "E"), "oil": ("a b", "a_b")},
        {"A": ("x",), "a": ("y", "z")},
        ["how much?", "Total"],
        [("2 <oil> & gas", "oil"), ("oil", "how much?"), ("a", "how much?")],
        {
            "2 <oil> & gas": [0.1, 0.2, 0.3, 0.4],
            "oil": [[0.5, 0.5], [1, 0], [0.25, 0.75], [1 / 3, 2 / 3]],
            "how much?": [[1, 2], [3, 1e-300]],
            "Total": 7,
        },
        order=["a", "A"],
    )
    for extension in ("json", "xdsl"):
        write_decisions(odd, tmp_path / f"odd.{extension}")
        assert read_decisions(tmp_path / f"odd.{extension}") == odd
    assert odd != UMBRELLA


BAD_XML = {
    "not well-formed": GENIE[:300],
    "defines entities": GENIE.replace("<!-- This", '<!DOCTYPE a [<!ENTITY b "c">]>\n<!-- This'),
    "expected <smile> with one <nodes>": "<bif></bif>",
    "nodes of kind <equation> are not read": GENIE.replace("deterministic", "equation"),
    "line 8: the table of 'Weather' has 3 numbers, expected 2": GENIE.replace("0.7 0.3<", "0.7 0.2 0.1<"),
    "expected a number": GENIE.replace("20 100", "20 lots"),
    "is nan": GENIE.replace("20 100", "20 nan"),
    "sum to 1": GENIE.replace("0.7 0.3<", "0.7 0.7<"),
    "declared twice": GENIE.replace('id="Forecast"', 'id="Weather"'),
    "is not declared": GENIE.replace("<parents>Forecast", "<parents>Forecsat"),
    "no chance node or decision": GENIE.replace("<parents>Wet", "<parents>Satisfaction"),
    "found 'maybe', which is no state": GENIE.replace("no no no yes", "no no no maybe"),
    "found 3 states": GENIE.replace("no no no yes", "no no no"),
    "no sum of utilities": GENIE.replace("<weights>1 2</weights>", ""),
    "has 3 numbers, expected 2": GENIE.replace("<weights>1 2", "<weights>1 2 3"),
    "has no states": GENIE.replace('<state id="Take" />', "").replace('<state id="Leave" />', ""),
    "a <cpt> has no id": GENIE.replace('<cpt id="Forecast">', "<cpt>"),
    "expected one <utilities>": GENIE.replace("<utilities>0 -5</utilities>", ""),
    "cycle": GENIE.replace(
        "<probabilities>0.7 0.3", "<parents>Forecast</parents><probabilities>0.7 0.3 0.7 0.3 0.7 0.3"
    ),
}


@pytest.mark.parametrize("words", BAD_XML)
def test_damaged_xml_is_refused_in_one_sentence(words, tmp_path):
    path = tmp_path / "bad.xdsl"
    path.write_text(BAD_XML[words], encoding="latin-1")
    with pytest.raises(ModelFileError) as error:
        read_decisions(path)
    assert words in str(error.value)
    assert "bad.xdsl" in str(error.value)


def changed(**fields):
    data = OIL.to_dict()
    data["nodes"][0] |= fields
    return json.dumps(data)


BAD_JSON = {
    "is not a diagram": "{}",
    "Expected what": "[1, 2]",
    "JSONDecodeError": "{",
    "of kind 'guess'": changed(kind="guess"),
    "values must be": changed(values=[[1], [2]]),
    "same name": changed(name="cost"),
    "no variable": changed(parents=["gas"]),
    "sum to 1": changed(table=[1, 2, 3]),
    "must be an array": changed(table="lots"),
    "OverflowError": changed(table=[10**400, 0, 0]),
    "order names": json.dumps(OIL.to_dict() | {"order": ["test", "sell"]}),
}


@pytest.mark.parametrize("words", BAD_JSON)
def test_damaged_json_is_refused_in_one_sentence(words, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(BAD_JSON[words])
    with pytest.raises(ModelFileError) as error:
        read_decisions(path)
    assert words in str(error.value)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(OptionError, match=r"\.json, \.xdsl"):
        write_decisions(OIL, tmp_path / "oil.bif")
    with pytest.raises(FileNotFoundError, match="no diagram file"):
        read_decisions(tmp_path / "oil.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(ModelFileError, match="is a folder"):
        read_decisions(tmp_path / "folder.json")


@examples(60)
@given(st.data())
def test_any_damage_is_refused_or_harmless(data):
    """Bytes of a file changed at random: a diagram or an error of ours."""
    text = bytearray(GENIE.encode("latin-1"))
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ModelFileError):
        assert xdsl.read(bytes(text), "changed.xdsl").names
