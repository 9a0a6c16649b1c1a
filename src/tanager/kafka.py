"""Topics of Kafka: a model file that learns from one, and one that answers to another. Needs the extra ``kafka``.

Learning: the model file has the offsets up to which it has learned, and is written as a whole; offsets are committed
to the brokers afterwards, so that tools show the lag. A process that is killed reads the rows since the last file
again from the brokers. Each row counts once.

Answering: answers and the offsets of the rows that they answer are committed in one transaction. Each row gets one
answer, for readers that read committed messages only.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tanager.encoding.values import number
from tanager.errors import DataError, OptionError, TanagerError
from tanager.following import Followed, FollowingModel, Progress
from tanager.learning.classifier import Classifier
from tanager.persist import load
from tanager.service.log_entries import LogEntry

log = logging.getLogger("tanager.kafka")
BATCH = 1000  # messages taken at a time
WAIT = 1.0  # seconds to wait for messages
TIMEOUT = 30.0  # seconds to wait for the brokers
BEGINNINGS = ("earliest", "latest")
Row = dict[str, Any]
Decoder = Callable[[bytes], Row]

_decode_json = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True)
class Record:
    """A message, with its place."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    seconds: float  # its time

    @property
    def place(self) -> str:
        """Where it is."""
        return f"topic {self.topic!r}, partition {self.partition}, offset {self.offset}"


class KafkaFailure(TanagerError):
    """Brokers that do not answer, a topic that is not there, rows that are gone or cannot be read."""


def decode_json(value: bytes) -> Row:
    """The row in a message: a JSON object of columns and cells."""
    try:
        return _decode_json(value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"it is not a JSON object of columns and cells: {error}.") from None


# --- learning -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Columns:
    """Where a message has what is no feature: the label, and where given the weight and the time of the row."""

    target: str
    weight: str | None = None
    times: str | None = None
    message_times: bool = False


def learn(
    path: str | os.PathLike[str],
    topic: str,
    *,
    servers: str,
    target: str | None = None,
    weight: str | None = None,
    times: str | None = None,
    message_times: bool = False,
    partitions: Sequence[int] | None = None,
    group: str | None = None,
    begin: str = "earliest",
    stop_at_end: bool = False,
    skip_bad: bool = False,
    accept_loss: bool = False,
    save_rows: int = 100_000,
    save_seconds: float = 60.0,
    decode: Decoder = decode_json,
    config: dict[str, Any] | None = None,
    progress: Progress = lambda n_rows, share: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Followed:
    """Let a model file learn the labelled rows of a topic, each once; it goes on until it is interrupted.

    Parameters
    ----------
    path : path
        The model file; it is replaced at every save. One process at a time may use it.
    topic : str
        The topic. Messages without a value, and rows without a label, are left out.
    servers : str
        Addresses of brokers, separated by commas: ``"host:9092"``.
    target : str, default=None
        The column with the class. None: the one that the model has learned.
    weight, times : str, default=None
        Columns with the weight and the time of a row; they are not used as features.
    message_times : bool, default=False
        Use the timestamps of the messages as times, for models that forget by time.
    partitions : list of int, default=None
        The partitions to read. None: all of them, also those that are added later. Several processes, each with a
        model file of its own, share a topic by partitions; ``tanager merge`` gives one model.
    group : str, default=None
        The consumer group under which offsets are committed, for tools that show the lag; what is learned does not
        depend on it. None: "tanager-" and the name of the file.
    begin : "earliest" or "latest", default="earliest"
        Where to begin in a partition that the model has not read yet.
    stop_at_end : bool, default=False
        Stop at what is the end of the topic when it starts, instead of waiting for more.
    skip_bad : bool, default=False
        Leave out messages that cannot be read or learned, with a warning for each. Otherwise the first one is an error.
    accept_loss : bool, default=False
        Where the brokers have deleted rows before they were learned, go on with those that are left.
    save_rows, save_seconds : int, float
        The file is written when so many rows were learned or so many seconds have passed since it was written last.
    decode : function, default=JSON
        Makes a dict of columns and cells from the value of a message, and raises DataError where it cannot.
    config : dict, default=None
        Further settings for librdkafka, such as those for encryption and passwords.
    progress : function, optional
        Called with the rows learned so far, and the share of the topic where it stops at the end.
    stopped : function, optional
        Asked about once a second whether to stop.
    """
    if begin not in BEGINNINGS:
        raise OptionError(f"begin={begin!r}: use one of {', '.join(BEGINNINGS)}.")
    following = FollowingModel(path, save_rows, save_seconds)
    try:
        columns = Columns(_target(following.model, target), weight, times, message_times)
        settings = {"group.id": group or f"tanager-{Path(path).stem}", "enable.auto.commit": False}
        settings |= {"auto.offset.reset": "error"}  # a lost position is never replaced silently
        topic_rows = _Topic(Consumer(_settings(servers, config) | settings), topic, partitions, begin, accept_loss)
    except BaseException:
        following.close()
        raise
    try:
        _follow(following, topic_rows, columns, decode, stop_at_end, skip_bad, progress, stopped)
    finally:
        try:
            following.save()
            topic_rows.commit(following.followed.positions)
        finally:
            topic_rows.close()
            following.close()
    return following.followed


def _target(model: Classifier, target: str | None) -> str:
    known = getattr(model, "target_name_", None)
    if target is None and known is None:
        raise OptionError("which column has the class? Name it with target=.")
    if target is not None and known is not None and target != known:
        raise OptionError(f"target={target!r}: the class of this model is called {known!r}.")
    return str(target or known)


def _settings(servers: str, config: dict[str, Any] | None) -> dict[str, Any]:
    if not isinstance(servers, str) or not servers.strip():
        raise OptionError(f"servers={servers!r}: give the addresses of brokers, such as 'localhost:9092'.")
    return {"bootstrap.servers": servers, **(config or {})}


class _Topic:
    """The partitions of a topic that are read, from positions that the model file knows."""

    def __init__(
        self, consumer: Consumer, name: str, partitions: Sequence[int] | None, begin: str, accept_loss: bool
    ) -> None:
        self.consumer, self.name, self.wanted = consumer, name, partitions
        self.begin, self.accept_loss = begin, accept_loss
        self.partitions: dict[int, int] = {}  # and the offset at which each was begun
        self.ends: dict[int, int] = {}

    def source(self, partition: int) -> str:
        """The name of a partition in the model file."""
        return f"kafka:{self.name}/{partition}"

    def assign(self, following: FollowingModel) -> None:
        """Begin with the partitions that are not read yet."""
        new = [number for number in self._existing() if number not in self.partitions]
        for partition in new:
            known = following.position(source := self.source(partition))
            self.partitions[partition] = begun = self._beginning(partition, known)
            if known not in (None, begun):
                following.learn(LogEntry([], []), {source: begun})
        if new:
            self.consumer.incremental_assign([TopicPartition(self.name, n, self.partitions[n]) for n in new])

    def _existing(self) -> list[int]:
        with _asking("the partitions of a topic"):
            found = self.consumer.list_topics(self.name, timeout=TIMEOUT).topics[self.name]
        if found.error is not None and found.error.code() != KafkaError.LEADER_NOT_AVAILABLE:
            raise KafkaFailure(f"topic {self.name!r}: {found.error.str().rstrip('.')}. Make the topic first.")
        there = sorted(found.partitions)
        absent = [n for n in self.wanted or () if n not in there]
        if absent:
            raise KafkaFailure(f"topic {self.name!r} has no partition {absent[0]}; it has {there}.")
        return there if self.wanted is None else list(self.wanted)

    def _beginning(self, partition: int, position: int | None) -> int:
        """Where to read on. What the brokers do not have any more is a loss that has to be accepted."""
        with _asking("the first and last offset of a partition"):
            low, high = self.consumer.get_watermark_offsets(TopicPartition(self.name, partition), timeout=TIMEOUT)
        self.ends[partition] = high
        if position is None:
            return int(low if self.begin == "earliest" else high)
        if low <= position <= high:
            return position
        place = f"topic {self.name!r}, partition {partition}"
        what = (
            f"offsets {position} to {low - 1} were deleted by the brokers before they were learned"
            if position < low
            else f"the model has learned up to offset {position}, and the topic ends at {high}: it was made anew"
        )
        if not self.accept_loss:
            raise KafkaFailure(
                f"{place}: {what}. To go on with what is there, accept the loss: accept_loss=True (--accept-loss)."
            )
        log.warning("%s: %s. The loss is accepted: reading goes on at offset %d.", place, what, low)
        return int(low)

    def records(self) -> list[Record]:
        """The next messages, as they come from all partitions."""
        return [_record(message) for message in _take(self.consumer) if not _is_note(message)]

    def done(self, following: FollowingModel) -> float:
        """The share that was read of what was there at the start."""
        total = left = 0
        for partition, begun in self.partitions.items():
            at = following.position(self.source(partition))
            total += self.ends[partition] - begun
            left += max(0, self.ends[partition] - (begun if at is None else at))
        return 1 - left / total if left else 1.0

    def commit(self, positions: dict[str, int]) -> None:
        """Tell the brokers how far the model file goes. Where it fails, the next commit tells more."""
        offsets = [
            TopicPartition(self.name, n, positions[source])
            for n in self.partitions
            if (source := self.source(n)) in positions
        ]
        if offsets:
            try:
                self.consumer.commit(offsets=offsets, asynchronous=False)
            except KafkaException as error:
                log.warning("offsets were not committed (they are in the model file): %s", error)

    def close(self) -> None:
        """Leave the brokers."""
        self.consumer.close()


def _is_note(message: Message) -> bool:
    """Whether this is no message but news about a partition; errors are raised."""
    error = message.error()
    if error is None:
        return False
    if error.code() == KafkaError._PARTITION_EOF or error.retriable():
        return True
    where = f"topic {message.topic()!r}, partition {message.partition()}: " if message.topic() else ""
    raise KafkaFailure(f"{where}{error.str().rstrip('.')}.")


def _take(consumer: Consumer) -> list[Message]:
    """The messages that are there; where there are none, the first that comes."""
    first = consumer.poll(WAIT)
    return [] if first is None else [first, *consumer.consume(BATCH - 1, 0)]


def _record(message: Message) -> Record:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return Record(
        topic, partition, offset, _bytes(message.key()), _bytes(message.value()), message.timestamp()[1] / 1000
    )


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content


class _asking:
    """Turns errors of the brokers into one sentence."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KafkaException):
            reason = error.args[0].str().rstrip(".") if error.args else str(error)
            raise KafkaFailure(f"cannot get {self.what}: {reason}. Are the brokers reachable?") from error


def _follow(
    following: FollowingModel,
    topic: _Topic,
    columns: Columns,
    decode: Decoder,
    stop_at_end: bool,
    skip_bad: bool,
    progress: Progress,
    stopped: Callable[[], bool],
) -> None:
    topic.assign(following)
    while not (stopped() or (stop_at_end and topic.done(following) == 1)):
        records = topic.records()
        if records:
            _learn_records(following, topic, records, columns, decode, skip_bad)
            progress(following.followed.n_rows, topic.done(following) if stop_at_end else None)
        if following.due:
            following.save()
            topic.commit(following.followed.positions)
            topic.assign(following)


def _learn_records(
    following: FollowingModel,
    topic: _Topic,
    records: list[Record],
    columns: Columns,
    decode: Decoder,
    skip_bad: bool,
) -> None:
    """Learn messages and note their offsets: all of them at once, or one by one where one cannot be learned."""
    try:
        entry = _entry(records, columns, decode)
        if entry.rows:
            following.check(entry)
    except DataError as error:
        if len(records) > 1:
            for record in records:
                _learn_records(following, topic, [record], columns, decode, skip_bad)
            return
        if not skip_bad:
            raise DataError(
                f"{records[0].place}: {error} To leave such messages out, use skip_bad=True (--skip-bad)."
            ) from None
        log.warning("%s is left out: %s", records[0].place, error)
        entry = LogEntry([], [])
    following.learn(entry, {topic.source(record.partition): record.offset + 1 for record in records})
    following.followed.n_left_out += len(records) - len(entry.rows)


def _entry(records: Iterable[Record], columns: Columns, decode: Decoder) -> LogEntry:
    """The labelled rows in messages."""
    entry = LogEntry([], [], [] if columns.weight else None, [] if columns.times or columns.message_times else None)
    for record in records:
        if record.value is None:
            continue
        row = dict(decode(record.value))
        label = row.pop(columns.target, None)
        weight = row.pop(columns.weight, None) if columns.weight else None
        at = row.pop(columns.times, None) if columns.times else None
        if label is None:
            continue
        entry.rows.append(row)
        entry.labels.append(label)
        if entry.weights is not None:
            entry.weights.append(_number(weight, columns.weight))
        if entry.times is not None:
            entry.times.append(_number(at, columns.times) if columns.times else record.seconds)
    return entry


def _number(value: Any, column: str | None) -> float:
    try:
        return number(value)
    except (TypeError, ValueError):
        raise DataError(f"column {column!r}: {value!r} is not a number.") from None


# --- answering ------------------------------------------------------------------------------------------------------


@dataclass
class Answered:
    """How many messages were answered, and how many of them could not be read or predicted."""

    n_rows: int = 0
    n_errors: int = 0


def answer(
    path: str | os.PathLike[str],
    topic: str,
    to: str,
    *,
    servers: str,
    group: str | None = None,
    begin: str = "earliest",
    stop_when_idle: bool = False,
    decode: Decoder = decode_json,
    config: dict[str, Any] | None = None,
    progress: Progress = lambda n_rows, share: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Answered:
    """Answer every row of a topic with a message on another one; it goes on until it is interrupted.

    An answer is a JSON object with the label and the probability of each class, under the key of the row's message; a
    row that cannot be read or predicted is answered with ``{"error": ...}``. Messages without a value are not answered.
    When the model file changes (one that ``learn`` writes, for example), the new one answers from then on. Several
    processes with one group share the partitions.

    Parameters
    ----------
    path : path
        The model file.
    topic, to : str
        The topics of rows and of answers.
    servers : str
        Addresses of brokers, separated by commas: ``"host:9092"``.
    group : str, default=None
        The consumer group, which knows what is answered. None: "tanager-answers-" and the name of the file.
    begin : "earliest" or "latest", default="earliest"
        Where to begin in a partition of which the group has answered nothing yet.
    stop_when_idle : bool, default=False
        Stop when all rows are answered, instead of waiting for more.
    decode, config, progress, stopped
        As in ``learn``.
    """
    if begin not in BEGINNINGS:
        raise OptionError(f"begin={begin!r}: use one of {', '.join(BEGINNINGS)}.")
    if to == topic:
        raise OptionError(f"to={to!r}: answers on the topic of the rows would be answered again. Use another topic.")
    file = _Reloading(path)
    group = group or f"tanager-answers-{Path(path).stem}"
    settings = _settings(servers, config)
    reading = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": begin, "enable.partition.eof": True}
    consumer = Consumer(settings | {"isolation.level": "read_committed"} | reading)
    producer = Producer(settings | {"transactional.id": f"{group}-{os.getpid()}-{time.time_ns()}"})
    answered = Answered()
    try:
        with _asking("a transaction"):
            producer.init_transactions(TIMEOUT)
            consumer.subscribe([topic])
        for records in _batches(consumer, stop_when_idle, stopped):
            answers = _answers(file.model, [record for record in records if record.value is not None], decode)
            _send(producer, consumer, to, records, answers)
            answered.n_rows += len(answers)
            answered.n_errors += sum("error" in content for _, content in answers)
            progress(answered.n_rows, None)
    finally:
        consumer.close()
    return answered


def _batches(consumer: Consumer, stop_when_idle: bool, stopped: Callable[[], bool]) -> Iterator[list[Record]]:
    """Messages as they come; where it stops, when every partition has said that it is at its end."""
    at_end: set[int | None] = set()
    while not stopped():
        records = []
        for message in _take(consumer):
            if _is_note(message):
                at_end.add(message.partition())
            else:
                records.append(_record(message))
                at_end.discard(message.partition())
        if records:
            yield records
        assigned = {one.partition for one in consumer.assignment()}
        if stop_when_idle and assigned and assigned <= at_end:
            return


def _send(
    producer: Producer,
    consumer: Consumer,
    to: str,
    records: list[Record],
    answers: list[tuple[Record, dict[str, Any]]],
) -> None:
    """One transaction: the answers, and how far the messages are answered."""
    with _asking("a transaction"):
        producer.begin_transaction()
        try:
            for record, content in answers:
                source = f"{record.topic}/{record.partition}/{record.offset}".encode()
                producer.produce(to, msgspec.json.encode(content), record.key, headers=[("tanager-row", source)])
                producer.poll(0)
            ends = {(record.topic, record.partition): record.offset + 1 for record in records}
            offsets = [TopicPartition(topic, partition, end) for (topic, partition), end in ends.items()]
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), TIMEOUT)
            producer.commit_transaction(TIMEOUT)
        except BaseException:
            producer.abort_transaction(TIMEOUT)
            raise


def _answers(model: Classifier, records: list[Record], decode: Decoder) -> list[tuple[Record, dict[str, Any]]]:
    """The answers to messages: all rows in one call, or one by one where a row cannot be predicted."""
    if not records:
        return []
    try:
        rows = [_features(model, decode(record.value or b"")) for record in records]
        return list(zip(records, _predicted(model, rows), strict=True))
    except TanagerError as error:
        if len(records) == 1:
            return [(records[0], {"error": str(error)})]
        return [pair for record in records for pair in _answers(model, [record], decode)]


def _features(model: Classifier, row: Row) -> Row:
    """The columns of the model; others, such as ids or the class itself, play no part."""
    return {name: row.get(name) for name in model.encoder_.schema.learned_names}


def _predicted(model: Classifier, rows: list[Row]) -> list[dict[str, Any]]:
    proba = model.predict_proba(rows)
    classes, labels = model.classes_.tolist(), model.decide(proba).tolist()
    return [
        {"label": label, "probabilities": dict(zip(map(str, classes), shares, strict=True))}
        for label, shares in zip(labels, proba.tolist(), strict=True)
    ]


class _Reloading:
    """A model file that is loaded again when it has changed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._model = load(path)
        self._stamp = self._file_stamp()

    def _file_stamp(self) -> tuple[int, int]:
        found = self.path.stat()
        return found.st_mtime_ns, found.st_ino

    @property
    def model(self) -> Classifier:
        """The model in the file; where the file is gone or damaged, the one that was there before."""
        try:
            stamp = self._file_stamp()
            if stamp != self._stamp:
                self._stamp = stamp
                self._model = load(self.path)
        except (OSError, TanagerError) as error:
            log.warning("%s was not loaded, and the model of before answers: %s", self.path, error)
        return self._model
