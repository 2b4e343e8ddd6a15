"""Client of the Tributary API: exact amounts, every page, typed errors."""

import dataclasses as _dataclasses
import datetime as _dt
import json as _json
from decimal import Decimal as _Decimal
from typing import Any as _Any

from . import webhooks
from ._client import AsyncPage, AsyncTributary, DateInput, EventBatch, Page, Tributary, read_all
from ._errors import (
    ApiError,
    ConnectionFailed,
    DeadlineExceeded,
    Forbidden,
    InvalidRequest,
    ListChanged,
    NotFound,
    RateLimited,
    ServerError,
    TributaryError,
    Unauthorized,
    Unavailable,
)
from ._http import Deprecation, RateLimit, ResponseInfo
from ._models import (
    Account,
    Balance,
    Category,
    Connection,
    ConnectionEvent,
    ConnectionExpiring,
    ConnectionInvalidated,
    ConnectionLinked,
    ConnectionRemoved,
    ConnectionRestored,
    ConnectionRevoked,
    EventMetadata,
    ExpiringConnectionEvent,
    Holding,
    Pagination,
    Trade,
    TradeEvent,
    TradesSynced,
    Transaction,
    TransactionEvent,
    TransactionsSynced,
    WebhookEvent,
)

__all__ = [
    "Account",
    "ApiError",
    "AsyncPage",
    "AsyncTributary",
    "Balance",
    "Category",
    "Connection",
    "ConnectionEvent",
    "ConnectionExpiring",
    "ConnectionFailed",
    "ConnectionInvalidated",
    "ConnectionLinked",
    "ConnectionRemoved",
    "ConnectionRestored",
    "ConnectionRevoked",
    "DateInput",
    "DeadlineExceeded",
    "Deprecation",
    "EventBatch",
    "EventMetadata",
    "ExpiringConnectionEvent",
    "Forbidden",
    "Holding",
    "InvalidRequest",
    "ListChanged",
    "NotFound",
    "Page",
    "Pagination",
    "RateLimit",
    "RateLimited",
    "read_all",
    "ResponseInfo",
    "ServerError",
    "to_json",
    "Trade",
    "TradeEvent",
    "TradesSynced",
    "Transaction",
    "TransactionEvent",
    "TransactionsSynced",
    "Tributary",
    "TributaryError",
    "Unauthorized",
    "Unavailable",
    "WebhookEvent",
    "webhooks",
]


def to_json(row: _Any) -> str:
    """The row as JSON: decimals as text, days and instants as ISO 8601."""

    def default(value: _Any) -> _Any:
        if isinstance(value, _Decimal):
            return format(value, "f")
        if isinstance(value, (_dt.date, _dt.datetime)):
            return value.isoformat()
        if _dataclasses.is_dataclass(value):
            fields = (field.name for field in _dataclasses.fields(value) if field.name != "raw")
            return {name: getattr(value, name) for name in fields}
        raise TypeError(f"{type(value).__name__} is not a value of a row")

    return _json.dumps(row, default=default)
