"""
One request to the API: a deadline for the whole call, retries that obey `Retry-After`, one kept connection for each thread.
It knows no operations.
"""

import http.client
import io
import json
import math
import random
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ._errors import ApiError, ConnectionFailed, DeadlineExceeded, TributaryError, to_api_error

Transport = Callable[[str, Mapping[str, str], float], tuple[int, Mapping[str, str], bytes]]
"""Takes URL, headers and seconds left; gives status, headers and body, and follows no redirect."""

_BACK_OFF, _MAX_BACK_OFF = 0.5, 8.0
_CHUNK = 256 * 1024
_MAX_BYTES = 64 * 1024 * 1024
"""Of one answer; the largest of the API have a few MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    limit: int | None
    remaining: int | None
    reset: int | None
    """Epoch seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deprecation:
    sunset: str | None
    link: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseInfo:
    """What an answer says beside its body."""

    request_id: str | None
    """The id under which the operator's log has the request."""
    rate_limit: RateLimit
    cache: str | None
    """Where the answer came from: HIT, MISS or BYPASS."""
    truncated: bool
    """True when the server stopped reading before the end: `has_more` is true then."""
    deprecation: Deprecation | None
    """Set when this use of the API will end."""
    headers: Mapping[str, str]
    """By names in lower case."""


class Http:
    """Sends the requests of one client."""

    def __init__(
        self, *, base_url: str, api_key: str, timeout: float, max_retries: int, transport: Transport | None, user_agent: str
    ) -> None:
        self._base_url = base_url
        self._api_key = api_key.encode()
        self._headers = {
            "authorization": f"Bearer {api_key}",
            "accept": "application/json",
            "user-agent": user_agent,
        }
        self.timeout = timeout
        self._max_retries = max_retries
        own = StandardTransport()
        self._close = own.close
        self._send: Transport = transport or own

    def close(self) -> None:
        """Closes the connections that are kept."""
        self._close()

    def get(self, path: str, timeout: float | None = None) -> tuple[dict[str, Any], ResponseInfo]:
        """The parsed body of a 200 and what its headers say."""
        seconds = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + seconds
        attempt = 0
        while True:
            error: TributaryError
            cause: Exception | None = None
            try:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                status, given, body = self._send(self._base_url + path, self._headers, left)
                headers = {name.lower(): value for name, value in given.items()}
                # A server or a proxy may repeat what it was sent.
                body = body.replace(self._api_key, b"[secret]")
                if status == 200:
                    return _parse(headers, body), _read_info(headers)
                error = to_api_error(status, headers, body)
            except TimeoutError:
                # A timeout of one socket operation: the deadline of the call is what counts.
                raise DeadlineExceeded(f"no answer to {path.split('?')[0]} within {seconds} s") from None
            except ApiError as unreadable:
                error = unreadable
            except (OSError, http.client.HTTPException) as failure:
                error, cause = ConnectionFailed(f"{self._base_url} did not answer: {type(failure).__name__}"), failure
            if attempt >= self._max_retries or not error.is_retryable:
                raise error from cause
            wait = _to_wait(error, attempt)
            # A wait that does not fit says at once how long it would have been.
            if time.monotonic() + wait >= deadline:
                raise error from cause
            time.sleep(wait)
            attempt += 1


def _to_wait(error: TributaryError, attempt: int) -> float:
    """As long as the server asks, or twice as long each time."""
    asked = error.retry_after if isinstance(error, ApiError) else None
    if asked is not None:
        return asked * (1 + random.random() / 10)
    return random.random() * min(_MAX_BACK_OFF, _BACK_OFF * math.pow(2, attempt))


def _parse(headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if not _is_list(parsed):
        # A proxy answered in place of the server.
        raise to_api_error(200, headers, body)
    return cast(dict[str, Any], parsed)


def _is_list(body: Any) -> bool:
    """Every answer of the API is a list, and most have pages."""
    if not isinstance(body, dict):
        return False
    rows = body.get("data", body.get("categories"))
    pages = body.get("pagination", {"offset": 0, "limit": 0, "hasMore": False})
    return (
        isinstance(rows, list)
        and all(isinstance(row, dict) for row in rows)
        and isinstance(pages, dict)
        and isinstance(pages.get("offset"), int)
        and isinstance(pages.get("limit"), int)
        and isinstance(pages.get("hasMore"), bool)
    )


def _read_info(headers: Mapping[str, str]) -> ResponseInfo:
    def count(name: str) -> int | None:
        text = headers.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None

    deprecated = headers.get("deprecation") is not None
    return ResponseInfo(
        request_id=headers.get("x-request-id"),
        rate_limit=RateLimit(
            limit=count("x-ratelimit-limit"),
            remaining=count("x-ratelimit-remaining"),
            reset=count("x-ratelimit-reset"),
        ),
        cache=headers.get("x-cache"),
        truncated=headers.get("x-service-truncated") == "true",
        deprecation=Deprecation(sunset=headers.get("sunset"), link=headers.get("link")) if deprecated else None,
        headers=headers,
    )


class _Reads(io.RawIOBase):
    """Reads of one socket, each of which waits no longer than the call has left."""

    def __init__(self, sock: socket.socket, left: Callable[[], float]) -> None:
        self._sock = sock
        self._left = left
        # Counts as a user of the socket, so that closing the connection leaves the answer readable.
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _make_response_class(left: Callable[[], float]) -> Any:
    """The class of answers whose head and body are read before the deadline, in however small pieces they come."""

    class Response(http.client.HTTPResponse):
        def __init__(self, sock: socket.socket, *given: Any, **named: Any) -> None:
            super().__init__(sock, *given, **named)
            self.fp.close()
            self.fp = io.BufferedReader(_Reads(sock, left))

    return Response


class StandardTransport:
    """`http.client` with the system's certificates and proxies; it follows no redirect, which could take the key along."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._all: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()

    def __call__(self, url: str, headers: Mapping[str, str], seconds: float) -> tuple[int, Mapping[str, str], bytes]:
        deadline = time.monotonic() + seconds
        parts = urllib.parse.urlsplit(url)
        target = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
        kept: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        for is_last in (False, True):
            is_kept = kept is not None
            connection = kept if kept is not None else self._open(parts, seconds)
            try:
                return self._exchange(connection, (target, headers), deadline)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                # The server closed a connection that was kept: a new one is tried at once.
                self._drop(connection)
                kept = None
                if is_last or not is_kept:
                    raise
            except BaseException:
                self._drop(connection)
                raise
        raise AssertionError("the second attempt answers or raises")

    def _exchange(
        self, connection: http.client.HTTPConnection, request: tuple[str, Mapping[str, str]], deadline: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        target, headers = request

        def left() -> float:
            seconds = deadline - time.monotonic()
            if seconds <= 0:
                raise TimeoutError
            return seconds

        connection.timeout = left()
        sock = cast(socket.socket, connection.sock)
        sock.settimeout(left())
        connection.response_class = _make_response_class(left)
        connection.request("GET", target, headers=dict(headers))
        response = connection.getresponse()
        chunks, size = [], 0
        while chunk := response.read(_CHUNK):
            chunks.append(chunk)
            size += len(chunk)
            if size > _MAX_BYTES:
                connection.close()
                raise to_api_error(response.status, {}, f"more than {_MAX_BYTES} bytes".encode())
        if response.length:
            # `read` with a size ends without an error where the connection does.
            raise http.client.IncompleteRead(b"", response.length)
        return response.status, dict(response.getheaders()), b"".join(chunks)

    def _open(self, parts: urllib.parse.SplitResult, seconds: float) -> http.client.HTTPConnection:
        host, port = parts.hostname or "", parts.port
        proxy = None if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get(parts.scheme)
        connection: http.client.HTTPConnection
        if parts.scheme == "http":
            connection = http.client.HTTPConnection(host, port, timeout=seconds)
        elif proxy is None:
            connection = http.client.HTTPSConnection(host, port, timeout=seconds, context=ssl.create_default_context())
        else:
            via = urllib.parse.urlsplit(proxy if "://" in proxy else f"//{proxy}")
            connection = http.client.HTTPSConnection(
                via.hostname or "", via.port, timeout=seconds, context=ssl.create_default_context()
            )
            credentials = {}
            if via.username is not None:
                user = urllib.parse.unquote(f"{via.username}:{via.password or ''}")
                credentials["Proxy-Authorization"] = f"Basic {b64encode(user.encode()).decode()}"
            connection.set_tunnel(host, port, credentials)
        connection.connect()
        if connection.sock is not None:
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._local.connection = connection
        with self._lock:
            self._all.add(connection)
        return connection

    def _drop(self, connection: http.client.HTTPConnection) -> None:
        connection.close()
        self._local.connection = None
        with self._lock:
            self._all.discard(connection)

    def close(self) -> None:
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()
