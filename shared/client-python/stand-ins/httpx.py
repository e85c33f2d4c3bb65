"""Replaces the package httpx in tests without it. Has only what `send_over_httpx.py` calls."""

import asyncio
import http.client
import socket
from contextlib import suppress
from types import SimpleNamespace
from urllib.parse import urlsplit


class HTTPError(Exception):
    pass


class TimeoutException(HTTPError):
    pass


class StreamError(RuntimeError):
    pass


def Timeout(seconds, *, read):
    return SimpleNamespace(connect=seconds, read=read)


def translated(work):
    try:
        return work()
    except TimeoutError as error:
        raise TimeoutException(str(error)) from error
    except (OSError, http.client.HTTPException) as error:
        raise HTTPError(str(error)) from error


class Response:
    def __init__(self, request):
        url = urlsplit(request.url)
        self._connection = http.client.HTTPConnection(url.hostname, url.port, timeout=request.timeout.connect)
        target = f"{url.path}?{url.query}" if url.query else url.path
        translated(self._connection.connect)
        self._socket = self._connection.sock
        self._socket.settimeout(request.timeout.read)
        translated(lambda: self._connection.request(request.method, target, request.content, request.headers))
        self._answer = translated(self._connection.getresponse)
        self.status_code, self.headers = self._answer.status, dict(self._answer.headers)

    def iter_bytes(self):
        while data := translated(lambda: self._answer.read1(65_536)):
            yield data
        if self._answer.length:
            raise HTTPError("the body is cut")

    def read(self):
        self.content = b"".join(self.iter_bytes())
        return self.content

    def close(self):
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._answer.close()
        self._connection.close()

    async def aiter_bytes(self):
        parts = self.iter_bytes()
        while data := await asyncio.to_thread(next, parts, b""):
            yield data

    async def aread(self):
        return await asyncio.to_thread(self.read)

    async def aclose(self):
        self.close()


class Client:
    def build_request(self, **request):
        return SimpleNamespace(**request)

    def send(self, request, *, stream=False):
        response = Response(request)
        if not stream:
            try:
                response.read()
            finally:
                response.close()
        return response

    def close(self):
        pass


class AsyncClient:
    build_request = Client.build_request

    async def send(self, request, *, stream=False):
        return await asyncio.to_thread(Client().send, request, stream=stream)

    async def aclose(self):
        pass
