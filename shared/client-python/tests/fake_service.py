"""A local service that gives a list of answers, and both clients that call it."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from makerbook import AsyncClient, Client, ClientOptions, Domain, Retry

KEY = "0x" + "07" * 32
DOMAIN = Domain(8217, "Test", "0x" + "12" * 20)
NOW_MS = 1_700_000_000_000
FAST = Retry(attempts_max=5, pause_seconds=0.001)
TOKEN, OTHER = "0x" + "ab" * 20, "0x" + "cd" * 20


@dataclass
class Asked:
    method: str
    path: str
    query: dict[str, str]
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    """`parts` are sent one after the other. With `is_cut` the answer breaks off after them."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    parts: Sequence[bytes] | None = None
    is_cut: bool = False
    pause_seconds: float = 0.0


LOST = Answer(is_cut=True, parts=[])


def refuse(
    code: str, status: int, retryable: bool = False, headers: dict[str, str] | None = None, **more: Any
) -> Answer:
    body = {"code": code, "detail": "no", "status": status, "retryable": retryable, "requestId": "r-1", **more}
    return Answer(body, status, headers or {})


class FakeService:
    """Answers GET …/info and tells its clock by itself. Answers all else with `answers`, in order."""

    def __init__(self, *answers: Answer, clock_ms: Callable[[], int] = lambda: NOW_MS) -> None:
        self.asked: list[Asked] = []
        self.clock_ms = clock_ms
        self._answers = list(answers)
        self.info = Answer(INFO)
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except OSError:  # the client has gone
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                service._handle(self)

            do_POST = do_PATCH = do_OPTIONS = do_GET

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handle(self, request: BaseHTTPRequestHandler) -> None:
        url = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in request.headers.items()}
        answer = self.info
        if not url.path.endswith("/info"):
            self.asked.append(Asked(request.command, url.path, query, body, headers))
            answer = self._answers.pop(0) if self._answers else refuse("not_found", 404)
        self._send(request, answer)

    def _send(self, request: BaseHTTPRequestHandler, answer: Answer) -> None:
        request.close_connection = True
        sent = json.dumps(answer.body).encode() if answer.body is not None else b"".join(answer.parts or ())
        parts = [sent] if answer.parts is None else answer.parts
        if parts or not answer.is_cut:
            request.send_response(answer.status)
            told = {"X-Server-Time": str(self.clock_ms()), "Content-Length": str(len(sent) + 9 * answer.is_cut)}
            for name, value in {**told, "Connection": "close", **answer.headers}.items():
                request.send_header(name, value)
            request.end_headers()
        for part in parts:
            request.wfile.write(part)
            request.wfile.flush()
            threading.Event().wait(answer.pause_seconds)
        if answer.is_cut:
            request.connection.shutdown(socket.SHUT_RDWR)


INFO = {"serviceName": "Test", "chainId": 8217, "contracts": {"limitOrderProtocol": "0x" + "12" * 20}}


class Caller:
    """A client of either kind, behind one interface."""

    def __init__(self, is_async: bool, url: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop() if is_async else None
        settings: ClientOptions = {"retry": FAST, "now_ms": lambda: NOW_MS, **options}  # type: ignore[typeddict-item]
        kind = AsyncClient if is_async else Client
        self.client: Any = kind(url, KEY, DOMAIN, **settings)

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        result = getattr(self.client, name)(*args, **options)
        return result if self._loop is None else self._loop.run_until_complete(result)

    def take(self, count: int, **options: Any) -> list[Any]:
        """Returns the first events of the stream."""
        events = self.client.stream_orders(**options)
        if self._loop is None:
            taken = [next(events) for _ in range(count)]
            events.close()
            return taken

        async def follow() -> list[Any]:
            taken = [await anext(events) for _ in range(count)]
            await events.aclose()
            return taken

        return self._loop.run_until_complete(follow())

    def close(self) -> None:
        self.call("close")
        if self._loop is not None:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def order(self, **terms: Any) -> Any:
        given = {"making": {"token": TOKEN, "amount": 5}, "taking": {"token": OTHER, "amount": "7"}}
        return self.client.sign_order(**{**given, "expires_at": 1_900_000_000, **terms})
