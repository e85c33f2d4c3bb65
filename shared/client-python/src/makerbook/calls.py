"""Calls of the service, whatever sends them.

A flow is a generator that yields steps (Send, Open, Read, Close, Pause, Emit). A driver does each step and sends its
result back in. So one flow serves `Client` and `AsyncClient` (`send_over_httpx.py`).
"""

import json
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, Union
from urllib.parse import urlencode

from .errors import MakerbookError, NoAnswer

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """One request. Each try sends the same bytes of the body."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Seconds that the answer may take in addition to the client's timeout.
    wait_seconds: int = 0

    @property
    def target(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


@dataclass(frozen=True)
class Response:
    """Any answer. Names of headers are in lowercase."""

    status: int
    headers: Mapping[str, str]
    text: str = ""


@dataclass(frozen=True)
class Send:
    """Sends a request and reads the whole answer. Results in a Response, or raises NoAnswer."""

    call: Call


@dataclass(frozen=True)
class Open:
    """Sends a request whose answer is a stream.

    Results in a Response, with text unless its status is 200. Or raises NoAnswer.
    """

    call: Call
    #: After a silence of so many seconds the connection counts as dead.
    silence_seconds: float


@dataclass(frozen=True)
class Read:
    """Reads the next bytes of the opened answer.

    Results in bytes. Results in None if the answer has ended, is cut off or is silent for too long.
    """


@dataclass(frozen=True)
class Close:
    """Closes the opened answer."""


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Emit:
    """Hands an item to the caller that iterates."""

    item: Any


Step = Union[Send, Open, Read, Close, Pause, Emit]
Flow = Generator[Step, Any, T]


@dataclass(frozen=True)
class Done:
    """The value that a flow has returned."""

    value: Any


def advance(flow: Flow[Any], reply: Any = None, error: NoAnswer | None = None) -> Step | Done:
    """Gives a flow the result of its last step, and returns its next step."""
    try:
        return flow.send(reply) if error is None else flow.throw(error)
    except StopIteration as done:
        return Done(done.value)


def body_of(value: Any) -> bytes:
    """JSON, as it is sent."""
    return json.dumps(value, separators=(",", ":")).encode()


def expect_200(call: Call, response: Response) -> Response:
    """Raises MakerbookError for any other status."""
    if response.status == 200:
        return response
    problem = parse_json(response.text)
    retry_after = response.headers.get("retry-after", "")
    more: dict[str, Any] = {
        "status": response.status,
        "may_have_happened": outcome_of(call),
        "retry_after_seconds": float(retry_after) if re.fullmatch("[0-9]{1,9}", retry_after) else None,
    }
    # A gateway's own body may have a code too. Only the service's body repeats the status.
    if isinstance(problem, dict) and isinstance(problem.get("code"), str) and problem.get("status") == response.status:
        retryable = problem.get("retryable") is True
        raise MakerbookError(
            problem["code"], str(problem.get("detail", "")), retryable=retryable, problem=problem, **more
        )
    # A gateway answers while the service behind it is down.
    detail = f"HTTP {response.status}, but not from the service: a proxy has answered, or the URL is wrong"
    raise MakerbookError("unreadable", detail, retryable=response.status >= 500 or response.status == 429, **more)


def unreachable(call: Call, reason: NoAnswer) -> MakerbookError:
    """The error of a call that had no answer."""
    return MakerbookError("unreachable", str(reason), retryable=True, may_have_happened=outcome_of(call))


def outcome_of(call: Call) -> bool | None:
    """A GET or a PATCH stores nothing, so its outcome is never unknown. None: code and status decide."""
    return False if call.method in ("GET", "PATCH") else None


def read_answer(call: Call, response: Response, kind: type[T]) -> T:
    """Reads an answer that is a list or a dict. Raises MakerbookError `unreadable` for anything else."""
    value = parse_json(response.text)
    if isinstance(value, kind):
        return value
    detail = f"the answer is no {kind.__name__}: check the URL of the service"
    raise MakerbookError("unreadable", detail, status=200, may_have_happened=outcome_of(call))


def parse_json(text: str) -> Any:
    """Returns None if the text is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class Retry:
    """Retries what is `retryable`. Pauses for `Retry-After` or for a growing time, whichever is longer."""

    #: Tries in all.
    attempts_max: int = 5
    #: The pause after the first failure, doubled after each further one.
    pause_seconds: float = 0.25
    #: The longest pause, even if `Retry-After` asks for more.
    pause_seconds_max: float = 10.0
    #: Called before each pause, with its seconds.
    on_retry: Callable[[MakerbookError, float], None] | None = None


ONCE = Retry(attempts_max=1)


def again(work: Callable[[], Flow[T]], retry: Retry, random: Callable[[], float]) -> Flow[T]:
    """Raises the error of the last try, with `may_have_happened` if any try may have done the work.

    `random`: from 0 to 1; spreads the tries of many clients.
    """
    attempt, may_have_happened = 1, False
    while True:
        try:
            return (yield from work())
        except MakerbookError as error:
            may_have_happened = error.may_have_happened = may_have_happened or error.may_have_happened
            if not error.retryable or attempt >= retry.attempts_max:
                raise
            growing = retry.pause_seconds * 2 ** (attempt - 1) * (0.5 + random() / 2)
            pause = min(retry.pause_seconds_max, max(growing, error.retry_after_seconds or 0))
            if retry.on_retry is not None:
                retry.on_retry(error, pause)
        yield Pause(pause)
        attempt += 1
