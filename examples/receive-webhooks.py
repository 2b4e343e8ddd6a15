"""Receives events and verifies them with the standard library alone.

WEBHOOK_SECRET is what `tributary webhooks create` printed (whsec_...); PORT is where it listens on this machine (8080).
"""

import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
TOLERANCE_SECONDS = 300
MAX_BYTES = 16 * 1024 * 1024


def is_genuine(headers, body: bytes) -> bool:
    """Whether one of the signatures is ours, over exactly these bytes, and recent."""
    event_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{event_id}.{timestamp}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    # While a secret is rotated there are several, with a blank between them.
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(wanted.encode(), one.encode()) for one in given)


# A real receiver keeps the ids as long as events are replayed.
handled = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("content-length", "0"))
        if length > MAX_BYTES:
            self.answer(413)
            return
        body = self.rfile.read(length)
        if not is_genuine(self.headers, body):
            self.answer(401)
            return
        event_id = self.headers["webhook-id"]
        # The same event may come twice: an answer that is lost is asked for again.
        if event_id not in handled:
            handled.add(event_id)
            event = json.loads(body)
            counts = event["metadata"]
            print(f"{event['type']}: {counts['new_count']} new, {counts['updated_count']} updated", flush=True)
            # Python's integers are exact at any size. Amounts of trades are strings: decimal.Decimal reads them.
            for row in event["data"]["new"]:
                if row.get("object") != "trade":
                    print(f"  {row['amount']} {row['currency']}", flush=True)
        self.answer(204)

    def answer(self, status: int):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Says nothing of each request."""


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
    print(f"listening on port {server.server_port}", flush=True)
    server.serve_forever()
