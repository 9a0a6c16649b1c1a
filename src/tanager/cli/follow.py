"""``tanager follow``: learn from a topic of Kafka, or from the log of a service, for as long as it runs."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import click

from tanager.cli.options import examples, json_option, target_option, times_option
from tanager.cli.reading import check_inputs
from tanager.cli.screen import Screen, counted
from tanager.errors import OptionError


def setting(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Settings of librdkafka, written NAME=VALUE."""
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r}: write NAME=VALUE, for example security.protocol=SSL", ctx, param)
        settings[name.strip()] = value
    return settings


servers_option = click.option("--servers", metavar="HOST:PORT,...", help="Addresses of brokers of Kafka.")
group_option = click.option("--group", metavar="NAME", help="Consumer group.  [default: tanager- and the model's name]")
begin_option = click.option(
    "--begin",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    help="Where to begin in a partition that was not read yet.",
)
config_option = click.option(
    "--config",
    multiple=True,
    callback=setting,
    metavar="NAME=VALUE",
    help="A setting of librdkafka, such as security.protocol=SSL. Repeat it.",
)


@click.command(
    epilog=examples(
        "tanager follow spam.tanager --servers localhost:9092 --topic mail --target class",
        "tanager follow copy.tanager --log spam.tanager.state --once",
    )
)
@click.argument("model")
@click.option("--topic", metavar="NAME", help="Topic with labelled rows: JSON objects of columns and cells.")
@servers_option
@click.option("--log", "state", metavar="STATE", help="State folder of a service: learn all that it learns.")
@click.option(
    "--after", type=click.IntRange(0), default=0, metavar="N", help="With --log: MODEL has the first N entries."
)
@target_option
@click.option("--weight", metavar="COLUMN", help="The column with the weights of the rows; not used as a feature.")
@times_option
@click.option("--message-times", is_flag=True, help="Use the times of the messages as times of the rows.")
@click.option(
    "--partition", "partitions", type=int, multiple=True, metavar="N", help="Read this partition only. Repeat it."
)
@group_option
@begin_option
@click.option("--once", is_flag=True, help="Stop at the end, instead of waiting for more.")
@click.option("--skip-bad", is_flag=True, help="Leave out messages that cannot be learned, instead of stopping.")
@click.option(
    "--accept-loss", is_flag=True, help="Where rows were deleted before they were learned, go on with the rest."
)
@click.option("--save-rows", default=100_000, type=click.IntRange(1), metavar="N", help="Rows between two saves.")
@click.option("--save-seconds", default=60.0, type=click.FloatRange(0), metavar="S", help="Seconds between two saves.")
@config_option
@json_option
def command(model: str, topic: str | None, state: str | None, once: bool, as_json: bool, **options: Any) -> None:
    """Let MODEL learn the rows of a Kafka topic, or of the log of a service, as they come; each row counts once.

    MODEL is replaced at every save, together with how far it has learned: after a crash or a stop (Ctrl-C, SIGTERM) the
    same command goes on from there.
    """
    screen = Screen(as_json=as_json)
    check_inputs(model)
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=logging.WARNING)
    what = f"topic {topic}" if topic else f"{state}"
    with screen.progress(f"learning from {what}") as tick:
        options |= {"stop_at_end": once, "progress": tick, "stopped": stop_signal()}
        followed = _from_topic(model, topic, **options) if topic else _from_log(model, state, **options)
    left_out = f", {followed.n_left_out:,} left out" if followed.n_left_out else ""
    screen.say(f"{counted(followed.n_rows, 'row')} of {what} learned{left_out}")
    screen.say(f"Written to {model}")
    learned = {"learned": followed.n_rows, "left_out": followed.n_left_out, "positions": followed.positions}
    screen.document({"model": model, "source": topic or state, **learned})


def _from_topic(model: str, topic: str, *, servers: str | None, **options: Any) -> Any:
    if options.pop("after"):
        raise OptionError("--after goes with --log.")
    check_kafka()
    from tanager.kafka import learn

    options["partitions"] = list(options["partitions"]) or None
    return learn(model, topic, servers=needed_servers(servers), **options)


def _from_log(model: str, state: str | None, **options: Any) -> Any:
    if state is None:
        raise OptionError("what is to be followed? Give --topic NAME with --servers, or --log STATE.")
    if options["servers"] is not None:
        raise OptionError("--servers goes with --topic.")
    if find_spec("msgspec") is None:
        raise OptionError('this needs msgspec, which is not installed. Run: pip install "tanager[serve]"')
    from tanager.following import learn_log

    kept = {
        name: options[name] for name in ("after", "stop_at_end", "save_rows", "save_seconds", "progress", "stopped")
    }
    return learn_log(model, state, **kept)


def check_kafka() -> None:
    """The command needs an extra."""
    if find_spec("confluent_kafka") is None or find_spec("msgspec") is None:
        raise OptionError('Kafka needs confluent-kafka, which is not installed. Run: pip install "tanager[kafka]"')


def needed_servers(servers: str | None) -> str:
    """The addresses of brokers, which have no default."""
    if not servers:
        raise OptionError("which brokers? Give --servers HOST:PORT, for example --servers localhost:9092.")
    return servers


def stop_signal() -> Callable[[], bool]:
    """Whether Ctrl-C or SIGTERM has come; the second one interrupts at once."""
    asked = threading.Event()

    def stop(*_: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return asked.is_set
