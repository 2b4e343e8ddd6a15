"""The client: one method for each operation of the API, and pages that go on over the whole list."""

import asyncio
import datetime as dt
import math
import os
import re
import urllib.parse
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from ._errors import ListChanged, TributaryError
from ._http import Http, ResponseInfo, Transport
from ._models import Account, Balance, Category, Connection, Holding, Pagination, Trade, Transaction, WebhookEvent
from .webhooks import OtherEvent, to_event

Row = TypeVar("Row")
DateInput = str | dt.date | dt.datetime
"""A day, or an instant with its zone. A datetime without a zone is refused."""

_VERSION = "0.1.0"
_MAX_BALANCE_IDS = 100
_MAX_STALLED = 100
"""Answers in a row without a step forward: the server is reading behind its cap."""
_MAX_WAIT = 55
"""Seconds; the server waits no longer for an event."""
_MAX_RESTARTS = 3


class Page(Generic[Row]):
    """One answer of a list. Iterating gives the rows of this page and of all pages after it."""

    def __init__(
        self,
        data: tuple[Row, ...],
        pagination: Pagination | None,
        response: ResponseInfo,
        follow: "Callable[[], Page[Row]] | None",
    ) -> None:
        self.data = data
        self.pagination = pagination
        """None for lists that have one page."""
        self.response = response
        self._follow = follow

    @property
    def truncated(self) -> bool:
        """True when the server stopped reading before the end; the pages after this one go on."""
        return self.response.truncated

    def has_next_page(self) -> bool:
        return self._follow is not None

    def next_page(self) -> "Page[Row]":
        """Raises ValueError after the last page: test `has_next_page()`."""
        if self._follow is None:
            raise ValueError("there is no page after this one")
        return self._follow()

    def pages(self) -> "Iterator[Page[Row]]":
        page = self
        while True:
            yield page
            if not page.has_next_page():
                return
            page = page.next_page()

    def __iter__(self) -> Iterator[Row]:
        for page in self.pages():
            yield from page.data

    def to_list(self, *, limit: int) -> list[Row]:
        """All rows from this page on. Raises ValueError for more than `limit`: no list is cut short in silence."""
        rows: list[Row] = []
        for row in self:
            if len(rows) == limit:
                raise ValueError(f"the list has more than {limit} rows")
            rows.append(row)
        return rows


class _Lists:
    def __init__(self, http: Http) -> None:
        self._http = http


class Connections(_Lists):
    def list(self, *, timeout: float | None = None) -> Page[Connection]:
        return _whole(self._http, "/v1/connections", Connection.of, timeout)


class Accounts(_Lists):
    def list(
        self, *, limit: int | None = None, offset: int | None = None, timeout: float | None = None
    ) -> Page[Account]:
        return _paged(self._http, "/v1/accounts", {"limit": limit, "offset": offset}, Account.of, timeout)


class Balances(_Lists):
    def list(self, *, account_ids: Sequence[str], timeout: float | None = None) -> Page[Balance]:
        """More than 100 accounts are asked for in several requests."""
        if isinstance(account_ids, str) or not account_ids:
            raise ValueError("account_ids must be a list of at least one id")
        ids = list(dict.fromkeys(account_ids))

        def read(start: int) -> Page[Balance]:
            stop = start + _MAX_BALANCE_IDS
            path = _to_path("/v1/balances", {"accountIds": ids[start:stop]})
            body, response = self._http.get(path, timeout)
            return Page(_read_all(body["data"], Balance.of), None, response, (lambda: read(stop)) if stop < len(ids) else None)

        return read(0)


class Transactions(_Lists):
    def list(
        self,
        *,
        connection_id: str,
        account_id: str | None = None,
        from_: DateInput | None = None,
        to: DateInput | None = None,
        limit: int | None = None,
        offset: int | None = None,
        include_pending: bool | None = None,
        include: Literal["currency"] | None = None,
        timeout: float | None = None,
    ) -> Page[Transaction]:
        query: dict[str, Any] = {"connectionId": connection_id, "accountId": account_id, "from": from_, "to": to}
        query |= {"limit": limit, "offset": offset, "includePending": include_pending, "include": include}
        return _paged(self._http, "/v1/transactions", query, Transaction.of, timeout)


class Holdings(_Lists):
    def list(
        self,
        *,
        connection_id: str,
        account_id: str | None = None,
        account_ids: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> Page[Holding]:
        query = {"connectionId": connection_id, "accountId": account_id, "accountIds": account_ids}
        return _whole(self._http, _to_path("/v1/holdings", query), Holding.of, timeout)


class Trades(_Lists):
    def list(
        self,
        *,
        connection_id: str,
        account_id: str | None = None,
        account_ids: Sequence[str] | None = None,
        from_: DateInput | None = None,
        to: DateInput | None = None,
        limit: int | None = None,
        offset: int | None = None,
        timeout: float | None = None,
    ) -> Page[Trade]:
        query: dict[str, Any] = {"connectionId": connection_id, "accountId": account_id, "accountIds": account_ids}
        query |= {"from": from_, "to": to, "limit": limit, "offset": offset}
        return _paged(self._http, "/v1/trades", query, Trade.of, timeout)


class Categories(_Lists):
    def list(self, *, timeout: float | None = None) -> Page[Category]:
        return _whole(self._http, "/v1/categories", Category.of, timeout)


@dataclass(frozen=True)
class EventBatch:
    """The events of one answer. `next`: the cursor behind them; store it with what you made of the events."""

    data: "tuple[WebhookEvent | OtherEvent, ...]"
    next: str


class Tributary:
    """The API of one server, for one key. Safe to use from several threads."""

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 120.0,
        max_retries: int = 3,
        transport: Transport | None = None,
        *,
        user_agent: str | None = None,
    ) -> None:
        """
        `api_key` and `base_url` default to the variables TRIBUTARY_API_KEY and TRIBUTARY_BASE_URL. `timeout` is in seconds
        and counts for one call, retries included.
        """
        key = os.environ.get("TRIBUTARY_API_KEY", "") if api_key is None else api_key
        url = os.environ.get("TRIBUTARY_BASE_URL", "") if base_url is None else base_url
        _check_key(key)
        self.base_url = _check_base_url(url)
        if not 0 < timeout < math.inf:
            raise ValueError("timeout is a number of seconds above 0")
        if max_retries < 0:
            raise ValueError("max_retries is a whole number from 0 on")
        self._shown_key = "[secret]" if len(key) < 20 else f"{key[:10]}…{key[-4:]}"
        package = f"tributary-client/{_VERSION}"
        self._http = Http(
            base_url=self.base_url,
            api_key=key,
            timeout=timeout,
            max_retries=max_retries,
            transport=transport,
            user_agent=package if user_agent is None else f"{user_agent} {package}",
        )
        self.connections = Connections(self._http)
        self.accounts = Accounts(self._http)
        self.balances = Balances(self._http)
        self.transactions = Transactions(self._http)
        self.holdings = Holdings(self._http)
        self.trades = Trades(self._http)
        self.categories = Categories(self._http)

    def __repr__(self) -> str:
        return f"Tributary(base_url={self.base_url!r}, api_key={self._shown_key!r})"

    def events(self, **query: Any) -> "Iterator[WebhookEvent | OtherEvent]":
        """
        The events of the person, for ever: `for event in client.events(consumer="books")`. Takes what `event_batches` takes.
        An event is acknowledged when the loop asks for the one behind the last event of its answer; without `after` the next
        run begins with what was not. Handle each `id` once.
        """
        for batch in self.event_batches(**query):
            yield from batch.data

    def event_batches(
        self,
        *,
        consumer: str | None = None,
        types: Sequence[str] | None = None,
        after: str | None = None,
        wait: int | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> Iterator[EventBatch]:
        """
        Answer by answer, also those without events. Going on acknowledges the last one. `wait`: seconds that the server
        waits for an event, at most 55. Default: 55; with a timeout under a minute, the timeout less 5 seconds, but at least
        half of it.
        """
        if wait is None:
            seconds = self._http.timeout if timeout is None else timeout
            # The answer comes at the end of the wait, which must be before the end of the call.
            wait = int(min(_MAX_WAIT, max(seconds - 5, seconds / 2)))
        query = {"consumer": consumer, "types": types, "wait": wait, "limit": limit}
        while True:
            body, _ = self._http.get(_to_path("/v1/events", {**query, "after": after}), timeout)
            cursor = body.get("next")
            if not isinstance(cursor, str):
                raise TributaryError("the answer has no cursor")
            after = cursor
            yield EventBatch(_read_all(body["data"], to_event), cursor)

    def close(self) -> None:
        """Closes the connections that are kept."""
        self._http.close()

    def __enter__(self) -> "Tributary":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_all(open_list: Callable[[], Page[Row]], *, limit: int) -> list[Row]:
    """
    All rows of a list, from the beginning again when it changed while it was read:
    `read_all(lambda: client.transactions.list(connection_id=c), limit=10_000)`.
    """
    for _ in range(_MAX_RESTARTS):
        try:
            return open_list().to_list(limit=limit)
        except ListChanged:
            continue
    return open_list().to_list(limit=limit)


def _paged(
    http: Http, path: str, query: Mapping[str, Any], of: Callable[[Mapping[str, Any]], Row], timeout: float | None
) -> Page[Row]:
    """The next page begins where the answer says that this one ended: a page may be shorter, or empty, before the end."""

    def read(asked: Mapping[str, Any], stalled: int) -> Page[Row]:
        body, response = http.get(_to_path(path, asked), timeout)
        (pagination,) = _read_all([body.get("pagination", {})], Pagination.of)
        start = asked.get("offset") or 0
        # A cache that passes over the query answers every window with one and the same page.
        if pagination.offset != start:
            raise TributaryError(f"the answer has not the rows from {start} on that were asked for")
        offset = start + pagination.limit
        is_stalled = offset <= start

        def follow() -> Page[Row]:
            if stalled >= _MAX_STALLED:
                raise TributaryError(f"the server gives no row after {offset} and says that there are more")
            return read({**asked, "offset": offset}, stalled + 1 if is_stalled else 0)

        return Page(_read_all(body["data"], of), pagination, response, follow if pagination.has_more else None)

    return read(query, 0)


def _whole(http: Http, path: str, of: Callable[[Mapping[str, Any]], Row], timeout: float | None) -> Page[Row]:
    body, response = http.get(path, timeout)
    rows: Iterable[Mapping[str, Any]] = body["data"] if "data" in body else body["categories"]
    return Page(_read_all(rows, of), None, response, None)


def _read_all(rows: Iterable[Mapping[str, Any]], of: Callable[[Mapping[str, Any]], Row]) -> tuple[Row, ...]:
    try:
        return tuple(of(row) for row in rows)
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise TributaryError(f"the answer cannot be read: {error!r}") from error


def _to_path(path: str, query: Mapping[str, Any]) -> str:
    given = {name: _to_text(name, value) for name, value in query.items() if value is not None}
    return f"{path}?{urllib.parse.urlencode(given)}" if given else path


_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})")


def _to_text(name: str, value: Any) -> str:
    if name in ("from", "to"):
        return _to_date_text(name, value)
    if isinstance(value, (list, tuple)) and value:
        return ",".join(_to_text(name, item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str) and value:
        return value
    raise ValueError(f"{name} cannot be {value!r}")


def _to_date_text(name: str, value: Any) -> str:
    if isinstance(value, dt.datetime):
        if value.tzinfo is None or value.utcoffset() is None:
            raise ValueError(f"{name} has no time zone: use datetime(…, tzinfo=…), or a date for a whole day")
        return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, str) and (_DAY.fullmatch(value) or _INSTANT.fullmatch(value)):
        return value
    raise ValueError(f"{name} must be a day (YYYY-MM-DD) or an instant with its zone, not {value!r}")


def _check_key(key: str) -> None:
    if not key:
        raise ValueError("set api_key, or the variable TRIBUTARY_API_KEY, to an API key")
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ValueError("api_key has characters that no key has: was a blank or a line end copied with it?")


def _check_base_url(text: str) -> str:
    if not text:
        raise ValueError("set base_url, or the variable TRIBUTARY_BASE_URL, to the address of your server")
    try:
        parts = urllib.parse.urlsplit(text)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        parts, host = urllib.parse.SplitResult("", "", "", "", ""), ""
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("base_url must be an address that begins with https://")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("base_url must have no credentials, query or fragment")
    is_local = re.fullmatch(r"localhost|.+\.localhost|127(\.\d+){3}|::1", host) is not None
    if parts.scheme == "http" and not is_local:
        raise ValueError("base_url must begin with https://: over http anybody on the way can read the key")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


class AsyncPage(Generic[Row]):
    """One answer of a list; `async for` gives the rows of this page and of all pages after it."""

    def __init__(self, page: Page[Row]) -> None:
        self._page = page
        self.data = page.data
        self.pagination = page.pagination
        self.response = page.response
        self.truncated = page.truncated

    def has_next_page(self) -> bool:
        return self._page.has_next_page()

    async def next_page(self) -> "AsyncPage[Row]":
        return AsyncPage(await asyncio.to_thread(self._page.next_page))

    async def __aiter__(self) -> Any:
        page: AsyncPage[Row] = self
        while True:
            for row in page.data:
                yield row
            if not page.has_next_page():
                return
            page = await page.next_page()

    async def to_list(self, *, limit: int) -> "list[Row]":
        return await asyncio.to_thread(self._page.to_list, limit=limit)


class _AsyncLists:
    """The same `list` as of the client, in a thread."""

    def __init__(self, lists: Any) -> None:
        self._lists = lists

    async def list(self, **query: Any) -> AsyncPage[Any]:
        return AsyncPage(await asyncio.to_thread(self._lists.list, **query))


class AsyncTributary:
    """The client for asyncio. Each call runs in a thread: there is one way to send a request, not two."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Takes what `Tributary` takes."""
        self._client = Tributary(*args, **options)
        self.connections = _AsyncLists(self._client.connections)
        self.accounts = _AsyncLists(self._client.accounts)
        self.balances = _AsyncLists(self._client.balances)
        self.transactions = _AsyncLists(self._client.transactions)
        self.holdings = _AsyncLists(self._client.holdings)
        self.trades = _AsyncLists(self._client.trades)
        self.categories = _AsyncLists(self._client.categories)

    async def events(self, **query: Any) -> "AsyncIterator[WebhookEvent | OtherEvent]":
        """As of the client: `async for event in client.events(consumer="books")`."""
        batches = self._client.event_batches(**query)
        while True:
            for event in (await asyncio.to_thread(batches.__next__)).data:
                yield event

    def __repr__(self) -> str:
        return f"Async{self._client!r}"

    async def __aenter__(self) -> "AsyncTributary":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._client.close()
