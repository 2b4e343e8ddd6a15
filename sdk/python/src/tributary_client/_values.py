"""Values of the API as Python has them. A decimal is made from its text, never from a float."""

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeVar

Value = TypeVar("Value")


def to_decimal(text: str) -> Decimal:
    """Keeps every digit, trailing zeros too."""
    if not isinstance(text, str):
        raise ValueError(f"not decimal text: {text!r}")
    return Decimal(text)


def to_date(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def to_datetime(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def to_date_or_datetime(text: str) -> dt.date | dt.datetime:
    """Brokers send days or instants."""
    return dt.date.fromisoformat(text) if len(text) == 10 else dt.datetime.fromisoformat(text)


def optional(read: Callable[[Any], Value]) -> Callable[[Any], Value | None]:
    return lambda value: None if value is None else read(value)


def many(read: Callable[[Any], Value]) -> Callable[[Sequence[Any]], tuple[Value, ...]]:
    return lambda values: tuple(read(value) for value in values)
