"""A cluster of Kafka inside librdkafka, for tests: topics are made by the first message, with four partitions."""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

PARTITIONS = 4


class Cluster:
    """Lives as long as this object."""

    def __init__(self) -> None:
        self._owner = Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 1, "log_level": 0})
        brokers = self._owner.list_topics(timeout=10).brokers.values()
        self.servers = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
        self._producer = Producer({"bootstrap.servers": self.servers, "log_level": 0})

    def send(self, topic: str, rows: list[Any], partition: int | None = None) -> None:
        """Rows as JSON, round robin or to one partition; bytes and None as they are."""
        for r, row in enumerate(rows):
            value = row if row is None or isinstance(row, bytes) else json.dumps(row).encode()
            at = r % PARTITIONS if partition is None else partition
            self._producer.produce(topic, value, key=f"k{r}".encode(), partition=at)
        assert self._producer.flush(10) == 0

    def read(self, topic: str) -> list[Any]:
        """All messages of a topic."""
        settings = {"bootstrap.servers": self.servers, "group.id": "reader", "log_level": 0}
        consumer = Consumer(settings | {"enable.partition.eof": True})
        consumer.assign([TopicPartition(topic, n, 0) for n in range(PARTITIONS)])
        found, ended = [], set()
        while len(ended) < PARTITIONS:
            for message in consumer.consume(100, 1.0):
                if message.error() is None:
                    found.append(message)
                else:
                    ended.add(message.partition())
        consumer.close()
        return found

    def committed(self, topic: str, group: str) -> list[int]:
        """The committed offset of every partition; -1001 where there is none."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": group, "log_level": 0})
        offsets = consumer.committed([TopicPartition(topic, n) for n in range(PARTITIONS)], timeout=10)
        consumer.close()
        return [offset.offset for offset in offsets]
