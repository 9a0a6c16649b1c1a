"""``tanager decide`` and ``tanager ask``: what to choose, and what to ask for next."""

import json
from pathlib import Path

import pytest

from tanager import DecisionNetwork, Network, write_decisions, write_network
from tanager.cli import ask as ask_command


@pytest.fixture
def umbrella(run):
    diagram = DecisionNetwork(
        {"weather": ("sun", "rain"), "forecast": ("sunny", "rainy")},
        {"umbrella": ("leave", "take")},
        ["comfort"],
        [("weather", "forecast"), ("forecast", "umbrella"), ("weather", "comfort"), ("umbrella", "comfort")],
        {"weather": [0.7, 0.3], "forecast": [[0.8, 0.2], [0.25, 0.75]], "comfort": [[100, 60], [0, 70]]},
    )
    write_decisions(diagram, "umbrella.json")
    write_decisions(diagram, "umbrella.xdsl")
    return "umbrella.json"


def test_a_diagram_is_solved(run, umbrella):
    for path in (umbrella, "umbrella.xdsl"):
        done = run("decide", path, "--table", "--ranges", "--prices", "weather=12")
        assert done.code == 0
        assert "Expected utility 80.15" in done.out
        assert "if forecast = rainy: take" in done.out
        assert "too dear" in done.out
        assert "298.667" in done.out


def test_a_solution_is_a_document(run, umbrella):
    found = run("decide", umbrella, "--known", "forecast=rainy", "--json").document
    assert found["expected_utility"] == pytest.approx(66.1643835)
    assert found["policies"][0]["rules"] == ["always: take"]
    assert found["information"]["weather"] == pytest.approx(15.342466)
    assert found["evidence"] == {"forecast": "rainy"}
    assert found["tests"] == []


def test_limited_memory_and_made_decisions(run, umbrella):
    assert "80.15" in run("decide", umbrella, "--limited-memory").out
    done = run("decide", umbrella, "--known", "umbrella=take")
    assert "Expected utility 63" in done.out
    assert "worth to know" not in done.out


def test_a_diagram_is_drawn(run, umbrella):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib, the extra 'plot'")
    assert "Picture written to u.svg" in run("decide", umbrella, "-o", "u.svg").out
    assert Path("u.svg").stat().st_size > 0


def test_mistakes_about_diagrams_are_one_line(refused, umbrella):
    Path("bad.json").write_text("{}")
    assert "is not a diagram" in refused("decide", "bad.json")
    assert "Did you mean 'umbrella.json'" in refused("decide", "umbrela.json")
    assert "no value 'snow'" in refused("decide", umbrella, "--known", "forecast=snow")
    assert "write NAME=VALUE" in refused("decide", umbrella, "--known", "forecast")
    assert "'dear' is no number" in refused("decide", umbrella, "--prices", "weather=dear")
    assert "unknown extension" in refused("decide", umbrella, "-o", "u.txt")


# --- ask --------------------------------------------------------------------------------------------------------------


def test_the_next_question_is_named(run, fitted):
    done = run("ask", fitted, "--prices", "0.05")
    assert "Ask for: petal_" in done.out
    found = run("ask", fitted, "--prices", "petal_width=0.05,sepal_width=0.01", "--json").document
    assert found["ask"] == "petal_width"
    assert [question["name"] for question in found["questions"]] == ["petal_width", "sepal_width"]
    done = run("ask", fitted, "--prices", "0.05", "--known", "petal_width=0.2,petal_length=1.4")
    assert "Answer for now: setosa" in done.out
    assert "No question is worth its price." in done.out


def test_prices_groups_and_costs_come_from_files(run, fitted):
    Path("prices.csv").write_text("name,price,group\nsepal_width,0.01,\npetal_length,0.2,petals\npetal_width,,petals\n")
    Path("costs.csv").write_text(",virginica,setosa,versicolor\nsetosa,1,0,1\nversicolor,5,1,0\nvirginica,0,1,1\n")
    found = run("ask", fitted, "--prices", "prices.csv", "--costs", "costs.csv", "--json").document
    assert {question["name"]: question["columns"] for question in found["questions"]} == {
        "petals": ["petal_length", "petal_width"],
        "sepal_width": ["sepal_width"],
    }
    again = run("ask", fitted, "--prices", "prices.csv", "--costs", "[[0, 1, 1], [1, 0, 5], [1, 1, 0]]", "--json")
    assert again.document == found


def test_asking_is_measured_on_a_file(run, fitted, iris):
    found = run("ask", fitted, "--prices", "0.05", "--data", iris, "--json").document
    assert found["nothing"] == {
        "price": 0,
        "errors": pytest.approx(2 / 3),
        "total": pytest.approx(2 / 3),
        "questions": 0,
    }
    assert found["everything"]["price"] == pytest.approx(0.2)
    assert found["chosen"]["total"] < found["everything"]["total"]
    assert "everything" in run("ask", fitted, "--prices", "0.05", "--data", iris).out


def test_a_network_is_asked(run):
    network = Network({"rain": ("no", "yes"), "grass": ("dry", "wet")}, [("rain", "grass")])
    write_network(network.with_tables({"rain": [0.5, 0.5], "grass": [[0.8, 0.2], [0.1, 0.9]]}), "garden.bif")
    done = run("ask", "garden.bif", "--target", "rain", "--prices", "grass=0.1", "--costs", "[[0, 1], [1, 0]]")
    assert "Ask for: grass" in done.out
    assert "0.35" in done.out


def test_on_a_terminal_it_goes_on(run, fitted, monkeypatch):
    monkeypatch.setattr(ask_command, "_on_terminal", lambda: True)
    done = run("ask", fitted, "--prices", "0.05", text="wide\n1.6\n")
    assert "'wide' is no number" in done.err
    assert "Answer for now: versicolor" in done.out
    done = run("ask", fitted, "--prices", "0.05", text="\nq\n")  # the first is not to be had, then stop
    assert done.out.count("Ask for") == 2


def test_mistakes_about_questions_are_one_line(refused, fitted):
    assert "is no number" in refused("ask", fitted, "--prices", "cheap")
    assert "Did you mean 'petal_width'" in refused("ask", fitted, "--prices", "petal_widht=1")
    assert "there is no file 'prices.csv'" in refused("ask", fitted, "--prices", "prices.csv")
    assert "is no JSON" in refused("ask", fitted, "--prices", "1", "--costs", "[[0,")
    assert "cost_matrix has shape" in refused("ask", fitted, "--prices", "1", "--costs", "[[0, 1], [1, 0]]")
    assert "there is no column 'petal'" in refused("ask", fitted, "--prices", "1", "--known", "petal=1")
    Path("prices.csv").write_text("column,price\na,1\n")
    assert "has no column 'name'" in refused("ask", fitted, "--prices", "prices.csv")
    Path("prices.csv").write_text("name,price,group\npetal_length,1,g\npetal_width,2,g\n")
    assert "two prices" in refused("ask", fitted, "--prices", "prices.csv")
    Path("costs.csv").write_text(",setosa\nsetosa,0\n")
    assert "has no line for the class 'versicolor'" in refused("ask", fitted, "--prices", "1", "--costs", "costs.csv")
    Path("costs.csv").write_text("")
    assert "class 'setosa'" in refused("ask", fitted, "--prices", "1", "--costs", "costs.csv")


def test_json_never_waits_for_a_person(run, fitted, monkeypatch):
    monkeypatch.setattr(ask_command, "_on_terminal", lambda: True)
    assert json.loads(run("ask", fitted, "--prices", "0.05", "--json").out)["ask"]
