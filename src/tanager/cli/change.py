"""The common part of ``update`` and ``unlearn``: a model file, a data file, and a new model file."""

from __future__ import annotations

from typing import Any

from tanager.cli.model_state import n_learned
from tanager.cli.output import check_output
from tanager.cli.reading import (
    LEARNED,
    all_cores,
    check_columns,
    check_inputs,
    load_model,
    open_for,
    set_target,
)
from tanager.cli.screen import Screen, counted


def change(
    verb: str,
    done: str,
    path: str,
    data: str,
    output: str | None,
    target: str | None,
    times: str | None,
    as_json: bool,
    reading: dict[str, Any],
) -> None:
    """Apply ``tanager.files.update`` or ``unlearn`` and write the model."""
    screen = Screen(as_json=as_json)
    output = output or path
    check_inputs(path, data)
    check_output(output, data)
    with screen.waiting("starting"):
        from tanager import files

        model = load_model(path)
        set_target(model, target, path)
        source = open_for(model, data, **reading)
        source.columns_of(model)  # refuses a file that has none of them
        check_columns(source, [model.target_name_], LEARNED)
        before = n_learned(model)
    with screen.progress(f"reading {source.name}") as tick, all_cores(model):
        n_rows = getattr(files, verb)(model, source, times=times, progress=tick)
    model.save(output)
    now = n_learned(model)
    screen.say(f"{counted(n_rows, 'row')} of {source.name} {done}: {before:,.0f} before, {now:,.0f} now")
    screen.say(f"Written to {output}")
    screen.document(
        {
            "model": path,
            "data": source.name,
            "output": output,
            done: n_rows,
            "before": before,
            "rows": now,
        }
    )
