"""One class for each kind of failure. No message holds the key."""

import email.utils
import json
import time
from collections.abc import Mapping

from ._models import ErrorCode


class TributaryError(Exception):
    """The base of all errors of this package."""

    is_retryable = False
    """True when the same call may succeed later."""


class ConnectionFailed(TributaryError):
    """The server could not be reached, or the connection broke."""

    is_retryable = True


class DeadlineExceeded(TributaryError):
    """The call took longer than its timeout, retries included."""

    is_retryable = True


class ApiError(TributaryError):
    """An answer that is no success. Branch on `code`."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: ErrorCode | None,
        details: tuple[str, ...],
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.details = details
        self.headers = headers
        """By names in lower case."""
        self.request_id = headers.get("x-request-id")
        self.retry_after = read_retry_after(headers)
        """Seconds to wait before the next request."""
        self.is_retryable = status in (429, 502, 503, 504)


class InvalidRequest(ApiError):
    """400: a parameter is wrong, or the institution refuses."""


class Unauthorized(ApiError):
    """401: there is no valid key."""


class Forbidden(ApiError):
    """403: the plan or the key does not include the call."""


class NotFound(ApiError):
    """404: it does not exist, or it is not the key's."""


class RateLimited(ApiError):
    """429: too many requests."""


class ServerError(ApiError):
    """Any 5xx that is not 503."""


class Unavailable(ApiError):
    """503: the provider or the service is not available now."""


class ListChanged(Unavailable):
    """503: the rows changed while they were read. Drop the rows of this query, and begin again at offset 0."""


_CLASSES: Mapping[int, type[ApiError]] = {
    400: InvalidRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    429: RateLimited,
    503: Unavailable,
}
_SNIPPET = 200


def to_api_error(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error of an answer; its message is the envelope's, or the first characters of another body."""
    code: ErrorCode | None = None
    details: tuple[str, ...] = ()
    try:
        error = json.loads(body)["error"]
        message = error["message"]
        if not isinstance(message, str):
            raise ValueError
        code, details = error.get("code"), tuple(error.get("details", ()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # The body is no envelope: a proxy answered, not the service.
        text = " ".join(body.decode("utf-8", "replace")[:_SNIPPET].split())
        what = "a redirect" if 300 <= status < 400 else f"status {status}"
        message = f"an answer that the API does not give: {what}" + (f", {text}" if text else "")
    is_changed = status == 503 and "start again at offset 0" in message
    fallback: type[ApiError] = ServerError if status >= 500 else ApiError
    cls: type[ApiError] = _CLASSES.get(status, fallback)
    if is_changed:
        cls = ListChanged
    made = cls(message, status=status, code=code, details=details, headers=headers)
    if is_changed:
        # The same page is refused again until offset 0 is asked.
        made.is_retryable = False
    return made


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds or a date (RFC 9110, 10.2.3); None: none, or not readable."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return max(0.0, at.timestamp() - time.time())
