"""The stream of a maker's orders. Reconnects by itself: no change is left out, and none comes twice."""

import re
from functools import partial

from .calls import Call, Close, Emit, Flow, Open, Pause, Read, Response, expect_200, unreachable
from .errors import MakerbookError, NoAnswer
from .events import BrokenEvent, EventReader
from .sign_and_send import ORDERS, SigningFlows
from .values import WrongValue

# The service sends a `clock` event every second.
_SILENCE_SECONDS_MAX = 10.0
_RECONNECT_SECONDS = 0.5


def stream_orders(flows: SigningFlows, last_event_id: str | None) -> Flow[None]:
    """Emits each event. A snapshot comes first, and again if the service no longer keeps the changes since then."""
    # Take only what a header can hold.
    if last_event_id is not None and not (isinstance(last_event_id, str) and re.fullmatch("[!-~]+", last_event_id)):
        raise WrongValue("last_event_id", "must be the id of an event; leave it out to begin with a snapshot")
    return _follow(flows, last_event_id)


def _follow(flows: SigningFlows, last_id: str | None) -> Flow[None]:
    while True:
        pause = _RECONNECT_SECONDS
        try:
            yield from flows.signed(partial(_open, flows, last_id))
            reader, has_ended = EventReader(), False
            while not has_ended and (data := (yield Read())) is not None:
                for event in reader.feed(data):
                    if event["event"] == "end":
                        has_ended = True
                        last_id = None if event.get("reason") == "gone" else last_id
                        break
                    last_id = event.get("id", last_id)
                    yield Emit(event)
        except BrokenEvent:
            pass
        except MakerbookError as error:
            is_gone = error.code == "gone" and last_id is not None
            if not error.retryable and not is_gone:
                raise
            if is_gone:
                last_id = None
            pause = max(pause, error.retry_after_seconds or 0)
        yield Close()
        yield Pause(pause)


def _open(flows: SigningFlows, last_id: str | None) -> Flow[Response]:
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    query = yield from flows.sign_read("StreamLimitOrdersRequest", {})
    call = Call("GET", f"{ORDERS}/stream", query, headers=headers)
    try:
        response = yield Open(call, _SILENCE_SECONDS_MAX)
    except NoAnswer as reason:
        raise unreachable(call, reason) from reason
    flows.clock.hear(response.headers)
    return expect_200(call, response)
