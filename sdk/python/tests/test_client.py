"""
The Python client against a stub server: the cases that both clients share (../../cases.json) and what only this one does.
Run: python3 -m unittest discover -s sdk/python/tests
"""

import asyncio
import base64
import contextlib
import datetime as dt
import hashlib
import hmac
import json
import os
import socket
import threading
import time
import unittest
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

import tributary_client as sdk
from tributary_client import webhooks

API_KEY = "trib_live_0123456789abcdefghijklmnop"
CASES = json.loads((Path(__file__).parents[2] / "cases.json").read_text("utf-8"))["cases"]


def to_row(given: Any) -> Any:
    """`account a1` in a case stands for a whole account."""
    if not isinstance(given, str):
        return given
    name = given.split(" ")[1]
    row = {"id": name, "connectionId": "c1", "provider": "fiskil", "name": f"Account {name}", "type": "transaction"}
    return row | {"institutionName": "Wattle Bank", "accountNumber": "xxxx4321", "currency": "AUD"}


class Stub:
    """Gives the answers in turn, and notes what it was asked."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                number = len(stub.requests)
                stub.requests.append((self.path, dict(self.headers)))
                answer = answers[number] if number < len(answers) else {"status": 500, "text": "no answer is left"}
                if answer.get("reset"):
                    self.close_connection = True
                    return
                body = answer.get("body")
                if body is not None and "data" in body:
                    body = {**body, "data": [to_row(row) for row in body["data"]]}
                data = (answer.get("text", "") if body is None else json.dumps(body)).encode()
                self.send_response(answer.get("status", 200))
                self.send_header("content-length", str(len(data)))
                for name, value in answer.get("headers", {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data[:-5] if answer.get("cut") else data)
                self.close_connection = bool(answer.get("cut"))

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # `shutdown` waits for the next poll, half a second by default.
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.base_url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Stub":
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()


class Drip:
    """Sends a first text, then the same part again and again, without an end."""

    def __init__(self, first: bytes, part: bytes = b"1\r\n \r\n", pause: float = 0.05) -> None:
        self._first, self._part, self._pause = first, part, pause
        self._server = socket.create_server(("127.0.0.1", 0))

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._server.accept()
            with connection:
                connection.sendall(self._first)
                while True:
                    connection.sendall(self._part)
                    time.sleep(self._pause)

    def __enter__(self) -> str:
        threading.Thread(target=self._serve, daemon=True).start()
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def __exit__(self, *_: Any) -> None:
        self._server.close()


NAMES = {"connectionId": "connection_id", "accountId": "account_id", "accountIds": "account_ids", "from": "from_"}


def call(client: sdk.Tributary, case: dict[str, Any]) -> sdk.Page[Any]:
    query = {NAMES.get(name, name): value for name, value in case["call"]["query"].items()}
    page: sdk.Page[Any] = getattr(client, case["call"]["list"]).list(**query)
    return page



class EventFeedTest(unittest.TestCase):
    """R42: events that are fetched."""

    def test_going_on_acknowledges(self) -> None:
        amount = 90071992547409931
        event = {"id": "e1", "type": "later.kind", "amount": amount}
        answers: list[dict[str, Any]] = [
            {"body": {"data": [], "next": "c0"}},
            {"text": json.dumps({"data": [event, {**event, "id": "e2"}], "next": "c2"})},
            {"body": {"data": [], "next": "c2"}},
        ]
        with Stub(answers) as stub, sdk.Tributary(API_KEY, stub.base_url) as client:
            batches = client.event_batches(consumer="books", types=["transactions.synced"])
            first, second, third = next(batches), next(batches), next(batches)
            self.assertEqual((first.data, first.next, third.next), ((), "c0", "c2"))
            self.assertEqual([event.raw["id"] for event in second.data], ["e1", "e2"])
            self.assertEqual(second.data[0].raw["amount"], amount)
            start = "/v1/events?consumer=books&types=transactions.synced&wait=55"
            self.assertEqual([path for path, _ in stub.requests], [start, f"{start}&after=c0", f"{start}&after=c2"])

    def test_the_wait_ends_before_the_timeout(self) -> None:
        asked: list[str] = []

        def note(url: str, _headers: Any, _seconds: float) -> Any:
            asked.append(url.split("wait=")[1])
            return 200, {}, b'{"data": [], "next": "c0"}'

        for timeout in (120, 60, 45.5, 10, 4, 0.5):
            client = sdk.Tributary(API_KEY, "https://tributary.example", timeout=timeout, transport=note)
            next(client.event_batches())
        next(client.event_batches(timeout=30))
        next(client.event_batches(wait=7))
        self.assertEqual(asked, ["55", "55", "40", "5", "2", "0", "25", "7"])

    def test_events_one_by_one(self) -> None:
        event = {"id": "e1", "type": "later.kind"}
        with Stub([{"text": json.dumps({"data": [event, event], "next": "c2"})}]) as stub:
            with sdk.Tributary(API_KEY, stub.base_url, max_retries=0) as client:
                events = client.events(wait=0)
                self.assertEqual([next(events).type, next(events).type], ["later.kind", "later.kind"])
                self.assertEqual(len(stub.requests), 1)
                with self.assertRaises(sdk.ServerError):
                    next(events)

    def test_events_with_asyncio(self) -> None:
        event = {"id": "e1", "type": "later.kind"}

        async def first(client: sdk.AsyncTributary) -> str:
            async for one in client.events():
                return one.type
            return ""

        with Stub([{"text": json.dumps({"data": [event], "next": "c1"})}]) as stub:
            self.assertEqual(asyncio.run(first(sdk.AsyncTributary(API_KEY, stub.base_url))), "later.kind")

class SharedCases(unittest.TestCase):
    def test_both_clients(self) -> None:
        for case in CASES:
            with self.subTest(case["name"]), Stub(case["answers"]) as stub:
                self.check(case, stub)

    def check(self, case: dict[str, Any], stub: Stub) -> None:
        with sdk.Tributary(API_KEY, stub.base_url) as client:
            if "error" in case:
                with self.assertRaises(sdk.ApiError) as caught:
                    list(call(client, case))
                self.check_error(case["error"], caught.exception)
            else:
                rows = list(call(client, case))
                self.assertEqual([getattr(row, "id", None) or row.account_id for row in rows], case["ids"])
                for field, values in case.get("values", {}).items():
                    name = {"currentBalance": "current_balance"}.get(field, field)
                    texts = [None if value is None else str(value) for value in (getattr(row, name) for row in rows)]
                    self.assertEqual(texts, values)
        self.assertEqual([path for path, _ in stub.requests], case["requests"])
        for _, headers in stub.requests:
            lower = {name.lower(): value for name, value in headers.items()}
            self.assertEqual(lower["authorization"], f"Bearer {API_KEY}")
            self.assertTrue(lower["user-agent"].startswith("tributary-client/"))

    def check_error(self, wanted: dict[str, Any], error: sdk.ApiError) -> None:
        self.assertEqual(type(error).__name__, wanted["class"])
        self.assertEqual((error.status, error.code, str(error)), (wanted["status"], wanted["code"], wanted["message"]))
        self.assertEqual(list(error.details), wanted.get("details", []))
        self.assertEqual((error.request_id, error.retry_after), (wanted["requestId"], wanted["retryAfter"]))
        self.assertNotIn(API_KEY, repr(error) + str(error.__dict__))


def accounts(count: int, **more: Any) -> dict[str, Any]:
    pagination = {"total": None, "limit": count, "offset": 0, "hasMore": False} | more
    limits = {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "59", "x-ratelimit-reset": "1795144560"}
    headers = {"x-request-id": "r1", "x-cache": "MISS"} | limits
    return {"headers": headers, "body": {"data": [f"account a{n}" for n in range(count)], "pagination": pagination}}


class Client(unittest.TestCase):
    def test_a_page_has_the_headers_of_its_answer(self) -> None:
        with Stub([accounts(2, hasMore=True), accounts(1, offset=2)]) as stub:
            page = sdk.Tributary(API_KEY, stub.base_url).accounts.list()
            info = page.response
            self.assertEqual((info.request_id, info.cache, info.truncated, info.deprecation), ("r1", "MISS", False, None))
            self.assertEqual((info.rate_limit.limit, info.rate_limit.remaining, info.rate_limit.reset), (60, 59, 1795144560))
            self.assertTrue(page.has_next_page())
            last = page.next_page()
            self.assertFalse(last.has_next_page())
            self.assertRaises(ValueError, last.next_page)

    def test_to_list_refuses_a_list_that_is_longer_than_its_limit(self) -> None:
        with Stub([accounts(3)]) as stub:
            page = sdk.Tributary(API_KEY, stub.base_url).accounts.list()
            self.assertRaises(ValueError, page.to_list, limit=2)

    def test_read_all_begins_again_when_the_list_changed(self) -> None:
        message = "the list changed while it was read: start again at offset 0"
        changed = {"status": 503, "headers": {"retry-after": "1"}, "body": {"error": {"message": message}}}
        with Stub([accounts(2, hasMore=True), changed, accounts(3)]) as stub:
            client = sdk.Tributary(API_KEY, stub.base_url)
            self.assertEqual(len(sdk.read_all(client.accounts.list, limit=3)), 3)

    def test_a_server_that_gives_no_row_and_no_end_is_an_error(self) -> None:
        with Stub([accounts(0, hasMore=True)] * 300) as stub:
            client = sdk.Tributary(API_KEY, stub.base_url)
            with self.assertRaisesRegex(sdk.TributaryError, "gives no row"):
                client.accounts.list().to_list(limit=10)

    def test_a_cache_that_passes_over_the_query_is_an_error(self) -> None:
        with Stub([accounts(1, hasMore=True)] * 2) as stub:
            rows: list[Any] = []
            with self.assertRaisesRegex(sdk.TributaryError, "has not the rows from 1 on"):
                for row in sdk.Tributary(API_KEY, stub.base_url).accounts.list(limit=1):
                    rows.append(row)
            self.assertEqual(len(rows), 1)

    def test_what_cannot_be_read_is_an_error_of_this_package(self) -> None:
        deep = "[" * 100_000
        for text in (deep, "{}", '{"data": ' + deep, '{"data": [null]}', '{"data": [{"id": "c1"}]}'):
            with Stub([{"text": text}]) as stub:
                client = sdk.Tributary(API_KEY, stub.base_url)
                self.assertRaises(sdk.TributaryError, client.connections.list)

    def test_a_server_that_sends_a_byte_now_and_then_does_not_outlast_the_deadline(self) -> None:
        head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        for first in (b"", b"HTTP/1.1 200 OK\r\nx: ", head):
            with Drip(first) as base_url:
                client = sdk.Tributary(API_KEY, base_url, timeout=0.5)
                begun = time.monotonic()
                self.assertRaises(sdk.DeadlineExceeded, client.connections.list)
                self.assertLess(time.monotonic() - begun, 5)

    def test_a_body_without_an_end_is_left_after_64_mib(self) -> None:
        with Drip(b"HTTP/1.1 200 OK\r\n\r\n", part=b" " * 1_000_000, pause=0) as base_url:
            with self.assertRaisesRegex(sdk.ApiError, "more than 67108864 bytes"):
                sdk.Tributary(API_KEY, base_url).connections.list()

    def test_a_proxy_is_used_with_and_without_its_scheme(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as proxy:
            address = f"127.0.0.1:{proxy.getsockname()[1]}"
            for value in (f"http://{address}", address, f"user:word@{address}"):
                with mock.patch.dict(os.environ, {"https_proxy": value, "no_proxy": ""}):
                    client = sdk.Tributary(API_KEY, "https://tributary.example", max_retries=0, timeout=0.5)
                    self.assertRaises(sdk.TributaryError, client.connections.list)
                proxy.settimeout(5)
                with proxy.accept()[0] as connection:
                    head = connection.recv(1000).decode()
                self.assertTrue(head.startswith("CONNECT tributary.example:443 "), head)
                self.assertEqual("Proxy-Authorization: Basic dXNlcjp3b3Jk" in head, "@" in value)

    def test_more_than_a_hundred_balances_are_asked_for_in_several_requests(self) -> None:
        empty: dict[str, Any] = {"body": {"data": []}}
        with Stub([empty, empty]) as stub:
            ids = [f"a{n}" for n in range(150)]
            self.assertEqual(list(sdk.Tributary(API_KEY, stub.base_url).balances.list(account_ids=ids + ids)), [])
            self.assertEqual([path.count("%2C") + 1 for path, _ in stub.requests], [100, 50])

    def test_one_deadline_counts_for_the_whole_call(self) -> None:
        def slow(_url: str, _headers: Any, seconds: float) -> Any:
            raise TimeoutError(seconds)

        client = sdk.Tributary(API_KEY, "https://tributary.example", timeout=0.2, transport=slow)
        self.assertRaises(sdk.DeadlineExceeded, client.connections.list)

    def test_days_and_instants_go_as_they_are_and_naive_datetimes_are_refused(self) -> None:
        asked: list[str] = []

        def note(url: str, _headers: Any, _seconds: float) -> Any:
            asked.append(url.split("from=")[1])
            return 200, {}, json.dumps(accounts(0)["body"]).encode()

        client = sdk.Tributary(API_KEY, "https://tributary.example", transport=note)
        zone = dt.timezone(dt.timedelta(hours=11))
        given: list[sdk.DateInput] = [dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, 11, tzinfo=zone), "2026-01-01T00:00:00+11:00"]
        for value in given:
            client.transactions.list(connection_id="c1", from_=value)
        self.assertEqual(asked, ["2026-01-01", "2026-01-01T00%3A00%3A00Z", "2026-01-01T00%3A00%3A00%2B11%3A00"])
        naive: list[sdk.DateInput] = [dt.datetime(2026, 1, 1), "2026-01-01T00:00:00", "1 January", ""]
        for wrong in naive:
            with self.assertRaises(ValueError):
                client.transactions.list(connection_id="c1", from_=wrong)

    def test_what_is_no_key_and_no_address_is_refused(self) -> None:
        for url in ("http://tributary.example", "https://u:p@tributary.example", "tributary.example", "", "https://h:x"):
            with self.assertRaises(ValueError):
                sdk.Tributary(API_KEY, url)
        for key in ("", f"{API_KEY}\n", "two words"):
            with self.assertRaises(ValueError):
                sdk.Tributary(key, "https://tributary.example")
        for url in ("http://localhost:3000", "http://127.0.0.1:3000", "http://[::1]:3000"):
            self.assertEqual(sdk.Tributary(API_KEY, url).base_url, url)

    def test_a_client_that_is_printed_shows_the_ends_of_its_key_alone(self) -> None:
        text = repr(sdk.Tributary(API_KEY, "https://tributary.example"))
        self.assertIn("trib_live_…mnop", text)
        self.assertNotIn("0123456789", text)

    def test_rows_have_decimals_days_and_instants(self) -> None:
        case = next(case for case in CASES if case["name"] == "amounts keep every digit")
        with Stub(case["answers"]) as stub:
            rows = list(call(sdk.Tributary(API_KEY, stub.base_url), case))
        self.assertEqual(sum(row.amount for row in rows), Decimal("90071992547409930.905"))
        self.assertEqual(rows[0].date, dt.date(2026, 1, 31))
        self.assertEqual(rows[0].raw["accountName"], "Everyday")
        self.assertEqual(json.loads(sdk.to_json(rows[0]))["amount"], "-0.10")

    def test_several_threads_use_one_client(self) -> None:
        with Stub([accounts(1)] * 40) as stub, sdk.Tributary(API_KEY, stub.base_url) as client:
            found: list[int] = []
            threads = [
                threading.Thread(target=lambda: found.extend(len(list(client.accounts.list())) for _ in range(5)))
                for _ in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(found, [1] * 40)

    def test_asyncio_reads_the_same_rows(self) -> None:
        async def read(base_url: str) -> list[str]:
            async with sdk.AsyncTributary(API_KEY, base_url) as client:
                return [row.id async for row in await client.accounts.list(limit=2)]

        with Stub([accounts(2, hasMore=True), accounts(1, offset=2)]) as stub:
            self.assertEqual(asyncio.run(read(stub.base_url)), ["a0", "a1", "a0"])


SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
EVENT = {
    "id": "e1", "object": "event", "type": "trades.synced", "api_version": "2026-11-01", "created": 1795144560,
    "data": {"new": [], "updated": []},
    "metadata": {"sync_run_id": None, "new_count": 0, "updated_count": 0, "chunk": 1, "total_chunks": 1},
}  # fmt: skip


def sign(body: bytes, sent: int, secret: str = SECRET) -> dict[str, str]:
    digest = hmac.new(base64.b64decode(secret[6:]), f"e1.{sent}.".encode() + body, hashlib.sha256).digest()
    return {"Webhook-Id": "e1", "Webhook-Timestamp": str(sent), "Webhook-Signature": f"v1,{base64.b64encode(digest).decode()}"}


class Webhooks(unittest.TestCase):
    def reason(self, body: Any, headers: dict[str, str], now: float, secret: Any = SECRET) -> str:
        try:
            webhooks.verify(body, headers, secret, now=now)
        except webhooks.WebhookError as error:
            return error.reason
        return "verified"

    def test_an_event_is_verified_and_typed(self) -> None:
        body = json.dumps(EVENT).encode()
        event = webhooks.verify(body, sign(body, 100), SECRET, now=100)
        self.assertIsInstance(event, sdk.TradesSynced)
        self.assertEqual(self.reason(body.decode(), sign(body, 100), 100, ["whsec_AAAA", SECRET.rstrip("=")]), "verified")

    def test_what_was_changed_or_is_late_is_refused_with_the_reason(self) -> None:
        body = json.dumps(EVENT).encode()
        headers = sign(body, 100_000)
        self.assertEqual(self.reason(body + b" ", headers, 100_000), "no_match")
        self.assertEqual(self.reason(body, headers, 103_600), "too_old")
        self.assertEqual(self.reason(body, headers, 96_400), "too_new")
        for name in headers:
            self.assertEqual(self.reason(body, {**headers, name: ""}, 100_000), "headers_missing")
        self.assertEqual(self.reason(b"{", sign(b"{", 5), 5), "unreadable")
        with self.assertRaises(TypeError):
            self.reason(EVENT, headers, 100_000)
        with self.assertRaises(TypeError):
            self.reason(body, headers, 100_000, "whsec_")

    def test_an_event_of_a_later_version_does_not_raise(self) -> None:
        body = json.dumps({**EVENT, "type": "balances.synced"}).encode()
        event = webhooks.verify(body, sign(body, 100), SECRET, now=100)
        self.assertEqual(event.type, "balances.synced")

    def test_an_event_about_a_connection_is_verified_and_typed(self) -> None:
        connection = {
            "id": "7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10", "provider": "akahu", "category": "banking", "institution_id": "i",
            "institution_name": "Bank", "institution_logo": None, "status": "active", "last_refreshed_at": None,
            "created_at": "2026-10-28T22:03:09.000Z", "expires_at": "2026-11-27T03:00:00.000Z",
        }  # fmt: skip
        body = json.dumps({**EVENT, "type": "connection.expiring", "data": connection}).encode()
        event = webhooks.verify(body, sign(body, 100), SECRET, now=100)
        assert isinstance(event, sdk.ConnectionExpiring)
        self.assertEqual(event.data.expires_at.day, 27)
        self.assertIsNone(event.data.last_refreshed_at)
        self.assertIsNone(event.metadata.sync_run_id)
        body = json.dumps({**EVENT, "type": "connection.removed", "data": connection}).encode()
        event = webhooks.verify(body, sign(body, 100), SECRET, now=100)
        assert isinstance(event, sdk.ConnectionRemoved)
        self.assertEqual(event.data.status, "active")


if __name__ == "__main__":
    unittest.main()
