"""The page Data: what the columns are, how they are distributed by class, and what decisions about them are worth."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from tanager.errors import OptionError
from tanager.studio import columns as edits
from tanager.studio.actions import Actions
from tanager.studio.document import ColumnChoices, Document
from tanager.studio.jobs import Job
from tanager.studio.judging import Judgement, judge
from tanager.studio.prepared import Prepared, load, prepare, prepare_again
from tanager.studio.profile import bins_of, detail, overview
from tanager.studio.script import reading_code, rest_code
from tanager.studio.session import Session

actions = Actions("data")

What = Literal["cuts", "kind", "automatic", "leave out", "take in", "bins", "keep"]
Kind = Literal["categorical", "numeric", "ordinal"]
Bins = Literal["mdl", "refined", "width", "frequency"]


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change: what it is about, and what that needs."""

    what: What
    name: str = ""  # of the column
    names: tuple[str, ...] = ()  # of columns that are left out or taken in
    cuts: tuple[float, ...] = ()
    kind: Kind = "categorical"
    order: tuple[str | int | float | bool, ...] = ()
    bins: Bins = "mdl"
    n_bins: int = 5


@actions.add
def show(session: Session) -> dict[str, Any]:
    """All columns, used or not, and how well the rows are answered with those that are used."""
    document, loaded = session.document, session.loaded
    everything = _everything(session)
    key = ("overview", document.data, _plain(everything[0]))
    lines = session.derive(key, lambda: overview(everything[1]))
    columns = document.columns

    def by_hand(line: dict[str, Any]) -> dict[str, Any]:
        name = line["name"]
        own = edits.is_automatic(columns, name)
        return {"used": name not in columns.left_out, "automatic": own, "reason": _reason(line["reason"], own)}

    return {
        "classes": [str(label) for label in everything[1].classes.tolist()],
        "class_counts": _class_counts(everything[1]),
        "rows": loaded.n_rows,
        "version": _version(document),
        "columns": [line | by_hand(line) for line in lines],
        "dropped": [{"name": name, "reason": reason} for name, reason in loaded.dropped.items()],
        "bins": columns.bins,
        "n_bins": columns.n_bins,
        "figures": _present(session).figures,
    }


@actions.add
def column(session: Session, name: str) -> dict[str, Any]:
    """One column, large."""
    edits.check_names(session.loaded, [name])
    columns, prepared = _everything(session)
    key, own = ("column", session.document.data, _plain(columns), name), edits.is_automatic(columns, name)
    found = session.derive(key, lambda: detail(prepared, name))
    used = name not in session.document.columns.left_out
    return found | {"automatic": own, "used": used, "reason": _reason(found["reason"], own)}


def _reason(reason: str, automatic: bool) -> str:
    """Why a column is what it is, by whose word."""
    if reason == "requested":
        return "declared by the data" if automatic else "chosen by hand"
    return {"cut points given": "cut points by hand", "order given": "order by hand"}.get(reason, reason)


@actions.add
def attempt(session: Session, edit: Edit) -> dict[str, Any]:
    """What a change would cost or gain, and how the column would look; nothing is changed."""
    after, document, _ = _proposal(session, edit)
    result: dict[str, Any] = _comparison(_present(session), judge(after, document))
    if edit.name in after.schema:
        result["column"] = bins_of(after, edit.name)
    return result


@actions.add
def change(session: Session, edit: Edit) -> dict[str, Any]:
    """Make a change: a step of the history, with what it costs or gains."""
    if edit.what == "keep":
        return _keep(session, edit.name)
    before = _present(session)
    after, document, notes = _proposal(session, edit)
    judgement = judge(after, document)
    session.change(_label(edit), document, rest_code(after, document), judgement.figures)
    session.derive(_judged(document), lambda: judgement)
    return _comparison(before, judgement) | {"notes": notes, "version": _version(document)}


@actions.add
def weigh(session: Session) -> dict[str, Any]:
    """A job: what leaving out each column would cost, one after the other."""
    document, prepared, present = session.document, session.prepared, _present(session)

    def work(job: Job) -> dict[str, Any]:
        worth: dict[str, Any] = {}
        names = list(prepared.schema.names)
        for i, name in enumerate(names if len(names) > 1 else []):
            job.report(i, len(names), f"without {name}", {"worth": worth, "version": _version(document)})
            rest, without, _ = _applied(session, document, Edit("leave out", names=(name,)), prepared)
            worth = worth | {name: judge(rest, without).minus(present)}
        return {"worth": worth, "version": _version(document)}

    return session.jobs.start("data", work)


# --- proposals --------------------------------------------------------------------------------------------------------


def _proposal(session: Session, edit: Edit) -> tuple[Prepared, Document, list[str]]:
    """The rows and the document as they would be after a change, and what else would go with it."""
    return _applied(session, session.document, edit, session.prepared)


def _applied(
    session: Session, document: Document, edit: Edit, before: Prepared
) -> tuple[Prepared, Document, list[str]]:
    loaded = session.loaded
    edits.check_names(loaded, [*edit.names, *([edit.name] if edit.name else [])])
    columns = edited(document.columns, edit)
    alone = edit.name in before.schema and edit.what in ("cuts", "kind", "automatic")
    after = prepare_again(before, columns, edit.name) if alone else prepare(loaded, columns)
    document, notes = edits.following(replace(document, columns=columns), before, after)
    return after, document, notes


def edited(columns: ColumnChoices, edit: Edit) -> ColumnChoices:
    """The choices after an edit."""
    if edit.what in ("cuts", "kind", "automatic") and not edit.name:
        raise OptionError(f"which column? An edit of {edit.what!r} needs its name.")
    match edit.what:
        case "cuts":
            return edits.with_cuts(columns, edit.name, edit.cuts)
        case "kind":
            return edits.with_kind(columns, edit.name, edit.kind, edit.order)
        case "automatic":
            return edits.automatic(columns, edit.name)
        case "leave out":
            return edits.with_left_out(columns, edit.names)
        case "take in":
            return edits.with_taken_in(columns, edit.names)
        case "bins":
            return replace(columns, bins=edit.bins, n_bins=edit.n_bins)
    raise OptionError(f"{edit.what!r} cannot be tried beforehand.")


def _label(edit: Edit) -> str:
    listed = edit.names[0] if len(edit.names) == 1 else f"{len(edit.names)} columns"
    return {
        "cuts": f"cut {edit.name} at {len(edit.cuts)} points",
        "kind": f"{edit.name} is {edit.kind}",
        "automatic": f"{edit.name} as the rules say",
        "leave out": f"left out {listed}",
        "take in": f"took in {listed}",
        "bins": f"numbers cut by {edit.bins}"
        + (f", {edit.n_bins} bins" if edit.bins in ("width", "frequency") else ""),
    }[edit.what]


def _keep(session: Session, name: str) -> dict[str, Any]:
    """Take back a column that was dropped when the file was read."""
    choice = session.document.data
    if choice is None or name not in session.loaded.dropped:
        raise OptionError(f"{name!r} is no column that was dropped when the file was read.")
    before = _present(session)
    choice = replace(choice, kept=(*choice.kept, name))
    document = replace(session.document, data=choice)
    loaded = session.derive(("loaded", choice), lambda: load(choice, session.uploads))
    after = prepare(loaded, document.columns)
    judgement = judge(after, document)
    code = (*reading_code(choice), *rest_code(after, document))
    session.change(f"took in {name}", document, code, judgement.figures)
    return _comparison(before, judgement) | {"notes": [], "version": _version(document)}


# --- judgements -------------------------------------------------------------------------------------------------------


def _present(session: Session) -> Judgement:
    """That of the present document, made once."""
    document = session.document
    return session.derive(_judged(document), lambda: judge(session.prepared, document))


def _judged(document: Document) -> Any:
    return "judgement", document.data, _plain((document.columns, document.arcs, document.model))


def _version(document: Document) -> str:
    """Tells a page whether figures are of the columns that it shows."""
    return _plain((document.data, document.columns)).decode()


def _comparison(before: Judgement, after: Judgement) -> dict[str, Any]:
    return {"before": before.figures, "after": after.figures, "difference": after.minus(before)}


def _everything(session: Session) -> tuple[ColumnChoices, Prepared]:
    """The rows with all columns, as they are or would be encoded."""
    columns = session.document.columns
    if not columns.left_out:
        return columns, session.prepared
    whole = replace(columns, left_out=())
    key = ("prepared", session.document.data, _plain(whole))
    return whole, session.derive(key, lambda: prepare(session.loaded, whole))


def _class_counts(prepared: Prepared) -> list[int]:
    return [int((prepared.labels == c).sum()) for c in range(len(prepared.classes))]


def _plain(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
