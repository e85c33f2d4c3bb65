"""The reader of Kafka, with a fake librdkafka that waits as the real one does."""

import sys
import time
import unittest
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from makerbook.book.read_over_kafka import read_over_kafka

EOF = -191


class Message:
    def __init__(self, value: bytes | None, code: int | None = None) -> None:
        self._value, self._code = value, code

    def error(self) -> Any:
        return None if self._code is None else SimpleNamespace(code=lambda: self._code)

    def partition(self) -> int:
        return 0

    def key(self) -> bytes:
        return b"key"

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> list[tuple[str, bytes]]:
        return [("ce_type", b"x")]


class Consumer:
    """`consume` returns a whole batch, or what it has once its time is over."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.queue = [Message(b"1"), Message(None, EOF)]
        self.is_closed = False
        opened.append(self)

    def list_topics(self, topic: str, timeout: float) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None, partitions={0: None})})

    def assign(self, partitions: list[Any]) -> None:
        pass

    def poll(self, timeout: float) -> Message | None:
        if not self.queue:
            time.sleep(timeout)
        return self.queue.pop(0) if self.queue else None

    def consume(self, count: int, timeout: float) -> list[Message]:
        taken, self.queue = self.queue[:count], self.queue[count:]
        if len(taken) < count:
            time.sleep(timeout)
        return taken

    def close(self) -> None:
        self.is_closed = True


opened: list[Consumer] = []


class Kafka(unittest.TestCase):
    def test_what_is_there_comes_at_once_and_an_empty_batch_where_nothing_comes(self) -> None:
        library = ModuleType("confluent_kafka")
        error = SimpleNamespace(_PARTITION_EOF=EOF)
        names = {"OFFSET_BEGINNING": -2, "KafkaError": error, "KafkaException": Exception}
        library.__dict__.update(names, Consumer=Consumer, TopicPartition=lambda *place: place)
        with patch.dict(sys.modules, {"confluent_kafka": library}):
            batches = read_over_kafka({"bootstrap.servers": "x"}, poll_seconds=0.4)
            began = time.monotonic()
            first = next(batches)
            self.assertLess(time.monotonic() - began, 0.3)
            self.assertEqual(([record.value for record in first.records], first.is_whole), ([b"1"], True))
            self.assertEqual(list(next(batches).records), [])
            opened[0].queue.append(Message(b"2"))
            began = time.monotonic()
            self.assertEqual([record.value for record in next(batches).records], [b"2"])
            self.assertLess(time.monotonic() - began, 0.3)
            batches.close()
        self.assertTrue(opened[0].is_closed)
