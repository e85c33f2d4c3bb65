"""Keeps all orders of the feed in memory. Applies records in the order of each partition."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal

from ..calls import body_of
from .read_records import BookClock, BookEntry, FeedRecord, FeedViolation, decode_record, read_removal, violation

__all__ = ["Book", "BookChange", "BookHash", "FeedBatch", "FeedRecord", "FeedViolation", "ack_of"]


@dataclass(frozen=True)
class FeedBatch:
    """The records that a reader hands over at once; none while the feed is quiet."""

    records: Sequence[FeedRecord]
    #: Whether the reader has handed over all that the feed held at the start. Before that, orders are missing.
    is_whole: bool
    #: How many partitions the feed has; 0 until known.
    partitions: int


@dataclass(frozen=True)
class BookChange:
    """The change that one record made."""

    kind: Literal["entry", "removed", "clock"]
    #: The order as the book holds it now; None if removed.
    entry: BookEntry | None = None
    #: The order as the book held it before; None if it held none.
    before: BookEntry | None = None
    clock: BookClock | None = None
    order_hash: str = ""
    #: Why the order was removed.
    removal: str | None = None


class BookHash:
    """The hash over a set of entries, in any order: the sum of the SHA-256 of each, modulo 2^256."""

    def __init__(self) -> None:
        self.entries = 0
        self._sum = 0

    def add(self, entry: Mapping[str, Any]) -> None:
        self._count(entry, 1)

    def remove(self, entry: Mapping[str, Any]) -> None:
        """Takes an entry out. It must be the same as when it was added."""
        self._count(entry, -1)

    def _count(self, entry: Mapping[str, Any], sign: int) -> None:
        text = f"{entry['orderHash']}:{entry['remainingMakingAmount']}:{entry['status']}"
        self.entries += sign
        self._sum = (self._sum + sign * int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")) % 2**256

    @property
    def hash(self) -> str:
        return f"0x{self._sum:064x}"


class Book:
    """The open orders of the feed. No record needs a filter: the feed is published exactly once and never goes back.

    `apply` checks that this holds.
    """

    def __init__(self) -> None:
        #: Open orders by hash, as the feed has them: of any status, until their tombstone.
        self.entries: dict[str, BookEntry] = {}
        #: The newest clocks, keyed by partition.
        self.clocks: dict[int, BookClock] = {}
        #: Whether all that the feed held at the start is applied. From then on each clock must agree with the book.
        self.is_whole = False
        #: How many partitions the feed has, as its batches say; 0 until known.
        self.partitions = 0
        self._last: dict[int, tuple[int, int]] = {}
        self._hashes: dict[int, BookHash] = {}

    def apply_batch(self, batch: FeedBatch) -> list[BookChange]:
        """Raises FeedViolation. Do not use the book after that."""
        changes = [self.apply(record) for record in batch.records]
        # Check clocks only after this batch: earlier ones may count records that compaction has left out.
        self.is_whole = self.is_whole or batch.is_whole
        self.partitions = batch.partitions
        return changes

    def apply(self, record: FeedRecord) -> BookChange:
        """Raises FeedViolation. Do not use the book after that."""
        message = self._read_id(record)
        change = self._remove(record) if record.value is None else self._news_of(record)
        self._last[record.partition] = message
        self._keep(record, change)
        return change

    def stale_since(self) -> int | None:
        """The time, in seconds, of the block up to which all partitions of the feed are complete.

        None until every partition has a clock.
        """
        if self.partitions == 0 or len(self.clocks) < self.partitions:
            return None
        return min(int(clock["block"]["timestamp"]) for clock in self.clocks.values())

    def _read_id(self, record: FeedRecord) -> tuple[int, int]:
        text = record.headers.get("ce_id", "")
        match = re.fullmatch("([0-9]+):([0-9]+):([0-9]+)", text)
        if match is None or int(match[1]) != record.partition:
            raise violation(record, f"ce_id {text or 'is missing, it'} is not <partition>:<offset>:<index>")
        message = (int(match[2]), int(match[3]))
        last, clock = self._last.get(record.partition), self.clocks.get(record.partition)
        if last is not None and message <= last:
            raise violation(record, f"message {text} came after {record.partition}:{last[0]}:{last[1]}")
        if clock is not None and message[0] < int(clock["position"]["offset"]):
            complete = clock["position"]["offset"]
            raise violation(record, f"message {text} came after the clock that completed all before {complete}")
        return message

    def _news_of(self, record: FeedRecord) -> BookChange:
        kind, news = decode_record(record)
        if kind == "BookEntry":
            before = self.entries.get(record.key)
            if news["orderHash"] != record.key:
                raise violation(record, f"it is of order {news['orderHash']}")
            _assert_grows(record, int(news["position"]["offset"]), before)
            return BookChange("entry", entry=news, before=before, order_hash=record.key)
        last = self.clocks.get(record.partition)
        if record.key != f"clock:{record.partition}":
            raise violation(record, "it is the clock of another partition")
        _assert_grows(record, int(news["position"]["offset"]), last)
        if last is not None and news["block"]["number"] < last["block"]["number"]:
            raise violation(record, f"block {news['block']['number']} came after block {last['block']['number']}")
        held, wanted = self._hashes.get(record.partition, BookHash()), news.get("book")
        if self.is_whole and wanted is not None and (wanted["entries"], wanted["hash"]) != (held.entries, held.hash):
            said = f"the book has {held.entries} orders with the hash {held.hash}"
            must = f"and must have {wanted['entries']} with {wanted['hash']}"
            raise violation(record, f"{said}, {must}: a record was lost, repeated or altered")
        return BookChange("clock", clock=news)

    def _remove(self, record: FeedRecord) -> BookChange:
        removal, offset = read_removal(record)
        before = self.entries.get(record.key)
        _assert_grows(record, offset, before)
        return BookChange("removed", before=before, order_hash=record.key, removal=removal)

    def _keep(self, record: FeedRecord, change: BookChange) -> None:
        if change.clock is not None:
            self.clocks[record.partition] = change.clock
            return
        held = self._hashes.setdefault(record.partition, BookHash())
        if change.before is not None:
            held.remove(change.before)
        if change.entry is not None:
            held.add(change.entry)
            self.entries[record.key] = change.entry
        else:
            self.entries.pop(record.key, None)


def _assert_grows(record: FeedRecord, offset: int, before: Mapping[str, Any] | None) -> None:
    """Allows equal offsets: one fact can open an order and remove it, in two records of one key."""
    if before is not None and offset < int(before["position"]["offset"]):
        raise violation(record, f"position {offset} came after {before['position']['offset']}")


def ack_of(router: str, clock: BookClock, now_ms: float) -> dict[str, Any]:
    """Builds the message that tells that a router has applied its book up to a clock: `limit-orders.acks.v1`.

    Returns key, value and headers as `Producer.produce` of confluent-kafka takes them. Once the book is whole, send
    one for each clock that you apply. `router`: the name that the operator has given the router.
    """
    position = clock["position"]
    time = datetime.fromtimestamp(now_ms / 1000, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    headers = {
        "ce_specversion": "1.0",
        "ce_id": f"{router}:{position['partition']}:{position['offset']}",
        "ce_type": "makerbook.BookAcknowledged.v1",
        "ce_source": "/makerbook/router",
        "ce_time": time,
        "content-type": "application/json",
    }
    value = body_of({"router": router, "position": {"partition": position["partition"], "offset": position["offset"]}})
    return {"key": f"{router}:{position['partition']}", "value": value, "headers": headers}
