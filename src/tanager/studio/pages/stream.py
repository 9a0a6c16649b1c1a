"""The page Stream: every row of a stream is answered before it is learned, and curves show how that goes."""

from __future__ import annotations

from typing import Any

from tanager.errors import OptionError
from tanager.studio.actions import Actions
from tanager.studio.session import Session
from tanager.studio.streaming import GENERATORS, MODELS, WATCHED, SourceChoice, models_of, run, source_of

actions = Actions("stream")

MAX_SPEED = 1_000_000
ROWS = SourceChoice()


@actions.add
def choices(session: Session) -> dict[str, Any]:
    """What can be chosen, and the run that there is."""
    job = session.jobs.find("stream")
    return {
        "rows": session.loaded.n_rows if session.has_rows else 0,
        "models": [{"name": name, "text": text, "about": about} for name, (text, about) in MODELS.items()],
        "watched": list(WATCHED),
        "generators": [{"name": name, "text": text, "drifts": random} for name, (text, random) in GENERATORS.items()],
        "job": None if job is None else job.summary(),
    }


@actions.add
def start(
    session: Session,
    models: list[str],
    watched: tuple[str, ...] = (),
    source: SourceChoice = ROWS,
    speed: int = 0,
    fade: float = 0.999,
) -> dict[str, Any]:
    """Begin a run; ``speed`` is in rows per second, 0 is as fast as possible."""
    if not 0 <= speed <= MAX_SPEED:
        raise OptionError(f"{speed:,} rows per second? Give up to {MAX_SPEED:,}, or 0 for as fast as possible.")
    if not 0 < fade <= 1:
        raise OptionError("fading must be above 0 and at most 1, such as 0.999.")
    chosen, rows = models_of(session, models, watched, source), source_of(session, source)
    return session.jobs.start("stream", lambda job: run(job, chosen, rows, speed, fade))


@actions.add
def pause(session: Session) -> None:
    """Let the run rest."""
    job = session.jobs.find("stream")
    if job is None or job.state != "running":
        raise OptionError("nothing is running.")
    job.pause()


@actions.add
def resume(session: Session) -> None:
    """Let the run go on."""
    job = session.jobs.find("stream")
    if job is None or job.state != "running":
        raise OptionError("nothing is running.")
    job.resume()
