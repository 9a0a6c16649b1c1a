"""``tanager load``: the rows of a file as requests to a running service, at given rates."""

from __future__ import annotations

import ipaddress
import math
import os
import random
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import cycle
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from tanager.cli.options import examples, json_option, reading_options, target_option
from tanager.cli.output import check_output
from tanager.cli.reading import READING, check_columns, check_inputs, open_data
from tanager.cli.screen import Screen, counted, listed, table
from tanager.errors import DataError, OptionError

if TYPE_CHECKING:  # needs the extra `serve`
    from tanager.cli.sending import Address, Reply, Request
    from tanager.files import Source

MAX_REQUESTS, MAX_SECONDS = 200_000, 600.0  # of one command
MAX_ROWS = 100_000  # of the file that are kept in memory; they are sent again from the first one on
PERCENTILES = (50, 90, 99)
LATE_SECONDS = 0.005  # by which the sender may be late before there is a note


class Rates(click.ParamType[list[float]]):
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
            self.fail(f"{value!r} is not a list of rates; write requests per second with commas, such as 50,200,800.")
        return rates


@click.command(
    epilog=examples(
        "tanager load iris.csv --rates 50,200,800",
        "tanager load iris.csv --rows 20 --budget-us 500 --seconds 10 --plot load.png",
        "tanager load new.csv --url http://127.0.0.1:8000 --model iris --learn",
    )
)
@click.argument("data")
@click.option("--url", default="http://127.0.0.1:8000", metavar="URL", help="Address of tanager serve.")
@click.option("--model", metavar="NAME", help="Which of its models.  [default: the only one]")
@target_option
@click.option(
    "--rates", type=Rates(), default="10,50,200", metavar="RATES", help="Requests per second, one rate after the other."
)
@click.option("--seconds", type=float, default=5.0, metavar="N", help="Duration of each rate.")
@click.option("--rows", type=click.IntRange(min=1), default=1, metavar="N", help="Rows in a request.")
@click.option(
    "--arrivals",
    type=click.Choice(["poisson", "even"]),
    default="poisson",
    help="Random (a Poisson process), or evenly spaced.",
)
@click.option("--budget-us", type=float, metavar="N", help="Microseconds that the model may take at most.")
@click.option("--members", type=int, metavar="N", help="Members to use in addition to naive Bayes, whatever the load.")
@click.option("--learn", is_flag=True, help="Let the service learn the rows after each prediction. Changes the model.")
@click.option("--token", metavar="TEXT", help="Bearer token.  [default: TANAGER_TOKEN]")
@click.option("--wait", type=float, default=5.0, metavar="N", help="Seconds to wait for the last responses of a rate.")
@click.option("--seed", type=int, default=0, metavar="N", help="Seed of random arrivals.")
@click.option("--anywhere", is_flag=True, help="Allow hosts other than this machine. Only with permission.")
@click.option("--plot", metavar="FILE", help="A picture as .png, .svg or .pdf. Needs the extra 'plot'.")
@reading_options
@json_option
def command(data: str, url: str, as_json: bool, **given: Any) -> None:
    """Send the rows of DATA to a running tanager serve at given rates, and measure latency and accuracy.

    Requests are sent at fixed times, whether or not earlier ones are answered; latency counts from when a request was
    due. Accuracy is measured where DATA has a column with the classes.
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
    for text in _column_notes(source, target, info):
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
    if not 0 < seconds * len(rates) <= MAX_SECONDS:
        raise OptionError(
            f"--seconds {seconds:g} for each of {len(rates)} rates: at most {MAX_SECONDS:g} s altogether."
        )
    if sum(rates) * seconds > MAX_REQUESTS:
        raise OptionError(
            f"that would be {sum(rates) * seconds:,.0f} requests; {MAX_REQUESTS:,} are the most. "
            "Take lower --rates or fewer --seconds."
        )


def _service(url: str, given: dict[str, Any]) -> tuple[Address, dict[str, Any]]:
    """The address of the service, and the description of the model there."""
    for name in ("httptools", "msgspec"):
        if find_spec(name) is None:
            raise OptionError(f"{name} is not installed. Get it with: pip install 'tanager[serve]'")
    from tanager.cli.sending import Address, get_json

    address = Address(url, given["token"] or os.environ.get("TANAGER_TOKEN"), given["model"])
    if not given["anywhere"] and not _is_local(address.host):
        raise OptionError(
            f"{address.host} is not this machine. Load can stop a service that others use; "
            "add --anywhere if you are allowed to."
        )
    if address.model is None:
        names = [model["name"] for model in get_json(address, "/models")["models"]]
        if len(names) != 1:
            raise OptionError(f"{url} serves {listed(names)}. Choose one with --model.")
        address.model = names[0]
    return address, get_json(address, f"/models/{quote(address.model, safe='')}")


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _open(data: str, info: dict[str, Any], given: dict[str, Any]) -> tuple[Source, str | None]:
    """The file, with columns of the types that the model has, and the column with the classes where there is one."""
    from tanager.encoding.schema import Column

    source = open_data(data, **{key: given[key] for key in READING})
    target = given["target"] or (info["target"] if info["target"] in source.columns else None)
    if target is not None:
        check_columns(source, [target])
    elif given["learn"]:
        raise OptionError(f"--learn needs the classes: {source.name} has no column for them. Name it with --target.")
    columns = [Column.from_dict(column) for column in info["columns"]]
    schema, classes = SimpleNamespace(columns=columns), SimpleNamespace(tolist=lambda: info["classes"])
    source.match(SimpleNamespace(encoder_=SimpleNamespace(schema=schema), target_name_=target, classes_=classes))
    if not _features(source, target, info):
        names = listed(_table_names(info))
        raise DataError(f"{source.name} has none of the columns that {info['name']!r} has learned: {names}.")
    return source, target


def _features(source: Source, target: str | None, info: dict[str, Any]) -> list[str]:
    return [name for name in _table_names(info) if name in source.columns and name != target]


def _table_names(info: dict[str, Any]) -> list[str]:
    """The columns that rows have for the model, each once."""
    return list(dict.fromkeys(column.get("source") or column["name"] for column in info["columns"]))


def _column_notes(source: Source, target: str | None, info: dict[str, Any]) -> list[str]:
    """Notes on columns that the file does not have, or the model."""
    features = _features(source, target, info)
    absent = [name for name in _table_names(info) if name not in features]
    ignored = [name for name in source.columns if name not in features and name != target]
    notes = []
    if absent:
        notes.append(f"columns that {source.name} does not have are missing values: {listed(absent)}")
    if ignored:
        from tanager.encoding.matching import are_ignored

        notes.append(are_ignored(ignored, "the model"))
    return notes


def _requests(
    address: Address, source: Source, target: str | None, info: dict[str, Any], given: dict[str, Any]
) -> list[Request]:
    """All requests, encoded before the first is sent; they are sent again where there are too few.

    As many as the lowest rate sends, from all over the file: so all rates send the same rows, and their accuracies can
    be compared. Rows to be learned are sent once each, in their order.
    """
    from tanager.cli.sending import Request

    features, size = _features(source, target, info), given["rows"]
    rate = max(given["rates"]) if given["learn"] else min(given["rates"])
    most = min(MAX_ROWS, max(size, math.ceil(size * rate * given["seconds"])))
    rows, labels = _read(source, features, target, most, None if given["learn"] else given["seed"])
    options = {key: given[key] for key in ("budget_us", "members") if given[key] is not None}
    made = []
    for start in range(0, max(len(rows) - size, 0) + 1, size):
        places = [at % len(rows) for at in range(start, start + size)]
        body: dict[str, Any] = {"columns": features, "rows": [rows[at] for at in places]}
        truth = [labels[at] for at in places] if target else []
        known: dict[str, Any] = {"labels": truth}
        if size == 1:
            body, known = {"row": dict(zip(features, rows[start], strict=True))}, {"label": labels[start]}
        then = address.post("learn", body | known) if given["learn"] else None
        made.append(Request(address.post("predict", body | options), truth, then))
    return made


def _read(
    source: Source, features: list[str], target: str | None, most: int, seed: int | None
) -> tuple[list[list[Any]], list[Any]]:
    """Rows as lists of cells, and their classes: at most so many, the first ones or, with a seed, at random.

    Rows without a class are left out where there are classes.
    """
    from tanager.encoding.values import is_missing, plain

    def cells(column: Any) -> list[Any]:
        return [None if is_missing(value) else plain(value) for value in column.to_pylist()]

    columns = [cells(column) for column in _table(source, [*features, *([target] if target else [])], most, seed)]
    whole = [row for row in zip(*columns, strict=True) if target is None or row[-1] is not None]
    if not whole:
        raise DataError(f"{source.name} has no row{' with a class' if target else ''} to send.")
    if seed is not None:  # also where all rows are sent: files are often sorted by the class
        whole = random.Random(seed).sample(whole, min(most, len(whole)))
    # Without a target the last cells are not used.
    return [list(row[: len(features)]) for row in whole[:most]], [row[-1] for row in whole[:most]]


def _table(source: Source, names: list[str], most: int, seed: int | None) -> Any:
    """The columns of all rows, or of as many as fit, from all over the file; without a seed of the first ones."""
    from tanager.files import EvenRows

    kept = EvenRows(MAX_ROWS)
    for chunk in source.chunks(names, rows=10_000):
        kept.add(chunk)
        if seed is None and kept.seen >= most:
            break
    return kept.table().columns if kept.seen else []


def _run(
    screen: Screen, address: Address, requests: Sequence[Request], rate: float, given: dict[str, Any]
) -> dict[str, Any]:
    """One rate: send, wait, and summarise."""
    from tanager.cli.sending import send

    due = arrivals(rate, given["seconds"], even=given["arrivals"] == "even", seed=given["seed"])
    with screen.progress(f"{rate:g} requests/s") as tick:
        drawn = 0.0

        def draw(n: int) -> None:
            nonlocal drawn
            if due[n - 1] - drawn > 0.1:  # drawing the progress bar takes time from the sender
                drawn = due[n - 1]
                tick(n * given["rows"], drawn / given["seconds"])

        replies = send(address, cycle(requests), due, wait=given["wait"], tick=draw)
    line = {"rate": rate, **summary(replies, [request.labels for request in requests])}
    if line["behind_ms"] > 1000 * LATE_SECONDS:
        late = f"at {rate:g}/s the sender itself was {line['behind_ms']:.0f} ms late (p99)"
        screen.note(f"{late}. Take a lower rate or a quieter machine.")
    return line


def arrivals(rate: float, seconds: float, *, even: bool = False, seed: int = 0) -> list[float]:
    """When requests are due: evenly spaced, or a Poisson process."""
    import numpy as np

    if even:
        return [k / rate for k in range(max(1, round(rate * seconds)))]
    rng = np.random.default_rng(seed)
    due: list[float] = np.sort(rng.uniform(0, seconds, max(1, rng.poisson(rate * seconds)))).tolist()
    return due


def summary(replies: Sequence[Reply], labels: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Latency and accuracy of a run; ``labels`` are the true classes of the requests, which were sent in turn.

    Latencies are those of all requests but the refused ones; a request without a response counts with the time that was
    waited for it.
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
    address: Address,
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
        screen.say("Naive: the share of rows that were predicted by naive Bayes alone.")
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
