"""Server-sent events, as the service writes them."""

import re
from collections.abc import Iterator
from typing import Any

from .calls import parse_json

_EVENT = re.compile(rb"(?:id: ([^\n]*)\n)?event: ([^\n]*)\ndata: ([^\n]*)")


class BrokenEvent(Exception):
    """An event cannot be read. Do not trust the connection any longer."""


class EventReader:
    """Takes bytes as they come, and yields whole events: their data, `event`, and `id` if they have one."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        *blocks, self._rest = (self._rest + data).split(b"\n\n")
        for block in blocks:
            match = _EVENT.fullmatch(block)
            if match is None:  # a comment only shows that the service is up
                continue
            event_id: bytes | None = match[1]
            told = parse_json(match[3].decode(errors="replace"))
            if not isinstance(told, dict):
                raise BrokenEvent
            told["event"] = match[2].decode()
            if event_id is not None:
                told["id"] = event_id.decode(errors="replace")
            yield told
