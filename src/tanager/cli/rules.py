"""``tanager rules``: an evolving model as fuzzy rules."""

from __future__ import annotations

from shlex import quote
from typing import Any

import click

from tanager.cli.model_state import has_fuzzy_rules, n_learned
from tanager.cli.networks import check_picture, draw_picture
from tanager.cli.options import columns_option, examples, json_option
from tanager.cli.output import check_output
from tanager.cli.reading import check_inputs, load_model
from tanager.cli.screen import Screen, counted, table
from tanager.errors import OptionError


@click.command(
    epilog=examples(
        "tanager fit iris.csv --model evolving",
        "tanager rules iris.tanager",
        "tanager rules iris.tanager --table --events",
        "tanager rules iris.tanager --plot sets.png",
    )
)
@click.argument("model")
@click.option("--table", "as_table", is_flag=True, help="Print a table with a line per rule and column.")
@click.option("--events", is_flag=True, help="Also list what was promoted, merged and removed, when and why.")
@click.option("--top", default=20, type=click.IntRange(min=1), metavar="N", help="Number of rules and events to list.")
@click.option("--plot", "-o", metavar="FILE", help="Draw the fuzzy sets of every column: a .png, .svg or .pdf file.")
@click.option("--density", is_flag=True, help="Draw densities instead of fuzzy sets (scaled to 1).")
@columns_option("--columns", "Columns to draw.  [default: those that differ most]")
@json_option
def command(
    model: str,
    as_table: bool,
    events: bool,
    top: int,
    plot: str | None,
    density: bool,
    columns: list[str],
    as_json: bool,
) -> None:
    """Print MODEL, fitted with --model evolving, as fuzzy rules.

    A rule is a cluster of rows of one class. Each rule contributes its weight times the degree to which the row meets
    the conditions (the product of their degrees, or their minimum with --set join=min); summed per class, this gives
    the predictions of the model.
    """
    screen = Screen(as_json=as_json)
    check_inputs(model)
    if plot is not None:
        check_output(plot, model)
        check_picture(plot)
    with screen.waiting("starting"):
        learned = load_model(model)
        _check_has_rules(learned, model)
        rules, happened = learned.rules(), learned.events_
    if plot is not None:
        kind = "density" if density else "fuzzy"
        draw_picture(screen, lambda: learned.plot(plot, kind=kind, columns=columns or None))
    what = f"{counted(len(rules), 'rule')} for {counted(len(learned.classes_), 'class', 'classes')}"
    screen.say(f"{what}, from {counted(round(n_learned(learned)), 'row')}\n", style="bold")
    if as_table:
        screen.show(_table(rules, top))
    else:
        say_rules(screen, rules[:top])
    _more(screen, len(rules) - top, "rules")
    if rules.note:
        screen.say(rules.note)
    if events:
        _print_events(screen, happened, top)
    if plot is not None:
        screen.say(f"\nPicture written to {plot}")
    screen.document(_report(model, rules, happened) | ({"picture": plot} if plot else {}))


def say_rules(screen: Screen, rules: Any) -> None:
    """Print rules as sentences, wrapped to the width of the console."""
    for rule in rules:
        text = rule.text(screen.out.width)
        screen.say(text if screen.unicode else text.replace("±", "+-"))


def _check_has_rules(learned: Any, path: str) -> None:
    if not has_fuzzy_rules(learned):
        raise OptionError(
            f"{path} contains {type(learned).__name__}, which has no rules. Fit a model that has: tanager fit DATA "
            f"--model evolving. To see what this one has learned: tanager show {quote(path)}"
        )


def _table(rules: Any, top: int) -> Any:
    """One line per condition; class, weight and share of the rows in the first line of a rule."""
    lines = []
    for number, rule in enumerate(rules[:top], 1):
        head = (str(number), str(rule.label), f"{rule.weight:.3g}", f"{rule.prior:.1%}")
        for at, condition in enumerate(rule.conditions or [None]):
            name, text = ("", "anything") if condition is None else (condition.column, str(condition))
            lines.append((*(head if at == 0 else ("",) * 4), name, text.removeprefix(f"{name} is ")))
    names = ("rule", "class", "weight", "rows", "column", "is")
    return table(names, lines, right=("rule", "weight", "rows"), elastic=["is"])


def _print_events(screen: Screen, events: Any, top: int) -> None:
    screen.say("\nEvents", style="bold")
    if not events:
        screen.say("none: every class is one cluster")
    lines = [(f"{e.row:,}", e.what, str(e.label), e.why) for e in events[-top:]]
    if lines:
        screen.show(table(("row", "event", "class", "reason"), lines, right=["row"], elastic=["reason"]))
    _more(screen, len(events) - top, "before these")


def _more(screen: Screen, n: int, what: str) -> None:
    if n > 0:
        screen.say(f"... and {n:,} more {what} (--top)")


def _report(path: str, rules: Any, events: Any) -> dict[str, Any]:
    def condition(c: Any) -> dict[str, Any]:
        if hasattr(c, "centre"):
            return {"column": c.column, "about": c.centre, "spread": c.spread, "density": c.density}
        top = max(c.table.values())
        return {"column": c.column, "degrees": [{"value": v, "degree": p / top} for v, p in c.table.items()]}

    return {
        "model": path,
        "join": rules.join,
        "rules": [
            {
                "class": rule.label,
                "weight": rule.weight,
                "share": rule.prior,
                "if": [condition(c) for c in rule.conditions],
                "text": " ".join(str(rule).split()),
            }
            for rule in rules
        ],
        "events": [{"row": e.row, "what": e.what, "class": e.label, "why": e.why} for e in events],
    }
