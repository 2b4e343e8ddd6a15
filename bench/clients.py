"""
What the Python client costs for each row, against http.client and json.loads: CPU of this process in microseconds.
Arguments: the ids of a connection and of an account. Prints {"bare", "client"} as JSON.
"""

import http.client
import json
import os
import statistics
import sys
import time
from urllib.parse import urlsplit

from tributary_client import Tributary

LIMIT = 500
ROUNDS = 7
connection_id, account_id = sys.argv[1:3]
key, server = os.environ["TRIBUTARY_API_KEY"], urlsplit(os.environ["TRIBUTARY_BASE_URL"])


def walk_bare() -> int:
    client = http.client.HTTPConnection(server.hostname or "", server.port)
    rows = offset = 0
    while True:
        query = f"connectionId={connection_id}&accountId={account_id}&from=2023-01-01&limit={LIMIT}&offset={offset}"
        client.request("GET", f"/v1/transactions?{query}", headers={"authorization": f"Bearer {key}"})
        page = json.loads(client.getresponse().read())
        rows += len(page["data"])
        offset += LIMIT
        if not page["pagination"]["hasMore"]:
            client.close()
            return rows


def walk_client() -> int:
    with Tributary() as client:
        rows = client.transactions.list(
            connection_id=connection_id, account_id=account_id, from_="2023-01-01", limit=LIMIT
        )
        return sum(1 for _ in rows)


def spend(walk) -> float:
    begun = time.process_time()
    rows = walk()
    return (time.process_time() - begun) * 1e6 / rows


walk_bare()
walk_client()
turns = [(spend(walk_bare), spend(walk_client)) for _ in range(ROUNDS)]
bare, client = (statistics.median(side) for side in zip(*turns))
print(json.dumps({"bare": bare, "client": client}))
