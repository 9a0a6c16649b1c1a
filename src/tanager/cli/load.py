"""``tanager load``: the rows of a file as requests to a running service, at given rates."""

from __future__ import annotations

import ipaddress
import math
import os
from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from types import SimpleNamespace
from typing import Any

import click

from tanager.cli.options import examples, json_option, reading_options, target_option
from tanager.cli.output import check_output
from tanager.cli.reading import READING, check_columns, check_inputs, open_data
from tanager.cli.screen import Screen, counted, listed, table
from tanager.errors import DataError, OptionError

MOST_REQUESTS, MOST_SECONDS = 200_000, 600.0  # of one command
MOST_ROWS = 100_000  # of the file that are kept; after them it begins again
PERCENTILES = (50, 90, 99)
BEHIND = 0.005  # seconds by which the sender may be late before that is worth a note


class Rates(click.ParamType):
    """``50,200,800``: requests per second."""

    name = "rates"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[float]:
        if isinstance(value, list):
            return value
        try:
            rates = [float(word) for word in value.split(",")]
        except ValueError:
            rates = []
        if not rates or not all(0 < rate < math.inf for rate in rates):
            self.fail(f"{value!r} are no rates; write requests per second between commas, such as 50,200,800.")
        return rates


@click.command(
    epilog=examples(
        "tanager load iris.csv --rates 50,200,800",
        "tanager load iris.csv --rows 20 --budget-us 500 --seconds 10 --plot load.png",
        "tanager load new.csv --url http://127.0.0.1:8000 --model iris --learn",
    )
)
@click.argument("data")
@click.option("--url", default="http://127.0.0.1:8000", metavar="URL", help="Where tanager serve is.")
@click.option("--model", metavar="NAME", help="Which of its models.  [default: the only one]")
@target_option
@click.option("--rates", type=Rates(), default="10,50,200", metavar="RATES", help="Requests per second, one by one.")
@click.option("--seconds", type=float, default=5.0, metavar="N", help="How long each rate is kept.")
@click.option("--rows", type=click.IntRange(min=1), default=1, metavar="N", help="Rows in a request.")
@click.option(
    "--arrivals", type=click.Choice(["poisson", "even"]), default="poisson", help="By chance, or by the beat."
)
@click.option("--budget-us", type=float, metavar="N", help="Microseconds that the model may take at most.")
@click.option("--members", type=int, metavar="N", help="Members that answer beside naive Bayes, whatever the load.")
@click.option("--learn", is_flag=True, help="After each answer, let the service learn the rows. Changes the model.")
@click.option("--token", metavar="TEXT", help="Bearer token.  [default: TANAGER_TOKEN]")
@click.option("--wait", type=float, default=5.0, metavar="N", help="Seconds to wait for the last answers of a rate.")
@click.option("--seed", type=int, default=0, metavar="N", help="Of the arrivals.")
@click.option("--anywhere", is_flag=True, help="Also hosts beyond this machine. Only where you may do so.")
@click.option("--plot", metavar="FILE", help="A picture as .png, .svg or .pdf. Needs the extra 'plot'.")
@reading_options
@json_option
def command(data: str, url: str, as_json: bool, **given: Any) -> None:
    """Send the rows of DATA to a running tanager serve at given rates, and say how quick and how good its answers are.

    Requests are sent by the clock, whether or not earlier ones are answered; latency counts from when a request was
    due. Where DATA has the classes, accuracy is told as well.
    """
    screen = Screen(as_json=as_json)
    check_inputs(data)
    if given["plot"] is not None:
        check_output(given["plot"], data)
    _check_bounds(given)
    with screen.waiting("starting"):
        address, info = _service(url, given)
        source, target = _open(data, info, given)
        requests = _requests(address, source, target, info, given)
    for text in _left_out(source, target, info):
        screen.note(text)
    lines = [_run(screen, address, requests, rate, given) for rate in given["rates"]]
    report = _report(data, address, info, target, given, lines)
    _print(screen, report)
    if given["plot"] is not None:
        from tanager.plot.load import plot_load

        plot_load(lines, given["plot"], title=f"{info['name']} ({info['kind']}), {counted(given['rows'], 'row')} each")
        screen.say(f"\nThe picture is in {given['plot']}.")
    screen.document(report)


def _check_bounds(given: dict[str, Any]) -> None:
    seconds, rates = given["seconds"], given["rates"]
    if not 0 < seconds * len(rates) <= MOST_SECONDS:
        raise OptionError(
            f"--seconds {seconds:g} for each of {len(rates)} rates: at most {MOST_SECONDS:g} s altogether."
        )
    if sum(rates) * seconds > MOST_REQUESTS:
        raise OptionError(
            f"that would be {sum(rates) * seconds:,.0f} requests; {MOST_REQUESTS:,} are the most. "
            "Take lower --rates or fewer --seconds."
        )


def _service(url: str, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Where to send, and what the model there is."""
    try:
        import msgspec  # noqa: F401
    except ImportError:
        raise OptionError("msgspec is not installed. Get it with: pip install 'tanager[serve]'") from None
    from urllib.parse import quote

    from tanager.cli.sending import Address, ask

    address = Address(url, given["token"] or os.environ.get("TANAGER_TOKEN"), given["model"])
    if not given["anywhere"] and not _is_here(address.host):
        raise OptionError(
            f"{address.host} is not this machine. Load on a service that others use can stop it; "
            "say --anywhere where you may do so."
        )
    if address.model is None:
        names = [line["name"] for line in ask(address, "/models")["models"]]
        if len(names) != 1:
            raise OptionError(f"{url} serves {listed(names)}. Choose one with --model.")
        address.model = names[0]
    return address, ask(address, f"/models/{quote(address.model, safe='')}")


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _open(data: str, info: dict[str, Any], given: dict[str, Any]) -> tuple[Any, str | None]:
    """The file, read as the model has learned its columns, and the column with the classes where there is one."""
    source = open_data(data, **{key: given[key] for key in READING})
    target = given["target"] or (info["target"] if info["target"] in source.columns else None)
    if target is not None:
        check_columns(source, [target])
    elif given["learn"]:
        raise OptionError(f"--learn needs the classes: {source.name} has no column for them. Name it with --target.")
    columns = [SimpleNamespace(**{"values": (), **column}) for column in info["columns"]]
    schema, classes = SimpleNamespace(columns=columns), SimpleNamespace(tolist=lambda: info["classes"])
    source.match(SimpleNamespace(encoder_=SimpleNamespace(schema=schema), target_name_=target, classes_=classes))
    if not _features(source, target, info):
        names = listed(column["name"] for column in info["columns"])
        raise DataError(f"{source.name} has none of the columns that {info['name']!r} has learned: {names}.")
    return source, target


def _features(source: Any, target: str | None, info: dict[str, Any]) -> list[str]:
    return [
        column["name"] for column in info["columns"] if column["name"] in source.columns and column["name"] != target
    ]


def _left_out(source: Any, target: str | None, info: dict[str, Any]) -> list[str]:
    """What the user should know about the columns."""
    features = _features(source, target, info)
    absent = [column["name"] for column in info["columns"] if column["name"] not in features]
    ignored = [name for name in source.columns if name not in features and name != target]
    notes = []
    if absent:
        notes.append(f"columns that {source.name} does not have are missing values: {listed(absent)}")
    if ignored:
        notes.append(f"columns that the model does not know are ignored: {listed(ignored)}")
    return notes


def _requests(address: Any, source: Any, target: str | None, info: dict[str, Any], given: dict[str, Any]) -> list[Any]:
    """All requests, written before the clock starts; the file begins again where it is too short."""
    from tanager.cli.sending import Request

    features, size = _features(source, target, info), given["rows"]
    most = min(MOST_ROWS, max(size, math.ceil(size * max(given["rates"]) * given["seconds"])))
    rows, labels = _read(source, features, target, most)
    options = {key: given[key] for key in ("budget_us", "members") if given[key] is not None}
    made = []
    for start in range(0, max(len(rows) - size, 0) + 1, size):
        places = [at % len(rows) for at in range(start, start + size)]
        body: dict[str, Any] = {"columns": features, "rows": [rows[at] for at in places]}
        truth = [labels[at] for at in places] if target else []
        told: dict[str, Any] = {"labels": truth}
        if size == 1:
            body, told = {"row": dict(zip(features, rows[start], strict=True))}, {"label": labels[start]}
        then = address.post("learn", body | told) if given["learn"] else None
        made.append(Request(address.post("predict", body | options), truth, then))
    return made


def _read(source: Any, features: list[str], target: str | None, most: int) -> tuple[list[list[Any]], list[Any]]:
    """Rows as lists of cells, and their classes; rows without a class are left out where there are classes."""
    from tanager.encoding.values import is_missing, plain

    def cells(column: Any) -> list[Any]:
        return [None if is_missing(value) else plain(value) for value in column.to_pylist()]

    rows: list[list[Any]] = []
    labels: list[Any] = []  # without a target, whatever stands last
    for chunk in source.chunks([*features, *([target] if target else [])], rows=min(most, 10_000)):
        columns = [cells(column) for column in chunk.columns]
        whole = [row for row in zip(*columns, strict=True) if target is None or row[-1] is not None]
        rows += [list(row[: len(features)]) for row in whole]
        labels += [row[-1] for row in whole]
        if len(rows) >= most:
            break
    if not rows:
        raise DataError(f"{source.name} has no row{' with a class' if target else ''} to send.")
    return rows, labels


def _run(screen: Screen, address: Any, requests: Sequence[Any], rate: float, given: dict[str, Any]) -> dict[str, Any]:
    """One rate: send, wait, and sum up."""
    from tanager.cli.sending import send

    due = arrivals(rate, given["seconds"], even=given["arrivals"] == "even", seed=given["seed"])
    with screen.progress(f"{rate:g} requests/s") as tick:
        told = 0.0

        def tell(n: int) -> None:
            nonlocal told
            if due[n - 1] - told > 0.1:  # drawing a bar takes time from the sender
                told = due[n - 1]
                tick(n * given["rows"], told / given["seconds"])

        replies = send(address, cycle(requests), due, wait=given["wait"], tick=tell)
    line = {"rate": rate, **summary(replies, [request.labels for request in requests])}
    if line["behind_ms"] > 1000 * BEHIND:
        late = f"at {rate:g}/s the sender itself was {line['behind_ms']:.0f} ms late (p99)"
        screen.note(f"{late}. Take a lower rate or a quieter machine.")
    return line


def arrivals(rate: float, seconds: float, *, even: bool = False, seed: int = 0) -> list[float]:
    """When requests are due: evenly, or each for itself by chance (a Poisson stream)."""
    import numpy as np

    if even:
        return (np.arange(max(1, round(rate * seconds))) / rate).tolist()
    rng = np.random.default_rng(seed)
    return np.sort(rng.uniform(0, seconds, max(1, rng.poisson(rate * seconds)))).tolist()


def summary(replies: Sequence[Any], labels: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """What a run has shown; ``labels`` are the true classes of the requests, which were sent in turn.

    Latencies are those of all requests but the refused ones; those without an answer count with the time that was
    waited for them.
    """
    import numpy as np

    from tanager.cli.sending import OK, UNANSWERED

    answered = [reply for reply in replies if reply.code == OK]
    latency = np.array([reply.latency for reply in replies if reply.code in (OK, UNANSWERED)] or [math.nan])
    errors = Counter(reply.code for reply in replies if reply.code != OK)
    learned = [reply.learned for reply in replies if reply.learned_code == OK]
    errors.update(f"learn: {reply.learned_code}" for reply in replies if reply.learned_code not in (None, OK))
    used = [n for reply in answered for n in reply.members or ()]
    right = [
        str(label) == str(true)
        for reply, truth in zip(replies, cycle(labels), strict=False)
        for label, true in zip(reply.labels, truth, strict=False)
    ]
    return {
        "sent": len(replies),
        "answered": len(answered),
        "errors": dict(errors),
        **{f"p{p}_ms": 1000 * float(np.quantile(latency, p / 100)) for p in PERCENTILES},
        "max_ms": 1000 * float(latency.max()),
        "members": _mean(used),
        "naive_share": _mean([n == 0 for n in used]),
        "rows_with_class": len(right),
        "accuracy": _mean(right),
        "learned": len(learned),
        "learn_p99_ms": 1000 * float(np.quantile(learned, 0.99)) if learned else None,
        "behind_ms": 1000 * float(np.quantile([reply.sent - reply.due for reply in replies], 0.99)),
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _report(
    data: str,
    address: Any,
    info: dict[str, Any],
    target: str | None,
    given: dict[str, Any],
    lines: list[dict[str, Any]],
) -> dict[str, Any]:
    options = {key: given[key] for key in ("rows", "seconds", "arrivals", "budget_us", "members", "learn")}
    where = {"data": data, "url": address.url, "model": info["name"], "kind": info["kind"], "target": target}
    return {**where, **options, "rates": lines}


def _print(screen: Screen, report: dict[str, Any]) -> None:
    what = f"{report['model']} ({report['kind']}) at {report['url']}"
    screen.say(f"{what}: {counted(report['rows'], 'row')} of {report['data']} in a request", style="bold")
    screen.say()
    lines = report["rates"]
    times = [*(f"p{p}" for p in PERCENTILES), "max"]
    more = {"members": "{:.1f}", "naive_share": "{:.0%}", "accuracy": "{:.4f}"}
    shown = [name for name in more if any(line[name] is not None for line in lines)]
    rows = []
    for line in lines:
        cells = ["" if line[name] is None else more[name].format(line[name]) for name in shown]
        figures = [f"{line['rate']:g}/s", f"{line['sent']:,}", f"{line['answered']:,}"]
        rows.append((*figures, *(_milliseconds(line[f"{name}_ms"]) for name in times), *cells))
    heads = ["rate", "sent", "answered", *times, *(name.removesuffix("_share") for name in shown)]
    screen.show(table(heads, rows, right=heads))
    screen.say("\nLatencies count from when a request was due.")
    if "naive_share" in shown:
        screen.say("Naive: the share of rows that naive Bayes answered alone.")
    for line in lines:
        if line["errors"]:
            errors = listed(f"{n:,} {code}" for code, n in line["errors"].items())
            screen.say(f"Errors at {line['rate']:g}/s: {errors}.")
        if line["learned"]:
            time = _milliseconds(line["learn_p99_ms"])
            screen.say(f"Learned at {line['rate']:g}/s: {counted(line['learned'], 'request')}, p99 {time}.")


def _milliseconds(value: float) -> str:
    if value != value:
        return ""
    return f"{value:.2g} ms" if value < 10 else f"{value:,.0f} ms"
