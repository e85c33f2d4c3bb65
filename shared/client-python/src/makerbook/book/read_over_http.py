"""Reads the feed over HTTP instead of Kafka: a snapshot, then the stream. Resumes the stream where it ends."""

import random
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import httpx

from ..calls import Call, Close, Emit, Flow, Open, Pause, Read, Response, Send, expect_200, parse_json
from ..errors import MakerbookError, NoAnswer
from ..events import BrokenEvent, EventReader
from ..send_over_httpx import AsyncDriver, SyncDriver
from ..values import read_bearer_key
from .book import FeedBatch
from .read_records import FeedRecord, parse_line

BOOK = "/v0alpha/book"
# The service writes something every 5 s at least: a longer silence means that the connection is dead.
_SILENCE_SECONDS_MAX = 15.0
_RETRY_SECONDS = 1.0
# Only the last line of a snapshot begins like this.
_END = b'{"cursor":'


class FeedLost(Exception):
    """The feed cannot be resumed. Drop the book, and read it again from the start."""


def read_over_http(
    base_url: str, *, key: str | None = None, http_client: httpx.Client | None = None
) -> Iterator[FeedBatch]:
    """Yields batches without end.

    Waits while the service cannot answer. `key`: the reader's, if only named readers may read.

    Raises FeedLost if the snapshot is cut or the stream cannot be resumed. Raises MakerbookError if the service
    refuses.
    """
    return cast("Iterator[FeedBatch]", over_http(base_url, http_client, _follow(headers_of(key))))


def read_over_http_async(
    base_url: str, *, key: str | None = None, http_client: httpx.AsyncClient | None = None
) -> AsyncIterator[FeedBatch]:
    """The same on an event loop."""
    return over_http_async(base_url, http_client, _follow(headers_of(key)))


def over_http(base_url: str, http_client: httpx.Client | None, flow: Flow[None]) -> Iterator[Any]:
    """Yields what a flow emits."""
    return _iterate(SyncDriver(base_url, _SILENCE_SECONDS_MAX, http_client), flow)


def _iterate(driver: SyncDriver, flow: Flow[None]) -> Iterator[Any]:
    try:
        yield from driver.iterate(flow)
    finally:
        driver.close()


def over_http_async(base_url: str, http_client: httpx.AsyncClient | None, flow: Flow[None]) -> AsyncIterator[Any]:
    """The same on an event loop."""
    return _iterate_async(AsyncDriver(base_url, _SILENCE_SECONDS_MAX, http_client), flow)


async def _iterate_async(driver: AsyncDriver, flow: Flow[None]) -> AsyncIterator[Any]:
    steps = driver.iterate(flow)
    try:
        async for item in steps:
            yield item
    finally:
        await steps.aclose()  # type: ignore[attr-defined]
        await driver.close()


def headers_of(key: str | None) -> dict[str, str]:
    """Raises WrongValue for a key that makes no sense."""
    return {} if key is None else {"Authorization": f"Bearer {read_bearer_key('key', key)}"}


def _follow(headers: dict[str, str]) -> Flow[None]:
    cursor = yield from _read_snapshot(headers)
    yield from follow_stream("stream", headers, cursor, _record_of, _emit_batch)


def _emit_batch(records: list[FeedRecord], cursor: str) -> Flow[None]:
    yield Emit(FeedBatch(records, is_whole=True, partitions=len(cursor.split(","))))


def follow_stream(
    path: str,
    headers: dict[str, str],
    cursor: str,
    item_of: Callable[[dict[str, Any]], Any],
    emit: Callable[[list[Any], str], Flow[None]],
) -> Flow[None]:
    """Emits what comes after the cursor, without end. Resumes the stream where it ends.

    `item_of` raises BrokenEvent for an event it cannot read. `emit` gets the items that came at once, and the cursor
    after them.
    """
    while True:
        before = cursor
        yield from _open(path, headers, {"after": cursor})
        reader, has_ended = EventReader(), False
        while not has_ended and (data := (yield Read())) is not None:
            items: list[Any] = []
            try:
                for event in reader.feed(data):
                    if event["event"] == "end":
                        has_ended = True
                        break
                    items.append(item_of(event))
                    cursor = event["id"]
            except BrokenEvent:
                has_ended = True
            yield from emit(items, cursor)
        yield Close()
        # Pause, so as not to flood a process that ends each stream.
        if cursor == before:
            yield Pause(_RETRY_SECONDS * random.random())


def _record_of(event: dict[str, Any]) -> FeedRecord:
    try:
        return FeedRecord(event["partition"], event["key"], event["value"], event["headers"])
    except KeyError:
        raise BrokenEvent from None


def _read_snapshot(headers: dict[str, str]) -> Flow[str]:
    """Emits the snapshot's records, and returns the cursor after them."""
    yield from _open("snapshot", headers, {})
    rest, cursor = b"", None
    while cursor is None and (data := (yield Read())) is not None:
        *lines, rest = (rest + data).split(b"\n")
        records = [parse_line(line.decode()) for line in lines if line and not line.startswith(_END)]
        last = parse_json(lines[-1].decode()) if lines and lines[-1].startswith(_END) else None
        cursor = None if last is None else str(last["cursor"])
        partitions = 0 if cursor is None else len(cursor.split(","))
        yield Emit(FeedBatch(records, is_whole=cursor is not None, partitions=partitions))
    yield Close()
    if cursor is None:
        raise FeedLost("the snapshot was cut before its end")
    return cursor


def _open(path: str, headers: dict[str, str], query: dict[str, str]) -> Flow[Response]:
    """Opens an answer as soon as the service gives one."""
    call = Call("GET", f"{BOOK}/{path}", query, headers=headers)
    try:
        return (yield from until_answered(call, Open(call, _SILENCE_SECONDS_MAX)))
    except MakerbookError as error:
        if error.code == "gone":
            raise FeedLost(str(error)) from error
        raise


def until_answered(call: Call, step: Open | Send) -> Flow[Response]:
    """Repeats the step until the service answers. Raises MakerbookError if it refuses for good."""
    while True:
        pause = _RETRY_SECONDS
        try:
            return expect_200(call, (yield step))
        except MakerbookError as error:
            if error.status != 429 and error.status < 500:
                raise
            pause = error.retry_after_seconds or pause
        except NoAnswer:
            pass
        yield Pause(pause)
