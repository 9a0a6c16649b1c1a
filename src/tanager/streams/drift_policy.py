"""What DriftAware does when its detector warns or says that the world has changed."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import astuple, dataclass
from typing import Any

from tanager import saved
from tanager.streams.detectors import DDM, ask
from tanager.streams.drift_models import RunningModels
from tanager.streams.runner import SHARE, Duel, Share
from tanager.streams.watched_blocks import Quiet


@dataclass(frozen=True)
class Event:
    """Something that happened in a stream: after how many rows, what, the share of wrong answers then, and why."""

    row: int
    what: str
    error: float
    why: str


@dataclass(frozen=True)
class Reactions:
    """The options of ``DriftAware`` that say what is done when."""

    detector: Any
    on_warning: str
    on_drift: str
    fade_to: float
    every: int
    recent: int
    patience: int


class Policy:
    """Hears after every block which answers were wrong, and acts on what the detector says of them."""

    def __init__(self, options: Reactions, models: RunningModels) -> None:
        self._options, self._models = options, models
        self.events: list[Event] = []
        self.duel = Duel(options.recent)  # of the model in the background with the one in front
        self._warned: int | None = None  # row at which the present warning began
        self._drifted: int | None = None  # row of a drift that still waits for a better model
        self._new_detector()

    def _new_detector(self) -> None:
        given = self._options.detector
        self.detector = DDM() if given is None else deepcopy(given)

    def quiet_after(self, n_rows: int) -> Quiet:
        """When there is nothing to decide after a block that begins after so many rows of the stream."""
        left = None if self._drifted is None else max(0, self._options.patience - n_rows + self._drifted)
        return Quiet("warning" if self._warned is not None else None, left)

    def look(self, n_rows: int) -> None:
        """At the end of a block, after so many rows of the stream: tell the detector, and act on what it says."""
        models = self._models
        wrong = models.front.end_block()
        if models.back is not None:
            self.duel.add(models.back.end_block(), wrong)
        self.act(ask(self.detector, wrong), n_rows)

    def act(self, signal: str | None, n_rows: int) -> None:
        """At the end of a block: act on what the detector says."""
        front = self._models.front
        if signal == "drift" and front.recent.mean <= front.long_run.mean:
            signal = None  # a change for the better
        if signal == "drift":
            self._drift(n_rows)
        elif self._drifted is not None:
            self._wait(self._drifted, n_rows)
        elif signal == "warning":
            self._warn(n_rows)
        elif self._warned is not None:
            self._all_clear(n_rows)

    def _warn(self, n_rows: int) -> None:
        if self._warned is not None:
            return
        self._warned = n_rows
        self._note(n_rows, "warning", self._errors())
        if self._options.on_warning == "fade":
            self._fade(n_rows)
        elif self._options.on_warning == "train" and self._options.on_drift in ("swap", "restart"):
            self._begin_background(n_rows)

    def _all_clear(self, n_rows: int) -> None:
        self._models.drop_background()
        self._warned = None
        self._note(n_rows, "false alarm", self._errors())

    def _drift(self, n_rows: int) -> None:
        self._note(n_rows, "drift", self._errors())
        on_drift = self._options.on_drift
        if on_drift == "swap" and not self._swap(n_rows):
            self._begin_background(n_rows)
            self._drifted = n_rows
        elif on_drift not in ("swap", "nothing"):
            {"restart": self._restart, "fade": self._fade, "shrink": self._shrink}[on_drift](n_rows)
            self._calm()

    def _swap(self, n_rows: int) -> bool:
        """Let the background model take over if it is better; whether it did."""
        models = self._models
        if models.back is None or not self.duel.is_won():
            return False
        models.replace_front(models.back)
        self._note(n_rows, "swap", f"the model that began at row {models.front.began:,} is better: {self.duel}")
        self._calm()
        return True

    def _wait(self, since: int, n_rows: int) -> None:
        """After a drift: the background model takes over, goes on, or is given up."""
        if not self._swap(n_rows) and n_rows - since >= self._options.patience:
            self._note(n_rows, "kept", f"the model that began after it is not better: {self.duel}")
            self._calm()

    def _restart(self, n_rows: int) -> None:
        models = self._models
        models.replace_front(models.back or models.fresh(n_rows))
        self._note(n_rows, "restart", f"the model that began at row {models.front.began:,} answers from now on")

    def _fade(self, n_rows: int) -> None:
        to = self._options.fade_to
        self._models.front.change(n_rows, "fade", to)  # ``check_options`` has seen that it can
        self._note(n_rows, "fade", f"{to:g} of all that was counted is left")

    def _shrink(self, n_rows: int) -> None:
        kept = n_rows - self._warned if self._warned is not None else self._options.every
        self._models.front.change(n_rows, "shrink", kept)
        self._note(n_rows, "shrink", f"only the last {kept:,} rows are left in the window")

    def _begin_background(self, n_rows: int) -> None:
        self._models.begin_background(n_rows)
        self.duel = Duel(self._options.recent)

    def _calm(self) -> None:
        """Something was done: no background model, and the detector begins anew."""
        self._models.drop_background()
        self._warned = self._drifted = None
        self._new_detector()

    def _errors(self) -> str:
        front = self._models.front
        return f"{front.recent.mean:.3f} of the recent answers were wrong, {front.long_run.mean:.3f} in the long run"

    def _note(self, n_rows: int, what: str, why: str) -> None:
        self.events.append(Event(n_rows, what, self._models.front.recent.mean, why))

    def go_on_from(self, other: Policy) -> None:
        """Remember what another one does, whose models have seen the same rows."""
        self.events, self.detector, self.duel = other.events, other.detector, other.duel
        self._warned, self._drifted = other._warned, other._drifted

    # --- files --------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All it remembers, as plain data."""
        return {
            "events": [list(astuple(event)) for event in self.events],
            "warned": self._warned,
            "drifted": self._drifted,
            "detector": self.detector.state(),
            "duel": [astuple(self.duel.won), astuple(self.duel.lost)],
        }

    def take_state(self, state: dict[str, Any]) -> None:
        """Go on from what ``state`` gave."""
        expected = {
            "warned": saved.maybe(saved.whole()),
            "drifted": saved.maybe(saved.whole()),
            "events": saved.items(saved.row(saved.whole(), saved.text(), saved.figure(), saved.text())),
            "duel": saved.row(SHARE, SHARE),
        }
        self._warned, self._drifted, events, duel = saved.read("state of its stream", state, expected).values()
        self.events = [Event(*event) for event in events]
        self._new_detector()
        self.detector.take_state(state["detector"])
        self.duel.won, self.duel.lost = (Share(*share) for share in duel)
