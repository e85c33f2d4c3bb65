"""The book: which records it accepts, and how it is read over HTTP."""

import asyncio
import json
import unittest
from typing import Any

from fake_service import Answer, FakeService, refuse

from makerbook import MakerbookError
from makerbook.book import (
    Book,
    BookHash,
    FeedLost,
    FeedRecord,
    FeedViolation,
    RankedOrders,
    ack_of,
    fill_calldata,
    find_fault,
    follow_fills,
    follow_fills_async,
    gas_limit_of,
    quote,
    read_fills,
    read_fills_async,
    read_over_http,
    read_over_http_async,
)

USDT, WETH, ZERO = "0x" + "0a" * 20, "0x" + "0b" * 20, "0x" + "00" * 20


def headers_of(kind: str, offset: int, **more: str) -> dict[str, str]:
    return {"ce_type": f"makerbook.{kind}.v1", "ce_id": f"3:{offset}:0", **more}


def entry(byte: str, offset: int, **more: Any) -> FeedRecord:
    order = {"salt": "0x1", "nonce": "0x0", "expiresAt": "0x7ffffff", "maker": "0x" + "0c" * 20, "permittedTaker": ZERO}
    sides = {"making": {"token": WETH, "amount": "0xa"}, "taking": {"token": USDT, "amount": "0x23"}}
    value = {
        "orderHash": "0x" + byte * 32,
        "order": {**order, **sides},
        "signature": "0x" + "11" * 65,
        "remainingMakingAmount": "0xa",
        "routableUntil": 2000,
        "acceptedAtMs": 0,
        "position": {"partition": 3, "offset": str(offset)},
        "causes": ["OBSERVED"],
        "status": "ACTIVE",
        "funding": {"balance": "0xf4240", "allowance": "0xf4240", "block": 1},
        **more,
    }
    return FeedRecord(3, value["orderHash"], json.dumps(value), headers_of("BookEntry", offset))


def tombstone(byte: str, offset: int, removal: str = "CANCELLED") -> FeedRecord:
    more = {"removal": removal, "position_partition": "3", "position_offset": str(offset)}
    return FeedRecord(3, "0x" + byte * 32, None, headers_of("BookEntryRemoved", offset, **more))


def clock(offset: int, book: BookHash | None = None, number: int = 9) -> FeedRecord:
    block = {"number": number, "hash": "0x" + "bb" * 32, "timestamp": 1000}
    value: dict[str, Any] = {"block": block, "position": {"partition": 3, "offset": str(offset)}}
    if book is not None:
        value["book"] = {"entries": book.entries, "hash": book.hash}
    return FeedRecord(3, "clock:3", json.dumps(value), headers_of("BookClock", offset))


def hashed(*bytes_: str) -> BookHash:
    total = BookHash()
    for byte in bytes_:
        total.add({"orderHash": "0x" + byte * 32, "remainingMakingAmount": "0xa", "status": "ACTIVE"})
    return total


class Books(unittest.TestCase):
    def test_the_hash_is_what_the_guide_says(self) -> None:
        self.assertEqual(BookHash().hash, "0x" + "00" * 32)
        guide = "0x4340c7debc6b5123da8fcebd093b3cab0e56fc74cf41172f0f9d22863eb8d505"
        self.assertEqual(hashed("01").hash, guide)

    def test_records_come_and_go(self) -> None:
        book = Book()
        for record in (entry("01", 1), entry("02", 2), entry("01", 3), tombstone("02", 4)):
            book.apply(record)
        book.is_whole = True
        self.assertEqual(book.apply(clock(5, hashed("01"))).kind, "clock")
        self.assertEqual(list(book.entries), ["0x" + "01" * 32])
        book.partitions = 1
        self.assertEqual(book.stale_since(), 1000)
        book.partitions = 2
        self.assertIsNone(book.stale_since())

    def test_a_promise_that_is_broken_is_noticed(self) -> None:
        first = [entry("01", 1), clock(5, number=9)]
        moved = entry("02", 9, position={"partition": 4, "offset": "9"})
        for record in (
            entry("01", 1),  # again
            entry("02", 4),  # behind the clock
            clock(6, number=8),
            clock(7, hashed()),  # a record was lost
            tombstone("01", 6, "WHATEVER"),
            moved,
            entry("02", 6, status="OPEN"),
            entry("02", 6, remainingMakingAmount="10"),
            entry("02", 6, funding={}),
            FeedRecord(3, "0x" + "03" * 32, entry("02", 6).value, headers_of("BookEntry", 6)),
            FeedRecord(3, "x", "{}", headers_of("Whatever", 6)),
            FeedRecord(3, "x", "no", headers_of("BookEntry", 6)),
        ):
            book = Book()
            for one in first:
                book.apply(one)
            book.is_whole = True
            with self.assertRaises(FeedViolation):
                book.apply(record)

    def test_a_quote_is_encoded_for_the_contract(self) -> None:
        book, orders = Book(), RankedOrders()
        for record in (entry("01", 1), entry("02", 2), clock(5)):
            orders.apply(book.apply(record))
        quoted = quote(orders, (USDT, WETH), amount_out=12, now_seconds=1001, backups=10)
        self.assertEqual([(fill.making_amount, fill.taking_amount) for fill in quoted.fills], [(10, 35), (2, 7)])
        data = fill_calldata(quoted)
        self.assertEqual((data[:10], (len(data) - 10) // 64), ("0xae325c02", 6 + 2 + 2 * 15))
        self.assertEqual(gas_limit_of(quoted), 400_000)
        fault = find_fault(quoted, limit=41)
        assert fault is not None
        self.assertEqual(fault.name, "limit")
        with self.assertRaises(ValueError):
            fill_calldata(quoted, limit=41)
        self.assertEqual(quote(orders, (USDT, WETH), amount_out=1, now_seconds=1006).fills, [])

    def test_an_acknowledgement(self) -> None:
        told = ack_of("swift", {"position": {"partition": 3, "offset": "43"}}, 1_700_000_000_000)
        self.assertEqual((told["key"], told["headers"]["ce_id"]), ("swift:3", "swift:3:43"))
        self.assertEqual(told["value"], b'{"router":"swift","position":{"partition":3,"offset":"43"}}')
        self.assertEqual(told["headers"]["ce_time"], "2023-11-14T22:13:20.000Z")


def line(record: FeedRecord) -> bytes:
    """Writes a record as the service does: the value is JSON, not text."""
    value = None if record.value is None else json.loads(str(record.value))
    return json.dumps({**vars(record), "value": value}).encode()


def event(kind: str, cursor: str, record: FeedRecord) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (cursor.encode(), kind.encode(), line(record))


SNAPSHOT = Answer(parts=[line(entry("01", 1)) + b"\n", b'{"cursor":"3:2"}\n'])


class ReadOverHttp(unittest.TestCase):
    is_async = False

    def read(self, count: int, *answers: Answer) -> tuple[Book, list[Any]]:
        """Returns the book after `count` records."""
        service = FakeService(*answers)
        self.addCleanup(service.close)
        book, seen = Book(), 0

        def take(batch: Any) -> bool:
            nonlocal seen
            seen += len(book.apply_batch(batch))
            return seen >= count

        async def follow() -> None:
            batches = read_over_http_async(service.url, key="swift")
            async for batch in batches:
                if take(batch):
                    break
            await batches.aclose()  # type: ignore[attr-defined]

        if self.is_async:
            asyncio.run(follow())
        else:
            any(take(batch) for batch in read_over_http(service.url, key="swift"))
        self.assertEqual({asked.headers["authorization"] for asked in service.asked}, {"Bearer swift"})
        return book, [asked.query.get("after") for asked in service.asked]

    def test_the_stream_goes_on_where_it_was_cut(self) -> None:
        second, third = event("entry", "3:3", entry("02", 2)), event("clock", "3:4", clock(5, hashed("01", "02")))
        cut = Answer(parts=[b":\n\n", second, third[:40]], is_cut=True)
        book, cursors = self.read(3, SNAPSHOT, cut, Answer(parts=[third]))
        self.assertEqual((len(book.entries), book.is_whole, cursors), (2, True, [None, "3:2", "3:3"]))

    def test_a_snapshot_that_is_cut_and_a_cursor_that_is_gone_lose_the_book(self) -> None:
        cut = Answer(parts=[line(entry("01", 1)) + b"\n", b'{"cur'], is_cut=True)
        for answers in ([cut], [SNAPSHOT, refuse("gone", 410)]):
            with self.assertRaises(FeedLost):
                self.read(9, *answers)

    def test_a_reader_that_is_refused_is_told(self) -> None:
        with self.assertRaises(MakerbookError):
            self.read(9, refuse("unauthorized", 401))


class ReadOverHttpOnAnEventLoop(ReadOverHttp):
    is_async = True


class ReadFills(unittest.TestCase):
    is_async = False

    def read(self, count: int, follows: bool, *answers: Answer, **wanted: Any) -> tuple[list[int], list[Any]]:
        """Returns the blocks of `count` fills, and the requests."""
        service = FakeService(*answers)
        self.addCleanup(service.close)
        blocks: list[int] = []

        def take(fill: Any) -> bool:
            self.assertEqual(set(fill), {"blockNumber", "logIndex"})
            blocks.append(fill["blockNumber"])
            return len(blocks) == count

        async def take_all() -> None:
            fills = (follow_fills_async if follows else read_fills_async)(service.url, key="swift", **wanted)
            async for fill in fills:
                if take(fill):
                    break
            await fills.aclose()  # type: ignore[attr-defined]

        if self.is_async:
            asyncio.run(take_all())
        else:
            any(take(fill) for fill in (follow_fills if follows else read_fills)(service.url, key="swift", **wanted))
        self.assertEqual({asked.headers["authorization"] for asked in service.asked}, {"Bearer swift"})
        return blocks, [asked.query for asked in service.asked]

    def test_pages_come_one_after_the_other_and_one_that_is_refused_for_now_again(self) -> None:
        busy = refuse("unavailable", 503, headers={"Retry-After": "0.01"})
        answers = [fills(9, 8, next_cursor="8:1"), busy, fills(7)]
        blocks, asked = self.read(9, False, *answers, making=WETH)
        first = {"limit": "1000", "making": WETH}
        self.assertEqual((blocks, asked), ([9, 8, 7], [first, {**first, "cursor": "8:1"}, {**first, "cursor": "8:1"}]))

    def test_the_stream_goes_on_behind_the_newest_and_where_it_was_cut(self) -> None:
        cut = Answer(parts=[b":\n\n", fill_event(3, "3:3"), fill_event(4, "3:4")[:30]], is_cut=True)
        blocks, asked = self.read(4, True, fills(2, 1), cut, Answer(parts=[fill_event(4, "3:4")]), newest=2)
        self.assertEqual((blocks, asked), ([1, 2, 3, 4], [{"limit": "2"}, {"after": "3:2"}, {"after": "3:3"}]))

    def test_a_reader_that_cannot_go_on_or_may_not_read_is_told(self) -> None:
        with self.assertRaises(FeedLost):
            self.read(9, True, fills(), refuse("gone", 410))
        with self.assertRaises(MakerbookError):
            self.read(9, False, refuse("unauthorized", 401))


class ReadFillsOnAnEventLoop(ReadFills):
    is_async = True


def fills(*blocks: int, next_cursor: str | None = None) -> Answer:
    told = [{"blockNumber": block, "logIndex": 1} for block in blocks]
    return Answer({"fills": told, "nextCursor": next_cursor, "streamCursor": "3:2"})


def fill_event(block: int, cursor: str) -> bytes:
    data = json.dumps({"blockNumber": block, "logIndex": 1})
    return f"id: {cursor}\nevent: fill\ndata: {data}\n\n".encode()
