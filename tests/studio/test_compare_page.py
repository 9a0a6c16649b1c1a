"""The page Compare: which classifiers, by rows or folds, what is told of the results, and the choice of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tanager import AODE, OptionError
from tanager.evaluate import Results, cross_validate, leave_one_out
from tanager.studio.comparing import choice_of, make_models, name_of, report
from tanager.studio.document import ColumnChoices, DataChoice, ModelChoice
from tanager.studio.jobs import Job
from tanager.studio.models import classifier_of
from tanager.studio.pages import compare as page
from tanager.studio.pages import data as data_page
from tanager.studio.pages.data import Edit
from tanager.studio.pages.start import begin
from tanager.studio.session import Session
from waiting import wait_for

IRIS = DataChoice(kind="dataset", name="iris", target="class")
WIDTH = "petal width (cm)"


@pytest.fixture
def iris() -> Iterator[Session]:
    session = Session()
    begin(session, IRIS)
    yield session
    session.close()


def finished(session: Session) -> Job:
    job = session.jobs.find("compare")
    assert job is not None
    wait_for(lambda: job.state != "running")
    return job


def test_the_candidates_are_known_with_what_they_are(iris: Session) -> None:
    shown = page.show(iris)
    by_name = {own["name"]: own for own in shown["candidates"]}
    assert by_name["aode"]["class"] == "AODE"
    assert by_name["aode"]["first"]
    assert not by_name["forest"]["own"]
    assert "--set" not in by_name["kdb"]["about"]
    assert "network" not in by_name
    assert shown["chosen"] == "network"
    make_models([*by_name], iris.prepared, iris.document)  # all can be made


def test_rows_left_out_give_the_figures_of_the_library(iris: Session) -> None:
    page.start(iris, ["nb", "aode", "network-forest"], None)
    job = finished(iris)
    assert job.state == "done"
    lines = {line["classifier"]: line for line in job.result["lines"]}
    data = iris.loaded
    own = AODE(bins="mdl", n_bins=5, numeric=data.X.column_names)
    expected = leave_one_out({"aode": own}, data.X, data.y, parts=10).summary().to_dicts()[0]
    assert lines["aode"]["log_loss"] == pytest.approx(expected["log_loss"])
    assert "network-forest" not in lines
    assert "network-forest" in job.result["notes"][0]
    assert sum(point["rows"] for point in lines["nb"]["reliability"]) == 150


def test_folds_give_the_figures_of_the_command(iris: Session) -> None:
    page.start(iris, ["nb", "aode"], 5)
    result = finished(iris).result
    data = iris.loaded
    models = make_models(["nb", "aode"], iris.prepared, iris.document)
    expected = cross_validate(models, data.X, data.y, folds=5, n_jobs=1)
    told = {line["classifier"]: line for line in result["lines"]}
    for line in expected.summary().to_dicts():
        assert told[line["classifier"]]["accuracy"] == pytest.approx(line["accuracy"])
    assert result["advice"]["log_loss"]["name"] in told
    assert result["how"] == "5 folds"


def test_a_report_marks_what_is_worse_than_the_best_and_ranks_all() -> None:
    rng = np.random.default_rng(0)
    place = {"dataset": "d", "repeat": 0, "n_train": 90, "n_test": 10, "auc": 0.9, "rmse": 0.1}
    bins = [[0, 10], [0, 8.5], [0, 9]]
    records: list[dict[str, Any]] = []
    for name, accuracy in (("good", 0.9), ("bad", 0.5), ("same", 0.9)):
        for fold in range(10):
            noise = 0.01 * rng.normal()
            own = {"classifier": name, "fold": fold, "accuracy": accuracy + noise, "log_loss": 1 - accuracy + noise}
            records.append(place | own | {"reliability": bins})
    found = report(Results(records))
    lines = {line["classifier"]: line for line in found["lines"]}
    assert lines["bad"]["accuracy_"]["worse"]
    assert not lines["same"]["accuracy_"]["worse"]
    assert lines["bad"]["log_loss_"]["rank"] == 3
    assert lines["good"]["accuracy_"]["low"] < lines["good"]["accuracy"] < lines["good"]["accuracy_"]["high"]
    assert sum(lines[name]["accuracy_"]["best"] for name in lines) == 1
    (point,) = lines["good"]["reliability"]
    assert point["true"] == pytest.approx(0.9)
    assert point["low"] < 0.9 < point["high"]
    assert report(Results([]))["lines"] == []


def test_few_answers_are_told_together_with_others() -> None:
    place = {"dataset": "d", "classifier": "it", "repeat": 0, "fold": 0, "n_train": 90, "n_test": 23}
    bins = [[3, 8, 12], [1.5, 6.4, 11.4], [1, 6, 12]]
    measures = {"accuracy": 0.8, "log_loss": 0.3, "auc": 0.9, "rmse": 0.1}
    found = report(Results([place | measures | {"reliability": bins}]))["lines"][0]["reliability"]
    assert [point["rows"] for point in found] == [11, 12]
    assert found[0]["said"] == pytest.approx(7.9 / 11)


def test_stopping_keeps_what_is_done(iris: Session) -> None:
    names = [own["name"] for own in page.show(iris)["candidates"] if own["own"]]
    page.start(iris, names, None)
    job = iris.jobs.find("compare")
    assert job is not None
    wait_for(lambda: bool(job.result and job.result["lines"]) or job.state != "running")
    job.cancel()
    finished(iris)
    assert job.state in ("cancelled", "done")  # a quick machine may have done all of them
    assert job.result["lines"]


def test_what_would_be_late_is_left_out(iris: Session) -> None:
    page.start(iris, ["nb", "aode", "sptan"], None, seconds=1e-9)
    result = finished(iris).result
    assert len(result["lines"]) == 1
    assert "left out for time" in result["notes"][0]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"names": []}, "at least one"),
        ({"names": ["aoed"]}, "aode"),
        ({"names": ["nb"], "folds": 1}, "2 to 100"),
        ({"names": ["nb"], "seconds": 0.0}, "a day"),
        ({"names": ["network"]}, "network"),
        ({"names": ["forest"]}, "use folds"),
    ],
)
def test_what_cannot_be_compared_is_refused(iris: Session, body: dict[str, Any], word: str) -> None:
    with pytest.raises(OptionError, match=word):
        page.start(iris, **body)


def test_a_network_is_compared_with_the_others(iris: Session) -> None:
    iris.change("drew", replace(iris.document, arcs=(("class", WIDTH),)))
    assert page.show(iris)["candidates"][0]["name"] == "network"
    page.start(iris, ["network", "nb"], 4)
    assert {line["classifier"] for line in finished(iris).result["lines"]} == {"network", "nb"}


@pytest.mark.parametrize("name", ["nb", "gaussian-nb", "aodesr", "kdb", "best"])
def test_the_chosen_one_answers_and_the_script_gives_the_same_model(iris: Session, name: str) -> None:
    data_page.change(iris, Edit("cuts", WIDTH, cuts=(0.8, 1.7)))
    page.use(iris, name)
    assert page.show(iris)["chosen"] == name
    model = classifier_of(iris)
    variables: dict[str, Any] = {}
    exec("\n".join(line for entry in iris.entries for line in entry.code), variables)
    X = iris.prepared.X
    np.testing.assert_allclose(variables["model"].predict_proba(X), model.predict_proba(X), atol=1e-12)
    assert type(variables["model"]) is type(model)
    compared = make_models([name], iris.prepared, iris.document)[name].fit(X, iris.prepared.y)
    np.testing.assert_allclose(compared.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_gaussian_columns_stay_numbers_unless_cut_by_hand(iris: Session) -> None:
    page.use(iris, "gaussian-nb")
    kinds = [column.kind for column in classifier_of(iris).encoder_.schema.columns]
    assert kinds == ["continuous"] * 4
    data_page.change(iris, Edit("cuts", WIDTH, cuts=(0.8, 1.7)))
    assert [column.kind for column in classifier_of(iris).encoder_.schema.columns] == ["continuous"] * 3 + ["numeric"]


def test_a_change_of_columns_learns_the_chosen_model_again_in_the_script(iris: Session) -> None:
    page.use(iris, "tan")
    data_page.change(iris, Edit("leave out", names=(WIDTH,)))
    variables: dict[str, Any] = {}
    exec("\n".join(line for entry in iris.entries for line in entry.code), variables)
    assert variables["model"].n_features_in_ == 3


def test_names_and_decisions_say_the_same() -> None:
    for name in ("aode", "aodesr", "gaussian-nb", "spcr"):
        assert name_of(choice_of(name)) == name
    assert choice_of("network") == ModelChoice()
    with pytest.raises(OptionError, match="no classifier of tanager"):
        choice_of("forest")


def test_no_network_cannot_be_used(iris: Session) -> None:
    with pytest.raises(OptionError, match="no network yet"):
        page.use(iris, "network")


def test_options_name_every_column_that_is_cut(iris: Session) -> None:
    columns = ColumnChoices(cuts={WIDTH: (1.0,)}, bins="frequency", n_bins=3)
    iris.change("cut", replace(iris.document, columns=columns))
    (model,) = make_models(["aode"], iris.prepared, iris.document).values()
    assert model.fit(iris.prepared.X, iris.prepared.y).encoder_.schema == iris.prepared.schema


# --- in a browser ----------------------------------------------------------------------------------------------------


def test_classifiers_are_compared_sorted_and_one_is_used(running: Any, tab: Any) -> None:
    begin(running.session, IRIS)
    tab.goto(f"{running.url}#compare")
    tab.locator("details.candidates summary").click()
    tab.get_by_role("button", name="None").click()
    for name in ("nb", "tan", "aode"):
        tab.locator("label.candidate", has=tab.locator(f"strong:text-is('{name}')")).locator("input").check()
    tab.locator("details.candidates summary").click()
    tab.locator("#how").select_option("rows")
    tab.locator("#start").click()
    tab.locator(".compared tbody tr").nth(2).wait_for()
    tab.locator("#start:not([disabled])").wait_for()
    losses = [float(text.split()[0]) for text in tab.locator(".compared tbody tr td:nth-child(3)").all_inner_texts()]
    assert losses == sorted(losses)
    tab.get_by_role("button", name="Classifier").click()
    names = tab.locator(".compared tbody tr td:nth-child(2)").all_inner_texts()
    assert names == ["aode", "nb", "tan"]
    assert tab.locator(".compare-side .curve").count() == 3
    tab.get_by_label("Draw the reliability of nb").uncheck()
    assert tab.locator(".compare-side .curve").count() == 2
    tab.locator("td [data-use=tan]").click()
    tab.locator("td [data-use=tan]:text-is('In use')").wait_for()
    assert running.session.document.model == ModelChoice("TAN")
    data_page.change(running.session, Edit("leave out", names=(WIDTH,)))
    tab.get_by_text("from before the data, the columns").wait_for()


def test_a_comparison_is_stopped_and_what_is_done_is_kept(running: Any, tab: Any) -> None:
    begin(running.session, DataChoice(kind="dataset", name="breast_cancer", target="class"))
    tab.goto(f"{running.url}#compare")
    tab.locator("details.candidates summary").click()
    tab.get_by_role("button", name="All").click()
    tab.locator("details.candidates summary").click()
    tab.locator("#how").select_option("rows")
    tab.locator("#start").click()
    tab.locator(".compared tbody tr").first.wait_for()
    tab.locator("#stop").click()
    tab.get_by_text("Stopped: what was done").wait_for()
    tab.reload()
    tab.locator(".compared tbody tr").first.wait_for()
    tab.get_by_text("Stopped: what was done").wait_for()
