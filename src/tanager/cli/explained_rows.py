"""Many rows explained for ``tanager explain``: on the screen, as a table in a file, as a picture or as JSON."""

from __future__ import annotations

import os
from typing import Any

from tanager.cli.output import open_output
from tanager.cli.rows_to_explain import Places, rows_of_file
from tanager.cli.screen import Screen, counted, table

ON_SCREEN = 20  # rows; more are written to a file
PICTURES = (".png", ".svg", ".pdf")


def is_picture(path: str) -> bool:
    """Whether a file is a picture, by its extension."""
    return os.path.splitext(path)[1].lower() in PICTURES


def explain_many(
    screen: Screen,
    model: Any,
    data: str,
    places: Places | None,
    pair: list[Any],
    change: dict[str, Any] | None,
    output: str | None,
    reading: dict[str, Any],
) -> None:
    """Explain rows of a file; with ``change``, also what would turn each of them."""
    from tanager.writing import table_format

    form = None if output is None or is_picture(output) else table_format(output)
    numbers, X = rows_of_file(model, data, places, reading)
    told = model.explain_rows(X, *pair)
    turns = None if change is None else _turns(model, X, change)
    if output is not None and form is None:
        told.plot(output)
    elif output is not None and form is not None:
        _write(told, numbers, turns, output, form)
    else:
        _print(screen, told, numbers, turns)
    if output not in (None, "-"):
        screen.say(f"{counted(len(told), 'row')} explained in {output}")
    if screen.as_json:
        screen.document(
            {"data": data, "rows": _entries(told, numbers, turns)} if output is None else {"output": output}
        )


def _turns(model: Any, X: Any, change: dict[str, Any]) -> list[list[Any]]:
    """For each row the changes that would turn its answer; none where it is what is wanted."""
    from tanager.learning.changes import nearest_changes

    wanted = change["wanted"]
    answers = model.predict(X).tolist()
    return [
        [] if wanted is not None and answer == wanted else nearest_changes(model, row, **change)
        for row, answer in zip(X.to_pylist(), answers, strict=True)
    ]


def _words(turns: list[Any]) -> str:
    return str(turns[0]) if turns else ""


def _wide(told: Any, numbers: list[int], turns: list[list[Any]] | None) -> Any:
    import pyarrow as pa

    from tanager.encoding.arrow_columns import arrow_column

    columns = {"row": numbers, **told.to_columns()}
    if turns is not None:
        columns |= {"what_if": [_words(own) for own in turns], "cost": [own[0].cost if own else None for own in turns]}
    return pa.table([arrow_column(list(cells)) for cells in columns.values()], [*map(str, columns)])


def _write(told: Any, numbers: list[int], turns: list[list[Any]] | None, output: str, form: str) -> None:
    from tanager.writing import TableWriter

    with open_output(output) as file:
        writer = TableWriter(file, form)
        writer.write(_wide(told, numbers, turns))
        writer.close()


def _print(screen: Screen, told: Any, numbers: list[int], turns: list[list[Any]] | None) -> None:
    first = told[:ON_SCREEN]
    parts = first.to_columns()
    lines: list[tuple[str, ...]] = [
        (f"{number:,}", str(answer), f"{p:.4f}", f"{odds:+.2f}", reasons)
        for number, answer, p, odds, reasons in zip(
            numbers, parts["answer"], parts["probability"], parts["log_odds"], first.reasons(), strict=False
        )
    ]
    head: tuple[str, ...] = ("row", "answer", "probability", "log-odds", "main reasons")
    if turns is not None:
        head = (*head, "what if")
        lines = [(*line, _words(own)) for line, own in zip(lines, turns, strict=False)]
    right = ["row", "probability", "log-odds"]
    screen.show(table(head, lines, right=right, elastic=["main reasons", "what if"]))
    if len(told) > ON_SCREEN:
        screen.say(
            f"and {len(told) - ON_SCREEN:,} more. Write all with -o reasons.csv, or draw them with -o reasons.png."
        )


def _entries(told: Any, numbers: list[int], turns: list[list[Any]] | None) -> list[dict[str, Any]]:
    out = []
    for r, entry in enumerate(told.to_dicts()):
        more = {} if turns is None else {"changes": [vars(change) for change in turns[r]]}
        out.append({"row": numbers[r], **entry, **more})
    return out
