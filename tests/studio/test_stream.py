"""The page Stream: which models and rows, what a run shows, pause and stop, and what a browser makes of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tanager import EvolvingNaiveBayes, NaiveBayes
from tanager.errors import OptionError
from tanager.evaluate import prequential
from tanager.studio.document import DataChoice
from tanager.studio.events import Events
from tanager.studio.jobs import Cancelled, Job
from tanager.studio.pages import stream
from tanager.studio.pages.start import begin
from tanager.studio.prepared import classifier_options
from tanager.studio.session import Session
from tanager.studio.streaming import MAX_POINTS, SourceChoice, models_of, run, source_of
from waiting import PATIENCE


class Heard:
    """A job that writes down what it is told."""

    paused = False

    def __init__(self, stop_after: int = 10**9) -> None:
        self.results: list[Any] = []
        self.rests: list[float] = []
        self.stop_after = stop_after

    def report(self, done: float, total: float, text: str, result: Any) -> None:
        self.results.append(result)
        if len(self.results) >= self.stop_after:
            raise Cancelled("stopped.")

    def rest(self, seconds: float) -> None:
        self.rests.append(seconds)


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session()
    begin(made, DataChoice(kind="dataset", name="iris", target="class"))
    yield made
    made.close()


def test_the_curves_of_the_rows_are_those_of_prequential(session: Session) -> None:
    choice = SourceChoice(shuffled=True)
    job, source = Heard(), source_of(session, choice)
    shown = run(job, models_of(session, ["nb"], [], choice), source, 0, 0.99)  # type: ignore[arg-type]
    order = np.random.default_rng(choice.seed).permutation(150)
    options = classifier_options(session.prepared, session.document.columns)
    expected = prequential(NaiveBayes(**options), session.prepared.X.take(order), session.prepared.y[order], fade=0.99)
    assert shown["rows"] == expected.rows.tolist()
    assert shown["models"][0]["accuracy"] == expected.curve(over="fading").round(4).tolist()
    assert shown["models"][0]["log_loss"] == expected.curve(measure="log_loss", over="fading").round(4).tolist()
    assert len(job.results) > 5
    for early in job.results:
        assert shown["models"][0]["accuracy"][: len(early["rows"])] == early["models"][0]["accuracy"]


def test_a_stream_that_drifts_shows_where_it_does_and_who_noticed(session: Session) -> None:
    choice = SourceChoice(name="gaussians", n_rows=3000, drift="sudden", at=1500)
    models = models_of(session, ["nb", "evolving", "anytime"], ["nb"], choice)
    shown = run(Heard(), models, source_of(session, choice), 0, 0.999)  # type: ignore[arg-type]
    assert shown["drifts"] == [1500]
    assert [model["name"] for model in shown["models"]][-1] == "naive Bayes, watchful"
    alarms = [event["row"] for event in shown["models"][-1]["events"] if event["what"] == "drift"]
    assert any(1500 <= row < 1700 for row in alarms)
    evolving = models["evolving naive Bayes"]
    assert isinstance(evolving, EvolvingNaiveBayes)
    assert [own["prior"] for own in shown["evolving"]["pseudo"]] == [own.prior for own in evolving.pseudo_classes_]
    assert shown["evolving"]["pseudo"][0]["sets"][0]["mean"] == evolving.pseudo_classes_[0].means["x0"]
    assert shown["anytime"]["row"] == 3000
    assert len(shown["anytime"]["accuracy"]) == len(shown["anytime"]["members"]) + 1
    assert shown["best"] > 0.9


def test_an_anytime_model_is_tried_on_rows_it_has_not_learned(session: Session) -> None:
    choice = SourceChoice(shuffled=True)
    source = source_of(session, choice)
    X, y = source.ahead(100)
    assert X.num_rows == len(y) == 50
    assert X.equals(source.stream.slice(100))
    shown = run(Heard(), models_of(session, ["anytime"], [], choice), source, 0, 0.999)  # type: ignore[arg-type]
    assert shown["anytime"]["row"] + shown["anytime"]["rows"] == 150


def test_a_slow_run_rests_between_its_steps_and_sends_few_points(session: Session) -> None:
    choice, job = SourceChoice(name="naive_bayes", n_rows=2000), Heard()
    shown = run(job, models_of(session, ["nb"], [], choice), source_of(session, choice), 32, 0.999)  # type: ignore[arg-type]
    assert len(job.results) == 500  # eight steps a second, of four rows each
    assert max(job.rests) <= 4 / 32
    assert len(shown["rows"]) == MAX_POINTS
    assert shown["rows"][-1] == 2000


@pytest.mark.parametrize(
    "choice",
    [SourceChoice(name=name, n_rows=100) for name in ("tan", "ban", "moving_gaussians", "sea", "stagger", "hyperplane")]
    + [SourceChoice(name="tan", n_rows=100, drift=drift) for drift in ("gradual", "slow", "recurring")],  # type: ignore[arg-type]
)
def test_every_source_gives_its_rows(session: Session, choice: SourceChoice) -> None:
    shown = run(Heard(), models_of(session, ["nb"], [], choice), source_of(session, choice), 0, 0.999)  # type: ignore[arg-type]
    assert shown["rows"][-1] == 100


def test_the_session_s_classifier_starts_from_nothing(session: Session) -> None:
    (model,) = models_of(session, ["session"], [], SourceChoice()).values()
    assert not model.started
    assert model.schema == session.prepared.schema


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"models": []}, "at least one model"),
        ({"models": ["aod"]}, "Did you mean 'aode'"),
        ({"models": ["nb"], "watched": ["evolving"]}, "cannot be watched"),
        ({"models": ["session"], "source": SourceChoice(name="tan")}, "columns of the session alone"),
        ({"models": ["nb"], "source": SourceChoice(name="tann")}, "Did you mean 'tan'"),
        ({"models": ["nb"], "source": SourceChoice(name="tan", n_rows=10**9)}, "1,000,000,000 rows"),
        ({"models": ["nb"], "source": SourceChoice(name="tan", n_rows=10, at=10, drift="sudden")}, "row 10 is not in"),
        ({"models": ["nb"], "source": SourceChoice(name="tan", seed=-1)}, "seed"),
        ({"models": ["nb"], "source": SourceChoice(name="sea", drift="sudden")}, "drifts by itself"),
        ({"models": ["nb"], "source": SourceChoice(name="gaussians", drift="slow")}, "for networks"),
        ({"models": ["nb"], "speed": -1}, "rows per second"),
        ({"models": ["nb"], "fade": 0.0}, "above 0"),
    ],
)
def test_what_cannot_run_is_refused_with_a_sentence(session: Session, body: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        stream.start(session, **body)
    with pytest.raises(OptionError, match="nothing is running"):
        stream.pause(session)


def test_a_run_stops_where_it_is_told_to(session: Session) -> None:
    choice, job = SourceChoice(name="tan", n_rows=5000), Heard(stop_after=2)
    with pytest.raises(Cancelled):
        run(job, models_of(session, ["nb"], [], choice), source_of(session, choice), 0, 0.999)  # type: ignore[arg-type]
    assert job.results[-1]["rows"][-1] < 100


def test_a_job_rests_while_it_is_paused_and_ends_when_it_is_cancelled() -> None:
    job, third, steps = Job("stream", 1, Events()), threading.Event(), []

    def work() -> None:
        with contextlib.suppress(Cancelled):
            while True:
                steps.append(len(steps))
                if len(steps) == 3:
                    third.set()
                job.rest(0.001)

    job.pause()
    thread = threading.Thread(target=work)
    thread.start()
    assert not third.wait(0.05)
    assert steps in ([], [0])
    job.resume()
    assert third.wait(PATIENCE)
    job.pause()
    job.cancel()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert job.summary()["paused"]


# --- in a browser -------------------------------------------------------------------------------------------


def test_a_run_is_paused_seen_in_two_tabs_and_stopped(tab: Any, running: Any) -> None:
    running.act("start", "choose", kind="dataset", name="iris")
    tab.goto(f"{running.url}#stream")
    tab.locator("#source").select_option("tan")
    tab.locator("#n_rows").fill("100000")
    tab.locator("#speed").select_option("1000")
    tab.get_by_label("evolving naive Bayes").check()
    tab.locator("#begin").click()
    tab.get_by_role("img", name="accuracy of 4 models").wait_for()
    other = tab.context.new_page()
    other.goto(f"{running.url}#stream")
    other.get_by_role("img", name="accuracy of 4 models").wait_for()
    other.get_by_role("button", name="Pause").click()
    tab.locator("#state", has_text="resting").wait_for()
    tab.get_by_role("button", name="Go on").click()
    other.locator("#state", has_text="running").wait_for()
    tab.get_by_role("radio", name="Log loss").click()
    tab.get_by_role("img", name="log loss of 4 models").wait_for()
    tab.get_by_role("button", name="Stop").focus()
    tab.keyboard.press("Enter")
    tab.locator("#state", has_text="stopped").wait_for()
    other.locator("#state", has_text="stopped").wait_for()
    tab.reload()
    tab.get_by_role("img", name="accuracy of 4 models").wait_for()  # what there was can still be seen


def test_a_drift_its_alarm_pseudo_classes_and_the_anytime_curve_are_drawn(tab: Any, running: Any) -> None:
    running.act("start", "choose", kind="dataset", name="iris")
    tab.goto(f"{running.url}#stream")
    tab.locator("#source").select_option("gaussians")
    tab.locator("#n_rows").fill("3000")
    tab.locator("#at").fill("1500")
    for name in ("evolving naive Bayes", "anytime AODE"):
        tab.get_by_label(name).check()
    tab.locator("#begin").click()
    tab.locator("#state", has_text="done").wait_for()
    assert tab.locator("path.alarm.drift").count() >= 1
    tab.locator("svg text", has_text="the stream drifts").wait_for()
    tab.get_by_role("img", name="Fuzzy sets of x0").wait_for()
    tab.get_by_role("radio", name="by time").click()
    tab.get_by_text("microseconds for a row").wait_for()
    tab.get_by_label("Draw AODE", exact=True).uncheck()
    tab.locator("tr.faint", has_text="AODE").wait_for()
