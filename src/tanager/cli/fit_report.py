"""The report of ``tanager fit``: as data, and as tables."""

from __future__ import annotations

import math
import os
from shlex import quote
from typing import Any

from tanager.cli.model_state import class_information, used_columns
from tanager.cli.reading import warn_many_classes
from tanager.cli.screen import Screen, counted, file_size, listed, table

MOST_CLASSES = 30  # listed


def make_report(learned: Any) -> dict[str, Any]:
    """What was learned from a file, as data."""
    model = learned.model
    weights = model.class_count_.tolist()
    information = class_information(model)
    return {
        "rows": learned.n_rows,
        "rows_without_class": learned.n_unlabelled,
        "rows_for_kinds": learned.schema_rows,
        "classes": [{"class": c, "rows": n} for c, n in zip(model.classes_.tolist(), weights, strict=True)],
        "columns": [
            c.to_dict() | {"missing": learned.missing.get(c.table_name, 0), "information": information.get(c.name)}
            for c in model.encoder_.schema.columns
        ],
        "dropped": learned.dropped,
        "used": used_columns(model),
        "leave_one_out": _leave_one_out(learned.left_out),
        "order": learned.order.kind,
        "majority_class": _majority_class(weights),
        "calibration": _calibration(model),
    }


def _calibration(model: Any) -> dict[str, Any] | None:
    """How sure the model may be, and what that changes on left-out rows; None where it is not calibrated."""
    if not getattr(model, "calibrate", False):
        return None
    found: dict[str, Any] = model.calibration_.to_plain()
    return found | {"offsets": dict(zip(map(str, model.classes_.tolist()), found["offsets"], strict=True))}


def _leave_one_out(measured: Any) -> dict[str, Any] | None:
    if measured is None:
        return None
    figures = {"accuracy": measured.accuracy, "log_loss": measured.log_loss, "rows": measured.n_rows}
    return figures | ({} if measured.n_folds is None else {"folds": measured.n_folds})


def _majority_class(weights: list[float]) -> dict[str, float]:
    """Accuracy and log loss of the class proportions alone, as a baseline."""
    shares = [n / sum(weights) for n in weights if n > 0]
    return {"accuracy": max(shares), "log_loss": -sum(s * math.log(s) for s in shares)}


def print_report(screen: Screen, report: dict[str, Any], schema: Any) -> None:
    """Classes, columns, dropped columns, and the leave-one-out evaluation."""
    from tanager.cli.columns import columns_table

    rows, classes = report["rows"], report["classes"]
    warn_many_classes(screen, report["target"], len(classes), rows)
    what = f"{counted(rows, 'row')}, {counted(len(schema), 'column')}, {counted(len(classes), 'class', 'classes')}"
    screen.say(f"{report['data']}: {what} in {report['target']!r}", style="bold")
    if report["rows_without_class"]:
        screen.say(f"{counted(report['rows_without_class'], 'row')} without a class ignored")
    if report["rows_for_kinds"] < rows:
        screen.say(f"Kinds and cut points come from {report['rows_for_kinds']:,} rows spread over the file.")
    if report["order"] == "class":
        screen.say("Rows are sorted by class. Shuffle them before they are learned as a stream (tanager prequential).")
    screen.say()
    _print_classes(screen, classes)
    screen.say()
    screen.show(columns_table(schema, {c.get("source") or c["name"]: c["missing"] for c in report["columns"]}, rows))
    if report["dropped"]:
        screen.say()
        screen.show(table(("dropped", "reason"), report["dropped"].items()))
    uninformative = [c["name"] for c in report["columns"] if c["information"] == 0]
    if uninformative:
        screen.show(f"\nNo information about the class on their own: {listed(uninformative)}")
    if len(report["used"]) < len(schema):
        used = listed(report["used"], 20)
        screen.show(f"\nPredictions depend on {len(report['used'])} of {len(schema)} columns: {used}")
    _print_evaluation(screen, report)
    _print_calibration(screen, report["calibration"])


def _print_classes(screen: Screen, classes: list[dict[str, Any]]) -> None:
    total = sum(c["rows"] for c in classes) or 1  # less than the rows of the file where old rows are forgotten
    lines = [(str(c["class"]), f"{c['rows']:,.0f}", f"{c['rows'] / total:.1%}") for c in classes[:MOST_CLASSES]]
    screen.show(table(("class", "rows", "share"), lines, right=("rows", "share")))
    if len(classes) > MOST_CLASSES:
        screen.say(f"... and {len(classes) - MOST_CLASSES:,} more")


def _print_evaluation(screen: Screen, report: dict[str, Any]) -> None:
    measured, majority = report["leave_one_out"], report["majority_class"]
    if measured is None:
        return
    lines = [
        (n, f"{m['accuracy']:.4f}", f"{m['log_loss']:.4f}")
        for n, m in ((report["model"], measured), ("majority class", majority))
    ]
    sampled = "" if measured["rows"] == report["rows"] else f" ({measured['rows']:,} rows)"
    screen.say()
    how = f"{measured['folds']}-fold cross-validation" if "folds" in measured else "leave-one-out"
    screen.show(table((f"{how}{sampled}", "accuracy", "log loss"), lines, right=("accuracy", "log loss")))
    if measured["log_loss"] > majority["log_loss"]:
        screen.say("Its probabilities are worse than the shares of the classes alone.")
        if not report["calibration"]:
            screen.say("Try --set calibrate=true, or tanager compare.")


def _print_calibration(screen: Screen, found: dict[str, Any] | None) -> None:
    """Reliability on left-out rows before and after."""
    if found is None:
        return
    lines = [
        (when, f"{found['error' + part]:.4f}", f"{found['log_loss' + part]:.4f}")
        for when, part in (("before", "_before"), ("after", ""))
    ]
    heading = f"calibration ({found['how']}, {counted(found['n_rows'], 'row')})"
    screen.say()
    screen.show(table((heading, "calibration error", "log loss"), lines, right=("calibration error", "log loss")))
    offsets = [f"{name} {b:+.2f}" for name, b in found["offsets"].items() if b]
    beside = f", log-odds {listed(offsets)}" if offsets else ""
    screen.say(f"Probabilities are taken to the power {found['power']:.3f}{beside}.")


def print_next_steps(screen: Screen, report: dict[str, Any]) -> None:
    """Where the model is, and commands that use it."""
    size = file_size(os.path.getsize(report["output"]))
    screen.say(f"\nWritten to {report['output']} ({size}). Next:")
    path = quote(report["output"])
    screen.say(f"  tanager show {path}\n  tanager predict {path} NEW.csv")
