"""Reads the fills of all makers over HTTP: page by page, and as they come."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import httpx

from ..calls import Call, Emit, Flow, Send, parse_json
from .read_over_http import BOOK, follow_stream, headers_of, over_http, over_http_async, until_answered

#: A fill as the service has it: see "Fills" in the routers' guide.
BookFill = dict[str, Any]

_PAGE_MAX = 1000


def read_fills(
    base_url: str,
    *,
    making: str | None = None,
    taking: str | None = None,
    maker: str | None = None,
    key: str | None = None,
    http_client: httpx.Client | None = None,
) -> Iterator[BookFill]:
    """Yields the fills that match, newest first. Reads page by page, as you take them.

    Waits while the service cannot answer. Raises MakerbookError if the service refuses.
    """
    return cast("Iterator[BookFill]", over_http(base_url, http_client, _read(_query(making, taking, maker), key)))


def read_fills_async(
    base_url: str,
    *,
    making: str | None = None,
    taking: str | None = None,
    maker: str | None = None,
    key: str | None = None,
    http_client: httpx.AsyncClient | None = None,
) -> AsyncIterator[BookFill]:
    """The same on an event loop."""
    return over_http_async(base_url, http_client, _read(_query(making, taking, maker), key))


def follow_fills(
    base_url: str, *, newest: int = 100, key: str | None = None, http_client: httpx.Client | None = None
) -> Iterator[BookFill]:
    """Yields the newest fills (1,000 at most), oldest first, and then each new one, once, without end.

    Raises FeedLost if the stream cannot be resumed: read `read_fills` back to the last fill that you have, and
    follow again. Raises MakerbookError if the service refuses.
    """
    return cast("Iterator[BookFill]", over_http(base_url, http_client, _follow(newest, key)))


def follow_fills_async(
    base_url: str, *, newest: int = 100, key: str | None = None, http_client: httpx.AsyncClient | None = None
) -> AsyncIterator[BookFill]:
    """The same on an event loop."""
    return over_http_async(base_url, http_client, _follow(newest, key))


def _query(making: str | None, taking: str | None, maker: str | None) -> dict[str, str]:
    wanted = {"making": making, "taking": taking, "maker": maker}
    return {name: value for name, value in wanted.items() if value is not None}


def _read(query: dict[str, str], key: str | None) -> Flow[None]:
    cursor: dict[str, str] = {}
    while True:
        page = yield from _read_page({"limit": str(_PAGE_MAX), **query, **cursor}, key)
        for fill in page["fills"]:
            yield Emit(fill)
        if page["nextCursor"] is None:
            return
        cursor = {"cursor": page["nextCursor"]}


def _follow(newest: int, key: str | None) -> Flow[None]:
    page = yield from _read_page({"limit": str(max(1, newest))}, key)
    for fill in reversed(page["fills"][:newest]):
        yield Emit(fill)
    yield from follow_stream("fills/stream", headers_of(key), page["streamCursor"], _fill_of, _emit_all)


def _fill_of(event: dict[str, Any]) -> BookFill:
    return {name: value for name, value in event.items() if name not in ("id", "event")}


def _emit_all(fills: list[BookFill], _cursor: str) -> Flow[None]:
    for fill in fills:
        yield Emit(fill)


def _read_page(query: dict[str, str], key: str | None) -> Flow[dict[str, Any]]:
    call = Call("GET", f"{BOOK}/fills", query, headers=headers_of(key))
    answer = yield from until_answered(call, Send(call))
    return cast("dict[str, Any]", parse_json(answer.text))
