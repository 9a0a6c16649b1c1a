"""The page Compare: all classifiers on the rows of the session, and which of them answers from now on."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from tanager.errors import OptionError
from tanager.evaluate import Results
from tanager.studio.actions import Actions
from tanager.studio.comparing import Run, can_leave_rows_out, candidates, choice_of, make_models, name_of, report
from tanager.studio.jobs import Cancelled, Job
from tanager.studio.script import model_code
from tanager.studio.session import Session

actions = Actions("compare")

MOST_SECONDS = 24 * 3600.0


@actions.add
def show(session: Session) -> dict[str, Any]:
    """What can be compared, what is chosen, and the decisions that figures depend on."""
    document = session.document
    return {
        "candidates": candidates(session.prepared, document),
        "chosen": name_of(document.model),
        "network": document.arcs is not None,
        "rows": session.prepared.loaded.n_rows,
        "version": _version(session),
    }


@actions.add
def start(
    session: Session, names: list[str], folds: int | None = None, repeats: int = 1, seconds: float = 60.0
) -> dict[str, Any]:
    """Begin to compare: by folds, or, with ``folds`` null, leaving out single rows."""
    if not names:
        raise OptionError("choose at least one classifier.")
    if not 0 < seconds <= MOST_SECONDS or not 1 <= repeats <= 100 or (folds is not None and not 2 <= folds <= 100):
        raise OptionError("folds are 2 to 100, repetitions 1 to 100, and the time is at most a day.")
    prepared = session.prepared
    models = make_models(list(dict.fromkeys(names)), prepared, session.document)
    notes = []
    if folds is None:
        unable = [name for name, model in models.items() if not can_leave_rows_out(model)]
        models = {name: model for name, model in models.items() if name not in unable}
        notes = [f"single rows cannot be left out of {', '.join(unable)}: use folds for these."] if unable else []
        if not models:
            raise OptionError(notes[0])
    run, version = Run(prepared, models, folds, repeats, seconds, notes), _version(session)
    how = "each row left out in turn" if folds is None else f"{folds} folds" + (f", {repeats} times" * (repeats > 1))

    def work(job: Job) -> dict[str, Any]:
        told: dict[str, Any] = {"lines": [], "notes": [], "advice": {}}
        more = {"how": how, "version": version, "asked": len(models)}

        def tell(done: float, total: float, text: str, results: Results | None) -> None:
            nonlocal told
            if results is not None:
                told = report(results)
            job.report(done, total, text, told | more)

        try:
            return report(run.results(tell)) | more
        except Cancelled:
            job.result = told | more | {"notes": ["stopped: what was done by then is shown."]}
            raise

    return session.jobs.start("compare", work)


@actions.add
def use(session: Session, name: str) -> None:
    """Let a classifier answer from now on, on all pages."""
    document = session.document
    if name == "network" and document.arcs is None:
        raise OptionError("there is no network yet. Learn one on the page Network.")
    document = replace(document, model=choice_of(name))
    code = () if document.model.name == "network" else model_code(document)
    session.change(f"{name} answers", document, code)


def _version(session: Session) -> str:
    """Tells a page whether results are of the rows, columns and network as they are now."""
    document = session.document
    plain = msgspec.json.encode((document.data, document.columns, document.arcs), order="deterministic")
    return plain.decode()
