"""Runs flows over httpx: blocking, or on an event loop."""

import asyncio
import time
from collections.abc import AsyncIterator, Generator, Iterator
from itertools import chain
from typing import Any, TypeVar

import httpx

from .calls import Call, Done, Emit, Flow, Open, Pause, Read, Response, Send, Step, advance
from .errors import NoAnswer
from .values import WrongValue, read_service_url

T = TypeVar("T")


class _Requests:
    """Builds the requests of both drivers, and their errors."""

    def __init__(self, base_url: str, timeout_seconds: float) -> None:
        self.base_url = read_service_url("base_url", base_url)
        if (
            isinstance(timeout_seconds, bool)
            or not isinstance(timeout_seconds, (int, float))
            or not 0 < timeout_seconds <= 3600
        ):
            raise WrongValue("timeout_seconds", "must be seconds, above 0 and at most 3600")
        self.timeout_seconds = timeout_seconds

    def of(self, call: Call, read_seconds: float) -> dict[str, Any]:
        content_type = {} if call.body is None else {"Content-Type": "application/json"}
        return {
            "method": call.method,
            "url": f"{self.base_url}{call.target}",
            "content": call.body,
            "headers": {**content_type, **call.headers},
            "timeout": httpx.Timeout(self.timeout_seconds, read=read_seconds),
        }

    def seconds_for(self, call: Call) -> float:
        return self.timeout_seconds + call.wait_seconds

    def late(self, call: Call) -> NoAnswer:
        return NoAnswer(f"no answer within {self.seconds_for(call):g} s")

    def lost(self, call: Call, error: Exception) -> NoAnswer:
        if isinstance(error, httpx.TimeoutException):
            return self.late(call)
        return NoAnswer(f"no answer from {self.base_url}: {str(error) or type(error).__name__}")


def _head_of(response: httpx.Response, body: bytes = b"") -> Response:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(response.status_code, headers, body.decode(errors="replace"))


class SyncDriver:
    def __init__(self, base_url: str, timeout_seconds: float, http_client: httpx.Client | None) -> None:
        self._requests = _Requests(base_url, timeout_seconds)
        self._http = http_client or httpx.Client()
        self._is_own = http_client is None

    def close(self) -> None:
        if self._is_own:
            self._http.close()

    def run(self, flow: Flow[T]) -> T:
        """Runs a flow, and returns its result."""
        steps = self.iterate(flow)
        try:
            next(steps)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        raise AssertionError("a flow that emits is iterated")

    def iterate(self, flow: Flow[Any]) -> Generator[Any, None, Any]:
        """Runs a flow, and yields what it emits."""
        opened = _Opened()
        try:
            step = advance(flow)
            while not isinstance(step, Done):
                if isinstance(step, Emit):
                    yield step.item
                    step = advance(flow)
                    continue
                try:
                    reply = self._do(step, opened)
                except NoAnswer as error:
                    step = advance(flow, error=error)
                else:
                    step = advance(flow, reply)
            return step.value
        finally:
            flow.close()
            opened.close()

    def _do(self, step: Step, opened: "_Opened") -> Any:
        if isinstance(step, Send):
            return self._send(step.call)
        if isinstance(step, Open):
            return self._open(step, opened)
        if isinstance(step, Read):
            return opened.read()
        if isinstance(step, Pause):
            return time.sleep(step.seconds)
        return opened.close()

    def _send(self, call: Call) -> Response:
        seconds = self._requests.seconds_for(call)
        deadline = time.monotonic() + seconds
        try:
            response = self._http.send(self._http.build_request(**self._requests.of(call, seconds)), stream=True)
            try:
                body = bytearray()
                for part in chain([b""], response.iter_bytes()):
                    body += part
                    if time.monotonic() > deadline:
                        raise self._requests.late(call)
            finally:
                response.close()
        except httpx.HTTPError as error:
            raise self._requests.lost(call, error) from error
        return _head_of(response, bytes(body))

    def _open(self, step: Open, opened: "_Opened") -> Response:
        try:
            response = self._http.send(
                self._http.build_request(**self._requests.of(step.call, step.silence_seconds)), stream=True
            )
            if response.status_code == 200:
                opened.response, opened.parts = response, response.iter_bytes()
                return _head_of(response)
            try:
                return _head_of(response, response.read())
            finally:
                response.close()
        except httpx.HTTPError as error:
            raise self._requests.lost(step.call, error) from error


class _Opened:
    """The open answer that a flow reads."""

    response: httpx.Response | None = None
    parts: Iterator[bytes] = iter(())

    def read(self) -> bytes | None:
        try:
            return next(self.parts, None)
        except (httpx.HTTPError, httpx.StreamError):
            return None

    def close(self) -> None:
        if self.response is not None:
            self.response.close()
            self.response = None


class AsyncDriver:
    def __init__(self, base_url: str, timeout_seconds: float, http_client: httpx.AsyncClient | None) -> None:
        self._requests = _Requests(base_url, timeout_seconds)
        self._http = http_client or httpx.AsyncClient()
        self._is_own = http_client is None

    async def close(self) -> None:
        if self._is_own:
            await self._http.aclose()

    async def run(self, flow: Flow[T]) -> T:
        """Runs a flow, and returns its result."""
        opened = _AsyncOpened()
        try:
            step = advance(flow)
            while not isinstance(step, Done):
                step = await self._answer(flow, step, opened)
            return step.value  # type: ignore[no-any-return]
        finally:
            flow.close()
            await opened.close()

    async def iterate(self, flow: Flow[Any]) -> AsyncIterator[Any]:
        """Runs a flow, and yields what it emits."""
        opened = _AsyncOpened()
        try:
            step = advance(flow)
            while not isinstance(step, Done):
                if isinstance(step, Emit):
                    yield step.item
                    step = advance(flow)
                else:
                    step = await self._answer(flow, step, opened)
        finally:
            flow.close()
            await opened.close()

    async def _answer(self, flow: Flow[Any], step: Step, opened: "_AsyncOpened") -> Step | Done:
        try:
            reply = await self._do(step, opened)
        except NoAnswer as error:
            return advance(flow, error=error)
        return advance(flow, reply)

    async def _do(self, step: Step, opened: "_AsyncOpened") -> Any:
        if isinstance(step, Send):
            try:
                return await asyncio.wait_for(self._send(step.call), self._requests.seconds_for(step.call))
            except asyncio.TimeoutError:
                raise self._requests.late(step.call) from None
        if isinstance(step, Open):
            return await self._open(step, opened)
        if isinstance(step, Read):
            return await opened.read()
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        return await opened.close()

    async def _send(self, call: Call) -> Response:
        try:
            response = await self._http.send(
                self._http.build_request(**self._requests.of(call, self._requests.seconds_for(call)))
            )
        except httpx.HTTPError as error:
            raise self._requests.lost(call, error) from error
        return _head_of(response, response.content)

    async def _open(self, step: Open, opened: "_AsyncOpened") -> Response:
        request = self._http.build_request(**self._requests.of(step.call, step.silence_seconds))
        try:
            response = await self._http.send(request, stream=True)
            if response.status_code == 200:
                opened.response, opened.parts = response, response.aiter_bytes()
                return _head_of(response)
            try:
                return _head_of(response, await response.aread())
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            raise self._requests.lost(step.call, error) from error


class _AsyncOpened:
    """The open answer that a flow reads."""

    response: httpx.Response | None = None
    parts: AsyncIterator[bytes] | None = None

    async def read(self) -> bytes | None:
        try:
            return None if self.parts is None else await self.parts.__anext__()
        except (StopAsyncIteration, httpx.HTTPError, httpx.StreamError):
            return None

    async def close(self) -> None:
        if self.response is not None:
            await self.response.aclose()
            self.response = self.parts = None
