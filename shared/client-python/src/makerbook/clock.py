"""The clock of the service, as its answers tell it.

Requests are signed by it, so a wrong local clock does no harm.
"""

from collections.abc import Callable, Mapping
from threading import Lock

from .calls import Flow

# The service refuses a time that is a minute ahead, and one instance's clock may be wrong by more.
_LATEST_AHEAD_MS_MAX = 50_000
# The service refuses a message issued further ahead of its clock.
_ISSUED_AHEAD_MS_MAX = 5_000


class ServiceClock:
    def __init__(self, now_ms: Callable[[], float], ask: Callable[[], Flow[None]]) -> None:
        """`now_ms`: the local clock, in milliseconds since 1970. `ask` sends a request whose answer reaches `hear`."""
        self._local_ms = now_ms
        self._ask = ask
        # How far the service is ahead, by the newest answer. So an instance with a wrong clock has no lasting effect.
        self._ahead_ms: float | None = None
        self._greatest_ms = 0
        self._issued_ms = 0
        self._lock = Lock()

    def hear(self, headers: Mapping[str, str]) -> None:
        """Notes the time that an answer tells."""
        text = headers.get("x-server-time", "")
        if text.isascii() and text.isdigit() and len(text) < 17:
            self._ahead_ms = int(text) - self._local_ms()
            self._greatest_ms = max(self._greatest_ms, int(text))

    def now_ms(self) -> Flow[int]:
        """Milliseconds since 1970. Asks the service if no answer has told the time yet."""
        if self._ahead_ms is None:
            yield from self._ask()
        return round(self._local_ms() + (self._ahead_ms or 0.0))

    def latest_ms(self) -> Flow[int]:
        """Gives `now_ms`, or the latest time that an answer has told if that is later, up to 50 seconds ahead.

        Any order that has an answer was accepted by then.
        """
        now_ms = yield from self.now_ms()
        return max(now_ms, min(self._greatest_ms, now_ms + _LATEST_AHEAD_MS_MAX))

    def issued_ms(self) -> Flow[int]:
        """The newest message counts, so each is newer than the last, unless the last has a time of a wrong clock."""
        now_ms = yield from self.now_ms()
        with self._lock:
            is_wrong = self._issued_ms > now_ms + _ISSUED_AHEAD_MS_MAX
            self._issued_ms = now_ms if is_wrong else max(now_ms, self._issued_ms + 1)
            return self._issued_ms
