"""Reads the feed from Kafka, by librdkafka: `pip install makerbook[kafka]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .book import FeedBatch
from .read_records import FeedRecord

TOPIC = "limit-orders.book.v1"


def read_over_kafka(
    settings: Mapping[str, Any], *, topic: str = TOPIC, poll_seconds: float = 0.5
) -> Iterator[FeedBatch]:
    """Yields batches without end. Yields an empty one if nothing comes for `poll_seconds`, so a loop can check clocks.

    `settings`: librdkafka's, at least `bootstrap.servers`. Keeps no offset: the topic is compacted. Read from the
    beginning, it is the open orders and recent changes. Raises KafkaException.
    """
    # Import here: only programs that read from Kafka have the package.
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

    # Without read_committed, records of an aborted transaction would show. The group is unused: nothing is committed.
    bound = {"isolation.level": "read_committed", "enable.partition.eof": True, "enable.auto.commit": False}
    consumer = Consumer({"group.id": "unused", **settings, **bound})
    try:
        found = consumer.list_topics(topic, timeout=30).topics[topic]
        if found.error is not None:
            raise KafkaException(found.error)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in found.partitions])
        unread = set(found.partitions)
        while True:
            records = []
            # Call `poll` first: `consume` alone would wait for a whole batch.
            first = consumer.poll(poll_seconds)
            for message in [] if first is None else [first, *consumer.consume(499, timeout=0)]:
                error = message.error()
                if error is None:
                    records.append(_record_of(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    unread.discard(message.partition())
                else:
                    raise KafkaException(error)
            yield FeedBatch(records, is_whole=not unread, partitions=len(found.partitions))
    finally:
        consumer.close()


def _record_of(message: Any) -> FeedRecord:
    headers = {str(name): (value or b"").decode() for name, value in message.headers() or ()}
    return FeedRecord(message.partition(), (message.key() or b"").decode(), message.value(), headers)
