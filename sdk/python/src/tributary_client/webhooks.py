"""
Verifies the events that a webhook endpoint receives: Standard Webhooks, HMAC-SHA256 over id, time and body. It needs the
body as it came, because a body that was parsed and written again has other bytes.
"""

import base64
import binascii
import hashlib
import hmac
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from ._errors import TributaryError
from ._models import EVENTS, WebhookEvent

Reason = Literal["headers_missing", "too_old", "too_new", "no_match", "unreadable"]


class WebhookError(TributaryError):
    """The request is not from the server that has the secret, or it is too old."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherEvent:
    """An event of a type that this version does not know."""

    type: str
    raw: Mapping[str, Any]


def verify(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: float = 300,
    now: float | None = None,
) -> WebhookEvent | OtherEvent:
    """
    The event, once its signature is right. Answer 401 to a WebhookError, and handle each `webhook-id` once. `secret` is
    `whsec_…`, or several while it is rotated; `tolerance` and `now` are seconds.
    """
    if isinstance(body, str):
        body = body.encode()
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise TypeError("pass the raw body, as bytes: a body that was parsed cannot be verified")
    body = bytes(body)
    given = {name.lower(): value for name, value in headers.items()}
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        if not given.get(name):
            raise WebhookError("headers_missing", f"the header {name} is missing")
    sent = given["webhook-timestamp"]
    if not (sent.isascii() and sent.isdigit() and len(sent) <= 12):
        raise WebhookError("headers_missing", "webhook-timestamp is not a whole number of seconds")
    age = (time.time() if now is None else now) - int(sent)
    if not (math.isfinite(age) and tolerance >= 0):
        raise ValueError("now and tolerance are numbers of seconds")
    if age > tolerance:
        raise WebhookError("too_old", f"the event was sent more than {tolerance:g} s ago")
    if age < -tolerance:
        raise WebhookError("too_new", f"the event is more than {tolerance:g} s ahead of this clock")
    signed = f"{given['webhook-id']}.{sent}.".encode() + body
    signatures = [text[3:].encode() for text in given["webhook-signature"].split() if text.startswith("v1,")]
    for one in [secret] if isinstance(secret, str) else secret:
        digest = base64.b64encode(hmac.new(_key(one), signed, hashlib.sha256).digest())
        if any(hmac.compare_digest(digest, signature) for signature in signatures):
            return _parse(body)
    raise WebhookError("no_match", "no signature matches: the secret is another one, or the body was changed")


def _key(secret: str) -> bytes:
    text = secret.removeprefix("whsec_")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise TypeError("a secret is `whsec_` and base64, as it was shown when the endpoint was made")
    return key


def _parse(body: bytes) -> WebhookEvent | OtherEvent:
    try:
        raw = json.loads(body)
        raw["type"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WebhookError("unreadable", f"the body is signed and is no event: {error}") from error
    return to_event(raw)


def to_event(raw: Mapping[str, Any]) -> WebhookEvent | OtherEvent:
    """An event as it was parsed, typed; one of a type that this version does not know as it is."""
    kind = EVENTS.get(raw["type"])
    return OtherEvent(type=raw["type"], raw=raw) if kind is None else cast(WebhookEvent, kind.of(raw))
