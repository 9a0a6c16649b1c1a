"""``tanager answer``: answer the rows of a topic of Kafka on another topic."""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from tanager.cli.follow import (
    begin_option,
    check_kafka,
    config_option,
    group_option,
    needed_servers,
    servers_option,
    stop_signal,
)
from tanager.cli.options import examples, json_option
from tanager.cli.reading import check_inputs
from tanager.cli.screen import Screen, counted


@click.command(epilog=examples("tanager answer spam.tanager --servers localhost:9092 --topic mail --to verdicts"))
@click.argument("model")
@click.option("--topic", required=True, metavar="NAME", help="Topic with rows: JSON objects of columns and cells.")
@click.option("--to", required=True, metavar="NAME", help="Topic for the answers.")
@servers_option
@group_option
@begin_option
@click.option("--once", is_flag=True, help="Stop when all rows are answered, instead of waiting for more.")
@config_option
@json_option
def command(model: str, topic: str, to: str, servers: str | None, once: bool, as_json: bool, **options: Any) -> None:
    """Answer every row of a Kafka topic on another topic: label and probabilities, under the key of the row's message.

    Answers and the offsets of the rows are committed together: each row gets one answer, for readers that read
    committed messages only. When the file MODEL changes, the new model answers from then on. Several processes with one
    group share the partitions.
    """
    screen = Screen(as_json=as_json)
    check_inputs(model)
    check_kafka()
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=logging.WARNING)
    with screen.progress(f"answering topic {topic}") as tick:
        from tanager.kafka import answer

        answered = answer(
            model,
            topic,
            to,
            servers=needed_servers(servers),
            stop_when_idle=once,
            progress=tick,
            stopped=stop_signal(),
            **options,
        )
    bad = f", {answered.n_errors:,} of them with an error" if answered.n_errors else ""
    screen.say(f"{counted(answered.n_rows, 'row')} of topic {topic} answered on {to}{bad}")
    screen.document(
        {"model": model, "topic": topic, "to": to, "answered": answered.n_rows, "errors": answered.n_errors}
    )
