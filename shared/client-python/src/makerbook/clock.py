"""The clock of the service, as its answers tell it.

Requests are signed by it, so that a clock that is wrong here does no harm.
"""

from collections.abc import Callable, Mapping
from threading import Lock

from .calls import Flow

# The service refuses a time that is a minute ahead, and one instance's clock may be wrong by more.
_LATEST_AHEAD_MS_MAX = 50_000
# The service refuses a message that was issued further ahead.
_ISSUED_AHEAD_MS_MAX = 5_000


class ServiceClock:
    def __init__(self, now_ms: Callable[[], float], ask: Callable[[], Flow[None]]) -> None:
        """`now_ms`: the clock here, in milliseconds since 1970. `ask` sends a request whose answer is heard."""
        self._local_ms = now_ms
        self._ask = ask
        # How far the service is ahead, by the newest answer: one of an instance whose clock is wrong does not last.
        self._ahead_ms: float | None = None
        self._greatest_ms = 0
        self._issued_ms = 0
        self._lock = Lock()

    def hear(self, headers: Mapping[str, str]) -> None:
        """Notes what an answer tells."""
        text = headers.get("x-server-time", "")
        if text.isascii() and text.isdigit() and len(text) < 17:
            self._ahead_ms = int(text) - self._local_ms()
            self._greatest_ms = max(self._greatest_ms, int(text))

    def now_ms(self) -> Flow[int]:
        """Milliseconds since 1970; asks the service where no answer has told yet."""
        if self._ahead_ms is None:
            yield from self._ask()
        return round(self._local_ms() + (self._ahead_ms or 0.0))

    def latest_ms(self) -> Flow[int]:
        """Gives `now_ms`, or the greatest time that an answer has told if that is later, up to 50 seconds ahead.

        So an order that was answered was accepted by then.
        """
        now_ms = yield from self.now_ms()
        return max(now_ms, min(self._greatest_ms, now_ms + _LATEST_AHEAD_MS_MAX))

    def issued_ms(self) -> Flow[int]:
        """The newest message counts, so each is newer than the one before; but not one of a clock that was wrong."""
        now_ms = yield from self.now_ms()
        with self._lock:
            is_wrong = self._issued_ms > now_ms + _ISSUED_AHEAD_MS_MAX
            self._issued_ms = now_ms if is_wrong else max(now_ms, self._issued_ms + 1)
            return self._issued_ms
