"""``tanager decide``: the best policies of an influence diagram, and what information is worth."""

from __future__ import annotations

from typing import Any

import click

from tanager.cli.networks import check_picture, described, draw_picture
from tanager.cli.options import examples, json_option
from tanager.cli.output import check_output
from tanager.cli.pairs import numbers_in, pairs_option
from tanager.cli.reading import check_inputs
from tanager.cli.screen import Screen, counted, table


@click.command(
    epilog=examples(
        "tanager decide oil.json",
        "tanager decide oil.xdsl --known test=yes,seismic=open",
        "tanager decide oil.json --prices seismic=10 --before drill",
        "tanager decide oil.json --table --ranges -o oil.png",
    )
)
@click.argument("diagram")
@pairs_option("--known", "What is known already: values of chance nodes, options that were chosen.")
@click.option("--before", metavar="DECISION", help="Value of information before this decision.  [default: the first]")
@pairs_option("--prices", "Prices of chance nodes: which test is worth its price?")
@click.option("--limited-memory", is_flag=True, help="Decisions know their parents alone, and nothing is remembered.")
@click.option("--table", "as_table", is_flag=True, help="Print policies as tables too.")
@click.option("--ranges", is_flag=True, help="Print in which range of each utility the policies stay the best.")
@click.option("--output", "--plot", "-o", metavar="FILE", help="Draw the diagram: a .png, .svg or .pdf file.")
@json_option
def command(
    diagram: str,
    known: dict[str, str],
    before: str | None,
    prices: dict[str, str],
    limited_memory: bool,
    as_table: bool,
    ranges: bool,
    output: str | None,
    as_json: bool,
) -> None:
    """Solve the influence diagram in DIAGRAM, a .json or .xdsl file: which option to choose, given what is known.

    A policy is printed as rules. What information is worth is the gain in expected utility if a chance node were known
    before a decision, at no price.
    """
    screen = Screen(as_json=as_json)
    check_inputs(diagram)
    if output is not None:
        check_output(output, diagram)
        check_picture(output)
    tests = numbers_in(prices, "--prices")
    with screen.waiting("solving"):
        from tanager.decisions.files import read_decisions

        network = read_decisions(diagram)
        given: dict[str, Any] = {"evidence": known, "limited_memory": limited_memory}
        solution = network.solve(**given)
        left = [name for name in network.decisions if name not in known]
        values = network.information_values(before, **given) if left else {}
        compared = network.compare_tests(tests, before, **given) if tests else []
        found = network.utility_ranges(**given) if ranges else []
    _print_solution(screen, network, solution, diagram, as_table)
    if values:
        screen.say("\nWhat it is worth to know", style="bold")
        rows = [(name, f"{value:.6g}") for name, value in values.items()]
        screen.show(table(("node", "value"), rows, right=["value"], elastic=["node"]))
    if compared:
        screen.say("\nTests", style="bold")
        lines = [(t.name, *(f"{x:.6g}" for x in t[1:]), "worth it" if t.worth_it else "too dear") for t in compared]
        heads = ("test", "value", "price", "net", "")
        screen.show(table(heads, lines, right=heads[1:4], elastic=["test"]))
    if found:
        _print_ranges(screen, found)
    if output is not None:
        draw_picture(screen, lambda: network.plot(output))
        screen.say(f"\nPicture written to {output}")
    screen.document(
        solution.to_dict()
        | {"file": diagram, "information": values, "tests": [t._asdict() | {"worth_it": t.worth_it} for t in compared]}
        | ({"ranges": [row._asdict() for row in found]} if ranges else {})
        | ({"picture": output} if output else {})
    )


def _print_solution(screen: Screen, network: Any, solution: Any, path: str, as_table: bool) -> None:
    screen.say(f"Diagram in {described(path)}", style="bold")
    nodes = f"{counted(len(network.chance), 'chance node')}, {counted(len(network.decisions), 'decision')}"
    screen.say(f"{nodes}, {counted(len(network.utilities), 'utility', 'utilities')}")
    screen.say(f"Expected utility {solution.expected_utility:.6g}")
    if not solution.certain:
        screen.note("no single policy can be improved, but several at once may be: the optimum is not certain")
    for name, policy in solution.items():
        screen.say(f"\n{name}", style="bold")
        screen.say("\n".join(f"  {line}" for line in policy.rules().splitlines()))
        if policy.irrelevant:
            screen.say(f"  (makes no difference: {', '.join(policy.irrelevant)})")
        if as_table:
            screen.say()
            screen.show(_policy_table(policy))


def _policy_table(policy: Any) -> Any:
    heads = (*policy.known, "choose", "utility", "margin", "probability")
    rows = []
    for row in policy.table():
        cells = [str(value) for value in row["known"].values()]
        numbers = [f"{row[key]:.6g}" for key in ("expected_utility", "margin", "probability")]
        rows.append((*cells, str(row["choose"]), *numbers))
    return table(heads, rows, right=heads[-3:], elastic=heads[:-4])


def _print_ranges(screen: Screen, found: Any) -> None:
    screen.say("\nRanges in which these policies stay the best", style="bold")
    rows = []
    for row in found:
        where = ", ".join(f"{name} = {value}" for name, value in row.cell.items())
        rows.append((row.utility, where, *(f"{x:.6g}" for x in (row.number, row.low, row.high, row.slope))))
    heads = ("utility", "where", "number", "from", "to", "slope")
    screen.show(table(heads, rows, right=heads[2:], elastic=["where"]))
